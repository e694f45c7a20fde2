//! Guardrails that are weighted sums of measured signals: the price of a signal is given, its amount is learned.
//!
//! A model's dollars are its tokens times a published price. The law of the tokens does not change when the price does,
//! so the tokens are learned, and the guardrail's upper end is Σ_k w_{a,k}·u_{a,k}: exact from the first decision after
//! a price has changed, with nothing to forget. Weights are fixed before the draw and never negative.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Expression, Place, Problem, Range, SignalConfig, Source};
use crate::error::{Error, finite};
use crate::path::Within;
use crate::problem::{CheckedProblem, Guardrail};

/// Largest value of a sum at changed weights, in units of the largest at those declared: evidence stays finite.
const DEAREST: f64 = 1e9;

/// Weight of each signal in a sum, by the signal's name.
pub type Terms = BTreeMap<String, f64>;

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
/// assert!(matches!(dollars.expression, Some(banister::Expression::Sum(_))));
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
}

impl Sum {
    pub(crate) fn weights(&self, arm: usize) -> &[f64] {
        &self.weights[arm]
    }
}

impl Weights {
    /// The sum at the weights declared. Its unit is the largest value that it can have at these, or its threshold.
    pub(super) fn place(&self, problem: &Problem, guardrail: &Guardrail) -> Result<Place, Error> {
        if guardrail.at_least.is_some() {
            let allowed = "a weighted sum is kept `at_most`";
            return Err(Error::invalid("at_least", "given", allowed));
        }
        let sum = self.sum(problem).within("expression")?;
        let mut highest = Vec::new();
        for name in self.names() {
            let config = problem.signals[name].config();
            let by_arm = config.of_arms(&problem.arms)?;
            highest.push((config.hull()[1], by_arm));
        }
        let mut largest = guardrail
            .at_most
            .filter(|_| !guardrail.relative)
            .unwrap_or(0.0);
        for (arm, weights) in sum.weights.iter().enumerate() {
            let each = highest.iter().zip(weights);
            let each = each.map(|((all, own), w)| w * own.get(arm).map_or(*all, |own| own.hi));
            largest = largest.max(finite("expression", each.sum())?);
        }
        if largest <= 0.0 {
            let allowed = "some weight must be above 0";
            return Err(Error::invalid("expression", 0, allowed));
        }
        let config = SignalConfig {
            range: Some(Range::Shared([0.0, largest])),
            ..SignalConfig::default()
        };
        Ok(Place::new(config, Source::Sum(sum)))
    }

    fn sum(&self, problem: &Problem) -> Result<Sum, Error> {
        let names = self.names();
        // A sum's promise is about means as they are, and its detector bets on bounded costs.
        let place = |name: &&str| {
            let (place, signal) = problem.bounded(name)?;
            let allowed = if place == 0 {
                "must be declared beside the reward"
            } else if signal.hull()[0] < 0.0 {
                "must never be negative: its range begins at 0 or above"
            } else {
                return Ok(place);
            };
            Err(Error::invalid("", signal.hull()[0], allowed))
        };
        let place = |name: &&str| place(name).within(("", *name));
        let terms = names.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        if terms.is_empty() {
            return Err(Error::invalid(
                "",
                "empty",
                "a sum needs at least one signal",
            ));
        }
        if let Self::ByArm(map) = self
            && let Some(name) = map.keys().find(|name| !problem.arms.contains(name))
        {
            let arms = problem.arms.join(", ");
            let allowed = format!("there is no such arm; the arms are {arms}");
            return Err(Error::invalid(("", name), "given", allowed));
        }
        let of_arm = |arm: &String| {
            let own = checked(self.of_arm(arm)?, &names);
            match self {
                Self::Shared(_) => own,
                Self::ByArm(_) => own.within(("", arm)),
            }
        };
        Ok(Sum {
            // Known where it stands.
            guardrail: 0,
            terms,
            weights: problem.arms.iter().map(of_arm).collect::<Result<_, _>>()?,
        })
    }

    /// Names of the signals; where they are by arm, those of the first one count.
    pub(super) fn names(&self) -> Vec<&str> {
        let terms = match self {
            Self::Shared(terms) => Some(terms),
            Self::ByArm(map) => map.values().next(),
        };
        let terms = terms.into_iter().flat_map(Terms::keys);
        terms.map(String::as_str).collect()
    }

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

impl CheckedProblem {
    /// Weighted sums among the guardrails.
    pub(crate) fn sums(&self) -> &[Sum] {
        &self.sums
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
    pub(in crate::problem) fn weights_of_added(
        &self,
        told: &ArmWeights,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let found = self.weights_for(told)?;
        let own = |(s, sum): (usize, &Sum)| {
            let own = found.iter().find(|(other, _)| *other == s);
            match own {
                Some((_, own)) => Ok(own.clone()),
                None => match &self.declared.guardrails[sum.guardrail].expression {
                    // An arm whose weights have changed has its own.
                    Some(Expression::Sum(Weights::Shared(terms))) => {
                        Ok(terms.values().copied().collect())
                    }
                    _ => {
                        let field = ("weights", self.signal_name(sum.guardrail + 1));
                        let allowed =
                            "the weights of this guardrail are by arm: an added one brings its own";
                        Err(Error::invalid(field, "absent", allowed))
                    }
                },
            }
        };
        self.sums.iter().enumerate().map(own).collect()
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
    pub(in crate::problem) fn push_weights(&mut self, own: Vec<Vec<f64>>) {
        for (sum, own) in self.sums.iter_mut().zip(own) {
            sum.weights.push(own);
        }
    }

    /// The row of costs from those that were measured: sums are made from their signals at the weights given, or in
    /// force.
    pub(in crate::problem) fn with_sums(
        &self,
        arm: Option<usize>,
        row: &mut [f64],
        told: Option<&ArmWeights>,
    ) {
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
