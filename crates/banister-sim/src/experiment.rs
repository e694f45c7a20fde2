//! Experiments: environment, guardrails and agents, as declared and as checked.

use banister::solve::{Lp, LpSolver, Status};
use banister::{
    AgentConfig, CheckedProblem, Direction, Error, Guardrail, Problem, Signal, SignalConfig,
};
use serde::{Deserialize, Serialize};

use crate::environment::{ArmRef, EnvironmentConfig};
use crate::law::Environment;
use crate::results::{GuardrailInfo, Optimum};

/// Most checkpoints a curve may have.
pub const MAX_CHECKPOINTS: usize = 1000;

/// Longest delay of an outcome: every run keeps a slot for each round of it.
const MAX_DELAY: u64 = 1_000_000;

/// How long and how often.
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
    /// Outcomes arrive after a random number of rounds, uniform in 0..=delay.
    pub delay: u64,
    /// Arrived outcomes are handed over every so many rounds.
    pub batch: u64,
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
        }
    }
}

/// An experiment as declared in TOML.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentConfig {
    /// What results call this instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How long and how often.
    #[serde(default)]
    pub run: RunConfig,
    /// What really happens.
    pub environment: EnvironmentConfig,
    /// The reward signal.
    #[serde(default)]
    pub reward: SignalConfig,
    /// The guardrails, in the order of the environment's cost rows.
    #[serde(default)]
    pub guardrail: Vec<Guardrail>,
    /// The agents to run side by side.
    #[serde(default)]
    pub agent: Vec<AgentConfig>,
}

/// A checked experiment.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// As declared, with defaults that depend on other values filled in.
    pub resolved: ExperimentConfig,
    /// What results call this instance.
    pub name: String,
    pub(crate) problem: CheckedProblem,
    pub(crate) environment: Environment,
    pub(crate) guardrails: Vec<GuardrailInfo>,
    pub(crate) optimum: Optimum,
    pub(crate) agents: Vec<(String, AgentConfig)>,
}

impl ExperimentConfig {
    /// Checks everything; `name` is used where the experiment has none.
    pub fn check(&self, name: &str) -> Result<Experiment, Error> {
        check_run(&self.run)?;
        self.environment.check_keys()?;
        let mut resolved = self.clone();
        let name = resolved
            .name
            .get_or_insert_with(|| name.to_string())
            .clone();
        let hard = self.environment.hard_instance(self.run.horizon)?;
        let (kind, sd, rewards, costs) = match hard {
            Some(hard) => {
                if resolved.guardrail.is_empty() {
                    resolved.guardrail.push(hard.guardrail);
                    resolved.reward = hard.reward;
                }
                (hard.kind, hard.sd, hard.rewards, vec![hard.costs])
            }
            None => {
                let env = &self.environment;
                let rewards = env.rewards.clone().ok_or_else(|| {
                    Error::invalid("environment.rewards", "absent", "give one mean per arm")
                })?;
                (
                    env.kind,
                    env.sd,
                    rewards,
                    env.costs.clone().unwrap_or_default(),
                )
            }
        };
        check_shape(&resolved, &rewards, &costs)?;
        let arms = arm_names(&self.environment, rewards.len())?;
        let declared = Problem {
            safe: safe_index(self.environment.safe.as_ref(), &arms)?,
            arms,
            reward: resolved.reward,
            guardrails: resolved.guardrail.clone(),
        };
        let problem = declared.check().map_err(in_environment)?;
        let sd = sd.unwrap_or(0.1);
        if !(sd.is_finite() && sd > 0.0) {
            return Err(Error::invalid(
                "environment.sd",
                sd,
                "must be a finite number above 0",
            ));
        }
        let signals: Vec<(String, Signal)> =
            std::iter::once(("environment.rewards".to_string(), problem.reward))
                .chain(
                    problem
                        .guardrails
                        .iter()
                        .enumerate()
                        .map(|(i, g)| (format!("environment.costs[{i}]"), g.signal)),
                )
                .collect();
        let means: Vec<Vec<f64>> = std::iter::once(rewards).chain(costs).collect();
        let environment = Environment::new(&self.environment, kind, sd, &signals, &means)?;
        let guardrails = thresholds(&problem, &environment)?;
        let optimum = optimum(&guardrails, &environment)?;
        let unknown = problem.guardrails.iter().any(|g| g.safe_cost.is_none());
        resolved.agent = resolved
            .agent
            .into_iter()
            .map(|agent| agent.with_horizon(self.run.horizon, unknown))
            .collect();
        let agents = check_agents(&resolved.agent, &declared)?;
        Ok(Experiment {
            resolved,
            name,
            problem,
            environment,
            guardrails,
            optimum,
            agents,
        })
    }
}

impl Experiment {
    /// Rounds of all runs of all agents together.
    pub fn total_rounds(&self) -> u64 {
        self.resolved.run.horizon * self.resolved.run.runs * self.agents.len() as u64
    }

    /// What really happens.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The best feasible policy under the true means.
    pub fn optimum(&self) -> &Optimum {
        &self.optimum
    }
}

/// The arms are declared in the environment's table.
fn in_environment(error: Error) -> Error {
    match error {
        Error::Invalid {
            field,
            value,
            allowed,
        } if field.starts_with("arms") => {
            Error::invalid(format!("environment.{field}"), value, allowed)
        }
        other => other,
    }
}

fn check_run(run: &RunConfig) -> Result<(), Error> {
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
        return Err(Error::invalid(
            "run.delay",
            run.delay,
            format!("must be at most {MAX_DELAY}"),
        ));
    }
    Ok(())
}

fn check_shape(
    config: &ExperimentConfig,
    rewards: &[f64],
    costs: &[Vec<f64>],
) -> Result<(), Error> {
    if rewards.is_empty() {
        return Err(Error::invalid(
            "environment.rewards",
            "empty",
            "a policy needs at least one arm",
        ));
    }
    if costs.len() != config.guardrail.len() {
        let allowed = format!(
            "expected {}: one row per [[guardrail]], in their order",
            config.guardrail.len()
        );
        return Err(Error::invalid(
            "environment.costs",
            count(costs.len(), "row"),
            allowed,
        ));
    }
    for (i, row) in costs.iter().enumerate() {
        if row.len() != rewards.len() {
            let allowed = format!("expected {}: one per arm, as in `rewards`", rewards.len());
            let value = count(row.len(), "number");
            return Err(Error::invalid(
                format!("environment.costs[{i}]"),
                value,
                allowed,
            ));
        }
    }
    Ok(())
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn arm_names(config: &EnvironmentConfig, k: usize) -> Result<Vec<String>, Error> {
    match &config.arms {
        None => Ok((0..k).map(|a| format!("arm {a}")).collect()),
        Some(names) if names.len() == k => Ok(names.clone()),
        Some(names) => {
            let value = count(names.len(), "name");
            Err(Error::invalid(
                "environment.arms",
                value,
                format!("expected {k}: one per arm"),
            ))
        }
    }
}

fn safe_index(safe: Option<&ArmRef>, arms: &[String]) -> Result<usize, Error> {
    match safe {
        None => Ok(0),
        Some(ArmRef::Index(i)) if *i < arms.len() => Ok(*i),
        Some(ArmRef::Index(i)) => Err(Error::invalid(
            "environment.safe",
            i,
            format!("must be the index of an arm, 0 to {}", arms.len() - 1),
        )),
        Some(ArmRef::Name(name)) => {
            arms.iter()
                .position(|arm| arm == name)
                .ok_or_else(|| Error::UnknownArm {
                    name: name.clone(),
                    known: arms.join(", "),
                })
        }
    }
}

/// Thresholds in signal units, and that the declared safe costs are true and leave a margin.
fn thresholds(
    problem: &CheckedProblem,
    environment: &Environment,
) -> Result<Vec<GuardrailInfo>, Error> {
    let safe = environment.means(problem.declared.safe);
    let mut infos = Vec::new();
    for (i, standard) in problem.guardrails.iter().enumerate() {
        let declared = &problem.declared.guardrails[i];
        let mean = safe[i + 1];
        let bound = declared.at_most.or(declared.at_least).unwrap_or(0.0);
        let threshold = if declared.relative {
            bound * mean
        } else {
            bound
        };
        let has_margin = match standard.direction {
            Direction::AtMost => mean < threshold,
            Direction::AtLeast => mean > threshold,
        };
        if !has_margin {
            let allowed = format!(
                "the safe arm must meet guardrail `{}` (threshold {threshold}) with margin",
                standard.name
            );
            let field = format!("environment.costs[{i}][{}]", problem.declared.safe);
            return Err(Error::invalid(field, mean, allowed));
        }
        if let Some(c) = declared.safe_cost
            && (c - mean).abs() > 1e-9 * standard.signal.unit()
        {
            let allowed = format!(
                "the environment's safe arm has mean {mean}; leave `safe_cost` out if it is unknown"
            );
            return Err(Error::invalid(
                format!("guardrail[{i}].safe_cost"),
                c,
                allowed,
            ));
        }
        infos.push(GuardrailInfo {
            name: standard.name.clone(),
            direction: standard.direction,
            threshold,
        });
    }
    Ok(infos)
}

/// The best feasible policy, from the same LP with the true means.
fn optimum(guardrails: &[GuardrailInfo], environment: &Environment) -> Result<Optimum, Error> {
    let arms = environment.arms();
    let reward: Vec<f64> = (0..arms).map(|a| environment.means(a)[0]).collect();
    let sign = |g: &GuardrailInfo| match g.direction {
        Direction::AtMost => 1.0,
        Direction::AtLeast => -1.0,
    };
    let costs: Vec<Vec<f64>> = guardrails
        .iter()
        .enumerate()
        .map(|(i, g)| {
            (0..arms)
                .map(|a| sign(g) * environment.means(a)[i + 1])
                .collect()
        })
        .collect();
    let thresholds: Vec<f64> = guardrails.iter().map(|g| sign(g) * g.threshold).collect();
    let lp = Lp {
        reward: &reward,
        costs: &costs,
        thresholds: &thresholds,
    };
    let mut solver = LpSolver::default();
    let solution = solver.solve(&lp, None);
    if solution.status == Status::Infeasible {
        return Err(Error::invalid(
            "environment.costs",
            "infeasible",
            "no policy meets the guardrails",
        ));
    }
    Ok(Optimum {
        reward: solution.value,
        costs: solution
            .costs
            .iter()
            .zip(guardrails)
            .map(|(c, g)| sign(g) * c)
            .collect(),
        policy: solution.support.clone(),
    })
}

fn check_agents(
    agents: &[AgentConfig],
    problem: &Problem,
) -> Result<Vec<(String, AgentConfig)>, Error> {
    if agents.is_empty() {
        return Err(Error::invalid(
            "agent",
            "absent",
            "give at least one [[agent]]",
        ));
    }
    let mut labelled: Vec<(String, AgentConfig)> = Vec::new();
    for (i, agent) in agents.iter().enumerate() {
        // Built once here so that every error shows before the first round.
        agent.build(problem).map_err(|error| match error {
            Error::Invalid {
                field,
                value,
                allowed,
            } => Error::invalid(format!("agent[{i}].{field}"), value, allowed),
            other => other,
        })?;
        let label = agent.label();
        if labelled.iter().any(|(other, _)| *other == label) {
            let allowed = "every agent needs a `label` of its own";
            return Err(Error::invalid(format!("agent[{i}].label"), label, allowed));
        }
        labelled.push((label, agent.clone()));
    }
    Ok(labelled)
}
