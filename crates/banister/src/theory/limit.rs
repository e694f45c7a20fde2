//! The limit of certified play: the loss of a policy that knows every mean and still has to prove its safety.
//!
//! A certificate for policy π at round t rests on at most t outcomes. However they are split over arms, the
//! cost of π is known no better than to a standard error of Σ_a π_a σ_a/√t (Neyman allocation: outcomes in
//! proportion to π_a σ_a), and a bound that is too low with probability at most δ lies typically z_δ standard
//! errors above the truth, or more (Neyman–Pearson). So round t earns at most about
//!
//! ```text
//!   v(t) = max { π·r̄ : Σ_a π_a u_a(t) ≤ τ },   u_a(t) = c̄_a + z_δ σ_a/√t,     L(T) = Σ_{t ≤ T} ( r* − v(t) ).
//! ```
//!
//! For costs of two values u is exact, since the normal law is wrong where they are rare: the u at which ⌊tc⌋ high values of t
//! have probability δ, the (1 − δ)-quantile of Beta(⌊tc⌋ + 1, t − ⌊tc⌋) (`binomial.rs`).

use banister_solve::{LpError, OnceSolver, Status};
use libm::{erfc, sqrt};

use super::binomial::upper_end;
use crate::error::{Error, finite, open_unit};

/// Rounds between two points of the grid, as a share of the round: 1/`STEPS`.
const STEPS: u64 = 512;

/// Instance that the limit is evaluated at, by the true means.
#[derive(Debug, Clone, PartialEq)]
pub struct CertifiedPlay {
    /// r̄, one per arm.
    pub rewards: Vec<f64>,
    /// Guardrails, each with one cost per arm.
    pub guardrails: Vec<CertifiedCost>,
    /// Index of the safe arm, which needs no certificate.
    pub safe: usize,
    /// δ, the probability with which a certificate may be wrong.
    pub delta: f64,
    /// T, the number of rounds.
    pub horizon: u64,
}

/// Guardrail of a [`CertifiedPlay`]: Σ_a π_a c̄_a − f·c̄_0 ≤ τ. "At least b" on a signal is its negative, at
/// most −b.
#[derive(Debug, Clone, PartialEq)]
pub struct CertifiedCost {
    /// c̄, one per arm.
    pub means: Vec<f64>,
    /// Law of each arm's cost.
    pub laws: Vec<CostLaw>,
    /// f, the multiple of the safe arm's cost that a relative guardrail allows; 0 for an absolute one.
    pub factor: f64,
    /// τ; 0 for a relative guardrail.
    pub threshold: f64,
}

/// Law of a cost, as far as it is known beside its mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CostLaw {
    /// The mean is known.
    Known,
    /// About normal, with a standard deviation.
    Normal {
        /// σ.
        sd: f64,
    },
    /// It has two values.
    TwoValued {
        /// The lower one.
        low: f64,
        /// The higher one.
        high: f64,
    },
}

impl CostLaw {
    /// Typical distance from the mean up to its bound at level δ after t outcomes, z being z_δ; below it for the mirrored
    /// cost.
    pub fn width(self, mean: f64, t: u64, delta: f64, z: f64, mirrored: bool) -> f64 {
        match self {
            Self::Known => 0.0,
            Self::Normal { sd } => z * sd / sqrt(t as f64),
            Self::TwoValued { low, high } => {
                let share = (mean - low) / (high - low);
                let share = if mirrored { 1.0 - share } else { share };
                (high - low) * (upper_end(t, share, delta, z) - share)
            }
        }
    }

    fn is_sound(self, mean: f64) -> bool {
        match self {
            Self::Known => true,
            Self::Normal { sd } => sd.is_finite() && sd >= 0.0,
            Self::TwoValued { low, high } => {
                low.is_finite() && high.is_finite() && low < high && low <= mean && mean <= high
            }
        }
    }
}

impl CertifiedPlay {
    /// Computes L(T), with an error below 0.1%.
    ///
    /// ```
    /// use banister::theory::{CertifiedCost, CertifiedPlay, CostLaw};
    ///
    /// // The paper's arms, with Bernoulli costs; the safe arm's cost is known.
    /// let costs = [0.0, 0.4, 0.5, 0.2];
    /// let play = CertifiedPlay {
    ///     rewards: vec![0.1, 0.2, 0.4, 0.7],
    ///     guardrails: vec![CertifiedCost {
    ///         means: costs.to_vec(),
    ///         laws: [&[CostLaw::Known][..], &[CostLaw::TwoValued { low: 0.0, high: 1.0 }; 3]].concat(),
    ///         factor: 0.0,
    ///         threshold: 0.2,
    ///     }],
    ///     safe: 0,
    ///     delta: 0.01,
    ///     horizon: 1_000_000,
    /// };
    /// assert_eq!(play.limit()?.round(), 5473.0);
    /// # Ok::<(), banister::Error>(())
    /// ```
    ///
    /// # Errors
    /// Numbers that are no instance, or a safe arm that breaks a guardrail.
    pub fn limit(&self) -> Result<f64, Error> {
        self.check()?;
        let mut pessimistic = PessimisticValue::new(self);
        let optimum = pessimistic.at(|_, _, _| 0.0)?;
        // Rounding must not make a gain of a loss.
        sum_of_losses(self.horizon, |t| {
            Ok((optimum - pessimistic.after(t)?).max(0.0))
        })
    }

    /// Least number of outcomes, up to the horizon, on which a policy that plays an arm with probability `share` can be
    /// certified: max { π_a : Σ_a π_a u_a(t) ≤ τ } ≥ share; to within 0.2%. `None` if the horizon is too short.
    ///
    /// # Errors
    /// As [`CertifiedPlay::limit`]; an arm that does not exist, or a share that is NaN.
    pub fn least_outcomes(&self, arm: usize, share: f64) -> Result<Option<u64>, Error> {
        finite("share", share)?;
        let mut play = self.clone();
        play.rewards.fill(0.0);
        let allowed = "must be the index of an arm";
        let reward = play.rewards.get_mut(arm);
        *reward.ok_or_else(|| Error::invalid("arm", arm, allowed))? = 1.0;
        play.check()?;
        let mut pessimistic = PessimisticValue::new(&play);
        // Not by bisection: widths fall with t but for the steps of ⌊tc⌋.
        let mut t = 1;
        while pessimistic.after(t)? < share {
            if t == self.horizon {
                return Ok(None);
            }
            t += (1 + t / STEPS).min(self.horizon - t);
        }
        Ok(Some(t))
    }

    fn check(&self) -> Result<(), Error> {
        open_unit("delta", self.delta)?;
        if self.horizon == 0 {
            return Err(Error::invalid("horizon", 0, "must be at least 1"));
        }
        if self.safe >= self.rewards.len() {
            let allowed = "must be the index of an arm";
            return Err(Error::invalid("safe", self.safe, allowed));
        }
        for (a, reward) in self.rewards.iter().enumerate() {
            finite(("rewards", a), *reward)?;
        }
        for (i, guardrail) in self.guardrails.iter().enumerate() {
            let field = |name: &str| format!("guardrails[{i}].{name}");
            finite(field("factor"), guardrail.factor)?;
            finite(field("threshold"), guardrail.threshold)?;
            let CertifiedCost { means, laws, .. } = guardrail;
            if means.len() != self.rewards.len() || laws.len() != self.rewards.len() {
                let value = format!("{} means and {} laws", means.len(), laws.len());
                let allowed = format!("expected {} of each: one per arm", self.rewards.len());
                return Err(Error::invalid(field("means"), value, allowed));
            }
            for (a, mean) in means.iter().enumerate() {
                finite(field(&format!("means[{a}]")), *mean)?;
            }
            if let Some(a) = (0..laws.len()).find(|&a| !laws[a].is_sound(means[a])) {
                let allowed =
                    "needs an `sd` of 0 or more, or two values with the mean between them";
                let value = format!("{:?}", laws[a]);
                return Err(Error::invalid(field(&format!("laws[{a}]")), value, allowed));
            }
            let safe = (1.0 - guardrail.factor) * means[self.safe];
            if !(safe <= guardrail.threshold) {
                let allowed = format!("the safe arm must meet {}", guardrail.threshold);
                return Err(Error::invalid(field("means"), safe, allowed));
            }
        }
        Ok(())
    }
}

/// Sums a loss g(t) that falls with t over the rounds 1 to `horizon`, with an error below 0.1%.
///
/// # Errors
/// The first error of the loss.
pub fn sum_of_losses(
    horizon: u64,
    mut loss: impl FnMut(u64) -> Result<f64, Error>,
) -> Result<f64, Error> {
    let mut t = 1;
    let mut last = loss(t)?;
    let mut sum = last;
    while t < horizon {
        // The n terms after round s lie between n·g(s + n) and (n − 1)·g(s) + g(s + n): take the middle. With
        // n ≤ 1 + s/STEPS the errors add up to at most Σ s·(g(s) − g(s + n))/(2·STEPS) ≤ L/(2·STEPS), by summation
        // by parts, whatever g is.
        let n = (1 + t / STEPS).min(horizon - t);
        t += n;
        let next = loss(t)?;
        let n = n as f64;
        sum += 0.5 * ((n - 1.0) * last + (n + 1.0) * next);
        last = next;
    }
    Ok(sum)
}

/// v as a function of the widths.
struct PessimisticValue<'a> {
    play: &'a CertifiedPlay,
    /// z_δ.
    z: f64,
    solver: OnceSolver,
    costs: Vec<Vec<f64>>,
    thresholds: Vec<f64>,
}

impl<'a> PessimisticValue<'a> {
    fn new(play: &'a CertifiedPlay) -> Self {
        Self {
            play,
            z: upper_quantile(play.delta),
            solver: OnceSolver::default(),
            costs: Vec::new(),
            thresholds: Vec::new(),
        }
    }

    /// That of the typical widths after t outcomes.
    fn after(&mut self, t: u64) -> Result<f64, Error> {
        let (delta, z) = (self.play.delta, self.z);
        self.at(|law, mean, mirrored| law.width(mean, t, delta, z, mirrored))
    }

    /// Reward of the best certified policy. The safe arm may always be played.
    fn at(&mut self, width: impl Fn(CostLaw, f64, bool) -> f64) -> Result<f64, Error> {
        let (play, safe) = (self.play, self.play.safe);
        let mut rows = 0;
        for guardrail in &play.guardrails {
            let (means, laws) = (&guardrail.means, &guardrail.laws);
            let above = |a: usize| means[a] + width(laws[a], means[a], false);
            let below = means[safe] - width(laws[safe], means[safe], true);
            // The cost of π holds (π_0 − f)·c̄_0: the larger of two linear functions of π, so two rows, with c̄_0 at either
            // end. Where f = 0 the upper end is always the worse.
            let both = guardrail.factor != 0.0 && laws[safe] != CostLaw::Known;
            for base in [above(safe), below]
                .into_iter()
                .take(if both { 2 } else { 1 })
            {
                if rows == self.costs.len() {
                    self.costs.push(Vec::new());
                    self.thresholds.push(0.0);
                }
                let row = &mut self.costs[rows];
                row.clear();
                row.extend((0..means.len()).map(above));
                row[safe] = base;
                for cost in row.iter_mut() {
                    *cost -= guardrail.factor * base;
                }
                self.thresholds[rows] = guardrail.threshold;
                rows += 1;
            }
        }
        let solution = (self.solver)
            .solve(&play.rewards, &self.costs, &self.thresholds)
            // Checked, but for sums that overflow.
            .map_err(|error: LpError| Error::invalid("guardrails", "given", error.to_string()))?;
        let fallback = play.rewards[safe];
        Ok(if solution.status == Status::Infeasible {
            fallback
        } else {
            solution.value.max(fallback)
        })
    }
}

/// The z ≥ 0 with P(N(0, 1) > z) = `tail`, by bisection; 0 from 1/2 on.
pub fn upper_quantile(tail: f64) -> f64 {
    let (mut lo, mut hi) = (0.0, 40.0);
    for _ in 0..80 {
        let middle = 0.5 * (lo + hi);
        if 0.5 * erfc(middle / std::f64::consts::SQRT_2) > tail {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    0.5 * (lo + hi)
}
