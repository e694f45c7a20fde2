//! Comparisons: many agents on the same instances and the same outcomes, as `banister compare` makes them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use banister::{AgentConfig, Error, Guarantee};
use banister_report::tables::{self, Column, DataTable, LongRow, Values};
use banister_sim::compare::{
    self, Agents, Entry, FieldValue, Interval95, Journal, Published, Quantity, SUITES, Suite,
    Verdict, expand, leaderboard, verdicts,
};
use banister_sim::{AgentSource, ExperimentConfig, Gathered, Options, Trace};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::build::{declared, in_arguments, without_nulls};
use crate::foreign::Failures;
use crate::json::{to_json, to_python};
use crate::results::{LazyTable, ResultTable, Results};
use crate::simulate::{Given, pool, raise, shown, watched};

/// The suites by name, each with what it is for.
#[pyfunction]
pub(crate) fn suites() -> Vec<(&'static str, &'static str)> {
    SUITES.to_vec()
}

/// A field that was swept, and its value.
type Field = (String, FieldValue);

/// What replaces the settings of all instances.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    horizon: Option<u64>,
    runs: Option<u64>,
    seed: Option<u64>,
    instance_seed: Option<u64>,
}

impl Settings {
    fn apply(&self, entry: &mut Entry) {
        let run = &mut entry.experiment.run;
        run.horizon = self.horizon.unwrap_or(run.horizon);
        run.runs = self.runs.unwrap_or(run.runs);
        run.seed = self.seed.unwrap_or(run.seed);
        // A short look at a long experiment has fewer rounds than its curves had points.
        let most = usize::try_from(run.horizon).unwrap_or(usize::MAX);
        run.checkpoints = run.checkpoints.min(most);
    }
}

/// A checked comparison, ready to run.
#[pyclass(frozen, module = "banister._native")]
pub(crate) struct Comparison {
    comparison: compare::Comparison,
    published: Vec<Published>,
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
        let settings: Settings =
            declared(without_nulls(to_json(settings.as_any(), "settings")?), "")?;
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
        entries.iter_mut().for_each(|entry| settings.apply(entry));
        let given = agents
            .map(|agents| GivenAgents::new(agents, &failures))
            .transpose()?;
        let asked = match &given {
            None => Agents::Proposed,
            Some(given) => Agents::Given(given.agents.clone()),
        };
        let fixed: Vec<bool> = entries.iter().map(|entry| entry.fixed).collect();
        let mut comparison =
            compare::Comparison::plan_in(entries, &asked, skip_unfit, Path::new(folder))
                .map_err(|error| raise(in_words(error), &failures))?;
        if let Some(given) = &given {
            given.name_fields(&mut comparison, &fixed);
        }
        Ok(Self {
            comparison,
            published,
            failures,
            is_foreign: given.is_some_and(|given| given.any_foreign),
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
        let journal = match checkpoint {
            None => None,
            Some(path) => Some(Journal::open(&path, experiments).map_err(in_arguments)?),
        };
        let (journal, done) = match journal {
            Some((journal, done)) => (Some(journal), done),
            None => (None, Vec::new()),
        };
        let options = Options { no_timing: !timing };
        let pool = pool(threads, self.is_foreign)?;
        let gathered = watched(
            py,
            shown(progress, experiments),
            &self.failures,
            |monitor| {
                let journal = journal.as_ref().map(|journal| (journal, done));
                pool.install(|| self.comparison.run(options, monitor, journal))
            },
        )?;
        let compared = py.detach(|| self.compared(gathered));
        // Only now: the runs are in the results.
        if let Some(journal) = journal {
            journal.remove().map_err(in_arguments)?;
        }
        Ok(compared)
    }
}

impl Comparison {
    fn compared(&self, gathered: Vec<Gathered<'_>>) -> Compared {
        let results = banister_sim::Results {
            instances: gathered.iter().map(Gathered::result).collect(),
        };
        let published = published_table(&verdicts(&self.published, &gathered));
        Compared {
            results: Arc::new(results),
            published,
            rounds: gathered.iter().map(Gathered::rounds).collect(),
            traces: gathered.into_iter().map(|one| one.agents).collect(),
            comparison: self.comparison.clone(),
            boards: LazyTable::default(),
            pairs: LazyTable::default(),
            long: LazyTable::default(),
            verdicts: LazyTable::default(),
            absent: LazyTable::default(),
        }
    }
}

/// The instances of an experiment, lists of values in it expanded.
fn expanded(experiment: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Entry>> {
    let value = plain(to_json(experiment, "suite")?);
    expand(&value, name).map_err(|error| match error {
        // What cannot be read as an experiment: which of its keys it is shows without the expansion.
        Error::Invalid { ref field, .. } if field == "experiment" => {
            match declared::<ExperimentConfig>(value, "suite") {
                Err(better) => better,
                Ok(_) => in_arguments(error),
            }
        }
        other => in_arguments(other),
    })
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

/// The agents that were asked for.
struct GivenAgents {
    agents: Vec<AgentSource>,
    /// By label, what was swept to make them.
    fields: HashMap<String, Vec<Field>>,
    any_foreign: bool,
}

impl GivenAgents {
    fn new(agents: &Bound<'_, PyList>, failures: &Failures) -> PyResult<Self> {
        let mut given = Self {
            agents: Vec::new(),
            fields: HashMap::new(),
            any_foreign: false,
        };
        for (i, agent) in agents.iter().enumerate() {
            let path = format!("agents[{i}]");
            match Given::new(&agent, &path, failures)? {
                Given::Foreign(agent) => {
                    given.agents.push(agent);
                    given.any_foreign = true;
                }
                Given::Declared(value) => {
                    for (config, fields) in variants(value, &path)? {
                        given.fields.insert(config.label(), fields);
                        given.agents.push(config.into());
                    }
                }
            }
        }
        Ok(given)
    }

    /// Says in the plan what was swept, which agents that are asked for everywhere do not by themselves.
    /// `fixed`: per instance, whether it has agents of its own whatever is asked for.
    fn name_fields(&self, comparison: &mut compare::Comparison, fixed: &[bool]) {
        let instances = (comparison.experiments.iter()).zip(&mut comparison.agent_fields);
        for ((experiment, places), fixed) in instances.zip(fixed) {
            for ((label, _), place) in experiment.agents().iter().zip(places) {
                if let Some(fields) = self.fields.get(label).filter(|_| !fixed) {
                    place.clone_from(fields);
                }
            }
        }
    }
}

/// The agents that a declaration makes, with what was swept.
fn variants(value: Value, path: &str) -> PyResult<Vec<(AgentConfig, Vec<Field>)>> {
    // Any environment will do: it is not looked at.
    let file = json!({ "environment": { "kind": "bernoulli" }, "agent": [&value] });
    let entries = match expand(&file, path) {
        Ok(entries) => entries,
        Err(Error::Invalid {
            field,
            value,
            allowed,
        }) if field.starts_with("agent[0]") => {
            let field = field.replacen("agent[0]", path, 1);
            return Err(in_arguments(Error::invalid(field, value, allowed)));
        }
        Err(error) => {
            return match declared::<AgentConfig>(value, path) {
                Err(better) => Err(better),
                Ok(_) => Err(in_arguments(error)),
            };
        }
    };
    let entries = entries.into_iter();
    Ok(entries
        .flat_map(|entry| entry.experiment.agent.into_iter().zip(entry.agent_fields))
        .collect())
}

/// The engine's words for Python's arguments.
fn in_words(error: Error) -> Error {
    match error {
        Error::Invalid {
            field,
            value,
            allowed,
        } if field == "agent" => Error::invalid(
            "agents",
            value,
            allowed.replace(
                "skip what does not fit",
                "give `skip_unfit=True` to go on without them where they do not fit",
            ),
        ),
        other => other,
    }
}

/// What a comparison yields.
#[pyclass(frozen, module = "banister._native")]
pub(crate) struct Compared {
    comparison: compare::Comparison,
    results: Arc<banister_sim::Results>,
    /// Per instance the checkpoints.
    rounds: Vec<Vec<u64>>,
    /// Per instance and agent its runs.
    traces: Vec<Vec<Vec<Trace>>>,
    published: DataTable,
    boards: LazyTable,
    pairs: LazyTable,
    long: LazyTable,
    verdicts: LazyTable,
    absent: LazyTable,
}

#[pymethods]
impl Compared {
    /// Curves and runs.
    #[getter]
    fn results(&self) -> Results {
        Results::new(Arc::clone(&self.results))
    }

    /// One row per instance and agent, best first.
    #[getter]
    fn leaderboard(&self) -> ResultTable {
        let build = || tables::leaderboards(&self.results, &self.guarantees());
        self.boards.get(build)
    }

    /// Paired differences: one row per instance and pair of agents.
    #[getter]
    fn pairs(&self) -> ResultTable {
        self.pairs.get(|| tables::pairs(&self.results))
    }

    /// Every run at every checkpoint, with the values that were swept.
    #[getter]
    fn traces(&self, py: Python<'_>) -> ResultTable {
        py.detach(|| self.long.get(|| self.long_table()))
    }

    /// Published numbers beside ours.
    #[getter]
    fn published(&self) -> ResultTable {
        self.verdicts.get(|| self.published.clone())
    }

    /// Agents that do not fit an instance.
    #[getter]
    fn left_out(&self) -> ResultTable {
        let left = &self.comparison.left_out;
        self.absent.get(|| DataTable {
            columns: vec![
                text("instance", left.iter().map(|one| one.instance.clone())),
                text("agent", left.iter().map(|one| one.agent.clone())),
                text("reason", left.iter().map(|one| one.reason.to_string())),
            ],
        })
    }

    /// What a figure of regret against violation shows, one entry per instance and agent: the means and
    /// the ends of their intervals, where these are known.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut points = Vec::new();
        for (instance, guarantees) in self.results.instances.iter().zip(self.guarantees()) {
            for standing in leaderboard(instance) {
                let place = instance
                    .agents
                    .iter()
                    .position(|a| a.name == standing.agent);
                points.push(json!({
                    "instance": instance.name,
                    "agent": standing.agent,
                    "guarantee": place.map(|place| guarantees[place].words()),
                    "regret": ends(&standing.regret),
                    "violation_share": ends(&standing.violation_share),
                }));
            }
        }
        to_python(py, &json!(points))
    }
}

impl Compared {
    /// Per instance, what each of its agents promises. Agents written in Python promise nothing.
    fn guarantees(&self) -> Vec<Vec<Guarantee>> {
        let of = |agent: &(String, AgentSource)| {
            let config = agent.1.config();
            config.map_or(Guarantee::Unsafe, AgentConfig::guarantee)
        };
        let experiments = self.comparison.experiments.iter();
        experiments
            .map(|experiment| experiment.agents().iter().map(of).collect())
            .collect()
    }

    fn long_table(&self) -> DataTable {
        let swept = (self.comparison.fields.iter()).zip(&self.comparison.agent_fields);
        let swept: Vec<Vec<Vec<Field>>> = swept
            .map(|(instance, agents)| {
                let all = |own: &Vec<Field>| instance.iter().chain(own).cloned().collect();
                agents.iter().map(all).collect()
            })
            .collect();
        let mut rows = Vec::new();
        for (i, instance) in self.results.instances.iter().enumerate() {
            for (a, agent) in instance.agents.iter().enumerate() {
                rows.extend(self.traces[i][a].iter().map(|trace| LongRow {
                    instance: &instance.name,
                    agent: &agent.name,
                    guardrails: &instance.guardrails,
                    rounds: &self.rounds[i],
                    trace,
                    fields: &swept[i][a],
                }));
            }
        }
        tables::traces(&rows)
    }
}

/// Mean, lower and upper end; what is unknown is None in Python.
fn ends(interval: &Interval95) -> [f64; 3] {
    [interval.mean, interval.low, interval.high]
}

fn text(name: &str, values: impl Iterator<Item = String>) -> Column {
    Column {
        name: name.into(),
        values: Values::Text(values.collect()),
    }
}

fn numbers(name: &str, values: impl Iterator<Item = f64>) -> Column {
    let known = |x: f64| x.is_finite().then_some(x);
    Column {
        name: name.into(),
        values: Values::Number(values.map(known).collect()),
    }
}

/// Published numbers beside ours, one row each.
fn published_table(verdicts: &[(&Published, Verdict)]) -> DataTable {
    let measure = |published: &Published| match published.quantity {
        Quantity::Regret => "regret",
        Quantity::ActionRegret => "regret against the best action",
        Quantity::ActionRegretPerRoot => "regret against the best action, divided by √T",
    };
    let ours = |verdict: &Verdict| match verdict {
        Verdict::Agrees(ours) | Verdict::Differs(ours) => ends(ours),
        Verdict::OtherHorizon(_) | Verdict::Absent => [f64::NAN; 3],
    };
    let word = |verdict: &Verdict| match verdict {
        Verdict::Agrees(_) => "agrees",
        Verdict::Differs(_) => "differs",
        Verdict::OtherHorizon(_) => "other horizon",
        Verdict::Absent => "absent",
    };
    let words = |name: &str, of: &dyn Fn(&Published) -> String| {
        text(name, verdicts.iter().map(|(published, _)| of(published)))
    };
    let end = |name: &str, end: usize| numbers(name, verdicts.iter().map(|row| ours(&row.1)[end]));
    DataTable {
        columns: vec![
            words("instance", &|published| published.instance.clone()),
            words("agent", &|published| published.agent.clone()),
            words("measure", &|published| measure(published).into()),
            numbers("published", verdicts.iter().map(|row| row.0.value)),
            end("ours", 0),
            end("ours_low", 1),
            end("ours_high", 2),
            numbers("tolerance", verdicts.iter().map(|row| row.0.tolerance)),
            Column {
                name: "horizon".into(),
                values: Values::Count(verdicts.iter().map(|row| Some(row.0.horizon)).collect()),
            },
            text("verdict", verdicts.iter().map(|row| word(&row.1).into())),
            words("source", &|published| published.source.into()),
        ],
    }
}
