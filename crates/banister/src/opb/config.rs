//! Parameters of OPB, and the check that turns them into something runnable.

use super::ArmLearner;
use crate::config;
use crate::decision::Confidence;
use crate::error::{Error, finite, positive};
use crate::estimate::{EstimateConfig, LAZY};
use crate::guarantee::Guarantee;
use crate::interval::{Intervals, Level, OPTIMISM_DELTA};
use crate::monitor::{MonitorConfig, OnBreach};
use crate::optimism::{Optimism, check_floor};
use crate::parameters::Registered as _;
use crate::parameters::{check_horizon, watched};
use crate::problem::CheckedProblem;
use crate::safe_cost::{T_ZERO_HORIZON, UnknownSafeCost, check_relative};

config! {
    /// OPB, the optimistic-pessimistic bandit: K arms, policies whose expected costs keep every guardrail
    /// in every round with probability 1 − `delta`.
    OpbConfig, "opb", ArmLearner;
    /// Name in results; made from the other keys by default.
    label,
    /// Kind of confidence intervals; by default `mixture`, or `subgaussian` for sub-Gaussian signals.
    intervals: Option<Intervals>,
    /// Choice of optimism about the reward.
    optimism: Optimism = Optimism::Index,
    /// δ: probability with which any policy ever violates a guardrail.
    delta,
    /// δ_o: probability, beside δ, with which the regret bound of `least` may fail; bounds that only serve optimism
    /// share it.
    optimism_delta: f64 = OPTIMISM_DELTA,
    /// T, needed by `paper` and `published` intervals and by the T_0 rule.
    horizon: Option<u64>,
    /// Intersects intervals over time; by default anytime ones only.
    intersect: Option<bool>,
    /// ρ of `subgaussian`: they are tightest around n = ρ·(a small multiple).
    rho: f64 = 1.0,
    /// Growth ε of an arm's outcomes after which its intervals and the policy are computed again, by
    /// default 0.005 (after each of the first 200 outcomes of an arm); 0 computes after every outcome, as
    /// intervals with a horizon always do.
    lazy: Option<f64>,
    /// Treatment of guardrails whose safe cost is unknown.
    unknown_safe_cost: UnknownSafeCost = UnknownSafeCost::default(),
    watched,
    /// Least probability of the safe action, by whose outcomes relative guardrails are watched.
    #[serde(skip_serializing_if = "crate::optimism::is_zero")]
    floor: f64 = 0.0,
    /// Forces the radii's log term: voids the guarantee, for negative controls.
    log_term: Option<f64>,
    ;
    fn default_label(&self) -> String {
        let intervals = self.intervals.map_or("auto", Intervals::name);
        match (self.intervals, self.optimism) {
            (None, Optimism::Index) => "opb".into(),
            (Some(Intervals::Paper), Optimism::Paper) => "opb (paper)".into(),
            (Some(Intervals::Published), _) => "opb (published)".into(),
            _ => format!("opb ({intervals}, {})", self.optimism.name()),
        }
    }
    /// A forced log term, and the settings behind the published figures, prove nothing.
    fn guarantee(&self) -> Guarantee {
        let void = self.log_term.is_some()
            || self.intervals == Some(Intervals::Published)
            || self.optimism == Optimism::Published;
        if void {
            Guarantee::Unsafe
        } else {
            Guarantee::EveryRound
        }
    }
    fn confidence(&self) -> Option<Confidence> {
        let proven = self.guarantee() == Guarantee::EveryRound;
        let other = (self.optimism != Optimism::Index).then_some(self.optimism_delta);
        proven.then(|| Confidence::new(self.delta, other))
    }
    fn horizon(&mut self, unknown: bool) -> Option<&mut Option<u64>> {
        self.needs_horizon(unknown).then_some(&mut self.horizon)
    }
    fn floor(&self) -> f64 {
        self.floor
    }
}

/// Checked parameters, with what follows from the problem.
#[derive(Debug, Clone)]
pub(crate) struct CheckedOpb {
    pub config: OpbConfig,
    level: Level,
    pub monitor: MonitorConfig,
}

impl CheckedOpb {
    /// Parameters of the estimates.
    pub(crate) fn estimates(&self) -> EstimateConfig {
        EstimateConfig {
            level: self.level,
            intervals: self.config.intervals,
            intersect: self.config.intersect,
            lazy: self.config.lazy.unwrap_or(LAZY),
            groups: 1,
            alarm_delta: Some(self.config.alarm_delta),
            moving: true,
        }
    }
}

impl OpbConfig {
    /// The paper's own OPB, for a horizon: `paper` intervals, `paper` optimism.
    pub fn paper(horizon: u64) -> Self {
        Self {
            intervals: Some(Intervals::Paper),
            optimism: Optimism::Paper,
            horizon: Some(horizon),
            ..Self::default()
        }
    }

    /// The settings behind the published figures.
    pub fn published(horizon: u64) -> Self {
        Self {
            intervals: Some(Intervals::Published),
            optimism: Optimism::Published,
            horizon: Some(horizon),
            ..Self::default()
        }
    }

    /// True if it cannot run without a horizon; `unknown`: some safe cost is unknown.
    pub fn needs_horizon(&self, unknown: bool) -> bool {
        let anytime = self.intervals.is_none_or(Intervals::is_anytime);
        !anytime || self.unknown_safe_cost.needs_horizon(unknown)
    }

    /// Checks the parameters against the problem.
    pub(crate) fn check(&self, problem: &CheckedProblem) -> Result<CheckedOpb, Error> {
        let mut monitor = self.monitor(false)?;
        monitor.relearns_by_place = true;
        if self.on_breach.is_none() && self.guarantee() == Guarantee::EveryRound {
            monitor.on_breach = OnBreach::Relearn;
        }
        positive("rho", self.rho)?;
        if let Some(kind) = self.intervals.filter(|&kind| kind != Intervals::Mixture) {
            let why = format!(
                "`{}` intervals are for means that stay: use `mixture`",
                kind.name()
            );
            problem.refuse_drift(&why)?;
        }
        let suits = self.intervals.is_none_or(Intervals::is_anytime)
            && self.unknown_safe_cost != UnknownSafeCost::Paper;
        if !suits {
            problem.refuse_weights(
                "weighted sums need anytime intervals and no T_0: use the defaults",
            )?;
            problem.refuse_relative_ratios()?;
        }
        if let Some(lazy) = self.lazy
            && !(0.0..=1.0).contains(&finite("lazy", lazy)?)
        {
            let allowed = "must lie between 0 (compute after every outcome) and 1";
            return Err(Error::invalid("lazy", lazy, allowed));
        }
        self.log_term.map(|x| positive("log_term", x)).transpose()?;
        check_floor(self.floor, self.optimism)?;
        self.check_horizon(problem)?;
        self.check_combination(problem)?;
        let sums = problem.guardrails.iter().any(|own| own.over.is_some());
        if sums
            && (self.optimism != Optimism::Index
                || self.unknown_safe_cost == UnknownSafeCost::Paper)
        {
            let allowed = "guardrails over sums of decisions need `index` optimism, and no T_0: use the defaults";
            return Err(Error::invalid("optimism", self.optimism.name(), allowed));
        }
        Ok(CheckedOpb {
            config: self.clone(),
            monitor,
            level: Level {
                // Sums have the other half.
                delta: self.delta * if sums { 0.5 } else { 1.0 },
                optimism_delta: self.optimism_delta,
                horizon: self.horizon,
                log_term: self.log_term,
                rho: self.rho,
            },
        })
    }

    fn check_horizon(&self, problem: &CheckedProblem) -> Result<(), Error> {
        let unknown = problem.guardrails.iter().any(|g| g.safe_cost.is_none());
        let why = || match self.intervals.filter(|kind| !kind.is_anytime()) {
            Some(kind) if !self.unknown_safe_cost.needs_horizon(unknown) => format!(
                "`{}` intervals need a horizon; `mixture`, `kl` and `subgaussian` do not",
                kind.name()
            ),
            _ => T_ZERO_HORIZON.into(),
        };
        check_horizon(self.horizon, self.needs_horizon(unknown).then(why))
    }

    fn check_combination(&self, problem: &CheckedProblem) -> Result<(), Error> {
        if self.intervals == Some(Intervals::Published) || self.optimism == Optimism::Published {
            let fits = self.intervals == Some(Intervals::Published)
                && self.optimism == Optimism::Published
                && problem.guardrails.len() == 1
                && problem.guardrails[0].safe_cost.is_some();
            if !fits {
                return Err(Error::invalid(
                    "intervals",
                    "published",
                    "`published` intervals and optimism go together, with one guardrail whose safe cost is known",
                ));
            }
        }
        if let Some(kind) = self.intervals.filter(|kind| kind.needs_bounded()) {
            for (name, signal) in problem.each_signal() {
                if signal.sub_gaussian.is_some() {
                    let allowed = format!(
                        "`{name}` is sub-Gaussian, these intervals need a bounded signal: use `subgaussian`"
                    );
                    return Err(Error::invalid("intervals", kind.name(), allowed));
                }
            }
        }
        let paper = self.optimism == Optimism::Paper;
        check_relative(problem, paper, self.unknown_safe_cost)?;
        if paper && self.intervals != Some(Intervals::Paper) {
            return Err(Error::invalid(
                "optimism",
                "paper",
                "the paper's bonus is for symmetric radii: use it with `paper` intervals",
            ));
        }
        Ok(())
    }
}
