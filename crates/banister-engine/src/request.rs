//! What can be asked, and the answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, NamedArm};
use crate::event::{Candidate, Import};
use crate::experiment::{Change, Facts};
use crate::published::Published;
use crate::time::Timestamp;
use crate::view::{ExperimentView, HistoryView, StateView, Stats};

/// A request for a decision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRequest {
    /// The caller's id: the same request with the same id gets the same answer. 1 to 128 characters, no
    /// control characters, not starting with `@`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub id: Option<String>,
    /// The context, if the experiment declares one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Vec<f64>>,
    /// The candidate actions, if the experiment declares a `dimension`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<OfferedAction>>,
    /// In shadow mode: the action that the caller takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<String>,
    /// In shadow mode: the caller's own probability of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propensity: Option<f64>,
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
    Named(#[serde(deserialize_with = "crate::object::one")] NamedAction),
}

/// A candidate action with a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedAction {
    /// What it is called.
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

/// A report of an outcome, or of a part of one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutcomeReport {
    /// Id of the decision.
    pub decision: String,
    /// The reward, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward: Option<f64>,
    /// The costs that are known, by guardrail.
    #[serde(default, deserialize_with = "crate::object::map")]
    pub costs: BTreeMap<String, Option<f64>>,
    /// In shadow mode: the action that the caller took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<String>,
}

/// What is asked.
#[derive(Debug)]
pub enum Request {
    /// A decision.
    Decide(Arc<str>, Box<DecisionRequest>),
    /// An outcome, or a part of one.
    Report(Arc<str>, Box<OutcomeReport>),
    /// A new experiment.
    Create(Box<Declaration>),
    /// A change of one.
    Change(Arc<str>, Box<Change>),
    /// One more arm.
    AddArm(Arc<str>, NamedArm),
    /// One arm less.
    RetireArm(Arc<str>, String),
    /// Outcomes of another log.
    Import(Arc<str>, Import),
    /// Clears the alarms of an experiment, with a note.
    Acknowledge(Arc<str>, String),
    /// Writes down the alarms that no event records yet.
    RecordAlarms,
    /// Decisions whose time is over.
    Expire(Overdue),
    /// Which experiments have a time to live, and up to where their decisions are settled.
    Lives,
    /// All experiments.
    List,
    /// One experiment.
    Show(Arc<str>),
    /// The live picture of one.
    Look(Arc<str>),
    /// Its trace.
    Trace(Arc<str>),
    /// What answers need to know of it.
    Facts(Arc<str>),
    /// The digest of what it has learned.
    Digest(Arc<str>),
    /// What monitoring wants to know.
    Stats,
}

impl Request {
    /// Whether it writes nothing and needs nothing but what is in memory.
    pub(crate) fn is_read(&self) -> bool {
        matches!(
            self,
            Self::Lives
                | Self::List
                | Self::Show(_)
                | Self::Look(_)
                | Self::Trace(_)
                | Self::Facts(_)
                | Self::Digest(_)
                | Self::Stats
        )
    }

    /// Whether it changes what later requests of the same commit would see.
    pub(crate) fn is_alone(&self) -> bool {
        !self.is_read() && !matches!(self, Self::Decide(..) | Self::Report(..))
    }
}

/// Decisions of an experiment whose time is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Overdue {
    /// The experiment.
    pub experiment: u64,
    /// The decisions.
    pub decisions: Vec<u64>,
    /// If there are none, everything up to here is settled.
    pub settled: u64,
}

/// An experiment with a time to live.
#[derive(Debug, Clone, PartialEq)]
pub struct Life {
    /// The experiment.
    pub experiment: u64,
    /// Its time to live.
    pub ttl_seconds: f64,
    /// Up to here its decisions are settled.
    pub settled: u64,
}

/// The answer to a request.
#[derive(Debug)]
pub enum Answer {
    /// A decision.
    Decision(Box<Decided>),
    /// What is known of an outcome.
    Outcome(Reported),
    /// An experiment.
    Experiment(Box<ExperimentView>),
    /// Outcomes were imported: how many, and the number of the last event.
    Imported(u64, u64),
    /// Number of decisions whose time was over.
    Expired(u64),
    /// Experiments with a time to live.
    Lives(Vec<Life>),
    /// All experiments.
    List(Vec<ExperimentView>),
    /// The live picture.
    State(Box<StateView>),
    /// The trace.
    History(Box<HistoryView>),
    /// What answers need to know of an experiment.
    Facts(Arc<Facts>),
    /// The digest of what is learned, and the experiment's last event: equal events, equal digests.
    Digest(String, u64),
    /// What monitoring wants to know.
    Stats(Stats),
}

/// A decision as made.
#[derive(Debug, Clone)]
pub struct Decided {
    /// The number of its event.
    pub number: u64,
    /// The caller's id.
    pub id: Option<String>,
    /// When.
    pub time: Timestamp,
    /// The action drawn.
    pub action: u32,
    /// Its probability.
    pub probability: f64,
    /// Whether it was made in shadow mode.
    pub shadow: bool,
    /// Facts of candidates; empty for arms.
    pub candidates: Vec<Option<String>>,
    /// The policy it was drawn from.
    pub published: Arc<Published>,
    /// What is to be known of the experiment.
    pub facts: Arc<Facts>,
}

impl Decided {
    /// What callers call it.
    pub fn shown_id(&self) -> String {
        shown_id(self.id.as_deref(), self.number)
    }
}

/// What callers call a decision: their id, or its number.
pub fn shown_id(id: Option<&str>, number: u64) -> String {
    id.map_or_else(|| format!("@{number}"), str::to_string)
}

/// What an action is called: the arm's name, the candidate's, its index, or `safe`.
pub fn action_name(facts: &Facts, candidates: &[Option<String>], action: u32) -> String {
    let place = action as usize;
    match facts.arms.get(place) {
        Some(name) => name.clone(),
        None => match candidates.get(place) {
            Some(Some(name)) => name.clone(),
            Some(None) => action.to_string(),
            None => "safe".into(),
        },
    }
}

/// What is known of an outcome.
#[derive(Debug, Clone)]
pub struct Reported {
    /// What callers call the decision.
    pub decision: String,
    /// True once it is complete and learned.
    pub complete: bool,
    /// True while all of it was reported and waits until the decision's time to live is over.
    pub pending: bool,
    /// The reward, if known.
    pub reward: Option<f64>,
    /// The costs, as far as known.
    pub costs: Vec<Option<f64>>,
    /// What is to be known of the experiment.
    pub facts: Arc<Facts>,
}
