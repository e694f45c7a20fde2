//! The integration tests of `banister-table`, one binary.

mod limits;
mod read;
