//! Confidence intervals for the mean of one signal of one arm, in standard units.
//!
//! | kind | half-width or set | valid |
//! |---|---|---|
//! | `hoeffding` | R √(2 ln(2T/δ_s)/n), R = 1/2 for bounded signals | for n ≤ T |
//! | `kl` | { q : n·kl(p̂, q) ≤ ln((n+1)/δ_s) } | any time, bounded signals |
//! | `subgaussian` | R √((n+ρ)(ln((n+ρ)/ρ) + 2 ln(1/δ_s)))/n | any time |
//! | `bernstein` | see [`Bernstein`] | any time, bounded signals |
//! | `paper` | √(2 ln(1/δ')/n), δ' = δ/(4KT), never clipped | the paper's, for R = 1 |
//! | `published` | √(2 ln(T²)/max(n,1)), r̂ = 0 and ĉ = 1 before the first pull, clipped at 1 | what made the published figures |
//!
//! δ_s = δ/N_s with N_s the number of signals bounded. An arm never pulled has the interval [0, 1]
//! (the paper's β(0) = 0 is neither safe nor optimistic).

mod bernstein;
mod kl;

pub use bernstein::Bernstein;
pub use kl::{kl, kl_lower, kl_upper};

use libm::log;
use serde::{Deserialize, Serialize};

/// Which interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Intervals {
    /// Hoeffding's inequality with a union over a known horizon.
    Hoeffding,
    /// Binary Kullback-Leibler, anytime; the default for bounded signals.
    Kl,
    /// Normal mixture, anytime; the default for sub-Gaussian signals.
    Subgaussian,
    /// Predictable plug-in empirical Bernstein, anytime.
    Bernstein,
    /// As the paper's text specifies.
    Paper,
    /// As in the code that made the paper's figures.
    Published,
}

impl Intervals {
    /// The name used in configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hoeffding => "hoeffding",
            Self::Kl => "kl",
            Self::Subgaussian => "subgaussian",
            Self::Bernstein => "bernstein",
            Self::Paper => "paper",
            Self::Published => "published",
        }
    }

    /// Whether it holds at all times at once, with no horizon.
    pub fn is_anytime(self) -> bool {
        matches!(self, Self::Kl | Self::Subgaussian | Self::Bernstein)
    }

    /// Whether it needs observations that cannot leave their range.
    pub fn needs_bounded(self) -> bool {
        matches!(self, Self::Kl | Self::Bernstein)
    }
}

/// An interval, with the unclipped centre and radius that the paper's optimism wants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// Middle before clipping.
    pub centre: f64,
    /// Half-width before clipping.
    pub radius: f64,
}

impl Interval {
    /// What is known before the first observation.
    pub const UNKNOWN: Self = Self {
        lower: 0.0,
        upper: 1.0,
        centre: 0.5,
        radius: 0.5,
    };

    fn around(centre: f64, radius: f64) -> Self {
        Self {
            lower: centre - radius,
            upper: centre + radius,
            centre,
            radius,
        }
    }

    fn clipped(mut self) -> Self {
        self.lower = self.lower.clamp(0.0, 1.0);
        self.upper = self.upper.clamp(0.0, 1.0);
        self
    }
}

/// The interval rule of one signal: kind, level and noise, all constants worked out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    kind: Intervals,
    /// ln(2T/δ_s), ln(1/δ_s), ln(2/δ_s), ln(1/δ') or ln(T²), as the kind wants.
    log_term: f64,
    /// A forced log term voids the guarantee; it is for negative controls.
    forced: bool,
    /// Sub-Gaussian constant in standard units.
    r: f64,
    rho: f64,
    /// Whether this bounds a cost (matters before the first pull under `published`).
    cost: bool,
}

/// What a rule is made from.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    /// δ, the probability with which everything may fail.
    pub delta: f64,
    /// N_s, the number of signals bounded.
    pub signals: usize,
    /// K, the number of arms (ever).
    pub arms: usize,
    /// T where a horizon is known.
    pub horizon: Option<u64>,
    /// Overrides the log term (negative controls only).
    pub log_term: Option<f64>,
    /// ρ of the normal mixture.
    pub rho: f64,
}

impl Rule {
    /// Works out the constants. `r` is the signal's sub-Gaussian constant in standard units.
    pub fn new(kind: Intervals, level: &Level, r: f64, bounded: bool, cost: bool) -> Self {
        let delta_s = level.delta / level.signals as f64;
        let t = level.horizon.unwrap_or(1) as f64;
        let honest = match kind {
            Intervals::Hoeffding => log(2.0 * t / delta_s),
            Intervals::Kl | Intervals::Subgaussian => log(1.0 / delta_s),
            Intervals::Bernstein => log(2.0 / delta_s),
            Intervals::Paper => log(4.0 * level.arms as f64 * t / level.delta),
            Intervals::Published => 2.0 * log(t),
        };
        // The paper's radius is for R = 1, also for bounded signals.
        let r = match kind {
            Intervals::Paper | Intervals::Published if bounded => 1.0,
            _ => r,
        };
        Self {
            kind,
            log_term: level.log_term.unwrap_or(honest),
            forced: level.log_term.is_some(),
            r,
            rho: level.rho,
            cost,
        }
    }

    /// Feeds the statistics that only `bernstein` keeps.
    #[inline]
    pub fn push(&self, state: &mut Bernstein, y: f64) {
        if self.kind == Intervals::Bernstein {
            state.push(y, self.log_term);
        }
    }

    /// The interval after n observations with the given sum; `previous` guides the KL search.
    #[inline]
    pub fn interval(
        &self,
        n: u64,
        sum: f64,
        bernstein: &Bernstein,
        previous: (f64, f64),
        both_sides: bool,
    ) -> Interval {
        if n == 0 {
            return self.before_the_first_pull();
        }
        let count = n as f64;
        let mean = sum / count;
        match self.kind {
            Intervals::Hoeffding => {
                Interval::around(mean, self.r * (2.0 * self.log_term / count).sqrt()).clipped()
            }
            Intervals::Paper => {
                Interval::around(mean, self.r * (2.0 * self.log_term / count).sqrt())
            }
            Intervals::Published => {
                Interval::around(mean, self.r * (2.0 * self.log_term / count).sqrt()).clipped()
            }
            Intervals::Subgaussian => {
                let n = count + self.rho;
                let log_term = if self.forced {
                    2.0 * self.log_term
                } else {
                    log(n / self.rho) + 2.0 * self.log_term
                };
                Interval::around(mean, self.r * (n * log_term).sqrt() / count).clipped()
            }
            Intervals::Kl => {
                let log_term = if self.forced {
                    self.log_term
                } else {
                    log(count + 1.0) + self.log_term
                };
                // A sum of unit observations can leave the mean a rounding error outside [0, 1].
                let mean = mean.clamp(0.0, 1.0);
                let level = log_term / count;
                let upper = kl_upper(mean, level, previous.1);
                let lower = if both_sides {
                    kl_lower(mean, level, previous.0)
                } else {
                    0.0
                };
                Interval {
                    lower,
                    upper,
                    centre: mean,
                    radius: upper - mean,
                }
            }
            Intervals::Bernstein => match bernstein.interval(self.log_term) {
                Some((centre, radius)) => Interval::around(centre, radius).clipped(),
                None => Interval::UNKNOWN,
            },
        }
    }

    fn before_the_first_pull(&self) -> Interval {
        if self.kind == Intervals::Published {
            let centre = f64::from(u8::from(self.cost));
            return Interval::around(centre, self.r * (2.0 * self.log_term).sqrt()).clipped();
        }
        Interval::UNKNOWN
    }
}
