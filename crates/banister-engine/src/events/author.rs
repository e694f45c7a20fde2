//! Authors of events.

use std::fmt;
use std::sync::{Arc, LazyLock};

/// Author of an event: the name of a token, or one of two names that no token has.
#[derive(Debug, Clone)]
pub struct Author {
    name: Arc<str>,
    /// True if it may come back to its own decisions only.
    owns: bool,
}

impl Author {
    /// Callers without a token, where none is needed.
    pub const ANONYMOUS: &'static str = "anonymous";
    /// The engine itself: expired decisions, alarms.
    pub const ENGINE: &'static str = "banister";

    /// The holder of a token, or a caller without one.
    pub fn new(token: Option<Arc<str>>) -> Self {
        static ANONYMOUS: LazyLock<Arc<str>> = LazyLock::new(|| Author::ANONYMOUS.into());
        Self {
            name: token.unwrap_or_else(|| ANONYMOUS.clone()),
            owns: false,
        }
    }

    /// Restricts the author to decisions of its own: it may neither repeat others' nor report on them.
    pub fn of_its_own(self) -> Self {
        Self { owns: true, ..self }
    }

    pub(crate) fn engine() -> Self {
        Self::new(Some(Self::ENGINE.into()))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if it may come back to a decision of `other`.
    pub(crate) fn may_touch(&self, other: &Self) -> bool {
        !self.owns || other.name == self.name
    }
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
