//! Guardrails as people declare them, and the one standard form the core works in.
//!
//! A declared guardrail bounds a signal s from above or below, absolutely or relative to the safe
//! action's own mean. In standard form every guardrail is a cost y in units of the signal's range
//! (0 is the harmless end, 1 the harmful one) with
//!
//! ```text
//!   cost of action a = y_a − f·y_0   (f = 0 for an absolute guardrail),   policy cost ≤ τ.
//! ```
//!
//! `at_least` mirrors the range. A relative bound "at most f times the safe mean" reads
//! y_a − f·y_0 ≤ (f−1)·lo/(hi−lo); "at least f times" mirrors to y_a − f·y_0 ≤ (1−f)·hi/(hi−lo).
//! A relative guardrail whose safe cost is known is an absolute one.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};

use super::expression::{Exceedance, Place, Source};
use super::signals::{Measured, REWARD};
use crate::error::{Error, finite};
use crate::problem::signal::known_constant;
use crate::problem::{Budget, Direction, Drift, Expression, Range, Signal, SignalConfig, Weights};

/// Value that stands for an unknown ratio to the safe action's, so that costs stay finite.
const MOST_RATIO: f64 = 1e9;
/// Most decisions of a stretch: sums of that many numbers are still exact enough.
const MOST_OVER: u64 = 1_000_000_000;

/// A bound on the mean of an expression, as declared in TOML, JSON or Python.
///
/// ```
/// use banister::Guardrail;
///
/// let spend: Guardrail = serde_json::from_str(r#"{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}"#)?;
/// assert_eq!(spend.at_most, Some(0.5));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Declared", into = "Declared")]
pub struct Guardrail {
    /// Name of the metric, unique within the problem.
    pub name: String,
    /// What it bounds where that is not a signal of its own, of its name.
    pub expression: Option<Expression>,
    /// Highest mean that is allowed (give `at_most` or `at_least`).
    pub at_most: Option<f64>,
    /// Lowest mean that is allowed.
    pub at_least: Option<f64>,
    /// True if the threshold is a factor of the safe action's own mean.
    pub relative: bool,
    /// Range and noise of the signal of its own; of an expression the drift, where it does not follow from its signals.
    pub signal: SignalConfig,
    /// The safe action's mean; absent: unknown.
    pub safe_cost: Option<f64>,
    /// Decisions that keep it on average, where they come in segments: all together, or each segment's.
    pub scope: Scope,
    /// Number n of decisions over whose sum it is kept, instead of by every policy: 1 to n, n + 1 to 2n, …; not
    /// every window of n. Only `opb`.
    pub over: Option<u64>,
    /// Most that the decisions of a period may cost in sum. Only the service keeps budgets, agents refuse them.
    pub budget: Option<Budget>,
}

/// A guardrail as documents spell it: with the range and noise of a signal of its own among its keys, and with short
/// spellings of some expressions.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Guardrail")]
struct Declared {
    /// Name of the metric, unique within the problem.
    name: String,
    /// What it bounds, where that is not a signal of its own: `"latency_ms"`, `["refunds", "/", "orders"]`,
    /// `["latency_ms", ">", 800]`, or weights by signal, for all arms or by arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expression: Option<Expression>,
    /// The same as an `expression` that is the name of a signal.
    #[serde(default, skip_serializing)]
    signal: Option<String>,
    /// The same as an `expression` that is a table of weights.
    #[serde(default, skip_serializing)]
    weights: Option<Weights>,
    /// Two declared signals: the same as `[first, "/", second]`.
    #[serde(default, skip_serializing)]
    ratio: Option<[String; 2]>,
    /// With `signal`, a declared one: this quantile of it is bounded, not its mean; 0.95 is the 95th percentile. The same
    /// as `[signal, ">", at_most]` for at most 0.05 of the outcomes.
    #[serde(default, skip_serializing, deserialize_with = "share")]
    quantile: Option<f64>,
    /// The expected signal must not exceed this (give `at_most` or `at_least`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    /// The expected signal must not fall below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
    /// True if the threshold is a factor of the safe action's own mean.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    relative: bool,
    /// Lowest and highest value of the signal, for all arms or by arm; default [0, 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    range: Option<Range>,
    /// Value that larger ones count as: the mean of what counts is bounded, not the mean itself. It takes the
    /// place of the range's high end; the low end is 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cap: Option<f64>,
    /// Sub-Gaussian constant of observations that may leave the range.
    #[serde(
        default,
        deserialize_with = "known_constant",
        skip_serializing_if = "Option::is_none"
    )]
    sub_gaussian: Option<f64>,
    /// Most that every arm's mean may move in a unit of time; absent: means do not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    drift: Option<Drift>,
    /// The safe action's mean of this signal; absent: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    safe_cost: Option<f64>,
    /// Decisions that keep it on average, where they come in segments: all together, or each segment's.
    #[serde(default, skip_serializing_if = "Scope::is_overall")]
    scope: Scope,
    /// Number n of decisions over whose sum it is kept, instead of by every policy: 1 to n, n + 1 to 2n, …; not
    /// every window of n. Only `opb`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    over: Option<u64>,
    /// Most that the decisions of a period may cost in sum. Only the service keeps budgets, agents refuse them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget: Option<Budget>,
}

/// Reads the order of a quantile.
fn share<'de, D: Deserializer<'de>>(source: D) -> Result<Option<f64>, D::Error> {
    let given = Option::<f64>::deserialize(source)?;
    match given.filter(|q| !(*q > 0.0 && *q < 1.0)) {
        None => Ok(given),
        Some(q) => {
            let allowed = "a number between 0 and 1, e.g. 0.95";
            Err(D::Error::invalid_value(Unexpected::Float(q), &allowed))
        }
    }
}

impl TryFrom<Declared> for Guardrail {
    type Error = String;

    fn try_from(declared: Declared) -> Result<Self, String> {
        let mut at = [declared.at_most, declared.at_least];
        let signal = declared.signal;
        let quantile = match (declared.quantile, at, &signal) {
            (None, ..) => None,
            (Some(_), _, None) => {
                return Err(
                    "`signal` is absent: a quantile is one of a declared signal: name it".into(),
                );
            }
            (Some(_), [None, None] | [Some(_), Some(_)], _) => {
                return Err("a quantile has one bound: give `at_most` or `at_least`".into());
            }
            (Some(q), [at_most, at_least], Some(name)) => {
                let most = at_most.map(|x| (Direction::AtMost, x));
                let bound = most.or(at_least.map(|x| (Direction::AtLeast, x)));
                bound.map(|bound| Exceedance::of_quantile(name.clone(), q, bound))
            }
        };
        if let Some((_, most)) = &quantile {
            at = [Some(*most), None];
        }
        let named = signal.filter(|_| quantile.is_none());
        let given = [
            declared.expression,
            named.map(Expression::Signal),
            declared.weights.map(Expression::Sum),
            declared.ratio.map(Expression::Ratio),
            quantile.map(|(event, _)| event),
        ];
        let mut given = given.into_iter().flatten();
        let expression = given.next();
        if given.next().is_some() {
            let keys = "`expression`, `signal`, `weights`, `ratio` and `quantile` each say what is bounded";
            return Err(format!("{keys}: give one of them"));
        }
        Ok(Self {
            name: declared.name,
            expression,
            at_most: at[0],
            at_least: at[1],
            relative: declared.relative,
            signal: SignalConfig {
                expression: None,
                range: declared.range,
                cap: declared.cap,
                sub_gaussian: declared.sub_gaussian,
                drift: declared.drift,
            },
            safe_cost: declared.safe_cost,
            scope: declared.scope,
            over: declared.over,
            budget: declared.budget,
        })
    }
}

impl From<Guardrail> for Declared {
    fn from(own: Guardrail) -> Self {
        Self {
            name: own.name,
            expression: own.expression,
            at_most: own.at_most,
            at_least: own.at_least,
            relative: own.relative,
            range: own.signal.range,
            cap: own.signal.cap,
            sub_gaussian: own.signal.sub_gaussian,
            drift: own.signal.drift,
            safe_cost: own.safe_cost,
            scope: own.scope,
            over: own.over,
            budget: own.budget,
            ..Self::default()
        }
    }
}

/// Decisions over which a guardrail's mean is taken, where decisions come in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// All of them: one budget, spent where it earns most.
    #[default]
    Overall,
    /// Those of each segment, separately.
    Each,
}

impl Scope {
    /// Omits the default from what is written.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    fn is_overall(&self) -> bool {
        *self == Self::Overall
    }
}

/// A checked guardrail in standard form.
#[derive(Debug, Clone, PartialEq)]
pub struct Standard {
    /// Name of the metric, unique within the problem.
    pub name: String,
    /// The signal in its own units.
    pub signal: Signal,
    /// Side of the threshold that is allowed.
    pub direction: Direction,
    /// The threshold as certificates show it: absolute in signal units, 0 for a relative one.
    pub shown_threshold: f64,
    /// τ in standard units.
    pub threshold: f64,
    /// f: multiple of the safe action's y is subtracted from every action's (0: absolute).
    pub factor: f64,
    /// The safe action's y, if known.
    pub safe_cost: Option<f64>,
    /// Decisions over which its mean is taken.
    pub scope: Scope,
    /// Decisions of a stretch, where the sum over each is bounded.
    pub over: Option<u64>,
    /// Highest value of the signal that an absolute ratio is per unit of.
    pub(crate) most_under: Option<f64>,
    /// Place in the row of the signal that a relative ratio is per unit of.
    pub(crate) per: Option<usize>,
}

impl Guardrail {
    /// Declared direction and threshold (a factor of the safe mean where `relative`); `None` unless
    /// exactly one of `at_most` and `at_least` is given.
    pub fn bound(&self) -> Option<(Direction, f64)> {
        match (self.at_most, self.at_least) {
            (Some(bound), None) => Some((Direction::AtMost, bound)),
            (None, Some(bound)) => Some((Direction::AtLeast, bound)),
            _ => None,
        }
    }

    /// The guardrail on a signal of its own like the one that it names, which another place of the problem may declare.
    pub fn with_signal(&self, reward: &SignalConfig, signals: &BTreeMap<String, Measured>) -> Self {
        let mut own = self.clone();
        let Some(Expression::Signal(name)) = &self.expression else {
            return own;
        };
        if name == REWARD || reward.name() == Some(name) {
            own.signal = reward.clone();
        } else if let Some(declared) = signals.get(name) {
            own.signal = declared.config();
        }
        own
    }

    /// Checks a bound on a signal of its own and brings it to standard form, in units of the hull of all ranges.
    pub fn check(&self) -> Result<Standard, Error> {
        self.standard(&Place::new(self.signal.clone(), Source::Brought))
    }

    /// Checks the bound on its place of the row, and brings it to standard form.
    pub(super) fn standard(&self, place: &Place) -> Result<Standard, Error> {
        if self.name.trim().is_empty() {
            return Err(Error::invalid("name", "empty", "a guardrail needs a name"));
        }
        if let Some(budget) = &self.budget {
            let value = format!("{} per {}", budget.amount, budget.per.name());
            let allowed = "an agent knows no time: only the service keeps budgets";
            return Err(Error::invalid("budget", value, allowed));
        }
        let Some((direction, bound)) = self.bound() else {
            let found = self.at_most.map_or("neither", |_| "both");
            let allowed = "give exactly one of `at_most` and `at_least`";
            return Err(Error::invalid("", format!("given {found}"), allowed));
        };
        let key = direction.key();
        finite(key, bound)?;
        self.check_over(place)?;
        let signal = place.config.check()?;
        self.check_safe_cost(&signal)?;
        if self.relative {
            self.check_factor(key, direction, bound, &signal)?;
        }
        let tau = place.threshold.unwrap_or(bound);
        let mut standard = match (self.relative, self.safe_cost) {
            (true, None) => relative(&self.name, signal, direction, bound),
            (true, Some(c)) => absolute(&self.name, signal, direction, bound * c, self.safe_cost),
            (false, c) => absolute(&self.name, signal, direction, tau, c),
        };
        standard.scope = self.scope;
        standard.over = self.over;
        standard.most_under = place.most_under;
        if place.most_under.is_some() {
            standard.shown_threshold = bound;
        }
        if place.per.is_some() {
            // Of N and D by themselves: nothing of the range is left over (math.md 26).
            (standard.threshold, standard.per) = (0.0, place.per);
        }
        if let (Some(c), Some(y)) = (self.safe_cost, standard.safe_cost)
            && y >= standard.threshold
        {
            let allowed = format!(
                "the safe action must meet its guardrail with margin: strictly {} {}",
                direction.allowed_side(),
                standard.shown_threshold
            );
            return Err(Error::invalid("safe_cost", c, allowed));
        }
        if standard.factor == 0.0 {
            self.check_reach(key, bound, &standard)?;
        }
        Ok(standard)
    }

    /// Refuses a sum over no decisions, or of what has no highest value or no threshold of its own.
    fn check_over(&self, place: &Place) -> Result<(), Error> {
        let Some(over) = self.over else {
            return Ok(());
        };
        let others = [
            (self.relative, "relative"),
            (matches!(place.source, Source::Sum(_)), "weights"),
            (place.config.sub_gaussian.is_some(), "sub_gaussian"),
            (place.config.drift.is_some(), "drift"),
            (self.scope == Scope::Each, "scope"),
        ];
        let allowed = match others.iter().find(|other| other.0) {
            Some((_, key)) => format!("a sum cannot be promised together with `{key}`"),
            None if (1..=MOST_OVER).contains(&over) => return Ok(()),
            None => format!("must be a number of decisions, from 1 to {MOST_OVER}"),
        };
        Err(Error::invalid("over", over, allowed))
    }

    /// Refuses a safe cost that the safe action's signal cannot have.
    pub(super) fn check_safe_cost(&self, signal: &Signal) -> Result<(), Error> {
        let Some(c) = self.safe_cost else {
            return Ok(());
        };
        finite("safe_cost", c)?;
        let Signal { lo, hi, .. } = *signal;
        if c < lo || c > hi {
            let allowed = format!("must lie in the signal's range [{lo}, {hi}]");
            return Err(Error::invalid("safe_cost", c, allowed));
        }
        Ok(())
    }

    /// Refuses a threshold beyond the signal's range: nothing could violate it, or nothing keep it with
    /// margin. The harmful end itself is allowed: the paper's own τ = 1 is that.
    fn check_reach(&self, key: &str, bound: f64, standard: &Standard) -> Result<(), Error> {
        let Signal { lo, hi, .. } = standard.signal;
        let tau = standard.threshold;
        let fate = if tau > 1.0 {
            "nothing can violate it"
        } else if tau <= 0.0 {
            "no action can meet it with margin"
        } else {
            return Ok(());
        };
        let shown = standard.shown_threshold;
        let percent = (lo, hi) == (0.0, 1.0) && !self.relative && bound > 1.0 && bound <= 100.0;
        let mut allowed = format!("{fate} when the signal's range is [{lo}, {hi}]");
        if self.relative {
            allowed += &format!(" (the threshold is {shown})");
        } else if percent {
            allowed += &format!(": percent? write {}, or declare the `range`", bound / 100.0);
        } else {
            allowed += ": declare the `range` that the signal really has";
        }
        Err(Error::invalid(key, bound, allowed))
    }

    fn check_factor(
        &self,
        key: &str,
        direction: Direction,
        f: f64,
        signal: &Signal,
    ) -> Result<(), Error> {
        if signal.lo < 0.0 {
            let allowed = "a relative guardrail needs a signal that is never negative";
            let value = format!("{f} with range [{}, {}]", signal.lo, signal.hi);
            return Err(Error::invalid(key, value, allowed));
        }
        match direction {
            Direction::AtMost if f <= 1.0 => Err(Error::invalid(
                key,
                f,
                "relative: must be above 1, e.g. 1.02 for at most 2% more than the safe action",
            )),
            Direction::AtLeast if f <= 0.0 || f >= 1.0 => Err(Error::invalid(
                key,
                f,
                "relative: must be above 0 and below 1, e.g. 0.98 for at most 2% less than the safe action",
            )),
            _ => Ok(()),
        }
    }
}

fn absolute(
    name: &str,
    signal: Signal,
    direction: Direction,
    bound: f64,
    safe: Option<f64>,
) -> Standard {
    let y = |s: f64| signal.standardise_cost(direction, s);
    Standard {
        name: name.to_string(),
        signal,
        direction,
        shown_threshold: bound,
        threshold: y(bound),
        factor: 0.0,
        safe_cost: safe.map(y),
        scope: Scope::Overall,
        over: None,
        most_under: None,
        per: None,
    }
}

fn relative(name: &str, signal: Signal, direction: Direction, f: f64) -> Standard {
    let (harmless, _) = direction.ordered(signal.lo, signal.hi);
    let threshold = direction.excess(f, 1.0) * harmless / signal.unit();
    Standard {
        name: name.to_string(),
        signal,
        direction,
        shown_threshold: 0.0,
        threshold,
        factor: f,
        safe_cost: None,
        scope: Scope::Overall,
        over: None,
        most_under: None,
        per: None,
    }
}

/// Map from standard costs to the units of certificates: base + slope·(cost − zero).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown {
    base: f64,
    zero: f64,
    slope: f64,
}

impl Shown {
    #[inline]
    pub(crate) fn cost(&self, cost: f64) -> f64 {
        self.base + self.slope * (cost - self.zero)
    }

    /// Width of a standard unit, as shown.
    pub(crate) fn unit(&self) -> f64 {
        self.slope.abs()
    }
}

impl Standard {
    /// An observation of the signal as a standard cost y.
    #[inline]
    pub fn standardise(&self, s: f64) -> f64 {
        self.signal.standardise_cost(self.direction, s)
    }

    /// The signal behind a standard cost y; of an absolute ratio what it adds to a policy's, as certificates show it.
    pub(crate) fn signal_of(&self, y: f64) -> f64 {
        if self.most_under.is_some() {
            return self.show(y);
        }
        let (origin, scale) = self.signal.affine(self.direction);
        origin + y / scale
    }

    /// A policy's standard cost as certificates show it: the expected signal, or, for a relative
    /// guardrail, its expected excess over f times the safe mean.
    pub fn show(&self, cost: f64) -> f64 {
        self.shown().cost(cost)
    }

    /// The map behind [`Standard::show`], worked out.
    pub(crate) fn shown(&self) -> Shown {
        let unit = self.signal.unit();
        let (origin, _) = self.direction.ordered(self.signal.lo, self.signal.hi);
        // With e the mean of N − τD at its worst, e ≤ 0, the ratio N/D is at most τ + e/D ≤ τ + e/D_hi; of `at_least`
        // alike, with e ≥ 0.
        let (base, zero, unit) = match self.most_under {
            Some(most) => (self.shown_threshold, self.threshold, unit / most),
            None if self.factor == 0.0 => (origin, 0.0, unit),
            None => (0.0, self.threshold, unit),
        };
        Shown {
            base,
            zero,
            slope: self.direction.sign() * unit,
        }
    }

    /// True if its mean is a ratio of two others.
    pub(crate) fn is_ratio(&self) -> bool {
        self.most_under.is_some() || self.per.is_some()
    }

    /// Multiple of the safe action's mean that views subtract from an estimate: a ratio's is the excess already.
    pub fn subtracted(&self) -> f64 {
        self.per.map_or(self.factor, |_| 0.0)
    }

    /// Bounds of the safe action's y from the bounds of its standard cost, (1 − f)·y_0.
    pub(crate) fn safe_from_cost(&self, cost: (f64, f64)) -> (f64, f64) {
        let (a, b) = (cost.0 / (1.0 - self.factor), cost.1 / (1.0 - self.factor));
        (a.min(b), a.max(b))
    }

    /// The standard cost bounds of an action under a relative ratio, from bounds of y and of D, its own and the safe
    /// action's (none for that itself): N − τD with τ = f·N_0/D_0 (math.md 26), or τD − N.
    pub(crate) fn ratio_bounds(
        &self,
        own: (f64, f64),
        safe: (f64, f64),
        per: Option<((f64, f64), (f64, f64))>,
    ) -> (f64, f64) {
        // N in units of its range, from 0: y, or 1 − y where the range is mirrored.
        let (n, n_0) = match self.direction {
            Direction::AtMost => (own, safe),
            Direction::AtLeast => ((1.0 - own.1, 1.0 - own.0), (1.0 - safe.1, 1.0 - safe.0)),
        };
        let (lower, upper) = match per {
            // The safe action itself: (1 − f)·N_0.
            None => {
                let (a, b) = ((1.0 - self.factor) * n_0.0, (1.0 - self.factor) * n_0.1);
                (a.min(b), a.max(b))
            }
            Some((per, safe_per)) => {
                // Written so that NaN, of 0/0, is the end that promises nothing.
                let most = (self.factor * n_0.1 / safe_per.0).min(MOST_RATIO);
                let least = self.factor * n_0.0 / safe_per.1.max(f64::MIN_POSITIVE);
                let least = least.min(MOST_RATIO);
                (n.0 - most * per.1, n.1 - least * per.0)
            }
        };
        match self.direction {
            Direction::AtMost => (lower, upper),
            Direction::AtLeast => (-upper, -lower),
        }
    }

    /// The standard cost bounds of an action from the bounds of its own y and of the safe action's.
    #[inline]
    pub fn cost_bounds(&self, own: (f64, f64), safe: (f64, f64), is_safe: bool) -> (f64, f64) {
        let f = self.factor;
        if f == 0.0 {
            own
        } else if is_safe {
            // (1 − f)·y_0: for f > 1 a larger y_0 is a smaller cost.
            let (a, b) = ((1.0 - f) * safe.0, (1.0 - f) * safe.1);
            (a.min(b), a.max(b))
        } else {
            (own.0 - f * safe.1, own.1 - f * safe.0)
        }
    }
}
