//! Hard instances: the lower bound's pair, and L1 and L2, which show that the best rate depends on
//! the best margin of any arm and not only on the safe one's.

use banister::{Error, Guardrail, SignalConfig};

use crate::environment::{EnvironmentConfig, Kind};

/// A hard instance spelled out: arms of a plain kind, with its reward signal and guardrail.
pub(crate) struct HardInstance {
    pub kind: Kind,
    pub sd: Option<f64>,
    pub rewards: Vec<f64>,
    pub costs: Vec<f64>,
    pub reward: SignalConfig,
    pub guardrail: Guardrail,
}

impl EnvironmentConfig {
    /// Spells out a hard instance; `None` for the plain kinds.
    pub(crate) fn hard_instance(&self, horizon: u64) -> Result<Option<HardInstance>, Error> {
        let number = |key: &str, value: Option<f64>, default: f64, max: f64| {
            let x = value.unwrap_or(default);
            if x.is_finite() && x > 0.0 && x <= max {
                Ok(x)
            } else {
                let allowed = format!("must be above 0 and at most {max}");
                Err(Error::invalid(format!("environment.{key}"), x, allowed))
            }
        };
        let bernoulli = |rewards: [f64; 3], costs: [f64; 3]| HardInstance {
            kind: Kind::Bernoulli,
            sd: None,
            rewards: rewards.to_vec(),
            costs: costs.to_vec(),
            reward: SignalConfig::default(),
            guardrail: Guardrail {
                name: "cost".into(),
                at_most: Some(0.5),
                safe_cost: Some(costs[0]),
                ..Guardrail::default()
            },
        };
        Ok(Some(match self.kind {
            Kind::LowerBound => self.lower_bound(number)?,
            Kind::L1 => {
                let d = number("margin", self.margin, 0.1, 0.5)?;
                let rho = number("best_margin", self.best_margin, 0.4, 0.5)?;
                let shift = if self.alternative == Some(true) {
                    0.125 / (horizon as f64).sqrt()
                } else {
                    0.0
                };
                bernoulli([0.5, 1.0, 0.5], [0.5 - d, 0.5 + shift, 0.5 - rho])
            }
            Kind::L2 => {
                let d = number("margin", self.margin, 0.1, 0.5)?;
                let rho = number("best_margin", self.best_margin, 0.2, 0.25)?;
                bernoulli([0.0, 1.0, 1.0], [0.5 - d, 0.5 - rho, 0.5 + 2.0 * rho])
            }
            _ => return Ok(None),
        }))
    }

    /// ν and ν' with unit-variance Gaussian signals, corrected: D = 1/8 keeps rewards in [0, 1],
    /// and ν' differs from ν in arm 4's cost only.
    fn lower_bound(
        &self,
        number: impl Fn(&str, Option<f64>, f64, f64) -> Result<f64, Error>,
    ) -> Result<HardInstance, Error> {
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
        let noise = SignalConfig {
            range: None,
            sub_gaussian: Some(1.0),
        };
        Ok(HardInstance {
            kind: Kind::Gaussian,
            sd: Some(1.0),
            reward: noise,
            guardrail: Guardrail {
                name: "cost".into(),
                at_most: Some(tau),
                sub_gaussian: Some(1.0),
                safe_cost: Some(costs[0]),
                ..Guardrail::default()
            },
            rewards,
            costs,
        })
    }
}
