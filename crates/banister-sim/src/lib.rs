//! Environments and simulation.

pub mod results;
