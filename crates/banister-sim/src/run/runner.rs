//! Running experiments: many runs on all cores, the same bytes on any number of threads.
//!
//! Run r of every agent draws from stream r of the experiment's seed, so a run can be repeated
//! alone, on any machine, in any order. Within a run nothing is allocated per round, and memory
//! does not grow with the horizon.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use banister::Error;
use rayon::prelude::*;

use super::environment::RunEnvironment;
use super::episode::Episode;
use super::fixed::FixedActions;
use super::general::GeneralActions;
use super::progress::Progress;
use super::shard::{Shard, gather, plan};
use super::trace::Trace;
use crate::environment::Dynamics;
use crate::experiment::Experiment;
use crate::results::{Optimum, Results};

/// Work between two reports of progress: some milliseconds.
const REPORT: u64 = 1 << 22;

/// Reasons to stop a run, looked at between reports.
#[derive(Clone, Copy)]
struct Watch<'a> {
    progress: &'a Progress,
    /// True once another run has failed, so that this one is not needed.
    failed: &'a AtomicBool,
}

impl Watch<'_> {
    fn stops(self) -> bool {
        self.progress.cancelled.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }
}

/// Options that do not change the numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Leave wall times out, so that results are the same bytes every time.
    pub no_timing: bool,
}

/// Runs all experiments on the current rayon pool. `None` if cancelled.
pub fn run(
    experiments: &[Experiment],
    options: Options,
    progress: &Progress,
) -> Result<Option<Results>, Error> {
    let mut tasks = Vec::new();
    for experiment in experiments {
        let planned = plan(experiment, REPORT).into_iter();
        tasks.extend(planned.map(|(agent, runs)| (experiment, agent, runs)));
    }
    let shards = run_tasks(tasks, options, progress, |_| Ok(()))?;
    shards.map(|shards| gather(experiments, shards)).transpose()
}

/// A part of the work: some runs of one agent of an experiment.
pub(crate) type Task<'a> = (&'a Experiment, usize, std::ops::Range<u64>);

/// Runs tasks on the current rayon pool; `done` is called with each finished shard. `None` if cancelled.
pub(crate) fn run_tasks(
    tasks: Vec<Task<'_>>,
    options: Options,
    progress: &Progress,
    done: impl Fn(&Shard) -> Result<(), Error> + Sync,
) -> Result<Option<Vec<Shard>>, Error> {
    let failed = AtomicBool::new(false);
    let watch = Watch {
        progress,
        failed: &failed,
    };
    let shards: Result<Vec<Option<Shard>>, Error> = tasks
        .into_par_iter()
        .with_max_len(1)
        .map(|(experiment, agent, runs)| {
            let shard = shard(experiment, agent, runs, options, watch)?;
            if let Some(shard) = &shard {
                done(shard).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            }
            Ok(shard)
        })
        .collect();
    Ok(shards?.into_iter().collect())
}

/// Runs `runs` of one agent, on this thread: the unit that other machines can take over. `None` if
/// cancelled.
pub fn run_shard(
    experiment: &Experiment,
    agent: usize,
    runs: std::ops::Range<u64>,
    options: Options,
    progress: &Progress,
) -> Result<Option<Shard>, Error> {
    if agent >= experiment.agents.len() {
        let allowed = format!(
            "`{}` has {} agents, counted from 0",
            experiment.name,
            experiment.agents.len()
        );
        return Err(Error::invalid("agent", agent, allowed));
    }
    let failed = AtomicBool::new(false);
    let watch = Watch {
        progress,
        failed: &failed,
    };
    shard(experiment, agent, runs, options, watch)
}

fn shard(
    experiment: &Experiment,
    agent: usize,
    runs: std::ops::Range<u64>,
    options: Options,
    watch: Watch<'_>,
) -> Result<Option<Shard>, Error> {
    let hash = experiment.hash()?;
    let mut traces = Vec::new();
    for run in runs {
        match run_once(experiment, agent, run, options, watch) {
            Ok(Some(trace)) => traces.push(trace),
            Ok(None) => return Ok(None),
            Err(error) => {
                watch.failed.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
    }
    Ok(Some(Shard {
        experiment: hash,
        agent,
        traces,
    }))
}

fn run_once(
    experiment: &Experiment,
    agent: usize,
    run: u64,
    options: Options,
    watch: Watch<'_>,
) -> Result<Option<Trace>, Error> {
    if let Some(own) = experiment.instance(run)? {
        let own = own.with_agents(vec![experiment.agents[agent].1.clone()])?;
        let trace = run_once(&own, 0, run, options, watch)?;
        let Optimum { reward, costs, .. } = &own.optimum;
        return Ok(trace.map(|trace| Trace {
            optimum: Some((*reward, costs.clone())),
            ..trace
        }));
    }
    let config = experiment.agents[agent].1.config();
    let floor = config.map_or(0.0, |config| config.floor());
    match &experiment.environment.dynamics {
        Dynamics::Fixed(arms) => {
            let mut environment = FixedActions::new(experiment, arms, floor);
            run_in(experiment, &mut environment, agent, run, options, watch)
        }
        Dynamics::General(world) => {
            let mut environment = GeneralActions::new(experiment, &**world, run, floor)?;
            run_in(experiment, &mut environment, agent, run, options, watch)
        }
    }
}

fn run_in<E: RunEnvironment>(
    experiment: &Experiment,
    environment: &mut E,
    place: usize,
    run: u64,
    options: Options,
    watch: Watch<'_>,
) -> Result<Option<Trace>, Error> {
    let config = &experiment.resolved.run;
    let weight = experiment.weight(place);
    let source = &experiment.agents[place].1;
    let mut agent = source.build(&experiment.problem.declared, config.seed, run)?;
    let mut episode = Episode::new(experiment, environment, place, run);
    environment.warm(agent.as_mut())?;
    let started = Instant::now();
    let mut done = 0;
    for checkpoint in experiment.checkpoints() {
        let mut round = done;
        while round < checkpoint {
            // Report and look for cancellation every so often, not every round.
            let stop = checkpoint.min(round + (REPORT / weight).max(1));
            episode.play(environment, agent.as_mut(), round..stop)?;
            watch.progress.report(stop - round, weight);
            if watch.stops() {
                return Ok(None);
            }
            round = stop;
        }
        episode.metrics.checkpoint(checkpoint - done);
        done = checkpoint;
    }
    let elapsed = started.elapsed().as_nanos() as f64 / config.horizon as f64;
    let timing = (!options.no_timing).then_some(elapsed);
    let Episode { metrics, pulls, .. } = episode;
    let optimum = environment.average_optimum();
    Ok(Some(metrics.finish(
        run,
        config.seed,
        pulls,
        optimum,
        timing,
    )))
}
