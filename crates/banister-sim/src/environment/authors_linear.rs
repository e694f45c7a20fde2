//! `authors_linear`: the linear instance in the public code of the paper's authors. It has d actions beside
//! x_0 = 0, with θ_i ∝ i, μ = θ reversed, action j having coordinates ∝ (d − 1 − i + j) mod d.

use banister::{Error, Guardrail, Link, SignalConfig};

use super::draw::INSTANCE_SEED;
use super::keys::keys;
use super::linear::FixedActions;
use super::model::{Environment, Setting, arm_names, numbered};
use super::parameters::{LinearModel, check_noise, signals};

keys! {
    /// Keys of `authors_linear`.
    AuthorsLinearConfig {
        /// Names of the actions; default `nothing`, `action 1`, …
        arms: Vec<String>,
        /// τ (default 0.5).
        threshold: f64,
        /// Length of the feature vectors (default 5).
        d: usize,
        /// Standard deviation of Gaussian noise as a fraction of the signal's range (default 1).
        noise: f64,
    }
}

impl AuthorsLinearConfig {
    pub(super) fn build(&mut self, setting: &mut Setting<'_>) -> Result<Environment, Error> {
        let d = *self.d.get_or_insert(5);
        if !(2..=1000).contains(&d) {
            return Err(Error::invalid("environment.d", d, "must be 2 to 1000"));
        }
        let noise = *self.noise.get_or_insert(1.0);
        self.fill_in(setting, noise)?;
        let signals = signals(setting)?;
        check_noise(Some(noise), &signals)?;
        let (parameters, features) = instance(d);
        let names = numbered("nothing", "action", features.len());
        let actions = FixedActions {
            arms: arm_names(self.arms.as_ref(), names)?,
            features,
            safe: 0,
        };
        let model = LinearModel {
            link: Link::Identity,
            theta: None,
            mu: None,
            seed: INSTANCE_SEED,
            noise: Some(noise),
        };
        actions.build(setting, &signals, &model, parameters, "guardrails")
    }

    /// Fills in reward and guardrail where they are not declared.
    fn fill_in(&mut self, setting: &mut Setting<'_>, noise: f64) -> Result<(), Error> {
        if setting.guardrails.is_empty() {
            // The guardrail has it from now on.
            let tau = self.threshold.take().unwrap_or(0.5);
            if !(tau.is_finite() && tau > 0.0 && tau <= 1.0) {
                let allowed = "must be above 0 and at most 1";
                return Err(Error::invalid("environment.threshold", tau, allowed));
            }
            setting.guardrails.push(Guardrail {
                name: "cost".into(),
                at_most: Some(tau),
                safe_cost: Some(0.0),
                signal: SignalConfig {
                    sub_gaussian: Some(noise),
                    ..SignalConfig::default()
                },
                ..Guardrail::default()
            });
            *setting.reward = SignalConfig {
                sub_gaussian: Some(noise),
                ..SignalConfig::default()
            };
        } else if let Some(tau) = self.threshold {
            let allowed = "leave it out: a guardrail of your own has its threshold";
            return Err(Error::invalid("environment.threshold", tau, allowed));
        }
        match setting.guardrails.len() {
            1 => Ok(()),
            m => Err(Error::invalid(
                "guardrails",
                format!("{m} of them"),
                "this instance has one cost: declare one guardrail, or none",
            )),
        }
    }
}

/// Returns (θ, μ) and the actions, x_0 = 0 first.
fn instance(d: usize) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let squares: f64 = (0..d).map(|i| (i * i) as f64).sum();
    let unit = |i: usize| i as f64 / squares.sqrt();
    let theta: Vec<f64> = (0..d).map(unit).collect();
    let mu: Vec<f64> = theta.iter().rev().copied().collect();
    let mut actions = vec![vec![0.0; d]];
    actions.extend((0..d).map(|j| (0..d).map(|i| unit((d - 1 - i + j) % d)).collect()));
    (vec![theta, mu], actions)
}
