//! Title, subtitle and legend above the panels of every figure.

use super::canvas::Canvas;
use super::palette::{INK, QUIET};
use super::text::TextStyle;

/// White space around a figure.
pub(crate) const MARGIN: f64 = 22.0;
const PANEL_TITLE: f64 = 12.5;
const TITLE: f64 = 17.0;
const SMALL: f64 = 12.0;
const LEGEND: f64 = 12.5;
/// Between an entry's sample and its name, and between two entries.
const BESIDE: f64 = 8.0;
const BETWEEN: f64 = 24.0;

/// Look of a panel's title.
pub(crate) fn panel_title() -> TextStyle {
    TextStyle::new(PANEL_TITLE, INK).bold()
}

/// Draws title and subtitle; returns the height below them.
pub(crate) fn titles(canvas: &mut Canvas, title: &str, subtitle: &str, width: f64) -> f64 {
    let mut y = MARGIN - 4.0;
    let bold = TextStyle::new(TITLE, INK).bold();
    for (text, style, step) in [
        (title, bold, 20.0),
        (subtitle, TextStyle::new(SMALL, QUIET), 18.0),
    ] {
        for line in style.wrap(text, width - 2.0 * MARGIN) {
            y += step;
            canvas.text(MARGIN, y, &line, style);
        }
    }
    y + 10.0
}

/// Entry of a legend: its name, and the look of its sample.
pub(crate) struct Entry<T> {
    pub name: String,
    pub look: T,
}

/// Draws the legend below `top`; returns the height below it.
///
/// Entries that fit into one line stand side by side. More of them stand in columns and are read
/// downwards, since a paragraph of two dozen names cannot be searched.
pub(crate) fn legend<T>(
    canvas: &mut Canvas,
    entries: &[Entry<T>],
    (top, width): (f64, f64),
    sample: (f64, impl Fn(&mut Canvas, (f64, f64), &T)),
) -> f64 {
    if entries.is_empty() {
        return top;
    }
    let (sample_width, draw) = sample;
    let room = width - 2.0 * MARGIN;
    let style = TextStyle::new(LEGEND, INK);
    let most = room - sample_width - BESIDE;
    let names: Vec<String> = entries
        .iter()
        .map(|entry| style.fit(&entry.name, most))
        .collect();
    let widths: Vec<f64> = names
        .iter()
        .map(|name| sample_width + BESIDE + style.width(name))
        .collect();
    let line = widths.iter().sum::<f64>() + BETWEEN * (widths.len() - 1) as f64;
    let widest = widths.iter().copied().fold(0.0, f64::max);
    let columns = (((room + BETWEEN) / (widest + BETWEEN)) as usize).clamp(1, entries.len());
    let lines = if line <= room {
        1
    } else {
        entries.len().div_ceil(columns)
    };
    let mut x = MARGIN;
    for (index, ((entry, name), own)) in entries.iter().zip(&names).zip(&widths).enumerate() {
        let row = index % lines;
        if index > 0 && row == 0 {
            x += if lines == 1 {
                widths.get(index - 1).copied().unwrap_or(*own)
            } else {
                widest
            } + BETWEEN;
        }
        let y = top + 18.0 + 20.0 * row as f64;
        draw(canvas, (x, y - 4.5), &entry.look);
        canvas.text(x + sample_width + BESIDE, y, name, style);
    }
    top + 18.0 + 20.0 * (lines - 1) as f64
}
