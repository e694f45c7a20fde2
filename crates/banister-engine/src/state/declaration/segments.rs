//! Segments of decisions: how they are declared and given, and the one name that each of them has.
//!
//! A segment made from several fields goes by one name ([`segment_of_fields`]), its fields in the order in which they
//! were declared.

use banister::toolkit::Within;
use std::collections::BTreeMap;
use std::sync::Arc;

use banister::AgentConfig;
use banister::fields::{check_segment_fields, segment_of_fields};
use banister::toolkit::check_segment;
use banister::{Guardrail, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CheckedDeclaration, Declaration};
use crate::object;
use crate::refusal::Refusal;

/// Most segments that are declared.
const MOST_DECLARED: usize = 10_000;

/// Segments as declared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "segments are a list of names, or an object with `fields` and optional `known` segments"
)]
pub enum Segments {
    /// By name. Every decision brings the name of its segment, one of these or another.
    Names(#[schemars(length(max = MOST_DECLARED))] Vec<String>),
    /// Made from several fields. Every decision brings a value of each.
    Fields(#[serde(deserialize_with = "object::one")] SegmentFields),
}

/// Segments made from several fields.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SegmentFields {
    /// Names of the fields.
    pub fields: Vec<String>,
    /// Segments with a policy of their own from the first decision on: a value of every field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<BTreeMap<String, String>>,
}

/// Segment as a decision gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a segment is its name, or an object with a text for every field"
)]
pub enum GivenSegment {
    /// Its name.
    Name(String),
    /// A value of every field, where segments are made from fields.
    Values(#[serde(deserialize_with = "object::map")] BTreeMap<String, String>),
}

impl SegmentFields {
    /// Name of a segment, given a value of every field.
    pub fn name<'a>(
        &'a self,
        field: &str,
        values: &'a BTreeMap<String, String>,
    ) -> Result<String, Refusal> {
        if let Some(other) = values.keys().find(|name| !self.fields.contains(name)) {
            let allowed = format!("the fields of a segment are {}", self.fields.join(", "));
            return Err(Refusal::invalid(
                format!("{field}.{other}"),
                "given",
                allowed,
            ));
        }
        let value = |own: &'a String| match values.get(own) {
            Some(value) => Ok((own.as_str(), value.as_str())),
            None => {
                let allowed = "a segment has a value of every field";
                Err(Refusal::invalid(
                    format!("{field}.{own}"),
                    "absent",
                    allowed,
                ))
            }
        };
        let values = self.fields.iter().map(value);
        Ok(segment_of_fields(values.collect::<Result<Vec<_>, _>>()?))
    }

    /// Returns true if a name is one that [`Self::name`] gives.
    pub fn is_name(&self, name: &str) -> bool {
        let mut rest = name;
        for (i, own) in self.fields.iter().enumerate() {
            let between = if i == 0 { "" } else { ", " };
            let value = (rest.strip_prefix(between))
                .and_then(|rest| rest.strip_prefix(own.as_str())?.strip_prefix('='));
            let Some(value) = value else {
                return false;
            };
            let mut escaped = false;
            let end = value.find(|c| {
                let ends = c == ',' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            rest = &value[end.unwrap_or(value.len())..];
        }
        rest.is_empty()
    }
}

impl Segments {
    /// Name of the segment that a decision gives.
    pub fn name(&self, given: &GivenSegment) -> Result<Arc<str>, Refusal> {
        let name = match (self, given) {
            (Self::Names(_), GivenSegment::Name(name)) => name.clone(),
            (Self::Fields(own), GivenSegment::Values(values)) => own.name("segment", values)?,
            (Self::Names(_), GivenSegment::Values(_)) => {
                let allowed = "this experiment's segments have names: give a text";
                return Err(Refusal::invalid("segment", "an object", allowed));
            }
            (Self::Fields(own), GivenSegment::Name(name)) => {
                let allowed = format!("give an object with a value of {}", own.fields.join(", "));
                return Err(Refusal::invalid("segment", format!("{name:?}"), allowed));
            }
        };
        check_segment(&name)?;
        Ok(name.into())
    }
}

impl CheckedDeclaration {
    /// Returns true if every decision has a segment.
    pub fn has_segments(&self) -> bool {
        matches!(self.config, AgentConfig::Segmented(_))
    }

    /// Segments of decisions, where they have one.
    pub(crate) fn segments(&self) -> Option<Segments> {
        let none = Segments::Names(Vec::new());
        (self.has_segments()).then(|| self.declaration.segments.clone().unwrap_or(none))
    }
}

impl Declaration {
    /// Refuses segments where the agent knows none.
    pub(super) fn check_segments(&self, config: &AgentConfig) -> Result<(), Refusal> {
        if matches!(config, AgentConfig::Segmented(_)) {
            return Ok(());
        }
        let allowed = "this agent does not tell segments apart: use `segmented`";
        if self.segments.is_some() {
            return Err(Refusal::invalid("segments", "given", allowed));
        }
        let each = |guardrail: &Guardrail| guardrail.scope == Scope::Each;
        match self.guardrails.iter().position(each) {
            Some(i) => {
                let field = format!("guardrails[{i}].scope");
                Err(Refusal::invalid(field, "each", allowed))
            }
            None => Ok(()),
        }
    }

    /// Names of the segments with a policy of their own from the first decision on.
    pub(super) fn known_segments(&self) -> Result<Vec<String>, Refusal> {
        let (list, known) = match &self.segments {
            None => ("segments", Vec::new()),
            Some(Segments::Names(names)) => ("segments", names.clone()),
            Some(Segments::Fields(own)) => {
                check_segment_fields(&own.fields)?;
                let known = own.known.iter().enumerate();
                let names =
                    known.map(|(i, values)| own.name(&format!("segments.known[{i}]"), values));
                ("segments.known", names.collect::<Result<_, _>>()?)
            }
        };
        for (i, name) in known.iter().enumerate() {
            check_segment(name).at((list, i))?;
        }
        if known.len() > MOST_DECLARED {
            let allowed =
                format!("at most {MOST_DECLARED}: others are told apart once they are seen");
            let value = format!("{} segments", known.len());
            return Err(Refusal::invalid("segments", value, allowed));
        }
        Ok(known)
    }
}
