//! Running experiments: many runs on all cores, the same bytes on any number of threads.
//!
//! Run r of every agent draws from stream r of the experiment's seed, so a run can be repeated
//! alone, on any machine, in any order. Within a run nothing is allocated per round, and memory
//! does not grow with the horizon.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use banister::Error;
use banister_rivals::AgentConfig;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::custom::Outside;
use crate::experiment::Experiment;
use crate::results::{Optimum, Results, RunSummary};
use crate::scene::{Moving, Scene, Shifting, Still};
use crate::shard::{Shard, gather, plan};
use crate::table::Table;
use crate::world::Environment;

/// Rounding allowed before a policy counts as breaking a guardrail, in units of the signal's range.
pub const TOLERANCE: f64 = 1e-10;

/// Work between two looks at the monitor: some milliseconds.
const REPORT: u64 = 1 << 22;

/// Watches and stops a simulation from another thread.
#[derive(Debug, Default)]
pub struct Monitor {
    /// Rounds done so far, over all runs.
    pub rounds: AtomicU64,
    /// Work done so far: rounds by how much each takes, see [`Experiment::total_work`].
    pub work: AtomicU64,
    /// Set to stop at the next opportunity.
    pub cancelled: AtomicBool,
}

impl Monitor {
    pub(crate) fn report(&self, rounds: u64, weight: u64) {
        self.rounds.fetch_add(rounds, Ordering::Relaxed);
        self.work.fetch_add(rounds * weight, Ordering::Relaxed);
    }
}

/// What a run looks at every so often.
#[derive(Clone, Copy)]
struct Watch<'a> {
    monitor: &'a Monitor,
    /// Another run has failed, and nobody waits for this one.
    failed: &'a AtomicBool,
}

impl Watch<'_> {
    fn stops(self) -> bool {
        self.monitor.cancelled.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }
}

/// Options that do not change the numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Leave wall times out, so that results are the same bytes every time.
    pub no_timing: bool,
}

/// One run at its checkpoints. What is unknown is NaN, see [`crate::results`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Cumulative pseudo-regret.
    pub regret: Vec<f64>,
    /// Mean policy reward since the previous checkpoint.
    pub reward: Vec<f64>,
    /// Per guardrail: mean policy signal since the previous checkpoint.
    pub cost: Vec<Vec<f64>>,
    /// Per guardrail: worst policy signal since the previous checkpoint.
    pub worst: Vec<Vec<f64>>,
    /// Per guardrail: mean shadow price since the previous checkpoint.
    pub price: Vec<Vec<f64>>,
    /// Where rounds differ: mean reward and costs of their best feasible policies.
    pub optimum: Option<(f64, Vec<f64>)>,
    /// What the run came to.
    pub summary: RunSummary,
}

/// Runs all experiments on the current rayon pool. `None` if cancelled.
pub fn run(
    experiments: &[Experiment],
    options: Options,
    monitor: &Monitor,
) -> Result<Option<Results>, Error> {
    let mut tasks = Vec::new();
    for experiment in experiments {
        let planned = plan(experiment, REPORT).into_iter();
        tasks.extend(planned.map(|(agent, runs)| (experiment, agent, runs)));
    }
    let shards = run_tasks(tasks, options, monitor, |_| Ok(()))?;
    shards.map(|shards| gather(experiments, shards)).transpose()
}

/// A part of the work: some runs of one agent of an experiment.
pub(crate) type Task<'a> = (&'a Experiment, usize, std::ops::Range<u64>);

/// Does tasks on the current rayon pool; `done` is told of each as soon as it is. `None` if cancelled.
pub(crate) fn run_tasks(
    tasks: Vec<Task<'_>>,
    options: Options,
    monitor: &Monitor,
    done: impl Fn(&Shard) -> Result<(), Error> + Sync,
) -> Result<Option<Vec<Shard>>, Error> {
    let failed = AtomicBool::new(false);
    let watch = Watch {
        monitor,
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
    monitor: &Monitor,
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
        monitor,
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

/// The rounds after which curves have a point: evenly spaced, the last is the horizon.
pub(crate) fn checkpoints(experiment: &Experiment) -> Vec<u64> {
    let run = &experiment.resolved.run;
    let count = (run.checkpoints as u64).min(run.horizon);
    (1..=count)
        .map(|k| (u128::from(run.horizon) * u128::from(k) / u128::from(count)) as u64)
        .collect()
}

/// The random stream of a run.
pub(crate) fn stream(seed: u64, run: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(run);
    rng
}

fn run_once(
    experiment: &Experiment,
    agent: usize,
    run: u64,
    options: Options,
    watch: Watch<'_>,
) -> Result<Option<Trace>, Error> {
    let config = experiment.agents[agent].1.config();
    let floor = config.map_or(0.0, AgentConfig::floor);
    match &experiment.world.environment {
        Environment::Arms(arms) if experiment.world.changes.is_empty() => {
            let scene = Still::new(experiment, arms, floor);
            run_in(experiment, scene, agent, run, options, watch)
        }
        Environment::Arms(arms) => {
            let scene = Shifting::new(experiment, arms, floor);
            run_in(experiment, scene, agent, run, options, watch)
        }
        Environment::Changing(changing) => {
            let scene = Moving::new(experiment, changing, run, floor);
            run_in(experiment, scene, agent, run, options, watch)
        }
        Environment::Custom(custom) => {
            let scene = Outside::new(experiment, custom, run)?;
            run_in(experiment, scene, agent, run, options, watch)
        }
        Environment::Redrawn(redrawn) => {
            let source = experiment.agents[agent].1.clone();
            let own = redrawn.instance(run)?.experiment(vec![source])?;
            let trace = run_once(&own, 0, run, options, watch)?;
            let Optimum { reward, costs, .. } = &own.optimum;
            Ok(trace.map(|trace| Trace {
                optimum: Some((*reward, costs.clone())),
                ..trace
            }))
        }
    }
}

fn run_in<S: Scene>(
    experiment: &Experiment,
    scene: S,
    place: usize,
    run: u64,
    options: Options,
    watch: Watch<'_>,
) -> Result<Option<Trace>, Error> {
    let config = &experiment.resolved.run;
    let weight = experiment.weight(place);
    let source = &experiment.agents[place].1;
    let mut agent = source.build(&experiment.problem.declared, config.seed, run)?;
    let mut table = Table::new(experiment, scene, place, run);
    let started = Instant::now();
    let mut done = 0;
    for checkpoint in checkpoints(experiment) {
        let mut round = done;
        while round < checkpoint {
            // Report and look for cancellation every so often, not every round.
            let stop = checkpoint.min(round + (REPORT / weight).max(1));
            table.play(agent.as_mut(), round..stop)?;
            watch.monitor.report(stop - round, weight);
            if watch.stops() {
                return Ok(None);
            }
            round = stop;
        }
        table.judge.checkpoint(checkpoint - done);
        done = checkpoint;
    }
    let elapsed = started.elapsed().as_nanos() as f64 / config.horizon as f64;
    let timing = (!options.no_timing).then_some(elapsed);
    let Table {
        scene,
        judge,
        pulls,
        ..
    } = table;
    let optimum = scene.average_optimum();
    Ok(Some(judge.finish(run, config.seed, pulls, optimum, timing)))
}
