//! Plans: times until arms are certified, as plain values.

use banister_report::{Figure, svg, tables};
use banister_sim::planning;
use pyo3::prelude::*;

use crate::json::to_python;
use crate::simulate::{Experiment, pool, shown, watched};

/// Plans with the first agent of an experiment: the answer, and the figure as SVG.
#[pyfunction]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    experiment: PyRef<'_, Experiment>,
    lift: Option<f64>,
    traffic: Option<f64>,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let own = &experiment.experiment;
    let pool = pool(threads, false)?;
    let total = shown(progress, std::slice::from_ref(own));
    let plan = watched(py, total, &experiment.failures, |monitor| {
        pool.install(|| planning::plan(own, lift, traffic, monitor))
    })?;
    let drawing = py.detach(|| svg::render(&Figure::of_plan(&plan)));
    Ok((to_python(py, &tables::plan_json(&plan))?, drawing))
}
