//! A scale for numbers of either sign and of any size.

use libm::{asinh, floor, log10};

use crate::axis::{Axis, drawable, tick_text};

/// How many decades below the largest number the scale still spreads out.
const MOST_DECADES: i32 = 5;
/// Numbers within this factor of each other are best compared on a straight scale.
const STRAIGHT: f64 = 25.0;

/// Maps numbers to the unit interval.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scale {
    /// Straight, or logarithmic for numbers above zero.
    Plain(Axis),
    /// The inverse hyperbolic sine: a logarithm on either side of zero, straight around it.
    Symmetric {
        /// Where the scale turns from straight to logarithmic.
        unit: f64,
        /// The ends in transformed units.
        ends: (f64, f64),
    },
}

impl Scale {
    /// Whether the numbers are too far apart for a straight scale.
    pub(crate) fn wants_symmetric(values: &[f64]) -> bool {
        let sizes = sizes(values);
        match (sizes.first(), sizes.last()) {
            (Some(least), Some(most)) => most / least > STRAIGHT,
            _ => false,
        }
    }

    /// A scale over the drawable ones of the values and zero, with a share of room at either end
    /// that the values reach.
    pub(crate) fn over(values: &[f64], symmetric: bool, room: f64) -> Scale {
        let drawn = || values.iter().copied().filter(|v| drawable(*v, false));
        if !symmetric {
            let axis = Axis::over(drawn().chain([0.0]), false);
            let length = axis.high - axis.low;
            let widen = |end: f64| if end == 0.0 { 0.0 } else { room * length };
            return Scale::Plain(Axis {
                low: axis.low - widen(axis.low),
                high: axis.high + widen(axis.high),
                log: false,
            });
        }
        let sizes = sizes(values);
        let most = sizes.last().copied().unwrap_or(1.0);
        // A single number that happens to be near zero shall not cost all others their room.
        let usual = sizes.get(sizes.len() / 7).copied().unwrap_or(most);
        let least = decade(log10(most)) - MOST_DECADES + 1;
        let unit = power(decade(log10(usual)).max(least));
        let place = |value: f64| asinh(value / unit) / std::f64::consts::LN_10;
        let (low, high) = drawn().fold((0.0_f64, 0.0_f64), |(low, high), value| {
            (low.min(place(value)), high.max(place(value)))
        });
        let length = if high > low { high - low } else { 1.0 };
        let widen = |end: f64| if end == 0.0 { 0.0 } else { room * length };
        let high = if high > low { high } else { low + 1.0 };
        Scale::Symmetric {
            unit,
            ends: (low - widen(low), high + widen(high)),
        }
    }

    /// Where a value stands: 0 at the lower end, 1 at the upper one.
    pub(crate) fn place(&self, value: f64) -> f64 {
        match self {
            Scale::Plain(axis) => axis.place(value),
            Scale::Symmetric { unit, ends } => {
                let place = asinh(value / unit) / std::f64::consts::LN_10;
                (place - ends.0) / (ends.1 - ends.0)
            }
        }
    }

    /// Round numbers on the scale, ascending, at least the given share of its length apart.
    pub(crate) fn ticks(&self, gap: f64) -> Vec<(f64, String)> {
        let Scale::Symmetric { .. } = self else {
            return match self {
                Scale::Plain(axis) => axis.ticks((1.0 / gap) as usize),
                Scale::Symmetric { .. } => Vec::new(),
            };
        };
        let mut ticks: Vec<f64> = Vec::new();
        for candidate in self.candidates() {
            let place = self.place(candidate);
            let free = |other: &f64| (self.place(*other) - place).abs() >= gap;
            if (-1e-9..=1.0 + 1e-9).contains(&place) && ticks.iter().all(free) {
                ticks.push(candidate);
            }
        }
        ticks.sort_by(f64::total_cmp);
        let text = |tick: f64| (tick, tick_text(tick, tick.abs(), tick.abs()));
        ticks.into_iter().map(text).collect()
    }

    /// Numbers that could be ticks, the most welcome first: zero, powers of ten from the largest
    /// down, then the numbers between them.
    fn candidates(&self) -> Vec<f64> {
        let Scale::Symmetric { unit, ends } = self else {
            return Vec::new();
        };
        let longest = ends.1.max(-ends.0).min(300.0) as i32;
        let first = decade(log10(*unit));
        let mut all = vec![0.0];
        for digit in [1, 3] {
            for k in (first..=first + longest).rev() {
                let size = f64::from(digit) * power(k);
                all.extend([size, -size]);
            }
        }
        all
    }
}

/// The sizes of the drawable numbers but zero, ascending.
fn sizes(values: &[f64]) -> Vec<f64> {
    let mut sizes: Vec<f64> = values
        .iter()
        .map(|v| v.abs())
        .filter(|v| drawable(*v, true))
        .collect();
    sizes.sort_by(f64::total_cmp);
    sizes
}

fn decade(log: f64) -> i32 {
    floor(log + 1e-9).clamp(-300.0, 300.0) as i32
}

/// A power of ten, through text, so that it is the decimal number.
pub(crate) fn power(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(1.0)
}
