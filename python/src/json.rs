//! Python values as JSON, the way in for declarations (guardrails, agents, environments); and back, whatever serde
//! knows.

use ciborium::Value as Cbor;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use crate::error::{invalid, mistyped};
use crate::input::integer as integer_of;

/// A declaration as JSON. `path` is how the caller names it; NaN and infinity are refused here.
/// Objects with a `to_dict` method stand for what it returns, arrays for their `tolist`.
pub(crate) fn to_json(value: &Bound<'_, PyAny>, path: &str) -> PyResult<Value> {
    at_depth(value, path, 0)
}

/// No declaration is this deep; something that contains itself is.
const DEEPEST: usize = 32;

fn at_depth(value: &Bound<'_, PyAny>, path: &str, depth: usize) -> PyResult<Value> {
    if depth > DEEPEST {
        let allowed = "it is nested too deeply, or contains itself";
        return Err(mistyped(path, value, allowed));
    }
    let below = |value: &Bound<'_, PyAny>, path: &str| at_depth(value, path, depth + 1);
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::Bool(flag.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text.to_str()?.to_owned()));
    }
    if value.cast::<PyInt>().is_ok() {
        return integer(value, path);
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return float(number.value(), path);
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return object(dict, path, below);
    }
    if value.cast::<PyList>().is_ok() || value.cast::<PyTuple>().is_ok() {
        return list(value, path, below);
    }
    // Mappings and sequences are not recognised by `collections.abc`: a Ctrl-C that comes while it is looked up would
    // be lost.
    for (method, scalar) in [("to_dict", false), ("tolist", false), ("item", true)] {
        if value.hasattr(method)? && !(scalar && value.hasattr("__len__")?) {
            return below(&value.call_method0(method)?, path);
        }
    }
    if value.hasattr("keys")? {
        let dict = value.py().get_type::<PyDict>().call1((value,))?;
        return object(dict.cast::<PyDict>()?, path, below);
    }
    if value.hasattr("__fspath__")? {
        return below(&value.call_method0("__fspath__")?, path);
    }
    if value.hasattr("__len__")? && value.hasattr("__getitem__")? {
        return list(value, path, below);
    }
    Err(mistyped(
        path,
        value,
        "must be a number, a string, a list or a dictionary of those",
    ))
}

fn list(
    value: &Bound<'_, PyAny>,
    path: &str,
    below: impl Fn(&Bound<'_, PyAny>, &str) -> PyResult<Value>,
) -> PyResult<Value> {
    let entries = value.try_iter()?.enumerate();
    let entries = entries.map(|(i, entry)| below(&entry?, &format!("{path}[{i}]")));
    Ok(Value::Array(entries.collect::<PyResult<_>>()?))
}

fn object(
    dict: &Bound<'_, PyDict>,
    path: &str,
    below: impl Fn(&Bound<'_, PyAny>, &str) -> PyResult<Value>,
) -> PyResult<Value> {
    let mut map = Map::new();
    for (key, value) in dict.iter() {
        // Arms may have integers for names.
        let key = match (key.cast::<PyString>(), integer_of(&key)) {
            (Ok(key), _) => key.to_str()?.to_owned(),
            (Err(_), Some(key)) => key.to_string(),
            (Err(_), None) => return Err(mistyped(path, &key, "keys must be strings")),
        };
        let value = below(&value, &join(path, &key))?;
        map.insert(key, value);
    }
    Ok(Value::Object(map))
}

/// Names a key inside a declaration.
fn join(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    }
}

fn integer(value: &Bound<'_, PyAny>, path: &str) -> PyResult<Value> {
    if let Ok(number) = value.extract::<u64>() {
        return Ok(Value::from(number));
    }
    match value.extract::<i64>() {
        Ok(number) => Ok(Value::from(number)),
        Err(_) => Err(invalid(path, value, "too large for a 64-bit integer")),
    }
}

fn float(number: f64, path: &str) -> PyResult<Value> {
    match Number::from_f64(number) {
        Some(number) => Ok(Value::Number(number)),
        // A declared signal may have no highest value; JSON has no infinity.
        None if number == f64::INFINITY && path.starts_with("signals") => Ok(Value::from("inf")),
        None => Err(invalid(path, number, "only finite numbers are allowed")),
    }
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
        let is_near = |word: &&str| word.starts_with(unknown) || unknown.starts_with(word);
        let near = ["arms", "guardrails", "reward", "features", "segments"].into_iter();
        let hint = near.chain(words).find(is_near);
        let hint = hint.map_or(String::new(), |word| format!("; did you mean `{word}`?"));
        return Err(PyTypeError::new_err(format!(
            "{inside}unexpected {rest}{hint}"
        )));
    }
    // Finds the bad key by leaving out each one: without the bad one the message changes.
    if let Value::Object(map) = &value {
        for (key, bad) in map {
            let mut rest = map.clone();
            rest.remove(key);
            let is_other = |other: &str| other != error && !other.contains(&format!("`{key}`"));
            let without = serde_json::from_value::<T>(Value::Object(rest));
            if without.map_or_else(|other| is_other(&other.to_string()), |_| true) {
                let message = format!("`{}` is {bad}: {}", join(path, key), plain(&error));
                return Err(if error.starts_with("invalid type") {
                    PyTypeError::new_err(message)
                } else {
                    PyValueError::new_err(message)
                });
            }
        }
    }
    Err(PyValueError::new_err(format!("{path}: {error}")))
}

/// Says what serde expected, for people who do not know Rust's types.
fn plain(error: &str) -> String {
    match error
        .rsplit_once("expected ")
        .map_or(error, |(_, allowed)| allowed)
    {
        "f64" => "must be a number".into(),
        "u64" | "usize" => "must be an integer, 0 or more".into(),
        "a string" => "must be a string".into(),
        "a boolean" => "must be true or false".into(),
        _ => error.into(),
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
