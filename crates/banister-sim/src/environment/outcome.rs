//! Distributions of outcomes, and arms made of them.

use banister::Error;
use banister::theory::CostLaw;
use banister::toolkit::Signal;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Beta, Distribution, StandardNormal};

/// Family of distributions that the signals of all arms share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Family {
    Bernoulli,
    /// Standard deviations are fractions of the signal's range.
    Gaussian {
        sd: f64,
    },
    ClippedGaussian {
        sd: f64,
        /// Judge by the location rather than by the mean after clipping.
        nominal: bool,
    },
    Beta {
        /// a + b.
        concentration: f64,
    },
}

/// Distribution of one signal of one arm.
#[derive(Debug, Clone, Copy)]
pub(super) enum OutcomeDistribution {
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
        hi: f64,
    },
}

impl OutcomeDistribution {
    /// The two ends of a range, with the mean at `share` of the way.
    #[inline]
    pub(super) fn two_point(share: f64, lo: f64, hi: f64) -> Self {
        let below = (share * (1u64 << 53) as f64).round() as u64;
        let (lo, flip) = (lo.to_bits(), lo.to_bits() ^ hi.to_bits());
        Self::TwoPoint { below, lo, flip }
    }

    #[inline]
    pub(super) fn draw(&self, rng: &mut ChaCha8Rng) -> f64 {
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

    /// Draws where the action is played at `scale` of its length: its mean, linear in the features,
    /// shrinks with it. `lo` and `hi` are the ends of the range.
    fn draw_scaled(&self, scale: f64, mean: f64, lo: f64, hi: f64, rng: &mut ChaCha8Rng) -> f64 {
        match *self {
            Self::Normal { mean, sd } => scale * mean + sd * normal(rng),
            _ => {
                Self::two_point(((scale * mean - lo) / (hi - lo)).clamp(0.0, 1.0), lo, hi).draw(rng)
            }
        }
    }

    #[inline(never)]
    fn draw_continuous(&self, rng: &mut ChaCha8Rng) -> f64 {
        match *self {
            Self::TwoPoint { .. } => self.draw(rng),
            Self::Normal { mean, sd } => mean + sd * normal(rng),
            Self::ClippedNormal { mean, sd, lo, hi } => (mean + sd * normal(rng)).clamp(lo, hi),
            // Rounding must not carry an observation out of its range.
            Self::ScaledBeta { beta, lo, hi } => (lo + (hi - lo) * beta.sample(rng)).clamp(lo, hi),
        }
    }
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// Actions that stay the same in every round, by the distributions of their outcomes: arms, or a fixed set
/// of feature vectors.
#[derive(Debug, Clone)]
pub struct Arms {
    /// Signals per arm: the reward, then one per guardrail.
    signals: usize,
    outcomes: Vec<OutcomeDistribution>,
    /// The ends of the signals' ranges, laid out as the outcomes.
    ranges: Vec<(f64, f64)>,
    /// The means that policies are judged by, laid out as the outcomes.
    means: Vec<f64>,
    /// Standard deviations, laid out as the outcomes.
    sds: Vec<f64>,
}

impl Arms {
    /// Builds the distributions. `means[s][a]` are the declared means of signal s, in signal units, under
    /// `fields[s]`; `signal_of` gives the signal of arm a.
    pub(super) fn new(
        family: Family,
        fields: &[String],
        signal_of: impl Fn(usize, usize) -> Signal,
        means: &[Vec<f64>],
    ) -> Result<Self, Error> {
        let arms = means[0].len();
        let signals = fields.len();
        let mut outcomes = Vec::with_capacity(arms * signals);
        let mut judged = Vec::with_capacity(arms * signals);
        let mut ranges = Vec::with_capacity(arms * signals);
        let mut sds = Vec::with_capacity(arms * signals);
        for a in 0..arms {
            for (s, field) in fields.iter().enumerate() {
                let (signal, mean) = (signal_of(a, s), means[s][a]);
                let field = format!("{field}[{a}]");
                if !mean.is_finite() {
                    let allowed = "only finite numbers are allowed";
                    return Err(Error::invalid(field, mean, allowed));
                }
                if mean < signal.lo || mean > signal.hi {
                    let allowed = format!(
                        "a mean must lie in its range [{}, {}]",
                        signal.lo, signal.hi
                    );
                    return Err(Error::invalid(field, mean, allowed));
                }
                sds.push(family.sd(&signal, mean));
                let (outcome, mean) = family.outcome(&signal, mean, &field)?;
                outcomes.push(outcome);
                judged.push(mean);
                ranges.push((signal.lo, signal.hi));
            }
        }
        Ok(Self {
            signals,
            outcomes,
            ranges,
            means: judged,
            sds,
        })
    }

    /// Moves the mean of a signal of an arm.
    pub(super) fn set_mean(
        &mut self,
        family: Family,
        signal: &Signal,
        (arm, s): (usize, usize),
        mean: f64,
    ) -> Result<(), Error> {
        let place = arm * self.signals + s;
        let (outcome, judged) = family.outcome(signal, mean, "a mean that moves")?;
        (self.outcomes[place], self.means[place]) = (outcome, judged);
        Ok(())
    }

    /// Number of arms.
    pub fn count(&self) -> usize {
        self.outcomes.len() / self.signals
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

    /// The law of one signal of an arm.
    pub(crate) fn law(&self, arm: usize, signal: usize) -> CostLaw {
        let place = arm * self.signals + signal;
        if matches!(self.outcomes[place], OutcomeDistribution::TwoPoint { .. }) {
            let (low, high) = self.ranges[place];
            return CostLaw::TwoValued { low, high };
        }
        let sd = self.sds[place];
        CostLaw::Normal { sd }
    }

    /// Pulls an arm: returns the reward and writes the costs.
    #[inline]
    pub fn pull(&self, arm: usize, rng: &mut ChaCha8Rng, costs: &mut [f64]) -> f64 {
        let from = arm * self.signals;
        let outcomes = &self.outcomes[from..from + self.signals];
        let reward = outcomes[0].draw(rng);
        for (cost, outcome) in costs.iter_mut().zip(&outcomes[1..]) {
            *cost = outcome.draw(rng);
        }
        reward
    }

    /// The true means by signal and arm.
    pub(crate) fn by_signal(&self) -> Vec<Vec<f64>> {
        let row = |signal: usize| {
            (0..self.count())
                .map(|arm| self.mean(arm, signal))
                .collect()
        };
        (0..self.signals).map(row).collect()
    }

    /// Pulls an arm at `scale` of the action's length, for means that are linear in the features.
    #[inline]
    pub(crate) fn pull_scaled(&self, pull: Pull<'_>) -> f64 {
        let (arm, scale, rng, costs) = (pull.action, pull.scale, pull.rng, pull.costs);
        if scale == 1.0 {
            return self.pull(arm, rng, costs);
        }
        each_signal(costs, |signal| {
            let place = arm * self.signals + signal;
            let ((lo, hi), outcome) = (self.ranges[place], &self.outcomes[place]);
            outcome.draw_scaled(scale, self.mean(arm, signal), lo, hi, rng)
        })
    }
}

/// An action that is played.
pub(crate) struct Pull<'a> {
    pub action: usize,
    /// Share of the action's length that is played.
    pub scale: f64,
    /// Generator of the run or, where agents share outcomes, of the action.
    pub rng: &'a mut ChaCha8Rng,
    /// Costs to write, one per guardrail.
    pub costs: &'a mut [f64],
}

/// Draws every signal: returns the reward and writes the costs.
#[inline]
pub(super) fn each_signal(costs: &mut [f64], mut draw: impl FnMut(usize) -> f64) -> f64 {
    let reward = draw(0);
    for (i, cost) in costs.iter_mut().enumerate() {
        *cost = draw(i + 1);
    }
    reward
}

impl Family {
    /// Distribution of one signal, and the mean it is judged by.
    fn outcome(
        self,
        signal: &Signal,
        mean: f64,
        field: &str,
    ) -> Result<(OutcomeDistribution, f64), Error> {
        let (lo, hi, unit) = (signal.lo, signal.hi, signal.unit());
        let share = (mean - lo) / unit;
        self.check_noise(signal, share, field)?;
        Ok(match self {
            Self::Gaussian { sd } => {
                let sd = sd * unit;
                (OutcomeDistribution::Normal { mean, sd }, mean)
            }
            Self::ClippedGaussian { sd, nominal } => {
                let sd = sd * unit;
                let judged = if nominal {
                    mean
                } else {
                    clipped_mean(mean, sd, lo, hi)
                };
                (
                    OutcomeDistribution::ClippedNormal { mean, sd, lo, hi },
                    judged,
                )
            }
            Self::Beta { concentration } if share > 0.0 && share < 1.0 => {
                let (a, b) = (share * concentration, (1.0 - share) * concentration);
                let beta = Beta::new(a, b).map_err(|_| {
                    let allowed = "must be a finite number above 0";
                    Error::invalid("environment.concentration", concentration, allowed)
                })?;
                (OutcomeDistribution::ScaledBeta { beta, lo, hi }, mean)
            }
            // A Beta distribution with its mean at an end of the range is that point.
            _ => (OutcomeDistribution::two_point(share, lo, hi), mean),
        })
    }

    /// Standard deviation of one signal, in its units.
    fn sd(self, signal: &Signal, mean: f64) -> f64 {
        let unit = signal.unit();
        let share = (mean - signal.lo) / unit;
        let two_point = unit * (share * (1.0 - share)).max(0.0).sqrt();
        match self {
            Self::Gaussian { sd } => sd * unit,
            Self::ClippedGaussian { sd, .. } => clipped_sd(mean, sd * unit, signal.lo, signal.hi),
            Self::Beta { concentration } => two_point / (concentration + 1.0).sqrt(),
            Self::Bernoulli => two_point,
        }
    }

    /// Refuses a declared sub-Gaussian constant that the noise exceeds, and Gaussian noise without one.
    fn check_noise(self, signal: &Signal, share: f64, field: &str) -> Result<(), Error> {
        let unit = signal.unit();
        let needed = match self {
            Self::Gaussian { sd } => sd * unit,
            // A clipped normal is a contraction of a normal.
            Self::ClippedGaussian { sd, .. } => (sd * unit).min(0.5 * unit),
            // Marchal and Arbel (2017): a Beta law with a + b = c is 1/(4(c+1))-sub-Gaussian.
            Self::Beta { concentration } => 0.5 * unit / (concentration + 1.0).sqrt(),
            Self::Bernoulli => unit * two_point_constant(share),
        };
        match signal.sub_gaussian {
            None if matches!(self, Self::Gaussian { .. }) => {
                let allowed = format!(
                    "Gaussian observations leave any range: declare `sub_gaussian` of at least {needed} for the reward and every guardrail"
                );
                Err(Error::invalid(field, "bounded", allowed))
            }
            Some(r) if r < needed * (1.0 - 1e-12) => {
                let allowed = format!("this law needs at least {needed}");
                let field = format!("sub_gaussian of `{field}`");
                Err(Error::invalid(field, r, allowed))
            }
            _ => Ok(()),
        }
    }
}

/// The sub-Gaussian constant of a 0-1 variable with mean p (Kearns and Saul 1998):
/// √((1 − 2p)/(2 ln((1−p)/p))), 1/2 at p = 1/2 and 0 at the ends.
fn two_point_constant(p: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        0.0
    } else if (p - 0.5).abs() < 1e-4 {
        0.5
    } else {
        ((1.0 - 2.0 * p) / (2.0 * libm::log((1.0 - p) / p))).sqrt()
    }
}

fn cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

fn pdf(z: f64) -> f64 {
    libm::exp(-0.5 * z * z) / (2.0 * std::f64::consts::PI).sqrt()
}

/// Standard deviation of clip(X) for X ~ N(mean, sd²), in closed form.
fn clipped_sd(mean: f64, sd: f64, lo: f64, hi: f64) -> f64 {
    let (a, b) = ((lo - mean) / sd, (hi - mean) / sd);
    // Moments of clip(Z) at a and b, Z standard normal.
    let inside = cdf(b) - cdf(a);
    let (below, above) = (cdf(a), cdf(-b));
    let first = a * below + b * above + pdf(a) - pdf(b);
    let second = a * a * below + b * b * above + inside + a * pdf(a) - b * pdf(b);
    sd * (second - first * first).max(0.0).sqrt()
}

/// E[clip(X)] for X ~ N(mean, sd²), in closed form.
fn clipped_mean(mean: f64, sd: f64, lo: f64, hi: f64) -> f64 {
    let (a, b) = ((lo - mean) / sd, (hi - mean) / sd);
    lo * cdf(a) + hi * (1.0 - cdf(b)) + mean * (cdf(b) - cdf(a)) + sd * (pdf(a) - pdf(b))
}
