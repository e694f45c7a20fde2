//! Logged data: estimates, verdicts, replay, warm start.

use std::sync::atomic::Ordering;

use banister::toolkit::Direction;
use banister::{ArmLift, Error, Registry as _, SignalConfig};
use banister_offline::{
    CheckedLog, Estimates, Estimator, Features, GuardrailVerdict, IntervalKind, Log, Model,
    Options, ReplayOptions, Target, disjoint_features, estimate, estimate_by_segment, verdicts,
};
use banister_rivals::AgentConfig;
use pyo3::prelude::*;
use pyo3::types::PyInt;
use serde::Serialize;

use crate::agent::Agent;
use crate::build::{guardrails, in_arguments, reward};
use crate::error::{guarded, raise};
use crate::foreign::Failures;
use crate::input::{Numbers, count};
use crate::json::{declared, read, to_python};
use crate::log::{Columns, with_ranges};
use crate::simulate::watched;
use crate::state::{AgentState, LastRound};

/// The policy to be judged: an arm's number, one row of probabilities, or a row for each round.
enum Policy<'py> {
    Arm(usize),
    Numbers(Numbers<'py>),
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
        } else {
            numbers.expect(&[Some(columns.arms)], "one probability per arm")?;
        }
        Ok(Self::Numbers(numbers))
    }

    fn target(&self) -> PyResult<Target<'_>> {
        Ok(match self {
            Self::Arm(arm) => Target::Arm(*arm),
            Self::Numbers(rows) if rows.shape().len() == 2 => Target::Rows(rows.slice()?),
            Self::Numbers(row) => Target::Fixed(row.slice()?),
        })
    }
}

/// Estimates the reward and every cost of a policy, and judges the guardrails.
///
/// Without more, the estimates of the whole log. `by_segment`: a list of those by segment, the segments with the most
/// rounds first, each after the segment's name and before the reason why there are none. `safe`, the safe arm: the
/// verdicts on the guardrails, which are then those of the log in its order. `lift`, its form: the arms' lifts over
/// the policy, an arm.
#[pyfunction]
#[pyo3(signature = (log, policy, *, model, reward, guardrails, options, by_segment=false, safe=None, lift=None))]
#[expect(clippy::too_many_arguments, reason = "the parts of a question")]
pub(crate) fn evaluate_log<'py>(
    py: Python<'py>,
    log: &Bound<'py, PyAny>,
    policy: &Bound<'py, PyAny>,
    model: Option<&Bound<'py, PyAny>>,
    reward: Option<&Bound<'py, PyAny>>,
    guardrails: Option<&Bound<'py, PyAny>>,
    options: &Bound<'py, PyAny>,
    by_segment: bool,
    safe: Option<usize>,
    lift: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let columns = Columns::new(log)?;
    let policy = Policy::new(policy, &columns)?;
    let expected = [1 + columns.guardrails.len(), columns.rounds(), columns.arms].map(Some);
    let meaning = "(signals, rounds, arms), the reward first";
    let model = model.map(|model| Numbers::shaped(model, "model", &expected, meaning));
    let model = model.transpose()?;
    let reward = reward.map(|given| self::reward(Some(given))).transpose()?;
    let guardrails = self::guardrails(guardrails)?;
    let options: Options = read(options, "")?;
    let needed = options.interval == IntervalKind::Mixture && options.estimator != Estimator::Dm;
    let log = with_ranges(columns.log()?, reward.as_ref(), &guardrails, needed)?;
    let target = policy.target()?;
    let form = lift.map(|form| read(form, "form"));
    let form = form.transpose()?;
    let model = match &model {
        None => Model::Fitted,
        Some(numbers) => Model::Given(numbers.slice()?),
    };
    let ask = || -> Result<Answer, Error> {
        let log = log.check()?;
        Ok(if let (Some(form), Target::Arm(safe)) = (form, target) {
            Answer::Lifts(banister_offline::lift(&log, safe, form, &options)?)
        } else if let Some(safe) = safe {
            Answer::Verdicts(verdicts(&log, target, model, &guardrails, safe, &options)?)
        } else if by_segment {
            let each = estimate_by_segment(&log, target, model, &options)?.into_iter();
            let each = each.map(|own| match own.estimates {
                Ok(estimates) => (own.segment, Some(estimates), None),
                Err(error) => (own.segment, None, Some(error.to_string())),
            });
            Answer::BySegment(each.collect())
        } else {
            Answer::Whole(estimate(&log, target, model, &options)?)
        })
    };
    let answer = py.detach(|| guarded(ask))?.map_err(in_arguments)?;
    to_python(py, &answer)
}

/// Answer of [`evaluate_log`].
#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Whole(Estimates),
    BySegment(Vec<(String, Option<Estimates>, Option<String>)>),
    Verdicts(Vec<GuardrailVerdict>),
    Lifts(Vec<ArmLift>),
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
    state: &mut AgentState,
    log: Log,
    work: impl FnOnce(&CheckedLog, &mut dyn banister::Agent) -> Result<R, Error>,
) -> Result<R, Error> {
    let problem = &state.problem;
    // Rounds bring the first signal of a reward that is made of some.
    let checked = problem.check()?;
    let own = checked.own_signal(usize::MAX, checked.reported());
    let reported = SignalConfig {
        range: Some([own.lo, own.hi].into()),
        cap: own.capped.then_some(own.hi),
        sub_gaussian: own.sub_gaussian,
        ..SignalConfig::default()
    };
    let reward = match &problem.reward.expression {
        None => &problem.reward,
        Some(_) => &reported,
    };
    let log = log.declare(reward, &problem.measured()).check()?;
    let before = state.session.agent.save()?;
    let done = work(&log, state.session.agent.as_mut());
    if done.is_err() {
        state.session.agent = AgentConfig::restore(&before)?.agent;
    }
    state.refresh_assumptions();
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
) -> PyResult<Bound<'py, PyAny>> {
    let columns = Columns::new(log)?;
    let options: ReplayOptions = read(options, "")?;
    let log = columns.log()?;
    let total = log.actions.len() as u64;
    let (features, arms) = (log.features, log.arms);
    let (agent, failures) = (agent.get(), Failures::default());
    let progress = progress.map(|callback| (callback, total));
    let done = watched(py, progress, &failures, |monitor| {
        let mut stop = |rows: u64| {
            monitor.work.store(rows, Ordering::Relaxed);
            monitor.rounds.store(rows, Ordering::Relaxed);
            monitor.cancelled.load(Ordering::Relaxed)
        };
        let replay = |state: &mut AgentState| {
            let done = teach(state, log, |log, agent| {
                let done = banister_offline::replay(log, agent, &options, &mut stop)?;
                if monitor.cancelled.load(Ordering::Relaxed) {
                    // So that the agent is as it was; the interruption itself is raised.
                    let reason = String::from("interrupted");
                    return Err(Error::UserCode { reason });
                }
                Ok(done)
            })?;
            state.enter(last_round(features, arms, state));
            Ok(Some(done))
        };
        failures.attach(|py| agent.with(py, true, replay))?
    })?;
    to_python(py, &done)
}

/// The last round of a log as an agent takes it.
fn last_round(features: Features, arms: usize, state: &AgentState) -> LastRound {
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

/// Feeds every outcome of a log to an agent: all, or none if one is refused. Returns what it cannot teach.
#[pyfunction]
pub(crate) fn warm_start_agent(
    py: Python<'_>,
    agent: &Bound<'_, Agent>,
    log: &Bound<'_, PyAny>,
    frequencies: &Bound<'_, PyAny>,
) -> PyResult<Vec<String>> {
    let columns = Columns::new(log)?;
    let log = columns.log()?;
    let frequencies = read(frequencies, "frequencies")?;
    let taught = agent.get().with(py, true, |state| {
        teach(state, log, |log, agent| {
            banister_offline::warm_start(agent, log, frequencies)
        })
    })?;
    taught.map_err(raise)
}
