//! Alarms of an experiment: raised while folding, recorded as events, acknowledged by people.

use banister::monitor::{Alarm, AlarmKind};
use banister::{AlarmAnswer, Event, OnBreach};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Experiment, damage};
use crate::time::Timestamp;

/// Most alarms kept in memory; the log has all of them.
const MOST_KEPT: usize = 100;

/// An alarm, as its event says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlarmRaised {
    /// Kind of evidence.
    pub kind: AlarmKind,
    /// Its number among the agent's alarms, where it is one of those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_agent: Option<u64>,
    /// Name of the guardrail, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guardrail: Option<String>,
    /// Name of the arm, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// Name of the segment, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<String>,
    /// The alarm in a sentence.
    pub message: String,
    /// Strength of the evidence, as a likelihood ratio.
    pub evidence: f64,
    /// True if it forces the safe action until it is acknowledged.
    pub forces_safe: bool,
}

impl AlarmRaised {
    /// Returns true if it is about arms whose outcomes are missing, and not the agent's: those name a guardrail.
    fn is_by_arm(&self) -> bool {
        self.kind == AlarmKind::Missing && self.guardrail.is_none()
    }
}

/// An alarm in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Alarm")]
pub struct RecordedAlarm {
    /// Number of its event.
    pub number: u64,
    /// Time at which it was raised.
    pub since: Timestamp,
    /// The alarm.
    #[serde(flatten)]
    pub alarm: AlarmRaised,
    /// Time at which a person acknowledged it.
    pub acknowledged: Option<Timestamp>,
    /// Name of the token with which that was.
    #[serde(default)]
    pub acknowledged_by: Option<String>,
}

impl Experiment {
    /// Alarms that the fold has raised and no event records yet.
    pub(crate) fn unrecorded(&self) -> Vec<AlarmRaised> {
        let new = self.learner.unrecorded();
        let new = new.map(|own| self.named(&own.alarm, own.arm, own.segment));
        let mut raised: Vec<AlarmRaised> = new.collect();
        if self.missing.differs() && !self.is_missing_recorded() {
            raised.extend(self.missing_alarm());
        }
        raised
    }

    fn named(&self, alarm: &Alarm, arm: Option<String>, segment: Option<String>) -> AlarmRaised {
        let guardrail = alarm
            .guardrail
            .map(|i| self.checked.standard.signal_name(i + 1));
        AlarmRaised {
            kind: alarm.kind,
            of_agent: (alarm.number > 0).then_some(alarm.number),
            guardrail: guardrail.map(str::to_string),
            message: alarm.describe(&self.checked.standard, arm.as_deref(), segment.as_deref()),
            arm,
            segment,
            evidence: alarm.evidence,
            forces_safe: alarm.forces_safe,
        }
    }

    /// The alarm that a reported signal (0 the reward, 1 + i guardrail i) raises if it lies outside its range.
    pub(crate) fn range_alarm(
        &self,
        played: Option<u32>,
        signal: usize,
        value: f64,
    ) -> Option<AlarmRaised> {
        let on_breach = self.on_breach()?;
        let arm = played.map(|arm| arm as usize);
        let problem = &self.checked.standard;
        let alarm = Alarm::of_range(problem, on_breach, (arm, signal), value, 0)?;
        let name = arm.and_then(|arm| self.info.arms.get(arm)).cloned();
        Some(self.named(&alarm, name, None))
    }

    /// Returns true if some alarm is not recorded yet.
    pub(crate) fn has_unrecorded(&self) -> bool {
        self.learner.unrecorded().next().is_some()
            || (self.missing.differs() && !self.is_missing_recorded())
    }

    fn is_missing_recorded(&self) -> bool {
        self.open_alarms().any(|a| a.alarm.is_by_arm())
    }

    fn missing_alarm(&self) -> Option<AlarmRaised> {
        let (most, least) = self.missing.extremes()?;
        let share = |arm: usize| {
            let counts = self.missing.of(arm).copied().unwrap_or_default();
            let name = self.info.arms.get(arm).map_or("an action", String::as_str);
            format!("{} of {} of {name}", counts.missing, counts.matured)
        };
        Some(AlarmRaised {
            kind: AlarmKind::Missing,
            of_agent: None,
            guardrail: None,
            arm: self.info.arms.get(most).cloned(),
            segment: None,
            message: format!(
                "outcomes are missing, and not at random: {} never came, but {}",
                share(most),
                share(least)
            ),
            evidence: self.missing.evidence(),
            forces_safe: self.missing_forces_safe(),
        })
    }

    /// Returns true if outcomes that are missing not at random force the safe action: learning again would not
    /// mend them, so only `alert` goes on.
    fn missing_forces_safe(&self) -> bool {
        self.on_breach().is_some_and(|own| own != OnBreach::Alert)
    }

    /// Reaction to alarms in force, of an agent that is watched.
    pub(crate) fn on_breach(&self) -> Option<OnBreach> {
        Some(self.learner.view().monitor?.on_breach())
    }

    /// Returns true while outcomes that are missing not at random force the safe action.
    pub(super) fn is_forced_by_missing(&self) -> bool {
        self.missing.differs() && self.missing_forces_safe()
    }

    /// Unacknowledged alarms.
    pub fn open_alarms(&self) -> impl Iterator<Item = &RecordedAlarm> {
        (self.alarms.iter()).filter(|alarm| alarm.acknowledged.is_none())
    }

    pub(super) fn record_alarm(&mut self, number: u64, time: Timestamp, alarm: AlarmRaised) {
        if let Some(number) = alarm.of_agent {
            self.learner.recorded = self.learner.recorded.max(number);
        }
        self.notice_alarm((number, time), &alarm);
        if self.alarms.len() == MOST_KEPT {
            self.alarms.remove(0);
        }
        self.alarms.push(RecordedAlarm {
            number,
            since: time,
            alarm,
            acknowledged: None,
            acknowledged_by: None,
        });
    }

    /// Notes who acknowledged the alarms at a time.
    pub(super) fn acknowledged_by(&mut self, name: &str, time: Timestamp) {
        let answered = |alarm: &&mut RecordedAlarm| {
            alarm.acknowledged == Some(time) && alarm.acknowledged_by.is_none()
        };
        for alarm in self.alarms.iter_mut().filter(answered) {
            alarm.acknowledged_by = Some(name.to_string());
        }
    }

    pub(super) fn acknowledge(&mut self, time: Timestamp) -> Result<(), String> {
        for alarm in &mut self.alarms {
            alarm.acknowledged.get_or_insert(time);
        }
        let answer = Event::Answered(AlarmAnswer::Acknowledge);
        self.learner.apply(&answer).map_err(damage)?;
        self.missing.acknowledge();
        self.leased = None;
        Ok(())
    }
}
