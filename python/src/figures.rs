//! Figures as the report crate draws them.

use banister_report::{DotPlot, Figure, png, svg};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::compared::Compared;
use crate::results::Results;

/// Draws regret, costs against their thresholds and reward over time as SVG: of all instances or of one.
#[pyfunction]
pub(crate) fn curves_svg(py: Python<'_>, results: &Results, instance: Option<usize>) -> String {
    py.detach(|| svg::render(&Figure::of_results(&chosen(&results.results, instance))))
}

/// Draws regret and violation of every agent as SVG: on all instances or on one. None where no instance has
/// both guardrails and known means.
#[pyfunction]
pub(crate) fn safety_svg(
    py: Python<'_>,
    compared: &Compared,
    instance: Option<usize>,
) -> Option<String> {
    py.detach(|| {
        let plot = DotPlot::of_results(&chosen(&compared.results, instance));
        (!plot.panels.is_empty()).then(|| svg::render(&plot))
    })
}

/// Draws an SVG of this module as PNG, at a number of pixels per unit.
#[pyfunction]
pub(crate) fn render_png<'py>(
    py: Python<'py>,
    svg: &str,
    scale: f32,
) -> PyResult<Bound<'py, PyBytes>> {
    let picture = py.detach(|| png::render_at(svg, scale));
    let picture = picture.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok(PyBytes::new(py, &picture))
}

fn chosen(results: &banister_sim::Results, instance: Option<usize>) -> banister_sim::Results {
    let all = &results.instances;
    banister_sim::Results {
        instances: instance.map_or_else(|| all.clone(), |one| vec![all[one].clone()]),
    }
}
