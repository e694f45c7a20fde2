//! Estimates of how long a comparison takes, before it starts.

use std::collections::HashMap;
use std::time::Duration;

use banister::Error;

use super::plan::Comparison;
use crate::experiment::Experiment;
use crate::run::{Options, Progress, Shard, run_shard};

/// Rounds that are played to see how long one takes.
const ROUNDS: u64 = 300;

impl Comparison {
    /// Estimates the time that the runs take that are not among `done`, on a number of threads. A round takes as long
    /// as in the runs done; where an agent has none on an instance, as long as its first rounds, which are played for
    /// it. Comparisons that are short by a rough count are not measured: `None`.
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
                let left = run.runs.saturating_sub(played) as f64 * run.horizon as f64;
                if left > 0.0 {
                    let measured = known.map_or_else(|| first_rounds(experiment, agent), Ok)?;
                    sum += left * measured;
                }
            }
        }
        Ok(Some(Duration::from_secs_f64(sum / threads / 1e9)))
    }
}

/// Nanoseconds per round of an agent's first rounds.
fn first_rounds(experiment: &Experiment, agent: usize) -> Result<f64, Error> {
    let mut short = experiment.clone();
    let run = &mut short.resolved.run;
    run.horizon = run.horizon.min(ROUNDS);
    run.checkpoints = 1;
    let options = Options { no_timing: false };
    let shard = run_shard(&short, agent, 0..1, options, &Progress::default())?;
    let trace = shard.and_then(|shard| shard.traces.into_iter().next());
    Ok(trace
        .and_then(|trace| trace.summary.nanoseconds_per_round)
        .unwrap_or(0.0))
}
