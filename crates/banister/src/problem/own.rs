//! Signals of every arm, in its own range and in common units.

use std::borrow::Cow;

use super::{ArmRanges, CheckedProblem, Direction, Problem, Signal, SignalConfig};
use crate::error::Error;

/// Name of the reward among the ranges that an added arm brings.
pub(crate) const REWARD: &str = "reward";

/// Signals by arm, where their ranges are.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct OwnSignals {
    /// Per signal (0 the reward, 1 + i guardrail i) one per arm; empty where all arms share one range.
    signals: Vec<Vec<Signal>>,
    /// True if some signal has ranges by arm.
    any: bool,
}

impl OwnSignals {
    pub(super) fn new(problem: &Problem) -> Result<Self, Error> {
        let arms = &problem.arms;
        let mut signals = vec![problem.reward.of_arms(REWARD, arms)?];
        for (i, guardrail) in problem.guardrails.iter().enumerate() {
            let field = format!("guardrail[{i}]");
            let own = guardrail.signal().of_arms(&field, arms)?;
            if let Some(safe) = own.get(problem.safe) {
                guardrail.check_safe_cost(&field, safe)?;
                if guardrail.name == REWARD {
                    let allowed = "a guardrail whose range is by arm needs another name";
                    return Err(Error::invalid(format!("{field}.name"), REWARD, allowed));
                }
            }
            signals.push(own);
        }
        Ok(Self {
            any: signals.iter().any(|own| !own.is_empty()),
            signals,
        })
    }
}

impl Problem {
    /// Refuses ranges by arm: for agents that scale a signal by one range.
    pub fn one_range_each(&self) -> Result<(), Error> {
        let ranges = self.guardrails.iter().map(|g| &g.range).enumerate();
        let ranges = ranges.map(|(i, range)| (format!("guardrail[{i}].range"), range));
        for (field, range) in [("reward.range".into(), &self.reward.range)]
            .into_iter()
            .chain(ranges)
        {
            if range.as_ref().is_some_and(|range| range.shared().is_none()) {
                let allowed = "means are linear in the features here, and a signal has one scale: give \
                               [lo, hi] for all, or use an agent on arms, such as `opb`";
                return Err(Error::invalid(field, "given by arm", allowed));
            }
        }
        Ok(())
    }
}

impl CheckedProblem {
    /// A signal (0 the reward, 1 + i guardrail i) of an arm as it is and in common units, and its direction.
    pub(crate) fn signal_of(&self, arm: usize, signal: usize) -> (&Signal, &Signal, Direction) {
        let (common, direction) = match signal.checked_sub(1).map(|i| &self.guardrails[i]) {
            None => (&self.reward, Direction::AtMost),
            Some(g) => (&g.signal, g.direction),
        };
        let own = self.own.signals[signal].get(arm).unwrap_or(common);
        (own, common, direction)
    }

    /// A signal (0 the reward, 1 + i guardrail i) in an arm's own range.
    pub fn own_signal(&self, arm: usize, signal: usize) -> &Signal {
        self.signal_of(arm, signal).0
    }

    /// Signals of all arms (0 the reward, 1 + i guardrail i), or the one that they share.
    pub fn own_signals(&self, signal: usize) -> &[Signal] {
        match &self.own.signals[signal][..] {
            [] => std::slice::from_ref(self.signal_of(0, signal).1),
            own => own,
        }
    }

    /// Highest reward of any arm, also of those added.
    pub(crate) fn highest_reward(&self) -> f64 {
        let own = self.own.signals[0].iter().map(|signal| signal.hi);
        own.fold(self.reward.hi, f64::max)
    }

    /// True if a reward and costs of an arm lie in their ranges, and so count as they are; in those that all arms
    /// share where there is none.
    #[inline]
    pub fn holds(&self, arm: Option<usize>, reward: f64, costs: &[f64]) -> bool {
        if self.own.any {
            let values = std::iter::once(&reward).chain(costs);
            let mut own = self.signals_of(arm).zip(values);
            return costs.len() == self.guardrails.len() && own.all(|(own, &x)| own.holds(x));
        }
        costs.len() == self.guardrails.len()
            && self.reward.holds(reward)
            && std::iter::zip(&self.guardrails, costs).all(|(g, &cost)| g.signal.holds(cost))
    }

    /// Signals of an arm, the reward first; those that all arms share where there is none.
    fn signals_of(&self, arm: Option<usize>) -> impl Iterator<Item = &Signal> {
        // Past the last arm stands what all share.
        let arm = arm.unwrap_or(usize::MAX);
        (0..=self.guardrails.len()).map(move |s| self.own_signal(arm, s))
    }

    /// Refuses a reward and costs that the declaration does not allow: for agents that nothing watches.
    pub fn refuse(&self, arm: Option<usize>, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.check_signals(arm, reward, costs, Signal::check_value)
    }

    /// Refuses a reward and costs that are no observations, or not one per guardrail. One outside its range is an
    /// observation: it refutes the declaration ([`crate::AlarmKind::Range`]).
    pub fn check_reported(
        &self,
        arm: Option<usize>,
        reward: f64,
        costs: &[f64],
    ) -> Result<(), Error> {
        self.check_signals(arm, reward, costs, Signal::check_reported)
    }

    fn check_signals(
        &self,
        arm: Option<usize>,
        reward: f64,
        costs: &[f64],
        check: impl Fn(&Signal, &str, f64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let guardrails = &self.guardrails;
        if costs.len() != guardrails.len() {
            let names: Vec<&str> = guardrails.iter().map(|g| g.name.as_str()).collect();
            return Err(Error::CostCount {
                got: costs.len(),
                expected: guardrails.len(),
                names: names.join(", "),
            });
        }
        let values = std::iter::once(&reward).chain(costs).enumerate();
        for (signal, (s, &x)) in self.signals_of(arm).zip(values) {
            check(signal, self.signal_name(s), x)?;
        }
        Ok(())
    }

    /// A checked outcome of an arm as it counts: signals outside their range are at its end. `room` holds the costs.
    pub fn counted<'a>(
        &self,
        arm: Option<usize>,
        reward: f64,
        costs: &[f64],
        room: &'a mut Vec<f64>,
    ) -> (f64, &'a [f64]) {
        room.clear();
        let mut own = self.signals_of(arm);
        let reward = own.next().map_or(reward, |own| own.counted(reward));
        room.extend(own.zip(costs).map(|(own, &cost)| own.counted(cost)));
        (reward, room)
    }

    /// Takes up one more arm, with a range for every signal whose ranges are by arm and for no other.
    ///
    /// A cost may be larger than that of any arm before, but not smaller than the smallest: costs are counted
    /// from there, and the breach detector needs them not to be negative.
    pub fn add_arm(&mut self, ranges: &ArmRanges) -> Result<(), Error> {
        let by_arm = |s: usize| !self.own.signals[s].is_empty();
        let names: Vec<&str> = (0..self.own.signals.len())
            .filter(|&s| by_arm(s))
            .map(|s| self.signal_name(s))
            .collect();
        if names.is_empty() {
            return ranges.refuse();
        }
        if let Some(name) = ranges.0.keys().find(|name| !names.contains(&name.as_str())) {
            let allowed = format!("ranges are by arm for {} only", names.join(", "));
            return Err(Error::invalid(format!("ranges.{name}"), "given", allowed));
        }
        let mut added = Vec::new();
        for s in (0..self.own.signals.len()).filter(|&s| by_arm(s)) {
            let field = format!("ranges.{}", self.signal_name(s));
            let Some(&range) = ranges.0.get(self.signal_name(s)) else {
                let allowed = "the ranges of this signal are by arm: an added one brings its own";
                return Err(Error::invalid(field, "absent", allowed));
            };
            let own = self.config_of(s).of_arm(&field, range)?;
            self.check_added(&field, s, &own)?;
            added.push((s, own));
        }
        for (s, own) in added {
            self.own.signals[s].push(own);
        }
        Ok(())
    }

    /// Ranges of an arm, as [`CheckedProblem::add_arm`] takes them: of the signals whose ranges are by arm.
    pub fn arm_ranges(&self, arm: usize) -> ArmRanges {
        let signals = self.own.signals.iter().enumerate();
        let found = signals.filter_map(|(s, own)| {
            let own = own.get(arm)?;
            Some((self.signal_name(s).to_string(), [own.lo, own.hi]))
        });
        ArmRanges(found.collect())
    }

    fn check_added(&self, field: &str, s: usize, own: &Signal) -> Result<(), Error> {
        let Some(i) = s.checked_sub(1) else {
            return Ok(());
        };
        let (_, common, direction) = self.signal_of(0, s);
        let refuse = |allowed: String| {
            let value = format!("[{}, {}]", own.lo, own.hi);
            Err(Error::invalid(field, value, allowed))
        };
        let (harmless, _) = direction.ordered(common.lo, common.hi);
        let (nearest, farthest) = direction.ordered(own.lo, own.hi);
        if direction.excess(nearest, harmless) < 0.0 {
            return refuse(format!(
                "costs are counted from {harmless}, the harmless end of the ranges declared: an added arm \
                 may go beyond the other end only"
            ));
        }
        if self.declared.guardrails[i].relative && farthest < 0.0 {
            return refuse("a relative guardrail needs a signal that is never negative".into());
        }
        Ok(())
    }

    pub(crate) fn signal_name(&self, s: usize) -> &str {
        s.checked_sub(1)
            .map_or(REWARD, |i| &self.declared.guardrails[i].name)
    }

    fn config_of(&self, s: usize) -> Cow<'_, SignalConfig> {
        match s.checked_sub(1) {
            None => Cow::Borrowed(&self.declared.reward),
            Some(i) => Cow::Owned(self.declared.guardrails[i].signal()),
        }
    }
}
