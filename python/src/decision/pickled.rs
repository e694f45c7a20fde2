//! Decisions by value, for their pickles.

use std::sync::Arc;

use banister::{
    Alarm, AlarmKind, Confidence, Decision as Core, Fallback, GuardrailCertificate, Misfit,
    SegmentCertificate, SolverReport,
};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use super::{ActionSet, Decision, Policy, Told};
use crate::pickle::unreadable;

/// Decisions by value; those of one policy or action set share it.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Decisions {
    policies: Vec<PickledPolicy>,
    sets: Vec<Arc<ActionSet>>,
    rows: Vec<Row>,
}

/// Policy, action set, action, serial, features.
type Row = (u32, u32, usize, u64, Option<Box<[f64]>>);

/// All of a [`Policy`]: [`Core`] itself omits fields in a way that postcard cannot read back.
#[derive(Serialize, Deserialize)]
struct PickledPolicy {
    policy: Vec<(usize, f64)>,
    scale: f64,
    guardrails: Vec<GuardrailCertificate>,
    optimistic_reward: f64,
    solver: SolverReport,
    fallback: Option<Fallback>,
    confidence: Option<Confidence>,
    outcomes: u64,
    alarm: Option<PickledAlarm>,
    batch: Option<u64>,
    segment: Option<SegmentCertificate>,
}

/// An alarm, and the same in words.
#[derive(Serialize, Deserialize)]
struct PickledAlarm(#[serde(with = "AlarmFields")] Alarm, Told);

/// All of an [`Alarm`], without omissions.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Alarm")]
struct AlarmFields {
    kind: AlarmKind,
    guardrail: Option<usize>,
    arm: Option<usize>,
    segment: Option<usize>,
    outcome: u64,
    outcomes: u64,
    mean: f64,
    evidence: f64,
    forces_safe: bool,
    misfit: Option<Misfit>,
}

/// Collects the values of decisions.
pub(crate) fn values<'a>(decisions: impl Iterator<Item = &'a Decision>) -> Decisions {
    let mut values = Decisions::default();
    let mut before: Option<&Decision> = None;
    for one in decisions {
        // Those that share a policy or an action set follow one another.
        if before.is_none_or(|before| !Arc::ptr_eq(&before.policy, &one.policy)) {
            one.policy.set_pickled();
            values.policies.push(PickledPolicy::from(&*one.policy));
        }
        if before.is_none_or(|before| !Arc::ptr_eq(&before.set, &one.set)) {
            values.sets.push(Arc::clone(&one.set));
        }
        let policy = (values.policies.len() - 1) as u32;
        let set = (values.sets.len() - 1) as u32;
        let row = (policy, set, one.drawn, one.serial, one.features.clone());
        values.rows.push(row);
        before = Some(one);
    }
    values
}

/// Makes decisions from [`values`].
pub(crate) fn decisions(values: Decisions) -> PyResult<Vec<Decision>> {
    let policies: Vec<Arc<Policy>> = (values.policies.into_iter())
        .map(|policy| Arc::new(policy.into()))
        .collect();
    let restored = |(policy, set, drawn, serial, features)| {
        let policy = Arc::clone(policies.get(policy as usize)?);
        let set = Arc::clone(values.sets.get(set as usize)?);
        let fits = |&(action, _): &(usize, f64)| action < set.actions;
        policy.core.policy.iter().all(fits).then_some(Decision {
            policy,
            set,
            drawn,
            serial,
            features,
        })
    };
    let rows: Option<Vec<Decision>> = values.rows.into_iter().map(restored).collect();
    rows.ok_or_else(|| unreadable("it is damaged"))
}

impl From<&Policy> for PickledPolicy {
    fn from(policy: &Policy) -> Self {
        let core = policy.core.clone();
        let alarm = core.alarm.zip(policy.alarm.clone());
        Self {
            policy: core.policy,
            scale: core.scale,
            guardrails: core.guardrails,
            optimistic_reward: core.optimistic_reward,
            solver: core.solver,
            fallback: core.fallback,
            confidence: core.confidence,
            outcomes: core.outcomes,
            alarm: alarm.map(|(alarm, told)| PickledAlarm(alarm, told)),
            batch: policy.batch,
            segment: core.segment,
        }
    }
}

impl From<PickledPolicy> for Policy {
    fn from(values: PickledPolicy) -> Self {
        let (alarm, told) = values.alarm.map(|PickledAlarm(a, t)| (a, t)).unzip();
        let core = Core {
            policy: values.policy,
            scale: values.scale,
            guardrails: values.guardrails,
            optimistic_reward: values.optimistic_reward,
            solver: values.solver,
            fallback: values.fallback,
            confidence: values.confidence,
            alarm,
            segment: values.segment,
            outcomes: values.outcomes,
        };
        Self::new(core, told, values.batch)
    }
}
