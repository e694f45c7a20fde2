//! Outcomes: which are accepted, and what they change.

use super::Oplb;
use crate::error::Error;
use crate::problem::check_vector;
use banister_solve::dense;

impl Oplb {
    /// Takes one outcome: the number of the action played among those on offer now, its reward and
    /// one cost per guardrail. Nothing changes if any number is refused.
    pub fn observe(&mut self, action: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.check_action(action)?;
        self.check_outcome(reward, costs, 1)?;
        let is_safe = action == self.actions.safe;
        let mut x = std::mem::take(&mut self.x);
        let mut y = std::mem::take(&mut self.y);
        let known = match is_safe {
            true => {
                x.copy_from_slice(&self.safe_turned);
                false
            }
            false => {
                self.space.turn(self.actions.features(action), &mut x);
                self.actions.whitened(action, &mut y)
            }
        };
        self.take(&x, known.then_some(&y[..]), is_safe, reward, costs);
        self.x = x;
        self.y = y;
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
        self.check_features(features)?;
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
            self.check_features(features)?;
            self.check_outcome(reward, costs, count)?;
        }
        for (features, reward, costs) in outcomes {
            self.take_at(features, reward, costs);
        }
        Ok(())
    }

    pub(super) fn check_features(&self, features: &[f64]) -> Result<(), Error> {
        check_vector("features", features, self.space.dimension)?;
        self.check_norm("features", 0, features)
    }

    /// Takes a checked outcome by its features.
    fn take_at(&mut self, features: &[f64], reward: f64, costs: &[f64]) {
        let is_safe = features == self.safe_action;
        let mut x = std::mem::take(&mut self.x);
        if is_safe {
            x.copy_from_slice(&self.safe_turned);
        } else {
            self.space.turn(features, &mut x);
            let length = dense::dot(features, features).sqrt();
            if length > self.checked.norm {
                let scale = self.checked.norm / length;
                x.iter_mut().for_each(|v| *v *= scale);
            }
        }
        self.take(&x, None, is_safe, reward, costs);
        self.x = x;
    }

    /// Takes many outcomes of actions on offer now; all are checked before any is taken.
    pub fn observe_batch<'a>(
        &mut self,
        outcomes: impl IntoIterator<Item = (usize, f64, &'a [f64])> + Clone,
    ) -> Result<(), Error> {
        let mut count = 0;
        for (action, reward, costs) in outcomes.clone() {
            count += 1;
            self.check_action(action)?;
            self.check_outcome(reward, costs, count)?;
        }
        for (action, reward, costs) in outcomes {
            self.observe(action, reward, costs)?;
        }
        Ok(())
    }

    pub(super) fn check_action(&self, action: usize) -> Result<(), Error> {
        if action < self.actions.count {
            return Ok(());
        }
        Err(Error::NoSuchArm {
            arm: action,
            last: self.actions.count - 1,
        })
    }

    pub(super) fn check_outcome(&self, reward: f64, costs: &[f64], more: u64) -> Result<(), Error> {
        if self.outcomes.saturating_add(more) > self.room {
            return Err(Error::HorizonExceeded {
                horizon: self.room,
                intervals: "T_0",
            });
        }
        if self.problem.admits(reward, costs) {
            return Ok(());
        }
        self.problem.refuse(reward, costs)
    }

    /// Takes a checked outcome.
    fn take(&mut self, x: &[f64], y: Option<&[f64]>, is_safe: bool, reward: f64, costs: &[f64]) {
        self.outcomes += 1;
        let share = match self.space.across < self.space.dimension {
            true => x[self.space.across] / self.space.safe_length,
            false => 0.0,
        };
        let observed = std::iter::once(&reward).chain(costs);
        for ((target, signal), (observed, along)) in
            std::iter::zip(&mut self.targets, &self.signals).zip(observed.zip(&self.along))
        {
            // Standardised first: what lies along x_0 is known beforehand where the safe cost is.
            *target = observed * signal.scale - along * share;
        }
        let update = self.actions.next_update();
        let follow = self.regression.observe(x, y, &self.targets, update);
        let most = (self.space.dimension / 4).clamp(1, 8);
        self.actions.follow(follow, most);
        if let (true, Some(estimates)) = (is_safe, &mut self.safe_estimates) {
            estimates.take(0, reward, costs);
            if let Some(rule) = &mut self.t_zero {
                let state = estimates.of(0);
                rule.update(&self.problem, estimates.pulls()[0], |i| state[i + 1].sum);
            }
        }
    }
}
