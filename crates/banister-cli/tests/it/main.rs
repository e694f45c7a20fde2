//! The integration tests of `banister-cli`, one binary.

mod architecture;
mod compare;
mod golden;
mod results;
