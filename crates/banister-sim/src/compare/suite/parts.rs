//! Parts that the suites share.

use banister::{Error, Guardrail, SignalConfig};
use banister_rivals::AgentConfig;
use serde_json::{Value, json};

use crate::compare::entry::Entry;
use crate::config::{ExperimentConfig, RunConfig};
use crate::environment::EnvironmentConfig;

/// Reads agents from their declarations.
pub(super) fn agents(declared: &[Value]) -> Result<Vec<AgentConfig>, Error> {
    let one = |value: &Value| {
        serde_json::from_value(value.clone())
            .map_err(|error| Error::invalid("agent", value, error.to_string()))
    };
    declared.iter().map(one).collect()
}

/// Lists every kind of agent with or without features, with its defaults; on arms also those whose paper is for
/// adversarial rewards with an update for fixed means; then some more. Without fixed ones, and `hp_ucb`, whose noise
/// grows with the length of what is played: here it does not.
pub(super) fn all(takes_features: bool, more: &[Value]) -> Result<Vec<AgentConfig>, Error> {
    let mut list = Vec::new();
    for kind in AgentConfig::kinds() {
        let config = AgentConfig::of_kind(&kind)?;
        if config.takes_features() == takes_features
            && !["always", "hp_ucb"].contains(&kind.as_str())
        {
            list.push(config);
        }
    }
    if !takes_features {
        let kinds = ["s_ops", "ma_ops"];
        let variants = kinds.map(|kind| json!({"kind": kind, "update": "optimistic"}));
        list.extend(agents(&variants)?);
    }
    list.extend(agents(more)?);
    Ok(list)
}

pub(super) fn entry(
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

pub(super) fn run(horizon: u64, runs: u64) -> RunConfig {
    RunConfig {
        horizon,
        runs,
        checkpoints: 200,
        ..RunConfig::default()
    }
}

pub(super) fn at_most(name: &str, threshold: f64, safe_cost: Option<f64>) -> Guardrail {
    Guardrail {
        name: name.into(),
        at_most: Some(threshold),
        safe_cost,
        ..Guardrail::default()
    }
}
