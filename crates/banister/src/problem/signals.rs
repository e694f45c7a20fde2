//! The row of signals that an outcome is: the reward, then one per guardrail; each in every arm's own range and in common
//! units.
//!
//! The reward and each guardrail are a signal each. One that two of them name is learned once ([`Signals::learned`]),
//! from the first of its places in the row.

use std::borrow::Cow;

use super::{ArmRanges, CheckedProblem, Direction, Problem, Signal, SignalConfig};
use crate::error::Error;

/// Name of the reward among the ranges that an added arm brings.
pub(crate) const REWARD: &str = "reward";

/// Signals of a row (0 the reward, 1 + i guardrail i).
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Signals {
    /// One per arm where ranges are by arm; empty where all arms share one.
    by_arm: Vec<Vec<Signal>>,
    /// Place in the row of the signal that is learned: its own, or where it stands first.
    learned: Vec<usize>,
    /// True if all arms share one range of each signal, and each stands once.
    plain: bool,
}

impl Signals {
    pub(super) fn new(problem: &Problem) -> Result<Self, Error> {
        let arms = &problem.arms;
        let mut by_arm = vec![problem.reward.of_arms(REWARD, arms)?];
        let mut learned = vec![0];
        for (i, guardrail) in problem.guardrails.iter().enumerate() {
            let field = format!("guardrail[{i}]");
            let own = guardrail.own_signal().of_arms(&field, arms)?;
            if let Some(safe) = own.get(problem.safe) {
                guardrail.check_safe_cost(&field, safe)?;
                if guardrail.name == REWARD {
                    let allowed = "a guardrail whose range is by arm needs another name";
                    return Err(Error::invalid(format!("{field}.name"), REWARD, allowed));
                }
            }
            by_arm.push(own);
            learned.push(problem.place_of_signal(i)?);
        }
        let once = learned.iter().enumerate().all(|(s, &own)| s == own);
        Ok(Self {
            plain: once && by_arm.iter().all(Vec::is_empty),
            by_arm,
            learned,
        })
    }
}

impl Problem {
    /// Place in the row of the signal that a guardrail bounds.
    fn place_of_signal(&self, guardrail: usize) -> Result<usize, Error> {
        let own = &self.guardrails[guardrail];
        let refuse = |name: &str, allowed: String| {
            Err(Error::invalid(
                format!("guardrail[{guardrail}].signal"),
                name,
                allowed,
            ))
        };
        let Some(name) = own.signal.as_deref().filter(|name| *name != own.name) else {
            return Ok(guardrail + 1);
        };
        if name == REWARD {
            return Ok(0);
        }
        match self.guardrails.iter().position(|other| other.name == name) {
            None => refuse(
                name,
                "must be `reward` or the name of another guardrail".into(),
            ),
            Some(i) => match &self.guardrails[i].signal {
                Some(first) if first != name => {
                    refuse(name, format!("it has the signal of {first:?}: name that"))
                }
                _ => Ok(i + 1),
            },
        }
    }

    /// The problem with the range of a signal at every guardrail that shares it.
    pub(super) fn with_shared_signals(&self) -> Result<Self, Error> {
        let mut problem = self.clone();
        for (i, own) in problem.guardrails.iter_mut().enumerate() {
            let place = self.place_of_signal(i)?;
            if place == i + 1 {
                continue;
            }
            let declared = own.own_signal();
            *own = own.with_signal(&self.reward, &self.guardrails);
            if declared != SignalConfig::default() && declared != own.own_signal() {
                let (field, allowed) = (
                    format!("guardrail[{i}].range"),
                    "a signal has one range, of the place that is named",
                );
                return Err(Error::invalid(field, "another", allowed));
            }
            let first = place.checked_sub(1).map(|j| &self.guardrails[j]);
            let known = first.and_then(|first| first.safe_cost);
            if let (Some(own), Some(known)) = (own.safe_cost, known)
                && own != known
            {
                let allowed = format!("the signal has one mean, {known} where it stands first");
                return Err(Error::invalid(
                    format!("guardrail[{i}].safe_cost"),
                    own,
                    allowed,
                ));
            }
            own.safe_cost = own.safe_cost.or(known);
        }
        Ok(problem)
    }

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
        let own = self.signals.by_arm[signal].get(arm).unwrap_or(common);
        (own, common, direction)
    }

    /// Place in the row of the signal that is learned for this place: itself, or where the signal stands first.
    pub(crate) fn learned_at(&self, signal: usize) -> usize {
        self.signals.learned[signal]
    }

    /// A signal (0 the reward, 1 + i guardrail i) in an arm's own range.
    pub fn own_signal(&self, arm: usize, signal: usize) -> &Signal {
        self.signal_of(arm, signal).0
    }

    /// Signals of all arms (0 the reward, 1 + i guardrail i), or the one that they share.
    pub fn own_signals(&self, signal: usize) -> &[Signal] {
        match &self.signals.by_arm[signal][..] {
            [] => std::slice::from_ref(self.signal_of(0, signal).1),
            own => own,
        }
    }

    /// Highest reward of any arm, also of those added.
    pub(crate) fn highest_reward(&self) -> f64 {
        let own = self.signals.by_arm[0].iter().map(|signal| signal.hi);
        own.fold(self.reward.hi, f64::max)
    }

    /// True if a reward and costs of an arm lie in their ranges, and so count as they are; in those that all arms
    /// share where there is none.
    #[inline]
    pub fn holds(&self, arm: Option<usize>, reward: f64, costs: &[f64]) -> bool {
        if !self.signals.plain {
            let values = std::iter::once(&reward).chain(costs);
            let mut own = self.signals_of(arm).zip(values);
            return costs.len() == self.guardrails.len()
                && own.all(|(own, &x)| own.holds(x))
                && self.contradicted(reward, costs).is_none();
        }
        costs.len() == self.guardrails.len()
            && self.reward.holds(reward)
            && std::iter::zip(&self.guardrails, costs).all(|(g, &cost)| g.signal.holds(cost))
    }

    /// The first guardrail whose cost is not the value of the signal that it shares, and that value.
    fn contradicted(&self, reward: f64, costs: &[f64]) -> Option<(usize, f64)> {
        let value = |i: usize| {
            let place = self.signals.learned[i + 1];
            place.checked_sub(1).map_or(reward, |j| costs[j])
        };
        let mut found = (0..costs.len()).map(|i| (i, value(i)));
        found.find(|&(i, value)| costs[i] != value)
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
    /// observation: it refutes the declaration ([`crate::monitor::AlarmKind::Range`]).
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
        if let Some((i, known)) = self.contradicted(reward, costs) {
            let name = self.signal_name(self.signals.learned[i + 1]);
            let allowed = format!("it bounds the signal of `{name}`, which was {known}");
            return Err(Error::invalid(self.signal_name(i + 1), costs[i], allowed));
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
        let by_arm = |s: usize| !self.signals.by_arm[s].is_empty();
        let names: Vec<&str> = (0..self.signals.by_arm.len())
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
        for s in (0..self.signals.by_arm.len()).filter(|&s| by_arm(s)) {
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
            self.signals.by_arm[s].push(own);
        }
        Ok(())
    }

    /// Ranges of an arm, as [`CheckedProblem::add_arm`] takes them: of the signals whose ranges are by arm.
    pub fn arm_ranges(&self, arm: usize) -> ArmRanges {
        let signals = self.signals.by_arm.iter().enumerate();
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
            Some(i) => Cow::Owned(self.declared.guardrails[i].own_signal()),
        }
    }
}
