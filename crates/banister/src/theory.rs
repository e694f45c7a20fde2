//! The theory calculator: regret bounds, lower bounds, T_0 and radii, as numbers.

use libm::log;

use crate::error::{Error, finite, open_unit, positive};

/// What the bounds are asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// K, the number of arms.
    pub arms: usize,
    /// T, the number of rounds.
    pub horizon: u64,
    /// Δ_i = τ_i − c_{0,i}, one per guardrail.
    pub margins: Vec<f64>,
    /// δ, the probability with which the bound may fail.
    pub delta: f64,
    /// R, the sub-Gaussian constant (1/2 for signals in [0, 1]).
    pub r: f64,
}

/// What the theory says.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// Regret of OPB with corrected constants, valid with probability 1 − 2δ.
    pub regret: f64,
    /// Regret as printed in the paper's Theorem 3.
    pub regret_as_printed: f64,
    /// No algorithm can beat this on all instances: √((K−1)T)/27.
    pub lower_minimax: f64,
    /// Nor this: 1/(18Δ²), for T ≥ 96/(18Δ²); `None` if T is smaller.
    pub lower_margin: Option<f64>,
    /// T_0 lies between these with probability 1 − 2/T when the safe cost is unknown.
    pub t_zero: (u64, u64),
    /// Hoeffding radius of one signal after T/K pulls, at level δ/N_s.
    pub hoeffding_radius: f64,
    /// The paper's β after T/K pulls.
    pub paper_radius: f64,
    /// N_s, signals bounded when the safe costs are known.
    pub signals: usize,
}

impl Setting {
    /// Checks every number.
    pub fn check(&self) -> Result<(), Error> {
        if self.arms == 0 {
            return Err(Error::invalid("arms", 0, "must be at least 1"));
        }
        if self.horizon == 0 {
            return Err(Error::invalid("horizon", 0, "must be at least 1"));
        }
        open_unit("delta", self.delta)?;
        positive("sub-gaussian", self.r)?;
        if self.margins.is_empty() {
            return Err(Error::invalid(
                "margin",
                "absent",
                "give one margin per guardrail",
            ));
        }
        for &margin in &self.margins {
            finite("margin", margin)?;
            if margin <= 0.0 || margin > 1.0 {
                return Err(Error::invalid(
                    "margin",
                    margin,
                    "must be above 0 and at most 1 (in units of the cost's range)",
                ));
            }
        }
        Ok(())
    }

    /// Works everything out.
    pub fn bounds(&self) -> Result<Bounds, Error> {
        self.check()?;
        let (k, t) = (self.arms as f64, self.horizon as f64);
        let m = self.margins.len();
        let margin = self.margins.iter().copied().fold(f64::INFINITY, f64::min);
        let signals = self.arms + m * self.arms.saturating_sub(1);
        let level = log(2.0 * signals.max(1) as f64 * t / self.delta);
        let pulls = (t / k).max(1.0);
        Ok(Bounds {
            regret: regret(k, t, margin, signals as f64, self.delta, self.delta),
            regret_as_printed: regret_as_printed(k, t, margin, self.delta),
            lower_minimax: ((k - 1.0) * t).sqrt() / 27.0,
            lower_margin: lower_bound_margin(margin, self.horizon),
            t_zero: t_zero_range(self.horizon, margin, self.r),
            hoeffding_radius: self.r * (2.0 * level / pulls).sqrt(),
            paper_radius: (2.0 * log(4.0 * k * t / self.delta) / pulls).sqrt(),
            signals,
        })
    }
}

/// R_T ≤ (2 + 2/Δ)[√(2KT ln(2N_sT/δ)) + K + √((T/2) ln(1/δ₂))], with probability 1 − δ − δ₂.
pub fn regret(k: f64, t: f64, margin: f64, signals: f64, delta: f64, delta2: f64) -> f64 {
    let exploration = (2.0 * k * t * log(2.0 * signals * t / delta)).sqrt();
    let martingale = (0.5 * t * log(1.0 / delta2)).sqrt();
    (2.0 + 2.0 / margin) * (exploration + k + martingale)
}

/// The paper's Theorem 3 as printed (its prefactor should be 2 + 2/Δ).
pub fn regret_as_printed(k: f64, t: f64, margin: f64, delta: f64) -> f64 {
    let level = log(4.0 * k * t / delta);
    let first = 2.0 * (2.0 * k * t * level).sqrt();
    let second = 4.0 * (t * log(2.0 / delta) * level).sqrt();
    (1.0 + 2.0 / margin) * (first + second)
}

/// 1/(18Δ²), where the horizon is long enough for it.
pub fn lower_bound_margin(margin: f64, horizon: u64) -> Option<f64> {
    let bound = 1.0 / (18.0 * margin * margin);
    (horizon as f64 >= 96.0 * bound).then_some(bound)
}

/// 8R² ln(1/δ)/Δ² ≤ T_0 ≤ ⌈32R² ln(1/δ)/Δ²⌉ with δ = 1/T².
pub fn t_zero_range(horizon: u64, margin: f64, r: f64) -> (u64, u64) {
    let unit = r * r * 2.0 * log(horizon as f64) / (margin * margin);
    ((8.0 * unit).ceil() as u64, (32.0 * unit).ceil() as u64)
}
