//! Plans: times until arms are certified, as plain values.

use banister_report::{Figure, svg};
use banister_sim::planning::{self, Question};
use pyo3::prelude::*;
use serde_json::json;

use crate::json::to_python;
use crate::simulate::{Experiment, pool, shown, watched};

/// Plans with the first agent of an experiment: the answer, and the figure as SVG.
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
    let question = Question {
        horizon,
        lift,
        traffic,
    };
    let own = &experiment.experiment;
    let pool = pool(threads, false)?;
    let total = shown(progress, std::slice::from_ref(own));
    let plan = watched(py, total, &experiment.failures, |monitor| {
        pool.install(|| planning::plan(own, question, monitor))
    })?;
    let drawing = py.detach(|| svg::render(&Figure::of_plan(&plan)));
    Ok((to_python(py, &json!(plan))?, drawing))
}
