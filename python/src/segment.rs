//! Segments of decisions: their names from texts, integers and the values of several fields.

use banister::Error;
use banister::fields::{check_segment_fields, is_segment_of_fields, segment_of_fields};
use banister::toolkit::check_segment;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple};

use crate::error::{mistyped, raise, shown};

/// Reads `segments` of a constructor: the fields that segments are made from, none where they have plain names, and
/// the names of those that are known.
pub(crate) fn declared(value: &Bound<'_, PyAny>) -> PyResult<(Vec<String>, Vec<String>)> {
    let allowed = "must be a list of names, or {\"fields\": [...], \"known\": [...]} for segments made from \
                   several fields";
    let refused = || mistyped("segments", value, allowed);
    if !value.hasattr("keys")? {
        return Ok((Vec::new(), names(&[], value, "segments", None)?));
    }
    let given = value.cast::<PyDict>().map_err(|_| refused())?;
    for key in given.keys() {
        let key = key.extract::<String>().map_err(|_| refused())?;
        if !["fields", "known"].contains(&key.as_str()) {
            return Err(refused());
        }
    }
    let fields = given.get_item("fields")?.ok_or_else(refused)?;
    if fields.cast::<PyString>().is_ok() {
        return Err(mistyped(
            "segments[\"fields\"]",
            &fields,
            "must be a list of names",
        ));
    }
    let fields: Vec<String> = (fields.extract())
        .map_err(|_| mistyped("segments[\"fields\"]", &fields, "must be a list of names"))?;
    check_segment_fields(&fields).map_err(raise)?;
    let known = match given.get_item("known")?.filter(|known| !known.is_none()) {
        Some(known) => names(&fields, &known, "segments[\"known\"]", None)?,
        None => Vec::new(),
    };
    Ok((fields, known))
}

/// Name of one segment.
pub(crate) fn name(
    fields: &[String],
    value: &Bound<'_, PyAny>,
    argument: &str,
) -> PyResult<String> {
    let name = if fields.is_empty() {
        let is_many = value.hasattr("keys")? || value.cast::<PyTuple>().is_ok();
        if is_many {
            let allowed = "this agent's segments have plain names; make it with segments={\"fields\": [...]} for \
                           segments of several fields";
            return Err(mistyped(argument, value, allowed));
        }
        text(value, argument)?
    } else if let Ok(name) = value.extract::<String>()
        && is_segment_of_fields(fields, &name)
    {
        name
    } else {
        let values = if value.hasattr("keys")? {
            by_field(fields, value, argument)?
        } else {
            in_order(fields, value, argument)?
        };
        let texts = std::iter::zip(fields, &values).map(|(field, value)| {
            Ok((
                field.as_str(),
                text(value, &format!("{argument}[{field:?}]"))?,
            ))
        });
        let texts = texts.collect::<PyResult<Vec<_>>>()?;
        segment_of_fields(texts.iter().map(|(field, value)| (*field, value.as_str())))
    };
    match check_segment(&name) {
        Ok(()) => Ok(name),
        Err(Error::Invalid { value, allowed, .. }) => {
            Err(raise(Error::invalid(argument, value, allowed)))
        }
        Err(other) => Err(raise(other)),
    }
}

/// The values of a dictionary, or of a Series of pandas, in the order of the fields.
fn by_field<'py>(
    fields: &[String],
    value: &Bound<'py, PyAny>,
    argument: &str,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let dict = value.py().get_type::<PyDict>().call1((value,))?;
    let dict = dict.cast::<PyDict>()?;
    for key in dict.keys() {
        if !(key.extract::<String>()).is_ok_and(|key| fields.contains(&key)) {
            return Err(PyValueError::new_err(format!(
                "`{argument}` has {}: the fields of a segment are {}",
                shown(&key),
                fields.join(", ")
            )));
        }
    }
    let each = fields.iter().map(|field| {
        dict.get_item(field)?.ok_or_else(|| {
            PyValueError::new_err(format!(
                "`{argument}` has no {field:?}: a segment has a value of every field, {}",
                fields.join(", ")
            ))
        })
    });
    each.collect()
}

/// The values of a tuple or a list.
fn in_order<'py>(
    fields: &[String],
    value: &Bound<'py, PyAny>,
    argument: &str,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let refused = || {
        let allowed = format!(
            "must be a dictionary with a value of {}, or a tuple of them",
            fields.join(", ")
        );
        mistyped(argument, value, &allowed)
    };
    if value.cast::<PyTuple>().is_err() && value.cast::<PyList>().is_err() {
        return Err(refused());
    }
    let values: Vec<Bound<'py, PyAny>> = value.extract()?;
    if values.len() == fields.len() {
        Ok(values)
    } else {
        Err(refused())
    }
}

/// Names of many segments: a column, or, of segments made from fields, a table by column or a list of rows.
pub(crate) fn names(
    fields: &[String],
    value: &Bound<'_, PyAny>,
    argument: &str,
    rows: Option<usize>,
) -> PyResult<Vec<String>> {
    let py = value.py();
    // A Series of pandas has keys too.
    let is_mapping = value.hasattr("keys")? && !value.hasattr("to_numpy")?;
    let is_table = is_mapping || value.hasattr("columns")? || value.hasattr("column_names")?;
    let each: Vec<Bound<'_, PyAny>> = if is_table && !fields.is_empty() {
        let table = py.import("banister._tables")?.getattr("Table")?;
        let table = table.call1((value, argument))?;
        let columns = fields
            .iter()
            .map(|field| table.call_method1("values", (field, argument)));
        let columns = columns.collect::<PyResult<Vec<_>>>()?;
        let strict = PyDict::new(py);
        strict.set_item("strict", true)?;
        let zip = py.import("builtins")?.getattr("zip")?;
        let zipped = zip.call(PyTuple::new(py, columns)?, Some(&strict))?;
        zipped.try_iter()?.collect::<PyResult<_>>()?
    } else {
        let allowed = if fields.is_empty() {
            "must be a list or a column of names"
        } else {
            "must be a table with a column for each field, or a list of dictionaries or tuples"
        };
        let refused = || mistyped(argument, value, allowed);
        if value.cast::<PyString>().is_ok() || is_table {
            return Err(refused());
        }
        let mut listed = value.clone();
        for method in ["tolist", "to_list", "to_pylist"] {
            if value.hasattr(method)? {
                listed = value.call_method0(method)?;
                break;
            }
        }
        let each = listed.try_iter().map_err(|_| refused())?;
        each.collect::<PyResult<_>>()?
    };
    if let Some(rows) = rows
        && each.len() != rows
    {
        return Err(PyValueError::new_err(format!(
            "`{argument}` has {} entries, expected {rows}: one per reward",
            each.len()
        )));
    }
    let each = each.iter().enumerate();
    each.map(|(i, one)| name(fields, one, &format!("{argument}[{i}]")))
        .collect()
}

/// A value as text.
fn text(value: &Bound<'_, PyAny>, argument: &str) -> PyResult<String> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_str()?.to_owned());
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true().to_string());
    }
    if value.cast::<PyInt>().is_ok() {
        return Ok(value.str()?.to_string());
    }
    if value.hasattr("item")? && !value.hasattr("__len__")? {
        return text(&value.call_method0("item")?, argument);
    }
    let allowed = "must be a text or an integer; give missing values a name of their own, such as \"unknown\"";
    Err(mistyped(argument, value, allowed))
}

/// The error where a segment is missing, or given to an agent that knows none.
pub(crate) fn misplaced(argument: &str, fields: Option<&[String]>) -> PyErr {
    PyTypeError::new_err(match fields {
        None => format!(
            "`{argument}` is given: this agent does not tell segments apart; make a banister.Segmented"
        ),
        Some([]) => format!(
            "`{argument}` is missing: this agent has a policy for every segment, so each decision needs the name \
             of its own"
        ),
        Some(fields) => format!(
            "`{argument}` is missing: this agent has a policy for every segment of {}",
            fields.join(", ")
        ),
    })
}
