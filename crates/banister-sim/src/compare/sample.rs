//! Samples over runs or instances, and Student's intervals of their means.

use serde::Serialize;
use statrs::distribution::{Continuous, ContinuousCDF, StudentsT};

/// Number, mean and spread of some values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Number of runs.
    pub runs: u64,
    /// Mean over runs.
    pub mean: f64,
    /// Standard deviation, with n − 1 in the denominator; NaN with one run.
    pub sd: f64,
}

impl Sample {
    /// Summarises one value per run.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let n = values.clone().count();
        let mean = values.clone().sum::<f64>() / n as f64;
        let squares: f64 = values.map(|x| (x - mean) * (x - mean)).sum();
        Self {
            runs: n as u64,
            mean,
            sd: (squares / (n as f64 - 1.0)).sqrt(),
        }
    }

    /// One of `family` intervals of means that hold together with probability 95% (Bonferroni: each at level
    /// 1 − 0.05/`family`).
    pub fn interval(&self, family: usize) -> Interval95 {
        let confidence = 1.0 - 0.05 / family.max(1) as f64;
        let error = self.sd / (self.runs as f64).sqrt();
        let half = student_quantile(confidence, self.runs.saturating_sub(1)) * error;
        Interval95 {
            mean: self.mean,
            low: self.mean - half,
            high: self.mean + half,
        }
    }
}

/// A mean with its 95% interval (Student's), alone or among several that hold at once; the ends are NaN with fewer than
/// two values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval95 {
    /// Mean.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval95 {
    /// What is not known.
    pub const UNKNOWN: Self = Self {
        mean: f64::NAN,
        low: f64::NAN,
        high: f64::NAN,
    };

    /// Computes the interval of some values, one per run.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        Sample::of(values).interval(1)
    }

    /// True where the whole interval lies on one side of zero.
    pub fn is_clear(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Finds the t with P(|T| ≤ t) = `confidence` for Student's T with `freedom` degrees of freedom.
///
/// ```
/// let t = banister_sim::compare::student_quantile(0.95, 9);
/// assert!((t - 2.262_157).abs() < 1e-6);
/// ```
pub fn student_quantile(confidence: f64, freedom: u64) -> f64 {
    // The normal law is the limit: at 10 000 they agree to 1e-4 of t.
    let Ok(law) = StudentsT::new(0.0, 1.0, freedom.clamp(1, 10_000) as f64) else {
        return f64::NAN;
    };
    let tail = 0.5 * (1.0 - confidence);
    let t = law.inverse_cdf(1.0 - tail);
    // A step of Newton's: far out, where few degrees of freedom take it, the inverse has five digits.
    t + (law.sf(t) - tail) / law.pdf(t)
}
