//! The Python client's types: dataclasses made from the OpenAPI document. `cargo xtask client` writes them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use banister_service::openapi;
use serde_json::{Map, Value};

/// Schemas that the client decodes; what they refer to comes with them.
const ROOTS: [&str; 13] = [
    "Audit",
    "Decision",
    "DecisionSummary",
    "Experiment",
    "Exposed",
    "History",
    "Imported",
    "OutcomeAnswer",
    "SegmentRow",
    "Lifts",
    "Health",
    "ExperimentReport",
    "ExperimentState",
];
/// Classes with methods of their own, by hand.
const METHODS: [(&str, &str); 4] = [
    ("Audit", "DecisionMethods"),
    ("Certificate", "CertificateMethods"),
    ("Decision", "DecisionMethods"),
    ("Experiment", "ExperimentMethods"),
];
const HEAD: &str = "\
\"\"\"Answers of the decision service, made from its OpenAPI document by `cargo xtask client`: do not edit.\"\"\"

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from .answers import Answer, CertificateMethods, DecisionMethods, ExperimentMethods, Policy
";

#[test]
fn the_types_of_the_client_are_those_of_the_document() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/banister/client/types.py");
    let made = Types::new(&openapi::document(1000)).module();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "run `cargo xtask client`");
}

struct Types {
    schemas: Map<String, Value>,
    /// User declarations stay dictionaries in the words of the declaration.
    declared: BTreeSet<String>,
}

impl Types {
    fn new(document: &Value) -> Self {
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let mut types = Self {
            schemas: schemas.clone(),
            declared: BTreeSet::new(),
        };
        let operations = document["paths"].as_object().unwrap().values();
        let operations = operations.flat_map(|path| path.as_object().unwrap().values());
        let mut declared = BTreeSet::new();
        for operation in operations {
            types.reach(&operation["requestBody"], &mut declared);
        }
        types.declared = declared;
        types
    }

    /// Collects the schemas that a value refers to, beside those that are declared.
    fn reach(&self, value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(name) = fields.get("$ref").map(name_of)
                    && (!self.declared.contains(name) || self.is_enum(name))
                    && found.insert(name.to_string())
                {
                    self.reach(&self.schemas[name], found);
                }
                fields.values().for_each(|value| self.reach(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| self.reach(value, found)),
            _ => {}
        }
    }

    fn module(&self) -> String {
        let mut found: BTreeSet<String> = ROOTS.iter().map(ToString::to_string).collect();
        for root in ROOTS {
            self.reach(&self.schemas[root], &mut found);
        }
        found.remove("Share");
        let mut module = HEAD.to_string();
        for name in found.iter().filter(|name| self.is_enum(name)) {
            let words = self.python(&self.schemas[name]).replace(", ", ",\n    ");
            let words = words.replace("[", "[\n    ").replace("]", ",\n]");
            let _ = write!(module, "\n{name}: TypeAlias = {words}\n");
        }
        let classes = found.iter().filter(|name| self.is_class(name));
        classes.fold(module, |module, name| module + &self.class(name))
    }

    fn is_enum(&self, name: &str) -> bool {
        let schema = &self.schemas[name];
        let is_const = |list: &Vec<Value>| list.iter().all(|one| one["const"].is_string());
        schema["enum"].is_array() || schema["oneOf"].as_array().is_some_and(is_const)
    }

    fn is_class(&self, name: &str) -> bool {
        self.schemas[name].get("properties").is_some()
    }

    fn class(&self, name: &str) -> String {
        let schema = &self.schemas[name];
        let methods = METHODS.iter().find(|(class, _)| *class == name);
        let base = methods.map_or("Answer", |(_, methods)| methods);
        let repr = if methods.is_some() {
            ", repr=False"
        } else {
            ""
        };
        let mut class =
            format!("\n\n@dataclass(frozen=True, kw_only=True{repr})\nclass {name}({base}):\n");
        write(&mut class, "    ", "\"\"\"", &text_of(schema), "\"\"\"");
        class.push('\n');
        let required: Vec<&str> = (schema["required"].as_array().into_iter().flatten())
            .filter_map(Value::as_str)
            .collect();
        let properties = schema["properties"].as_object().unwrap();
        // In the order of the type; what may be absent follows.
        let absent = properties.keys().map(String::as_str);
        let absent = absent.filter(|key| !required.contains(key));
        for key in required.iter().copied().chain(absent) {
            let schema = &properties[key];
            write(&mut class, "    #: ", "", &text_of(schema), "");
            let kind = self.python(schema);
            let default = if required.contains(&key) {
                String::new()
            } else {
                format!(" = {}", default_of(&kind))
            };
            let _ = writeln!(class, "    {key}: {kind}{default}");
        }
        class
    }

    /// Type of the values of a schema.
    fn python(&self, schema: &Value) -> String {
        if let Some(name) = schema.get("$ref").map(name_of) {
            return match self.declared.contains(name) {
                _ if self.is_enum(name) => name.into(),
                true if self.is_class(name) => "dict[str, Any]".into(),
                true => "Any".into(),
                false if self.is_class(name) => name.into(),
                false => self.python(&self.schemas[name]),
            };
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(list) = schema[key].as_array() {
                return joined(list.iter().map(|one| self.python(one)));
            }
        }
        if let Some(text) = schema["const"].as_str() {
            return format!("Literal[\"{text}\"]");
        }
        if let Some(list) = schema["enum"].as_array() {
            let each = list.iter().map(|text| format!("Literal[{text}]"));
            return joined(each);
        }
        match &schema["type"] {
            Value::Array(kinds) => joined(kinds.iter().map(|kind| {
                let mut one = schema.clone();
                one["type"] = kind.clone();
                self.python(&one)
            })),
            Value::String(kind) => self.of_kind(kind, schema),
            _ => "Any".into(),
        }
    }

    fn of_kind(&self, kind: &str, schema: &Value) -> String {
        match kind {
            "null" => "None".into(),
            "boolean" => "bool".into(),
            "integer" => "int".into(),
            "number" => "float".into(),
            "string" if schema["format"] == "date-time" => "datetime".into(),
            "string" => "str".into(),
            "array" if schema["items"]["$ref"] == "#/components/schemas/Share" => "Policy".into(),
            "array" if schema["items"].is_object() => {
                format!("tuple[{}, ...]", self.python(&schema["items"]))
            }
            "array" => "tuple[Any, ...]".into(),
            _ if schema["additionalProperties"].is_object() => {
                format!(
                    "dict[str, {}]",
                    self.python(&schema["additionalProperties"])
                )
            }
            _ => "dict[str, Any]".into(),
        }
    }
}

/// A union; literals become one.
fn joined(kinds: impl Iterator<Item = String>) -> String {
    let (mut literals, mut others) = (Vec::new(), Vec::new());
    for kind in kinds {
        match (kind.strip_prefix("Literal[")).and_then(|rest| rest.strip_suffix(']')) {
            Some(inner) => literals.push(inner.to_string()),
            None if !others.contains(&kind) => others.push(kind),
            None => {}
        }
    }
    if !literals.is_empty() {
        others.insert(0, format!("Literal[{}]", literals.join(", ")));
    }
    if others.iter().any(|kind| kind == "Any") {
        return "Any".into();
    }
    others.join(" | ")
}

fn default_of(kind: &str) -> &'static str {
    match kind {
        "bool" => "False",
        kind if kind.ends_with("None") => "None",
        kind if kind.starts_with("tuple") => "()",
        kind if kind.starts_with("dict") => "field(default_factory=dict)",
        _ => "None",
    }
}

fn name_of(reference: &Value) -> &str {
    let reference = reference.as_str().unwrap_or_default();
    reference.rsplit('/').next().unwrap_or_default()
}

fn text_of(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes a text in lines of at most 120 characters.
fn write(out: &mut String, indent: &str, open: &str, text: &str, close: &str) {
    if text.is_empty() {
        return;
    }
    let mut line = format!("{indent}{open}");
    let mut is_first = true;
    for word in text.split(' ') {
        if !is_first && line.chars().count() + 1 + word.chars().count() + close.len() > 120 {
            let _ = writeln!(out, "{line}");
            line = indent.to_string() + word;
        } else {
            line += if is_first { "" } else { " " };
            line += word;
        }
        is_first = false;
    }
    let _ = writeln!(out, "{line}{close}");
}
