//! What an arm is worth: against its definition on a grid, and how often it ever fails under adaptive draws.

use crate::common;

use banister::interval::Mixture;
use banister::lift::{Evidence, LiftInterval, difference, percent};
use common::Random;

fn evidence(data: &[f64], range: [f64; 2]) -> Evidence {
    let mut statistics = Mixture::default();
    let [lo, hi] = range;
    data.iter()
        .for_each(|x| statistics.push(((x - lo) / (hi - lo)).clamp(0.0, 1.0)));
    Evidence { statistics, range }
}

/// Evidence that a mean is below (above) m.
fn wealth(own: &Evidence, m: f64, above: bool) -> f64 {
    let [lo, hi] = own.range;
    let y = (m - lo) / (hi - lo);
    if above {
        own.statistics.mirrored().log_wealth(1.0 - y)
    } else {
        own.statistics.log_wealth(y)
    }
}

/// Extreme values of m_a − m_0 and m_a/m_0 over pairs on a grid that evidence of 2/α does not refute.
fn brute(own: &Evidence, safe: &Evidence, log_term: f64) -> [[f64; 2]; 2] {
    const POINTS: usize = 1500;
    let level = log_term + 2_f64.ln();
    let grid =
        |[lo, hi]: [f64; 2]| (0..=POINTS).map(move |i| lo + (hi - lo) * i as f64 / POINTS as f64);
    let mut found = [[f64::INFINITY, f64::NEG_INFINITY]; 2];
    for end in [0, 1] {
        let take =
            |best: &mut f64, x: f64| *best = if end == 1 { best.max(x) } else { best.min(x) };
        let all: Vec<(f64, f64)> = grid(own.range)
            .map(|m| (m, wealth(own, m, end == 0)))
            .collect();
        for m in grid(safe.range) {
            let other = wealth(safe, m, end == 1);
            for (own, log_wealth) in &all {
                if log_wealth + other < level {
                    take(&mut found[0][end], own - m);
                    take(&mut found[1][end], own / m);
                }
            }
        }
    }
    found
}

/// No value on the grid is left out, and hardly any beyond is let in.
#[test]
fn as_by_definition() {
    let random = &mut Random::new(1);
    let cases = [
        ([0.0, 1.0], [0.0, 1.0], 300, 300),
        ([0.0, 1.0], [0.0, 1.0], 40, 3000),
        ([0.0, 2.0], [0.0, 0.1], 500, 200),
        ([1.0, 3.0], [0.5, 1.5], 5, 8),
        ([0.0, 1.0], [0.2, 1.0], 0, 100),
        ([-1.0, 1.0], [-2.0, 1.0], 700, 300),
    ];
    for (own, safe, n, n0) in cases {
        for two_valued in [true, false] {
            let mut draw = |[lo, hi]: [f64; 2], p: f64| {
                let x = if two_valued {
                    random.bernoulli(p)
                } else {
                    p * (0.8 + 0.4 * random.unit())
                };
                lo + (hi - lo) * x
            };
            let data: Vec<f64> = (0..n).map(|_| draw(own, 0.6)).collect();
            let control: Vec<f64> = (0..n0).map(|_| draw(safe, 0.4)).collect();
            let (a, b) = (evidence(&data, own), evidence(&control, safe));
            let [[lower, upper], [low, high]] = brute(&a, &b, 100_f64.ln());
            let name = format!("{own:?} {safe:?} {n} {n0} {two_valued}");
            let found = difference(&a, &b, 100_f64.ln());
            let step = (own[1] - own[0] + safe[1] - safe[0]) / 1000.0;
            assert!(
                found.upper >= upper - 1e-9 && found.upper < upper + step,
                "{name} {found:?} {upper}"
            );
            assert!(
                found.lower <= lower + 1e-9 && found.lower > lower - step,
                "{name} {found:?} {lower}"
            );
            let Some(LiftInterval { lower, upper, .. }) = percent(&a, &b, 100_f64.ln()) else {
                assert!(own[0] < 0.0 || !high.is_finite(), "{name} {high}");
                continue;
            };
            let (lower, upper) = (1.0 + lower / 100.0, 1.0 + upper / 100.0);
            assert!(
                upper >= high - 1e-9 && upper < high * 1.02,
                "{name} {upper} {high}"
            );
            assert!(
                lower <= low + 1e-9 && lower > low * 0.98 - 0.002,
                "{name} {lower} {low}"
            );
        }
    }
}

/// Adaptive draws at the worst time: the arm that looks worse is drawn more, and one looks after every outcome. An interval
/// for a fixed sample, looked at as often, fails many times as often.
#[test]
fn holds_at_all_times() {
    const RUNS: u64 = 400;
    let (alpha, means) = (0.1, [0.5, 0.3]);
    let (mut ever, mut normal) = (0.0, 0.0);
    for seed in 0..RUNS {
        let random = &mut Random::new(seed);
        let mut arms = [evidence(&[], [0.0, 1.0]); 2];
        let (mut failed, mut fooled) = (false, false);
        for t in 0..600 {
            let worse = arms[0].mean() < arms[1].mean();
            let arm = usize::from((random.unit() < 0.8) != worse);
            arms[arm].statistics.push(random.bernoulli(means[arm]));
            // The product of wealths at the truth says when to look.
            let product = wealth(&arms[0], means[0], false) + wealth(&arms[1], means[1], true);
            let mirrored = wealth(&arms[0], means[0], true) + wealth(&arms[1], means[1], false);
            if t % 60 == 0 || product.max(mirrored) > -f64::ln(alpha) {
                let found = difference(&arms[0], &arms[1], -f64::ln(alpha));
                failed |= found.lower > 0.2 || found.upper < 0.2;
                let percent = percent(&arms[0], &arms[1], -f64::ln(alpha));
                let ratio = 100.0 * (0.5 / 0.3 - 1.0);
                failed |= percent.is_some_and(|own| own.lower > ratio || own.upper < ratio);
            }
            let variance = |own: &Evidence| {
                let (n, p) = (own.statistics.count() as f64, own.mean().unwrap_or(0.5));
                p * (1.0 - p) / n
            };
            if let (Some(a), Some(b)) = (arms[0].mean(), arms[1].mean()) {
                let width = 1.645 * (variance(&arms[0]) + variance(&arms[1])).sqrt();
                fooled |= t > 30 && (a - b - 0.2).abs() > width;
            }
        }
        ever += f64::from(u8::from(failed)) / RUNS as f64;
        normal += f64::from(u8::from(fooled)) / RUNS as f64;
    }
    let slack = 3.0 * (alpha * (1.0 - alpha) / RUNS as f64).sqrt();
    assert!(ever <= alpha + slack, "{ever}");
    assert!(normal > 0.3, "{normal}");
}

/// Two ends at α/4 each are wider, unless one arm has all the outcomes.
#[test]
fn narrower_than_by_ends() {
    let random = &mut Random::new(2);
    let log_term = 100_f64.ln();
    for (n, n0, at_most) in [
        (50, 50, 0.92),
        (1000, 1000, 0.85),
        (20_000, 20_000, 0.85),
        (500, 4000, 0.95),
        (100, 20_000, 1.08),
    ] {
        let data: Vec<f64> = (0..n).map(|_| random.bernoulli(0.3)).collect();
        let control: Vec<f64> = (0..n0).map(|_| random.bernoulli(0.25)).collect();
        let (a, b) = (evidence(&data, [0.0, 1.0]), evidence(&control, [0.0, 1.0]));
        let width = |own: &Evidence| {
            let level = log_term + 4_f64.ln();
            own.statistics.upper(level, 1.0) - own.statistics.lower(level, 0.0)
        };
        let found = difference(&a, &b, log_term);
        let part = (found.upper - found.lower) / (width(&a) + width(&b));
        assert!(part < at_most, "{n} {n0}: {part}");
    }
}
