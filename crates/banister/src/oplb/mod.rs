//! OPLB, the optimistic-pessimistic linear bandit.
//!
//! **Problem.** Actions are feature vectors x in R^d, the same ones every round or others each time;
//! mean reward ⟨x, θ⟩ and mean costs ⟨x, μ_i⟩ with unknown parameters; the safe action x_0 keeps
//! every guardrail with margin. Every policy published must keep its expected costs within the
//! thresholds.
//! **Guarantee.** With probability 1 − δ, every policy in every round is feasible; with probability
//! 1 − δ − δ_o the regret is of order d√T/Δ too (theory: [`crate::theory`]).
//! **Cost per round.** Observing O(d²); deciding O(1) while the actions stay and little is learned, else O(Kd²)
//! and linear programs as in [`crate::Opb`] (`linearised`) or the certified search of
//! [`crate::solve::ConeSolver`] (`exact`); no allocation.
//! **Reference.** Pacchiano, Ghavamzadeh, Bartlett and Jiang, "Stochastic Bandits with Linear
//! Constraints", Algorithm 1, with the errata in `docs/`.
//!
//! A policy stays while the actions stay and little is learned: the confidence sets hold at all times at once, so one
//! that was feasible for all parameters in them is feasible still. It is solved for again when outcomes have grown by a
//! part, or when one of them said much about some direction.
//!
//! Files, in reading order: `config`, this page (the learner), `width` (of intervals), `linked` (signals with a link),
//! `bounds` (of all actions), `exact` (bounds on whole policies), `fit` (of the model), `inspect`; `instance` solves one
//! round given from a file. `per_arm/` is the learner with a parameter per arm ([`OplbPerArm`]).

mod bounds;
mod config;
mod exact;
mod fit;
mod inspect;
mod instance;
mod linked;
mod per_arm;
mod width;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::arm_estimate::{ArmEstimate, of_intervals};
use crate::decision::{Decision, Fallback};
use crate::error::{Error, broken};
use crate::estimate::{Changed, EstimateConfig, Estimates, EstimatesState};
use crate::event::{AlarmAnswer, Ask, Event, Findings};
use crate::fit::{Fit, FitState, Forecast};
use crate::guarded::{Guarded, Learner, Shell};
use crate::interval::{Interval, Level};
pub use crate::linear::Link;
pub use crate::linear::Radius;
use crate::linear::{
    Ends, Evidence, EvidenceState, Limit, Logit, LogitState, Setup, Tables, log_odds,
    restore_logits, with_zero_costs,
};
use crate::monitor::{Assumption, Next};
use crate::optimism::{LpPlan, check_safe_floor};
use crate::parameters::Registered as _;
use crate::problem::{CheckedProblem, Model, Problem};
use crate::round::{Outcome, Round};
use crate::safe_cost::{TZeroRule, TZeroState};
use config::CheckedOplb;
pub use config::{LongFeatures, OplbConfig, OplbRadius, Solver};
use exact::Exact;
pub use instance::{Ellipsoid, RoundAnswer, RoundInstance};
pub use per_arm::{ContextLearner, OplbPerArm};

/// Outcomes below which each one calls for another policy.
const FIRST: u64 = 200;
/// Part by which outcomes grow until the next solve.
const PART: f64 = 0.005;
/// Growth of ln det Σ until the next solve.
const GROWTH: f64 = 0.05;

/// The agent. See the module's page for what it promises.
///
/// ```
/// use banister::{Agent, Event, Guardrail, Oplb, OplbConfig, Outcome, Problem, Round};
///
/// let spend = Guardrail {
///     name: "spend".into(),
///     at_most: Some(0.5),
///     safe_cost: Some(0.1),
///     ..Default::default()
/// };
/// let problem = Problem::contextual(vec![1.0, 0.0], vec![spend]);
/// // No parameter is longer than one range of its signal.
/// let config = OplbConfig { parameter_norm: Some(1.0), ..Default::default() };
/// let mut agent = Oplb::new(&problem, &config)?;
/// // This round there are two actions beside the safe one, each with two features.
/// let actions = [[0.6, 0.8], [0.8, -0.6], [1.0, 0.0]];
/// let action = agent.decide(&Round::offering(actions.as_flattened()))?.draw(0.5);
/// agent.apply(&Event::Outcome(&Outcome::of_features(&actions[action], 1.0, &[0.0])))?;
/// # Ok::<(), banister::Error>(())
/// ```
pub type Oplb = Guarded<FeatureLearner>;

/// Learner on features that all actions share: one regression of every signal.
#[derive(Debug, Clone)]
pub struct FeatureLearner {
    evidence: Evidence,
    checked: CheckedOplb,
    /// Confidence sets of signals with a logistic link, in turned coordinates.
    logits: Vec<Option<Logit>>,
    /// Their view of the safe action.
    linked_safe: Vec<Ends>,
    /// Statistics of the safe action's own signals, where some safe cost is unknown.
    safe_estimates: Option<Estimates>,
    t_zero: Option<TZeroRule>,
    plan: LpPlan,
    exact: Exact,
    /// Outcomes and ln det Σ when the policy was solved for.
    solved_at: (u64, f64),
    /// Test of the model, where there is a guardrail.
    fit: Option<Box<Fit>>,
    /// Costs with a link of the outcome taken last, beside what was expected of them.
    forecasts: Vec<Forecast>,
}

/// All that outcomes have changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureLearnerState {
    evidence: EvidenceState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    safe: Option<EstimatesState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    t_zero: Option<TZeroState>,
    /// Confidence sets of signals with a logistic link, in the order of signals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    logits: Vec<LogitState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fit: Option<FitState>,
}

impl Oplb {
    /// Dimension d of the features.
    pub fn dimension(&self) -> usize {
        self.learner.evidence.dimension()
    }

    /// Publishes the policy for the arms declared ([`crate::Agent::decide`] without an error).
    pub fn decide_arms(&mut self) -> &Decision {
        // Arms were checked when they were declared or added.
        let _ = self.learner.enter(&mut self.shell, &Round::default());
        self.publish(None)
    }
}

impl Learner for FeatureLearner {
    type Config = OplbConfig;
    type State = FeatureLearnerState;
    const COPY: Option<fn(&Self) -> Self> = Some(Self::clone);

    fn new(problem: &Problem, config: &OplbConfig) -> Result<(Shell, Self), Error> {
        let problem = with_zero_costs(problem)?.check()?;
        let checked = config.check(&problem)?;
        if config.model == Model::PerArm {
            let allowed = "a parameter per arm makes another agent: `OplbPerArm`";
            return Err(Error::invalid("model", "per_arm", allowed));
        }
        let unknown = problem.guardrails.iter().any(|g| g.safe_cost.is_none());
        let plan = LpPlan::new(&problem, config.floor, checked.planner());
        let mut shell = Shell::watched(problem, checked.monitor, config.confidence());
        if let Some(horizon) = config.horizon.filter(|_| config.needs_horizon(unknown)) {
            shell.room = (horizon, "T_0");
        }
        let evidence = Evidence::new(Arc::clone(&shell.problem), setup(&checked))?;
        let problem = &shell.problem;
        let logit = |(signal, link): (usize, &Link)| {
            let guardrail = signal.checked_sub(1).map(|i| &problem.guardrails[i]);
            let logit = Logit::new(evidence.dimension(), checked.parameter_norm);
            (*link == Link::Logistic).then(|| match guardrail.and_then(|g| g.safe_cost) {
                Some(known) => logit.with_known(evidence.safe_turned().to_vec(), log_odds(known)),
                None => logit,
            })
        };
        let logits: Vec<Option<Logit>> = checked.links.iter().enumerate().map(logit).collect();
        let own = Self {
            linked_safe: vec![Ends::UNKNOWN; logits.len()],
            logits,
            safe_estimates: unknown
                .then(|| safe_estimates(problem, checked.level_in(0), config.alarm_delta)),
            t_zero: (config.needs_horizon(unknown))
                .then(|| TZeroRule::new(problem, config.horizon, false)),
            plan,
            exact: Exact::new(problem.guardrails.len()),
            solved_at: (0, 0.0),
            fit: checked.new_fit(&evidence),
            forecasts: vec![Forecast::default(); problem.guardrails.len()],
            evidence,
            checked,
        };
        Ok((shell, own))
    }

    fn config(&self) -> &OplbConfig {
        &self.checked.config
    }

    fn enter(&mut self, shell: &mut Shell, round: &Round) -> Result<(), Error> {
        if self.evidence.enter(shell, round)? {
            self.offered_anew();
            shell.stale = true;
        }
        Ok(())
    }

    fn plan(&mut self, shell: &mut Shell) -> Result<(), Fallback> {
        let safe = self.write_safe();
        let settled = self.t_zero.as_ref().is_none_or(|rule| rule.is_settled());
        if !settled || !self.plan.bounds.has_margin() {
            return Err(Fallback::MarginNotProven);
        }
        if !self.evidence.is_reliable() {
            return Err(Fallback::IllConditioned);
        }
        if !self.logits.iter().all(Option::is_some) {
            self.evidence.update_actions();
        }
        self.solved_at = self.learned();
        match self.checked.config.solver {
            Solver::Linearised => {
                self.write_bounds(&safe);
                let evidence = &self.evidence;
                (self.plan).publish(shell, |arms, column| evidence.number(arms, column))
            }
            Solver::Exact => self.plan_exact(shell, &safe),
        }
    }

    fn bound_safe(&mut self, shell: &mut Shell) -> f64 {
        let safe = self.write_safe();
        self.plan.write_safe_costs(shell);
        safe.upper_end()
    }

    fn check(&self, shell: &Shell, event: &Event) -> Result<(), Error> {
        match event {
            Event::Outcome(outcome) => self.evidence.check_outcome(shell, outcome),
            Event::ArmOffered(arm) => {
                arm.ranges.refuse()?;
                self.evidence.check_arm(arm.name, arm.features)
            }
            Event::Floors(floors) => check_safe_floor(floors, self.checked.optimism),
            Event::ArmChanged(_) | Event::Settled(_) => Err(event.refusal()),
            _ => Ok(()),
        }
    }

    fn learn(&mut self, shell: &mut Shell, outcome: &Outcome) -> Next {
        let Outcome { reward, costs, .. } = *outcome;
        let is_safe = self.evidence.observe(outcome);
        self.learn_linked(reward, costs);
        self.learn_safe(is_safe, reward, costs);
        shell.stale |= !self.still_serves();
        let next = shell.watch(outcome, is_safe);
        if is_safe {
            return self.test_safe(shell).or(next);
        }
        self.test_fit(shell, outcome).or(next)
    }

    fn forget(&mut self, shell: &mut Shell) {
        self.checked.enter(shell.monitor.epoch());
        self.clear_fit(shell);
        let problem = &shell.problem;
        if let Some(estimates) = &mut self.safe_estimates {
            let level = self.checked.level_in(shell.monitor.epoch());
            *estimates = safe_estimates(problem, level, self.checked.config.alarm_delta);
        }
        if let Some(rule) = &mut self.t_zero {
            *rule = TZeroRule::new(problem, self.checked.config.horizon, false);
        }
        self.evidence.forget();
        self.logits.iter_mut().flatten().for_each(Logit::clear);
        self.view_safe();
        self.offered_anew();
    }

    fn follow(&mut self, shell: &mut Shell, event: &Event) -> Next {
        match event {
            Event::ArmOffered(_) | Event::ArmRetired(_) | Event::Floors(_) => {
                self.evidence.arms_changed(&shell.arms);
                if let Some(fit) = &mut self.fit {
                    fit.add_arm(shell.arms.len() - 1);
                }
                self.plan.take_floors(shell, self.checked.config.floor);
            }
            Event::Answered(AlarmAnswer::Acknowledge) => self.clear_fit(shell),
            _ => {}
        }
        Next::Continue
    }

    fn ask(&mut self, shell: &mut Shell, ask: Ask) -> Findings {
        match ask {
            Ask::Estimates(_, actions) => Findings::each(actions, |a| self.estimate(shell, a)),
            Ask::Assumptions => Findings::Assumptions(vec![Assumption {
                watched: (self.fit.as_ref()).is_some_and(|fit| fit.is_whole()),
                ..self.checked.assumption("the features")
            }]),
            _ => Findings::Unknown,
        }
    }

    fn save(&mut self, _: &mut Shell) -> Result<FeatureLearnerState, Error> {
        self.plan.planner.forget();
        self.offered_anew();
        Ok(FeatureLearnerState {
            evidence: self.evidence.save(),
            safe: self.safe_estimates.as_ref().map(Estimates::state),
            t_zero: self.t_zero.as_ref().map(|rule| rule.state.clone()),
            logits: self.logits.iter().flatten().map(Logit::save).collect(),
            fit: self.fit.as_ref().map(|fit| fit.save()),
        })
    }

    fn restore(&mut self, shell: &mut Shell, state: FeatureLearnerState) -> Result<(), Error> {
        if let Some(fit) = &mut self.fit {
            fit.restore(state.fit)?;
        }
        self.evidence.restore(state.evidence)?;
        if !restore_logits(self.logits.iter_mut().flatten(), state.logits) {
            return Err(broken("`logits` does not match the parameters"));
        }
        match (&mut self.safe_estimates, state.safe) {
            (None, None) => {}
            (Some(own), Some(saved)) => own.restore(&shell.problem, &saved, None)?,
            _ => return Err(broken("`safe` does not match the problem")),
        }
        TZeroRule::restore(
            &mut self.t_zero,
            state.t_zero,
            shell.problem.guardrails.len(),
        )
        .ok_or_else(|| broken("`t_zero` does not match the parameters"))?;
        self.view_safe();
        self.offered_anew();
        Ok(())
    }
}

impl FeatureLearner {
    fn clear_fit(&mut self, shell: &Shell) {
        if let Some(fit) = &mut self.fit {
            fit.clear();
            fit.set_level(self.checked.fit_level(shell.monitor.epoch()));
        }
    }

    fn estimate(&mut self, shell: &Shell, action: usize) -> ArmEstimate {
        let column = self.evidence.column(&shell.arms, action);
        let signals = 0..=shell.problem.guardrails.len();
        let intervals: Vec<Interval> = signals
            .map(|signal| column.map_or(Interval::UNKNOWN, |column| self.interval(column, signal)))
            .collect();
        ArmEstimate {
            offered: column.is_some(),
            ..of_intervals(&shell.problem, &intervals)
        }
    }

    /// Outcomes, and ln det Σ.
    fn learned(&self) -> (u64, f64) {
        (
            self.evidence.outcomes,
            self.evidence.regression.log_dets()[1],
        )
    }

    /// True if the policy solved for last still serves.
    #[inline]
    fn still_serves(&self) -> bool {
        let ((n, log_det), (then, log_det_then)) = (self.learned(), self.solved_at);
        n >= FIRST && (n as f64) < (1.0 + PART) * then as f64 && log_det - log_det_then < GROWTH
    }

    /// Makes room for the set on offer, and forgets what helped with the last one.
    fn offered_anew(&mut self) {
        let actions = &self.evidence.actions;
        self.plan.resize(actions.count, actions.safe);
        self.exact.reset();
    }

    /// Takes an outcome into the safe action's own statistics, where its costs are unknown.
    fn learn_safe(&mut self, is_safe: bool, reward: f64, costs: &[f64]) {
        if let (true, Some(estimates)) = (is_safe, &mut self.safe_estimates) {
            estimates.observe(0, reward, costs, 0.0);
            if let Some(rule) = &mut self.t_zero {
                let (problem, pulls) = (&self.evidence.problem, estimates.pulls()[0]);
                rule.update(problem, pulls, |i| estimates.sum(0, i + 1));
            }
        }
    }

    /// Raises an alarm where the safe action's own outcomes contradict each other, or the regression: its mean has
    /// changed, or the linear model is wrong.
    fn test_safe(&mut self, shell: &mut Shell) -> Next {
        let Some(estimates) = &mut self.safe_estimates else {
            return Next::Continue;
        };
        let own = estimates.changed().filter(|own| own.endangers);
        let guardrails = shell.problem.guardrails.iter().enumerate();
        let mut unknown = guardrails.filter(|(_, g)| g.safe_cost.is_none());
        let crossed = |i: usize| {
            let (lower, upper) = self.safe_interval(i);
            lower > upper
        };
        let crossing = || {
            let (i, _) = unknown.find(|&(i, _)| crossed(i))?;
            let estimates = self.safe_estimates.as_ref()?;
            Some(Changed {
                signal: i + 1,
                guardrail: Some(i),
                outcomes: estimates.pulls()[0],
                mean: estimates.mean(0, i + 1).unwrap_or(0.0),
                endangers: true,
                drift: false,
            })
        };
        own.or_else(crossing).map_or(Next::Continue, |found| {
            shell.tell_change(shell.problem.declared.safe, None, &found)
        })
    }
}

/// Set-up of the regression from checked parameters.
fn setup(checked: &CheckedOplb) -> Setup {
    Setup {
        ridge: checked.ridge,
        limit: Limit {
            norm: checked.norm,
            clip: checked.config.long_features == LongFeatures::Clip,
            advice: "declare a larger one, or `long_features = \"clip\"`",
        },
        projected: true,
        // Exact policies are made from whitened features, intervals from their lengths alone.
        tables: match checked.config.solver {
            Solver::Linearised => Tables::Lengths,
            Solver::Exact => Tables::Whitened,
        },
    }
}

/// Scalar intervals for the safe action's own signals, each cost at level δ_s.
fn safe_estimates(problem: &CheckedProblem, delta: f64, alarm_delta: f64) -> Estimates {
    let unknown = problem.guardrails.iter().filter(|g| g.safe_cost.is_none());
    let level = Level::at(delta * unknown.count() as f64);
    let config = EstimateConfig {
        alarm_delta: Some(alarm_delta),
        ..EstimateConfig::at(level)
    };
    Estimates::of_safe(problem, &config)
}
