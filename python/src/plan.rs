//! Plans: times until arms are certified, as plain values.

use banister::toolkit::positive;
use banister_report::{Figure, ReportTable, svg, tables};
use banister_sim::planning::{self, LONGEST, Question};
use pyo3::prelude::*;
use serde_json::json;

use crate::build::in_arguments;
use crate::json::to_python;
use crate::simulate::{Experiment, pool, shown, watched};

/// Longest horizon that a plan tries where none is given.
pub(crate) const LONGEST_PLAN: u64 = LONGEST;

/// Plans with the first agent of an experiment: the answer with its tables in words, and the figure as SVG.
#[pyfunction]
#[pyo3(signature = (experiment, horizon, lift, traffic, threads=None, progress=None))]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    experiment: PyRef<'_, Experiment>,
    horizon: Option<u64>,
    lift: Option<f64>,
    traffic: Option<f64>,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    if let Some(traffic) = traffic {
        positive("traffic", traffic).map_err(in_arguments)?;
    }
    let question = Question { horizon, lift };
    let own = &experiment.experiment;
    let pool = pool(threads, false)?;
    let total = shown(progress, std::slice::from_ref(own));
    let plan = watched(py, total, &experiment.failures, |monitor| {
        pool.install(|| planning::plan(own, question, monitor))
    })?;
    let words = |table: ReportTable| {
        let rows = table.rows.into_iter();
        let text =
            |row: Vec<banister_report::Cell>| row.into_iter().map(|cell| cell.text).collect();
        let rows: Vec<Vec<String>> = rows.map(text).collect();
        json!({ "title": table.title, "head": table.header, "rows": rows })
    };
    let answer = json!({
        "plan": tables::plan_json(&plan, traffic),
        "tables": [words(tables::plan_times(&plan, traffic)), words(tables::plan_totals(&plan))],
        "notes": tables::plan_notes(&plan),
    });
    let drawing = py.detach(|| svg::render(&Figure::of_plan(&plan, traffic)));
    Ok((to_python(py, &answer)?, drawing))
}
