//! A decision as Python sees it: the action drawn, the policy it was drawn from, the certificate.

pub(crate) mod pickled;

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use banister::{Alarm, Assumption, Certificate, Decision as Core, NamedCertificate};
use banister_report::figures::axes::significant;
use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyString, PyTuple};
use serde::{Deserialize, Serialize};

use crate::pickle::{self, Reduced};

/// Names of the actions as the user gave them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) enum Labels {
    /// None: actions go by their place.
    #[default]
    Places,
    Names(Arc<Vec<String>>),
    /// Names that are integers.
    Integers(Arc<Vec<i64>>),
}

impl Labels {
    pub(crate) fn new(names: &[String], naming: Naming) -> Self {
        match naming {
            Naming::Places => Self::Places,
            Naming::Text => Self::Names(Arc::new(names.to_vec())),
            Naming::Integers => {
                let integers = names.iter().map(|name| name.parse().unwrap_or_default());
                Self::Integers(Arc::new(integers.collect()))
            }
        }
    }

    /// Returns the name or number of an action.
    pub(crate) fn of<'py>(&self, py: Python<'py>, action: usize) -> PyResult<Bound<'py, PyAny>> {
        let place = || Ok(action.into_pyobject(py)?.into_any());
        match self {
            Self::Places => place(),
            Self::Names(names) => names
                .get(action)
                .map_or_else(place, |name| Ok(PyString::new(py, name).into_any())),
            Self::Integers(names) => names
                .get(action)
                .map_or_else(place, |name| Ok(name.into_pyobject(py)?.into_any())),
        }
    }
}

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
    pub labels: Labels,
    pub guardrails: Arc<Vec<String>>,
    /// True for guardrails whose signal has a cap.
    pub capped: Arc<Vec<bool>>,
    /// The assumptions that certificates rest on.
    pub assumptions: Arc<Vec<Assumption>>,
    /// Number of actions, retired arms included.
    pub actions: usize,
    /// Number of the safe action.
    pub safe: usize,
    /// True if the actions were offered by features: outcomes are known by them.
    pub by_features: bool,
    /// Identity of the agent.
    pub agent: u64,
}

/// A policy with its certificate, shared by the decisions drawn from it.
#[derive(Debug)]
pub(crate) struct Policy {
    pub core: Core,
    /// The alarm of `core` in words.
    pub alarm: Option<AlarmText>,
    /// The first decision of a batch that is too long for its decisions to be announced one by one.
    pub batch: Option<u64>,
    /// True if its outcomes may come by copies that were pickled.
    is_pickled: AtomicBool,
}

impl Deref for Policy {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

impl Policy {
    pub(crate) fn new(core: Core, alarm: Option<AlarmText>, batch: Option<u64>) -> Self {
        Self {
            core,
            alarm,
            batch,
            is_pickled: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_pickled(&self) -> bool {
        self.is_pickled.load(Ordering::Relaxed)
    }

    pub(crate) fn set_pickled(&self) {
        self.is_pickled.store(true, Ordering::Relaxed);
    }

    /// Name of its segment, where the agent tells them apart.
    pub(crate) fn segment_name(&self) -> Option<&str> {
        Some(&self.core.segment.as_ref()?.name)
    }

    /// The alarm as a Python object.
    fn alarm<'py>(&self, py: Python<'py>, set: &ActionSet) -> PyResult<Option<Bound<'py, PyAny>>> {
        let alarm = self.core.alarm.as_ref().zip(self.alarm.as_ref());
        (alarm.map(|(alarm, text)| alarm_object(py, set, alarm, text))).transpose()
    }
}

/// An alarm in words.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AlarmText {
    /// All of it in a sentence.
    pub message: Arc<str>,
    /// Name of the segment that it is about, if it is about one.
    pub segment: Option<Arc<str>>,
}

/// An alarm as `banister.Alarm`.
pub(crate) fn alarm_object<'py>(
    py: Python<'py>,
    set: &ActionSet,
    alarm: &Alarm,
    text: &AlarmText,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("kind", word(&alarm.kind)?)?;
    let guardrail = alarm.guardrail.and_then(|i| set.guardrails.get(i));
    fields.set_item("guardrail", guardrail)?;
    let arm = alarm.arm.map(|arm| set.labels.of(py, arm)).transpose()?;
    fields.set_item("arm", arm)?;
    fields.set_item("outcome", alarm.outcome)?;
    fields.set_item("outcomes", alarm.outcomes)?;
    fields.set_item("mean", alarm.mean)?;
    fields.set_item("evidence", alarm.evidence)?;
    fields.set_item("forces_safe", alarm.forces_safe)?;
    fields.set_item("message", &*text.message)?;
    fields.set_item("segment", text.segment.as_deref())?;
    py.import("banister")?
        .call_method("Alarm", (), Some(&fields))
}

/// Returns the word that JSON has for a value.
pub(crate) fn word(value: &impl Serialize) -> PyResult<String> {
    let value = serde_json::to_value(value).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let word = value.as_str().map(str::to_owned);
    word.ok_or_else(|| PyValueError::new_err(format!("{value} is no word")))
}

/// A certificate as `banister.Certificate`, the class of the client's answers. Not by way of JSON, which has no
/// infinity.
fn certificate_object<'py>(py: Python<'py>, own: &Certificate) -> PyResult<Bound<'py, PyAny>> {
    let types = py.import("banister.client.types")?;
    let make = |class: &str, fields: &[(&str, Bound<'py, PyAny>)]| {
        types.call_method(class, (), Some(&fields.into_py_dict(py)?))
    };
    let mut guardrails = Vec::new();
    for NamedCertificate {
        name,
        certificate,
        capped,
    } in &own.guardrails
    {
        let fields = [
            ("name", name.into_bound_py_any(py)?),
            (
                "pessimistic_cost",
                certificate.pessimistic_cost.into_bound_py_any(py)?,
            ),
            ("threshold", certificate.threshold.into_bound_py_any(py)?),
            ("slack", certificate.slack.into_bound_py_any(py)?),
            ("price", certificate.price.into_bound_py_any(py)?),
            ("capped", capped.into_bound_py_any(py)?),
        ];
        guardrails.push(make("GuardrailCertificate", &fields)?);
    }
    let solver = own.solver;
    let solver = [
        ("status", word(&solver.status)?.into_bound_py_any(py)?),
        ("value", solver.value.into_bound_py_any(py)?),
        ("upper_bound", solver.upper_bound.into_bound_py_any(py)?),
        ("gap", solver.gap.into_bound_py_any(py)?),
        ("nodes", solver.nodes.into_bound_py_any(py)?),
    ];
    let confidence = own.confidence.map(|confidence| {
        let fields = [
            ("safety", confidence.safety.into_bound_py_any(py)?),
            ("regret", confidence.regret.into_bound_py_any(py)?),
        ];
        make("Confidence", &fields)
    });
    let rests_on = own.rests_on.iter().map(|one| {
        let fields = [
            ("text", (&one.text).into_bound_py_any(py)?),
            ("watched", one.watched.into_bound_py_any(py)?),
        ];
        make("Assumption", &fields)
    });
    let rests_on = rests_on.collect::<PyResult<Vec<_>>>()?;
    let fallback = own.fallback.map(|reason| word(&reason)).transpose()?;
    let fields = [
        ("guardrails", PyTuple::new(py, guardrails)?.into_any()),
        (
            "optimistic_reward",
            own.optimistic_reward.into_bound_py_any(py)?,
        ),
        ("solver", make("SolverReport", &solver)?),
        ("fallback", fallback.into_bound_py_any(py)?),
        ("outcomes", own.outcomes.into_bound_py_any(py)?),
        ("confidence", confidence.transpose()?.into_bound_py_any(py)?),
        ("rests_on", PyTuple::new(py, rests_on)?.into_any()),
    ];
    make("Certificate", &fields)
}

/// A segment's own part of a certificate, in the units of the signals.
#[pyclass(frozen, module = "banister")]
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SegmentCertificate {
    core: banister::SegmentCertificate,
    guardrails: Arc<Vec<String>>,
}

impl SegmentCertificate {
    /// Numbers by guardrail.
    fn named<'py>(&self, py: Python<'py>, numbers: &[f64]) -> PyResult<Bound<'py, PyDict>> {
        by_name(py, &self.guardrails, numbers)
    }
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

#[pymethods]
impl SegmentCertificate {
    #[new]
    fn new(pickled: &[u8]) -> PyResult<Self> {
        pickle::restore(pickled)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf, slf.get())
    }

    /// The segment.
    #[getter]
    fn name(&self) -> &str {
        &self.core.name
    }

    /// True if it shares the policy of rare segments: a guardrail of scope "each" is then kept on average over
    /// those only.
    #[getter]
    fn pooled(&self) -> bool {
        self.core.pooled
    }

    /// Decisions seen in it before this one.
    #[getter]
    fn contexts(&self) -> u64 {
        self.core.contexts
    }

    /// Share of all decisions that had this policy.
    #[getter]
    fn frequency(&self) -> f64 {
        self.core.frequency
    }

    /// Pessimistic cost of the segment's own policy, by guardrail.
    #[getter]
    fn costs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.named(py, &self.core.costs)
    }

    /// Part of each guardrail's pessimistic cost that is there because frequencies of segments are not known
    /// exactly.
    #[getter]
    fn by_frequencies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.named(py, &self.core.by_frequencies)
    }

    /// Returns the same as a dictionary.
    fn to_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let names = ["name", "pooled", "contexts", "frequency"];
        attributes(slf, &[&names[..], &["costs", "by_frequencies"]].concat())
    }

    fn __repr__(&self) -> String {
        let costs = std::iter::zip(self.guardrails.iter(), &self.core.costs)
            .map(|(name, cost)| format!("{name}: {}", significant(*cost, 6)));
        format!(
            "SegmentCertificate(name={:?}, pooled={}, contexts={}, frequency={}, costs={{{}}})",
            self.core.name,
            if self.core.pooled { "True" } else { "False" },
            self.core.contexts,
            significant(self.core.frequency, 6),
            costs.collect::<Vec<_>>().join(", ")
        )
    }
}

/// Collects attributes of an object as a dictionary.
fn attributes<'py>(object: &Bound<'py, PyAny>, names: &[&str]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(object.py());
    for name in names {
        dict.set_item(name, object.getattr(*name)?)?;
    }
    Ok(dict)
}

/// Shows an object in a notebook, by a function of `banister._html`.
pub(crate) fn html<'py>(object: &Bound<'py, PyAny>, function: &str) -> PyResult<Bound<'py, PyAny>> {
    let module = object.py().import("banister._html")?;
    module.call_method1(function, (object,))
}

/// A decision: an action, its probability, the policy it was drawn from, and the certificate.
#[pyclass(frozen, module = "banister")]
#[derive(Debug, Clone)]
pub(crate) struct Decision {
    pub policy: Arc<Policy>,
    pub set: Arc<ActionSet>,
    pub drawn: usize,
    /// Number among the agent's decisions, from 1.
    pub serial: u64,
    /// Features of the action, where it has any.
    pub features: Option<Box<[f64]>>,
    /// Context of its round, where it had one.
    pub context: Option<Arc<[f64]>>,
}

impl Decision {
    /// The features of what was played, where its outcome is known by them: actions were offered by features, or a part
    /// of one was played.
    pub(crate) fn played(&self) -> Option<Cow<'_, [f64]>> {
        let scale = self.policy.scale;
        let by_features = self.set.by_features || scale != 1.0;
        let x = self.features.as_deref().filter(|_| by_features)?;
        Some(match scale {
            1.0 => x.into(),
            scale => x.iter().map(|x| scale * x).collect(),
        })
    }

    /// Name of its segment, where the agent tells them apart.
    pub(crate) fn segment_name(&self) -> Option<&str> {
        self.policy.segment_name()
    }

    /// Probability that the policy gave the safe action.
    pub(crate) fn safe_probability(&self) -> f64 {
        self.policy.probability(self.set.safe)
    }
}

/// An identity as people see it.
pub(crate) fn hex(id: u64) -> String {
    format!("{id:016x}")
}

#[pymethods]
impl Decision {
    #[new]
    fn new(pickled: &[u8]) -> PyResult<Self> {
        let mut decisions = pickled::decisions(pickle::restore(pickled)?)?;
        let damaged = || PyValueError::new_err("the pickle holds no decision");
        decisions.pop().ok_or_else(damaged)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf, &pickled::values(std::iter::once(slf.get())))
    }

    /// The action to play: its name, or its number where arms have no names.
    #[getter]
    fn action<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.set.labels.of(py, self.drawn)
    }

    /// The number of the action. Where the safe action was not among the actions offered, it comes
    /// after the last of them.
    #[getter]
    fn index(&self) -> usize {
        self.drawn
    }

    /// The probability with which it was drawn: its propensity.
    #[getter]
    fn probability(&self) -> f64 {
        self.policy.probability(self.drawn)
    }

    /// True if it is the safe action.
    #[getter]
    fn is_safe(&self) -> bool {
        self.drawn == self.set.safe
    }

    /// Share of its length that the action is to be played at: 1 but for agents that play parts of
    /// actions, between them and a safe action whose features are all 0. What is played then has the
    /// features `scale * features`.
    #[getter]
    fn scale(&self) -> f64 {
        self.policy.scale
    }

    /// The features of the action, where it has any.
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        Some(PyArray1::from_slice(py, self.features.as_ref()?))
    }

    /// The segment's own part of the certificate, with its name; None from agents that do not tell segments
    /// apart.
    #[getter]
    fn segment(&self) -> Option<SegmentCertificate> {
        Some(SegmentCertificate {
            core: self.policy.segment.clone()?,
            guardrails: Arc::clone(&self.set.guardrails),
        })
    }

    /// The policy as a dictionary from action to probability, without zeros.
    #[getter]
    fn policy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let policy = PyDict::new(py);
        for &(action, p) in &self.policy.policy {
            policy.set_item(self.set.labels.of(py, action)?, p)?;
        }
        Ok(policy)
    }

    /// The policy as a vector, one probability per action.
    #[getter]
    fn probabilities<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let mut dense = vec![0.0; self.set.actions];
        for &(action, p) in &self.policy.policy {
            if let Some(entry) = dense.get_mut(action) {
                *entry = p;
            }
        }
        PyArray1::from_vec(py, dense)
    }

    /// Proof that the policy keeps its guardrails, and a bound on its reward.
    #[getter]
    fn certificate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let capped = self.set.capped.iter().copied();
        let guardrails = self.set.guardrails.iter().map(String::as_str).zip(capped);
        let rests_on = self.set.assumptions.to_vec();
        certificate_object(py, &self.policy.certificate(guardrails, rests_on))
    }

    /// The oldest alarm that nobody has acknowledged yet, or None.
    #[getter]
    fn alarm<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.policy.alarm(py, &self.set)
    }

    /// Its number among the decisions of its agent, from 1.
    #[getter]
    fn serial(&self) -> u64 {
        self.serial
    }

    /// The identity of the agent that made it: `agent.id`.
    #[getter]
    fn agent_id(&self) -> String {
        hex(self.set.agent)
    }

    /// Returns everything as a dictionary of plain values, for logs. The policy is a list of pairs, without
    /// zeros.
    pub(crate) fn to_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let (py, decision) = (slf.py(), slf.get());
        let names = ["action", "index", "probability", "is_safe", "scale"];
        let dict = attributes(
            slf,
            &[&names[..], &["features", "segment", "agent_id", "serial"]].concat(),
        )?;
        let features = decision.features.as_deref().map(<[f64]>::to_vec);
        dict.set_item("features", features)?;
        dict.set_item("policy", decision.policy(py)?.items())?;
        if let Some(segment) = decision.segment() {
            let segment = Bound::new(py, segment)?;
            dict.set_item("segment", SegmentCertificate::to_dict(&segment)?)?;
        }
        let alarm = decision.alarm(py)?.map(|own| own.call_method0("to_dict"));
        dict.set_item("alarm", alarm.transpose()?)?;
        let certificate = decision.certificate(py)?;
        dict.set_item("certificate", certificate.call_method0("to_dict")?)?;
        Ok(dict)
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        html(slf, "decision")
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let scale = match self.scale() {
            1.0 => String::new(),
            scale => format!(", scale={scale:.6}"),
        };
        let segment = self.segment_name();
        let segment = segment.map_or(String::new(), |name| format!(", segment={name:?}"));
        Ok(format!(
            "Decision(action={}, probability={:.6}{scale}{segment}, policy={})",
            self.action(py)?.repr()?,
            self.probability(),
            self.policy(py)?.repr()?
        ))
    }
}
