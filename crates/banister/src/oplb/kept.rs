//! Policies that stay while the actions stay and little is learned.
//!
//! The confidence sets hold at all times at once, so a policy that was feasible for all parameters in them is
//! feasible still. It is solved for again when outcomes have grown by a part, or when one of them said much about
//! some direction.

use serde::{Deserialize, Serialize};

use super::Oplb;

/// Outcomes below which each one counts.
const FIRST: u64 = 200;

/// Part by which outcomes grow until the next solve.
const PART: f64 = 0.005;

/// Growth of ln det Σ until the next solve.
const GROWTH: f64 = 0.05;

/// State of learning at which a policy was solved for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    outcomes: u64,
    log_det: f64,
}

impl Kept {
    /// As of now.
    pub(super) fn now(agent: &Oplb) -> Self {
        Self {
            outcomes: agent.evidence.outcomes,
            log_det: agent.evidence.regression.log_dets()[1],
        }
    }

    /// True if the policy still serves.
    #[inline]
    pub(super) fn serves(&self, agent: &Oplb) -> bool {
        let now = Self::now(agent);
        if now.outcomes == self.outcomes {
            return true;
        }
        now.outcomes >= FIRST
            && (now.outcomes as f64) < (1.0 + PART) * self.outcomes as f64
            && now.log_det - self.log_det < GROWTH
    }
}
