//! A policy as it left the core: with its certificate, and what was known of its actions.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use banister::Scope;
use banister::decision::{GuardrailCertificate, SolverReport};
use banister::solve::Status;
use banister::toolkit::CheckedProblem;
use banister::toolkit::Standard;
use banister::{Agent, ArmEstimate, Ask, Claim, Decision, Error, Estimate, Fallback, Round};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::time::Timestamp;

/// Most actions whose beliefs are kept with a policy; policies usually have guardrails + 1 actions,
/// but untried arms share their probability.
const MOST_KNOWN: usize = 64;

/// Estimate of an empty sum.
const NOTHING: Estimate = Estimate {
    mean: Some(0.0),
    lower: 0.0,
    upper: 0.0,
};

/// A decision of the core whose actions are numbered as the log does, with what was known of them.
#[derive(Debug, Serialize, Deserialize)]
pub struct PublishedPolicy {
    /// Policy and certificate. Alarms are events of their own.
    pub decision: Decision,
    pub safe: u32,
    /// Estimates of the policy's actions, and of the safe one, by increasing action.
    pub known: Vec<(u32, ArmEstimate)>,
    /// The policy's own reward and guardrails.
    pub estimates: PolicyEstimates,
    /// It in answers, once somebody asked.
    #[serde(skip)]
    pub(crate) rendered: OnceLock<RenderedPolicy>,
}

/// A policy over arms as JSON, which all decisions that are drawn from it share.
#[derive(Debug, Serialize)]
pub(crate) struct RenderedPolicy {
    pub policy: Box<RawValue>,
    pub certificate: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<Box<RawValue>>,
}

/// Policies that were handed out to be drawn from elsewhere.
#[derive(Debug, Serialize, Deserialize)]
pub struct LeaseEvent {
    pub issued: Timestamp,
    pub expires: Timestamp,
    /// Most decisions that may be drawn from it.
    pub most: u64,
    /// Key of the hash that draws.
    pub key: u64,
    /// By segment, where decisions have one.
    pub policies: Vec<(Option<Arc<str>>, Arc<PublishedPolicy>)>,
}

impl LeaseEvent {
    pub fn policy(&self, segment: Option<&str>) -> Option<&Arc<PublishedPolicy>> {
        let found = self.policies.iter().find(|own| own.0.as_deref() == segment);
        found.map(|(_, own)| own)
    }
}

impl Deref for PublishedPolicy {
    type Target = Decision;

    fn deref(&self) -> &Decision {
        &self.decision
    }
}

/// Estimates of a policy: what it earns, and where it stands with every guardrail. For a relative
/// guardrail that is the excess over the factor times the safe mean, as in certificates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyEstimates {
    /// Its reward.
    pub reward: Estimate,
    /// Its signal under each guardrail.
    pub guardrails: Vec<Estimate>,
    /// The safe action's own reward, if it is known.
    pub safe: Option<Estimate>,
}

impl PolicyEstimates {
    /// Estimates of a policy over arms.
    pub(crate) fn of<'a>(
        problem: &CheckedProblem,
        policy: &[(usize, f64)],
        safe: usize,
        belief: impl Fn(usize) -> Option<&'a ArmEstimate>,
    ) -> Self {
        let mut signals = vec![NOTHING; 1 + problem.guardrails.len()];
        // Kept apart: a relative guardrail weighs it otherwise.
        let mut on_safe = 0.0;
        for &(arm, probability) in policy {
            match belief(arm) {
                Some(_) if arm == safe => on_safe = probability,
                Some(own) => {
                    let own = std::iter::once(&own.reward).chain(&own.costs);
                    for (total, own) in signals.iter_mut().zip(own) {
                        *total = plus(*total, probability, own);
                    }
                }
                None => {}
            }
        }
        let safe = belief(safe);
        let with_safe = |own: Estimate, factor: f64, safe: Option<&Estimate>| match safe {
            Some(safe) => plus(own, on_safe - factor, safe),
            None => own,
        };
        let guardrails = problem.guardrails.iter().zip(&signals[1..]).enumerate();
        Self {
            reward: with_safe(signals[0], 0.0, safe.map(|own| &own.reward)),
            guardrails: guardrails
                .map(|(i, (guardrail, &own))| {
                    let safe = safe.and_then(|safe| safe.costs.get(i));
                    with_safe(own, guardrail.subtracted(), safe)
                })
                .collect(),
            safe: safe.map(|own| own.reward),
        }
    }
}

impl PublishedPolicy {
    /// Estimate of an action, where it is kept.
    pub fn estimate(&self, action: u32) -> Option<&ArmEstimate> {
        let found = self.known.iter().find(|known| known.0 == action);
        found.map(|(_, own)| own)
    }

    /// Returns true if its bounds hold at a time, as declared drift counts it.
    pub(crate) fn holds_at(&self, time: Option<f64>) -> bool {
        let ends = self.until.zip(time);
        ends.is_none_or(|(until, time)| time <= until)
    }

    /// Records what an agent decides in a round.
    pub(crate) fn new(
        agent: &mut dyn Agent,
        round: &Round,
        problem: &CheckedProblem,
    ) -> Result<Self, Error> {
        let mut decision = agent.decide(round)?.clone();
        let safe = agent.view().safe;
        let mut asked: Vec<usize> = decision.policy.iter().map(|own| own.0).collect();
        if let Err(place) = asked.binary_search(&safe) {
            asked.insert(place, safe);
        }
        let found = agent.ask(Ask::Estimates(round, Some(&asked))).estimates();
        let numbers = asked.iter().map(|&own| own as u32);
        let mut known: Vec<_> = std::iter::zip(numbers, found.unwrap_or_default()).collect();
        let estimates = PolicyEstimates::of(problem, &decision.policy, safe, |action| {
            let place = known.binary_search_by_key(&(action as u32), |own| own.0);
            place.ok().map(|place| &known[place].1)
        });
        let mut others = 0;
        known.retain(|own| {
            others += usize::from(own.0 != safe as u32);
            own.0 == safe as u32 || others <= MOST_KNOWN
        });
        for g in &mut decision.guardrails {
            g.pessimistic_cost = bounded(g.pessimistic_cost);
            g.slack = bounded(g.slack);
            g.price = bounded(g.price);
        }
        decision.optimistic_reward = bounded(decision.optimistic_reward);
        decision.alarm = None;
        Ok(Self {
            decision,
            safe: safe as u32,
            known,
            estimates,
            rendered: OnceLock::new(),
        })
    }

    /// Cost of the safe action as a certificate shows it, on the harmful side: as declared, or else the end of
    /// its interval; never beyond the threshold, since its declared safety vouches for it.
    pub(crate) fn safe_cost(&self, problem: &CheckedProblem, guardrail: usize) -> f64 {
        let standard = &problem.guardrails[guardrail];
        let threshold = standard.shown_threshold;
        let declared = problem.declared.guardrails[guardrail].safe_cost;
        if let Some(cost) = declared.filter(|_| standard.factor == 0.0) {
            return cost;
        }
        if self.segment.is_some() && standard.scope == Scope::Overall {
            // What is known of it here is this segment's.
            return threshold;
        }
        self.own_safe_cost(standard, guardrail)
    }

    /// Cost of the safe action in the policy's own segment, where there is one.
    fn own_safe_cost(&self, standard: &Standard, guardrail: usize) -> f64 {
        let threshold = standard.shown_threshold;
        let safe = self.estimate(self.safe);
        let Some(own) = safe.and_then(|safe| safe.costs.get(guardrail)) else {
            return threshold;
        };
        let shown = relative_to_safe(standard, *own, Some(own), true);
        let cost = standard.direction.ordered(shown.lower, shown.upper).1;
        // In one segment it may cost more than over all of them.
        let vouched = self.segment.is_none() || standard.scope == Scope::Each;
        if !vouched || standard.direction.excess(cost, threshold) < 0.0 {
            cost
        } else {
            threshold
        }
    }

    /// The policy at a share, the rest of the probability on the safe action. Everything in its certificate is
    /// linear in the policy, and mixed alike. `thresholds` are shown in place of larger ones, where the costs
    /// allow it.
    pub(crate) fn mixed(
        &self,
        share: f64,
        problem: &CheckedProblem,
        thresholds: &[(usize, f64)],
        fallback: Option<Fallback>,
    ) -> Self {
        let rest = 1.0 - share;
        let own_safe = self.safe as usize;
        let others = self.policy.iter().filter(|entry| entry.0 != own_safe);
        let mut policy: Vec<(usize, f64)> = (others.map(|&(action, p)| (action, share * p)))
            .filter(|entry| entry.1 > 0.0)
            .collect();
        let others: f64 = policy.iter().map(|entry| entry.1).sum();
        policy.push((own_safe, (1.0 - others).max(0.0)));
        policy.sort_unstable_by_key(|entry| entry.0);
        let known = (self.known.iter())
            .filter(|known| known.0 == self.safe || share > 0.0)
            .cloned()
            .collect();
        let safe = self.estimate(self.safe);
        let mix = |own: Estimate, safe: Option<Estimate>| match safe {
            Some(safe) => plus(plus(NOTHING, share, &own), rest, &safe),
            None => own,
        };
        let guardrails = self.guardrails.iter().enumerate().map(|(i, own)| {
            let direction = problem.guardrails[i].direction;
            let safe = self.safe_cost(problem, i);
            let cost = bounded(share * own.pessimistic_cost + rest * safe);
            let slack = share * own.slack + rest * direction.excess(own.threshold, safe);
            let lower = thresholds.iter().find(|(guardrail, _)| *guardrail == i);
            let threshold = lower.map(|(_, lower)| lower.max(cost).min(own.threshold));
            GuardrailCertificate {
                pessimistic_cost: cost,
                threshold: threshold.unwrap_or(own.threshold),
                slack: threshold.map_or(bounded(slack), |threshold| threshold - cost),
                price: share * own.price,
            }
        });
        let optimistic_reward = match safe {
            Some(safe) => bounded(share * self.optimistic_reward + rest * safe.reward.upper),
            None => self.optimistic_reward,
        };
        let segment = self.segment.clone().map(|mut own| {
            for (i, cost) in own.costs.iter_mut().enumerate() {
                let safe = self.own_safe_cost(&problem.guardrails[i], i);
                *cost = bounded(share * *cost + rest * safe);
            }
            (own.by_frequencies.iter_mut()).for_each(|part| *part *= share);
            own
        });
        let estimates = self.estimates.guardrails.iter().enumerate();
        Self {
            decision: Decision {
                policy,
                guardrails: guardrails.collect(),
                optimistic_reward,
                solver: SolverReport {
                    status: Status::Budget,
                    value: optimistic_reward,
                    gap: (self.solver.upper_bound - optimistic_reward).max(0.0),
                    ..self.solver
                },
                fallback,
                segment,
                ..self.decision.clone()
            },
            safe: self.safe,
            known,
            estimates: PolicyEstimates {
                reward: mix(self.estimates.reward, safe.map(|safe| safe.reward)),
                guardrails: estimates
                    .map(|(i, own)| {
                        let safe = safe.and_then(|safe| safe.costs.get(i));
                        let shown = |safe: &Estimate| {
                            relative_to_safe(&problem.guardrails[i], *safe, Some(safe), true)
                        };
                        mix(*own, safe.map(shown))
                    })
                    .collect(),
                safe: self.estimates.safe,
            },
            rendered: OnceLock::new(),
        }
    }

    /// The action that a uniform number in [0, 1) selects, and its probability.
    pub fn draw(&self, uniform: f64) -> (u32, f64) {
        let action = self.decision.draw(uniform) as u32;
        (action, self.probability(action))
    }

    /// What it claims of a drawn action, and its segment's own excess; nothing where it was not played.
    pub(crate) fn claimed(&self, action: u32, shadow: bool) -> (Vec<Claim>, Vec<f64>) {
        if shadow {
            return Default::default();
        }
        let claims = self.claims(action as usize).unwrap_or_default().to_vec();
        let segment = self.segment.as_ref();
        (claims, segment.map_or(Vec::new(), |own| own.excess.clone()))
    }

    pub fn probability(&self, action: u32) -> f64 {
        self.decision.probability(action as usize)
    }
}

/// JSON knows no infinity: what overflowed is as large as a number can be.
fn bounded(x: f64) -> f64 {
    if x.is_nan() {
        f64::MAX
    } else {
        x.clamp(f64::MIN, f64::MAX)
    }
}

/// An estimate plus a multiple of another, end by end.
fn plus(total: Estimate, weight: f64, own: &Estimate) -> Estimate {
    let (low, high) = if weight >= 0.0 {
        (own.lower, own.upper)
    } else {
        (own.upper, own.lower)
    };
    let mean = if weight == 0.0 {
        total.mean
    } else {
        total.mean.zip(own.mean).map(|(a, b)| a + weight * b)
    };
    Estimate {
        mean: mean.map(bounded),
        lower: bounded(total.lower + weight * low),
        upper: bounded(total.upper + weight * high),
    }
}

/// An estimate of a guardrail's signal as its certificate shows it: for a relative guardrail the excess
/// over the factor times the safe mean.
pub(crate) fn relative_to_safe(
    guardrail: &Standard,
    own: Estimate,
    safe: Option<&Estimate>,
    is_safe: bool,
) -> Estimate {
    let f = guardrail.subtracted();
    match safe.filter(|_| f != 0.0) {
        None => own,
        // (1 − f) times its own mean: one interval, not the difference of two.
        Some(safe) if is_safe => plus(NOTHING, 1.0 - f, safe),
        Some(safe) => plus(own, -f, safe),
    }
}
