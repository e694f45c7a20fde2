//! Guardrails that are weighted sums of measured signals: the price of a signal is given, its amount is learned.
//!
//! A model's dollars are its tokens times a published price. The law of the tokens does not change when the price does,
//! so the tokens are learned, and the guardrail's upper end is Σ_k w_{a,k}·u_{a,k}: exact from the first decision after
//! a price has changed, with nothing to forget. Weights are fixed before the draw and never negative.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::signals::REWARD;
use super::{CheckedProblem, Guardrail, Problem, Range, SignalConfig};
use crate::error::{Error, finite};
use crate::path::{FieldPath, Within};

/// Largest value of a sum at changed weights, in units of the largest at those declared: evidence stays finite.
const DEAREST: f64 = 1e9;

/// Weight of each signal in a sum, by the signal's name.
pub type Terms = BTreeMap<String, f64>;

/// A signal that outcomes bring beside the reward and the guardrails' own: its range, or range and noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a range, such as [0, 8000], or a table with `range` or `drift`"
)]
pub enum Measured {
    /// Range, noise and drift.
    Declared(SignalConfig),
    /// Lowest and highest value, for all arms or by arm.
    Within(Range),
}

impl Measured {
    /// Range and noise.
    pub fn config(&self) -> SignalConfig {
        match self {
            Self::Declared(config) => config.clone(),
            Self::Within(range) => SignalConfig {
                range: Some(range.clone()),
                ..SignalConfig::default()
            },
        }
    }
}

/// Weights of a guardrail's signals: for all arms, or by arm.
///
/// ```
/// use banister::Guardrail;
///
/// let dollars: Guardrail = serde_json::from_value(serde_json::json!({
///     "name": "dollars", "at_most": 3e-4,
///     "weights": {
///         "small": {"input_tokens": 1.5e-7, "output_tokens": 6e-7},
///         "large": {"input_tokens": 2.5e-6, "output_tokens": 1e-5},
///     },
/// }))?;
/// assert!(dollars.weights.is_some());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected weights by signal, such as { input_tokens = 2.5e-6 }, or such a table for each arm"
)]
pub enum Weights {
    /// One set for all arms.
    Shared(Terms),
    /// By the names of the arms.
    ByArm(BTreeMap<String, Terms>),
}

/// Weights of one arm: by guardrail, then by signal.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ArmWeights(pub BTreeMap<String, Terms>);

impl ArmWeights {
    /// True if it brings none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A guardrail that is a weighted sum.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sum {
    pub guardrail: usize,
    /// Places of its signals in the row.
    pub terms: Vec<usize>,
    /// w_{a,k} by arm.
    weights: Vec<Vec<f64>>,
    /// True if an added arm brings its own.
    by_arm: bool,
}

impl Sum {
    pub(crate) fn weights(&self, arm: usize) -> &[f64] {
        &self.weights[arm]
    }
}

impl Weights {
    fn of_arm(&self, arm: &str) -> Result<&Terms, Error> {
        match self {
            Self::Shared(terms) => Ok(terms),
            Self::ByArm(map) => map.get(arm).ok_or_else(|| {
                let allowed = "where weights are by arm, every arm needs its own";
                Error::invalid(("", arm), "absent", allowed)
            }),
        }
    }
}

/// Weights in the order of the signals named, one for each and for no other.
fn checked(terms: &Terms, names: &[&str]) -> Result<Vec<f64>, Error> {
    if let Some(name) = terms.keys().find(|name| !names.contains(&name.as_str())) {
        let allowed = format!("weights here are of {}", names.join(", "));
        return Err(Error::invalid(("", name), "given", allowed));
    }
    let own = |name: &&str| {
        let field = ("", *name);
        match terms.get(*name) {
            None => Err(Error::invalid(
                field,
                "absent",
                "every signal of the sum needs a weight",
            )),
            Some(&w) if finite(field, w)? < 0.0 => {
                Err(Error::invalid(field, w, "must be at least 0"))
            }
            Some(&w) => Ok(w),
        }
    };
    names.iter().map(own).collect()
}

impl Problem {
    /// The costs that outcomes bring, each with its range and noise: guardrails that are no sums, then signals.
    pub fn measured(&self) -> Vec<Guardrail> {
        let ended = self.with_ends();
        let signals = ended.as_ref().map_or(&self.signals, |ended| &ended.signals);
        let is_brought =
            |g: &&Guardrail| g.weights.is_none() && g.ratio.is_none() && g.signal.is_none();
        let own = self.guardrails.iter().filter(is_brought);
        let beside = signals
            .iter()
            .filter(|(name, _)| self.reward.signal.as_ref() != Some(name));
        let beside = beside.map(|(name, signal)| {
            let name = name.clone();
            let own = Guardrail {
                name,
                ..Guardrail::default()
            };
            own.of(signal.config())
        });
        own.cloned().chain(beside).collect()
    }

    /// Refuses names that two signals have, and ranges that are none.
    pub(super) fn check_measured(&self) -> Result<(), Error> {
        for (name, signal) in &self.signals {
            let field = FieldPath::from(("signals", name));
            super::check_seen(name).within("signals")?;
            if name.trim().is_empty()
                || name == REWARD
                || self.guardrails.iter().any(|g| g.name == *name)
            {
                let allowed = "a signal needs a name of its own, not `reward` and not a guardrail's: a guardrail with \
                               another name bounds it by `signal`";
                return Err(Error::invalid(field, name, allowed));
            }
            let config = signal.config();
            if let Some(other) = &config.signal {
                let allowed = "a signal is itself: only the reward names one";
                return Err(Error::invalid(field.key("signal"), other, allowed));
            }
            config.check().within(field)?;
        }
        Ok(())
    }

    /// Refuses a signal that cannot have a weight: a sum's promise is about means as they are, and its detector bets on
    /// bounded costs.
    fn check_term(&self, name: &str) -> Result<(), Error> {
        let Some(config) = self.signals.get(name).map(Measured::config) else {
            return Ok(());
        };
        let field = FieldPath::from(("signals", name));
        let unfit = [("cap", config.cap), ("sub_gaussian", config.sub_gaussian)];
        if let Some((key, Some(x))) = unfit.into_iter().find(|(_, given)| given.is_some()) {
            let allowed = "a signal with a weight has a `range` that no observation leaves";
            return Err(Error::invalid(field.key(key), x, allowed));
        }
        let lo = config.hull()[0];
        if lo < 0.0 {
            let allowed =
                "a signal with a weight is never negative: its range begins at 0 or above";
            return Err(Error::invalid(field, lo, allowed));
        }
        Ok(())
    }

    /// The sum that a guardrail is, if it is one.
    pub(super) fn sum(&self, guardrail: usize) -> Result<Option<Sum>, Error> {
        let own = &self.guardrails[guardrail];
        let Some(weights) = &own.weights else {
            return Ok(None);
        };
        let field = FieldPath::from(("guardrails", guardrail)).key("weights");
        let refuse = |allowed: &str| Err(Error::invalid(field.clone(), "given", allowed));
        if own.at_least.is_some() {
            return refuse("a weighted sum is kept `at_most`");
        }
        if own.ratio.is_some() || own.quantile.is_some() {
            return refuse("a sum is bounded in its mean: leave out `ratio` and `quantile`");
        }
        if own.signal.is_some() || own.safe_cost.is_some() || own.cap.is_some() {
            return refuse("its signals are learned: leave out `signal`, `safe_cost` and `cap`");
        }
        if own.sub_gaussian.is_some() || own.drift.is_some() {
            return refuse("its signals are bounded: declare their `range`, and their `drift`");
        }
        let names = weights.names();
        let place = |name: &&str| {
            let place = self.signals.keys().position(|own| own == name);
            place.map(|k| 1 + self.guardrails.len() + k).ok_or_else(|| {
                let declared: Vec<&str> = self.signals.keys().map(String::as_str).collect();
                let allowed = match declared.len() {
                    0 => "no `signals` are declared here".to_string(),
                    _ => format!(
                        "must be one of the declared `signals`: {}",
                        declared.join(", ")
                    ),
                };
                Error::invalid(field.clone().key(*name), "given", allowed)
            })
        };
        let terms = names.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        names.iter().try_for_each(|name| self.check_term(name))?;
        if terms.is_empty() {
            return refuse("a sum needs at least one signal");
        }
        if let Weights::ByArm(map) = weights
            && let Some(name) = map.keys().find(|name| !self.arms.contains(name))
        {
            let allowed = format!(
                "there is no such arm; the arms are {}",
                self.arms.join(", ")
            );
            return Err(Error::invalid(field.key(name), "given", allowed));
        }
        let of_arm = |arm: &String| {
            let own = checked(weights.of_arm(arm).within(field.clone())?, &names);
            own.within(match weights {
                Weights::Shared(_) => field.clone(),
                Weights::ByArm(_) => field.clone().key(arm),
            })
        };
        Ok(Some(Sum {
            guardrail,
            terms,
            weights: self.arms.iter().map(of_arm).collect::<Result<_, _>>()?,
            by_arm: matches!(weights, Weights::ByArm(_)),
        }))
    }

    /// The unit of a sum: the largest value that it can have at the weights declared, or its threshold.
    pub(super) fn range_of_sum(&self, sum: &Sum) -> Result<Range, Error> {
        let own = &self.guardrails[sum.guardrail];
        let field = FieldPath::from(("guardrails", sum.guardrail)).key("weights");
        let mut highest = Vec::new();
        for place in &sum.terms {
            let (name, signal) = (self.signals.iter())
                .nth(place - 1 - self.guardrails.len())
                .expect("terms are places of declared signals");
            let config = signal.config();
            let by_arm = config.of_arms(&self.arms).within(("signals", name))?;
            highest.push((config.hull()[1], by_arm));
        }
        let mut largest = own.at_most.filter(|_| !own.relative).unwrap_or(0.0);
        for (arm, weights) in sum.weights.iter().enumerate() {
            let each = highest.iter().zip(weights);
            let each = each.map(|((all, own), w)| w * own.get(arm).map_or(*all, |own| own.hi));
            largest = largest.max(finite(field.clone(), each.sum())?);
        }
        if largest <= 0.0 {
            return Err(Error::invalid(field, 0, "some weight must be above 0"));
        }
        Ok(Range::Shared([0.0, largest]))
    }
}

impl Weights {
    /// Names of the signals; where they are by arm, those of the first one count.
    fn names(&self) -> Vec<&str> {
        let terms = match self {
            Self::Shared(terms) => Some(terms),
            Self::ByArm(map) => map.values().next(),
        };
        terms
            .into_iter()
            .flat_map(|terms| terms.keys().map(String::as_str))
            .collect()
    }
}

impl CheckedProblem {
    /// Weighted sums among the guardrails.
    pub(crate) fn sums(&self) -> &[Sum] {
        &self.sums
    }

    /// Refuses guardrails that outcomes do not bring, where costs are taken as they come.
    pub fn refuse_made(&self, why: &str) -> Result<(), Error> {
        self.refuse_weights(why)?;
        let key = |i: usize| match &self.declared.guardrails[i] {
            own if own.ratio.is_some() => "ratio",
            own if own.quantile.is_some() => "quantile",
            _ => "signal",
        };
        self.made.first().map_or(Ok(()), |&(i, _)| {
            Err(Error::invalid(key(i), "given", why)).within(("guardrails", i))
        })
    }

    /// Refuses weighted sums, where they cannot be learned.
    pub fn refuse_weights(&self, why: &str) -> Result<(), Error> {
        self.sums.first().map_or(Ok(()), |sum| {
            Err(Error::invalid("weights", "given", why)).within(("guardrails", sum.guardrail))
        })
    }

    /// Weights of an arm that is added or gets others: complete for each guardrail that is named.
    fn weights_for(&self, told: &ArmWeights) -> Result<Vec<(usize, Vec<f64>)>, Error> {
        let names = |sum: &Sum| self.signal_name(sum.guardrail + 1);
        if let Some(name) = told
            .0
            .keys()
            .find(|name| !self.sums.iter().any(|sum| names(sum) == *name))
        {
            let sums: Vec<&str> = self.sums.iter().map(names).collect();
            let allowed = match sums.len() {
                0 => "no guardrail of this problem has weights".into(),
                _ => format!("weights are of {}", sums.join(", ")),
            };
            return Err(Error::invalid(("weights", name), "given", allowed));
        }
        let own = self.sums.iter().enumerate().filter_map(|(s, sum)| {
            let name = names(sum);
            let terms: Vec<&str> = sum
                .terms
                .iter()
                .map(|&place| self.signal_name(place))
                .collect();
            let own = checked(told.0.get(name)?, &terms).within(("weights", name));
            Some(own.map(|own| (s, own)))
        });
        own.collect()
    }

    /// Refuses weights that an arm cannot have.
    pub fn check_weights(&self, told: &ArmWeights) -> Result<(), Error> {
        self.weights_for(told).map(|_| ())
    }

    /// Sets other weights of an arm, all or nothing.
    pub fn set_weights(&mut self, arm: usize, told: &ArmWeights) -> Result<(), Error> {
        if told.is_empty() {
            return Err(Error::invalid(
                "weights",
                "empty",
                "name at least one guardrail",
            ));
        }
        let found = self.weights_for(told)?;
        for (s, own) in &found {
            let sum = &self.sums[*s];
            let each = sum.terms.iter().zip(own);
            let largest: f64 = each
                .map(|(&term, w)| w * self.own_signal(arm, term).hi)
                .sum();
            let most = DEAREST * self.guardrails[sum.guardrail].signal.hi;
            if !(largest <= most) {
                let field = ("weights", self.signal_name(sum.guardrail + 1));
                let allowed = format!("the sum may be {most:e} at most");
                return Err(Error::invalid(field, largest, allowed));
            }
        }
        for (s, own) in found {
            self.sums[s].weights[arm] = own;
        }
        Ok(())
    }

    /// Weights of an added arm: its own where they are by arm, else those of all.
    pub(super) fn weights_of_added(&self, told: &ArmWeights) -> Result<Vec<Vec<f64>>, Error> {
        let found = self.weights_for(told)?;
        let own = |(s, sum): (usize, &Sum)| {
            let own = found.iter().find(|(other, _)| *other == s);
            match own {
                Some((_, own)) => Ok(own.clone()),
                None if sum.by_arm => {
                    let field = ("weights", self.signal_name(sum.guardrail + 1));
                    let allowed =
                        "the weights of this guardrail are by arm: an added one brings its own";
                    Err(Error::invalid(field, "absent", allowed))
                }
                // An arm whose weights have changed has its own.
                None => self.declared_weights(sum),
            }
        };
        self.sums.iter().enumerate().map(own).collect()
    }

    fn declared_weights(&self, sum: &Sum) -> Result<Vec<f64>, Error> {
        let first = self.declared.sum(sum.guardrail)?;
        Ok(first.map_or_else(Vec::new, |first| first.weights[0].clone()))
    }

    /// Weights in force of an arm.
    pub fn arm_weights(&self, arm: usize) -> ArmWeights {
        let of = |sum: &Sum| {
            let terms = sum
                .terms
                .iter()
                .map(|&place| self.signal_name(place).to_string());
            let own = terms.zip(sum.weights[arm].iter().copied()).collect();
            (self.signal_name(sum.guardrail + 1).to_string(), own)
        };
        ArmWeights(self.sums.iter().map(of).collect())
    }

    /// Adds the weights of one more arm that were checked.
    pub(super) fn push_weights(&mut self, own: Vec<Vec<f64>>) {
        for (sum, own) in self.sums.iter_mut().zip(own) {
            sum.weights.push(own);
        }
    }

    /// The row of costs from those that were measured: sums are made from their signals at the weights given, or in
    /// force.
    pub(super) fn with_sums(&self, arm: Option<usize>, row: &mut [f64], told: Option<&ArmWeights>) {
        let Some(arm) = arm else { return };
        for sum in &self.sums {
            let told = told.and_then(|told| told.0.get(self.signal_name(sum.guardrail + 1)));
            let each = sum.terms.iter().zip(&sum.weights[arm]);
            let value = |(&place, &w): (&usize, &f64)| {
                let w = told
                    .and_then(|told| told.get(self.signal_name(place)))
                    .unwrap_or(&w);
                w * row[place - 1]
            };
            row[sum.guardrail] = each.map(value).sum();
        }
    }
}
