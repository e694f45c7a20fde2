//! Many decisions, and many outcomes, in one call.

use banister::session::Returns;
use banister::{Choice, Error, Guardrail, Origin, Outcome};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyString};

use super::Agent;
use crate::build::named;
use crate::decision::{Decision, Naming, from_pickle, shown, to_pickle};
use crate::error::{invalid, mistyped, raise, refused};
use crate::input::{Numbers, by_column, count, place, same_rows, uniform};
use crate::pickle::{self, Reduced};
use crate::state::AgentState;

/// An argument that may be missing.
type Given<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// Rounds to decide in.
pub(super) struct Rounds<'a, 'py> {
    pub size: Given<'a, 'py>,
    pub actions: Given<'a, 'py>,
    pub contexts: Given<'a, 'py>,
    pub segments: Given<'a, 'py>,
    pub time: Option<f64>,
}

/// Subjects of outcomes as given.
pub(super) struct Played<'a, 'py> {
    pub actions: Given<'a, 'py>,
    pub features: Given<'a, 'py>,
    pub contexts: Given<'a, 'py>,
    pub segments: Given<'a, 'py>,
}

/// Decisions of one call whose outcomes may come in any order.
const LONG: usize = 1024;
/// Most decisions of one call: some hundred megabytes of them.
const MOST: u64 = 10_000_000;

/// Many decisions: arrays with one entry per decision.
#[pyclass(frozen, module = "banister.decisions")]
pub(crate) struct DecisionBatch {
    /// All decisions; those of one policy share it.
    decisions: Vec<Decision>,
}

#[pymethods]
impl DecisionBatch {
    #[new]
    fn new(pickled: &[u8]) -> PyResult<Self> {
        let decisions = from_pickle(pickled)?;
        Ok(Self { decisions })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf, &to_pickle(&slf.get().decisions))
    }

    /// All decisions as dictionaries of plain values; see `Decision.to_dict`.
    fn to_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "banister._plain", "decision_batch")
    }

    fn __len__(&self) -> usize {
        self.decisions.len()
    }

    /// One of the decisions.
    fn __getitem__(&self, index: isize) -> PyResult<Decision> {
        let place = place(index, self.decisions.len(), "decision")?;
        Ok(self.decisions[place].clone())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let each = (0..self.decisions.len() as isize).map(|i| self.__getitem__(i));
        let each = each.collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, each)?.try_iter()
    }

    /// Numbers of the actions drawn.
    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.decisions.iter().map(|one| one.draw.action as i64))
    }

    /// The actions drawn: names, or numbers where arms have no names.
    #[getter]
    fn actions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let each = self.decisions.iter();
        let labels = each.map(|one| one.set.label(py, one.draw.action));
        PyList::new(py, labels.collect::<PyResult<Vec<_>>>()?)
    }

    /// The probabilities with which they were drawn.
    #[getter]
    fn probability<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let each = self.decisions.iter();
        PyArray1::from_iter(py, each.map(|one| one.core().probability(one.draw.action)))
    }

    /// Names of their segments; None from agents that do not tell segments apart.
    #[getter]
    fn segments(&self) -> Option<Vec<&str>> {
        let names = self
            .decisions
            .iter()
            .map(|one| one.draw.published.segment());
        names
            .collect::<Option<Vec<_>>>()
            .filter(|names| !names.is_empty())
    }

    /// Shares of their length that the actions are to be played at; see `Decision.scale`.
    #[getter]
    fn scale<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.decisions.iter().map(|one| one.core().scale))
    }

    /// The policies as rows, one probability per action.
    #[getter]
    fn probabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let width = self.decisions.iter().map(|one| one.set.actions).max();
        let width = width.unwrap_or(0);
        let mut dense = vec![0.0; width * self.decisions.len()];
        for (i, one) in self.decisions.iter().enumerate() {
            for &(action, p) in &one.core().policy {
                dense[i * width + action] = p;
            }
        }
        PyArray1::from_vec(py, dense).reshape([self.decisions.len(), width])
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "banister._html", "decision_batch")
    }

    fn __repr__(&self) -> String {
        format!("DecisionBatch({} decisions)", self.decisions.len())
    }
}

/// [`Agent::decide_batch`].
pub(super) fn decide(
    agent: &Agent,
    py: Python<'_>,
    rounds: Rounds<'_, '_>,
    rng: Given<'_, '_>,
    is_kept: bool,
) -> PyResult<DecisionBatch> {
    let Rounds {
        size,
        actions,
        contexts,
        segments,
        time,
    } = rounds;
    if let Some(segments) = agent.segments(segments, None)? {
        if size.or(actions).or(contexts).is_some() {
            return Err(PyTypeError::new_err(
                "`size`, `actions` or `contexts` is given beside `segments`: there is one decision for each segment",
            ));
        }
        let given = uniforms(rng, segments.len())?;
        let each = segments
            .iter()
            .map(|segment| (None, Some(segment.as_str())));
        return decide_each(agent, py, each, (given.as_deref(), time), is_kept);
    }
    if let Some(contexts) = agent.contexts(contexts, "contexts", None)? {
        agent.no_actions(actions.or(size))?;
        let given = uniforms(rng, contexts.shape()[0])?;
        let rows = contexts.slice()?.chunks_exact(contexts.shape()[1]);
        let each = rows.map(|context| (Some(Choice::Context(context)), None));
        return decide_each(agent, py, each, (given.as_deref(), time), is_kept);
    }
    match (size, actions) {
        (Some(size), None) => {
            let size = count(size, "size")?;
            if size > MOST {
                let allowed = "must be at most 10 million: call again for more";
                return Err(invalid("size", size, allowed));
            }
            let is_sum = |own: &Guardrail| own.over.is_some();
            if agent.with(py, false, |state| {
                state.problem.guardrails.iter().any(is_sum)
            })? {
                let allowed =
                    "a guardrail is `over` a sum, which every decision has to see: use `decide`";
                return Err(invalid("size", size, allowed));
            }
            let given = uniforms(rng, size as usize)?;
            let decisions = agent.with(py, true, |state| {
                let returns = returns(state, size as usize, is_kept);
                draw_many(state, size as usize, (given.as_deref(), time), returns)
            })?;
            let decisions = decisions.map_err(raise)?;
            Ok(DecisionBatch { decisions })
        }
        (None, Some(actions)) => {
            let actions = Numbers::new(actions, "actions")?;
            let meaning = "(rounds, actions, features)";
            actions.expect(&[None, None, agent.dimension], meaning)?;
            actions.finite()?;
            let (rounds, each) = (actions.shape()[0], actions.shape()[1] * actions.shape()[2]);
            let given = uniforms(rng, rounds)?;
            let features = actions.slice()?;
            let each = (0..rounds).map(|i| &features[i * each..(i + 1) * each]);
            let each = each.map(|features| (Some(Choice::Offered(features)), None));
            decide_each(agent, py, each, (given.as_deref(), time), is_kept)
        }
        _ => Err(PyTypeError::new_err(
            "give either `size`, for many draws from one policy, or `actions` of shape (rounds, \
             actions, features)",
        )),
    }
}

/// Order in which outcomes will come: by name, of decisions that are not kept; of more than what segments share waits for,
/// in the order of decisions.
fn returns(state: &AgentState, size: usize, is_kept: bool) -> Returns {
    match (is_kept, size > LONG) {
        (false, _) => Returns::ByArm,
        (true, true) => Returns::InOrder(state.session.numbers().last + 1),
        (true, false) => Returns::AnyOrder,
    }
}

/// One decision for each round, by what is offered and its segment.
fn decide_each<'a>(
    agent: &Agent,
    py: Python<'_>,
    rounds: impl ExactSizeIterator<Item = (Option<Choice<'a>>, Option<&'a str>)> + Send,
    (given, time): (Option<&[f64]>, Option<f64>),
    is_kept: bool,
) -> PyResult<DecisionBatch> {
    let decisions = agent.with(py, true, |state| {
        let returns = returns(state, rounds.len(), is_kept);
        let each = rounds.enumerate().map(|(i, (offered, segment))| {
            state.decide(offered, (segment, time), given.map(|u| u[i]), returns)
        });
        each.collect::<Result<Vec<Decision>, Error>>()
    })?;
    let decisions = decisions.map_err(raise)?;
    Ok(DecisionBatch { decisions })
}

/// Draws many times from one policy.
fn draw_many(
    state: &mut AgentState,
    size: usize,
    (given, time): (Option<&[f64]>, Option<f64>),
    returns: Returns,
) -> Result<Vec<Decision>, Error> {
    let mut drawn: Vec<Decision> = Vec::with_capacity(size);
    for i in 0..size {
        let uniform = given.map(|u| u[i]);
        let next = match drawn.first() {
            None => state.decide(None, (None, time), uniform, returns),
            Some(first) => state.draw(&first.draw.published, uniform),
        };
        drawn.push(next?);
    }
    Ok(drawn)
}

fn uniforms(rng: Option<&Bound<'_, PyAny>>, size: usize) -> PyResult<Option<Vec<f64>>> {
    rng.map(|rng| (0..size).map(|_| uniform(rng)).collect())
        .transpose()
}

/// Subjects of the outcomes of a batch.
enum Subjects {
    Numbers(Vec<usize>),
    Names(Vec<String>),
    Decisions(Vec<Decision>),
}

/// [`Agent::observe_batch`].
pub(super) fn observe(
    agent: &Agent,
    py: Python<'_>,
    played: Played<'_, '_>,
    (rewards, costs): (Given<'_, '_>, Given<'_, '_>),
    origin: Origin,
) -> PyResult<()> {
    let Played {
        actions,
        features,
        contexts,
        segments,
    } = played;
    let Some(rewards) = rewards else {
        return Err(PyTypeError::new_err(
            "`rewards` is missing: one per outcome",
        ));
    };
    same_rows(&[
        ("rewards", Some(rewards)),
        ("costs", costs),
        ("actions", actions),
        ("contexts", contexts),
        ("segments", segments),
    ])?;
    let rewards = Numbers::new(rewards, "rewards")?;
    rewards.expect(&[None], "one reward per outcome")?;
    let n = rewards.shape()[0];
    let (subjects, features) = match (actions, features) {
        (Some(actions), None) => (subjects(agent, actions, n)?, None),
        (None, Some(features)) => {
            let x = Numbers::new(features, "features")?;
            let meaning = "one row per reward, one column per feature";
            x.expect(&[Some(n), agent.dimension], meaning)?;
            (Subjects::Numbers(Vec::new()), Some(x))
        }
        _ => {
            return Err(PyTypeError::new_err(
                "give either `actions` or `features`: what the outcomes are of",
            ));
        }
    };
    // Decisions have their own contexts, and features need none.
    let contexts = match subjects {
        Subjects::Decisions(_) => None,
        _ if features.is_some() => None,
        _ => agent.contexts(contexts, "contexts", Some(n))?,
    };
    let contexts = contexts.as_ref().map(Numbers::slice).transpose()?;
    let segments = match (&subjects, segments) {
        (Subjects::Decisions(_), None) => None,
        (Subjects::Decisions(_), Some(_)) => {
            return Err(PyTypeError::new_err(
                "`segments` is given: the decisions have their own",
            ));
        }
        _ => agent.segments(segments, Some(n))?,
    };
    let names = agent.costs();
    let m = names.len();
    let costs = costs.map(|costs| Numbers::new(&by_column(costs, &names)?, "costs"));
    let costs = costs.transpose()?;
    let flat = match &costs {
        None if m == 0 => &[][..],
        None => {
            return Err(PyTypeError::new_err(format!(
                "`costs` is missing: an array of shape ({n}, {m}), one column for each of {}",
                names.join(", ")
            )));
        }
        // One guardrail: a plain column will do.
        Some(costs) if m == 1 && costs.shape() == [n] => costs.slice()?,
        Some(costs) => {
            let meaning = "one row per reward, one column per guardrail";
            costs.expect(&[Some(n), Some(m)], meaning)?;
            costs.slice()?
        }
    };
    let rewards = rewards.slice()?;
    let given = features.as_ref().map(Numbers::slice).transpose()?;
    agent.with(py, true, |state| {
        let mut by_number = None;
        let arms: Vec<usize> = match subjects {
            Subjects::Numbers(list) => {
                by_number = state.numbered(&list).map_err(raise)?;
                list
            }
            Subjects::Names(names) => {
                let numbers = names.iter().map(|name| state.find(name));
                numbers.collect::<Result<_, _>>().map_err(raise)?
            }
            Subjects::Decisions(all) => return state.observe(&all, "actions", rewards, flat),
        };
        let row = |i: usize, numbers: &'_ [f64]| {
            let width = numbers.len() / n;
            i * width..(i + 1) * width
        };
        let features = given.or(by_number.as_deref());
        let outcomes = rewards.iter().enumerate().map(|(i, &reward)| Outcome {
            action: arms.get(i).copied().unwrap_or(0),
            choice: match (contexts, features) {
                (Some(contexts), _) => Choice::Context(&contexts[row(i, contexts)]),
                (None, Some(features)) => Choice::Offered(&features[row(i, features)]),
                (None, None) => Choice::Arms,
            },
            segment: segments.as_ref().map(|names| names[i].as_str()),
            reward,
            costs: &flat[row(i, flat)],
            origin,
            time: None,
            claims: None,
        });
        let taken = state.session.observe_by_arm(outcomes);
        taken.map_err(|error| refused(error, &state.set.costs, rewards, flat))?;
        if origin == Origin::Logged {
            state.refresh_assumptions();
        }
        Ok(())
    })?
}

/// Reads the subjects of `n` outcomes.
fn subjects(agent: &Agent, actions: &Bound<'_, PyAny>, n: usize) -> PyResult<Subjects> {
    let (subjects, length) = if let Ok(batch) = actions.cast_exact::<DecisionBatch>() {
        let decisions = &batch.get().decisions;
        (Subjects::Decisions(decisions.clone()), decisions.len())
    } else if let Ok(array) = actions.cast::<PyArray1<i64>>()
        && agent.naming != Naming::Integers
    {
        let number = |(i, &a): (usize, &i64)| {
            let refused = |_| invalid(&format!("actions[{i}]"), a, "must not be negative");
            usize::try_from(a).map_err(refused)
        };
        let array = array.readonly();
        let view = array.as_array();
        let numbers = view.iter().enumerate().map(number);
        let numbers = numbers.collect::<PyResult<Vec<usize>>>()?;
        let length = numbers.len();
        (Subjects::Numbers(numbers), length)
    } else {
        let allowed = "must be a sequence of arms or decisions";
        let refused = |_| mistyped("actions", actions, allowed);
        let list: Vec<Bound<'_, PyAny>> = if actions.hasattr("tolist")? {
            actions.call_method0("tolist")?.extract()
        } else {
            actions.extract()
        }
        .map_err(refused)?;
        (listed(agent, &list)?, list.len())
    };
    if length != n {
        return Err(PyValueError::new_err(format!(
            "`actions` has {length} entries, expected {n}: one per reward"
        )));
    }
    Ok(subjects)
}

fn listed(agent: &Agent, list: &[Bound<'_, PyAny>]) -> PyResult<Subjects> {
    if !list.is_empty() {
        let decisions: Result<Vec<&Bound<'_, Decision>>, _> =
            list.iter().map(|one| one.cast_exact()).collect();
        if let Ok(decisions) = decisions {
            let decisions = decisions.into_iter().map(|one| one.get().clone());
            return Ok(Subjects::Decisions(decisions.collect()));
        }
        if list.iter().all(|one| one.cast::<PyString>().is_ok()) {
            let names = list.iter().map(|name| name.extract::<String>());
            return Ok(Subjects::Names(names.collect::<PyResult<_>>()?));
        }
    }
    let each = list.iter().enumerate();
    if agent.naming == Naming::Integers {
        let names = each.map(|(i, one)| named(one, agent.naming, &format!("actions[{i}]")));
        return Ok(Subjects::Names(names.collect::<PyResult<_>>()?));
    }
    let numbers = each.map(|(i, one)| Ok(count(one, &format!("actions[{i}]"))? as usize));
    Ok(Subjects::Numbers(numbers.collect::<PyResult<_>>()?))
}
