//! Safe actions of unknown cost: the choices there are, and the paper's T_0 rule, corrected.
//!
//! Play the safe action until ĉ_0 + 3w ≤ τ for every unknown guardrail, w = R √(2 ln(1/δ)/n) with
//! δ = 1/T². On the good event 8R² ln(1/δ)/Δ² ≤ T_0 ≤ ⌈32R² ln(1/δ)/Δ²⌉. From then on
//! Δ̂ = τ − ĉ_0 − w (2w ≤ Δ̂ ≤ Δ) stands for the margin: α_r = 1 + 2/Δ̂. (The paper's
//! α_r/α_c = 1/δ̂_c never meets its own lemma.) The safe action's upper bound afterwards is the
//! running minimum of ĉ_0 + w, so the margin in force never falls below Δ̂.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::problem::CheckedProblem;

/// Treatment of guardrails whose safe cost is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnknownSafeCost {
    /// Bound it like any other signal and play safe until the bound leaves a margin.
    #[default]
    Interval,
    /// The paper's T_0 rule, corrected: play safe until ĉ_0 + 3w ≤ τ, then use Δ̂ = τ − ĉ_0 − w.
    Paper,
}

/// Reason for which the rule is refused without a horizon.
pub(crate) const T_ZERO_HORIZON: &str = "the paper's T_0 rule needs a horizon";

impl UnknownSafeCost {
    /// True if it needs a horizon; `unknown`: some safe cost is unknown.
    pub(crate) fn needs_horizon(self, unknown: bool) -> bool {
        unknown && self == Self::Paper
    }
}

/// State of the rule.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TZeroRule {
    /// R per guardrail in standard units (1 with the paper's intervals).
    r: Vec<f64>,
    log_term: f64,
    pub state: TZeroState,
}

/// State that a snapshot keeps.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TZeroState {
    /// T_0, once reached.
    pub rounds: Option<u64>,
    /// Δ̂ at T_0, the smallest over guardrails.
    pub margin: Option<f64>,
    /// Running minimum of ĉ_0 + w per guardrail, from T_0 on.
    pub upper: Vec<f64>,
}

impl TZeroRule {
    /// `unit_noise`: R = 1 for bounded signals, as the paper's intervals have it.
    pub(crate) fn new(problem: &CheckedProblem, horizon: Option<u64>, unit_noise: bool) -> Self {
        let r = (0..problem.guardrails.len()).map(|i| {
            let (own, common, _) = problem.signal_of(problem.declared.safe, i + 1);
            let unit = own.unit() / common.unit();
            match own.sub_gaussian {
                None if unit_noise => unit,
                _ => unit * own.r(),
            }
        });
        Self {
            r: r.collect(),
            log_term: 2.0 * libm::log(horizon.unwrap_or(1) as f64),
            state: TZeroState::default(),
        }
    }

    /// Takes up a saved state; `None` if it is not that of a rule for this number of guardrails.
    pub(crate) fn restore(
        own: &mut Option<Self>,
        saved: Option<TZeroState>,
        guardrails: usize,
    ) -> Option<()> {
        match (own, saved) {
            (None, None) => Some(()),
            (Some(rule), Some(state)) => {
                let bounds = if state.rounds.is_some() {
                    guardrails
                } else {
                    0
                };
                let fits = state.upper.len() == bounds;
                rule.state = state;
                fits.then_some(())
            }
            _ => None,
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.state.rounds.is_some()
    }

    pub(crate) fn margin(&self) -> Option<f64> {
        self.state.margin
    }

    /// Upper bound of the safe action's cost under guardrail i, once settled.
    pub(crate) fn upper(&self, i: usize) -> Option<f64> {
        self.state.upper.get(i).copied()
    }

    /// Takes the safe action's n-th outcome; `sum(i)` is the sum of its costs.
    pub(crate) fn update(&mut self, problem: &CheckedProblem, n: u64, sum: impl Fn(usize) -> f64) {
        let count = n as f64;
        let guardrails = problem.guardrails.iter().enumerate();
        let bound = |i: usize| {
            let w = self.r[i] * (2.0 * self.log_term / count).sqrt();
            (sum(i) / count, w)
        };
        if self.is_settled() {
            for (i, guardrail) in guardrails {
                let (mean, w) = bound(i);
                if guardrail.safe_cost.is_none() {
                    self.state.upper[i] = self.state.upper[i].min(mean + w);
                }
            }
            return;
        }
        let mut upper = Vec::with_capacity(problem.guardrails.len());
        let mut smallest = f64::INFINITY;
        for (i, guardrail) in guardrails {
            let (mean, w) = bound(i);
            let room = match guardrail.safe_cost {
                Some(known) => {
                    upper.push(known);
                    guardrail.threshold - known
                }
                None => {
                    if mean + 3.0 * w > guardrail.threshold {
                        return;
                    }
                    upper.push(mean + w);
                    guardrail.threshold - mean - w
                }
            };
            smallest = smallest.min(room);
        }
        self.state = TZeroState {
            rounds: Some(n),
            margin: Some(smallest),
            upper,
        };
    }
}

/// Refuses what the lemma does not cover for guardrails relative to an unknown safe cost: the
/// paper's bonus on each action, and its T_0 rule.
pub(crate) fn check_relative(
    problem: &CheckedProblem,
    paper_bonus: bool,
    rule: UnknownSafeCost,
) -> Result<(), Error> {
    let Some(guardrail) = problem.guardrails.iter().find(|g| g.factor != 0.0) else {
        return Ok(());
    };
    let name = &guardrail.name;
    if paper_bonus {
        let allowed = format!(
            "`{name}` is relative to an unknown safe cost, whose width the paper's bonus does not cover: use `least`"
        );
        return Err(Error::invalid("optimism", "paper", allowed));
    }
    if rule == UnknownSafeCost::Paper {
        let allowed = format!(
            "`{name}` is relative to an unknown safe cost; the T_0 rule is for absolute thresholds: use `interval`"
        );
        return Err(Error::invalid("unknown_safe_cost", "paper", allowed));
    }
    Ok(())
}
