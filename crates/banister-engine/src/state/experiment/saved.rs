//! An experiment as a snapshot keeps it, and the digest of what it has learned.

use std::collections::BTreeMap;

use banister::{AgentConfig, Registry as _};
use serde::{Deserialize, Serialize};

use super::{Experiment, ExperimentTrace, FoldedState};
use crate::events::digest;
use crate::state::declaration::Declaration;
use crate::store::{Snapshot, StoreError};

/// All of an experiment that a snapshot keeps.
#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    learned: Learned,
    trace: ExperimentTrace,
}

/// The learned state.
#[derive(Debug, Serialize, Deserialize)]
struct Learned {
    folded: FoldedState,
    declaration: Declaration,
    recorded: u64,
    agent: String,
}

/// First byte of a snapshot: its version.
const SEALED: u8 = 11;
/// First byte of a compressed snapshot.
const PACKED: u8 = 12;
/// Bytes of a snapshot from which on it is compressed: the writer has less to write.
const LARGE: usize = 256 << 10;

/// Digest of a snapshot.
fn seal(experiment: u64, number: u64, json: &[u8]) -> [u8; 8] {
    let mut hash = blake3::Hasher::new();
    hash.update(&experiment.to_le_bytes());
    hash.update(&number.to_le_bytes());
    hash.update(json);
    digest(&hash.finalize()).to_le_bytes()
}

fn unwritable(error: impl std::fmt::Display) -> StoreError {
    StoreError::new(format!("a snapshot cannot be encoded: {error}"))
}

/// Number of the last event in the snapshot of every experiment.
pub(crate) type InSnapshots = BTreeMap<u64, u64>;

/// Says that all events up to a number are in snapshots that are no older than these; kept as that of no experiment.
pub(crate) fn mark(number: u64, kept: &InSnapshots) -> Result<Snapshot, StoreError> {
    let body = postcard::to_extend(kept, Vec::new()).map_err(unwritable)?;
    Ok(Snapshot {
        experiment: 0,
        number,
        body: [&seal(0, number, &body)[..], &body].concat(),
    })
}

/// Number and snapshots of a mark, unless it is damaged.
pub(crate) fn read_mark(mark: &Snapshot) -> Option<(u64, InSnapshots)> {
    let (own, body) = mark.body.split_first_chunk::<8>()?;
    if *own != seal(0, mark.number, body) {
        return None;
    }
    Some((mark.number, postcard::from_bytes(body).ok()?))
}

impl Experiment {
    /// Part of the snapshot that depends on the events alone.
    fn learned(&mut self) -> Result<Learned, StoreError> {
        let folded = self.folded.clone();
        #[cfg(test)]
        let folded = FoldedState {
            budgets: folded.budgets.clone().planted(),
            ..folded
        };
        Ok(Learned {
            folded,
            declaration: self.checked.declaration.clone(),
            recorded: self.learner.recorded,
            agent: self.learner.save().map_err(unwritable)?,
        })
    }

    /// Digest of what is learned.
    pub fn digest(&mut self) -> Result<String, StoreError> {
        let mut learned = self.learned()?;
        // How far a random stream was drawn is no part of what was learned.
        let mut agent: serde_json::Value =
            serde_json::from_str(&learned.agent).map_err(unwritable)?;
        // Nor is the time at which somebody last asked.
        for part in ["/learner/stream", "/clock/now"] {
            if let Some(own) = agent.pointer_mut(part) {
                own.take();
                learned.agent = agent.to_string();
            }
        }
        let learned = serde_json::to_vec(&learned).map_err(unwritable)?;
        Ok(blake3::hash(&learned).to_hex().to_string())
    }

    /// Snapshot of the log up to an event.
    pub(crate) fn snapshot(&mut self, number: u64) -> Result<Snapshot, StoreError> {
        let saved = Saved {
            learned: self.learned()?,
            trace: self.trace.clone(),
        };
        let json = serde_json::to_vec(&saved).map_err(unwritable)?;
        let packed = (json.len() >= LARGE)
            .then(|| snap::raw::Encoder::new().compress_vec(&json).ok())
            .flatten();
        let (kind, content) = packed.map_or((SEALED, json), |packed| (PACKED, packed));
        let mut body = Vec::with_capacity(content.len() + 9);
        body.push(kind);
        body.extend_from_slice(&seal(self.key, number, &content));
        body.extend_from_slice(&content);
        Ok(Snapshot {
            experiment: self.key,
            number,
            body,
        })
    }

    pub(crate) fn restore(snapshot: &Snapshot) -> Result<Self, String> {
        let (&kind, rest) = snapshot.body.split_first().ok_or("it is empty")?;
        let (own, content) = rest.split_first_chunk::<8>().ok_or("it is cut off")?;
        if *own != seal(snapshot.experiment, snapshot.number, content) {
            return Err("its checksum does not match: a part of it was changed".into());
        }
        let unpacked;
        let json = match kind {
            SEALED => content,
            PACKED => {
                let whole = snap::raw::Decoder::new().decompress_vec(content);
                unpacked = whole.map_err(|e| e.to_string())?;
                &unpacked
            }
            other => return Err(format!("it has version {other}")),
        };
        let saved: Saved = serde_json::from_slice(json).map_err(|e| e.to_string())?;
        let Learned {
            folded,
            declaration,
            recorded,
            agent,
        } = saved.learned;
        let mut checked = declaration.check_rest(false).map_err(|e| e.to_string())?;
        for (number, arm) in folded.arms.iter().enumerate() {
            let standard = &mut checked.standard;
            if number >= checked.arms.len() {
                (standard.add_arm(&arm.ranges, &arm.weights)).map_err(|e| e.to_string())?;
            } else if !arm.weights.is_empty() {
                (standard.set_weights(number, &arm.weights)).map_err(|e| e.to_string())?;
            }
        }
        let agent = AgentConfig::restore(&agent)
            .map_err(|e| e.to_string())?
            .agent;
        Ok(Self::of(checked, folded, saved.trace, agent, recorded))
    }
}
