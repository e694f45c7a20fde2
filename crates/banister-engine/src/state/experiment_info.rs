//! Declared properties of an experiment that answers need.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use banister::decision::{Certificate, Promise, SegmentCertificate};
use banister::fields::Fields;
use banister::lease::{self, Gate, Holdout};
use banister::monitor::Assumption;
use banister::toolkit::CheckedProblem;
use banister::{Choice, Registry as _};
use schemars::JsonSchema;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::to_raw_value;

use super::declaration::{
    CheckedDeclaration, DeclaredContext, Kind, Rollout, Segments, Unit, round,
};
use crate::events::{Candidate, PublishedPolicy, RenderedPolicy};

/// Declared properties of an experiment that answers need; they change only when arms are added.
#[derive(Debug)]
pub struct ExperimentInfo {
    /// Name of the experiment.
    pub experiment: String,
    /// The number of the event that created it.
    pub key: u64,
    pub kind: Kind,
    /// Segments of decisions, where they have one.
    pub segments: Option<Segments>,
    /// Unit that is randomised in place of single decisions.
    pub unit: Option<Unit>,
    /// Units that it decides for, if not for all.
    pub gate: Option<Gate>,
    /// Units that always get the safe action.
    pub holdout: Option<Holdout>,
    /// Names of its arms, retired ones too; empty where decisions bring candidates.
    pub arms: Vec<String>,
    /// Names of its guardrails.
    pub guardrails: Vec<String>,
    /// They as certificates name them.
    pub promises: Vec<Promise>,
    /// Names of the costs that outcomes bring: of guardrails, and of the signals that some are sums of.
    pub costs: Vec<String>,
    /// The safe arm, if arms have names.
    pub safe: Option<u32>,
    /// Features of the safe action, where decisions bring candidates.
    pub safe_action: Vec<f64>,
    /// Fields of the contexts, where those have names.
    pub fields: Option<Fields>,
    /// Length of the vector that identifies the action of an outcome.
    pub width: usize,
    pub problem: CheckedProblem,
    /// 1 − δ.
    pub confidence: f64,
    /// The assumptions that certificates rest on; the same for every decision, so that one asked for again
    /// is answered the same.
    pub assumptions: Vec<Assumption>,
}

impl ExperimentInfo {
    /// Name of an action: the arm's, the candidate's, its index, or `safe`.
    pub fn action_name(&self, candidates: &[Option<String>], action: u32) -> String {
        let place = action as usize;
        match (self.arms.get(place), candidates.get(place)) {
            (Some(name), _) | (None, Some(Some(name))) => name.clone(),
            (None, Some(None)) => action.to_string(),
            (None, None) => "safe".into(),
        }
    }

    /// The unit of a decision, by its id.
    pub fn unit_of<'a>(&self, id: &'a str) -> &'a str {
        let has_period = self.unit.as_ref().is_some_and(|own| own.period.is_some());
        let after = id.split_once('#').filter(|_| has_period);
        after.map_or(id, |(_, unit)| unit)
    }

    /// True if every decision brings a context.
    pub fn takes_context(&self) -> bool {
        matches!(self.kind, Kind::Context(_))
    }

    /// True if the experiment does not decide for a unit.
    pub(crate) fn is_outside(&self, unit: &str) -> bool {
        self.gate.is_some_and(|gate| !gate.admits(unit))
    }

    /// The number that draws a unit's arm from a policy, by the key and the text of its hash.
    pub(crate) fn draw(
        &self,
        key: u64,
        id: [&str; 2],
        unit: &str,
        published: &PublishedPolicy,
    ) -> f64 {
        let holdout = self.holdout.map(|own| (own, unit));
        lease::draw(key, id, holdout, &published.policy, published.safe as usize)
    }

    /// A policy with names.
    pub(crate) fn policy(
        &self,
        published: &PublishedPolicy,
        candidates: &[Option<String>],
    ) -> Vec<Share> {
        let entries = published.policy.iter();
        entries
            .map(|&(index, probability)| Share {
                action: self.action_name(candidates, index as u32),
                index: index as u32,
                safe: index == published.safe as usize,
                probability,
            })
            .collect()
    }

    /// A certificate with names.
    pub(crate) fn certificate(&self, published: &PublishedPolicy) -> Certificate {
        published.certificate(&self.promises, self.assumptions.clone())
    }

    /// Numbers of a context, given as events keep it: its numbers, or a code for each field.
    pub fn vector<'a>(&self, context: &'a [f64]) -> Cow<'a, [f64]> {
        match &self.fields {
            Some(fields) => fields.vector(context).into(),
            None => context.into(),
        }
    }

    /// Numbers by which the outcome of an action is learned; none for arms.
    pub(crate) fn numbers(
        &self,
        action: u32,
        context: &[f64],
        candidates: &[Candidate],
    ) -> Vec<f64> {
        match (self.kind, candidates.get(action as usize)) {
            (Kind::Arms, _) => Vec::new(),
            (Kind::Context(_), _) => self.vector(context).into_owned(),
            (Kind::Candidates(_), Some(candidate)) => candidate.features.clone(),
            (Kind::Candidates(_), None) => self.safe_action.clone(),
        }
    }

    /// Returns the form in which an action was offered, by the numbers of its outcome.
    pub(crate) fn choice<'a>(&self, numbers: &'a [f64]) -> Choice<'a> {
        match self.kind {
            Kind::Arms => Choice::Arms,
            Kind::Context(_) => Choice::Context(numbers),
            Kind::Candidates(_) => Choice::Offered(numbers),
        }
    }
}

/// Beginning of the assumption that units make true.
const INDEPENDENT: &str = "outcomes of different decisions are independent";

/// One entry of a policy.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Share {
    /// The action.
    pub action: String,
    /// Its number.
    pub index: u32,
    /// True for the safe one.
    pub safe: bool,
    /// Its probability.
    pub probability: f64,
}

/// A policy as answers show it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CertifiedPolicy {
    /// The policy it was drawn from.
    pub policy: Vec<Share>,
    /// Certificate of the policy.
    pub certificate: Certificate,
    /// The segment that it was made in, where decisions have one, and its own part of the certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<SegmentCertificate>,
}

/// A policy with the names of its experiment and of its candidates; written as [`CertifiedPolicy`] when somebody asks.
#[derive(Debug, Clone)]
pub struct NamedPolicy {
    pub own: Arc<PublishedPolicy>,
    pub info: Arc<ExperimentInfo>,
    /// Names of the candidates; empty for arms.
    pub candidates: Vec<Option<String>>,
}

impl Deref for NamedPolicy {
    type Target = PublishedPolicy;

    fn deref(&self) -> &PublishedPolicy {
        &self.own
    }
}

impl NamedPolicy {
    fn certified(&self) -> CertifiedPolicy {
        CertifiedPolicy {
            policy: self.info.policy(&self.own, &self.candidates),
            certificate: self.info.certificate(&self.own),
            segment: self.own.segment.clone(),
        }
    }
}

impl Serialize for NamedPolicy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.candidates.is_empty() {
            // The names are this request's.
            return self.certified().serialize(serializer);
        }
        if let Some(rendered) = self.own.rendered.get() {
            return rendered.serialize(serializer);
        }
        let rendered = self.certified().rendered().map_err(S::Error::custom)?;
        let rendered = self.own.rendered.get_or_init(|| rendered);
        rendered.serialize(serializer)
    }
}

impl CertifiedPolicy {
    fn rendered(&self) -> serde_json::Result<RenderedPolicy> {
        Ok(RenderedPolicy {
            policy: to_raw_value(&self.policy)?,
            certificate: to_raw_value(&self.certificate)?,
            segment: self.segment.as_ref().map(to_raw_value).transpose()?,
        })
    }
}

pub(crate) fn info(
    key: u64,
    checked: &CheckedDeclaration,
    arms: Vec<String>,
    assumptions: Vec<Assumption>,
) -> Arc<ExperimentInfo> {
    let guardrails = checked.declaration.guardrails.iter();
    let (unit, rollout) = (&checked.declaration.unit, &checked.declaration.rollout);
    Arc::new(ExperimentInfo {
        experiment: checked.declaration.name.clone(),
        key,
        kind: checked.kind,
        segments: checked.segments(),
        unit: unit.clone(),
        gate: rollout.as_ref().and_then(Rollout::gate),
        holdout: (rollout.as_ref().zip(unit.as_ref()))
            .and_then(|(own, unit)| own.holdout(unit.key())),
        arms,
        guardrails: guardrails.map(|g| g.name.clone()).collect(),
        promises: (checked.standard.declared.guardrails.iter())
            .map(Promise::from)
            .collect(),
        costs: checked.standard.measured().map(str::to_string).collect(),
        safe: match checked.kind {
            Kind::Candidates(_) => None,
            _ => u32::try_from(checked.safe).ok(),
        },
        safe_action: checked.declaration.safe_action.clone().unwrap_or_default(),
        fields: (checked.declaration.context.as_ref())
            .and_then(DeclaredContext::fields)
            .cloned(),
        width: match checked.kind {
            Kind::Candidates(d) => d,
            Kind::Context(numbers) => 1 + numbers,
            Kind::Arms => 1,
        },
        problem: checked.standard.clone(),
        confidence: round(1.0 - checked.config.delta()),
        // Those of the declaration: what was imported since is no part of a decision's answer.
        assumptions: (assumptions.into_iter())
            .filter(|own| *own != Assumption::of_log())
            .map(|own| match &checked.declaration.unit {
                Some(unit) if own.text.starts_with(INDEPENDENT) => Assumption {
                    text: unit.independence(),
                    ..own
                },
                _ => own,
            })
            .collect(),
    })
}
