//! Linear problems for tests: worlds, plain dense algebra, and a ridge regression that solves the
//! normal equations directly.

// Every test file uses a part of this.
#![allow(dead_code)]

use super::Random;
use banister::{Guardrail, OplbConfig, Problem};

/// A matrix by rows.
pub type Matrix = Vec<Vec<f64>>;

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

pub fn length(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// OPLB for parameters that are at most one range long.
pub fn oplb() -> OplbConfig {
    OplbConfig {
        parameter_norm: Some(1.0),
        ..OplbConfig::default()
    }
}

/// The same with one ellipsoid per signal, all at level δ/2.
pub fn logdet() -> OplbConfig {
    OplbConfig {
        radius: Some(banister::oplb::OplbRadius::Logdet),
        optimism_delta: 0.01,
        ..oplb()
    }
}

/// The same, `exact`.
pub fn exact() -> OplbConfig {
    OplbConfig {
        solver: banister::oplb::Solver::Exact,
        ..logdet()
    }
}

/// Solves Ax = b by elimination with pivoting.
pub fn solve(a: &Matrix, b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut rows: Matrix = a
        .iter()
        .zip(b)
        .map(|(row, &b)| [&row[..], &[b]].concat())
        .collect();
    for k in 0..n {
        let best = (k..n)
            .max_by(|&i, &j| rows[i][k].abs().total_cmp(&rows[j][k].abs()))
            .unwrap_or(k);
        rows.swap(k, best);
        for i in k + 1..n {
            let factor = rows[i][k] / rows[k][k];
            for j in k..=n {
                let above = rows[k][j];
                rows[i][j] -= factor * above;
            }
        }
    }
    let mut x = vec![0.0; n];
    for k in (0..n).rev() {
        let rest: f64 = (k + 1..n).map(|j| rows[k][j] * x[j]).sum();
        x[k] = (rows[k][n] - rest) / rows[k][k];
    }
    x
}

/// ln det by elimination.
pub fn log_det(a: &Matrix) -> f64 {
    let n = a.len();
    let mut rows = a.clone();
    let mut sum = 0.0;
    for k in 0..n {
        sum += rows[k][k].ln();
        for i in k + 1..n {
            let factor = rows[i][k] / rows[k][k];
            for j in k..n {
                let above = rows[k][j];
                rows[i][j] -= factor * above;
            }
        }
    }
    sum
}

/// An orthonormal basis of the complement of `x` (of everything if x = 0), by Gram and Schmidt.
pub fn complement(x: &[f64]) -> Matrix {
    let d = x.len();
    let mut basis: Matrix = Vec::new();
    if length(x) > 0.0 {
        let n = length(x);
        basis.push(x.iter().map(|v| v / n).collect());
    }
    for j in 0..d {
        let mut v = vec![0.0; d];
        v[j] = 1.0;
        for _ in 0..2 {
            for b in &basis {
                let along = dot(b, &v);
                v.iter_mut().zip(b).for_each(|(v, b)| *v -= along * b);
            }
        }
        let n = length(&v);
        if n > 1e-6 && basis.len() < d {
            basis.push(v.iter().map(|v| v / n).collect());
        }
    }
    if length(x) > 0.0 {
        basis.remove(0);
    }
    basis
}

/// One signal's ridge regression from the data themselves: estimate, Gram matrix and basis. In the
/// complement of `x_0` where its mean there, `known`, is given.
pub struct Direct {
    pub basis: Matrix,
    pub gram: Matrix,
    pub estimate: Vec<f64>,
    pub known: Option<f64>,
    pub safe: Vec<f64>,
    pub lambda: f64,
}

impl Direct {
    pub fn new(lambda: f64, safe: &[f64], known: Option<f64>, data: &[(Vec<f64>, f64)]) -> Self {
        let d = safe.len();
        let basis = match known {
            Some(_) => complement(safe),
            None => (0..d)
                .map(|j| (0..d).map(|k| f64::from(u8::from(j == k))).collect())
                .collect(),
        };
        let p = basis.len();
        let mut gram = vec![vec![0.0; p]; p];
        let mut sums = vec![0.0; p];
        for (j, row) in gram.iter_mut().enumerate() {
            row[j] = lambda;
        }
        for (x, target) in data {
            let z: Vec<f64> = basis.iter().map(|b| dot(b, x)).collect();
            let target = target - along(safe, known, x);
            for j in 0..p {
                sums[j] += target * z[j];
                for k in 0..p {
                    gram[j][k] += z[j] * z[k];
                }
            }
        }
        Self {
            estimate: solve(&gram, &sums),
            basis,
            gram,
            known,
            safe: safe.to_vec(),
            lambda,
        }
    }

    pub fn project(&self, x: &[f64]) -> Vec<f64> {
        self.basis.iter().map(|b| dot(b, x)).collect()
    }

    /// The mean of x.
    pub fn mean(&self, x: &[f64]) -> f64 {
        along(&self.safe, self.known, x) + dot(&self.project(x), &self.estimate)
    }

    /// ‖x‖ in the inverse Gram matrix.
    pub fn width(&self, x: &[f64]) -> f64 {
        let z = self.project(x);
        dot(&z, &solve(&self.gram, &z)).sqrt()
    }

    /// R √(ln(det/λ^p) + 2 ln(1/δ_s)) + √λ S.
    pub fn radius(&self, r: f64, level: f64, s: f64) -> f64 {
        let det = log_det(&self.gram) - self.basis.len() as f64 * self.lambda.ln();
        r * (det + 2.0 * (1.0 / level).ln()).sqrt() + self.lambda.sqrt() * s
    }
}

impl Direct {
    /// Half-width at x with six levels, by definition, from inverses and determinants; `more` is added to every
    /// log-determinant but the first. S is that of the whole parameter, here in units of the signal.
    pub fn multiscale(&self, x: &[f64], r: f64, level: f64, s: f64, more: f64) -> f64 {
        let z = self.project(x);
        let solved = solve(&self.gram, &z);
        let (a, b) = (dot(&z, &solved), dot(&solved, &solved));
        let along = match self.known {
            Some(c) if length(&self.safe) > 0.0 => c / length(&self.safe),
            _ => 0.0,
        };
        let across = (s * s - along * along).max(0.0).sqrt();
        let least = (0..6)
            .map(|k| {
                let ridge = self.lambda * 16_f64.powi(k);
                let mut shifted = self.gram.clone();
                for (j, row) in shifted.iter_mut().enumerate() {
                    row[j] += ridge - self.lambda;
                }
                let det = log_det(&shifted) - z.len() as f64 * ridge.ln();
                let det = if k == 0 { det } else { det + more };
                let radius = r * (det + 2.0 * (6.0 / level).ln()).sqrt();
                radius * (a + (ridge - self.lambda) * b).sqrt()
            })
            .fold(f64::INFINITY, f64::min);
        least + self.lambda * across * b.sqrt()
    }
}

fn along(safe: &[f64], known: Option<f64>, x: &[f64]) -> f64 {
    match known {
        Some(c) if length(safe) > 0.0 => c * dot(x, safe) / dot(safe, safe),
        _ => 0.0,
    }
}

/// A linear world whose means lie in [0, 1]: x = (1, v)/√2 with ‖v‖ ≤ 1, θ = (1, w)/√2.
pub struct World {
    pub d: usize,
    pub theta: Vec<f64>,
    pub mu: Matrix,
    pub safe: Vec<f64>,
}

impl World {
    /// Costs of the safe action are about 0.2.
    pub fn new(random: &mut Random, d: usize, m: usize) -> Self {
        let direction = |random: &mut Random| unit(random, d - 1);
        let with_one = |v: Vec<f64>| -> Vec<f64> {
            std::iter::once(1.0)
                .chain(v)
                .map(|x| x / 2_f64.sqrt())
                .collect()
        };
        let theta = with_one(direction(random));
        let cost = direction(random);
        // Cost directions close to one another leave room for a safe action against all of them.
        let mu: Matrix = (0..m)
            .map(|_| {
                let other = direction(random);
                let mixed: Vec<f64> = cost.iter().zip(&other).map(|(a, b)| a + 0.3 * b).collect();
                let n = length(&mixed);
                with_one(mixed.iter().map(|v| v / n).collect())
            })
            .collect();
        let safe = with_one(cost.iter().map(|v| -0.6 * v).collect());
        Self { d, theta, mu, safe }
    }

    pub fn action(&self, random: &mut Random) -> Vec<f64> {
        let v = unit(random, self.d - 1);
        std::iter::once(1.0)
            .chain(v)
            .map(|x| x / 2_f64.sqrt())
            .collect()
    }

    pub fn actions(&self, random: &mut Random, k: usize) -> Matrix {
        (0..k).map(|_| self.action(random)).collect()
    }

    /// Guardrails at `threshold`; the safe costs are known or not.
    pub fn guardrails(&self, threshold: f64, known: bool) -> Vec<Guardrail> {
        self.mu
            .iter()
            .enumerate()
            .map(|(i, mu)| Guardrail {
                name: format!("cost {i}"),
                at_most: Some(threshold),
                safe_cost: known.then(|| dot(mu, &self.safe)),
                ..Guardrail::default()
            })
            .collect()
    }

    pub fn problem(&self, threshold: f64, known: bool) -> Problem {
        Problem::contextual(self.safe.clone(), self.guardrails(threshold, known))
    }

    /// Bernoulli outcomes of an action.
    pub fn pull(&self, random: &mut Random, x: &[f64]) -> (f64, Vec<f64>) {
        let reward = random.bernoulli(dot(&self.theta, x));
        let costs = self.mu.iter().map(|mu| dot(mu, x)).collect::<Vec<_>>();
        (
            reward,
            costs.into_iter().map(|c| random.bernoulli(c)).collect(),
        )
    }
}

/// A point on the unit sphere.
pub fn unit(random: &mut Random, d: usize) -> Vec<f64> {
    let v: Vec<f64> = (0..d).map(|_| random.normal()).collect();
    let n = length(&v);
    v.iter().map(|x| x / n).collect()
}
