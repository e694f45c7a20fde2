//! Problems of many blocks, and microlp's answer to them.

use super::{Rng, round};
use banister_solve::BlockLp;

/// A problem of blocks that owns its numbers, by block; weights are multiplied in.
#[derive(Debug, Clone)]
pub struct BlockCase {
    pub safe: Vec<usize>,
    pub rewards: Vec<Vec<f64>>,
    /// By block, then by row.
    pub costs: Vec<Vec<Vec<f64>>>,
    pub local: Vec<Vec<Vec<f64>>>,
    pub thresholds: Vec<f64>,
    pub local_thresholds: Vec<f64>,
    grid: Option<f64>,
}

impl BlockCase {
    /// Half the problems live on a coarse grid. Safe actions keep the local thresholds; the thresholds
    /// are loose, tight, met exactly by the safe actions, or out of reach.
    pub fn random(rng: &mut Rng, blocks: usize, actions: usize, m: usize, q: usize) -> Self {
        let grid = [None, None, Some(4.0), Some(10.0)][rng.below(4)];
        let mut case = Self {
            safe: vec![],
            rewards: vec![],
            costs: vec![],
            local: vec![],
            thresholds: vec![0.0; m],
            local_thresholds: (0..q)
                .map(|_| round(0.2 + 0.6 * rng.unit(), grid))
                .collect(),
            grid,
        };
        for _ in 0..blocks {
            case.push(rng, actions);
        }
        let kind = rng.below(8);
        for i in 0..m {
            let rows = || case.costs.iter().zip(&case.safe);
            let safe: f64 = rows().map(|(c, &s)| c[i][s]).sum();
            let least: f64 = rows()
                .map(|(c, _)| c[i].iter().copied().fold(f64::INFINITY, f64::min))
                .sum();
            let most: f64 = rows()
                .map(|(c, _)| c[i].iter().copied().fold(f64::NEG_INFINITY, f64::max))
                .sum();
            case.thresholds[i] = match kind {
                0 => safe,
                1 => least,
                2 => most + 0.1,
                3 => least - 0.1 * rng.unit(),
                4 => least + (safe - least) * rng.unit(),
                _ => safe + (most - safe) * rng.unit(),
            };
        }
        case
    }

    pub fn push(&mut self, rng: &mut Rng, actions: usize) {
        let k = 1 + rng.below(actions);
        let (m, q) = (self.thresholds.len(), self.local_thresholds.len());
        self.safe.push(rng.below(k));
        self.rewards.push(vec![0.0; k]);
        self.costs.push(vec![vec![0.0; k]; m]);
        self.local.push(vec![vec![0.0; k]; q]);
        self.redraw(rng, self.safe.len() - 1);
    }

    /// New numbers for a block: sometimes of no weight, with duplicates, or with negative costs.
    pub fn redraw(&mut self, rng: &mut Rng, s: usize) {
        let k = self.rewards[s].len();
        let weight = match rng.below(8) {
            0 => 0.0,
            1 => 1e-6 * rng.unit(),
            _ => round(rng.unit(), self.grid),
        };
        let sign = [0.0, 0.0, -0.5][rng.below(3)];
        let grid = self.grid;
        let draw = |rng: &mut Rng, row: &mut Vec<f64>, shift: f64| {
            row.iter_mut()
                .for_each(|x| *x = weight * (round(rng.unit(), grid) + shift));
            if k > 1 && rng.below(3) == 0 {
                row[1] = row[0];
            }
        };
        draw(rng, &mut self.rewards[s], 0.0);
        for row in &mut self.costs[s] {
            draw(rng, row, sign);
        }
        for (row, &t) in self.local[s].iter_mut().zip(&self.local_thresholds) {
            row.iter_mut().for_each(|x| *x = round(rng.unit(), grid));
            let margin = if rng.below(3) == 0 { 1.0 } else { rng.unit() };
            row[self.safe[s]] = t * margin;
        }
    }

    pub fn blocks(&self) -> usize {
        self.rewards.len()
    }

    pub fn set(&self, lp: &mut BlockLp, s: usize) {
        let costs: Vec<&[f64]> = self.costs[s].iter().map(|row| &row[..]).collect();
        let local: Vec<&[f64]> = self.local[s].iter().map(|row| &row[..]).collect();
        lp.set(s, self.safe[s], &self.rewards[s], &costs, &local);
    }

    pub fn fresh(&self) -> BlockLp {
        let mut lp = BlockLp::new(self.thresholds.len(), self.local_thresholds.len());
        for s in 0..self.blocks() {
            self.set(&mut lp, s);
        }
        lp
    }

    /// True if the safe actions meet every threshold.
    pub fn has_safe(&self) -> bool {
        let cost = |i: usize| {
            let rows = self.costs.iter().zip(&self.safe);
            rows.map(|(c, &s)| c[i][s]).sum::<f64>()
        };
        (0..self.thresholds.len()).all(|i| cost(i) <= self.thresholds[i])
    }

    /// True if a safe action is on several local thresholds at once: its block may then have no
    /// other policy that keeps them in floating point.
    pub fn is_thin(&self) -> bool {
        (0..self.blocks()).any(|s| {
            let rows = self.local[s].iter().zip(&self.local_thresholds);
            rows.filter(|(row, t)| row[self.safe[s]] == **t).count() > 1
        })
    }

    /// Scale of the objective.
    pub fn scale(&self) -> f64 {
        let block = |r: &Vec<f64>| r.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
        self.rewards.iter().map(block).sum::<f64>().max(1e-3)
    }

    /// microlp's optimum with coupling thresholds moved by `by`, or `None` if infeasible.
    pub fn microlp(&self, by: f64) -> Option<f64> {
        use microlp::{ComparisonOp, OptimizationDirection, Problem};
        let mut problem = Problem::new(OptimizationDirection::Maximize);
        let vars: Vec<Vec<_>> = self
            .rewards
            .iter()
            .map(|r| {
                let add = |&v| problem.add_var(v, (0.0, f64::INFINITY));
                r.iter().map(add).collect()
            })
            .collect();
        for (s, vars) in vars.iter().enumerate() {
            problem.add_constraint(vars.iter().map(|&x| (x, 1.0)), ComparisonOp::Eq, 1.0);
            for (row, &t) in self.local[s].iter().zip(&self.local_thresholds) {
                let terms = vars.iter().copied().zip(row.iter().copied());
                problem.add_constraint(terms, ComparisonOp::Le, t);
            }
        }
        for (i, &tau) in self.thresholds.iter().enumerate() {
            let terms = vars.iter().zip(&self.costs);
            let terms = terms.flat_map(|(v, c)| v.iter().copied().zip(c[i].iter().copied()));
            problem.add_constraint(terms, ComparisonOp::Le, tau + by);
        }
        match problem.solve() {
            Ok(microlp::SolveOutcome::Solution(s)) => Some(s.objective()),
            _ => None,
        }
    }
}
