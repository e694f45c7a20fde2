//! The integration tests of `banister-table`, one binary.

mod parquet_limits;
mod read;
