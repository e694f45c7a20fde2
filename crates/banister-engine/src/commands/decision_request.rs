//! Requests for decisions, and the checks that need only the experiment's declaration.

use banister::toolkit::Within;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use banister::fields::FieldValue;
use banister::toolkit::did_you_mean;
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::events::{Candidate, DecisionEvent, candidate_names, digest, to_json};
use crate::object;
use crate::refusal::Refusal;
use crate::state::{
    Experiment, ExperimentInfo, GivenSegment, Kind, LARGEST_FEATURE, MOST_ACTIONS, check_label,
    check_products,
};

/// A request for a decision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRequest {
    /// The caller's id: the same request with the same id gets the same answer. 1 to 128 characters, no
    /// control characters, not starting with `@`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub id: Option<String>,
    /// The unit, if the experiment declares one: it has the same arm for its period. 1 to 128 characters, no control
    /// characters, not starting with `@`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub unit: Option<String>,
    /// The context, if the experiment declares one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<RequestContext>,
    /// The candidate actions, if the experiment declares a `dimension`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MOST_ACTIONS))]
    pub actions: Option<Vec<OfferedAction>>,
    /// The segment of users or requests, if the experiment tells them apart: its name, or an object with a value of
    /// every field that segments are made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<GivenSegment>,
    /// In shadow mode: the action that the caller takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<String>,
    /// In shadow mode: the caller's own probability of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propensity: Option<f64>,
}

/// A context as requested: numbers, or a value for each field by name.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RequestContext {
    /// Its numbers.
    Numbers(Vec<f64>),
    /// Its values by field.
    Row(BTreeMap<String, FieldValue>),
}

struct ContextVisitor;

impl<'de> Visitor<'de> for ContextVisitor {
    type Value = RequestContext;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of numbers, or an object with a value for each field")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<RequestContext, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(RequestContext::Numbers)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RequestContext, A::Error> {
        object::map(MapAccessDeserializer::new(map)).map(RequestContext::Row)
    }
}

impl<'de> Deserialize<'de> for RequestContext {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(ContextVisitor)
    }
}

/// A candidate action as requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "an action is a list of features, or an object with `name` and `features`"
)]
pub enum OfferedAction {
    /// By its features; it goes by its index.
    Features(Vec<f64>),
    /// With a name.
    Named(#[serde(deserialize_with = "object::one")] NamedAction),
}

/// A candidate action with a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedAction {
    /// Name.
    pub name: String,
    /// Its features.
    pub features: Vec<f64>,
}

impl From<OfferedAction> for Candidate {
    fn from(action: OfferedAction) -> Self {
        match action {
            OfferedAction::Features(features) => Self {
                name: None,
                features,
            },
            OfferedAction::Named(NamedAction { name, features }) => Self {
                name: Some(name),
                features,
            },
        }
    }
}

impl DecisionRequest {
    /// Digest of everything but the id or unit, to recognise a repeated request; 0 where there is nothing else.
    pub(super) fn digest(&self) -> Result<u64, Refusal> {
        let anonymous = Self {
            id: None,
            unit: None,
            ..self.clone()
        };
        if anonymous == Self::default() {
            return Ok(0);
        }
        Ok(digest(&blake3::hash(to_json(&anonymous)?.as_bytes())))
    }

    /// The decision as far as the request says it, checked.
    pub(super) fn event(
        self,
        experiment: &Experiment,
        digest: u64,
    ) -> Result<DecisionEvent, Refusal> {
        let info = &experiment.info;
        let shadow = experiment.checked.declaration.shadow;
        let segment = segment(info, self.segment)?;
        let (context, candidates) = actions(info, self.context, self.actions)?;
        let taken = taken_action(experiment, shadow, &candidates, self.taken.as_deref())?;
        check_propensity(shadow, taken, self.propensity)?;
        Ok(DecisionEvent {
            request: digest,
            segment,
            context,
            candidates,
            shadow,
            taken,
            propensity: self.propensity,
            ..DecisionEvent::default()
        })
    }
}

/// Takes the unit out of a request, where decisions have one; it stands for the id.
pub(super) fn take_unit(
    info: &ExperimentInfo,
    request: &mut DecisionRequest,
) -> Result<Option<String>, Refusal> {
    match (&info.unit, request.unit.take()) {
        (None, None) => Ok(None),
        (Some(_), Some(unit)) => {
            check_id("unit", &unit)?;
            if let Some(id) = &request.id {
                let allowed = "omit `id`: the `unit` identifies the decision";
                return Err(Refusal::invalid("id", id, allowed));
            }
            Ok(Some(unit))
        }
        (None, Some(_)) => {
            let allowed = "this experiment declares no `unit`: omit it";
            Err(Refusal::invalid("unit", "given", allowed))
        }
        (Some(own), None) => {
            let name = &own.name;
            let allowed = format!("every decision of this experiment is for a {name}: name it");
            Err(Refusal::invalid("unit", "absent", allowed))
        }
    }
}

/// Name of the segment of a request, where decisions have one.
fn segment(
    info: &ExperimentInfo,
    given: Option<GivenSegment>,
) -> Result<Option<Arc<str>>, Refusal> {
    match (&info.segments, given) {
        (None, None) => Ok(None),
        (Some(own), Some(given)) => own.name(&given).map(Some),
        (None, Some(_)) => {
            let allowed = "this experiment does not tell segments apart: omit it";
            Err(Refusal::invalid("segment", "given", allowed))
        }
        (Some(_), None) => {
            let allowed = "every decision of this experiment brings its segment";
            Err(Refusal::invalid("segment", "absent", allowed))
        }
    }
}

/// The context of a request, as events keep it, or its candidates.
fn actions(
    info: &ExperimentInfo,
    given: Option<RequestContext>,
    actions: Option<Vec<OfferedAction>>,
) -> Result<(Vec<f64>, Vec<Candidate>), Refusal> {
    let kind = info.kind;
    if given.is_some() && !matches!(kind, Kind::Context(_)) {
        let allowed = "this experiment declares no `context`";
        return Err(Refusal::invalid("context", "given", allowed));
    }
    if actions.is_some() && !matches!(kind, Kind::Candidates(_)) {
        let allowed = "this experiment chooses among its own arms";
        return Err(Refusal::invalid("actions", "given", allowed));
    }
    match kind {
        Kind::Arms => Ok((Vec::new(), Vec::new())),
        Kind::Context(d) => Ok((context(info, d, given)?, Vec::new())),
        Kind::Candidates(d) => {
            let allowed =
                format!("every decision of this experiment brings actions of {d} features");
            let actions = actions.ok_or_else(|| Refusal::invalid("actions", "absent", allowed))?;
            if actions.is_empty() || actions.len() > MOST_ACTIONS {
                let value = format!("{} actions", actions.len());
                let allowed = format!("must be 1 to {MOST_ACTIONS}");
                return Err(Refusal::invalid("actions", value, allowed));
            }
            check_products("actions", actions.len(), d)?;
            let candidates: Vec<Candidate> = actions.into_iter().map(Candidate::from).collect();
            for (i, candidate) in candidates.iter().enumerate() {
                let x = &candidate.features;
                if x.len() != d {
                    let value = format!("{} features", x.len());
                    let allowed = format!("this experiment's actions have {d}");
                    return Err(Refusal::invalid(format!("actions[{i}]"), value, allowed));
                }
                check_sizes(&format!("actions[{i}]"), x)?;
            }
            check_names(&candidates)?;
            Ok((Vec::new(), candidates))
        }
    }
}

/// A context of some length, as events keep it: its numbers, or a code for each field.
fn context(
    info: &ExperimentInfo,
    d: usize,
    given: Option<RequestContext>,
) -> Result<Vec<f64>, Refusal> {
    let value = match (&info.fields, given) {
        (Some(fields), Some(RequestContext::Row(row))) => {
            let codes = fields.codes(&row);
            return Ok(codes.within("context")?);
        }
        (None, Some(RequestContext::Numbers(context))) if context.len() == d => {
            check_sizes("context", &context)?;
            return Ok(context);
        }
        (_, Some(RequestContext::Numbers(context))) => format!("{} numbers", context.len()),
        (_, Some(RequestContext::Row(_))) => "an object".into(),
        (_, None) => "absent".into(),
    };
    let brings = match &info.fields {
        None => format!("{d} numbers"),
        Some(fields) => {
            let names: Vec<&str> = fields.0.keys().map(String::as_str).collect();
            format!("an object with the fields {}", names.join(", "))
        }
    };
    let allowed = format!("every decision of this experiment brings {brings}");
    Err(Refusal::invalid("context", value, allowed))
}

/// Refuses names that do not tell candidates apart: from each other, from indices, from the safe action.
fn check_names(candidates: &[Candidate]) -> Result<(), Refusal> {
    let mut taken = std::collections::HashSet::new();
    for (i, candidate) in candidates.iter().enumerate() {
        let Some(name) = &candidate.name else {
            continue;
        };
        let field = format!("actions[{i}].name");
        check_label(&field, name)?;
        let reserved = name.trim().is_empty() || name == "safe" || name.parse::<u32>().is_ok();
        if reserved || !taken.insert(name) {
            let allowed = "needs a name of its own, which is not `safe` and not a number";
            return Err(Refusal::invalid(field, format!("{name:?}"), allowed));
        }
    }
    Ok(())
}

/// Number of the action that the caller takes, in shadow mode.
pub(super) fn taken_action(
    experiment: &Experiment,
    shadow: bool,
    candidates: &[Candidate],
    taken: Option<&str>,
) -> Result<Option<u32>, Refusal> {
    let Some(taken) = taken else {
        return Ok(None);
    };
    if !shadow {
        let allowed = "allowed only in shadow mode";
        return Err(Refusal::invalid("taken", taken, allowed));
    }
    let count = match candidates.len() {
        0 => experiment.info.arms.len(),
        n => n + 1,
    };
    let names = candidate_names(candidates);
    let name = |action| experiment.info.action_name(&names, action);
    let all = 0..count as u32;
    if let Some(action) = all.clone().find(|&action| name(action) == taken) {
        return Ok(Some(action));
    }
    // Of very many actions the first few: the writer has others to serve.
    let first: Vec<String> = all.take(100).map(name).collect();
    let hint = did_you_mean(taken, first.iter().map(String::as_str));
    let allowed = format!("must be the name of an action that could be taken{hint}");
    Err(Refusal::invalid("taken", format!("{taken:?}"), allowed))
}

fn check_propensity(
    shadow: bool,
    taken: Option<u32>,
    propensity: Option<f64>,
) -> Result<(), Refusal> {
    let Some(p) = propensity else {
        return Ok(());
    };
    if !shadow || taken.is_none() {
        let allowed = "it is the caller's probability of `taken`, in shadow mode";
        return Err(Refusal::invalid("propensity", p, allowed));
    }
    if p > 0.0 && p <= 1.0 {
        return Ok(());
    }
    let allowed = "must be above 0 and at most 1";
    Err(Refusal::invalid("propensity", p, allowed))
}

fn check_sizes(field: &str, numbers: &[f64]) -> Result<(), Refusal> {
    // Written so that NaN fails.
    match numbers.iter().position(|x| !(x.abs() <= LARGEST_FEATURE)) {
        None => Ok(()),
        Some(i) => {
            let allowed = format!("must lie within ±{LARGEST_FEATURE:e}");
            Err(Refusal::invalid(
                format!("{field}[{i}]"),
                numbers[i],
                allowed,
            ))
        }
    }
}

pub(super) fn check_id(field: &str, id: &str) -> Result<(), Refusal> {
    let count = id.chars().count();
    let fits =
        (1..=128).contains(&count) && !id.starts_with('@') && !id.chars().any(char::is_control);
    if fits {
        return Ok(());
    }
    let shown: String = id.chars().take(40).collect();
    let allowed =
        "must be 1 to 128 characters, none of them a control character, the first not `@`";
    Err(Refusal::invalid(field, format!("{shown:?}"), allowed))
}
