//! Experiments as checked: `config → Experiment`, which holds everything a run needs.

use banister::toolkit::Within;
use std::path::Path;

use banister::oplb::Solver;
use banister::toolkit::CheckedProblem;
use banister::{DriftUnit, Error, Link, Model, OnBreach, Problem, Registry as _, theory};
use banister_rivals::AgentConfig;

use crate::agents::AgentSource;
use crate::config::{ExperimentConfig, check_run};
use crate::environment::{
    CUSTOM_CALL, Environment, EnvironmentConfig, Setting, World, declaration, in_environment,
};
use crate::results::{GuardrailInfo, Optimum};
use crate::truth::{certified_play, certified_segments, optimum, thresholds};

/// A checked experiment.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// As declared, with defaults that depend on other values filled in.
    pub resolved: ExperimentConfig,
    /// Name of this instance in results.
    pub name: String,
    pub(crate) problem: CheckedProblem,
    pub(crate) environment: Environment,
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

    /// Checks everything, with files looked for in `folder`.
    pub fn check_in(&self, name: &str, folder: &Path) -> Result<Experiment, Error> {
        self.check_with(name, folder, Vec::new())
    }

    /// Checks everything, with more agents after those declared, such as user-supplied ones.
    pub fn check_with(
        &self,
        name: &str,
        folder: &Path,
        more: Vec<AgentSource>,
    ) -> Result<Experiment, Error> {
        let instance = self.check_without_agents(name, folder)?;
        let declared = self.agent.iter().cloned().map(AgentSource::from);
        instance.with_agents(declared.chain(more).collect())
    }

    /// Checks everything but the agents, which are omitted: see [`Experiment::with_agents`].
    pub fn check_without_agents(&self, name: &str, folder: &Path) -> Result<Experiment, Error> {
        check_run(&self.run)?;
        let mut resolved = self.clone();
        resolved.agent.clear();
        resolved.name.get_or_insert_with(|| name.to_string());
        let environment = resolved.environment.build(&mut Setting {
            horizon: self.run.horizon,
            runs: self.run.runs,
            reward: &mut resolved.reward,
            guardrails: &mut resolved.guardrail,
            folder,
        })?;
        Experiment::new(resolved, environment)
    }
}

impl Experiment {
    /// Checks the problem that the environment poses. There are no agents yet.
    pub(crate) fn new(resolved: ExperimentConfig, environment: Environment) -> Result<Self, Error> {
        let problem = environment.problem.check().with_path(in_environment)?;
        if problem.drift_unit().is_some_and(DriftUnit::is_by_clock) {
            let why = "a simulation has no clock: declare `per = \"decision\"`";
            problem.refuse_drift(why)?;
        }
        let delay = &resolved.run.delay;
        let segments = environment.world().and_then(|world| world.segments());
        let is_of_segments = segments.is_some_and(|own| delay.is_of(&own.names));
        if !is_of_segments && !delay.is_of(&problem.declared.arms) {
            let own = format!("{:?}", delay.ranges().keys());
            let allowed = "must all be arms, or all segments";
            return Err(Error::invalid("run.delay", own, allowed));
        }
        let guardrails = thresholds(&problem, &environment)?;
        Ok(Self {
            name: resolved.name.clone().unwrap_or_default(),
            optimum: optimum(&guardrails, &environment)?,
            resolved,
            problem,
            environment,
            guardrails,
            agents: Vec::new(),
        })
    }

    /// Checks that an agent supports this instance: builds it once, and compares its assumptions with the
    /// truth.
    ///
    /// # Errors
    /// The reason why it does not.
    pub fn supports(&self, agent: &AgentSource) -> Result<(), Error> {
        let agent = self.prepared(agent.clone());
        if let Some(config) = agent.config() {
            check_assumptions(config, &self.problem, &self.environment)?;
        }
        let seed = self.resolved.run.seed;
        agent.build(&self.problem.declared, seed, 0).map(|_| ())
    }

    /// Fills in what follows from the instance: the horizon, the length of parameters, and the reaction to
    /// alarms where they mean nothing.
    fn prepared(&self, agent: AgentSource) -> AgentSource {
        let AgentSource::Declared(config) = agent else {
            return agent;
        };
        let unknown = (self.problem.guardrails.iter()).any(|g| g.safe_cost.is_none());
        let mut config = config.with_horizon(self.resolved.run.horizon, unknown);
        if let Some(s) = self.environment.parameter_norm {
            // Where one is longer, `check_assumptions` says so.
            config = config.with_parameter_norm(s);
        }
        if let EnvironmentConfig::ClippedGaussian(arms) = &self.resolved.environment
            && arms.nominal == Some(true)
        {
            // Outcomes are not those of the means that are declared and judged by: everything that
            // watches them would say so, rightly and to no use.
            config = config.with_on_breach(OnBreach::Alert);
        }
        let config = config.resolved(&self.problem.declared);
        if self.environment.world().is_some_and(World::is_measured) {
            // The outcome of a part of an action is not known there.
            config.with_whole_actions().into()
        } else {
            config.into()
        }
    }

    /// Replaces the agents. Every agent is built once, so that every error shows before the first round.
    pub fn with_agents(mut self, agents: Vec<AgentSource>) -> Result<Self, Error> {
        if agents.is_empty() {
            return Err(Error::invalid("agent", "absent", "give at least one agent"));
        }
        let mut labelled: Vec<(String, AgentSource)> = Vec::new();
        for (i, agent) in agents.into_iter().enumerate() {
            let agent = self.prepared(agent);
            self.supports(&agent).within(("agent", i))?;
            let label = agent.label();
            let field = || format!("agent[{i}].label");
            if label.trim().is_empty() {
                let allowed = "an agent needs a label that results can call it by";
                return Err(Error::invalid(field(), "empty", allowed));
            }
            if labelled.iter().any(|(other, _)| *other == label) {
                let allowed = "every agent needs a `label` of its own";
                return Err(Error::invalid(field(), label, allowed));
            }
            labelled.push((label, agent));
        }
        self.resolved.agent = (labelled.iter())
            .filter_map(|(_, agent)| agent.config().cloned())
            .collect();
        self.agents = labelled;
        Ok(self)
    }

    /// The experiment of one run, without agents, where every run draws an instance of its own: a linear environment
    /// with θ, μ and a list of actions. `None` where all runs play the same instance.
    ///
    /// # Errors
    /// A run beyond the published instances.
    pub fn instance(&self, run: u64) -> Result<Option<Self>, Error> {
        let Some(law) = &self.environment.per_run else {
            return Ok(None);
        };
        let declared = declaration(law, run)?;
        let config = ExperimentConfig {
            name: self.resolved.name.clone(),
            run: self.resolved.run.clone(),
            environment: EnvironmentConfig::Linear(declared.environment),
            reward: declared.reward,
            guardrail: vec![declared.guardrail],
            agent: Vec::new(),
        };
        config.check_without_agents("", Path::new("")).map(Some)
    }

    /// Sum of rounds over all runs of all agents.
    pub fn total_rounds(&self) -> u64 {
        self.resolved.run.horizon * self.resolved.run.runs * self.agents.len() as u64
    }

    /// Sum of work over all runs of all agents, as [`crate::Progress::work`] counts it.
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

    /// Rough cost of a round in nanoseconds, so that progress is a share of time.
    pub(crate) fn weight(&self, agent: usize) -> u64 {
        let k = self.problem.declared.arms.len() as u64;
        let agent = self.agents[agent].1.config();
        let linear = agent.is_some_and(|config| config.takes_features());
        let d = self.environment.parameters.first().map_or(0, Vec::len) as u64;
        let fixed = (k, if linear { d * k } else { 0 });
        let work = self.environment.world().and_then(|world| world.work(k));
        let (size, set) = work.unwrap_or(fixed);
        let solver = match agent {
            Some(AgentConfig::Oplb(config)) if config.solver == Solver::Exact => 500 * size,
            Some(_) if linear => 400 + 10 * size,
            Some(_) => 60 + 10 * size,
            None => CUSTOM_CALL,
        };
        set + solver
    }

    /// First stream of runs. A linear instance may have been drawn from the first streams of the same seed; its runs
    /// must not draw those numbers again.
    pub(crate) fn first_stream(&self) -> u64 {
        let shared = self.resolved.environment.parameter_seed() == Some(self.resolved.run.seed);
        if shared { 1 << 62 } else { 0 }
    }

    /// The rounds after which curves have a point: evenly spaced, the last is the horizon.
    pub(crate) fn checkpoints(&self) -> Vec<u64> {
        let run = &self.resolved.run;
        let count = (run.checkpoints as u64).min(run.horizon);
        (1..=count)
            .map(|k| (u128::from(run.horizon) * u128::from(k) / u128::from(count)) as u64)
            .collect()
    }

    /// The environment with its truths.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The problem as agents see it.
    pub fn problem(&self) -> &Problem {
        &self.problem.declared
    }

    /// The true θ, then one μ per guardrail, in signal units per feature unit. Arms are their own
    /// features: the parameters of a K-armed environment are its means. Empty for a user-supplied
    /// environment.
    pub fn parameters(&self) -> &[Vec<f64>] {
        &self.environment.parameters
    }

    /// Slots that pulls are counted in: the arms, or where actions change the safe one and the others.
    pub(crate) fn pull_slots(&self) -> Vec<String> {
        if self.environment.actions_change() {
            vec!["safe action".into(), "other actions".into()]
        } else {
            self.problem.declared.arms.clone()
        }
    }

    /// Reward that the best policy of a run earns a round beyond the best single action, played at the
    /// largest part of its length that is safe: agents that play single actions can never catch it up.
    /// `None` unless the actions stay the same and x_0 = 0.
    pub fn gap_of_actions(&self, run: u64) -> Option<f64> {
        if let Some(own) = self.instance(run).ok()? {
            return own.gap_of_actions(run);
        }
        let arms = self.environment.as_arms()?;
        let problem = &self.problem.declared;
        let safe = problem.features.get(problem.safe)?;
        if safe.iter().any(|x| *x != 0.0) {
            return None;
        }
        let earns = |action: usize| {
            let shares = self.guardrails.iter().enumerate().map(|(i, guardrail)| {
                let sign = guardrail.direction.sign();
                let cost = sign * arms.mean(action, i + 1);
                let limit = sign * guardrail.threshold;
                if cost > limit { limit / cost } else { 1.0 }
            });
            shares.fold(1.0, f64::min) * arms.mean(action, 0)
        };
        let best = (0..arms.count())
            .map(earns)
            .fold(f64::NEG_INFINITY, f64::max);
        Some(self.optimum.reward - best)
    }

    /// Numbers that the regret bounds of OPB need, with the safe arm's true margins. `None` unless the actions are
    /// arms whose means stay.
    pub fn setting(&self, delta: f64) -> Option<theory::Setting> {
        let safe = self.environment.safe_means.as_ref()?;
        let play = self.certified_play(delta)?;
        let margins = self.guardrails.iter().zip(&safe[1..]);
        let margins = margins
            .zip(&self.problem.guardrails)
            .map(|((g, mean), standard)| {
                -g.direction.excess(*mean, g.threshold) / standard.signal.unit()
            });
        let costs = self.problem.guardrails.iter().map(|g| g.signal.r());
        Some(theory::Setting {
            arms: play.rewards.len(),
            horizon: play.horizon,
            margins: margins.collect(),
            best_margin: self.best_margin(),
            delta,
            r: costs.fold(self.problem.reward.r(), f64::max),
        })
    }

    /// ρ: the largest over arms of the smallest margin under any guardrail, in units of the ranges. `None` unless the
    /// actions are arms whose means stay.
    fn best_margin(&self) -> Option<f64> {
        let arms = self.environment.fixed_arms()?;
        let of = |arm: usize| {
            let guardrails = self.guardrails.iter().zip(&self.problem.guardrails);
            let margins = guardrails.enumerate().map(|(i, (g, standard))| {
                -g.direction.excess(arms.means(arm)[i + 1], g.threshold) / standard.signal.unit()
            });
            margins.fold(f64::INFINITY, f64::min)
        };
        let all = 0..self.problem.declared.arms.len();
        all.map(of).reduce(f64::max)
    }

    /// The limit of certified play L(T) at level `delta`. `None` where it is unknown: for actions with features,
    /// and where actions or means change.
    pub fn limit(&self, delta: f64) -> Option<f64> {
        if let Some(segments) = self.environment.segments() {
            return certified_segments(
                &self.problem,
                &self.guardrails,
                segments,
                (self.resolved.run.horizon, delta),
            );
        }
        self.certified_play(delta)?.limit().ok()
    }

    pub(crate) fn certified_play(&self, delta: f64) -> Option<theory::CertifiedPlay> {
        certified_play(
            &self.problem,
            &self.guardrails,
            &self.environment,
            self.resolved.run.horizon,
            delta,
        )
    }

    /// Rows that a run plays in their order, where the environment is a table.
    pub fn rows(&self, run: u64) -> Option<Vec<usize>> {
        let config = &self.resolved.run;
        let world = self.environment.world()?;
        world.rows(config.horizon, config.seed, run)
    }

    /// The agents, by label.
    pub fn agents(&self) -> &[(String, AgentSource)] {
        &self.agents
    }

    /// The best feasible policy under the true means. Where the actions change in every round, and
    /// for a user-supplied environment, it is known on average only, and only from results.
    pub fn optimum(&self) -> &Optimum {
        &self.optimum
    }
}

/// Rounding that a length may be off by.
const ROUNDING: f64 = 1e-9;

fn check_assumptions(
    agent: &AgentConfig,
    problem: &CheckedProblem,
    environment: &Environment,
) -> Result<(), Error> {
    if !agent.takes_features() && environment.actions_change() {
        return Err(Error::invalid(
            "kind",
            agent.kind(),
            "it chooses among named arms, and here other actions come in every round: use `oplb`, or another linear agent",
        ));
    }
    if environment.problem.context.is_some() {
        return check_per_arm(agent, environment);
    }
    let is_bent = environment.link == Link::Logistic;
    let (norm, bound) = agent.assumed_norms(&environment.problem);
    if let Some(norm) = norm
        && environment.longest > norm * (1.0 + ROUNDING)
    {
        let allowed = format!(
            "feature vectors here are up to {} long",
            environment.longest
        );
        return Err(Error::invalid("norm", norm, allowed));
    }
    let Some(bound) = bound else { return Ok(()) };
    let signals = std::iter::once(("the reward".to_string(), problem.reward.unit()))
        .chain((problem.guardrails.iter()).map(|g| (format!("`{}`", g.name), g.signal.unit())));
    for (parameter, (name, unit)) in environment.parameters.iter().zip(signals) {
        // S of an agent without the link bounds something else, which is not known.
        let unit = if is_bent { 1.0 } else { unit };
        if is_bent && !is_logistic(agent) {
            continue;
        }
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

/// Refuses agents without parameters by arm, a floor, which is not evaluated here, and an S that is too small.
fn check_per_arm(agent: &AgentConfig, environment: &Environment) -> Result<(), Error> {
    if agent.model() != Model::PerArm {
        let allowed = "every arm has parameters of its own here, the safe one too: use `oplb` with \
                       `model = \"per_arm\"`";
        return Err(Error::invalid("kind", agent.kind(), allowed));
    }
    if agent.floor() > 0.0 {
        let allowed =
            "an environment with parameters by arm evaluates policies without a floor: omit it";
        return Err(Error::invalid("floor", agent.floor(), allowed));
    }
    let AgentConfig::Oplb(config) = agent else {
        return Ok(());
    };
    let s = config.parameter_norm.unwrap_or(0.0);
    let longest = environment.parameter_norm.unwrap_or(0.0);
    if is_logistic(agent) == (environment.link == Link::Logistic) && s < longest * (1.0 - ROUNDING)
    {
        let allowed = format!("some parameter is {longest:.6} long: declare at least that");
        return Err(Error::invalid("parameter_norm", s, allowed));
    }
    Ok(())
}

/// True for an agent that has a logistic link for all signals.
fn is_logistic(agent: &AgentConfig) -> bool {
    matches!(agent, AgentConfig::Oplb(config) if config.link == Link::Logistic)
}
