//! Which agents play which instances.

use std::iter::repeat;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use banister::{Error, Guarantee};
use banister_rivals::AgentConfig;

use super::grid::FieldValue;
use super::journal::{Journal, JournalError};
use crate::custom::AgentSource;
use crate::environment::Instances;
use crate::experiment::{Experiment, ExperimentConfig};
use crate::instance::Instance;
use crate::redrawn::PUBLISHED_COUNT;
use crate::runner::{Monitor, Options, run_tasks};
use crate::shard::{Gathered, Shard, gather_traces};

/// An instance of a comparison, with the agents that are proposed for it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The instance; its `agent` list is what plays unless other agents are asked for.
    pub experiment: ExperimentConfig,
    /// These agents play whatever others are asked for: a published number depends on them.
    pub fixed: bool,
    /// Its own agents are proposals: those that do not fit are left away without being asked.
    pub lenient: bool,
    /// The values that make it differ from its neighbours in a sweep.
    pub fields: Fields,
    /// The same for each of its own agents.
    pub agent_fields: Vec<Fields>,
}

/// Swept fields with their values.
pub type Fields = Vec<(String, FieldValue)>;

impl Entry {
    /// An instance that is not part of a sweep.
    pub fn new(experiment: ExperimentConfig) -> Self {
        Self {
            agent_fields: vec![Vec::new(); experiment.agent.len()],
            experiment,
            fixed: false,
            lenient: false,
            fields: Vec::new(),
        }
    }

    /// The most runs that a suite can give it: one for each published instance, where it is played for the
    /// numbers about them. An experiment of somebody's own is refused more instead.
    pub fn most_runs(&self) -> Option<u64> {
        let published = self.experiment.environment.instances == Some(Instances::Published);
        (self.fixed && published).then_some(PUBLISHED_COUNT)
    }

    /// Replaces horizon, runs and seed where others are given, runs up to [`Entry::most_runs`]. A short look
    /// at a long experiment has fewer rounds than its curves had points.
    pub fn set_run(&mut self, horizon: Option<u64>, runs: Option<u64>, seed: Option<u64>) {
        let most_runs = self.most_runs().unwrap_or(u64::MAX);
        let run = &mut self.experiment.run;
        run.horizon = horizon.unwrap_or(run.horizon);
        run.runs = runs.unwrap_or(run.runs).min(most_runs);
        run.seed = seed.unwrap_or(run.seed);
        let most = usize::try_from(run.horizon).unwrap_or(usize::MAX);
        run.checkpoints = run.checkpoints.min(most);
    }
}

/// Which agents are asked for.
#[derive(Debug, Clone)]
pub enum Agents {
    /// Those of each instance.
    Proposed,
    /// These ones everywhere, each with the values that were swept to make it.
    Given(Vec<(AgentSource, Fields)>),
}

impl Agents {
    /// Kinds with their defaults, separated by commas.
    ///
    /// # Errors
    /// A kind that there is not, with those there are.
    pub fn listed(list: &str) -> Result<Self, Error> {
        let kinds: Vec<&str> = (list.split(',').map(str::trim))
            .filter(|kind| !kind.is_empty())
            .collect();
        if kinds.is_empty() {
            return Err(Error::invalid("agents", "empty", "give at least one kind"));
        }
        if let Some(i) = (1..kinds.len()).find(|&i| kinds[..i].contains(&kinds[i])) {
            let allowed = "give every kind once; two of a kind with other parameters need a file";
            return Err(Error::invalid(
                "agents",
                format!("{} twice", kinds[i]),
                allowed,
            ));
        }
        let kinds = kinds.into_iter();
        let agents: Result<Vec<AgentSource>, Error> = kinds
            .map(|kind| AgentConfig::of_kind(kind).map(AgentSource::from))
            .collect();
        agents.map(Self::given)
    }

    /// Agents that are not part of a sweep.
    pub fn given(agents: Vec<AgentSource>) -> Self {
        Self::Given(
            agents
                .into_iter()
                .map(|agent| (agent, Vec::new()))
                .collect(),
        )
    }
}

/// An agent that does not fit an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// The agent's label.
    pub agent: String,
    /// The instance's name.
    pub instance: String,
    /// Why.
    pub reason: Error,
}

/// A comparison, ready to run.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// One experiment per instance.
    pub experiments: Vec<Experiment>,
    /// Per experiment, the values swept to make it.
    pub fields: Vec<Fields>,
    /// The same per experiment and agent.
    pub agent_fields: Vec<Vec<Fields>>,
    /// Agents that do not fit, and are left away.
    pub left_out: Vec<LeftOut>,
}

impl Comparison {
    /// Decides who plays where. An agent that was asked for, here or in a file, and does not fit an instance is
    /// an error that names every such agent, unless `skip_unfit`; one that a suite proposes is left away.
    ///
    /// # Errors
    /// That, an instance that is wrong in itself, one that no agent fits, two of the same name.
    pub fn plan(entries: Vec<Entry>, agents: &Agents, skip_unfit: bool) -> Result<Self, Error> {
        Self::plan_in(entries, agents, skip_unfit, Path::new(""))
    }

    /// The same with files looked for in `folder`.
    pub fn plan_in(
        entries: Vec<Entry>,
        agents: &Agents,
        skip_unfit: bool,
        folder: &Path,
    ) -> Result<Self, Error> {
        let mut plan = Self {
            experiments: Vec::new(),
            fields: Vec::new(),
            agent_fields: Vec::new(),
            left_out: Vec::new(),
        };
        let mut refused: Vec<LeftOut> = Vec::new();
        let several = entries.len() > 1;
        for entry in entries {
            let mut config = entry.experiment;
            config.run.coupled = true;
            let own = std::mem::take(&mut config.agent);
            let own = own.into_iter().map(AgentSource::from);
            let swept = entry.agent_fields.into_iter().chain(repeat(Vec::new()));
            let (asked, lenient): (Vec<_>, bool) = match agents {
                Agents::Given(list) if !entry.fixed => (list.clone(), skip_unfit),
                _ => (own.zip(swept).collect(), skip_unfit || entry.lenient),
            };
            let named = config.name.clone();
            let instance = (config.instance_in("instance", folder))
                .map_err(|error| in_instance(error, named.as_deref().filter(|_| several)))?;
            let name = instance.name().to_string();
            if plan.experiments.iter().any(|other| other.name == name) {
                let allowed = "every instance of a comparison needs a name of its own";
                return Err(Error::invalid("name", name, allowed));
            }
            let (fitting, fields, unfit) = who_fits(&instance, asked);
            match lenient {
                true => plan.left_out.extend(unfit),
                false => refused.extend(unfit),
            }
            if fitting.is_empty() && refused.is_empty() {
                let allowed = match plan.left_out.last() {
                    Some(left) => format!(
                        "no agent fits `{name}`; {}",
                        LeftOut::lines(std::slice::from_ref(left)).join("")
                    ),
                    None => "give at least one agent".to_string(),
                };
                return Err(Error::invalid("agent", "absent", allowed));
            }
            if refused.is_empty() {
                plan.experiments.push(instance.experiment(fitting)?);
                plan.fields.push(entry.fields);
                plan.agent_fields.push(fields);
            }
        }
        match refused.is_empty() {
            true => Ok(plan),
            false => Err(unfit(&refused)),
        }
    }

    /// Per experiment, what each of its agents promises. Agents from outside promise nothing.
    pub fn guarantees(&self) -> Vec<Vec<Guarantee>> {
        let of = |agent: &(String, AgentSource)| {
            let config = agent.1.config();
            config.map_or(Guarantee::Unsafe, AgentConfig::guarantee)
        };
        let experiments = self.experiments.iter();
        experiments
            .map(|experiment| experiment.agents.iter().map(of).collect())
            .collect()
    }

    /// Per experiment and agent all values that were swept, the instance's first.
    pub fn swept(&self) -> Vec<Vec<Fields>> {
        let pairs = self.fields.iter().zip(&self.agent_fields);
        pairs
            .map(|(instance, agents)| {
                let all = |own: &Fields| instance.iter().chain(own).cloned().collect();
                agents.iter().map(all).collect()
            })
            .collect()
    }

    /// Runs it on the current rayon pool: what `journal` holds already is taken from there, and what is new
    /// goes there run by run. `None` if cancelled.
    pub fn run(
        &self,
        options: Options,
        monitor: &Monitor,
        journal: Option<(&Journal, Vec<Shard>)>,
    ) -> Result<Option<Vec<Gathered<'_>>>, JournalError> {
        let (journal, mut shards) = match journal {
            Some((journal, shards)) => (Some(journal), shards),
            None => (None, Vec::new()),
        };
        let mut done = std::collections::HashSet::new();
        for shard in &mut shards {
            for trace in &mut shard.traces {
                done.insert((shard.experiment, shard.agent, trace.summary.run));
                if options.no_timing {
                    trace.summary.nanoseconds_per_round = None;
                }
            }
        }
        let mut tasks = Vec::new();
        for experiment in &self.experiments {
            let hash = experiment.hash()?;
            let run = &experiment.resolved.run;
            for agent in 0..experiment.agents.len() {
                for number in 0..run.runs {
                    if done.contains(&(hash, agent, number)) {
                        monitor.report(run.horizon, experiment.weight(agent));
                    } else {
                        tasks.push((experiment, agent, number..number + 1));
                    }
                }
            }
        }
        let failure = Mutex::new(None);
        let played = run_tasks(tasks, options, monitor, |shard| {
            let Some(Err(error)) = journal.map(|journal| journal.append(shard)) else {
                return Ok(());
            };
            // The error of the core that stops the other runs; ours says more.
            let stopped = Error::Outside {
                reason: error.to_string(),
            };
            failure
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_or_insert(error);
            Err(stopped)
        });
        if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let Some(played) = played? else {
            return Ok(None);
        };
        shards.extend(played);
        Ok(Some(gather_traces(&self.experiments, shards)?))
    }
}

/// Of those asked for, who fits, with what was swept to make them; and who does not.
fn who_fits(
    instance: &Instance,
    asked: Vec<(AgentSource, Fields)>,
) -> (Vec<AgentSource>, Vec<Fields>, Vec<LeftOut>) {
    let (mut fitting, mut fields, mut unfit) = (Vec::new(), Vec::new(), Vec::new());
    for (agent, swept) in asked {
        match instance.fit(&agent) {
            Ok(()) => {
                fitting.push(agent);
                fields.push(swept);
            }
            Err(reason) => unfit.push(LeftOut {
                agent: agent.label(),
                instance: instance.name().to_string(),
                reason,
            }),
        }
    }
    (fitting, fields, unfit)
}

/// Says which instance an error is about.
fn in_instance(error: Error, name: Option<&str>) -> Error {
    match (error, name) {
        (
            Error::Invalid {
                field,
                value,
                allowed,
            },
            Some(name),
        ) => Error::invalid(field, format!("{value} in `{name}`"), allowed),
        (other, _) => other,
    }
}

impl LeftOut {
    /// Why, in words that leave the agent's name to others.
    pub fn why(&self) -> String {
        match &self.reason {
            Error::Invalid { field, allowed, .. } if field == "kind" => allowed.clone(),
            other => other.to_string(),
        }
    }

    /// One line per agent and reason, with all instances it holds for.
    pub fn lines(left_out: &[Self]) -> Vec<String> {
        let mut groups: Vec<(&str, String, Vec<String>)> = Vec::new();
        for left in left_out {
            let reason = left.why();
            let instance = format!("`{}`", left.instance);
            let same = |g: &&mut (&str, String, _)| g.0 == left.agent && g.1 == reason;
            match groups.iter_mut().find(same) {
                Some(group) => group.2.push(instance),
                None => groups.push((&left.agent, reason, vec![instance])),
            }
        }
        let line = |(agent, reason, instances): (&str, String, Vec<String>)| {
            format!("`{agent}` on {}: {reason}", instances.join(", "))
        };
        groups.into_iter().map(line).collect()
    }
}

/// One error for all agents that do not fit.
fn unfit(refused: &[LeftOut]) -> Error {
    let mut agents: Vec<&str> = Vec::new();
    for left in refused {
        if !agents.contains(&left.agent.as_str()) {
            agents.push(&left.agent);
        }
    }
    let value = match agents.len() {
        1 => "one that does not fit".to_string(),
        n => format!("{n} that do not fit"),
    };
    let allowed = format!(
        "leave these out, or go on without them there (`--skip-unfit`, `skip_unfit=True`)\n  {}",
        LeftOut::lines(refused).join("\n  ")
    );
    Error::invalid("agent", value, allowed)
}
