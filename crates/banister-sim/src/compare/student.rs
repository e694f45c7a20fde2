//! Student's t distribution, for intervals of means over few runs.

use statrs::distribution::{Continuous, ContinuousCDF, StudentsT};

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
