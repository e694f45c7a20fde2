//! Places of values in declared documents: steps from the document down, which each layer that reads a part prepends to.

use std::fmt;

use serde_path_to_error::Segment;

/// Step from a value to one inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Entry of a table, by its key.
    Key(String),
    /// Entry of a list, by its place.
    Index(usize),
}

/// Place of a value, such as `guardrails[0].at_most`; `.`, without steps, is the document itself.
///
/// ```
/// use banister::toolkit::FieldPath;
///
/// let path = FieldPath::from("at_most").within(("guardrails", 0));
/// assert_eq!(path.to_string(), "guardrails[0].at_most");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldPath(Vec<Step>);

impl FieldPath {
    /// Steps from the document to the value.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The key that the path begins with.
    pub fn first(&self) -> Option<&str> {
        match self.0.first() {
            Some(Step::Key(key)) => Some(key),
            _ => None,
        }
    }

    /// The path of the same value, seen from a document that has this one at `outer`.
    #[must_use]
    pub fn within(self, outer: impl Into<Self>) -> Self {
        let mut steps = outer.into().0;
        steps.extend(self.0);
        Self(steps)
    }

    /// The path of an entry of this value: the key is taken as it is.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.0.push(Step::Key(key.into()));
        self
    }

    /// The path with its beginning replaced; as it is where it begins otherwise.
    #[must_use]
    pub fn moved(self, from: impl Into<Self>, to: impl Into<Self>) -> Self {
        match self.0.strip_prefix(&from.into().0[..]) {
            Some(rest) => Self(rest.to_vec()).within(to),
            None => self,
        }
    }

    /// The path that serde went. Files may call their tables of guardrails by one of them, `[[guardrail]]`: errors do not.
    pub(crate) fn of_segments(path: &serde_path_to_error::Path) -> Self {
        let step = |(depth, segment): (usize, &Segment)| match segment {
            Segment::Seq { index } => Some(Step::Index(*index)),
            Segment::Map { key } if depth == 0 && key == "guardrail" => {
                Some(Step::Key("guardrails".into()))
            }
            Segment::Map { key } => Some(Step::Key(key.clone())),
            Segment::Enum { variant } => Some(Step::Key(variant.clone())),
            Segment::Unknown => None,
        };
        Self(path.iter().enumerate().filter_map(step).collect())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(".");
        }
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if i == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

/// Reads what [`FieldPath`] shows. A key with a dot in it becomes two, which show alike.
impl From<&str> for FieldPath {
    fn from(text: &str) -> Self {
        let mut steps = Vec::new();
        let is_whole = text.is_empty() || text == ".";
        for mut part in text.split('.').filter(|_| !is_whole) {
            let mut indices = Vec::new();
            while let Some((rest, index)) = last_index(part) {
                indices.push(Step::Index(index));
                part = rest;
            }
            if !part.is_empty() || indices.is_empty() {
                steps.push(Step::Key(part.to_string()));
            }
            steps.extend(indices.into_iter().rev());
        }
        Self(steps)
    }
}

fn last_index(part: &str) -> Option<(&str, usize)> {
    let (rest, digits) = part.strip_suffix(']')?.rsplit_once('[')?;
    let index: usize = digits.parse().ok()?;
    // Only as it is shown: `[007]` stays a text.
    (index.to_string() == digits).then_some((rest, index))
}

impl From<String> for FieldPath {
    fn from(text: String) -> Self {
        Self::from(&*text)
    }
}

impl From<&String> for FieldPath {
    fn from(text: &String) -> Self {
        Self::from(&**text)
    }
}

impl From<usize> for FieldPath {
    fn from(index: usize) -> Self {
        Self(vec![Step::Index(index)])
    }
}

/// An entry of a list.
impl From<(&str, usize)> for FieldPath {
    fn from((list, index): (&str, usize)) -> Self {
        Self::from(index).within(list)
    }
}

/// An entry of a table, whose key is taken as it is.
impl From<(&str, &str)> for FieldPath {
    fn from((table, key): (&str, &str)) -> Self {
        Self::from(table).key(key)
    }
}

impl From<(&str, &String)> for FieldPath {
    fn from((table, key): (&str, &String)) -> Self {
        Self::from(table).key(key)
    }
}

impl From<FieldPath> for Box<str> {
    fn from(path: FieldPath) -> Self {
        path.to_string().into()
    }
}

impl PartialEq<str> for FieldPath {
    fn eq(&self, text: &str) -> bool {
        let shown = self.to_string();
        shown == text
    }
}

impl PartialEq<&str> for FieldPath {
    fn eq(&self, text: &&str) -> bool {
        self == *text
    }
}

/// Errors that know their place.
pub trait Within: Sized {
    /// The error as seen from a document that has the checked part at `outer`.
    #[must_use]
    fn within(self, outer: impl Into<FieldPath>) -> Self {
        self.with_path(|path| path.within(outer))
    }

    /// The error about another place.
    #[must_use]
    fn at(self, path: impl Into<FieldPath>) -> Self {
        self.with_path(|_| path.into())
    }

    /// The error with its place as another document has it.
    #[must_use]
    fn with_path(self, change: impl FnOnce(FieldPath) -> FieldPath) -> Self;
}

impl<T, E: Within> Within for Result<T, E> {
    fn with_path(self, change: impl FnOnce(FieldPath) -> FieldPath) -> Self {
        self.map_err(|error| error.with_path(change))
    }
}
