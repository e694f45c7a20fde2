//! The linear instance in the public code of the paper's authors: d actions beside x_0 = 0, with
//! θ_i ∝ i, μ = θ reversed, action j having coordinates ∝ (d − 1 − i + j) mod d.

use banister::{Error, Guardrail, SignalConfig};

use crate::experiment::ExperimentConfig;

/// d unless declared.
pub(super) const DIMENSION: usize = 5;

/// Fills in noise, reward and guardrail where they are not declared.
pub(super) fn fill_in(config: &mut ExperimentConfig) -> Result<(), Error> {
    let env = &mut config.environment;
    let d = *env.d.get_or_insert(DIMENSION);
    if !(2..=1000).contains(&d) {
        return Err(Error::invalid("environment.d", d, "must be 2 to 1000"));
    }
    let noise = *env.noise.get_or_insert(1.0);
    if config.guardrail.is_empty() {
        let tau = env.threshold.unwrap_or(0.5);
        if !(tau.is_finite() && tau > 0.0 && tau <= 1.0) {
            let allowed = "must be above 0 and at most 1";
            return Err(Error::invalid("environment.threshold", tau, allowed));
        }
        config.guardrail.push(Guardrail {
            name: "cost".into(),
            at_most: Some(tau),
            sub_gaussian: Some(noise),
            safe_cost: Some(0.0),
            ..Guardrail::default()
        });
        // The guardrail says it now.
        env.threshold = None;
        config.reward = SignalConfig {
            range: None,
            sub_gaussian: Some(noise),
        };
    } else if let Some(tau) = env.threshold {
        let allowed = "leave it out: a guardrail of your own has its threshold";
        return Err(Error::invalid("environment.threshold", tau, allowed));
    }
    match config.guardrail.len() {
        1 => Ok(()),
        m => Err(Error::invalid(
            "guardrail",
            format!("{m} of them"),
            "this instance has one cost: declare one guardrail, or none",
        )),
    }
}

/// (θ, μ) and the actions, x_0 = 0 first.
pub(super) fn instance(d: usize) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let squares: f64 = (0..d).map(|i| (i * i) as f64).sum();
    let unit = |i: usize| i as f64 / squares.sqrt();
    let theta: Vec<f64> = (0..d).map(unit).collect();
    let mu: Vec<f64> = theta.iter().rev().copied().collect();
    let mut actions = vec![vec![0.0; d]];
    actions.extend((0..d).map(|j| (0..d).map(|i| unit((d - 1 - i + j) % d)).collect()));
    (vec![theta, mu], actions)
}
