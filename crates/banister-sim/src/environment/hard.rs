//! Hard instances: the lower bound's pair, and L1 and L2, which show that the best rate depends on
//! the best margin of any arm and not only on the safe one's.
//!
//! L1 and L2 are from Zuo and Stradi, "Toward Optimal Regret in Adversarial MDPs with Stochastic Hard Constraints"
//! (2026), appendix F. Their lower bounds √T/(32ρ) and 1/(1152dρ) are proved for d ≤ ρ ≤ 1/8 (L2: d ≤ ρ/4) and
//! T ≥ 1/(dρ); larger ρ give instances that the theorem does not speak of.

use banister::{Error, Guardrail, SignalConfig};

use super::arms::ArmMeans;
use super::keys::keys;
use super::model::{Environment, Setting};
use super::outcome::Family;

keys! {
    /// Keys of `lower_bound`: ν and ν' with unit-variance Gaussian signals.
    LowerBoundConfig {
        /// Names of the arms; default `arm 0`, `arm 1`, …
        arms: Vec<String>,
        /// K (default 4).
        k: usize,
        /// τ − c_0 (default 0.2).
        margin: f64,
        /// τ (default 0.5).
        threshold: f64,
        /// ν' instead of ν.
        alternative: bool,
    }
}

keys! {
    /// Keys of `l1`.
    L1Config {
        /// Names of the arms; default `arm 0`, `arm 1`, …
        arms: Vec<String>,
        /// τ − c_0 (default 0.1).
        margin: f64,
        /// ρ, the best margin of any arm (default 0.4).
        best_margin: f64,
        /// The infeasible variant.
        alternative: bool,
    }
}

keys! {
    /// Keys of `l2`.
    L2Config {
        /// Names of the arms; default `arm 0`, `arm 1`, …
        arms: Vec<String>,
        /// τ − c_0 (default 0.1).
        margin: f64,
        /// ρ, the best margin of any arm (default 0.2).
        best_margin: f64,
    }
}

impl LowerBoundConfig {
    /// Corrected: D = 1/8 keeps rewards in [0, 1], and ν' differs from ν in arm 4's cost only.
    pub(super) fn build(&self, setting: &mut Setting<'_>) -> Result<Environment, Error> {
        let k = self.k.unwrap_or(4);
        if !(4..=1_000_000).contains(&k) {
            return Err(Error::invalid("environment.k", k, "must be 4 to 1000000"));
        }
        let tau = number("threshold", self.threshold, 0.5, 1.0)?;
        let c = number("margin", self.margin, 0.2, 1.0)?;
        if tau + 2.0 * c > 1.0 || tau - c < 0.0 {
            let allowed = format!(
                "threshold − margin must be at least 0 and threshold + 2·margin at most 1; the threshold is {tau}"
            );
            return Err(Error::invalid("environment.margin", c, allowed));
        }
        let d = 1.0 / 8.0;
        let mut rewards = vec![4.0 * d; k];
        rewards[..3].copy_from_slice(&[d, 8.0 * d, 0.0]);
        let mut costs = vec![tau + 2.0 * c; k];
        costs[0] = tau - c;
        costs[2] = tau - c;
        if self.alternative == Some(true) {
            costs[3] = tau - c;
        }
        let family = Family::Gaussian { sd: 1.0 };
        let names = self.arms.as_ref();
        build(setting, family, names, (tau, Some(1.0)), [rewards, costs])
    }
}

impl L1Config {
    pub(super) fn build(&self, setting: &mut Setting<'_>) -> Result<Environment, Error> {
        let d = number("margin", self.margin, 0.1, 0.5)?;
        let rho = number("best_margin", self.best_margin, 0.4, 0.5)?;
        let shift = if self.alternative == Some(true) {
            0.125 / (setting.horizon as f64).sqrt()
        } else {
            0.0
        };
        let costs = vec![0.5 - d, 0.5 + shift, 0.5 - rho];
        let rewards = vec![0.5, 1.0, 0.5];
        let names = self.arms.as_ref();
        build(
            setting,
            Family::Bernoulli,
            names,
            (0.5, None),
            [rewards, costs],
        )
    }
}

impl L2Config {
    pub(super) fn build(&self, setting: &mut Setting<'_>) -> Result<Environment, Error> {
        let d = number("margin", self.margin, 0.1, 0.5)?;
        let rho = number("best_margin", self.best_margin, 0.2, 0.25)?;
        let costs = vec![0.5 - d, 0.5 - rho, 0.5 + 2.0 * rho];
        let rewards = vec![0.0, 1.0, 1.0];
        let names = self.arms.as_ref();
        build(
            setting,
            Family::Bernoulli,
            names,
            (0.5, None),
            [rewards, costs],
        )
    }
}

fn number(key: &str, value: Option<f64>, default: f64, max: f64) -> Result<f64, Error> {
    let x = value.unwrap_or(default);
    if x.is_finite() && x > 0.0 && x <= max {
        return Ok(x);
    }
    let allowed = format!("must be above 0 and at most {max}");
    Err(Error::invalid(format!("environment.{key}"), x, allowed))
}

/// Builds the arms; the instance brings its reward signal and guardrail where none is declared.
fn build(
    setting: &mut Setting<'_>,
    family: Family,
    names: Option<&Vec<String>>,
    (threshold, sub_gaussian): (f64, Option<f64>),
    [rewards, costs]: [Vec<f64>; 2],
) -> Result<Environment, Error> {
    if setting.guardrails.is_empty() {
        setting.guardrails.push(Guardrail {
            name: "cost".into(),
            at_most: Some(threshold),
            safe_cost: Some(costs[0]),
            signal: SignalConfig {
                sub_gaussian,
                ..SignalConfig::default()
            },
            ..Guardrail::default()
        });
        *setting.reward = SignalConfig {
            sub_gaussian,
            ..SignalConfig::default()
        };
    }
    let means = ArmMeans {
        arms: names,
        safe: None,
        rewards,
        costs: vec![costs],
        changes: &[],
        moves: &[],
        users: None,
    };
    means.build(setting, family)
}
