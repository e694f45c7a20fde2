//! Tuning of rivals: the best point of each declared grid on the instances of the suite `tuning`.

use banister::{Error, Guarantee};
use banister_rivals::AgentConfig;

use super::plan::Comparison;
use crate::results::{AgentResult, InstanceResult};
use crate::run::Gathered;

/// End of the label of a rival with tuned constants.
pub const TUNED: &str = ", tuned";

/// Rivals whose best point is not their default; `banister compare --suite tuning` makes it.
const CHOSEN: &str = include_str!("../../../../experiments/tuning/tuned.json");

/// The rivals with the constants that were the best on the tuning instances, labelled with [`TUNED`]. One whose
/// defaults were the best is not among them.
pub(crate) fn tuned() -> Result<Vec<AgentConfig>, Error> {
    serde_json::from_str(CHOSEN).map_err(|error| {
        Error::invalid("tuned", "experiments/tuning/tuned.json", error.to_string())
    })
}

/// A point of a rival's grid on the tuning instances.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The rival with its constants.
    pub agent: AgentConfig,
    /// Instances that it played.
    pub instances: usize,
    /// True if it kept its promise on all of them.
    pub kept: bool,
    /// Mean over instances of what it broke: the share of rounds for a promise about rounds, else the mean excess of a
    /// cost over its threshold, in units of the cost's range.
    pub violation: f64,
    /// Mean over instances of its regret as a share of the safe action's.
    pub regret: f64,
}

/// Scores every agent of a comparison. Those of a kind are one grid; [`chosen`] is its best point.
pub fn tried(comparison: &Comparison, gathered: &[Gathered<'_>]) -> Vec<Tried> {
    let mut all: Vec<(Tried, f64)> = Vec::new();
    for (gathered, guarantees) in gathered.iter().zip(comparison.guarantees()) {
        let instance = gathered.result();
        let safe = gathered.experiment.environment().safe_means.as_ref();
        let safe = safe.and_then(|means| means.first()).copied().unwrap_or(0.0);
        let rounds = instance.horizon as f64;
        let possible = rounds * (instance.optimum.reward - safe);
        for (place, agent) in instance.agents.iter().enumerate() {
            let Some(config) = gathered.experiment.agents[place].1.config() else {
                continue;
            };
            let (violation, allowed) = match guarantees[place] {
                Guarantee::EveryRound | Guarantee::PerAction => (broken(agent, rounds), 0.0),
                // Sums up to √T are what such promises are about.
                Guarantee::Cumulative => {
                    (excess(gathered, &instance, agent), rounds.sqrt().recip())
                }
                Guarantee::Unsafe => (0.0, 0.0),
            };
            let regret: f64 = agent.runs.iter().map(|run| run.regret).sum();
            let regret = regret / agent.runs.len() as f64 / possible;
            let same = |(tried, _): &&mut (Tried, f64)| tried.agent.label() == agent.name;
            match all.iter_mut().find(same) {
                Some((tried, sum)) => {
                    tried.instances += 1;
                    tried.kept &= violation <= allowed;
                    tried.violation += violation;
                    *sum += regret;
                }
                None => {
                    let tried = Tried {
                        agent: config.clone(),
                        instances: 1,
                        kept: violation <= allowed,
                        violation,
                        regret: f64::NAN,
                    };
                    all.push((tried, regret));
                }
            }
        }
    }
    (all.into_iter())
        .map(|(tried, sum)| Tried {
            violation: tried.violation / tried.instances as f64,
            regret: sum / tried.instances as f64,
            ..tried
        })
        .collect()
}

/// Share of rounds that broke a guardrail.
fn broken(agent: &AgentResult, rounds: f64) -> f64 {
    let violations = agent
        .runs
        .iter()
        .map(|run| run.violations.unwrap_or(0) as f64);
    violations.sum::<f64>() / agent.runs.len() as f64 / rounds
}

/// Largest mean excess of a cost over its threshold, 0 if there is none.
fn excess(gathered: &Gathered<'_>, instance: &InstanceResult, agent: &AgentResult) -> f64 {
    let standard = &gathered.experiment.problem.guardrails;
    let guardrails = instance.guardrails.iter().zip(standard).enumerate();
    // Checkpoints are evenly spaced.
    let means = guardrails.map(|(i, (guardrail, standard))| {
        let costs = &agent.curve.cost_mean[i];
        let mean = costs.iter().sum::<f64>() / costs.len() as f64;
        (guardrail.direction).excess(mean, guardrail.threshold) / standard.signal.unit()
    });
    means.fold(0.0, f64::max)
}

/// Chooses among the points of each kind: the least regret of those that kept their promise on every instance; if none
/// did, the least violation. Kinds whose defaults are chosen are left out.
pub fn chosen(tried: &[Tried]) -> Result<Vec<AgentConfig>, Error> {
    let mut kinds: Vec<&str> = tried.iter().map(|tried| tried.agent.kind()).collect();
    kinds.dedup();
    let mut list = Vec::new();
    for kind in kinds {
        let points = tried.iter().filter(|tried| tried.agent.kind() == kind);
        let key = |tried: &&Tried| {
            (
                !tried.kept,
                if tried.kept {
                    tried.regret
                } else {
                    tried.violation
                },
            )
        };
        let best = points.min_by(|a, b| {
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        let default = AgentConfig::of_kind(kind)?;
        let points = default.grid();
        let label = best.map(|best| best.agent.label());
        // As it was declared, not as it was completed for an instance.
        let best = points
            .into_iter()
            .find(|point| Some(point.label()) == label);
        if let Some(best) = best {
            let best = best.with_label(format!("{}{TUNED}", default.label()));
            if best.clone().with_label("") != default.with_label("") {
                list.push(best);
            }
        }
    }
    Ok(list)
}
