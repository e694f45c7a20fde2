//! The interface of all agents, and outcomes in batches.

use crate::arm_estimate::{ArmEstimate, SegmentCount, SegmentView};
use crate::decision::{Decision, Fallback};
use crate::error::Error;
use crate::monitor::{Assumption, Monitor, Source};
use crate::problem::ArmRanges;

/// An agent: publishes policies, takes outcomes.
///
/// To add one, implement this trait and give it a variant in the registry, `banister_rivals::AgentConfig`; every face of
/// banister then knows it by its `kind`. The simulator also plays agents that are not registered.
pub trait Agent: Send {
    /// The policy for the next round, with its certificate.
    fn decide(&mut self) -> &Decision;

    /// False if the last decision still stands: nothing that its policy rests on has changed since. Whoever
    /// publishes policies need not do so again.
    fn is_stale(&self) -> bool {
        true
    }

    /// The same for an agent that can fail at deciding, such as one written in another language. The
    /// simulator asks user-supplied agents this way, and stops at an error.
    fn try_decide(&mut self) -> Result<&Decision, Error> {
        Ok(self.decide())
    }

    /// The safe action alone, for a reason that lies outside: its declared safety vouches for it. `None`
    /// from an agent that cannot say what it costs.
    fn decide_safe(&mut self, reason: Fallback) -> Option<&Decision> {
        let _ = reason;
        None
    }

    /// True if it draws random numbers to decide, so that every decision is another one even if nothing came
    /// in between.
    fn samples(&self) -> bool {
        false
    }

    /// Starts its random stream afresh, where it samples to decide: every seed and number of a stream
    /// give another one. Most agents compute their policies and have none.
    fn reseed(&mut self, seed: u64, stream: u64) {
        let _ = (seed, stream);
    }

    /// Refuses an outcome of an action, by its number, that would not be taken after `more` others; nothing
    /// changes. By default everything is taken.
    fn check_outcome(
        &self,
        action: usize,
        reward: f64,
        costs: &[f64],
        more: u64,
    ) -> Result<(), Error> {
        let _ = (action, reward, costs, more);
        Ok(())
    }

    /// The same for an outcome that is taken by features.
    fn check_outcome_at(
        &self,
        features: &[f64],
        reward: f64,
        costs: &[f64],
        more: u64,
    ) -> Result<(), Error> {
        let _ = (features, reward, costs, more);
        Ok(())
    }

    /// Says that an action was drawn from a policy and that its outcome will come later: arms share δ in the
    /// order in which they are first drawn, which no outcome can have a say in. Where outcomes come at once
    /// their order is the same.
    fn drawn(&mut self, action: usize) {
        let _ = action;
    }

    /// Says which segment of users or requests the next decision belongs to, or the next outcome that comes at
    /// once, or the next action that is drawn. Agents that do not tell segments apart ignore it.
    fn enter(&mut self, segment: &str) -> Result<(), Error> {
        let _ = segment;
        Ok(())
    }

    /// The policy in force in a segment, before it is known which one comes next; `None` from an agent that does not
    /// tell segments apart, whose policy is the same in all.
    fn policy_in(&mut self, segment: &str) -> Option<&[(usize, f64)]> {
        let _ = segment;
        None
    }

    /// Segments told apart, those seen most often first, and the pool of all others last; empty from an agent that
    /// does not tell segments apart.
    fn segments(&mut self) -> Vec<SegmentView> {
        self.segments_at(0..usize::MAX)
    }

    /// Some of them, by their places.
    fn segments_at(&mut self, places: std::ops::Range<usize>) -> Vec<SegmentView> {
        let _ = places;
        Vec::new()
    }

    /// Segments by number; none from an agent that does not tell segments apart.
    fn segment_count(&self) -> SegmentCount {
        SegmentCount::default()
    }

    /// Name of a segment by the number that alarms give.
    fn segment_name(&self, segment: usize) -> Option<&str> {
        let _ = segment;
        None
    }

    /// Announces that an action was drawn from a policy and that its outcome will come later, under this
    /// number ([`Origin`]); numbers increase. With the probability that the policy gave the safe action the
    /// outcome may come in any order, and the breach detectors restore the order of decisions; without it
    /// the outcomes themselves come in that order. Outcomes that come at once need no announcement.
    fn decided(&mut self, number: u64, safe_probability: Option<f64>) {
        let _ = (number, safe_probability);
    }

    /// Says that the outcome of a decision will never come. One whose outcome was to come in order has to be told again:
    /// its action, and its segment as the one entered last. Where segments share statistics, it counts at its worst.
    fn gave_up(&mut self, number: u64, action: Option<usize>) {
        let _ = (number, action);
    }

    /// The tests of its assumptions, and their alarms; `None` for an agent that is not watched.
    fn monitor(&self) -> Option<&Monitor> {
        None
    }

    /// The same, to change the reaction to alarms.
    fn monitor_mut(&mut self) -> Option<&mut Monitor> {
        None
    }

    /// Clears the alarms, once a person has seen them.
    fn acknowledge(&mut self) {}

    /// The assumptions that its certificates rest on, and whether anything watches them.
    fn assumptions(&self) -> Vec<Assumption> {
        Vec::new()
    }

    /// Takes one outcome: the arm played, its reward and one cost per guardrail.
    fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error>;

    /// Takes many outcomes. The agents here check all before they take any; one that does not say
    /// otherwise takes them one by one, and stops at the first that it refuses.
    fn observe_batch(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        let count = outcomes.rewards.len().max(1);
        let guardrails = outcomes.costs.len() / count;
        let dimension = match outcomes.played {
            Played::Arms(_) | Played::InSegments(..) => None,
            Played::Features(x) => Some(x.len() / count),
        };
        outcomes.check(guardrails, dimension)?;
        for (i, &reward) in outcomes.rewards.iter().enumerate() {
            let costs = outcomes.costs_of(i, guardrails);
            match outcomes.played {
                Played::Arms(arms) => self.observe(arms[i], reward, costs)?,
                Played::InSegments(arms, segments) => {
                    self.enter(segments[i])?;
                    self.observe(arms[i], reward, costs)?;
                }
                Played::Features(x) => {
                    let d = x.len() / count;
                    self.observe_at(&x[i * d..(i + 1) * d], reward, costs)?;
                }
            }
        }
        Ok(())
    }

    /// Replaces the actions to choose among from now on: feature vectors one after another. The
    /// safe action is always offered too; if it is not among them, its number is the next one.
    fn offer(&mut self, actions: &[f64]) -> Result<(), Error> {
        let _ = actions;
        Err(Error::NoFeatures)
    }

    /// Takes the outcome of an action by its features: late, when other actions are on offer.
    fn observe_at(&mut self, features: &[f64], reward: f64, costs: &[f64]) -> Result<(), Error> {
        let _ = (features, reward, costs);
        Err(Error::NoFeatures)
    }

    /// Features of an action on offer; `None` for arms, or if there is no such action.
    fn features(&self, action: usize) -> Option<&[f64]> {
        let _ = action;
        None
    }

    /// Number of arms there ever were, or of actions on offer, and the safe one among them. `None` if
    /// the agent does not say.
    fn actions(&self) -> Option<ActionSet> {
        None
    }

    /// Number of outcomes taken; 0 for an agent that does not count.
    fn outcomes(&self) -> u64 {
        0
    }

    /// Names by number: of all arms there ever were, or of the actions on offer. Empty where
    /// actions were offered by their features alone.
    fn names(&self) -> &[String] {
        &[]
    }

    /// Offers one more arm, with its features where arms have any, and its ranges where they are by arm. Its
    /// number is returned.
    fn add_arm(
        &mut self,
        name: &str,
        features: Option<&[f64]>,
        ranges: &ArmRanges,
    ) -> Result<usize, Error> {
        let _ = (features, ranges);
        Err(Error::invalid(
            "arm",
            name,
            "the arms of this agent are fixed",
        ))
    }

    /// Stops offering an arm; `add_arm` offers it again.
    fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        Err(Error::invalid(
            "arm",
            arm,
            "the arms of this agent are fixed",
        ))
    }

    /// Estimates of every arm there ever was, or every action on offer, in their order.
    /// Empty if it does not say.
    fn estimates(&mut self) -> Vec<ArmEstimate> {
        Vec::new()
    }

    /// The same about one of them.
    fn estimate(&mut self, action: usize) -> Option<ArmEstimate> {
        self.estimates().into_iter().nth(action)
    }

    /// The whole state as versioned JSON, for `banister_rivals::AgentConfig::restore`.
    fn save(&self) -> String;

    /// The same without what only helps the next decision: warm starts, and actions that were offered
    /// by their features alone. It depends on the outcomes taken by arm or by features, in their order,
    /// on the arms added and retired and on the order in which arms were first drawn, but not on policies asked
    /// for in between.
    fn save_learned(&self) -> String {
        self.save()
    }
}

/// The actions an agent numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionSet {
    /// Number of actions, the safe one included.
    pub count: usize,
    /// Number of the safe one.
    pub safe: usize,
}

/// Outcomes in columns, one entry per outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcomes<'a> {
    /// Arms or features played.
    pub played: Played<'a>,
    /// One reward per outcome.
    pub rewards: &'a [f64],
    /// One cost per guardrail, one outcome after another.
    pub costs: &'a [f64],
    /// Whose decisions they belong to.
    pub origin: Origin<'a>,
}

/// Whose decisions outcomes belong to: what the monitor may conclude from them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Origin<'a> {
    /// The agent's own, each right after the one before: nothing was pending in between.
    #[default]
    Immediate,
    /// The agent's own, by the numbers they were announced under ([`Agent::decided`]), in any order.
    Announced(&'a [u64]),
    /// The agent's own, late but in the order of decisions: numbers, and the probabilities that their
    /// policies gave the safe action.
    InOrder(&'a [u64], &'a [f64]),
    /// Another policy's: they teach, and say nothing about this agent's policies.
    Logged,
}

/// Arms or features played, outcome by outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Played<'a> {
    /// Arms by their numbers.
    Arms(&'a [usize]),
    /// By features, one vector after another.
    Features(&'a [f64]),
    /// Arms by their numbers, each in a segment.
    InSegments(&'a [usize], &'a [&'a str]),
}

impl<'a> Outcomes<'a> {
    /// Checks the lengths against each other, given the number of guardrails.
    pub fn check(&self, guardrails: usize, dimension: Option<usize>) -> Result<(), Error> {
        let count = self.rewards.len();
        let (field, length, expected) = match (self.played, dimension) {
            (Played::Arms(arms), _) => ("actions", arms.len(), count),
            (Played::InSegments(arms, segments), _) if segments.len() == count => {
                ("actions", arms.len(), count)
            }
            (Played::InSegments(_, segments), _) => ("segments", segments.len(), count),
            (Played::Features(_), None) => return Err(Error::NoFeatures),
            (Played::Features(x), Some(d)) => ("features", x.len(), count.saturating_mul(d)),
        };
        let costs = ("costs", self.costs.len(), count.saturating_mul(guardrails));
        let (numbers, probabilities) = match self.origin {
            Origin::Immediate | Origin::Logged => (count, count),
            Origin::Announced(numbers) => (numbers.len(), count),
            Origin::InOrder(numbers, probabilities) => (numbers.len(), probabilities.len()),
        };
        let columns = [
            (field, length, expected),
            costs,
            ("decisions", numbers, count),
            ("safe_probabilities", probabilities, count),
        ];
        for (field, length, expected) in columns {
            if length != expected {
                let allowed = format!("expected {expected}: there are {count} rewards");
                return Err(Error::invalid(field, format!("{length} entries"), allowed));
            }
        }
        Ok(())
    }

    /// The outcomes one by one, for agents that know arms by number; their lengths are checked.
    pub fn of_arms(
        &self,
        guardrails: usize,
    ) -> Result<impl Iterator<Item = (usize, f64, &'a [f64])> + Clone, Error> {
        self.check(guardrails, None)?;
        let (Played::Arms(arms) | Played::InSegments(arms, _)) = self.played else {
            return Err(Error::NoFeatures);
        };
        let outcomes = *self;
        let rows = std::iter::zip(arms, self.rewards).enumerate();
        Ok(rows.map(move |(i, (&arm, &reward))| (arm, reward, outcomes.costs_of(i, guardrails))))
    }

    /// The decision of outcome i; the lengths have been checked.
    #[inline]
    pub(crate) fn source_of(&self, i: usize) -> Source {
        match self.origin {
            Origin::Immediate => Source::Immediate,
            Origin::Announced(numbers) => Source::Announced(numbers[i]),
            Origin::InOrder(numbers, safe) => Source::InOrder(numbers[i], safe[i]),
            Origin::Logged => Source::Logged,
        }
    }

    /// The costs of outcome i, given the number of guardrails.
    #[inline]
    pub fn costs_of(&self, i: usize, guardrails: usize) -> &'a [f64] {
        &self.costs[i * guardrails..(i + 1) * guardrails]
    }
}
