//! Pickles: decisions and results as bytes, by postcard, which keeps every bit of a number.

use std::sync::Arc;

use banister::{Alarm, AlarmKind, Decision as Core, Fallback, GuardrailCertificate, SolverReport};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::decision::{Decision, Labels, Policy, Stage};

/// The bytes begin with it; the number goes up when their meaning changes.
const HEADER: &[u8] = b"banister pickle 1\n";

/// A class and what to call it with.
pub(crate) type Reduced<'py> = (Bound<'py, PyType>, (Bound<'py, PyBytes>,));

/// What `__reduce__` returns for an object that is made again from these values.
pub(crate) fn reduce<'py, T: Serialize>(
    object: &Bound<'py, impl pyo3::PyClass>,
    values: &T,
) -> PyResult<Reduced<'py>> {
    let bytes = postcard::to_extend(values, HEADER.to_vec()).map_err(unreadable)?;
    let class = object.as_any().get_type();
    Ok((class, (PyBytes::new(object.py(), &bytes),)))
}

/// The values of [`reduce`].
pub(crate) fn restore<T: DeserializeOwned>(bytes: &[u8]) -> PyResult<T> {
    let body = bytes.strip_prefix(HEADER);
    let body = body.ok_or_else(|| unreadable("it was made by another version, or is damaged"))?;
    postcard::from_bytes(body).map_err(unreadable)
}

fn unreadable(reason: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("the pickle cannot be read: {reason}"))
}

/// Decisions by value; those of one policy or stage share it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Decisions {
    policies: Vec<PickledPolicy>,
    stages: Vec<PickledStage>,
    rows: Vec<Row>,
}

/// Policy, stage, action, serial, features.
type Row = (u32, u32, usize, u64, Option<Box<[f64]>>);

#[derive(Serialize, Deserialize)]
struct PickledStage {
    names: Option<Vec<String>>,
    guardrails: Vec<String>,
    actions: usize,
    safe: usize,
    agent: u64,
}

/// All of a [`Core`], which itself leaves out fields in a way that postcard cannot read back.
#[derive(Serialize, Deserialize)]
struct PickledPolicy {
    policy: Vec<(usize, f64)>,
    scale: f64,
    guardrails: Vec<GuardrailCertificate>,
    optimistic_reward: f64,
    solver: SolverReport,
    fallback: Option<Fallback>,
    outcomes: u64,
    alarm: Option<PickledAlarm>,
    batch: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct PickledAlarm {
    kind: AlarmKind,
    place: (usize, Option<usize>),
    outcomes: (u64, u64),
    mean: f64,
    evidence: f64,
    forces_safe: bool,
    message: String,
}

/// Decisions as values.
pub(crate) fn values<'a>(decisions: impl Iterator<Item = &'a Decision>) -> Decisions {
    let mut values = Decisions {
        policies: Vec::new(),
        stages: Vec::new(),
        rows: Vec::new(),
    };
    let mut before: Option<&Decision> = None;
    for one in decisions {
        // Those that share a policy or a stage follow one another.
        if before.is_none_or(|before| !Arc::ptr_eq(&before.decision, &one.decision)) {
            one.decision.set_pickled();
            values.policies.push(pickled_policy(&one.decision));
        }
        if before.is_none_or(|before| !Arc::ptr_eq(&before.stage, &one.stage)) {
            values.stages.push(pickled_stage(&one.stage));
        }
        let policy = (values.policies.len() - 1) as u32;
        let stage = (values.stages.len() - 1) as u32;
        let row = (policy, stage, one.drawn, one.serial, one.features.clone());
        values.rows.push(row);
        before = Some(one);
    }
    values
}

/// Decisions from [`values`].
pub(crate) fn decisions(values: Decisions) -> PyResult<Vec<Decision>> {
    let policies: Vec<_> = values.policies.into_iter().map(policy).collect();
    let stages: Vec<_> = values.stages.into_iter().map(stage).collect();
    let restored = |(policy, stage, drawn, serial, features)| {
        let decision = Arc::clone(policies.get(policy as usize)?);
        let stage: Arc<Stage> = Arc::clone(stages.get(stage as usize)?);
        let fits = |&(action, _): &(usize, f64)| action < stage.actions;
        decision.core.policy.iter().all(fits).then_some(Decision {
            decision,
            stage,
            drawn,
            serial,
            features,
        })
    };
    let rows: Option<Vec<Decision>> = values.rows.into_iter().map(restored).collect();
    rows.ok_or_else(|| unreadable("it is damaged"))
}

fn pickled_stage(stage: &Stage) -> PickledStage {
    PickledStage {
        names: match &stage.labels {
            Labels::Numbers => None,
            Labels::Names(names) => Some(names.to_vec()),
        },
        guardrails: stage.guardrails.to_vec(),
        actions: stage.actions,
        safe: stage.safe,
        agent: stage.agent,
    }
}

fn stage(values: PickledStage) -> Arc<Stage> {
    Arc::new(Stage {
        labels: match values.names {
            None => Labels::Numbers,
            Some(names) => Labels::Names(Arc::new(names)),
        },
        guardrails: Arc::new(values.guardrails),
        actions: values.actions,
        safe: values.safe,
        agent: values.agent,
    })
}

fn pickled_policy(policy: &Policy) -> PickledPolicy {
    let core = &policy.core;
    let alarm = core.alarm.zip(policy.alarm.as_ref());
    PickledPolicy {
        policy: core.policy.clone(),
        scale: core.scale,
        guardrails: core.guardrails.clone(),
        optimistic_reward: core.optimistic_reward,
        solver: core.solver,
        fallback: core.fallback,
        outcomes: core.outcomes,
        alarm: alarm.map(|(alarm, message)| PickledAlarm {
            kind: alarm.kind,
            place: (alarm.guardrail, alarm.arm),
            outcomes: (alarm.outcome, alarm.outcomes),
            mean: alarm.mean,
            evidence: alarm.evidence,
            forces_safe: alarm.forces_safe,
            message: message.to_string(),
        }),
        batch: policy.batch,
    }
}

fn policy(values: PickledPolicy) -> Arc<Policy> {
    let (alarm, message) = match values.alarm {
        None => (None, None),
        Some(alarm) => {
            let message: Arc<str> = alarm.message.into();
            let alarm = Alarm {
                kind: alarm.kind,
                guardrail: alarm.place.0,
                arm: alarm.place.1,
                outcome: alarm.outcomes.0,
                outcomes: alarm.outcomes.1,
                mean: alarm.mean,
                evidence: alarm.evidence,
                forces_safe: alarm.forces_safe,
            };
            (Some(alarm), Some(message))
        }
    };
    let core = Core {
        policy: values.policy,
        scale: values.scale,
        guardrails: values.guardrails,
        optimistic_reward: values.optimistic_reward,
        solver: values.solver,
        fallback: values.fallback,
        alarm,
        outcomes: values.outcomes,
    };
    Arc::new(Policy::new(core, message, values.batch))
}
