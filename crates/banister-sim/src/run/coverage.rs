//! Coverage of the confidence sets of OPLB.

use std::sync::atomic::Ordering;

use banister::{Error, Oplb, OplbConfig};
use banister_rivals::AgentConfig;
use rayon::prelude::*;

use super::environment::RunEnvironment;
use super::episode::Episode;
use super::fixed::FixedActions;
use super::general::GeneralActions;
use super::progress::Progress;
use crate::experiment::Experiment;

/// Frequency with which the true parameters stay in their confidence sets in all rounds of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Coverage {
    /// Number of runs.
    pub runs: u64,
    /// Runs in which some parameter was ever outside its set; at most about δ of all.
    pub left: u64,
    /// Such runs for each signal alone: the reward, then one per guardrail.
    pub left_by_signal: Vec<u64>,
    /// Per signal the largest distance of a run from the estimate, in units of the radius: its
    /// mean over runs. Far below 1: the sets are wider than they need be.
    pub mean_largest: Vec<f64>,
}

/// Runs an `oplb` agent and checks in every round that its confidence sets hold the truth, on
/// the current rayon pool. `None` if cancelled.
pub fn coverage(
    experiment: &Experiment,
    agent: usize,
    progress: &Progress,
) -> Result<Option<Coverage>, Error> {
    let (label, source) = &experiment.agents[agent];
    let Some(AgentConfig::Oplb(config)) = source.config() else {
        let allowed = "only `oplb` agents have confidence sets for parameters";
        let field = format!("agent[{agent}].kind");
        return Err(Error::invalid(field, label, allowed));
    };
    let weight = experiment.weight(agent);
    let runs = experiment.resolved.run.runs;
    let numbers: Vec<u64> = (0..runs).collect();
    let largest: Result<Vec<Option<Vec<f64>>>, Error> = numbers
        .par_iter()
        .with_max_len(1)
        .map(|&run| largest(experiment, (agent, config), run, weight, progress))
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

/// Plays one run and returns the largest ratio per signal.
fn largest(
    experiment: &Experiment,
    agent: (usize, &OplbConfig),
    run: u64,
    weight: u64,
    progress: &Progress,
) -> Result<Option<Vec<f64>>, Error> {
    if let Some(arms) = experiment.environment.as_arms() {
        let environment = FixedActions::new(experiment, arms, 0.0);
        return largest_in(environment, experiment, agent, run, weight, progress);
    }
    match experiment.environment.world() {
        Some(world) if !experiment.parameters().is_empty() => {
            let environment = GeneralActions::new(experiment, world, run, 0.0)?;
            largest_in(environment, experiment, agent, run, weight, progress)
        }
        _ => {
            let allowed = "there is no parameter to cover: means are not linear in the features, or parameters are \
                           unknown, of single arms or others in every run; use `linear` with `contextual` actions";
            Err(Error::invalid("environment", "without parameters", allowed))
        }
    }
}

fn largest_in(
    mut environment: impl RunEnvironment,
    experiment: &Experiment,
    (place, config): (usize, &OplbConfig),
    run: u64,
    weight: u64,
    progress: &Progress,
) -> Result<Option<Vec<f64>>, Error> {
    let mut agent = Oplb::new(&experiment.problem.declared, config)?;
    const REPORT: u64 = 1000;
    let mut episode = Episode::new(experiment, &environment, place, run);
    let mut largest = vec![0.0_f64; experiment.parameters().len()];
    let horizon = experiment.resolved.run.horizon;
    for t in 0..horizon {
        episode.play(&mut environment, &mut agent, t..t + 1)?;
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
            progress.report(rounds, weight);
            if progress.cancelled.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
    }
    Ok(Some(largest))
}
