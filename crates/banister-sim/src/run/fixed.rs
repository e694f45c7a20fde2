//! Runs on actions that stay the same, with means that stay or change at given rounds.

use banister::{Agent, Error};
use rand_chacha::ChaCha8Rng;

use super::best::{BestPolicy, Floor};
use super::environment::RunEnvironment;
use crate::environment::Arms;
use crate::experiment::Experiment;

/// Actions that stay the same; with `CHANGES`, their means change at given rounds.
pub(crate) struct FixedActions<'a, const CHANGES: bool> {
    arms: &'a Arms,
    /// Their features, if they have any.
    features: &'a [Vec<f64>],
    optimum: f64,
    /// Reward and costs of the best policy now, and their sums over the rounds so far.
    best: (f64, Vec<f64>),
    sums: (f64, Vec<f64>),
    round: u64,
    /// Changes to come.
    next: &'a [(u64, Arms)],
    experiment: &'a Experiment,
    floor: f64,
}

impl<'a, const CHANGES: bool> FixedActions<'a, CHANGES> {
    pub(crate) fn new(experiment: &'a Experiment, arms: &'a Arms, floor: f64) -> Self {
        let best = if CHANGES || floor != 0.0 {
            best_of(experiment, arms, floor)
        } else {
            (experiment.optimum.reward, Vec::new())
        };
        Self {
            arms,
            features: &experiment.problem.declared.features,
            optimum: if floor == 0.0 {
                experiment.optimum.reward
            } else {
                best.0
            },
            sums: (0.0, vec![0.0; best.1.len()]),
            best,
            round: 0,
            next: &experiment.environment.changes,
            experiment,
            floor,
        }
    }

    #[cold]
    fn change(&mut self, arms: &'a Arms) {
        self.next = &self.next[1..];
        self.arms = arms;
        self.best = best_of(self.experiment, arms, self.floor);
        self.optimum = self.best.0;
    }

    fn begin_with_changes(&mut self) {
        if let [(round, arms), ..] = self.next
            && *round == self.round
        {
            self.change(arms);
        }
        self.round += 1;
        self.sums.0 += self.best.0;
        for (sum, cost) in self.sums.1.iter_mut().zip(&self.best.1) {
            *sum += cost;
        }
    }
}

/// Solves for reward and costs of the best policy whose safe arm has at least a share of it.
fn best_of(experiment: &Experiment, arms: &Arms, share: f64) -> (f64, Vec<f64>) {
    let safe = experiment.problem.declared.safe;
    let floor = Floor {
        share,
        means: arms.means(safe).to_vec(),
    };
    let mut best = BestPolicy::new(&experiment.guardrails, floor);
    let row = |signal: usize| {
        let each = (0..arms.count()).map(|a| best.sign(signal) * arms.mean(a, signal));
        each.collect()
    };
    let means: Vec<Vec<f64>> = (0..=experiment.guardrails.len()).map(row).collect();
    best.solve(&means, Some(safe));
    best.count();
    best.average()
}

impl<const CHANGES: bool> RunEnvironment for FixedActions<'_, CHANGES> {
    #[inline]
    fn is_fixed(&self) -> bool {
        !CHANGES
    }

    #[inline]
    fn begin(&mut self, _: &mut dyn Agent) -> Result<f64, Error> {
        if CHANGES {
            self.begin_with_changes();
        }
        Ok(self.optimum)
    }

    #[inline]
    fn actions(&self) -> usize {
        self.arms.count()
    }

    #[inline]
    fn safe(&self) -> usize {
        self.experiment.problem.declared.safe
    }

    #[inline]
    fn mean(&self, action: usize, signal: usize) -> f64 {
        self.arms.mean(action, signal)
    }

    #[inline]
    fn pull(
        &mut self,
        action: usize,
        scale: f64,
        rng: &mut ChaCha8Rng,
        costs: &mut [f64],
    ) -> Result<f64, Error> {
        Ok(if scale == 1.0 {
            self.arms.pull(action, rng, costs)
        } else {
            self.arms.pull_scaled(action, scale, rng, costs)
        })
    }

    fn outcome_streams(&self) -> usize {
        self.arms.count()
    }

    #[inline]
    fn outcome_stream(&self, action: usize) -> usize {
        action
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

    fn average_optimum(&self) -> Option<(f64, Vec<f64>)> {
        let mean = |sum: &f64| sum / self.round as f64;
        CHANGES.then(|| (mean(&self.sums.0), self.sums.1.iter().map(mean).collect()))
    }
}
