//! Experiments: environment, guardrails and agents, as declared and as checked.

use std::path::Path;

use banister::oplb::Solver;
use banister::{CheckedProblem, Error, Guardrail, Problem, SignalConfig};
use banister_rivals::AgentConfig;
use serde::{Deserialize, Serialize};

use crate::custom::AgentSource;
use crate::environment::{EnvironmentConfig, Kind};
use crate::instance::Instance;
use crate::redrawn::Redrawn;
use crate::results::{GuardrailInfo, Optimum};
use crate::world::{Environment, World, sign};
use crate::{arms, linear};

/// Most checkpoints a curve may have.
pub const MAX_CHECKPOINTS: usize = 1000;

/// Longest delay of an outcome: every run keeps a slot for each round of it.
const MAX_DELAY: u64 = 1_000_000;

/// Roughly the nanoseconds of a call to code from outside, which may be in a slow language.
const OUTSIDE: u64 = 5_000;

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
    /// All agents meet the same outcomes: the n-th pull of an arm brings the same whoever pulls it, and
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
    pub(crate) world: World,
    pub(crate) guardrails: Vec<GuardrailInfo>,
    pub(crate) optimum: Optimum,
    pub(crate) agents: Vec<(String, AgentSource)>,
}

impl ExperimentConfig {
    /// Checks everything; `name` is used where the experiment has none. Files are looked for in
    /// the current directory, see [`ExperimentConfig::check_in`].
    pub fn check(&self, name: &str) -> Result<Experiment, Error> {
        self.check_in(name, Path::new(""))
    }

    /// The same with files looked for in `folder`.
    pub fn check_in(&self, name: &str, folder: &Path) -> Result<Experiment, Error> {
        self.check_with(name, folder, Vec::new())
    }

    /// The same with more agents after those declared, such as agents from outside.
    pub fn check_with(
        &self,
        name: &str,
        folder: &Path,
        more: Vec<AgentSource>,
    ) -> Result<Experiment, Error> {
        let instance = self.instance_in(name, folder)?;
        let declared = self.agent.iter().cloned().map(AgentSource::from);
        instance.experiment(declared.chain(more).collect())
    }

    /// Checks everything but the agents, which are left away.
    pub fn instance_in(&self, name: &str, folder: &Path) -> Result<Instance, Error> {
        check_run(&self.run)?;
        self.environment.check_keys()?;
        let mut resolved = self.clone();
        resolved.agent.clear();
        resolved.name.get_or_insert_with(|| name.to_string());
        let world = match self.environment.kind {
            Kind::Directions => Redrawn::world(&mut resolved)?,
            kind if kind.is_linear() => linear::world(&mut resolved, folder)?,
            _ => {
                let hard = self.environment.hard_instance(self.run.horizon)?;
                if let Some(hard) = &hard
                    && resolved.guardrail.is_empty()
                {
                    resolved.guardrail.push(hard.guardrail.clone());
                    resolved.reward = hard.reward;
                }
                arms::world(&resolved, hard)?
            }
        };
        Instance::new(resolved, world)
    }
}

impl Experiment {
    /// Rounds of all runs of all agents together.
    pub fn total_rounds(&self) -> u64 {
        self.resolved.run.horizon * self.resolved.run.runs * self.agents.len() as u64
    }

    /// The work of all runs of all agents together, as [`crate::Monitor::work`] counts it.
    pub fn total_work(&self) -> u64 {
        let rounds = self
            .resolved
            .run
            .horizon
            .saturating_mul(self.resolved.run.runs);
        let weights = (0..self.agents.len()).map(|agent| self.weight(agent));
        weights.fold(0_u64, |all, weight| {
            all.saturating_add(rounds.saturating_mul(weight))
        })
    }

    /// Roughly the nanoseconds of a round: so that progress is a share of time.
    pub(crate) fn weight(&self, agent: usize) -> u64 {
        let k = self.problem.declared.arms.len() as u64;
        let agent = self.agents[agent].1.config();
        let linear = agent.is_some_and(AgentConfig::takes_features);
        let d = self.world.parameters.first().map_or(0, Vec::len) as u64;
        let (size, set) = match &self.world.environment {
            Environment::Changing(changing) => {
                let k = changing.largest() as u64;
                (k, 15 * k * d + d * d)
            }
            Environment::Arms(_) | Environment::Redrawn(_) if linear => (k, d * k),
            Environment::Arms(_) | Environment::Redrawn(_) => (k, 0),
            Environment::Custom(_) => (k, OUTSIDE),
        };
        let solver = match agent {
            Some(AgentConfig::Oplb(config)) if config.solver == Solver::Exact => 500 * size,
            Some(_) if linear => 400 + 10 * size,
            Some(_) => 60 + 10 * size,
            None => OUTSIDE,
        };
        set + solver
    }

    /// Where the streams of runs begin. A linear instance may have been drawn from the first streams of the
    /// same seed; its runs must not meet those numbers again.
    pub(crate) fn first_stream(&self) -> u64 {
        let env = &self.resolved.environment;
        let drawn = env.kind.is_linear() && (env.theta.is_none() || env.mu.is_none());
        match drawn && env.instance_seed.unwrap_or(1) == self.resolved.run.seed {
            true => 1 << 62,
            false => 0,
        }
    }

    /// What really happens.
    pub fn environment(&self) -> &Environment {
        &self.world.environment
    }

    /// What agents are told.
    pub fn problem(&self) -> &Problem {
        &self.problem.declared
    }

    /// The true θ, then one μ per guardrail, in signal units per feature unit. Arms are their own
    /// features: the parameters of a K-armed environment are its means. Empty for an environment
    /// from outside.
    pub fn parameters(&self) -> &[Vec<f64>] {
        &self.world.parameters
    }

    /// What pulls are counted by: the arms, or where actions change the safe one and the others.
    pub(crate) fn seats(&self) -> Vec<String> {
        match self.world.environment.actions_change() {
            false => self.problem.declared.arms.clone(),
            true => vec!["safe action".into(), "other actions".into()],
        }
    }

    /// What the best policy of a run earns a round beyond the best single action, played at the largest
    /// part of its length that is safe: what agents that play single actions can never catch up. `None`
    /// unless the actions stay the same and x_0 = 0.
    pub fn gap_of_actions(&self, run: u64) -> Option<f64> {
        match &self.world.environment {
            Environment::Arms(arms) => {
                let problem = &self.problem.declared;
                let safe = problem.features.get(problem.safe)?;
                if safe.iter().any(|x| *x != 0.0) {
                    return None;
                }
                let earns = |action: usize| {
                    let shares = self.guardrails.iter().enumerate().map(|(i, guardrail)| {
                        let signed = sign(guardrail);
                        let (cost, limit) = (
                            signed * arms.mean(action, i + 1),
                            signed * guardrail.threshold,
                        );
                        if cost > limit { limit / cost } else { 1.0 }
                    });
                    shares.fold(1.0, f64::min) * arms.mean(action, 0)
                };
                let best = (0..arms.count())
                    .map(earns)
                    .fold(f64::NEG_INFINITY, f64::max);
                Some(self.optimum.reward - best)
            }
            Environment::Redrawn(redrawn) => {
                let own = redrawn.instance(run).ok()?;
                let agents = self.agents.first().map(|(_, agent)| agent.clone());
                let own = own.experiment(agents.into_iter().collect()).ok()?;
                own.gap_of_actions(run)
            }
            Environment::Changing(_) | Environment::Custom(_) => None,
        }
    }

    /// The agents, by label.
    pub fn agents(&self) -> &[(String, AgentSource)] {
        &self.agents
    }

    /// The best feasible policy under the true means. Where the actions change in every round, and
    /// for an environment from outside, it is known on average only, and only from results.
    pub fn optimum(&self) -> &Optimum {
        &self.optimum
    }
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
        return Err(Error::invalid(
            "run.delay",
            run.delay,
            format!("must be at most {MAX_DELAY}"),
        ));
    }
    Ok(())
}
