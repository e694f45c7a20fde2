//! Instances that every run draws anew: directions in a plane, as in Hutchinson et al.
//!
//! θ and a are uniform on [−1, 1]^d and the threshold b is uniform on an interval; actions are unit
//! directions that can be played at any part of their length, the safe action being x_0 = 0. Directions are
//! uniform on the sphere, drawn again until one of them has ⟨θ, x⟩ > 0. Means lie in [−√d, √d], and noise is
//! Gaussian. Hutchinson, Turan and Alizadeh, "Directional Optimism for Safe Linear Bandits" (2024), section 6,
//! has d = 2, 10 directions and σ = 0.1.
//!
//! Their figure 2 shows means over 30 instances, which differ from the law's by more than runs on the same
//! instances do. These instances are in `directions.csv`, which says how they were made: the recipe and the
//! seed of the authors' public code.

use std::path::Path;

use banister::{Error, Guardrail, Problem, SignalConfig};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::environment::{Actions, EnvironmentConfig, Instances, Kind};
use crate::experiment::ExperimentConfig;
use crate::instance::Instance;
use crate::linear::{direction, instance_stream};
use crate::world::{Environment, World};

/// Where the streams of instances begin: those of runs come before.
pub(crate) const INSTANCES: u64 = 1 << 61;

/// Standard deviation of the noise unless declared, in signal units.
const SIGMA: f64 = 0.1;

/// How often directions are drawn before they may all lead away from θ: half of all directions do not.
const TRIES: usize = 1000;

/// The published instances: a comment, then low, high, number, θ, a, b and the directions.
const PUBLISHED: &str = include_str!("directions.csv");

/// How many of them there are for each range.
pub(crate) const PUBLISHED_COUNT: u64 = 30;

/// Their ranges of thresholds, dimension and number of directions.
const PUBLISHED_RANGES: [[f64; 2]; 2] = [[0.25, 1.0], [0.05, 0.25]];
const PUBLISHED_D: usize = 2;
const PUBLISHED_K: usize = 10;

/// Shortens published directions as drawn ones are, so that a declared length of 1 holds for the numbers as
/// they are.
const SHORTER: f64 = 1.0 - 1e-13;

/// How an instance is drawn for every run.
#[derive(Debug, Clone)]
pub struct Redrawn {
    config: ExperimentConfig,
    d: usize,
    k: usize,
    noise: f64,
    /// Between which b is drawn.
    thresholds: [f64; 2],
}

/// What differs from run to run.
struct Drawing {
    theta: Vec<f64>,
    mu: Vec<f64>,
    threshold: f64,
    directions: Vec<Vec<f64>>,
}

impl Redrawn {
    /// Checks what is declared, and fills in what is not.
    pub(crate) fn world(config: &mut ExperimentConfig) -> Result<World, Error> {
        let env = &mut config.environment;
        let d = *env.d.get_or_insert(2);
        let k = *env.k.get_or_insert(10);
        let reach = (d as f64).sqrt();
        let noise = *env.noise.get_or_insert(SIGMA / (2.0 * reach));
        let thresholds = *env.threshold_range.get_or_insert([0.25, 1.0]);
        for (key, value) in [("d", d), ("k", k)] {
            if !(2..=1000).contains(&value) {
                let field = format!("environment.{key}");
                return Err(Error::invalid(field, value, "must be 2 to 1000"));
            }
        }
        if !(noise.is_finite() && noise > 0.0) {
            let allowed = "must be a finite number above 0";
            return Err(Error::invalid("environment.noise", noise, allowed));
        }
        let [low, high] = thresholds;
        if !(low > 0.0 && low <= high && high <= reach) {
            let value = format!("[{low}, {high}]");
            let allowed = format!("two numbers above 0 and at most √d = {reach:.6}, in order");
            return Err(Error::invalid(
                "environment.threshold_range",
                value,
                allowed,
            ));
        }
        if env.instances == Some(Instances::Published) {
            check_published(d, k, thresholds, config.run.runs)?;
        }
        if !config.guardrail.is_empty() {
            let allowed = "leave it out: every run draws a threshold for its one cost";
            return Err(Error::invalid("guardrail", "given", allowed));
        }
        let redrawn = Self {
            config: config.clone(),
            d,
            k,
            noise,
            thresholds,
        };
        let (first, features) = redrawn.drawn(0)?;
        config.reward = first.reward;
        let problem = Problem {
            arms: names(features.len()),
            safe: 0,
            features,
            reward: first.reward,
            guardrails: first.guardrail,
        };
        // The longest parameters there can be, for agents that assume a length.
        let longest = vec![1.0; d];
        Ok(World {
            changes: Vec::new(),
            parameters: vec![longest.clone(), longest],
            safe_means: Some(vec![0.0; 2]),
            safe_fields: vec!["environment.threshold_range".into()],
            longest: 1.0,
            problem,
            environment: Environment::Redrawn(Box::new(redrawn)),
        })
    }

    /// The instance of a run as an experiment without agents, and its actions.
    fn drawn(&self, run: u64) -> Result<(ExperimentConfig, Vec<Vec<f64>>), Error> {
        let drawing = match self.config.environment.instances {
            Some(Instances::Published) => published(self.thresholds, run)?,
            None => self.draw(run),
        };
        let Drawing {
            theta,
            mu,
            threshold,
            directions,
        } = drawing;
        let mut actions = vec![vec![0.0; self.d]];
        actions.extend(directions);
        let reach = (self.d as f64).sqrt();
        let range = Some([-reach, reach]);
        let sub_gaussian = Some(self.noise * 2.0 * reach);
        let config = ExperimentConfig {
            name: self.config.name.clone(),
            run: self.config.run.clone(),
            environment: EnvironmentConfig {
                actions: Some(Actions::List(actions.clone())),
                arms: Some(names(actions.len())),
                theta: Some(theta),
                mu: Some(vec![mu]),
                noise: Some(self.noise),
                ..EnvironmentConfig::named(Kind::Linear)
            },
            reward: SignalConfig {
                range,
                sub_gaussian,
            },
            guardrail: vec![Guardrail {
                name: "cost".into(),
                at_most: Some(threshold),
                range,
                sub_gaussian,
                safe_cost: Some(0.0),
                ..Guardrail::default()
            }],
            agent: Vec::new(),
        };
        Ok((config, actions))
    }

    fn draw(&self, run: u64) -> Drawing {
        let mut rng = instance_stream(&self.config.environment, INSTANCES + run);
        let mut between = |low: f64, high: f64| low + (high - low) * unit(&mut rng);
        let mut parameter = || {
            (0..self.d)
                .map(|_| between(-1.0, 1.0))
                .collect::<Vec<f64>>()
        };
        let (theta, mu) = (parameter(), parameter());
        let [low, high] = self.thresholds;
        let threshold = between(low, high);
        let mut directions = vec![vec![0.0; self.d]; self.k];
        for _ in 0..TRIES {
            directions.iter_mut().for_each(|x| direction(&mut rng, x));
            let pays = |x: &Vec<f64>| x.iter().zip(&theta).map(|(x, t)| x * t).sum::<f64>() > 0.0;
            if directions.iter().any(pays) {
                break;
            }
        }
        Drawing {
            theta,
            mu,
            threshold,
            directions,
        }
    }

    /// The instance of a run, without agents: a linear environment with θ, μ and a list of actions.
    ///
    /// # Errors
    /// A run beyond the published instances.
    pub fn instance(&self, run: u64) -> Result<Instance, Error> {
        let (config, _) = self.drawn(run)?;
        config.instance_in("", Path::new(""))
    }
}

fn names(count: usize) -> Vec<String> {
    let name = |j: usize| match j {
        0 => "nothing".to_string(),
        j => format!("direction {j}"),
    };
    (0..count).map(name).collect()
}

/// Refuses what the published instances are not.
fn check_published(d: usize, k: usize, range: [f64; 2], runs: u64) -> Result<(), Error> {
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
        return Err(Error::invalid(
            "environment.threshold_range",
            shown(range),
            allowed,
        ));
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

/// The published instance of a run.
fn published(range: [f64; 2], run: u64) -> Result<Drawing, Error> {
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
    let shortened = |x: &[f64]| x.iter().map(|x| SHORTER * x).collect();
    Ok(Drawing {
        theta: theta.to_vec(),
        mu: mu.to_vec(),
        threshold: rest[0],
        directions: rest[1..].chunks(d).map(shortened).collect(),
    })
}

/// The numbers of a line, none where one is not a number.
fn numbers(line: &str) -> Vec<f64> {
    let all: Result<Vec<f64>, _> = line.split(',').map(str::parse).collect();
    all.unwrap_or_default()
}

fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}
