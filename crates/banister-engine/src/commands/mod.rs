//! Commands: the operations that write events, one subject per file.
//!
//! A command checks itself against the state as folded, writes events into the [`Transaction`] of its
//! commit, and never changes the state: events are folded after they are durable, so a decision never
//! rests on an outcome that is not in the log. May use `state`, `events`, `store` and the views of
//! `queries`; knows neither the queue nor the writer.
//!
//! Read `transaction.rs` first (what the commands of a commit share), then `decide.rs` with `decision_request.rs`, `report.rs`,
//! `cancel.rs` and `expire.rs` (outcomes, and what the engine itself writes), `lease.rs` (decisions made elsewhere), then the
//! changes of experiments: `edit.rs` and `import.rs`. `deliver.rs` delivers notices to their receivers.

mod cancel;
mod decide;
mod decision_request;
mod deliver;
mod edit;
mod expire;
mod import;
mod lease;
mod report;
mod transaction;

pub use cancel::{Cancel, Cancelled};
pub use decide::{Decide, Decided};
pub use decision_request::{DecisionRequest, NamedAction, OfferedAction, RequestContext};
pub use deliver::Deliver;
pub use edit::{CreateExperiment, EditExperiment};
pub use expire::Expire;
pub(crate) use expire::{RecordAlarms, RollOut};
pub use import::{ImportOutcomes, MOST_IMPORTED};
pub use lease::{Expose, Exposed, GrantLease, LeaseRequest};
pub use report::{OutcomeReport, OutcomeStatus, Report, Reported};
pub use transaction::Transaction;

use crate::queries::ExperimentView;
use crate::refusal::Refusal;
use crate::state::EngineState;

/// Operation that may write events.
pub trait Command: Send + 'static {
    type Answer: Send + 'static;

    /// True if commands after it in the same commit need not see its effect on experiments. Others get a
    /// commit of their own.
    const SHARES_COMMIT: bool = false;

    /// Announces the decisions that `execute` reads, so that those of a whole commit are looked up at once.
    fn prepare(&self, _transaction: &mut Transaction) {}

    /// Checks the command and writes its events.
    fn execute(self, transaction: &mut Transaction) -> Result<Reply<Self::Answer>, Refusal>;
}

type ReadAnswer<A> = Box<dyn FnOnce(&mut EngineState) -> Result<A, Refusal> + Send>;

/// Answer of a command, sent once its events are durable.
pub enum Reply<A> {
    Ready(A),
    /// Read from the state after the commit's events are folded.
    AfterFold(ReadAnswer<A>),
}

impl<A> Reply<A> {
    pub(crate) fn resolve(self, state: &mut EngineState) -> Result<A, Refusal> {
        match self {
            Self::Ready(answer) => Ok(answer),
            Self::AfterFold(read) => read(state),
        }
    }
}

impl Reply<ExperimentView> {
    /// The experiment with this key as it is after the commit.
    fn experiment(key: u64) -> Self {
        Self::AfterFold(Box::new(move |state| {
            let (sets, now) = (state.clock_sets().clone(), state.now);
            match state.by_key(key) {
                Some(experiment) => Ok(ExperimentView::new(experiment, &sets, now)),
                None => Err(Refusal::unavailable("the experiment was not folded")),
            }
        }))
    }
}
