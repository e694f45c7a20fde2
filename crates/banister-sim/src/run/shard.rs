//! Shards: runs of one agent, wherever they were played, and the results that many of them make.
//!
//! [`crate::run()`] itself is [`plan`], [`crate::run_shard`] and [`gather`]. A run draws from a stream
//! of its own, so any split over processes and machines gives the same results:
//!
//! ```
//! use banister_sim::{ExperimentConfig, Options, Progress, Shard, gather, plan, run, run_shard};
//!
//! let config: ExperimentConfig = toml::from_str(r#"
//!     run = { horizon = 500, runs = 6 }
//!     environment = { kind = "bernoulli", rewards = [0.1, 0.7], costs = [[0.0, 0.2]] }
//!     guardrail = [{ name = "spend", at_most = 0.5, safe_cost = 0.0 }]
//!     agent = [{ kind = "opb" }]
//! "#)?;
//! let experiments = [config.check("tiny")?];
//! let (options, monitor) = (Options { no_timing: true }, Progress::default());
//! let mut shards = Vec::new();
//! for (agent, runs) in plan(&experiments[0], 100_000) {
//!     // Elsewhere:
//!     let shard = run_shard(&experiments[0], agent, runs, options, &monitor)?;
//!     let bytes = shard.expect("not cancelled").to_bytes()?;
//!     // Here again:
//!     shards.push(Shard::from_bytes(&bytes)?);
//! }
//! assert_eq!(Some(gather(&experiments, shards)?), run(&experiments, options, &monitor)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ops::Range;

use banister::Error;
use serde::{Deserialize, Serialize};

use super::curves::summarise;
use super::trace::Trace;
use crate::environment::World;
use crate::experiment::Experiment;
use crate::results::{AgentResult, InstanceResult, Optimum, Results};

/// First bytes of a shard; the number goes up when their meaning changes.
const HEADER: &[u8] = b"banister shard 4\n";

/// Some runs of one agent of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shard {
    /// Hash of the experiment as resolved, its name and the labels of its agents included.
    /// User-supplied code is not part of it, so experiments that differ in nothing else need names
    /// of their own.
    pub experiment: u64,
    /// Place of the agent in the experiment.
    pub agent: usize,
    /// The runs, each with its number.
    pub traces: Vec<Trace>,
}

impl Shard {
    /// Encodes the shard, to travel and to keep.
    ///
    /// # Errors
    /// None that a shard of this crate causes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        postcard::to_extend(self, HEADER.to_vec()).map_err(unreadable)
    }

    /// Decodes a shard.
    ///
    /// # Errors
    /// [`Error::Snapshot`] for bytes that are no shard, of another version, or not all there.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let Some(body) = bytes.strip_prefix(HEADER) else {
            return Err(unreadable("not a shard of this version"));
        };
        match postcard::take_from_bytes(body) {
            Ok((shard, [])) => Ok(shard),
            Ok((_, rest)) => Err(unreadable(format!("{} bytes too many", rest.len()))),
            Err(error) => Err(unreadable(error)),
        }
    }
}

fn unreadable(reason: impl std::fmt::Display) -> Error {
    Error::Snapshot {
        reason: format!("bytes of a shard: {reason}"),
    }
}

/// Splits the runs of an experiment into tasks of about `work_per_task` (as
/// [`Experiment::total_work`] counts it, about nanoseconds), of at least one run each: the place of
/// the agent, and its runs.
pub fn plan(experiment: &Experiment, work_per_task: u64) -> Vec<(usize, Range<u64>)> {
    let run = &experiment.resolved.run;
    let mut tasks = Vec::new();
    for agent in 0..experiment.agents.len() {
        let work = run.horizon.saturating_mul(experiment.weight(agent)).max(1);
        let most = (work_per_task / work).max(1);
        let count = run.runs.div_ceil(most);
        // Evenly, rather than a small rest at the end.
        tasks.extend((0..count).map(|k| {
            let start = |k: u64| run.runs * k / count;
            (agent, start(k)..start(k + 1))
        }));
    }
    tasks
}

/// Gathers shards into results, in whatever order they come.
///
/// # Errors
/// A shard of another experiment, a run twice, or a run that is missing.
pub fn gather(
    experiments: &[Experiment],
    shards: impl IntoIterator<Item = Shard>,
) -> Result<Results, Error> {
    let gathered = gather_traces(experiments, shards)?;
    Ok(Results {
        instances: gathered.iter().map(Gathered::result).collect(),
    })
}

/// Gathers shards into runs, one entry per experiment.
///
/// # Errors
/// As [`gather`].
pub fn gather_traces(
    experiments: &[Experiment],
    shards: impl IntoIterator<Item = Shard>,
) -> Result<Vec<Gathered<'_>>, Error> {
    let gatherings: Result<Vec<_>, Error> = experiments.iter().map(Gathering::new).collect();
    let mut gatherings = gatherings?;
    for shard in shards {
        for trace in shard.traces {
            place(&mut gatherings, shard.experiment, shard.agent, trace)?;
        }
    }
    gatherings.into_iter().map(Gathering::finish).collect()
}

/// All runs of an experiment.
#[derive(Debug, Clone)]
pub struct Gathered<'a> {
    /// The experiment whose runs these are.
    pub experiment: &'a Experiment,
    /// Per agent, in the order of the experiment's, its runs in order.
    pub agents: Vec<Vec<Trace>>,
}

impl Gathered<'_> {
    /// The rounds after which the curves have their points.
    pub fn rounds(&self) -> Vec<u64> {
        self.experiment.checkpoints()
    }

    /// Summarises the runs.
    pub fn result(&self) -> InstanceResult {
        let experiment = self.experiment;
        let rounds = self.rounds();
        let agents = self.agents.iter().zip(&experiment.agents);
        // One LP for each point of a grid: not again for agents with the same δ.
        let mut limits: Vec<(f64, Option<f64>)> = Vec::new();
        let mut limit = |delta: f64| match limits.iter().find(|known| known.0 == delta) {
            Some(known) => known.1,
            None => {
                limits.push((delta, experiment.limit(delta)));
                limits[limits.len() - 1].1
            }
        };
        InstanceResult {
            name: experiment.name.clone(),
            horizon: experiment.resolved.run.horizon,
            arms: experiment.pull_slots(),
            guardrails: experiment.guardrails.clone(),
            optimum: match self.agents.first() {
                Some(traces) => optimum(experiment, traces),
                None => experiment.optimum.clone(),
            },
            changes: (experiment.environment.world()).map_or(Vec::new(), World::changes),
            agents: agents
                .map(|(traces, (label, source))| AgentResult {
                    name: label.clone(),
                    guarantee: source.guarantee(),
                    budget: source.budget(),
                    ours: source.is_ours(),
                    curve: summarise(&rounds, traces, &experiment.guardrails),
                    runs: traces.iter().map(|trace| trace.summary.clone()).collect(),
                    limit: limit(source.delta()),
                })
                .collect(),
        }
    }
}

/// Puts a run where it belongs. Of experiments that are the same, the first one that lacks it.
fn place(
    gatherings: &mut [Gathering<'_>],
    hash: u64,
    agent: usize,
    trace: Trace,
) -> Result<(), Error> {
    let run = trace.summary.run;
    let mut known = None;
    for gathering in gatherings.iter_mut().filter(|g| g.hash == hash) {
        known = Some(&gathering.experiment.name);
        let slots = gathering.agents.get_mut(agent);
        match slots.and_then(|slots| slots.get_mut(usize::try_from(run).ok()?)) {
            None => {
                let value = format!("run {run} of agent {agent}");
                let allowed = format!("`{}` has no such run", gathering.experiment.name);
                return Err(Error::invalid("shard", value, allowed));
            }
            Some(Some(_)) => continue,
            Some(slot) => {
                gathering.experiment.check_trace(&trace)?;
                *slot = Some(trace);
                return Ok(());
            }
        }
    }
    Err(match known {
        None => Error::invalid("shard", "of another experiment", "gather it with its own"),
        Some(name) => {
            let value = format!("run {run} of agent {agent} again");
            Error::invalid("shard", value, format!("`{name}` has every run once"))
        }
    })
}

/// The runs of an experiment as they come in.
struct Gathering<'a> {
    experiment: &'a Experiment,
    hash: u64,
    /// Per agent, per run.
    agents: Vec<Vec<Option<Trace>>>,
}

impl<'a> Gathering<'a> {
    fn new(experiment: &'a Experiment) -> Result<Self, Error> {
        let runs = experiment.resolved.run.runs as usize;
        Ok(Self {
            experiment,
            hash: experiment.hash()?,
            agents: vec![vec![None; runs]; experiment.agents.len()],
        })
    }

    fn finish(self) -> Result<Gathered<'a>, Error> {
        let experiment = self.experiment;
        let mut agents = Vec::new();
        for (slots, (label, _)) in self.agents.into_iter().zip(&experiment.agents) {
            if let Some(run) = slots.iter().position(Option::is_none) {
                let value = format!("without run {run} of {label}");
                let allowed = format!("`{}` needs all of its runs", experiment.name);
                return Err(Error::invalid("shards", value, allowed));
            }
            agents.push(slots.into_iter().flatten().collect());
        }
        Ok(Gathered { experiment, agents })
    }
}

/// Hashes by FNV-1a: the same on every machine.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold)
}

impl Experiment {
    /// Hashes what is declared, so that shards of different experiments are not mixed.
    pub(crate) fn hash(&self) -> Result<u64, Error> {
        let labels: Vec<&String> = self.agents.iter().map(|(label, _)| label).collect();
        // One after another: the encoding of a struct is that of its fields in a row.
        let config = &self.resolved;
        let before = postcard::to_stdvec(&(&config.name, &config.run));
        let after = (
            &config.reward,
            &config.guardrail,
            &config.agent,
            &self.problem.declared,
        );
        let parts = [
            before,
            config.environment.identity(),
            postcard::to_stdvec(&(after, labels)),
        ];
        let parts: Result<Vec<Vec<u8>>, _> = parts.into_iter().collect();
        Ok(fnv(&parts.map_err(unreadable)?.concat()))
    }

    /// Refuses a run whose curves do not have the shape of this experiment's.
    fn check_trace(&self, trace: &Trace) -> Result<(), Error> {
        let (points, m) = (self.checkpoints().len(), self.guardrails.len());
        let rows = |rows: &Vec<Vec<f64>>| rows.len() == m && rows.iter().all(|r| r.len() == points);
        let whole = trace.regret.len() == points
            && trace.reward.len() == points
            && [
                &trace.cost,
                &trace.worst,
                &trace.price,
                &trace.violation,
                &trace.net,
            ]
            .into_iter()
            .all(rows)
            && trace.summary.excess.len() == m
            && trace.optimum.as_ref().is_none_or(|o| o.1.len() == m)
            && trace.summary.pulls.len() == self.pull_slots().len()
            && trace.summary.seed == self.resolved.run.seed;
        if whole {
            return Ok(());
        }
        let allowed = format!("it does not have the shape of a run of `{}`", self.name);
        let value = format!("run {}", trace.summary.run);
        Err(Error::invalid("shard", value, allowed))
    }
}

/// Averages the best feasible policy over the runs of the first agent where rounds differ: all agents see the same
/// rounds.
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
