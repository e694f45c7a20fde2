//! The bound on mean costs over unknown frequencies of segments.

use banister::segmented::worst_mean;
use libm::{lgamma, log};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// F_κ of the documentation, by its definition.
fn f(kappa: f64, p: &[f64], counts: &[u64]) -> f64 {
    let n: u64 = counts.iter().sum();
    let mut sum = lgamma(kappa) - lgamma(kappa + n as f64);
    for (&p, &n) in p.iter().zip(counts) {
        for j in 0..n {
            sum += log(kappa + j as f64 / p);
        }
    }
    sum
}

/// Largest p·g over three segments (the last one may be unseen) by a fine grid; least over κ.
fn by_grid(counts: [u64; 3], g: [f64; 3], delta: f64) -> f64 {
    let room = log(16.0 / delta);
    let steps = 400;
    (0..16)
        .map(|k| {
            let kappa = 4f64.powi(k);
            let mut most = f64::NEG_INFINITY;
            for i in 1..steps {
                for j in 1..steps - i {
                    let p = [i as f64, j as f64, (steps - i - j) as f64].map(|x| x / steps as f64);
                    if f(kappa, &p, &counts) <= room {
                        most = most.max(p.iter().zip(&g).map(|(p, g)| p * g).sum());
                    }
                }
            }
            most
        })
        .filter(|most| most.is_finite())
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn it_is_the_maximum_over_the_set() {
    let cases = [
        ([40, 20, 5], [0.1, 0.5, 0.9]),
        ([40, 20, 5], [0.9, 0.5, 0.1]),
        ([200, 3, 0], [0.1, 0.2, 1.0]),
        ([2, 2, 2], [0.0, 1.0, 0.3]),
        ([10, 60, 30], [-0.4, 0.2, 0.1]),
    ];
    for (counts, g) in cases {
        let found = worst_mean(&counts, &g, g[2], 0.01);
        let grid = by_grid(counts, g, 0.01);
        assert!(
            found >= grid - 1e-9,
            "{counts:?} {g:?}: {found} below {grid}"
        );
        assert!(
            found <= grid + 0.01,
            "{counts:?} {g:?}: {found} above {grid}"
        );
    }
}

#[test]
fn equal_costs_need_no_frequencies() {
    let worst = worst_mean(&[5, 7], &[0.3, 0.3], 0.3, 0.01);
    assert!((worst - 0.3).abs() < 1e-12, "{worst}");
    assert_eq!(worst_mean(&[0, 0], &[0.1, 0.2], 0.4, 0.01), 0.4);
}

/// Runs whose bound was ever below the true mean.
fn failures(delta: f64, runs: u64) -> u64 {
    let p = [0.55, 0.25, 0.12, 0.05, 0.03];
    let g = [0.1, 0.3, 0.6, 0.9, 1.0];
    let truth: f64 = p.iter().zip(&g).map(|(p, g)| p * g).sum();
    (0..runs)
        .filter(|&run| {
            let mut rng = ChaCha8Rng::seed_from_u64(run);
            let mut counts = [0_u64; 5];
            (1..=3000_u64).any(|n| {
                let mut u: f64 = rng.random();
                let s = p
                    .iter()
                    .position(|&p| {
                        u -= p;
                        u < 0.0
                    })
                    .unwrap_or(4);
                counts[s] += 1;
                // Looks often while few were seen, at growing distances later.
                n.is_power_of_two() | (n % 150 == 0) && worst_mean(&counts, &g, 1.0, delta) < truth
            })
        })
        .count() as u64
}

#[test]
fn it_holds_at_all_times() {
    assert!(failures(0.05, 300) <= 15);
    // A level that promises nothing fails often: the test can tell.
    assert!(failures(16.0 * 0.9, 60) > 10);
}
