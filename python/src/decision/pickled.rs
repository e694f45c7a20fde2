//! Decisions by value, for their pickles.

use std::sync::Arc;

use banister::Decision as Core;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use super::{ActionSet, AlarmText, Decision, Policy};
use crate::pickle::unreadable;

/// Decisions by value; those of one policy or action set share it.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Decisions {
    policies: Vec<PickledPolicy>,
    sets: Vec<Arc<ActionSet>>,
    rows: Vec<Row>,
}

/// Policy, action set, action, serial, features, context.
type Row = (u32, u32, usize, u64, Option<Box<[f64]>>, Option<Arc<[f64]>>);

/// A decision of the core, its alarm in words, and its batch ([`Policy::batch`]).
type PickledPolicy = (Core, Option<AlarmText>, Option<u64>);

/// Collects the values of decisions.
pub(crate) fn values<'a>(decisions: impl Iterator<Item = &'a Decision>) -> Decisions {
    let mut values = Decisions::default();
    let mut before: Option<&Decision> = None;
    for one in decisions {
        // Those that share a policy or an action set follow one another.
        if before.is_none_or(|before| !Arc::ptr_eq(&before.policy, &one.policy)) {
            one.policy.set_pickled();
            let Policy {
                core, alarm, batch, ..
            } = &*one.policy;
            let policy = (core.clone(), alarm.clone(), *batch);
            values.policies.push(policy);
        }
        if before.is_none_or(|before| !Arc::ptr_eq(&before.set, &one.set)) {
            values.sets.push(Arc::clone(&one.set));
        }
        let policy = (values.policies.len() - 1) as u32;
        let set = (values.sets.len() - 1) as u32;
        let known = (one.features.clone(), one.context.clone());
        (values.rows).push((policy, set, one.drawn, one.serial, known.0, known.1));
        before = Some(one);
    }
    values
}

/// Makes decisions from [`values`].
pub(crate) fn decisions(values: Decisions) -> PyResult<Vec<Decision>> {
    let policies: Vec<Arc<Policy>> = (values.policies.into_iter())
        .map(|(core, alarm, batch)| Arc::new(Policy::new(core, alarm, batch)))
        .collect();
    let restored = |(policy, set, drawn, serial, features, context)| {
        let policy = Arc::clone(policies.get(policy as usize)?);
        let set = Arc::clone(values.sets.get(set as usize)?);
        let fits = |&(action, _): &(usize, f64)| action < set.actions;
        policy.core.policy.iter().all(fits).then_some(Decision {
            policy,
            set,
            drawn,
            serial,
            features,
            context,
        })
    };
    let rows: Option<Vec<Decision>> = values.rows.into_iter().map(restored).collect();
    rows.ok_or_else(|| unreadable("it is damaged"))
}
