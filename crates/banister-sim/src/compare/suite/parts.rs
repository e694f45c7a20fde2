//! Parts that the suites share.

use banister::{Error, Guardrail, Registry as _, SignalConfig};
use banister_rivals::AgentConfig;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::compare::entry::Entry;
use crate::compare::tuning::tuned;
use crate::config::{ExperimentConfig, RunConfig};
use crate::environment::{EnvironmentConfig, INSTANCES};

/// Reads an agent from its declaration.
pub(super) fn agent(declared: Value) -> Result<AgentConfig, Error> {
    let shown = declared.to_string();
    serde_json::from_value(declared)
        .map_err(|error| Error::invalid("agent", shown, error.to_string()))
}

/// Declares S to agents for parameters on the unit sphere and signals from −1 to 1, in units of that range.
pub(super) fn on_sphere(agents: Vec<AgentConfig>) -> Vec<AgentConfig> {
    let declared = |agent: AgentConfig| agent.with_parameter_norm(0.5);
    agents.into_iter().map(declared).collect()
}

/// Lists every kind of agent with or without features, with its defaults; on arms also those whose paper is for
/// adversarial rewards with an update for fixed means; then those for which other constants were the best on the
/// tuning instances, with these.
pub(super) fn all(takes_features: bool) -> Result<Vec<AgentConfig>, Error> {
    let mut list = defaults(takes_features)?;
    if !takes_features {
        for kind in ["s_ops", "ma_ops"] {
            list.push(agent(json!({"kind": kind, "update": "optimistic"}))?);
        }
    }
    list.extend((tuned()?.into_iter()).filter(|agent| agent.takes_features() == takes_features));
    Ok(list)
}

/// Lists every kind of agent with or without features, with its defaults. Without fixed ones, and `hp_ucb`, whose
/// noise grows with the length of what is played: here it does not.
pub(super) fn defaults(takes_features: bool) -> Result<Vec<AgentConfig>, Error> {
    let mut list = Vec::new();
    for kind in AgentConfig::kinds() {
        let config = AgentConfig::of_kind(&kind)?;
        if config.takes_features() == takes_features
            && !["always", "hp_ucb"].contains(&kind.as_str())
        {
            list.push(config);
        }
    }
    Ok(list)
}

/// Numbers that instances are drawn from: one stream of a seed.
pub(super) struct Draw(ChaCha8Rng);

impl Draw {
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(INSTANCES + stream);
        Self(rng)
    }

    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws uniformly, two decimals, so that an instance can be written down.
    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        (100.0 * (low + (high - low) * self.unit())).round() / 100.0
    }

    /// Draws uniformly on a logarithmic scale, four decimals.
    pub(super) fn small(&mut self, low: f64, high: f64) -> f64 {
        let x = low * libm::pow(high / low, self.unit());
        (10_000.0 * x).round() / 10_000.0
    }

    /// Draws a whole number, both ends included.
    pub(super) fn whole(&mut self, low: usize, high: usize) -> usize {
        low + ((high - low + 1) as f64 * self.unit()) as usize
    }
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
