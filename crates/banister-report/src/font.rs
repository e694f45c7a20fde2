//! The one font of the figures: its bytes for drawing, its advances for measuring.
//!
//! Both come from the same file, so a label takes exactly the room that was kept for it, and the
//! same picture comes out on every machine whatever fonts are installed.

use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// Family name, with fallbacks for programs that show the SVG without having the font.
pub(crate) const FAMILY: &str = "Inter, 'Helvetica Neue', Helvetica, Arial, sans-serif";

/// The family name alone.
pub(crate) const NAME: &str = "Inter";

/// Inter Regular and SemiBold, cut down to Latin, Greek and mathematical signs.
pub(crate) const FILES: [&[u8]; 2] = [
    include_bytes!("../assets/Inter-Regular.otf"),
    include_bytes!("../assets/Inter-SemiBold.otf"),
];

/// How heavy text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Regular,
    Bold,
}

/// The width of a text in pixels, without kerning.
pub(crate) fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let file = FILES[usize::from(weight == Weight::Bold)];
    // What the font lacks is drawn by some other font or as a box: allow for a wide letter.
    let unknown = 0.65 * size;
    let Ok(font) = FontRef::new(file) else {
        return unknown * text.chars().count() as f64;
    };
    let letters = font.charmap();
    let metrics = font.glyph_metrics(Size::new(size as f32), LocationRef::default());
    let advance = |letter| metrics.advance_width(letters.map(letter)?);
    text.chars()
        .map(|letter| advance(letter).map_or(unknown, f64::from))
        .sum()
}

/// The text, cut with an ellipsis if it is wider than allowed.
pub(crate) fn fit(text: &str, size: f64, weight: Weight, allowed: f64) -> String {
    if width(text, size, weight) <= allowed {
        return text.to_owned();
    }
    let mut kept: Vec<char> = text.chars().collect();
    while kept.pop().is_some() {
        let shorter = format!("{}…", kept.iter().collect::<String>().trim_end());
        if width(&shorter, size, weight) <= allowed {
            return shorter;
        }
    }
    "…".to_owned()
}

/// The text in lines no wider than allowed, broken at spaces.
pub(crate) fn wrap(text: &str, size: f64, weight: Weight, allowed: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let longer = if line.is_empty() {
            word.to_owned()
        } else {
            format!("{line} {word}")
        };
        if !line.is_empty() && width(&longer, size, weight) > allowed {
            lines.push(std::mem::replace(&mut line, word.to_owned()));
        } else {
            line = longer;
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
        .into_iter()
        .map(|line| fit(&line, size, weight, allowed))
        .collect()
}
