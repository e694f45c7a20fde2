//! Prior knowledge of a signal (the reward, or the metric of a guardrail).

use std::fmt;

use schemars::JsonSchema;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};

use super::range::{Range, UNIT, check_pair};
use super::{Direction, Drift, Expression};
use crate::error::{Error, finite};
use crate::path::{FieldPath, Within};

/// Advice at the end of the error for an observation outside its range.
pub const RANGE_ADVICE: &str = "declare a `range` that holds every value ever possible";

/// Largest distance of an observation from its range, in ranges: nothing real is so far out, and sums stay finite.
const FAR: f64 = 1e100;

/// A signal: its range, and whether single observations may leave it.
///
/// Without `sub_gaussian` every observation lies in `range`. With `sub_gaussian = R` only the mean
/// lies in `range`, and observations are R-sub-Gaussian around it (a Gaussian with standard
/// deviation R, say). The range is [0, 1] unless given. With `cap = x` observations above x count as x, and
/// all that is learned and promised is about the mean of what counts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalConfig {
    /// Of the reward: the declared signal that it is, or a name by which outcomes bring it; or an expression of signals,
    /// the first of which outcomes bring as their reward. May be called `signal`.
    #[serde(default, alias = "signal", skip_serializing_if = "Option::is_none")]
    pub expression: Option<Expression>,
    /// Lowest and highest value, for all arms or by arm; default [0, 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// Value that larger ones count as; it takes the place of the range's high end, and the low end is 0 by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<f64>,
    /// The sub-Gaussian constant R, in the signal's units.
    #[serde(
        default,
        deserialize_with = "known_constant",
        skip_serializing_if = "Option::is_none"
    )]
    pub sub_gaussian: Option<f64>,
    /// Most that every arm's mean may move in a unit of time; absent: means do not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
}

/// Advice where the sub-Gaussian constant is not known.
const UNKNOWN_CONSTANT: &str = "must be the constant itself, a number above 0 known from the domain: one \
    estimated from data voids the certificate. If it is unknown, declare a `range` that no observation \
    leaves, or a `cap` that larger ones count as";

/// Reads a sub-Gaussian constant; one that is said to be unknown is refused with advice.
pub(super) fn known_constant<'de, D: Deserializer<'de>>(
    source: D,
) -> Result<Option<f64>, D::Error> {
    source.deserialize_option(ConstantVisitor)
}

struct ConstantVisitor;

impl<'de> Visitor<'de> for ConstantVisitor {
    type Value = Option<f64>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let advice = UNKNOWN_CONSTANT.strip_prefix("must be ");
        f.write_str(advice.unwrap_or(UNKNOWN_CONSTANT))
    }

    fn visit_f64<E>(self, x: f64) -> Result<Option<f64>, E> {
        Ok(Some(x))
    }

    fn visit_i64<E>(self, x: i64) -> Result<Option<f64>, E> {
        Ok(Some(x as f64))
    }

    fn visit_u64<E>(self, x: u64) -> Result<Option<f64>, E> {
        Ok(Some(x as f64))
    }

    fn visit_none<E>(self) -> Result<Option<f64>, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Option<f64>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, source: D) -> Result<Option<f64>, D::Error> {
        source.deserialize_any(self)
    }
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
    /// True if observations above `hi` count as `hi`.
    pub capped: bool,
    /// Most that a mean moves.
    pub drift: Option<Drift>,
    /// 1/(hi − lo).
    scale: f64,
    /// Lowest and highest observation at all: [`FAR`] from the range.
    far: (f64, f64),
}

impl SignalConfig {
    /// Name by which outcomes bring it, where it has one of its own.
    pub fn name(&self) -> Option<&str> {
        match &self.expression {
            Some(Expression::Signal(name)) => Some(name),
            _ => None,
        }
    }

    /// Name of the signal that outcomes bring as their reward.
    pub fn brought(&self) -> Option<&str> {
        self.expression.as_ref()?.signals().first().copied()
    }

    /// Checks the numbers. Where ranges are by arm, the signal of their hull is returned.
    pub fn check(&self) -> Result<Signal, Error> {
        let [lo, hi] = match (&self.range, self.cap) {
            (Some(own), _) => own.check().within("range")?,
            (None, Some(cap)) => [0.0, cap],
            (None, None) => UNIT,
        };
        if let Some(r) = self.sub_gaussian
            && !(r > 0.0 && r.is_finite())
        {
            return Err(Error::invalid("sub_gaussian", r, UNKNOWN_CONSTANT));
        }
        self.check_cap(lo, hi).within("cap")?;
        if let Some(drift) = &self.drift {
            drift.check(hi - lo).within("drift")?;
            if self.sub_gaussian.is_some() {
                let allowed = "means that move are followed by bounded signals only: leave out `sub_gaussian`";
                return Err(Error::invalid("drift", "given", allowed));
            }
        }
        Ok(self.signal([lo, hi]))
    }

    /// Signals of all arms where ranges are by arm; none otherwise.
    pub(super) fn of_arms(&self, arms: &[String]) -> Result<Vec<Signal>, Error> {
        let Some(range) = &self.range else {
            return Ok(Vec::new());
        };
        let ranges = range.of_arms(arms).within("range")?;
        Ok(ranges.into_iter().map(|own| self.signal(own)).collect())
    }

    /// Signal of one arm that brings its own range.
    pub(super) fn of_arm(&self, range: [f64; 2]) -> Result<Signal, Error> {
        check_pair(range)?;
        if let Some(cap) = self.cap.filter(|&cap| range[0] >= cap) {
            let value = format!("[{}, {}]", range[0], range[1]);
            let allowed = format!("its low end must be below the `cap` {cap}");
            return Err(Error::invalid("", value, allowed));
        }
        Ok(self.signal(range))
    }

    /// The smallest range that holds those of all arms, up to the cap.
    pub fn hull(&self) -> [f64; 2] {
        let own = self.range.as_ref().map(Range::hull);
        let [lo, hi] = own.unwrap_or([0.0, self.cap.unwrap_or(1.0)]);
        [lo, self.cap.map_or(hi, |cap| hi.min(cap))]
    }

    fn check_cap(&self, lo: f64, hi: f64) -> Result<(), Error> {
        let Some(cap) = self.cap else { return Ok(()) };
        finite("", cap)?;
        let mut ranges = vec![(FieldPath::default(), [lo, hi])];
        ranges.extend(self.range.iter().flat_map(|own| own.each()));
        let allowed = if self.sub_gaussian.is_some() {
            "a signal is bounded by its `cap`: leave out `sub_gaussian`".to_string()
        } else if let Some((_, [low, _])) = ranges.iter().find(|(_, own)| own[0] >= cap) {
            format!("must be above {low}, the low end of the range")
        } else if hi < cap {
            format!("no observation is above it: the range ends at {hi}")
        } else {
            return check_pair([lo, cap]);
        };
        Err(Error::invalid("", cap, allowed))
    }

    /// The signal of a checked range: a cap within it is its high end.
    fn signal(&self, [lo, hi]: [f64; 2]) -> Signal {
        let cap = self.cap.filter(|&cap| cap <= hi);
        let hi = cap.unwrap_or(hi);
        let far = FAR * (hi - lo);
        Signal {
            lo,
            hi,
            sub_gaussian: self.sub_gaussian,
            capped: cap.is_some(),
            drift: self.drift,
            scale: 1.0 / (hi - lo),
            far: ((lo - far).max(f64::MIN), (hi + far).min(f64::MAX)),
        }
    }
}

impl Signal {
    /// v: most that a mean moves between decisions, or in a second.
    pub(crate) fn speed(&self) -> f64 {
        self.drift.map_or(0.0, |drift| drift.speed())
    }

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

    /// An observation as it counts: within the range, unless it is sub-Gaussian.
    #[inline]
    pub fn counted(&self, x: f64) -> f64 {
        match self.sub_gaussian {
            None => x.clamp(self.lo, self.hi),
            Some(_) => x,
        }
    }

    /// True if an observation counts as it is.
    #[inline]
    pub(super) fn holds(&self, x: f64) -> bool {
        // NaN fails all.
        (x >= self.lo && x <= self.hi) || (self.sub_gaussian.is_some() && self.is_observation(x))
    }

    #[inline]
    fn is_observation(&self, x: f64) -> bool {
        x >= self.far.0 && x <= self.far.1
    }

    /// Refuses what is no observation at all: NaN, infinity, or a number that no sum could bear.
    pub fn check_reported(&self, x: f64) -> Result<(), Error> {
        if self.is_observation(x) {
            Ok(())
        } else {
            Err(self.refuse(x))
        }
    }

    /// True if an observation is one that the declaration allows.
    #[inline]
    pub fn admits(&self, x: f64) -> bool {
        self.holds(x) || (self.capped && x > self.hi && self.is_observation(x))
    }

    /// Refuses an observation that the declaration does not allow.
    pub fn check_value(&self, x: f64) -> Result<(), Error> {
        if self.admits(x) {
            Ok(())
        } else {
            Err(self.refuse(x))
        }
    }

    /// The error for an observation that is not.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse(&self, x: f64) -> Error {
        if x.is_finite() {
            let (lo, hi) = (self.lo, self.hi);
            let allowed = if !self.is_observation(x) {
                format!("must lie within {FAR:e} times its range [{lo}, {hi}]")
            } else if self.capped {
                format!("must be at least {lo}, the declared low end")
            } else {
                format!("must lie in the declared range [{lo}, {hi}]; {RANGE_ADVICE}")
            };
            Error::invalid("", x, allowed)
        } else {
            Error::invalid("", x, "only finite numbers are allowed")
        }
    }
}
