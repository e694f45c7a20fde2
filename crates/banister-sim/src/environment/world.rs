//! Worlds: everything that a run can be played in but arms that stay the same, which have a fast path of their own.
//!
//! A [`World`] starts runs. A [`WorldRun`] says before each round what is true of it, and draws the outcome of the action
//! that is played. The runner asks for nothing else, so another law of means or outcomes is one more implementation.

use std::any::Any;
use std::fmt;

use banister::Error;
use banister::toolkit::CheckedProblem;

use super::outcome::{Arms, Pull};
use super::segments::Segments;
use crate::results::GuardrailInfo;

/// Source of rounds and outcomes that may differ from round to round.
pub(crate) trait World: Any + Send + Sync {
    /// Starts a run. All draws but those from the generator of a [`Pull`] depend on the seed and the number of the run
    /// alone, so that all agents see the same rounds.
    fn start<'a>(&'a self, start: &RunStart<'a>) -> Result<Box<dyn WorldRun + 'a>, Error>;

    /// Arms of the first round, where actions stay and outcomes depend on nothing but the arm and the round.
    fn arms(&self) -> Option<&Arms> {
        None
    }

    /// Rounds at which means change, as declared.
    fn changes(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Segments as they are in the first round, where there are any.
    fn segments(&self) -> Option<&Segments> {
        None
    }

    /// True where rounds bring actions of their own, by features.
    fn actions_change(&self) -> bool {
        false
    }

    /// True where policies can be judged by true means.
    fn knows_means(&self) -> bool {
        true
    }

    /// True where outcomes are the world's own rather than noise around means: drawn outcomes are summed up too
    /// ([`crate::results::Measured`]), only whole actions can be played, and a floor does not change the best policy.
    fn is_measured(&self) -> bool {
        false
    }

    /// Rows that the first rounds of a run play, where they are those of a table.
    fn rows(&self, horizon: u64, seed: u64, run: u64) -> Option<Vec<usize>> {
        let _ = (horizon, seed, run);
        None
    }

    /// Number of actions that agents decide among, and the rough cost of making a round in nanoseconds, given the number
    /// of arms; `None` where both are those of arms that stay.
    fn work(&self, arms: u64) -> Option<(u64, u64)> {
        let _ = arms;
        None
    }

    /// Refuses a later round in which nothing would be left to play.
    fn check(&self, problem: &CheckedProblem, guardrails: &[GuardrailInfo]) -> Result<(), Error> {
        let _ = (problem, guardrails);
        Ok(())
    }
}

impl fmt::Debug for dyn World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("World")
    }
}

/// A run as the world that starts it needs to know it.
pub(crate) struct RunStart<'a> {
    pub problem: &'a CheckedProblem,
    /// The safe action's true means, where they are declared.
    pub safe_means: Option<&'a [f64]>,
    pub seed: u64,
    pub run: u64,
}

/// One run in a world.
pub(crate) trait WorldRun {
    /// Outcomes that agents learn from before the first round.
    fn logged(&mut self) -> Result<Vec<LoggedOutcome>, Error> {
        Ok(Vec::new())
    }

    /// Begins the next round; what `round` holds stays until it is changed. Returns true where actions or means differ
    /// from those of the round before, as in the first one.
    fn begin(&mut self, round: &mut WorldRound) -> Result<bool, Error>;

    /// Plays an action: returns the reward and writes the costs.
    fn pull(&mut self, round: &WorldRound, pull: Pull<'_>) -> Result<f64, Error>;

    /// Segments as they are in this round, where there are any.
    fn segments(&self) -> Option<&Segments> {
        None
    }
}

/// A round and what is true of it.
#[derive(Debug, Default)]
pub(crate) struct WorldRound {
    /// Features of the actions as rows, where they change; the context, where there is one.
    pub features: Vec<f64>,
    /// Number of actions on offer, the safe one included.
    pub actions: usize,
    /// Number of the safe action.
    pub safe: usize,
    /// True means by signal and action, in signal units: 0 the reward, 1 + i guardrail i. Over all segments, where there
    /// are any; empty where they are unknown.
    pub means: Vec<Vec<f64>>,
    /// Number of the segment, where there are segments.
    pub segment: usize,
    /// True if its user was learned before, once and for all: agents do not see its outcome.
    pub is_known: bool,
}

impl WorldRound {
    /// Writes all means: `write` appends those of a signal, by the round's features.
    #[inline]
    pub(crate) fn write_means(
        &mut self,
        signals: usize,
        write: impl Fn(usize, &[f64], &mut Vec<f64>),
    ) {
        self.means.resize_with(signals, Vec::new);
        for (signal, means) in self.means.iter_mut().enumerate() {
            means.clear();
            write(signal, &self.features, means);
        }
    }
}

/// An outcome from before a run. Its request is one of the traffic to come, and all arms answer it in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoggedOutcome {
    /// Number of the action, where actions stay the same.
    pub action: usize,
    /// Its features, where actions change; empty otherwise.
    pub features: Vec<f64>,
    /// Its reward.
    pub reward: f64,
    /// Its cost under each guardrail.
    pub costs: Vec<f64>,
    /// Number of its segment, where there are segments.
    pub segment: usize,
}
