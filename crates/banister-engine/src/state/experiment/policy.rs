//! Questions to the learner, and changes of arms.

use banister::toolkit::Within;
use std::sync::Arc;

use banister::{Agent, AlarmAnswer, ArmRanges, ArmWeights, Outcome, Registry as _};

use super::{Arm, Experiment};
use crate::events::{Candidate, PublishedPolicy};
use crate::refusal::Refusal;
use crate::state::declaration::{Kind, NamedArm, check_label, check_range};
use crate::state::experiment_info::info;
use crate::state::learner::{Detached, LearnerEvent, add_arm};
use crate::time::{ClockSets, Timestamp};

/// Length of features from which on a learner is detached: below it decisions take microseconds.
const LONG_FEATURES: usize = 64;

/// Pairs of a segment told apart and an arm from which on a learner is detached: a table of policies for all of them
/// takes a tenth of a millisecond, a snapshot a few.
const MANY_PAIRS: usize = 1000;

impl Experiment {
    /// Checks that the agent would take an outcome after `more` others: events that are written must fold.
    pub(crate) fn check_outcome(&self, outcome: &Outcome, more: u64) -> Result<(), Refusal> {
        let all = self.counts.outcomes + self.counts.imported;
        let more = more.saturating_add(self.learner.unknown_to_declared(all));
        (self.learner.declared())
            .check(outcome, more)
            .map_err(Refusal::from)
    }

    /// The policy for a request, as known now.
    pub(crate) fn policy(
        &mut self,
        time: Option<f64>,
        segment: Option<&str>,
        context: &[f64],
        candidates: &[Candidate],
    ) -> Result<Arc<PublishedPolicy>, Refusal> {
        self.learner
            .with(|core| core.policy(time, segment, context, candidates))
    }

    /// Time of a decision made now and after `others`, as declared drift counts it, where there is one. Events alone say
    /// when the clock was set.
    pub(crate) fn drift_time(&self, sets: &ClockSets, now: Timestamp, others: u64) -> Option<f64> {
        Some(if self.checked.standard.drift_unit()?.is_by_clock() {
            sets.most_seconds_since(self.key, self.created, now)
        } else {
            (self.counts.decisions + others + 1) as f64
        })
    }

    /// Returns true if decisions take so long that others should not wait for them.
    pub(crate) fn is_slow(&self) -> bool {
        self.info.dimension >= LONG_FEATURES || self.has_many_segments()
    }

    /// Returns true if the table of segments is large enough to slow the writer down.
    pub(crate) fn has_many_segments(&self) -> bool {
        self.learner.segment_count().told_apart * self.arms.len() >= MANY_PAIRS
    }

    /// Moves the learner beside the writer.
    pub(crate) fn detach(&mut self, detached: &Detached) -> Result<(), String> {
        // To make the twin takes long.
        if self.learner.actor().is_some() {
            return Ok(());
        }
        let twin = self.twin().map_err(|e| e.to_string())?;
        let name = &self.checked.declaration.name;
        self.learner.detach(twin, name, detached);
        Ok(())
    }

    /// An agent for the same arms that has not learned anything.
    fn twin(&self) -> Result<Box<dyn Agent>, banister::Error> {
        let checked = &self.checked;
        let mut twin = checked.config.build(&checked.problem)?;
        for arm in self.arms.iter().skip(checked.arms.len()) {
            let features = arm.features.as_deref();
            twin.add_arm(&arm.name, features, &arm.ranges, &arm.weights)?;
        }
        for (number, arm) in self.arms.iter().enumerate() {
            if number < checked.arms.len() && !arm.weights.is_empty() {
                twin.set_weights(number, &arm.weights)?;
            }
            if !arm.offered {
                twin.retire_arm(number)?;
            }
        }
        if let Some(on_breach) = self.on_breach() {
            twin.answer_alarms(AlarmAnswer::OnBreach(on_breach))?;
        }
        Ok(twin)
    }

    /// Checks that an arm can be added, or offered again: one that was retired keeps its features and ranges.
    pub(crate) fn check_new_arm(&self, arm: NamedArm) -> Result<NamedArm, Refusal> {
        let Some(place) = self.arms.iter().position(|other| other.name == arm.name) else {
            self.check_unknown_arm(&arm)?;
            return Ok(arm);
        };
        let known = &self.arms[place];
        let is_other = (arm.features.is_some() && arm.features != known.features)
            || !(arm.ranges.is_empty() || arm.ranges == self.checked.standard.arm_ranges(place));
        if known.offered || is_other {
            let other = if known.offered {
                ""
            } else {
                ", retired, with other features or ranges"
            };
            let reason = format!("there is an arm called `{}` already{other}", arm.name);
            return Err(Refusal::conflict(reason));
        }
        let again = NamedArm {
            features: known.features.clone(),
            ranges: ArmRanges::default(),
            ..arm
        };
        self.try_on_a_twin(|agent| add_arm(agent, &again))?;
        Ok(again)
    }

    fn check_unknown_arm(&self, arm: &NamedArm) -> Result<(), Refusal> {
        if let Kind::Candidates(_) = self.checked.kind {
            let allowed = "every decision of this experiment brings its own actions";
            return Err(Refusal::invalid("name", &arm.name, allowed));
        }
        check_label("name", &arm.name)?;
        for (name, range) in &arm.ranges.0 {
            check_range(("ranges", name), *range)?;
        }
        self.try_on_a_twin(|agent| add_arm(agent, arm))?;
        let mut checked = self.checked.clone();
        (checked.standard.add_arm(&arm.ranges, &arm.weights)).map_err(Refusal::from)?;
        let declaration = &checked.declaration;
        checked.check_budgets(&declaration.budgets)?;
        checked.check_ttl(
            declaration.ttl_seconds,
            declaration.default_outcome.as_ref(),
        )
    }

    /// Takes up an arm that was checked.
    pub(super) fn add(&mut self, arm: NamedArm) -> Result<(), String> {
        if let Some(place) = self.arms.iter().position(|other| other.name == arm.name) {
            self.arms[place].offered = true;
            if !arm.weights.is_empty() {
                self.take_weights(place, &arm.weights)?;
            }
            self.learner.apply(LearnerEvent::AddArm(arm))?;
            return self.refresh_info();
        }
        (self.checked.standard.add_arm(&arm.ranges, &arm.weights)).map_err(|e| e.to_string())?;
        self.arms.push(Arm {
            name: arm.name.clone(),
            features: arm.features.clone(),
            ranges: arm.ranges.clone(),
            weights: arm.weights.clone(),
            offered: true,
        });
        self.learner.apply(LearnerEvent::AddArm(arm))?;
        self.refresh_info()
    }

    /// Sets weights that were checked: they count from the next decision on.
    pub(super) fn set_weights(&mut self, arm: usize, weights: ArmWeights) -> Result<(), String> {
        self.take_weights(arm, &weights)?;
        self.learner.apply(LearnerEvent::SetWeights(arm, weights))?;
        self.refresh_info()
    }

    fn take_weights(&mut self, arm: usize, weights: &ArmWeights) -> Result<(), String> {
        (self.checked.standard.set_weights(arm, weights)).map_err(|e| e.to_string())?;
        self.arms[arm].weights = self.checked.standard.arm_weights(arm);
        Ok(())
    }

    /// Refreshes the properties that answers show.
    fn refresh_info(&mut self) -> Result<(), String> {
        let names = self.arms.iter().map(|arm| arm.name.clone()).collect();
        self.info = info(self.key, &self.checked, names, self.learner.declared());
        self.refresh_inputs()
    }

    /// Tries a change on an agent for the same arms: an event must not fail once it is written.
    pub(crate) fn try_on_a_twin(
        &self,
        change: impl FnOnce(&mut dyn Agent) -> Result<(), banister::Error>,
    ) -> Result<(), Refusal> {
        let twin = self.twin();
        let mut twin = twin.map_err(|e| Refusal::unavailable(e.to_string()))?;
        Ok(change(&mut *twin).with_path(|path| path.moved("arm", "name"))?)
    }
}
