//! The environment of one run: the actions of each round, their true means, outcomes.

use banister::{Agent, Choice, Error, Round};

use crate::environment::Pull;

/// Environment of one run. Actions are numbered as the agent numbers them.
///
/// The hot loop is compiled twice: for actions and means that stay, and for worlds.
pub(crate) trait RunEnvironment {
    /// True if actions, means and the best policy are the same in every round.
    #[inline]
    fn is_fixed(&self) -> bool {
        false
    }

    /// True if drawn outcomes are summed up too ([`crate::results::Measured`]).
    #[inline]
    fn is_measured(&self) -> bool {
        false
    }

    /// Teaches the agent what is known before the first round.
    fn warm(&mut self, agent: &mut dyn Agent) -> Result<(), Error> {
        let _ = agent;
        Ok(())
    }

    /// Number of the safe action.
    fn safe(&self) -> usize;

    /// Begins a round and returns r*, the reward of the best feasible policy in it.
    fn begin(&mut self, agent: &mut dyn Agent) -> Result<f64, Error>;

    /// The round as the agent sees it.
    #[inline]
    fn round(&self) -> Round<'_> {
        Round::default()
    }

    /// True where policies can be judged by true means.
    #[inline]
    fn knows_means(&self) -> bool {
        true
    }

    /// Number of actions on offer, the safe one included.
    fn actions(&self) -> usize;

    /// The true mean of a signal of an action: 0 the reward, 1 + i guardrail i.
    fn mean(&self, action: usize, signal: usize) -> f64;

    /// Expected signal of a policy: 0 the reward, 1 + i guardrail i.
    #[inline]
    fn judge(&self, policy: &[(usize, f64)], signal: usize) -> f64 {
        self.expected(policy, signal)
    }

    /// Expected signal by the means of the actions.
    #[inline]
    fn expected(&self, policy: &[(usize, f64)], signal: usize) -> f64 {
        let mut sum = 0.0;
        for &(action, p) in policy {
            sum += p * self.mean(action, signal);
        }
        sum
    }

    /// Segment of the round, where there are segments.
    #[inline]
    fn segment(&self) -> Option<usize> {
        None
    }

    /// Names of the segments, where there are any.
    #[inline]
    fn segments(&self) -> &[String] {
        &[]
    }

    /// Returns the form in which an action was offered, by its features or context ([`RunEnvironment::features`]).
    #[inline]
    fn choice<'a>(&self, features: &'a [f64]) -> Choice<'a> {
        let _ = features;
        Choice::Arms
    }

    /// True if agents learn the round's outcome.
    fn is_learned(&self) -> bool {
        true
    }

    /// Plays an action: returns the reward and writes the costs.
    fn pull(&mut self, pull: Pull<'_>) -> Result<f64, Error>;

    /// Number of streams of outcomes, where agents share them: one per action, or one for all rounds.
    fn outcome_streams(&self) -> usize;

    /// Features of an action; empty for arms.
    fn vector(&self, action: usize) -> &[f64] {
        self.features(action)
    }

    /// Slot that an action's pulls are counted in.
    fn pull_slot(&self, action: usize) -> usize;

    /// Features or context that identify the action of an outcome; empty if its number suffices.
    fn features(&self, action: usize) -> &[f64];

    /// Mean reward and costs of the rounds' best policies, where they differ.
    fn average_optimum(&self) -> Option<(f64, Vec<f64>)> {
        None
    }
}
