//! The integration tests of `banisterd`, one binary.

#[path = "../../../banister-cli/tests/it/golden.rs"]
mod golden;

/// Calls that are recorded at least, and those among them that are refused.
const GOLDEN: (usize, usize) = (20, 11);
