//! Tables by columns, as CSV and Parquet, out and in.
//!
//! A [`DataTable`] holds the columns once; both formats write the same columns, so they cannot drift
//! apart. Results of simulations and logs of the service are such tables.
//!
//! Reading order: `table.rs` (columns and both writers), `read.rs` (user-supplied tables). The crate
//! uses nothing else of ours.

mod read;
mod table;

pub use read::{Limits, RawTable};
pub use table::{Column, DataTable, ParquetFile, Values};

/// Failure to write or read a table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The CSV is not well formed.
    #[error("CSV: {0}")]
    Csv(#[from] csv::Error),
    /// The Parquet file is not well formed, or uses what is not supported.
    #[error("Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A value is not what its column holds.
    #[error("{0}")]
    Value(String),
    /// The table takes more memory, or has more rows, than allowed.
    #[error("{0}")]
    TooLarge(String),
}
