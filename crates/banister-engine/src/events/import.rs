//! Outcomes of another log, in columns.

use std::sync::Arc;

use banister::{Choice, Origin, Outcome};
use serde::{Deserialize, Serialize};

use super::digest;

/// Imported outcomes, in columns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Import {
    /// Digest of the whole import, which all of its events have: the same one twice is counted once.
    pub digest: u64,
    /// Arms by number; empty where actions are candidates.
    pub arms: Vec<u32>,
    /// Features, one vector after another; empty where actions are arms.
    pub features: Vec<f64>,
    pub rewards: Vec<f64>,
    /// One cost per guardrail, one outcome after another.
    pub costs: Vec<f64>,
    /// Segments, where decisions have one.
    pub segments: Vec<Arc<str>>,
    /// By row, where the import is a sample of the same traffic ([`Origin::Sampled`]): whether it is the first of its
    /// request, and whether its arm was chosen without regard to the segment. Else empty.
    pub sampled: Vec<(bool, bool)>,
}

impl Import {
    pub(crate) fn digested(&self) -> u64 {
        let columns = (&self.arms, &self.features, &self.rewards, &self.costs);
        let mut hasher = blake3::Hasher::new();
        // Numbers and lists only, hashed in memory: there is nothing to fail on.
        let _ = postcard::to_io(&columns, &mut hasher);
        if !self.segments.is_empty() {
            let _ = postcard::to_io(&self.segments, &mut hasher);
        }
        digest(&hasher.finalize())
    }

    /// Takes up what the rows teach of segments.
    pub fn set_origins(&mut self, origins: &[Origin]) {
        let each = origins.iter().filter_map(|&origin| match origin {
            Origin::Sampled { is_first, is_blind } => Some((is_first, is_blind)),
            _ => None,
        });
        self.sampled = each.collect();
    }

    /// The outcomes as agents observe them; `choice` says how an action with these features was offered.
    pub(crate) fn outcomes<'a>(
        &'a self,
        choice: impl Fn(&'a [f64]) -> Choice<'a>,
    ) -> impl Iterator<Item = Outcome<'a>> {
        let count = self.rewards.len().max(1);
        let (d, m) = (self.features.len() / count, self.costs.len() / count);
        self.rewards
            .iter()
            .enumerate()
            .map(move |(i, &reward)| Outcome {
                action: self.arms.get(i).map_or(0, |&arm| arm as usize),
                choice: choice(&self.features[i * d..(i + 1) * d]),
                segment: self.segments.get(i).map(|name| &**name),
                reward,
                costs: &self.costs[i * m..(i + 1) * m],
                origin: match self.sampled.get(i) {
                    None => Origin::Logged,
                    Some(&(is_first, is_blind)) => Origin::Sampled { is_first, is_blind },
                },
                time: None,
                claims: None,
            })
    }
}
