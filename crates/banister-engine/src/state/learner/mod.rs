//! Learners: the part of an experiment that computes. An agent, fed by the experiment's events in their
//! order, and the policies that it decides on.
//!
//! Most agents decide in microseconds, on the writer's thread. Long feature vectors and many segments take
//! milliseconds, and one experiment must not make others wait: its learner is *detached*, an actor that threads beside
//! the writer serve. It takes the same events in the same order, only later. A decision is then computed beside the
//! writer from what the actor has learned, and the writer checks that the experiment has not changed since. That is
//! safe: confidence sets hold for all times at once, so a policy that is based on fewer outcomes keeps its
//! certificate.
//!
//! Read `core.rs` (the agent and its policies) with `policy_inputs.rs` (what a policy needs beside the agent), then `actor.rs`
//! (a detached learner), and `pool.rs` (all of them by name, and their threads). May use `events` and
//! `declaration`; knows neither commands nor the writer.

mod actor;
mod core;
mod policy_inputs;
mod pool;

use std::sync::Arc;

use banister::Agent;

pub use self::core::SegmentCount;
pub(crate) use self::core::{
    Core, LearnedView, LearnerEvent, NamedAlarm, PendingDecision, SegmentsView, add_arm,
};
pub(crate) use actor::Actor;
pub(crate) use policy_inputs::PolicyInputs;
pub use policy_inputs::{Arm, ExperimentStatus};
pub(crate) use pool::Detached;

use crate::refusal::Refusal;

pub(crate) struct Learner {
    /// The agent that learns; of a detached learner one that never does, for what depends on the declaration
    /// alone.
    core: Core,
    actor: Option<Arc<Actor>>,
}

impl Learner {
    pub(crate) fn new(core: Core) -> Self {
        Self { core, actor: None }
    }

    /// Moves it beside the writer; `twin` is an agent for the same arms that has not learned anything.
    pub(crate) fn detach(&mut self, twin: Box<dyn Agent>, name: &str, detached: &Detached) {
        let core = self.core.give_way(twin);
        self.actor = Some(detached.adopt(name, core));
    }

    /// A copy of one that is not detached, to read beside the writer.
    pub(crate) fn copy(&self) -> Option<Self> {
        let core = self.actor.is_none().then(|| self.core.copy())??;
        Some(Self::new(core))
    }

    /// The actor of a detached learner.
    pub(crate) fn actor(&self) -> Option<&Arc<Actor>> {
        self.actor.as_ref()
    }

    /// Takes an event's effect; on an error the log is damaged.
    pub(crate) fn apply(&mut self, event: LearnerEvent) -> Result<(), String> {
        let Some(actor) = &self.actor else {
            return self.core.apply(event);
        };
        self.core.shape(&event)?;
        actor.push(event);
        Ok(())
    }

    /// Computes with all that was taken; blocks where a detached learner is busy.
    pub(crate) fn with<T>(&mut self, compute: impl FnOnce(&mut Core) -> T) -> T {
        match &self.actor {
            None => compute(&mut self.core),
            Some(actor) => actor.up_to_date(compute),
        }
    }

    /// An agent to ask about the declaration, not about what is learned.
    pub(crate) fn declared(&self) -> &dyn Agent {
        &*self.core.agent
    }

    /// Outcomes that [`Self::declared`] does not know of, if `all` were taken.
    pub(crate) fn unknown_to_declared(&self, all: u64) -> u64 {
        if self.actor.is_some() { all } else { 0 }
    }

    /// Alarms that no event records yet.
    pub(crate) fn unrecorded(&self) -> Vec<NamedAlarm> {
        match &self.actor {
            None => self.core.unrecorded(),
            Some(actor) => actor.unrecorded(),
        }
    }

    /// Returns true if some alarm is not recorded yet.
    pub(crate) fn has_unrecorded(&self) -> bool {
        !self.unrecorded().is_empty()
    }

    /// Segments by number.
    pub(crate) fn segment_count(&self) -> SegmentCount {
        match &self.actor {
            None => self.core.segment_count(),
            Some(actor) => actor.segment_count(),
        }
    }

    /// Refuses more outcomes while a detached learner has too many to take.
    pub(crate) fn check_backlog(&self) -> Result<(), Refusal> {
        if self.actor.as_ref().is_some_and(|actor| actor.is_behind()) {
            let reason = "outcomes come faster than this experiment learns: come again in a moment";
            return Err(Refusal::unavailable(reason));
        }
        Ok(())
    }
}
