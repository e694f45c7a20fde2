//! Problems as declared: arms or feature vectors, a safe one among them, a reward and guardrails; and their standard
//! form. Files, in reading order: `direction`, `range`, `signal`, `budget`, `expression`, `guardrail`, `claim`, `signals` (the row of
//! an outcome), `context` (arms that share a context), `fields` (contexts by name).

mod budget;
mod claim;
mod context;
mod direction;
mod drift;
mod expression;
mod fields;
mod guardrail;
mod range;
mod segment;
mod signal;
mod signals;

pub use budget::{Budget, Period, WhenExhausted};
pub use claim::Claim;
pub use context::{ContextArms, Model};
pub use direction::Direction;
pub use drift::{Drift, DriftUnit};
pub(crate) use expression::Sum;
pub use expression::{ArmWeights, Exceedance, Expression, Weights};
pub use fields::{Category, Field, FieldValue, Fields, Missing, OutOfRange, Unseen};
pub(crate) use guardrail::Shown;
pub use guardrail::{Guardrail, Scope, Standard};
pub use range::{ArmRanges, Range, two_numbers};
pub use segment::{check_segment_fields, is_segment_of_fields, segment_of_fields};
pub use signal::{RANGE_ADVICE, Signal, SignalConfig};
pub use signals::Measured;
pub(crate) use signals::REWARD;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, finite};
use crate::path::Within;
use expression::Source;
use signals::Signals;

/// A problem as declared: K arms, K feature vectors, or (see [`Problem::contextual`]) a safe action
/// in a feature space where every round brings other actions.
///
/// ```
/// use banister::{Guardrail, Problem};
///
/// let problem = Problem {
///     arms: vec!["control".into(), "bold".into()],
///     safe: 0,
///     guardrails: vec![Guardrail {
///         name: "complaints".into(),
///         at_most: Some(0.1),
///         safe_cost: Some(0.02),
///         ..Default::default()
///     }],
///     ..Default::default()
/// };
/// assert!(problem.check().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Names of the arms.
    pub arms: Vec<String>,
    /// Index of the safe arm.
    pub safe: usize,
    /// One feature vector per arm, for linear agents; none: arms are their own features.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<Vec<f64>>,
    /// Length of the context that every round brings, where the arms' features are made from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<usize>,
    /// Range and noise of the reward.
    #[serde(default)]
    pub reward: SignalConfig,
    /// Guardrails that every policy must keep.
    #[serde(default)]
    pub guardrails: Vec<Guardrail>,
    /// Signals that outcomes bring beside these: guardrails may be made from them, and so may the reward.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub signals: BTreeMap<String, Measured>,
    /// Names of the segments that are expected, for agents that know segments: δ is set aside for them, and with a
    /// guardrail that holds in each they have policies of their own from the first decision on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<String>,
}

/// A problem whose every number has been checked, in standard form.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedProblem {
    /// The problem as declared.
    pub declared: Problem,
    /// Checked signal of the reward.
    pub reward: Signal,
    /// The guardrails in standard form.
    pub guardrails: Vec<Standard>,
    /// The row of signals that an outcome is: the reward, one per guardrail, then those declared beside them.
    signals: Signals,
    /// Signals declared beside them, in common units.
    beside: Vec<Signal>,
    /// Guardrails that are weighted sums.
    sums: Vec<Sum>,
}

/// Most that means may move, in units of their ranges, while a policy is used.
const MOVED: f64 = 0.001;

impl CheckedProblem {
    /// Every signal of the row, and its name.
    pub(crate) fn each_signal(&self) -> impl Iterator<Item = (&str, &Signal)> {
        (0..self.width()).map(|s| (self.signal_name(s), self.signal_of(0, s).1))
    }

    /// Decisions, or seconds, that a policy is used for, where means may move.
    pub(crate) fn reach(&self) -> Option<f64> {
        let speed = |signal: &Signal| signal.speed() / signal.unit();
        let fastest = self
            .each_signal()
            .map(|(_, own)| speed(own))
            .fold(0.0, f64::max);
        (fastest > 0.0).then(|| (MOVED / fastest).floor().max(1.0))
    }

    /// A unit of time that means may move in; `None` if they stay.
    pub fn drift_unit(&self) -> Option<DriftUnit> {
        let drifts = self.each_signal().filter_map(|(_, own)| own.drift);
        let mut moving = drifts.filter(|drift| drift.by > 0.0);
        moving.next().map(|drift| drift.per)
    }

    /// Most decisions, or seconds, that the clock goes on by from one decision to the next: the longest declared pause.
    pub(crate) fn longest_pause(&self) -> f64 {
        let drifts = self.each_signal().filter_map(|(_, own)| own.drift);
        let pauses = drifts.map(|own| own.longest_pause());
        pauses.reduce(f64::max).unwrap_or(f64::INFINITY)
    }

    /// Refuses declared drift, where it cannot be followed.
    pub fn refuse_drift(&self, why: &str) -> Result<(), Error> {
        let mut signals = self.each_signal();
        match signals.position(|(_, signal)| signal.speed() > 0.0) {
            None => Ok(()),
            Some(place) => {
                let field = self.declared.field_of(place).key("drift");
                Err(Error::invalid(field, "given", why))
            }
        }
    }
}

impl Problem {
    /// A problem whose actions come anew each round ([`crate::Choice::Offered`]); only the safe action, given by
    /// its features x_0, is always there.
    pub fn contextual(safe_action: Vec<f64>, guardrails: Vec<Guardrail>) -> Self {
        Self {
            arms: vec!["safe".into()],
            features: vec![safe_action],
            guardrails,
            ..Self::default()
        }
    }

    /// Checks everything and brings the guardrails to standard form.
    pub fn check(&self) -> Result<CheckedProblem, Error> {
        if self.arms.is_empty() {
            return Err(Error::invalid(
                "arms",
                "empty",
                "a policy needs at least one arm",
            ));
        }
        for (i, name) in self.arms.iter().enumerate() {
            check_name(&self.arms[..i], name).within(("arms", i))?;
        }
        if self.safe >= self.arms.len() {
            let allowed = format!("must be the index of an arm, 0 to {}", self.arms.len() - 1);
            return Err(Error::invalid("safe", self.safe, allowed));
        }
        self.check_features()?;
        for (i, name) in self.segments.iter().enumerate() {
            check_segment(name)?;
            if self.segments[..i].contains(name) {
                let allowed = "every segment needs a name of its own";
                return Err(Error::invalid(("segments", i), name, allowed));
            }
        }
        let named = self.with_named_reward()?.with_ends()?;
        named.check_measured()?;
        drift::check_units(&named)?;
        let places = named.guardrails.iter().enumerate();
        let places = places.map(|(i, own)| own.place(&named).within(("guardrails", i)));
        let places = places.collect::<Result<Vec<_>, _>>()?;
        let reward = named.reward_place().within("reward")?;
        let signals = Signals::new(&named, &reward, &places)?;
        let reward = reward.config.check().within("reward")?;
        let mut sums = Vec::new();
        let mut guardrails: Vec<Standard> = Vec::new();
        for (i, (guardrail, place)) in std::iter::zip(&named.guardrails, &places).enumerate() {
            let standard = guardrail.standard(place).within(("guardrails", i))?;
            if guardrails.iter().any(|g| g.name == standard.name) {
                let allowed = "every guardrail needs a name of its own";
                return Err(Error::invalid("name", &standard.name, allowed))
                    .within(("guardrails", i));
            }
            if let Source::Sum(sum) = &place.source {
                let mut sum = sum.clone();
                sum.guardrail = i;
                sums.push(sum);
            }
            guardrails.push(standard);
        }
        let declared = named;
        let beside = declared.signals.iter();
        let beside = beside.map(|(name, own)| own.config().check().within(("signals", name)));
        Ok(CheckedProblem {
            beside: beside.collect::<Result<_, _>>()?,
            sums,
            declared,
            signals,
            reward,
            guardrails,
        })
    }
}

impl Problem {
    fn check_features(&self) -> Result<(), Error> {
        let features = &self.features;
        if self.context == Some(0) {
            return Err(Error::invalid("context", 0, "must be at least 1"));
        }
        if features.is_empty() {
            return Ok(());
        }
        if self.context.is_some() {
            let allowed = "arms have features of their own, or a context, not both";
            return Err(Error::invalid("context", "given", allowed));
        }
        if features.len() != self.arms.len() {
            let value = format!("{} vectors", features.len());
            let allowed = format!("expected {}: one per arm", self.arms.len());
            return Err(Error::invalid("features", value, allowed));
        }
        let d = features[0].len();
        if d == 0 {
            return Err(Error::invalid(
                "features[0]",
                "empty",
                "a feature vector needs at least one number",
            ));
        }
        for (a, x) in features.iter().enumerate() {
            check_vector(x, d).within(("features", a))?;
        }
        Ok(())
    }
}

/// Refuses a feature vector of the wrong length or with a number that is not finite.
pub(crate) fn check_vector(x: &[f64], d: usize) -> Result<(), Error> {
    if x.len() != d {
        let value = format!("a vector of {}", x.len());
        let allowed = format!("feature vectors have length {d} here");
        return Err(Error::invalid("", value, allowed));
    }
    match x.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(j) => finite(j, x[j]).map(|_| ()),
    }
}

/// Refuses an empty arm name or one that is taken.
pub(crate) fn check_name(taken: &[String], name: &str) -> Result<(), Error> {
    if name.trim().is_empty() {
        return Err(Error::invalid("", "empty", "an arm needs a name"));
    }
    if taken.iter().any(|other| other == name) {
        return Err(Error::invalid(
            "",
            name,
            "every arm needs a name of its own",
        ));
    }
    Ok(())
}

/// Characters of a segment's name, at most.
const LONGEST: usize = 200;

/// Refuses a name that cannot be a segment's.
pub fn check_segment(name: &str) -> Result<(), Error> {
    if name.trim().is_empty() {
        return Err(Error::invalid("segment", "empty", "a segment needs a name"));
    }
    let count = name.chars().count();
    if count > LONGEST {
        let allowed = format!("a name has at most {LONGEST} characters");
        return Err(Error::invalid(
            "segment",
            format!("{count} characters"),
            allowed,
        ));
    }
    check_seen(name).within("segment")
}

/// Refuses a name that shows as something else than it is: with control characters, line ends, or characters that
/// are not seen or change the direction of writing.
pub fn check_seen(name: &str) -> Result<(), Error> {
    let hides = |c: char| {
        c.is_control()
            || matches!(
                c,
                '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                    | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
                    | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}'
            )
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    match name.chars().find(|c| hides(*c)) {
        None => Ok(()),
        Some(c) => {
            let value = format!("a name with U+{:04X}", u32::from(c));
            let allowed = "a name is one line, of characters that are seen";
            Err(Error::invalid("", value, allowed))
        }
    }
}
