//! Errors: the one place where the core's become Python's.

use std::panic::{AssertUnwindSafe, catch_unwind};

use banister::Error;
use banister::toolkit::RANGE_ADVICE;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The exception for an error of the core: `TypeError` where a call does not suit the kind of agent,
/// else `ValueError`.
pub(crate) fn raise(error: Error) -> PyErr {
    match error {
        Error::NoFeatures => PyTypeError::new_err(
            "`actions` is given: this agent chooses among named arms and takes no feature vectors; \
             use `Oplb` for those",
        ),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// The exception for outcomes that the core refused: with the row among many, and what to declare for a number
/// outside its range.
pub(crate) fn refused(error: Error, names: &[String], rewards: &[f64], costs: &[f64]) -> PyErr {
    let Error::Invalid {
        field,
        value,
        allowed,
    } = &error
    else {
        return raise(error);
    };
    let (how, given): (_, Vec<f64>) = match names.iter().position(|name| field == &**name) {
        Some(place) => {
            let column = costs.iter().skip(place).step_by(names.len());
            let how = format!("Guardrail({:?}, ..., range=(lo, hi))", names[place]);
            (how, column.copied().collect())
        }
        None if *field != "reward" => return raise(error),
        None => (
            "reward=banister.Reward(range=(lo, hi))".into(),
            rewards.to_vec(),
        ),
    };
    let row = given.iter().position(|x| x.to_string() == *value);
    let row = row.filter(|_| given.len() > 1);
    let row = row.map_or(String::new(), |row| format!(" in row {row}"));
    let mut text = format!("`{field}` is {value}{row}: {allowed}");
    if allowed.ends_with(RANGE_ADVICE) {
        text += &format!(": {how}");
        if given.len() > 1 {
            let lo = given.iter().copied().fold(f64::INFINITY, f64::min);
            let hi = given.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            text += &format!("; those given here are from {lo} to {hi}");
        }
    }
    PyValueError::new_err(text)
}

/// A `ValueError` that names the argument, the value and what is allowed.
pub(crate) fn invalid(name: &str, value: impl std::fmt::Display, allowed: &str) -> PyErr {
    PyValueError::new_err(format!("`{name}` is {value}: {allowed}"))
}

/// A `TypeError` that names the argument, the value and what is allowed.
pub(crate) fn mistyped(name: &str, value: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    PyTypeError::new_err(format!("`{name}` is {}: {allowed}", shown(value)))
}

/// A value as errors show it: not longer than a line, with its type.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or("unprintable".into(), |r| r.to_string());
    let short: String = text.chars().take(60).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    let kind = (value.get_type().name()).map_or("object".into(), |n| n.to_string());
    format!("{short}{dots} ({kind})")
}

/// Runs native work so that a panic, which would be our own mistake, ends as a `RuntimeError`.
pub(crate) fn guarded<R>(work: impl FnOnce() -> R) -> PyResult<R> {
    // What the work was changing is either dropped or behind a lock that remembers the panic.
    catch_unwind(AssertUnwindSafe(work)).map_err(|cause| {
        let text = cause.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| cause.downcast_ref::<&str>().copied());
        PyRuntimeError::new_err(format!(
            "banister failed inside ({}); this is a mistake in banister, please report it",
            text.unwrap_or("no message")
        ))
    })
}
