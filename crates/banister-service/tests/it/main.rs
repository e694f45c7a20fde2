//! The integration tests of `banister-service`, one binary.

mod answers;
mod client;
mod memory;
mod reference;
mod schema;
