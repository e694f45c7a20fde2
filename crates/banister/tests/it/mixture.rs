//! The mixture interval: against its definition typed again here, at the extremes, and how often it
//! ever fails.

use crate::common;

use banister::interval::Mixture;
use common::Random;

/// Exponents of every level with their logarithmic weights, factor by factor. `stake` scales the bets in the
/// numerator alone: 1 in the definition.
fn exponents(data: &[f64], mu: f64, stake: f64) -> Vec<f64> {
    let raw: Vec<f64> = (0..16).map(|k| (f64::from(k) + 2.0).powf(-1.3)).collect();
    let sum: f64 = raw.iter().sum();
    let level = |k: usize| {
        let lambda = 1.0 - (-4.0 * 0.5_f64.powi(k as i32)).exp();
        let factor = |x: &f64| ((1.0 - stake * lambda * x) / (1.0 - lambda * mu)).ln();
        (raw[k] / sum).ln() + data.iter().map(factor).sum::<f64>()
    };
    (0..16).map(level).collect()
}

fn log_wealth(data: &[f64], mu: f64, stake: f64) -> f64 {
    let all = exponents(data, mu, stake);
    let largest = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + all.iter().map(|e| (e - largest).exp()).sum::<f64>().ln()
}

/// The root by bisection.
fn upper(data: &[f64], log_term: f64) -> f64 {
    if log_wealth(data, 1.0, 1.0) < log_term {
        return 1.0;
    }
    let (mut below, mut above) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (below + above);
        if log_wealth(data, middle, 1.0) < log_term {
            below = middle;
        } else {
            above = middle;
        }
    }
    above
}

fn statistics(data: &[f64]) -> Mixture {
    let mut mixture = Mixture::default();
    data.iter().for_each(|&x| mixture.push(x));
    mixture
}

const LAWS: [&str; 5] = ["bernoulli", "rare", "beta", "two-point", "gaussian"];

/// An observation in [0, 1], and the law's mean.
fn draw(law: &str, random: &mut Random) -> (f64, f64) {
    match law {
        "bernoulli" => (random.bernoulli(0.3), 0.3),
        "rare" => (random.bernoulli(0.02), 0.02),
        // The median of three uniform numbers has the law Beta(2, 2).
        "beta" => {
            let mut three = [random.unit(), random.unit(), random.unit()];
            three.sort_unstable_by(f64::total_cmp);
            (three[1], 0.5)
        }
        "two-point" => (0.1 + 0.5 * random.bernoulli(0.2), 0.2),
        // Symmetric about 1/2, so clipping leaves the mean.
        _ => ((0.5 + 0.25 * random.normal()).clamp(0.0, 1.0), 0.5),
    }
}

#[test]
fn bounds_are_those_of_the_definition() {
    let mut random = Random::new(1);
    for law in LAWS {
        let mut data = Vec::new();
        for n in [1, 2, 5, 30, 300, 1000] {
            while data.len() < n {
                data.push(draw(law, &mut random).0);
            }
            let mixture = statistics(&data);
            let mirrored: Vec<f64> = data.iter().map(|x| 1.0 - x).collect();
            for mu in [0.0, 1e-6, 0.1, 0.5, 0.9, 1.0] {
                let (found, expected) = (mixture.log_wealth(mu), log_wealth(&data, mu, 1.0));
                assert!(
                    (found - expected).abs() < 1e-9 * (1.0 + expected.abs()),
                    "{law} {n} {mu}"
                );
            }
            for log_term in [0.0, 1.0, 2.3, 5.7, 14.0] {
                let (found, expected) = (mixture.upper(log_term, 1.0), upper(&data, log_term));
                assert!(
                    (found - expected).abs() < 1e-9,
                    "{law} {n} {log_term}: {found} {expected}"
                );
                let (found, expected) = (
                    mixture.lower(log_term, 0.0),
                    1.0 - upper(&mirrored, log_term),
                );
                assert!(
                    (found - expected).abs() < 1e-9,
                    "{law} {n} {log_term}: {found} {expected}"
                );
            }
        }
    }
}

/// A start right of the root leads to the root, one left of it is kept.
#[test]
fn an_earlier_bound_is_a_start() {
    let mut random = Random::new(2);
    let data: Vec<f64> = (0..500).map(|_| random.bernoulli(0.3)).collect();
    let (now, before) = (statistics(&data), statistics(&data[..100]));
    let (root, earlier) = (now.upper(4.0, 1.0), before.upper(4.0, 1.0));
    assert!(root < earlier);
    assert!((now.upper(4.0, earlier) - root).abs() < 1e-11);
    assert_eq!(now.upper(4.0, 0.2), 0.2);
    assert_eq!(now.lower(4.0, 0.4), 0.4);
    assert_eq!(now.upper(4.0, f64::NAN), root);
    assert_eq!(now.upper(f64::NAN, 1.0), 1.0);
    // Shards add up.
    let mut shards = before;
    shards.merge(&statistics(&data[100..]));
    assert_eq!((shards.count(), shards.sum()), (now.count(), now.sum()));
    assert!((shards.upper(4.0, 1.0) - root).abs() < 1e-12);
    assert!((now.scaled(1.0).upper(4.0, 1.0) - root).abs() < 1e-12);
    assert!(now.scaled(10.0).upper(4.0, 1.0) < root);
}

#[test]
fn wider_for_a_smaller_delta() {
    let mut random = Random::new(3);
    for law in LAWS {
        let data: Vec<f64> = (0..200).map(|_| draw(law, &mut random).0).collect();
        let mixture = statistics(&data);
        let (mut lower, mut upper) = (1.0, 0.0);
        for step in 0..60 {
            let log_term = 0.25 * f64::from(step);
            let now = (mixture.lower(log_term, 0.0), mixture.upper(log_term, 1.0));
            assert!(now.0 <= lower && now.1 >= upper, "{law} {log_term}");
            (lower, upper) = now;
        }
    }
}

#[test]
fn extremes() {
    let log_term = 40_f64.ln();
    assert_eq!(Mixture::default().upper(log_term, 1.0), 1.0);
    assert_eq!(Mixture::default().lower(log_term, 0.0), 0.0);
    assert_eq!(Mixture::default().scaled(3.0), Mixture::default());
    // One observation decides nothing at this level.
    for x in [0.0, 0.5, 1.0] {
        let one = statistics(&[x]);
        assert!(one.lower(log_term, 0.0) == 0.0 && one.upper(log_term, 1.0) == 1.0);
    }
    for (x, zeros) in [(0.0, true), (1.0, false)] {
        let mut same = statistics(&[x; 1000]);
        for _ in 0..3 {
            let (n, upper, lower) = (
                same.count() as f64,
                same.upper(log_term, 1.0),
                same.lower(log_term, 0.0),
            );
            let (trivial, near) = if zeros {
                (lower, upper)
            } else {
                (1.0 - upper, 1.0 - lower)
            };
            assert_eq!(trivial, 0.0);
            // No bound can be below ln(1/δ)/n here; the grid costs about 2.5 nats and a factor of 0.98.
            assert!(
                near * n > 0.99 * log_term && near * n < 1.8 * log_term,
                "{n} {near}"
            );
            same = same.scaled(1000.0);
        }
    }
    // A constant has no variance, and a billion observations of one are no problem.
    let constant = statistics(&[0.3; 1000]).scaled(1e6);
    let (lower, upper) = (constant.lower(log_term, 0.0), constant.upper(log_term, 1.0));
    assert!(
        lower < 0.3 && 0.3 < upper && upper - lower < 1e-5,
        "{lower} {upper}"
    );
}

/// True if the wealth at the true mean ever reaches 1/δ, with δ = 0.1.
fn ever_fails(law: &str, seed: u64, rounds: usize, mirror: bool) -> bool {
    let random = &mut Random::new(seed);
    let mut mixture = Mixture::default();
    (0..rounds).any(|_| {
        let (x, mean) = draw(law, random);
        let (x, mean) = if mirror {
            (1.0 - x, 1.0 - mean)
        } else {
            (x, mean)
        };
        mixture.push(x);
        mixture.log_wealth(mean) >= 10_f64.ln()
    })
}

/// At the worst time of a thousand the bounds fail in at most one run of ten.
#[test]
fn coverage_at_the_worst_time() {
    const RUNS: u64 = 300;
    for law in LAWS {
        for mirror in [false, true] {
            let failed = (0..RUNS).filter(|&seed| ever_fails(law, seed, 1000, mirror));
            let share = failed.count() as f64 / RUNS as f64;
            assert!(share <= 0.1, "{law} {mirror} {share}");
        }
    }
}

/// A negative control: with a tenth of every loss forgotten the same check fails.
#[test]
fn the_coverage_check_can_fail() {
    let mut failed = 0;
    for seed in 0..60 {
        let random = &mut Random::new(seed);
        let data: Vec<f64> = (0..400).map(|_| draw("gaussian", random).0).collect();
        let ever = (1..=40).any(|i| log_wealth(&data[..10 * i], 0.5, 0.9) >= 10_f64.ln());
        failed += u32::from(ever);
    }
    assert!(failed > 12, "{failed}");
}

/// The same with the wealth doubled, as weights that sum to two would have it: δ is no longer what it says.
/// For two-valued signals the wealth is a martingale, and that shows.
#[test]
fn doubled_weights_fail() {
    const RUNS: u64 = 2000;
    let fails = |factor: f64| {
        let failed = (0..RUNS).filter(|&seed| {
            let random = &mut Random::new(seed);
            let mut mixture = Mixture::default();
            (0..3000).any(|_| {
                mixture.push(random.bernoulli(0.02));
                mixture.log_wealth(0.02) + f64::ln(factor) >= 2_f64.ln()
            })
        });
        failed.count() as f64 / RUNS as f64
    };
    // At δ = 1/2.
    let (honest, doubled) = (fails(1.0), fails(2.0));
    assert!(honest <= 0.5, "{honest}");
    assert!(doubled > 0.5, "{doubled}");
}

/// More of the same data never widens an interval.
#[test]
fn narrower_for_more_outcomes_of_the_same_mean() {
    for law in LAWS {
        let random = &mut Random::new(8);
        let data: Vec<f64> = (0..100).map(|_| draw(law, random).0).collect();
        let base = statistics(&data);
        let (mut lower, mut upper) = (0.0, 1.0);
        for step in 0..40 {
            let more = base.scaled(1.5_f64.powi(step));
            let now = (more.lower(4.0, 0.0), more.upper(4.0, 1.0));
            assert!(
                now.0 >= lower - 1e-12 && now.1 <= upper + 1e-12,
                "{law} {step}"
            );
            (lower, upper) = now;
        }
        assert!(upper - lower < 1e-3, "{law}: {lower} {upper}");
    }
}

/// Means that move: the bounds are for their average up to now.
#[test]
fn means_that_move() {
    let mut failed = 0;
    for seed in 0..300 {
        let random = &mut Random::new(seed);
        let (mut mixture, mut sum, mut last) = (Mixture::default(), 0.0, 0.0);
        let ever = (1..=500).any(|t| {
            // The mean follows what was seen last: predictable, and far from constant.
            let mean = 0.1 + 0.3 * last + if t > 250 { 0.5 } else { 0.0 };
            last = random.bernoulli(mean);
            sum += mean;
            mixture.push(last);
            mixture.log_wealth(sum / f64::from(t)) >= 10_f64.ln()
        });
        failed += u32::from(ever);
    }
    assert!(failed <= 30, "{failed}");
}

/// Dollars, say: no law of the field's tables, but what the service sees. The older interval by Hoeffding's
/// and Fan's factors needs twice the outcomes for the same width.
#[test]
fn skewed_signals_need_half_the_outcomes() {
    let older = |data: &[f64], log_term: f64| {
        let n = data.len() as f64;
        let sum: f64 = data.iter().sum();
        let (mut squares, mut seen) = (0.0, 0.0);
        for (j, x) in data.iter().enumerate() {
            let centre = (0.5 + seen) / (j as f64 + 1.0);
            squares += (x - centre).powi(2);
            seen += x;
        }
        let weight = |k: usize| (k as f64 + 6.0).powf(-1.3);
        let share =
            |k: usize, levels: usize| 0.5 * weight(k) / (0..levels).map(weight).sum::<f64>();
        let wealth = |mu: f64| -> f64 {
            let chords = (0..15).map(|k| {
                let eta = 4.0 * 0.5_f64.powi(k as i32);
                share(k, 15) * (-eta * sum - n * (1.0 - mu * (1.0 - (-eta).exp())).ln()).exp()
            });
            let fans = (0..14).map(|k| {
                let lambda = [0.9, 0.75].get(k).copied();
                let lambda = lambda.unwrap_or(0.5_f64.powi(k as i32 - 1));
                let psi = -(1.0 - lambda).ln() - lambda;
                share(k, 14) * (lambda * (n * mu - sum) - psi * squares).exp()
            });
            chords.chain(fans).sum()
        };
        let (mut below, mut above) = (sum / n, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (below + above);
            if wealth(middle).ln() < log_term {
                below = middle;
            } else {
                above = middle;
            }
        }
        above - sum / n
    };
    let random = &mut Random::new(9);
    // Exponential with mean 0.08, cut at the range.
    let data: Vec<f64> = (0..2000)
        .map(|_| (-0.08 * random.unit().max(1e-300).ln()).min(1.0))
        .collect();
    for n in [300, 1000] {
        let mean = |data: &[f64]| data.iter().sum::<f64>() / data.len() as f64;
        let width = statistics(&data[..n]).upper(6.0, 1.0) - mean(&data[..n]);
        let twice = older(&data[..2 * n], 6.0);
        assert!(width < 1.1 * twice, "{n}: {width} {twice}");
    }
}
