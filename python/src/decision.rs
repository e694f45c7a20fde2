//! A decision as Python sees it: the action drawn, the policy it was drawn from, the certificate.

use std::sync::Arc;

use banister::Decision as Core;
use banister::decision::Promise;
use banister::monitor::{Alarm, Assumption};
use banister::session::{Draw, Published};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde::{Deserialize, Serialize};

use crate::json::to_python;
use crate::pickle::{self, Reduced};

/// Kind of names that the user gave to arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Naming {
    #[default]
    Places,
    Text,
    Integers,
}

/// The actions on offer, shared by the decisions among them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ActionSet {
    /// Names of the arms, as `naming` says; none where actions go by their place.
    pub names: Vec<String>,
    pub naming: Naming,
    pub guardrails: Arc<Vec<String>>,
    /// Names of the costs that outcomes bring.
    pub costs: Arc<Vec<String>>,
    /// Names of the signals that guardrails are weighted sums of.
    pub signals: Vec<String>,
    /// Of guardrails: whether the signal has a cap, and what is promised in words. Binary formats leave nothing out.
    pub promises: Arc<Vec<(bool, Option<String>)>>,
    /// The assumptions that certificates rest on.
    pub assumptions: Arc<Vec<Assumption>>,
    /// Number of actions, retired arms included.
    pub actions: usize,
    /// Number of the safe action.
    pub safe: usize,
    /// True if the actions were offered by features: outcomes are known by them.
    pub by_features: bool,
}

impl ActionSet {
    /// Returns the name or number of an action.
    pub(crate) fn label<'py>(&self, py: Python<'py>, action: usize) -> PyResult<Bound<'py, PyAny>> {
        Ok(match (self.naming, self.names.get(action)) {
            (Naming::Text, Some(name)) => PyString::new(py, name).into_any(),
            (Naming::Integers, Some(name)) => name.parse::<i64>()?.into_pyobject(py)?.into_any(),
            _ => action.into_pyobject(py)?.into_any(),
        })
    }

    /// Returns a policy from action to probability.
    pub(crate) fn by_label<'py>(
        &self,
        py: Python<'py>,
        policy: &[(usize, f64)],
    ) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for &(action, p) in policy {
            dict.set_item(self.label(py, action)?, p)?;
        }
        Ok(dict)
    }
}

/// A policy with its certificate, and its alarm in words.
pub(crate) type Policy = Published<Option<AlarmText>>;

/// An alarm in words.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AlarmText {
    /// All of it in a sentence.
    pub message: Arc<str>,
    /// Name of the segment that it is about, if it is about one.
    pub segment: Option<Arc<str>>,
    /// True if it is about the safe arm, which has another number among actions that are offered.
    pub is_of_safe: bool,
}

/// An alarm as `banister.Alarm`: its guardrail and its arm by name.
pub(crate) fn alarm_object<'py>(
    py: Python<'py>,
    set: &ActionSet,
    alarm: &Alarm,
    text: &AlarmText,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = to_python(py, alarm)?;
    fields.del_item("misfit")?;
    fields.del_item("number")?;
    let names = || set.guardrails.iter().chain(&set.signals);
    let guardrail = alarm.guardrail.and_then(|i| names().nth(i));
    fields.set_item("guardrail", guardrail)?;
    let arm = alarm
        .arm
        .map(|arm| if text.is_of_safe { set.safe } else { arm });
    let arm = arm.map(|arm| set.label(py, arm)).transpose()?;
    fields.set_item("arm", arm)?;
    fields.set_item("message", &*text.message)?;
    fields.set_item("segment", text.segment.as_deref())?;
    made(py, "banister", "Alarm", &fields)
}

/// Makes an object of a Python class from a dictionary of its fields.
fn made<'py>(
    py: Python<'py>,
    module: &str,
    class: &str,
    fields: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = fields.cast::<PyDict>()?;
    py.import(module)?.call_method(class, (), Some(fields))
}

/// Numbers by guardrail.
pub(crate) fn by_name<'py>(
    py: Python<'py>,
    guardrails: &[String],
    numbers: &[f64],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, number) in std::iter::zip(guardrails, numbers) {
        dict.set_item(name, number)?;
    }
    Ok(dict)
}

/// Shows an object by a function of a module in Python.
pub(crate) fn shown<'py>(
    object: &Bound<'py, PyAny>,
    module: &str,
    function: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let module = object.py().import(module)?;
    module.call_method1(function, (object,))
}

/// A decision: an action, its probability, the policy it was drawn from, and the certificate.
#[pyclass(frozen, module = "banister")]
#[derive(Clone)]
pub(crate) struct Decision {
    pub draw: Draw<Option<AlarmText>>,
    pub set: Arc<ActionSet>,
}

impl Decision {
    pub(crate) fn core(&self) -> &Core {
        &self.draw.published.decision
    }
}

/// Decisions by value, for pickles; those of one policy or action set share it.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct PickledDecisions {
    policies: Vec<Arc<Policy>>,
    sets: Vec<Arc<ActionSet>>,
    rows: Vec<Row>,
}

/// Places of policy and action set, number, action, features, context.
type Row = (
    usize,
    usize,
    u64,
    usize,
    Option<Box<[f64]>>,
    Option<Arc<[f64]>>,
);

/// Collects the values of decisions.
pub(crate) fn to_pickle(decisions: &[Decision]) -> PickledDecisions {
    /// Those that share a value follow one another.
    fn place<T>(values: &mut Vec<Arc<T>>, own: &Arc<T>) -> usize {
        if !values.last().is_some_and(|last| Arc::ptr_eq(last, own)) {
            values.push(Arc::clone(own));
        }
        values.len() - 1
    }
    let mut values = PickledDecisions::default();
    for Decision { draw, set } in decisions {
        draw.published.note_copy();
        let policy = place(&mut values.policies, &draw.published);
        let set = place(&mut values.sets, set);
        let (features, context) = (draw.features.clone(), draw.context.clone());
        (values.rows).push((policy, set, draw.number, draw.action, features, context));
    }
    values
}

/// Makes decisions from a pickle.
pub(crate) fn from_pickle(pickled: &[u8]) -> PyResult<Vec<Decision>> {
    let values: PickledDecisions = pickle::restore(pickled)?;
    let restored = |(policy, set, number, action, features, context): Row| {
        let published: &Arc<Policy> = values.policies.get(policy)?;
        let set: &Arc<ActionSet> = values.sets.get(set)?;
        let fits = |&(action, _): &(usize, f64)| action < set.actions;
        published
            .decision
            .policy
            .iter()
            .all(fits)
            .then_some(Decision {
                draw: Draw {
                    number,
                    action,
                    features,
                    context,
                    published: Arc::clone(published),
                },
                set: Arc::clone(set),
            })
    };
    let rows: Option<_> = values.rows.into_iter().map(restored).collect();
    rows.ok_or_else(|| pickle::unreadable("it is damaged"))
}

/// An identity as people see it.
pub(crate) fn hex(id: u64) -> String {
    format!("{id:016x}")
}

#[pymethods]
impl Decision {
    #[new]
    fn new(pickled: &[u8]) -> PyResult<Self> {
        let decisions = from_pickle(pickled)?.pop();
        decisions.ok_or_else(|| pickle::unreadable("it holds no decision"))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf, &to_pickle(std::slice::from_ref(slf.get())))
    }

    /// The action to play: its name, or its number where arms have no names.
    #[getter]
    fn action<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.set.label(py, self.draw.action)
    }

    /// The number of the action. Where the safe action was not among the actions offered, it comes
    /// after the last of them.
    #[getter]
    fn index(&self) -> usize {
        self.draw.action
    }

    /// The probability with which it was drawn: its propensity.
    #[getter]
    fn probability(&self) -> f64 {
        self.core().probability(self.draw.action)
    }

    /// True if it is the safe action.
    #[getter]
    fn is_safe(&self) -> bool {
        self.draw.action == self.set.safe
    }

    /// Share of its length that the action is to be played at: 1 but for agents that play parts of
    /// actions, between them and a safe action whose features are all 0. What is played then has the
    /// features `scale * features`.
    #[getter]
    fn scale(&self) -> f64 {
        self.core().scale
    }

    /// The features of the action, where it has any.
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        Some(PyArray1::from_slice(py, self.draw.features.as_ref()?))
    }

    /// The segment's own part of the certificate, with its name; None from agents that do not tell segments
    /// apart.
    #[getter]
    fn segment<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(own) = &self.core().segment else {
            return Ok(None);
        };
        let fields = to_python(py, own)?;
        let names = &self.set.guardrails;
        fields.set_item("costs", by_name(py, names, &own.costs)?)?;
        fields.set_item("by_frequencies", by_name(py, names, &own.by_frequencies)?)?;
        fields.del_item("excess")?;
        made(py, "banister.segments", "SegmentCertificate", &fields).map(Some)
    }

    /// The policy as a dictionary from action to probability, without zeros.
    #[getter]
    fn policy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.set.by_label(py, &self.core().policy)
    }

    /// The policy as a vector, one probability per action.
    #[getter]
    fn probabilities<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let mut dense = vec![0.0; self.set.actions];
        for &(action, p) in &self.core().policy {
            if let Some(entry) = dense.get_mut(action) {
                *entry = p;
            }
        }
        PyArray1::from_vec(py, dense)
    }

    /// Proof that the policy keeps its guardrails, and a bound on its reward.
    #[getter]
    fn certificate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rests_on = self.set.assumptions.to_vec();
        let named = self.set.guardrails.iter().zip(self.set.promises.iter());
        let named = named.map(|(name, (capped, promise))| Promise {
            name: name.clone(),
            capped: *capped,
            promise: promise.clone(),
        });
        let named: Vec<Promise> = named.collect();
        let certificate = to_python(py, &self.core().certificate(&named, rests_on))?;
        let class = py.import("banister.client.types")?.getattr("Certificate")?;
        let codec = py.import("banister.client.codec")?;
        codec.call_method1("decode", (class, certificate))
    }

    /// The oldest unacknowledged alarm, or None.
    #[getter]
    fn alarm<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let alarm = self
            .core()
            .alarm
            .as_ref()
            .zip(self.draw.published.beside.as_ref());
        (alarm.map(|(alarm, text)| alarm_object(py, &self.set, alarm, text))).transpose()
    }

    /// Its number among the decisions of its agent, from 1.
    #[getter]
    fn serial(&self) -> u64 {
        self.draw.number
    }

    /// The identity of the agent that made it: `agent.id`.
    #[getter]
    fn agent_id(&self) -> String {
        hex(self.draw.published.session)
    }

    /// Returns everything as a dictionary of plain values, for logs. The policy is a list of pairs, without
    /// zeros.
    fn to_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "banister._plain", "decision")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "banister._html", "decision")
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let scale = match self.scale() {
            1.0 => String::new(),
            scale => format!(", scale={scale:.6}"),
        };
        let segment = self.draw.published.segment();
        let segment = segment.map_or(String::new(), |name| format!(", segment={name:?}"));
        Ok(format!(
            "Decision(action={}, probability={:.6}{scale}{segment}, policy={})",
            self.action(py)?.repr()?,
            self.probability(),
            self.policy(py)?.repr()?
        ))
    }
}
