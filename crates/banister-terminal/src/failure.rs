//! Failures of commands: bad input is exit code 2, anything else 1.

use std::error::Error;
use std::fmt;
use std::io::ErrorKind::BrokenPipe;
use std::io::IsTerminal as _;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// Reason that ends a command early.
#[derive(Debug)]
pub enum Failure {
    /// The input is wrong; the message names field, value and what is allowed.
    Input(Box<Report>),
    /// Another failure, such as a full disk.
    Other(String),
    /// The reader closed the pipe; nothing is printed.
    Closed,
}

/// A fault of an input, and its place.
#[derive(Debug, Default)]
pub struct Report {
    /// Names field, value and what is allowed.
    pub message: String,
    /// Name and text of the file that it points into, and the span.
    pub place: Option<(String, String, Range<usize>)>,
    /// Hint at what was probably meant.
    pub help: Option<String>,
}

impl Failure {
    /// Bad input with nothing to point at.
    pub fn input(message: impl fmt::Display) -> Self {
        Self::from(Report {
            message: message.to_string(),
            ..Report::default()
        })
    }

    /// Prints the reason, in the name of the program, and gives the exit code.
    pub fn report(self, program: &str) -> u8 {
        match self {
            Self::Input(report) => {
                eprintln!("{report}");
                2
            }
            Self::Other(message) => {
                eprintln!("{program}: {message}");
                1
            }
            Self::Closed => 0,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place.as_ref().map(|(name, text, span)| {
            let here = AnnotationKind::Primary.span(span.clone()).label("here");
            Snippet::source(text).path(name).annotation(here)
        });
        let help = self.help.as_ref().map(|help| Level::HELP.message(help));
        let title = Level::ERROR.primary_title(&self.message);
        let report = title.elements(place).elements(help);
        let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let renderer = if colours {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        f.write_str(&renderer.render(&[report]))
    }
}

impl From<Report> for Failure {
    fn from(report: Report) -> Self {
        Self::Input(Box::new(report))
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
