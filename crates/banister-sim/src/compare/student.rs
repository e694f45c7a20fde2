//! Student's t distribution, for intervals of means over few runs.

use libm::{atan, cos, sin, sqrt};

/// Finds the t with P(|T| ≤ t) = `confidence`, for `freedom` degrees of freedom.
///
/// ```
/// let t = banister_sim::compare::student_quantile(0.95, 9);
/// assert!((t - 2.262_157).abs() < 1e-6);
/// ```
pub fn student_quantile(confidence: f64, freedom: u64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while within(high, freedom) < confidence && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if within(middle, freedom) < confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// P(|T| ≤ t): a finite sum for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn within(t: f64, freedom: u64) -> f64 {
    // The normal law is the limit, and the sum would be long: at 10 000 they agree to 1e-4 of t.
    let freedom = freedom.clamp(1, 10_000);
    let theta = atan(t / sqrt(freedom as f64));
    let (sin, cos) = (sin(theta), cos(theta));
    let odd = freedom % 2 == 1;
    // 1 + (1/2) cos² + (1·3)/(2·4) cos⁴ + …, or cos (1 + (2/3) cos² + (2·4)/(3·5) cos⁴ + …): ⌊ν/2⌋ terms.
    let mut term = if odd { cos } else { 1.0 };
    let mut sum = 0.0;
    let mut k = if odd { 2.0 } else { 1.0 };
    for _ in 0..freedom / 2 {
        sum += term;
        term *= cos * cos * k / (k + 1.0);
        k += 2.0;
    }
    if odd {
        std::f64::consts::FRAC_2_PI * (theta + sin * sum)
    } else {
        sin * sum
    }
}
