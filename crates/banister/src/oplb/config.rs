//! Parameters of OPLB and their check.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Oplb, OplbPerArm};
use crate::agent::Agent;
use crate::config;
use crate::decision::Confidence;
use crate::error::{Error, positive};
use crate::guarantee::Guarantee;
use crate::interval::OPTIMISM_DELTA;
use crate::linear::{
    Link, Radius, Ridge, check_lambda, check_safe_costs, declared_norm, default_ridge,
};
use crate::monitor::{Assumption, MonitorConfig, epoch_share};
use crate::optimism::{Optimism, Planner, check_floor};
use crate::parameters::{LinearKeys, check_horizon, watched};
use crate::problem::{CheckedProblem, Model, Problem, REWARD, Signal};
use crate::safe_cost::{T_ZERO_HORIZON, UnknownSafeCost, check_relative};

/// Problem that is solved each round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Solver {
    /// An interval per action, then one linear program.
    #[default]
    Linearised,
    /// The paper's bounds on whole policies, solved to a certified gap.
    Exact,
}

/// Width of the confidence sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OplbRadius {
    /// The best of six bounds in every direction, each with a ridge λ_k = 16^k λ_0 of its own.
    Multiscale,
    /// One ellipsoid with radius R √(ln(det Σ/λ^d) + 2 ln(1/δ_s)) + √λ S.
    Logdet,
    /// One ellipsoid with radius R √(d ln((1 + (t−1)L²/λ)/δ_s)) + √λ S, as printed in the paper.
    Paper,
}

impl OplbRadius {
    /// Radius of the one ellipsoid; `multiscale` has none.
    fn single(self) -> Option<Radius> {
        match self {
            Self::Multiscale => None,
            Self::Logdet => Some(Radius::Logdet),
            Self::Paper => Some(Radius::Paper),
        }
    }
}

/// Treatment of a feature vector longer than `norm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LongFeatures {
    /// Refuse it with an error.
    #[default]
    Error,
    /// Shorten it to `norm`: the agent's features are the shortened ones.
    Clip,
}

config! {
    /// OPLB, the optimistic-pessimistic linear bandit: actions are feature vectors, and policies keep every
    /// guardrail in every round with probability 1 − `delta`.
    OplbConfig, "oplb";
    /// Name in results; made from the other keys by default.
    label,
    /// Parameters of named arms that share a context.
    #[serde(skip_serializing_if = "Model::is_shared")]
    model: Model = Model::default(),
    /// Map from ⟨x, parameter⟩ to the mean, for all signals; S then bounds the parameters of log-odds.
    #[serde(skip_serializing_if = "Link::is_identity")]
    link: Link = Link::default(),
    /// Links of single signals, by name: `reward`, or a guardrail's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    links: BTreeMap<String, Link> = BTreeMap::new(),
    /// Problem that is solved each round.
    solver: Solver = Solver::default(),
    /// Choice of optimism about the reward, by default `least`; `index` explores less and is as safe, without a bound
    /// on its regret; `exact` has the paper's own.
    optimism: Option<Optimism>,
    /// δ: probability with which any guardrail's bounds may ever fail; safety rests on them alone.
    delta,
    /// Probability with which the reward's bounds may ever fail, on which only the regret rests.
    optimism_delta: f64 = OPTIMISM_DELTA,
    /// Width of the confidence sets; by default `multiscale`, or `logdet` for `exact` and `paper` optimism.
    radius: Option<OplbRadius>,
    /// λ, the ridge; by default `norm`², or 1. Of `multiscale` radii λ_0, the smallest; by default a twentieth of
    /// `norm`², or of the largest squared length among the declared actions and the first one with an outcome.
    lambda: Option<f64>,
    /// S: every unknown parameter is at most this long, in units of its signal's range; to be
    /// declared, or √K where arms are their own features and means at most one range.
    parameter_norm: Option<f64>,
    /// L: every feature vector is at most this long; unchecked by default (`paper` radii need it).
    norm: Option<f64>,
    /// Treatment of feature vectors longer than `norm`.
    long_features: LongFeatures = LongFeatures::default(),
    /// Gap to which `exact` proves its policy best, relative to its value.
    relative_gap: f64 = 1e-3,
    /// Multiplications after which `exact` settles for a feasible policy and its proven gap.
    max_work: u64 = 200_000_000,
    /// T, needed by the T_0 rule.
    horizon: Option<u64>,
    /// Treatment of guardrails whose safe cost is unknown.
    unknown_safe_cost: UnknownSafeCost = UnknownSafeCost::default(),
    watched,
    /// Least probability of the safe action, by whose outcomes relative guardrails are watched.
    #[serde(skip_serializing_if = "crate::optimism::is_zero")]
    floor: f64 = 0.0,
    /// Multiplies every radius: below 1 it voids the guarantee, for negative controls.
    radius_scale: f64 = 1.0,
    ;
    fn default_label(&self) -> String {
        let mut words = Vec::new();
        if self.solver == Solver::Exact {
            words.push("exact");
        }
        match self.optimism {
            Some(optimism) if optimism != Optimism::Least && self.solver != Solver::Exact => {
                words.push(optimism.name());
            }
            _ => {}
        }
        match self.radius {
            Some(OplbRadius::Paper) => words.push("paper radius"),
            Some(OplbRadius::Logdet) if self.default_radius() != OplbRadius::Logdet => {
                words.push("logdet");
            }
            _ => {}
        }
        if self.model == Model::PerArm {
            words.push("per arm");
        }
        let logistic = |link: &Link| *link == Link::Logistic;
        if logistic(&self.link) || self.links.values().any(logistic) {
            words.push("logistic");
        }
        if words.is_empty() {
            "oplb".into()
        } else {
            format!("oplb ({})", words.join(", "))
        }
    }
    /// Radii scaled below 1 prove nothing.
    fn guarantee(&self) -> Guarantee {
        if self.radius_scale < 1.0 {
            Guarantee::Unsafe
        } else {
            Guarantee::EveryRound
        }
    }
    fn confidence(&self) -> Option<Confidence> {
        let proven = self.guarantee() == Guarantee::EveryRound;
        let other = (self.optimism != Some(Optimism::Index)).then_some(self.optimism_delta);
        proven.then(|| Confidence::new(self.delta, other))
    }
    fn takes_features(&self) -> bool {
        true
    }
    fn horizon(&mut self, unknown: bool) -> Option<&mut Option<u64>> {
        self.needs_horizon(unknown).then_some(&mut self.horizon)
    }
    fn model(&self) -> crate::problem::Model {
        self.model
    }
    fn linear(&mut self) -> Option<LinearKeys<'_>> {
        let default = self.default_lambda();
        Some(LinearKeys {
            lambda: default.map(|default| (&mut self.lambda, default)),
            parameter_norm: &mut self.parameter_norm,
            norm: self.norm,
        })
    }
    fn floor(&self) -> f64 {
        self.floor
    }
    fn build(&self, problem: &Problem) -> Result<Box<dyn Agent>, Error> {
        Ok(match self.model {
            Model::Shared => Box::new(Oplb::new(problem, self)?),
            Model::PerArm => Box::new(OplbPerArm::new(problem, self)?),
        })
    }
    fn restore(&self, json: &str) -> Result<Box<dyn Agent>, Error> {
        Ok(match self.model {
            Model::Shared => Box::new(Oplb::restore(json)?),
            Model::PerArm => Box::new(OplbPerArm::restore(json)?),
        })
    }
}

/// Checked parameters, with what follows from the problem.
#[derive(Debug, Clone)]
pub(crate) struct CheckedOplb {
    pub config: OplbConfig,
    pub optimism: Optimism,
    /// Formula of one ellipsoid; without it radii are `multiscale`.
    pub single: Option<Radius>,
    pub ridge: Ridge,
    /// L, infinite if undeclared.
    pub norm: f64,
    /// S, the bound on the length of parameters.
    pub parameter_norm: f64,
    /// Links of the reward and of every guardrail's signal.
    pub links: Vec<Link>,
    /// Events that δ is shared by.
    events: usize,
    /// ln(1/δ_s) of the reward, and of every cost.
    log_levels: [f64; 2],
    pub monitor: MonitorConfig,
}

impl CheckedOplb {
    /// δ_s of a cost in an epoch, counted from 0.
    pub(crate) fn level_in(&self, epoch: u32) -> f64 {
        let share = self.share_in(epoch);
        self.config.delta * share / self.events as f64
    }

    /// δ of the test of the model in an epoch.
    pub(crate) fn fit_level(&self, epoch: u32) -> f64 {
        self.config.delta * epoch_share(self.monitor.on_breach, epoch)
    }

    /// Share of both budgets that an epoch has, counted from 0.
    pub(crate) fn share_in(&self, epoch: u32) -> f64 {
        epoch_share(self.monitor.on_breach, epoch)
    }

    /// Gives the confidence sets the level of an epoch.
    pub(crate) fn enter(&mut self, epoch: u32) {
        let share = self.share_in(epoch);
        let levels = [self.config.optimism_delta * share, self.level_in(epoch)];
        self.log_levels = levels.map(|level| libm::log(1.0 / level));
    }

    /// The planner: for `index`, `least` on indices in place of bounds.
    pub(crate) fn planner(&self) -> Planner {
        Planner::dense(match self.optimism {
            Optimism::Index => Optimism::Least,
            other => other,
        })
    }

    /// The assumption about means, in words.
    pub(crate) fn assumption(&self, of: &str) -> Assumption {
        let s = self.parameter_norm;
        let logistic = |link: &Link| *link == Link::Logistic;
        Assumption::declared(if self.links.iter().all(logistic) {
            format!(
                "log-odds of means are linear in {of}, with parameters of length at most S = {s}"
            )
        } else if self.links.iter().any(logistic) {
            format!(
                "means, or log-odds of means with a logistic link, are linear in {of}, with parameters of length \
                 at most S = {s}, in units of the range where there is no link"
            )
        } else {
            format!(
                "means are linear in {of}, with parameters of length at most S = {s} in units of their ranges"
            )
        })
    }

    /// ln(1/δ_s) of a signal.
    #[inline]
    pub(crate) fn log_level(&self, signal: usize) -> f64 {
        self.log_levels[usize::from(signal > 0)]
    }
}

impl OplbConfig {
    /// OPLB as the paper has it: bounds on policies, solved to a certificate.
    pub fn exact() -> Self {
        Self {
            solver: Solver::Exact,
            ..Self::default()
        }
    }

    /// True if it cannot run without a horizon; `unknown`: some safe cost is unknown.
    pub fn needs_horizon(&self, unknown: bool) -> bool {
        self.unknown_safe_cost.needs_horizon(unknown)
    }

    /// Bounds on whole policies need one ellipsoid per signal, and the paper's optimism its radius.
    fn default_radius(&self) -> OplbRadius {
        if self.solver == Solver::Exact || self.optimism == Some(Optimism::Paper) {
            OplbRadius::Logdet
        } else {
            OplbRadius::Multiscale
        }
    }

    /// Width of the confidence sets, also where it is not given.
    pub fn radius(&self) -> OplbRadius {
        self.radius.unwrap_or(self.default_radius())
    }

    /// λ where it is not given, if it follows from the other keys.
    pub fn default_lambda(&self) -> Option<f64> {
        match self.radius() {
            OplbRadius::Multiscale => self.norm.map(default_ridge),
            OplbRadius::Logdet | OplbRadius::Paper => Some(self.norm.map_or(1.0, |l| l * l)),
        }
    }

    /// Checks the parameters against the problem, whose features have dimension `d`.
    pub(crate) fn check(&self, problem: &CheckedProblem) -> Result<CheckedOplb, Error> {
        // Per arm, what is known of the safe action says nothing of the others.
        let monitor = self.monitor(self.model.is_shared())?;
        problem.refuse_drift(
            "means that are regressed on features are taken to stay: use arms or segments",
        )?;
        positive("relative_gap", self.relative_gap)?;
        positive("radius_scale", self.radius_scale)?;
        if self.max_work == 0 {
            return Err(Error::invalid("max_work", 0, "must be at least 1"));
        }
        self.lambda.map(|x| positive("lambda", x)).transpose()?;
        self.norm.map(|x| positive("norm", x)).transpose()?;
        let single = self.radius().single();
        if let Some(radius) = single {
            radius.check_norm(self.norm)?;
        }
        let unknown = problem.guardrails.iter().filter(|g| g.safe_cost.is_none());
        let unknown = unknown.count();
        let needed = self.needs_horizon(unknown > 0);
        check_horizon(self.horizon, needed.then(|| T_ZERO_HORIZON.into()))?;
        self.check_combination(problem)?;
        let lambda = self.lambda.or(self.default_lambda());
        if let Some(lambda) = lambda {
            check_lambda(lambda, self.norm)?;
        }
        let links = self.check_links(problem)?;
        let parameter_norm = declared_norm(self.parameter_norm, problem, &links)?;
        if self.model.is_shared() {
            check_safe_costs(parameter_norm, problem, &links)?;
        }
        // One set per cost, and beside it a scalar interval per unknown safe cost.
        let events = (problem.guardrails.len() + unknown).max(1);
        let optimism = match self.solver {
            Solver::Linearised => self.optimism.unwrap_or_default(),
            Solver::Exact => Optimism::Paper,
        };
        check_floor(self.floor, optimism)?;
        let mut checked = CheckedOplb {
            optimism,
            single,
            ridge: match (single, lambda) {
                (Some(_), lambda) => Ridge::Single(lambda.unwrap_or(1.0)),
                (None, lambda) => Ridge::Grid(lambda),
            },
            norm: self.norm.unwrap_or(f64::INFINITY),
            parameter_norm,
            links,
            events,
            log_levels: [0.0; 2],
            monitor,
            config: self.clone(),
        };
        checked.enter(0);
        Ok(checked)
    }

    /// Links of the reward and of every guardrail's signal.
    fn check_links(&self, problem: &CheckedProblem) -> Result<Vec<Link>, Error> {
        let guardrails = problem.guardrails.iter();
        let signals = std::iter::once((REWARD, &problem.reward))
            .chain(guardrails.map(|g| (g.name.as_str(), &g.signal)));
        let signals: Vec<(&str, &Signal)> = signals.collect();
        if let Some(name) = (self.links.keys()).find(|name| !signals.iter().any(|s| s.0 == *name)) {
            let allowed = "must be `reward` or the name of a guardrail";
            return Err(Error::invalid("links", name, allowed));
        }
        let mut links = Vec::new();
        for (name, signal) in signals {
            let (field, link) = match self.links.get(name) {
                Some(link) => (format!("links.{name}"), *link),
                None => ("link".into(), self.link),
            };
            let refuse = |allowed: &str| Err(Error::invalid(&field, "logistic", allowed));
            if link == Link::Logistic {
                if signal.sub_gaussian.is_some() {
                    let allowed = format!("`{name}` may leave its range: use `identity` for it");
                    return refuse(&allowed);
                }
                if self.solver == Solver::Exact || self.optimism == Some(Optimism::Paper) {
                    return refuse(
                        "`exact` and `paper` optimism bound whole policies, whose means are no longer linear: \
                         use solver `linearised`",
                    );
                }
                if self.unknown_safe_cost == UnknownSafeCost::Paper {
                    return refuse("the T_0 rule is for linear means: use `interval`");
                }
            }
            links.push(link);
        }
        Ok(links)
    }

    fn check_combination(&self, problem: &CheckedProblem) -> Result<(), Error> {
        match (self.solver, self.optimism) {
            (_, Some(Optimism::Published)) => {
                return Err(Error::invalid(
                    "optimism",
                    "published",
                    "it belongs to the published K-armed figures: use `least`, `index` or `paper`",
                ));
            }
            (Solver::Exact, Some(other)) if other != Optimism::Paper => {
                return Err(Error::invalid(
                    "optimism",
                    other.name(),
                    "`exact` has the paper's own optimism: leave it out, or use solver `linearised`",
                ));
            }
            _ => {}
        }
        if self.radius() == OplbRadius::Multiscale && self.default_radius() == OplbRadius::Logdet {
            return Err(Error::invalid(
                "radius",
                "multiscale",
                "`exact` and `paper` optimism need one ellipsoid per signal: use `logdet` or `paper`",
            ));
        }
        if self.model == Model::PerArm {
            self.check_per_arm()?;
        }
        let paper = self.solver == Solver::Linearised && self.optimism == Some(Optimism::Paper);
        check_relative(problem, paper, self.unknown_safe_cost)
    }

    /// Refuses what a parameter per arm has no proof for.
    fn check_per_arm(&self) -> Result<(), Error> {
        let refuse = |field: &str, value: &str| {
            let allowed = "with `model = \"per_arm\"` every arm has intervals of its own: omit it";
            Err(Error::invalid(field, value, allowed))
        };
        if self.solver == Solver::Exact {
            return refuse("solver", "exact");
        }
        if self.optimism == Some(Optimism::Paper) {
            return refuse("optimism", "paper");
        }
        if self.radius() != OplbRadius::Multiscale {
            return refuse("radius", "one ellipsoid");
        }
        if self.unknown_safe_cost == UnknownSafeCost::Paper {
            return refuse("unknown_safe_cost", "paper");
        }
        Ok(())
    }
}
