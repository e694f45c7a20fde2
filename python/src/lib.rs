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

/// The native half of banister.
#[pyo3::pymodule]
mod _native {
    use std::ffi::OsString;

    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        agent::{Agent, DecisionBatch},
        build::{agent_schema, guarantees},
        compare::{Comparison, suites},
        compared::Compared,
        decision::Decision,
        fields::Fields,
        figures::{curves_svg, render_png, safety_svg},
        fork::_forked,
        lease::LeaseHolder,
        log::check_log,
        offline::{
            direction_symbol, evaluate_log, feature_dimension, replay_log, warm_start_agent,
        },
        plan::plan,
        results::{ResultTable, Results},
        simulate::{Experiment, gather_shards, read_toml, run_experiments, table_order},
        solution::{Solution, SolutionBatch},
        solve::{solve_lp, solve_oplb},
    };

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// Runs a command line, the program's name first; returns its exit code.
    #[pyfunction]
    fn command_line(py: Python<'_>, args: Vec<OsString>) -> PyResult<u8> {
        py.detach(|| crate::error::guarded(|| banister_cli::main_from(args)))
    }
}
