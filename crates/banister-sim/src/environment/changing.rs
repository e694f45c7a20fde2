//! Actions that change in every round.

use std::f64::consts::FRAC_1_SQRT_2;

pub(crate) use banister::solve::dense::dot;
use banister::toolkit::Signal;
use banister::{Error, Link};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::cost_shape::{CostShape, place};
use super::draw::{cube, direction, inside};
use super::outcome::{OutcomeDistribution, Pull, each_signal};
use super::world::{RunStart, World, WorldRound, WorldRun};
use crate::stream::stream;

/// Feature vectors that change from round to round, and the outcomes of playing one.
#[derive(Debug, Clone)]
pub struct Changing {
    source: ActionSets,
    /// x_0.
    safe: Vec<f64>,
    safe_means: Vec<f64>,
    /// θ, then one μ per guardrail; none where means are not linear.
    parameters: Vec<Vec<f64>>,
    /// Shape of means that are not linear.
    shape: Option<CostShape>,
    signals: Vec<Signal>,
    /// Standard deviation as a fraction of the range; none: the two ends of the range.
    noise: Option<f64>,
    link: Link,
}

/// Origin of the action set of each round.
#[derive(Debug, Clone)]
pub(super) enum ActionSets {
    /// (1, v)/√2 with v on the unit sphere.
    Contextual { k: usize },
    /// On the unit sphere.
    Sphere { k: usize },
    /// In the unit ball.
    Ball { k: usize },
    /// (0, 1, v/√p)/√2 with v in the cube [−1, 1]^p.
    Cube { k: usize },
    /// Rows of a file, one after another, and where each set begins (and the last one ends).
    Logged { rows: Vec<f64>, starts: Vec<usize> },
}

/// The mean of a signal behind ⟨x, parameter⟩.
#[inline]
pub(super) fn through(link: Link, signal: &Signal, z: f64) -> f64 {
    match link {
        Link::Identity => z,
        Link::Logistic => signal.lo + signal.unit() / (1.0 + (-z).exp()),
    }
}

impl Changing {
    pub(super) fn new(
        source: ActionSets,
        safe: Vec<f64>,
        parameters: Vec<Vec<f64>>,
        signals: Vec<Signal>,
        noise: Option<f64>,
    ) -> Self {
        Self {
            safe_means: parameters.iter().map(|p| dot(&safe, p)).collect(),
            source,
            safe,
            parameters,
            shape: None,
            signals,
            noise,
            link: Link::Identity,
        }
    }

    /// Actions whose mean costs have a shape.
    pub(super) fn shaped(
        source: ActionSets,
        safe: Vec<f64>,
        safe_means: Vec<f64>,
        shape: CostShape,
        signals: Vec<Signal>,
        noise: Option<f64>,
    ) -> Self {
        Self {
            source,
            safe,
            safe_means,
            parameters: Vec::new(),
            shape: Some(shape),
            signals,
            noise,
            link: Link::Identity,
        }
    }

    /// Sets the link between ⟨x, parameter⟩ and the means.
    pub(super) fn linked(mut self, link: Link) -> Self {
        self.link = link;
        self.safe_means = (0..self.parameters.len())
            .map(|signal| self.mean(signal, &self.safe))
            .collect();
        self
    }

    /// Link between ⟨x, parameter⟩ and the means.
    pub(crate) fn link(&self) -> Link {
        self.link
    }

    /// d, the length of feature vectors.
    pub fn dimension(&self) -> usize {
        self.safe.len()
    }

    /// x_0, on offer in every round.
    pub fn safe_action(&self) -> &[f64] {
        &self.safe
    }

    /// The true means of the safe action: the reward, then one per guardrail.
    pub fn safe_means(&self) -> &[f64] {
        &self.safe_means
    }

    /// The true mean of a signal at an action other than the safe one.
    #[inline]
    pub fn mean(&self, signal: usize, x: &[f64]) -> f64 {
        match self.shape {
            None => {
                let z = dot(x, &self.parameters[signal]);
                through(self.link, &self.signals[signal], z)
            }
            Some(shape) => {
                let own = &self.signals[signal];
                own.lo + own.unit() * shape.mean(signal, x)
            }
        }
    }

    /// The true θ, then one μ per guardrail, in signal units per feature unit; empty where means are not linear.
    pub fn parameters(&self) -> &[Vec<f64>] {
        &self.parameters
    }

    /// The most actions that a round can bring beside the safe one.
    fn largest(&self) -> usize {
        match &self.source {
            ActionSets::Contextual { k }
            | ActionSets::Sphere { k }
            | ActionSets::Ball { k }
            | ActionSets::Cube { k } => *k,
            ActionSets::Logged { starts, .. } => {
                starts.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0)
            }
        }
    }

    /// Set of the file that a run begins with: a random one.
    fn entry(&self, rng: &mut ChaCha8Rng) -> u64 {
        match &self.source {
            ActionSets::Logged { starts, .. } => {
                let sets = starts.len() as u128 - 1;
                ((u128::from(rng.next_u64()) * sets) >> 64) as u64
            }
            _ => 0,
        }
    }

    /// Writes the actions of one round beside the safe one, as rows. Random ones come from `rng`; of a file
    /// it is set number `visit`, counted round and round.
    pub fn draw(&self, visit: u64, rng: &mut ChaCha8Rng, actions: &mut Vec<f64>) {
        let d = self.dimension();
        match &self.source {
            ActionSets::Contextual { k } => {
                actions.resize(k * d, 0.0);
                for x in actions.chunks_exact_mut(d) {
                    x[0] = FRAC_1_SQRT_2;
                    direction(rng, &mut x[1..]);
                    x[1..].iter_mut().for_each(|x| *x *= FRAC_1_SQRT_2);
                }
            }
            ActionSets::Sphere { k } => {
                actions.resize(k * d, 0.0);
                actions.chunks_exact_mut(d).for_each(|x| direction(rng, x));
            }
            ActionSets::Ball { k } => {
                actions.resize(k * d, 0.0);
                actions.chunks_exact_mut(d).for_each(|x| inside(rng, x));
            }
            ActionSets::Cube { k } => {
                actions.resize(k * d, 0.0);
                for x in actions.chunks_exact_mut(d) {
                    x[2..].iter_mut().for_each(|v| *v = cube(rng));
                    place(x);
                }
            }
            ActionSets::Logged { rows, starts } => {
                let set = (visit % (starts.len() as u64 - 1)) as usize;
                actions.clear();
                actions.extend_from_slice(&rows[starts[set] * d..starts[set + 1] * d]);
            }
        }
    }

    /// The lowest and the highest mean of a signal over all rows of a file and the safe action.
    pub(super) fn logged_means(&self, signal: usize) -> (f64, f64) {
        let mut ends = (self.safe_means[signal], self.safe_means[signal]);
        if let ActionSets::Logged { rows, .. } = &self.source {
            for x in rows.chunks_exact(self.dimension()) {
                let mean = self.mean(signal, x);
                ends = (ends.0.min(mean), ends.1.max(mean));
            }
        }
        ends
    }

    /// Draws a signal with the given mean.
    #[inline]
    fn observe(&self, signal: usize, mean: f64, rng: &mut ChaCha8Rng) -> f64 {
        let Signal { lo, hi, .. } = self.signals[signal];
        match self.noise {
            Some(sd) => {
                let sd = sd * (hi - lo);
                OutcomeDistribution::Normal { mean, sd }.draw(rng)
            }
            None => two_ends(&self.signals[signal], mean, rng),
        }
    }
}

impl World for Changing {
    fn start<'a>(&'a self, start: &RunStart<'a>) -> Result<Box<dyn WorldRun + 'a>, Error> {
        let mut rng = rounds_of(start);
        Ok(Box::new(ChangingRun {
            visit: self.entry(&mut rng),
            changing: self,
            rng,
        }))
    }

    fn actions_change(&self) -> bool {
        true
    }

    fn work(&self, _: u64) -> Option<(u64, u64)> {
        let (k, d) = (self.largest() as u64, self.dimension() as u64);
        Some((k, 15 * k * d + d * d))
    }
}

/// Stream that the rounds of a run are drawn from: outcomes come from streams 0, 1, …, rounds from the other end.
pub(super) fn rounds_of(start: &RunStart<'_>) -> ChaCha8Rng {
    stream(start.seed, u64::MAX - start.run)
}

/// One run whose actions change; the safe one comes after the others.
struct ChangingRun<'a> {
    changing: &'a Changing,
    rng: ChaCha8Rng,
    visit: u64,
}

impl WorldRun for ChangingRun<'_> {
    fn begin(&mut self, round: &mut WorldRound) -> Result<bool, Error> {
        let changing = self.changing;
        changing.draw(self.visit, &mut self.rng, &mut round.features);
        self.visit += 1;
        let d = changing.dimension();
        round.safe = round.features.len() / d;
        round.actions = round.safe + 1;
        round.write_means(changing.signals.len(), |s, features, means| {
            means.extend(features.chunks_exact(d).map(|x| changing.mean(s, x)));
            means.push(changing.safe_means[s]);
        });
        Ok(true)
    }

    fn pull(&mut self, round: &WorldRound, pull: Pull<'_>) -> Result<f64, Error> {
        let changing = self.changing;
        Ok(each_signal(pull.costs, |signal| {
            let mean = pull.scale * round.means[signal][pull.action];
            changing.observe(signal, mean, pull.rng)
        }))
    }
}

/// Draws one of the two ends of a signal's range, with the given mean; rounding may have put that a little outside.
#[inline]
pub(super) fn two_ends(signal: &Signal, mean: f64, rng: &mut ChaCha8Rng) -> f64 {
    let Signal { lo, hi, .. } = *signal;
    let share = ((mean - lo) / (hi - lo)).clamp(0.0, 1.0);
    OutcomeDistribution::two_point(share, lo, hi).draw(rng)
}
