//! One coupling row: the hulls' edges by decreasing slope, taken while the threshold lasts.
//!
//! The optimal table takes the edges of all hulls in the order of their slopes, ties by block, until
//! the next one would exceed τ; of that one it takes a part, so at most one block mixes, and its slope
//! is the price. The blocks' corners of the last solve are kept, with two tournaments that know the next
//! edge to take and the last one taken: after a change we walk from there.

use super::problem::BlockSolution;
use super::table::{Block, BlockTable};
use crate::lp::Status;

/// Recounts after which the walk only goes down. Rounding only: the first one nearly always agrees.
const RECOUNTS: usize = 8;

#[derive(Debug, Clone)]
pub(super) struct Merged {
    hulls: Vec<Hull>,
    /// Corner per block: the edges before it are taken.
    at: Vec<usize>,
    /// By the slope of the next edge, and by minus the slope of the last one taken.
    next: Tournament,
    last: Tournament,
    /// End of the last solve: edges before it, by slope and then by block, are taken.
    end: (f64, usize),
    /// Total cost of the corners.
    cost: f64,
    mixed: Option<usize>,
    touched: Vec<usize>,
    /// True if the table is not that of the corners.
    displaced: bool,
}

impl Default for Merged {
    fn default() -> Self {
        Self {
            hulls: vec![],
            at: vec![],
            next: Tournament::new(false),
            last: Tournament::new(true),
            end: (f64::INFINITY, 0),
            cost: 0.0,
            mixed: None,
            touched: vec![],
            displaced: false,
        }
    }
}

impl Merged {
    pub(super) fn solve(
        &mut self,
        blocks: &[Block],
        dirty: &[usize],
        tau: f64,
        table: &mut BlockTable,
        out: &mut BlockSolution,
    ) {
        (out.status, out.pivots, out.retreats) = (Status::Optimal, 0, 0);
        self.touched.clear();
        self.update(blocks, dirty, table);
        out.pivots = self.walk_to(tau, table);
        let value = table.value();
        let spare = tau - self.cost;
        let edge = self.next.winner();
        self.end = edge.map_or((0.0, 0), |(block, slope)| (slope, block));
        let price = self.end.0;
        out.prices[0] = price;
        out.upper_bound = value + price * spare;
        if !out.upper_bound.is_finite() {
            out.prices[0] = 0.0;
            let tops = self.hulls[..blocks.len()].iter();
            out.upper_bound = tops
                .filter_map(|h| h.corners.last())
                .map(|c| c.reward)
                .sum();
        }
        if spare < 0.0 {
            return self.give_up(blocks, tau, table, out);
        }
        for i in 0..self.touched.len() {
            let s = self.touched[i];
            let corner = self.hulls[s].corners[self.at[s]];
            if edge.is_none_or(|(block, _)| block != s) {
                table.put(s, &blocks[s], &[(corner.action, 1.0)]);
            }
        }
        if let Some((s, _)) = edge {
            out.retreats = self.mix(s, &blocks[s], tau, table);
        }
        out.costs[0] = table.cost(0);
        out.value = table.value();
        out.upper_bound = out.upper_bound.max(out.value);
    }

    /// New hulls for the dirty blocks, with the corners that the end of the last solve says.
    fn update(&mut self, blocks: &[Block], dirty: &[usize], table: &mut BlockTable) {
        let n = blocks.len();
        // A long walk must not allocate: dirty blocks, the mixed one, and edges one way.
        let edges: usize = blocks.iter().map(|block| block.rewards.len()).sum();
        self.touched.reserve(n + edges + 1);
        for s in n..self.at.len() {
            self.cost -= self.hulls[s].corners[self.at[s]].cost;
            self.next.set(s, None);
            self.last.set(s, None);
        }
        let known = self.at.len().min(n);
        self.at.resize(n, 0);
        if let Some(s) = self.mixed.take().filter(|&s| s < n) {
            self.touched.push(s);
            self.place(s, table, false);
        }
        if self.hulls.len() < n {
            self.hulls.resize_with(n, Hull::default);
        }
        let grown = self.next.reserve(n) | self.last.reserve(n);
        // Many changes: one replay of each tournament in the end.
        let replay = grown || self.displaced || dirty.len() > n / 8;
        for &s in dirty {
            if s < known {
                self.cost -= self.hulls[s].corners[self.at[s]].cost;
            }
            let hull = &mut self.hulls[s];
            hull.build(&blocks[s]);
            let taken = |slope: f64| (-slope, s) < (-self.end.0, self.end.1);
            self.at[s] = hull.slopes.partition_point(|&slope| taken(slope));
            self.cost += hull.corners[self.at[s]].cost;
            if !self.displaced {
                self.touched.push(s);
                self.place(s, table, !replay);
            }
        }
        if self.displaced {
            self.touched.extend(0..n);
            for s in 0..n {
                self.place(s, table, false);
            }
        }
        if grown {
            for s in 0..n {
                self.enter(s);
            }
        }
        if replay {
            self.next.replay();
            self.last.replay();
        }
        self.displaced = false;
    }

    fn enter(&mut self, s: usize) {
        let (hull, at) = (&self.hulls[s], self.at[s]);
        self.next.enter(s, hull.next(at));
        self.last.enter(s, hull.last(at).map(|slope| -slope));
    }

    /// Tells the table and the tournaments which corner a block is at.
    fn place(&mut self, s: usize, table: &mut BlockTable, replay: bool) {
        let (hull, at) = (&self.hulls[s], self.at[s]);
        let corner = hull.corners[at];
        table.contribute(s, corner.reward, corner.cost);
        if replay {
            self.next.set(s, hull.next(at));
            self.last.set(s, hull.last(at).map(|slope| -slope));
        } else {
            self.enter(s);
        }
    }

    /// Takes and gives back edges until the next one would exceed `tau`; returns their number.
    fn walk_to(&mut self, tau: f64, table: &mut BlockTable) -> usize {
        let (mut steps, mut recounts) = (0, 0);
        loop {
            let before = steps;
            while self.cost > tau
                && let Some((s, _)) = self.last.winner()
            {
                self.step(s, self.at[s] - 1, table);
                steps += 1;
            }
            while recounts < RECOUNTS
                && let Some((s, _)) = self.next.winner()
                && self.cost + self.step_cost(s, self.at[s] + 1) <= tau
            {
                self.step(s, self.at[s] + 1, table);
                steps += 1;
            }
            if steps == before && recounts > 0 {
                return steps;
            }
            // The sum as published decides, not the one kept on the way.
            self.cost = table.cost(0);
            recounts += 1;
        }
    }

    fn step_cost(&self, s: usize, to: usize) -> f64 {
        let corners = &self.hulls[s].corners;
        corners[to].cost - corners[self.at[s]].cost
    }

    fn step(&mut self, s: usize, to: usize, table: &mut BlockTable) {
        self.cost += self.step_cost(s, to);
        self.at[s] = to;
        self.touched.push(s);
        self.place(s, table, true);
    }

    /// Takes the part of a block's next edge that `tau` allows; returns the steps back from rounding.
    fn mix(&mut self, s: usize, block: &Block, tau: f64, table: &mut BlockTable) -> usize {
        let [near, far] = [0, 1].map(|i| self.hulls[s].corners[self.at[s] + i]);
        let width = far.cost - near.cost;
        // The whole edge is too long, if only by rounding.
        let most = 1.0 - 0.5 * f64::EPSILON;
        let mut beyond = ((tau - self.cost) / width).min(most);
        let (mut step, mut retreats) = (f64::EPSILON, 0);
        while beyond > 0.0 && beyond < 1.0 {
            let mut pair = [(near.action, 1.0 - beyond), (far.action, beyond)];
            pair.sort_unstable_by_key(|entry| entry.0);
            table.put(s, block, &pair);
            let excess = table.cost(0) - tau;
            if excess <= 0.0 {
                self.mixed = Some(s);
                return retreats;
            }
            beyond = (beyond * (1.0 - step)).min(beyond - excess / width);
            step = (2.0 * step).min(1.0);
            retreats += 1;
        }
        table.put(s, block, &[(near.action, 1.0)]);
        retreats
    }

    /// Even the cheapest table exceeds τ: the safe one may not, by a rounding.
    #[cold]
    fn give_up(
        &mut self,
        blocks: &[Block],
        tau: f64,
        table: &mut BlockTable,
        out: &mut BlockSolution,
    ) {
        self.displaced = true;
        if table.retreat_to_safe(blocks, &[tau]) {
            out.costs[0] = table.cost(0);
            out.value = table.value();
            out.upper_bound = out.upper_bound.max(out.value);
        } else {
            table.clear();
            out.set_infeasible();
        }
    }
}

/// The concave hull of one block's points (c, r), from the cheapest action to the most rewarding: corners by increasing
/// cost, and the slopes of the edges between them, which decrease.
#[derive(Debug, Clone, Default)]
pub(super) struct Hull {
    order: Vec<usize>,
    pub corners: Vec<Corner>,
    pub slopes: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Corner {
    pub action: usize,
    pub cost: f64,
    pub reward: f64,
}

impl Hull {
    pub(super) fn build(&mut self, block: &Block) {
        let (r, c) = (&block.rewards, &block.costs[0]);
        if self.order.len() != r.len() {
            self.order.clear();
            self.order.extend(0..r.len());
        }
        // Of identical actions the safe one stands first, then the lower index.
        self.order.sort_unstable_by(|&a, &b| {
            let cost = c[a].total_cmp(&c[b]);
            let reward = || r[b].total_cmp(&r[a]);
            let index = || (a != block.safe, a).cmp(&(b != block.safe, b));
            cost.then_with(reward).then_with(index)
        });
        self.corners.clear();
        self.slopes.clear();
        // A hull that gains corners late must not allocate.
        self.corners.reserve(r.len());
        self.slopes.reserve(r.len());
        for &action in &self.order {
            let (cost, reward) = (c[action], r[action]);
            let corner = Corner {
                action,
                cost,
                reward,
            };
            let Some(mut last) = self.corners.last().copied() else {
                self.corners.push(corner);
                continue;
            };
            if reward <= last.reward {
                continue;
            }
            let mut slope = last.slope_to(corner);
            // The slopes as rounded decide, so that they decrease strictly.
            while self.slopes.last().is_some_and(|&before| slope >= before) {
                self.slopes.pop();
                self.corners.pop();
                last = self.corners[self.slopes.len()];
                slope = last.slope_to(corner);
            }
            self.corners.push(corner);
            self.slopes.push(slope);
        }
    }

    /// Slope of the edge that leaves corner `at` towards higher cost, if any.
    pub(super) fn next(&self, at: usize) -> Option<f64> {
        self.slopes.get(at).copied()
    }

    /// Slope of the edge that arrives at corner `at`, if any.
    pub(super) fn last(&self, at: usize) -> Option<f64> {
        self.slopes[..at].last().copied()
    }
}

impl Corner {
    fn slope_to(self, other: Self) -> f64 {
        // Costs that differ by next to nothing must not make a price infinite.
        ((other.reward - self.reward) / (other.cost - self.cost)).min(f64::MAX)
    }
}

/// The block with the largest key, kept up to date block by block: a tree of winners over the blocks' keys.
#[derive(Debug, Clone)]
pub(super) struct Tournament {
    /// Node 1 is the root, the leaves are the last half.
    nodes: Vec<(f64, u32)>,
    /// True if of equal keys the later block wins.
    later: bool,
}

/// Key of a block that does not take part.
const OUT: f64 = f64::NEG_INFINITY;

impl Tournament {
    pub(super) fn new(later: bool) -> Self {
        Self {
            nodes: vec![(OUT, 0); 2],
            later,
        }
    }

    fn leaves(&self) -> usize {
        self.nodes.len() / 2
    }

    /// Makes room for this many blocks. Keys are lost where it grows: true if so.
    pub(super) fn reserve(&mut self, blocks: usize) -> bool {
        if blocks <= self.leaves() {
            return false;
        }
        let leaves = blocks.next_power_of_two();
        self.nodes.clear();
        self.nodes.resize(2 * leaves, (OUT, 0));
        for (block, leaf) in self.nodes[leaves..].iter_mut().enumerate() {
            leaf.1 = block as u32;
        }
        true
    }

    /// Sets a key without replaying; [`Tournament::replay`] must follow.
    pub(super) fn enter(&mut self, block: usize, key: Option<f64>) {
        let leaf = self.leaves() + block;
        self.nodes[leaf] = (key.unwrap_or(OUT), block as u32);
    }

    pub(super) fn replay(&mut self) {
        for node in (1..self.leaves()).rev() {
            self.nodes[node] = self.winner_at(node);
        }
    }

    pub(super) fn set(&mut self, block: usize, key: Option<f64>) {
        self.enter(block, key);
        let mut node = (self.leaves() + block) / 2;
        while node > 0 {
            self.nodes[node] = self.winner_at(node);
            node /= 2;
        }
    }

    #[inline]
    fn winner_at(&self, node: usize) -> (f64, u32) {
        let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
        let first = if self.later {
            left.0 > right.0
        } else {
            left.0 >= right.0
        };
        if first { left } else { right }
    }

    /// The winning block and its key, if any block takes part.
    #[inline]
    pub(super) fn winner(&self) -> Option<(usize, f64)> {
        let (key, block) = self.nodes[1];
        (key > OUT).then_some((block as usize, key))
    }
}
