//! Comparisons: many agents on many instances, on common random numbers, with leaderboards, paired
//! differences and published numbers beside ours.
//!
//! ```
//! use banister_sim::compare::{Agents, Comparison, Suite, leaderboard};
//! use banister_sim::{Progress, Options};
//!
//! let suite = Suite::named("paper", 1)?;
//! let mut entries = suite.entries;
//! for entry in &mut entries {
//!     entry.set_run(Some(500), Some(3), None);
//! }
//! let agents = Agents::listed("opb,ucb1")?;
//! let comparison = Comparison::plan(entries, &agents, false)?;
//! let gathered = comparison.run(Options::default(), &Progress::default(), None)?;
//! let instance = gathered.expect("not cancelled")[0].result();
//! let board = leaderboard(&instance);
//! // Those that promise most come first.
//! assert_eq!(board[0].name(), "opb");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In reading order: `suite/` (named instances) and `grid.rs` (lists of values) make entries (`entry.rs`); `plan.rs`
//! runs them, with `estimate.rs` for how long that takes and `journal.rs` to go on after an interruption; `board.rs`
//! judges the results, with the intervals of `sample.rs`, and `pairs.rs` and `ranks.rs`, with `rank_tests.rs`, compare
//! the agents on the boards; `published.rs` compares results with published numbers, beside which `stored.rs` keeps
//! them; `tuning.rs` chooses the constants of rivals.

mod board;
mod entry;
mod estimate;
mod grid;
mod journal;
mod pairs;
mod plan;
mod published;
mod rank_tests;
mod ranks;
mod sample;
mod stored;
mod suite;
mod tuning;

pub use board::{
    DrawnStanding, ExcessStanding, PromiseVerdict, Standing, TUNED, leaderboard, leaderboards,
    tuned_of,
};
pub use entry::{Entry, FieldValue, Fields};
pub use grid::{expand, is_grid};
pub use journal::{Journal, JournalError};
pub use pairs::{Overall, Pair, overall, pairs};
pub use plan::{Agents, Comparison, LeftOut};
pub use published::{Ours, PublishedNumber, Quantity, Spread, Verdict, measured, verdicts};
pub use rank_tests::{Friedman, critical_difference, friedman, holm, signed_rank};
pub use ranks::{LeftUnranked, RankPair, Ranked, Ranking, Unranked, rankings};
pub use sample::{Interval95, Sample, student_quantile};
pub use stored::{Stored, stored, unreproduced};
pub use suite::{SUITES, Suite};
pub use tuning::{Tried, chosen, tried};
