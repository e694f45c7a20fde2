//! Python values as JSON, the way in for declarations (guardrails, agents, environments); and back, whatever serde
//! knows.

use banister::toolkit::{FieldPath, did_you_mean};
use ciborium::Value as Cbor;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A declaration as JSON, by the rules of `banister._plain`. `path` is how the caller names it.
pub(crate) fn to_json(value: &Bound<'_, PyAny>, path: &str) -> PyResult<Value> {
    let module = value.py().import("banister._plain")?;
    let text: String = module.call_method1("as_json", (value, path))?.extract()?;
    serde_json::from_str(&text).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Reads a declaration from Python; a key that is None has its default.
pub(crate) fn read<T: DeserializeOwned>(value: &Bound<'_, PyAny>, path: &str) -> PyResult<T> {
    declared(without_nulls(to_json(value, path)?), path)
}

/// Reads a table of a declaration; `allowed` says what else was expected.
pub(crate) fn table<T: DeserializeOwned>(value: Value, path: &str, allowed: &str) -> PyResult<T> {
    if value.is_object() {
        return declared(without_nulls(value), path);
    }
    Err(PyTypeError::new_err(format!(
        "`{path}` is {value}: {allowed}"
    )))
}

pub(crate) fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(map) = &mut value {
        map.retain(|_, entry| !entry.is_null());
    }
    value
}

/// Reads a declaration; an error names the key that is at fault.
pub(crate) fn declared<T: DeserializeOwned>(value: Value, path: &str) -> PyResult<T> {
    let error = match serde_json::from_value::<T>(value.clone()) {
        Ok(declared) => return Ok(declared),
        Err(error) => error.to_string(),
    };
    if let Some(rest) = error.strip_prefix("unknown field ") {
        let inside = match path {
            "" => String::new(),
            path => format!("`{path}`: "),
        };
        let mut words = rest.split('`').skip(1).step_by(2);
        let unknown = words.next().unwrap_or_default();
        let arguments = ["arms", "guardrails", "reward", "features", "segments"].into_iter();
        let hint = did_you_mean(unknown, arguments.chain(words));
        return Err(PyTypeError::new_err(format!(
            "{inside}unexpected {rest}{hint}"
        )));
    }
    // Finds the bad key by leaving out each one: without the bad one the message changes. Serde's own path ends at
    // the table, since kinds share it.
    for (key, bad) in value.as_object().into_iter().flatten() {
        let mut rest = value.clone();
        rest.as_object_mut().map(|map| map.remove(key));
        let without = serde_json::from_value::<T>(rest).map_err(|error| error.to_string());
        if !without.is_err_and(|other| other == error || other.contains(&format!("`{key}`"))) {
            let field = FieldPath::from(key.as_str()).within(path);
            let message = format!("`{field}` is {bad}: {}", plain(&error));
            return Err(if error.starts_with("invalid type") {
                PyTypeError::new_err(message)
            } else {
                PyValueError::new_err(message)
            });
        }
    }
    Err(PyValueError::new_err(format!("{path}: {error}")))
}

/// Says what serde expected, for people who do not know Rust's types.
fn plain(error: &str) -> &str {
    match error
        .rsplit_once("expected ")
        .map_or(error, |words| words.1)
    {
        "f64" => "must be a number",
        "u64" | "usize" => "must be an integer, 0 or more",
        "a string" => "must be a string",
        "a boolean" => "must be true or false",
        _ => error,
    }
}

/// Returns a value as Python's own types, as serde describes it. By way of CBOR, since JSON has no infinity.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    value: &impl Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    let value = Cbor::serialized(value).map_err(|e| PyValueError::new_err(e.to_string()))?;
    from_cbor(py, &value)
}

fn from_cbor<'py>(py: Python<'py>, value: &Cbor) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Cbor::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Cbor::Text(text) => PyString::new(py, text).into_any(),
        Cbor::Integer(number) => i128::from(*number).into_pyobject(py)?.into_any(),
        Cbor::Float(number) => PyFloat::new(py, *number).into_any(),
        Cbor::Array(entries) => {
            let entries = entries.iter().map(|entry| from_cbor(py, entry));
            PyList::new(py, entries.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Cbor::Map(map) => {
            let dict = PyDict::new(py);
            for (key, value) in map {
                dict.set_item(from_cbor(py, key)?, from_cbor(py, value)?)?;
            }
            dict.into_any()
        }
        _ => py.None().into_bound(py),
    })
}
