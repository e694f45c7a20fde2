//! An experiment as a snapshot keeps it, and the digest of what it has learned.

use banister::AgentConfig;
use serde::{Deserialize, Serialize};

use super::facts::facts;
use super::{Alarm, Arm, Counts, Experiment, ExperimentStatus, Imported, Latest};
use crate::declaration::Declaration;
use crate::history::History;
use crate::time::Timestamp;

/// All of an experiment that a snapshot keeps; the first part is what is learned.
#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    learned: Learned,
    history: History,
    alarm: Option<Alarm>,
    latest: Option<Latest>,
    settled: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Learned {
    key: u64,
    number: u64,
    created: i64,
    declaration: Declaration,
    status: ExperimentStatus,
    arms: Vec<Arm>,
    counts: Counts,
    imports: Vec<Imported>,
    agent: String,
}

impl Experiment {
    /// What is learned, as text: the same for the same events.
    fn learned(&self) -> Learned {
        Learned {
            key: self.key,
            number: self.number,
            created: self.created.0,
            declaration: self.checked.declaration.clone(),
            status: self.status,
            arms: self.arms.clone(),
            counts: self.counts,
            imports: self.imports.clone(),
            agent: self.agent.save_learned(),
        }
    }

    /// Digest of what is learned.
    pub fn digest(&self) -> String {
        let learned = serde_json::to_vec(&self.learned()).unwrap_or_default();
        blake3::hash(&learned).to_hex().to_string()
    }

    /// For a snapshot.
    pub(crate) fn save(&self) -> Vec<u8> {
        let saved = Saved {
            learned: self.learned(),
            history: self.history.clone(),
            alarm: self.alarm,
            latest: self.latest.clone(),
            settled: self.settled,
        };
        // Numbers, texts and lists only: there is nothing to fail on.
        serde_json::to_vec(&saved).unwrap_or_default()
    }

    /// From a snapshot.
    pub(crate) fn restore(body: &[u8]) -> Result<Self, String> {
        let saved: Saved = serde_json::from_slice(body).map_err(|e| e.to_string())?;
        let learned = saved.learned;
        let checked = learned
            .declaration
            .check_stored()
            .map_err(|e| e.to_string())?;
        let restored = AgentConfig::restore(&learned.agent).map_err(|e| e.to_string())?;
        let facts = facts(learned.key, &checked, &learned.arms);
        Ok(Self {
            key: learned.key,
            status: learned.status,
            created: Timestamp(learned.created),
            number: learned.number,
            counts: learned.counts,
            imports: learned.imports,
            history: saved.history,
            alarm: saved.alarm,
            latest: saved.latest,
            settled: saved.settled,
            current: None,
            arms: learned.arms,
            facts,
            agent: restored.agent,
            checked,
        })
    }
}
