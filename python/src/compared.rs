//! Results of a comparison as tables.

use std::sync::Arc;

use banister_report::tables::{self, DataTable, PublishedRow, text};
use banister_sim::compare::{Comparison, PublishedNumber, verdicts};
use banister_sim::{Gathered, Trace};
use pyo3::prelude::*;

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
        let values = (&*own.results, &own.published, &own.left_out, &long.0.data);
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
        let verdicts = verdicts(published, &gathered);
        let rows = verdicts.iter().map(|(number, verdict)| PublishedRow {
            suite: "",
            number,
            runs: None,
            verdict: Some(verdict),
        });
        let published = tables::published(&rows.collect::<Vec<_>>());
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
