//! Runs on arms in contexts, each with parameters of its own.

use banister::{Agent, Choice, Error, Round};
use rand_chacha::ChaCha8Rng;

use super::best::{BestPolicy, Floor};
use super::environment::RunEnvironment;
use crate::environment::PerArm;
use crate::experiment::Experiment;
use crate::stream::stream;

/// Another context in every round; arm 0 is the safe one.
pub(crate) struct ArmsInContexts<'a> {
    arms: &'a PerArm,
    /// Draws the contexts, apart from outcomes: all agents meet the same ones in the same run.
    rng: ChaCha8Rng,
    context: Vec<f64>,
    /// Per signal the means of all arms, costs with the sign that makes them upper-bounded.
    means: Vec<Vec<f64>>,
    best: BestPolicy,
}

impl<'a> ArmsInContexts<'a> {
    pub(crate) fn new(experiment: &'a Experiment, arms: &'a PerArm, run: u64) -> Self {
        Self {
            arms,
            // Outcomes come from streams 0, 1, …; contexts from the other end.
            rng: stream(experiment.resolved.run.seed, u64::MAX - run),
            context: vec![0.0; arms.numbers()],
            means: vec![vec![0.0; arms.count()]; experiment.guardrails.len() + 1],
            best: BestPolicy::new(&experiment.guardrails, Floor::default()),
        }
    }
}

impl RunEnvironment for ArmsInContexts<'_> {
    fn begin(&mut self, _: &mut dyn Agent) -> Result<f64, Error> {
        self.arms.draw(&mut self.rng, &mut self.context);
        for (s, means) in self.means.iter_mut().enumerate() {
            let sign = self.best.sign(s);
            for (arm, mean) in means.iter_mut().enumerate() {
                *mean = sign * self.arms.mean(s, arm, &self.context);
            }
        }
        self.best.solve(&self.means, Some(0));
        Ok(self.best.count())
    }

    fn round(&self) -> Round<'_> {
        Round::in_context(&self.context)
    }

    fn choice<'a>(&self, context: &'a [f64]) -> Choice<'a> {
        Choice::Context(context)
    }

    #[inline]
    fn actions(&self) -> usize {
        self.means[0].len()
    }

    #[inline]
    fn safe(&self) -> usize {
        0
    }

    #[inline]
    fn mean(&self, action: usize, signal: usize) -> f64 {
        self.best.sign(signal) * self.means[signal][action]
    }

    fn pull(
        &mut self,
        action: usize,
        _: f64,
        rng: &mut ChaCha8Rng,
        costs: &mut [f64],
    ) -> Result<f64, Error> {
        let mut draw = |signal: usize| {
            let mean = self.mean(action, signal);
            self.arms.observe(signal, mean, rng)
        };
        let reward = draw(0);
        for (i, cost) in costs.iter_mut().enumerate() {
            *cost = draw(i + 1);
        }
        Ok(reward)
    }

    #[inline]
    fn pull_slot(&self, action: usize) -> usize {
        action
    }

    fn features(&self, _: usize) -> &[f64] {
        &self.context
    }

    fn average_optimum(&self) -> Option<(f64, Vec<f64>)> {
        Some(self.best.average())
    }
}
