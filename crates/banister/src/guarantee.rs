//! Guarantees: promises of agents about their guardrails.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::monitor::OnBreach;

/// Promise of an agent about its guardrails, with its probability 1 − δ.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Guarantee {
    /// The expected costs of every policy keep every threshold, in every round.
    EveryRound,
    /// The mean costs of every single action played keep every threshold.
    PerAction,
    /// Costs keep the thresholds on average over the rounds, or up to a sum that grows more slowly than
    /// their number; single rounds may break them.
    Cumulative,
    /// Nothing: costs are ignored.
    Unsafe,
}

/// Extent of a cumulative promise ([`Guarantee::Cumulative`]): the sum of excesses Σ(c − τ) that it allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CumulativeBudget {
    /// No more than zero after any round, in expected costs.
    Anytime,
    /// No more than zero after the last round, in drawn costs.
    Horizon,
    /// A sum that grows more slowly than the number of rounds.
    #[default]
    Sublinear,
}

impl Guarantee {
    /// All of them, the strongest promise of safety first.
    pub const ALL: [Self; 4] = [
        Self::EveryRound,
        Self::PerAction,
        Self::Cumulative,
        Self::Unsafe,
    ];

    /// Default reaction to an alarm: an agent that promises nothing is only watched.
    pub(crate) fn on_breach(self) -> OnBreach {
        match self {
            Self::EveryRound => OnBreach::Safe,
            _ => OnBreach::Alert,
        }
    }

    /// English phrase for reports.
    pub fn words(self) -> &'static str {
        match self {
            Self::EveryRound => "safe in every round",
            Self::PerAction => "safe per action",
            Self::Cumulative => "cumulative budget",
            Self::Unsafe => "unsafe",
        }
    }
}
