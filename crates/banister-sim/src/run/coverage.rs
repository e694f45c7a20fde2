//! Coverage of the confidence sets of OPLB.

use std::sync::atomic::Ordering;

use banister::{Error, Oplb, OplbConfig};
use banister_rivals::AgentConfig;
use rayon::prelude::*;

use super::changing::{ChangingActions, Rounds};
use super::environment::RunEnvironment;
use super::episode::Episode;
use super::fixed::FixedActions;
use super::progress::Progress;
use crate::environment::Dynamics;
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
    (place, config): (usize, &OplbConfig),
    run: u64,
    weight: u64,
    progress: &Progress,
) -> Result<Option<Vec<f64>>, Error> {
    let mut agent = Oplb::new(&experiment.problem.declared, config)?;
    let refused = |key: &str, value: &str, allowed: &str| {
        let field = format!("environment.{key}");
        Err(Error::invalid(field, value, allowed))
    };
    let mut environment: Box<dyn RunEnvironment + '_> = match &experiment.environment.dynamics {
        Dynamics::Arms(arms) => Box::new(FixedActions::<false>::new(experiment, arms, 0.0)),
        Dynamics::Changing(changing) if changing.parameters().is_empty() => {
            let allowed =
                "its means are not linear in the features: there is no parameter to cover";
            return refused("kind", "misspecified", allowed);
        }
        Dynamics::Changing(changing) => Box::new(ChangingActions::new(
            experiment,
            Rounds::Actions(changing),
            run,
            0.0,
        )),
        Dynamics::Segmented(_) => {
            let allowed = "its arms have no parameters: coverage is that of `linear`";
            return refused("kind", "segmented", allowed);
        }
        Dynamics::Custom(_) => {
            let allowed = "the parameters of a user-supplied environment are not known";
            return refused("kind", "custom", allowed);
        }
        Dynamics::PerArm(_) => {
            let allowed = "every arm has parameters of its own there: use `contextual` actions";
            return refused("actions", "per_arm", allowed);
        }
        Dynamics::PerRun(_) => {
            let allowed = "its parameters are others in every run: use `linear`";
            return refused("kind", "directions", allowed);
        }
    };
    const REPORT: u64 = 1000;
    let mut episode = Episode::new(experiment, &*environment, place, run);
    let mut largest = vec![0.0_f64; experiment.parameters().len()];
    let horizon = experiment.resolved.run.horizon;
    for t in 0..horizon {
        episode.play(&mut *environment, &mut agent, t..t + 1)?;
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
