//! Plans: the agents that play each instance.

use std::iter::repeat;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use banister::{Error, Registry as _};
use banister_rivals::AgentConfig;

use super::entry::{Entry, Fields};
use super::journal::{Journal, JournalError};
use crate::agents::AgentSource;
use crate::experiment::Experiment;
use crate::run::{Gathered, Options, Progress, Shard, gather_traces, run_tasks};

/// Agents that are asked for.
#[derive(Debug, Clone)]
pub enum Agents {
    /// Those of each instance.
    Proposed,
    /// These ones everywhere, each with the values that were swept to make it.
    Given(Vec<(AgentSource, Fields)>),
}

impl Agents {
    /// Reads kinds, each with its defaults, separated by commas.
    ///
    /// # Errors
    /// An unknown kind, with those there are.
    pub fn listed(list: &str) -> Result<Self, Error> {
        let kinds: Vec<&str> = (list.split(',').map(str::trim))
            .filter(|kind| !kind.is_empty())
            .collect();
        if kinds.is_empty() {
            return Err(Error::invalid("agents", "empty", "give at least one kind"));
        }
        if let Some(i) = (1..kinds.len()).find(|&i| kinds[..i].contains(&kinds[i])) {
            let allowed = "give every kind once; two of a kind with other parameters need a file";
            let field = "agents";
            return Err(Error::invalid(
                field,
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

    /// Wraps agents that are not part of a sweep.
    pub fn given(agents: Vec<AgentSource>) -> Self {
        Self::Given(
            agents
                .into_iter()
                .map(|agent| (agent, Vec::new()))
                .collect(),
        )
    }
}

/// An agent that does not support an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// The agent's label.
    pub agent: String,
    /// The instance's name.
    pub instance: String,
    /// Reason, as an error.
    pub reason: Error,
}

/// A comparison, ready to run.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// One experiment per instance.
    pub experiments: Vec<Experiment>,
    /// Per experiment, the values swept to make it.
    pub fields: Vec<Fields>,
    /// Per experiment and agent, the values swept to make it.
    pub agent_fields: Vec<Vec<Fields>>,
    /// Unsupported agents, which are omitted.
    pub left_out: Vec<LeftOut>,
}

impl Comparison {
    /// Plans the agents of each instance. An unsupported agent that was asked for, here or in a file, is an
    /// error that names every such agent, unless `skip_unfit`; one that a suite proposes is omitted. With `skip_unfit`,
    /// so are instances that no agent supports.
    ///
    /// # Errors
    /// That, an invalid instance, none that an agent supports, two of the same name.
    pub fn plan(entries: Vec<Entry>, agents: &Agents, skip_unfit: bool) -> Result<Self, Error> {
        Self::plan_in(entries, agents, skip_unfit, Path::new(""))
    }

    /// Plans with files looked for in `folder`.
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
            let instance = (config.check_without_agents("instance", folder))
                .map_err(|error| in_instance(error, named.as_deref().filter(|_| several)))?;
            let name = instance.name.clone();
            if plan.experiments.iter().any(|other| other.name == name) {
                let allowed = "every instance of a comparison needs a name of its own";
                return Err(Error::invalid("name", name, allowed));
            }
            let wrong = |(agent, _): &(AgentSource, Fields)| {
                let reason = instance.supports(agent).err()?;
                names_own_value(agent, &reason).then_some(reason)
            };
            if !entry.lenient
                && let Some(reason) = asked.iter().find_map(wrong)
            {
                return Err(reason);
            }
            let (fitting, fields, unfit) = supported(&instance, asked);
            let skipped = skip_unfit && fitting.is_empty() && !unfit.is_empty();
            if lenient {
                plan.left_out.extend(unfit);
            } else {
                refused.extend(unfit);
            }
            if skipped {
                continue;
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
                plan.experiments.push(instance.with_agents(fitting)?);
                plan.fields.push(entry.fields);
                plan.agent_fields.push(fields);
            }
        }
        if !refused.is_empty() {
            return Err(unfit(&refused));
        }
        if plan.experiments.is_empty() && !plan.left_out.is_empty() {
            let lines = LeftOut::lines(&plan.left_out).join("\n  ");
            let allowed = format!("no agent supports any instance\n  {lines}");
            return Err(Error::invalid("agent", "absent", allowed));
        }
        Ok(plan)
    }

    /// Swept values per experiment and agent, the instance's first.
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
        progress: &Progress,
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
                        progress.report(run.horizon, experiment.weight(agent));
                    } else {
                        tasks.push((experiment, agent, number..number + 1));
                    }
                }
            }
        }
        let failure = Mutex::new(None);
        let played = run_tasks(tasks, options, progress, |shard| {
            let Some(Err(error)) = journal.map(|journal| journal.append(shard)) else {
                return Ok(());
            };
            // The error of the core that stops the other runs; ours says more.
            let stopped = Error::UserCode {
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

/// Splits the agents asked for into supported ones, with the values swept to make them, and others.
fn supported(
    instance: &Experiment,
    asked: Vec<(AgentSource, Fields)>,
) -> (Vec<AgentSource>, Vec<Fields>, Vec<LeftOut>) {
    let (mut fitting, mut fields, mut unfit) = (Vec::new(), Vec::new(), Vec::new());
    for (agent, swept) in asked {
        match instance.supports(&agent) {
            Ok(()) => {
                fitting.push(agent);
                fields.push(swept);
            }
            Err(reason) => unfit.push(LeftOut {
                agent: agent.label(),
                instance: instance.name.clone(),
                reason,
            }),
        }
    }
    (fitting, fields, unfit)
}

/// True if an error is about a value that the agent was given: it is wrong rather than unfit, and not to be skipped.
fn names_own_value(agent: &AgentSource, reason: &Error) -> bool {
    let own = || {
        let config = agent.config()?;
        let default = AgentConfig::of_kind(config.kind()).ok()?;
        let (own, default) = (serde_json::to_value(config), serde_json::to_value(default));
        Some((own.ok()?, default.ok()?))
    };
    let (Error::Invalid { field, .. }, Some((own, default))) = (reason, own()) else {
        return false;
    };
    let key = field.to_string();
    own.get(&key) != default.get(&key)
}

/// Adds the name of the instance to an error.
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
    /// Reason in words, without the agent's name.
    pub fn why(&self) -> String {
        match &self.reason {
            Error::Invalid { field, allowed, .. } if field == "kind" => allowed.clone(),
            other => other.to_string(),
        }
    }

    /// Formats one line per agent and reason, with all instances it holds for.
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

/// Makes one error of all unsupported agents.
fn unfit(refused: &[LeftOut]) -> Error {
    let mut agents: Vec<&str> = Vec::new();
    for left in refused {
        if !agents.contains(&left.agent.as_str()) {
            agents.push(&left.agent);
        }
    }
    let value = match agents.len() {
        1 => "one that does not support an instance".to_string(),
        n => format!("{n} that do not support an instance"),
    };
    let allowed = format!(
        "omit them, or skip them there (`--skip-unfit`, `skip_unfit=True`)\n  {}",
        LeftOut::lines(refused).join("\n  ")
    );
    Error::invalid("agent", value, allowed)
}
