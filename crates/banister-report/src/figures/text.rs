//! Text of the figures: the one font, its look, and its width.
//!
//! Drawing and measuring use the same file, so a label takes exactly the room that was kept for it,
//! and the same picture comes out on every machine whatever fonts are installed.

use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Family name, with fallbacks for programs that show the SVG without having the font.
pub(crate) const FAMILY: &str = "Inter, 'Helvetica Neue', Helvetica, Arial, sans-serif";

/// Inter Regular and SemiBold, cut down to Latin, Greek and mathematical signs.
const FILES: [&[u8]; 2] = [
    include_bytes!("../../assets/Inter-Regular.otf"),
    include_bytes!("../../assets/Inter-SemiBold.otf"),
];

/// One of the two.
pub(crate) struct Font(Face<'static>);

impl Font {
    pub(crate) fn new(bold: bool) -> Option<Self> {
        Face::parse(FILES[usize::from(bold)], 0).ok().map(Self)
    }

    /// Units that a font size stands for.
    pub(crate) fn units(&self) -> f64 {
        f64::from(self.0.units_per_em())
    }

    /// Room that a letter takes at a font size. Those that the font lacks come from another font or are boxes: a wide
    /// one.
    pub(crate) fn advance(&self, letter: char, size: f64) -> f64 {
        let own = self.0.glyph_index(letter);
        let own = own.and_then(|glyph| self.0.glyph_hor_advance(glyph));
        own.map_or(0.65 * size, |advance| {
            f64::from(advance) * size / self.units()
        })
    }

    /// Measures a text, without kerning.
    pub(crate) fn width(&self, text: &str, size: f64) -> f64 {
        text.chars().map(|letter| self.advance(letter, size)).sum()
    }

    /// Draws a letter; a box for one that the font lacks.
    pub(crate) fn outline(&self, letter: char, outline: &mut dyn OutlineBuilder) {
        let glyph = self.0.glyph_index(letter).unwrap_or(GlyphId(0));
        self.0.outline_glyph(glyph, outline);
    }
}

/// Part of a text that stands at its position.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Look of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextStyle {
    pub size: f64,
    pub bold: bool,
    pub color: &'static str,
    pub anchor: Anchor,
    /// White rim that keeps the text readable on top of curves.
    pub halo: bool,
    /// Turned to read from bottom to top.
    pub upwards: bool,
    /// SVG's `class`; empty for none.
    pub class: &'static str,
}

impl TextStyle {
    pub(crate) fn new(size: f64, color: &'static str) -> Self {
        TextStyle {
            size,
            bold: false,
            color,
            anchor: Anchor::Start,
            halo: false,
            upwards: false,
            class: "",
        }
    }

    pub(crate) fn bold(self) -> Self {
        TextStyle { bold: true, ..self }
    }

    pub(crate) fn centered(self) -> Self {
        let anchor = Anchor::Middle;
        TextStyle { anchor, ..self }
    }

    pub(crate) fn right_aligned(self) -> Self {
        let anchor = Anchor::End;
        TextStyle { anchor, ..self }
    }

    pub(crate) fn haloed(self) -> Self {
        TextStyle { halo: true, ..self }
    }

    pub(crate) fn upwards(self) -> Self {
        let upwards = true;
        TextStyle { upwards, ..self }
    }

    pub(crate) fn classed(self, class: &'static str) -> Self {
        TextStyle { class, ..self }
    }

    /// Measures a text in pixels, without kerning.
    pub(crate) fn width(&self, text: &str) -> f64 {
        Font::new(self.bold).map_or(0.0, |font| font.width(text, self.size))
    }

    /// Measures the widest of some texts; 0 without any.
    pub(crate) fn widest<S: AsRef<str>>(&self, texts: impl IntoIterator<Item = S>) -> f64 {
        let widths = texts.into_iter().map(|text| self.width(text.as_ref()));
        widths.fold(0.0, f64::max)
    }

    /// Cuts a text with an ellipsis if it is wider than allowed.
    pub(crate) fn fit(&self, text: &str, allowed: f64) -> String {
        if self.width(text) <= allowed {
            return text.to_owned();
        }
        let mut kept: Vec<char> = text.chars().collect();
        while kept.pop().is_some() {
            let shorter = format!("{}…", kept.iter().collect::<String>().trim_end());
            if self.width(&shorter) <= allowed {
                return shorter;
            }
        }
        "…".to_owned()
    }

    /// Breaks a text at spaces into lines no wider than allowed.
    pub(crate) fn wrap(&self, text: &str, allowed: f64) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            let longer = lines.last().map(|line| format!("{line} {word}"));
            match (longer, lines.last_mut()) {
                (Some(longer), Some(line)) if self.width(&longer) <= allowed => *line = longer,
                _ => lines.push(word.to_owned()),
            }
        }
        lines.iter().map(|line| self.fit(line, allowed)).collect()
    }
}
