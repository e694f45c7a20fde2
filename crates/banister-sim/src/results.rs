//! Results of a simulation: one [`InstanceResult`] per instance, one [`AgentResult`] per agent.
//!
//! Costs are in the units of the guardrail's own signal. "Worst" is the largest value for an
//! `at_most` guardrail and the smallest for an `at_least` one.
//!
//! A user-supplied environment may not know its true means. Then whatever needs them is unknown:
//! NaN, or `None` where it is a count; and reward and costs are means of what was drawn. Prices
//! are NaN for an agent without certificates. Tables show what is unknown as empty or null.

use banister::guarantee::{CumulativeBudget, Guarantee};
use serde::{Deserialize, Serialize};

/// Side of its threshold that a guardrail's signal must stay on.
pub use banister::toolkit::Direction;

/// The results of one or more experiments, in the order they were asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// One entry per instance (environment and guardrails).
    pub instances: Vec<InstanceResult>,
}

/// All agents on one instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceResult {
    /// Short name, used in tables and file names.
    pub name: String,
    /// Rounds in each run.
    pub horizon: u64,
    /// Names of the arms; index 0.. as in the environment. Where the actions change in every round:
    /// the safe action, and all others together.
    pub arms: Vec<String>,
    /// Guardrails with the threshold in force, in signal units.
    pub guardrails: Vec<GuardrailInfo>,
    /// The best feasible policy under the true means.
    pub optimum: Optimum,
    /// Rounds at which the means of arms change.
    pub changes: Vec<u64>,
    /// One entry per agent.
    pub agents: Vec<AgentResult>,
}

impl InstanceResult {
    /// True where policies were judged by true means.
    pub fn knows_means(&self) -> bool {
        !self.optimum.reward.is_nan()
    }
}

/// A guardrail as the results show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuardrailInfo {
    /// Name given by the user, e.g. `spend`.
    pub name: String,
    /// `AtMost` or `AtLeast`.
    pub direction: Direction,
    /// The threshold in signal units (for a relative guardrail: resolved with the true safe mean,
    /// NaN where that is unknown).
    pub threshold: f64,
    /// Sub-Gaussian constant of the signal's noise, in signal units: half its range where it is bounded.
    pub noise: f64,
}

/// The best feasible policy under the true means. Where the actions change there is one in every
/// round; then these are averages over rounds and runs, and `policy` is empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Optimum {
    /// Its expected reward, r*; NaN where the true means are unknown.
    pub reward: f64,
    /// Its expected signal per guardrail.
    pub costs: Vec<f64>,
    /// The policy, as (arm, probability).
    pub policy: Vec<(usize, f64)>,
    /// True for averages over rounds with different actions.
    pub averaged: bool,
}

/// One agent on one instance, over all runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentResult {
    /// Label of the agent.
    pub name: String,
    /// Promise about its guardrails. User-supplied agents promise nothing.
    pub guarantee: Guarantee,
    /// Extent of that promise, where it is a cumulative one.
    pub budget: CumulativeBudget,
    /// True for banister's own agents: `opb`, `oplb` and `segmented`.
    pub ours: bool,
    /// Statistics over runs at the checkpoints.
    pub curve: Curve,
    /// One summary per run, in run order.
    pub runs: Vec<RunSummary>,
    /// Limit of certified play L(T) at the agent's δ; `None` where it is unknown.
    pub limit: Option<f64>,
}

impl AgentResult {
    /// Regret as a multiple of the limit of certified play; `None` where that is unknown or below 1.
    pub fn regret_over_limit(&self) -> Option<f64> {
        let limit = self.limit.filter(|limit| *limit >= 1.0)?;
        let sum: f64 = self.runs.iter().map(|run| run.regret).sum();
        Some(sum / self.runs.len() as f64 / limit)
    }

    /// Rounds that broke a guardrail, over all runs; `None` where the true means are unknown.
    pub fn violations(&self) -> Option<u64> {
        self.runs.iter().map(|run| run.violations).sum()
    }

    /// Largest excess over any threshold in any run, in signal units; NaN where one is unknown.
    pub fn worst_exceedance(&self) -> f64 {
        worst(self.runs.iter().map(|run| run.worst_exceedance))
    }

    /// Mean wall time per round; `None` where it was not measured.
    pub fn nanoseconds_per_round(&self) -> Option<f64> {
        let each = self.runs.iter().map(|run| run.nanoseconds_per_round);
        Some(each.sum::<Option<f64>>()? / self.runs.len() as f64)
    }
}

/// Largest of some values, at least zero; unlike with `f64::max`, what is unknown makes it unknown.
pub(crate) fn worst(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |worst, x| if x <= worst { worst } else { x })
}

/// Statistics over runs at the checkpoints. All vectors have one entry per checkpoint.
///
/// Reward, costs and prices belong to the rounds since the previous checkpoint: their mean over
/// those rounds and over runs; the worst cost is the worst single round of any run, so that no
/// violation can hide between two checkpoints.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Curve {
    /// Rounds completed at the checkpoint.
    pub round: Vec<u64>,
    /// Mean cumulative pseudo-regret over runs.
    pub regret_mean: Vec<f64>,
    /// Sample standard deviation of the cumulative pseudo-regret (0 with one run).
    pub regret_std: Vec<f64>,
    /// 5% quantile over runs.
    pub regret_q05: Vec<f64>,
    /// 95% quantile over runs.
    pub regret_q95: Vec<f64>,
    /// Mean expected reward of the policies.
    pub reward_mean: Vec<f64>,
    /// Per guardrail: mean expected signal of the policies.
    pub cost_mean: Vec<Vec<f64>>,
    /// Per guardrail: worst expected signal of any policy.
    pub cost_worst: Vec<Vec<f64>>,
    /// Per guardrail: mean shadow price.
    pub price_mean: Vec<Vec<f64>>,
    /// Per guardrail: mean positive violation Σ(c − τ)₊ since the first round.
    pub violation_mean: Vec<Vec<f64>>,
    /// Per guardrail: mean sum Σ(c − τ) since the first round, of either sign.
    pub net_mean: Vec<Vec<f64>>,
}

/// Lengths of the windows that guardrails are looked at in.
pub const WINDOWS: [u64; 2] = [100, 1000];

/// Drawn outcomes of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measured {
    /// Mean reward.
    pub reward: f64,
    /// Per guardrail: mean signal.
    pub costs: Vec<f64>,
    /// Per guardrail and length ([`WINDOWS`]): share of the consecutive windows of that length whose mean
    /// signal is beyond the threshold; NaN without a whole window.
    pub beyond: Vec<[f64; 2]>,
    /// Expected earnings of the policies beyond the safe action, as a share of those of the best policy; NaN where
    /// true means are unknown.
    pub gain: f64,
    /// Rounds until the policies of a hundred rounds in a row have 90% of the possible gain; `None` if that
    /// never came.
    pub rounds_to_90: Option<u64>,
}

/// Sums of a run's excesses c_t − τ over the threshold of a guardrail, c_t the expected signal of round t's policy; in
/// signal units, positive beyond the threshold whichever side that is. NaN where true means are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Excess {
    /// Positive violation Σ(c_t − τ)₊ at the horizon.
    pub violation: f64,
    /// Sum Σ(c_t − τ) at the horizon, of either sign: rounds below the threshold make up for others.
    pub net: f64,
    /// Largest such sum after any round, at least 0.
    pub peak: f64,
    /// Such a sum after a quarter of the rounds.
    pub quarter: f64,
}

/// One run of one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Number of the run; also its random stream.
    pub run: u64,
    /// Seed of the experiment.
    pub seed: u64,
    /// Cumulative pseudo-regret at the horizon.
    pub regret: f64,
    /// Expected reward of the policies since the last checkpoint but one.
    pub reward_end: f64,
    /// Rounds in which the policy broke at least one guardrail, judged on true means.
    pub violations: Option<u64>,
    /// Largest excess of any policy over any threshold, in signal units (0 if none).
    pub worst_exceedance: f64,
    /// Per guardrail: sums of the excesses.
    pub excess: Vec<Excess>,
    /// Expected earnings of the best feasible policies beyond the safe action's, over the run: regret as a share of it
    /// can be compared across instances. NaN where true means are unknown.
    pub possible_gain: f64,
    /// Pulls per arm.
    pub pulls: Vec<u64>,
    /// First round decided under an alarm, if there was one.
    pub first_alarm: Option<u64>,
    /// Rounds from there on in which the policy broke at least one guardrail.
    pub violations_after_alarm: u64,
    /// Sums of what was drawn, and the way to the possible gain; `None` unless the environment is a table or
    /// user-supplied.
    pub measured: Option<Measured>,
    /// Wall time per round; absent when timing is switched off.
    pub nanoseconds_per_round: Option<f64>,
}
