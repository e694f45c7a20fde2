//! Names of segments that are made from several fields.

use crate::error::Error;

/// Most fields that segments are made from.
const MOST_FIELDS: usize = 16;

/// Name of a segment, given its fields and their values in the order in which fields were declared:
/// `country=de, device=mobile`. A comma or a backslash in a value has a backslash before it, so that two segments
/// never share a name.
///
/// ```
/// let name = banister::fields::segment_of_fields([("country", "de"), ("device", "mobile")]);
/// assert_eq!(name, "country=de, device=mobile");
/// ```
pub fn segment_of_fields<'a>(values: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut name = String::new();
    for (field, value) in values {
        name += if name.is_empty() { "" } else { ", " };
        name += field;
        name.push('=');
        for c in value.chars() {
            if matches!(c, ',' | '\\') {
                name.push('\\');
            }
            name.push(c);
        }
    }
    name
}

/// True if a name is one that [`segment_of_fields`] gives for these fields.
pub fn is_segment_of_fields(fields: &[String], name: &str) -> bool {
    let mut rest = name;
    for (i, field) in fields.iter().enumerate() {
        let between = if i == 0 { "" } else { ", " };
        let value = (rest.strip_prefix(between))
            .and_then(|rest| rest.strip_prefix(field.as_str())?.strip_prefix('='));
        let Some(value) = value else {
            return false;
        };
        let mut is_escaped = false;
        let end = value.find(|c| {
            let ends = c == ',' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        });
        rest = &value[end.unwrap_or(value.len())..];
    }
    rest.is_empty()
}

/// Refuses fields that segments cannot be made from.
pub fn check_segment_fields(fields: &[String]) -> Result<(), Error> {
    let field = "segments.fields";
    if !(1..=MOST_FIELDS).contains(&fields.len()) {
        let allowed = format!("must be 1 to {MOST_FIELDS} names");
        return Err(Error::invalid(field, fields.len(), allowed));
    }
    let is_plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
    for (i, name) in fields.iter().enumerate() {
        let field = (field, i);
        if name.is_empty() || !name.chars().all(is_plain) {
            let allowed = "must be letters, digits, `.`, `_` or `-`";
            return Err(Error::invalid(field, format!("{name:?}"), allowed));
        }
        if fields[..i].contains(name) {
            let allowed = "every field needs a name of its own";
            return Err(Error::invalid(field, name, allowed));
        }
    }
    Ok(())
}
