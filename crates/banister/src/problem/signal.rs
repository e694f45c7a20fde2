//! Prior knowledge of a signal (the reward, or the metric of a guardrail).

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::Direction;
use crate::error::{Error, finite, positive};

/// Largest distance of a sub-Gaussian observation from its range, in ranges.
const FAR: f64 = 1e100;

/// A signal: its range, and whether single observations may leave it.
///
/// Without `sub_gaussian` every observation lies in `range`. With `sub_gaussian = R` only the mean
/// lies in `range`, and observations are R-sub-Gaussian around it (a Gaussian with standard
/// deviation R, say). The range is [0, 1] unless given.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalConfig {
    /// Lowest and highest value; default [0, 1].
    #[serde(
        default,
        deserialize_with = "two_numbers",
        skip_serializing_if = "Option::is_none"
    )]
    pub range: Option<[f64; 2]>,
    /// The sub-Gaussian constant R, in the signal's units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_gaussian: Option<f64>,
}

/// Reads exactly two numbers: some formats would pass over a third one.
pub fn two_numbers<'de, D: Deserializer<'de>>(source: D) -> Result<Option<[f64; 2]>, D::Error> {
    let list = Option::<Vec<f64>>::deserialize(source)?;
    let pair = |list: Vec<f64>| {
        <[f64; 2]>::try_from(list)
            .map_err(|list| D::Error::invalid_length(list.len(), &"two numbers"))
    };
    list.map(pair).transpose()
}

/// A checked signal: finite range, lo < hi.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signal {
    /// Lowest value (of observations, or of the mean if sub-Gaussian).
    pub lo: f64,
    /// Highest value of the range.
    pub hi: f64,
    /// The sub-Gaussian constant if observations may leave the range.
    pub sub_gaussian: Option<f64>,
    /// 1/(hi − lo).
    scale: f64,
    /// Lowest and highest observation possible: the range, or any finite number if sub-Gaussian.
    admitted: (f64, f64),
}

impl SignalConfig {
    /// Checks the numbers; `field` is how the user calls this signal.
    pub fn check(&self, field: &str) -> Result<Signal, Error> {
        let [lo, hi] = self.range.unwrap_or([0.0, 1.0]);
        let range = format!("{field}.range");
        finite(&range, lo)?;
        finite(&range, hi)?;
        if lo >= hi {
            let value = format!("[{lo}, {hi}]");
            return Err(Error::invalid(
                range,
                value,
                "the first number must be below the second",
            ));
        }
        finite(&range, hi - lo)?;
        finite(&range, 1.0 / (hi - lo))?;
        if let Some(r) = self.sub_gaussian {
            positive(&format!("{field}.sub_gaussian"), r)?;
        }
        Ok(Signal {
            lo,
            hi,
            sub_gaussian: self.sub_gaussian,
            scale: 1.0 / (hi - lo),
            admitted: match self.sub_gaussian {
                None => (lo, hi),
                // So far out that nothing real is refused, and sums stay finite whatever comes.
                Some(_) => {
                    let far = FAR * (hi - lo);
                    ((lo - far).max(f64::MIN), (hi + far).min(f64::MAX))
                }
            },
        })
    }
}

impl Signal {
    /// A value in standard units: 0 at the low end, 1 at the high end.
    #[inline]
    pub fn standardise(&self, x: f64) -> f64 {
        (x - self.lo) * self.scale
    }

    /// A value as a standard cost: 0 at the harmless end, 1 at the harmful one.
    #[inline]
    pub fn standardise_cost(&self, direction: Direction, x: f64) -> f64 {
        direction.harm(x, self.lo, self.hi) * self.scale
    }

    /// Map to standard units as (origin, scale): y = (x − origin)·scale. A reward counts as `at_most`: from
    /// the low end.
    pub(crate) fn affine(&self, direction: Direction) -> (f64, f64) {
        let (origin, _) = direction.ordered(self.lo, self.hi);
        (origin, direction.sign() * self.scale)
    }

    /// Width of the range: one standard unit.
    #[inline]
    pub fn unit(&self) -> f64 {
        self.hi - self.lo
    }

    /// The sub-Gaussian constant in standard units: 1/2 for a bounded signal.
    pub fn r(&self) -> f64 {
        self.sub_gaussian.map_or(0.5, |r| r / self.unit())
    }

    /// True if an observation is possible for this signal.
    #[inline]
    pub fn admits(&self, x: f64) -> bool {
        // NaN fails both.
        x >= self.admitted.0 && x <= self.admitted.1
    }

    /// Refuses an observation that is not possible; `field` is how the user calls it.
    pub fn check_value(&self, field: &str, x: f64) -> Result<(), Error> {
        if self.admits(x) {
            Ok(())
        } else {
            Err(self.refuse(field, x))
        }
    }

    /// The error for an observation that is not.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse(&self, field: &str, x: f64) -> Error {
        if x.is_finite() {
            let (lo, hi) = self.admitted;
            let allowed = match self.sub_gaussian {
                None => format!("must lie in the declared range [{lo}, {hi}]"),
                Some(_) => format!("must lie within [{lo:e}, {hi:e}], {FAR:e} times the range"),
            };
            Error::invalid(field, x, allowed)
        } else {
            Error::invalid(field, x, "only finite numbers are allowed")
        }
    }
}
