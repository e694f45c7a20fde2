//! Experiments as declared in TOML or JSON.

use banister::{Error, Guardrail, SignalConfig};
use banister_rivals::AgentConfig;
use serde::{Deserialize, Serialize};

use crate::environment::EnvironmentConfig;

/// Most checkpoints a curve may have.
pub const MAX_CHECKPOINTS: usize = 1000;

/// Longest delay of an outcome: every run keeps a slot for each round of it.
const MAX_DELAY: u64 = 1_000_000;

/// Rounds, runs and delays of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Longest delay of an outcome: it arrives after a random number of rounds, uniform in 0..=delay.
    pub delay: u64,
    /// Rounds between two deliveries of arrived outcomes.
    pub batch: u64,
    /// Common random numbers for all agents: the n-th pull of an arm brings the same whoever pulls it, and
    /// where actions change every round has its own noise. Differences between agents are then less noisy
    /// than the agents themselves.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub coupled: bool,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            horizon: 100_000,
            runs: 10,
            seed: 7,
            checkpoints: 500,
            delay: 0,
            batch: 1,
            coupled: false,
        }
    }
}

/// An experiment as declared in TOML or JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    #[serde(default)]
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
    if run.delay > MAX_DELAY {
        let field = "run.delay";
        return Err(Error::invalid(
            field,
            run.delay,
            format!("must be at most {MAX_DELAY}"),
        ));
    }
    Ok(())
}
