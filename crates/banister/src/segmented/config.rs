//! Parameters of the segmented agent, and their check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::segments::Segments;
use crate::decision::Confidence;
use crate::error::{Error, open_unit, positive};
use crate::estimate::EstimateConfig;
use crate::guarantee::Guarantee;
use crate::interval::{Level, OPTIMISM_DELTA};
use crate::monitor::{
    MonitorConfig, OnBreach, RUN_LENGTH, check_run_length, epoch_share, is_usual,
};
use crate::problem::{CheckedProblem, Scope};

/// Segments whose share of δ is set aside when none are declared.
const EXPECTED: usize = 16;
/// Parts of δ for the frequencies of segments, and for all pools; pairs have the rest.
const FREQUENCIES: f64 = 0.1;
const POOLS: f64 = 0.4;
/// Contexts of a segment after which it is told apart, by default.
pub(super) const POOL_UNTIL: u64 = 30;
/// Segments with statistics of their own, at most, by default.
const MAX_SEGMENTS: usize = 10_000;

/// The segmented agent: K arms in segments of users or requests, a policy for each; one budget over all of them, or
/// a guardrail in each, is kept in every round with probability 1 − `delta`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SegmentedConfig {
    /// Name in results; by default `segmented`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// δ: probability with which any policy ever violates a guardrail.
    pub delta: f64,
    /// δ_o, shared by bounds that only serve optimism.
    pub optimism_delta: f64,
    /// Contexts of a segment that was not declared before it has a policy of its own; until then it shares one
    /// with other rare ones.
    pub pool_until: u64,
    /// Segments with statistics of their own, at most; rare ones give way to others.
    pub max_segments: usize,
    /// Reaction to an alarm; by default `safe`, or `alert` where the parameters void the guarantee.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_breach: Option<OnBreach>,
    /// Outcomes between two false alarms of a breach, on average at least.
    #[serde(skip_serializing_if = "is_usual")]
    pub run_length: f64,
    /// Forces the radii's log term: voids the guarantee, for negative controls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_term: Option<f64>,
}

impl Default for SegmentedConfig {
    fn default() -> Self {
        Self {
            label: None,
            delta: 0.01,
            optimism_delta: OPTIMISM_DELTA,
            pool_until: POOL_UNTIL,
            max_segments: MAX_SEGMENTS,
            on_breach: None,
            run_length: RUN_LENGTH,
            log_term: None,
        }
    }
}

/// Checked parameters, with what follows from the problem.
#[derive(Debug, Clone)]
pub(super) struct CheckedSegmented {
    pub config: SegmentedConfig,
    pub monitor: MonitorConfig,
    /// Segments that δ is set aside for.
    expected: usize,
    /// True if some guardrail is over all segments, whose frequencies then matter.
    overall: bool,
}

impl CheckedSegmented {
    /// Parameters of the estimates of pairs of a segment and an arm in an epoch, counted from 0.
    pub fn pairs_in(&self, epoch: u32) -> EstimateConfig {
        self.estimates(epoch, 1.0 - FREQUENCIES - POOLS, self.expected)
    }

    /// Parameters of the estimates of a pool, counted from 0, in an epoch: every pool has a share of its own.
    pub fn pool_in(&self, epoch: u32, pool: u32) -> EstimateConfig {
        let j = f64::from(pool) + 1.0;
        self.estimates(epoch, POOLS / (j * (j + 1.0)), 1)
    }

    /// No segments yet.
    pub fn no_segments(&self, problem: &CheckedProblem) -> Segments {
        let config = &self.config;
        Segments::new(
            problem.declared.segments.len(),
            config.max_segments,
            config.pool_until,
        )
    }

    /// Level of the confidence set of frequencies.
    pub fn frequencies_in(&self, epoch: u32) -> f64 {
        FREQUENCIES * self.config.delta * epoch_share(self.monitor.on_breach, epoch)
    }

    fn estimates(&self, epoch: u32, part: f64, groups: usize) -> EstimateConfig {
        let config = &self.config;
        // Frequencies that nothing rests on leave their part to the pairs.
        let part = if self.overall {
            part
        } else {
            part / (1.0 - FREQUENCIES)
        };
        let share = part * epoch_share(self.monitor.on_breach, epoch);
        EstimateConfig {
            groups,
            ..EstimateConfig::at(Level {
                delta: config.delta * share,
                optimism_delta: config.optimism_delta * share,
                log_term: config.log_term,
                ..Level::at(config.delta)
            })
        }
    }
}

impl SegmentedConfig {
    /// The promise that follows from the parameters: a forced log term proves nothing.
    pub fn guarantee(&self) -> Guarantee {
        match self.log_term {
            Some(_) => Guarantee::Unsafe,
            None => Guarantee::EveryRound,
        }
    }

    /// Probabilities of its promises; `None` where the parameters void them. Its regret is not proven.
    pub fn confidence(&self) -> Option<Confidence> {
        (self.log_term.is_none()).then(|| Confidence::new(self.delta, None))
    }

    /// Reaction to an alarm, also where it is not given.
    pub fn on_breach(&self) -> OnBreach {
        self.on_breach.unwrap_or(self.guarantee().on_breach())
    }

    /// Checks the parameters against the problem.
    pub(super) fn check(&self, problem: &CheckedProblem) -> Result<CheckedSegmented, Error> {
        open_unit("delta", self.delta)?;
        open_unit("optimism_delta", self.optimism_delta)?;
        check_run_length(self.run_length)?;
        if let Some(x) = self.log_term {
            positive("log_term", x)?;
        }
        let segments = problem.declared.segments.len();
        if self.max_segments < segments || self.max_segments > 1_000_000 {
            let allowed =
                format!("must be at least {segments}, the number declared, and at most 1000000");
            return Err(Error::invalid("max_segments", self.max_segments, allowed));
        }
        if self.pool_until == 0 {
            return Err(Error::invalid("pool_until", 0, "must be at least 1"));
        }
        Ok(CheckedSegmented {
            config: self.clone(),
            monitor: MonitorConfig {
                on_breach: self.on_breach(),
                run_length: self.run_length,
                delta: self.delta,
                exact_safe_cost: false,
            },
            expected: if segments == 0 { EXPECTED } else { segments },
            overall: problem.guardrails.iter().any(|g| g.scope == Scope::Overall),
        })
    }
}
