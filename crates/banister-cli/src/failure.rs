//! Failures of commands: bad input is exit code 2, anything else 1.

use std::fmt;

use banister_sim::compare::JournalError;

/// Reason that ends a command early.
#[derive(Debug)]
pub enum Failure {
    /// The input is wrong; the message names field, value and what is allowed.
    Input(miette::Report),
    /// Another failure, such as a full disk.
    Other(String),
    /// The reader closed the pipe; nothing is printed.
    Closed,
}

impl Failure {
    /// Bad input with nothing to point at.
    pub fn input(message: impl fmt::Display) -> Self {
        Self::Input(miette::Report::msg(message.to_string()))
    }

    /// Prints the reason and gives the exit code.
    pub fn report(self) -> u8 {
        match self {
            Self::Input(report) => {
                eprintln!("{report:?}");
                2
            }
            Self::Other(message) => {
                eprintln!("banister: {message}");
                1
            }
            Self::Closed => 0,
        }
    }
}

impl From<banister_report::ReportError> for Failure {
    fn from(error: banister_report::ReportError) -> Self {
        Self::Other(error.to_string())
    }
}

impl From<banister::Error> for Failure {
    fn from(error: banister::Error) -> Self {
        Self::input(error)
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Refused(error) => Self::input(error),
            unusable => Self::Other(unusable.to_string()),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::Other(error.to_string())
        }
    }
}
