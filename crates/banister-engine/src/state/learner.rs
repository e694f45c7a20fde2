//! The learner of an experiment: its agent, fed by the experiment's events in their order, and the policies that it
//! decides on.
//!
//! Everything that changes an agent is called here. May use `events` and `declaration`; knows neither commands nor the
//! writer.

use std::ops::Range;
use std::sync::Arc;

use banister::monitor::Alarm;
use banister::toolkit::{CheckedProblem, SegmentView};
use banister::{
    Agent, AgentView, AlarmAnswer, ArmEstimate, Ask, Choice, Error, Event, Fallback, Findings,
    Round,
};

use crate::events::PublishedPolicy;

/// An alarm with the names of its arm and of its segment, where it is about one.
pub(crate) struct NamedAlarm {
    pub alarm: Alarm,
    pub arm: Option<String>,
    pub segment: Option<String>,
}

/// Number of segments.
#[derive(Debug, Clone, Copy, Default)]
pub struct SegmentCount {
    /// Number of policies, the pool's included.
    pub told_apart: usize,
    /// Names with statistics of their own.
    pub names: usize,
    /// Names that there is room for.
    pub max_names: usize,
}

/// An agent and its policies, in the log's own numbers of arms.
pub(crate) struct Learner {
    agent: Box<dyn Agent>,
    /// Alarms of the agent that events record.
    pub recorded: u64,
    /// Latest time that is known, as declared drift counts it.
    time: f64,
    /// Policy over the arms and the reason for which it is the safe one, as long as nothing changes it.
    current: Option<(Option<Fallback>, Arc<PublishedPolicy>)>,
}

impl Learner {
    pub(crate) fn new(agent: Box<dyn Agent>, recorded: u64) -> Self {
        Self {
            agent,
            recorded,
            time: 0.0,
            current: None,
        }
    }

    /// A copy of it to read beside the writer, where the agent can be copied.
    pub(crate) fn copy(&self) -> Option<Self> {
        Some(Self {
            agent: self.agent.copy()?,
            current: self.current.clone(),
            ..*self
        })
    }

    pub(crate) fn view(&self) -> AgentView<'_> {
        self.agent.view()
    }

    pub(crate) fn check(&self, event: &Event, others: u64) -> Result<(), Error> {
        self.agent.check(event, others)
    }

    /// Answers a question.
    pub(crate) fn ask(&mut self, ask: Ask) -> Findings {
        self.agent.ask(ask)
    }

    pub(crate) fn save(&mut self) -> Result<String, Error> {
        self.agent.save()
    }

    /// Takes an event. It was checked before it was written: an error says that the log is damaged.
    pub(crate) fn apply(&mut self, event: &Event) -> Result<(), Error> {
        self.agent.apply(event)?;
        match event {
            Event::Drawn(pending) => self.time = self.time.max(pending.time.unwrap_or(0.0)),
            // A policy whose bounds have not changed stays published.
            Event::Outcome(_) if !self.agent.view().is_stale => {}
            Event::Answered(AlarmAnswer::Acknowledge) => {
                // Whatever was raised and not recorded is acknowledged with the rest.
                let monitor = self.agent.view().monitor;
                self.recorded = monitor.map_or(0, |monitor| monitor.raised());
                self.current = None;
            }
            _ => self.current = None,
        }
        Ok(())
    }

    /// The policy for a round. Its time, where drift is declared, is the latest one known.
    pub(crate) fn policy(
        &mut self,
        round: &Round,
        problem: &CheckedProblem,
    ) -> Result<Arc<PublishedPolicy>, Error> {
        self.time = self.time.max(round.time.unwrap_or(0.0));
        let round = Round {
            time: Some(self.time),
            ..*round
        };
        // Elsewhere every decision has a policy of its own.
        let is_shared = round.choice == Choice::Arms && round.segment.is_none();
        let current = self.current.as_ref().filter(|_| is_shared);
        if let Some((only_safe, published)) = current
            && *only_safe == round.only_safe
            && !self.agent.view().is_stale
            && published.holds_at(round.time)
        {
            return Ok(published.clone());
        }
        let published = PublishedPolicy::new(&mut *self.agent, &round, problem)?;
        if !is_shared {
            return Ok(Arc::new(published));
        }
        // Saving drops warm starts, and the same policy comes of it again.
        let current = self.current.take().map(|own| own.1);
        let same = current.filter(|own| own.decision == published.decision);
        let published = same.unwrap_or_else(|| Arc::new(published));
        self.current = Some((round.only_safe, published.clone()));
        Ok(published)
    }

    /// Passes the time to the agent, as every question does.
    fn at(&mut self, time: Option<f64>) -> Round<'static> {
        self.time = self.time.max(time.unwrap_or(0.0));
        Round {
            time: Some(self.time),
            ..Round::default()
        }
    }

    /// Estimates of all arms, at a time.
    pub(crate) fn estimates(&mut self, time: Option<f64>) -> Vec<ArmEstimate> {
        let round = self.at(time);
        banister::estimates(&mut *self.agent, &round)
    }

    /// Segments at some places, those seen most often first, at a time.
    pub(crate) fn segments(&mut self, time: Option<f64>, places: Range<usize>) -> Vec<SegmentView> {
        if time.is_some() {
            let round = self.at(time);
            self.ask(Ask::Estimates(&round, Some(&[])));
        }
        let found = self.ask(Ask::Segments(places)).segments();
        found.unwrap_or_default()
    }

    /// Segments by number.
    pub(crate) fn segment_count(&self) -> SegmentCount {
        let view = self.agent.view();
        SegmentCount {
            told_apart: view.segment_policies,
            names: view.segment_names.len(),
            max_names: view.max_segments,
        }
    }

    /// Alarms that no event records yet, each with the names of its arm and of its segment.
    pub(crate) fn unrecorded(&self) -> impl Iterator<Item = NamedAlarm> {
        let view = self.agent.view();
        let alarms = view.monitor.map_or(&[][..], |own| own.alarms()).iter();
        let new = alarms.filter(|own| own.number > self.recorded);
        new.map(move |alarm| {
            let arm = alarm.arm.and_then(|arm| view.arms.get(arm));
            let segment = alarm.segment.and_then(|s| view.segment_names.get(s));
            NamedAlarm {
                alarm: *alarm,
                arm: arm.map(|arm| arm.name.clone()),
                segment: segment.cloned(),
            }
        })
    }
}
