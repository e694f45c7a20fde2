//! `directions`: every run draws an instance of its own (`per_run.rs`).

use banister::toolkit::two_numbers;
use banister::{Error, Guardrail, SignalConfig};
use serde::{Deserialize, Serialize};

use super::draw::INSTANCE_SEED;
use super::keys::keys;
use super::linear::{Actions, LinearConfig};
use super::model::{Environment, Setting, numbered};
use super::per_run::{ParameterLaw, PerRunInstance, check_published};

/// Standard deviation of the noise unless declared, in signal units.
const SIGMA: f64 = 0.1;

/// Instances of `directions` that are not drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Instances {
    /// Those of the authors' figure: run r plays the r-th of 30.
    Published,
}

keys! {
    /// Keys of `directions`.
    DirectionsConfig {
        /// Directions beside x_0 = 0 (default 10).
        k: usize,
        /// Interval from which every run draws its threshold (default [0.25, 1]).
        #[serde(deserialize_with = "two_numbers")]
        threshold_range: [f64; 2],
        /// Law of θ and of the cost's parameter (default `cube`).
        parameters: ParameterLaw,
        /// Instances that the runs play; absent: every run draws one from `instance_seed`.
        instances: Instances,
        /// Length of the feature vectors (default 2).
        d: usize,
        /// Standard deviation of Gaussian noise as a fraction of the signal's range (default 0.1 in signal units).
        noise: f64,
        /// Seed of the instances, apart from the runs' (default 1).
        instance_seed: u64,
    }
}

impl DirectionsConfig {
    /// Checks what is declared, and fills in what is not.
    pub(super) fn build(&mut self, setting: &mut Setting<'_>) -> Result<Environment, Error> {
        let published = self.instances == Some(Instances::Published);
        let drawn = [
            ("instance_seed", self.instance_seed.is_some()),
            ("parameters", self.parameters.is_some()),
        ];
        if let Some((key, _)) = (drawn.iter()).find(|(_, given)| published && *given) {
            let allowed = "this key does not apply to environments of kind `directions` with published instances";
            let field = format!("environment.{key}");
            return Err(Error::invalid(field, "given", allowed));
        }
        let d = *self.d.get_or_insert(2);
        let k = *self.k.get_or_insert(10);
        let parameters = self.parameters.unwrap_or_default();
        let reach = parameters.longest(d);
        let noise = *self.noise.get_or_insert(SIGMA / (2.0 * reach));
        let thresholds = *self.threshold_range.get_or_insert([0.25, 1.0]);
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
        if !(low >= 0.0 && high > 0.0 && low <= high && high <= reach) {
            let (field, value) = ("environment.threshold_range", format!("[{low}, {high}]"));
            let allowed = format!(
                "two numbers in order, at least 0, the second above 0 and at most the length {reach:.6} of \
                 the longest parameter"
            );
            return Err(Error::invalid(field, value, allowed));
        }
        if published {
            check_published(d, k, thresholds, setting.runs)?;
        }
        if !setting.guardrails.is_empty() {
            let allowed = "leave it out: every run draws a threshold for its one cost";
            return Err(Error::invalid("guardrails", "given", allowed));
        }
        let seed = self.instance_seed.unwrap_or(INSTANCE_SEED);
        let law = PerRunInstance {
            d,
            k,
            noise,
            thresholds,
            parameters,
            seed: (!published).then_some(seed),
        };
        let mut first = declaration(&law, 0)?;
        setting.reward.clone_from(&first.reward);
        let environment = first.environment.build(&Setting {
            horizon: setting.horizon,
            runs: setting.runs,
            reward: &mut first.reward,
            guardrails: &mut vec![first.guardrail],
            folder: setting.folder,
        })?;
        // The longest parameters there can be, for agents that assume a length.
        let longest = vec![reach / (d as f64).sqrt(); d];
        Ok(Environment {
            parameters: vec![longest.clone(), longest],
            // Means go to either side of 0.
            parameter_norm: Some(0.5),
            safe_field: "environment.threshold_range".into(),
            longest: 1.0,
            per_run: Some(law),
            ..environment
        })
    }
}

/// A run's instance, declared as a linear environment with its signals.
pub(crate) struct Declaration {
    pub environment: LinearConfig,
    pub reward: SignalConfig,
    pub guardrail: Guardrail,
}

/// Declares the instance of a run.
pub(crate) fn declaration(law: &PerRunInstance, run: u64) -> Result<Declaration, Error> {
    let instance = law.instance(run)?;
    let reach = law.reach();
    let reward = SignalConfig {
        range: Some([-reach, reach].into()),
        sub_gaussian: Some(law.noise() * 2.0 * reach),
        ..SignalConfig::default()
    };
    Ok(Declaration {
        environment: LinearConfig {
            arms: Some(numbered("nothing", "direction", instance.actions.len()).collect()),
            actions: Some(Actions::List(instance.actions)),
            theta: Some(instance.theta),
            mu: Some(vec![instance.mu]),
            noise: Some(law.noise()),
            ..LinearConfig::default()
        },
        guardrail: Guardrail {
            name: "cost".into(),
            at_most: Some(instance.threshold),
            safe_cost: Some(0.0),
            signal: SignalConfig {
                range: reward.range.clone(),
                sub_gaussian: reward.sub_gaussian,
                ..SignalConfig::default()
            },
            ..Guardrail::default()
        },
        reward,
    })
}
