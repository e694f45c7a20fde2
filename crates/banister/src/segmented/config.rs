//! Parameters of the segmented agent, and their check.

use super::SegmentLearner;
use super::segments::Segments;
use crate::config;
use crate::decision::Confidence;
use crate::error::{Error, positive};
use crate::estimate::EstimateConfig;
use crate::guarantee::Guarantee;
use crate::interval::{Level, OPTIMISM_DELTA};
use crate::monitor::{MonitorConfig, epoch_share};
use crate::parameters::watched;
use crate::problem::{CheckedProblem, Scope};

/// Segments whose share of δ is set aside when none are declared.
const EXPECTED: usize = 16;
/// Parts of δ for the frequencies of segments, and for all pools; pairs have the rest.
const FREQUENCIES: f64 = 0.1;
const POOLS: f64 = 0.4;
/// Contexts of a segment after which it has a policy of its own, by default.
pub(super) const POOL_UNTIL: u64 = 30;
/// Segments with statistics of their own, at most, by default.
const MAX_SEGMENTS: usize = 10_000;

config! {
    /// The segmented agent: K arms in segments of users or requests, a policy for each; one budget over all of them, or
    /// a guardrail in each, is kept in every round with probability 1 − `delta`.
    SegmentedConfig, "segmented", SegmentLearner;
    /// δ: probability with which any policy ever violates a guardrail.
    delta,
    /// δ_o, shared by bounds that only serve optimism.
    optimism_delta: f64 = OPTIMISM_DELTA,
    /// Contexts of a segment that was not declared before it has a policy of its own; until then it shares one
    /// with other rare ones.
    pool_until: u64 = POOL_UNTIL,
    /// Segments with statistics of their own, at most; rare ones give way to others.
    max_segments: usize = MAX_SEGMENTS,
    watched,
    /// Forces the radii's log term: voids the guarantee, for negative controls.
    log_term: Option<f64>,
    ;
    /// A forced log term proves nothing.
    fn guarantee(&self) -> Guarantee {
        match self.log_term {
            Some(_) => Guarantee::Unsafe,
            None => Guarantee::EveryRound,
        }
    }
    /// Its regret is not proven.
    fn confidence(&self) -> Option<Confidence> {
        (self.log_term.is_none()).then(|| Confidence::new(self.delta, None))
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
    pub(super) fn pairs_in(&self, epoch: u32) -> EstimateConfig {
        self.estimates(epoch, 1.0 - FREQUENCIES - POOLS, self.expected)
    }

    /// Parameters of the estimates of a pool, counted from 0, in an epoch: every pool has a share of its own.
    pub(super) fn pool_in(&self, epoch: u32, pool: u32) -> EstimateConfig {
        let j = f64::from(pool) + 1.0;
        self.estimates(epoch, POOLS / (j * (j + 1.0)), 1)
    }

    /// No segments yet.
    pub(super) fn no_segments(&self, problem: &CheckedProblem) -> Segments {
        let config = &self.config;
        Segments::new(
            problem.declared.segments.len(),
            config.max_segments,
            config.pool_until,
        )
    }

    /// Level of the confidence set of frequencies.
    pub(super) fn frequencies_in(&self, epoch: u32) -> f64 {
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
            alarm_delta: Some(config.alarm_delta * share),
            moving: true,
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
    /// Checks the parameters against the problem.
    pub(super) fn check(&self, problem: &CheckedProblem) -> Result<CheckedSegmented, Error> {
        let monitor = self.monitor(false)?;
        self.log_term.map(|x| positive("log_term", x)).transpose()?;
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
            monitor,
            expected: if segments == 0 { EXPECTED } else { segments },
            overall: problem.guardrails.iter().any(|g| g.scope == Scope::Overall),
        })
    }
}
