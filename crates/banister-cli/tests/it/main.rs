//! The integration tests of `banister-cli`, one binary.

mod architecture;
mod compare;
mod golden;
mod results;

/// Calls that are recorded at least, and those among them that are refused.
const GOLDEN: (usize, usize) = (120, 80);
