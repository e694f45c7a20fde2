//! All of an experiment that a policy depends on, beside what is learned.

use std::sync::Arc;

use banister::ArmRanges;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::events::Candidate;
use crate::state::declaration::Kind;
use crate::state::facts::Facts;

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
    /// False once it is retired.
    pub offered: bool,
}

/// State of an experiment between two changes: policies of one frame may stand in for each other.
#[derive(Debug)]
pub(crate) struct Frame {
    pub facts: Arc<Facts>,
    pub arms: Vec<Arm>,
    pub status: ExperimentStatus,
    /// True while outcomes that are missing not at random force the safe action.
    pub is_forced: bool,
    /// True if outcomes are taken by features.
    pub is_linear: bool,
    /// Number of the safe arm, 0 for candidates.
    pub safe: usize,
    /// Number of arms as declared: the length of features where arms are their own.
    pub declared: usize,
}

impl Frame {
    /// Features of an arm by which its outcomes are taken; none where they are taken by number.
    pub(crate) fn arm_features(&self, arm: usize, context: &[f64]) -> Vec<f64> {
        match self.facts.kind {
            Kind::Context(_) => self.facts.features(arm, context),
            _ if !self.is_linear => Vec::new(),
            _ => match &self.arms[arm].features {
                Some(x) => x.clone(),
                None => {
                    let mut x = vec![0.0; self.declared];
                    x[arm] = 1.0;
                    x
                }
            },
        }
    }

    /// Features by which the outcome of an action is taken; none where it is taken by number.
    pub(crate) fn features(
        &self,
        action: u32,
        context: &[f64],
        candidates: &[Candidate],
    ) -> Vec<f64> {
        match self.facts.kind {
            Kind::Candidates(_) => match candidates.get(action as usize) {
                Some(candidate) => candidate.features.clone(),
                None => self.facts.safe_action.clone(),
            },
            _ => self.arm_features(action as usize, context),
        }
    }

    /// Length of the features that the agent learns from; 0 where it knows arms by number.
    pub(crate) fn dimension(&self) -> usize {
        if self.is_linear { self.facts.width } else { 0 }
    }
}
