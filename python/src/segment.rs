//! Segments of decisions: names by the core's rules, from values that `banister._segment_values` reads.

use banister::fields::{check_segment_fields, is_segment_of_fields, segment_of_fields};
use banister::toolkit::{Within, check_segment};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::raise;

/// Calls a function of `banister._segment_values`.
fn read<'py, T: for<'a> FromPyObject<'a, 'py, Error = PyErr>>(
    value: &Bound<'py, PyAny>,
    function: &str,
    more: (&[String], &str),
) -> PyResult<T> {
    let module = value.py().import("banister._segment_values")?;
    let arguments = (value, more.0.to_vec(), more.1);
    module.call_method1(function, arguments)?.extract()
}

/// Reads `segments` of a constructor: the fields that segments are made from, none where they have plain names, and
/// the names of those that are known.
pub(crate) fn declared(value: &Bound<'_, PyAny>) -> PyResult<(Vec<String>, Vec<String>)> {
    let (fields, known, argument): (Option<Vec<String>>, Bound<'_, PyAny>, String) =
        read(value, "declared", (&[], "segments"))?;
    if let Some(fields) = &fields {
        check_segment_fields(fields).map_err(raise)?;
    }
    let fields = fields.unwrap_or_default();
    let known = names(&fields, &known, &argument, None)?;
    Ok((fields, known))
}

/// Name of one segment.
pub(crate) fn name(
    fields: &[String],
    value: &Bound<'_, PyAny>,
    argument: &str,
) -> PyResult<String> {
    let text = value.cast::<PyString>().ok();
    let name = match text.map(|text| text.to_str()).transpose()? {
        Some(text) if fields.is_empty() || is_segment_of_fields(fields, text) => text.into(),
        _ => {
            let values: Vec<String> = read(value, "texts", (fields, argument))?;
            if fields.is_empty() {
                values.concat()
            } else {
                segment_of_fields(std::iter::zip(fields, &values).map(|(f, v)| (&**f, &**v)))
            }
        }
    };
    check_segment(&name).at(argument).map_err(raise)?;
    Ok(name)
}

/// Names of many segments: a column, or, of segments made from fields, a table by column or a list of rows.
pub(crate) fn names(
    fields: &[String],
    value: &Bound<'_, PyAny>,
    argument: &str,
    rows: Option<usize>,
) -> PyResult<Vec<String>> {
    let each: Vec<Bound<'_, PyAny>> = read(value, "listed", (fields, argument))?;
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
