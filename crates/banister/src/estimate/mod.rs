//! Estimates: statistics and intervals of every arm and signal.
//!
//! Only outcomes that have arrived count; a pending decision changes nothing here, so widths never
//! shrink on promises. Outcomes may come late, in any order and in batches.
//!
//! **Two budgets.** Safety rests on upper cost bounds alone (for a guardrail relative to the safe action,
//! on its lower bound too); everything else only serves optimism. So the ends of intervals draw on two
//! budgets ([`Level`]), each shared by arms in the order of their first pull (`interval/budget.rs`).
//!
//! **Lazy intervals.** An interval that holds at all times at once still holds later: an arm's ends are
//! computed again only when its n has grown by a factor 1 + ε, and after each outcome while n < 200.
//!
//! **Ends that heal.** The end in force is the tightest of those computed since n was 63 to 79% of what it is, not
//! since ever: it holds on the same event, and if that event has failed, with probability δ, it is mended as outcomes
//! come instead of staying wrong. Counts are put into buckets that grow by ∛2: kept are the tightest end of the newest
//! bucket, and the one in force, which is that of the bucket before until the newest one is tighter.
//!
//! **Changes.** Beyond each end a detector bets that the mean has left the interval (`change`). If it is an end that only
//! optimism needs, what was learned of that signal of that arm is forgotten on the spot; if safety rests on it, the
//! agent is told. What is forgotten takes the next place in the budgets: valid at any moment, however it was chosen.
//!
//! **Drift.** Where a signal declares that its means may move, ends are those of `windows`, and for the time of use: all
//! that is kept of an end is then its value at time 0, and [`Estimates::use_until`] says which time to show it for.
//!
//! Files, in reading order: `units`, `ends`, `change`, `windows`, `sums`, this page, `index`, `worth`, `saved`.

mod change;
mod ends;
mod index;
mod saved;
mod sums;
mod units;
mod windows;
mod worth;

pub use saved::{EstimatesState, SignalState};

use crate::interval::{
    Count, DeltaBudget, End, Interval, Intervals, Level, Mixture, Observed, Place, Rule,
};
use crate::problem::{CheckedProblem, Signal};
use change::Change;
pub(crate) use change::Changed;
use ends::{Ends, Side, SignalRule, count};
use sums::Weighted;
pub(crate) use units::Units;
use windows::Windows;

/// Outcomes of an arm up to which each one is followed.
const EACH: u64 = 200;

/// Statistics and intervals in force of every signal of every arm (by arm number, retired ones
/// too), one record per arm: the reward, then one entry per guardrail.
#[derive(Debug, Clone)]
pub struct Estimates {
    rules: Vec<SignalRule>,
    /// Guardrails that are weighted sums.
    sums: Vec<Weighted>,
    /// True if all intervals are a mean ± a constant/√n, in force as they are.
    symmetric: bool,
    /// True if some rule reads the statistics of mixture intervals.
    wants_mixture: bool,
    /// ε.
    lazy: f64,
    safety: DeltaBudget,
    optimism: DeltaBudget,
    pulls: Vec<u64>,
    arms: Vec<Arm>,
    units: Vec<Units>,
    state: Vec<SignalState>,
    /// Empty unless some rule is `mixture`.
    mixture: Vec<Mixture>,
    /// Outcomes of its arm when a signal was last forgotten.
    since: Vec<u64>,
    /// δ_b/δ, where changes are looked for.
    alarm_share: Option<f64>,
    /// Empty unless changes are looked for.
    changes: Vec<Change>,
    /// True if declared drift is followed.
    moving: bool,
    /// Empty unless some mean may move; none for those that stay.
    windows: Vec<Option<Windows>>,
    /// Time until which ends are used.
    until: f64,
    /// The mean that the last outcome proved to have changed.
    changed: Option<Changed>,
}

/// Bucket of n: three of them make a doubling.
fn bucket(n: u64) -> u32 {
    (3.0 * libm::log2(n.max(1) as f64)) as u32
}

/// Parameters of [`Estimates`] beside the problem.
#[derive(Debug, Clone, Copy)]
pub struct EstimateConfig {
    /// Budgets and horizon.
    pub level: Level,
    /// Kind of all intervals; by default the one suiting each signal.
    pub intervals: Option<Intervals>,
    /// True if ends in force are the tightest of late, in two buckets; by default those of anytime intervals.
    pub intersect: Option<bool>,
    /// ε: growth of n after which an arm's intervals are computed again. Only anytime ones may be kept.
    pub lazy: f64,
    /// Number of times that every arm is expected to occur: once, or once in each segment.
    pub groups: usize,
    /// δ_b: probability that a change is ever seen that is none, where changes are looked for.
    pub alarm_delta: Option<f64>,
    /// True if declared drift is followed; else means are taken to stay.
    pub moving: bool,
}

/// ε by default.
pub(crate) const LAZY: f64 = 0.005;

impl EstimateConfig {
    /// The usual intervals at a level, intersected over time.
    pub fn at(level: Level) -> Self {
        Self {
            level,
            intervals: None,
            intersect: None,
            lazy: LAZY,
            groups: 1,
            alarm_delta: None,
            moving: false,
        }
    }
}

/// An arm's places in both budgets, with what follows from them.
#[derive(Debug, Clone, Copy, Default)]
struct Arm {
    /// Outcomes when one of its signals was last forgotten: n counts from there.
    since: u64,
    /// Outcomes at which intervals of means that stay are computed next.
    still_due: u64,
    /// Outcomes at which any are.
    due: u64,
    /// Bucket of n when they were computed last.
    bucket: u32,
    safety: Place,
    optimism: Place,
    /// ln(1/δ_s) of each of its ends on that side.
    log_safety: f64,
    log_optimism: f64,
    /// The widest half-width for n = 1, for the paper's bonus.
    widest: f64,
    is_safe: bool,
    /// The arm of the problem that has its signals.
    like: usize,
}

impl Arm {
    fn log_level(&self, side: Side) -> f64 {
        match side {
            Side::Safety => self.log_safety,
            Side::Optimism | Side::Change => self.log_optimism,
        }
    }
}

impl Estimates {
    /// No arms yet.
    pub fn new(problem: &CheckedProblem, config: &EstimateConfig) -> Self {
        let level = &config.level;
        let arms = problem.declared.arms.len();
        let kind = |signal: &Signal| config.intervals.unwrap_or(Intervals::suiting(signal));
        let intersects = |signal: &Signal| config.intersect.unwrap_or(kind(signal).is_anytime());
        let mut signals = problem.each_signal().map(|(_, signal)| signal);
        let watches = level.log_term.is_none() && signals.all(intersects);
        let alarm_delta = config.alarm_delta.filter(|_| watches);
        let rule = |signal: &Signal, cost: bool, ends: [Ends; 2]| SignalRule {
            rule: Rule::new(
                kind(signal),
                level,
                arms,
                signal.sub_gaussian.is_none(),
                cost,
            ),
            intersect: intersects(signal),
            ends,
            twin: None,
            sum: None,
        };
        // The lower end is for changes alone.
        let reward = Ends {
            lower: alarm_delta.map(|_| Side::Change),
            upper: Some(Side::Optimism),
        };
        let costs = problem.guardrails.iter().map(|g| {
            let ends = [Ends::of_cost(g, false), Ends::of_cost(g, true)];
            rule(&g.signal, true, ends)
        });
        let beside = problem.each_signal().skip(1 + problem.guardrails.len());
        let beside = beside.map(|(_, signal)| rule(signal, true, [Ends::NONE; 2]));
        let mut rules: Vec<SignalRule> = std::iter::once(rule(&problem.reward, false, [reward; 2]))
            .chain(costs)
            .chain(beside)
            .collect();
        for (i, sum) in problem.sums().iter().enumerate() {
            let own = &mut rules[sum.guardrail + 1];
            own.sum = Some(i);
            let wanted = std::mem::replace(&mut own.ends, [Ends::NONE; 2]);
            for &term in &sum.terms {
                for (own, wanted) in rules[term].ends.iter_mut().zip(wanted) {
                    *own = own.and(wanted, false);
                }
            }
        }
        for guardrail in &problem.guardrails {
            if let Some(per) = guardrail.per {
                let ends = [false, true].map(|is_safe| Ends::per(guardrail, is_safe));
                for (own, wanted) in rules[per].ends.iter_mut().zip(ends) {
                    *own = own.and(wanted, false);
                }
            }
        }
        for s in 1..rules.len() {
            let place = problem.learned_at(s);
            if place != s {
                let direction = |s: usize| problem.signal_of(0, s).2;
                let mirrored = direction(s) != direction(place);
                rules[s].twin = Some((place, mirrored));
                for (is_safe, ends) in rules[s].ends.into_iter().enumerate() {
                    let own = &mut rules[place].ends[is_safe];
                    *own = own.and(ends, mirrored);
                }
            }
        }
        let needs = |is_safe: bool| usize::from(count(&rules, is_safe, Side::Safety) > 0);
        let anytime = rules.iter().all(|r| !r.rule.is_symmetric());
        Self {
            safety: DeltaBudget::new(
                level.delta,
                config.groups * ((arms - 1) * needs(false) + needs(true)),
            ),
            optimism: DeltaBudget::new(level.optimism_delta, config.groups * arms),
            symmetric: rules.iter().all(|r| r.rule.is_symmetric() && !r.intersect),
            wants_mixture: rules.iter().any(|r| r.rule.wants_mixture()),
            lazy: if anytime { config.lazy } else { 0.0 },
            alarm_share: alarm_delta.map(|alarm_delta| alarm_delta / level.delta),
            sums: problem.sums().iter().map(Weighted::new).collect(),
            rules,
            pulls: Vec::new(),
            arms: Vec::new(),
            units: Vec::new(),
            state: Vec::new(),
            mixture: Vec::new(),
            since: Vec::new(),
            changes: Vec::new(),
            moving: config.moving,
            windows: Vec::new(),
            until: 0.0,
            changed: None,
        }
    }

    /// Means may have moved: ends shown from now on hold until this time.
    pub(crate) fn use_until(&mut self, time: f64) {
        self.until = time;
    }

    /// Estimates of the safe arm alone, under number 0.
    pub(crate) fn of_safe(problem: &CheckedProblem, config: &EstimateConfig) -> Self {
        let mut own = Self::new(problem, config);
        own.safety = DeltaBudget::new(config.level.delta, 1);
        own.optimism = DeltaBudget::new(config.level.optimism_delta, 1);
        own.add(problem, 0, true);
        own
    }

    /// Outcomes of every arm.
    #[inline]
    pub fn pulls(&self) -> &[u64] {
        &self.pulls
    }

    /// n: outcomes of an arm that a signal's estimates rest on.
    #[inline]
    pub(crate) fn count(&self, arm: usize, signal: usize) -> u64 {
        self.pulls[arm] - self.since[arm * self.rules.len() + signal]
    }

    /// Outcomes of an arm that all its estimates rest on.
    #[inline]
    pub(crate) fn known(&self, arm: usize) -> u64 {
        self.pulls[arm] - self.arms[arm].since
    }

    /// Adds an arm without outcomes, under the next number.
    pub fn add_arm(&mut self, problem: &CheckedProblem) {
        let arm = self.pulls.len();
        self.add(problem, arm, arm == problem.declared.safe);
    }

    /// Adds what has the signals of an arm of the problem and stands under the next number here.
    pub(crate) fn add(&mut self, problem: &CheckedProblem, like: usize, is_safe: bool) {
        let mut widest = 0.0_f64;
        for (s, lane) in self.rules.iter().enumerate() {
            let (own, common, direction) = problem.signal_of(like, s);
            let rule = &lane.rule;
            let mut units = Units::new(own, common, direction);
            if !self.moving {
                units.drift = 0.0;
            }
            if lane.sum.is_some() {
                // Its signals are learned: its own value teaches nothing.
                units.scale = 0.0;
            }
            let by_clock = own.drift.is_some_and(|drift| drift.per.is_by_clock());
            let windows = (lane.is_learned() && units.drift > 0.0)
                .then(|| Windows::new(units.drift, by_clock));
            if windows.is_some() || !self.windows.is_empty() {
                self.windows.resize(self.units.len(), None);
                self.windows.push(windows);
            }
            units.width = rule.width(units.r);
            widest = widest.max(units.width * units.stretch);
            let before = rule.before_the_first_pull(units.r);
            self.units.push(units);
            self.state.push(SignalState::before(before));
            self.since.push(0);
            if self.wants_mixture {
                self.mixture.push(Mixture::default());
            }
            if self.alarm_share.is_some() {
                self.changes.push(Change::default());
            }
        }
        self.pulls.push(0);
        self.arms.push(Arm {
            widest,
            is_safe,
            like,
            ..Arm::default()
        });
        self.add_weights(problem, like);
    }

    /// Forgets what was learned under a number, for something else with the same signals. Its places are not given
    /// again: a first pull takes new ones.
    pub(crate) fn clear(&mut self, arm: usize) {
        self.pulls[arm] = 0;
        let Arm {
            widest,
            is_safe,
            like,
            ..
        } = self.arms[arm];
        self.arms[arm] = Arm {
            widest,
            is_safe,
            like,
            ..Arm::default()
        };
        for s in 0..self.rules.len() {
            self.reset(arm, s);
        }
    }

    fn reset(&mut self, arm: usize, signal: usize) {
        let place = arm * self.rules.len() + signal;
        let before = self.rules[signal]
            .rule
            .before_the_first_pull(self.units[place].r);
        self.state[place] = SignalState::before(before);
        self.since[place] = self.pulls[arm];
        if let Some(own) = self.mixture.get_mut(place) {
            *own = Mixture::default();
        }
        if let Some(own) = self.changes.get_mut(place) {
            *own = Change::default();
        }
        if let Some(Some(own)) = self.windows.get_mut(place) {
            own.clear();
        }
    }

    /// Gives an arm that is about to be pulled its places in the budgets, if it has none: before any of its
    /// outcomes is seen.
    #[inline]
    pub fn number(&mut self, arm: usize) {
        if !self.arms[arm].optimism.is_given() {
            self.give_places(arm);
        }
    }

    #[cold]
    #[inline(never)]
    fn give_places(&mut self, arm: usize) {
        let ends = count(&self.rules, self.arms[arm].is_safe, Side::Safety);
        let own = &mut self.arms[arm];
        if ends > 0 {
            own.safety = self.safety.next();
        }
        own.optimism = self.optimism.next();
        (own.still_due, own.due) = (own.since + 1, own.since + 1);
        self.set_levels(arm);
        self.follow_ends(arm);
    }

    /// Works out the levels from the places.
    fn set_levels(&mut self, arm: usize) {
        let is_safe = self.arms[arm].is_safe;
        let ends = |side: Side| count(&self.rules, is_safe, side);
        let own = &mut self.arms[arm];
        if own.safety.is_given() {
            own.log_safety = self.safety.log_level(own.safety, ends(Side::Safety));
        }
        own.log_optimism = self.optimism.log_level(own.optimism, ends(Side::Optimism));
    }

    /// n·(1 + ε), the next count at which ends are computed.
    #[inline]
    fn due_after(&self, n: u64) -> u64 {
        if n < EACH {
            return n + 1;
        }
        n + ((self.lazy * n as f64) as u64).max(1)
    }

    /// The counts at which ends were computed last and are computed next, after n outcomes: nothing else
    /// decides that.
    fn computed_around(&self, n: u64) -> (u64, u64) {
        // Up to here every outcome counts.
        let each = EACH.max((1.0 / self.lazy) as u64);
        let (mut last, mut due) = (each.min(n), each.min(n) + 1);
        while due <= n {
            (last, due) = (due, self.due_after(due));
        }
        (last, due)
    }

    /// The interval in force of a signal (0 the reward, 1 + i guardrail i), in standard units.
    #[inline]
    pub fn ends(&self, arm: usize, signal: usize) -> Interval {
        if let Some(sum) = self.rules[signal].sum {
            return self.ends_of_sum(sum, arm);
        }
        let place = arm * self.rules.len() + signal;
        let (units, state) = (&self.units[place], &self.state[place]);
        let (mut lower, mut upper) = (state.lower, state.upper);
        if units.drift > 0.0 {
            let moved = units.drift * self.until;
            (lower, upper) = ((lower - moved).max(0.0), (upper + moved).min(1.0));
        }
        let (lower, upper) = (units.common(lower), units.common(upper));
        Interval {
            // Ends of different budgets may cross; a lower one that is lowered still holds.
            lower: if lower < upper { lower } else { upper },
            upper,
        }
    }

    /// p̂ of a signal in standard units, if the arm was ever pulled.
    #[inline]
    pub fn mean(&self, arm: usize, signal: usize) -> Option<f64> {
        if let Some(sum) = self.rules[signal].sum {
            let found = self.weighted(sum, arm, |term| Some([self.mean(arm, term)?]));
            return found.map(|[mean]| mean);
        }
        let n = self.count(arm, signal);
        let place = arm * self.rules.len() + signal;
        (n > 0).then(|| {
            let window = self.window(arm, signal);
            let all = (n, self.state[place].sum);
            let (n, sum) = window.map_or(all, |(own, _)| (own.count(), own.sum()));
            self.units[place].common(sum / n as f64)
        })
    }

    /// The latest outcomes that bounds of a mean that may move are about, and the mean of their times.
    fn window(&self, arm: usize, signal: usize) -> Option<(Mixture, f64)> {
        let (learned, mirrored) = self.rules[signal].twin.unwrap_or((signal, false));
        let place = arm * self.rules.len() + learned;
        let windows = self.windows.get(place)?.as_ref()?;
        let now = self.mixture.get(place).filter(|now| now.count() > 0)?;
        let (own, middle) = windows.tightest(self.units[place].drift, now);
        Some((if mirrored { own.mirrored() } else { own }, middle))
    }

    /// Latest outcomes of an arm that bounds of each signal are about, where means may move; else none.
    pub(crate) fn windows(&self, arm: usize) -> Vec<Option<u64>> {
        let signals = self.rules.len() * usize::from(!self.windows.is_empty());
        let count = |signal| self.window(arm, signal).map(|(own, _)| own.count());
        (0..signals).map(count).collect()
    }

    /// Sum of a signal's observations, each in standard units.
    #[inline]
    pub fn sum(&self, arm: usize, signal: usize) -> f64 {
        let place = arm * self.rules.len() + signal;
        let units = &self.units[place];
        units.shift * self.count(arm, signal) as f64 + units.stretch * self.state[place].sum
    }

    /// Observes one outcome of `arm`, drawn at a time. True if its intervals were computed again.
    #[inline]
    pub fn observe(&mut self, arm: usize, reward: f64, costs: &[f64], time: f64) -> bool {
        self.observe_counted(arm, reward, costs, time).is_some()
    }

    /// Observes one outcome; returns the arm's count, prepared, where its intervals were computed again.
    #[inline(always)]
    pub(crate) fn observe_counted(
        &mut self,
        arm: usize,
        reward: f64,
        costs: &[f64],
        time: f64,
    ) -> Option<Count> {
        let pulls = &mut self.pulls[arm];
        *pulls += 1;
        let n = *pulls;
        if n == 1 {
            self.number(arm);
        }
        let signals = self.rules.len();
        let from = arm * signals;
        let states = &mut self.state[from..from + signals];
        let units = &self.units[from..from + signals];
        let costs = &costs[..signals - 1];
        if self.symmetric {
            let count = Count::new(n);
            for s in 0..signals {
                let (units, state) = (&units[s], &mut states[s]);
                state.sum += units.standardise(if s == 0 { reward } else { costs[s - 1] });
                let rule = &self.rules[s].rule;
                let Interval { lower, upper } = rule.symmetric(&count, state.sum, units.width);
                (state.lower, state.upper) = (lower, upper);
            }
            return Some(count);
        }
        let mut proven = false;
        for s in 0..signals {
            let y = units[s].standardise(if s == 0 { reward } else { costs[s - 1] });
            states[s].sum += y;
            let rule = &self.rules[s].rule;
            if rule.wants_mixture() {
                self.mixture[from + s].push(y);
            }
            let windows = self.windows.get_mut(from + s).and_then(Option::as_mut);
            let moved = windows.map(|own| units[s].drift * own.push(time));
            if let Some(change) = self.changes.get_mut(from + s) {
                proven |= match moved {
                    Some(moved) => change.observe_moving(y, moved),
                    None if rule.is_bounded() => change.observe(y),
                    None => change.observe_normal(y),
                };
            }
        }
        if proven {
            return Some(self.follow_change(arm));
        }
        if n < self.arms[arm].due {
            return None;
        }
        Some(self.recompute(arm))
    }

    /// Computes those of an arm's ends that are due.
    #[inline(never)]
    fn recompute(&mut self, arm: usize) -> Count {
        let signals = self.rules.len();
        let (pulls, since) = (self.pulls[arm], self.arms[arm].since);
        let is_still_due = pulls >= self.arms[arm].still_due;
        let mut turns = false;
        if is_still_due {
            let due = since + self.due_after(pulls - since);
            let bucket = bucket(pulls - since);
            let own = &mut self.arms[arm];
            own.still_due = due;
            turns = std::mem::replace(&mut own.bucket, bucket) != bucket;
        }
        let (mut due, mut faster) = (self.arms[arm].still_due, None);
        for s in 0..signals {
            let place = arm * signals + s;
            let lane = &self.rules[s];
            if !lane.is_learned() || self.since[place] == pulls {
                continue;
            }
            if turns && lane.intersect {
                self.state[place].turn();
            }
            if let (Some(Some(windows)), Some(now)) =
                (self.windows.get_mut(place), self.mixture.get(place))
            {
                let own = &self.arms[arm];
                let level = |(_, side): (End, Option<Side>)| side.map(|side| own.log_level(side));
                let levels = lane.ends[usize::from(own.is_safe)].each().map(level);
                let found = windows.compute(self.units[place].drift, now, levels);
                for (end, found) in [End::Lower, End::Upper].into_iter().zip(found.ends) {
                    found
                        .into_iter()
                        .for_each(|b| self.state[place].tighten(end, b));
                }
                faster = faster.or(found.refuted.then_some(s));
                due = due.min(self.since[place] + windows.due());
            } else if is_still_due {
                self.bound(arm, s);
            }
        }
        self.arms[arm].due = due;
        if let Some(s) = faster {
            self.note_change(arm, s, None);
        }
        self.follow_ends(arm);
        Count::new(self.count(arm, 0))
    }

    /// Computes the ends of a mean that stays from all its outcomes, beginning at those of the newer bucket.
    #[inline]
    fn bound(&mut self, arm: usize, s: usize) {
        let place = arm * self.rules.len() + s;
        let (lane, own) = (&self.rules[s], &self.arms[arm]);
        let (r, state) = (self.units[place].r, &mut self.state[place]);
        let observed = Observed {
            count: Count::new(self.pulls[arm] - self.since[place]),
            sum: state.sum,
            mixture: self.mixture.get(place),
        };
        for (end, side) in lane.ends[usize::from(own.is_safe)].each() {
            let Some(side) = side else { continue };
            let level = own.log_level(side);
            let (slot, newer) = state.both(end);
            if lane.intersect {
                let found = lane.rule.end(end, &observed, r, level, *newer);
                state.tighten(end, found);
            } else {
                *slot = (lane.rule).end(end, &observed, r, level, end.trivial());
            }
        }
    }

    /// Centre of the reward interval and the largest radius of all signals, unclipped, as the
    /// paper's bonus wants them.
    #[inline]
    pub(crate) fn centre_and_radius(&self, arm: usize, count: &Count) -> (f64, f64) {
        let place = arm * self.rules.len();
        let rule = &self.rules[0].rule;
        let centre = self.units[place].common(rule.centre(count, self.state[place].sum));
        (centre, rule.radius(count, self.arms[arm].widest))
    }

    pub(crate) fn interval(&self, arm: usize, signal: usize) -> Option<Interval> {
        (arm < self.pulls.len() && signal < self.rules.len()).then(|| self.ends(arm, signal))
    }

    /// Mean of a signal's observations, if there are any, and an interval with both its ends.
    pub(crate) fn summary(&self, arm: usize, signal: usize) -> (Option<f64>, Interval) {
        let (mean, mut ends) = (self.mean(arm, signal), self.ends(arm, signal));
        let lane = &self.rules[signal];
        let outside = mean.is_some_and(|mean| mean < ends.lower || mean > ends.upper);
        let half = lane.ends[usize::from(self.arms[arm].is_safe)]
            .lower
            .is_none();
        let drift = self.units[arm * self.rules.len() + signal].drift;
        if mean.is_some() && (half || outside) && drift == 0.0 && lane.sum.is_none() {
            let level = self.arms[arm].log_optimism;
            let end = |end: End| self.end_at(arm, signal, end, level);
            // Optimism never asks for some lower ends, so they are not kept; and where the mean has left
            // what was possible before, all outcomes so far count.
            ends.lower = end(End::Lower);
            if outside {
                ends.upper = end(End::Upper);
            }
        }
        (mean, ends)
    }
}
