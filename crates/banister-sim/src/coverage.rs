//! How often the confidence sets of OPLB hold.

use std::sync::atomic::Ordering;

use banister::{Error, Oplb, OplbConfig};
use banister_rivals::AgentConfig;
use rayon::prelude::*;

use crate::experiment::Experiment;
use crate::runner::Monitor;
use crate::scene::{Moving, Scene, Still};
use crate::table::Table;
use crate::world::Environment;

/// How often the true parameters stayed in their confidence sets, all rounds of a run together.
#[derive(Debug, Clone, PartialEq)]
pub struct Coverage {
    /// Runs looked at.
    pub runs: u64,
    /// Runs in which some parameter was ever outside its set; at most about δ of all.
    pub left: u64,
    /// The same for each signal alone: the reward, then one per guardrail.
    pub left_by_signal: Vec<u64>,
    /// Per signal the largest distance of a run from the estimate, in units of the radius: its
    /// mean over runs. Far below 1: the sets are wider than they need be.
    pub mean_largest: Vec<f64>,
}

/// Runs an `oplb` agent and looks in every round whether its confidence sets hold the truth, on
/// the current rayon pool. `None` if cancelled.
pub fn coverage(
    experiment: &Experiment,
    agent: usize,
    monitor: &Monitor,
) -> Result<Option<Coverage>, Error> {
    let (label, source) = &experiment.agents[agent];
    let Some(AgentConfig::Oplb(config)) = source.config() else {
        let allowed = "only `oplb` agents have confidence sets for parameters";
        return Err(Error::invalid(
            format!("agent[{agent}].kind"),
            label,
            allowed,
        ));
    };
    let weight = experiment.weight(agent);
    let runs = experiment.resolved.run.runs;
    let numbers: Vec<u64> = (0..runs).collect();
    let largest: Result<Vec<Option<Vec<f64>>>, Error> = numbers
        .par_iter()
        .with_max_len(1)
        .map(|&run| largest(experiment, (agent, config), run, weight, monitor))
        .collect();
    let Some(largest) = largest?.into_iter().collect::<Option<Vec<Vec<f64>>>>() else {
        return Ok(None);
    };
    let signals = experiment.parameters().len();
    // NaN is not inside.
    let outside = |ratio: &f64| !(*ratio <= 1.0);
    let count =
        |left: &dyn Fn(&Vec<f64>) -> bool| largest.iter().filter(|r| left(r)).count() as u64;
    let by_signal = |s: usize| count(&|ratios: &Vec<f64>| outside(&ratios[s]));
    let mean = |s: usize| largest.iter().map(|r| r[s]).sum::<f64>() / runs as f64;
    Ok(Some(Coverage {
        runs,
        left: count(&|ratios: &Vec<f64>| ratios.iter().any(outside)),
        left_by_signal: (0..signals).map(by_signal).collect(),
        mean_largest: (0..signals).map(mean).collect(),
    }))
}

/// Per signal the largest ratio of one run.
fn largest(
    experiment: &Experiment,
    (place, config): (usize, &OplbConfig),
    run: u64,
    weight: u64,
    monitor: &Monitor,
) -> Result<Option<Vec<f64>>, Error> {
    let mut agent = Oplb::new(&experiment.problem.declared, config)?;
    match &experiment.world.environment {
        Environment::Arms(arms) => {
            let scene = Still::new(experiment, arms, 0.0);
            let table = Table::new(experiment, scene, place, run);
            watch(experiment, table, &mut agent, weight, monitor)
        }
        Environment::Changing(changing) => {
            let scene = Moving::new(experiment, changing, run, 0.0);
            let table = Table::new(experiment, scene, place, run);
            watch(experiment, table, &mut agent, weight, monitor)
        }
        Environment::Custom(_) => {
            let allowed = "the parameters of an environment from outside are not known";
            Err(Error::invalid("environment.kind", "custom", allowed))
        }
        Environment::Redrawn(_) => {
            let allowed = "its parameters are others in every run: use `linear`";
            Err(Error::invalid("environment.kind", "directions", allowed))
        }
    }
}

fn watch<S: Scene>(
    experiment: &Experiment,
    mut table: Table<'_, S>,
    agent: &mut Oplb,
    weight: u64,
    monitor: &Monitor,
) -> Result<Option<Vec<f64>>, Error> {
    const REPORT: u64 = 1000;
    let mut largest = vec![0.0_f64; experiment.parameters().len()];
    let horizon = experiment.resolved.run.horizon;
    for t in 0..horizon {
        table.play(agent, t..t + 1)?;
        for (s, parameter) in experiment.parameters().iter().enumerate() {
            let ratio = agent.confidence(s, parameter)?;
            // In this order a ratio that is not a number is kept.
            largest[s] = if ratio <= largest[s] {
                largest[s]
            } else {
                ratio
            };
        }
        if (t + 1).is_multiple_of(REPORT) || t + 1 == horizon {
            let rounds = t % REPORT + 1;
            monitor.report(rounds, weight);
            if monitor.cancelled.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
    }
    Ok(Some(largest))
}
