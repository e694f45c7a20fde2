//! Estimates of how long a comparison takes, before it starts.

use std::collections::HashMap;
use std::time::Duration;

use banister::Error;

use super::plan::Comparison;
use crate::experiment::Experiment;
use crate::run::{Options, Progress, Shard, run_shard};

/// First rounds, which take longer than later ones, and the part of a run that is played to see how long these take.
const FIRST: u64 = 300;
const PART: u64 = 20;

impl Comparison {
    /// Estimates the time that the runs take that are not among `done`, on a number of threads. A run takes as long
    /// as those done; where an agent has none on an instance, the first twentieth of one is played for it.
    /// Comparisons that are short by a rough count are not measured: `None`.
    ///
    /// # Errors
    /// Those of the rounds played.
    pub fn estimate(&self, done: &[Shard], threads: usize) -> Result<Option<Duration>, Error> {
        let mut nanoseconds = HashMap::new();
        for shard in done {
            for trace in &shard.traces {
                let known: &mut (u64, Option<f64>) = nanoseconds
                    .entry((shard.experiment, shard.agent))
                    .or_default();
                known.0 += 1;
                known.1 = trace.summary.nanoseconds_per_round.or(known.1);
            }
        }
        let work: u64 = (self.experiments.iter()).fold(0, |sum, experiment| {
            experiment.total_work().saturating_add(sum)
        });
        let threads = threads.max(1) as f64;
        if work as f64 / threads < 5e9 {
            return Ok(None);
        }
        let mut sum = 0.0;
        for experiment in &self.experiments {
            let (hash, run) = (experiment.hash()?, &experiment.resolved.run);
            for agent in 0..experiment.agents.len() {
                let (played, known) = nanoseconds.get(&(hash, agent)).copied().unwrap_or_default();
                let left = run.runs.saturating_sub(played) as f64;
                if left > 0.0 {
                    let of_run = |nanoseconds: f64| run.horizon as f64 * nanoseconds;
                    sum += left
                        * known.map_or_else(|| one_run(experiment, agent), |n| Ok(of_run(n)))?;
                }
            }
        }
        Ok(Some(Duration::from_secs_f64(sum / threads / 1e9)))
    }
}

/// Nanoseconds of a run, from its first part.
fn one_run(experiment: &Experiment, agent: usize) -> Result<f64, Error> {
    let horizon = experiment.resolved.run.horizon;
    let first = horizon.min(FIRST);
    let begun = first_rounds(experiment, agent, first)?;
    let part = horizon / PART;
    if part <= first {
        return Ok(begun / first as f64 * horizon as f64);
    }
    let later = (first_rounds(experiment, agent, part)? - begun).max(0.0) / (part - first) as f64;
    Ok(begun + later * (horizon - first) as f64)
}

/// Nanoseconds of an agent's first rounds.
fn first_rounds(experiment: &Experiment, agent: usize, rounds: u64) -> Result<f64, Error> {
    let mut short = experiment.clone();
    short.resolved.run.horizon = rounds;
    short.resolved.run.checkpoints = 1;
    let options = Options { no_timing: false };
    let shard = run_shard(&short, agent, 0..1, options, &Progress::default())?;
    let trace = shard.and_then(|shard| shard.traces.into_iter().next());
    let each = trace.and_then(|trace| trace.summary.nanoseconds_per_round);
    Ok(each.unwrap_or(0.0) * rounds as f64)
}
