//! A checked instance: what agents meet, before there are any; and which agents fit it.

use banister::{CheckedProblem, Error, OnBreach};
use banister_rivals::AgentConfig;

use crate::arms;
use crate::custom::AgentSource;
use crate::experiment::{Experiment, ExperimentConfig};
use crate::results::{GuardrailInfo, Optimum};
use crate::world::{Environment, World, optimum, thresholds};

/// A checked environment with its guardrails, for any agents. See [`ExperimentConfig::instance_in`].
#[derive(Debug, Clone)]
pub struct Instance {
    /// As declared, with defaults filled in; agents are added by [`Instance::experiment`].
    resolved: ExperimentConfig,
    problem: CheckedProblem,
    world: World,
    guardrails: Vec<GuardrailInfo>,
    optimum: Optimum,
}

impl Instance {
    pub(crate) fn new(resolved: ExperimentConfig, world: World) -> Result<Self, Error> {
        let problem = world.problem.check().map_err(arms::in_environment)?;
        let guardrails = thresholds(&problem, &world)?;
        let optimum = optimum(&guardrails, &world.environment)?;
        Ok(Self {
            resolved,
            problem,
            world,
            guardrails,
            optimum,
        })
    }

    /// What results call it.
    pub fn name(&self) -> &str {
        self.resolved.name.as_deref().unwrap_or_default()
    }

    /// As declared, with defaults filled in.
    pub fn resolved(&self) -> &ExperimentConfig {
        &self.resolved
    }

    /// Whether an agent is for an instance like this: builds it once, and checks what it assumes
    /// against what is true.
    ///
    /// # Errors
    /// The reason why it is not.
    pub fn fit(&self, agent: &AgentSource) -> Result<(), Error> {
        let agent = self.prepared(agent.clone());
        if let Some(config) = agent.config() {
            check_assumptions(config, &self.problem, &self.world)?;
        }
        let seed = self.resolved.run.seed;
        agent.build(&self.problem.declared, seed, 0).map(|_| ())
    }

    /// With what follows from the instance filled in: the horizon, how long parameters are, and whether
    /// alarms mean anything.
    fn prepared(&self, agent: AgentSource) -> AgentSource {
        let unknown = (self.problem.guardrails.iter()).any(|g| g.safe_cost.is_none());
        match agent {
            AgentSource::Declared(config) => {
                let mut config = config.with_horizon(self.resolved.run.horizon, unknown);
                if !self.world.parameters.is_empty() && !self.problem.declared.features.is_empty() {
                    // Environments are made so; where one is not, `check_assumptions` says so.
                    config = config.with_parameter_norm(1.0);
                }
                if self.resolved.environment.nominal == Some(true) {
                    // Outcomes are not those of the means that are declared and judged by: everything that
                    // watches them would say so, rightly and to no use.
                    config = config.with_on_breach(OnBreach::Alert);
                }
                let config = config.resolved(&self.problem.declared);
                match self.world.environment {
                    // What a part of an action brings is not known there.
                    Environment::Custom(_) => config.with_whole_actions().into(),
                    _ => config.into(),
                }
            }
            custom => custom,
        }
    }

    /// The experiment of some agents on this instance. Every agent is built once, so that every error
    /// shows before the first round.
    pub fn experiment(self, agents: Vec<AgentSource>) -> Result<Experiment, Error> {
        if agents.is_empty() {
            return Err(Error::invalid("agent", "absent", "give at least one agent"));
        }
        let mut labelled: Vec<(String, AgentSource)> = Vec::new();
        for (i, agent) in agents.into_iter().enumerate() {
            let agent = self.prepared(agent);
            self.fit(&agent).map_err(|error| match error {
                Error::Invalid {
                    field,
                    value,
                    allowed,
                } => Error::invalid(format!("agent[{i}].{field}"), value, allowed),
                other => other,
            })?;
            let label = agent.label();
            if label.trim().is_empty() {
                let allowed = "an agent needs a label that results can call it by";
                return Err(Error::invalid(
                    format!("agent[{i}].label"),
                    "empty",
                    allowed,
                ));
            }
            if labelled.iter().any(|(other, _)| *other == label) {
                let allowed = "every agent needs a `label` of its own";
                return Err(Error::invalid(format!("agent[{i}].label"), label, allowed));
            }
            labelled.push((label, agent));
        }
        let Self {
            mut resolved,
            problem,
            world,
            guardrails,
            optimum,
        } = self;
        resolved.agent = (labelled.iter())
            .filter_map(|(_, agent)| agent.config().cloned())
            .collect();
        Ok(Experiment {
            name: resolved.name.clone().unwrap_or_default(),
            resolved,
            problem,
            world,
            guardrails,
            optimum,
            agents: labelled,
        })
    }
}

/// Rounding that a length may be off by.
const ROUNDING: f64 = 1e-9;

fn check_assumptions(
    agent: &AgentConfig,
    problem: &CheckedProblem,
    world: &World,
) -> Result<(), Error> {
    if !agent.takes_features() && world.environment.actions_change() {
        return Err(Error::invalid(
            "kind",
            agent.kind(),
            "it chooses among named arms, and here other actions come in every round: use `oplb`, or another linear agent",
        ));
    }
    let (norm, bound) = agent.assumed_norms(&world.problem);
    if let Some(norm) = norm
        && world.longest > norm * (1.0 + ROUNDING)
    {
        let allowed = format!("feature vectors here are up to {} long", world.longest);
        return Err(Error::invalid("norm", norm, allowed));
    }
    let Some(bound) = bound else { return Ok(()) };
    let signals = std::iter::once(("the reward".to_string(), problem.reward.unit()))
        .chain((problem.guardrails.iter()).map(|g| (format!("`{}`", g.name), g.signal.unit())));
    for (parameter, (name, unit)) in world.parameters.iter().zip(signals) {
        let length = parameter.iter().map(|x| x * x).sum::<f64>().sqrt() / unit;
        if length > bound * (1.0 + ROUNDING) {
            let allowed = format!(
                "the parameter of {name} is {length:.6} ranges long: declare at least that"
            );
            return Err(Error::invalid("parameter_norm", bound, allowed));
        }
    }
    Ok(())
}
