//! Experiments and their simulation: in native threads, with progress and interruption by Python.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use banister::{Error, Problem};
use banister_rivals::AgentConfig;
use banister_sim::compare::Fields;
use banister_sim::{
    AgentSource, CustomExperiment, EnvironmentConfig, ExperimentConfig, Options, Progress,
    RunConfig, Shard, TableConfig, gather, plan, run, run_shard,
};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use serde_json::Value;

use crate::build::{guardrails, in_arguments, reward};
use crate::error::{guarded, mistyped};
use crate::foreign::{self, Failures};
use crate::json::{declared, read, to_json, to_python, without_nulls};
use crate::results::Results;

/// Interval between Python's looks at a running simulation.
const LOOK: Duration = Duration::from_millis(50);

/// A checked experiment, ready to run.
#[pyclass(frozen, module = "banister._native")]
pub(crate) struct Experiment {
    pub(crate) experiment: banister_sim::Experiment,
    pub(crate) failures: Failures,
    /// True if an environment or an agent is written in Python: more threads would not help.
    is_foreign: bool,
}

#[pymethods]
impl Experiment {
    /// `environment` and `agents` as `banister.simulate` takes them, already put in order: agents are
    /// pairs of a label and a maker, or declarations.
    #[new]
    #[pyo3(signature = (environment, agents, *, run, guardrails=None, reward=None, name="simulation", folder="", problem=None))]
    #[expect(clippy::too_many_arguments, reason = "the parts of an experiment")]
    fn new(
        environment: &Bound<'_, PyAny>,
        agents: &Bound<'_, PyList>,
        run: &Bound<'_, PyAny>,
        guardrails: Option<&Bound<'_, PyAny>>,
        reward: Option<&Bound<'_, PyAny>>,
        name: &str,
        folder: &str,
        problem: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let failures = Failures::default();
        let run: RunConfig = read(run, "run")?;
        let guardrails = self::guardrails(guardrails)?;
        let reward = self::reward(reward)?;
        let one = |value, path: &str| Ok(vec![(declared(value, path)?, Vec::new())]);
        let (agents, foreign_agents) = agent_sources(agents, &failures, one)?;
        let agents = agents.into_iter().map(|(agent, _)| agent).collect();
        let checked = match problem {
            None => ExperimentConfig {
                name: None,
                run,
                environment: self::environment(environment)?,
                reward,
                guardrail: guardrails,
                agent: Vec::new(),
            }
            .check_with(name, &PathBuf::from(folder), agents),
            Some(problem) => {
                let names = guardrails.iter().map(|g| g.name.clone()).collect();
                let problem = Problem {
                    guardrails,
                    reward,
                    ..read(problem.as_any(), "environment")?
                };
                let environment = foreign_environment(environment, names, &failures)?;
                CustomExperiment {
                    name: name.into(),
                    run,
                    problem,
                    environment: Arc::new(environment),
                    agents,
                }
                .check()
            }
        };
        Ok(Self {
            experiment: checked.map_err(|error| raise(error, &failures))?,
            failures,
            is_foreign: problem.is_some() || foreign_agents,
        })
    }

    /// Labels of the agents.
    #[getter]
    fn labels(&self) -> Vec<String> {
        let agents = self.experiment.agents().iter();
        agents.map(|(label, _)| label.clone()).collect()
    }

    /// The experiment as resolved, in the words of TOML.
    #[getter]
    fn resolved<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.experiment.resolved)
    }

    /// The work of all runs together, about its nanoseconds on one core.
    #[getter]
    fn total_work(&self) -> u64 {
        self.experiment.total_work()
    }

    /// Tasks of about this much work: an agent's place and its runs from, to.
    fn plan(&self, work_per_task: u64) -> Vec<(usize, u64, u64)> {
        let tasks = plan(&self.experiment, work_per_task).into_iter();
        tasks
            .map(|(agent, runs)| (agent, runs.start, runs.end))
            .collect()
    }

    /// Runs of one agent on one thread, as bytes for `gather`.
    fn run_shard<'py>(
        &self,
        py: Python<'py>,
        agent: usize,
        start: u64,
        end: u64,
        timing: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let options = Options { no_timing: !timing };
        let work = |monitor: &Progress| {
            let shard = run_shard(&self.experiment, agent, start..end, options, monitor)?;
            shard.map(|shard| shard.to_bytes()).transpose()
        };
        let bytes = watched(py, None, &self.failures, work)?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// The results that shards make together, in whatever order they come.
#[pyfunction(name = "gather")]
pub(crate) fn gather_shards(
    experiments: Vec<PyRef<'_, Experiment>>,
    shards: Vec<Vec<u8>>,
) -> PyResult<Results> {
    let shards = shards.iter().map(|bytes| Shard::from_bytes(bytes));
    let shards = shards
        .collect::<Result<Vec<_>, _>>()
        .map_err(crate::error::raise)?;
    let experiments: Vec<_> = experiments.iter().map(|e| e.experiment.clone()).collect();
    let results = gather(&experiments, shards).map_err(crate::error::raise)?;
    Ok(Results::new(results))
}

/// Rows of a table that a run's agents learn from beforehand, and those played: `declared` has `order`
/// and `log`.
#[pyfunction]
pub(crate) fn table_order(
    declared: &Bound<'_, PyAny>,
    rows: usize,
    horizon: u64,
    seed: u64,
    run: u64,
) -> PyResult<(Vec<usize>, Vec<usize>)> {
    let config: TableConfig = read(declared, "table")?;
    config
        .order(rows, horizon, seed, run)
        .map_err(crate::error::raise)
}

/// Runs experiments on all cores. `progress` is called with the share of the work done and the
/// number of rounds.
#[pyfunction]
#[pyo3(signature = (experiments, threads=None, timing=true, progress=None))]
pub(crate) fn run_experiments(
    py: Python<'_>,
    experiments: Vec<PyRef<'_, Experiment>>,
    threads: Option<usize>,
    timing: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let is_foreign = experiments.iter().any(|e| e.is_foreign);
    let failures = experiments
        .first()
        .map(|e| e.failures.clone())
        .unwrap_or_default();
    let list: Vec<_> = experiments.iter().map(|e| e.experiment.clone()).collect();
    let options = Options { no_timing: !timing };
    let pool = pool(threads, is_foreign)?;
    let results = watched(py, shown(progress, &list), &failures, |monitor| {
        pool.install(|| run(&list, options, monitor))
    })?;
    Ok(Results::new(results))
}

/// The threads of a simulation. With code written in Python more than one would not help.
pub(crate) fn pool(threads: Option<usize>, is_foreign: bool) -> PyResult<rayon::ThreadPool> {
    let threads = if is_foreign { Some(1) } else { threads };
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .map_err(|error| PyRuntimeError::new_err(format!("cannot start threads: {error}")))
}

/// A callback for progress, with the work of all experiments together.
pub(crate) fn shown(
    progress: Option<&Bound<'_, PyAny>>,
    experiments: &[banister_sim::Experiment],
) -> Option<(Py<PyAny>, u64)> {
    let work = experiments.iter().map(|e| e.total_work());
    let total = work.fold(0, u64::saturating_add);
    progress.map(|callback| (callback.clone().unbind(), total))
}

/// TOML text as a dictionary. Python 3.10 has no reader of its own.
#[pyfunction]
pub(crate) fn read_toml<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let value: Value = toml::from_str(text)
        .map_err(|error| PyValueError::new_err(format!("the TOML cannot be read: {error}")))?;
    to_python(py, &value)
}

/// Does native work on a thread of its own, while this one shows progress and listens for Ctrl-C.
pub(crate) fn watched<R: Send>(
    py: Python<'_>,
    progress: Option<(Py<PyAny>, u64)>,
    failures: &Failures,
    work: impl FnOnce(&Progress) -> Result<Option<R>, Error> + Send,
) -> PyResult<R> {
    let monitor = Progress::default();
    let look = |py: Python<'_>| -> PyResult<()> {
        if let Some((callback, total)) = &progress {
            let done = monitor.work.load(Ordering::Relaxed) as f64 / (*total).max(1) as f64;
            callback.call1(py, (done.min(1.0), monitor.rounds.load(Ordering::Relaxed)))?;
        }
        py.check_signals()
    };
    let (outcome, interrupted) = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let monitor = &monitor;
            scope.spawn(move || {
                // The receiver is still there.
                let _ = sender.send(guarded(|| work(monitor)));
            });
            let mut interrupted = None;
            loop {
                match receiver.recv_timeout(LOOK) {
                    Err(RecvTimeoutError::Timeout) => {}
                    ended => break (ended, interrupted),
                }
                if interrupted.is_none()
                    && let Err(error) = Python::attach(look)
                {
                    monitor.cancelled.store(true, Ordering::Relaxed);
                    interrupted = Some(error);
                }
            }
        })
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    let outcome = outcome
        .map_err(|_| PyRuntimeError::new_err("a simulation thread failed; please report it"))??;
    match outcome {
        Ok(Some(done)) => {
            look(py)?;
            Ok(done)
        }
        Ok(None) => Err(PyRuntimeError::new_err("the simulation was stopped")),
        Err(error) => Err(raise(error, failures)),
    }
}

pub(crate) fn raise(error: Error, failures: &Failures) -> PyErr {
    failures
        .take_exception(&error)
        .unwrap_or_else(|| in_arguments(error))
}

/// The environment as declared.
fn environment(value: &Bound<'_, PyAny>) -> PyResult<EnvironmentConfig> {
    let value = without_nulls(to_json(value, "environment")?);
    let error = serde_json::from_value::<EnvironmentConfig>(value.clone()).err();
    let kind = value["kind"].as_str().unwrap_or("");
    match error.and_then(|error| EnvironmentConfig::explain_key(kind, &error.to_string())) {
        Some(error) => Err(in_arguments(error)),
        None => declared(value, "environment"),
    }
}

/// Agents, each with the values of its sweep, and whether any is written in Python.
type Sources = (Vec<(AgentSource, Fields)>, bool);

/// Reads agents: pairs of a label and what makes one, or declarations, of which `read` makes one or many.
pub(crate) fn agent_sources(
    agents: &Bound<'_, PyList>,
    failures: &Failures,
    read: impl Fn(Value, &str) -> PyResult<Vec<(AgentConfig, Fields)>>,
) -> PyResult<Sources> {
    let mut sources = Vec::new();
    let mut any_foreign = false;
    for (i, agent) in agents.iter().enumerate() {
        let path = format!("agents[{i}]");
        if let Ok(pair) = agent.cast::<PyTuple>() {
            let (label, make): (String, Py<PyAny>) = pair.extract()?;
            let agent = foreign::agent(label, make, failures.clone());
            sources.push((agent.into(), Vec::new()));
            any_foreign = true;
            continue;
        }
        let value = to_json(&agent, &path)?;
        if !value.is_object() {
            let allowed = "must be an agent's declaration";
            return Err(mistyped(&path, &agent, allowed));
        }
        let declared = read(without_nulls(value), &path)?.into_iter();
        sources.extend(declared.map(|(config, swept)| (config.into(), swept)));
    }
    Ok((sources, any_foreign))
}

fn foreign_environment(
    object: &Bound<'_, PyAny>,
    guardrails: Vec<String>,
    failures: &Failures,
) -> PyResult<foreign::Environment> {
    let own = |name| Ok::<_, PyErr>(object.getattr_opt(name)?.filter(|own| !own.is_none()));
    Ok(foreign::Environment {
        knows_means: own("means")?.is_some(),
        actions_change: own("safe_action")?.is_some(),
        safe_means: own("safe_means")?.map(|own| own.extract()).transpose()?,
        object: object.clone().unbind(),
        guardrails,
        failures: failures.clone(),
    })
}
