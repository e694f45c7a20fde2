//! Results of a comparison as tables.

use std::sync::Arc;

use banister_report::tables::{self, Column, DataTable, count, text};
use banister_sim::compare::{
    Comparison, Interval95, PublishedNumber, Verdict, leaderboard, verdicts,
};
use banister_sim::{Gathered, Trace};
use pyo3::prelude::*;
use serde_json::json;

use crate::json::to_python;
use crate::pickle::{self, Reduced};
use crate::results::{LazyTables, ResultTable, Results};

/// Results of a comparison.
#[pyclass(frozen, module = "banister._native")]
pub(crate) struct Compared {
    pub(crate) results: Arc<banister_sim::Results>,
    /// Source of the long table.
    traces: Option<(Comparison, Traces)>,
    published: DataTable,
    left_out: DataTable,
    tables: LazyTables,
}

/// Per instance and agent its runs.
type Traces = Vec<Vec<Vec<Trace>>>;

#[pymethods]
impl Compared {
    #[new]
    fn from_pickle(pickled: &[u8]) -> PyResult<Self> {
        type Values = (banister_sim::Results, DataTable, DataTable, DataTable);
        let (results, published, left_out, long): Values = pickle::restore(pickled)?;
        let compared = Self::around(results, published, left_out);
        compared.tables.get("traces", || Some(long))?;
        Ok(compared)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let own = slf.get();
        let long = own.table(slf.py(), "traces")?;
        let values = (&*own.results, &own.published, &own.left_out, long.data());
        pickle::reduce(slf, &values)
    }

    /// Curves and runs.
    #[getter]
    fn results(&self) -> Results {
        Results::new(Arc::clone(&self.results))
    }

    /// A table by name: `leaderboard` (one row per instance and agent, by promise), `pairs` (paired differences by
    /// instance), `overall` (those over all instances), `ranks` (mean ranks over instances), `traces` (every run at
    /// every checkpoint, with the values that were swept), `published` (published numbers beside ours) or `left_out`
    /// (agents that do not fit an instance).
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<ResultTable> {
        let build = || {
            Some(match name {
                "leaderboard" => tables::leaderboards(&self.results),
                "pairs" => tables::pairs(&self.results),
                "overall" => tables::overall(&self.results),
                "ranks" => tables::ranks(&self.results),
                "traces" => self.long_table(),
                "published" => self.published.clone(),
                "left_out" => self.left_out.clone(),
                _ => return None,
            })
        };
        py.detach(|| self.tables.get(name, build))
    }

    /// Points of a figure of regret against violation, one entry per instance and agent: the means and
    /// the ends of their intervals, where these are known.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut points = Vec::new();
        for instance in &self.results.instances {
            for standing in leaderboard(instance) {
                points.push(json!({
                    "instance": instance.name,
                    "agent": standing.agent,
                    "group": standing.guarantee.words(),
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
        published: &[PublishedNumber],
        gathered: Vec<Gathered<'_>>,
    ) -> Self {
        let results = banister_sim::Results {
            instances: gathered.iter().map(Gathered::result).collect(),
        };
        let left = &comparison.left_out;
        let left_out = DataTable {
            columns: vec![
                text("instance", left.iter().map(|one| one.instance.clone())),
                text("agent", left.iter().map(|one| one.agent.clone())),
                text("reason", left.iter().map(|one| one.why())),
            ],
        };
        let published = published_table(&verdicts(published, &gathered));
        let traces = gathered.into_iter().map(|one| one.agents).collect();
        Self {
            traces: Some((comparison.clone(), traces)),
            ..Self::around(results, published, left_out)
        }
    }

    fn around(results: banister_sim::Results, published: DataTable, left_out: DataTable) -> Self {
        Self {
            results: Arc::new(results),
            traces: None,
            published,
            left_out,
            tables: LazyTables::default(),
        }
    }

    fn long_table(&self) -> DataTable {
        // Without traces the table itself was pickled.
        let Some((comparison, traces)) = &self.traces else {
            return DataTable {
                columns: Vec::new(),
            };
        };
        let traces: Vec<&[Vec<Trace>]> = traces.iter().map(|agents| &agents[..]).collect();
        tables::long_form(comparison, &self.results, &traces)
    }
}

/// Mean, lower and upper end; what is unknown is None in Python.
fn ends(interval: &Interval95) -> [f64; 3] {
    [interval.mean, interval.low, interval.high]
}

fn numbers(name: &str, values: impl Iterator<Item = f64>) -> Column {
    tables::number(name, values.map(|x| x.is_finite().then_some(x)))
}

/// Published numbers beside ours, one row each.
fn published_table(verdicts: &[(&PublishedNumber, Verdict)]) -> DataTable {
    let ours = |verdict: &Verdict| verdict.ours().map_or([f64::NAN; 3], ends);
    let word = |verdict: &Verdict| verdict.words();
    let words = |name: &str, of: &dyn Fn(&PublishedNumber) -> String| {
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
            numbers(
                "tolerance",
                (verdicts.iter()).map(|row| row.0.accuracy.tolerance().unwrap_or(f64::NAN)),
            ),
            numbers(
                "sd",
                (verdicts.iter()).map(|row| row.0.accuracy.spread().map_or(f64::NAN, |(sd, _)| sd)),
            ),
            count("horizon", verdicts.iter().map(|row| Some(row.0.horizon))),
            text("verdict", verdicts.iter().map(|row| word(&row.1))),
            words("source", &|published| published.source.clone()),
        ],
    }
}
