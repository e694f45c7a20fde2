//! OPB, the optimistic-pessimistic bandit, with any intervals, any optimism, any number of
//! guardrails, known or unknown safe costs.
//!
//! **Problem.** K arms with unknown mean reward and m unknown mean costs; every policy published
//! must keep its expected costs within the thresholds.
//! **Guarantee.** With probability 1 − δ, every policy in every round is feasible. The regret is of order √(KT)/Δ up to
//! logarithms (theory: [`crate::theory`]): with probability 1 − δ − δ_o for `least` optimism, in expectation for
//! `index`.
//! **Cost per round.** A few sums. When an arm's outcomes have grown by half a percent, its intervals and
//! one small LP (`paper`) or about three (`index`, `least`): O(K m) at worst, no allocation.
//! **Reference.** Pacchiano, Ghavamzadeh, Bartlett and Jiang, "Stochastic Bandits with Linear
//! Constraints", Algorithm 2 and Theorem 3, with the errata in `docs/`.
//!
//! Files, in reading order: `config`, this page, `columns` (arms to columns of the program), `sums` (guardrails over many
//! decisions together), `worth` (lifts, and play that has settled).

mod columns;
mod config;
mod sums;
mod worth;

use crate::agent::{Agent as _, AgentView};
use crate::arm_estimate::{ArmEstimate, of_arm};
use crate::decision::{Decision, Fallback};
use crate::error::{Error, broken};
use crate::estimate::{Changed, Estimates, EstimatesState};
use crate::event::{ArmOffer, Ask, Event, Findings};
use crate::guarded::{Guarded, Learner, Shell};
use crate::interval::{Count, Interval, Intervals};
use crate::monitor::Next;
use crate::optimism::{LpPlan, Planner, check_floor};
use crate::parameters::Registered as _;
use crate::problem::{ArmRanges, ArmWeights, Problem};
use crate::round::Outcome;
use crate::safe_cost::{TZeroRule, TZeroState, UnknownSafeCost};
use crate::waiting::Waiting;
use config::CheckedOpb;
pub use config::OpbConfig;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use sums::{Stretch, Sums};
use worth::Settled;

/// The agent. See the module's page for what it promises.
///
/// ```
/// use banister::{Guardrail, Opb, OpbConfig, Problem};
///
/// let problem = Problem {
///     arms: vec!["control".into(), "bold".into()],
///     safe: 0,
///     guardrails: vec![Guardrail {
///         name: "complaints".into(),
///         at_most: Some(0.2),
///         safe_cost: Some(0.05),
///         ..Default::default()
///     }],
///     ..Default::default()
/// };
/// let mut agent = Opb::new(&problem, &OpbConfig::default())?;
/// let decision = agent.decide();
/// let arm = decision.draw(0.5); // a uniform random number chooses the arm
/// agent.observe(arm, 1.0, &[0.0])?;
/// assert!(agent.decide().guardrails[0].slack >= 0.0);
/// # Ok::<(), banister::Error>(())
/// ```
pub type Opb = Guarded<ArmLearner>;

/// Learner on arms: counts, sums and intervals of every arm, and the linear program on them.
#[derive(Debug, Clone)]
pub struct ArmLearner {
    checked: CheckedOpb,
    pub(crate) estimates: Estimates,
    /// Decisions of each arm whose outcomes have not come.
    waiting: Waiting,
    /// True if a breach made it forget some arms since it forgot all.
    restarted: bool,
    t_zero: Option<TZeroRule>,
    /// True if the safe action's outcomes move other arms' bounds or the margins.
    safe_matters: bool,
    /// α_r where V is built the paper's way.
    alpha: Option<f64>,
    /// t of all indices.
    indexed: u64,
    plan: LpPlan,
    /// The policy that is played instead of exploring.
    settled: Option<Settled>,
    /// Guardrails that are over sums.
    sums: Option<Box<Sums>>,
}

/// All that outcomes have changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmLearnerState {
    estimates: EstimatesState,
    waiting: Waiting,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    restarted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    t_zero: Option<TZeroState>,
    /// Indices as they stand, and the t that they are made with: others saw the same outcomes, and were not saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    indices: Option<(u64, Vec<Vec<f64>>)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    settled: Option<Settled>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sums: Vec<Stretch>,
}

/// Convenience for K arms.
impl Opb {
    /// Publishes the policy for the next round, with its certificate.
    ///
    /// Never fails: without a provable margin, or if the solver's answer does not check, the policy
    /// is the safe action, and the certificate says so. So it is where means drift by the clock, which
    /// [`crate::Agent::decide`] takes the time of.
    #[inline]
    pub fn decide(&mut self) -> &Decision {
        let untimed = (self.shell.by_clock).then_some(Fallback::MarginNotProven);
        self.publish(untimed)
    }

    /// Observes one outcome: the arm that was played, its reward and one cost per guardrail.
    ///
    /// Nothing changes if any number is refused.
    #[inline]
    pub fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        let outcome = Outcome::of_arm(arm, reward, costs);
        let holds = self.shell.holds(&outcome);
        let is_plain = holds && arm < self.shell.arms.len() && self.shell.is_timed(&outcome);
        if !is_plain || self.shell.is_full() {
            self.check(&Event::Outcome(&outcome), 0)?;
        }
        self.learn_checked(&outcome, holds);
        Ok(())
    }

    /// Offers a new arm, or a retired one again with all that is known of it. Returns its number.
    ///
    /// There may be any number of them, and they weaken nothing: arms share δ in the order of their first
    /// pull. Only the paper's own radii count the arms they were made for.
    pub fn add_arm(&mut self, name: &str) -> Result<usize, Error> {
        let (ranges, weights) = (ArmRanges::default(), ArmWeights::default());
        self.apply(&Event::ArmOffered(ArmOffer {
            name,
            features: None,
            ranges: &ranges,
            weights: &weights,
        }))?;
        self.view().arm_named(name)
    }

    /// Outcomes that arrived for each arm.
    pub fn pulls(&self) -> &[u64] {
        self.learner.estimates.pulls()
    }

    /// The interval of an arm's reward (`signal` 0; only its upper end is kept current) or cost
    /// (`signal` 1 + i), in standard units.
    pub fn interval(&self, arm: usize, signal: usize) -> Option<Interval> {
        self.learner.estimates.interval(arm, signal)
    }
}

impl Learner for ArmLearner {
    type Config = OpbConfig;
    type State = ArmLearnerState;
    const KEEPS_SUMS: bool = true;
    const COPY: Option<fn(&Self) -> Self> = Some(Self::clone);

    fn new(problem: &Problem, config: &OpbConfig) -> Result<(Shell, Self), Error> {
        let problem = problem.check()?;
        let checked = config.check(&problem)?;
        let unknown = problem.guardrails.iter().any(|g| g.safe_cost.is_none());
        let mut own = Self {
            plan: LpPlan::new(&problem, config.floor, Planner::new(config.optimism)),
            estimates: Estimates::new(&problem, &checked.estimates()),
            waiting: Waiting::default(),
            restarted: false,
            t_zero: None,
            safe_matters: unknown,
            alpha: None,
            indexed: 0,
            settled: None,
            sums: Sums::new(&problem, 0.5 * config.delta).map(Box::new),
            checked,
        };
        let mut shell = Shell::watched(problem, own.checked.monitor, config.confidence());
        own.t_zero = own.new_t_zero(&shell);
        // Fixed-horizon intervals, and the T_0 rule, hold for this many outcomes and no more.
        if let Some(horizon) = config.horizon.filter(|_| config.needs_horizon(unknown)) {
            let intervals = match own.t_zero {
                Some(_) => "T_0",
                None => config.intervals.map_or("", Intervals::name),
            };
            shell.room = (horizon, intervals);
        }
        Ok((shell, own))
    }

    fn config(&self) -> &OpbConfig {
        &self.checked.config
    }

    #[inline(always)]
    fn plan(&mut self, shell: &mut Shell) -> Result<(), Fallback> {
        let settled = self.t_zero.as_ref().is_none_or(|rule| rule.is_settled());
        if let Some(mut sums) = self.sums.take() {
            let planned = self.plan_sums(shell, &mut sums);
            self.sums = Some(sums);
            return planned;
        }
        if !settled || !self.plan.bounds.has_margin() {
            return Err(Fallback::MarginNotProven);
        }
        if self.settled.is_some() {
            return self.play_settled(shell);
        }
        self.plan
            .publish(shell, |arms, column| arms.offered()[column])
    }

    fn use_until(&mut self, shell: &mut Shell, time: f64) {
        self.estimates.use_until(time);
        self.refresh_all(shell);
    }

    fn bound_safe(&mut self, shell: &mut Shell) -> f64 {
        self.plan.write_safe_costs(shell);
        self.estimates.ends(shell.safe, 0).upper
    }

    #[inline]
    fn learn(&mut self, shell: &mut Shell, outcome: &Outcome) -> Next {
        let arm = outcome.action;
        if let Some(sums) = &mut self.sums {
            sums.charge(shell, outcome);
            shell.stale = true;
        }
        if shell.monitor.is_forgotten(outcome.action, outcome.origin) {
            return self.pass_over(shell, outcome);
        }
        self.waiting.end(arm);
        let time = shell.time_of(outcome);
        let computed = (self.estimates).observe_counted(arm, outcome.reward, outcome.costs, time);
        if let Some(count) = &computed {
            self.follow(shell, arm, count);
        }
        let next = shell.watch(outcome, arm == shell.safe);
        if computed.is_some()
            && let Some(changed) = self.estimates.changed()
        {
            self.follow_change(shell, arm, &changed);
        }
        if self.settled.is_some() {
            self.follow_settled(shell);
        }
        self.follow_breach(shell, next)
    }

    fn forget(&mut self, shell: &mut Shell) {
        self.t_zero = self.new_t_zero(shell);
        self.restarted = false;
        // There is all to learn again.
        self.settled = None;
        self.waiting.clear_all();
        // Places in the budgets are not given again: nothing has to be kept for another start.
        for arm in 0..shell.arms.len() {
            if arm < self.estimates.pulls().len() {
                self.estimates.clear(arm);
            } else {
                self.estimates.add_arm(&shell.problem);
            }
        }
        self.refresh_all(shell);
    }

    fn check(&self, shell: &Shell, event: &Event) -> Result<(), Error> {
        let config = &self.checked.config;
        match *event {
            Event::Outcome(outcome) => shell.check_arm(outcome),
            Event::Drawn(pending) | Event::Lost(pending) => shell.check_number(pending.action),
            Event::ArmOffered(arm) if arm.features.is_some() => Err(Error::NoFeatures),
            Event::ArmOffered(arm) => match config.intervals {
                Some(kind @ (Intervals::Paper | Intervals::Published)) => {
                    let allowed = format!(
                        "`{}` intervals count the arms given at the beginning; others allow more",
                        kind.name()
                    );
                    Err(Error::invalid("arm", arm.name, allowed))
                }
                _ => Ok(()),
            },
            Event::Floors(floors) => check_floor(floors.safe, config.optimism),
            Event::Settled(true) => self.refuse_worth(shell),
            _ => Ok(()),
        }
    }

    fn follow(&mut self, shell: &mut Shell, event: &Event) -> Next {
        match *event {
            Event::Drawn(pending) => {
                self.estimates.number(pending.action);
                self.waiting.announce(pending.action);
                if let Some(sums) = &mut self.sums {
                    sums.announce(pending.decision, pending.action);
                    shell.stale = true;
                }
            }
            Event::Lost(pending)
                if (shell.monitor).is_waited_for(pending.decision, pending.action) =>
            {
                self.waiting.end(pending.action);
            }
            Event::ArmOffered(_) | Event::ArmRetired(_) | Event::Floors(_) => {
                if self.estimates.pulls().len() < shell.arms.len() {
                    self.estimates.add_arm(&shell.problem);
                }
                self.arms_changed(shell);
            }
            Event::ArmChanged(arm) => {
                self.forget_signals(shell, arm, 0..=shell.problem.width() - 1);
            }
            Event::Weights(..) => {
                self.estimates.follow_weights(&shell.problem);
                self.arms_changed(shell);
            }
            Event::Settled(settled) => {
                // Without a margin it is found when there is one.
                self.settled = settled.then(|| self.certified(shell).unwrap_or_default());
            }
            _ => {}
        }
        Next::Continue
    }

    fn ask(&mut self, shell: &mut Shell, ask: Ask) -> Findings {
        match ask {
            Ask::Estimates(_, arms) => Findings::each(arms, |arm| self.estimate(shell, arm)),
            Ask::Lifts(signal) => Findings::Lifts(self.arm_lifts(shell, signal)),
            Ask::WorthLeft => {
                let found = self.find_worth_left(shell);
                found.map_or(Findings::Unknown, Findings::WorthLeft)
            }
            Ask::Segments(_) | Ask::Assumptions => Findings::Unknown,
        }
    }

    fn view<'a>(&'a self, view: AgentView<'a>) -> AgentView<'a> {
        AgentView {
            is_settled: self.settled.is_some(),
            ..view
        }
    }

    fn save(&mut self, shell: &mut Shell) -> Result<ArmLearnerState, Error> {
        // Where means may move, they are made anew with time.
        let keeps = self.indexed > 0 && shell.problem.reach().is_none();
        let indices = self.plan.bounds.optimistic().filter(|_| keeps);
        if indices.is_none() {
            self.refresh_all(shell);
        }
        self.forget_starts();
        Ok(ArmLearnerState {
            indices: indices.map(|rows| (self.indexed, rows)),
            estimates: self.estimates.state(),
            waiting: self.waiting.clone(),
            restarted: self.restarted,
            t_zero: self.t_zero.as_ref().map(|rule| rule.state.clone()),
            settled: self.settled.clone(),
            sums: self.sums.as_ref().map_or(Vec::new(), |sums| sums.state()),
        })
    }

    fn restore(&mut self, shell: &mut Shell, state: ArmLearnerState) -> Result<(), Error> {
        let learned = shell.outcomes - shell.monitor.forgotten();
        (self.estimates).restore(&shell.problem, &state.estimates, Some(learned))?;
        self.waiting = state.waiting.check(shell.arms.len())?;
        self.restarted = state.restarted;
        let (arms, guardrails) = (shell.arms.len(), shell.problem.guardrails.len());
        let settled = state.settled.map(|own| own.check(arms, guardrails));
        TZeroRule::restore(
            &mut self.t_zero,
            state.t_zero,
            shell.problem.guardrails.len(),
        )
        .ok_or_else(|| broken("`t_zero` does not match the parameters"))?;
        if let Some(sums) = &mut self.sums {
            sums.restore(state.sums, shell.arms.len())?;
        }
        self.refresh_all(shell);
        if let Some((indexed, rows)) = state.indices {
            if self.indexed == 0 || !self.plan.bounds.set_optimistic(rows) {
                return Err(broken("`indices` do not match the arms"));
            }
            self.indexed = indexed;
        }
        self.settled = settled.transpose()?;
        self.forget_starts();
        Ok(())
    }
}

impl ArmLearner {
    fn arms_changed(&mut self, shell: &mut Shell) {
        self.refresh_all(shell);
        let settled = self.settled.take();
        self.settled = settled.map(|_| self.certified(shell).unwrap_or_default());
    }

    fn estimate(&mut self, shell: &Shell, arm: usize) -> ArmEstimate {
        let offered = shell.arms.column(arm).is_some();
        let mut shown = of_arm(&shell.problem, &self.estimates, (arm, arm), offered);
        for (i, guardrail) in shell.problem.guardrails.iter().enumerate() {
            if guardrail.per.is_some() {
                shown.costs[i] = self.excess(shell, i, arm);
            }
        }
        shown
    }

    /// The next plan follows from bounds alone.
    fn forget_starts(&mut self) {
        self.plan.planner.forget();
        self.plan.planner.changed_all(&self.plan.bounds);
    }

    /// The T_0 rule before its first outcome, where it applies.
    fn new_t_zero(&self, shell: &Shell) -> Option<TZeroRule> {
        let config = &self.checked.config;
        let applies = self.safe_matters && config.unknown_safe_cost == UnknownSafeCost::Paper;
        applies.then(|| {
            let unit_noise = config.intervals == Some(Intervals::Paper);
            TZeroRule::new(&shell.problem, config.horizon, unit_noise)
        })
    }

    /// An arm's mean has changed. Learning again forgets that signal of that arm alone.
    #[cold]
    #[inline(never)]
    fn follow_change(&mut self, shell: &mut Shell, arm: usize, changed: &Changed) {
        let next = shell.tell_change(arm, None, changed);
        if changed.endangers && next == Next::Restart {
            self.forget_signals(shell, arm, changed.signal..=changed.signal);
        } else if !changed.endangers {
            self.waiting.clear(arm);
            shell.monitor.forget_before(arm);
        }
    }

    fn forget_signals(&mut self, shell: &mut Shell, arm: usize, signals: RangeInclusive<usize>) {
        self.estimates.forget(arm, signals);
        self.waiting.clear(arm);
        shell.monitor.forget_before(arm);
        self.arms_changed(shell);
        shell.stale = true;
    }

    /// An outcome of an arm that was forgotten since: watched, and not learned.
    #[cold]
    fn pass_over(&mut self, shell: &mut Shell, outcome: &Outcome) -> Next {
        shell.monitor.forget();
        let next = shell.watch(outcome, outcome.action == shell.safe);
        self.follow_breach(shell, next)
    }

    /// Policies cost too much, and what is wrong is to be learned again: the costs of arms that are suspect, or, where
    /// there are none or it did not help, everything.
    #[inline]
    fn follow_breach(&mut self, shell: &mut Shell, next: Next) -> Next {
        if next == Next::Restart {
            self.forget_suspects(shell)
        } else {
            next
        }
    }

    #[cold]
    #[inline(never)]
    fn forget_suspects(&mut self, shell: &mut Shell) -> Next {
        let suspects = (0..shell.arms.len()).filter(|&arm| self.estimates.is_suspect(arm));
        let suspects: Vec<usize> = suspects.collect();
        if suspects.is_empty() || std::mem::replace(&mut self.restarted, true) {
            return Next::Restart;
        }
        for arm in suspects {
            self.forget_signals(shell, arm, 1..=shell.problem.width() - 1);
        }
        shell.monitor.clear_tests();
        Next::Continue
    }

    /// An arm's intervals were computed again.
    #[inline(always)]
    fn follow(&mut self, shell: &mut Shell, arm: usize, count: &Count) {
        if (self.safe_matters && arm == shell.safe) || self.known(shell) != self.indexed {
            self.follow_all(shell);
        } else if let Some(column) = shell.arms.column(arm) {
            if arm != shell.safe {
                self.write_costs(shell, column, arm);
            }
            self.write_reward(shell, column, arm, count);
            self.plan.planner.changed(&self.plan.bounds, column);
        }
        shell.stale = true;
    }

    /// The safe action's outcome moved the margins, or outcomes the indices, and with them all columns.
    #[cold]
    #[inline(never)]
    fn follow_all(&mut self, shell: &Shell) {
        if let Some(rule) = &mut self.t_zero {
            let estimates = &self.estimates;
            rule.update(&shell.problem, estimates.pulls()[shell.safe], |i| {
                estimates.sum(shell.safe, i + 1)
            });
        }
        self.refresh_columns(shell);
        self.plan.planner.changed_all(&self.plan.bounds);
    }
}
