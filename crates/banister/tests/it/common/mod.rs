//! Random data, problems and a brute-force LP, shared by the tests of the core.

// Every test file uses a part of this.
#![allow(dead_code)]

pub mod linear;
pub mod player;
pub mod verbs;

use std::collections::BTreeMap;

use banister::interval::Interval;
use banister::toolkit::CheckedProblem;
use banister::{Agent, Error, Guardrail, Opb, Outcome, Problem};
use rand::{Rng as _, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A seeded source of test data.
pub struct Random(ChaCha8Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform on [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn between(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.unit()
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    pub fn bernoulli(&mut self, p: f64) -> f64 {
        f64::from(u8::from(self.unit() < p))
    }

    /// Standard normal, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.unit()).cos()
    }

    pub fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// ω_j for k arms declared.
pub fn share_of(j: usize, k: usize) -> f64 {
    let (j, k0) = (j as f64, k.min(8) as f64);
    let declared = if j <= k as f64 { 0.5 / k as f64 } else { 0.0 };
    declared + 0.5 * (k0 + 1.0) / ((j + k0) * (j + k0 + 1.0))
}

/// Takes outcomes of arms as one batch.
pub fn observe_batch(
    agent: &mut dyn Agent,
    outcomes: &[(usize, f64, &[f64])],
) -> Result<(), Error> {
    let each = outcomes.iter();
    banister::observe_all(
        agent,
        each.map(|&(arm, reward, costs)| Outcome::of_arm(arm, reward, costs)),
    )
}

/// Reads what an inline table of TOML declares.
#[track_caller]
pub fn read<T: serde::de::DeserializeOwned>(keys: &str) -> T {
    let mut read: BTreeMap<String, T> =
        toml::from_str(&format!("all = {{ {keys} }}")).unwrap_or_else(|e| panic!("{keys}: {e}"));
    read.remove("all").expect("it was written")
}

/// Rows of a table: cells apart by `|`, the last one split into words apart by `&`.
pub fn rows(table: &str) -> impl Iterator<Item = (Vec<&str>, Vec<&str>)> {
    let lines = table.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| {
        let mut cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let words = cells.pop().expect("words").split(" & ").map(str::trim);
        (cells, words.collect())
    })
}

/// Asserts that an error names everything.
#[track_caller]
pub fn refused<T, E: ToString>(result: Result<T, E>, words: &[&str], what: &str) {
    let Err(error) = result else {
        panic!("{what} must be refused");
    };
    let message = error.to_string();
    for word in words {
        assert!(
            message.contains(word),
            "{what}: `{word}` is not in: {message}"
        );
    }
}

/// `at_most` on a [0, 1] signal.
pub fn at_most(threshold: f64, safe_cost: Option<f64>) -> Guardrail {
    Guardrail {
        name: "cost".into(),
        at_most: Some(threshold),
        safe_cost,
        ..Guardrail::default()
    }
}

/// `k` arms named `arm 0`…, arm 0 safe, with guardrails renamed so that they differ.
pub fn problem(k: usize, guardrails: Vec<Guardrail>) -> Problem {
    let rename = |(i, g): (usize, Guardrail)| Guardrail {
        name: format!("{} {i}", g.name),
        ..g
    };
    Problem {
        arms: (0..k).map(|a| format!("arm {a}")).collect(),
        safe: 0,
        guardrails: guardrails.into_iter().enumerate().map(rename).collect(),
        ..Default::default()
    }
}

/// The paper's instance: means of rewards and costs; arm 0 is safe.
pub const PAPER_REWARDS: [f64; 4] = [0.1, 0.2, 0.4, 0.7];
pub const PAPER_COSTS: [f64; 4] = [0.0, 0.4, 0.5, 0.2];

/// The bounds an agent works with, put together again from its intervals, in standard units.
#[derive(Debug, Clone)]
pub struct Rebuilt {
    pub reward_upper: Vec<f64>,
    pub lower: Vec<Vec<f64>>,
    pub upper: Vec<Vec<f64>>,
    pub thresholds: Vec<f64>,
    pub margins: Vec<f64>,
}

impl Rebuilt {
    /// From the public intervals of an agent whose arm 0 is safe and none is retired.
    pub fn of(agent: &Opb) -> Self {
        let problem: &CheckedProblem = agent.problem();
        let k = agent.view().arms.len();
        let interval =
            |a: usize, s: usize| -> Interval { agent.interval(a, s).expect("a signal of an arm") };
        let mut rebuilt = Self {
            reward_upper: (0..k).map(|a| interval(a, 0).upper).collect(),
            lower: Vec::new(),
            upper: Vec::new(),
            thresholds: Vec::new(),
            margins: Vec::new(),
        };
        for (i, g) in problem.guardrails.iter().enumerate() {
            let (mut lower, mut upper) = (vec![0.0; k], vec![0.0; k]);
            let safe = interval(0, i + 1);
            for a in 0..k {
                let own = interval(a, i + 1);
                let f = g.factor;
                (lower[a], upper[a]) = match (a, g.safe_cost) {
                    (0, Some(c)) => (c, c),
                    (0, None) if f > 1.0 => ((1.0 - f) * safe.upper, (1.0 - f) * safe.lower),
                    (0, None) => ((1.0 - f) * safe.lower, (1.0 - f) * safe.upper),
                    _ => (own.lower - f * safe.upper, own.upper - f * safe.lower),
                };
            }
            rebuilt.margins.push(g.threshold - upper[0]);
            rebuilt.thresholds.push(g.threshold);
            rebuilt.lower.push(lower);
            rebuilt.upper.push(upper);
        }
        rebuilt
    }

    /// R̄.
    pub fn optimistic_value(&self) -> f64 {
        brute_force_lp(&self.reward_upper, &self.lower, &self.thresholds)
            .expect("the safe arm is feasible")
            .0
    }

    /// D_a.
    pub fn spread(&self) -> Vec<f64> {
        let width = |i: usize, a: usize| self.upper[i][a] - self.lower[i][a];
        (0..self.reward_upper.len())
            .map(|a| {
                (0..self.margins.len())
                    .map(|i| width(i, a) / self.margins[i])
                    .fold(0.0, f64::max)
            })
            .collect()
    }

    /// The value of the pessimistic LP with V = U + κD.
    pub fn pessimistic_value(&self, kappa: f64) -> f64 {
        let spread = self.spread();
        let v: Vec<f64> = self
            .reward_upper
            .iter()
            .zip(&spread)
            .map(|(u, d)| u + kappa * d)
            .collect();
        brute_force_lp(&v, &self.upper, &self.thresholds)
            .expect("the safe arm is feasible")
            .0
    }
}

/// max π·v over the simplex with π·costs_i ≤ thresholds_i by trying every basis: value and policy.
pub fn brute_force_lp(
    v: &[f64],
    costs: &[Vec<f64>],
    thresholds: &[f64],
) -> Option<(f64, Vec<f64>)> {
    let (k, m) = (v.len(), costs.len());
    let mut best: Option<(f64, Vec<f64>)> = None;
    let mut basis: Vec<usize> = (0..=m).collect();
    loop {
        if let Some(policy) = basic_policy(&basis, k, costs, thresholds) {
            let value = policy.iter().zip(v).map(|(p, v)| p * v).sum();
            if best.as_ref().is_none_or(|(b, _)| value > *b) {
                best = Some((value, policy));
            }
        }
        // The next combination of m + 1 out of K actions and m slacks.
        let Some(i) = (0..=m).rev().find(|&i| basis[i] < k + m - 1 - (m - i)) else {
            return best;
        };
        basis[i] += 1;
        for j in i + 1..=m {
            basis[j] = basis[j - 1] + 1;
        }
    }
}

/// The policy of a basis, if it is one.
fn basic_policy(
    basis: &[usize],
    k: usize,
    costs: &[Vec<f64>],
    thresholds: &[f64],
) -> Option<Vec<f64>> {
    let n = basis.len();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for i in 0..n {
        let mut row: Vec<f64> = basis
            .iter()
            .map(|&column| match (i, column < k) {
                (0, true) => 1.0,
                (0, false) => 0.0,
                (_, true) => costs[i - 1][column],
                (_, false) => f64::from(u8::from(column - k == i - 1)),
            })
            .collect();
        row.push(if i == 0 { 1.0 } else { thresholds[i - 1] });
        rows.push(row);
    }
    for c in 0..n {
        let pivot = (c..n).max_by(|&a, &b| rows[a][c].abs().total_cmp(&rows[b][c].abs()))?;
        rows.swap(c, pivot);
        if rows[c][c].abs() < 1e-12 {
            return None;
        }
        for r in 0..n {
            if r != c {
                let factor = rows[r][c] / rows[c][c];
                for j in c..=n {
                    rows[r][j] -= factor * rows[c][j];
                }
            }
        }
    }
    let mut policy = vec![0.0; k];
    for (r, &column) in basis.iter().enumerate() {
        let x = rows[r][n] / rows[r][r];
        if x < -1e-11 {
            return None;
        }
        if column < k {
            policy[column] = x.max(0.0);
        }
    }
    Some(policy)
}

/// kl(p, p + d) with log1p, so that the first-order terms cancel to rounding of d, not of one.
fn divergence(p: f64, d: f64) -> f64 {
    let left = if p > 0.0 { p * (d / p).ln_1p() } else { 0.0 };
    let right = if p < 1.0 {
        (1.0 - p) * (-d / (1.0 - p)).ln_1p()
    } else {
        0.0
    };
    -(left + right)
}

/// The largest d with kl(p, p + d) ≤ level, by bisection on the definition.
pub fn distance_up(p: f64, level: f64) -> f64 {
    let (mut inside, mut outside) = (0.0, 1.0 - p);
    for _ in 0..300 {
        let middle = 0.5 * (inside + outside);
        if divergence(p, middle) <= level {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}

/// The largest d with kl(p, p − d) ≤ level.
pub fn distance_down(p: f64, level: f64) -> f64 {
    let (mut inside, mut outside) = (0.0, p);
    for _ in 0..300 {
        let middle = 0.5 * (inside + outside);
        if divergence(p, -middle) <= level {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}
