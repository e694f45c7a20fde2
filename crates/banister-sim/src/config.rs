//! Experiments as declared in TOML or JSON.

use std::collections::BTreeMap;

use banister::{Error, Guardrail, SignalConfig};
use banister_rivals::AgentConfig;
use serde::{Deserialize, Serialize};

use crate::environment::EnvironmentConfig;

/// Most checkpoints a curve may have.
pub const MAX_CHECKPOINTS: usize = 1000;

/// Longest delay of an outcome: every run keeps a slot for each round of it.
const MAX_DELAY: u64 = 1_000_000;

/// Rounds, runs and delays of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunConfig {
    /// Rounds per run.
    pub horizon: u64,
    /// Independent runs.
    pub runs: u64,
    /// Seed; run r uses stream r of it.
    pub seed: u64,
    /// Points of each curve, at most 1000.
    pub checkpoints: usize,
    /// Delay of outcomes.
    pub delay: Delay,
    /// Rounds between two deliveries of arrived outcomes.
    pub batch: u64,
    /// Common random numbers for all agents: the n-th pull of an arm brings the same outcome to every agent; where
    /// actions change, every round has its own noise. Differences between agents are then less noisy than the agents
    /// themselves.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub coupled: bool,
}

/// Rounds after which an outcome arrives: a random number, uniform up to the one given or between two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
#[serde(expecting = "must be a whole number, two of them, or a table of two by arm or by segment")]
pub enum Delay {
    /// Longest delay; the shortest is 0.
    UpTo(u64),
    /// Shortest and longest delay.
    Between([u64; 2]),
    /// Shortest and longest delay by the name of an arm or a segment; outcomes of others arrive at once.
    ByName(BTreeMap<String, [u64; 2]>),
}

impl Delay {
    /// The shortest and the longest by name; those of all under the name ``.
    pub(crate) fn ranges(&self) -> BTreeMap<&str, [u64; 2]> {
        match self {
            Self::UpTo(most) => [("", [0, *most])].into(),
            Self::Between(range) => [("", *range)].into(),
            Self::ByName(own) => own.iter().map(|(name, &own)| (&name[..], own)).collect(),
        }
    }

    /// True if all that are named are among these.
    pub(crate) fn is_of(&self, names: &[String]) -> bool {
        let mut own = self.ranges().into_keys();
        own.all(|own| own.is_empty() || names.iter().any(|name| name == own))
    }
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            horizon: 100_000,
            runs: 10,
            seed: 7,
            checkpoints: 500,
            delay: Delay::UpTo(0),
            batch: 1,
            coupled: false,
        }
    }
}

/// An experiment as declared in TOML or JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperimentConfig {
    /// Name of this instance in results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Rounds, runs and delays.
    #[serde(default)]
    pub run: RunConfig,
    /// The environment that agents play in.
    pub environment: EnvironmentConfig,
    /// Range and noise of the reward.
    #[serde(default)]
    pub reward: SignalConfig,
    /// The guardrails, in the order of the environment's cost rows.
    #[serde(default, alias = "guardrails")]
    pub guardrail: Vec<Guardrail>,
    /// The agents to run side by side.
    #[serde(default)]
    pub agent: Vec<AgentConfig>,
}

/// Refuses horizons, counts and delays out of range.
pub(crate) fn check_run(run: &RunConfig) -> Result<(), Error> {
    let least = |key: &str, value: u64, most: u64| {
        if value >= 1 && value <= most {
            Ok(())
        } else {
            Err(Error::invalid(
                format!("run.{key}"),
                value,
                format!("must be 1 to {most}"),
            ))
        }
    };
    least("horizon", run.horizon, 1_000_000_000_000)?;
    least("runs", run.runs, 1_000_000)?;
    least(
        "checkpoints",
        run.checkpoints as u64,
        MAX_CHECKPOINTS as u64,
    )?;
    least("batch", run.batch, run.horizon)?;
    for [least, most] in run.delay.ranges().into_values() {
        if least > most || most > MAX_DELAY {
            let value = format!("{least} to {most}");
            let allowed = format!("must be at most {MAX_DELAY}, and not less than the shortest");
            return Err(Error::invalid("run.delay", value, allowed));
        }
    }
    Ok(())
}
