//! The limit of certified play against full sums of LPs solved by other means.

use banister::Error;
use banister::theory::{CertifiedCost, CertifiedPlay, CostLaw, upper_quantile};

/// z_0.01, as tables print it.
const Z: f64 = 2.326_347_874_040_841;

fn cost(means: &[f64], sds: &[f64], threshold: f64) -> CertifiedCost {
    CertifiedCost {
        means: means.to_vec(),
        laws: sds.iter().map(|&sd| CostLaw::Normal { sd }).collect(),
        factor: 0.0,
        threshold,
    }
}

fn play(rewards: &[f64], guardrails: Vec<CertifiedCost>, horizon: u64) -> CertifiedPlay {
    CertifiedPlay {
        rewards: rewards.to_vec(),
        guardrails,
        safe: 0,
        delta: 0.01,
        horizon,
    }
}

fn limit(play: &CertifiedPlay) -> f64 {
    play.limit().expect("a valid instance")
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs()
}

/// Sum of r* − v(z/√t), term by term.
fn full_sum(horizon: u64, value: impl Fn(f64) -> f64) -> f64 {
    let optimum = value(0.0);
    (1..=horizon)
        .map(|t| optimum - value(Z / (t as f64).sqrt()))
        .sum()
}

/// Uniform numbers in [0, 1), by Weyl's sequence of the golden ratio, scrambled.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn numbers(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.next()).collect()
    }
}

const PAPER_REWARDS: [f64; 4] = [0.1, 0.2, 0.4, 0.7];
const PAPER_COSTS: [f64; 4] = [0.0, 0.4, 0.5, 0.2];

/// The best of single arms and pairs at a threshold: the LP of one guardrail.
fn pairs(rewards: &[f64], u: &[f64], threshold: f64) -> f64 {
    let mut best = f64::NEG_INFINITY;
    for i in (0..u.len()).filter(|i| u[*i] <= threshold) {
        best = best.max(rewards[i]);
        for j in (0..u.len()).filter(|j| u[*j] > threshold) {
            let share = (threshold - u[i]) / (u[j] - u[i]);
            best = best.max((1.0 - share) * rewards[i] + share * rewards[j]);
        }
    }
    best
}

#[test]
fn the_quantile_is_that_of_printed_tables() {
    for (tail, z) in [
        (0.5, 0.0),
        (0.1, 1.281_551_565_544_600_4),
        (0.01, Z),
        (0.001, 3.090_232_306_167_813_5),
    ] {
        assert!((upper_quantile(tail) - z).abs() < 1e-12, "{tail}");
    }
}

#[test]
fn on_the_papers_arms_it_is_the_full_sum_of_a_million_rounds() {
    let bernoulli = PAPER_COSTS.map(|c| (c * (1.0 - c)).sqrt());
    let low = [0.0, 0.05, 0.05, 0.05];
    for (sds, expected) in [(bernoulli, 5443.34), (low, 694.705)] {
        let found = limit(&play(
            &PAPER_REWARDS,
            vec![cost(&PAPER_COSTS, &sds, 0.2)],
            1_000_000,
        ));
        let full = full_sum(1_000_000, |w| {
            let u: Vec<f64> = (PAPER_COSTS.iter().zip(sds))
                .map(|(c, s)| c + w * s)
                .collect();
            pairs(&PAPER_REWARDS, &u, 0.2)
        });
        assert!(close(full, expected, 1e-5), "{full}");
        assert!(close(found, full, 1e-5), "{found} against {full}");
    }
}

#[test]
fn two_arms_have_a_closed_form_at_any_horizon() {
    let (r, c, sd, threshold) = ([0.2, 0.9], [0.1, 0.5], 0.3, 0.4);
    for horizon in [1, 2, 511, 513, 1000, 30_000, 400_000] {
        let found = limit(&play(&r, vec![cost(&c, &[0.0, sd], threshold)], horizon));
        let full = full_sum(horizon, |w| {
            r[0] + (r[1] - r[0]) * (threshold - c[0]) / (c[1] + w * sd - c[0])
        });
        let tolerance = if horizon < 512 { 1e-12 } else { 1e-5 };
        assert!(close(found, full, tolerance), "{horizon}: {found}, {full}");
    }
}

#[test]
fn a_jump_of_the_value_costs_less_than_a_thousandth() {
    // One guardrail bounds arm 1 from above, the other the safe arm, whose cost under it is unknown: until
    // about round 4600 no policy is certified, and then one with two thirds of arm 1 is.
    let sd = 0.05 * 50_000_f64.sqrt() / Z;
    for threshold in [0.25, 0.250_1, 0.249_9] {
        let guardrail = cost(&[0.0, 0.2], &[0.0, sd], threshold);
        let tight = cost(&[0.0, 0.0], &[sd, 0.0], 0.05);
        let found = limit(&play(&[0.1, 0.8], vec![guardrail, tight], 200_000));
        let full = full_sum(200_000, |w| {
            let u = 0.2 + w * sd;
            // p ≤ τ/u, and 1 − p ≤ 0.05/(w·σ).
            let (low, high) = (1.0 - 0.05 / (w * sd), (threshold / u).min(1.0));
            if low <= high { 0.1 + 0.7 * high } else { 0.1 }
        });
        assert!(close(found, full, 1e-3), "{found} against {full}");
    }
}

#[test]
fn known_costs_and_slack_guardrails_lose_nothing() {
    let known = cost(&PAPER_COSTS, &[0.0; 4], 0.2);
    assert_eq!(limit(&play(&PAPER_REWARDS, vec![known], 10_000)), 0.0);
    let slack = cost(&PAPER_COSTS, &[0.1; 4], 100.0);
    assert_eq!(limit(&play(&PAPER_REWARDS, vec![slack], 10_000)), 0.0);
    assert_eq!(limit(&play(&PAPER_REWARDS, vec![], 10_000)), 0.0);
}

#[test]
fn it_falls_with_delta_and_grows_with_noise_and_time() {
    let at = |delta: f64, scale: f64, horizon: u64| {
        let sds = [0.1, 0.4, 0.5, 0.4].map(|sd: f64| scale * sd);
        limit(&CertifiedPlay {
            delta,
            ..play(&PAPER_REWARDS, vec![cost(&PAPER_COSTS, &sds, 0.2)], horizon)
        })
    };
    for pair in [0.001, 0.01, 0.1, 0.3].windows(2) {
        assert!(at(pair[0], 1.0, 5000) > at(pair[1], 1.0, 5000));
    }
    for pair in [0.1, 0.5, 1.0, 2.0].windows(2) {
        assert!(at(0.01, pair[0], 5000) < at(0.01, pair[1], 5000));
    }
    for pair in [10, 100, 1000, 10_000].windows(2) {
        assert!(at(0.01, 1.0, pair[0]) < at(0.01, 1.0, pair[1]));
    }
    // A certificate that may be wrong half the time is the mean itself.
    assert!(at(0.5, 1.0, 5000) < 1e-9 && at(0.9, 1.0, 5000) < 1e-9);
}

/// Solves a small linear system by elimination; `None` if it is singular.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = rows.len();
    for at in 0..n {
        let pivot = (at..n).max_by(|a, b| rows[*a][at].abs().total_cmp(&rows[*b][at].abs()))?;
        rows.swap(at, pivot);
        if rows[at][at].abs() < 1e-12 {
            return None;
        }
        let head = rows[at].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != at) {
            let factor = row[at] / head[at];
            row.iter_mut()
                .zip(&head)
                .for_each(|(x, h)| *x -= factor * h);
        }
    }
    Some((0..n).map(|i| rows[i][n] / rows[i][i]).collect())
}

/// The best vertex: every support with as many active guardrails as make it unique.
fn vertices(rewards: &[f64], costs: &[Vec<f64>], thresholds: &[f64]) -> Option<f64> {
    let (k, m) = (rewards.len(), thresholds.len());
    let members =
        |set: usize, n: usize| -> Vec<usize> { (0..n).filter(|i| set >> i & 1 == 1).collect() };
    let mut best: Option<f64> = None;
    for support in (1..1 << k).map(|set| members(set, k)) {
        for active in (0..1 << m).map(|set| members(set, m)) {
            if active.len() + 1 != support.len() {
                continue;
            }
            let mut rows = vec![vec![1.0; support.len() + 1]];
            for i in active {
                let row = support.iter().map(|a| costs[i][*a]);
                rows.push(row.chain([thresholds[i]]).collect());
            }
            let Some(policy) = solve(rows) else { continue };
            let of = |row: &[f64]| -> f64 {
                support.iter().zip(&policy).map(|(a, p)| p * row[*a]).sum()
            };
            let feasible = policy.iter().all(|p| *p >= -1e-12)
                && (0..m).all(|i| of(&costs[i]) <= thresholds[i] + 1e-12);
            if feasible {
                best = Some(best.unwrap_or(f64::NEG_INFINITY).max(of(rewards)));
            }
        }
    }
    best
}

#[test]
fn several_guardrails_agree_with_an_enumeration_of_vertices() {
    let mut random = Random(7);
    let mut played_safe = 0;
    for case in 0..24 {
        let (k, m) = (2 + case % 4, 1 + case % 3);
        let unknown = case % 2 == 1;
        let rewards = random.numbers(k);
        let guardrails: Vec<CertifiedCost> = (0..m)
            .map(|_| {
                let means = random.numbers(k);
                let mut sds: Vec<f64> = random.numbers(k).iter().map(|x| 0.5 * x).collect();
                if !unknown {
                    sds[0] = 0.0;
                }
                let threshold = means[0] + 0.05 + 0.2 * random.next();
                cost(&means, &sds, threshold)
            })
            .collect();
        let thresholds: Vec<f64> = guardrails.iter().map(|g| g.threshold).collect();
        let bounds = |w: f64| -> Vec<Vec<f64>> {
            let sd = |law: &CostLaw| match law {
                CostLaw::Normal { sd } => *sd,
                _ => unreachable!("all are normal"),
            };
            let upper = |(c, law): (&f64, &CostLaw)| c + w * sd(law);
            let row = |g: &CertifiedCost| g.means.iter().zip(&g.laws).map(upper).collect();
            guardrails.iter().map(row).collect()
        };
        played_safe += u32::from(vertices(&rewards, &bounds(Z), &thresholds).is_none());
        let full = full_sum(400, |w| {
            let best = vertices(&rewards, &bounds(w), &thresholds);
            best.unwrap_or(rewards[0]).max(rewards[0])
        });
        let found = limit(&play(&rewards, guardrails.clone(), 400));
        assert!(
            (found - full).abs() < 1e-7 * (1.0 + full),
            "{case}: {found}, {full}"
        );
    }
    assert!(played_safe > 2, "no LP was infeasible");
}

/// Largest share p of arm 1 with h(p) ≤ 0 for a convex h; `None` where there is none.
fn largest_share(h: impl Fn(f64) -> f64) -> Option<f64> {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if h(a) <= h(b) { high = b } else { low = a }
    }
    let (mut inside, mut outside) = (low, 1.0);
    if h(inside) > 0.0 {
        return None;
    }
    if h(outside) <= 0.0 {
        return Some(1.0);
    }
    for _ in 0..100 {
        let middle = 0.5 * (inside + outside);
        if h(middle) <= 0.0 {
            inside = middle
        } else {
            outside = middle
        }
    }
    Some(inside)
}

#[test]
fn relative_guardrails_count_the_safe_arms_noise_once() {
    // At most 1.3 times the safe arm's cost; at least 0.7 times its signal, as a negative cost.
    for (sign, factor, means) in [(1.0, 1.3, [0.3, 0.6]), (-1.0, 0.7, [0.6, 0.3])] {
        let (r, sds) = ([0.2, 0.9], [0.2, 0.3]);
        let (c0, c1) = (sign * means[0], sign * means[1]);
        let guardrail = CertifiedCost {
            factor,
            ..cost(&[c0, c1], &sds, 0.0)
        };
        let found = limit(&play(&r, vec![guardrail], 500));
        let full = full_sum(500, |w| {
            let share = largest_share(|p| {
                let rest = 1.0 - p - factor;
                p * c1 + rest * c0 + w * (p * sds[1] + rest.abs() * sds[0])
            });
            r[0] + (r[1] - r[0]) * share.unwrap_or(0.0)
        });
        assert!(
            full > 10.0 && close(found, full, 1e-6),
            "{found} against {full}"
        );
    }
}

/// The limit of one arm of a two-valued cost, by sums of logarithms of binomial probabilities at every round.
#[test]
fn rare_costs_have_their_exact_law() {
    let log_factorial: Vec<f64> = (0..=3000)
        .scan(0.0, |sum, n| {
            *sum += f64::from(n.max(1)).ln();
            Some(*sum)
        })
        .collect();
    let at_most = |n: usize, k: usize, u: f64| -> f64 {
        let choose = |j: usize| log_factorial[n] - log_factorial[j] - log_factorial[n - j];
        let term = |j: usize| choose(j) + j as f64 * u.ln() + (n - j) as f64 * (-u).ln_1p();
        (0..=k).map(|j| term(j).exp()).sum()
    };
    let upper = |n: usize, c: f64| {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            let k = (n as f64 * c).floor() as usize;
            if at_most(n, k, middle) > 0.01 {
                low = middle
            } else {
                high = middle
            }
        }
        high
    };
    for (c, threshold, rounds) in [(0.001, 0.01, 1500), (0.1, 0.15, 1500), (0.6, 0.65, 1500)] {
        let value = |u: f64| 0.2 + 0.7 * (threshold / u).min(1.0);
        let full: f64 = (1..=rounds).map(|t| value(c) - value(upper(t, c))).sum();
        let mut guardrail = cost(&[0.0, c], &[0.0, 0.0], threshold);
        guardrail.laws[1] = CostLaw::TwoValued {
            low: 0.0,
            high: 1.0,
        };
        let found = limit(&play(&[0.2, 0.9], vec![guardrail], rounds as u64));
        assert!(close(found, full, 0.003), "{c}: {found} against {full}");
        let sd = (c * (1.0 - c)).sqrt();
        let normal = limit(&play(
            &[0.2, 0.9],
            vec![cost(&[0.0, c], &[0.0, sd], threshold)],
            1500,
        ));
        println!("c = {c}: {found:.1} by the exact law, {normal:.1} by the normal one");
    }
    // c = 0.001 is certified under 0.01 from round 459 on; the normal law would have it from round 67.
    assert!(upper(459, 0.001) <= 0.01 && upper(458, 0.001) > 0.01);
}

#[test]
fn numbers_that_are_no_instance_are_refused_by_name() {
    let valid = play(&[0.1, 0.7], vec![cost(&[0.0, 0.4], &[0.0, 0.5], 0.2)], 100);
    assert!(valid.limit().is_ok());
    let changed = |change: &dyn Fn(&mut CertifiedPlay)| {
        let mut play = valid.clone();
        change(&mut play);
        match play.limit() {
            Err(Error::Invalid { field, .. }) => field,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(changed(&|p| p.delta = f64::NAN), "delta");
    assert_eq!(changed(&|p| p.horizon = 0), "horizon");
    assert_eq!(changed(&|p| p.safe = 2), "safe");
    assert_eq!(changed(&|p| p.rewards[1] = f64::NAN), "rewards[1]");
    let first = |change: fn(&mut CertifiedCost)| changed(&|p| change(&mut p.guardrails[0]));
    assert_eq!(first(|g| g.means[0] = 0.3), "guardrails[0].means");
    assert_eq!(first(|g| g.threshold = f64::NAN), "guardrails[0].threshold");
    assert_eq!(first(|g| g.factor = f64::NAN), "guardrails[0].factor");
    let normal = |sd: f64| changed(&|p| p.guardrails[0].laws[1] = CostLaw::Normal { sd });
    assert_eq!(normal(-0.1), "guardrails[0].laws[1]");
    assert_eq!(normal(f64::NAN), "guardrails[0].laws[1]");
    for (low, high) in [(0.5, 1.0), (0.0, 0.3), (0.4, 0.4), (f64::NAN, 1.0)] {
        let law = CostLaw::TwoValued { low, high };
        let field = changed(&|p| p.guardrails[0].laws[1] = law);
        assert_eq!(field, "guardrails[0].laws[1]", "{law:?}");
    }
    assert_eq!(first(|g| g.laws.truncate(1)), "guardrails[0].means");
    assert_eq!(
        first(|g| g.means[1] = f64::INFINITY),
        "guardrails[0].means[1]"
    );
    assert_eq!(normal(f64::MAX), "guardrails");
}
