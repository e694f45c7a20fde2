//! Logged data: estimates, verdicts, replay, warm start.

use std::time::{Duration, Instant};

use banister::{Direction, Error, Guardrail, SignalConfig};
use banister_offline::{
    CheckedLog, Estimate, Estimator, Features, IntervalKind, Log, Mean, Model, Options, Replay,
    ReplayOptions, SegmentEstimates, Target, disjoint_features,
};
use banister_rivals::AgentConfig;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList};

use crate::agent::Agent;
use crate::build::{guardrails, in_arguments, reward, without_nulls};
use crate::decision::word;
use crate::error::{guarded, raise};
use crate::input::{Numbers, count};
use crate::json::{declared, to_json};
use crate::log::{Columns, with_ranges};
use crate::state::{LastRound, State};

/// Interval between Python's looks at a running replay.
const LOOK: Duration = Duration::from_millis(50);

/// The policy to be judged: an arm's number, one row of probabilities, or a row for each round.
enum Policy<'py> {
    Arm(usize),
    Fixed(Numbers<'py>),
    Rows(Numbers<'py>),
}

impl<'py> Policy<'py> {
    fn new(value: &Bound<'py, PyAny>, columns: &Columns<'_>) -> PyResult<Self> {
        if value.cast::<PyInt>().is_ok() {
            return Ok(Self::Arm(count(value, "policy")? as usize));
        }
        let numbers = Numbers::new(value, "policy")?;
        if numbers.shape().len() == 2 {
            let rounds = columns.rounds();
            let meaning = "one row per round of the log, one probability per arm";
            numbers.expect(&[Some(rounds), Some(columns.arms)], meaning)?;
            return Ok(Self::Rows(numbers));
        }
        numbers.expect(&[Some(columns.arms)], "one probability per arm")?;
        Ok(Self::Fixed(numbers))
    }

    fn target(&self) -> PyResult<Target<'_>> {
        Ok(match self {
            Self::Arm(arm) => Target::Arm(*arm),
            Self::Fixed(row) => Target::Fixed(row.slice()?),
            Self::Rows(rows) => Target::Rows(rows.slice()?),
        })
    }
}

/// A question about a policy, read from Python.
struct Question<'py> {
    columns: Columns<'py>,
    policy: Policy<'py>,
    model: Option<Numbers<'py>>,
    reward: Option<SignalConfig>,
    guardrails: Vec<Guardrail>,
    options: Options,
}

impl<'py> Question<'py> {
    fn new(
        log: &Bound<'py, PyAny>,
        policy: &Bound<'py, PyAny>,
        model: Option<&Bound<'py, PyAny>>,
        declarations: (Option<&Bound<'py, PyAny>>, Option<&Bound<'py, PyAny>>),
        options: &Bound<'py, PyAny>,
    ) -> PyResult<Self> {
        let columns = Columns::new(log)?;
        let model = model
            .map(|model| Numbers::new(model, "model"))
            .transpose()?;
        if let Some(model) = &model {
            let expected = [1 + columns.guardrails.len(), columns.rounds(), columns.arms];
            let meaning = "(signals, rounds, arms), the reward first";
            model.expect(&expected.map(Some), meaning)?;
        }
        let reward = declarations.0.map(|given| self::reward(Some(given)));
        Ok(Self {
            policy: Policy::new(policy, &columns)?,
            columns,
            model,
            reward: reward.transpose()?,
            guardrails: guardrails(declarations.1)?,
            options: declared(without_nulls(to_json(options, "")?), "")?,
        })
    }

    /// Asks the core, without the interpreter's lock.
    fn ask<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&CheckedLog, Target, Model) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        let needed = self.options.interval == IntervalKind::Mixture
            && self.options.estimator != Estimator::Dm;
        let log = self.columns.log()?;
        let log = with_ranges(log, self.reward.as_ref(), &self.guardrails, needed)?;
        let target = self.policy.target()?;
        let model = match &self.model {
            None => Model::Fitted,
            Some(numbers) => Model::Given(numbers.slice()?),
        };
        py.detach(|| guarded(|| work(&log.check()?, target, model)))?
            .map_err(in_arguments)
    }
}

/// Estimates the reward and every cost of a policy: a list, the reward first.
#[pyfunction]
#[pyo3(signature = (log, policy, *, model, reward, guardrails, options))]
pub(crate) fn evaluate_log<'py>(
    py: Python<'py>,
    log: &Bound<'py, PyAny>,
    policy: &Bound<'py, PyAny>,
    model: Option<&Bound<'py, PyAny>>,
    reward: Option<&Bound<'py, PyAny>>,
    guardrails: Option<&Bound<'py, PyAny>>,
    options: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let question = Question::new(log, policy, model, (reward, guardrails), options)?;
    let found = question.ask(py, |log, target, model| {
        banister_offline::estimate(log, target, model, &question.options)
    })?;
    let each = std::iter::once(&found.reward).chain(&found.costs);
    let each = each.map(|one| estimate(py, one));
    PyList::new(py, each.collect::<PyResult<Vec<_>>>()?)
}

/// Estimates by segment, those with the most rounds first: name, estimates as of `evaluate_log`, or the reason why
/// there are none.
#[pyfunction]
#[pyo3(signature = (log, policy, *, model, reward, guardrails, options))]
pub(crate) fn evaluate_segments<'py>(
    py: Python<'py>,
    log: &Bound<'py, PyAny>,
    policy: &Bound<'py, PyAny>,
    model: Option<&Bound<'py, PyAny>>,
    reward: Option<&Bound<'py, PyAny>>,
    guardrails: Option<&Bound<'py, PyAny>>,
    options: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let question = Question::new(log, policy, model, (reward, guardrails), options)?;
    let found = question.ask(py, |log, target, model| {
        banister_offline::estimate_by_segment(log, target, model, &question.options)
    })?;
    let rows = PyList::empty(py);
    for SegmentEstimates {
        segment, estimates, ..
    } in &found
    {
        let listed = PyList::empty(py);
        if let Ok(own) = estimates {
            for one in std::iter::once(&own.reward).chain(&own.costs) {
                listed.append(estimate(py, one)?)?;
            }
        }
        let reason = estimates.as_ref().err().map(Error::to_string);
        rows.append((segment, listed, reason))?;
    }
    Ok(rows)
}

/// Judges the guardrails, which are those of the log in its order.
#[pyfunction]
#[pyo3(signature = (log, policy, *, model, reward, guardrails, safe, options))]
#[expect(clippy::too_many_arguments, reason = "the parts of a question")]
pub(crate) fn judge_log<'py>(
    py: Python<'py>,
    log: &Bound<'py, PyAny>,
    policy: &Bound<'py, PyAny>,
    model: Option<&Bound<'py, PyAny>>,
    reward: Option<&Bound<'py, PyAny>>,
    guardrails: Option<&Bound<'py, PyAny>>,
    safe: usize,
    options: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let question = Question::new(log, policy, model, (reward, guardrails), options)?;
    let found = question.ask(py, |log, target, model| {
        let guardrails = &question.guardrails;
        banister_offline::verdicts(log, target, model, guardrails, safe, &question.options)
    })?;
    let verdicts = PyList::empty(py);
    for one in &found {
        let dict = PyDict::new(py);
        dict.set_item("name", &one.name)?;
        dict.set_item("verdict", word(&one.verdict)?)?;
        dict.set_item("reason", &one.reason)?;
        dict.set_item("rows_needed", one.rows_needed)?;
        dict.set_item("direction", word(&one.direction)?)?;
        dict.set_item("threshold", one.threshold)?;
        dict.set_item("estimate", estimate(py, &one.estimate)?)?;
        verdicts.append(dict)?;
    }
    Ok(verdicts)
}

// By hand, as JSON has no infinity.
fn estimate<'py>(py: Python<'py>, one: &Estimate) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &one.name)?;
    dict.set_item("estimate", one.estimate)?;
    dict.set_item("lower", one.lower)?;
    dict.set_item("upper", one.upper)?;
    dict.set_item("standard_error", one.standard_error)?;
    dict.set_item("confidence", one.confidence)?;
    dict.set_item("n", one.n)?;
    dict.set_item("effective_sample_size", one.weights.effective_sample_size)?;
    dict.set_item("largest_weight", one.weights.largest)?;
    dict.set_item("mean_weight", one.weights.mean)?;
    let [lower, upper] = one.weights.mean_interval;
    dict.set_item("mean_weight_interval", (lower, upper))?;
    dict.set_item("weights_compatible", one.weights.are_compatible())?;
    dict.set_item("never_played", &one.weights.never_played)?;
    dict.set_item("share_clipped", one.weights.share_clipped)?;
    dict.set_item("lost_weight", one.weights.lost)?;
    let bias = one.clipping_bias.map(|[below, above]| (below, above));
    dict.set_item("clipping_bias", bias)?;
    Ok(dict)
}

/// Returns the relation between an allowed signal and its threshold: "≤" or "≥".
#[pyfunction]
pub(crate) fn direction_symbol(direction: &str) -> PyResult<&'static str> {
    declared(direction.into(), "direction").map(Direction::symbol)
}

/// Length of an agent's feature vectors; `None` for agents that take none.
#[pyfunction]
pub(crate) fn feature_dimension(agent: &Bound<'_, Agent>) -> Option<usize> {
    agent.get().dimension
}

/// Teaches an agent with a log: all of it, or, if that fails half-way, the agent is as it was.
fn teach<R>(
    state: &mut State,
    log: Log,
    work: impl FnOnce(&CheckedLog, &mut dyn banister::Agent) -> PyResult<R>,
) -> PyResult<R> {
    let problem = &state.problem;
    let log = log
        .declare(&problem.reward, &problem.guardrails)
        .check()
        .map_err(raise)?;
    let before = state.agent.save().map_err(raise)?;
    let done = work(&log, state.agent.as_mut());
    if done.is_err() {
        state.agent = AgentConfig::restore(&before).map_err(raise)?.agent;
    }
    done
}

/// Replays a log through an agent. `progress` is called with the share and the number of rows read.
#[pyfunction]
#[pyo3(signature = (log, agent, *, options, progress=None))]
pub(crate) fn replay_log<'py>(
    py: Python<'py>,
    log: &Bound<'py, PyAny>,
    agent: &Bound<'py, Agent>,
    options: &Bound<'py, PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let columns = Columns::new(log)?;
    let options: ReplayOptions = declared(without_nulls(to_json(options, "")?), "")?;
    let log = columns.log()?;
    let total = log.actions.len() as f64;
    let (features, arms) = (log.features, log.arms);
    let done = agent.get().with(py, true, |state| {
        let done = teach(state, log, |log, agent| {
            let mut interrupted = None;
            let mut last = Instant::now();
            let mut stop = |rows: u64| {
                if last.elapsed() < LOOK {
                    return false;
                }
                last = Instant::now();
                let look = |py: Python<'_>| -> PyResult<()> {
                    if let Some(progress) = &progress {
                        progress.call1(py, (rows as f64 / total, rows))?;
                    }
                    py.check_signals()
                };
                interrupted = Python::attach(look).err();
                interrupted.is_some()
            };
            let done = banister_offline::replay(log, agent, &options, &mut stop);
            if let Some(error) = interrupted {
                return Err(error);
            }
            done.map_err(raise)
        })?;
        state.enter(last_round(features, arms, state));
        Ok::<_, PyErr>(done)
    })??;
    replayed(py, &done)
}

/// The last round of a log as an agent takes it.
fn last_round(features: Features, arms: usize, state: &State) -> LastRound {
    let last = |numbers: &[f64], width: usize| numbers[numbers.len() - width..].to_vec();
    match features {
        _ if !state.config.takes_features() => LastRound::Arms,
        Features::None | Features::Played { .. } => LastRound::Arms,
        Features::Offered { dimension, sets } => LastRound::Offered(last(sets, arms * dimension)),
        Features::Context { dimension, rows } if state.problem.context.is_some() => {
            LastRound::Context(last(rows, dimension).into())
        }
        Features::Context { dimension, rows } => {
            LastRound::Offered(disjoint_features(&last(rows, dimension), arms))
        }
    }
}

fn replayed<'py>(py: Python<'py>, replay: &Replay) -> PyResult<Bound<'py, PyDict>> {
    let mean = |one: &Mean| (one.mean, one.lower, one.upper, one.standard_error);
    let dict = PyDict::new(py);
    dict.set_item("rows", replay.rows)?;
    dict.set_item("accepted", replay.accepted)?;
    dict.set_item("max_weight", replay.max_weight)?;
    dict.set_item("cut", replay.cut)?;
    dict.set_item("outside", replay.outside)?;
    dict.set_item("fallbacks", replay.fallbacks)?;
    dict.set_item("reward", replay.reward.as_ref().map(mean))?;
    dict.set_item("costs", replay.costs.iter().map(mean).collect::<Vec<_>>())?;
    dict.set_item("policy", &replay.policy)?;
    let curve = &replay.curve;
    dict.set_item("round", PyArray1::from_slice(py, &curve.round))?;
    dict.set_item("row", PyArray1::from_slice(py, &curve.row))?;
    let signals = std::iter::once(&curve.reward).chain(&curve.costs);
    let signals: Vec<_> = signals.map(|s| PyArray1::from_slice(py, s)).collect();
    dict.set_item("means", signals)?;
    Ok(dict)
}

/// Feeds every outcome of a log to an agent: all, or, if one is refused, none.
#[pyfunction]
pub(crate) fn warm_start_agent(
    py: Python<'_>,
    agent: &Bound<'_, Agent>,
    log: &Bound<'_, PyAny>,
) -> PyResult<u64> {
    let columns = Columns::new(log)?;
    let log = columns.log()?;
    agent.get().with(py, true, |state| {
        teach(state, log, |log, agent| {
            banister_offline::warm_start(agent, log).map_err(raise)
        })
    })?
}
