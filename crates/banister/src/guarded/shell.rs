//! Everything around a learner that is the same for all.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::arms::{Arm, Arms};
use crate::bounds::Bounds;
use crate::certificate::{Answer, Certifier};
use crate::decision::{Confidence, Decision, Fallback};
use crate::error::{Error, broken, finite};
use crate::estimate::Changed;
use crate::event::ArmOffer;
use crate::floors::Floors;
use crate::monitor::{Monitor, MonitorConfig, Next, Origin, Watched};
use crate::problem::{ArmWeights, CheckedProblem, Claim, DriftUnit, Standard};
use crate::round::{Choice, Outcome, Pending};

/// End of a policy's use, on a grid: of `reach` decisions or seconds.
#[inline]
fn end_of_use(time: f64, reach: f64) -> f64 {
    (libm::ceil(time / reach) * reach).max(time)
}

/// The caller's clock, where means may move.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Clock {
    /// Latest time seen: a clock that goes back stands still.
    pub now: f64,
    /// Time of the first outcome's decision. Learners count from there: outcomes alone decide their bits, and sums of
    /// times stay short.
    pub origin: Option<f64>,
}

/// Everything around a learner that is the same for all.
#[derive(Debug, Clone)]
pub struct Shell {
    /// The problem in standard form.
    pub problem: Arc<CheckedProblem>,
    /// All arms, retired ones too.
    pub arms: Arms,
    /// Outcomes that arrived in all.
    pub outcomes: u64,
    /// True if something that the policy rests on has changed.
    pub stale: bool,
    /// True if it draws random numbers to decide, so that every policy is another one.
    pub samples: bool,
    /// Number of the safe action in the round.
    pub safe: usize,
    /// Number of actions in the round, where they were offered by features.
    pub offered: Option<usize>,
    /// Pessimistic costs of the safe action, in standard units, as the learner wrote them last.
    pub safe_costs: Vec<f64>,
    /// The last decision.
    pub decision: Decision,
    pub(crate) monitor: Monitor,
    pub(crate) certifier: Certifier,
    /// Outcomes that the bounds hold for, and the bounds that say so.
    pub(crate) room: (u64, &'static str),
    /// Alarms raised when the policy was made.
    alarms_seen: u64,
    /// Decisions or seconds that bounds are made for, where means may move, and the last of them.
    reach: Option<f64>,
    /// Most decisions or seconds from one round to the next.
    pause: f64,
    pub(crate) until: f64,
    /// True if time is the caller's, who has to pass it.
    pub(crate) by_clock: bool,
    pub(super) clock: Option<Clock>,
    /// Room for the costs of an outcome as they count.
    pub(crate) counted: Vec<f64>,
    /// Weights that were in force, the oldest first.
    pub(super) told: VecDeque<Told>,
    /// Floors in force beside the declared one.
    pub(crate) floors: Floors,
}

/// Changes of weights that are kept, for outcomes that come late.
const MOST_TOLD: usize = 1000;

/// Weights of an arm that were in force up to a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Told {
    arm: usize,
    until: u64,
    weights: ArmWeights,
}

impl Shell {
    /// Shell of an agent that is watched.
    pub(crate) fn watched(
        problem: CheckedProblem,
        monitor: MonitorConfig,
        confidence: Option<Confidence>,
    ) -> Self {
        let monitor = Monitor::new(&problem, monitor);
        Self::with(problem, monitor, confidence)
    }

    /// Shell of an agent that nothing watches: outcomes outside their ranges are refused.
    pub fn unwatched(problem: CheckedProblem) -> Self {
        Self::with(problem, Monitor::off(), None)
    }

    fn with(problem: CheckedProblem, monitor: Monitor, confidence: Option<Confidence>) -> Self {
        let certifier = Certifier::new(&problem);
        let guardrails = problem.guardrails.len();
        Self {
            arms: Arms::new(&problem.declared.arms),
            outcomes: 0,
            stale: true,
            samples: false,
            safe: problem.declared.safe,
            offered: None,
            safe_costs: vec![0.0; guardrails],
            decision: Decision {
                confidence,
                ..certifier.blank()
            },
            monitor,
            certifier,
            room: (u64::MAX, ""),
            alarms_seen: 0,
            reach: problem.reach(),
            pause: problem.longest_pause(),
            until: 0.0,
            by_clock: problem.drift_unit().is_some_and(DriftUnit::is_by_clock),
            clock: None,
            counted: Vec::with_capacity(guardrails),
            told: VecDeque::new(),
            floors: Floors::default(),
            problem: Arc::new(problem),
        }
    }

    #[inline]
    pub(super) fn is_stale(&self) -> bool {
        let has_expired = self.reach.is_some() && self.now() > self.until;
        self.stale || has_expired || self.monitor.raised() != self.alarms_seen
    }

    /// Time now, as learners count it: that of the clock, or the number of the next decision.
    #[inline]
    fn now(&self) -> f64 {
        match self.clock {
            Some(Clock { now, origin }) => now - origin.unwrap_or(now),
            None => (self.monitor.last_announced().max(self.outcomes) + 1) as f64,
        }
    }

    /// Takes note of the time of a round.
    #[inline]
    pub(super) fn tell_time(&mut self, time: Option<f64>) -> Result<(), Error> {
        let time = time.map(|time| finite("time", time)).transpose()?;
        if let Some(time) = time.filter(|_| self.reach.is_some()) {
            if time > self.latest() {
                return Err(self.jumped(time));
            }
            self.advance(time);
        } else if self.by_clock {
            return Err(untimed("every round needs its time in seconds"));
        }
        Ok(())
    }

    fn advance(&mut self, time: f64) -> &mut Clock {
        let (now, origin) = (time, None);
        let clock = self.clock.get_or_insert(Clock { now, origin });
        clock.now = clock.now.max(time);
        clock
    }

    /// The latest time that the next round may have.
    #[inline]
    fn latest(&self) -> f64 {
        self.clock.map_or(f64::INFINITY, |own| own.now + self.pause)
    }

    #[cold]
    fn jumped(&self, time: f64) -> Error {
        let (latest, pause) = (self.latest(), self.pause);
        let allowed = format!(
            "must be at most {latest}: the clock goes on by at most {pause} at once, unless a longer `drift.pause` is \
             declared"
        );
        Error::invalid("time", time, allowed)
    }

    /// True if the time of an outcome's decision is known.
    #[inline]
    pub(crate) fn is_timed(&self, outcome: &Outcome) -> bool {
        let is_sound = |time: f64| time.is_finite() && time <= self.latest();
        (outcome.time).map_or(!self.by_clock, is_sound)
            || (outcome.time.is_none() && self.clock.is_some() && !outcome.origin.is_logged())
    }

    /// The time until which bounds have to hold from now on, where means may have moved since they were made. It depends
    /// on the time now alone: an agent that was restored makes the same policies.
    #[inline]
    pub(super) fn renewed(&mut self) -> Option<f64> {
        let reach = self.reach?;
        let now = self.now();
        (now > self.until).then(|| {
            self.until = end_of_use(now, reach);
            self.until
        })
    }

    /// The time until which bounds made at a time hold; 0 where means stay.
    pub(crate) fn until_from(&self, time: f64) -> f64 {
        self.reach.map_or(0.0, |reach| end_of_use(time, reach))
    }

    /// End of use of the bounds in force, on the caller's clock; none while nothing is known that could age.
    #[inline]
    pub(super) fn expiry(&self) -> Option<f64> {
        self.reach?;
        match self.clock {
            Some(clock) => clock.origin.map(|origin| origin + self.until),
            None => Some(self.until),
        }
    }

    /// Time of an outcome's decision, as learners count it; this is the last outcome so far.
    #[inline]
    pub(crate) fn time_of(&mut self, outcome: &Outcome) -> f64 {
        let counted = match outcome.origin {
            Origin::Announced(decision) | Origin::InOrder(decision) => decision,
            Origin::Immediate | Origin::Logged | Origin::Sampled { .. } => self.outcomes,
        };
        self.since_origin(outcome.time, counted)
    }

    /// Time of a decision whose outcome comes later.
    pub(crate) fn time_of_pending(&mut self, pending: &Pending) -> f64 {
        self.since_origin(pending.time, pending.decision)
    }

    #[inline]
    fn since_origin(&mut self, time: Option<f64>, counted: u64) -> f64 {
        if self.reach.is_none() {
            return 0.0;
        }
        let Some(time) = time.or(self.clock.map(|clock| clock.now)) else {
            return counted as f64;
        };
        time - *self.advance(time).origin.get_or_insert(time)
    }

    /// Number of actions in the round, retired arms included.
    pub fn actions(&self) -> usize {
        self.offered.unwrap_or(self.arms.len())
    }

    /// Writes what does not depend on the policy.
    #[inline]
    pub(super) fn begin_decision(&mut self) {
        self.decision.alarm = self.monitor.foremost();
        self.alarms_seen = self.monitor.raised();
    }

    /// Publishes a policy if it checks, else gives the reason why it does not. `number` numbers its entries, the columns
    /// of `bounds`.
    #[inline(always)]
    pub fn publish(
        &mut self,
        answer: &Answer,
        bounds: &Bounds,
        number: impl Fn(&Arms, usize) -> usize,
    ) -> Result<(), Fallback> {
        if !answer.is_within(&bounds.thresholds) {
            return Err(answer.failure());
        }
        self.certify(answer, number);
        self.claim(answer.support, answer.costs, bounds, |_, column| {
            Some(column)
        });
        Ok(())
    }

    /// Writes the claims about a policy, given its pessimistic costs; `column` finds its entries in the bounds.
    #[inline]
    pub(crate) fn claim(
        &mut self,
        policy: &[(usize, f64)],
        costs: &[f64],
        bounds: &Bounds,
        column: impl Fn(&Arms, usize) -> Option<usize>,
    ) {
        let safe = bounds.safe;
        self.decision.unclaim();
        if !self.monitor.is_on() {
            return;
        }
        for (place, &(number, p)) in policy.iter().enumerate() {
            let Some(column) = column(&self.arms, number) else {
                continue;
            };
            let guardrails = self.problem.guardrails.iter().enumerate();
            let claims = guardrails.map(|(i, guardrail)| {
                let (lower, upper) = (&bounds.cost_lower[i], &bounds.cost_upper[i]);
                let slack = bounds.thresholds[i] - costs[i];
                let own = (column == safe).then_some(p);
                guardrail.claim(upper[column], (lower[safe], upper[safe]), own, slack)
            });
            let can_fail = |(own, g): (Claim, &Standard)| g.can_refute(own);
            if std::iter::zip(claims.clone(), &self.problem.guardrails).any(can_fail) {
                let action = self.decision.policy[place].0;
                self.decision.claim(action, claims);
            }
        }
    }

    /// Publishes a policy as it is.
    #[inline(always)]
    pub fn certify(&mut self, answer: &Answer, number: impl Fn(&Arms, usize) -> usize) {
        let policy = &mut self.decision.policy;
        policy.clear();
        let numbered = answer
            .support
            .iter()
            .map(|&(a, p)| (number(&self.arms, a), p));
        policy.extend(numbered);
        self.certifier.certify(answer, &mut self.decision);
    }

    pub(super) fn certify_safe(&mut self, value: f64, reason: Fallback) {
        let cost = |i: usize| self.safe_costs[i];
        self.decision.scale = 1.0;
        let decision = &mut self.decision;
        (self.certifier).certify_safe(&self.problem, self.safe, value, cost, reason, decision);
        // The declared safety of the safe action vouches for this policy: (1 − f)·y_0 is at most τ.
        decision.unclaim();
        if self.monitor.is_on() {
            let claims = self.problem.guardrails.iter().map(Standard::claim_of_safe);
            decision.claim(self.safe, claims);
        }
    }

    /// Refuses a number that no arm has, or an action that is not an arm.
    #[inline]
    pub fn check_arm(&self, outcome: &Outcome) -> Result<(), Error> {
        if outcome.choice != Choice::Arms {
            return Err(Error::NoFeatures);
        }
        self.check_number(outcome.action)
    }

    /// Refuses a number that no arm has.
    #[inline]
    pub fn check_number(&self, arm: usize) -> Result<(), Error> {
        if arm < self.arms.len() {
            return Ok(());
        }
        let last = self.arms.len() - 1;
        Err(Error::NoSuchArm { arm, last })
    }

    pub(super) fn check_retired(&self, arm: usize) -> Result<(), Error> {
        self.check_number(arm)?;
        let refuse = |allowed: &str| Err(Error::invalid("arm", self.arms.name(arm), allowed));
        if arm == self.problem.declared.safe {
            return refuse("the safe arm cannot be retired");
        }
        if self.arms.column(arm).is_none() {
            return refuse("it is retired already");
        }
        Ok(())
    }

    /// True if no more outcomes fit the horizon.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.outcomes >= self.room.0
    }

    /// True if the signals of an outcome lie in their ranges, and so count as they are.
    #[inline]
    pub(crate) fn holds(&self, outcome: &Outcome) -> bool {
        (self.problem).holds(Some(outcome.action), outcome.reward, outcome.costs)
    }

    /// Refuses signals that are no observations, outcomes of an unknown time, and those beyond the horizon.
    #[cold]
    pub(crate) fn check_signals(&self, outcome: &Outcome, others: u64) -> Result<(), Error> {
        let (horizon, intervals) = self.room;
        if self.outcomes.saturating_add(others) >= horizon {
            return Err(Error::HorizonExceeded { horizon, intervals });
        }
        if !self.is_timed(outcome) {
            let time = outcome.time.map(|time| finite("time", time)).transpose()?;
            let needs = "an outcome needs the time of its decision, in seconds";
            return Err(time.map_or_else(|| untimed(needs), |time| self.jumped(time)));
        }
        let Outcome { reward, costs, .. } = *outcome;
        if self.monitor.is_on() {
            (self.problem).check_reported(Some(outcome.action), reward, costs)
        } else {
            self.problem.refuse(Some(outcome.action), reward, costs)
        }
    }

    /// The signals of an outcome as they count: those outside their ranges are at their ends, and refute a declaration.
    #[cold]
    pub(super) fn count<'a>(
        &mut self,
        outcome: &Outcome,
        room: &'a mut Vec<f64>,
    ) -> (f64, &'a [f64]) {
        // Actions that come and go have no number that an alarm could name.
        let arm = (!matches!(outcome.choice, Choice::Offered(_))).then_some(outcome.action);
        let signals = (outcome.reward, outcome.costs);
        (self.monitor).look_at_ranges(&self.problem, arm, signals, self.outcomes + 1);
        (self.problem).counted(arm, signals, self.told_for(outcome), room)
    }

    /// Weights that were in force when a decision was made, where others are now.
    fn told_for(&self, outcome: &Outcome) -> Option<&ArmWeights> {
        let decision = outcome.origin.decision()?;
        let own = |told: &&Told| told.arm == outcome.action && decision <= told.until;
        self.told.iter().find(own).map(|told| &told.weights)
    }

    /// Restores weights of earlier decisions from a snapshot.
    pub(super) fn restore_told(&mut self, told: VecDeque<Told>) -> Result<(), Error> {
        for own in &told {
            (self.problem.check_weights(&own.weights)).map_err(|e| broken(e.to_string()))?;
        }
        self.told = told;
        Ok(())
    }

    /// Sets weights of an arm, from the next decision on.
    pub(super) fn set_weights(&mut self, arm: usize, weights: &ArmWeights) -> Result<(), Error> {
        let before = self.problem.arm_weights(arm);
        Arc::make_mut(&mut self.problem).set_weights(arm, weights)?;
        if self.problem.arm_weights(arm) == before {
            return Ok(());
        }
        self.arms.set_weights(arm, self.problem.arm_weights(arm));
        self.told.push_back(Told {
            arm,
            until: self.monitor.last_announced(),
            weights: before,
        });
        if self.told.len() > MOST_TOLD {
            self.told.pop_front();
        }
        Ok(())
    }

    /// Watches an outcome that was learned.
    #[inline]
    pub fn watch(&mut self, outcome: &Outcome, is_safe: bool) -> Next {
        let numbered = !matches!(outcome.choice, Choice::Offered(_));
        let watched = Watched {
            is_safe,
            arm: numbered.then_some(outcome.action),
            segment: None,
            claims: outcome.claims_by(&self.decision),
        };
        (self.monitor).observe(&self.problem, &watched, outcome.costs, self.outcomes)
    }

    /// Refuses claims that no decision can have made.
    pub(super) fn check_claims(&self, outcome: &Outcome) -> Result<(), Error> {
        let Some(claims) = outcome.claims else {
            return Ok(());
        };
        let m = self.problem.guardrails.len();
        if claims.len() != m {
            let allowed = format!("must be one per guardrail: {m}");
            return Err(Error::invalid("claims", claims.len(), allowed));
        }
        for claim in claims {
            finite("claims.slope", claim.slope)?;
            finite("claims.bound", claim.bound)?;
        }
        Ok(())
    }

    /// Reports to the monitor that an arm's mean has changed.
    #[cold]
    pub(crate) fn tell_change(
        &mut self,
        arm: usize,
        segment: Option<usize>,
        changed: &Changed,
    ) -> Next {
        let place = changed.guardrail.map_or(0, |i| i + 1);
        let (_, signal, direction) = self.problem.signal_of(arm, place);
        let guardrail = changed
            .guardrail
            .and_then(|i| self.problem.guardrails.get(i));
        let mean = match guardrail {
            Some(guardrail) => guardrail.signal_of(changed.mean),
            None => {
                let (origin, scale) = signal.affine(direction);
                origin + changed.mean / scale
            }
        };
        let changed = Changed { mean, ..*changed };
        (self.monitor).tell_change(arm, segment, &changed, self.outcomes)
    }

    /// Adds an arm that was checked.
    pub(super) fn add_arm(&mut self, arm: &ArmOffer) -> Result<(), Error> {
        Arc::make_mut(&mut self.problem).add_arm(arm.ranges, arm.weights)?;
        self.arms.push(Arm {
            name: arm.name.to_string(),
            offered: true,
            features: arm.features.map(<[f64]>::to_vec),
            ranges: arm.ranges.clone(),
            weights: arm.weights.clone(),
        });
        Ok(())
    }
}

#[cold]
fn untimed(needs: &str) -> Error {
    let allowed = format!("means drift by the clock (per hour or day): {needs}");
    Error::invalid("time", "absent", allowed)
}
