//! Events: everything that happens to an agent between two decisions. And questions that it answers.
//!
//! A capability is one variant here and one arm of a match in [`crate::toolkit::Learner::follow`] or
//! [`crate::toolkit::Learner::ask`]. What an agent does not know is refused by [`Event::refusal`], and by nothing else.

use std::ops::Range;

use crate::arm_estimate::{ArmEstimate, SegmentView};
use crate::error::Error;
use crate::floors::Floors;
use crate::lift::{ArmLift, WorthLeft};
use crate::monitor::{Assumption, OnBreach};
use crate::problem::{ArmRanges, ArmWeights};
use crate::round::{Outcome, Pending, Round};

/// Everything that happens to an agent between two decisions.
///
/// ```
/// use banister::{Agent, Event, Opb, OpbConfig, Outcome, Problem};
///
/// let problem = Problem { arms: vec!["control".into(), "bold".into()], ..Problem::default() };
/// let mut agent = Opb::new(&problem, &OpbConfig::default())?;
/// let outcome = Outcome::of_arm(1, 0.7, &[]);
/// agent.check(&Event::Outcome(&outcome), 0)?; // refuses what cannot be, and changes nothing
/// agent.apply(&Event::Outcome(&outcome))?;
/// assert_eq!(agent.view().outcomes, 1);
/// # Ok::<(), banister::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event<'a> {
    /// An action was drawn whose outcome comes later. Arms share δ in the order in which they are first drawn, which no
    /// outcome may influence; what segments share is learned in the order of decisions. Outcomes that come at once need
    /// no such event.
    Drawn(&'a Pending<'a>),
    /// An outcome came.
    Outcome(&'a Outcome<'a>),
    /// The outcome of an action that was drawn will never come. Where segments share statistics, it counts at its worst.
    Lost(&'a Pending<'a>),
    /// An arm is on offer: a new one, which has the next number, or one that was retired.
    ArmOffered(ArmOffer<'a>),
    /// An arm is on offer no more; it keeps its number, and late outcomes of it are accepted.
    ArmRetired(usize),
    /// An arm is known to have changed: what was learned of it is forgotten, and outcomes still to come of its decisions
    /// so far.
    ArmChanged(usize),
    /// An arm has other weights, such as new prices. They count from the next decision on, and nothing is forgotten.
    Weights(usize, &'a ArmWeights),
    /// Floors under the probabilities of arms, in place of the former ones; the next policy keeps them.
    Floors(&'a Floors),
    /// The agent settles: it plays the policy of [`Ask::WorthLeft`] instead of one that explores, as long as bounds in
    /// force certify it, else the one that is best at that time. Learning and monitoring go on; a change of arms or
    /// weights has the policy found anew, and forgetting all ends it, as `false` does.
    Settled(bool),
    /// A person answered the alarms.
    Answered(AlarmAnswer),
    /// The random stream starts anew, where the agent samples to decide: every pair of a seed and a stream number gives
    /// another one. Most agents compute their policies and have none.
    Reseeded {
        /// Seed.
        seed: u64,
        /// Number of the stream.
        stream: u64,
    },
}

/// An arm that is offered, with its features where arms have any and its ranges and weights where they are by arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArmOffer<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its features.
    pub features: Option<&'a [f64]>,
    /// Ranges of its signals.
    pub ranges: &'a ArmRanges,
    /// Weights of its signals.
    pub weights: &'a ArmWeights,
}

/// A person's response to alarms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlarmAnswer {
    /// Acknowledges them: the tests start anew, and nothing is forced any more.
    Acknowledge,
    /// Sets another reaction from now on.
    OnBreach(OnBreach),
}

impl Event<'_> {
    /// The error of an agent that does not know such events; it says which agent does.
    pub fn refusal(&self) -> Error {
        match *self {
            Self::Drawn(_) | Self::Lost(_) => {
                Error::invalid("outcome", "late", "this agent takes outcomes at once")
            }
            Self::Outcome(outcome) => {
                let allowed = "this agent learns from no outcomes";
                Error::invalid("action", outcome.action, allowed)
            }
            Self::ArmOffered(arm) => {
                Error::invalid("arm", arm.name, "the arms of this agent are fixed")
            }
            Self::ArmRetired(arm) => Error::invalid("arm", arm, "the arms of this agent are fixed"),
            Self::ArmChanged(arm) => {
                let allowed =
                    "this agent learns all arms together: a single arm cannot be forgotten";
                Error::invalid("arm", arm, allowed)
            }
            Self::Weights(arm, _) => {
                let allowed = "no guardrail of this agent is a weighted sum";
                Error::invalid("arm", arm, allowed)
            }
            Self::Floors(floors) => {
                let allowed = "this agent plans without floors: `opb` has them, and `oplb` one under the safe action";
                Error::invalid("floors", floors.safe, allowed)
            }
            Self::Settled(settled) => {
                let allowed = "this agent cannot settle: `opb` can";
                Error::invalid("settled", settled, allowed)
            }
            Self::Answered(_) => {
                let allowed = "nothing watches this agent, so that there are no alarms";
                Error::invalid("on_breach", "given", allowed)
            }
            Self::Reseeded { seed, .. } => {
                Error::invalid("seed", seed, "this agent draws no random numbers")
            }
        }
    }

    /// True for events that an agent may pass over: none of its promises rests on them.
    pub fn is_optional(&self) -> bool {
        match self {
            Self::Floors(floors) => floors.is_empty(),
            Self::Drawn(_) | Self::Outcome(_) | Self::Lost(_) => true,
            Self::Answered(_) | Self::Reseeded { .. } => true,
            _ => false,
        }
    }
}

/// A question to an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask<'a> {
    /// Estimates of arms, or of actions of the round, in this order; of all if none are named.
    Estimates(&'a Round<'a>, Option<&'a [usize]>),
    /// Segments with a policy of their own, the most frequent first, and the pool of all others last: those at some
    /// places.
    Segments(Range<usize>),
    /// Lifts of the arms: means of one signal (0 the reward, 1 + i guardrail i), or of each, against the safe arm's.
    /// Signals with other intervals than `mixture`, or that drift, are left out.
    Lifts(Option<usize>),
    /// Upper bound on what further learning could still earn: not known where means may drift, and until the safe
    /// action's margin is proven.
    WorthLeft,
    /// The assumptions that its certificates rest on, and whether anything watches them.
    Assumptions,
}

/// Answer to a question ([`Ask`]).
#[derive(Debug, Clone, PartialEq)]
pub enum Findings {
    /// Nothing is known, or it is none of the agent's questions.
    Unknown,
    /// Of [`Ask::Estimates`].
    Estimates(Vec<ArmEstimate>),
    /// Of [`Ask::Segments`].
    Segments(Vec<SegmentView>),
    /// Of [`Ask::Lifts`].
    Lifts(Vec<ArmLift>),
    /// Of [`Ask::WorthLeft`].
    WorthLeft(WorthLeft),
    /// Of [`Ask::Assumptions`].
    Assumptions(Vec<Assumption>),
}

impl Findings {
    /// Estimates of each of the actions asked about ([`Ask::Estimates`]).
    pub fn each(actions: Option<&[usize]>, estimate: impl FnMut(usize) -> ArmEstimate) -> Self {
        let actions = actions.unwrap_or_default().iter().copied();
        Self::Estimates(actions.map(estimate).collect())
    }
}

/// Declares a method for each kind of findings.
macro_rules! findings {
    ($($(#[$doc:meta])* $name:ident: $variant:ident($type:ty),)*) => {
        impl Findings {
            $($(#[$doc])*
            pub fn $name(self) -> Option<$type> {
                match self {
                    Self::$variant(found) => Some(found),
                    _ => None,
                }
            })*
        }
    };
}

findings! {
    /// Estimates; `None` if there is no such action, or from an agent that keeps none.
    estimates: Estimates(Vec<ArmEstimate>),
    /// Segments; `None` from an agent without any.
    segments: Segments(Vec<SegmentView>),
    /// Lifts; `None` from an agent that does not compute them.
    lifts: Lifts(Vec<ArmLift>),
    /// Worth left; `None` where it is not known.
    worth_left: WorthLeft(WorthLeft),
    /// Assumptions; `None` from an agent that nothing watches.
    assumptions: Assumptions(Vec<Assumption>),
}
