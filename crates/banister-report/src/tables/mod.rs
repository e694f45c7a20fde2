//! The tables `curves`, `runs`, `alarms`, `traces`, `leaderboard`, `pairs`, `overall`, `ranks` and `orders`, as CSV
//! and as Parquet.
//!
//! In reading order: `columns` (what all tables are made of), `results` (curves, runs and alarms of
//! simulations), `traces` (every run at every checkpoint), `standings` (leaderboards, pairs and ranks
//! of a comparison), `orders` (rows that runs on a table play).
//!
//! ```
//! use banister_report::tables;
//! use banister_sim::results::Results;
//!
//! # fn main() -> Result<(), banister_report::ReportError> {
//! let results = Results { instances: vec![] };
//! let table = tables::runs(&results);
//! let (csv, parquet) = (table.to_csv()?, table.to_parquet()?);
//! assert!(csv.starts_with(b"instance,agent,run,seed,"));
//! assert!(parquet.starts_with(b"PAR1"));
//! # Ok(())
//! # }
//! ```

mod columns;
mod orders;
mod results;
mod standings;
mod traces;

pub use banister_table::{Column, DataTable, Values};
pub use columns::{count, number, text};
pub use orders::orders;
pub use results::{alarms, curves, has_alarms, rounds_until_alarm, runs};
pub use standings::{leaderboards, overall, pairs, ranks};
pub use traces::{LongRow, long_form, traces};
