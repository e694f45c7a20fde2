//! Axes: which range they cover, where their ticks stand, how numbers are written on them.

use std::f64::consts::LN_10;

use libm::{asinh, floor, log10, pow, sinh};

use super::canvas::{Canvas, Stroke};
use super::palette::{AXIS, QUIET};
use super::text::TextStyle;

pub(crate) const TICK_SIZE: f64 = 11.0;
/// Abbreviations of large numbers.
const UNITS: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
/// Decades below the largest number that a symmetric scale still spreads out.
const MOST_DECADES: i32 = 5;
/// Numbers within this factor of each other are best compared on a linear scale.
const LINEAR: f64 = 25.0;

/// One axis in data units, ready to map values to the unit interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Lower end.
    pub low: f64,
    /// Upper end, above `low`.
    pub high: f64,
    /// Spacing of the values between the ends.
    pub scale: Scale,
}

/// Spacing of values along an [`Axis`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// Equal differences take equal room.
    Linear,
    /// Equal ratios take equal room; both ends are positive.
    Log,
    /// Inverse hyperbolic sine: logarithmic on either side of zero, linear within this unit of it.
    Symmetric(f64),
}

impl Scale {
    fn apply(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log => log10(value),
            Scale::Symmetric(unit) => asinh(value / unit) / LN_10,
        }
    }

    fn invert(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log => pow(10.0, value),
            Scale::Symmetric(unit) => unit * sinh(value * LN_10),
        }
    }
}

impl Axis {
    /// Covers the given values.
    ///
    /// Values that are not finite (or not positive, on a logarithmic axis) do not count; without
    /// any value the axis covers the unit interval (or a decade). A single value gets some room on
    /// both sides.
    pub fn over(values: impl IntoIterator<Item = f64>, log: bool) -> Axis {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.into_iter().filter(|v| drawable(*v, log)) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = if log { (1.0, 10.0) } else { (0.0, 1.0) };
        } else if high - low <= 1e-12 * high.abs().max(low.abs()) {
            let room = if low == 0.0 { 1.0 } else { 0.1 * low.abs() };
            (low, high) = if log {
                (low / 3.0, high * 3.0)
            } else {
                (low - room, high + room)
            };
        }
        let scale = if log { Scale::Log } else { Scale::Linear };
        Axis { low, high, scale }
    }

    /// Covers the values, their whiskers and zero, with a share of room at either end that they reach;
    /// on a symmetric scale where the values are far apart.
    pub(crate) fn around_zero(
        values: &[f64],
        whiskers: impl Iterator<Item = f64>,
        room: f64,
    ) -> Axis {
        let covered = values.iter().copied().chain(whiskers);
        let mut axis = Axis::over(covered.chain([0.0]), false);
        if far_apart(values) {
            let sizes = sizes(values);
            let most = sizes.last().copied().unwrap_or(1.0);
            // A single number that happens to be near zero shall not cost all others their room.
            let usual = sizes.get(sizes.len() / 7).copied().unwrap_or(most);
            let least = decade(most) - MOST_DECADES + 1;
            axis.scale = Scale::Symmetric(decimal(1, decade(usual).max(least)));
        }
        let widen = |end: f64| if end == 0.0 { 0.0 } else { room };
        let (below, above) = (widen(axis.low), widen(axis.high));
        axis.padded(below, above)
    }

    /// Lengthens the axis to start at zero if all of it lies above. Does nothing to a logarithmic
    /// axis.
    pub fn from_zero(mut self) -> Axis {
        if self.scale != Scale::Log && self.low > 0.0 {
            self.low = 0.0;
        }
        self
    }

    /// Adds the given shares of its length at both ends, but not across zero.
    pub fn padded(self, below: f64, above: f64) -> Axis {
        let (low, high) = (self.scale.apply(self.low), self.scale.apply(self.high));
        let length = high - low;
        let padded = self.scale.invert(low - below * length);
        let crosses = self.low >= 0.0 && padded < 0.0;
        Axis {
            low: if crosses { 0.0 } else { padded },
            high: self.scale.invert(high + above * length),
            ..self
        }
    }

    /// Places a value: 0 at the lower end, 1 at the upper one.
    pub fn place(&self, value: f64) -> f64 {
        let low = self.scale.apply(self.low);
        (self.scale.apply(value) - low) / (self.scale.apply(self.high) - low)
    }

    /// Lists about `wanted` round numbers on the axis, ascending, each with its text.
    pub fn ticks(&self, wanted: usize) -> Vec<(f64, String)> {
        let wanted = wanted.clamp(2, 20);
        match self.scale {
            Scale::Log if self.high / self.low >= 10.0 => return self.log_ticks(wanted),
            Scale::Symmetric(unit) => return self.symmetric_ticks(unit, 1.0 / wanted as f64),
            _ => {}
        }
        let rough = (self.high - self.low) / wanted as f64;
        let power = pow(10.0, floor(log10(rough)));
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .into_iter()
            .map(|nice| nice * power)
            .find(|step| *step >= rough * 0.999)
            .unwrap_or(10.0 * power);
        let slack = 1e-9 * (self.high - self.low);
        let first = ((self.low - slack) / step).ceil();
        let mut ticks = Vec::new();
        for k in 0..=3 * wanted {
            let tick = (first + k as f64) * step;
            if !tick.is_finite() || tick > self.high + slack {
                break;
            }
            // Multiples of 0.1 carry rounding noise; near zero it would show.
            let tick = if tick.abs() < 1e-9 * step { 0.0 } else { tick };
            if self.scale != Scale::Log || tick > 0.0 {
                ticks.push(tick);
            }
        }
        let largest = ticks.iter().fold(0.0_f64, |m, t| m.max(t.abs()));
        ticks
            .into_iter()
            .map(|tick| (tick, tick_text(tick, step, largest)))
            .collect()
    }

    fn log_ticks(&self, wanted: usize) -> Vec<(f64, String)> {
        let (first, last) = (decade(self.low), decade(self.high));
        let decades = (last - first + 1).max(1) as usize;
        let every = decades.div_ceil(wanted + 1).max(1) as i32;
        let within: &[i32] = if decades <= 2 { &[1, 2, 5] } else { &[1] };
        let mut ticks = Vec::new();
        for decade in (first..=last).filter(|d| d.rem_euclid(every) == 0) {
            for digit in within {
                let tick = decimal(*digit, decade);
                if tick >= self.low * (1.0 - 1e-9) && tick <= self.high * (1.0 + 1e-9) {
                    ticks.push((tick, tick_text(tick, tick, tick)));
                }
            }
        }
        ticks
    }

    /// Zero, then powers of ten from the largest down, then the numbers between them, as far as
    /// they keep the gap.
    fn symmetric_ticks(&self, unit: f64, gap: f64) -> Vec<(f64, String)> {
        let most = self.high.max(-self.low);
        let mut candidates = vec![0.0];
        for digit in [1, 3] {
            for k in (decade(unit)..=decade(most)).rev() {
                let size = decimal(digit, k);
                candidates.extend([size, -size]);
            }
        }
        let mut ticks: Vec<f64> = Vec::new();
        for candidate in candidates {
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
}

/// Draws the horizontal axis below a plot: its line, and ticks at their places with their texts.
pub(crate) fn draw_bottom<'a>(
    canvas: &mut Canvas,
    (left, right, y): (f64, f64, f64),
    ticks: impl Iterator<Item = (f64, &'a str)>,
) {
    let stroke = Stroke::solid(AXIS, 1.0);
    canvas.line((left, y), (right, y), stroke);
    for (x, label) in ticks {
        canvas.line((x, y), (x, y + 4.0), stroke);
        let style = TextStyle::new(TICK_SIZE, QUIET).centered();
        canvas.text(x, y + 16.0, label, style);
    }
}

/// True if numbers differ too much in size for a linear scale.
pub(crate) fn far_apart(values: &[f64]) -> bool {
    let sizes = sizes(values);
    let ends = sizes.first().zip(sizes.last());
    ends.is_some_and(|(least, most)| most / least > LINEAR)
}

/// Sizes of the drawable numbers but zero, ascending.
fn sizes(values: &[f64]) -> Vec<f64> {
    let sizes = values.iter().map(|v| v.abs());
    let mut sizes: Vec<f64> = sizes.filter(|v| drawable(*v, true)).collect();
    sizes.sort_by(f64::total_cmp);
    sizes
}

/// Power of ten at or below a positive number.
fn decade(value: f64) -> i32 {
    floor(log10(value) + 1e-9) as i32
}

/// Number with one digit, through text, so that a tick is the decimal number it shows.
fn decimal(digit: i32, exponent: i32) -> f64 {
    format!("{digit}e{exponent}").parse().unwrap_or(f64::NAN)
}

/// True if a value has a place on some axis. Values near the largest float have none, since the
/// length of their axis would be infinite.
pub(crate) fn drawable(value: f64, log: bool) -> bool {
    value.abs() < 1e300 && (!log || value > 0.0)
}

/// Writes a tick. Thousands and millions are abbreviated once the axis reaches 10 000.
fn tick_text(tick: f64, step: f64, largest: f64) -> String {
    if tick == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e13).contains(&largest) {
        return minus(significant(tick, 3));
    }
    let unit = UNITS
        .into_iter()
        .find(|(size, _)| largest >= 1e4 && tick.abs() >= *size * 0.9999);
    let (size, suffix) = unit.unwrap_or((1.0, ""));
    // As many decimals as the step needs, then without trailing zeros.
    let decimals = (1.0 - floor(log10(step / size) + 1e-9)).clamp(0.0, 12.0) as usize;
    let text = trim(format!("{:.decimals$}", tick / size));
    minus(format!("{text}{suffix}"))
}

/// Writes a value with `digits` significant digits without trailing zeros, thousands and millions
/// abbreviated from 10 000 on.
pub(crate) fn compact(x: f64, digits: usize) -> String {
    match UNITS
        .into_iter()
        .find(|(size, _)| x.abs() >= 9999.5 && x.abs() >= *size * 0.9995)
    {
        Some((size, suffix)) if x.abs() < 1e15 => {
            format!("{}{suffix}", significant(x / size, digits))
        }
        _ => significant(x, digits),
    }
}

/// Writes a number with at most the given count of significant digits; whole numbers keep all of
/// theirs.
pub fn significant(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        // Adding zero makes −0 and 0 the same number.
        return format!("{}", x + 0.0);
    }
    let magnitude = floor(log10(x.abs())) as i32;
    if !(-4..15).contains(&magnitude) {
        let text = format!("{x:.*e}", digits.saturating_sub(1));
        return match text.split_once('e') {
            Some((mantissa, exponent)) => format!("{}e{exponent}", trim(mantissa.to_owned())),
            None => text,
        };
    }
    let decimals = (digits as i32 - 1 - magnitude).max(0) as usize;
    trim(format!("{x:.decimals$}"))
}

fn trim(text: String) -> String {
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Puts a typographic minus in place of a hyphen.
pub(crate) fn minus(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}
