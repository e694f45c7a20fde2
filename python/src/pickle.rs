//! Pickles: values as bytes, by postcard, which keeps every bit of a number.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The bytes begin with it; the number goes up when their meaning changes.
const HEADER: &[u8] = b"banister pickle 5\n";

/// A class and the bytes to call it with.
pub(crate) type Reduced<'py> = (Bound<'py, PyType>, (Bound<'py, PyBytes>,));

/// Returns the answer of `__reduce__` for an object that is made again from these values.
pub(crate) fn reduce<'py, T: Serialize>(
    object: &Bound<'py, impl pyo3::PyClass>,
    values: &T,
) -> PyResult<Reduced<'py>> {
    let bytes = postcard::to_extend(values, HEADER.to_vec()).map_err(unreadable)?;
    let class = object.as_any().get_type();
    Ok((class, (PyBytes::new(object.py(), &bytes),)))
}

/// Reads the values of [`reduce`].
pub(crate) fn restore<T: DeserializeOwned>(bytes: &[u8]) -> PyResult<T> {
    let body = bytes.strip_prefix(HEADER);
    let body = body.ok_or_else(|| unreadable("it was made by another version, or is damaged"))?;
    postcard::from_bytes(body).map_err(unreadable)
}

pub(crate) fn unreadable(reason: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("the pickle cannot be read: {reason}"))
}
