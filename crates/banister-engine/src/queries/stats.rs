//! Numbers for monitoring.

use std::collections::BTreeMap;

use super::Query;
use super::experiment::alarm;
use crate::object::OneOrMany;
use crate::refusal::Refusal;
use crate::state::{BudgetView, Counts, EngineState, SegmentCount};

/// Asks for the numbers of all experiments.
#[derive(Debug)]
pub struct ReadStats;

/// Numbers of the log and of all experiments.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// Number of the last event folded.
    pub number: u64,
    /// One entry per experiment.
    pub experiments: Vec<ExperimentStats>,
}

#[derive(Debug, Clone)]
pub struct ExperimentStats {
    pub name: String,
    pub counts: Counts,
    /// Slack of the latest policy by guardrail.
    pub slacks: Vec<(String, f64)>,
    /// Budgets by guardrail.
    pub budgets: BTreeMap<String, OneOrMany<BudgetView>>,
    /// True while the safe action is forced.
    pub is_forced: bool,
    /// Number of unacknowledged alarms.
    pub alarms: u64,
    /// Segments by number; none where decisions have none.
    pub segments: SegmentCount,
}

impl Query for ReadStats {
    type Answer = Stats;

    fn answer(self, state: &mut EngineState) -> Result<Stats, Refusal> {
        let (sets, now) = (state.clock_sets(), state.now);
        let experiments = state.experiments().map(|experiment| {
            let latest = experiment.trace.latest.as_ref();
            let guardrails = latest.map_or(&[][..], |latest| &latest.published.guardrails);
            let slacks = std::iter::zip(&experiment.info.guardrails, guardrails);
            ExperimentStats {
                name: experiment.info.experiment.clone(),
                counts: experiment.counts,
                slacks: slacks.map(|(name, g)| (name.clone(), g.slack)).collect(),
                budgets: experiment.budget_views(sets, now),
                is_forced: alarm(experiment, sets, now).is_some(),
                alarms: experiment.open_alarms().count() as u64,
                segments: experiment.learner.segment_count(),
            }
        });
        Ok(Stats {
            number: state.number,
            experiments: experiments.collect(),
        })
    }
}
