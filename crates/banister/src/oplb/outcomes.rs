//! Outcomes: which are accepted, and what they change.

use super::Oplb;
use crate::error::Error;

impl Oplb {
    /// Takes one outcome: the number of the action played among those on offer now, its reward and
    /// one cost per guardrail. Nothing changes if any number is refused.
    pub fn observe(&mut self, action: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.evidence.check_action(action)?;
        self.check_outcome(reward, costs, 1)?;
        let is_safe = self.evidence.take(action, reward, costs);
        self.learn_safe(is_safe, reward, costs);
        Ok(())
    }

    /// Takes the outcome of an action by its features, whatever is on offer now: for outcomes that
    /// come late.
    pub fn observe_at(
        &mut self,
        features: &[f64],
        reward: f64,
        costs: &[f64],
    ) -> Result<(), Error> {
        self.evidence.check_features(features)?;
        self.check_outcome(reward, costs, 1)?;
        self.take_at(features, reward, costs);
        Ok(())
    }

    /// Takes many outcomes by their features; all are checked before any is taken.
    pub fn observe_batch_at<'a>(
        &mut self,
        outcomes: impl IntoIterator<Item = (&'a [f64], f64, &'a [f64])> + Clone,
    ) -> Result<(), Error> {
        let mut count = 0;
        for (features, reward, costs) in outcomes.clone() {
            count += 1;
            self.evidence.check_features(features)?;
            self.check_outcome(reward, costs, count)?;
        }
        for (features, reward, costs) in outcomes {
            self.take_at(features, reward, costs);
        }
        Ok(())
    }

    /// Takes a checked outcome by its features.
    fn take_at(&mut self, features: &[f64], reward: f64, costs: &[f64]) {
        let is_safe = self.evidence.take_at(features, reward, costs);
        self.learn_safe(is_safe, reward, costs);
    }

    /// Takes many outcomes of actions on offer now; all are checked before any is taken.
    pub fn observe_batch<'a>(
        &mut self,
        outcomes: impl IntoIterator<Item = (usize, f64, &'a [f64])> + Clone,
    ) -> Result<(), Error> {
        let mut count = 0;
        for (action, reward, costs) in outcomes.clone() {
            count += 1;
            self.evidence.check_action(action)?;
            self.check_outcome(reward, costs, count)?;
        }
        for (action, reward, costs) in outcomes {
            self.observe(action, reward, costs)?;
        }
        Ok(())
    }

    pub(super) fn check_outcome(&self, reward: f64, costs: &[f64], more: u64) -> Result<(), Error> {
        if self.evidence.outcomes.saturating_add(more) > self.room {
            return Err(Error::HorizonExceeded {
                horizon: self.room,
                intervals: "T_0",
            });
        }
        self.evidence.check_signals(reward, costs)
    }

    /// What an outcome says about the safe action's own costs, where they are unknown.
    fn learn_safe(&mut self, is_safe: bool, reward: f64, costs: &[f64]) {
        if let (true, Some(estimates)) = (is_safe, &mut self.safe_estimates) {
            estimates.take(0, reward, costs);
            if let Some(rule) = &mut self.t_zero {
                let state = estimates.of(0);
                let problem = &self.evidence.problem;
                rule.update(problem, estimates.pulls()[0], |i| state[i + 1].sum);
            }
        }
    }
}
