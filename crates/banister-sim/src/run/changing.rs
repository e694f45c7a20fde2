//! Runs on actions, or contexts of arms, that change in every round.

use banister::{Agent, Choice, Error, Round};
use rand_chacha::ChaCha8Rng;

use super::best::{BestPolicy, Floor};
use super::environment::RunEnvironment;
use crate::environment::{Changing, PerArm};
use crate::experiment::Experiment;
use crate::stream::stream;

/// Source of a run's rounds.
#[derive(Clone, Copy)]
pub(crate) enum Rounds<'a> {
    /// Other actions in every round; the safe one comes after them.
    Actions(&'a Changing),
    /// Another context in every round for arms with parameters of their own; arm 0 is the safe one.
    Contexts(&'a PerArm),
}

/// One run whose rounds differ.
pub(crate) struct ChangingActions<'a> {
    rounds: Rounds<'a>,
    /// Draws the rounds, apart from outcomes: all agents meet the same ones in the same run.
    rng: ChaCha8Rng,
    visit: u64,
    /// The round's actions beside the safe one, as rows, or its context.
    features: Vec<f64>,
    /// Per signal the means of all actions, costs with the sign that makes them upper-bounded.
    means: Vec<Vec<f64>>,
    best: BestPolicy,
}

impl<'a> ChangingActions<'a> {
    pub(crate) fn new(
        experiment: &'a Experiment,
        rounds: Rounds<'a>,
        run: u64,
        share: f64,
    ) -> Self {
        let guardrails = &experiment.guardrails;
        // Outcomes come from streams 0, 1, …; actions from the other end.
        let mut rng = stream(experiment.resolved.run.seed, u64::MAX - run);
        let (visit, count, numbers, safe_means) = match rounds {
            Rounds::Actions(changing) => {
                let (k, d) = (changing.largest(), changing.dimension());
                let safe_means = changing.safe_means().to_vec();
                (changing.entry(&mut rng), k + 1, k * d, safe_means)
            }
            // Agents with a floor are refused there.
            Rounds::Contexts(arms) => (0, arms.count(), arms.numbers(), Vec::new()),
        };
        let floor = Floor {
            share,
            means: safe_means,
        };
        Self {
            rounds,
            rng,
            visit,
            features: Vec::with_capacity(numbers),
            means: vec![Vec::with_capacity(count); guardrails.len() + 1],
            best: BestPolicy::new(guardrails, floor),
        }
    }

    fn draw(&mut self) {
        let before = self.means[0].len();
        match self.rounds {
            Rounds::Actions(changing) => {
                changing.draw(self.visit, &mut self.rng, &mut self.features);
            }
            Rounds::Contexts(arms) => {
                self.features.resize(arms.numbers(), 0.0);
                arms.draw(&mut self.rng, &mut self.features);
            }
        }
        self.visit += 1;
        for (s, means) in self.means.iter_mut().enumerate() {
            let sign = self.best.sign(s);
            means.clear();
            match self.rounds {
                Rounds::Actions(changing) => {
                    let actions = self.features.chunks_exact(changing.dimension());
                    means.extend(actions.map(|x| sign * changing.mean(s, x)));
                    means.push(sign * changing.safe_means()[s]);
                }
                Rounds::Contexts(arms) => {
                    let context = &self.features;
                    means.extend((0..arms.count()).map(|arm| sign * arms.mean(s, arm, context)));
                }
            }
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
        self.best.solve(&self.means, Some(self.safe()));
        Ok(self.best.count())
    }

    fn round(&self) -> Round<'_> {
        match self.rounds {
            Rounds::Actions(_) => Round::offering(&self.features),
            Rounds::Contexts(_) => Round::in_context(&self.features),
        }
    }

    fn choice<'b>(&self, features: &'b [f64]) -> Choice<'b> {
        match self.rounds {
            Rounds::Actions(_) => Choice::Offered(features),
            Rounds::Contexts(_) => Choice::Context(features),
        }
    }

    #[inline]
    fn actions(&self) -> usize {
        self.means[0].len()
    }

    #[inline]
    fn safe(&self) -> usize {
        match self.rounds {
            Rounds::Actions(_) => self.means[0].len() - 1,
            Rounds::Contexts(_) => 0,
        }
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
            match self.rounds {
                Rounds::Actions(changing) => changing.observe(signal, mean, rng),
                Rounds::Contexts(arms) => arms.observe(signal, mean, rng),
            }
        };
        let reward = draw(0);
        for (i, cost) in costs.iter_mut().enumerate() {
            *cost = draw(i + 1);
        }
        Ok(reward)
    }

    #[inline]
    fn pull_slot(&self, action: usize) -> usize {
        match self.rounds {
            Rounds::Actions(_) => usize::from(action != self.safe()),
            Rounds::Contexts(_) => action,
        }
    }

    fn features(&self, action: usize) -> &[f64] {
        match self.rounds {
            Rounds::Actions(changing) => {
                let d = changing.dimension();
                let offered = self.features.get(action * d..(action + 1) * d);
                offered.unwrap_or(changing.safe_action())
            }
            Rounds::Contexts(_) => &self.features,
        }
    }

    fn average_optimum(&self) -> Option<(f64, Vec<f64>)> {
        Some(self.best.average())
    }
}
