//! Running experiments: many runs on all cores, the same bytes on any number of threads.
//!
//! Run r of every agent draws from stream r of the experiment's seed, so a run can be repeated
//! alone, on any machine, in any order. Within a run nothing is allocated per round, and memory
//! does not grow with the horizon.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use banister::{Agent, Error};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::curves::summarise;
use crate::experiment::Experiment;
use crate::results::{AgentResult, InstanceResult, Optimum, Results, RunSummary};
use crate::scene::{Moving, Scene, Still};
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

/// Options that do not change the numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Leave wall times out, so that results are the same bytes every time.
    pub no_timing: bool,
}

/// One run at its checkpoints.
#[derive(Debug, Clone)]
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
    /// Where actions change: mean reward and costs of the rounds' best feasible policies.
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
    for (e, experiment) in experiments.iter().enumerate() {
        for agent in 0..experiment.agents.len() {
            for run in 0..experiment.resolved.run.runs {
                tasks.push((e, agent, run));
            }
        }
    }
    let traces: Result<Vec<Option<Trace>>, Error> = tasks
        .par_iter()
        .with_max_len(1)
        .map(|&(e, agent, run)| run_once(&experiments[e], agent, run, options, monitor))
        .collect();
    let Some(traces) = traces?.into_iter().collect::<Option<Vec<Trace>>>() else {
        return Ok(None);
    };
    let mut traces = traces.into_iter();
    let instances = experiments
        .iter()
        .map(|experiment| {
            let runs = experiment.resolved.run.runs as usize;
            let mut best = experiment.optimum.clone();
            let mut agents = Vec::new();
            for (a, (label, _)) in experiment.agents.iter().enumerate() {
                let traces: Vec<Trace> = traces.by_ref().take(runs).collect();
                if a == 0 {
                    best = optimum(experiment, &traces);
                }
                agents.push(AgentResult {
                    name: label.clone(),
                    curve: summarise(&checkpoints(experiment), &traces, &experiment.guardrails),
                    runs: traces.into_iter().map(|trace| trace.summary).collect(),
                });
            }
            InstanceResult {
                name: experiment.name.clone(),
                horizon: experiment.resolved.run.horizon,
                arms: experiment.seats(),
                guardrails: experiment.guardrails.clone(),
                optimum: best,
                agents,
            }
        })
        .collect();
    Ok(Some(Results { instances }))
}

/// Runs `runs` of one agent, on this thread: the unit that other machines can take over.
pub fn run_shard(
    experiment: &Experiment,
    agent: usize,
    runs: std::ops::Range<u64>,
    options: Options,
) -> Result<Vec<Trace>, Error> {
    let monitor = Monitor::default();
    let traces = runs.map(|run| run_once(experiment, agent, run, options, &monitor));
    Ok(traces
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .flatten()
        .collect())
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
    monitor: &Monitor,
) -> Result<Option<Trace>, Error> {
    let weight = experiment.weight(agent);
    let config = &experiment.agents[agent].1;
    let mut agent = config.build(&experiment.problem.declared)?;
    let agent = agent.as_mut();
    match &experiment.world.environment {
        Environment::Arms(arms) => {
            let scene = Still::new(arms, experiment.optimum.reward);
            run_in(experiment, scene, agent, run, weight, options, monitor)
        }
        Environment::Changing(changing) => {
            let scene = Moving::new(experiment, changing, run);
            run_in(experiment, scene, agent, run, weight, options, monitor)
        }
    }
}

fn run_in<S: Scene>(
    experiment: &Experiment,
    scene: S,
    agent: &mut dyn Agent,
    run: u64,
    weight: u64,
    options: Options,
    monitor: &Monitor,
) -> Result<Option<Trace>, Error> {
    let config = &experiment.resolved.run;
    let mut table = Table::new(experiment, scene, run);
    let started = Instant::now();
    let mut done = 0;
    for checkpoint in checkpoints(experiment) {
        let mut round = done;
        while round < checkpoint {
            // Report and look for cancellation every so often, not every round.
            let stop = checkpoint.min(round + (REPORT / weight).max(1));
            table.play(agent, round..stop)?;
            monitor.report(stop - round, weight);
            if monitor.cancelled.load(Ordering::Relaxed) {
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

/// The best feasible policy, averaged over the runs of the first agent where actions change: all
/// agents meet the same actions.
fn optimum(experiment: &Experiment, traces: &[Trace]) -> Optimum {
    let mut optimum = experiment.optimum.clone();
    let averages: Vec<&(f64, Vec<f64>)> =
        traces.iter().filter_map(|t| t.optimum.as_ref()).collect();
    if averages.is_empty() {
        return optimum;
    }
    let runs = averages.len() as f64;
    optimum.reward = averages.iter().map(|o| o.0).sum::<f64>() / runs;
    optimum.costs = (0..experiment.guardrails.len())
        .map(|i| averages.iter().map(|o| o.1[i]).sum::<f64>() / runs)
        .collect();
    optimum
}
