//! One guardrail when few actions change between solves.
//!
//! Actions are kept in blocks; of each block only the upper-left hull of its points (u, V) can ever
//! be optimal for a price λ ≥ 0. A changed action costs the rebuilding of its block's hull; a solve
//! costs passes over the hull points of all blocks, of which there are few.

use super::envelope::{Chord, climb, publish, revive};
use super::problem::Lp;
use super::scan::{best_within, has_twin};
use super::solution::Solution;

const BLOCK: usize = 64;

/// A one-guardrail policy LP kept up to date action by action.
///
/// ```
/// use banister_solve::BlockedLp;
///
/// let mut lp = BlockedLp::new(vec![0.1, 0.9, 0.5], vec![vec![0.0, 1.0, 0.3]]);
/// assert_eq!(lp.solve(0.3, 0).support, [(2, 1.0)]);
/// lp.set(2, 0.1, 0.3);
/// assert!(lp.solve(0.3, 0).support.iter().all(|&(a, _)| a != 2));
/// ```
#[derive(Debug, Clone)]
pub struct BlockedLp {
    reward: Vec<f64>,
    /// One row; a `Vec` of rows so that it can stand as an [`Lp`].
    cost: Vec<Vec<f64>>,
    /// Per block: its actions by increasing cost.
    order: Vec<usize>,
    /// Per block: where its hull starts in the arrays below; one more entry closes the last.
    offset: Vec<usize>,
    hull_v: Vec<f64>,
    hull_u: Vec<f64>,
    hull_action: Vec<usize>,
    /// True if an action identical to this hull point was left out of the hull.
    hull_twin: Vec<bool>,
    dirty: Vec<usize>,
    is_dirty: Vec<bool>,
    fresh: Vec<usize>,
    fresh_twin: Vec<bool>,
    warm: Option<Chord>,
    solution: Solution,
}

impl BlockedLp {
    /// Takes the rewards V and the one cost row u, of equal length.
    pub fn new(reward: Vec<f64>, cost: Vec<Vec<f64>>) -> Self {
        debug_assert!(cost.len() == 1 && cost[0].len() == reward.len());
        let k = reward.len();
        let blocks = k.div_ceil(BLOCK);
        Self {
            reward,
            cost,
            order: (0..k).collect(),
            offset: vec![0; blocks + 1],
            hull_v: Vec::with_capacity(k),
            hull_u: Vec::with_capacity(k),
            hull_action: Vec::with_capacity(k),
            hull_twin: Vec::with_capacity(k),
            dirty: (0..blocks).collect(),
            is_dirty: vec![true; blocks],
            fresh: Vec::with_capacity(BLOCK),
            fresh_twin: Vec::with_capacity(BLOCK),
            warm: None,
            solution: Solution::default(),
        }
    }

    /// Number of actions of the problem.
    #[inline]
    pub fn len(&self) -> usize {
        self.reward.len()
    }

    /// True without any action.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.reward.is_empty()
    }

    /// Gives action `action` the reward V and the cost u.
    #[inline]
    pub fn set(&mut self, action: usize, reward: f64, cost: f64) {
        if self.reward[action] == reward && self.cost[0][action] == cost {
            return;
        }
        self.reward[action] = reward;
        self.cost[0][action] = cost;
        let block = action / BLOCK;
        if !self.is_dirty[block] {
            self.is_dirty[block] = true;
            self.dirty.push(block);
        }
    }

    /// Solution of the last solve.
    #[inline]
    pub fn solution(&self) -> &Solution {
        &self.solution
    }

    /// Solves at threshold `tau`; `start` is an action with cost at most `tau`.
    pub fn solve(&mut self, tau: f64, start: usize) -> &Solution {
        while let Some(block) = self.dirty.pop() {
            self.is_dirty[block] = false;
            self.rebuild(block);
        }
        let chord = self
            .warm
            .and_then(|chord| self.place(chord))
            .and_then(|chord| revive(chord, &self.hull_v, &self.hull_u, tau))
            .or_else(|| self.cold(tau));
        let out = &mut self.solution;
        let Some(chord) = chord else {
            // Only if `start` breaks its promise: no hull point is within τ.
            debug_assert!(self.cost[0][start] > tau);
            out.set_infeasible(1);
            return out;
        };
        let solved = climb(&self.hull_v, &self.hull_u, tau, chord);
        publish(&self.hull_v, &self.hull_u, tau, &solved, out);
        for entry in &mut out.support {
            entry.0 = self.hull_action[entry.0];
        }
        out.support.sort_unstable_by_key(|&(a, _)| a);
        let Chord { lo, hi } = solved.chord;
        self.warm = Some(Chord {
            lo: self.hull_action[lo],
            hi: self.hull_action[hi],
        });
        let twins = self.hull_twin[lo] || self.hull_twin[hi];
        if twins || solved.crowded {
            let lp = Lp {
                reward: &self.reward,
                costs: &self.cost,
                thresholds: &[tau],
            };
            let twins = twins || has_twin(&self.hull_v, &self.hull_u, lo, hi);
            out.share(&lp, start, twins);
        }
        out
    }

    /// The warm start the next solve would use, as [`LpSolver::basis`](crate::LpSolver::basis).
    pub fn basis(&self) -> Vec<usize> {
        Chord::to_basis(self.warm)
    }

    /// Continues from a basis that [`BlockedLp::basis`] gave; one that does not fit is ignored.
    pub fn set_basis(&mut self, basis: &[usize]) {
        self.warm = Chord::from_basis(basis);
    }

    /// The chord in hull positions, if both its actions are hull points.
    fn place(&self, chord: Chord) -> Option<Chord> {
        let find = |action: usize| {
            let block = action / BLOCK;
            let (from, to) = (*self.offset.get(block)?, *self.offset.get(block + 1)?);
            (from..to).find(|&h| self.hull_action[h] == action)
        };
        Some(Chord {
            lo: find(chord.lo)?,
            hi: find(chord.hi)?,
        })
    }

    fn cold(&self, tau: f64) -> Option<Chord> {
        let lo = best_within(&self.hull_v, &self.hull_u, tau)?;
        Some(Chord::at(lo))
    }

    /// Recomputes one block's hull and splices it into the arrays.
    fn rebuild(&mut self, block: usize) {
        let (v, u) = (&self.reward, &self.cost[0]);
        let members = &mut self.order[block * BLOCK..((block + 1) * BLOCK).min(v.len())];
        // By cost, then the better reward first, then the lower index. Nearly sorted already, so
        // insertion is linear.
        let before = |a: usize, b: usize| (u[a], -v[a], a) < (u[b], -v[b], b);
        for i in 1..members.len() {
            let mut j = i;
            while j > 0 && before(members[j], members[j - 1]) {
                members.swap(j, j - 1);
                j -= 1;
            }
        }
        self.fresh.clear();
        self.fresh_twin.clear();
        for &p in members.iter() {
            if let Some(&last) = self.fresh.last()
                && v[p] <= v[last]
            {
                if v[p] == v[last] && u[p] == u[last] {
                    self.fresh_twin[self.fresh.len() - 1] = true;
                }
                continue;
            }
            while let [.., a, b] = self.fresh[..] {
                // b stays only if it lies strictly above the chord from a to p.
                if (v[b] - v[a]) * (u[p] - u[a]) > (v[p] - v[a]) * (u[b] - u[a]) {
                    break;
                }
                self.fresh.pop();
                self.fresh_twin.pop();
            }
            if self.fresh.len() == 1 && u[self.fresh[0]] == u[p] {
                self.fresh.clear();
                self.fresh_twin.clear();
            }
            self.fresh.push(p);
            self.fresh_twin.push(false);
        }
        let (from, to) = (self.offset[block], self.offset[block + 1]);
        let fresh = &self.fresh;
        self.hull_action.splice(from..to, fresh.iter().copied());
        self.hull_v.splice(from..to, fresh.iter().map(|&a| v[a]));
        self.hull_u.splice(from..to, fresh.iter().map(|&a| u[a]));
        self.hull_twin
            .splice(from..to, self.fresh_twin.iter().copied());
        let grown = fresh.len() as isize - (to - from) as isize;
        if grown != 0 {
            for offset in &mut self.offset[block + 1..] {
                *offset = offset.wrapping_add_signed(grown);
            }
        }
    }
}
