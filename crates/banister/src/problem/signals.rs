//! The row of signals that an outcome is: the reward, one per guardrail, then those that guardrails are sums of
//! (`weights`) or made from (`made`); each in every arm's own range and in common units. What outcomes bring is the row
//! without those.
//!
//! The reward and each guardrail are a signal each. One that two of them name is learned once ([`Signals::learned`]),
//! from the first of its places in the row.

use std::borrow::Cow;

use super::made::AllMade;
use super::{
    ArmRanges, ArmWeights, CheckedProblem, Direction, Made, Measured, Problem, Signal,
    SignalConfig, Sum,
};
use crate::error::Error;
use crate::path::{FieldPath, Within};

/// Name of the reward among the ranges that an added arm brings.
pub(crate) const REWARD: &str = "reward";

/// Signals of a row (0 the reward, 1 + i guardrail i, then those declared beside them).
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Signals {
    /// One per arm where ranges are by arm; empty where all arms share one.
    by_arm: Vec<Vec<Signal>>,
    /// Place in the row of the signal that is learned: its own, or where it stands first.
    learned: Vec<usize>,
    /// Places of the row that outcomes bring beside the reward: no sums, and nothing that is made.
    measured: Vec<usize>,
    /// True if all arms share one range of each signal, and each stands once.
    plain: bool,
}

impl Signals {
    pub(super) fn new(problem: &Problem, made: &[(usize, Made)]) -> Result<Self, Error> {
        let arms = &problem.arms;
        let mut by_arm = vec![problem.reward.of_arms(arms).within(REWARD)?];
        let mut learned = vec![0];
        for (i, guardrail) in problem.guardrails.iter().enumerate() {
            let field = FieldPath::from(("guardrails", i));
            let own = guardrail.own_signal().of_arms(arms);
            let own = own.within(field.clone())?;
            if let Some(safe) = own.get(problem.safe) {
                guardrail.check_safe_cost(safe).within(field.clone())?;
                if guardrail.name == REWARD {
                    let allowed = "a guardrail whose range is by arm needs another name";
                    return Err(Error::invalid(field.key("name"), REWARD, allowed));
                }
            }
            by_arm.push(own);
            learned.push(match made.iter().find(|(own, _)| *own == i) {
                Some((_, Made::Signal(place))) => *place,
                _ => i + 1,
            });
        }
        for (name, signal) in &problem.signals {
            learned.push(learned.len());
            by_arm.push((signal.config().of_arms(arms)).within(("signals", name))?);
        }
        let is_brought = |place: &usize| {
            let own = problem.guardrails.get(place - 1);
            own.is_none_or(|own| own.weights.is_none()) && made.iter().all(|(i, _)| i + 1 != *place)
        };
        let beside = problem.signals.len() + made.len();
        Ok(Self {
            plain: beside == 0 && by_arm.iter().all(Vec::is_empty),
            measured: (1..by_arm.len()).filter(is_brought).collect(),
            by_arm,
            learned,
        })
    }
}

impl Problem {
    /// The problem with the range of a signal at every guardrail that shares it, and of a sum at its guardrail.
    pub(super) fn with_shared_signals(&self) -> Result<(Self, Vec<Sum>, AllMade), Error> {
        let mut problem = self.clone();
        let (mut sums, mut made) = (Vec::new(), Vec::new());
        for (i, own) in problem.guardrails.iter_mut().enumerate() {
            if let Some(sum) = self.sum(i)? {
                let range = Some(self.range_of_sum(&sum)?);
                if own.range.is_some() && own.range != range {
                    let allowed =
                        "a sum has the range that its signals and weights give: leave it out";
                    return Err(Error::invalid("range", "given", allowed))
                        .within(("guardrails", i));
                }
                own.range = range;
                sums.push(sum);
                continue;
            }
            made.extend(self.made(i, own)?.map(|how| (i, how)));
        }
        Ok((problem, sums, made))
    }

    /// Refuses ranges by arm and weighted sums: for agents that scale a signal by one range.
    pub fn one_range_each(&self) -> Result<(), Error> {
        if let Some(i) = self.guardrails.iter().position(|g| g.weights.is_some()) {
            let allowed = "means are linear in the features here: weights are for agents on arms, such as `opb`";
            return Err(Error::invalid("weights", "given", allowed)).within(("guardrails", i));
        }
        if let Some(i) = (self.guardrails.iter()).position(|g| g.relative && g.ratio.is_some()) {
            return Err(refuse_relative_ratio(i));
        }
        let ranges = self.guardrails.iter().map(|g| &g.range).enumerate();
        let ranges =
            ranges.map(|(i, range)| (FieldPath::from(("guardrails", i)).key("range"), range));
        let beside = self.signals.iter().map(|(name, own)| (name, own.config()));
        let beside: Vec<_> = beside
            .map(|(name, own)| (FieldPath::from(("signals", name)), own.range))
            .collect();
        for (field, range) in [("reward.range".into(), &self.reward.range)]
            .into_iter()
            .chain(ranges)
            .chain(beside.iter().map(|(field, range)| (field.clone(), range)))
        {
            if range.as_ref().is_some_and(|range| range.shared().is_none()) {
                let allowed = "means are linear in features that arms share, and a signal has one scale: give [lo, hi] \
                               for all, or use an agent on arms, such as `opb`, or `oplb` with `model = \"per_arm\"`";
                return Err(Error::invalid(field, "given by arm", allowed));
            }
        }
        Ok(())
    }
}

/// The error for a ratio relative to the safe action's, where its two signals are not learned by arm.
fn refuse_relative_ratio(guardrail: usize) -> Error {
    let allowed = "a ratio relative to the safe action's is kept by `opb` alone, on arms: give it a bound of its own";
    Error::invalid("relative", true, allowed).within(("guardrails", guardrail))
}

impl CheckedProblem {
    /// Refuses ratios relative to the safe action's, where signals are not learned by arm alone.
    pub(crate) fn refuse_relative_ratios(&self) -> Result<(), Error> {
        let found = self.guardrails.iter().position(|g| g.per.is_some());
        found.map_or(Ok(()), |i| Err(refuse_relative_ratio(i)))
    }

    /// A signal (0 the reward, 1 + i guardrail i) of an arm as it is and in common units, and its direction.
    pub(crate) fn signal_of(&self, arm: usize, signal: usize) -> (&Signal, &Signal, Direction) {
        let (common, direction) = match signal.checked_sub(1) {
            None => (&self.reward, Direction::AtMost),
            Some(i) => match self.guardrails.get(i) {
                Some(g) => (&g.signal, g.direction),
                None => (&self.beside[i - self.guardrails.len()], Direction::AtMost),
            },
        };
        let own = self.signals.by_arm[signal].get(arm).unwrap_or(common);
        (own, common, direction)
    }

    /// Signals of the row.
    pub(crate) fn width(&self) -> usize {
        1 + self.guardrails.len() + self.beside.len()
    }

    /// True if a guardrail of a signal, or one that is a sum of it, is relative to the safe action.
    pub(crate) fn is_relative(&self, signal: usize) -> bool {
        let bounds = |i: usize| {
            let mut sums = self.sums().iter().filter(|sum| sum.guardrail == i);
            signal == i + 1 || sums.any(|sum| sum.terms.contains(&signal))
        };
        let mut guardrails = self.guardrails.iter().enumerate();
        guardrails.any(|(i, guardrail)| guardrail.factor != 0.0 && bounds(i))
    }

    /// Names of the costs that outcomes bring, in their order: of guardrails that are no sums, then of signals.
    pub fn measured(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        let places = self.signals.measured.iter();
        places.map(|&place| self.signal_name(place))
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
            return self.signals.measured.len() + 1 == self.width()
                && costs.len() == self.guardrails.len()
                && own.all(|(own, &x)| own.holds(x));
        }
        costs.len() == self.guardrails.len()
            && self.reward.holds(reward)
            && std::iter::zip(&self.guardrails, costs).all(|(g, &cost)| g.signal.holds(cost))
    }

    /// Signals of an arm that outcomes bring, the reward first; those that all arms share where there is none.
    fn signals_of(&self, arm: Option<usize>) -> impl Iterator<Item = &Signal> {
        // Past the last arm stands what all share.
        let arm = arm.unwrap_or(usize::MAX);
        let places = std::iter::once(&0).chain(&self.signals.measured);
        places.map(move |&s| self.own_signal(arm, s))
    }

    /// Place in the row of a cost that outcomes bring.
    pub fn place_of(&self, position: usize) -> usize {
        self.signals.measured[position]
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
        check: impl Fn(&Signal, f64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let expected = self.measured().len();
        if costs.len() != expected {
            let names: Vec<&str> = self.measured().collect();
            return Err(Error::CostCount {
                got: costs.len(),
                expected,
                names: names.join(", "),
            });
        }
        let names = std::iter::once(REWARD).chain(self.measured());
        let values = std::iter::once(&reward).chain(costs);
        for (signal, (name, &x)) in self.signals_of(arm).zip(names.zip(values)) {
            check(signal, x).within(("", name))?;
        }
        Ok(())
    }

    /// A checked outcome of an arm as it counts, as a whole row: signals outside their range are at its end, and sums
    /// are made at the weights of its decision, or at those in force. `room` holds the costs.
    pub fn counted<'a>(
        &self,
        arm: Option<usize>,
        (reward, costs): (f64, &[f64]),
        told: Option<&ArmWeights>,
        room: &'a mut Vec<f64>,
    ) -> (f64, &'a [f64]) {
        room.clear();
        room.resize(self.width() - 1, 0.0);
        let mut own = self.signals_of(arm);
        let reward = own.next().map_or(reward, |own| own.counted(reward));
        let places = self.signals.measured.iter();
        for ((own, &place), &cost) in own.zip(places).zip(costs) {
            room[place - 1] = own.counted(cost);
        }
        self.with_sums(arm, room, told);
        for &(i, how) in &self.made {
            room[i] = how.value(|place| place.checked_sub(1).map_or(reward, |cost| room[cost]));
        }
        (reward, room)
    }

    /// Takes up one more arm, with a range for every signal whose ranges are by arm and for no other.
    ///
    /// A cost may be larger than that of any arm before, but not smaller than the smallest: costs are counted
    /// from there, and the breach detector needs them not to be negative.
    pub fn add_arm(&mut self, ranges: &ArmRanges, weights: &ArmWeights) -> Result<(), Error> {
        let weights = self.weights_of_added(weights)?;
        let by_arm = |s: usize| !self.signals.by_arm[s].is_empty();
        let names: Vec<&str> = (0..self.signals.by_arm.len())
            .filter(|&s| by_arm(s))
            .map(|s| self.signal_name(s))
            .collect();
        if names.is_empty() {
            ranges.refuse()?;
            self.push_weights(weights);
            return Ok(());
        }
        if let Some(name) = ranges.0.keys().find(|name| !names.contains(&name.as_str())) {
            let allowed = format!("ranges are by arm for {} only", names.join(", "));
            return Err(Error::invalid(("ranges", name), "given", allowed));
        }
        let mut added = Vec::new();
        for s in (0..self.signals.by_arm.len()).filter(|&s| by_arm(s)) {
            let field = FieldPath::from(("ranges", self.signal_name(s)));
            let Some(&range) = ranges.0.get(self.signal_name(s)) else {
                let allowed = "the ranges of this signal are by arm: an added one brings its own";
                return Err(Error::invalid(field, "absent", allowed));
            };
            let own = self.config_of(s).of_arm(range);
            let own = own.and_then(|own| self.check_added(s, &own).map(|()| own));
            let own = own.within(field)?;
            added.push((s, own));
        }
        for (s, own) in added {
            self.signals.by_arm[s].push(own);
        }
        self.push_weights(weights);
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

    fn check_added(&self, s: usize, own: &Signal) -> Result<(), Error> {
        let Some(i) = s.checked_sub(1) else {
            return Ok(());
        };
        let (_, common, direction) = self.signal_of(0, s);
        let refuse = |allowed: String| {
            let value = format!("[{}, {}]", own.lo, own.hi);
            Err(Error::invalid("", value, allowed))
        };
        let (harmless, _) = direction.ordered(common.lo, common.hi);
        let (nearest, farthest) = direction.ordered(own.lo, own.hi);
        if direction.excess(nearest, harmless) < 0.0 {
            return refuse(format!(
                "costs are counted from {harmless}, the harmless end of the ranges declared: an added arm \
                 may go beyond the other end only"
            ));
        }
        let relative = |g: &super::Guardrail| g.relative;
        if self.declared.guardrails.get(i).is_some_and(relative) && farthest < 0.0 {
            return refuse("a relative guardrail needs a signal that is never negative".into());
        }
        Ok(())
    }

    /// Name of a signal (0 the reward, 1 + i guardrail i, then those declared beside them).
    pub fn signal_name(&self, s: usize) -> &str {
        let Some(i) = s.checked_sub(1) else {
            return self.declared.reward.signal.as_deref().unwrap_or(REWARD);
        };
        let guardrails = &self.declared.guardrails;
        match guardrails.get(i) {
            Some(guardrail) => &guardrail.name,
            None => {
                (self.declared.signals.keys().nth(i - guardrails.len())).map_or("", |name| name)
            }
        }
    }

    fn config_of(&self, s: usize) -> Cow<'_, SignalConfig> {
        match s.checked_sub(1) {
            None => Cow::Borrowed(&self.declared.reward),
            Some(i) => Cow::Owned(match self.declared.guardrails.get(i) {
                Some(guardrail) => guardrail.own_signal(),
                None => {
                    let mut beside = self.declared.signals.values();
                    let own = beside.nth(i - self.guardrails.len());
                    own.map_or_else(SignalConfig::default, Measured::config)
                }
            }),
        }
    }
}
