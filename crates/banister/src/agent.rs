//! What every agent can do, and the one registry of agents.

use serde::{Deserialize, Serialize};

use crate::config::OpbConfig;
use crate::decision::Decision;
use crate::error::Error;
use crate::opb::Opb;
use crate::problem::Problem;

/// An agent: publishes policies, takes outcomes.
///
/// To add one, implement this trait and give it a variant in [`AgentConfig`]; the command line and
/// the simulator then know it by its `kind`.
pub trait Agent: Send {
    /// The policy for the next round, with its certificate.
    fn decide(&mut self) -> &Decision;

    /// Takes one outcome: the arm played, its reward and one cost per guardrail.
    fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error>;

    /// The whole state as versioned JSON.
    fn save(&self) -> String;
}

impl Agent for Opb {
    fn decide(&mut self) -> &Decision {
        Opb::decide(self)
    }

    fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        Opb::observe(self, arm, reward, costs)
    }

    fn save(&self) -> String {
        Opb::save(self)
    }
}

/// An agent as declared, by its `kind`.
///
/// ```
/// use banister::AgentConfig;
///
/// let config: AgentConfig = serde_json::from_str(r#"{"kind": "opb", "delta": 0.05}"#)?;
/// assert_eq!(config.label(), "opb");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentConfig {
    /// The optimistic-pessimistic bandit.
    Opb(OpbConfig),
}

impl AgentConfig {
    /// What results call it.
    pub fn label(&self) -> String {
        match self {
            Self::Opb(config) => config
                .label
                .clone()
                .unwrap_or_else(|| config.default_label()),
        }
    }

    /// Fills in the horizon where the agent needs one and none is given.
    pub fn with_horizon(mut self, horizon: u64, unknown_safe_cost: bool) -> Self {
        match &mut self {
            Self::Opb(config) => {
                if config.horizon.is_none() && config.needs_horizon(unknown_safe_cost) {
                    config.horizon = Some(horizon);
                }
            }
        }
        self
    }

    /// The agent, ready to run.
    pub fn build(&self, problem: &Problem) -> Result<Box<dyn Agent>, Error> {
        match self {
            Self::Opb(config) => Ok(Box::new(Opb::new(problem, config)?)),
        }
    }
}
