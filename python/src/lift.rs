//! What arms are worth, as columns.

use banister::lift::{ArmLift, LiftInterval};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// One of the intervals of a lift.
type Of = fn(&ArmLift) -> Option<LiftInterval>;

/// Lifts as a dictionary of columns; `label` is how the caller calls an arm of a name.
pub(crate) fn lift_columns<'py>(
    py: Python<'py>,
    lifts: &[ArmLift],
    label: impl Fn(&str) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let arms = lifts.iter().map(|lift| label(&lift.arm));
    table.set_item("arm", arms.collect::<PyResult<Vec<_>>>()?)?;
    let signals: Vec<&str> = lifts.iter().map(|lift| &lift.signal[..]).collect();
    table.set_item("signal", signals)?;
    let numbers = |name: &str, of: &dyn Fn(&ArmLift) -> Option<f64>| {
        let column = lifts.iter().map(|lift| of(lift).unwrap_or(f64::NAN));
        table.set_item(name, PyArray1::from_iter(py, column))
    };
    numbers("mean", &|lift| lift.mean)?;
    numbers("safe_mean", &|lift| lift.safe_mean)?;
    let difference: Of = |lift| Some(lift.difference);
    let percent: Of = |lift| lift.percent;
    for (name, of) in [("difference", difference), ("percent", percent)] {
        numbers(name, &|lift| of(lift)?.estimate)?;
        numbers(&format!("{name}_lower"), &|lift| Some(of(lift)?.lower))?;
        numbers(&format!("{name}_upper"), &|lift| Some(of(lift)?.upper))?;
    }
    let outcomes = |of: fn(&ArmLift) -> u64| PyArray1::from_iter(py, lifts.iter().map(of));
    table.set_item("outcomes", outcomes(|lift| lift.outcomes))?;
    table.set_item("safe_outcomes", outcomes(|lift| lift.safe_outcomes))?;
    let forms: Vec<&str> = lifts.iter().map(|lift| lift.form.name()).collect();
    table.set_item("form", forms)?;
    numbers("confidence", &|lift| Some(lift.confidence))?;
    Ok(table)
}
