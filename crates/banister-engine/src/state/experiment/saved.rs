//! An experiment as a snapshot keeps it, and the digest of what it has learned.

use std::collections::VecDeque;

use banister_rivals::AgentConfig;
use serde::{Deserialize, Serialize};

use super::facts::facts;
use super::{
    Alarm, Arm, Counts, Experiment, ExperimentStatus, Imported, Latest, Missing, RecordedAlarm,
};
use crate::state::declaration::Declaration;
use crate::state::history::History;
use crate::store::{Store, StoreError};
use crate::time::Timestamp;

/// All of an experiment that a snapshot keeps; the first part is what is learned.
#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    /// 2: with the monitor; absent before.
    version: u32,
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
    missing: Missing,
    recorded: u64,
    alarms: Vec<RecordedAlarm>,
    shadow_switches: Vec<u64>,
    shares: VecDeque<(u64, f64)>,
    agent: String,
}

const VERSION: u32 = 2;

impl Experiment {
    /// Part of the snapshot that depends on the events alone.
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
            missing: self.missing.clone(),
            recorded: self.recorded,
            alarms: self.alarms.clone(),
            shadow_switches: self.shadow_switches.clone(),
            shares: self.shares.clone(),
            agent: self.agent.save_learned(),
        }
    }

    /// Digest of what is learned.
    pub fn digest(&self) -> String {
        let learned = serde_json::to_vec(&self.learned()).unwrap_or_default();
        blake3::hash(&learned).to_hex().to_string()
    }

    pub(crate) fn save(&self) -> Vec<u8> {
        let saved = Saved {
            version: VERSION,
            learned: self.learned(),
            history: self.history.clone(),
            alarm: self.alarm,
            latest: self.latest.clone(),
            settled: self.settled,
        };
        // Numbers, texts and lists only: there is nothing to fail on.
        serde_json::to_vec(&saved).unwrap_or_default()
    }

    /// From a snapshot; `None` if it is of an earlier version, which lacks what the log has to say anew.
    pub(crate) fn restore(body: &[u8]) -> Result<Option<Self>, String> {
        #[derive(Deserialize)]
        struct Header {
            version: Option<u32>,
        }
        let header: Header = serde_json::from_slice(body).map_err(|e| e.to_string())?;
        match header.version {
            None => return Ok(None),
            Some(VERSION) => {}
            Some(version) => {
                return Err(format!(
                    "it has version {version}, this program reads version {VERSION}"
                ));
            }
        }
        let saved: Saved = serde_json::from_slice(body).map_err(|e| e.to_string())?;
        let learned = saved.learned;
        let mut checked = learned
            .declaration
            .check_stored()
            .map_err(|e| e.to_string())?;
        for arm in learned.arms.iter().skip(checked.arms.len()) {
            (checked.standard.add_arm(&arm.ranges)).map_err(|e| e.to_string())?;
        }
        let restored = AgentConfig::restore(&learned.agent).map_err(|e| e.to_string())?;
        let facts = facts(learned.key, &checked, &learned.arms, &*restored.agent);
        Ok(Some(Self {
            key: learned.key,
            status: learned.status,
            created: Timestamp(learned.created),
            number: learned.number,
            counts: learned.counts,
            imports: learned.imports,
            missing: learned.missing,
            recorded: learned.recorded,
            alarms: learned.alarms,
            shadow_switches: learned.shadow_switches,
            shares: learned.shares,
            history: saved.history,
            alarm: saved.alarm,
            latest: saved.latest,
            settled: saved.settled,
            current: None,
            arms: learned.arms,
            facts,
            agent: restored.agent,
            checked,
        }))
    }
}

/// Experiments as their snapshots have them, each with its snapshot's number.
pub(crate) type Restored = Vec<(u64, Experiment)>;

/// The experiments of all snapshots, read one by one: a snapshot can be large. `Ok(None)` if some are of an
/// earlier version, `Err` if one cannot be read.
pub(crate) fn restore_all(
    store: &mut dyn Store,
) -> Result<Result<Option<Restored>, String>, StoreError> {
    let mut experiments = Vec::new();
    for key in store.snapshots()? {
        let Some(snapshot) = store.snapshot(key)? else {
            continue;
        };
        match Experiment::restore(&snapshot.body) {
            Ok(Some(experiment)) => experiments.push((snapshot.number, experiment)),
            Ok(None) => return Ok(Ok(None)),
            Err(reason) => return Ok(Err(reason)),
        }
    }
    Ok(Ok(Some(experiments)))
}
