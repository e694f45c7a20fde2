//! One subject per file.

pub mod audit;
pub mod decisions;
pub mod exchange;
pub mod experiments;
pub mod operations;
