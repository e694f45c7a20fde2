//! Colours that most people with a colour deficiency can tell apart (after Okabe and Ito).
//!
//! Their yellow is too faint on white and is replaced by grey; their vermilion comes late, because
//! red is the colour of thresholds.

/// How many distinct colours there are before they repeat.
pub const LENGTH: usize = 7;

const LINES: [&str; LENGTH] = [
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#6B6B6B", "#D55E00",
];

/// The same hues, darkened until they can be read as text on white.
const TEXTS: [&str; LENGTH] = [
    "#005A8D", "#8F6200", "#00694D", "#98467A", "#1F739F", "#555555", "#A34800",
];

/// A threshold's red.
pub const THRESHOLD: &str = "#C5283D";

/// The dark grey of what the optimum attains.
pub const OPTIMUM: &str = "#333333";

/// The colour of a curve, as `#RRGGBB`.
pub fn color(index: usize) -> &'static str {
    LINES[index % LENGTH]
}

/// The colour of text that belongs to a curve, as `#RRGGBB`.
pub fn text_color(index: usize) -> &'static str {
    TEXTS[index % LENGTH]
}
