//! Contexts as declared: bare numbers, or named fields.

use banister::toolkit::Within;
use std::fmt;

use banister::fields::Fields;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use crate::refusal::Refusal;

/// Contexts of an experiment's decisions: how many numbers, or the fields by name.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum DeclaredContext {
    /// This many numbers.
    Numbers(usize),
    /// A value for each of these fields.
    Fields(Fields),
}

impl DeclaredContext {
    /// The fields, if it has names.
    pub fn fields(&self) -> Option<&Fields> {
        match self {
            Self::Numbers(_) => None,
            Self::Fields(fields) => Some(fields),
        }
    }

    /// Length of the vector that the model sees.
    pub(super) fn length(&self) -> Result<usize, Refusal> {
        match self {
            Self::Numbers(d) => Ok(*d),
            Self::Fields(fields) => {
                fields.check().within("context")?;
                Ok(fields.dimension())
            }
        }
    }

    /// Longest vector that is meant: of numbers up to 1, or the longest that the fields make.
    pub(super) fn norm(&self) -> f64 {
        match self {
            Self::Numbers(d) => (*d as f64).sqrt(),
            Self::Fields(fields) => fields.norm(),
        }
    }
}

struct ContextVisitor;

impl<'de> Visitor<'de> for ContextVisitor {
    type Value = DeclaredContext;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a whole number, or an object with a field under each name")
    }

    fn visit_u64<E>(self, d: u64) -> Result<DeclaredContext, E> {
        let d = usize::try_from(d).unwrap_or(usize::MAX);
        Ok(DeclaredContext::Numbers(d))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DeclaredContext, A::Error> {
        Fields::deserialize(MapAccessDeserializer::new(map)).map(DeclaredContext::Fields)
    }
}

impl<'de> Deserialize<'de> for DeclaredContext {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(ContextVisitor)
    }
}
