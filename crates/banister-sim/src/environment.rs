//! Environments: what really happens when an arm is pulled.

use banister::{Error, Guardrail, Signal, SignalConfig};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Beta, Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// The law of every signal of every arm, or a hard instance by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// The two ends of the range, with the given mean.
    Bernoulli,
    /// Normal around the mean; declare `sub_gaussian` for the signals.
    Gaussian,
    /// Normal around a location, clipped to the range.
    ClippedGaussian,
    /// Beta on the range, with the given mean.
    Beta,
    /// ν of the paper's lower bound, or ν' with `alternative` (corrected, D = 1/8).
    LowerBound,
    /// L1: whether the middle arm is just feasible, or (`alternative`) just not.
    L1,
    /// L2: a feasible and an infeasible arm, both better than the safe one.
    L2,
}

/// `safe` by index or by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ArmRef {
    /// By index.
    Index(usize),
    /// By name.
    Name(String),
}

/// An environment as declared. Which keys apply depends on `kind`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentConfig {
    /// The law.
    pub kind: Kind,
    /// Names of the arms; default `arm 0`, `arm 1`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arms: Option<Vec<String>>,
    /// Mean reward per arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewards: Option<Vec<f64>>,
    /// Mean cost per arm, one row per guardrail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<Vec<Vec<f64>>>,
    /// The safe arm, by index or name; default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safe: Option<ArmRef>,
    /// Standard deviation as a fraction of the signal's range (Gaussian laws; default 0.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
    /// a + b of the Beta law (default 4; larger is less noisy).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concentration: Option<f64>,
    /// Judge by the locations as given rather than by the means after clipping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nominal: Option<bool>,
    /// K of the lower bound (default 4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<usize>,
    /// τ − c_0 of a hard instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// ρ of L1 and L2: the best margin of any arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_margin: Option<f64>,
    /// τ of the lower bound (default 0.5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// ν' instead of ν; the infeasible variant of L1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternative: Option<bool>,
}

impl EnvironmentConfig {
    /// An environment given by its means.
    pub fn arms(kind: Kind, rewards: &[f64], costs: &[&[f64]]) -> Self {
        Self {
            rewards: Some(rewards.to_vec()),
            costs: Some(costs.iter().map(|row| row.to_vec()).collect()),
            ..Self::named(kind)
        }
    }

    /// An environment with nothing but its kind.
    pub fn named(kind: Kind) -> Self {
        Self {
            kind,
            arms: None,
            rewards: None,
            costs: None,
            safe: None,
            sd: None,
            concentration: None,
            nominal: None,
            k: None,
            margin: None,
            best_margin: None,
            threshold: None,
            alternative: None,
        }
    }

    /// Refuses keys that do not apply to the kind.
    pub(crate) fn check_keys(&self) -> Result<(), Error> {
        let hard = matches!(self.kind, Kind::LowerBound | Kind::L1 | Kind::L2);
        let gaussian = matches!(self.kind, Kind::Gaussian | Kind::ClippedGaussian);
        let given = [
            ("rewards", self.rewards.is_some(), !hard),
            ("costs", self.costs.is_some(), !hard),
            ("safe", self.safe.is_some(), !hard),
            ("sd", self.sd.is_some(), gaussian),
            (
                "concentration",
                self.concentration.is_some(),
                self.kind == Kind::Beta,
            ),
            (
                "nominal",
                self.nominal.is_some(),
                self.kind == Kind::ClippedGaussian,
            ),
            ("k", self.k.is_some(), self.kind == Kind::LowerBound),
            ("margin", self.margin.is_some(), hard),
            (
                "best_margin",
                self.best_margin.is_some(),
                matches!(self.kind, Kind::L1 | Kind::L2),
            ),
            (
                "threshold",
                self.threshold.is_some(),
                self.kind == Kind::LowerBound,
            ),
            (
                "alternative",
                self.alternative.is_some(),
                matches!(self.kind, Kind::LowerBound | Kind::L1),
            ),
        ];
        for (key, is_given, applies) in given {
            if is_given && !applies {
                let allowed = format!(
                    "this key does not apply to environments of kind `{}`",
                    name_of(self.kind)
                );
                return Err(Error::invalid(
                    format!("environment.{key}"),
                    "given",
                    allowed,
                ));
            }
        }
        Ok(())
    }
}

pub(crate) fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Bernoulli => "bernoulli",
        Kind::Gaussian => "gaussian",
        Kind::ClippedGaussian => "clipped_gaussian",
        Kind::Beta => "beta",
        Kind::LowerBound => "lower_bound",
        Kind::L1 => "l1",
        Kind::L2 => "l2",
    }
}

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

/// One signal of one arm.
#[derive(Debug, Clone, Copy)]
enum Law {
    /// The high end when a 53-bit number is below the threshold, else the low one. The ends are
    /// kept as bits: `lo`, and in which bits the other differs.
    TwoPoint {
        below: u64,
        lo: u64,
        flip: u64,
    },
    Normal {
        mean: f64,
        sd: f64,
    },
    ClippedNormal {
        mean: f64,
        sd: f64,
        lo: f64,
        hi: f64,
    },
    ScaledBeta {
        beta: Beta<f64>,
        lo: f64,
        unit: f64,
    },
}

impl Law {
    #[inline]
    fn draw(&self, rng: &mut ChaCha8Rng) -> f64 {
        match *self {
            Self::TwoPoint { below, lo, flip } => {
                // All ones below the threshold, else zero, by the sign of the difference: a branch
                // on a random number could not be predicted.
                let number = rng.next_u64() >> 11;
                let mask = (number.wrapping_sub(below) as i64 >> 63) as u64;
                f64::from_bits(lo ^ (flip & mask))
            }
            _ => self.draw_continuous(rng),
        }
    }

    #[inline(never)]
    fn draw_continuous(&self, rng: &mut ChaCha8Rng) -> f64 {
        match *self {
            Self::TwoPoint { .. } => self.draw(rng),
            Self::Normal { mean, sd } => mean + sd * normal(rng),
            Self::ClippedNormal { mean, sd, lo, hi } => (mean + sd * normal(rng)).clamp(lo, hi),
            Self::ScaledBeta { beta, lo, unit } => lo + unit * beta.sample(rng),
        }
    }
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// A checked environment, ready to pull.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Signals per arm: the reward, then one per guardrail.
    signals: usize,
    laws: Vec<Law>,
    /// The means results are judged by, laid out as the laws.
    means: Vec<f64>,
}

impl Environment {
    /// Builds the laws. `means[s][a]` are the declared means of signal s, in signal units.
    pub(crate) fn new(
        config: &EnvironmentConfig,
        kind: Kind,
        sd: f64,
        signals: &[(String, Signal)],
        means: &[Vec<f64>],
    ) -> Result<Self, Error> {
        let arms = means[0].len();
        let mut laws = Vec::with_capacity(arms * signals.len());
        let mut judged = Vec::with_capacity(arms * signals.len());
        for a in 0..arms {
            for (s, (field, signal)) in signals.iter().enumerate() {
                let mean = means[s][a];
                let field = format!("{field}[{a}]");
                if !mean.is_finite() {
                    return Err(Error::invalid(
                        field,
                        mean,
                        "only finite numbers are allowed",
                    ));
                }
                if mean < signal.lo || mean > signal.hi {
                    let allowed = format!(
                        "a mean must lie in its range [{}, {}]",
                        signal.lo, signal.hi
                    );
                    return Err(Error::invalid(field, mean, allowed));
                }
                let (law, judge) = law(config, kind, sd, signal, mean, &field)?;
                laws.push(law);
                judged.push(judge);
            }
        }
        Ok(Self {
            signals: signals.len(),
            laws,
            means: judged,
        })
    }

    /// Number of arms.
    pub fn arms(&self) -> usize {
        self.laws.len() / self.signals
    }

    /// The true means of an arm: the reward, then one per guardrail.
    #[inline]
    pub fn means(&self, arm: usize) -> &[f64] {
        &self.means[arm * self.signals..(arm + 1) * self.signals]
    }

    /// The true mean of one signal of an arm.
    #[inline]
    pub(crate) fn mean(&self, arm: usize, signal: usize) -> f64 {
        self.means[arm * self.signals + signal]
    }

    /// Pulls an arm: returns the reward and writes the costs.
    #[inline]
    pub fn pull(&self, arm: usize, rng: &mut ChaCha8Rng, costs: &mut [f64]) -> f64 {
        let from = arm * self.signals;
        let laws = &self.laws[from..from + self.signals];
        let reward = laws[0].draw(rng);
        for (cost, law) in costs.iter_mut().zip(&laws[1..]) {
            *cost = law.draw(rng);
        }
        reward
    }
}

/// The law of one signal and the mean it is judged by.
fn law(
    config: &EnvironmentConfig,
    kind: Kind,
    sd: f64,
    signal: &Signal,
    mean: f64,
    field: &str,
) -> Result<(Law, f64), Error> {
    let (lo, hi, unit) = (signal.lo, signal.hi, signal.unit());
    let share = (mean - lo) / unit;
    let deviation = sd * unit;
    Ok(match kind {
        Kind::Gaussian => {
            match signal.sub_gaussian {
                Some(r) if r >= deviation => {}
                Some(r) => {
                    let allowed = format!(
                        "the noise has standard deviation {deviation}, so it must be at least that"
                    );
                    return Err(Error::invalid(
                        format!("sub_gaussian of `{field}`"),
                        r,
                        allowed,
                    ));
                }
                None => {
                    let allowed = format!(
                        "Gaussian observations leave any range: declare `sub_gaussian` of at least {deviation} for the reward and every guardrail"
                    );
                    return Err(Error::invalid(field, "bounded", allowed));
                }
            }
            (
                Law::Normal {
                    mean,
                    sd: deviation,
                },
                mean,
            )
        }
        Kind::ClippedGaussian => {
            let judged = if config.nominal == Some(true) {
                mean
            } else {
                clipped_mean(mean, deviation, lo, hi)
            };
            (
                Law::ClippedNormal {
                    mean,
                    sd: deviation,
                    lo,
                    hi,
                },
                judged,
            )
        }
        Kind::Beta if share > 0.0 && share < 1.0 => {
            let total = config.concentration.unwrap_or(4.0);
            let beta = Beta::new(share * total, (1.0 - share) * total).map_err(|_| {
                Error::invalid(
                    "environment.concentration",
                    total,
                    "must be a finite number above 0",
                )
            })?;
            (Law::ScaledBeta { beta, lo, unit }, mean)
        }
        // A Beta law with its mean at an end of the range is that point.
        _ => {
            let below = (share * (1u64 << 53) as f64).round() as u64;
            let (lo, flip) = (lo.to_bits(), lo.to_bits() ^ hi.to_bits());
            (Law::TwoPoint { below, lo, flip }, mean)
        }
    })
}

/// E[clip(X)] for X ~ N(mean, sd²), in closed form.
fn clipped_mean(mean: f64, sd: f64, lo: f64, hi: f64) -> f64 {
    let cdf = |z: f64| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
    let pdf = |z: f64| libm::exp(-0.5 * z * z) / (2.0 * std::f64::consts::PI).sqrt();
    let (a, b) = ((lo - mean) / sd, (hi - mean) / sd);
    lo * cdf(a) + hi * (1.0 - cdf(b)) + mean * (cdf(b) - cdf(a)) + sd * (pdf(a) - pdf(b))
}
