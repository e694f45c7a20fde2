//! Arguments: arrays without copying where possible, and errors that name them.

use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyTuple};
use smallvec::SmallVec;

use crate::error::{invalid, mistyped, shown};

/// The costs of one outcome; more guardrails than this are rare.
pub(crate) type Costs = SmallVec<[f64; 8]>;

/// Numbers as a contiguous array of doubles: the caller's own memory if it is one already.
pub(crate) struct Numbers<'py> {
    array: PyReadonlyArrayDyn<'py, f64>,
    pub name: &'static str,
}

impl<'py> Numbers<'py> {
    /// Takes any `value` that NumPy can make an array of doubles from.
    pub(crate) fn new(value: &Bound<'py, PyAny>, name: &'static str) -> PyResult<Self> {
        let array = match value.cast::<PyArrayDyn<f64>>() {
            Ok(array) if array.is_c_contiguous() => array.clone(),
            _ => contiguous(value, name)?,
        };
        let array = array.try_readonly().map_err(|_| {
            PyValueError::new_err(format!("`{name}` is being written to by another call"))
        })?;
        Ok(Self { array, name })
    }

    /// Takes numbers of a shape; `None` stands for any length.
    pub(crate) fn shaped(
        value: &Bound<'py, PyAny>,
        name: &'static str,
        expected: &[Option<usize>],
        meaning: &str,
    ) -> PyResult<Self> {
        let numbers = Self::new(value, name)?;
        numbers.expect(expected, meaning).map(|()| numbers)
    }

    /// The numbers, last axis fastest.
    pub(crate) fn slice(&self) -> PyResult<&[f64]> {
        (self.array.as_slice())
            .map_err(|_| PyValueError::new_err(format!("`{}` is not contiguous", self.name)))
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    /// Refuses another shape than `expected`, where `None` stands for any length.
    pub(crate) fn expect(&self, expected: &[Option<usize>], meaning: &str) -> PyResult<()> {
        if fits(self.shape(), expected) {
            Ok(())
        } else {
            Err(self.misshapen(expected, meaning))
        }
    }

    /// Returns the error for a wrong shape.
    pub(crate) fn misshapen(&self, expected: &[Option<usize>], meaning: &str) -> PyErr {
        let shown = |sizes: &[Option<usize>]| {
            let any = |size: &Option<usize>| size.map_or("any".into(), |size| size.to_string());
            let sizes: Vec<String> = sizes.iter().map(any).collect();
            format!(
                "({}{})",
                sizes.join(", "),
                if sizes.len() == 1 { "," } else { "" }
            )
        };
        let got: Vec<_> = self.shape().iter().copied().map(Some).collect();
        let (got, wanted) = (shown(&got), shown(expected));
        PyValueError::new_err(format!(
            "`{}` has shape {got}, expected {wanted}: {meaning}",
            self.name
        ))
    }

    /// Refuses NaN and infinity, naming the place.
    pub(crate) fn finite(&self) -> PyResult<()> {
        let numbers = self.slice()?;
        // Without an early end inside a chunk: so the compiler looks at several numbers at once.
        let is_finite = |chunk: &[f64]| chunk.iter().fold(true, |ok, x| ok & x.is_finite());
        if numbers.chunks(64).all(is_finite) {
            return Ok(());
        }
        let at = numbers.iter().position(|x| !x.is_finite()).unwrap_or(0);
        let (mut place, mut rest) = (Vec::new(), at);
        for &size in self.shape().iter().rev() {
            place.insert(0, (rest % size).to_string());
            rest /= size;
        }
        let name = format!("{}[{}]", self.name, place.join(", "));
        let allowed = "only finite numbers are allowed";
        Err(invalid(&name, numbers[at], allowed))
    }
}

/// Compares the lengths of axes; `None` stands for any.
pub(crate) fn fits(shape: &[usize], expected: &[Option<usize>]) -> bool {
    let mut each = std::iter::zip(shape, expected);
    shape.len() == expected.len() && each.all(|(n, e)| e.is_none_or(|e| e == *n))
}

/// Makes a contiguous array of doubles, by NumPy.
fn contiguous<'py>(
    value: &Bound<'py, PyAny>,
    name: &'static str,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = value.py();
    let refused = |_| mistyped(name, value, "must be an array of numbers");
    // Text, dates and complex numbers would be converted silently, or nearly so.
    let kind = value.getattr(intern!(py, "dtype"));
    if let Ok(kind) = kind.and_then(|dtype| dtype.getattr(intern!(py, "kind")))
        && !matches!(kind.extract::<char>(), Ok('f' | 'i' | 'u' | 'b' | 'O'))
    {
        return Err(mistyped(name, value, "must be an array of real numbers"));
    }
    // NumPy would take None for NaN.
    if value.is_none() {
        return Err(mistyped(name, value, "must be an array of numbers"));
    }
    let make = MAKE.get_or_try_init(py, || {
        let numpy = py.import("numpy")?;
        numpy.getattr("asarray").map(Bound::unbind)
    })?;
    let options = PyDict::new(py);
    options.set_item(intern!(py, "dtype"), intern!(py, "float64"))?;
    options.set_item(intern!(py, "order"), intern!(py, "C"))?;
    let array = make
        .bind(py)
        .call((value,), Some(&options))
        .map_err(refused)?;
    Ok(array.cast_into::<PyArrayDyn<f64>>()?)
}

/// Reads a number; `name` is the argument's.
pub(crate) fn number(value: &Bound<'_, PyAny>, name: &str) -> PyResult<f64> {
    if let Ok(float) = value.cast_exact::<PyFloat>() {
        return Ok(float.value());
    }
    (value.extract::<f64>()).map_err(|_| mistyped(name, value, "must be a number"))
}

/// Reads a time: seconds, or a datetime that says its time zone.
pub(crate) fn seconds(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    if !value.hasattr("timestamp")? {
        return number(value, "time");
    }
    if value.getattr("tzinfo")?.is_none() {
        let allowed = "a datetime needs its time zone: local times jump";
        return Err(invalid("time", value, allowed));
    }
    value.call_method0("timestamp")?.extract()
}

/// Reads the costs of one outcome: a number, a sequence, an array or a mapping by guardrail.
pub(crate) fn costs(value: Option<&Bound<'_, PyAny>>, guardrails: &[String]) -> PyResult<Costs> {
    let Some(value) = value.filter(|value| !value.is_none()) else {
        return Ok(Costs::new());
    };
    if let Ok(float) = value.cast_exact::<PyFloat>() {
        return Ok(Costs::from_elem(float.value(), 1));
    }
    // Names are made for refused entries alone: this is on the way of every outcome.
    let entry = |(i, x): (usize, Bound<'_, PyAny>)| {
        let refused = |_| mistyped(&format!("costs[{i}]"), &x, "must be a number");
        x.extract::<f64>().map_err(refused)
    };
    if let Ok(list) = value.cast_exact::<PyList>() {
        return list.iter().enumerate().map(entry).collect();
    }
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        return tuple.iter().enumerate().map(entry).collect();
    }
    if let Ok(by_name) = value.cast::<PyDict>() {
        return costs_by_name(by_name, guardrails);
    }
    // A labelled value goes by its labels, also one that could pass for a number.
    let py = value.py();
    if value.hasattr(intern!(py, "to_numpy"))? || value.hasattr(intern!(py, "keys"))? {
        let labels = py.import(intern!(py, "banister._tables"))?;
        let found = labels.call_method1(intern!(py, "row"), (value,))?;
        return match found.cast::<PyDict>() {
            Ok(by_name) => costs_by_name(by_name, guardrails),
            Err(_) => Ok(Costs::from_slice(Numbers::new(&found, "costs")?.slice()?)),
        };
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(Costs::from_elem(number, 1));
    }
    let numbers = Numbers::new(value, "costs")?;
    if numbers.shape().len() > 1 {
        let expected = [Some(guardrails.len())];
        return Err(numbers.misshapen(&expected, "one cost per guardrail"));
    }
    Ok(Costs::from_slice(numbers.slice()?))
}

fn costs_by_name(by_name: &Bound<'_, PyDict>, guardrails: &[String]) -> PyResult<Costs> {
    let known = guardrails.join(", ");
    for key in by_name.keys() {
        let is_known = (key.extract::<String>()).is_ok_and(|key| guardrails.contains(&key));
        if !is_known {
            return Err(PyValueError::new_err(format!(
                "`costs` has the key {}: the guardrails are {known}",
                shown(&key)
            )));
        }
    }
    guardrails
        .iter()
        .map(|name| match by_name.get_item(name)? {
            Some(value) => number(&value, &format!("costs[{name:?}]")),
            None => Err(PyValueError::new_err(format!(
                "`costs` lacks `{name}`: give one for each of {known}"
            ))),
        })
        .collect()
}

/// Arranges the costs of many outcomes as an array, the columns of a table in the order of the guardrails.
pub(crate) fn by_column<'py>(
    costs: &Bound<'py, PyAny>,
    guardrails: &[String],
) -> PyResult<Bound<'py, PyAny>> {
    if costs.cast::<PyArrayDyn<f64>>().is_ok() {
        return Ok(costs.clone());
    }
    let labels = costs.py().import("banister._tables")?;
    labels.call_method1("columns", (costs, guardrails.to_vec()))
}

/// Refuses tables whose rows are labelled in different ways: by position they would be mixed up.
pub(crate) fn same_rows(columns: &[(&str, Option<&Bound<'_, PyAny>>)]) -> PyResult<()> {
    let labelled = |value: &Bound<'_, PyAny>| value.hasattr("index").unwrap_or(false);
    let each = columns
        .iter()
        .filter_map(|&(name, value)| Some((name, value?)));
    let each: Vec<_> = each.filter(|(_, value)| labelled(value)).collect();
    if let [(_, first), _, ..] = &each[..] {
        let labels = first.py().import("banister._tables")?;
        labels.call_method1("same_rows", (each,))?;
    }
    Ok(())
}

/// Reads an integer of Python's or NumPy's; not a flag.
pub(crate) fn integer(value: &Bound<'_, PyAny>) -> Option<i64> {
    if value.is_instance_of::<PyBool>() {
        return None;
    }
    let index = value.call_method0(intern!(value.py(), "__index__"));
    index.ok()?.extract().ok()
}

/// Reads a whole number that is not negative, for counts and seeds.
pub(crate) fn count(value: &Bound<'_, PyAny>, name: &str) -> PyResult<u64> {
    if value.is_instance_of::<PyBool>() {
        return Err(mistyped(name, value, "must be an integer"));
    }
    let index = value
        .call_method0(intern!(value.py(), "__index__"))
        .map_err(|_| mistyped(name, value, "must be an integer"))?;
    index
        .extract()
        .map_err(|_| invalid(name, &index, "must be between 0 and 2^64 - 1"))
}

/// Like [`count`], with the words of `allowed` where the value is of another type.
pub(crate) fn count_or(value: &Bound<'_, PyAny>, name: &str, allowed: &str) -> PyResult<u64> {
    count(value, name).map_err(|error| {
        if error.is_instance_of::<PyTypeError>(value.py()) {
            mistyped(name, value, allowed)
        } else {
            error
        }
    })
}

/// Resolves an index, counted from the end if it is negative.
pub(crate) fn place(index: isize, length: usize, what: &str) -> PyResult<usize> {
    let at = if index < 0 {
        index.checked_add_unsigned(length)
    } else {
        Some(index)
    };
    at.and_then(|at| usize::try_from(at).ok())
        .filter(|&at| at < length)
        .ok_or_else(|| {
            PyIndexError::new_err(format!("there is no {what} {index}: there are {length}"))
        })
}

/// Draws a uniform number in [0, 1) from a random generator of Python's.
pub(crate) fn uniform(rng: &Bound<'_, PyAny>) -> PyResult<f64> {
    let drawn = rng.call_method0(intern!(rng.py(), "random")).map_err(|_| {
        PyTypeError::new_err(format!(
            "`rng` is {}: must be a numpy Generator, e.g. np.random.default_rng(7)",
            shown(rng)
        ))
    })?;
    let drawn: f64 = drawn
        .extract()
        .map_err(|_| mistyped("rng.random()", &drawn, "must be a number in [0, 1)"))?;
    if (0.0..1.0).contains(&drawn) {
        Ok(drawn)
    } else {
        Err(invalid("rng.random()", drawn, "must be in [0, 1)"))
    }
}
