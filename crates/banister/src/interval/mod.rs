//! Confidence intervals for the mean of one signal of one arm, in standard units.
//!
//! | kind | half-width or set | valid |
//! |---|---|---|
//! | `hoeffding` | R √(2 ln(2T/δ_s)/n), R = 1/2 for bounded signals | for n ≤ T |
//! | `kl` | { q : n·kl(p̂, q) ≤ ln((n+1)/δ_s) } | any time, bounded signals |
//! | `subgaussian` | R √((n+ρ)(ln((n+ρ)/ρ) + 2 ln(1/δ_s)))/n | any time |
//! | `bernstein` | see [`Bernstein`] | any time, bounded signals |
//! | `paper` | √(2 ln(1/δ')/n), δ' = δ/(4KT), never clipped | the paper's, for R = 1 and n ≤ T; its level counts one guardrail, which bounded signals have room for many times over and sub-Gaussian ones have not |
//! | `published` | √(2 ln(T²)/max(n,1)), r̂ = 0 and ĉ = 1 before the first pull, clipped at 1 | what made the published figures |
//!
//! δ_s = δ/N_s with N_s the number of signals bounded. An arm never pulled has the interval [0, 1]
//! (the paper's β(0) = 0 is neither safe nor optimistic).
//!
//! Files, in reading order: `kl`, `mixture`, `bernstein`.

mod bernstein;
mod kl;
mod mixture;

pub use bernstein::Bernstein;
pub use kl::{kl, kl_lower, kl_upper};
pub use mixture::Mixture;

use kl::{kl_lower_within, kl_upper_within};
use libm::log;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Signal;

/// Kind of confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

    /// The default for a signal: `kl` if it is bounded, else `subgaussian`.
    pub fn suiting(signal: &Signal) -> Self {
        match signal.sub_gaussian {
            None => Self::Kl,
            Some(_) => Self::Subgaussian,
        }
    }

    /// True if it holds at all times at once, with no horizon.
    pub fn is_anytime(self) -> bool {
        matches!(self, Self::Kl | Self::Subgaussian | Self::Bernstein)
    }

    /// True if it needs observations that cannot leave their range.
    pub fn needs_bounded(self) -> bool {
        matches!(self, Self::Kl | Self::Bernstein)
    }
}

/// An interval for a mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end, included.
    pub lower: f64,
    /// Upper end, included.
    pub upper: f64,
}

impl Interval {
    /// The interval before the first observation.
    pub const UNKNOWN: Self = Self {
        lower: 0.0,
        upper: 1.0,
    };

    #[inline]
    fn around(centre: f64, radius: f64) -> Self {
        Self {
            lower: centre - radius,
            upper: centre + radius,
        }
    }

    #[inline]
    fn clipped(self) -> Self {
        self.within(Self::UNKNOWN)
    }

    /// Both ends moved into `range`.
    #[inline]
    fn within(self, range: Self) -> Self {
        // Written so that NaN becomes the end that promises nothing.
        let below = |x: f64| if x < range.upper { x } else { range.upper };
        let above = |x: f64| if x > range.lower { x } else { range.lower };
        Self {
            lower: below(above(self.lower)),
            upper: above(below(self.upper)),
        }
    }
}

/// Number n of observations, with the functions of n that all signals of an arm share.
#[derive(Debug, Clone, Copy)]
pub struct Count {
    n: u64,
    /// 1/n.
    inverse: f64,
    /// √(1/n).
    root_inverse: f64,
    /// ln(n + 1), where some signal's rule wants it.
    log: f64,
}

impl Count {
    /// Prepares for `n` observations.
    #[inline]
    pub fn new(n: u64, with_log: bool) -> Self {
        // Signed, as that conversion is one instruction; no count comes near 2⁶³.
        let inverse = 1.0 / n as i64 as f64;
        Self {
            n,
            inverse,
            root_inverse: inverse.sqrt(),
            log: if with_log { log(n as f64 + 1.0) } else { 0.0 },
        }
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
    /// R √(2·log term): the half-width for n = 1 of the symmetric kinds.
    width: f64,
    rho: f64,
    /// Range that the symmetric kinds are clipped to.
    clip: Interval,
    /// True if this bounds a cost (matters before the first pull under `published`).
    cost: bool,
}

/// Confidence level and what it is spread over.
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
        let log_term = level.log_term.unwrap_or(honest);
        Self {
            kind,
            log_term,
            width: r * (2.0 * log_term).sqrt(),
            forced: level.log_term.is_some(),
            r,
            rho: level.rho,
            clip: match kind {
                Intervals::Paper => Interval {
                    lower: f64::NEG_INFINITY,
                    upper: f64::INFINITY,
                },
                _ => Interval::UNKNOWN,
            },
            cost,
        }
    }

    /// True if the interval is a mean ± a constant/√n, clipped or not.
    pub(crate) fn is_symmetric(&self) -> bool {
        use Intervals::{Hoeffding, Paper, Published};
        matches!(self.kind, Hoeffding | Paper | Published)
    }

    /// The interval of the symmetric kinds after the first observation.
    #[inline]
    pub(crate) fn symmetric(&self, count: &Count, sum: f64) -> Interval {
        let (mean, radius) = (sum * count.inverse, self.width * count.root_inverse);
        Interval::around(mean, radius).within(self.clip)
    }

    /// True if it reads [`Count`]'s logarithm.
    pub fn wants_log(&self) -> bool {
        self.kind == Intervals::Kl
    }

    /// True if it reads the statistics of [`Bernstein`].
    #[inline]
    pub fn wants_bernstein(&self) -> bool {
        self.kind == Intervals::Bernstein
    }

    /// The log term in force.
    pub fn log_term(&self) -> f64 {
        self.log_term
    }

    /// The interval after some observations with the given sum; `previous` guides the KL search.
    #[inline]
    pub fn interval(
        &self,
        count: &Count,
        sum: f64,
        bernstein: &Bernstein,
        previous: (f64, f64),
        both_sides: bool,
    ) -> Interval {
        if count.n == 0 {
            return self.before_the_first_pull();
        }
        let mean = sum * count.inverse;
        match self.kind {
            Intervals::Hoeffding | Intervals::Paper | Intervals::Published => {
                self.symmetric(count, sum)
            }
            Intervals::Subgaussian => self.subgaussian(count, mean),
            Intervals::Kl => {
                let (mean, level) = self.mean_and_level(count, mean);
                Interval {
                    upper: kl_upper(mean, level, previous.1),
                    lower: if both_sides {
                        kl_lower(mean, level, previous.0)
                    } else {
                        0.0
                    },
                }
            }
            Intervals::Bernstein => match bernstein.interval(self.log_term) {
                Some((centre, radius)) => Interval::around(centre, radius).clipped(),
                None => Interval::UNKNOWN,
            },
        }
    }

    fn subgaussian(&self, count: &Count, mean: f64) -> Interval {
        let n = count.n as f64 + self.rho;
        let log_term = if self.forced {
            2.0 * self.log_term
        } else {
            log(n / self.rho) + 2.0 * self.log_term
        };
        let radius = self.r * (n * log_term).sqrt() * count.inverse;
        Interval::around(mean, radius).clipped()
    }

    /// The interval after some observations, intersected with the one in force. `None` if they have
    /// nothing in common: a mean that does not change lies in both.
    #[inline]
    pub(crate) fn narrowed(
        &self,
        count: &Count,
        sum: f64,
        bernstein: &Bernstein,
        in_force: (f64, f64),
        both_sides: bool,
    ) -> Option<Interval> {
        let (lower, upper) = if self.kind != Intervals::Kl || count.n == 0 {
            let new = self.interval(count, sum, bernstein, in_force, both_sides);
            (new.lower.max(in_force.0), new.upper.min(in_force.1))
        } else {
            let (mean, level) = self.mean_and_level(count, sum * count.inverse);
            let upper = kl_upper_within(mean, level, in_force.1);
            let lower = if both_sides {
                kl_lower_within(mean, level, in_force.0)
            } else {
                in_force.0
            };
            (lower, upper)
        };
        (lower <= upper).then_some(Interval { lower, upper })
    }

    /// The mean, and what the divergence from it may be.
    #[inline]
    fn mean_and_level(&self, count: &Count, mean: f64) -> (f64, f64) {
        let log_term = if self.forced {
            self.log_term
        } else {
            count.log + self.log_term
        };
        // A sum of unit observations can leave the mean a rounding error outside [0, 1].
        (mean.clamp(0.0, 1.0), log_term * count.inverse)
    }

    /// Mean and half-width before clipping, for the symmetric kinds that the paper's bonus is for.
    #[inline]
    pub fn centre_and_radius(&self, count: &Count, sum: f64) -> (f64, f64) {
        let radius = self.radius(count, self.width);
        if count.n > 0 {
            return (sum * count.inverse, radius);
        }
        match self.kind {
            Intervals::Published => (f64::from(u8::from(self.cost)), radius),
            _ => (0.5, radius),
        }
    }

    /// Half-width before clipping of the symmetric kinds, where it is `width` for n = 1.
    #[inline]
    pub(crate) fn radius(&self, count: &Count, width: f64) -> f64 {
        match (count.n, self.kind) {
            (1.., _) => width * count.root_inverse,
            (0, Intervals::Published) => width,
            _ => 0.5,
        }
    }

    /// Half-width for n = 1 of the symmetric kinds.
    pub(crate) fn width(&self) -> f64 {
        self.width
    }

    /// The interval of an arm never pulled.
    #[cold]
    pub fn before_the_first_pull(&self) -> Interval {
        if self.kind == Intervals::Published {
            let centre = f64::from(u8::from(self.cost));
            return Interval::around(centre, self.width).clipped();
        }
        Interval::UNKNOWN
    }
}
