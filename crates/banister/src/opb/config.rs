//! Parameters of OPB, and the check that turns them into something runnable.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, open_unit, positive};
use crate::guarantee::Guarantee;
use crate::interval::{Intervals, Level};
use crate::monitor::{
    MonitorConfig, OnBreach, RUN_LENGTH, check_run_length, epoch_share, is_usual,
};
use crate::optimism::Optimism;
use crate::optimism::{check_floor, is_zero};
use crate::problem::{CheckedProblem, Signal};
use crate::safe_cost::{UnknownSafeCost, check_relative};

/// OPB, the optimistic-pessimistic bandit: K arms, policies whose expected costs keep every guardrail
/// in every round with probability 1 − `delta`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OpbConfig {
    /// Name in results; made from the other keys by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Kind of confidence intervals; by default `kl`, or `subgaussian` for sub-Gaussian signals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Intervals>,
    /// Choice of optimism about the reward.
    pub optimism: Optimism,
    /// δ: probability with which any guarantee may fail.
    pub delta: f64,
    /// T, needed by `hoeffding`, `paper` and `published` intervals and by the T_0 rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon: Option<u64>,
    /// Intersects intervals over time; by default anytime ones only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intersect: Option<bool>,
    /// ρ of `subgaussian`: they are tightest around n = ρ·(a small multiple).
    pub rho: f64,
    /// Arms the union bound allows for over the agent's life; by default the arms given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_arms: Option<usize>,
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
            optimism: Optimism::default(),
            delta: 0.01,
            horizon: None,
            intersect: None,
            rho: 1.0,
            max_arms: None,
            unknown_safe_cost: UnknownSafeCost::default(),
            on_breach: None,
            run_length: RUN_LENGTH,
            floor: 0.0,
            log_term: None,
        }
    }
}

/// Far more arms than fit in memory, and few enough that counting their signals cannot overflow.
const MAX_ARMS: usize = 1_000_000_000;

/// Checked parameters, with what follows from the problem.
#[derive(Debug, Clone)]
pub(crate) struct CheckedOpb {
    pub config: OpbConfig,
    /// The level of the first epoch.
    pub level: Level,
    pub max_arms: usize,
    pub monitor: MonitorConfig,
}

impl CheckedOpb {
    /// The level of an epoch, counted from 0.
    pub(crate) fn level_in(&self, epoch: u32) -> Level {
        let share = epoch_share(self.monitor.on_breach, epoch);
        Level {
            delta: self.config.delta * share,
            ..self.level
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
            (None, Optimism::Least) => "opb".into(),
            (Some(Intervals::Paper), Optimism::Paper) => "opb (paper)".into(),
            (Some(Intervals::Published), _) => "opb (published)".into(),
            _ => format!("opb ({intervals}, {})", self.optimism.name()),
        }
    }

    /// The interval that a signal gets.
    pub(crate) fn intervals_for(&self, signal: &Signal) -> Intervals {
        self.intervals.unwrap_or_else(|| Intervals::suiting(signal))
    }

    /// Checks the parameters against the problem.
    pub(crate) fn check(&self, problem: &CheckedProblem) -> Result<CheckedOpb, Error> {
        open_unit("delta", self.delta)?;
        positive("rho", self.rho)?;
        if let Some(x) = self.log_term {
            positive("log_term", x)?;
        }
        check_run_length(self.run_length)?;
        check_floor(self.floor, self.optimism)?;
        let arms = problem.declared.arms.len();
        let max_arms = self.max_arms.unwrap_or(arms);
        if max_arms < arms {
            let allowed = format!("must be at least the {arms} arms given");
            return Err(Error::invalid("max_arms", max_arms, allowed));
        }
        if max_arms > MAX_ARMS {
            let allowed = format!("must be at most {MAX_ARMS}");
            return Err(Error::invalid("max_arms", max_arms, allowed));
        }
        self.check_horizon(problem)?;
        self.check_combination(problem)?;
        let costs: usize = problem
            .guardrails
            .iter()
            .map(|g| max_arms - usize::from(g.safe_cost.is_some()))
            .sum();
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
                signals: max_arms + costs,
                arms: max_arms,
                horizon: self.horizon,
                log_term: self.log_term,
                rho: self.rho,
            },
            max_arms,
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
                    "`{name}` intervals need a horizon; `kl`, `subgaussian` and `bernstein` do not"
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
                        "`{name}` is sub-Gaussian, these intervals need a bounded signal: use `subgaussian` or `hoeffding`"
                    );
                    return Err(Error::invalid("intervals", kind.name(), allowed));
                }
            }
        }
        let paper = self.optimism == Optimism::Paper;
        check_relative(problem, paper, self.unknown_safe_cost)?;
        let symmetric = matches!(
            self.intervals,
            Some(Intervals::Paper | Intervals::Hoeffding)
        );
        if self.optimism == Optimism::Paper && !symmetric {
            return Err(Error::invalid(
                "optimism",
                "paper",
                "the paper's bonus is for symmetric radii: use it with `paper` or `hoeffding` intervals",
            ));
        }
        Ok(())
    }
}
