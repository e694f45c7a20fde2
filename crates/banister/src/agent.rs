//! The interface of all agents.

use crate::arm_estimate::ArmEstimate;
use crate::arms::Arm;
use crate::decision::Decision;
use crate::error::Error;
use crate::event::{Ask, Event, Findings};
use crate::monitor::{Assumption, Monitor};
use crate::round::{Outcome, Round};

/// An agent: publishes policies and learns from outcomes.
///
/// To add one, implement [`crate::toolkit::Learner`], or this trait, and give it a variant in the registry,
/// `banister_rivals::AgentConfig`; every interface of banister then knows it by its `kind`. The simulator also plays
/// agents that are not registered.
pub trait Agent: Send {
    /// The policy for a round, with its certificate. It depends on the events so far, not on policies asked for in
    /// between.
    fn decide(&mut self, round: &Round) -> Result<&Decision, Error>;

    /// Refuses an event that could not be taken after `others` more outcomes; changes nothing. By default accepts what
    /// every agent may meet, and refuses changes of arms, weights and floors.
    fn check(&self, event: &Event, others: u64) -> Result<(), Error> {
        let _ = others;
        if event.is_optional() {
            Ok(())
        } else {
            Err(event.refusal())
        }
    }

    /// Takes an event. Nothing changes if it is refused.
    fn apply(&mut self, event: &Event) -> Result<(), Error>;

    /// Answers a question. By default nothing is known.
    fn ask(&mut self, ask: Ask) -> Findings {
        let _ = ask;
        Findings::Unknown
    }

    /// Arms, counts and monitor. By default nothing is known, and every decision may differ.
    fn view(&self) -> AgentView<'_> {
        AgentView {
            is_stale: true,
            ..AgentView::default()
        }
    }

    /// A copy of it, to ask beside it; `None` if it cannot be copied.
    fn copy(&self) -> Option<Box<dyn Agent>> {
        None
    }

    /// The whole state as versioned JSON, for `banister_rivals::AgentConfig::restore`. Drops warm starts, so that this
    /// agent and the restored one go on alike to the bit. User-supplied agents need not have any.
    fn save(&mut self) -> Result<String, Error> {
        let reason = "this agent has no snapshots".into();
        Err(Error::Snapshot { reason })
    }
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
    /// True if it has settled ([`Event::Settled`]).
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
    let found = agent.ask(Ask::Estimates(round, None)).estimates();
    found.unwrap_or_default()
}

/// The assumptions that an agent's certificates rest on; none of one that nothing watches.
pub fn assumptions(agent: &mut dyn Agent) -> Vec<Assumption> {
    agent
        .ask(Ask::Assumptions)
        .assumptions()
        .unwrap_or_default()
}

/// Observes many outcomes: all, or none if one is refused.
pub fn observe_all<'a>(
    agent: &mut dyn Agent,
    outcomes: impl Iterator<Item = Outcome<'a>> + Clone,
) -> Result<(), Error> {
    // A single one is refused by `apply`.
    let are_many = outcomes.clone().nth(1).is_some();
    for (others, outcome) in outcomes.clone().enumerate().filter(|_| are_many) {
        agent.check(&Event::Outcome(&outcome), others as u64)?;
    }
    for outcome in outcomes {
        agent.apply(&Event::Outcome(&outcome))?;
    }
    Ok(())
}
