//! The agent of an experiment and its policies, in the log's own numbers of arms.

use std::ops::Range;
use std::sync::Arc;

use banister::{Agent, ArmEstimate, Error, Fallback, Model, OnBreach, Origin, Outcomes, Played};

use super::frame::{ExperimentStatus, Frame};
use crate::events::{Candidate, Import, OutcomeEvent, PublishedPolicy};
use crate::refusal::Refusal;
use crate::state::declaration::{Kind, NamedArm};

/// Effect of an event on what is learned.
pub(crate) enum Op {
    Observe {
        outcome: OutcomeEvent,
        origin: OwnOrigin,
    },
    Import(Import),
    /// A decision was drawn, with the probability of its safe action where outcomes come in any order.
    Drawn {
        action: u32,
        number: u64,
        safe_probability: Option<f64>,
        segment: Option<Arc<str>>,
    },
    /// The outcome of a decision in a segment will never come. Its action, where nothing waits for it.
    GivenUp {
        action: Option<u32>,
        number: u64,
        segment: Arc<str>,
    },
    /// A decision was drawn in a segment, in shadow mode: the caller's own action is what happens.
    Met(Arc<str>, u32),
    AddArm(NamedArm),
    /// By its name.
    RetireArm(String),
    /// Reaction to alarms from now on.
    OnBreach(OnBreach),
    /// An event records an alarm of the agent.
    AlarmRecorded,
    Acknowledge,
    /// The experiment was changed.
    Frame(Arc<Frame>),
}

/// Decision that an outcome belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OwnOrigin {
    Announced(u64),
    InOrder(u64, f64),
    Logged,
}

/// Offers an arm, a new one or one that was retired.
pub(crate) fn add_arm(agent: &mut dyn Agent, arm: &NamedArm) -> Result<(), Error> {
    let added = agent.add_arm(&arm.name, arm.features.as_deref(), &arm.ranges);
    added.map(|_| ())
}

fn retire_arm(agent: &mut dyn Agent, name: &str) -> Result<(), String> {
    let own = agent.names().iter().position(|own| own == name);
    let own = own.ok_or("the agent does not know the arm")?;
    agent.retire_arm(own).map_err(|e| e.to_string())
}

/// Changes the reaction to alarms, of an agent that is watched.
pub(crate) fn set_on_breach(agent: &mut dyn Agent, on_breach: OnBreach) -> Result<(), Error> {
    let allowed = "nothing watches this agent, so that there are no alarms";
    let monitor = agent.monitor_mut();
    let monitor = monitor.ok_or_else(|| Error::invalid("on_breach", "given", allowed))?;
    monitor.set_on_breach(on_breach)
}

/// An alarm with the names of its arm and of its segment, where it is about one.
#[derive(Clone)]
pub(crate) struct NamedAlarm {
    pub alarm: banister::Alarm,
    pub arm: Option<String>,
    pub segment: Option<String>,
}

/// Segments, and the number of all.
pub(crate) type SegmentsView = (Vec<banister::SegmentView>, usize);

/// An agent and what its policies depend on.
pub(crate) struct Core {
    agent: Box<dyn Agent>,
    /// Alarms of the agent that events record.
    pub recorded: u64,
    frame: Arc<Frame>,
    /// Policy over the arms, as long as nothing changes it.
    current: Option<Arc<PublishedPolicy>>,
}

/// Learned part of an experiment, for people.
pub(crate) struct LearnedView {
    /// The policy over the arms, where there is one between decisions.
    pub policy: Option<Arc<PublishedPolicy>>,
    pub outcomes: u64,
    /// Estimates by the log's number of the arm.
    pub estimates: Vec<(usize, ArmEstimate)>,
    pub monitor: Option<banister::Monitor>,
}

impl Core {
    pub(crate) fn new(agent: Box<dyn Agent>, recorded: u64, frame: Arc<Frame>) -> Self {
        Self {
            agent,
            recorded,
            frame,
            current: None,
        }
    }

    pub(crate) fn agent(&self) -> &dyn Agent {
        &*self.agent
    }

    pub(crate) fn frame(&self) -> &Arc<Frame> {
        &self.frame
    }

    /// Core with this agent, which another one takes the place of here.
    pub(super) fn give_way(&mut self, twin: Box<dyn Agent>) -> Self {
        let agent = std::mem::replace(&mut self.agent, twin);
        Self::new(agent, self.recorded, self.frame.clone())
    }

    /// Takes over what depends on the declaration alone.
    pub(super) fn shape(&mut self, op: &Op) -> Result<(), String> {
        match op {
            Op::AddArm(arm) => add_arm(&mut *self.agent, arm).map_err(|e| e.to_string()),
            Op::RetireArm(name) => retire_arm(&mut *self.agent, name),
            Op::OnBreach(on_breach) => {
                set_on_breach(&mut *self.agent, *on_breach).map_err(|e| e.to_string())
            }
            _ => Ok(()),
        }
    }

    /// Takes an event's effect. Events were checked before they were written, so the agent refuses none; if
    /// one cannot be taken, the log is damaged.
    pub(super) fn apply(&mut self, op: Op) -> Result<(), String> {
        let agent = &mut *self.agent;
        match op {
            Op::Observe { outcome, origin } => {
                observe(agent, &outcome, origin)?;
                // A policy whose bounds have not changed stays published.
                if !agent.is_stale() {
                    return Ok(());
                }
            }
            Op::Import(import) => {
                let taken = import.outcomes(|outcomes| agent.observe_batch(outcomes));
                taken.map_err(|e| e.to_string())?;
            }
            Op::Drawn {
                action,
                number,
                safe_probability,
                segment,
            } => {
                if let Some(segment) = segment {
                    agent.enter(&segment).map_err(|e| e.to_string())?;
                }
                agent.drawn(action as usize);
                agent.decided(number, safe_probability);
                return Ok(());
            }
            Op::GivenUp {
                action,
                number,
                segment,
            } => {
                agent.enter(&segment).map_err(|e| e.to_string())?;
                agent.gave_up(number, action.map(|action| action as usize));
            }
            Op::Met(segment, action) => {
                agent.enter(&segment).map_err(|e| e.to_string())?;
                agent.drawn(action as usize);
                return Ok(());
            }
            Op::AddArm(arm) => add_arm(agent, &arm).map_err(|e| e.to_string())?,
            Op::RetireArm(name) => retire_arm(agent, &name)?,
            Op::OnBreach(on_breach) => {
                set_on_breach(agent, on_breach).map_err(|e| e.to_string())?;
            }
            Op::AlarmRecorded => self.recorded += 1,
            Op::Acknowledge => {
                agent.acknowledge();
                // Whatever was raised and not recorded is acknowledged with the rest.
                self.recorded = agent.monitor().map_or(0, |monitor| monitor.raised());
            }
            Op::Frame(frame) => self.frame = frame,
        }
        self.current = None;
        Ok(())
    }

    /// The policy for a request: over the arms as known now, for a context or for candidates.
    pub(crate) fn policy(
        &mut self,
        segment: Option<&str>,
        context: &[f64],
        candidates: &[Candidate],
    ) -> Result<Arc<PublishedPolicy>, Refusal> {
        if let Some(segment) = segment {
            return self.policy_in_segment(segment);
        }
        match self.frame.facts.kind {
            Kind::Arms => self.policy_of_arms(),
            Kind::Context(_) => self.policy_in_context(context),
            Kind::Candidates(_) => self.policy_for(candidates),
        }
    }

    /// An agent that samples has another policy for every decision.
    fn policy_of_arms(&mut self) -> Result<Arc<PublishedPolicy>, Refusal> {
        if let Some(published) = &self.current
            && !self.agent.samples()
        {
            return Ok(published.clone());
        }
        let numbers: Vec<u32> = (0..self.agent.actions().map_or(0, |set| set.count))
            .map(|own| self.number_of(own))
            .collect();
        let number = |own: usize| numbers.get(own).copied().unwrap_or(0);
        let published = Arc::new(self.publish(number)?);
        self.current = Some(published.clone());
        Ok(published)
    }

    fn policy_in_segment(&mut self, segment: &str) -> Result<Arc<PublishedPolicy>, Refusal> {
        (self.agent.enter(segment)).map_err(|e| Refusal::of(e, str::to_string))?;
        self.publish(|own| own as u32).map(Arc::new)
    }

    fn policy_in_context(&mut self, context: &[f64]) -> Result<Arc<PublishedPolicy>, Refusal> {
        let frame = self.frame.clone();
        let safe = frame.safe;
        let offered: Vec<usize> = (0..frame.arms.len())
            .filter(|&arm| arm != safe && frame.arms[arm].offered)
            .collect();
        let context = frame.facts.vector(context);
        let arms = frame.facts.in_context(&context);
        let features = arms.offer(offered.iter().copied(), &context);
        self.offer(&features, "context", |_| "context".into())?;
        let number = |own: usize| match arms.model {
            Model::Shared => offered.get(own).copied().unwrap_or(safe) as u32,
            Model::PerArm => own as u32,
        };
        self.publish(number).map(Arc::new)
    }

    fn policy_for(&mut self, candidates: &[Candidate]) -> Result<Arc<PublishedPolicy>, Refusal> {
        let features: Vec<f64> = (candidates.iter())
            .flat_map(|c| c.features.iter().copied())
            .collect();
        self.offer(&features, "actions", str::to_string)?;
        self.publish(|own| own as u32).map(Arc::new)
    }

    fn offer(
        &mut self,
        features: &[f64],
        field: &str,
        rename: impl Fn(&str) -> String,
    ) -> Result<(), Refusal> {
        self.agent.offer(features).map_err(|error| match error {
            banister::Error::Invalid { .. } => Refusal::of(error, rename),
            other => Refusal::invalid(field, "given", other.to_string()),
        })
    }

    fn publish(&mut self, number: impl Fn(usize) -> u32) -> Result<PublishedPolicy, Refusal> {
        let agent = &mut *self.agent;
        let decision = match self.frame.status {
            ExperimentStatus::Paused => (agent.decide_safe(Fallback::Paused))
                .ok_or_else(|| Refusal::conflict("this agent cannot be paused: resume it"))?
                .clone(),
            _ if self.frame.is_forced => match agent.decide_safe(Fallback::Alarm) {
                Some(decision) => decision.clone(),
                None => agent.decide().clone(),
            },
            _ => agent.decide().clone(),
        };
        let safe = agent.actions().map_or(0, |set| set.safe);
        let problem = &self.frame.facts.problem;
        Ok(PublishedPolicy::new(agent, decision, problem, safe, number))
    }

    /// Log's number of one of the agent's arms: linear agents number only those on offer.
    fn number_of(&self, own: usize) -> u32 {
        let (names, arms) = (self.agent.names(), &self.frame.arms);
        let number = match names.get(own) {
            Some(name) if arms.get(own).is_none_or(|arm| arm.name != *name) => {
                arms.iter().position(|arm| arm.name == *name)
            }
            _ => Some(own),
        };
        number.and_then(|n| u32::try_from(n).ok()).unwrap_or(0)
    }

    /// The learned part; with the policy over the arms, unless it is a new one for every decision.
    pub(crate) fn view(&mut self, with_policy: bool) -> Result<LearnedView, Refusal> {
        let facts = &self.frame.facts;
        let has_arms = facts.kind == Kind::Arms && facts.segments.is_none();
        let policy = if has_arms && (with_policy || !self.agent.samples()) {
            Some(self.policy_of_arms()?)
        } else {
            None
        };
        let estimates = if has_arms {
            self.agent.estimates()
        } else {
            Vec::new()
        };
        let numbered = estimates.into_iter().enumerate();
        Ok(LearnedView {
            policy,
            outcomes: self.agent.outcomes(),
            estimates: numbered
                .map(|(own, estimate)| (self.number_of(own) as usize, estimate))
                .collect(),
            monitor: self.agent.monitor().cloned(),
        })
    }

    /// Segments at some places, those seen most often first, and the number of all.
    pub(crate) fn segments(&mut self, places: Range<usize>) -> SegmentsView {
        (
            self.agent.segments_at(places),
            self.agent.segment_count().told_apart,
        )
    }

    /// Alarms that no event records yet, each with the names of its arm and of its segment.
    pub(crate) fn unrecorded(&self) -> Vec<NamedAlarm> {
        let Some(monitor) = self.agent.monitor().filter(|_| self.has_unrecorded()) else {
            return Vec::new();
        };
        let new = monitor.raised().saturating_sub(self.recorded);
        // The newest are the last; one that replaced an older one of its kind is among them.
        let mut newest: Vec<_> = monitor.alarms().iter().collect();
        newest.sort_by_key(|alarm| std::cmp::Reverse(alarm.outcome));
        let newest = newest
            .into_iter()
            .take(usize::try_from(new).unwrap_or(usize::MAX));
        let named = newest.map(|alarm| {
            let arm = alarm.arm.and_then(|arm| self.agent.names().get(arm));
            let segment = alarm.segment.and_then(|s| self.agent.segment_name(s));
            NamedAlarm {
                alarm: *alarm,
                arm: arm.cloned(),
                segment: segment.map(str::to_string),
            }
        });
        named.collect()
    }

    /// Returns true if some alarm is not recorded yet.
    pub(crate) fn has_unrecorded(&self) -> bool {
        (self.agent.monitor()).is_some_and(|monitor| monitor.raised() > self.recorded)
    }
}

fn observe(agent: &mut dyn Agent, outcome: &OutcomeEvent, origin: OwnOrigin) -> Result<(), String> {
    let arms = [outcome.action as usize];
    let (numbers, shares) = match origin {
        OwnOrigin::Announced(number) => ([number], [0.0]),
        OwnOrigin::InOrder(number, share) => ([number], [share]),
        OwnOrigin::Logged => ([0], [0.0]),
    };
    let segment = outcome.segment.as_deref().map(|segment| [segment]);
    let outcomes = Outcomes {
        played: if let Some(segment) = &segment {
            Played::InSegments(&arms, segment)
        } else if outcome.features.is_empty() {
            Played::Arms(&arms)
        } else {
            Played::Features(&outcome.features)
        },
        rewards: &[outcome.reward],
        costs: &outcome.costs,
        origin: match origin {
            OwnOrigin::Announced(_) => Origin::Announced(&numbers),
            OwnOrigin::InOrder(..) => Origin::InOrder(&numbers, &shares),
            OwnOrigin::Logged => Origin::Logged,
        },
    };
    agent.observe_batch(&outcomes).map_err(|e| e.to_string())
}
