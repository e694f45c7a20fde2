//! Predictable plug-in empirical Bernstein, the anytime interval for low-variance signals.
//!
//! Reference: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting",
//! Theorem 2; here with bets λ_i ≤ 1/2 and the usual prior of one observation at 1/2.

use libm::{log, log1p};
use serde::{Deserialize, Serialize};

/// Sufficient statistics; one update is O(1).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bernstein {
    n: u64,
    /// 1/2 + Σ X_i.
    sum: f64,
    /// 1/4 + Σ (X_i − μ̂_i)².
    squares: f64,
    /// Σ λ_i.
    bets: f64,
    /// Σ λ_i X_i.
    weighted: f64,
    /// Σ (X_i − μ̂_{i−1})² (−ln(1−λ_i) − λ_i).
    penalty: f64,
}

impl Default for Bernstein {
    fn default() -> Self {
        Self {
            n: 0,
            sum: 0.5,
            squares: 0.25,
            bets: 0.0,
            weighted: 0.0,
            penalty: 0.0,
        }
    }
}

impl Bernstein {
    /// Takes one observation in [0, 1]; `log_term` is ln(2/δ_s).
    pub fn push(&mut self, x: f64, log_term: f64) {
        let before = self.n as f64 + 1.0;
        let mean = self.sum / before;
        let variance = self.squares / before;
        self.n += 1;
        let i = self.n as f64;
        let bet = (2.0 * log_term / (variance * i * log(1.0 + i)))
            .sqrt()
            .min(0.5);
        self.bets += bet;
        self.weighted += bet * x;
        self.penalty += (x - mean) * (x - mean) * (-log1p(-bet) - bet);
        self.sum += x;
        let after = self.sum / (i + 1.0);
        self.squares += (x - after) * (x - after);
    }

    /// Number of observations taken.
    pub fn count(&self) -> u64 {
        self.n
    }

    /// Centre and half-width; `None` before the first observation.
    pub fn interval(&self, log_term: f64) -> Option<(f64, f64)> {
        (self.n > 0).then(|| {
            (
                self.weighted / self.bets,
                (log_term + self.penalty) / self.bets,
            )
        })
    }
}
