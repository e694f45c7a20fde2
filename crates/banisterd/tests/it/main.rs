//! The integration tests of `banisterd`, one binary.

#[path = "../../../banister-cli/tests/it/golden.rs"]
mod golden;
