//! Cone problems that own their numbers, and a slow but plain world that produces the rounds an
//! agent would meet.

use super::Rng;
use banister_solve::ConeProblem;

/// A cone problem that owns its numbers.
#[derive(Debug, Clone, Default)]
pub struct ConeCase {
    pub reward: Vec<f64>,
    pub reward_radius: f64,
    pub along: Vec<f64>,
    pub across: Vec<f64>,
    pub stride: usize,
    pub dimension: usize,
    pub costs: Vec<Vec<f64>>,
    pub cost_radii: Vec<f64>,
    pub thresholds: Vec<f64>,
    pub safe: usize,
}

impl ConeCase {
    pub fn problem(&self) -> ConeProblem<'_> {
        ConeProblem {
            reward: &self.reward,
            reward_radius: self.reward_radius,
            along: &self.along,
            across: &self.across,
            stride: self.stride,
            dimension: self.dimension,
            costs: &self.costs,
            cost_radii: &self.cost_radii,
            thresholds: &self.thresholds,
            safe: self.safe,
        }
    }

    pub fn actions(&self) -> usize {
        self.reward.len()
    }

    pub fn z(&self, j: usize, a: usize) -> f64 {
        self.across[j * self.stride + a]
    }

    pub fn norm(&self, a: usize) -> f64 {
        (0..self.dimension)
            .map(|j| self.z(j, a).powi(2))
            .sum::<f64>()
            .sqrt()
    }

    /// The pair (s'π, ‖Zπ‖).
    pub fn parts(&self, pi: &[(usize, f64)]) -> (f64, f64) {
        let s = pi.iter().map(|&(a, w)| w * self.along[a]).sum();
        let mean = |j| pi.iter().map(|&(a, w)| w * self.z(j, a)).sum::<f64>();
        let t = (0..self.dimension).map(|j| mean(j).powi(2)).sum::<f64>();
        (s, t.sqrt())
    }

    pub fn objective(&self, pi: &[(usize, f64)]) -> f64 {
        let (s, t) = self.parts(pi);
        let linear: f64 = pi.iter().map(|&(a, w)| w * self.reward[a]).sum();
        linear + self.reward_radius * (s * s + t * t).sqrt()
    }

    pub fn cost(&self, i: usize, pi: &[(usize, f64)]) -> f64 {
        let linear: f64 = pi.iter().map(|&(a, w)| w * self.costs[i][a]).sum();
        linear + self.cost_radii[i] * self.parts(pi).1
    }

    /// The largest cost less its threshold: feasible if not positive.
    pub fn excess(&self, pi: &[(usize, f64)]) -> f64 {
        (0..self.costs.len())
            .map(|i| self.cost(i, pi) - self.thresholds[i])
            .fold(f64::NEG_INFINITY, f64::max)
    }

    /// Random numbers of no particular meaning.
    pub fn random(rng: &mut Rng, k: usize, p: usize, m: usize) -> Self {
        let stride = k + rng.below(5);
        let mut across = vec![0.0; p * stride];
        for j in 0..p {
            for a in 1..k {
                across[j * stride + a] = rng.normal();
            }
        }
        let along = (0..k).map(|_| rng.normal()).collect();
        let thresholds: Vec<f64> = (0..m).map(|_| 0.5).collect();
        let mut costs: Vec<Vec<f64>> = (0..m)
            .map(|_| (0..k).map(|_| rng.unit()).collect())
            .collect();
        for row in &mut costs {
            row[0] = 0.2;
        }
        let scale = 0.05 + rng.unit();
        Self {
            reward: (0..k).map(|_| rng.unit()).collect(),
            reward_radius: 2.0 * rng.unit(),
            along,
            across,
            stride,
            dimension: p,
            costs,
            cost_radii: (0..m).map(|_| scale * (0.1 + rng.unit())).collect(),
            thresholds,
            safe: 0,
        }
    }
}

impl Rng {
    /// Standard normal (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// A contextual world: x = (1, v)/√2, means ½ + ½⟨v, w⟩, Bernoulli outcomes. Vectors are kept
/// rotated, so that the safe action is along the last coordinate.
pub struct World {
    rng: Rng,
    k: usize,
    d: usize,
    fixed: bool,
    /// True parameters: the reward's, then one per guardrail (rotated).
    truth: Vec<Vec<f64>>,
    safe_x: Vec<f64>,
    safe_costs: Vec<f64>,
    mirror: Vec<f64>,
    gram: Vec<f64>,
    sum_reward: Vec<f64>,
    sum_costs: Vec<Vec<f64>>,
    actions: Vec<Vec<f64>>,
}

const TAU: f64 = 0.5;
const LAMBDA: f64 = 1.0;
const DELTA: f64 = 0.01;

impl World {
    pub fn new(seed: u64, k: usize, d: usize, m: usize, fixed: bool) -> Self {
        Self::with(seed, k, d, m, fixed, sphere)
    }

    /// Guardrails that are about the same thing, each in its own way: directions w + ½·(its own).
    pub fn related(seed: u64, k: usize, d: usize, m: usize) -> Self {
        let common = sphere(&mut Rng::new(seed ^ 0xBEEF), d - 1, true);
        Self::with(seed, k, d, m, false, |rng, p, unit| {
            let own = sphere(rng, p, unit);
            let sum: Vec<f64> = common.iter().zip(&own).map(|(w, o)| w + 0.5 * o).collect();
            let length = dot(&sum, &sum).sqrt();
            sum.iter().map(|x| x / length).collect()
        })
    }

    fn with(
        seed: u64,
        k: usize,
        d: usize,
        m: usize,
        fixed: bool,
        direction: impl Fn(&mut Rng, usize, bool) -> Vec<f64>,
    ) -> Self {
        let mut rng = Rng::new(seed ^ 0xC0FFEE);
        let p = d - 1;
        let (weights, v0) = loop {
            let mut weights = vec![sphere(&mut rng, p, true)];
            weights.extend((0..m).map(|_| direction(&mut rng, p, true)));
            let mut v0 = vec![0.0; p];
            for w in &weights[1..] {
                v0.iter_mut().zip(w).for_each(|(v, w)| *v -= w);
            }
            let length = dot(&v0, &v0).sqrt();
            v0.iter_mut().for_each(|v| *v *= 0.6 / length);
            if weights[1..].iter().all(|w| dot(w, &v0) < -0.1) {
                break (weights, v0);
            }
        };
        let raw = |v: &[f64]| -> Vec<f64> {
            let one = std::iter::once(1.0).chain(v.iter().copied());
            one.map(|x| x / 2f64.sqrt()).collect()
        };
        let safe_raw = raw(&v0);
        // Householder: safe_raw/‖·‖ to the last unit vector.
        let length = dot(&safe_raw, &safe_raw).sqrt();
        let mut mirror: Vec<f64> = safe_raw.iter().map(|x| x / length).collect();
        mirror[d - 1] -= 1.0;
        let mut world = Self {
            k,
            d,
            fixed,
            truth: vec![],
            safe_x: vec![],
            safe_costs: weights[1..]
                .iter()
                .map(|w| 0.5 + 0.5 * dot(w, &v0))
                .collect(),
            mirror,
            gram: vec![0.0; d * d],
            sum_reward: vec![0.0; d],
            sum_costs: vec![vec![0.0; p]; m],
            actions: vec![],
            rng,
        };
        for j in 0..d {
            world.gram[j * d + j] = LAMBDA;
        }
        world.safe_x = world.rotate(&safe_raw);
        world.safe_x[..p].fill(0.0);
        world.truth = weights.iter().map(|w| world.rotate(&raw(w))).collect();
        if fixed {
            world.draw();
        }
        world
    }

    fn rotate(&self, x: &[f64]) -> Vec<f64> {
        let square = dot(&self.mirror, &self.mirror);
        if square < 1e-30 {
            return x.to_vec();
        }
        let factor = 2.0 * dot(&self.mirror, x) / square;
        x.iter()
            .zip(&self.mirror)
            .map(|(x, h)| x - factor * h)
            .collect()
    }

    fn draw(&mut self) {
        self.actions = vec![self.safe_x.clone()];
        for _ in 1..self.k {
            let v = sphere(&mut self.rng, self.d - 1, false);
            let x: Vec<f64> = std::iter::once(1.0)
                .chain(v)
                .map(|x| x / 2f64.sqrt())
                .collect();
            let x = self.rotate(&x);
            self.actions.push(x);
        }
    }

    /// The next round's problem.
    pub fn round(&mut self) -> ConeCase {
        if !self.fixed {
            self.draw();
        }
        let (d, p, k, m) = (self.d, self.d - 1, self.k, self.safe_costs.len());
        let chol = cholesky(&self.gram, d);
        let theta = chol_solve(&chol, d, d, &self.sum_reward);
        let mus: Vec<Vec<f64>> = self
            .sum_costs
            .iter()
            .map(|b| chol_solve(&chol, d, p, b))
            .collect();
        let log_det = |n: usize| (0..n).map(|j| 2.0 * chol[j * d + j].ln()).sum::<f64>();
        let level = DELTA / (m + 1) as f64;
        let radius = |n: usize| 0.5 * (log_det(n) + 2.0 * (1.0 / level).ln()).sqrt() + 1.0;
        let margin = self
            .safe_costs
            .iter()
            .map(|c| TAU - c)
            .fold(f64::INFINITY, f64::min);
        let stride = k.div_ceil(8) * 8;
        let mut case = ConeCase {
            reward: self.actions.iter().map(|x| dot(x, &theta)).collect(),
            reward_radius: (1.0 + 2.0 / margin) * radius(d),
            along: vec![0.0; k],
            across: vec![0.0; p * stride],
            stride,
            dimension: p,
            costs: vec![vec![0.0; k]; m],
            cost_radii: vec![radius(p); m],
            thresholds: vec![TAU; m],
            safe: 0,
        };
        let safe_length = self.safe_x[p];
        for (a, x) in self.actions.iter().enumerate() {
            let y = forward(&chol, d, x);
            for j in 0..p {
                case.across[j * stride + a] = y[j];
            }
            case.along[a] = y[p];
            for i in 0..m {
                case.costs[i][a] = self.safe_costs[i] * x[p] / safe_length + dot(&x[..p], &mus[i]);
            }
        }
        case
    }

    /// Draws an action of the policy and learns from its outcome.
    pub fn play(&mut self, policy: &[(usize, f64)]) {
        let mut rest = self.rng.unit();
        let mut action = policy[0].0;
        for &(a, w) in policy {
            action = a;
            rest -= w;
            if rest < 0.0 {
                break;
            }
        }
        let (d, p) = (self.d, self.d - 1);
        let x = self.actions[action].clone();
        let reward = f64::from(self.rng.unit() < dot(&x, &self.truth[0]));
        for i in 0..self.safe_costs.len() {
            let cost = f64::from(self.rng.unit() < dot(&x, &self.truth[i + 1]));
            let known = self.safe_costs[i] * x[p] / self.safe_x[p];
            for j in 0..p {
                self.sum_costs[i][j] += (cost - known) * x[j];
            }
        }
        for i in 0..d {
            self.sum_reward[i] += reward * x[i];
            for j in 0..d {
                self.gram[i * d + j] += x[i] * x[j];
            }
        }
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// A unit vector; in one dimension, unless `unit`, a number in [−1, 1].
fn sphere(rng: &mut Rng, p: usize, unit: bool) -> Vec<f64> {
    if p == 1 && !unit {
        return vec![2.0 * rng.unit() - 1.0];
    }
    let v: Vec<f64> = (0..p).map(|_| rng.normal()).collect();
    let length = dot(&v, &v).sqrt();
    v.iter().map(|x| x / length).collect()
}

/// L with LL' the matrix, row-major.
fn cholesky(matrix: &[f64], d: usize) -> Vec<f64> {
    let mut l = vec![0.0; d * d];
    for i in 0..d {
        for j in 0..=i {
            let sum = dot(&l[i * d..i * d + j], &l[j * d..j * d + j]);
            let rest = matrix[i * d + j] - sum;
            l[i * d + j] = if i == j {
                rest.sqrt()
            } else {
                rest / l[j * d + j]
            };
        }
    }
    l
}

fn forward(l: &[f64], d: usize, b: &[f64]) -> Vec<f64> {
    let mut y = Vec::with_capacity(b.len());
    for i in 0..b.len() {
        let known = dot(&l[i * d..i * d + i], &y);
        y.push((b[i] - known) / l[i * d + i]);
    }
    y
}

/// Solves with the leading n × n block.
fn chol_solve(l: &[f64], d: usize, n: usize, b: &[f64]) -> Vec<f64> {
    let mut x = forward(l, d, &b[..n]);
    for i in (0..n).rev() {
        for r in i + 1..n {
            x[i] -= l[r * d + i] * x[r];
        }
        x[i] /= l[i * d + i];
    }
    x
}
