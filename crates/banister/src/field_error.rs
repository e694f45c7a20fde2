//! Errors of user-supplied documents (TOML, JSON): serde's words become ours, with the path of the field.

use serde::{Deserialize, Deserializer};

use crate::Error;

/// Error of a parser, with the path of the field where it went wrong.
#[derive(Debug)]
pub struct FieldError<E> {
    /// Path as the document spells it, e.g. `guardrail[0].at_most`; `.` for the document itself.
    pub field: String,
    /// Error of the parser.
    pub error: E,
}

/// Deserialises a value; an error names the field.
pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, FieldError<D::Error>> {
    serde_path_to_error::deserialize(deserializer).map_err(|error| FieldError {
        field: error.path().to_string(),
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
pub fn explain(field: &str, message: &str) -> Option<Error> {
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
