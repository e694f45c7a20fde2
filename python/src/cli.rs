//! The command line: `python -m banister`.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::error::guarded;

/// Runs a command line, the program's name first; returns its exit code.
#[pyfunction]
pub(crate) fn command_line(py: Python<'_>, args: Vec<OsString>) -> PyResult<u8> {
    py.detach(|| guarded(|| banister_cli::main_from(args)))
}
