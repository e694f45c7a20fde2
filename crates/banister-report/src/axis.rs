//! Axes: which range they cover, where their ticks stand, how numbers are written on them.

use libm::{floor, log10, pow};

/// One axis in data units, ready to map values to the unit interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The lower end.
    pub low: f64,
    /// The upper end, above `low`.
    pub high: f64,
    /// Logarithmic; both ends are then positive.
    pub log: bool,
}

impl Axis {
    /// An axis over the given values.
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
        Axis { low, high, log }
    }

    /// The axis, lengthened to start at zero if all of it lies above. Does nothing to a
    /// logarithmic axis.
    pub fn from_zero(mut self) -> Axis {
        if !self.log && self.low > 0.0 {
            self.low = 0.0;
        }
        self
    }

    /// The axis with the given shares of its length added at both ends, but not across zero.
    pub fn padded(mut self, below: f64, above: f64) -> Axis {
        if self.log {
            let ratio = self.high / self.low;
            self.low /= pow(ratio, below);
            self.high *= pow(ratio, above);
        } else {
            let length = self.high - self.low;
            let low = self.low - below * length;
            self.low = if self.low >= 0.0 { low.max(0.0) } else { low };
            self.high += above * length;
        }
        self
    }

    /// Where a value stands: 0 at the lower end, 1 at the upper one.
    pub fn place(&self, value: f64) -> f64 {
        if self.log {
            (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    /// About `wanted` round numbers on the axis, ascending, each with its text.
    pub fn ticks(&self, wanted: usize) -> Vec<(f64, String)> {
        let wanted = wanted.clamp(2, 20);
        if self.log && self.high / self.low >= 10.0 {
            return self.log_ticks(wanted);
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
            if !self.log || tick > 0.0 {
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
        let (first, last) = (
            floor(log10(self.low)) as i32,
            floor(log10(self.high)) as i32,
        );
        let decades = (last - first + 1).max(1) as usize;
        let every = decades.div_ceil(wanted + 1).max(1) as i32;
        let within: &[f64] = if decades <= 2 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let mut ticks = Vec::new();
        for decade in (first..=last).filter(|d| d.rem_euclid(every) == 0) {
            for digit in within {
                // Through text, so that a tick is the decimal number it shows.
                let tick = format!("{digit}e{decade}").parse().unwrap_or(f64::NAN);
                if tick >= self.low * (1.0 - 1e-9) && tick <= self.high * (1.0 + 1e-9) {
                    ticks.push((tick, tick_text(tick, tick, tick)));
                }
            }
        }
        ticks
    }
}

/// Whether a value has a place on some axis. Values near the largest float have none, since the
/// length of their axis would be infinite.
pub(crate) fn drawable(value: f64, log: bool) -> bool {
    value.abs() < 1e300 && (!log || value > 0.0)
}

/// A tick's text. Thousands and millions are abbreviated once the axis reaches 10 000.
pub(crate) fn tick_text(tick: f64, step: f64, largest: f64) -> String {
    if tick == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e13).contains(&largest) {
        return minus(significant(tick, 3));
    }
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let unit = units
        .into_iter()
        .find(|(size, _)| largest >= 1e4 && tick.abs() >= *size * 0.9999);
    let (size, suffix) = unit.unwrap_or((1.0, ""));
    // As many decimals as the step needs, then without trailing zeros.
    let decimals = (1.0 - floor(log10(step / size) + 1e-9)).clamp(0.0, 12.0) as usize;
    let text = trim(format!("{:.decimals$}", tick / size));
    minus(format!("{text}{suffix}"))
}

/// A value in running text: `digits` significant digits without trailing zeros, thousands and
/// millions abbreviated from 10 000 on.
pub(crate) fn compact(x: f64, digits: usize) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match units
        .into_iter()
        .find(|(size, _)| x.abs() >= 9999.5 && x.abs() >= *size * 0.9995)
    {
        Some((size, suffix)) if x.abs() < 1e15 => {
            format!("{}{suffix}", significant(x / size, digits))
        }
        _ => significant(x, digits),
    }
}

/// A number with at most the given count of significant digits; whole numbers keep all of theirs.
pub(crate) fn significant(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return if x == 0.0 {
            "0".to_owned()
        } else {
            format!("{x}")
        };
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

/// Typographic minus.
pub(crate) fn minus(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}
