//! A ramp of colours from light to dark, ordered for every eye and in grey print.
//!
//! Lightness falls evenly while the hue turns from yellow to blue: the pair that the common colour
//! deficiencies keep apart. The path is drawn in Björn Ottosson's OKLab, where equal steps look
//! equal.

use libm::{cos, pow, round, sin};

/// A colour's red, green and blue.
pub(crate) type Rgb = [u8; 3];

/// The colour at a share of the way from light to dark.
pub(crate) fn color(share: f64) -> Rgb {
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

/// As `#RRGGBB`.
pub(crate) fn hex(color: Rgb) -> String {
    let [r, g, b] = color;
    format!("#{r:02X}{g:02X}{b:02X}")
}

/// Of black and white, the one that stands out more as text on the colour: by 4.58 to 1 at least,
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
