//! Running experiments: many runs on all cores, the same bytes on any number of threads.
//!
//! Run r of every agent draws from stream r of the experiment's seed, so a run can be repeated
//! alone, on any machine, in any order. Within a run nothing is allocated per round, and memory
//! does not grow with the horizon.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use banister::{Agent, Decision, Direction, Error};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::curves::summarise;
use crate::delay::Mailbox;
use crate::experiment::Experiment;
use crate::law::Environment;
use crate::results::{AgentResult, GuardrailInfo, InstanceResult, Results, RunSummary};

/// Rounding allowed before a policy counts as breaking a guardrail, in units of the signal's range.
pub const TOLERANCE: f64 = 1e-10;

/// Watches and stops a simulation from another thread.
#[derive(Debug, Default)]
pub struct Monitor {
    /// Rounds done so far, over all runs.
    pub rounds: AtomicU64,
    /// Set to stop at the next opportunity.
    pub cancelled: AtomicBool,
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
            let agents = experiment.agents.iter().map(|(label, _)| {
                let traces: Vec<Trace> = traces.by_ref().take(runs).collect();
                AgentResult {
                    name: label.clone(),
                    curve: summarise(&checkpoints(experiment), &traces, &experiment.guardrails),
                    runs: traces.into_iter().map(|trace| trace.summary).collect(),
                }
            });
            InstanceResult {
                name: experiment.name.clone(),
                horizon: experiment.resolved.run.horizon,
                arms: experiment.problem.declared.arms.clone(),
                guardrails: experiment.guardrails.clone(),
                optimum: experiment.optimum.clone(),
                agents: agents.collect(),
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
    let config = &experiment.resolved.run;
    let mut agent = experiment.agents[agent]
        .1
        .build(&experiment.problem.declared)?;
    let checkpoints = checkpoints(experiment);
    let mut table = Table {
        environment: &experiment.environment,
        rng: stream(config.seed, run),
        judge: Judge::new(experiment, checkpoints.len()),
        mailbox: Mailbox::new(config.delay, config.batch, experiment.guardrails.len()),
        pulls: vec![0; experiment.environment.arms()],
        costs: vec![0.0; experiment.guardrails.len()],
    };
    let started = Instant::now();
    let mut done = 0;
    for &checkpoint in &checkpoints {
        let mut round = done;
        while round < checkpoint {
            // Report and look for cancellation every so often, not every round.
            let stop = checkpoint.min(round + (1 << 16));
            table.play(agent.as_mut(), round..stop)?;
            monitor.rounds.fetch_add(stop - round, Ordering::Relaxed);
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
    let Table { judge, pulls, .. } = table;
    Ok(Some(judge.finish(run, config.seed, pulls, timing)))
}

/// What an agent plays against in one run.
struct Table<'a> {
    environment: &'a Environment,
    rng: ChaCha8Rng,
    judge: Judge<'a>,
    mailbox: Mailbox,
    pulls: Vec<u64>,
    /// Costs of the current round.
    costs: Vec<f64>,
}

impl Table<'_> {
    /// Plays some rounds. A function of its own, so that the hot loop has the registers.
    #[inline(never)]
    fn play(&mut self, agent: &mut dyn Agent, rounds: std::ops::Range<u64>) -> Result<(), Error> {
        let instant = self.mailbox.is_instant();
        for t in rounds {
            let decision = agent.decide();
            self.judge.round(self.environment, decision);
            let arm = draw(decision, &mut self.rng);
            let reward = self.environment.pull(arm, &mut self.rng, &mut self.costs);
            self.pulls[arm] += 1;
            if instant {
                agent.observe(arm, reward, &self.costs)?;
            } else {
                self.mailbox
                    .post(t, arm, reward, &self.costs, &mut self.rng);
                self.mailbox
                    .deliver(t, |arm, reward, costs| agent.observe(arm, reward, costs))?;
            }
        }
        Ok(())
    }
}

/// Draws the arm; a policy on one arm needs no random number.
#[inline]
fn draw(decision: &Decision, rng: &mut ChaCha8Rng) -> usize {
    match decision.policy[..] {
        [(arm, _)] => arm,
        _ => decision.draw((rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64),
    }
}

/// Judges policies on true means.
struct Judge<'a> {
    guardrails: &'a [GuardrailInfo],
    optimum: f64,
    /// Per guardrail: sign (at_most 1, at_least −1), signed threshold, rounding allowed.
    limits: Vec<(f64, f64, f64)>,
    regret: f64,
    violations: u64,
    worst_exceedance: f64,
    reward_sum: f64,
    window: Vec<Window>,
    trace_regret: Vec<f64>,
    trace_reward: Vec<f64>,
    trace: Vec<[Vec<f64>; 3]>,
}

/// One guardrail since the last checkpoint.
#[derive(Clone, Copy)]
struct Window {
    sum: f64,
    /// Largest signed signal.
    worst: f64,
    price: f64,
}

const FRESH: Window = Window {
    sum: 0.0,
    worst: f64::NEG_INFINITY,
    price: 0.0,
};

impl<'a> Judge<'a> {
    fn new(experiment: &'a Experiment, points: usize) -> Self {
        let m = experiment.guardrails.len();
        let limits = experiment
            .guardrails
            .iter()
            .zip(&experiment.problem.guardrails);
        Self {
            guardrails: &experiment.guardrails,
            optimum: experiment.optimum.reward,
            limits: limits
                .map(|(g, standard)| {
                    let sign = match g.direction {
                        Direction::AtMost => 1.0,
                        Direction::AtLeast => -1.0,
                    };
                    (sign, sign * g.threshold, TOLERANCE * standard.signal.unit())
                })
                .collect(),
            regret: 0.0,
            violations: 0,
            worst_exceedance: 0.0,
            reward_sum: 0.0,
            window: vec![FRESH; m],
            trace_regret: Vec::with_capacity(points),
            trace_reward: Vec::with_capacity(points),
            trace: vec![std::array::from_fn(|_| Vec::with_capacity(points)); m],
        }
    }

    #[inline]
    fn round(&mut self, environment: &Environment, decision: &Decision) {
        let mut reward = 0.0;
        for &(arm, p) in &decision.policy {
            reward += p * environment.mean(arm, 0);
        }
        self.regret += self.optimum - reward;
        self.reward_sum += reward;
        let mut broken = false;
        let windows = &mut self.window[..self.limits.len()];
        let certificates = &decision.guardrails[..self.limits.len()];
        for (i, &(sign, limit, rounding)) in self.limits.iter().enumerate() {
            let mut cost = 0.0;
            for &(arm, p) in &decision.policy {
                cost += p * environment.mean(arm, i + 1);
            }
            let window = &mut windows[i];
            window.sum += cost;
            window.price += certificates[i].price;
            let signed = sign * cost;
            let worst = window.worst;
            window.worst = if signed > worst { signed } else { worst };
            let excess = signed - limit;
            if excess > rounding {
                broken = true;
                self.worst_exceedance = self.worst_exceedance.max(excess);
            }
        }
        self.violations += u64::from(broken);
    }

    fn checkpoint(&mut self, rounds: u64) {
        let rounds = rounds as f64;
        self.trace_regret.push(self.regret);
        self.trace_reward.push(self.reward_sum / rounds);
        self.reward_sum = 0.0;
        for (i, window) in self.window.iter_mut().enumerate() {
            let sign = self.limits[i].0;
            self.trace[i][0].push(window.sum / rounds);
            self.trace[i][1].push(sign * window.worst);
            self.trace[i][2].push(window.price / rounds);
            *window = FRESH;
        }
    }

    fn finish(self, run: u64, seed: u64, pulls: Vec<u64>, timing: Option<f64>) -> Trace {
        let summary = RunSummary {
            run,
            seed,
            regret: self.regret,
            reward_end: self.trace_reward.last().copied().unwrap_or(0.0),
            violations: self.violations,
            worst_exceedance: self.worst_exceedance,
            pulls,
            nanoseconds_per_round: timing,
        };
        debug_assert_eq!(self.trace.len(), self.guardrails.len());
        let mut trace = Trace {
            regret: self.trace_regret,
            reward: self.trace_reward,
            cost: Vec::new(),
            worst: Vec::new(),
            price: Vec::new(),
            summary,
        };
        for [cost, worst, price] in self.trace {
            trace.cost.push(cost);
            trace.worst.push(worst);
            trace.price.push(price);
        }
        trace
    }
}
