//! All of an experiment that a policy depends on, beside what is learned.

use std::sync::Arc;

use banister::{ArmRanges, ArmWeights};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::events::Candidate;
use crate::state::declaration::Kind;
use crate::state::experiment_info::ExperimentInfo;

/// Status of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExperimentStatus {
    /// It decides and learns.
    #[default]
    Running,
    /// Every decision is the safe action; it still learns from outcomes.
    Paused,
    /// It is over.
    Archived,
}

/// An arm, retired ones too. Its number never changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    pub name: String,
    /// Its features, where arms have any.
    pub features: Option<Vec<f64>>,
    /// Ranges that it brought when it was added.
    #[serde(default, skip_serializing_if = "ArmRanges::is_empty")]
    pub ranges: ArmRanges,
    /// Weights that it brought, or that were set since.
    #[serde(default, skip_serializing_if = "ArmWeights::is_empty")]
    pub weights: ArmWeights,
    /// False once it is retired.
    pub offered: bool,
}

/// State of an experiment between two changes: policies with the same inputs may stand in for each other.
#[derive(Debug)]
pub(crate) struct PolicyInputs {
    pub info: Arc<ExperimentInfo>,
    pub status: ExperimentStatus,
    /// True while outcomes that are missing not at random force the safe action.
    pub is_forced: bool,
}

impl PolicyInputs {
    /// Numbers by which the outcome of an action is learned; none for arms.
    pub(crate) fn numbers(
        &self,
        action: u32,
        context: &[f64],
        candidates: &[Candidate],
    ) -> Vec<f64> {
        match self.info.kind {
            Kind::Arms => Vec::new(),
            Kind::Context(_) => self.info.vector(context).into_owned(),
            Kind::Candidates(_) => match candidates.get(action as usize) {
                Some(candidate) => candidate.features.clone(),
                None => self.info.safe_action.clone(),
            },
        }
    }
}
