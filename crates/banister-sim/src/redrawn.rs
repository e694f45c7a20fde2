//! Instances that every run draws anew: directions in a plane, as in Hutchinson et al.
//!
//! θ and a are uniform on [−1, 1]^d and the threshold b is uniform on an interval; actions are unit
//! directions that can be played at any part of their length, the safe action being x_0 = 0. Means lie in
//! [−√d, √d], and noise is Gaussian. Hutchinson, Turan and Alizadeh, "Directional Optimism for Safe Linear
//! Bandits" (2024), section 6, has d = 2, 10 directions and σ = 0.1.

use std::f64::consts::TAU;
use std::path::Path;

use banister::{Error, Guardrail, Problem, SignalConfig};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::environment::{Actions, EnvironmentConfig, Kind};
use crate::experiment::ExperimentConfig;
use crate::instance::Instance;
use crate::linear::{direction, instance_stream};
use crate::world::{Environment, World};

/// Standard deviation of the noise unless declared, in signal units.
const SIGMA: f64 = 0.1;

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
        let (first, features) = redrawn.drawn(0);
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
            parameters: vec![longest.clone(), longest],
            safe_means: Some(vec![0.0; 2]),
            safe_fields: vec!["environment.threshold_range".into()],
            longest: 1.0,
            problem,
            environment: Environment::Redrawn(Box::new(redrawn)),
        })
    }

    /// The instance of a run as an experiment without agents, and its actions.
    fn drawn(&self, run: u64) -> (ExperimentConfig, Vec<Vec<f64>>) {
        let mut rng = instance_stream(&self.config.environment, run);
        let mut between = |low: f64, high: f64| low + (high - low) * unit(&mut rng);
        let mut parameter = || {
            (0..self.d)
                .map(|_| between(-1.0, 1.0))
                .collect::<Vec<f64>>()
        };
        let (theta, mu) = (parameter(), parameter());
        let [low, high] = self.thresholds;
        let threshold = between(low, high);
        let mut actions = vec![vec![0.0; self.d]];
        actions.extend(directions(self.d, self.k, &mut rng));
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
        (config, actions)
    }

    /// The instance of a run, without agents.
    pub(crate) fn instance(&self, run: u64) -> Result<Instance, Error> {
        let (config, _) = self.drawn(run);
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

/// Equally spaced on the circle for d = 2, else uniform on the sphere.
fn directions(d: usize, k: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let one = |j: usize| match d {
        2 => {
            let angle = TAU * j as f64 / k as f64;
            vec![libm::cos(angle), libm::sin(angle)]
        }
        _ => {
            let mut x = vec![0.0; d];
            direction(rng, &mut x);
            x
        }
    };
    (0..k).map(one).collect()
}

fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}
