//! Instances that every run draws anew: random directions, as in Hutchinson et al.
//!
//! θ and a are uniform on [−1, 1]^d and the threshold b is uniform on an interval; actions are unit
//! directions that can be played at any part of their length, the safe action being x_0 = 0. Directions are
//! uniform on the sphere, drawn again until one of them has ⟨θ, x⟩ > 0. Means lie in [−√d, √d], and noise is
//! Gaussian. Hutchinson, Turan and Alizadeh, "Directional Optimism for Safe Linear Bandits" (2024), section 6,
//! has d = 2, 10 directions and σ = 0.1. With parameters on the unit sphere, thresholds in [0, 1] and 100 directions
//! this is the random problem of the public code of Pacchiano et al., with the same σ; means then lie in [−1, 1].
//!
//! Their figure 2 shows means over 30 instances, which differ from the law's by more than runs on the same
//! instances do. These instances are in `directions.csv`, which says how they were made: the recipe and the
//! seed of the authors' public code.

use banister::Error;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::draw::{direction, instance_stream};

/// First stream of instances: those of runs come before.
pub(crate) const INSTANCES: u64 = 1 << 61;

/// Most draws of directions before they may all lead away from θ: half of all directions do not.
const TRIES: usize = 1000;

/// The published instances: a comment, then low, high, number, θ, a, b and the directions.
const PUBLISHED: &str = include_str!("directions.csv");

/// Number of published instances for each range.
pub(crate) const PUBLISHED_COUNT: u64 = 30;

/// Their ranges of thresholds, dimension and number of directions.
const PUBLISHED_RANGES: [[f64; 2]; 2] = [[0.25, 1.0], [0.05, 0.25]];
const PUBLISHED_D: usize = 2;
const PUBLISHED_K: usize = 10;

/// Shortens published directions as drawn ones are, so that a declared length of 1 holds for the numbers as
/// they are.
const SHORTER: f64 = 1.0 - 1e-13;

/// Law of θ and of the cost's parameter in `directions`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ParameterLaw {
    /// Uniform on [−1, 1]^d.
    #[default]
    Cube,
    /// Uniform on the unit sphere.
    Sphere,
}

impl ParameterLaw {
    /// Length of the longest parameter, and so the largest size of a mean.
    pub(super) fn longest(self, d: usize) -> f64 {
        match self {
            Self::Cube => (d as f64).sqrt(),
            Self::Sphere => 1.0,
        }
    }
}

/// Law of an instance that every run draws anew.
#[derive(Debug, Clone)]
pub struct PerRunInstance {
    pub(super) d: usize,
    pub(super) k: usize,
    /// Standard deviation as a fraction of the signals' range.
    pub(super) noise: f64,
    /// Interval that b is drawn from.
    pub(super) thresholds: [f64; 2],
    pub(super) parameters: ParameterLaw,
    /// Seed that instances are drawn from; `None`: they are the published ones.
    pub(super) seed: Option<u64>,
}

/// Instance of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunInstance {
    /// θ of the reward.
    pub theta: Vec<f64>,
    /// μ of the cost.
    pub mu: Vec<f64>,
    /// Threshold of the cost.
    pub threshold: f64,
    /// x_0 = 0, then the directions.
    pub actions: Vec<Vec<f64>>,
}

impl PerRunInstance {
    /// Draws, or looks up, the instance of a run.
    ///
    /// # Errors
    /// A run beyond the published instances.
    pub fn instance(&self, run: u64) -> Result<RunInstance, Error> {
        let Some(seed) = self.seed else {
            return published(self.thresholds, run);
        };
        let mut rng = instance_stream(seed, INSTANCES + run);
        let (theta, mu) = (self.parameter(&mut rng), self.parameter(&mut rng));
        let [low, high] = self.thresholds;
        let threshold = between(&mut rng, low, high);
        let mut directions = vec![vec![0.0; self.d]; self.k];
        for _ in 0..TRIES {
            directions.iter_mut().for_each(|x| direction(&mut rng, x));
            let pays = |x: &Vec<f64>| x.iter().zip(&theta).map(|(x, t)| x * t).sum::<f64>() > 0.0;
            if directions.iter().any(pays) {
                break;
            }
        }
        Ok(RunInstance {
            theta,
            mu,
            threshold,
            actions: with_origin(self.d, directions.into_iter()),
        })
    }

    fn parameter(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        match self.parameters {
            ParameterLaw::Cube => (0..self.d).map(|_| between(rng, -1.0, 1.0)).collect(),
            ParameterLaw::Sphere => {
                let mut parameter = vec![0.0; self.d];
                direction(rng, &mut parameter);
                parameter
            }
        }
    }

    /// Largest size of a mean, which the signals' ranges go to on either side.
    pub(crate) fn reach(&self) -> f64 {
        self.parameters.longest(self.d)
    }

    pub(crate) fn noise(&self) -> f64 {
        self.noise
    }
}

fn with_origin(d: usize, directions: impl Iterator<Item = Vec<f64>>) -> Vec<Vec<f64>> {
    std::iter::once(vec![0.0; d]).chain(directions).collect()
}

/// Refuses sizes, ranges and runs that no instance was published for.
pub(super) fn check_published(d: usize, k: usize, range: [f64; 2], runs: u64) -> Result<(), Error> {
    for (key, value, only) in [("d", d, PUBLISHED_D), ("k", k, PUBLISHED_K)] {
        if value != only {
            let allowed = format!("published instances have {only}: leave it out");
            return Err(Error::invalid(format!("environment.{key}"), value, allowed));
        }
    }
    if !PUBLISHED_RANGES.contains(&range) {
        let shown = |[low, high]: [f64; 2]| format!("[{low}, {high}]");
        let [first, second] = PUBLISHED_RANGES.map(shown);
        let allowed = format!("instances were published for {first} and {second}");
        let field = "environment.threshold_range";
        return Err(Error::invalid(field, shown(range), allowed));
    }
    if runs > PUBLISHED_COUNT {
        return Err(beyond("run.runs", runs));
    }
    Ok(())
}

fn beyond(field: &str, value: u64) -> Error {
    let allowed =
        format!("{PUBLISHED_COUNT} instances were published, one for a run: at most that many");
    Error::invalid(field, value, allowed)
}

/// Looks up the published instance of a run.
fn published(range: [f64; 2], run: u64) -> Result<RunInstance, Error> {
    let row = PUBLISHED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(numbers)
        .find(|row| row.starts_with(&[range[0], range[1], run as f64]));
    let (d, k) = (PUBLISHED_D, PUBLISHED_K);
    let row = row.filter(|row| row.len() == 4 + (2 + k) * d);
    let row = row.ok_or_else(|| beyond("run", run))?;
    let (theta, rest) = row[3..].split_at(d);
    let (mu, rest) = rest.split_at(d);
    let shortened = |x: &[f64]| -> Vec<f64> { x.iter().map(|x| SHORTER * x).collect() };
    Ok(RunInstance {
        theta: theta.to_vec(),
        mu: mu.to_vec(),
        threshold: rest[0],
        actions: with_origin(d, rest[1..].chunks(d).map(shortened)),
    })
}

/// Parses the numbers of a line; none where one is not a number.
fn numbers(line: &str) -> Vec<f64> {
    let all: Result<Vec<f64>, _> = line.split(',').map(str::parse).collect();
    all.unwrap_or_default()
}

fn between(rng: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * unit(rng)
}

fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}
