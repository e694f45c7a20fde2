//! The extension module behind `import banister`: agents, solvers and simulations on NumPy arrays.
//!
//! It holds no logic of its own. Each file turns one part of the core into Python objects:
//! arguments are checked and named (`input.rs`), errors become `ValueError` and `TypeError`
//! (`error.rs`), and long work runs without the interpreter's lock.

mod agent;
mod batch;
mod build;
mod cli;
mod compare;
mod compared;
mod decision;
mod error;
mod figures;
mod foreign;
mod input;
mod json;
mod log;
mod offline;
mod pickle;
mod results;
mod serials;
mod simulate;
mod solution;
mod solve;
mod state;

use pyo3::prelude::*;

/// The native half of banister.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<agent::Agent>()?;
    module.add_class::<batch::DecisionBatch>()?;
    module.add_class::<compare::Comparison>()?;
    module.add_class::<compared::Compared>()?;
    module.add_class::<decision::Certificate>()?;
    module.add_class::<decision::Decision>()?;
    module.add_class::<decision::GuardrailCertificate>()?;
    module.add_class::<results::ResultTable>()?;
    module.add_class::<results::Results>()?;
    module.add_class::<simulate::Experiment>()?;
    module.add_class::<solution::Solution>()?;
    module.add_class::<solution::SolutionBatch>()?;
    module.add_function(wrap_pyfunction!(build::agent_schema, module)?)?;
    module.add_function(wrap_pyfunction!(build::guarantees, module)?)?;
    module.add_function(wrap_pyfunction!(cli::command_line, module)?)?;
    module.add_function(wrap_pyfunction!(compare::suites, module)?)?;
    module.add_function(wrap_pyfunction!(figures::curves_svg, module)?)?;
    module.add_function(wrap_pyfunction!(figures::render_png, module)?)?;
    module.add_function(wrap_pyfunction!(figures::safety_svg, module)?)?;
    module.add_function(wrap_pyfunction!(log::check_log, module)?)?;
    module.add_function(wrap_pyfunction!(offline::evaluate_log, module)?)?;
    module.add_function(wrap_pyfunction!(offline::feature_dimension, module)?)?;
    module.add_function(wrap_pyfunction!(offline::judge_log, module)?)?;
    module.add_function(wrap_pyfunction!(offline::replay_log, module)?)?;
    module.add_function(wrap_pyfunction!(offline::warm_start_agent, module)?)?;
    module.add_function(wrap_pyfunction!(state::_forked, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::gather_shards, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::read_toml, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::run_experiments, module)?)?;
    module.add_function(wrap_pyfunction!(solve::solve_lp, module)?)?;
    module.add_function(wrap_pyfunction!(solve::solve_oplb, module)?)?;
    Ok(())
}
