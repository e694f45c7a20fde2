//! The interface of all agents.

use std::ops::Range;

use crate::arm_estimate::{ArmEstimate, SegmentView};
use crate::arms::Arm;
use crate::decision::Decision;
use crate::error::Error;
use crate::floors::Floors;
use crate::lift::{ArmLift, WorthLeft};
use crate::monitor::{Assumption, Monitor, OnBreach};
use crate::problem::{ArmRanges, ArmWeights};
use crate::round::{Outcome, Pending, Round};

/// An agent: publishes policies and learns from outcomes.
///
/// To add one, implement [`crate::toolkit::Learner`], or this trait, and give it a variant in the registry,
/// `banister_rivals::AgentConfig`; every interface of banister then knows it by its `kind`. The simulator also plays
/// agents that are not registered.
pub trait Agent: Send {
    /// The policy for a round, with its certificate. It depends on what was observed and announced, not on policies
    /// asked for in between.
    fn decide(&mut self, round: &Round) -> Result<&Decision, Error>;

    /// Refuses an outcome that could not be observed after `others` more; changes nothing. By default accepts
    /// everything.
    fn check(&self, outcome: &Outcome, others: u64) -> Result<(), Error> {
        let _ = (outcome, others);
        Ok(())
    }

    /// Observes an outcome. Nothing changes if any number is refused.
    fn observe(&mut self, outcome: &Outcome) -> Result<(), Error>;

    /// Announces that an action was drawn and that its outcome comes later. Arms share δ in the order in which they are
    /// first drawn, which no outcome may influence; what segments share is learned in the order of decisions. Outcomes
    /// that come at once need no announcement.
    fn announce(&mut self, pending: &Pending) -> Result<(), Error> {
        let _ = pending;
        Ok(())
    }

    /// Gives up a decision that was announced: its outcome will never come. Where segments share statistics, it counts
    /// at its worst.
    fn give_up(&mut self, pending: &Pending) -> Result<(), Error> {
        let _ = pending;
        Ok(())
    }

    /// A copy of it, to ask beside it; `None` if it cannot be copied.
    fn copy(&self) -> Option<Box<dyn Agent>> {
        None
    }

    /// Arms, counts and monitor. By default nothing is known, and every decision may differ.
    fn view(&self) -> AgentView<'_> {
        AgentView {
            is_stale: true,
            ..AgentView::default()
        }
    }

    /// Estimates of an arm, or of an action of the round; `None` if there is no such action, or from an agent that
    /// keeps none.
    fn estimate(&mut self, round: &Round, action: usize) -> Option<ArmEstimate> {
        let _ = (round, action);
        None
    }

    /// Segments with a policy of their own, the most frequent first, and the pool of all others last: those at some
    /// places. Empty from an agent without segments.
    fn segments(&mut self, places: Range<usize>) -> Vec<SegmentView> {
        let _ = places;
        Vec::new()
    }

    /// Lifts of the arms: means of one signal (0 the reward, 1 + i guardrail i), or of each, against the safe arm's. Empty
    /// from an agent that does not compute them; signals with other intervals than `mixture`, or that drift, are left out.
    fn lifts(&mut self, signal: Option<usize>) -> Vec<ArmLift> {
        let _ = signal;
        Vec::new()
    }

    /// Upper bound on what further learning could still earn. `None` from an agent that does not compute it, where
    /// means may drift, and until the safe action's margin is proven.
    fn worth_left(&mut self) -> Option<WorthLeft> {
        None
    }

    /// Settles: plays the policy of [`Agent::worth_left`] instead of one that explores, as long as bounds in force
    /// certify it, else the one that is best at that time. Learning and monitoring go on; a change of arms or weights
    /// has the policy found anew, and forgetting all ends it, as `false` does.
    fn settle(&mut self, settled: bool) -> Result<(), Error> {
        let allowed = "this agent cannot settle: `opb` can";
        Err(Error::invalid("settled", settled, allowed))
    }

    /// Sets floors under the probabilities of arms, in place of the former ones; the next policy keeps them.
    fn set_floors(&mut self, floors: &Floors) -> Result<(), Error> {
        if floors.is_empty() {
            return Ok(());
        }
        let allowed = "this agent plans without floors";
        Err(Error::invalid("floors", floors.safe, allowed))
    }

    /// The assumptions that its certificates rest on, and whether anything watches them.
    fn assumptions(&self) -> Vec<Assumption> {
        Vec::new()
    }

    /// Acknowledges the alarms, or changes the reaction to them.
    fn answer_alarms(&mut self, answer: AlarmAnswer) -> Result<(), Error> {
        let _ = answer;
        Ok(())
    }

    /// Offers a new arm, with its features where arms have any and its ranges and weights where they are by arm, or a
    /// retired one again. Returns its number.
    fn add_arm(
        &mut self,
        name: &str,
        features: Option<&[f64]>,
        ranges: &ArmRanges,
        weights: &ArmWeights,
    ) -> Result<usize, Error> {
        let _ = (features, ranges, weights);
        let allowed = "the arms of this agent are fixed";
        Err(Error::invalid("arm", name, allowed))
    }

    /// Forgets an arm that is known to have changed: what was learned of it, and outcomes still to come of its
    /// decisions so far.
    fn forget_arm(&mut self, arm: usize) -> Result<(), Error> {
        let allowed = "nothing is known of single arms by this agent";
        Err(Error::invalid("arm", arm, allowed))
    }

    /// Sets other weights of an arm, such as new prices: all or nothing. They count from the next decision on, and
    /// nothing is forgotten.
    fn set_weights(&mut self, arm: usize, weights: &ArmWeights) -> Result<(), Error> {
        let _ = weights;
        let allowed = "no guardrail of this agent is a weighted sum";
        Err(Error::invalid("arm", arm, allowed))
    }

    /// Stops offering an arm; it keeps its number, and late outcomes of it are accepted.
    fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        let allowed = "the arms of this agent are fixed";
        Err(Error::invalid("arm", arm, allowed))
    }

    /// Restarts its random stream, where it samples to decide: every pair of a seed and a stream number gives another
    /// one. Most agents compute their policies and have none.
    fn reseed(&mut self, seed: u64, stream: u64) {
        let _ = (seed, stream);
    }

    /// The whole state as versioned JSON, for `banister_rivals::AgentConfig::restore`. Drops warm starts, so that this
    /// agent and the restored one go on alike to the bit. User-supplied agents need not have any.
    fn save(&mut self) -> Result<String, Error> {
        let reason = "this agent has no snapshots".into();
        Err(Error::Snapshot { reason })
    }
}

/// A person's response to alarms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlarmAnswer {
    /// Acknowledges them: the tests start anew, and nothing is forced any more.
    Acknowledge,
    /// Sets another reaction from now on.
    OnBreach(OnBreach),
}

/// Arms, counts and monitor of an agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct AgentView<'a> {
    /// All arms, retired ones too, by number.
    pub arms: &'a [Arm],
    /// Number of the safe action in the last round.
    pub safe: usize,
    /// Number of actions in the last round, or of all arms, retired ones too.
    pub actions: usize,
    /// Outcomes taken.
    pub outcomes: u64,
    /// True if the next decision may differ from the last one in the same round: something that it rests on has
    /// changed, or it is drawn anew every time.
    pub is_stale: bool,
    /// True if it draws random numbers to decide, so that every decision may differ.
    pub samples: bool,
    /// The tests of its assumptions, and their alarms; `None` for an agent that is not watched.
    pub monitor: Option<&'a Monitor>,
    /// True if it has settled ([`Agent::settle`]).
    pub is_settled: bool,
    /// Number of policies by segment, the pool's included; 0 from an agent without segments.
    pub segment_policies: usize,
    /// Names of segments with statistics of their own, by the numbers that alarms give.
    pub segment_names: &'a [String],
    /// Most segments whose names it keeps.
    pub max_segments: usize,
}

impl AgentView<'_> {
    /// Number of the arm with a name.
    pub fn arm_named(&self, name: &str) -> Result<usize, Error> {
        let place = self.arms.iter().position(|arm| arm.name == name);
        place.ok_or_else(|| {
            let names: Vec<&str> = self.arms.iter().map(|arm| arm.name.as_str()).collect();
            Error::UnknownArm {
                name: name.to_string(),
                known: names.join(", "),
            }
        })
    }
}

/// Estimates of all arms, retired ones too, or of every action of a round, in their order.
pub fn estimates(agent: &mut dyn Agent, round: &Round) -> Vec<ArmEstimate> {
    let mut all = Vec::new();
    while let Some(estimate) = agent.estimate(round, all.len()) {
        all.push(estimate);
    }
    all
}

/// Observes many outcomes: all, or none if one is refused.
pub fn observe_all<'a>(
    agent: &mut dyn Agent,
    outcomes: impl Iterator<Item = Outcome<'a>> + Clone,
) -> Result<(), Error> {
    for (others, outcome) in outcomes.clone().enumerate() {
        agent.check(&outcome, others as u64)?;
    }
    for outcome in outcomes {
        agent.observe(&outcome)?;
    }
    Ok(())
}
