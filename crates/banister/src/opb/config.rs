//! Parameters of OPB, and the check that turns them into something runnable.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decision::Confidence;
use crate::error::{Error, finite, open_unit, positive};
use crate::estimate::{EstimateConfig, LAZY};
use crate::guarantee::Guarantee;
use crate::interval::{Intervals, Level, OPTIMISM_DELTA};
use crate::monitor::{
    MonitorConfig, OnBreach, RUN_LENGTH, check_run_length, epoch_share, is_usual,
};
use crate::optimism::{Optimism, check_floor, is_zero};
use crate::problem::CheckedProblem;
use crate::safe_cost::{UnknownSafeCost, check_relative};

/// OPB, the optimistic-pessimistic bandit: K arms, policies whose expected costs keep every guardrail
/// in every round with probability 1 − `delta`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OpbConfig {
    /// Name in results; made from the other keys by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Kind of confidence intervals; by default `mixture`, or `subgaussian` for sub-Gaussian signals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Intervals>,
    /// Choice of optimism about the reward.
    pub optimism: Optimism,
    /// δ: probability with which any policy ever violates a guardrail.
    pub delta: f64,
    /// δ_o: probability, beside δ, with which the regret bound of `least` may fail; bounds that only serve optimism
    /// share it.
    pub optimism_delta: f64,
    /// T, needed by `paper` and `published` intervals and by the T_0 rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon: Option<u64>,
    /// Intersects intervals over time; by default anytime ones only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intersect: Option<bool>,
    /// ρ of `subgaussian`: they are tightest around n = ρ·(a small multiple).
    pub rho: f64,
    /// Growth ε of an arm's outcomes after which its intervals and the policy are computed again, by
    /// default 0.005 (after each of the first 200 outcomes of an arm); 0 computes after every outcome, as
    /// intervals with a horizon always do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lazy: Option<f64>,
    /// Treatment of guardrails whose safe cost is unknown.
    pub unknown_safe_cost: UnknownSafeCost,
    /// Reaction to an alarm; by default `safe`, or `alert` where the parameters void the guarantee.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_breach: Option<OnBreach>,
    /// Outcomes between two false alarms of a breach, on average at least.
    #[serde(skip_serializing_if = "is_usual")]
    pub run_length: f64,
    /// Least probability of the safe action, by whose outcomes relative guardrails are watched.
    #[serde(skip_serializing_if = "is_zero")]
    pub floor: f64,
    /// Forces the radii's log term: voids the guarantee, for negative controls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_term: Option<f64>,
}

impl Default for OpbConfig {
    fn default() -> Self {
        Self {
            label: None,
            intervals: None,
            optimism: Optimism::Index,
            delta: 0.01,
            optimism_delta: OPTIMISM_DELTA,
            horizon: None,
            intersect: None,
            rho: 1.0,
            lazy: None,
            unknown_safe_cost: UnknownSafeCost::default(),
            on_breach: None,
            run_length: RUN_LENGTH,
            floor: 0.0,
            log_term: None,
        }
    }
}

/// Checked parameters, with what follows from the problem.
#[derive(Debug, Clone)]
pub(crate) struct CheckedOpb {
    pub config: OpbConfig,
    /// The level of the first epoch.
    level: Level,
    pub monitor: MonitorConfig,
}

impl CheckedOpb {
    /// Parameters of the estimates in an epoch, counted from 0.
    pub(crate) fn estimates_in(&self, epoch: u32) -> EstimateConfig {
        let share = epoch_share(self.monitor.on_breach, epoch);
        EstimateConfig {
            level: Level {
                delta: self.level.delta * share,
                optimism_delta: self.level.optimism_delta * share,
                ..self.level
            },
            intervals: self.config.intervals,
            intersect: self.config.intersect,
            lazy: self.config.lazy.unwrap_or(LAZY),
            groups: 1,
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

    /// The promise that follows from the parameters: a forced log term, and the settings behind the
    /// published figures, prove nothing.
    pub fn guarantee(&self) -> Guarantee {
        let void = self.log_term.is_some()
            || self.intervals == Some(Intervals::Published)
            || self.optimism == Optimism::Published;
        if void {
            Guarantee::Unsafe
        } else {
            Guarantee::EveryRound
        }
    }

    /// Probabilities of its promises; `None` where the parameters void them.
    pub fn confidence(&self) -> Option<Confidence> {
        let proven = self.guarantee() == Guarantee::EveryRound;
        let other = (self.optimism != Optimism::Index).then_some(self.optimism_delta);
        proven.then(|| Confidence::new(self.delta, other))
    }

    /// Reaction to an alarm, also where it is not given.
    pub fn on_breach(&self) -> OnBreach {
        self.on_breach.unwrap_or(self.guarantee().on_breach())
    }

    /// True if it cannot run without a horizon; `unknown`: some safe cost is unknown.
    pub fn needs_horizon(&self, unknown: bool) -> bool {
        let anytime = self.intervals.is_none_or(Intervals::is_anytime);
        !anytime || (unknown && self.unknown_safe_cost == UnknownSafeCost::Paper)
    }

    /// Name in results without a label.
    pub fn default_label(&self) -> String {
        let intervals = self.intervals.map_or("auto", Intervals::name);
        match (self.intervals, self.optimism) {
            (None, Optimism::Index) => "opb".into(),
            (Some(Intervals::Paper), Optimism::Paper) => "opb (paper)".into(),
            (Some(Intervals::Published), _) => "opb (published)".into(),
            _ => format!("opb ({intervals}, {})", self.optimism.name()),
        }
    }

    /// Checks the parameters against the problem.
    pub(crate) fn check(&self, problem: &CheckedProblem) -> Result<CheckedOpb, Error> {
        open_unit("delta", self.delta)?;
        open_unit("optimism_delta", self.optimism_delta)?;
        positive("rho", self.rho)?;
        if let Some(lazy) = self.lazy
            && !(0.0..=1.0).contains(&finite("lazy", lazy)?)
        {
            let allowed = "must lie between 0 (compute after every outcome) and 1";
            return Err(Error::invalid("lazy", lazy, allowed));
        }
        if let Some(x) = self.log_term {
            positive("log_term", x)?;
        }
        check_run_length(self.run_length)?;
        check_floor(self.floor, self.optimism)?;
        self.check_horizon(problem)?;
        self.check_combination(problem)?;
        Ok(CheckedOpb {
            config: self.clone(),
            monitor: MonitorConfig {
                on_breach: self.on_breach(),
                run_length: self.run_length,
                delta: self.delta,
                exact_safe_cost: false,
            },
            level: Level {
                delta: self.delta,
                optimism_delta: self.optimism_delta,
                horizon: self.horizon,
                log_term: self.log_term,
                rho: self.rho,
            },
        })
    }

    fn check_horizon(&self, problem: &CheckedProblem) -> Result<(), Error> {
        if self.horizon == Some(0) {
            return Err(Error::invalid("horizon", 0, "must be at least 1"));
        }
        let unknown = problem.guardrails.iter().any(|g| g.safe_cost.is_none());
        if self.horizon.is_none() && self.needs_horizon(unknown) {
            let t0 = unknown && self.unknown_safe_cost == UnknownSafeCost::Paper;
            let who = if t0 {
                "the paper's T_0 rule needs a horizon".to_string()
            } else {
                let name = self.intervals.map_or("", Intervals::name);
                format!(
                    "`{name}` intervals need a horizon; `mixture`, `kl` and `subgaussian` do not"
                )
            };
            return Err(Error::invalid("horizon", "absent", who));
        }
        Ok(())
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
            let signals = std::iter::once(("reward", &problem.reward)).chain(
                problem
                    .guardrails
                    .iter()
                    .map(|g| (g.name.as_str(), &g.signal)),
            );
            for (name, signal) in signals {
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
