//! JSON schemas in a reader's words, for the pages of the book that are made from them.

use serde_json::Value;

pub fn one_line(text: &Value) -> String {
    let text = text.as_str().unwrap_or("").split("```").next();
    let words = text.unwrap_or("").split_whitespace();
    words.collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// The type of a value; `named` words one that is given by its name.
pub fn kind(schema: &Value, named: &dyn Fn(&str) -> String) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return named(reference.rsplit('/').next().unwrap_or(""));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(all) = schema[key].as_array() {
            let mut kinds: Vec<String> = all.iter().map(|own| kind(own, named)).collect();
            kinds.retain(|own| own != "null");
            kinds.dedup();
            return kinds.join(", ");
        }
    }
    if let Some(value) = schema["const"].as_str() {
        return format!("`{value}`");
    }
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().filter_map(Value::as_str);
        let values: Vec<String> = values.map(|own| format!("`{own}`")).collect();
        return values.join(", ");
    }
    let name = match &schema["type"] {
        Value::Array(names) => names
            .iter()
            .find(|own| *own != "null")
            .unwrap_or(&Value::Null),
        name => name,
    };
    match (
        name.as_str(),
        &schema["items"],
        &schema["additionalProperties"],
    ) {
        (Some("array"), items, _) if items.is_object() => {
            format!("list of {}", kind(items, named))
        }
        (Some("object"), _, of) if of.is_object() => format!("{} by name", kind(of, named)),
        (Some(name), ..) => name.into(),
        (None, ..) => "any".into(),
    }
}
