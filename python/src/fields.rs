//! Named fields: rows and columns of Python values become vectors.

use std::collections::BTreeMap;

use banister::Error;
use banister::fields::FieldValue;
use banister::toolkit::Within;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use serde_json::Value;

use crate::error::{mistyped, raise, shown};
use crate::json::{declared, to_json, to_python};

/// Fields by name, as the core has them.
#[pyclass(frozen, eq, module = "banister._native")]
#[derive(PartialEq)]
pub(crate) struct Fields(pub banister::fields::Fields);

#[pymethods]
impl Fields {
    #[new]
    fn new(fields: &Bound<'_, PyAny>) -> PyResult<Self> {
        read(fields, "fields").map(Self)
    }

    /// Names of the numbers of a vector.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.names()
    }

    /// Length of the vectors.
    #[getter]
    fn dimension(&self) -> usize {
        self.0.dimension()
    }

    /// Upper bound on the Euclidean length of every vector.
    #[getter]
    fn norm(&self) -> f64 {
        self.0.norm()
    }

    /// The fields as declared.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0)
    }

    /// Returns the vector of a row.
    fn vector<'py>(
        &self,
        row: &Bound<'py, PyAny>,
        argument: &str,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        vector(&self.0, row, argument)
    }

    /// Returns one vector per row, from one list per field in the order of their names.
    fn matrix<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<Bound<'py, PyList>>,
        argument: &str,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let names: Vec<&String> = self.0.0.keys().collect();
        let rows = columns.first().map_or(0, PyListMethods::len);
        let (f, d) = (names.len(), self.0.dimension());
        let mut codes = vec![0.0; rows * f];
        for (j, (name, column)) in std::iter::zip(&self.0.0, &columns).enumerate() {
            let (name, field) = name;
            if column.len() != rows {
                return Err(PyValueError::new_err(format!(
                    "`{argument}[{name:?}]` has {} entries, `{argument}[{:?}]` has {rows}: give one per row",
                    column.len(),
                    names[0]
                )));
            }
            for (i, value) in column.iter().enumerate() {
                let place = || format!("{argument}[{name:?}][{i}]");
                let value = value_of(&value, place)?;
                codes[i * f + j] = field.code(&value).at(place()).map_err(raise)?;
            }
        }
        let mut numbers = Vec::with_capacity(rows * d);
        for row in codes.chunks_exact(f) {
            numbers.extend(self.0.vector(row));
        }
        PyArray1::from_vec(py, numbers).reshape([rows, d])
    }
}

/// Reads the declaration of fields.
pub(crate) fn read(value: &Bound<'_, PyAny>, argument: &str) -> PyResult<banister::fields::Fields> {
    let json = to_json(value, argument)?;
    let Value::Object(map) = json else {
        let allowed = "must be a dictionary of fields, e.g. {\"hour\": {\"kind\": \"number\", \"range\": [0, 24]}}";
        return Err(mistyped(argument, value, allowed));
    };
    // One by one: so an error names the field that it is about.
    let each = map.into_iter().map(|(name, field)| {
        let path = format!("{argument}[{name:?}]");
        Ok((name, declared(field, &path)?))
    });
    let fields = banister::fields::Fields(each.collect::<PyResult<_>>()?);
    fields.check().map_err(|error| match error {
        Error::Invalid { field, .. } if field.steps().is_empty() => {
            PyValueError::new_err(format!("`{argument}` is empty: name at least one field"))
        }
        error => raise(error),
    })?;
    Ok(fields)
}

/// Makes the vector of a row: a mapping, or a Series of pandas.
pub(crate) fn vector<'py>(
    fields: &banister::fields::Fields,
    row: &Bound<'py, PyAny>,
    argument: &str,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    if !row.hasattr("keys")? {
        let allowed = "must be a dictionary with a value for each field";
        return Err(mistyped(argument, row, allowed));
    }
    let dict = row.py().get_type::<PyDict>().call1((row,))?;
    let mut values = BTreeMap::new();
    for (key, value) in dict.cast::<PyDict>()?.iter() {
        let name = key.extract::<String>().map_err(|_| {
            PyTypeError::new_err(format!(
                "`{argument}` has the key {}: keys must be the names of fields",
                shown(&key)
            ))
        })?;
        let value = value_of(&value, || format!("{argument}[{name:?}]"))?;
        values.insert(name, value);
    }
    let codes = fields.codes(&values);
    let codes = codes.with_path(|path| format!("{argument}[{:?}]", path.to_string()).into());
    let codes = codes.map_err(raise)?;
    Ok(PyArray1::from_vec(row.py(), fields.vector(&codes)))
}

/// Makes numbers of a context, or of many, where they come by name; numbers stay what they are.
pub(crate) fn by_name<'py>(
    fields: &banister::fields::Fields,
    value: &Bound<'py, PyAny>,
    argument: &str,
) -> PyResult<Bound<'py, PyAny>> {
    if argument == "context" {
        return if value.hasattr("keys")? {
            Ok(vector(fields, value, argument)?.into_any())
        } else {
            Ok(value.clone())
        };
    }
    let own = Fields(fields.clone());
    let features = value.py().import("banister._features")?;
    features.call_method1("by_name", (own, value, argument))
}

/// Reads a value of a field; `None`, NaN and the missing values of pandas are missing.
fn value_of(value: &Bound<'_, PyAny>, place: impl Fn() -> String) -> PyResult<FieldValue> {
    if value.is_none() {
        return Ok(FieldValue::Missing);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(FieldValue::Text(text.to_str()?.to_owned()));
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(FieldValue::Boolean(flag.is_true()));
    }
    let number = |x: f64| {
        if x.is_nan() {
            FieldValue::Missing
        } else {
            FieldValue::Number(x)
        }
    };
    if let Ok(float) = value.cast::<PyFloat>() {
        return Ok(number(float.value()));
    }
    let kind = value.get_type().name()?;
    if kind == "NAType" || kind == "NaTType" {
        return Ok(FieldValue::Missing);
    }
    if value.cast::<PyInt>().is_err() && value.hasattr("item")? && !value.hasattr("__len__")? {
        return value_of(&value.call_method0("item")?, place);
    }
    let allowed = "must be a text, a number, True, False or None";
    let refused = |_| mistyped(&place(), value, allowed);
    value.extract::<f64>().map(number).map_err(refused)
}
