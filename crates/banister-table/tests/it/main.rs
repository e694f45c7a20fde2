//! The integration tests of `banister-table`, one binary.

mod bombs;
mod read;
