//! Environments and agents written in Python, as the simulator sees them.

use std::sync::{Arc, Mutex};

use banister::{Agent, Choice, Decision as Core, Error, Event, Origin, Outcome, Problem, Round};
use banister_offline::disjoint_features;
use banister_sim::{CustomAgent, CustomEnvironment, CustomRound, CustomRun};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::build;
use crate::decision::{Decision, Naming};
use crate::error::mistyped;
use crate::input::{Numbers, costs, number};

/// Keeps the first exception of a simulation, to be raised with its traceback.
#[derive(Clone, Default)]
pub(crate) struct Failures(Arc<Mutex<Option<PyErr>>>);

impl Failures {
    /// Runs Python code for the simulator, which an exception stops with an error in its place.
    pub(crate) fn attach<T>(
        &self,
        work: impl FnOnce(Python<'_>) -> PyResult<T>,
    ) -> Result<T, Error> {
        Python::attach(work).map_err(|error| self.keep(error))
    }

    /// Keeps an exception, for which the error stands.
    pub(crate) fn keep(&self, error: PyErr) -> Error {
        let reason = Python::attach(|py| error.value(py).to_string());
        if let Ok(mut first) = self.0.lock() {
            first.get_or_insert(error);
        }
        Error::UserCode { reason }
    }

    /// Takes out the exception behind an error of the simulator, if there is one.
    pub(crate) fn take_exception(&self, error: &Error) -> Option<PyErr> {
        match error {
            Error::UserCode { .. } => self.0.lock().ok()?.take(),
            _ => None,
        }
    }
}

/// A numpy generator for one purpose of one run: the same wherever the run is played.
fn generator<'py>(
    py: Python<'py>,
    seed: u64,
    run: u64,
    purpose: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let random = py.import(intern!(py, "numpy.random"))?;
    random.call_method1(intern!(py, "default_rng"), (vec![seed, run, purpose],))
}

/// An environment written in Python: `actions(rng)`, `pull(action, rng)`, perhaps `means()`.
pub(crate) struct Environment {
    pub object: Py<PyAny>,
    pub guardrails: Vec<String>,
    pub knows_means: bool,
    pub actions_change: bool,
    pub safe_means: Option<Vec<f64>>,
    pub failures: Failures,
}

impl CustomEnvironment for Environment {
    fn knows_means(&self) -> bool {
        self.knows_means
    }

    fn actions_change(&self) -> bool {
        self.actions_change
    }

    fn safe_means(&self) -> Option<Vec<f64>> {
        self.safe_means.clone()
    }

    fn start(&self, seed: u64, run: u64) -> Result<Box<dyn CustomRun>, Error> {
        self.failures.attach(|py| {
            // Its own copy: nothing of one run reaches another.
            let object = py
                .import(intern!(py, "copy"))?
                .call_method1(intern!(py, "deepcopy"), (self.object.bind(py),))?;
            let rng = generator(py, seed, run, 0)?;
            if object.hasattr(intern!(py, "start"))? {
                object.call_method1(intern!(py, "start"), (&rng,))?;
            }
            Ok(Box::new(EnvironmentRun {
                object: object.unbind(),
                rng: rng.unbind(),
                guardrails: self.guardrails.clone(),
                knows_means: self.knows_means,
                failures: self.failures.clone(),
            }) as Box<dyn CustomRun>)
        })
    }
}

struct EnvironmentRun {
    object: Py<PyAny>,
    rng: Py<PyAny>,
    guardrails: Vec<String>,
    knows_means: bool,
    failures: Failures,
}

impl CustomRun for EnvironmentRun {
    fn begin(&mut self, round: &mut CustomRound) -> Result<(), Error> {
        self.failures.attach(|py| {
            let object = self.object.bind(py);
            let actions = object.call_method1(intern!(py, "actions"), (&self.rng,))?;
            if !actions.is_none() {
                let meaning = "one row per action, one column per feature";
                let actions = Numbers::shaped(&actions, "actions(rng)", &[None, None], meaning)?;
                round.actions = actions.slice()?.to_vec();
            }
            if self.knows_means {
                let means = object.call_method0(intern!(py, "means"))?;
                let expected = [Some(self.guardrails.len() + 1), None];
                let meaning = "the rewards' row, then one per guardrail; one column per action";
                let means = Numbers::shaped(&means, "means()", &expected, meaning)?;
                let rows = means.slice()?.chunks_exact(means.shape()[1].max(1));
                round.means = rows.map(<[f64]>::to_vec).collect();
            }
            Ok(())
        })
    }

    fn pull(&mut self, action: usize, out: &mut [f64]) -> Result<f64, Error> {
        self.failures.attach(|py| {
            let object = self.object.bind(py);
            let outcome = object.call_method1(intern!(py, "pull"), (action, &self.rng))?;
            let refused = |_| mistyped("pull(action, rng)", &outcome, "must be (reward, costs)");
            let (reward, cost): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
                outcome.extract().map_err(refused)?;
            let cost = costs(Some(&cost), &self.guardrails)?;
            if cost.len() != out.len() {
                return Err(PyValueError::new_err(format!(
                    "`pull(action, rng)` gave {} costs, expected {}: one per guardrail ({})",
                    cost.len(),
                    out.len(),
                    self.guardrails.join(", ")
                )));
            }
            out.copy_from_slice(&cost);
            number(&reward, "reward of pull(action, rng)")
        })
    }
}

/// An agent written in Python, by what makes one for each run: `make(problem)` with methods
/// `decide(actions, rng)` and `observe(action, reward, costs)`.
pub(crate) fn agent(label: String, make: Py<PyAny>, failures: Failures) -> CustomAgent {
    CustomAgent::new(label, move |problem, seed, run| {
        failures.attach(|py| {
            let declared = problem_object(py, problem)?;
            Ok(Box::new(ForeignAgent {
                object: make.bind(py).call1((declared,))?.unbind(),
                rng: generator(py, seed, run, 1)?.unbind(),
                count: problem.arms.len(),
                safe_action: (problem.features.get(problem.safe))
                    .cloned()
                    .unwrap_or_default(),
                names: problem.arms.clone(),
                decision: Core::default(),
                failures: failures.clone(),
            }) as Box<dyn Agent>)
        })
    })
}

/// The problem as a Python object.
fn problem_object<'py>(py: Python<'py>, problem: &Problem) -> PyResult<Bound<'py, PyAny>> {
    let value = crate::json::to_python(py, problem)?;
    let module = py.import("banister.simulation")?;
    module.call_method("Problem", (), Some(value.cast::<PyDict>()?))
}

struct ForeignAgent {
    object: Py<PyAny>,
    rng: Py<PyAny>,
    /// Number of actions on offer.
    count: usize,
    /// x_0; empty without features.
    safe_action: Vec<f64>,
    names: Vec<String>,
    decision: Core,
    failures: Failures,
}

impl ForeignAgent {
    fn decide_in(&mut self, py: Python<'_>, round: &Round) -> PyResult<()> {
        let actions = self.offered(py, round)?;
        let answer = self
            .object
            .bind(py)
            .call_method1(intern!(py, "decide"), (actions, &self.rng))?;
        self.decision.policy.clear();
        self.decision.guardrails.clear();
        if let Ok(decision) = answer.cast::<Decision>() {
            self.decision.clone_from(decision.get().core());
        } else if let Ok(by_action) = answer.cast::<PyDict>() {
            for (action, p) in by_action.iter() {
                let entry = (self.place(&action)?, number(&p, "policy's probability")?);
                self.decision.policy.push(entry);
            }
            self.decision.policy.sort_unstable_by_key(|entry| entry.0);
        } else if answer.cast::<PyString>().is_ok()
            || (answer.hasattr("__index__")? && !answer.hasattr("__len__")?)
        {
            // A name, or an integer of Python's or NumPy's; arrays have a length.
            self.decision.policy.push((self.place(&answer)?, 1.0));
        } else {
            self.read_vector(&answer)?;
        }
        Ok(())
    }

    /// The actions of a round by their features, one row each; None for arms.
    fn offered<'py>(
        &mut self,
        py: Python<'py>,
        round: &Round,
    ) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let rows = match round.choice {
            Choice::Arms => return Ok(None),
            Choice::Context(context) => disjoint_features(context, self.names.len()),
            Choice::Offered(features) => {
                // As all agents number them: the safe action comes last if it is not among them.
                let d = self.safe_action.len().max(1);
                let mut rows = features.to_vec();
                if !features.chunks_exact(d).any(|x| x == self.safe_action) {
                    rows.extend_from_slice(&self.safe_action);
                }
                self.count = rows.len() / d;
                rows
            }
        };
        let d = rows.len() / self.count;
        PyArray1::from_vec(py, rows)
            .reshape([self.count, d])
            .map(Some)
    }

    fn read_vector(&mut self, answer: &Bound<'_, PyAny>) -> PyResult<()> {
        let policy = Numbers::new(answer, "decide(actions, rng)").map_err(|_| {
            let allowed = "must be a policy: a number or name of an action, probabilities of all \
                           actions, a dictionary from action to probability, or a Decision";
            mistyped("decide(actions, rng)", answer, allowed)
        })?;
        policy.expect(&[Some(self.count)], "one probability per action")?;
        let entries = policy.slice()?.iter().enumerate();
        // Zeros are no part of a policy; anything else is looked at by the simulator.
        let entries = entries.filter(|entry| *entry.1 != 0.0);
        self.decision.policy.extend(entries.map(|(a, &p)| (a, p)));
        Ok(())
    }

    /// The number of an action, by name or number.
    fn place(&self, action: &Bound<'_, PyAny>) -> PyResult<usize> {
        let (field, allowed) = ("decide(actions, rng)", "must be an integer");
        let named = build::arm(action, Naming::Places, field, allowed)?;
        named.or_else(|name| build::place(&self.names, &name, field))
    }

    /// Reports an outcome of an action by its number, or by its features where it has `played` ones.
    fn report(&self, outcome: &Outcome, played: Option<&[f64]>) -> Result<(), Error> {
        self.failures.attach(|py| {
            let object = self.object.bind(py);
            let (method, subject) = match played {
                None => ("observe", outcome.action.into_pyobject(py)?.into_any()),
                Some(x) => ("observe_at", PyArray1::from_slice(py, x).into_any()),
            };
            if !object.hasattr(method)? {
                return Err(PyTypeError::new_err(format!(
                    "the agent has no method `{method}`: it is needed for outcomes that come \
                     late, when other actions are on offer"
                )));
            }
            object.call_method1(method, (subject, outcome.reward, outcome.costs.to_vec()))?;
            Ok(())
        })
    }
}

impl Agent for ForeignAgent {
    fn decide(&mut self, round: &Round) -> Result<&Core, Error> {
        let failures = self.failures.clone();
        failures.attach(|py| self.decide_in(py, round))?;
        Ok(&self.decision)
    }

    /// By number while the round lasts and the whole action was played, else by features.
    fn apply(&mut self, event: &Event) -> Result<(), Error> {
        let Event::Outcome(outcome) = event else {
            return self.check(event, 0);
        };
        let is_late = outcome.origin != Origin::Immediate || self.decision.scale != 1.0;
        match outcome.choice {
            Choice::Offered(x) if is_late => self.report(outcome, Some(x)),
            Choice::Context(context) if is_late => {
                let rows = disjoint_features(context, self.names.len());
                let d = rows.len() / self.names.len();
                let x = rows.chunks_exact(d).nth(outcome.action);
                self.report(outcome, x)
            }
            _ => self.report(outcome, None),
        }
    }

    fn save(&mut self) -> Result<String, Error> {
        Ok(String::from("{}"))
    }
}
