//! Runs on actions that change in every round.

use banister::{Agent, Error, Round};
use rand_chacha::ChaCha8Rng;

use super::best::{BestPolicy, Floor};
use super::environment::RunEnvironment;
use crate::environment::Changing;
use crate::experiment::Experiment;
use crate::stream::stream;

/// Other actions in every round; the safe one comes after them.
pub(crate) struct ChangingActions<'a> {
    changing: &'a Changing,
    /// Draws the actions, apart from outcomes: all agents meet the same ones in the same run.
    rng: ChaCha8Rng,
    visit: u64,
    /// The round's actions beside the safe one, as rows.
    actions: Vec<f64>,
    /// Per signal the means of all actions, costs with the sign that makes them upper-bounded.
    means: Vec<Vec<f64>>,
    best: BestPolicy,
}

impl<'a> ChangingActions<'a> {
    pub(crate) fn new(
        experiment: &'a Experiment,
        changing: &'a Changing,
        run: u64,
        share: f64,
    ) -> Self {
        let guardrails = &experiment.guardrails;
        // Outcomes come from streams 0, 1, …; actions from the other end.
        let mut rng = stream(experiment.resolved.run.seed, u64::MAX - run);
        let visit = changing.entry(&mut rng);
        let k = changing.largest();
        let floor = Floor {
            share,
            means: changing.safe_means().to_vec(),
        };
        Self {
            changing,
            rng,
            visit,
            actions: Vec::with_capacity(k * changing.dimension()),
            means: vec![Vec::with_capacity(k + 1); guardrails.len() + 1],
            best: BestPolicy::new(guardrails, floor),
        }
    }

    fn draw(&mut self) {
        let before = self.means[0].len();
        self.changing
            .draw(self.visit, &mut self.rng, &mut self.actions);
        self.visit += 1;
        let d = self.changing.dimension();
        for (s, means) in self.means.iter_mut().enumerate() {
            let sign = self.best.sign(s);
            let actions = self.actions.chunks_exact(d);
            means.clear();
            means.extend(actions.map(|x| sign * self.changing.mean(s, x)));
            means.push(sign * self.changing.safe_means()[s]);
        }
        // A warm start speaks of actions by number.
        if self.means[0].len() != before {
            self.best.reset();
        }
    }
}

impl RunEnvironment for ChangingActions<'_> {
    fn begin(&mut self, _: &mut dyn Agent) -> Result<f64, Error> {
        self.draw();
        self.best.solve(&self.means, Some(self.means[0].len() - 1));
        Ok(self.best.count())
    }

    fn round(&self) -> Round<'_> {
        Round::offering(&self.actions)
    }

    #[inline]
    fn actions(&self) -> usize {
        self.means[0].len()
    }

    #[inline]
    fn safe(&self) -> usize {
        self.means[0].len() - 1
    }

    #[inline]
    fn mean(&self, action: usize, signal: usize) -> f64 {
        self.best.sign(signal) * self.means[signal][action]
    }

    fn pull(
        &mut self,
        action: usize,
        scale: f64,
        rng: &mut ChaCha8Rng,
        costs: &mut [f64],
    ) -> Result<f64, Error> {
        let mut draw = |signal: usize| {
            let mean = scale * self.mean(action, signal);
            self.changing.observe(signal, mean, rng)
        };
        let reward = draw(0);
        for (i, cost) in costs.iter_mut().enumerate() {
            *cost = draw(i + 1);
        }
        Ok(reward)
    }

    #[inline]
    fn pull_slot(&self, action: usize) -> usize {
        usize::from(action + 1 != self.means[0].len())
    }

    fn features(&self, action: usize) -> &[f64] {
        let d = self.changing.dimension();
        let offered = self.actions.get(action * d..(action + 1) * d);
        offered.unwrap_or(self.changing.safe_action())
    }

    fn average_optimum(&self) -> Option<(f64, Vec<f64>)> {
        Some(self.best.average())
    }
}
