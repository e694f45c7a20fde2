//! Refusals: the engine's errors, in words for the caller.

use banister::Error;
use banister::toolkit::{FieldPath, Within};

/// Reason for which a command or query was refused. Nothing was written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A field has a value that is not allowed.
    #[error("`{field}` is {value}: {allowed}")]
    Invalid {
        /// The field, as the request spells it: `guardrails[0].at_most`.
        field: FieldPath,
        value: String,
        allowed: String,
    },
    /// There is no such experiment, decision or arm.
    #[error("there is no {what} `{name}`{hint}")]
    Unknown {
        /// `experiment`, `decision` or `arm`.
        what: &'static str,
        name: String,
        /// The known name that was probably meant, or nothing.
        hint: String,
    },
    /// It contradicts what the log already holds.
    #[error("{reason}")]
    Conflict { reason: String },
    /// The decision is another caller's.
    #[error("{reason}")]
    Forbidden { reason: String },
    /// A budget does not even cover the safe action.
    #[error("{reason}")]
    Exhausted {
        experiment: String,
        /// Guardrail whose budget it is.
        guardrail: String,
        reason: String,
        /// Seconds until the budget's next period.
        retry_after: u32,
    },
    /// The log cannot be read or written now. Trying again later may help.
    #[error("the log is not available: {reason}")]
    Unavailable { reason: String },
}

impl Refusal {
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

    pub fn conflict(reason: impl Into<String>) -> Self {
        Self::Conflict {
            reason: reason.into(),
        }
    }

    pub fn unavailable(reason: impl std::fmt::Display) -> Self {
        Self::Unavailable {
            reason: reason.to_string(),
        }
    }

    pub fn unknown(what: &'static str, name: impl Into<String>) -> Self {
        Self::Unknown {
            what,
            name: name.into(),
            hint: String::new(),
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid {
                field,
                value,
                allowed,
            } => Self::Invalid {
                field,
                value,
                allowed,
            },
            other => Self::conflict(other.to_string()),
        }
    }
}

impl Within for Refusal {
    fn with_path(mut self, change: impl FnOnce(FieldPath) -> FieldPath) -> Self {
        if let Self::Invalid { field, .. } = &mut self {
            *field = change(std::mem::take(field));
        }
        self
    }
}
