//! Notices of what happened to an experiment, and their deliveries to receivers.
//!
//! A notice is a fold of the event that it is about, and has its number; so every process has the same ones, and the
//! log is their outbox. Deliveries are events, too: of many processes one sends.

use std::collections::VecDeque;
use std::fmt::Display;

use banister::Fallback;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AlarmRaised, Experiment};
use crate::events::DecisionEvent;
use crate::state::budget::BudgetView;
use crate::time::{ClockSets, Timestamp};

/// Most notices of an experiment that are kept; the oldest give way.
const MOST_KEPT: usize = 100;
/// Decisions in a row without a fallback after which it counts as over.
const CALM: u32 = 100;
/// Seconds within which the same fallback is not noticed again: contexts may come and go.
const QUIET: f64 = 3600.0;
/// Longest claim in seconds; a later one was made by another clock.
const LONGEST_CLAIM: f64 = 7200.0;

/// Kind of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NoticeKind {
    /// An alarm that acts, or calls for action.
    Alarm,
    /// Evidence that is not enough to act on.
    Warning,
    /// The safe action is forced, for another reason than an alarm or a pause; or no longer.
    Fallback,
    /// A budget does not cover the policy any more.
    Budget,
    /// The policy settled (`stop_when`).
    Settled,
    /// A rollout reached the last step of its ramp, or its end.
    Ramp,
}

/// A notice of what happened, for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    pub experiment: String,
    /// Number of the event that it is about.
    pub number: u64,
    /// Time of that event.
    pub time: Timestamp,
    pub kind: NoticeKind,
    pub text: String,
    /// The alarm, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alarm: Option<AlarmRaised>,
}

/// State of the delivery of a notice to a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    hook: u64,
    /// Number of attempts to send it.
    pub attempts: u32,
    /// End of the last claim; `None` once it is delivered.
    until: Option<Timestamp>,
}

impl Delivery {
    /// Before the first claim it is due at any time.
    fn to(hook: u64) -> Self {
        let until = Some(Timestamp(i64::MIN));
        Self {
            hook,
            attempts: 0,
            until,
        }
    }

    /// True if it may be sent now.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let claim = self.until.map(|until| until.seconds_since(now));
        claim.is_some_and(|left| left <= 0.0 || left > LONGEST_CLAIM)
    }
}

/// A time in which decisions fell back on the safe action for one reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Episode {
    reason: Fallback,
    noticed: Timestamp,
    /// Decisions since the last one that fell back; `CALM` once it is over.
    calm: u32,
}

/// Notices of an experiment, oldest first, with their deliveries.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Notices {
    kept: VecDeque<(Notice, Vec<Delivery>)>,
    episodes: Vec<Episode>,
}

impl Notices {
    /// The notices that a receiver did not get yet, with the state of each delivery.
    pub fn pending(&self, hook: u64) -> impl Iterator<Item = (&Notice, Delivery)> {
        let each = self.kept.iter().map(move |(notice, deliveries)| {
            let known = deliveries.iter().find(|own| own.hook == hook).copied();
            (notice, known.unwrap_or_else(|| Delivery::to(hook)))
        });
        each.filter(|(_, own)| own.until.is_some())
    }

    fn push(&mut self, notice: Notice) {
        if self.kept.len() == MOST_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back((notice, Vec::new()));
    }

    /// Notes that a notice was delivered to a receiver (`until` is `None`), or is being sent.
    pub(super) fn deliver(&mut self, notice: u64, hook: u64, until: Option<Timestamp>) {
        let Some((_, own)) = self.kept.iter_mut().find(|(own, _)| own.number == notice) else {
            return;
        };
        let known = own.iter().position(|delivery| delivery.hook == hook);
        let place = known.unwrap_or(own.len());
        if known.is_none() {
            own.push(Delivery::to(hook));
        }
        own[place].attempts += u32::from(until.is_some());
        own[place].until = until;
    }

    /// Counts a decision; returns true if the reason is to be noticed.
    fn falls_back(&mut self, reason: Fallback, time: Timestamp) -> bool {
        let Some(own) = self.episodes.iter_mut().find(|own| own.reason == reason) else {
            self.episodes.push(Episode {
                reason,
                noticed: time,
                calm: 0,
            });
            return true;
        };
        let again = own.calm >= CALM && time.seconds_since(own.noticed) >= QUIET;
        if again {
            own.noticed = time;
        }
        if again || own.calm < CALM {
            own.calm = 0;
        }
        again
    }

    /// Counts a decision that did not fall back; returns a reason that is over.
    fn goes_on(&mut self) -> Option<Fallback> {
        let open = self.episodes.iter_mut().filter(|own| own.calm < CALM);
        let over = open.filter_map(|own| {
            own.calm += 1;
            (own.calm == CALM).then_some(own.reason)
        });
        over.last()
    }
}

/// The reason of a fallback in words.
fn words(reason: Fallback) -> &'static str {
    match reason {
        Fallback::MarginNotProven => "the safe action's costs are not known well enough",
        Fallback::SolverFailed => "the solver gave no policy that checks",
        Fallback::Paused => "it is paused",
        Fallback::NotRunning => "it does not run now",
        Fallback::Outside => "it does not decide for the unit",
        Fallback::Alarm => "an alarm was raised",
        Fallback::Budget => "the solver used up its work",
        Fallback::IllConditioned => "rounding may have undone the regression on the features",
        Fallback::BudgetExhausted => "a budget does not cover the policy",
    }
}

impl Experiment {
    /// Adds the notice of an event, if people want one; at most one per event.
    pub(super) fn notice(
        &mut self,
        (number, time): (u64, Timestamp),
        kind: NoticeKind,
        text: impl Display,
        alarm: Option<AlarmRaised>,
    ) {
        let experiment = self.info.experiment.clone();
        self.trace.notices.push(Notice {
            text: format!("{experiment}: {text}"),
            experiment,
            number,
            time,
            kind,
            alarm,
        });
    }

    pub(super) fn notice_alarm(&mut self, at: (u64, Timestamp), alarm: &AlarmRaised) {
        let is_warning = alarm.kind.is_warning() && !alarm.forces_safe;
        let kind = if is_warning {
            NoticeKind::Warning
        } else {
            NoticeKind::Alarm
        };
        let forced = ". The safe action is played until somebody acknowledges it";
        let then = if alarm.forces_safe { forced } else { "" };
        let text = format!("{}{then}", alarm.message);
        self.notice(at, kind, text, Some(alarm.clone()));
    }

    pub(super) fn notice_settled(&mut self, at: (u64, Timestamp)) {
        let outcomes = self.counts.outcomes + self.counts.imported;
        let text = format!("the policy settled after {outcomes} outcomes, and explores no more");
        self.notice(at, NoticeKind::Settled, text, None);
    }

    pub(super) fn notice_rollout(&mut self, at: (u64, Timestamp)) {
        let (rollout, share) = (&self.checked.declaration.rollout, self.share.unwrap_or(1.0));
        let Some(rollout) = rollout else { return };
        let text = if rollout.end.is_some_and(|end| at.1 >= end) {
            "it has ended: every decision is the safe action".into()
        } else if rollout
            .ramp
            .last()
            .is_some_and(|last| last.at_most == share)
        {
            let percent = 100.0 * share;
            format!(
                "the ramp is over: up to {percent}% of the traffic may be led away from the safe action"
            )
        } else {
            return;
        };
        self.notice(at, NoticeKind::Ramp, text, None);
    }

    /// Follows the fallbacks of decisions. A pause or a rollout was asked for, an alarm has a notice of its own, and at
    /// the start nothing is known yet: none of these is noticed here.
    pub(super) fn notice_fallback(
        &mut self,
        at: (u64, Timestamp),
        decision: &DecisionEvent,
        sets: &ClockSets,
    ) {
        let refused = !self.budgets.is_empty() && self.refused_by(sets, at.1).is_some();
        let reason = if refused {
            Some(Fallback::BudgetExhausted)
        } else {
            decision.fallback
        };
        let notices = &mut self.trace.notices;
        match reason {
            _ if decision.shadow => {}
            None => {
                if let Some(over) = notices.goes_on() {
                    let text = "the safe action is no longer forced";
                    self.notice(at, kind_of(over), text, None);
                }
            }
            Some(Fallback::Paused | Fallback::NotRunning | Fallback::Outside | Fallback::Alarm) => {
            }
            Some(Fallback::MarginNotProven)
                if self.folded.counts.forced == self.folded.counts.decisions => {}
            Some(reason) if notices.falls_back(reason, at.1) => {
                let text = match self
                    .tightest(sets, at.1)
                    .filter(|_| kind_of(reason) == NoticeKind::Budget)
                {
                    Some(rest) if refused => format!("{rest}; decisions are refused"),
                    Some(rest) => format!("{rest}; the safe action is played"),
                    None => format!("the safe action is forced: {}", words(reason)),
                };
                self.notice(at, kind_of(reason), text, None);
            }
            Some(_) => {}
        }
    }

    /// The budget of which the smallest share is left, in words.
    fn tightest(&self, sets: &ClockSets, time: Timestamp) -> Option<String> {
        let views = (self.budgets.0.iter()).map(|own| (own.guardrail, own.view(sets, time, None)));
        let rest = |view: &BudgetView| view.remaining / view.budget.amount;
        let (guardrail, view) = views.min_by(|(_, a), (_, b)| rest(a).total_cmp(&rest(b)))?;
        let (name, left, end) = (
            &self.info.guardrails[guardrail],
            view.remaining,
            view.period_end,
        );
        let (amount, per) = (view.budget.amount, view.budget.per.name());
        Some(format!(
            "the budget of `{name}` is used up: {left} of {amount} per {per} is left until {end}"
        ))
    }
}

fn kind_of(reason: Fallback) -> NoticeKind {
    if reason == Fallback::BudgetExhausted {
        NoticeKind::Budget
    } else {
        NoticeKind::Fallback
    }
}
