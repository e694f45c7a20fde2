//! Numbers in words, for people.

use banister_sim::compare::Interval95;

use crate::Cell;
use crate::figures::axes::significant;

/// Placeholder of tables for an unknown value.
pub const UNKNOWN: &str = "–";

/// A count, if it is known.
pub fn count(n: Option<u64>) -> String {
    n.map_or(UNKNOWN.into(), |n| n.to_string())
}

/// A number with as many digits as a reader wants.
pub fn number(x: f64) -> String {
    if x.is_nan() {
        UNKNOWN.into()
    } else if x.abs() >= 1000.0 {
        let digits = format!("{:.0}", x.abs());
        let mut grouped = String::new();
        for (i, c) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i) % 3 == 0 {
                grouped.push('\u{2009}');
            }
            grouped.push(c);
        }
        if x < 0.0 {
            format!("−{grouped}")
        } else {
            grouped
        }
    } else if x.abs() >= 10.0 {
        signed(format!("{x:.1}"))
    } else {
        digits(x)
    }
}

/// A multiple, with two significant digits.
pub fn multiple(x: f64) -> String {
    if !x.is_finite() {
        return UNKNOWN.into();
    }
    // Rounded first: 9.96 is 10, not 10.0.
    let x = format!("{x:.1e}").parse().unwrap_or(x);
    let places = (1.0 - x.abs().log10().floor()).clamp(0.0, 4.0) as usize * usize::from(x != 0.0);
    if x.abs() >= 1000.0 {
        format!("{}×", number(x))
    } else {
        format!("{}×", signed(format!("{x:.places$}")))
    }
}

/// With a minus sign instead of a hyphen, and none before nothing.
pub fn signed(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| "0.%".contains(c)) => rest.into(),
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

/// x as a share of `whole`.
pub fn percent(x: f64, whole: f64) -> String {
    if whole == 0.0 || x.is_nan() || whole.is_nan() {
        UNKNOWN.into()
    } else {
        signed(format!("{:.1}%", 100.0 * x / whole))
    }
}

/// A share in percent.
pub fn share(x: f64) -> String {
    percent(x, 1.0)
}

/// Four significant digits, no trailing zeros: a signal may be in dollars, and small. What is left of rounding is 0.
pub fn digits(x: f64) -> String {
    match x.abs() {
        ..1e-12 => "0".into(),
        ..1000.0 => signed(significant(x, 4).replace("e-", "e−")),
        _ => number(x),
    }
}

/// A share that may be tiny without being nothing.
pub fn small_percent(share: f64) -> String {
    match share {
        x if x.is_nan() => UNKNOWN.into(),
        0.0 => "0".into(),
        x if x < 0.0005 => format!("{:.0e}", x).replace("e-", "e−"),
        x => format!("{:.1}%", 100.0 * x),
    }
}

/// Ends of an interval, as `word` says a number.
pub fn ends(interval: &Interval95, word: impl Fn(f64) -> String) -> String {
    if interval.low.is_nan() {
        UNKNOWN.into()
    } else {
        format!("{} to {}", word(interval.low), word(interval.high))
    }
}

/// A mean with half the width of its interval.
pub fn with_error(own: &Interval95) -> String {
    let half = own.high - own.mean;
    if half > 0.0 {
        format!("{} ± {}", number(own.mean), number(half))
    } else {
        number(own.mean)
    }
}

/// A number as `word` says it, in a cell that sorts by its value.
pub fn cell(x: f64, word: impl Fn(f64) -> String) -> Cell {
    Cell::number(word(x)).sorted_by(x)
}

/// A count in a cell that sorts by its value.
pub fn counted(n: Option<u64>) -> Cell {
    Cell::number(count(n)).sorted_by(n.map_or(f64::NAN, |n| n as f64))
}
