//! Problems to solve and other people's solvers to solve them with.
//!
//! Every test file uses its own part of this.
#![allow(dead_code)]

pub mod cone;
pub mod oracles;
pub mod segments;

use banister_solve::Lp;

/// SplitMix64: enough randomness for test problems, without a dependency.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// A policy LP that owns its numbers. Action 0 meets every threshold unless dropped.
#[derive(Debug, Clone)]
pub struct Case {
    pub reward: Vec<f64>,
    pub costs: Vec<Vec<f64>>,
    pub thresholds: Vec<f64>,
    grid: Option<f64>,
}

impl Case {
    /// Half the problems live on a coarse grid, so that ties, duplicate actions, degenerate vertices
    /// and thresholds met exactly are the rule.
    pub fn random(rng: &mut Rng, m: usize, max_actions: usize) -> Self {
        let grid = match rng.below(4) {
            0 => Some(4.0),
            1 => Some(10.0),
            _ => None,
        };
        let actions = 1 + rng.below(max_actions);
        Self::draw(rng, m, actions, grid)
    }

    /// Few actions with all numbers on a grid; rewards, costs and thresholds alike.
    pub fn on_grid(rng: &mut Rng, m: usize, actions: usize, grid: f64) -> Self {
        let mut number = || (rng.unit() * (grid + 1.0)).floor() / grid;
        Self {
            reward: (0..actions).map(|_| number()).collect(),
            costs: (0..m)
                .map(|_| (0..actions).map(|_| number()).collect())
                .collect(),
            thresholds: (0..m).map(|_| number()).collect(),
            grid: Some(grid),
        }
    }

    /// A problem without ties.
    pub fn smooth(rng: &mut Rng, m: usize, actions: usize) -> Self {
        Self::draw(rng, m, actions, None)
    }

    fn draw(rng: &mut Rng, m: usize, k: usize, grid: Option<f64>) -> Self {
        let number = |rng: &mut Rng| round(rng.unit(), grid);
        let thresholds: Vec<f64> = (0..m)
            .map(|_| round(0.1 + 0.9 * rng.unit(), grid))
            .collect();
        let reward = (0..k).map(|_| number(rng)).collect();
        let mut costs: Vec<Vec<f64>> = (0..m)
            .map(|_| (0..k).map(|_| number(rng)).collect())
            .collect();
        for i in 0..m {
            costs[i][0] = thresholds[i] * round(rng.unit(), grid).min(0.9);
        }
        Self {
            reward,
            costs,
            thresholds,
            grid,
        }
    }

    pub fn lp(&self) -> Lp<'_> {
        Lp {
            reward: &self.reward,
            costs: &self.costs,
            thresholds: &self.thresholds,
        }
    }

    pub fn safe(&self) -> usize {
        0
    }

    /// New numbers for one action other than the safe one; returns it.
    pub fn change_one_action(&mut self, rng: &mut Rng) -> usize {
        if self.reward.len() == 1 {
            self.reward[0] = round(rng.unit(), self.grid);
            return 0;
        }
        let a = 1 + rng.below(self.reward.len() - 1);
        self.reward[a] = round(rng.unit(), self.grid);
        for row in &mut self.costs {
            row[a] = round(rng.unit(), self.grid);
        }
        a
    }

    /// Makes the safe action dear, so that the problem may be infeasible.
    pub fn drop_safe(&mut self) {
        for (row, tau) in self.costs.iter_mut().zip(&self.thresholds) {
            for cost in row.iter_mut() {
                *cost = 0.55 * tau + 0.9 * *cost;
            }
            row[0] = 2.0;
        }
    }

    /// The same with thresholds lowered by `by`.
    pub fn tightened(&self, by: f64) -> Self {
        let mut other = self.clone();
        other.thresholds.iter_mut().for_each(|tau| *tau -= by);
        other
    }

    pub fn reversed(&self) -> Self {
        let mut other = self.clone();
        other.reward.reverse();
        other.costs.iter_mut().for_each(|row| row.reverse());
        other
    }
}

pub fn round(x: f64, grid: Option<f64>) -> f64 {
    grid.map_or(x, |g| (x * g).round() / g)
}

/// microlp's optimum, or `None` if infeasible.
pub fn microlp_value(case: &Case) -> Option<f64> {
    use microlp::{ComparisonOp, OptimizationDirection, Problem};
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let vars: Vec<_> = case
        .reward
        .iter()
        .map(|&v| problem.add_var(v, (0.0, f64::INFINITY)))
        .collect();
    problem.add_constraint(vars.iter().map(|&x| (x, 1.0)), ComparisonOp::Eq, 1.0);
    for (row, &tau) in case.costs.iter().zip(&case.thresholds) {
        problem.add_constraint(
            vars.iter().copied().zip(row.iter().copied()),
            ComparisonOp::Le,
            tau,
        );
    }
    match problem.solve() {
        Ok(microlp::SolveOutcome::Solution(s)) => Some(s.objective()),
        _ => None,
    }
}

/// Clarabel's value of the optimum.
pub fn clarabel_value(case: &Case) -> f64 {
    use clarabel::algebra::CscMatrix;
    use clarabel::solver::*;
    let (k, m) = (case.reward.len(), case.costs.len());
    let objective: Vec<f64> = case.reward.iter().map(|v| -v).collect();
    // Rows: sum to one, m thresholds, K signs.
    let mut rows = vec![vec![1.0; k]];
    rows.extend(case.costs.iter().cloned());
    rows.extend((0..k).map(|a| (0..k).map(|b| if a == b { -1.0 } else { 0.0 }).collect()));
    let matrix = CscMatrix::from(&rows);
    let mut bounds = vec![1.0];
    bounds.extend(&case.thresholds);
    bounds.extend(vec![0.0; k]);
    let cones = [
        SupportedConeT::ZeroConeT(1),
        SupportedConeT::NonnegativeConeT(m + k),
    ];
    let settings = DefaultSettings {
        verbose: false,
        ..DefaultSettings::default()
    };
    let mut solver = DefaultSolver::new(
        &CscMatrix::zeros((k, k)),
        &objective,
        &matrix,
        &bounds,
        &cones,
        settings,
    )
    .expect("a well-formed problem");
    solver.solve();
    -solver.solution.obj_val
}

/// The best corner, over every choice of actions and of rows that are tight; `None` if there is none.
pub fn corners_value(case: &Case) -> Option<f64> {
    let (k, m) = (case.reward.len(), case.costs.len());
    let mut best: Option<f64> = None;
    for actions in 1..1_u32 << k {
        let support: Vec<usize> = (0..k).filter(|a| actions >> a & 1 == 1).collect();
        for tight in 0..1_u32 << m {
            if tight.count_ones() as usize + 1 != support.len() {
                continue;
            }
            let rows = (0..m).filter(|i| tight >> i & 1 == 1);
            let mut system: Vec<Vec<f64>> = rows
                .map(|i| {
                    let row = support.iter().map(|&a| case.costs[i][a]);
                    row.chain([case.thresholds[i]]).collect()
                })
                .collect();
            system.push(vec![1.0; support.len() + 1]);
            let Some(mass) = solve_system(system) else {
                continue;
            };
            let sum =
                |row: &[f64]| -> f64 { support.iter().zip(&mass).map(|(&a, p)| p * row[a]).sum() };
            let mut rows = case.costs.iter().zip(&case.thresholds);
            if mass.iter().all(|&p| p > -1e-11) && rows.all(|(row, tau)| sum(row) < tau + 1e-11) {
                best = Some(best.map_or(sum(&case.reward), |best| best.max(sum(&case.reward))));
            }
        }
    }
    best
}

/// Solves a square system, its right side last, by elimination; `None` if it is singular.
fn solve_system(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = rows.len();
    for c in 0..n {
        let p = (c..n).max_by(|&a, &b| rows[a][c].abs().total_cmp(&rows[b][c].abs()))?;
        rows.swap(c, p);
        if rows[c][c].abs() < 1e-9 {
            return None;
        }
        for r in (0..n).filter(|&r| r != c) {
            let factor = rows[r][c] / rows[c][c];
            for x in c..=n {
                rows[r][x] -= factor * rows[c][x];
            }
        }
    }
    Some((0..n).map(|r| rows[r][n] / rows[r][r]).collect())
}

/// The paper's suggestion for one guardrail: try every action and every pair.
pub fn pairs_value(case: &Case) -> f64 {
    let (v, u, tau) = (&case.reward, &case.costs[0], case.thresholds[0]);
    let mut best = f64::NEG_INFINITY;
    for i in (0..v.len()).filter(|&i| u[i] <= tau) {
        best = best.max(v[i]);
        for j in (0..v.len()).filter(|&j| u[j] > tau) {
            let share = (tau - u[i]) / (u[j] - u[i]);
            best = best.max((1.0 - share) * v[i] + share * v[j]);
        }
    }
    best
}
