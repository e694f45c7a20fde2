//! Questions to the learner, and changes of arms.

use banister::toolkit::Within;
use std::sync::Arc;

use banister::{ArmRanges, ArmWeights, Ask, Choice, Error, Event, Fallback, Outcome, Round};

use super::{Arm, Experiment, ExperimentStatus, damage};
use crate::events::{Candidate, PublishedPolicy};
use crate::refusal::Refusal;
use crate::state::declaration::{Kind, NamedArm, Size, check_label, check_range};
use crate::state::experiment_info::info;
use crate::time::{ClockSets, Timestamp};

impl Experiment {
    /// Checks that the agent would take an outcome after `more` others: events that are written must fold.
    pub(crate) fn check_outcome(&self, outcome: &Outcome, more: u64) -> Result<(), Refusal> {
        Ok(self.learner.check(&Event::Outcome(outcome), more)?)
    }

    /// The policy for a request, as known now.
    pub(crate) fn policy(
        &mut self,
        time: Option<f64>,
        segment: Option<&str>,
        context: &[f64],
        candidates: &[Candidate],
    ) -> Result<Arc<PublishedPolicy>, Refusal> {
        let features: Vec<f64>;
        let (choice, field) = match self.info.kind {
            Kind::Arms => (Choice::Arms, segment.map(|_| "segment")),
            Kind::Context(_) => {
                features = self.info.vector(context).into_owned();
                (Choice::Context(&features), Some("context"))
            }
            Kind::Candidates(_) => {
                let each = candidates.iter().flat_map(|c| c.features.iter().copied());
                features = each.collect();
                (Choice::Offered(&features), Some("actions"))
            }
        };
        let round = Round {
            time,
            choice,
            segment,
            only_safe: self.only_safe(),
        };
        let published = self.learner.policy(&round, &self.info.problem);
        published.map_err(|error| match (error, field) {
            (error, None) => Refusal::unavailable(error.to_string()),
            (error @ Error::Invalid { .. }, _) => error.into(),
            (error, Some(field)) => Refusal::invalid(field, "given", error.to_string()),
        })
    }

    /// Reason for which the safe action is forced, whatever the agent says.
    fn only_safe(&self) -> Option<Fallback> {
        match self.status {
            ExperimentStatus::Paused => Some(Fallback::Paused),
            _ => self.is_forced_by_missing().then_some(Fallback::Alarm),
        }
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

    /// Checks that an arm can be added, or offered again: one that was retired keeps its features and ranges.
    pub(crate) fn check_new_arm(&self, arm: NamedArm) -> Result<NamedArm, Refusal> {
        let Some(place) = self.place(&arm.name) else {
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
        self.check_event(&Event::ArmOffered(again.offer()))?;
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
        let size = Size {
            kind: self.info.kind,
            arms: self.arms.len() + 1,
            length: arm.features.as_ref().map(Vec::len),
            guardrails: self.info.guardrails.len(),
        };
        size.check(&self.checked.config, "name")?;
        self.check_event(&Event::ArmOffered(arm.offer()))?;
        let mut checked = self.checked.clone();
        checked.standard.add_arm(&arm.ranges, &arm.weights)?;
        let declaration = &checked.declaration;
        checked.check_budgets(&declaration.budgets)?;
        checked.check_ttl(
            declaration.ttl_seconds,
            declaration.default_outcome.as_ref(),
        )
    }

    /// Takes up an arm that was checked.
    pub(super) fn add(&mut self, arm: NamedArm) -> Result<(), String> {
        (self.learner.apply(&Event::ArmOffered(arm.offer()))).map_err(damage)?;
        if let Some(place) = self.place(&arm.name) {
            self.arms[place].offered = true;
            if !arm.weights.is_empty() {
                self.take_weights(place, &arm.weights)?;
            }
            self.refresh_info();
            return Ok(());
        }
        (self.checked.standard.add_arm(&arm.ranges, &arm.weights)).map_err(|e| e.to_string())?;
        self.arms.push(Arm {
            own: arm,
            offered: true,
        });
        self.refresh_info();
        Ok(())
    }

    /// Sets weights that were checked: they count from the next decision on.
    pub(super) fn set_weights(&mut self, arm: usize, weights: &ArmWeights) -> Result<(), String> {
        self.take_weights(arm, weights)?;
        (self.learner.apply(&Event::Weights(arm, weights))).map_err(damage)?;
        self.refresh_info();
        Ok(())
    }

    fn take_weights(&mut self, arm: usize, weights: &ArmWeights) -> Result<(), String> {
        (self.checked.standard.set_weights(arm, weights)).map_err(|e| e.to_string())?;
        self.arms[arm].own.weights = self.checked.standard.arm_weights(arm);
        Ok(())
    }

    /// Refreshes the properties that answers show.
    fn refresh_info(&mut self) {
        let names = self.arms.iter().map(|arm| arm.name.clone()).collect();
        let assumptions = self.learner.ask(Ask::Assumptions).assumptions();
        self.info = info(
            self.key,
            &self.checked,
            names,
            assumptions.unwrap_or_default(),
        );
        self.leased = None;
    }

    /// Refuses an event that the agent would: one that is written must fold.
    pub(crate) fn check_event(&self, event: &Event) -> Result<(), Refusal> {
        let checked = self.learner.check(event, 0);
        Ok(checked.with_path(|path| path.moved("arm", "name"))?)
    }
}
