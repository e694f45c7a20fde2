//! OPLB with a parameter per arm.
//!
//! **Problem.** K named arms and a context x in R^d that comes before every decision; the mean reward of arm a is
//! ⟨x, θ_a⟩ and its mean costs are ⟨x, μ_{a,i}⟩ (or σ of that, with a link), *the safe arm's too*: control may sell more in
//! the evening. Every policy must keep its expected costs within the thresholds in its context.
//! **Guarantee.** With probability 1 − δ, every policy in every round is feasible in its context, and so overall: each
//! arm has confidence sets of its own, and arms share δ in the order of their first pull ([`crate::interval`]). Where the
//! safe arm's own bound does not prove a margin in a context, the policy is the safe arm.
//! **Cost per round.** Observing O(d²); deciding O(Kd²) and linear programs as in [`crate::Opb`].
//!
//! Files: `arm` (the sets of one arm), and this page.

mod arm;

use crate::path::Within;
use serde::{Deserialize, Serialize};

use super::config::OplbConfig;
use crate::arm_estimate::{ArmEstimate, Estimate};
use crate::decision::Fallback;
use crate::error::{Error, broken};
use crate::event::{AlarmAnswer, Ask, Event, Findings};
use crate::fit::Comparison;
use crate::guarded::{Guarded, Learner, Shell};
use crate::interval::{DeltaBudget, Interval};
use crate::linear::{Ends, Link};
use crate::monitor::{Assumption, Next};
use crate::optimism::{LpPlan, Optimism, check_safe_floor};
use crate::parameters::Registered as _;
use crate::problem::{Direction, Model, Problem, check_vector};
use crate::round::{Choice, Outcome, Round};
use arm::{ArmSets, ArmSetsState, Common};

/// The agent. See the module's page for what it promises.
///
/// ```
/// use banister::{Agent, Choice, Event, Guardrail, Model, OplbConfig, OplbPerArm, Outcome, Problem, Round};
///
/// let sales = Guardrail {
///     name: "sales".into(),
///     at_least: Some(0.9),
///     relative: true, // in every context at least 90% of what control sells there
///     ..Default::default()
/// };
/// let problem = Problem {
///     arms: vec!["control".into(), "bold".into()],
///     context: Some(2),
///     guardrails: vec![sales],
///     ..Default::default()
/// };
/// let config = OplbConfig {
///     model: Model::PerArm,
///     parameter_norm: Some(1.0),
///     ..Default::default()
/// };
/// let mut agent = OplbPerArm::new(&problem, &config)?;
/// let evening = [1.0, 0.3]; // a constant, and the hour
/// let arm = agent.decide(&Round::in_context(&evening))?.draw(0.5);
/// agent.apply(&Event::Outcome(&Outcome {
///     choice: Choice::Context(&evening),
///     ..Outcome::of_arm(arm, 1.0, &[1.0])
/// }))?;
/// # Ok::<(), banister::Error>(())
/// ```
pub type OplbPerArm = Guarded<ContextLearner>;

/// Learner on arms in contexts, each with parameters of its own.
#[derive(Debug, Clone)]
pub struct ContextLearner {
    common: Common,
    /// The sets of all arms, retired ones too.
    arms: Vec<ArmSets>,
    /// Budgets of δ_o and δ, which arms share in the order of their first pull.
    budgets: [DeltaBudget; 2],
    /// The context of the round as it counts; none before the first one.
    context: Option<Vec<f64>>,
    plan: LpPlan,
    /// Room for a context, for a whitened vector, and for the ends of signals.
    observed: Vec<f64>,
    room: Vec<f64>,
    ends: [Vec<Ends>; 2],
    /// Half-widths of the indices of the arm written last.
    indices: Vec<f64>,
}

/// All that outcomes have changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextLearnerState {
    arms: Vec<ArmSetsState>,
}

impl Learner for ContextLearner {
    type Config = OplbConfig;
    type State = ContextLearnerState;
    const COPY: Option<fn(&Self) -> Self> = Some(Self::clone);

    fn new(problem: &Problem, config: &OplbConfig) -> Result<(Shell, Self), Error> {
        let problem = problem.check()?;
        problem.refuse_weights(
            "means are linear in the context here: weights are for agents on arms, such as `opb`",
        )?;
        problem.refuse_relative_ratios()?;
        let checked = config.check(&problem)?;
        if checked.config.model != Model::PerArm {
            let allowed = "this agent has a parameter per arm: use `per_arm`";
            return Err(Error::invalid("model", "shared", allowed));
        }
        let Some(numbers) = problem.declared.context else {
            let allowed = "a parameter per arm needs named arms and the length of the context: no features of their own";
            return Err(Error::invalid("model", "per_arm", allowed));
        };
        let own = Self {
            plan: LpPlan::new(&problem, config.floor, checked.planner()),
            common: Common {
                signals: 1 + problem.guardrails.len(),
                numbers,
                checked,
            },
            arms: Vec::new(),
            budgets: [DeltaBudget::new(1.0, 0); 2],
            context: None,
            observed: Vec::new(),
            room: Vec::new(),
            ends: [Vec::new(), Vec::new()],
            indices: Vec::new(),
        };
        let monitor = own.common.checked.monitor;
        Ok((Shell::watched(problem, monitor, config.confidence()), own))
    }

    fn config(&self) -> &OplbConfig {
        &self.common.checked.config
    }

    fn enter(&mut self, shell: &mut Shell, round: &Round) -> Result<(), Error> {
        let Choice::Context(context) = round.choice else {
            // Before the first context, the safe arm.
            return if round.choice == Choice::Arms {
                Ok(())
            } else {
                Err(Error::NoFeatures)
            };
        };
        self.common.check(context)?;
        self.common.write(context, &mut self.observed);
        if self.context.as_ref() != Some(&self.observed) {
            (self.context.get_or_insert_default()).clone_from(&self.observed);
            shell.stale = true;
        }
        Ok(())
    }

    fn plan(&mut self, shell: &mut Shell) -> Result<(), Fallback> {
        self.write_safe(shell);
        if self.context.is_none() || !self.plan.bounds.has_margin() {
            return Err(Fallback::MarginNotProven);
        }
        self.write_bounds(shell);
        self.plan.planner.changed_all(&self.plan.bounds);
        self.plan
            .publish(shell, |arms, column| arms.offered()[column])
    }

    fn bound_safe(&mut self, shell: &mut Shell) -> f64 {
        self.write_safe(shell);
        self.plan.write_safe_costs(shell);
        self.plan.bounds.reward_upper[self.plan.bounds.safe]
    }

    fn check(&self, shell: &Shell, event: &Event) -> Result<(), Error> {
        match event {
            Event::Outcome(outcome) => {
                shell.check_number(outcome.action)?;
                match outcome.choice {
                    Choice::Context(context) => self.common.check(context),
                    Choice::Arms => {
                        let allowed = "an outcome of an arm needs its context here";
                        Err(Error::invalid("context", "absent", allowed))
                    }
                    Choice::Offered(_) => Err(Error::NoFeatures),
                }
            }
            Event::Drawn(pending) | Event::Lost(pending) => shell.check_number(pending.action),
            Event::ArmOffered(arm) if arm.features.is_some() => {
                let allowed = "an arm's features are the context's: omit them";
                Err(Error::invalid("features", "given", allowed))
            }
            Event::Floors(floors) => check_safe_floor(floors, self.common.checked.optimism),
            Event::ArmChanged(_) | Event::Settled(_) => Err(event.refusal()),
            _ => Ok(()),
        }
    }

    fn learn(&mut self, shell: &mut Shell, outcome: &Outcome) -> Next {
        let arm = outcome.action;
        self.number(shell, arm);
        if let Choice::Context(context) = outcome.choice {
            self.common.write(context, &mut self.observed);
        }
        let own = &mut self.arms[arm];
        own.observe(&self.common, &self.observed, outcome.reward, outcome.costs);
        shell.stale = true;
        let next = shell.watch(outcome, arm == shell.safe);
        match own.test_fit(&self.common) {
            Some(mut refuted) => {
                refuted.arm = Some(arm);
                (shell.monitor)
                    .refute_model(&refuted, shell.outcomes)
                    .or(next)
            }
            None => next,
        }
    }

    fn forget(&mut self, shell: &mut Shell) {
        let checked = &self.common.checked;
        let share = checked.share_in(shell.monitor.epoch());
        let (arms, guardrails) = (shell.problem.declared.arms.len(), &shell.problem.guardrails);
        let known = guardrails.iter().all(|g| g.safe_cost.is_some());
        // A safe arm whose costs are all known takes no number on the cost side.
        let costly = arms - usize::from(known);
        self.budgets = [
            DeltaBudget::new(checked.config.optimism_delta * share, arms),
            DeltaBudget::new(checked.config.delta * share, costly),
        ];
        self.arms.iter_mut().for_each(ArmSets::clear);
        self.arms_changed(shell);
    }
    fn follow(&mut self, shell: &mut Shell, event: &Event) -> Next {
        match event {
            Event::Drawn(pending) => self.number(shell, pending.action),
            Event::Answered(AlarmAnswer::Acknowledge) => {
                self.arms.iter_mut().for_each(ArmSets::clear_fit);
            }
            Event::ArmOffered(_) | Event::ArmRetired(_) | Event::Floors(_) => {
                self.arms_changed(shell);
            }
            _ => {}
        }
        Next::Continue
    }

    fn ask(&mut self, shell: &mut Shell, ask: Ask) -> Findings {
        match ask {
            Ask::Estimates(_, arms) => Findings::each(arms, |arm| self.estimate(shell, arm)),
            Ask::Assumptions => {
                let checked = &self.common.checked;
                let is_tested = |signal| checked.comparison(signal) != Comparison::Untested;
                let mut signals = 1..self.common.signals;
                Findings::Assumptions(vec![Assumption {
                    watched: !signals.is_empty() && signals.all(is_tested),
                    ..checked.assumption("the context, for every arm on its own")
                }])
            }
            _ => Findings::Unknown,
        }
    }

    fn save(&mut self, _: &mut Shell) -> Result<ContextLearnerState, Error> {
        self.plan.planner.forget();
        Ok(ContextLearnerState {
            arms: self.arms.iter().map(ArmSets::save).collect(),
        })
    }

    fn restore(&mut self, shell: &mut Shell, state: ContextLearnerState) -> Result<(), Error> {
        if state.arms.len() != self.arms.len() {
            return Err(broken(format!("it holds {} arms", state.arms.len())));
        }
        for (arm, own) in state.arms.into_iter().enumerate() {
            for (budget, place) in self.budgets.iter_mut().zip(own.places) {
                budget.restore(place);
            }
            if !self.arms[arm].restore(own) {
                return Err(broken(format!("arm {arm} does not match the problem")));
            }
            self.level(shell, arm);
        }
        Ok(())
    }
}

impl ContextLearner {
    fn arms_changed(&mut self, shell: &Shell) {
        for arm in self.arms.len()..shell.arms.len() {
            let comparisons = self.comparisons(shell, arm);
            let own = ArmSets::new(&self.common, &shell.problem, arm, comparisons);
            self.arms.push(own);
        }
        let safe = shell.arms.column(shell.safe).unwrap_or(0);
        self.plan.resize(shell.arms.offered().len(), safe);
        self.plan
            .take_floors(shell, self.common.checked.config.floor);
    }

    fn estimate(&mut self, shell: &Shell, arm: usize) -> ArmEstimate {
        self.write_ends(shell, arm, 0);
        let (own, every) = (&self.arms[arm], &self.ends[0]);
        let is_known = |signal: usize| {
            let safe = arm == shell.safe && signal > 0;
            own.pulls > 0 || (safe && shell.problem.guardrails[signal - 1].safe_cost.is_some())
        };
        let parts = |signal: usize| {
            let Ends { lower, mean, upper } = every[signal];
            (is_known(signal).then_some(mean), Interval { lower, upper })
        };
        let (mean, ends) = parts(0);
        let guardrails = shell.problem.guardrails.iter().enumerate();
        ArmEstimate {
            offered: shell.arms.column(arm).is_some(),
            pulls: Some(own.pulls),
            reward: Estimate::in_units(&shell.problem.reward, Direction::AtMost, mean, ends),
            costs: guardrails
                .map(|(i, guardrail)| {
                    let (mean, ends) = parts(i + 1);
                    Estimate::of_guardrail(guardrail, mean, ends)
                })
                .collect(),
            windows: Vec::new(),
        }
    }

    /// Comparisons of an arm's costs with its model: a declared safe cost is used instead of one.
    fn comparisons(&self, shell: &Shell, arm: usize) -> Vec<Comparison> {
        let guardrails = shell.problem.guardrails.iter().enumerate();
        let comparison = |(i, g): (usize, &crate::problem::Standard)| {
            if arm == shell.safe && g.safe_cost.is_some() {
                Comparison::Untested
            } else {
                self.common.checked.comparison(i + 1)
            }
        };
        guardrails.map(comparison).collect()
    }

    /// Numbers an arm, if it has no number yet: before its first outcome.
    fn number(&mut self, shell: &Shell, arm: usize) {
        let sets = sets_of(shell, arm);
        let own = &mut self.arms[arm];
        let mut is_new = false;
        for side in 0..2 {
            if sets[side] > 0 && !own.places[side].is_given() {
                own.places[side] = self.budgets[side].next();
                is_new = true;
            }
        }
        if is_new {
            self.level(shell, arm);
        }
    }

    /// Gives an arm the levels of its places: the test of its model has that of the reward's.
    fn level(&mut self, shell: &Shell, arm: usize) {
        let sets = sets_of(shell, arm);
        let fit_level = self.common.checked.fit_level(shell.monitor.epoch());
        let fits = DeltaBudget::new(fit_level, shell.problem.declared.arms.len());
        let own = &mut self.arms[arm];
        if own.places[0].is_given()
            && let Some(fit) = &mut own.fit
        {
            fit.set_level(fits.level(own.places[0]));
        }
        for side in 0..2 {
            if own.places[side].is_given() {
                own.log_levels[side] = self.budgets[side].log_level(own.places[side], sets[side]);
            }
        }
    }

    /// Writes the ends of an arm's signals in the context, in standard units: a declared safe cost holds in every one.
    fn write_ends(&mut self, shell: &Shell, arm: usize, place: usize) {
        let every = &mut self.ends[place];
        let own = &self.arms[arm];
        every.clear();
        every.extend((0..self.common.signals).map(|signal| own.unknown(signal)));
        self.indices.clear();
        self.indices.resize(self.common.signals, f64::INFINITY);
        if let Some(context) = &self.context {
            let put = |signal: usize, ends: Ends, index: f64| {
                every[signal] = ends;
                self.indices[signal] = index;
            };
            let when = (&context[..], shell.outcomes);
            self.arms[arm].view(&self.common, when, &mut self.room, put);
        }
        if arm == shell.safe {
            for (i, guardrail) in shell.problem.guardrails.iter().enumerate() {
                if let Some(known) = guardrail.safe_cost {
                    every[i + 1] = Ends {
                        lower: known,
                        mean: known,
                        upper: known,
                    };
                }
            }
        }
    }

    /// Writes the bounds of the safe column, and the margins that it leaves.
    fn write_safe(&mut self, shell: &Shell) {
        self.write_ends(shell, shell.safe, 1);
        let [own, safe] = &mut self.ends;
        own.clone_from(safe);
        self.write_column(shell, self.plan.bounds.safe);
        self.plan.bounds.update_margins(None);
    }

    /// Writes the bounds of all other columns, after the safe one.
    fn write_bounds(&mut self, shell: &Shell) {
        for (column, &arm) in shell.arms.offered().iter().enumerate() {
            if arm != shell.safe {
                self.write_ends(shell, arm, 0);
                self.write_column(shell, column);
            }
        }
        self.plan.bounds.update_spreads();
    }

    /// Writes one column from the ends of its arm and of the safe one.
    fn write_column(&mut self, shell: &Shell, column: usize) {
        let (bounds, [ends, safe]) = (&mut self.plan.bounds, &self.ends);
        let is_index = self.common.checked.optimism == Optimism::Index;
        bounds.reward_upper[column] = ends[0].upper;
        if is_index {
            let index = ends[0].mean + self.indices[0];
            bounds.reward_upper[column] = index.min(ends[0].upper);
        }
        for (i, guardrail) in shell.problem.guardrails.iter().enumerate() {
            let (own, safe) = (ends[i + 1], safe[i + 1]);
            let is_safe = column == bounds.safe;
            let (own_ends, safe_ends) = ((own.lower, own.upper), (safe.lower, safe.upper));
            let (mut lower, upper) = guardrail.cost_bounds(own_ends, safe_ends, is_safe);
            if is_index && !is_safe && guardrail.factor == 0.0 {
                lower = lower.max(own.mean - self.indices[i + 1]).min(upper);
            }
            bounds.cost_lower[i][column] = lower;
            bounds.cost_upper[i][column] = upper;
        }
    }
}

/// Confidence sets of an arm on the side of rewards and of costs: a known safe cost needs none.
fn sets_of(shell: &Shell, arm: usize) -> [usize; 2] {
    let guardrails = shell.problem.guardrails.iter();
    let unknown = guardrails.filter(|g| !(arm == shell.safe && g.safe_cost.is_some()));
    [1, unknown.count()]
}

/// Signal 0 is the reward, signal 1 + i guardrail i.
impl OplbPerArm {
    /// The interval of an arm's mean in the context of the last round, in standard units.
    pub fn interval(&mut self, arm: usize, signal: usize) -> Result<Interval, Error> {
        self.check_place(arm, signal)?;
        self.learner.write_ends(&self.shell, arm, 0);
        let Ends { lower, upper, .. } = self.learner.ends[0][signal];
        Ok(Interval { lower, upper })
    }

    /// Distance of an arm's parameter from its estimate, in units of the confidence set's radius: at most 1 on the
    /// event that all guarantees rest on. `parameter` is in signal units per feature unit, or with a logistic link in
    /// log-odds.
    pub fn confidence(&self, arm: usize, signal: usize, parameter: &[f64]) -> Result<f64, Error> {
        self.check_place(arm, signal)?;
        let (common, sets) = (&self.learner.common, &self.learner.arms[arm]);
        check_vector(parameter, common.numbers).within("parameter")?;
        let (own, _) = &sets.signals[signal];
        let scale = match common.checked.links[signal] {
            Link::Identity => own.scale,
            Link::Logistic => own.scale.signum(),
        };
        let own: Vec<f64> = parameter.iter().map(|x| x * scale).collect();
        Ok(sets.distance(common, signal, &own))
    }

    fn check_place(&self, arm: usize, signal: usize) -> Result<(), Error> {
        self.shell.check_number(arm)?;
        let last = self.learner.common.signals - 1;
        if signal > last {
            let allowed = format!("must be 0 to {last}");
            return Err(Error::invalid("signal", signal, allowed));
        }
        Ok(())
    }
}
