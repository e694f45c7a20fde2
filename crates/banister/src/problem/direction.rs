//! Meaning of a guardrail's direction: the one place that knows which side of a threshold is allowed.

use serde::{Deserialize, Serialize};

/// Side of its threshold that a guardrail's signal must stay on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The expected signal must not exceed the threshold.
    AtMost,
    /// The expected signal must not fall below the threshold.
    AtLeast,
}

impl Direction {
    /// Key that declares the threshold.
    pub fn key(self) -> &'static str {
        self.select("at_most", "at_least")
    }

    /// Key as English words.
    pub fn words(self) -> &'static str {
        self.select("at most", "at least")
    }

    /// Relation between an allowed signal and its threshold.
    pub fn symbol(self) -> &'static str {
        self.select("≤", "≥")
    }

    /// Preposition for the allowed side.
    pub fn allowed_side(self) -> &'static str {
        self.select("below", "above")
    }

    /// Preposition for the forbidden side.
    pub fn forbidden_side(self) -> &'static str {
        self.select("above", "below")
    }

    /// 1 where more of the signal is harmful, −1 where less is.
    #[inline]
    pub fn sign(self) -> f64 {
        self.select(1.0, -1.0)
    }

    /// Distance beyond the threshold, in the signal's units; negative where the guardrail is kept.
    ///
    /// ```
    /// use banister::toolkit::Direction;
    ///
    /// assert_eq!(Direction::AtMost.excess(0.75, 0.5), 0.25);
    /// assert_eq!(Direction::AtLeast.excess(0.75, 0.5), -0.25);
    /// ```
    #[inline]
    pub fn excess(self, signal: f64, threshold: f64) -> f64 {
        self.sign() * (signal - threshold)
    }

    /// More harmful of two signals; the other one where one is NaN.
    #[inline]
    pub fn worse(self, a: f64, b: f64) -> f64 {
        self.select(a.max(b), a.min(b))
    }

    /// Harmless and harmful end of a range.
    #[inline]
    pub fn ordered(self, lo: f64, hi: f64) -> (f64, f64) {
        self.select((lo, hi), (hi, lo))
    }

    /// Distance of a signal from the harmless end of its range.
    #[inline]
    pub fn harm(self, signal: f64, lo: f64, hi: f64) -> f64 {
        self.select(signal - lo, hi - signal)
    }

    #[inline]
    pub(crate) fn select<T>(self, at_most: T, at_least: T) -> T {
        match self {
            Self::AtMost => at_most,
            Self::AtLeast => at_least,
        }
    }
}
