//! Named suites of instances, each with the agents that are proposed for it and the numbers that were
//! published about it.

mod arms;
mod linear;

use banister::{Error, Guardrail, SignalConfig};
use banister_rivals::AgentConfig;
use serde_json::Value;

use super::plan::Entry;
use super::published::Published;
use crate::environment::EnvironmentConfig;
use crate::experiment::{ExperimentConfig, RunConfig};

/// The suites by name, each with what it is for.
pub const SUITES: [(&str, &str); 6] = [
    (
        "paper",
        "the paper's four arms at τ = 1, 0.5 and 0.2, and the settings of its figures",
    ),
    (
        "hard",
        "instances made to be hard: the pair of the lower bound, L1 and L2",
    ),
    (
        "linear",
        "actions with features: other ones in every round, a fixed set, an unknown safe cost, x_0 = 0",
    ),
    (
        "random",
        "six K-armed instances drawn from a seed, with one to three guardrails",
    ),
    (
        "authors-linear",
        "the linear experiment of the paper's authors, d = 5 and 10, five thresholds",
    ),
    (
        "directions",
        "ten directions in the plane, an instance per run, as in Hutchinson et al.",
    ),
];

/// A suite of instances.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Its instances.
    pub entries: Vec<Entry>,
    /// What was published about them.
    pub published: Vec<Published>,
}

impl Suite {
    /// A suite by its name; `instance_seed` is what `random` and `directions` draw their instances from.
    ///
    /// # Errors
    /// A name that no suite has, with those there are.
    pub fn named(name: &str, instance_seed: u64) -> Result<Self, Error> {
        let known = SUITES.into_iter().find(|(known, _)| *known == name);
        let Some((name, about)) = known else {
            let names: Vec<&str> = SUITES.iter().map(|(name, _)| *name).collect();
            let allowed = format!("the suites are {}", names.join(", "));
            return Err(Error::invalid("suite", name, allowed));
        };
        let (entries, published) = match name {
            "paper" => arms::paper()?,
            "hard" => (arms::hard()?, Vec::new()),
            "linear" => (linear::linear()?, Vec::new()),
            "random" => (arms::random(instance_seed)?, Vec::new()),
            "authors-linear" => linear::authors()?,
            _ => linear::directions(instance_seed)?,
        };
        Ok(Self {
            name,
            about,
            entries,
            published,
        })
    }
}

/// Agents by their declarations.
fn agents(declared: &[Value]) -> Result<Vec<AgentConfig>, Error> {
    let one = |value: &Value| {
        serde_json::from_value(value.clone())
            .map_err(|error| Error::invalid("agent", value, error.to_string()))
    };
    declared.iter().map(one).collect()
}

/// Every kind of agent with or without features, with its defaults; then some more.
fn all(takes_features: bool, more: &[Value]) -> Result<Vec<AgentConfig>, Error> {
    let mut list = Vec::new();
    for kind in AgentConfig::kinds() {
        let config = AgentConfig::of_kind(&kind)?;
        if config.takes_features() == takes_features {
            list.push(config);
        }
    }
    list.extend(agents(more)?);
    Ok(list)
}

fn entry(
    name: impl Into<String>,
    run: RunConfig,
    environment: EnvironmentConfig,
    guardrail: Vec<Guardrail>,
    agent: Vec<AgentConfig>,
) -> Entry {
    let own = Entry::new(ExperimentConfig {
        name: Some(name.into()),
        run,
        environment,
        reward: SignalConfig::default(),
        guardrail,
        agent,
    });
    Entry {
        lenient: true,
        ..own
    }
}

fn run(horizon: u64, runs: u64) -> RunConfig {
    RunConfig {
        horizon,
        runs,
        checkpoints: 200,
        ..RunConfig::default()
    }
}

fn at_most(name: &str, threshold: f64, safe_cost: Option<f64>) -> Guardrail {
    Guardrail {
        name: name.into(),
        at_most: Some(threshold),
        safe_cost,
        ..Guardrail::default()
    }
}
