//! Entries of a comparison: instances, with the agents proposed for them and the values swept to make them.

use serde::Serialize;
use serde_json::Value;

use crate::config::ExperimentConfig;
use crate::environment::{EnvironmentConfig, Instances, PUBLISHED_COUNT};

/// An instance of a comparison, with the agents that are proposed for it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The instance; the agents of its `agent` list play unless others are asked for.
    pub experiment: ExperimentConfig,
    /// True where these agents play whatever others are asked for: a published number depends on them.
    pub fixed: bool,
    /// True where its own agents are proposals: unsupported ones are omitted.
    pub lenient: bool,
    /// The values that make it differ from its neighbours in a sweep.
    pub fields: Fields,
    /// Swept values of each of its own agents.
    pub agent_fields: Vec<Fields>,
}

/// Swept fields with their values.
pub type Fields = Vec<(String, FieldValue)>;

impl Entry {
    /// Wraps an instance that is not part of a sweep.
    pub fn new(experiment: ExperimentConfig) -> Self {
        Self {
            agent_fields: vec![Vec::new(); experiment.agent.len()],
            experiment,
            fixed: false,
            lenient: false,
            fields: Vec::new(),
        }
    }

    /// Most runs that a suite can give it: one for each published instance, where it is played for the numbers about
    /// them. For a user's own experiment, more runs are an error instead.
    pub fn most_runs(&self) -> Option<u64> {
        let published = matches!(&self.experiment.environment, EnvironmentConfig::Directions(config)
            if config.instances == Some(Instances::Published));
        (self.fixed && published).then_some(PUBLISHED_COUNT)
    }

    /// Replaces horizon, runs and seed where others are given, runs up to [`Entry::most_runs`]. A published
    /// number is one of its horizon: its instance can be shortened, not prolonged. A short look at a long
    /// experiment has fewer rounds than its curves had points.
    pub fn set_run(&mut self, horizon: Option<u64>, runs: Option<u64>, seed: Option<u64>) {
        let most_runs = self.most_runs().unwrap_or(u64::MAX);
        let run = &mut self.experiment.run;
        let most_rounds = if self.fixed { run.horizon } else { u64::MAX };
        run.horizon = horizon.unwrap_or(run.horizon).min(most_rounds);
        run.runs = runs.unwrap_or(run.runs).min(most_runs);
        run.seed = seed.unwrap_or(run.seed);
        let most = usize::try_from(run.horizon).unwrap_or(usize::MAX);
        run.checkpoints = run.checkpoints.min(most);
    }
}

/// A value of a swept field.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum FieldValue {
    /// A number.
    Number(f64),
    /// Anything else, as it would be written.
    Text(String),
}

impl std::fmt::Display for FieldValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(x) => write!(f, "{x}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<&Value> for FieldValue {
    fn from(value: &Value) -> Self {
        match value {
            Value::Number(x) => match x.as_f64() {
                Some(x) => Self::Number(x),
                None => Self::Text(x.to_string()),
            },
            Value::String(text) => Self::Text(text.clone()),
            other => Self::Text(other.to_string()),
        }
    }
}
