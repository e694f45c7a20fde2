//! Flags: experiments that OpenFeature clients evaluate, and the events of such clients that are outcomes.

use std::collections::BTreeMap;

use banister::toolkit::did_you_mean;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CheckedDeclaration, MEASURED, check_label, check_names};
use crate::object;
use crate::refusal::Refusal;

/// Most events that a flag takes for outcomes.
const MOST_EVENTS: usize = 100;

/// An experiment as a flag: its name is the flag's key, its arms are the variants, its units are targeted.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flag {
    /// Values by arm, all of one type; by default the arms' names.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "object::map"
    )]
    pub values: BTreeMap<String, Value>,
    /// Tracking events that are outcomes, by name.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "object::objects"
    )]
    pub events: BTreeMap<String, Tracked>,
}

/// Meaning of a tracking event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tracked {
    /// The signal, guardrail or `reward` that it is added to, in the period of its unit.
    pub signal: String,
    /// Amount; by default the event's own value, and 1 if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
}

impl Flag {
    pub fn value(&self, arm: &str) -> Value {
        self.values.get(arm).cloned().unwrap_or_else(|| arm.into())
    }
}

/// Type of a value, by name.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) | Value::Object(_) => "object",
    }
}

impl CheckedDeclaration {
    pub(super) fn check_flag(&self, flag: &Flag) -> Result<(), Refusal> {
        let invalid = |field: String, value: &str, allowed: &str| {
            Err(Refusal::invalid(format!("flag{field}"), value, allowed))
        };
        let arms = self.arms.iter().map(|own| own.name.as_str());
        check_names("flag.values", &flag.values, "arm", arms)?;
        let mut kinds = Vec::new();
        for (arm, value) in &flag.values {
            kinds.push(type_of(value));
            if value.is_null() {
                return invalid(format!(".values.{arm}"), "null", "must not be null");
            }
        }
        kinds.dedup();
        if kinds.len() > 1 || !(kinds.is_empty() || flag.values.len() == self.arms.len()) {
            let allowed = "give every arm a value of the same type, or give none";
            return invalid(".values".into(), &kinds.join(" and "), allowed);
        }
        if flag.events.len() > MOST_EVENTS {
            let count = flag.events.len().to_string();
            return invalid(".events".into(), &count, &format!("at most {MOST_EVENTS}"));
        }
        let rewards = [
            "reward",
            self.standard.signal_name(self.standard.reported()),
        ];
        let known: Vec<&str> = self.standard.measured().chain(rewards).collect();
        for (name, event) in &flag.events {
            check_label("flag.events", name)?;
            let (signal, known) = (event.signal.as_str(), known.iter().copied());
            if !known.clone().any(|own| own == signal) {
                let hint = did_you_mean(signal, known);
                let allowed =
                    format!("must be `reward`, or the name of a declared {MEASURED}{hint}");
                return invalid(format!(".events.{name}.signal"), signal, &allowed);
            }
            if let Some(value) = event.value.filter(|value| !value.is_finite()) {
                let allowed = "must be a finite number";
                return invalid(format!(".events.{name}.value"), &value.to_string(), allowed);
            }
        }
        Ok(())
    }
}
