//! Failures of commands: bad input is exit code 2, anything else 1.

use std::error::Error;
use std::fmt;
use std::io::ErrorKind::BrokenPipe;

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

/// An error is bad input if the core's is behind it.
impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let own: &(dyn Error + 'static) = &error;
        if (own.downcast_ref::<std::io::Error>()).is_some_and(|e| e.kind() == BrokenPipe) {
            return Self::Closed;
        }
        let mut cause = Some(own);
        while let Some(error) = cause.filter(|error| !error.is::<banister::Error>()) {
            cause = error.source();
        }
        if cause.is_some() {
            Self::input(error)
        } else {
            Self::Other(error.to_string())
        }
    }
}
