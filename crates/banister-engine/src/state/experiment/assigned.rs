//! Arms as drawn against the policies that they were drawn from, and the time until their outcomes come.
//!
//! Given its policy a decision has arm a with probability π_a, so that the bets of `missing` are a martingale here too:
//! one that reaches 1000 says at level 0.001, at any time, that assignments are not what the log says.

use serde::{Deserialize, Serialize};

use super::Experiment;
use super::missing::Surprises;
use crate::events::DecisionEvent;
use crate::time::Timestamp;

/// Policies with more arms than this are not counted: it would take longer than to decide.
const MOST_DRAWN: usize = 64;

/// Draws by arm.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Assigned {
    /// Decisions counted.
    pub decisions: u64,
    /// By arm: how often it was drawn, and the sum of its probabilities.
    pub arms: Vec<(u64, f64)>,
    /// Bets against the probabilities.
    pub surprises: Surprises,
}

/// Time from decisions to their first report, of one arm, as far as both were seen here.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Delay {
    pub count: u64,
    /// In seconds.
    pub sum: f64,
}

impl Experiment {
    /// Counts the draw of a decision, if it is from the latest policy: which one it is from says nothing of the arm.
    pub(super) fn count_draw(&mut self, decision: &DecisionEvent) {
        let latest = (self.trace.latest.as_ref()).filter(|own| decision.policy == Some(own.number));
        let published = match (&decision.own, latest) {
            (Some(own), _) => own.clone(),
            (None, Some(latest)) => latest.published.clone(),
            (None, None) => return,
        };
        let policy = &published.policy;
        let is_arm = |&(arm, _): &(usize, f64)| arm < self.arms.len();
        if policy.len() > MOST_DRAWN || !policy.iter().all(is_arm) {
            return;
        }
        let own = &mut self.trace.assigned;
        own.decisions += 1;
        own.arms.resize(self.folded.arms.len(), (0, 0.0));
        for &(arm, p) in policy {
            own.arms[arm].1 += p;
        }
        if let Some(drawn) = own.arms.get_mut(decision.action as usize) {
            drawn.0 += 1;
        }
        own.surprises.observe(decision.action as usize, policy);
    }

    /// Counts the time until the first report on a decision.
    pub(crate) fn count_delay(&mut self, decided: Timestamp, action: u32, now: Timestamp) {
        let place = action as usize;
        if place < self.arms.len() {
            let delays = &mut self.trace.delays;
            delays.resize(delays.len().max(place + 1), Delay::default());
            delays[place].count += 1;
            delays[place].sum += now.seconds_since(decided);
        }
    }
}
