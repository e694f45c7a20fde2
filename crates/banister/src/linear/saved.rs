//! Snapshots of actions and their regression.

use serde::{Deserialize, Serialize};

use super::Evidence;
use super::actions::Columns;
use super::regression::State;
use crate::error::Error;
use crate::snapshot::broken;

/// The regression, and the actions on offer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedEvidence {
    pub(crate) regression: State,
    /// Features on offer, one action after another.
    pub(crate) actions: Vec<f64>,
    /// Their names, where they have any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) names: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) columns: Option<Columns>,
}

impl Evidence {
    /// Regression, actions and their tables.
    pub fn save(&self) -> SavedEvidence {
        SavedEvidence {
            regression: self.regression.state().clone(),
            actions: self.actions.all_features().to_vec(),
            names: self.names.clone(),
            columns: self.followed(),
        }
    }

    /// Regression and named actions, for [`crate::Agent::save_learned`]: without actions that were offered by their features alone.
    pub fn save_learned(&self) -> SavedEvidence {
        let declared = &self.problem.declared;
        // Without names there is only the safe action, as before anything was offered.
        let (actions, names) = if self.names.is_empty() {
            (
                self.safe_action.clone(),
                vec![declared.arms[declared.safe].clone()],
            )
        } else {
            (self.actions.all_features().to_vec(), self.names.clone())
        };
        SavedEvidence {
            regression: self.regression.state().clone(),
            actions,
            names,
            columns: None,
        }
    }

    /// Takes that up again.
    pub fn restore(&mut self, saved: SavedEvidence, outcomes: u64) -> Result<(), Error> {
        if !self.regression.restore(saved.regression) {
            return Err(broken("`regression` does not match the problem's features"));
        }
        self.offer(&saved.actions)
            .map_err(|error| broken(error.to_string()))?;
        if self.actions.all_features().len() != saved.actions.len() {
            return Err(broken("`actions` lacks the safe action"));
        }
        if !(saved.names.is_empty() || saved.names.len() == self.actions.count) {
            return Err(broken("`names` does not match the actions on offer"));
        }
        self.names = saved.names;
        let (d, signals) = (self.space.dimension, self.signals.len());
        if let Some(columns) = saved.columns
            && !self.actions.restore(columns, d, signals)
        {
            return Err(broken("`columns` does not match the actions on offer"));
        }
        self.outcomes = outcomes;
        Ok(())
    }
}
