//! The tables of results: `curves`, `runs`, `alarms`, `traces`, `leaderboard`, `pairs`, `overall`, `ranks` and `orders` as
//! CSV and Parquet; those that people and programs read too.
//!
//! In reading order: `columns` (what data tables are made of), `spec` (columns declared once for all writers),
//! `words` (numbers for people), `results` (curves, runs and alarms of simulations), `summary` (agents of results),
//! `traces` (every run at every checkpoint), `standings` with `measured` (leaderboards, pairs and ranks of a comparison),
//! `published` (published numbers beside ours), `orders` (rows that runs on a table play),
//! `plan` (times until arms are certified).
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
mod measured;
mod orders;
mod plan;
mod published;
mod results;
pub mod spec;
mod standings;
mod summary;
mod traces;
pub mod words;

pub use banister_table::{Column, DataTable, Values};
pub use columns::{count, number, text};
pub use measured::measured;
pub use orders::orders;
pub use plan::{PLAN_NOTES, plan, plan_json};
pub use published::{PublishedRow, measured_numbers, published, published_json, published_shown};
pub use results::{alarms, curves, has_alarms, rounds_until_alarm, runs};
pub use standings::{
    board, board_json, leaderboards, overall, overall_json, overall_shown, pairs, pairs_json,
    pairs_shown, ranks,
};
pub use summary::{
    against_known, final_regret, final_reward, optimum_at_the_end, summary, summary_json,
};
pub use traces::{LongRow, long_form, traces};
