//! Runs on actions and means that stay the same: the fast path.

use banister::{Agent, Error};

use super::best::BestPolicy;
use super::environment::RunEnvironment;
use crate::environment::{Arms, Pull};
use crate::experiment::Experiment;

/// Actions and means that stay the same.
pub(crate) struct FixedActions<'a> {
    arms: &'a Arms,
    /// Their features, if they have any.
    features: &'a [Vec<f64>],
    safe: usize,
    optimum: f64,
}

impl<'a> FixedActions<'a> {
    /// Prepares for policies whose safe arm has at least a share of it, the floor.
    pub(crate) fn new(experiment: &'a Experiment, arms: &'a Arms, floor: f64) -> Self {
        let problem = &experiment.problem.declared;
        let mut best = BestPolicy::new(&experiment.guardrails, floor);
        let optimum = if floor != 0.0 && best.solve(&arms.by_signal(), problem.safe) {
            best.count()
        } else {
            experiment.optimum.reward
        };
        Self {
            arms,
            features: &problem.features,
            safe: problem.safe,
            optimum,
        }
    }
}

impl RunEnvironment for FixedActions<'_> {
    #[inline]
    fn is_fixed(&self) -> bool {
        true
    }

    #[inline]
    fn begin(&mut self, _: &mut dyn Agent) -> Result<f64, Error> {
        Ok(self.optimum)
    }

    #[inline]
    fn actions(&self) -> usize {
        self.arms.count()
    }

    #[inline]
    fn safe(&self) -> usize {
        self.safe
    }

    #[inline]
    fn mean(&self, action: usize, signal: usize) -> f64 {
        self.arms.mean(action, signal)
    }

    #[inline]
    fn pull(&mut self, pull: Pull<'_>) -> Result<f64, Error> {
        Ok(self.arms.pull_scaled(pull))
    }

    fn outcome_streams(&self) -> usize {
        self.arms.count()
    }

    fn vector(&self, action: usize) -> &[f64] {
        self.features.get(action).map_or(&[], Vec::as_slice)
    }

    #[inline]
    fn pull_slot(&self, action: usize) -> usize {
        action
    }

    #[inline]
    fn features(&self, _: usize) -> &[f64] {
        &[]
    }
}
