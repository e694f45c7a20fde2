//! Rollouts: when an experiment runs, and how much of the traffic it may lead away from the safe action.
//!
//! All of it is floors under the policy's probabilities, so that the program that is solved knows them and certificates are
//! true as ever: a ramp to s is π_0 ≥ 1 − s, a holdout of h is π_0 ≥ h and a draw in which the same units are always safe.
//! Units outside of a namespace's part are no part of the experiment at all.

use banister::toolkit::{FieldPath, Within};
use std::collections::BTreeMap;

use banister::lease::{Gate, Holdout};
use banister::{Event, Floors};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unit::period;
use super::{CheckedDeclaration, Kind, check_label, check_names, round};
use crate::events::digest;
use crate::object;
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// Most steps of a ramp.
const MOST_STEPS: usize = 100;

/// When an experiment runs, and how much of the traffic it may lead away from the safe action.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rollout {
    /// Time before which every decision is the safe action; by default the time at which it is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Timestamp>,
    /// Time from which on every decision is the safe action again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Timestamp>,
    /// Most of the traffic that may be led away from the safe action, in steps.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "object::list"
    )]
    pub ramp: Vec<Step>,
    /// Least probabilities of arms, by name, as far as they are certified.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "object::map"
    )]
    pub floors: BTreeMap<String, f64>,
    /// Share of the units that always get the safe action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holdout: Option<f64>,
    /// Part of the units that the experiment may decide for; others of the same name have other parts.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::option"
    )]
    pub namespace: Option<Namespace>,
}

/// Step of a ramp.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Time since the start: seconds, or a text such as `1d`, `12h` or `30m`.
    #[serde(default, deserialize_with = "period")]
    #[schemars(with = "super::unit::GivenPeriod")]
    pub after: Option<f64>,
    /// Most of the traffic that may be led away from the safe action from then on.
    pub at_most: f64,
}

/// Units that several experiments share out among each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// Part of the units, as numbers in [0, 1): from here on,
    pub from: f64,
    /// and up to, but without, this.
    pub to: f64,
}

impl Namespace {
    fn gate(&self) -> Gate {
        let name = blake3::hash(self.name.as_bytes());
        Gate {
            // Whole numbers that every reader of JSON has room for.
            key: digest(&name) >> 11,
            from: self.from,
            to: self.to,
        }
    }

    /// True if another experiment has units of this one.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.name == other.name && self.from < other.to && other.from < self.to
    }
}

impl Rollout {
    /// Most of the traffic that may be led away from the safe action at a time.
    pub(crate) fn share(&self, created: Timestamp, now: Timestamp) -> f64 {
        let start = self.start.unwrap_or(created);
        if now < start || self.end.is_some_and(|end| now >= end) {
            return 0.0;
        }
        let since = now.seconds_since(start);
        let mut past = (self.ramp.iter().rev()).filter(|step| step.after.unwrap_or(0.0) <= since);
        let first = if self.ramp.is_empty() { 1.0 } else { 0.0 };
        past.next().map_or(first, |step| step.at_most)
    }

    /// Floors under a policy at a share; arms are numbered by `place`.
    pub(crate) fn floors(&self, share: f64, place: impl Fn(&str) -> Option<usize>) -> Floors {
        let arms = self.floors.iter();
        let ramp = if share > 0.0 { 1.0 - share } else { 0.0 };
        Floors {
            safe: ramp.max(self.holdout.unwrap_or(0.0)),
            arms: arms
                .filter_map(|(arm, f)| Some((place(arm)?, *f)))
                .collect(),
        }
    }

    /// The gate that units of the experiment pass.
    pub(crate) fn gate(&self) -> Option<Gate> {
        self.namespace.as_ref().map(Namespace::gate)
    }

    /// Units that are held out, given the key of the experiment's hash.
    pub(crate) fn holdout(&self, seed: u64) -> Option<Holdout> {
        let share = self.holdout?;
        Some(Holdout { key: seed, share })
    }
}

impl CheckedDeclaration {
    /// Number of an arm of the declaration.
    pub(crate) fn place(&self, arm: &str) -> Option<usize> {
        self.arms.iter().position(|own| own.name == arm)
    }

    /// Checks a rollout, also that the agent plans with its floors.
    pub(crate) fn check_rollout(&self, rollout: &Rollout) -> Result<(), Refusal> {
        let invalid = |field: &str, value: String, allowed: &str| {
            Err(Refusal::invalid(format!("rollout.{field}"), value, allowed))
        };
        if let Some((start, end)) = rollout.start.zip(rollout.end)
            && end <= start
        {
            return invalid("end", end.to_string(), "must be after `start`");
        }
        if rollout.ramp.len() > MOST_STEPS {
            let count = rollout.ramp.len().to_string();
            return invalid("ramp", count, &format!("has at most {MOST_STEPS} steps"));
        }
        let mut before = Step {
            after: Some(0.0),
            at_most: 0.0,
        };
        for (i, step) in rollout.ramp.iter().enumerate() {
            let field = format!("ramp[{i}]");
            let (after, last) = (step.after.unwrap_or(0.0), before.after.unwrap_or(0.0));
            if !(after.is_finite() && (after > last || i == 0 && after >= 0.0)) {
                return invalid(
                    &field,
                    after.to_string(),
                    "`after` must rise from step to step",
                );
            }
            if !(step.at_most > before.at_most && step.at_most <= 1.0) {
                let allowed = "`at_most` must be above 0, at most 1, and rise from step to step";
                return invalid(&field, step.at_most.to_string(), allowed);
            }
            before = *step;
        }
        if let Some(share) = rollout.holdout
            && !(share > 0.0 && share < 1.0)
        {
            return invalid("holdout", share.to_string(), "must be above 0 and below 1");
        }
        let others = self.arms.iter().enumerate();
        let others = others.filter(|(place, _)| *place != self.safe);
        let names = others.map(|(_, own)| own.name.as_str());
        check_names(
            "rollout.floors",
            &rollout.floors,
            "arm but the safe one",
            names,
        )?;
        let most = 1.0 - rollout.floors(before.at_most, |_| None).safe;
        let mut total = 0.0;
        for (arm, &floor) in &rollout.floors {
            total += floor;
            if !(floor > 0.0 && total < 1.0 && round(total) <= round(most)) {
                let allowed = format!(
                    "must be above 0, and all floors below 1 in sum and at most {}: the last step of the ramp and the \
                     holdout lead no more away from the safe arm",
                    round(most)
                );
                return invalid(&format!("floors.{arm}"), floor.to_string(), &allowed);
            }
        }
        if let Some(own) = &rollout.namespace {
            check_label("rollout.namespace.name", &own.name)?;
            if !(0.0 <= own.from && own.from < own.to && own.to <= 1.0) {
                let allowed = "must satisfy 0 ≤ from < to ≤ 1";
                return invalid("namespace", format!("[{}, {})", own.from, own.to), allowed);
            }
        }
        let alone = [
            ("shadow", self.declaration.shadow),
            ("dimension", matches!(self.kind, Kind::Candidates(_))),
        ];
        if let Some((field, _)) = alone.into_iter().find(|(_, given)| *given) {
            let allowed =
                "an experiment with a `rollout` decides for itself, among arms: leave it out";
            return Err(Refusal::invalid(field, "given", allowed));
        }
        let least = rollout.ramp.first().map_or(1.0, |step| step.at_most);
        let floors = rollout.floors(least, |arm| self.place(arm));
        let agent = self.config.build(&self.problem);
        let told = agent.and_then(|agent| agent.check(&Event::Floors(&floors), 0));
        let place = |path: FieldPath| match rollout.floors.keys().next() {
            Some(arm) if path == "floors.arms" => ("rollout.floors", arm).into(),
            _ => "rollout".into(),
        };
        Ok(told.with_path(place)?)
    }
}
