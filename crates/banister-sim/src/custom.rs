//! Experiments on user-supplied environments.

use std::sync::Arc;

use banister::{Error, Problem};

use crate::agents::AgentSource;
use crate::config::{ExperimentConfig, RunConfig, check_run};
use crate::environment::{
    ArmRef, Custom, CustomConfig, CustomEnvironment, Dynamics, Environment, EnvironmentConfig,
};
use crate::experiment::Experiment;

/// An experiment on a user-supplied environment, as declared.
#[derive(Clone)]
pub struct CustomExperiment {
    /// Name of this instance in results.
    pub name: String,
    /// Rounds, runs and delays.
    pub run: RunConfig,
    /// The problem as agents see it. Where actions change: [`Problem::contextual`], or any problem with features.
    pub problem: Problem,
    /// The environment that agents play in.
    pub environment: Arc<dyn CustomEnvironment>,
    /// The agents to run side by side.
    pub agents: Vec<AgentSource>,
}

impl CustomExperiment {
    /// Checks everything. Also starts a run of the environment and builds every agent once, so that
    /// what fails at once fails here.
    ///
    /// A relative guardrail is judged by the environment's `safe_means`, or by its own `safe_cost`;
    /// where neither is known its threshold is unknown (NaN), which an environment that knows its
    /// means must not leave so.
    pub fn check(&self) -> Result<Experiment, Error> {
        check_run(&self.run)?;
        let problem = self.problem.check()?;
        let changes = self.environment.actions_change();
        if changes && self.problem.features.is_empty() {
            let allowed = "where actions change, the safe action is given by its features: `Problem::contextual`";
            return Err(Error::invalid("features", "absent", allowed));
        }
        let safe_means = self.environment.safe_means();
        if let Some(means) = &safe_means {
            check_safe_means(means, &problem)?;
        }
        let knows_means = self.environment.knows_means();
        let unjudged = self.problem.guardrails.iter().position(|guardrail| {
            guardrail.relative && guardrail.safe_cost.is_none() && safe_means.is_none()
        });
        if let Some(i) = unjudged.filter(|_| knows_means) {
            let allowed = "to be judged it needs the environment's `safe_means`, or a `safe_cost`";
            let field = format!("guardrails[{i}].relative");
            return Err(Error::invalid(field, true, allowed));
        }
        self.environment.start(self.run.seed, 0)?;
        let world = Custom::new(Arc::clone(&self.environment));
        let environment = Environment {
            safe_means,
            safe_field: "environment.safe_means[{s}]".into(),
            longest: 0.0,
            ..Environment::new(self.problem.clone(), Dynamics::General(Arc::new(world)))
        };
        let shown = CustomConfig {
            arms: Some(self.problem.arms.clone()),
            safe: Some(ArmRef::Index(self.problem.safe)),
        };
        let resolved = ExperimentConfig {
            name: Some(self.name.clone()),
            run: self.run.clone(),
            environment: EnvironmentConfig::Custom(shown),
            reward: self.problem.reward.clone(),
            guardrail: self.problem.guardrails.clone(),
            agent: Vec::new(),
        };
        Experiment::new(resolved, environment)?.with_agents(self.agents.clone())
    }
}

fn check_safe_means(
    means: &[f64],
    problem: &banister::toolkit::CheckedProblem,
) -> Result<(), Error> {
    let expected = problem.guardrails.len() + 1;
    if means.len() != expected {
        let value = format!("{} numbers", means.len());
        let allowed = format!("expected {expected}: the reward, then one per guardrail");
        return Err(Error::invalid("environment.safe_means", value, allowed));
    }
    match means.iter().position(|mean| !mean.is_finite()) {
        None => Ok(()),
        Some(s) => Err(Error::invalid(
            format!("environment.safe_means[{s}]"),
            means[s],
            "only finite numbers are allowed",
        )),
    }
}
