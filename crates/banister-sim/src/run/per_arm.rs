//! Runs on arms in contexts, each with parameters of its own.

use banister::{Agent, Error};
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
    /// Per arm its number, then the context.
    rows: Vec<Vec<f64>>,
    /// Per signal the means of all arms, costs with the sign that makes them upper-bounded.
    means: Vec<Vec<f64>>,
    best: BestPolicy,
}

impl<'a> ArmsInContexts<'a> {
    pub(crate) fn new(experiment: &'a Experiment, arms: &'a PerArm, run: u64) -> Self {
        let row = |arm: usize| {
            let mut row = vec![0.0; arms.numbers() + 1];
            row[0] = arm as f64;
            row
        };
        Self {
            arms,
            // Outcomes come from streams 0, 1, …; contexts from the other end.
            rng: stream(experiment.resolved.run.seed, u64::MAX - run),
            rows: (0..arms.count()).map(row).collect(),
            means: vec![vec![0.0; arms.count()]; experiment.guardrails.len() + 1],
            best: BestPolicy::new(&experiment.guardrails, Floor::default()),
        }
    }
}

impl RunEnvironment for ArmsInContexts<'_> {
    fn begin(&mut self, agent: &mut dyn Agent) -> Result<f64, Error> {
        let (first, others) = self.rows.split_at_mut(1);
        let context = &mut first[0][1..];
        self.arms.draw(&mut self.rng, context);
        for row in others {
            row[1..].copy_from_slice(context);
        }
        agent.offer(context)?;
        for (s, means) in self.means.iter_mut().enumerate() {
            let sign = self.best.sign(s);
            for (arm, mean) in means.iter_mut().enumerate() {
                *mean = sign * self.arms.mean(s, arm, context);
            }
        }
        self.best.solve(&self.means, Some(0));
        Ok(self.best.count())
    }

    #[inline]
    fn actions(&self) -> usize {
        self.rows.len()
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

    fn features(&self, action: usize) -> &[f64] {
        &self.rows[action]
    }

    fn average_optimum(&self) -> Option<(f64, Vec<f64>)> {
        Some(self.best.average())
    }
}
