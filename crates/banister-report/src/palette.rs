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

/// How later laps of the colours are dashed: no two of the first 28 looks are the same.
const DASHES: [&str; 4] = ["", "6 3", "2 2", "10 3 2 3"];

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

/// The dashes of a curve as SVG's `stroke-dasharray`, empty for a solid line. Each lap of the
/// palette has its own, so that colour and dashes together tell curves apart.
pub fn dashes(index: usize, dashed: bool) -> &'static str {
    let lap = index / LENGTH;
    DASHES[if lap == 0 && dashed {
        1
    } else {
        lap % DASHES.len()
    }]
}
