//! The extension module behind `import banister`: agents, solvers and simulations on NumPy arrays.
//!
//! It holds no logic of its own, and may use every crate but the solver's. Each file turns one part of
//! the core into Python objects, and long work runs without the interpreter's lock. In reading order:
//!
//! - `error.rs`, `input.rs`, `json.rs`: errors become exceptions, arguments are checked and named.
//! - `fields.rs`: rows by name become vectors; `segment.rs`: and names of segments.
//! - `agent/` with `build.rs` (from keyword arguments and snapshots), `state.rs`, `fork.rs`.
//! - `decision.rs`, `pickle.rs`: decisions, and values as bytes.
//! - `solve.rs`, `solution.rs`: rounds given by their numbers.
//! - `simulate.rs`, `foreign.rs` (environments and agents in Python), `compare.rs`, `compared.rs`,
//!   `plan.rs`, `results.rs`: simulations and their tables.
//! - `log.rs`, `offline.rs`: logged data. `lease.rs`: decisions under a lease of the service.

#![allow(missing_docs)]

mod agent;
mod build;
mod compare;
mod compared;
mod decision;
mod error;
mod fields;
mod figures;
mod foreign;
mod fork;
mod input;
mod json;
mod lease;
mod log;
mod offline;
mod pickle;
mod plan;
mod results;
mod segment;
mod simulate;
mod solution;
mod solve;
mod state;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs a command line, the program's name first; returns its exit code.
#[pyfunction]
fn command_line(py: Python<'_>, args: Vec<OsString>) -> PyResult<u8> {
    py.detach(|| error::guarded(|| banister_cli::main_from(args)))
}

/// The native half of banister.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<agent::Agent>()?;
    module.add_class::<agent::DecisionBatch>()?;
    module.add_class::<compare::Comparison>()?;
    module.add_class::<compared::Compared>()?;
    module.add_class::<decision::Decision>()?;
    module.add_class::<fields::Fields>()?;
    module.add_class::<lease::LeaseHolder>()?;
    module.add_class::<results::ResultTable>()?;
    module.add_class::<results::Results>()?;
    module.add_class::<simulate::Experiment>()?;
    module.add_class::<solution::Solution>()?;
    module.add_class::<solution::SolutionBatch>()?;
    module.add_function(wrap_pyfunction!(build::agent_schema, module)?)?;
    module.add_function(wrap_pyfunction!(build::guarantees, module)?)?;
    module.add_function(wrap_pyfunction!(command_line, module)?)?;
    module.add_function(wrap_pyfunction!(compare::suites, module)?)?;
    module.add_function(wrap_pyfunction!(figures::curves_svg, module)?)?;
    module.add_function(wrap_pyfunction!(figures::render_png, module)?)?;
    module.add_function(wrap_pyfunction!(figures::safety_svg, module)?)?;
    module.add_function(wrap_pyfunction!(log::check_log, module)?)?;
    module.add_function(wrap_pyfunction!(offline::direction_symbol, module)?)?;
    module.add_function(wrap_pyfunction!(offline::evaluate_log, module)?)?;
    module.add_function(wrap_pyfunction!(offline::feature_dimension, module)?)?;
    module.add_function(wrap_pyfunction!(offline::replay_log, module)?)?;
    module.add_function(wrap_pyfunction!(offline::warm_start_agent, module)?)?;
    module.add_function(wrap_pyfunction!(fork::_forked, module)?)?;
    module.add_function(wrap_pyfunction!(plan::plan, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::gather_shards, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::read_toml, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::run_experiments, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::table_order, module)?)?;
    module.add_function(wrap_pyfunction!(solve::solve_lp, module)?)?;
    module.add_function(wrap_pyfunction!(solve::solve_oplb, module)?)?;
    Ok(())
}
