//! Agents of an experiment, declared or user-supplied, and checks of the latter's policies.

use std::fmt;
use std::sync::Arc;

use banister::guarantee::{CumulativeBudget, Guarantee};
use banister::{Agent, Decision, Error, Event, Problem, Registry as _};
use banister_rivals::{AgentConfig, DELTA};

/// Rounding that the probabilities of a policy may be off by, together.
const ROUNDING: f64 = 1e-9;

/// First stream of agents that sample: outcomes and actions come from others.
const AGENTS: u64 = 1 << 63;

type Make = dyn Fn(&Problem, u64, u64) -> Result<Box<dyn Agent>, Error> + Send + Sync;

/// A user-supplied agent, under a label.
///
/// Its policies are checked before they are played. It may leave `Decision::guardrails` empty: an
/// agent that proves nothing has no prices.
#[derive(Clone)]
pub struct CustomAgent {
    label: String,
    make: Arc<Make>,
    /// Declaration of the agent that it decides as, and so promises the same, if there is one.
    pub(crate) config: Option<AgentConfig>,
}

impl CustomAgent {
    /// Wraps `make`, which builds the agent of a run from the problem, the seed and the number of the run.
    pub fn new(
        label: impl Into<String>,
        make: impl Fn(&Problem, u64, u64) -> Result<Box<dyn Agent>, Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            label: label.into(),
            make: Arc::new(make),
            config: None,
        }
    }
}

impl fmt::Debug for CustomAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomAgent")
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

/// Source of an agent of an experiment.
#[derive(Debug, Clone)]
pub enum AgentSource {
    /// From the registry, by its kind.
    Declared(AgentConfig),
    /// Supplied by the user.
    Custom(CustomAgent),
}

impl From<AgentConfig> for AgentSource {
    fn from(config: AgentConfig) -> Self {
        Self::Declared(config)
    }
}

impl From<CustomAgent> for AgentSource {
    fn from(agent: CustomAgent) -> Self {
        Self::Custom(agent)
    }
}

impl AgentSource {
    /// Label of its results.
    pub fn label(&self) -> String {
        match self {
            Self::Declared(config) => config.label(),
            Self::Custom(agent) => agent.label.clone(),
        }
    }

    /// The declaration, if it has one.
    pub fn config(&self) -> Option<&AgentConfig> {
        match self {
            Self::Declared(config) => Some(config),
            Self::Custom(agent) => agent.config.as_ref(),
        }
    }

    /// Promise about its guardrails: none, for a user-supplied agent.
    pub fn guarantee(&self) -> Guarantee {
        (self.config()).map_or(Guarantee::Unsafe, |config| config.guarantee())
    }

    /// Extent of that promise, where it is a cumulative one.
    pub(crate) fn budget(&self) -> CumulativeBudget {
        self.config()
            .map_or(CumulativeBudget::default(), |config| config.budget())
    }

    /// True for banister's own agents.
    pub(crate) fn is_ours(&self) -> bool {
        use AgentConfig::{Opb, Oplb, Segmented};
        matches!(self.config(), Some(Opb(_) | Oplb(_) | Segmented(_)))
    }

    /// δ, the level of its certificates; the default where it declares none.
    pub(crate) fn delta(&self) -> f64 {
        self.config().map_or(DELTA, |config| config.delta())
    }

    /// Builds the agent of a run.
    pub(crate) fn build(
        &self,
        problem: &Problem,
        seed: u64,
        run: u64,
    ) -> Result<Box<dyn Agent>, Error> {
        match self {
            Self::Declared(config) => {
                let mut agent = config.build(problem)?;
                let stream = AGENTS + run;
                agent.apply(&Event::Reseeded { seed, stream })?;
                Ok(agent)
            }
            Self::Custom(agent) => (agent.make)(problem, seed, run),
        }
    }

    /// Inspector of its policies, for user-supplied agents: our own come with a proof.
    pub(crate) fn inspector(&self, guardrails: usize) -> Option<Inspector> {
        match self {
            Self::Declared(_) => None,
            Self::Custom(agent) => Some(Inspector {
                label: agent.label.clone(),
                guardrails,
            }),
        }
    }
}

/// Refuses decisions that are no policies.
pub(crate) struct Inspector {
    label: String,
    guardrails: usize,
}

impl Inspector {
    /// Checks a policy for round `t` among `actions` actions.
    pub(crate) fn check(&self, decision: &Decision, t: u64, actions: usize) -> Result<(), Error> {
        let refuse = |value: String, allowed: String| {
            let field = format!("policy of {} in round {}", self.label, t + 1);
            Err(Error::invalid(field, value, allowed))
        };
        let mut sum = 0.0;
        for &(action, p) in &decision.policy {
            if action >= actions {
                let last = actions.saturating_sub(1);
                let allowed = format!("the actions on offer are numbered 0 to {last}");
                return refuse(format!("on action {action}"), allowed);
            }
            if !(p >= 0.0 && p.is_finite()) {
                let allowed = "probabilities are finite and at least 0".into();
                return refuse(format!("{p} on action {action}"), allowed);
            }
            sum += p;
        }
        if !((sum - 1.0).abs() <= ROUNDING) {
            let allowed = "its probabilities must sum to 1".into();
            return refuse(format!("{sum} in all"), allowed);
        }
        if decision.scale != 1.0 {
            let allowed = "user-supplied agents play whole actions".into();
            return refuse(format!("at scale {}", decision.scale), allowed);
        }
        let certificates = decision.guardrails.len();
        if certificates != 0 && certificates != self.guardrails {
            let allowed = format!("expected {} or none: one per guardrail", self.guardrails);
            return refuse(format!("with {certificates} certificates"), allowed);
        }
        Ok(())
    }
}
