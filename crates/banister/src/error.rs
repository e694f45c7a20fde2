//! Errors of the core. Each names the field, the value and what is allowed.

use crate::path::{FieldPath, Within};

/// Errors about input to the core.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A field has a value outside what is allowed. Change the field as the message says.
    #[error("`{field}` is {value}: {allowed}")]
    Invalid {
        /// The field, as the user wrote it, e.g. `guardrails[0].at_most`.
        field: FieldPath,
        /// The value as found in the input.
        value: String,
        /// Description of allowed values.
        allowed: String,
    },
    /// An arm's name is not known to the agent. Use one of the names given.
    #[error("no arm is called `{name}`; the arms are {known}")]
    UnknownArm {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// An outcome, or a retirement, names an arm that was never offered.
    #[error("there is no arm {arm}: arms are numbered 0 to {last}")]
    NoSuchArm {
        /// The index as given.
        arm: usize,
        /// The last index there is.
        last: usize,
    },
    /// A K-armed agent was given feature vectors. Name its arms instead, or use a linear agent.
    #[error(
        "this agent chooses among named arms and takes no feature vectors: use `oplb` for those"
    )]
    NoFeatures,
    /// The number of costs in an outcome differs from the number of guardrails.
    #[error("the outcome has {got} costs, expected {expected}: one per guardrail ({names})")]
    CostCount {
        /// Number of costs in the outcome.
        got: usize,
        /// Number of guardrails declared.
        expected: usize,
        /// Names of the guardrails, joined by commas.
        names: String,
    },
    /// A decision was given to a session that did not make it. Give it to the agent that made it.
    #[error(
        "decision {number} of another agent: give it to the agent that made it (in the process that made it), or give \
         its arm by name or number"
    )]
    ForeignDecision {
        /// Number of the decision.
        number: u64,
    },
    /// A decision has an outcome already. Give another outcome by its arm.
    #[error(
        "decision {number}, whose outcome was taken before (or which is older than {most} others without one): an \
         outcome counts once; if it is another one, give the arm by name or number"
    )]
    SecondOutcome {
        /// Number of the decision.
        number: u64,
        /// Most decisions without an outcome.
        most: usize,
    },
    /// More outcomes than the horizon that the intervals were made for. Use anytime intervals
    /// (`mixture`, `kl`, `subgaussian`) or declare a longer horizon.
    #[error(
        "the horizon of {horizon} outcomes is used up: `{intervals}` bounds hold for no more; declare \
         a longer `horizon`, or use anytime intervals (`mixture`, `kl`, `subgaussian`) without the \
         paper's T_0 rule"
    )]
    HorizonExceeded {
        /// The horizon as declared, in outcomes.
        horizon: u64,
        /// The intervals in use, or the T_0 rule.
        intervals: &'static str,
    },
    /// A snapshot cannot be read. The message says why; take an intact one of this version.
    #[error("the snapshot cannot be restored: {reason}")]
    Snapshot {
        /// Reason, naming the part that is wrong.
        reason: String,
    },
    /// A user-supplied environment or agent failed. The reason names the fault in its code.
    #[error("user-supplied code failed: {reason}")]
    UserCode {
        /// Reason, in the words of the code that failed.
        reason: String,
    },
}

impl Error {
    /// Makes an [`Error::Invalid`].
    pub fn invalid(
        field: impl Into<FieldPath>,
        value: impl std::fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        Self::Invalid {
            field: field.into(),
            value: value.to_string(),
            allowed: allowed.into(),
        }
    }
}

impl Within for Error {
    fn with_path(mut self, change: impl FnOnce(FieldPath) -> FieldPath) -> Self {
        if let Self::Invalid { field, .. } = &mut self {
            *field = change(std::mem::take(field));
        }
        self
    }
}

/// Refuses NaN and infinity.
pub fn finite(field: impl Into<FieldPath>, value: f64) -> Result<f64, Error> {
    checked(field, value, true, "")
}

/// Refuses anything but a finite number above zero.
pub fn positive(field: impl Into<FieldPath>, value: f64) -> Result<f64, Error> {
    checked(field, value, value > 0.0, "must be above 0")
}

/// Refuses anything but a probability strictly between zero and one.
pub fn open_unit(field: impl Into<FieldPath>, value: f64) -> Result<f64, Error> {
    let allowed = "must be above 0 and below 1";
    checked(field, value, value > 0.0 && value < 1.0, allowed)
}

fn checked(
    field: impl Into<FieldPath>,
    value: f64,
    is_allowed: bool,
    allowed: &str,
) -> Result<f64, Error> {
    let allowed = if !value.is_finite() {
        "only finite numbers are allowed"
    } else if is_allowed {
        return Ok(value);
    } else {
        allowed
    };
    Err(Error::invalid(field, value, allowed))
}

/// Makes an [`Error::Snapshot`] with a reason.
pub fn broken(reason: impl Into<String>) -> Error {
    Error::Snapshot {
        reason: reason.into(),
    }
}
