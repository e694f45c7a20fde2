//! A decision: a policy and the certificate a person can check. By number inside programs and logs ([`Decision`]),
//! by name where people read it ([`Certificate`]).

use banister_solve::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::monitor::{Alarm, Assumption};
use crate::problem::{Claim, Guardrail};

/// A policy with its certificate. Numbers are in the user's units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// The policy as (arm, probability), by increasing arm; probabilities sum to one. Where actions
    /// were offered by their features, their numbers; the safe action comes after the last if it was
    /// not among them.
    #[serde(with = "groups")]
    #[schemars(with = "Vec<(usize, f64)>")]
    pub policy: Vec<(usize, f64)>,
    /// Part of its length that the action drawn is played at: x becomes `scale`·x, for agents whose
    /// safe action is x_0 = 0. Such an outcome is taken by its features ([`crate::Choice::Offered`]).
    pub scale: f64,
    /// Actions of the policy that it claims something about that an outcome could refute, by increasing number: none of
    /// an arm that may cost anything, or where nothing is watched.
    pub claimed: Vec<usize>,
    /// The claims about each of those in turn, one per guardrail, in standard units.
    pub claims: Vec<Claim>,
    /// One entry per guardrail.
    pub guardrails: Vec<GuardrailCertificate>,
    /// π·V in reward units: on the event that the intervals hold, at least the best feasible
    /// policy's reward. With a `fallback` it is only the safe action's own upper bound, and with `index`
    /// optimism that reward or more but for a shortfall that is bounded in expectation (docs/guarantees.md).
    pub optimistic_reward: f64,
    /// Status, value and proven bound of the solve.
    pub solver: SolverReport,
    /// Reason for forcing the safe action, if it was forced.
    pub fallback: Option<Fallback>,
    /// Probabilities behind the certificate; `None` where the agent proves nothing.
    pub confidence: Option<Confidence>,
    /// The oldest unacknowledged alarm: an assumption of this certificate is false.
    pub alarm: Option<Alarm>,
    /// The segment's own part, where there is a policy for each.
    pub segment: Option<SegmentCertificate>,
    /// Number of outcomes this decision is based on.
    pub outcomes: u64,
    /// Last time at which its bounds hold, on the clock of rounds, where means may move: decide anew after it.
    pub until: Option<f64>,
}

/// A segment's own part of the certificate. Guardrails over all segments are certified for the whole table of
/// policies; here is what this segment adds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SegmentCertificate {
    /// Name of the segment.
    pub name: String,
    /// True if it shares the policy of rare segments: its own guardrails are then kept on average over those only.
    pub pooled: bool,
    /// Decisions seen in it before this one.
    pub contexts: u64,
    /// Share of all decisions that had this policy.
    pub frequency: f64,
    /// Pessimistic cost of the segment's own policy under each guardrail.
    pub costs: Vec<f64>,
    /// Part of each guardrail's pessimistic cost that is there because frequencies of segments are not known
    /// exactly.
    pub by_frequencies: Vec<f64>,
    /// Its own pessimistic cost beyond each guardrail's over all segments, in standard units: not positive on average as
    /// long as segments come as often as certified. 0 for a guardrail in each.
    pub excess: Vec<f64>,
}

/// Probabilities with which an agent's promises hold, over all rounds at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confidence {
    /// Probability, at least, with which no policy ever violates a guardrail: 1 − δ.
    pub safety: f64,
    /// Probability, at least, with which the bounds behind optimism hold too, and with them the regret
    /// bound: 1 − δ − δ_o; `None` where the optimism's regret is bounded in expectation (`index`).
    #[serde(default)]
    pub regret: Option<f64>,
}

impl Confidence {
    /// The two probabilities, with budgets δ and, where optimism is proven with high probability, δ_o.
    pub(crate) fn new(delta: f64, optimism_delta: Option<f64>) -> Self {
        // Declared in decimals, and meant so: 1 − 0.01 − 0.1 is 0.89.
        let decimal = |x: f64| (x * 1e12).round() / 1e12;
        Self {
            safety: decimal(1.0 - delta),
            regret: optimism_delta.map(|other| decimal((1.0 - delta - other).max(0.0))),
        }
    }
}

/// One guardrail's part of the certificate.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GuardrailCertificate {
    /// The policy's expected signal if every arm is as bad as its interval allows (for a relative
    /// guardrail: its excess over the factor times the safe mean).
    pub pessimistic_cost: f64,
    /// Bound on that cost (0 for a relative guardrail).
    pub threshold: f64,
    /// Distance to the threshold; never negative for an agent that is safe in every round.
    pub slack: f64,
    /// Shadow price: optimistic reward per unit of threshold.
    pub price: f64,
}

/// Certificate of a policy, by the names of its guardrails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Certificate {
    /// One entry per guardrail.
    pub guardrails: Vec<NamedCertificate>,
    /// Reward that the policy aims at: at least the best feasible one's, but for a bounded shortfall with `index`.
    pub optimistic_reward: f64,
    /// Status, value and proven bound of the solve.
    pub solver: SolverReport,
    /// Reason for forcing the safe action, if it was forced.
    pub fallback: Option<Fallback>,
    /// Number of outcomes it is based on.
    pub outcomes: u64,
    /// Probability with which no policy ever violates a guardrail, and that with which the regret bound holds
    /// too (null where it is one in expectation); null where the agent does not state them.
    pub confidence: Option<Confidence>,
    /// The assumptions it rests on, and whether something watches each.
    pub rests_on: Vec<Assumption>,
}

/// One guardrail's part of the certificate, by its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GuardrailCertificate")]
pub struct NamedCertificate {
    /// The guardrail.
    #[serde(flatten)]
    pub guardrail: Promise,
    /// Its numbers.
    #[serde(flatten)]
    pub certificate: GuardrailCertificate,
}

/// A guardrail as certificates name it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Promise {
    /// Name of the guardrail.
    pub name: String,
    /// True if signals above the guardrail's `cap` count as the cap: all this is about the capped mean.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub capped: bool,
    /// The promise in words, where it is a ratio or a quantile: the numbers are of a mean that stands for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<String>,
}

impl From<&Guardrail> for Promise {
    fn from(guardrail: &Guardrail) -> Self {
        Self {
            name: guardrail.name.clone(),
            capped: guardrail.signal.cap.is_some(),
            promise: guardrail.in_words(),
        }
    }
}

/// The solver's part of the certificate, in reward units.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SolverReport {
    /// Outcome of the solve; `budget` with a `fallback`, where nothing was solved.
    pub status: Status,
    /// Objective at the policy.
    pub value: f64,
    /// Proven upper bound on the objective of every pessimistically feasible policy.
    pub upper_bound: f64,
    /// Distance `upper_bound − value`, 0 where the policy is proven best.
    pub gap: f64,
    /// Linear problems that exact OPLB solved for its proof; 0 where a linear program is all.
    pub nodes: u64,
}

/// Reason for playing the safe action alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// The safe action's costs are not known well enough yet to prove any margin.
    MarginNotProven,
    /// The solver found no policy that passes the check.
    SolverFailed,
    /// The caller asked for the safe action.
    Paused,
    /// An alarm was raised and is not acknowledged yet.
    Alarm,
    /// The solver ran out of work before it found a policy that passes the check.
    Budget,
    /// Rounding may have undone the regression on the features: their lengths are too far apart, or too
    /// large for λ. Declare `norm`, or a larger `lambda`.
    IllConditioned,
    /// The rest of a budget over time does not cover the most that the policy may cost.
    BudgetExhausted,
    /// The experiment has not started yet, or has ended.
    NotRunning,
    /// The experiment does not decide for this unit: another one of its namespace may.
    Outside,
}

impl Default for Decision {
    fn default() -> Self {
        Self {
            policy: Vec::new(),
            scale: 1.0,
            claimed: Vec::new(),
            claims: Vec::new(),
            guardrails: Vec::new(),
            optimistic_reward: 0.0,
            solver: SolverReport::default(),
            fallback: None,
            confidence: None,
            alarm: None,
            segment: None,
            outcomes: 0,
            until: None,
        }
    }
}

/// The arm that a uniform number in [0, 1) selects under a policy.
#[inline]
pub(crate) fn drawn(policy: &[(usize, f64)], uniform: f64) -> usize {
    // Counts the entries that the uniform number is beyond, without a branch on it: branches on
    // random numbers cannot be predicted. The last entry takes what is left, also by rounding.
    let mut rest = uniform;
    let mut place = 0;
    for &(_, p) in &policy[..policy.len().saturating_sub(1)] {
        rest -= p;
        place += usize::from(rest >= 0.0);
    }
    policy.get(place).map_or(0, |&(arm, _)| arm)
}

impl Decision {
    /// The arm that a uniform number in [0, 1) selects under the policy.
    ///
    /// ```
    /// # use banister::Decision;
    /// let decision = Decision { policy: vec![(0, 0.25), (3, 0.75)], ..Default::default() };
    /// assert_eq!(decision.draw(0.1), 0);
    /// assert_eq!(decision.draw(0.9), 3);
    /// ```
    #[inline]
    pub fn draw(&self, uniform: f64) -> usize {
        drawn(&self.policy, uniform)
    }

    /// The probability of playing `arm`.
    pub fn probability(&self, arm: usize) -> f64 {
        self.policy
            .iter()
            .find(|entry| entry.0 == arm)
            .map_or(0.0, |entry| entry.1)
    }

    /// Claims about an action, one per guardrail; `None` where none were made.
    #[inline]
    pub fn claims(&self, action: usize) -> Option<&[Claim]> {
        let m = self.guardrails.len();
        let place = self.claimed.binary_search(&action).ok()?;
        self.claims.get(place * m..(place + 1) * m)
    }

    /// Makes claims about an action beyond those that have some.
    pub(crate) fn claim(&mut self, action: usize, claims: impl Iterator<Item = Claim>) {
        self.claimed.push(action);
        self.claims.extend(claims);
    }

    /// Forgets what is claimed.
    pub(crate) fn unclaim(&mut self) {
        self.claimed.clear();
        self.claims.clear();
    }

    /// The certificate by names.
    pub fn certificate(&self, guardrails: &[Promise], rests_on: Vec<Assumption>) -> Certificate {
        let named = std::iter::zip(guardrails, &self.guardrails);
        Certificate {
            guardrails: named
                .map(|(guardrail, &certificate)| NamedCertificate {
                    guardrail: guardrail.clone(),
                    certificate,
                })
                .collect(),
            optimistic_reward: self.optimistic_reward,
            solver: self.solver,
            fallback: self.fallback,
            outcomes: self.outcomes,
            confidence: self.confidence,
            rests_on,
        }
    }
}

/// A policy in binary formats: actions of equal probability as one group, since a thousand untried arms may share
/// theirs.
mod groups {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        policy: &[(usize, f64)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return policy.serialize(serializer);
        }
        let groups = policy.chunk_by(|a, b| a.1.to_bits() == b.1.to_bits());
        let group = |group: &[(usize, f64)]| -> (f64, Vec<usize>) {
            (group[0].1, group.iter().map(|entry| entry.0).collect())
        };
        groups.map(group).collect::<Vec<_>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(usize, f64)>, D::Error> {
        if deserializer.is_human_readable() {
            return Vec::deserialize(deserializer);
        }
        let groups = Vec::<(f64, Vec<usize>)>::deserialize(deserializer)?;
        let flat = (groups.into_iter())
            .flat_map(|(p, actions)| actions.into_iter().map(move |action| (action, p)));
        Ok(flat.collect())
    }
}
