//! Errors of user-supplied documents (TOML, JSON): serde's words become ours, with the path of the field.

use serde::{Deserialize, Deserializer};

use crate::Error;
use crate::path::FieldPath;

/// Error of a parser, with the path of the field where it went wrong.
#[derive(Debug)]
pub struct FieldError<E> {
    /// Place in the document, e.g. `guardrails[0].at_most`.
    pub field: FieldPath,
    /// Error of the parser.
    pub error: E,
}

/// Deserialises a value; an error names the field.
pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, FieldError<D::Error>> {
    serde_path_to_error::deserialize(deserializer).map_err(|error| FieldError {
        field: FieldPath::of_segments(error.path()),
        error: error.into_inner(),
    })
}

/// Explains serde's message about a value of the wrong type or content, in words for people who do not write
/// Rust; `None` if it is about something else.
///
/// ```
/// let message = "invalid type: string \"x\", expected f64";
/// let error = banister::toolkit::explain("delta", message).expect("it is about a value");
/// assert_eq!(error.to_string(), "`delta` is string \"x\": must be a number");
/// ```
pub fn explain(field: impl Into<FieldPath>, message: &str) -> Option<Error> {
    let found = (message.strip_prefix("invalid type: "))
        .or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, expected) = found.split_once(", expected ")?;
    let allowed = match expected {
        "f64" => "must be a number".to_string(),
        "bool" | "a boolean" => "must be true or false".to_string(),
        "a string" => "must be a text".to_string(),
        "a sequence" => "must be a list".to_string(),
        "a map" | "an object" => "must be an object".to_string(),
        "usize" | "u64" | "u32" => "must be a whole number that is not negative".to_string(),
        other => format!("must be {other}"),
    };
    Some(Error::invalid(field, found, allowed))
}

/// The end of a sentence about an unknown word: the nearest known one, if it is near; else empty.
///
/// ```
/// use banister::toolkit::did_you_mean;
/// assert_eq!(did_you_mean("cost", ["reward", "costs"]), "; did you mean `costs`?");
/// assert_eq!(did_you_mean("clicks", ["reward", "costs"]), "");
/// ```
pub fn did_you_mean<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = known.into_iter().filter_map(|word| {
        let most = (word.len() / 3).max(2).min(word.len().saturating_sub(1));
        // A distance takes long to compute for long texts, and is no less than that of their lengths.
        let fits = unknown.len().abs_diff(word.len()) <= most;
        let distance = fits.then(|| strsim::osa_distance(unknown, word))?;
        (distance <= most).then_some((distance, word))
    });
    near.min().map_or(String::new(), |(_, word)| {
        format!("; did you mean `{word}`?")
    })
}

/// The end of serde's message about an unknown field or variant, as [`did_you_mean`] says it.
pub fn hint(message: &str) -> String {
    let mut words = message.split('`').skip(1).step_by(2);
    match words.next() {
        Some(unknown) if message.starts_with("unknown ") => did_you_mean(unknown, words),
        _ => String::new(),
    }
}
