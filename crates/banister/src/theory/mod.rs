//! The theory calculator: regret bounds, lower bounds, T_0 and radii, and (`limit.rs`) the limit of certified
//! play, as numbers.

mod binomial;
mod limit;

use libm::log;

use crate::error::{Error, finite, open_unit, positive};

pub use limit::{CertifiedCost, CertifiedPlay, CostLaw, sum_of_losses, upper_quantile};

/// Instance that the bounds are evaluated at.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// K, the number of arms.
    pub arms: usize,
    /// T, the number of rounds.
    pub horizon: u64,
    /// Δ_i = τ_i − c_{0,i}, one per guardrail.
    pub margins: Vec<f64>,
    /// ρ, the best margin that any arm has, where it is known: the largest over arms of the smallest over
    /// guardrails.
    pub best_margin: Option<f64>,
    /// δ, the probability with which the bound may fail.
    pub delta: f64,
    /// R, the sub-Gaussian constant (1/2 for signals in [0, 1]).
    pub r: f64,
}

/// Values of the bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// Regret of OPB with corrected constants, valid with probability 1 − 2δ − δ_o for a budget δ_o ≥ 2δ of optimism.
    pub regret: f64,
    /// Regret as printed in the paper's Theorem 3.
    pub regret_as_printed: f64,
    /// Minimax lower bound on the regret: √((K−1)T)/27, for T ≥ K − 1; `None` if T is smaller.
    pub lower_minimax: Option<f64>,
    /// Lower bound where costs are Gaussian with unit variance: 1/(18Δ²), for T ≥ 96/(18Δ²); `None` if T is smaller.
    pub lower_margin: Option<f64>,
    /// Two lower bounds for arms whose best margin is ρ: see [`lower_bounds_best_margin`]. `None` where ρ is unknown.
    pub lower_best_margin: (Option<f64>, Option<f64>),
    /// Range of T_0 when the safe cost is unknown, with probability 1 − 2/T.
    pub t_zero: (u64, u64),
    /// Hoeffding radius of one signal after T/K pulls, at level δ/N_s.
    pub hoeffding_radius: f64,
    /// The paper's β after T/K pulls.
    pub paper_radius: f64,
    /// N_s, signals bounded when the safe costs are known.
    pub signals: usize,
}

/// Checks what both kinds of settings have; returns the smallest margin.
fn check_common(horizon: u64, margins: &[f64], delta: f64, r: f64) -> Result<f64, Error> {
    if horizon == 0 {
        return Err(Error::invalid("horizon", 0, "must be at least 1"));
    }
    open_unit("delta", delta)?;
    positive("sub-gaussian", r)?;
    if margins.is_empty() {
        return Err(Error::invalid(
            "margin",
            "absent",
            "give one margin per guardrail",
        ));
    }
    for &margin in margins {
        finite("margin", margin)?;
        if margin <= 0.0 || margin > 1.0 {
            return Err(Error::invalid(
                "margin",
                margin,
                "must be above 0 and at most 1 (in units of the cost's range)",
            ));
        }
    }
    Ok(margins.iter().copied().fold(f64::INFINITY, f64::min))
}

impl Setting {
    /// Refuses numbers outside the range of the theorems.
    pub fn check(&self) -> Result<(), Error> {
        if self.arms == 0 {
            return Err(Error::invalid("arms", 0, "must be at least 1"));
        }
        let margin = check_common(self.horizon, &self.margins, self.delta, self.r)?;
        if let Some(best) = self.best_margin
            && !(best >= margin && best <= 1.0)
        {
            let allowed = format!("must be at least the safe arm's, {margin}, and at most 1");
            return Err(Error::invalid("best-margin", best, allowed));
        }
        Ok(())
    }

    /// Evaluates all bounds.
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
            // With fewer rounds than arms the instances behind it do not exist, and it would exceed T.
            lower_minimax: (t >= k - 1.0).then(|| ((k - 1.0) * t).sqrt() / 27.0),
            lower_margin: lower_bound_margin(margin, self.horizon),
            lower_best_margin: self.best_margin.map_or((None, None), |best| {
                lower_bounds_best_margin(margin, best, self.horizon)
            }),
            t_zero: t_zero_range(self.horizon, margin, self.r),
            hoeffding_radius: self.r * (2.0 * level / pulls).sqrt(),
            paper_radius: (2.0 * log(4.0 * k * t / self.delta) / pulls).sqrt(),
            signals,
        })
    }
}

/// R_T ≤ (2 + 2/Δ)[√(2KT ln(2N_sT/δ)) + K + √((T/2) ln(1/δ₂))], with probability 1 − δ − δ_o − δ₂.
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

/// 1/(18Δ²), a bound for Gaussian costs of unit variance, where the horizon is long enough for it.
pub fn lower_bound_margin(margin: f64, horizon: u64) -> Option<f64> {
    let bound = 1.0 / (18.0 * margin * margin);
    (horizon as f64 >= 96.0 * bound).then_some(bound)
}

/// √T/(32ρ) and 1/(1152Δρ): no algorithm that keeps the constraint in every round beats them on all instances where
/// the safe arm has margin Δ and the best arm margin ρ (Zuo and Stradi, *Toward Optimal Regret in Adversarial MDPs
/// with Stochastic Hard Constraints*, appendix: the instances L1 and L2). `None` where that is not proved: both need
/// Δ ≤ ρ ≤ 1/8 and T ≥ 1/(Δρ), the second 4Δ ≤ ρ.
pub fn lower_bounds_best_margin(
    margin: f64,
    best_margin: f64,
    horizon: u64,
) -> (Option<f64>, Option<f64>) {
    let t = horizon as f64;
    let root = margin <= best_margin && best_margin <= 0.125 && t * margin * best_margin >= 1.0;
    let search = root && 4.0 * margin <= best_margin;
    (
        root.then(|| t.sqrt() / (32.0 * best_margin)),
        search.then(|| 1.0 / (1152.0 * margin * best_margin)),
    )
}

/// 8R² ln(1/δ)/Δ² ≤ T_0 ≤ ⌈32R² ln(1/δ)/Δ²⌉ with δ = 1/T².
pub fn t_zero_range(horizon: u64, margin: f64, r: f64) -> (u64, u64) {
    let unit = r * r * 2.0 * log(horizon as f64) / (margin * margin);
    ((8.0 * unit).ceil() as u64, (32.0 * unit).ceil() as u64)
}

/// Instance that the bounds of OPLB are evaluated at. Lengths of parameters, R and margins are in units of
/// their signal's range.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearSetting {
    /// d, the length of feature vectors.
    pub dimension: usize,
    /// T, the number of rounds.
    pub horizon: u64,
    /// Δ_i = τ_i − c_{0,i}, one per guardrail.
    pub margins: Vec<f64>,
    /// δ, the probability with which the bound may fail.
    pub delta: f64,
    /// R, the sub-Gaussian constant (1/2 for signals in [0, 1]).
    pub r: f64,
    /// L: every feature vector is at most this long.
    pub norm: f64,
    /// S: every parameter is at most this long.
    pub parameter_norm: f64,
    /// λ, the ridge; at least L².
    pub lambda: f64,
}

/// Values of the bounds of OPLB.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearBounds {
    /// Regret of OPLB with log-determinant radii, corrected; valid with probability 1 − 2δ − δ_o.
    pub regret: f64,
    /// Regret of OPLB with the paper's radii at a valid level.
    pub regret_paper_radius: f64,
    /// Regret as printed in the paper's Theorem 2.
    pub regret_as_printed: f64,
    /// β_T: the log-determinant radius at its largest.
    pub logdet_radius: f64,
    /// β_T as the paper has it, at the same level.
    pub paper_radius: f64,
    /// α_r = 1 + 2/Δ.
    pub alpha_r: f64,
    /// Range of T_0 when the safe cost is unknown, with probability 1 − 2/T.
    pub t_zero: (u64, u64),
    /// Ellipsoids in the union bound when the safe costs are known: m + 1.
    pub signals: usize,
}

impl LinearSetting {
    /// Evaluates all bounds.
    pub fn bounds(&self) -> Result<LinearBounds, Error> {
        if self.dimension == 0 {
            return Err(Error::invalid("dimension", 0, "must be at least 1"));
        }
        let margin = check_common(self.horizon, &self.margins, self.delta, self.r)?;
        positive("feature-norm", self.norm)?;
        positive("parameter-norm", self.parameter_norm)?;
        positive("lambda", self.lambda)?;
        // L = 0.1 and λ = 0.01 are meant to fit.
        if self.lambda < self.norm * self.norm * (1.0 - 1e-12) {
            let allowed = format!(
                "the theorem needs λ ≥ L², at least {}",
                self.norm * self.norm
            );
            return Err(Error::invalid("lambda", self.lambda, allowed));
        }
        let signals = self.margins.len() + 1;
        let level = self.delta / signals as f64;
        let (logdet, paper) = (self.logdet_radius(level), self.paper_radius(level));
        Ok(LinearBounds {
            regret: self.regret(logdet, margin),
            regret_paper_radius: self.regret(paper, margin),
            regret_as_printed: self.regret_as_printed(margin),
            logdet_radius: logdet,
            paper_radius: paper,
            alpha_r: 1.0 + 2.0 / margin,
            t_zero: t_zero_range(self.horizon, margin, self.r),
            signals,
        })
    }

    /// R √(d ln(1 + TL²/(dλ)) + 2 ln(1/δ_s)) + √λ S: what the log-determinant can grow to.
    fn logdet_radius(&self, level: f64) -> f64 {
        let (d, t) = (self.dimension as f64, self.horizon as f64);
        let growth = d * log(1.0 + t * self.norm * self.norm / (d * self.lambda));
        self.r * (growth + 2.0 * log(1.0 / level)).sqrt() + self.lambda.sqrt() * self.parameter_norm
    }

    /// R √(d ln((1 + (T−1)L²/λ)/δ_s)) + √λ S, as printed.
    fn paper_radius(&self, level: f64) -> f64 {
        let (d, t) = (self.dimension as f64, self.horizon as f64);
        let growth = d * log((1.0 + (t - 1.0) * self.norm * self.norm / self.lambda) / level);
        self.r * growth.sqrt() + self.lambda.sqrt() * self.parameter_norm
    }

    /// (α_r + 1) β_T [√(2Td ln(1 + TL²/(dλ))) + (L/√λ) √((T/2) ln(1/γ))], with γ = δ.
    fn regret(&self, radius: f64, margin: f64) -> f64 {
        let (d, t) = (self.dimension as f64, self.horizon as f64);
        let growth = log(1.0 + t * self.norm * self.norm / (d * self.lambda));
        let exploration = (2.0 * t * d * growth).sqrt();
        let martingale = (0.5 * t * log(1.0 / self.delta)).sqrt();
        let widest = self.norm / self.lambda.sqrt();
        (2.0 + 2.0 / margin) * radius * (exploration + widest * martingale)
    }

    /// The paper's Theorem 2 as printed: its radius does not split δ over reward and costs.
    fn regret_as_printed(&self, margin: f64) -> f64 {
        let (d, t) = (self.dimension as f64, self.horizon as f64);
        let radius = self.paper_radius(self.delta);
        let growth = log(1.0 + t * self.norm * self.norm / self.lambda);
        let martingale =
            2.0 * self.norm / self.lambda.sqrt() * (2.0 * t * log(1.0 / self.delta)).sqrt();
        (2.0 + 2.0 / margin) * radius * (martingale + (2.0 * t * d * growth).sqrt())
    }
}
