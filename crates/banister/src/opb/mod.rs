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
//! Files, in reading order: `config`, `columns` (arms to columns of the program), `outcomes`, `agent`, `snapshot`.

mod agent;
mod columns;
mod config;
mod outcomes;
mod snapshot;

use crate::agent::{Agent as _, Outcomes};
use crate::certificate::{Answer, Certifier};
use crate::decision::{Decision, Fallback};
use crate::error::Error;
use crate::estimate::Estimates;
use crate::interval::{Count, Interval, Intervals};
use crate::monitor::Source;
use crate::monitor::{Monitor, Next, Outcome};
use crate::optimism::{Bounds, Floor, Planner, index_lean};
use crate::problem::{ArmRanges, CheckedProblem, Problem, check_name};
use crate::safe_cost::{TZeroRule, UnknownSafeCost};
use config::CheckedOpb;
pub use config::OpbConfig;

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
#[derive(Debug, Clone)]
pub struct Opb {
    pub(crate) problem: CheckedProblem,
    pub(crate) checked: CheckedOpb,
    /// Names of all arms ever offered, by number.
    pub(crate) names: Vec<String>,
    /// Column of each arm among those offered now; `None` once retired.
    pub(crate) column: Vec<Option<usize>>,
    /// Arm of each column.
    pub(crate) arm: Vec<usize>,
    pub(crate) estimates: Estimates,
    pub(crate) t_zero: Option<TZeroRule>,
    /// True if the safe action's outcomes move other arms' bounds or the margins.
    safe_matters: bool,
    /// Outcomes for which the intervals hold.
    room: u64,
    bounds: Bounds,
    /// α_r where V is built the paper's way.
    alpha: Option<f64>,
    pub(crate) planner: Planner,
    floor: Floor,
    certifier: Certifier,
    decision: Decision,
    pub(crate) monitor: Monitor,
    /// True if some guardrail is relative to the safe action's own mean.
    relative: bool,
    /// Room for the costs of an outcome as they count.
    counted: Vec<f64>,
    /// True if bounds changed since the policy was made.
    stale: bool,
    /// Alarms raised when it was made.
    alarms_seen: u64,
    pub(crate) outcomes: u64,
}

impl Opb {
    /// Checks the problem and the parameters, and starts with no outcomes.
    pub fn new(problem: &Problem, config: &OpbConfig) -> Result<Self, Error> {
        let problem = problem.check()?;
        let checked = config.check(&problem)?;
        let mut agent = Self::bare(problem, checked, 0);
        for name in agent.problem.declared.arms.clone() {
            agent.push_arm(name);
        }
        agent.refresh_all();
        Ok(agent)
    }

    /// An agent with no arms yet, in an epoch counted from 0.
    pub(crate) fn bare(problem: CheckedProblem, checked: CheckedOpb, epoch: u32) -> Self {
        let config = &checked.config;
        let unknown = problem.guardrails.iter().any(|g| g.safe_cost.is_none());
        // Fixed-horizon intervals, and the T_0 rule, hold for so many outcomes and no more.
        let room = match config.horizon {
            Some(horizon) if config.needs_horizon(unknown) => horizon,
            _ => u64::MAX,
        };
        let certifier = Certifier::new(&problem);
        let thresholds = problem.guardrails.iter().map(|g| g.threshold).collect();
        Self {
            bounds: Bounds::new(thresholds, config.floor),
            planner: Planner::new(config.optimism),
            alpha: None,
            safe_matters: unknown,
            room,
            names: Vec::new(),
            column: Vec::new(),
            arm: Vec::new(),
            estimates: estimates(&problem, &checked, epoch),
            t_zero: t_zero(&problem, config),
            floor: Floor::default(),
            decision: Decision {
                confidence: config.confidence(),
                ..certifier.blank()
            },
            certifier,
            monitor: Monitor::new(&problem, checked.monitor),
            relative: problem.guardrails.iter().any(|g| g.factor != 0.0),
            counted: Vec::with_capacity(problem.guardrails.len()),
            stale: true,
            alarms_seen: 0,
            outcomes: 0,
            problem,
            checked,
        }
    }

    /// Names of all arms ever offered; an arm's number is its place here.
    pub fn arm_names(&self) -> &[String] {
        &self.names
    }

    /// The number of the arm called `name`.
    pub fn arm_named(&self, name: &str) -> Result<usize, Error> {
        self.names
            .iter()
            .position(|n| n == name)
            .ok_or_else(|| Error::UnknownArm {
                name: name.to_string(),
                known: self.names.join(", "),
            })
    }

    /// True if an arm is offered now.
    pub fn is_offered(&self, arm: usize) -> bool {
        self.column.get(arm).is_some_and(Option::is_some)
    }

    /// Outcomes that arrived for each arm.
    pub fn pulls(&self) -> &[u64] {
        self.estimates.pulls()
    }

    /// Outcomes that arrived in all.
    pub fn outcomes(&self) -> u64 {
        self.outcomes
    }

    /// The problem in standard form.
    pub fn problem(&self) -> &CheckedProblem {
        &self.problem
    }

    /// Parameters as declared.
    pub fn config(&self) -> &OpbConfig {
        &self.checked.config
    }

    /// The interval of an arm's reward (`signal` 0; only its upper end is kept current) or cost
    /// (`signal` 1 + i), in standard units.
    pub fn interval(&self, arm: usize, signal: usize) -> Option<Interval> {
        self.estimates.interval(arm, signal)
    }

    /// Offers one more arm, or one again that was retired, with all that is known of it. Its number is returned.
    ///
    /// There may be any number of them, and they weaken nothing: arms share δ in the order of their first
    /// pull. Only the paper's own radii count the arms they were made for.
    pub fn add_arm(&mut self, name: &str) -> Result<usize, Error> {
        self.add_arm_with(name, &ArmRanges::default())
    }

    /// The same where ranges are by arm: the new one brings its own.
    pub fn add_arm_with(&mut self, name: &str, ranges: &ArmRanges) -> Result<usize, Error> {
        let known = self.names.iter().position(|own| own == name);
        if let Some(arm) = known.filter(|&arm| self.column[arm].is_none()) {
            ranges.refuse()?;
            self.arm.push(arm);
            self.arm.sort_unstable();
            self.renumber();
            self.refresh_all();
            return Ok(arm);
        }
        check_name(&self.names, name, "arm")?;
        if let Some(kind @ (Intervals::Paper | Intervals::Published)) = self.config().intervals {
            let allowed = format!(
                "`{}` intervals count the arms given at the beginning; others allow more",
                kind.name()
            );
            return Err(Error::invalid("arm", name, allowed));
        }
        self.problem.add_arm(ranges)?;
        self.push_arm(name.to_string());
        self.refresh_all();
        Ok(self.names.len() - 1)
    }

    /// Stops offering an arm. Outcomes of earlier pulls are still accepted.
    pub fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        self.check_arm(arm)?;
        if arm == self.problem.declared.safe {
            return Err(Error::invalid(
                "arm",
                &self.names[arm],
                "the safe arm cannot be retired",
            ));
        }
        let Some(column) = self.column[arm] else {
            return Err(Error::invalid(
                "arm",
                &self.names[arm],
                "it is retired already",
            ));
        };
        self.arm.remove(column);
        self.renumber();
        self.refresh_all();
        Ok(())
    }

    /// Takes one outcome: the arm that was played, its reward and one cost per guardrail.
    ///
    /// Nothing changes if any number is refused.
    #[inline]
    pub fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.check_outcome(arm, reward, costs)?;
        self.take(Source::Immediate, arm, reward, costs);
        Ok(())
    }

    /// Takes a checked outcome as it counts.
    #[inline]
    fn take(&mut self, source: Source, arm: usize, reward: f64, costs: &[f64]) {
        if self.problem.holds(Some(arm), reward, costs) {
            return self.learn(source, arm, reward, costs);
        }
        let mut room = std::mem::take(&mut self.counted);
        let outcome = (Some(arm), reward, costs);
        let (reward, costs) =
            (self.monitor).count(&self.problem, outcome, self.outcomes + 1, &mut room);
        self.learn(source, arm, reward, costs);
        self.counted = room;
    }

    /// Learns from a checked outcome, whose signals count as they are.
    #[inline]
    fn learn(&mut self, source: Source, arm: usize, reward: f64, costs: &[f64]) {
        self.outcomes += 1;
        if !self.monitor.is_current(source) {
            self.monitor.forget();
            return;
        }
        let computed = self.estimates.take_counted(arm, reward, costs);
        if let Some(count) = &computed {
            self.follow(arm, count);
        }
        let safe = self.problem.declared.safe;
        let outcome = Outcome {
            is_safe: arm == safe,
            safe_probability: if self.relative {
                self.decision.probability(safe)
            } else {
                0.0
            },
            segment: None,
            source,
        };
        let mut next = (self.monitor).take(&self.problem, outcome, costs, self.outcomes);
        if computed.is_some()
            && let Some(signal) = self.estimates.take_refuted()
        {
            next = self.refute(arm, signal, next);
        }
        if next == Next::Restart {
            self.relearn();
        }
    }

    /// An arm's mean cost has changed.
    #[cold]
    #[inline(never)]
    fn refute(&mut self, arm: usize, signal: usize, next: Next) -> Next {
        let (pulls, guardrail) = (self.estimates.pulls()[arm], signal - 1);
        let mean = self.estimates.mean(arm, signal).unwrap_or(0.0);
        let mean = self.problem.guardrails[guardrail].signal_of(mean);
        let also = (self.monitor).refute((arm, guardrail), None, pulls, mean, self.outcomes);
        if next == Next::Restart { next } else { also }
    }

    /// Drops what was learned and starts the next epoch, with its share of δ.
    #[cold]
    #[inline(never)]
    fn relearn(&mut self) {
        self.monitor.restart(self.outcomes);
        self.estimates = estimates(&self.problem, &self.checked, self.monitor.epoch());
        self.t_zero = t_zero(&self.problem, &self.checked.config);
        for _ in &self.names {
            self.estimates.add_arm(&self.problem);
        }
        self.refresh_all();
    }

    /// An arm's intervals were computed again.
    #[inline(always)]
    fn follow(&mut self, arm: usize, count: &Count) {
        if self.safe_matters && arm == self.problem.declared.safe {
            self.follow_safe(arm);
        } else if let Some(column) = self.column[arm] {
            if arm != self.problem.declared.safe {
                self.write_costs(column, arm);
            }
            self.write_reward(column, arm, count);
            self.planner.changed(&self.bounds, column);
        }
        self.stale = true;
    }

    /// The safe action's outcome moved the margins, and with them all columns.
    #[cold]
    #[inline(never)]
    fn follow_safe(&mut self, arm: usize) {
        if let Some(rule) = &mut self.t_zero {
            let estimates = &self.estimates;
            rule.update(&self.problem, estimates.pulls()[arm], |i| {
                estimates.sum(arm, i + 1)
            });
        }
        self.refresh_columns();
        self.planner.changed_all(&self.bounds);
    }

    /// Takes many outcomes; all are checked before any is taken.
    fn take_batch(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        let rows = outcomes.of_arms(self.problem.guardrails.len())?;
        let mut count = 0;
        for (arm, reward, costs) in rows.clone() {
            self.check_outcome(arm, reward, costs)?;
            count += 1;
        }
        self.check_room(count)?;
        for (i, (arm, reward, costs)) in rows.enumerate() {
            self.take(outcomes.source_of(i), arm, reward, costs);
        }
        Ok(())
    }

    /// Publishes the policy for the next round, with its certificate.
    ///
    /// Never fails: without a provable margin, or if the solver's answer does not check, the policy
    /// is the safe action, and the certificate says so.
    #[inline]
    pub fn decide(&mut self) -> &Decision {
        if self.is_stale() {
            self.plan();
        }
        self.decision.outcomes = self.outcomes - self.monitor.forgotten();
        &self.decision
    }

    /// Makes the policy anew.
    #[inline(always)]
    fn plan(&mut self) {
        self.begin_decision();
        if self.monitor.forces_safe() {
            return self.publish_safe(Fallback::Alarm);
        }
        self.stale = false;
        let settled = self.t_zero.as_ref().is_none_or(|rule| rule.is_settled());
        if !settled || !self.bounds.has_margin() {
            return self.publish_safe(Fallback::MarginNotProven);
        }
        self.lean();
        self.planner.plan(&self.bounds);
        let free = Answer::from(self.planner.planned());
        let value = self.planner.safe_value(&self.bounds);
        let answer = self.floor.mix(free, &self.bounds, value);
        if !answer.is_within(&self.bounds.thresholds) {
            let reason = answer.failure();
            return self.publish_safe(reason);
        }
        let arm = &self.arm[..];
        let policy = &mut self.decision.policy;
        policy.clear();
        policy.extend(answer.support.iter().map(|&(column, p)| (arm[column], p)));
        self.certifier.certify(&answer, &mut self.decision);
    }

    /// Leans the next plan from means towards bounds, where its optimism does.
    #[inline]
    fn lean(&mut self) {
        let (estimates, arms) = (&self.estimates, &self.arm);
        self.planner.lean(&self.bounds, |leans| {
            let pulls = estimates.pulls();
            let total: u64 = arms.iter().map(|&arm| pulls[arm]).sum();
            let each = total as f64 / arms.len() as f64;
            for (lean, &arm) in leans.iter_mut().zip(arms) {
                let n = pulls[arm];
                *lean = index_lean(each / n as f64, estimates.log_optimism(arm));
            }
        });
    }

    /// Writes what does not depend on the policy.
    #[inline]
    fn begin_decision(&mut self) {
        self.decision.outcomes = self.outcomes - self.monitor.forgotten();
        self.decision.alarm = self.monitor.foremost();
        self.alarms_seen = self.monitor.raised();
    }

    /// The last decision, without deciding anew.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    #[cold]
    #[inline(never)]
    fn publish_safe(&mut self, reason: Fallback) {
        // Reasons from outside may be gone the next time.
        self.stale = matches!(reason, Fallback::Alarm | Fallback::Paused);
        let safe = self.bounds.safe;
        let arm = self.arm[safe];
        let value = self.estimates.ends(arm, 0).upper;
        let cost = |i: usize| self.bounds.cost_upper[i][safe];
        (self.certifier).certify_safe(&self.problem, arm, value, cost, reason, &mut self.decision);
    }
}

/// Estimates without arms, at the level of an epoch.
fn estimates(problem: &CheckedProblem, checked: &CheckedOpb, epoch: u32) -> Estimates {
    Estimates::new(problem, &checked.estimates_in(epoch))
}

/// The T_0 rule before its first outcome, where it applies.
fn t_zero(problem: &CheckedProblem, config: &OpbConfig) -> Option<TZeroRule> {
    let unknown = problem.guardrails.iter().any(|g| g.safe_cost.is_none());
    (unknown && config.unknown_safe_cost == UnknownSafeCost::Paper).then(|| {
        let unit_noise = config.intervals == Some(Intervals::Paper);
        TZeroRule::new(problem, config.horizon, unit_noise)
    })
}
