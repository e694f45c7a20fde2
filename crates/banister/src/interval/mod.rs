//! Confidence intervals for the mean of one signal of one arm, in standard units.
//!
//! | kind | half-width or set | valid |
//! |---|---|---|
//! | `mixture` | see `mixture.rs` | any time, bounded signals |
//! | `kl` | { q : n·kl(p̂, q) ≤ ln((n+1)/δ_s) } | any time, bounded signals |
//! | `subgaussian` | R √((n+ρ)(ln((n+ρ)/ρ) + 2 ln(1/δ_s)))/n | any time |
//! | `paper` | √(2 ln(1/δ')/n), δ' = δ/(4KT), never clipped | the paper's, for R = 1 and n ≤ T; its level counts one guardrail, which bounded signals have room for many times over and sub-Gaussian ones have not |
//! | `published` | √(2 ln(T²)/max(n,1)), r̂ = 0 and ĉ = 1 before the first pull, clipped at 1 | what made the published figures |
//!
//! δ_s is what one end may fail with: its share of the budget it belongs to (`budget.rs`). The two ends of
//! an interval have levels of their own. An arm never pulled has the interval [0, 1] (the paper's β(0) = 0
//! is neither safe nor optimistic).
//!
//! Files, in reading order: `mixture`, `kl`, `budget`.

mod budget;
mod kl;
mod mixture;

pub(crate) use budget::{DeltaBudget, OPTIMISM_DELTA, Place};
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
    /// Mixture of bets, anytime; the default for bounded signals.
    Mixture,
    /// Binary Kullback-Leibler, anytime.
    Kl,
    /// Normal mixture, anytime; the default for sub-Gaussian signals.
    Subgaussian,
    /// As the paper's text specifies.
    Paper,
    /// As in the code that made the paper's figures.
    Published,
}

impl Intervals {
    /// The name used in configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mixture => "mixture",
            Self::Kl => "kl",
            Self::Subgaussian => "subgaussian",
            Self::Paper => "paper",
            Self::Published => "published",
        }
    }

    /// The default for a signal: `mixture` if it is bounded, else `subgaussian`.
    pub fn suiting(signal: &Signal) -> Self {
        match signal.sub_gaussian {
            None => Self::Mixture,
            Some(_) => Self::Subgaussian,
        }
    }

    /// True if it holds at all times at once, with no horizon.
    pub fn is_anytime(self) -> bool {
        matches!(self, Self::Mixture | Self::Kl | Self::Subgaussian)
    }

    /// True if it needs observations that cannot leave their range.
    pub fn needs_bounded(self) -> bool {
        matches!(self, Self::Mixture | Self::Kl)
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
pub(crate) struct Count {
    n: u64,
    /// 1/n.
    inverse: f64,
    /// √(1/n).
    root_inverse: f64,
}

impl Count {
    /// Prepares for `n` observations.
    #[inline]
    pub(crate) fn new(n: u64) -> Self {
        // Signed, as that conversion is one instruction; no count comes near 2⁶³.
        let inverse = 1.0 / n as i64 as f64;
        Self {
            n,
            inverse,
            root_inverse: inverse.sqrt(),
        }
    }
}

/// End of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Lower,
    Upper,
}

impl End {
    /// The end of a mean that may be anything in [0, 1].
    #[inline]
    pub(crate) fn trivial(self) -> f64 {
        match self {
            Self::Lower => 0.0,
            Self::Upper => 1.0,
        }
    }

    /// The tighter of two values of this end; the first where the second is NaN.
    #[inline]
    pub(crate) fn tighter(self, a: f64, b: f64) -> f64 {
        let better = match self {
            Self::Lower => b > a,
            Self::Upper => b < a,
        };
        if better { b } else { a }
    }
}

/// Observations of one signal of one arm, in standard units.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observed<'a> {
    pub count: Count,
    /// S, their sum.
    pub sum: f64,
    /// Where the kind is `mixture`.
    pub mixture: Option<&'a Mixture>,
}

impl Observed<'_> {
    #[inline]
    fn mean(&self) -> f64 {
        self.sum * self.count.inverse
    }
}

/// The interval rule of one signal: kind and noise, all constants worked out that do not depend on levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rule {
    kind: Intervals,
    /// Log term whatever the end's level: of `paper` and `published`, or forced.
    fixed: Option<f64>,
    /// A forced log term voids the guarantee; it is for negative controls.
    forced: bool,
    /// True if R = 1, as the paper's radius has it also for bounded signals.
    unit_noise: bool,
    rho: f64,
    /// Range that the symmetric kinds are clipped to.
    clip: Interval,
    /// True if this bounds a cost (matters before the first pull under `published`).
    cost: bool,
}

/// Budgets, and what else all intervals of an agent depend on.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    /// δ: probability with which some upper cost bound, all that safety rests on, may ever fail.
    pub delta: f64,
    /// δ_o: probability with which some other bound may ever fail.
    pub optimism_delta: f64,
    /// T where a horizon is known.
    pub horizon: Option<u64>,
    /// Overrides the log term (negative controls only).
    pub log_term: Option<f64>,
    /// ρ of the normal mixture.
    pub rho: f64,
}

impl Level {
    /// Anytime intervals at δ for safety, and the usual budget for the rest.
    pub fn at(delta: f64) -> Self {
        Self {
            delta,
            optimism_delta: OPTIMISM_DELTA,
            horizon: None,
            log_term: None,
            rho: 1.0,
        }
    }
}

impl Rule {
    /// Works out the constants. `arms` is K of the paper's level.
    pub(crate) fn new(
        kind: Intervals,
        level: &Level,
        arms: usize,
        bounded: bool,
        cost: bool,
    ) -> Self {
        let t = level.horizon.unwrap_or(1) as f64;
        let own = match kind {
            Intervals::Paper => Some(log(4.0 * arms as f64 * t / level.delta)),
            Intervals::Published => Some(2.0 * log(t)),
            _ => None,
        };
        Self {
            kind,
            fixed: level.log_term.or(own),
            forced: level.log_term.is_some(),
            unit_noise: bounded && matches!(kind, Intervals::Paper | Intervals::Published),
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
        matches!(self.kind, Intervals::Paper | Intervals::Published)
    }

    /// True if it reads the statistics of [`Mixture`].
    #[inline]
    pub(crate) fn wants_mixture(&self) -> bool {
        self.kind == Intervals::Mixture
    }

    /// R in use, given the signal's own.
    pub(crate) fn noise(&self, r: f64) -> f64 {
        if self.unit_noise { 1.0 } else { r }
    }

    /// The log term of an end at level δ_s, given ln(1/δ_s).
    #[inline]
    pub(crate) fn log_term(&self, log_level: f64) -> f64 {
        self.fixed.unwrap_or(log_level)
    }

    /// Half-width of the symmetric kinds for n = 1; their log term is fixed.
    pub(crate) fn width(&self, r: f64) -> f64 {
        self.noise(r) * (2.0 * self.log_term(0.0)).sqrt()
    }

    /// The interval of the symmetric kinds after the first observation, from their half-width for n = 1.
    #[inline]
    pub(crate) fn symmetric(&self, count: &Count, sum: f64, width: f64) -> Interval {
        Interval::around(sum * count.inverse, width * count.root_inverse).within(self.clip)
    }

    /// One end after the first observation. `start` is the trivial end, or one in force: Newton's method
    /// begins there, and kinds that search for a root stay there if nothing better is shown.
    pub(crate) fn end(
        &self,
        end: End,
        observed: &Observed,
        r: f64,
        log_level: f64,
        start: f64,
    ) -> f64 {
        let (count, log_term) = (&observed.count, self.log_term(log_level));
        let around = |centre: f64, radius: f64| {
            let interval = Interval::around(centre, radius).within(self.clip);
            match end {
                End::Lower => interval.lower,
                End::Upper => interval.upper,
            }
        };
        match self.kind {
            Intervals::Mixture => match (observed.mixture, end) {
                (Some(own), End::Lower) => own.lower(log_term, start),
                (Some(own), End::Upper) => own.upper(log_term, start),
                (None, _) => start,
            },
            Intervals::Kl => {
                // A sum of unit observations can leave the mean a rounding error outside [0, 1].
                let mean = observed.mean().clamp(0.0, 1.0);
                let n = count.n as f64;
                let grown = if self.forced { 0.0 } else { log(n + 1.0) };
                let level = (log_term + grown) * count.inverse;
                match end {
                    End::Lower => kl_lower_within(mean, level, start),
                    End::Upper => kl_upper_within(mean, level, start),
                }
            }
            Intervals::Subgaussian => {
                let n = count.n as f64 + self.rho;
                let grown = if self.forced { 0.0 } else { log(n / self.rho) };
                let radius = r * (n * (grown + 2.0 * log_term)).sqrt() * count.inverse;
                around(observed.mean(), radius)
            }
            Intervals::Paper | Intervals::Published => {
                let radius = self.noise(r) * (2.0 * log_term).sqrt() * count.root_inverse;
                around(observed.mean(), radius)
            }
        }
    }

    /// An end at the level 1/x for the count there is, no more: r̃ or c̃ of `index` optimism (`optimism`), after the first
    /// observation.
    pub(crate) fn index(&self, end: End, observed: &Observed, r: f64, log_x: f64) -> f64 {
        let level = log_x * observed.count.inverse;
        let mean = observed.mean().clamp(0.0, 1.0);
        let index = match (observed.mixture, self.kind, end) {
            (Some(own), Intervals::Mixture, _) => own.index(end, log_x),
            (_, Intervals::Kl, End::Lower) => kl_lower(mean, level, 0.0),
            (_, Intervals::Kl, End::Upper) => kl_upper(mean, level, 1.0),
            (_, _, End::Lower) => mean - r * (2.0 * level).sqrt(),
            (_, _, End::Upper) => mean + r * (2.0 * level).sqrt(),
        };
        index.clamp(0.0, 1.0)
    }

    /// True if it is for signals that cannot leave their range.
    #[inline]
    pub(crate) fn is_bounded(&self) -> bool {
        self.kind.needs_bounded()
    }

    /// Centre of the symmetric kinds before clipping, which the paper's bonus is for.
    #[inline]
    pub(crate) fn centre(&self, count: &Count, sum: f64) -> f64 {
        match (count.n, self.kind) {
            (1.., _) => sum * count.inverse,
            (0, Intervals::Published) => f64::from(u8::from(self.cost)),
            _ => 0.5,
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

    /// The interval of an arm never pulled.
    #[cold]
    pub(crate) fn before_the_first_pull(&self, r: f64) -> Interval {
        if self.kind == Intervals::Published {
            let centre = f64::from(u8::from(self.cost));
            return Interval::around(centre, self.width(r)).clipped();
        }
        Interval::UNKNOWN
    }
}
