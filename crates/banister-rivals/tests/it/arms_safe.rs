//! The rivals that are safe in every round, and the references that ignore guardrails, against their pseudo-code.

use arms_reference::*;
use banister::interval::Mixture;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Beta, Distribution, Normal, StandardUniform};
use serde_json::json;

use crate::arms_reference;

fn mixed(seen: &Seen, solutions: Vec<Vec<f64>>) -> Expected {
    Expected::of(solutions.iter().map(|policy| seen.mixed(policy)).collect())
}

#[test]
fn s_ops_for_fixed_means() {
    for delta in [0.01, 0.2] {
        let config = agent(json!({ "kind": "s_ops", "delta": delta, "update": "optimistic" }));
        for case in cases() {
            let went = compare(&config, &case, &mut |seen: &Seen| {
                mixed(seen, lp(&seen.upper(), &seen.cost_lower(), &seen.tau))
            });
            assert!(went.daring > ROUNDS / 4, "{}: {went:?}", case.name);
            assert!(went.ambiguous < ROUNDS / 2, "{}: {went:?}", case.name);
        }
    }
}

struct SColts {
    omega: f64,
    rng: ChaCha8Rng,
}

impl Reference for SColts {
    fn expected(&mut self, seen: &Seen) -> Expected {
        let (reward, costs) = coupled(seen, self.omega, &mut self.rng);
        mixed(seen, lp(&reward, &costs, &seen.tau))
    }
}

#[test]
fn s_colts() {
    for omega in [1.0, 0.3] {
        let config = agent(json!({ "kind": "s_colts", "omega": omega }));
        for case in cases() {
            let rng = stream();
            let went = compare(&config, &case, &mut SColts { omega, rng });
            assert!(went.daring > ROUNDS / 4, "{}: {went:?}", case.name);
            assert!(went.ambiguous < ROUNDS / 10, "{}: {went:?}", case.name);
        }
    }
}

/// π_a ∝ exp(w_a − Σ_i μ_i l_{a,i}).
fn softmax(weights: &[f64], multipliers: &[f64], lower: &[Vec<f64>]) -> Vec<f64> {
    let arms = 0..weights.len();
    let logs: Vec<f64> = arms
        .map(|a| {
            let rows = std::iter::zip(multipliers, lower);
            weights[a] - rows.map(|(mu, row)| mu * row[a]).sum::<f64>()
        })
        .collect();
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let raw: Vec<f64> = logs.iter().map(|x| (x - most).exp()).collect();
    let total: f64 = raw.iter().sum();
    raw.iter().map(|x| x / total).collect()
}

/// Multipliers of the projection onto { π·l ≤ τ } by relative entropy, for two guardrails at most: the last one by
/// bisection, the one before by bisection around that.
fn multipliers(weights: &[f64], lower: &[Vec<f64>], tau: &[f64]) -> Vec<f64> {
    let cost = |mu: &[f64], i: usize| dot(&softmax(weights, mu, lower), &lower[i]);
    let last = |mut mu: Vec<f64>| {
        let i = mu.len();
        mu.push(0.0);
        let with = |x: f64| [&mu[..i], &[x]].concat();
        mu[i] = bisect(1e4, 0.0, |x| cost(&with(x), i) <= tau[i]);
        mu
    };
    match tau.len() {
        1 => last(Vec::new()),
        _ => last(vec![bisect(1e4, 0.0, |x| {
            cost(&last(vec![x]), 0) <= tau[0]
        })]),
    }
}

/// Mirror descent, mixed with a baseline.
struct Descent {
    rate: f64,
    exploration: f64,
    weights: Vec<f64>,
    played: Vec<f64>,
    /// Rounds in which the projection moved something.
    bound: usize,
}

impl Descent {
    fn new(k: usize, rate: f64, exploration: f64) -> Self {
        Self {
            rate,
            exploration,
            weights: vec![0.0; k],
            played: Vec::new(),
            bound: 0,
        }
    }

    fn expected(&mut self, seen: &Seen, baseline: &[f64]) -> Expected {
        let lower = seen.cost_lower();
        let mu = multipliers(&self.weights, &lower, &seen.tau);
        self.bound += usize::from(mu.iter().any(|mu| *mu > 0.0));
        let policy = softmax(&self.weights, &mu, &lower);
        for (a, weight) in self.weights.iter_mut().enumerate() {
            *weight -= (0..seen.m).map(|i| mu[i] * lower[i][a]).sum::<f64>();
        }
        self.played = seen.mixed_with(&policy, baseline);
        Expected::of(vec![self.played.clone()])
    }

    fn learn(&mut self, arm: usize, reward: f64) {
        self.weights[arm] -= self.rate * (1.0 - reward) / (self.played[arm] + self.exploration);
    }
}

/// Theorem 1 of Zuo and Stradi with L = 1 and |X| = 2.
fn rate(seen: &Seen, rounds: usize) -> f64 {
    let (m, k, t, x) = (seen.m as f64, seen.k as f64, rounds as f64, 2.0);
    ((8.0 * m * x * x * k * t / DELTA).ln() / (t * x * k)).sqrt()
}

/// Rounds of a comparison: rounding errors of weights add up, and bisections inside bisections take long.
const SHORT: usize = 500;

struct SOps(Descent);

impl Reference for SOps {
    fn expected(&mut self, seen: &Seen) -> Expected {
        self.0.expected(seen, &seen.alone(seen.safe))
    }
    fn learn(&mut self, _: &Seen, arm: usize, signals: &[f64]) {
        self.0.learn(arm, signals[0]);
    }
}

#[test]
fn s_ops() {
    let mut bound = 0;
    for (own, exploration) in [(None, None), (Some(0.2), Some(0.05)), (Some(0.5), None)] {
        let config = agent(json!({
            "kind": "s_ops",
            "horizon": SHORT,
            "learning_rate": own,
            "exploration": exploration,
        }));
        for case in cases() {
            let seen = Seen::new(&case.problem, DELTA);
            let rate = own.unwrap_or_else(|| rate(&seen, SHORT));
            let mut reference = SOps(Descent::new(seen.k, rate, exploration.unwrap_or(rate)));
            let went = compare_for(SHORT, &config, &case, &mut reference);
            assert!(went.daring > SHORT / 4, "{}: {went:?}", case.name);
            bound += reference.0.bound;
        }
    }
    assert!(bound > 500, "{bound}");
}

struct MaOps {
    horizon: usize,
    descent: Option<(Vec<f64>, Descent)>,
    /// Rounds of the search.
    explored: usize,
    /// Searches that ended with a policy of their own.
    found: usize,
}

impl MaOps {
    fn margin(seen: &Seen, policy: &[f64]) -> f64 {
        let upper = seen.cost_upper();
        let margins = (0..seen.m).map(|i| seen.tau[i] - dot(policy, &upper[i]));
        margins.fold(f64::INFINITY, f64::min)
    }

    /// ρ̄ by bisection on the margin that some policy may have, and all vertices that have it.
    fn largest(seen: &Seen) -> (f64, Vec<Vec<f64>>) {
        let lower = seen.cost_lower();
        let tightened = |z: f64| -> Vec<f64> { seen.tau.iter().map(|t| t - z).collect() };
        let flat = vec![0.0; seen.k];
        let holds = |z: f64| lp_value(&flat, &lower, &tightened(z)).is_some();
        let largest = bisect(-1.0, 1.0, holds);
        // A hair less than the most, so that rounding leaves a policy.
        let all = lp(&flat, &lower, &tightened(largest - 1e-12));
        (largest, all)
    }
}

impl Reference for MaOps {
    fn expected(&mut self, seen: &Seen) -> Expected {
        if self.descent.is_none() {
            let safe = seen.alone(seen.safe);
            let own = Self::margin(seen, &safe);
            if seen.past.iter().all(|(arm, _)| *arm == seen.safe) && 2.0 * own < 1.0 {
                self.explored += 1;
                return mixed(seen, vec![vec![1.0 / seen.k as f64; seen.k]]);
            }
            let (possible, policies) = Self::largest(seen);
            let baseline = if 2.0 * own >= possible.min(1.0) {
                safe
            } else {
                let half = |p: &&Vec<f64>| 2.0 * Self::margin(seen, p) >= possible;
                match policies.iter().find(half) {
                    Some(policy) => {
                        self.found += 1;
                        policy.clone()
                    }
                    None => {
                        self.explored += 1;
                        return mixed(seen, policies);
                    }
                }
            };
            let rate = rate(seen, self.horizon - seen.t());
            self.descent = Some((baseline, Descent::new(seen.k, rate, rate)));
        }
        let (baseline, descent) = self.descent.as_mut().expect("made");
        descent.expected(seen, baseline)
    }

    fn learn(&mut self, _: &Seen, arm: usize, signals: &[f64]) {
        if let Some((_, descent)) = &mut self.descent {
            descent.learn(arm, signals[0]);
        }
    }
}

fn compare_ma_ops(case: &Case, rounds: usize) -> MaOps {
    let config = agent(json!({ "kind": "ma_ops", "horizon": ROUNDS }));
    let mut reference = MaOps {
        horizon: ROUNDS,
        descent: None,
        explored: 0,
        found: 0,
    };
    compare_for(rounds, &config, case, &mut reference);
    reference
}

#[test]
fn ma_ops() {
    for case in [coins(), ranged(), gaussian(), two()] {
        let rounds = if case.problem.guardrails.len() == 1 {
            ROUNDS
        } else {
            SHORT
        };
        let went = compare_ma_ops(&case, rounds);
        // The safe arm has more than half of the margin that there is.
        assert!(went.explored > 0 && went.found == 0, "{}", case.name);
    }
}

/// Where the safe arm's margin is narrow the search ends with another policy, and not before the outcomes can have
/// proven half of the largest margin: at the earliest if all of them were zero, at the whole of δ.
#[test]
fn ma_ops_searches_for_a_margin() {
    let mut zeros = Mixture::default();
    let half = 0.6 - 0.5 * (0.6 - 0.05);
    let mut earliest = 0;
    while zeros.upper((1.0 / DELTA).ln(), 1.0) > half {
        zeros.push(0.0);
        earliest += 1;
    }
    assert!(earliest > 5, "{earliest}");
    for seed in 0..20 {
        // An arm in `narrow`; in `opposed` a mixture of two, which each have to be tried.
        for (case, earliest) in [(narrow_with(seed), earliest), (opposed_with(seed), 2)] {
            let went = compare_ma_ops(&case, SHORT);
            assert_eq!(went.found, 1, "{} {seed}", case.name);
            assert!(
                went.explored >= earliest,
                "{} {seed}: {}",
                case.name,
                went.explored
            );
        }
    }
}

/// The index of an arm by its mean and n, infinite before the first pull. The first of those wins.
fn by_index(seen: &Seen, index: impl Fn(f64, f64) -> f64) -> Expected {
    if let Some(new) = (0..seen.k).find(|&a| seen.n(a) == 0) {
        return Expected::of(vec![seen.alone(new)]);
    }
    let of = |a: usize| index(seen.mean(a, 0).expect("pulled"), seen.n(a) as f64);
    seen.best(&(0..seen.k).map(of).collect::<Vec<f64>>())
}

#[test]
fn ucb1() {
    for exploration in [4.0, 0.5] {
        let config = agent(json!({ "kind": "ucb1", "exploration": exploration }));
        for case in cases() {
            compare(&config, &case, &mut |seen: &Seen| {
                let log = (seen.t().max(1) as f64).ln();
                by_index(seen, |mean, n| {
                    mean + seen.r(0) * (2.0 * exploration * log / n).sqrt()
                })
            });
        }
    }
}

#[test]
fn kl_ucb() {
    for c in [0.0, 3.0] {
        let config = agent(json!({ "kind": "kl_ucb", "c": c }));
        for case in cases() {
            compare(&config, &case, &mut |seen: &Seen| {
                let log = (seen.t().max(1) as f64).ln();
                let level = log + c * log.max(1.0).ln();
                by_index(seen, |mean, n| match seen.noise[0] {
                    None => kl_up(mean, level / n),
                    Some(r) => mean + r * (2.0 * level / n).sqrt(),
                })
            });
        }
    }
}

/// A draw of an arm's mean, by n and the sum.
fn posterior(seen: &Seen, arm: usize, rng: &mut ChaCha8Rng) -> f64 {
    let (n, sum) = (seen.n(arm) as f64, seen.sum(arm, 0));
    match seen.noise[0] {
        None => Beta::new(1.0 + sum, 1.0 + (n - sum))
            .expect("at least 1")
            .sample(rng),
        Some(_) if n == 0.0 => StandardUniform.sample(rng),
        Some(r) => Normal::new(sum / n, r / n.sqrt())
            .expect("finite")
            .sample(rng),
    }
}

#[test]
fn thompson() {
    let config = agent(json!({ "kind": "thompson" }));
    for case in cases() {
        let mut rng = stream();
        let went = compare(&config, &case, &mut |seen: &Seen| {
            let drawn: Vec<f64> = (0..seen.k).map(|a| posterior(seen, a, &mut rng)).collect();
            seen.best(&drawn)
        });
        assert!(went.ambiguous < 3, "{went:?}");
    }
}
