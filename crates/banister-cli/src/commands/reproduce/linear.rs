//! The linear part of `banister reproduce`: OPLB on changing actions.

use banister_rivals::AgentConfig;
use banister_sim::results::InstanceResult;
use banister_sim::{Coverage, EnvironmentConfig, Experiment, Progress, Results};

use crate::args::Simulation;
use crate::input::built_in;
use banister_terminal::Failure;

const CONTEXTUAL: &str = include_str!("../../../experiments/linear/contextual.toml");
const MARGIN: &str = include_str!("../../../experiments/linear/margin.toml");
const UNKNOWN: &str = include_str!("../../../experiments/linear/safe-cost-unknown.toml");
const ARMS: &str = include_str!("../../../experiments/linear/arms.toml");
const COVERAGE: &str = include_str!("../../../experiments/linear/coverage.toml");

/// Margins τ − c_0 at which the same instance is played.
pub const MARGINS: [f64; 5] = [0.05, 0.1, 0.2, 0.3, 0.4];
/// Numbers of arms at which OPB and OPLB are compared.
pub const ARM_COUNTS: [usize; 4] = [4, 8, 16, 32];

/// Label of the paper's OPLB, solved to a certified gap.
pub const EXACT: &str = "OPLB, exact";
/// Label of the paper's constants with one linear program a round.
pub const LINEARISED: &str = "OPLB, linearised";
/// Label of banister's default: least optimism, linearised.
pub const BANISTER: &str = "banister";

/// Results by the claim that they show.
pub struct Linear {
    /// Actions that change, the safe cost known.
    pub contextual: InstanceResult,
    /// Actions that change, the safe cost unknown.
    pub unknown: InstanceResult,
    /// One instance per margin.
    pub margins: Vec<InstanceResult>,
    /// One instance per number of arms: OPB, then OPLB.
    pub arms: Vec<InstanceResult>,
    /// One entry per radius.
    pub coverage: Vec<Watched>,
}

/// Observed coverage of a radius.
pub struct Watched {
    pub radius: String,
    pub delta: f64,
    pub coverage: Coverage,
}

/// The experiments whose results are curves, in the order that [`sort`] takes them.
pub fn experiments(overrides: &Simulation) -> Result<Vec<Experiment>, Failure> {
    let mut all = vec![
        built_in(CONTEXTUAL, "", overrides, |_| {})?,
        built_in(UNKNOWN, "", overrides, |_| {})?,
    ];
    for margin in MARGINS {
        let name = format!("linear, Δ = {margin}");
        all.push(built_in(MARGIN, &name, overrides, |config| {
            let guardrail = &mut config.guardrail[0];
            let threshold = guardrail.at_most.unwrap_or(1.0);
            guardrail.safe_cost = Some(threshold - margin);
        })?);
    }
    for k in ARM_COUNTS {
        all.push(built_in(ARMS, &format!("K = {k}"), overrides, |config| {
            let EnvironmentConfig::Bernoulli(arms) = &mut config.environment else {
                return;
            };
            let rows = arms
                .rewards
                .iter_mut()
                .chain(arms.costs.iter_mut().flatten());
            for row in rows {
                let last = row.last().copied().unwrap_or(0.5);
                row.resize(k, last);
            }
        })?);
    }
    Ok(all)
}

/// The experiment whose confidence sets are watched.
pub fn coverage_experiment(overrides: &Simulation) -> Result<Experiment, Failure> {
    built_in(COVERAGE, "", overrides, |_| {})
}

/// Watches the confidence sets of every agent of an experiment; `None` if cancelled.
pub fn watch(
    experiment: &Experiment,
    monitor: &Progress,
) -> Result<Option<Vec<Watched>>, banister::Error> {
    let mut all = Vec::new();
    for (a, (label, agent)) in experiment.agents().iter().enumerate() {
        let Some(AgentConfig::Oplb(config)) = agent.config() else {
            continue;
        };
        let Some(coverage) = banister_sim::coverage(experiment, a, monitor)? else {
            return Ok(None);
        };
        all.push(Watched {
            radius: label.clone(),
            delta: config.delta + config.optimism_delta,
            coverage,
        });
    }
    Ok(Some(all))
}

/// Sorts the results of [`experiments`].
pub fn sort(
    instances: impl IntoIterator<Item = InstanceResult>,
    coverage: Vec<Watched>,
) -> Option<Linear> {
    let mut instances = instances.into_iter();
    Some(Linear {
        contextual: instances.next()?,
        unknown: instances.next()?,
        margins: instances.by_ref().take(MARGINS.len()).collect(),
        arms: instances.take(ARM_COUNTS.len()).collect(),
        coverage,
    })
}

impl Linear {
    /// All instances, for the tables.
    pub fn instances(&self) -> Vec<InstanceResult> {
        let first = [&self.contextual, &self.unknown];
        let all = first.into_iter().chain(&self.margins).chain(&self.arms);
        all.cloned().collect()
    }

    /// The safe cost known, then unknown, with the agents that both have.
    pub fn safe_cost(&self) -> Results {
        let mut known = self.contextual.clone();
        known.name = "safe cost known".into();
        known
            .agents
            .retain(|agent| agent.name == EXACT || agent.name == BANISTER);
        let mut unknown = self.unknown.clone();
        unknown.name = "safe cost unknown".into();
        Results {
            instances: vec![known, unknown],
        }
    }
}
