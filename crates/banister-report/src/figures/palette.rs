//! Colours: a palette for curves and groups, and a ramp for values.
//!
//! The palette is after Okabe and Ito, for most colour deficiencies. Their yellow is too faint on
//! white and is replaced by grey; their vermilion comes late, because red is the colour of
//! thresholds.
//!
//! The ramp is ordered for every eye and in grey print: lightness falls evenly while the hue turns
//! from yellow to blue, the pair that the common colour deficiencies keep apart. The path is drawn
//! in Björn Ottosson's OKLab, where equal steps look equal.

use libm::{cos, pow, round, sin};

/// Ink of titles and names.
pub(crate) const INK: &str = "#1A1A1A";
/// Ink of ticks and notes.
pub(crate) const QUIET: &str = "#555555";
pub(crate) const AXIS: &str = "#8A8A8A";
/// Grid lines.
pub(crate) const FAINT: &str = "#E6E6E6";

/// Number of distinct colours before they repeat.
pub const LENGTH: usize = 7;

const LINES: [&str; LENGTH] = [
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#6B6B6B", "#D55E00",
];

/// The hues of `LINES`, dark enough for text on white.
const TEXTS: [&str; LENGTH] = [
    "#005A8D", "#8F6200", "#00694D", "#98467A", "#1F739F", "#555555", "#A34800",
];

/// Dashes of each lap of the colours: no two of the first 28 looks are the same.
const DASHES: [&str; 4] = ["", "6 3", "2 2", "10 3 2 3"];

/// Red of thresholds.
pub const THRESHOLD: &str = "#C5283D";

/// Dark grey of what the optimum attains.
pub const OPTIMUM: &str = "#333333";

/// Returns the colour of a curve, as `#RRGGBB`.
pub fn color(index: usize) -> &'static str {
    LINES[index % LENGTH]
}

/// Returns the colour of text that belongs to a curve, as `#RRGGBB`.
pub fn text_color(index: usize) -> &'static str {
    TEXTS[index % LENGTH]
}

/// Returns the dashes of a curve as SVG's `stroke-dasharray`, empty for a solid line. Each lap of
/// the palette has its own, so that colour and dashes together tell curves apart.
pub fn dashes(index: usize, dashed: bool) -> &'static str {
    let lap = index / LENGTH;
    DASHES[if lap == 0 && dashed {
        1
    } else {
        lap % DASHES.len()
    }]
}

/// Returns the palette's index of a group, the safest first: blue, green, orange and vermilion,
/// since the last group is the one to beware of.
pub(crate) fn group(group: usize) -> usize {
    [0, 2, 1, 6, 3, 4, 5][group % LENGTH]
}

/// Red, green and blue of a colour.
pub(crate) type Rgb = [u8; 3];

/// Returns the ramp's colour at a share of the way from light to dark.
pub(crate) fn ramp(share: f64) -> Rgb {
    let t = if share.is_nan() {
        0.0
    } else {
        share.clamp(0.0, 1.0)
    };
    let lightness = 0.965 - 0.655 * t;
    let hue = (100.0 + 165.0 * pow(t, 0.8)).to_radians();
    // Little enough for a screen to show all of it, or steps would look uneven.
    let chroma = 0.05 + 0.1 * t * (1.0 - t) + 0.03 * t;
    of_oklab(lightness, chroma * cos(hue), chroma * sin(hue))
}

/// Writes a colour as `#RRGGBB`.
pub(crate) fn hex(color: Rgb) -> String {
    let [r, g, b] = color;
    format!("#{r:02X}{g:02X}{b:02X}")
}

/// Picks black or white, whichever stands out more as text on the colour: by 4.58 to 1 at least,
/// since the two contrasts multiply to 21.
pub(crate) fn text_on(color: Rgb) -> &'static str {
    let of_white = 1.05 / (luminance(color) + 0.05);
    let of_black = (luminance(color) + 0.05) / 0.05;
    if of_white > of_black {
        "#FFFFFF"
    } else {
        "#000000"
    }
}

/// Relative luminance as the guidelines on contrast define it.
fn luminance(color: Rgb) -> f64 {
    let linear = |part: u8| {
        let c = f64::from(part) / 255.0;
        if c <= 0.04045 {
            c / 12.92
        } else {
            pow((c + 0.055) / 1.055, 2.4)
        }
    };
    let [r, g, b] = color.map(linear);
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

fn of_oklab(lightness: f64, a: f64, b: f64) -> Rgb {
    let cube = |x: f64| x * x * x;
    let l = cube(lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b);
    let m = cube(lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b);
    let s = cube(lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b);
    let linear = [
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s,
    ];
    linear.map(|c| {
        let c = c.clamp(0.0, 1.0);
        let c = if c <= 0.003_130_8 {
            12.92 * c
        } else {
            1.055 * pow(c, 1.0 / 2.4) - 0.055
        };
        round(255.0 * c) as u8
    })
}
