//! Tests on ranks over instances: Friedman's, Wilcoxon's signed-rank test with Holm's correction, and Nemenyi's
//! critical difference.

use std::f64::consts::FRAC_1_SQRT_2;

use serde::Serialize;
use statrs::distribution::{Continuous, ContinuousCDF, FisherSnedecor, Normal};

/// Largest number of differences whose signs are enumerated; beyond it the normal law is close enough.
const EXACT: usize = 100;

/// Friedman's test of the hypothesis that all agents are equal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Friedman {
    /// Friedman's χ²_F.
    pub chi_square: f64,
    /// Iman and Davenport's F_F, less conservative; infinite where every instance ranks the agents alike.
    pub f: f64,
    /// Probability of such an F_F or a larger one, if all agents are equal.
    pub p: f64,
}

/// Tests mean ranks over `instances` (Demšar 2006, section 3.2.2; F_F after Iman and Davenport 1980). NaN with fewer
/// than two agents or instances.
///
/// ```
/// // Demšar's example: four classifiers on 14 data sets.
/// let test = banister_sim::compare::friedman(&[3.143, 2.0, 2.893, 1.964], 14);
/// assert!((test.chi_square - 9.28).abs() < 0.01 && (test.f - 3.69).abs() < 0.01);
/// ```
pub fn friedman(mean_ranks: &[f64], instances: usize) -> Friedman {
    let (k, n) = (mean_ranks.len() as f64, instances as f64);
    let squares: f64 = mean_ranks.iter().map(|rank| rank * rank).sum();
    let chi_square = 12.0 * n / (k * (k + 1.0)) * (squares - k * (k + 1.0) * (k + 1.0) / 4.0);
    let rest = n * (k - 1.0) - chi_square;
    // Rounding must not turn a perfect ranking into a negative number.
    let f = if rest > 1e-9 * n {
        (n - 1.0) * chi_square / rest
    } else {
        f64::INFINITY
    };
    let law = FisherSnedecor::new(k - 1.0, (k - 1.0) * (n - 1.0));
    let p = law.map_or(f64::NAN, |law| law.sf(f));
    Friedman { chi_square, f, p }
}

/// Probability of paired differences at least this one-sided, if their signs are fair coins: Wilcoxon's signed-rank
/// test, two-sided. Exact up to 100 differences, with ties; zeros are ranked, and count for neither side (Pratt 1959).
///
/// ```
/// // Six wins out of six: 2/2⁶, the least that six instances can give.
/// let p = banister_sim::compare::signed_rank(&[0.3, 0.1, 0.2, 0.5, 0.7, 0.4]);
/// assert_eq!(p, 0.03125);
/// ```
pub fn signed_rank(differences: &[f64]) -> f64 {
    let sizes: Vec<f64> = differences.iter().map(|x| x.abs()).collect();
    let ranks = ranks(&sizes);
    let signed = || differences.iter().zip(&ranks).filter(|(x, _)| **x != 0.0);
    let all: f64 = signed().map(|(_, rank)| rank).sum();
    let won: f64 = signed()
        .filter(|(x, _)| **x > 0.0)
        .map(|(_, rank)| rank)
        .sum();
    let distance = (won - 0.5 * all).abs();
    if differences.len() > EXACT {
        let squares: f64 = signed().map(|(_, rank)| rank * rank).sum();
        return if squares == 0.0 {
            1.0
        } else {
            2.0 * Normal::standard().sf(distance / (0.25 * squares).sqrt())
        };
    }
    // Ranks are halves at worst, so twice their sums are whole: the law of twice the sum of those won.
    let mut law = vec![0.0; 2 * all as usize + 1];
    law[0] = 1.0;
    let mut top = 0;
    for (_, rank) in signed() {
        let step = (2.0 * rank) as usize;
        top += step;
        for sum in (0..=top).rev() {
            let from = if sum >= step { law[sum - step] } else { 0.0 };
            law[sum] = 0.5 * (law[sum] + from);
        }
    }
    let far = |sum: usize| (0.5 * sum as f64 - 0.5 * all).abs() >= distance - 1e-9;
    let p: f64 = (law.iter().enumerate())
        .filter(|(sum, _)| far(*sum))
        .map(|(_, p)| p)
        .sum();
    p.min(1.0)
}

/// Ranks values, the smallest first from 1; equal ones share the mean of their ranks.
pub(super) fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |x: &f64| {
        let below = values.iter().filter(|y| *y < x).count();
        let equal = values.iter().filter(|y| *y == x).count();
        below as f64 + 0.5 * (equal as f64 + 1.0)
    };
    values.iter().map(rank).collect()
}

/// Adjusts probabilities of several tests so that those below α are all significant at once with error α (Holm 1979).
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut adjusted = vec![0.0; probabilities.len()];
    let mut most: f64 = 0.0;
    for (place, at) in order.into_iter().enumerate() {
        let tests = (probabilities.len() - place) as f64;
        most = most.max((tests * probabilities[at]).min(1.0));
        adjusted[at] = most;
    }
    adjusted
}

/// Nemenyi's critical difference of mean ranks at 5%: q·√(k(k + 1)/(6n)) for k agents on n instances, q the quantile of
/// the range of k normal numbers divided by √2 (Demšar 2006, section 3.2.2).
///
/// ```
/// assert!((banister_sim::compare::critical_difference(4, 14) - 1.25).abs() < 0.01);
/// ```
pub fn critical_difference(agents: usize, instances: usize) -> f64 {
    let (mut low, mut high) = (0.0, 50.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if range_within(middle, agents) < 0.95 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let (k, n) = (agents as f64, instances as f64);
    high * FRAC_1_SQRT_2 * (k * (k + 1.0) / (6.0 * n)).sqrt()
}

/// Probability that k standard normal numbers lie within `width` of each other: k∫φ(z)(Φ(z) − Φ(z − width))^(k−1) dz.
fn range_within(width: f64, k: usize) -> f64 {
    let normal = Normal::standard();
    let (from, steps) = (-8.0, 800_u32);
    let step = (16.0 + width) / f64::from(steps);
    // The integrand and all its derivatives vanish at both ends: the trapezoid rule converges geometrically.
    let sum: f64 = (0..=steps)
        .map(|i| {
            let z = from + step * f64::from(i);
            let between = normal.cdf(z) - normal.cdf(z - width);
            normal.pdf(z) * between.powi(k as i32 - 1)
        })
        .sum();
    k as f64 * sum * step
}
