//! What every agent can do, and the one registry of agents.

use serde::{Deserialize, Serialize};

use crate::config::OpbConfig;
use crate::decision::Decision;
use crate::error::Error;
use crate::opb::Opb;
use crate::oplb::{Oplb, OplbConfig};
use crate::problem::Problem;

/// An agent: publishes policies, takes outcomes.
///
/// To add one, implement this trait and give it a variant in [`AgentConfig`]; the command line and
/// the simulator then know it by its `kind`. The simulator also plays agents that are not registered.
pub trait Agent: Send {
    /// The policy for the next round, with its certificate.
    fn decide(&mut self) -> &Decision;

    /// The same for an agent that can fail at deciding, such as one written in another language. The
    /// simulator asks agents from outside this way, and stops at an error.
    fn try_decide(&mut self) -> Result<&Decision, Error> {
        Ok(self.decide())
    }

    /// Takes one outcome: the arm played, its reward and one cost per guardrail.
    fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error>;

    /// Replaces the actions to choose among from now on: feature vectors one after another. The
    /// safe action is always offered too; if it is not among them, its number is the next one.
    fn offer(&mut self, actions: &[f64]) -> Result<(), Error> {
        let _ = actions;
        Err(Error::NoFeatures)
    }

    /// Takes the outcome of an action by its features: late, when other actions are on offer.
    fn observe_at(&mut self, features: &[f64], reward: f64, costs: &[f64]) -> Result<(), Error> {
        let _ = (features, reward, costs);
        Err(Error::NoFeatures)
    }

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

impl Agent for Oplb {
    fn decide(&mut self) -> &Decision {
        Oplb::decide(self)
    }

    fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        Oplb::observe(self, arm, reward, costs)
    }

    fn offer(&mut self, actions: &[f64]) -> Result<(), Error> {
        Oplb::offer(self, actions)
    }

    fn observe_at(&mut self, features: &[f64], reward: f64, costs: &[f64]) -> Result<(), Error> {
        Oplb::observe_at(self, features, reward, costs)
    }

    fn save(&self) -> String {
        Oplb::save(self)
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
    /// The optimistic-pessimistic linear bandit.
    Oplb(OplbConfig),
}

impl AgentConfig {
    /// What results call it.
    pub fn label(&self) -> String {
        match self {
            Self::Opb(config) => (config.label.clone()).unwrap_or_else(|| config.default_label()),
            Self::Oplb(config) => (config.label.clone()).unwrap_or_else(|| config.default_label()),
        }
    }

    /// Fills in the horizon where the agent needs one and none is given.
    pub fn with_horizon(mut self, horizon: u64, unknown_safe_cost: bool) -> Self {
        let (given, needed) = match &mut self {
            Self::Opb(config) => {
                let needed = config.needs_horizon(unknown_safe_cost);
                (&mut config.horizon, needed)
            }
            Self::Oplb(config) => {
                let needed = config.needs_horizon(unknown_safe_cost);
                (&mut config.horizon, needed)
            }
        };
        if given.is_none() && needed {
            *given = Some(horizon);
        }
        self
    }

    /// The agent, ready to run.
    pub fn build(&self, problem: &Problem) -> Result<Box<dyn Agent>, Error> {
        Ok(match self {
            Self::Opb(config) => Box::new(Opb::new(problem, config)?),
            Self::Oplb(config) => Box::new(Oplb::new(problem, config)?),
        })
    }
}
