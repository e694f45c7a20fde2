//! Comparisons: many agents on the same instances and the same outcomes, as `banister compare` makes them.

use std::path::{Path, PathBuf};

use banister::Error;
use banister::toolkit::Within;
use banister_rivals::AgentConfig;
use banister_sim::compare::{
    self, Agents, Entry, Fields, Journal, JournalError, PublishedNumber, SUITES, Suite, expand,
};
use banister_sim::{ExperimentConfig, Options};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::build::in_arguments;
use crate::compared::Compared;
use crate::foreign::Failures;
use crate::json::{declared, read, to_json, without_nulls};
use crate::simulate::{agent_sources, pool, raise, shown, watched};

/// The suites by name, each with what it is for.
#[pyfunction]
pub(crate) fn suites() -> Vec<(&'static str, &'static str)> {
    SUITES.to_vec()
}

/// Replacements for the settings of all instances.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    horizon: Option<u64>,
    runs: Option<u64>,
    seed: Option<u64>,
    instance_seed: Option<u64>,
}

/// A checked comparison, ready to run.
#[pyclass(frozen, module = "banister._native")]
pub(crate) struct Comparison {
    comparison: compare::Comparison,
    published: Vec<PublishedNumber>,
    failures: Failures,
    is_foreign: bool,
}

#[pymethods]
impl Comparison {
    /// `sources`: names of suites, and pairs of a name and an experiment. `agents` as `Experiment`
    /// takes them; lists of values in them make one agent each. `settings`: what replaces `horizon`,
    /// `runs` and `seed` of all instances, and the `instance_seed`.
    #[new]
    #[pyo3(signature = (sources, agents=None, *, settings, skip_unfit=false, folder=""))]
    fn new(
        sources: &Bound<'_, PyList>,
        agents: Option<&Bound<'_, PyList>>,
        settings: &Bound<'_, PyDict>,
        skip_unfit: bool,
        folder: &str,
    ) -> PyResult<Self> {
        let failures = Failures::default();
        let settings: Settings = read(settings.as_any(), "")?;
        let (mut entries, mut published) = (Vec::new(), Vec::new());
        for source in sources.iter() {
            if let Ok(name) = source.cast::<PyString>() {
                let instance_seed = settings.instance_seed.unwrap_or(1);
                let suite = Suite::named(name.to_str()?, instance_seed);
                let suite = suite.map_err(in_arguments)?;
                entries.extend(suite.entries);
                published.extend(suite.published);
            } else {
                let (name, experiment): (String, Bound<'_, PyAny>) = source.extract()?;
                entries.extend(expanded(&experiment, &name)?);
            }
        }
        for entry in &mut entries {
            entry.set_run(settings.horizon, settings.runs, settings.seed);
        }
        let (asked, is_foreign) = match agents {
            None => (Agents::Proposed, false),
            Some(agents) => {
                let (agents, is_foreign) = agent_sources(agents, &failures, variants)?;
                (Agents::Given(agents), is_foreign)
            }
        };
        let comparison =
            compare::Comparison::plan_in(entries, &asked, skip_unfit, Path::new(folder))
                .map_err(|error| raise(error, &failures))?;
        Ok(Self {
            comparison,
            published,
            failures,
            is_foreign,
        })
    }

    /// Plays it on all cores. `checkpoint` is a file that holds every finished run until all are;
    /// what it holds already is not played again. `progress` as for `run_experiments`.
    #[pyo3(signature = (threads=None, timing=true, checkpoint=None, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        timing: bool,
        checkpoint: Option<PathBuf>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Compared> {
        let experiments = &self.comparison.experiments;
        let journal = checkpoint.map(|path| Journal::open(&path, experiments, false));
        let (journal, done) = journal.transpose().map_err(not_kept)?.unzip();
        let options = Options { no_timing: !timing };
        let pool = pool(threads, self.is_foreign)?;
        let failures = &self.failures;
        let gathered = watched(py, shown(progress, experiments), failures, |monitor| {
            let journal = journal.as_ref().zip(done);
            let played = pool.install(|| self.comparison.run(options, monitor, journal));
            played.map_err(|error| match error {
                JournalError::Refused(error) => error,
                other => failures.keep(not_kept(other)),
            })
        })?;
        let compared = py.detach(|| Compared::new(&self.comparison, &self.published, gathered));
        // Only now: the runs are in the results.
        if let Some(journal) = journal {
            journal.remove().map_err(not_kept)?;
        }
        Ok(compared)
    }
}

/// A journal that cannot be used is an OSError, one that must not be a ValueError.
fn not_kept(error: JournalError) -> PyErr {
    match error {
        JournalError::Refused(Error::Invalid { value, allowed, .. }) => {
            let allowed = allowed.replace("start again (`--restart`)", "delete it to start again");
            in_arguments(Error::invalid("checkpoint", value, allowed))
        }
        JournalError::Refused(error) => in_arguments(error),
        unusable => PyOSError::new_err(unusable.to_string()),
    }
}

/// The instances of an experiment, lists of values in it expanded.
fn expanded(experiment: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Entry>> {
    let value = plain(to_json(experiment, "suite")?);
    expand(&value, name).map_err(|error| match error {
        // Read again without the expansion, which hides the key that is wrong.
        Error::Invalid { ref field, .. } if *field == "experiment" => {
            named::<ExperimentConfig>(value, "suite", error)
        }
        other => in_arguments(other),
    })
}

/// The error about a declaration, with the key that is wrong if serde knows it.
fn named<T: DeserializeOwned>(value: Value, path: &str, error: Error) -> PyErr {
    let better = declared::<T>(value, path).err();
    better.unwrap_or_else(|| in_arguments(error))
}

/// Without what is None, which stands for a default, in the tables and lists of tables.
fn plain(value: Value) -> Value {
    match without_nulls(value) {
        Value::Object(map) => map
            .into_iter()
            .map(|(key, own)| (key, plain(own)))
            .collect(),
        Value::Array(list) => list.into_iter().map(plain).collect(),
        other => other,
    }
}

/// The agents that a declaration makes, with what was swept.
fn variants(value: Value, path: &str) -> PyResult<Vec<(AgentConfig, Fields)>> {
    // Any environment will do: it is not looked at.
    let file = json!({ "environment": { "kind": "bernoulli" }, "agent": [&value] });
    let entries = expand(&file, path).map_err(|error| match error {
        Error::Invalid { ref field, .. } if field.first() == Some("agent") => {
            in_arguments(error.with_path(|own| own.moved(("agent", 0), path)))
        }
        error => named::<AgentConfig>(value, path, error),
    })?;
    Ok(entries
        .into_iter()
        .flat_map(|entry| entry.experiment.agent.into_iter().zip(entry.agent_fields))
        .collect())
}
