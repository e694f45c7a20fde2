//! The row of signals that an outcome is: the reward, one per guardrail, then those that guardrails are sums of
//! or that are made from others (`expression`); each in every arm's own range and in common units. What outcomes bring is the row
//! without those.
//!
//! The reward and each guardrail are a signal each. One that two of them name is learned once ([`Signals::learned`]),
//! from the first of its places in the row.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::expression::{Made, Place, Source};
use super::{
    ArmRanges, ArmWeights, CheckedProblem, Direction, Expression, Guardrail, Problem, Range,
    Signal, SignalConfig,
};
use crate::error::{Error, finite};
use crate::path::{FieldPath, Within};

/// Name of the reward among the ranges that an added arm brings.
pub(crate) const REWARD: &str = "reward";

/// A signal that outcomes bring beside the reward and the guardrails' own: its range, or range and noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a range, such as [0, 8000], or a table with `range` or `drift`"
)]
pub enum Measured {
    /// Range, noise and drift.
    Declared(SignalConfig),
    /// Lowest and highest value, for all arms or by arm.
    Within(Range),
}

impl Measured {
    /// Range and noise.
    pub fn config(&self) -> SignalConfig {
        match self {
            Self::Declared(config) => config.clone(),
            Self::Within(range) => SignalConfig {
                range: Some(range.clone()),
                ..SignalConfig::default()
            },
        }
    }
}

impl Problem {
    /// The costs that outcomes bring, each with its range and noise: guardrails of their own signals, then signals.
    pub fn measured(&self) -> Vec<Guardrail> {
        let ended = self.with_ends();
        let signals = ended.as_ref().map_or(&self.signals, |ended| &ended.signals);
        let own = (self.guardrails.iter()).filter(|g| g.expression.is_none());
        let beside = (signals.iter()).filter(|(name, _)| self.reward.brought() != Some(name));
        let beside = beside.map(|(name, signal)| Guardrail {
            name: name.clone(),
            signal: signal.config(),
            ..Guardrail::default()
        });
        own.cloned().chain(beside).collect()
    }

    /// Refuses names that two signals have, and ranges that are none.
    pub(super) fn check_measured(&self) -> Result<(), Error> {
        for (name, signal) in &self.signals {
            let field = ("signals", name);
            super::check_seen(name).within("signals")?;
            if name.trim().is_empty()
                || name == REWARD
                || self.guardrails.iter().any(|g| g.name == *name)
            {
                let allowed = "a signal needs a name of its own, not `reward` and not a guardrail's: a guardrail with \
                               another name bounds it by `expression`";
                return Err(Error::invalid(field, name, allowed));
            }
            let config = signal.config();
            if let Some(other) = &config.expression {
                let allowed = "a signal is itself: only the reward names one";
                return Err(Error::invalid("expression", other, allowed)).within(field);
            }
            config.check().within(field)?;
        }
        Ok(())
    }

    /// Caps signals without a highest value, beyond the highest bound of their events.
    pub(super) fn with_ends(&self) -> Result<Self, Error> {
        let mut own = self.clone();
        for (name, signal) in &mut own.signals {
            let config = signal.config();
            let Some([lo, f64::INFINITY]) = config.range.as_ref().and_then(Range::shared) else {
                continue;
            };
            finite(("signals", name), lo)?;
            let bounds = self.guardrails.iter().filter_map(|g| match &g.expression {
                Some(Expression::Exceedance(event)) if event.signal == *name => Some(event.bound),
                _ => None,
            });
            let highest = bounds.fold(lo, f64::max);
            if highest <= lo || config.cap.is_some() {
                let allowed = "without a highest value only a share of outcomes beyond a number above its lowest can be \
                               bounded, or a `quantile`: give it one";
                return Err(Error::invalid(
                    ("signals", name),
                    format!("[{lo}, inf]"),
                    allowed,
                ));
            }
            let hi = highest + (highest - lo);
            *signal = Measured::Declared(SignalConfig {
                range: Some(Range::Shared([lo, hi])),
                cap: Some(hi),
                ..config
            });
        }
        Ok(own)
    }
}

/// Signals of a row (0 the reward, 1 + i guardrail i, then those declared beside them).
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Signals {
    /// Declaration of each, without ranges of added arms.
    configs: Vec<SignalConfig>,
    /// One per arm where ranges are by arm; empty where all arms share one.
    by_arm: Vec<Vec<Signal>>,
    /// Place in the row of the signal that is learned: its own, or where it stands first.
    learned: Vec<usize>,
    /// Place of the row that outcomes bring as their reward: its own, or that of the first signal it is made from.
    reported: usize,
    /// Places of the row that outcomes bring beside the reward: no sums, and nothing that is made.
    measured: Vec<usize>,
    /// Places that are made from others, and how.
    made: Vec<(usize, Made)>,
    /// True if all arms share one range of each signal, and each stands once.
    plain: bool,
}

impl Signals {
    pub(super) fn new(problem: &Problem, reward: &Place, places: &[Place]) -> Result<Self, Error> {
        let mut own = Self {
            plain: problem.signals.is_empty(),
            ..Self::default()
        };
        own.add(problem, reward).within(REWARD)?;
        for (i, (guardrail, place)) in problem.guardrails.iter().zip(places).enumerate() {
            let signals = own.add(problem, place).within(("guardrails", i))?;
            if let Some(safe) = signals.get(problem.safe) {
                guardrail.check_safe_cost(safe).within(("guardrails", i))?;
                if guardrail.name == REWARD {
                    let allowed = "a guardrail whose range is by arm needs another name";
                    return Err(Error::invalid("name", REWARD, allowed)).within(("guardrails", i));
                }
            }
        }
        for (name, signal) in &problem.signals {
            let place = Place::new(signal.config(), Source::Brought);
            own.add(problem, &place).within(("signals", name))?;
        }
        if let Source::Made(made) = reward.source {
            own.reported = made.first();
            own.measured.retain(|&place| place != own.reported);
        }
        Ok(own)
    }

    /// Adds a place of the row; its signals by arm are returned.
    fn add(&mut self, problem: &Problem, place: &Place) -> Result<&[Signal], Error> {
        let s = self.configs.len();
        let by_arm = place.config.of_arms(&problem.arms)?;
        self.plain &= by_arm.is_empty();
        self.learned.push(match place.source {
            Source::Made(Made::Signal(other)) => other,
            _ => s,
        });
        match place.source {
            Source::Brought if s > 0 => self.measured.push(s),
            Source::Made(made) => self.made.push((s, made)),
            _ => {}
        }
        self.plain &= self.made.is_empty();
        self.configs.push(place.config.clone());
        self.by_arm.push(by_arm);
        Ok(&self.by_arm[s])
    }
}

/// Refusal of what an agent cannot keep: the first guardrail of a kind.
fn refuse_first(found: Option<usize>, why: &str) -> Result<(), Error> {
    found.map_or(Ok(()), |i| {
        Err(Error::invalid("expression", "given", why)).within(("guardrails", i))
    })
}

/// For agents that learn a ratio's two signals by other means than by arm.
const NO_RELATIVE_RATIO: &str = "a ratio relative to the safe action's is kept by `opb` alone, on arms: give it a bound of its own";

impl Problem {
    /// Refuses ranges by arm and weighted sums: for agents that scale a signal by one range.
    pub fn one_range_each(&self) -> Result<(), Error> {
        let is_sum = |g: &Guardrail| matches!(g.expression, Some(Expression::Sum(_)));
        refuse_first(
            self.guardrails.iter().position(is_sum),
            "means are linear in the features here: weights are for agents on arms, such as `opb`",
        )?;
        let is_ratio = |g: &Guardrail| matches!(g.expression, Some(Expression::Ratio(_)));
        let relative = (self.guardrails.iter()).position(|g| g.relative && is_ratio(g));
        refuse_first(relative, NO_RELATIVE_RATIO)?;
        let beside = self.signals.values().map(Measured::config);
        let guardrails = self.guardrails.iter().map(|own| own.signal.clone());
        let all = [self.reward.clone()]
            .into_iter()
            .chain(guardrails)
            .chain(beside);
        let by_arm = |own: &SignalConfig| own.range.as_ref().is_some_and(|r| r.shared().is_none());
        all.enumerate().find(|(_, own)| by_arm(own)).map_or(Ok(()), |(s, _)| {
            let allowed = "means are linear in features that arms share, and a signal has one scale: give [lo, hi] \
                           for all, or use an agent on arms, such as `opb`, or `oplb` with `model = \"per_arm\"`";
            Err(Error::invalid("range", "given by arm", allowed)).within(self.field_of(s))
        })
    }
}

impl CheckedProblem {
    /// Refuses a reward and guardrails that outcomes do not bring, where they are taken as they come.
    pub fn refuse_made(&self, why: &str) -> Result<(), Error> {
        if self.signals.reported > 0 {
            return Err(Error::invalid("reward.expression", "given", why));
        }
        let made = self.declared.guardrails.iter();
        refuse_first(made.clone().position(|g| g.expression.is_some()), why)
    }

    /// Refuses weighted sums, where they cannot be learned.
    pub fn refuse_weights(&self, why: &str) -> Result<(), Error> {
        refuse_first(self.sums().first().map(|sum| sum.guardrail), why)
    }

    /// Refuses ratios relative to the safe action's, where signals are not learned by arm alone.
    pub(crate) fn refuse_relative_ratios(&self) -> Result<(), Error> {
        let found = self.guardrails.iter().position(|g| g.per.is_some());
        refuse_first(found, NO_RELATIVE_RATIO)
    }
}

impl CheckedProblem {
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
        let places = std::iter::once(&self.signals.reported).chain(&self.signals.measured);
        places.map(move |&s| self.own_signal(arm, s))
    }

    /// Place in the row of the signal that outcomes bring as their reward.
    pub fn reported(&self) -> usize {
        self.signals.reported
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
        let mut reward = own.next().map_or(reward, |own| own.counted(reward));
        if let Some(cost) = self.signals.reported.checked_sub(1) {
            room[cost] = reward;
        }
        let places = self.signals.measured.iter();
        for ((own, &place), &cost) in own.zip(places).zip(costs) {
            room[place - 1] = own.counted(cost);
        }
        self.with_sums(arm, room, told);
        for &(s, how) in &self.signals.made {
            let value = how.value(|place| place.checked_sub(1).map_or(reward, |cost| room[cost]));
            match s.checked_sub(1) {
                None => reward = value,
                Some(cost) => room[cost] = value,
            }
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
            let own = self.signals.configs[s].of_arm(range);
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
        let relative = |g: &Guardrail| g.relative;
        if self.declared.guardrails.get(i).is_some_and(relative) && farthest < 0.0 {
            return refuse("a relative guardrail needs a signal that is never negative".into());
        }
        Ok(())
    }

    /// Name of a signal (0 the reward, 1 + i guardrail i, then those declared beside them).
    pub fn signal_name(&self, s: usize) -> &str {
        let Some(i) = s.checked_sub(1) else {
            return self.declared.reward.name().unwrap_or(REWARD);
        };
        let guardrails = &self.declared.guardrails;
        match guardrails.get(i) {
            Some(guardrail) => &guardrail.name,
            None => {
                (self.declared.signals.keys().nth(i - guardrails.len())).map_or("", |name| name)
            }
        }
    }
}
