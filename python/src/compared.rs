//! What a comparison yields, as tables.

use std::sync::Arc;

use banister_report::tables::{self, Column, DataTable, Values};
use banister_sim::compare::{Comparison, Interval95, Published, Verdict, leaderboard, verdicts};
use banister_sim::{Gathered, Trace};
use pyo3::prelude::*;
use serde_json::json;

use crate::json::to_python;
use crate::results::{LazyTable, ResultTable, Results};

/// What a comparison yields.
#[pyclass(frozen, module = "banister._native")]
pub(crate) struct Compared {
    comparison: Comparison,
    results: Arc<banister_sim::Results>,
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
        let build = || tables::leaderboards(&self.results, &self.comparison.guarantees());
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
                text("reason", left.iter().map(|one| one.why())),
            ],
        })
    }

    /// What a figure of regret against violation shows, one entry per instance and agent: the means and
    /// the ends of their intervals, where these are known.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut points = Vec::new();
        for (instance, guarantees) in self
            .results
            .instances
            .iter()
            .zip(self.comparison.guarantees())
        {
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
    pub(crate) fn new(
        comparison: &Comparison,
        published: &[Published],
        gathered: Vec<Gathered<'_>>,
    ) -> Self {
        let results = banister_sim::Results {
            instances: gathered.iter().map(Gathered::result).collect(),
        };
        Self {
            results: Arc::new(results),
            published: published_table(&verdicts(published, &gathered)),
            traces: gathered.into_iter().map(|one| one.agents).collect(),
            comparison: comparison.clone(),
            boards: LazyTable::default(),
            pairs: LazyTable::default(),
            long: LazyTable::default(),
            verdicts: LazyTable::default(),
            absent: LazyTable::default(),
        }
    }

    fn long_table(&self) -> DataTable {
        let traces: Vec<&[Vec<Trace>]> = self.traces.iter().map(|agents| &agents[..]).collect();
        tables::long_form(&self.comparison, &self.results, &traces)
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
    let ours = |verdict: &Verdict| verdict.ours().map_or([f64::NAN; 3], ends);
    let word = |verdict: &Verdict| verdict.words();
    let words = |name: &str, of: &dyn Fn(&Published) -> String| {
        text(name, verdicts.iter().map(|(published, _)| of(published)))
    };
    let end = |name: &str, end: usize| numbers(name, verdicts.iter().map(|row| ours(&row.1)[end]));
    DataTable {
        columns: vec![
            words("instance", &|published| published.instance.clone()),
            words("agent", &|published| published.agent.clone()),
            words("measure", &|published| published.quantity.words().into()),
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
