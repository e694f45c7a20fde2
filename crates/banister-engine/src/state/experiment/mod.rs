//! One experiment: a fold over its events.
//!
//! Learned state (the agent, the arms, the counts) depends on the events alone, in their order:
//! [`Experiment::digest`] is the same in every process that has folded the same events. The rest (the
//! policy in force, the trace for the page) is kept beside it.

mod alarm;
mod assigned;
mod budget_check;
mod change;
mod leases;
mod missing;
mod notice;
mod policy;
mod saved;

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

pub use alarm::{AlarmRaised, RecordedAlarm};
pub use assigned::{Assigned, Delay};
use banister::{Agent, Ask, Event as AgentEvent, Fallback, Origin, Pending};
use budget_check::Allowed;
pub(crate) use budget_check::reserve;
pub use change::{Change, Edit};
pub use leases::GrantedLease;
pub use missing::{ArmMissing, Missing};
pub use notice::{Notice, NoticeKind};
pub(crate) use saved::{InSnapshots, mark, read_mark};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::events::{
    Author, DecisionEvent, Event, LeaseEvent, OutcomeEvent, PublishedPolicy, Record, shown_id,
};
use crate::state::budget::Budgets;
use crate::state::declaration::{CheckedDeclaration, Declaration, NamedArm};
use crate::state::experiment_info::{ExperimentInfo, info};
use crate::state::history::History;
use crate::state::learner::Learner;
use crate::time::ClockSets;
use crate::time::Timestamp;

/// Policies whose share of the safe action is remembered: those that replicas still draw from.
const MOST_SHARES: usize = 64;

/// Arms up to which lifts are kept over time.
const MOST_TRACED: usize = 20;

/// Status of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExperimentStatus {
    /// It decides and learns.
    #[default]
    Running,
    /// Every decision is the safe action; it still learns from outcomes.
    Paused,
    /// It is over.
    Archived,
}

/// An arm, retired ones too. Its number never changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// The arm as it was declared or added, with the weights that were set since.
    pub own: NamedArm,
    /// False once it is retired.
    pub offered: bool,
}

impl Deref for Arm {
    type Target = NamedArm;

    fn deref(&self) -> &NamedArm {
        &self.own
    }
}

/// Counts so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Decisions made.
    pub decisions: u64,
    /// Outcomes that were learned from, defaults among them.
    pub outcomes: u64,
    /// Decisions whose time to live was over before their outcome was complete, or that were cancelled.
    pub expired: u64,
    /// Outcomes of units that were learned in an earlier period: they are shown, and teach nothing.
    #[serde(default)]
    pub returned: u64,
    /// Those of them that have no outcome at all, not even a default one.
    #[serde(default)]
    pub missing: u64,
    /// Outcomes imported from other logs.
    pub imported: u64,
    /// Decisions where the safe action was forced.
    pub forced: u64,
    /// Units that were given another arm before their period was over: they teach nothing.
    #[serde(default)]
    pub moved: u64,
    /// Units with as many reports as are added up: further ones are refused.
    #[serde(default)]
    pub full: u64,
}

/// One import.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    pub digest: u64,
    pub outcomes: u64,
    /// The last of its events.
    pub number: u64,
    /// True if it was declared a sample of the same traffic.
    pub sampled: bool,
}

/// Reason for which the safe action is forced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForcedSafe {
    /// Reason.
    pub reason: Fallback,
    /// Time at which it began.
    pub since: Timestamp,
    /// The first decision that was forced, as `@` and its number; null while it is only paused.
    pub decision: Option<String>,
}

/// The last policy that decisions were drawn from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Latest {
    /// Number of its event, or of the one decision that was drawn from it.
    #[serde(default)]
    pub number: u64,
    pub published: Arc<PublishedPolicy>,
    /// Names of the candidates it chooses among; empty for arms.
    pub candidates: Vec<Option<String>>,
}

/// Part of an experiment that is a fold of its events alone, beside the agent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FoldedState {
    /// The number of the event that created it.
    pub key: u64,
    /// Number of its last event.
    pub number: u64,
    pub created: Timestamp,
    pub status: ExperimentStatus,
    pub arms: Vec<Arm>,
    pub counts: Counts,
    pub imports: Vec<Imported>,
    /// Outcomes that never came, by arm.
    pub missing: Missing,
    /// Money over time.
    pub budgets: Budgets,
    /// Alarms, the newest last.
    pub alarms: Vec<RecordedAlarm>,
    /// Time at which the policy settled.
    pub settled: Option<Timestamp>,
    /// Most of the traffic that may be led away from the safe action, where there is a rollout.
    pub share: Option<f64>,
    /// Leases that exposures may still be reported under, the newest last.
    pub leases: Vec<GrantedLease>,
    /// The last event that changed prices: units assigned before are assigned anew.
    pub repriced: u64,
    /// Events that turned shadow mode on or off.
    shadow_switches: Vec<u64>,
    /// The last policies published: number, and probability of the safe action.
    shares: VecDeque<(u64, f64)>,
}

/// Data beside it for people and for the expiry thread.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ExperimentTrace {
    /// The trace for the page.
    pub history: History,
    /// Set while the safe action is forced.
    pub alarm: Option<ForcedSafe>,
    /// The last policy that decisions were drawn from.
    pub latest: Option<Latest>,
    /// Up to here every decision has an outcome or is younger than the time to live.
    pub settled: u64,
    /// Draws of arms against the policies that they were drawn from.
    pub assigned: Assigned,
    /// Time from decisions to their first report, by arm.
    pub delays: Vec<Delay>,
    /// Outcomes at which it is looked next whether enough is known.
    pub look_at: u64,
    /// Notices for people, and their deliveries.
    pub notices: notice::Notices,
}

/// An experiment as folded.
pub struct Experiment {
    pub checked: CheckedDeclaration,
    folded: FoldedState,
    pub trace: ExperimentTrace,
    /// The newest lease, to hand it out again as long as the experiment is the same.
    pub(crate) leased: Option<(u64, Arc<LeaseEvent>)>,
    /// The policy that budgets last allowed, and what it was made of.
    allowed: Option<Allowed>,
    pub(crate) info: Arc<ExperimentInfo>,
    pub(crate) learner: Learner,
    /// The whole of it, and its summary, as queries show them.
    pub(crate) view_cache: ViewCache,
    pub(crate) summary_cache: ViewCache,
}

impl Deref for Experiment {
    type Target = FoldedState;

    fn deref(&self) -> &FoldedState {
        &self.folded
    }
}

impl DerefMut for Experiment {
    fn deref_mut(&mut self) -> &mut FoldedState {
        &mut self.folded
    }
}

impl Experiment {
    /// As its first event declares it.
    pub(crate) fn new(record: &Record, json: &str) -> Result<Self, String> {
        let declaration: Declaration = serde_json::from_str(json).map_err(|e| e.to_string())?;
        let checked = declaration.check_rest(false).map_err(|e| e.to_string())?;
        Self::made(record.number, record.time, checked)
    }

    /// As a checked declaration makes it.
    pub(crate) fn made(
        key: u64,
        created: Timestamp,
        checked: CheckedDeclaration,
    ) -> Result<Self, String> {
        let agent = (checked.config.build(&checked.problem)).map_err(|e| e.to_string())?;
        let arms = checked.arms.iter().cloned();
        let offered = true;
        let arms = arms.map(|own| Arm { own, offered });
        let folded = FoldedState {
            key,
            number: key,
            created,
            arms: arms.collect(),
            ..FoldedState::default()
        };
        let trace = ExperimentTrace {
            settled: key,
            ..ExperimentTrace::default()
        };
        let mut experiment = Self::of(checked, folded, trace, agent, 0);
        let Self {
            folded,
            info,
            checked,
            ..
        } = &mut experiment;
        (folded.budgets).declare(&checked.declaration.budgets, &info.guardrails);
        experiment.begin_rollout(created)?;
        Ok(experiment)
    }

    /// Puts an experiment together; `recorded` alarms of the agent are events already.
    fn of(
        checked: CheckedDeclaration,
        folded: FoldedState,
        trace: ExperimentTrace,
        mut agent: Box<dyn Agent>,
        recorded: u64,
    ) -> Self {
        let names = folded.arms.iter().map(|arm| arm.name.clone()).collect();
        Self {
            info: info(
                folded.key,
                &checked,
                names,
                banister::assumptions(&mut *agent),
            ),
            learner: Learner::new(agent, recorded),
            checked,
            folded,
            trace,
            leased: None,
            allowed: None,
            view_cache: ViewCache::default(),
            summary_cache: ViewCache::default(),
        }
    }

    /// A copy of it to read beside the writer, while this one goes on.
    pub(crate) fn copy(&self) -> Option<Self> {
        Some(Self {
            learner: self.learner.copy()?,
            checked: self.checked.clone(),
            folded: self.folded.clone(),
            trace: self.trace.clone(),
            leased: None,
            allowed: None,
            info: self.info.clone(),
            view_cache: ViewCache::default(),
            summary_cache: ViewCache::default(),
        })
    }

    /// Folds one of its events, the first aside; an error says that the log is damaged.
    pub(crate) fn apply(
        &mut self,
        record: &Record,
        author: &Author,
        event: Event,
        clock_sets: &ClockSets,
    ) -> Result<(), String> {
        self.number = record.number;
        let at = (record.number, record.time);
        match event {
            Event::Created(_) => return Err("an experiment is created once".into()),
            Event::ClockSet { .. } => return Err("the clock is no experiment's".into()),
            Event::Edited(json) => {
                let edit = serde_json::from_str(&json).map_err(|e| e.to_string())?;
                self.edited(at, edit)?;
                self.acknowledged_by(author.name(), record.time);
            }
            Event::Policy(published) => self.applied_policy(at, published),
            Event::Decision(decision) => self.applied_decision(at, &decision, clock_sets)?,
            // Parts teach nothing until they are complete.
            Event::Part(_) => {}
            Event::Leased(lease) => self.granted(at.0, at.1, lease),
            Event::Added { is_last, .. } => self.counts.full += u64::from(is_last),
            Event::Moved { from, decision } => self.moved(record, from, &decision)?,
            Event::Outcome(outcome) => {
                // In shadow mode the caller's own policy was played.
                let number = record.decision.filter(|&number| !self.was_shadow(number));
                let origin = number.map_or(Origin::Logged, Origin::Announced);
                if number.is_some() {
                    self.missing.came(outcome.action as usize);
                }
                self.observe(record, outcome, origin)?;
            }
            Event::Matured(outcome) if outcome.returns => {
                self.counts.returned += 1;
                self.trace.history.observe(record.time);
            }
            Event::Matured(outcome) => {
                let number = record.decision.unwrap_or(0);
                let origin = if self.was_shadow(number) {
                    Origin::Logged
                } else {
                    Origin::InOrder(number)
                };
                self.missing.came(outcome.action as usize);
                self.observe(record, outcome, origin)?;
            }
            Event::Missing {
                action,
                policy,
                segment,
                time,
            } => {
                self.counts.expired += 1;
                self.counts.missing += 1;
                let was_forced = self.is_forced_by_missing();
                self.missing.never_came(action as usize, &policy);
                if let Some(number) = record.decision {
                    self.give_up(number, action, segment.as_deref(), time)?;
                }
                if self.is_forced_by_missing() != was_forced {
                    self.leased = None;
                }
            }
            Event::AlarmRaised(json) => {
                let alarm = serde_json::from_str(&json).map_err(|e| e.to_string())?;
                self.record_alarm(record.number, record.time, alarm);
            }
            Event::Charged(charges) => {
                (self.budgets).charge(record.decision.unwrap_or(0), &charges);
            }
            Event::Delivery {
                notice,
                hook,
                until,
            } => (self.trace.notices).deliver(notice, hook, until.map(Timestamp)),
            Event::Lapsed => self.counts.expired += 1,
            Event::Imported(import) => {
                let outcomes = import.rewards.len() as u64;
                self.counts.imported += outcomes;
                match self.imports.last_mut() {
                    Some(last) if last.digest == import.digest => {
                        last.outcomes += outcomes;
                        last.number = record.number;
                    }
                    _ => self.imports.push(Imported {
                        digest: import.digest,
                        outcomes,
                        number: record.number,
                        sampled: !import.sampled.is_empty(),
                    }),
                }
                let info = &self.info;
                let outcomes = import.outcomes(|features| info.choice(features));
                for outcome in outcomes {
                    (self.learner.apply(&AgentEvent::Outcome(&outcome))).map_err(damage)?;
                }
            }
        }
        Ok(())
    }

    /// A policy was published.
    fn applied_policy(
        &mut self,
        (number, time): (u64, Timestamp),
        published: Arc<PublishedPolicy>,
    ) {
        if self.trace.history.publish(time, &published) {
            self.trace_lifts();
        }
        if self.shares.len() == MOST_SHARES {
            self.shares.pop_front();
        }
        self.shares
            .push_back((number, published.probability(published.safe)));
        self.trace.latest = Some(Latest {
            number,
            published,
            candidates: Vec::new(),
        });
    }

    /// A decision was made.
    fn applied_decision(
        &mut self,
        (number, time): (u64, Timestamp),
        decision: &DecisionEvent,
        clock_sets: &ClockSets,
    ) -> Result<(), String> {
        self.count_draw(decision);
        if let Some(own) = &decision.own {
            self.applied_policy((number, time), own.clone());
            if let Some(latest) = &mut self.trace.latest {
                let names = decision.candidates.iter().map(|c| c.name.clone());
                latest.candidates = names.collect();
            }
        }
        let fallback = decision.fallback;
        if decision.returns {
            // Nor does its context count: it is no draw of its own.
        } else if !decision.shadow {
            let problem = &self.checked.standard;
            reserve(
                &mut self.folded.budgets,
                problem,
                clock_sets,
                time,
                number,
                decision,
            );
            let policy = decision.policy.unwrap_or(number);
            let share = self.shares.iter().rev().find(|(own, _)| *own == policy);
            let share = share.map(|(_, share)| *share);
            let share = share
                .or_else(|| self.exposed(policy, decision))
                .unwrap_or(0.0);
            // With a time to live, outcomes are learned in the order of decisions.
            let waits = self.checked.declaration.ttl_seconds.is_some();
            let pending = decision.pending(number, (!waits).then_some(share));
            (self.learner.apply(&AgentEvent::Drawn(&pending))).map_err(damage)?;
        } else if decision.segment.is_some() {
            // Counts the context even though the caller decides.
            let pending = decision.pending(number, None);
            (self.learner.apply(&AgentEvent::Drawn(&pending))).map_err(damage)?;
        }
        self.counts.decisions += 1;
        self.counts.forced += u64::from(fallback.is_some());
        self.trace.history.decide(time, fallback);
        self.trace.alarm = fallback.map(|reason| match self.trace.alarm.take() {
            Some(alarm) if alarm.reason == reason => alarm,
            _ => ForcedSafe {
                reason,
                since: time,
                decision: Some(shown_id(None, number)),
            },
        });
        self.notice_fallback((number, time), decision, clock_sets);
        Ok(())
    }

    /// A unit was moved: what it had before will never be learned.
    fn moved(
        &mut self,
        record: &Record,
        from: Option<u32>,
        decision: &DecisionEvent,
    ) -> Result<(), String> {
        let (Some(action), Some(number)) = (from, record.decision) else {
            return Ok(());
        };
        self.counts.moved += 1;
        if decision.returns {
            return Ok(());
        }
        self.give_up(number, action, decision.segment.as_deref(), decision.time)
    }

    /// The outcome of a decision will never come.
    fn give_up(
        &mut self,
        number: u64,
        action: u32,
        segment: Option<&str>,
        time: Option<f64>,
    ) -> Result<(), String> {
        // With a time to live its outcome was to come in order, and nothing waits for it.
        let waits = self.checked.declaration.ttl_seconds.is_none();
        let pending = Pending {
            decision: number,
            action: action as usize,
            segment,
            safe_probability: waits.then_some(0.0),
            excess: &[],
            time,
        };
        (self.learner.apply(&AgentEvent::Lost(&pending))).map_err(damage)
    }

    /// Returns true if a decision was made in shadow mode: it may have been switched since.
    fn was_shadow(&self, decision: u64) -> bool {
        let since = self.shadow_switches.iter().filter(|&&n| n > decision);
        self.checked.declaration.shadow ^ (since.count() % 2 == 1)
    }

    fn observe(
        &mut self,
        record: &Record,
        outcome: OutcomeEvent,
        origin: Origin,
    ) -> Result<(), String> {
        self.counts.outcomes += 1;
        self.counts.expired += u64::from(outcome.by_default);
        self.trace.history.observe(record.time);
        let observed = outcome.observed(|features| self.info.choice(features), origin);
        (self.learner.apply(&AgentEvent::Outcome(&observed))).map_err(damage)
    }

    /// Has the trace show the lifts of the reward, where arms are few.
    fn trace_lifts(&mut self) {
        if self.arms.len() > MOST_TRACED {
            return;
        }
        let lifts = self.learner.ask(Ask::Lifts(Some(0))).lifts();
        let lifts = lifts.into_iter().flatten();
        let differences = lifts.map(|lift| (lift.arm, lift.difference));
        self.trace.history.lift(differences.collect());
    }

    /// True if it is time to check whether enough is known, by the number of outcomes.
    pub(crate) fn should_look(&self) -> bool {
        let waits = self.checked.declaration.stop_when.is_some() && self.settled.is_none();
        waits && self.counts.outcomes >= self.trace.look_at
    }

    /// True if enough is known for the policy to settle; the next look is after a twentieth more of outcomes.
    pub(crate) fn has_enough(&mut self) -> bool {
        self.trace.look_at = self.counts.outcomes + self.counts.outcomes / 20 + 50;
        let Some(stop_when) = self.checked.declaration.stop_when else {
            return false;
        };
        let left = self.learner.ask(Ask::WorthLeft).worth_left();
        left.is_some_and(|left| left.per_decision <= stop_when.worth_left)
    }
}

/// An agent refuses no event that was checked before it was written: this one was changed since.
fn damage(error: banister::Error) -> String {
    error.to_string()
}

/// Cache of a view of an experiment, valid until its next event: the view with the number of the last event that it shows and the periods of its budgets. `Any`, because views are
/// types of the queries, which this module does not know.
#[derive(Default)]
pub(crate) struct ViewCache(RefCell<Option<((u64, i64), AnyView)>>);

type AnyView = Arc<dyn Any + Send + Sync>;

impl ViewCache {
    /// Returns the view as of an event and of periods, and makes it if the cache holds another.
    pub(crate) fn get<T: Any + Send + Sync>(
        &self,
        shown: (u64, i64),
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        let mut cache = self.0.borrow_mut();
        if let Some((at, view)) = &*cache
            && *at == shown
            && let Ok(known) = view.clone().downcast::<T>()
        {
            return known;
        }
        let made = Arc::new(make());
        *cache = Some((shown, made.clone()));
        made
    }
}
