//! Optimistic policy search: the rule of S-OPS, and of MA-OPS, which first looks for a baseline of its own.

use banister::solve::{Lp, LpSolver};
use banister::toolkit::{broken, open_unit, positive};
use banister::{Error, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::descent::Descent;
use super::margin::LargestMargin;
use super::{ArmEvidence, ArmRival, Plan, Rule};
use crate::parameters::known_safe_costs;
use crate::saved::{part, to_part};

/// Choice of the policy that is then mixed with the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Update {
    /// Online mirror descent on estimated losses, as in the paper: for rewards that may change at will.
    #[default]
    Omd,
    /// LP(U; l), for rewards with fixed means: the doubly optimistic policy.
    Optimistic,
}

impl Update {
    /// Name in results of a kind with this update: the paper's is the kind itself.
    pub(super) fn label(self, kind: &str) -> String {
        match self {
            Self::Omd => kind.into(),
            Self::Optimistic => format!("{kind} optimistic"),
        }
    }
}

/// Parameters of the rule.
pub(super) struct Settings {
    pub update: Update,
    /// True for MA-OPS.
    pub search: bool,
    /// T, where the learning rates need it.
    pub horizon: Option<u64>,
    pub delta: f64,
    pub learning_rate: Option<f64>,
    pub exploration: Option<f64>,
}

impl Settings {
    /// Refuses rates that are none, and a missing horizon where the default rates need one.
    pub fn check(&self) -> Result<(), Error> {
        for (field, rate) in [
            ("learning_rate", self.learning_rate),
            ("exploration", self.exploration),
        ] {
            if let Some(rate) = rate {
                positive(field, rate)?;
            }
        }
        match self.horizon {
            None if self.update == Update::Omd && self.learning_rate.is_none() => {
                Err(Error::invalid(
                    "horizon",
                    "absent",
                    "its learning rate is for a known number of rounds: give it, or a `learning_rate`",
                ))
            }
            Some(0) => Err(Error::invalid("horizon", 0, "must be at least 1")),
            _ => Ok(()),
        }
    }

    /// η of the T − `since` rounds that are left: √(ln(8m|X|²KT/δ)/(|X|KT)), with |X| = 2, as the paper's layers
    /// of one decision are its first state and its last.
    fn rate(&self, evidence: &ArmEvidence, since: u64) -> f64 {
        self.learning_rate.unwrap_or_else(|| {
            let arms = evidence.arms() as f64;
            let rows = evidence.problem.guardrails.len().max(1) as f64;
            let rounds = self.horizon.unwrap_or(1).saturating_sub(since).max(1) as f64;
            (libm::log(32.0 * rows * arms * rounds / self.delta) / (2.0 * arms * rounds)).sqrt()
        })
    }
}

/// The agent of S-OPS, or of MA-OPS.
pub(super) fn rival(
    problem: &Problem,
    kind: &'static str,
    settings: Settings,
) -> Result<ArmRival, Error> {
    open_unit("delta", settings.delta)?;
    settings.check()?;
    ArmRival::new(problem, kind, settings.delta, |evidence| {
        known_safe_costs(kind, &evidence.problem)?;
        Ok(Ops::new(settings, evidence))
    })
}

/// Configuration of S-OPS or of MA-OPS: its kind, whether it searches, and what is said of its learning rate.
macro_rules! ops_config {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $search:literal, #[$rate:meta]) => {
        crate::config::config! {
            $(#[$doc])*
            $name, $kind, super::RuleOnArms<Self>;
            guarantee(EveryRound),
            delta,
            /// Choice of the policy that is then made safe: `omd`, the default, is the paper's mirror descent;
            /// `optimistic` is LP(U; l), for rewards with fixed means.
            update: super::Update = super::Update::Omd,
            /// T: the number of rounds that the learning rate is for; `omd` needs it or a `learning_rate`.
            horizon: Option<u64>,
            #[$rate]
            learning_rate: Option<f64>,
            /// γ, added to the probabilities that losses are divided by; by default η.
            exploration: Option<f64>,
            ;
            fn horizon(&mut self, _: bool) -> Option<&mut Option<u64>> {
                let needed = self.update == super::Update::Omd && self.learning_rate.is_none();
                needed.then_some(&mut self.horizon)
            }
            fn default_label(&self) -> String {
                self.update.label($kind)
            }
        }

        impl super::ArmConfig for $name {
            fn rival(&self, problem: &banister::Problem) -> Result<super::ArmRival, banister::Error> {
                let settings = super::ops::Settings {
                    update: self.update,
                    search: $search,
                    horizon: self.horizon,
                    delta: self.delta,
                    learning_rate: self.learning_rate,
                    exploration: self.exploration,
                };
                super::ops::rival(problem, $kind, settings)
            }
        }
    };
}
pub(super) use ops_config;

/// State that follows from the outcomes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Learned {
    /// π⋄, which is mixed in; none while MA-OPS searches.
    baseline: Vec<(usize, f64)>,
    /// Outcomes that the search took.
    since: u64,
    /// ln q̃, by arm.
    weights: Vec<f64>,
}

impl Learned {
    /// A copy without new memory.
    fn copy(&mut self, other: &Self) {
        self.baseline.clone_from(&other.baseline);
        self.since = other.since;
        self.weights.clone_from(&other.weights);
    }
}

pub(super) struct Ops {
    settings: Settings,
    learned: Learned,
    /// `learned` once the present round is planned: the search may end, weights are projected.
    now: Learned,
    plan: Plan,
    /// Outcomes at which `now` and `plan` were made.
    planned: Option<u64>,
    descent: Descent,
    solver: LpSolver,
    margin: LargestMargin,
}

impl Ops {
    pub fn new(settings: Settings, evidence: &ArmEvidence) -> Self {
        let (arms, guardrails) = (evidence.arms(), evidence.problem.guardrails.len());
        let mut baseline = Vec::with_capacity(arms);
        if !settings.search {
            baseline.push((evidence.safe(), 1.0));
        }
        let learned = Learned {
            baseline,
            since: 0,
            weights: vec![0.0; arms],
        };
        Self {
            settings,
            now: learned.clone(),
            learned,
            plan: Plan::new(arms, guardrails),
            planned: None,
            descent: Descent::new(arms, guardrails),
            solver: LpSolver::default(),
            margin: LargestMargin::new(arms, guardrails),
        }
    }

    /// Plans the present round, once.
    fn refresh(&mut self, evidence: &ArmEvidence) {
        if self.planned == Some(evidence.outcomes) {
            return;
        }
        self.planned = Some(evidence.outcomes);
        self.now.copy(&self.learned);
        if self.now.baseline.is_empty() && self.search(evidence) {
            return;
        }
        let bounds = &evidence.bounds;
        match self.settings.update {
            Update::Optimistic => {
                let lp = Lp {
                    reward: &bounds.reward_upper,
                    costs: &bounds.cost_lower,
                    thresholds: &bounds.thresholds,
                };
                // The safe arm's costs are known and within, so there is a policy.
                (self.plan).follow_bound(self.solver.solve(&lp, Some(bounds.safe)));
            }
            Update::Omd => {
                self.plan.play(bounds.safe);
                self.plan.policy.clear();
                if self.descent.project(&mut self.now.weights, bounds) {
                    self.plan.spread(&self.descent.policy);
                } else {
                    (self.plan.policy).extend_from_slice(&self.now.baseline);
                }
            }
        }
        self.plan.mix(&self.now.baseline, bounds);
    }

    /// A step of MA-OPS's search; false once it has its baseline: a policy with half of the largest margin that
    /// any may have.
    fn search(&mut self, evidence: &ArmEvidence) -> bool {
        let bounds = &evidence.bounds;
        let margin_of = |policy: &[(usize, f64)]| {
            let rows = std::iter::zip(&bounds.cost_upper, &bounds.thresholds);
            let margins = rows.map(|(upper, threshold)| {
                let cost: f64 = policy.iter().map(|&(arm, p)| p * upper[arm]).sum();
                threshold - cost.min(1.0)
            });
            margins.fold(f64::INFINITY, f64::min)
        };
        let safe = [(bounds.safe, 1.0)];
        let own = margin_of(&safe);
        // No margin exceeds 1.
        let mut possible = 1.0_f64;
        let tried = (0..evidence.arms()).any(|a| a != bounds.safe && evidence.pulls(a) > 0);
        if tried && 2.0 * own < possible {
            possible = self.margin.solve(bounds).min(1.0);
        }
        let found = if 2.0 * own >= possible {
            &safe[..]
        } else if tried && 2.0 * margin_of(&self.margin.policy) >= possible {
            &self.margin.policy
        } else {
            self.plan.play(bounds.safe);
            self.plan.policy.clear();
            if tried {
                self.plan.policy.extend_from_slice(&self.margin.policy);
            } else {
                let share = 1.0 / evidence.arms() as f64;
                (self.plan.policy).extend((0..evidence.arms()).map(|arm| (arm, share)));
            }
            self.plan.mix(&safe, bounds);
            return true;
        };
        self.now.baseline.extend_from_slice(found);
        self.now.since = evidence.outcomes;
        false
    }
}

impl Rule for Ops {
    fn plan(&mut self, evidence: &ArmEvidence, plan: &mut Plan) {
        self.refresh(evidence);
        plan.copy(&self.plan);
    }

    fn learn(&mut self, evidence: &ArmEvidence, arm: usize, reward: f64, _: &[f64]) {
        let descends = self.settings.update == Update::Omd;
        if !descends && !self.learned.baseline.is_empty() {
            return;
        }
        self.refresh(evidence);
        std::mem::swap(&mut self.learned, &mut self.now);
        if descends && !self.learned.baseline.is_empty() {
            let rate = self.settings.rate(evidence, self.learned.since);
            let exploration = self.settings.exploration.unwrap_or(rate);
            let loss = 1.0 - evidence.problem.reward.standardise(reward);
            let played = self.plan.policy.iter().find(|entry| entry.0 == arm);
            let probability = played.map_or(0.0, |entry| entry.1);
            self.learned.weights[arm] -= rate * loss / (probability + exploration);
        }
    }

    fn reset(&mut self) {
        self.solver.reset();
        self.planned = None;
    }

    fn save(&self) -> Result<Value, Error> {
        to_part(&self.learned)
    }

    fn restore(&mut self, evidence: &ArmEvidence, memory: &Value) -> Result<(), Error> {
        let learned: Learned = part("memory", memory)?;
        let arms = evidence.arms();
        let baseline = &learned.baseline;
        let bounds = &evidence.bounds;
        let is_policy = baseline.is_empty() && self.settings.search
            || baseline.windows(2).all(|pair| pair[0].0 < pair[1].0)
                && baseline.iter().all(|entry| entry.0 < arms && entry.1 > 0.0)
                && (baseline.iter().map(|entry| entry.1).sum::<f64>() - 1.0).abs() < 1e-9;
        let is_safe = || {
            let mut rows = std::iter::zip(&bounds.cost_upper, &bounds.thresholds);
            rows.all(|(upper, threshold)| {
                let cost: f64 = baseline.iter().map(|&(arm, p)| p * upper[arm]).sum();
                cost < *threshold
            })
        };
        if !is_policy || !is_safe() || learned.since > evidence.outcomes {
            return Err(broken(format!(
                "its baseline is {baseline:?} after {} outcomes",
                learned.since
            )));
        }
        if learned.weights.len() != arms || learned.weights.iter().any(|w| !w.is_finite()) {
            return Err(broken(format!("its weights are {:?}", learned.weights)));
        }
        self.learned = learned;
        Ok(())
    }
}
