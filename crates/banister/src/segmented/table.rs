//! The table of policies: one distribution over arms per block, under thresholds over all of them and in each.
//!
//! With frequencies p of blocks the program is
//!
//! ```text
//!   maximise Σ_s p_s π_s·V_s   subject to   sup_p Σ_s p_s π_s·u_{s,i} ≤ τ_i  (overall),   π_s·u_{s,j} ≤ τ_j  (each),
//! ```
//!
//! sup over the confidence set of p. The supremum is linear in the table at the frequencies that attain it: the
//! block program is solved with those of the last table, and the table mixed with the base's, as far as that
//! needs, until its own supremum keeps the threshold (`frequencies`: the bound is convex). V is that of `index`
//! optimism (`optimism/mod.rs`) with one κ for all blocks, n_s of a segment's own outcomes taking the place of t.

use banister_solve::{BlockLp, Status};

use super::KnownArms;
use super::block::Block;
use super::frequencies::Counts;
use super::overall::{Contexts, Overall};
use super::segments::{POOL, Segments};
use crate::optimism::{AtKappa, find_least};
use crate::problem::{CheckedProblem, Scope};

/// Rounds of the program and its worst frequencies.
const ROUNDS: usize = 3;
/// Excess over a threshold that is left to mixing, as a share of the margin.
const CLOSE: f64 = 1e-4;
/// Columns whose program is cheap enough to be made anew every time.
const CHEAP: usize = 64;

/// The two programs of a plan.
#[derive(Debug, Clone, Copy)]
enum Program {
    /// The one whose value is R̃.
    Optimistic,
    /// The one whose answer is the table.
    Pessimistic,
}

/// Verdict on the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TableStatus {
    /// The table holds.
    Planned,
    /// The margin of the base is not proven.
    NoMargin,
    /// The solver gave no table that checks.
    Failed,
}

/// The table, remembering where it stopped.
#[derive(Debug, Clone)]
pub(super) struct SegmentTable {
    pub blocks: Vec<Block>,
    overall: Vec<Overall>,
    /// Guardrails in each segment, and their thresholds.
    each: Vec<usize>,
    thresholds: Vec<f64>,
    /// Thresholds of all guardrails, in their order.
    all_thresholds: Vec<f64>,
    local_thresholds: Vec<f64>,
    optimistic: BlockLp,
    pessimistic: BlockLp,
    kappa: f64,
    /// True if estimated rewards are maximised, without optimism.
    pub exploits: bool,
    /// Share of the base mixed in everywhere.
    pub mixed: f64,
    pub verdict: TableStatus,
    counts: Counts,
    /// n at which frequencies are computed again.
    due: u64,
    /// Plans since all was made anew.
    since: usize,
    /// Blocks whose bounds changed since the last plan.
    pub changed: Vec<usize>,
    room: Room,
    pub prices: Vec<f64>,
    pub value: f64,
    pub upper_bound: f64,
    pub status: Status,
}

/// Room for the rows of a block.
#[derive(Debug, Clone, Default)]
struct Room {
    reward: Vec<f64>,
    rows: Vec<Vec<f64>>,
}

impl SegmentTable {
    pub(super) fn new(problem: &CheckedProblem) -> Self {
        let of = |scope: Scope| {
            let guardrails = problem.guardrails.iter().enumerate();
            guardrails.filter(move |(_, g)| g.scope == scope)
        };
        let overall: Vec<Overall> = of(Scope::Overall)
            .map(|(guardrail, g)| Overall::new(guardrail, g.threshold))
            .collect();
        let each: Vec<usize> = of(Scope::Each).map(|(i, _)| i).collect();
        let lp = BlockLp::new(overall.len(), each.len());
        Self {
            blocks: Vec::new(),
            thresholds: overall.iter().map(|row| row.threshold).collect(),
            all_thresholds: problem.guardrails.iter().map(|g| g.threshold).collect(),
            local_thresholds: of(Scope::Each).map(|(_, g)| g.threshold).collect(),
            prices: vec![0.0; overall.len()],
            overall,
            each,
            optimistic: lp.clone(),
            pessimistic: lp,
            kappa: 0.0,
            exploits: false,
            mixed: 0.0,
            verdict: TableStatus::NoMargin,
            counts: Counts::default(),
            due: 0,
            since: usize::MAX,
            changed: Vec::new(),
            room: Room::default(),
            value: 0.0,
            upper_bound: 0.0,
            status: Status::Budget,
        }
    }

    /// Makes room for the blocks of segments, with this many arms, and everything anew the next time.
    pub(super) fn make_room(&mut self, segments: &Segments, columns: usize) {
        let blocks = segments.owners.iter();
        self.blocks = blocks
            .map(|_| Block::new(&self.all_thresholds, columns))
            .collect();
        self.since = usize::MAX;
        self.due = 0;
        self.kappa = 0.0;
        self.changed.clear();
        self.optimistic.truncate(0);
        self.pessimistic.truncate(0);
        for row in &mut self.overall {
            *row = Overall::new(row.guardrail, row.threshold);
        }
    }

    /// True if the frequencies are to be computed again.
    pub(super) fn is_due(&self, total: u64) -> bool {
        total >= self.due
    }

    /// Makes the table for the bounds of its blocks; `known` has those of one that changed.
    pub(super) fn plan(&mut self, segments: &Segments, delta: f64, known: &KnownArms) {
        let columns: usize = self.blocks.iter().map(|b| b.bounds.columns()).sum();
        let due = self.is_due(segments.total);
        self.since = self.since.saturating_add(1);
        if due || self.since > columns / CHEAP || self.verdict != TableStatus::Planned {
            self.since = 0;
            self.plan_all(segments, delta, known);
        } else {
            self.plan_changed(segments, known);
        }
        self.changed.clear();
    }

    fn plan_all(&mut self, segments: &Segments, delta: f64, known: &KnownArms) {
        let due = self.is_due(segments.total) || self.counts.total == 0;
        if due {
            let n = segments.total;
            self.due = n + 1 + if n < 200 { 0 } else { n / 200 };
            self.counts.seen.clear();
            self.counts
                .seen
                .extend(segments.list.iter().map(|s| s.contexts));
            self.counts.total = n;
            self.counts.others = segments.others;
        }
        let n = self.counts.total.max(1) as f64;
        self.blocks.iter_mut().for_each(|block| block.weight = 0.0);
        for (segment, &count) in segments.list.iter().zip(&self.counts.seen) {
            self.blocks[segment.block].weight += count as f64 / n;
        }
        self.blocks[POOL].weight += self.counts.others as f64 / n;
        for (b, block) in self.blocks.iter_mut().enumerate() {
            known.fill(b, block);
            block.choose_base(&known.problem.guardrails);
        }
        let contexts = Contexts {
            segments,
            counts: &self.counts,
            delta,
            is_new: due,
        };
        for row in &mut self.overall {
            row.bound_base(&contexts, &self.blocks);
        }
        if self.overall.iter().any(|row| !(row.base < row.threshold)) {
            self.verdict = TableStatus::NoMargin;
            return;
        }
        for b in 0..self.blocks.len() {
            self.update_block(b, known);
            self.set(Program::Optimistic, b);
        }
        let solution = self
            .optimistic
            .solve(&self.thresholds, &self.local_thresholds);
        let bar = match solution.status {
            Status::Optimal => solution.value,
            _ => solution.upper_bound,
        };
        for b in 0..self.blocks.len() {
            self.update_spread(b);
        }
        self.find_least(bar);
        for round in 0..ROUNDS {
            self.copy_policies();
            let contexts = Contexts {
                segments,
                counts: &self.counts,
                delta,
                is_new: due,
            };
            let mut beyond = 0.0_f64;
            for row in &mut self.overall {
                beyond = beyond.max(row.bound_table(&contexts, &self.blocks));
            }
            if beyond <= CLOSE || round + 1 == ROUNDS {
                break;
            }
            self.solve_with_kappa();
        }
        self.settle();
    }

    fn plan_changed(&mut self, segments: &Segments, known: &KnownArms) {
        for place in 0..self.changed.len() {
            let b = self.changed[place];
            known.fill(b, &mut self.blocks[b]);
            self.blocks[b].choose_base(&known.problem.guardrails);
            self.update_block(b, known);
            self.update_spread(b);
            self.set(Program::Optimistic, b);
            self.set(Program::Pessimistic, b);
            for row in &mut self.overall {
                row.set_base(segments, &self.counts, b, &self.blocks[b]);
            }
        }
        if self.overall.iter().any(|row| !(row.base < row.threshold)) {
            self.verdict = TableStatus::NoMargin;
            return;
        }
        self.pessimistic
            .solve(&self.thresholds, &self.local_thresholds);
        for place in 0..self.pessimistic.changed().len() {
            let b = self.pessimistic.changed()[place];
            self.copy_policy(b);
            for row in &mut self.overall {
                row.set_table(segments, &self.counts, b, &self.blocks[b]);
            }
        }
        self.settle();
    }

    /// Works out margins and indices of one block.
    fn update_block(&mut self, b: usize, known: &KnownArms) {
        let block = &mut self.blocks[b];
        for row in &self.overall {
            block
                .bounds
                .set_margin(row.guardrail, row.threshold - row.base);
        }
        known.write_indices(b, block);
        if self.exploits {
            block.bounds.reward_upper.copy_from_slice(&block.means);
        }
    }

    /// Works out D where the table that attains R̃ has mass: the lemma mixes that table with the safe arm, and needs it
    /// nowhere else.
    fn update_spread(&mut self, b: usize) {
        let block = &mut self.blocks[b];
        block.spread.fill(0.0);
        // The safe arm alone is not mixed with anything: its D, which is infinite without a margin, is not needed.
        if !block.safe_only {
            for &(a, _) in self.optimistic.policy(b).iter().filter(|&&(_, p)| p > 0.0) {
                block.bounds.update_spread(a);
                block.spread[a] = block.bounds.spread[a];
            }
        }
    }

    /// Writes a block of one of the programs: (p̂·r̃; p̂·c̃), or (p̂·(r̃ + κD); u at the worst frequencies).
    fn set(&mut self, program: Program, b: usize) {
        let block = &self.blocks[b];
        let (bounds, safe) = (&block.bounds, block.bounds.safe);
        let columns = if block.safe_only {
            safe..safe + 1
        } else {
            0..bounds.columns()
        };
        let (lp, kappa, costs) = match program {
            Program::Optimistic => (&mut self.optimistic, 0.0, &bounds.cost_lower),
            Program::Pessimistic => (&mut self.pessimistic, self.kappa, &bounds.cost_upper),
        };
        let Room { reward, rows, .. } = &mut self.room;
        let value = |a: usize| block.weight * (bounds.reward_upper[a] + kappa * block.spread[a]);
        fill(reward, columns.clone().map(value));
        rows.resize(self.overall.len() + self.each.len(), Vec::new());
        let (coupling, local) = rows.split_at_mut(self.overall.len());
        for (row, out) in self.overall.iter().zip(&mut *coupling) {
            let weight = match program {
                Program::Optimistic => block.weight,
                Program::Pessimistic => row.weights[b],
            };
            fill(
                out,
                columns.clone().map(|a| weight * costs[row.guardrail][a]),
            );
        }
        for (&i, out) in self.each.iter().zip(&mut *local) {
            // The declared safety of the safe arm vouches for it, where it is alone.
            let most = if block.safe_only {
                bounds.thresholds[i]
            } else {
                f64::INFINITY
            };
            fill(out, columns.clone().map(|a| costs[i][a].min(most)));
        }
        let safe = if block.safe_only { 0 } else { safe };
        lp.set(b, safe, reward, coupling, local);
    }

    fn solve_with_kappa(&mut self) {
        for b in 0..self.blocks.len() {
            self.set(Program::Pessimistic, b);
        }
        self.pessimistic
            .solve(&self.thresholds, &self.local_thresholds);
    }

    /// The least κ for which the table is worth R̃.
    fn find_least(&mut self, bar: f64) {
        let base: f64 = (self.blocks.iter())
            .map(|block| block.weight * block.bounds.reward_upper[block.bounds.safe])
            .sum();
        let enough = if self.exploits {
            0.0
        } else {
            (bar - base).max(0.0)
        };
        self.kappa = find_least(self.kappa, bar, enough, |kappa| {
            self.kappa = kappa;
            self.solve_with_kappa();
            self.at_kappa()
        });
    }

    fn at_kappa(&self) -> AtKappa {
        let mut at = AtKappa {
            value: self.pessimistic.solution().value,
            ..AtKappa::default()
        };
        for (b, block) in self.blocks.iter().enumerate() {
            for &(place, p) in self.pessimistic.policy(b) {
                let a = if block.safe_only {
                    block.bounds.safe
                } else {
                    place
                };
                at.reward += block.weight * p * block.bounds.reward_upper[a];
                at.spread += block.weight * p * block.spread[a];
            }
        }
        at
    }

    fn copy_policies(&mut self) {
        for b in 0..self.blocks.len() {
            self.copy_policy(b);
        }
    }

    fn copy_policy(&mut self, b: usize) {
        let block = &mut self.blocks[b];
        block.policy.clear();
        let (only, safe) = (block.safe_only, block.bounds.safe);
        let policy = self.pessimistic.policy(b).iter();
        block
            .policy
            .extend(policy.map(|&(place, p)| (if only { safe } else { place }, p)));
        for (cost, row) in block.costs.iter_mut().zip(&block.bounds.cost_upper) {
            *cost = block.policy.iter().map(|&(a, p)| p * row[a]).sum();
        }
    }

    /// Mixes in the base as far as the thresholds need.
    fn settle(&mut self) {
        let solution = self.pessimistic.solution();
        (self.value, self.upper_bound, self.status) =
            (solution.value, solution.upper_bound, solution.status);
        self.prices.copy_from_slice(&solution.prices);
        if solution.status == Status::Infeasible {
            self.verdict = TableStatus::Failed;
            return;
        }
        self.mixed = 0.0;
        for row in &mut self.overall {
            row.observed = (self.blocks.iter())
                .map(|block| block.weight * block.costs[row.guardrail])
                .sum();
            if row.table > row.threshold {
                let mix = (row.table - row.threshold) / (row.table - row.base);
                self.mixed = self.mixed.max(mix + 1e-12);
            }
        }
        // Written so that NaN fails.
        let holds = self
            .overall
            .iter()
            .all(|row| self.mean(row).0 <= row.threshold);
        self.verdict = if holds && self.mixed <= 1.0 {
            TableStatus::Planned
        } else {
            TableStatus::Failed
        };
    }

    /// Estimated mean reward of the table, of the safe arm everywhere without one, and the variance of the estimate
    /// for rewards as noisy as they can be.
    pub(super) fn earnings(&self) -> (f64, f64) {
        let planned = self.verdict == TableStatus::Planned;
        let mixed = if planned { self.mixed } else { 1.0 };
        let (mut sum, mut variance) = (0.0, 0.0);
        for block in &self.blocks {
            let base = if planned {
                block.bounds.safe
            } else {
                block.safe
            };
            let mut add = |a: usize, p: f64| {
                let (mean, n) = (block.means[a], block.pulls[a]);
                sum += block.weight * p * mean;
                let share = block.weight * p;
                variance += share * share * 0.25 / (n.max(1) as f64);
            };
            for &(a, p) in &block.policy {
                add(a, p * (1.0 - mixed));
            }
            add(base, mixed);
        }
        (sum, variance)
    }

    /// Bound on the table's mean cost, and the mean of its cost bounds at the frequencies observed.
    fn mean(&self, row: &Overall) -> (f64, f64) {
        let mixed = |table: f64, base: f64| table + self.mixed * (base - table);
        let base: f64 = (self.blocks.iter())
            .map(|block| block.weight * block.bounds.cost_upper[row.guardrail][block.bounds.safe])
            .sum();
        (mixed(row.table, row.base), mixed(row.observed, base))
    }

    /// π·u of a block under a guardrail, its base mixed in.
    pub(super) fn mixed_cost(&self, b: usize, guardrail: usize) -> f64 {
        let block = &self.blocks[b];
        let (own, base) = (
            block.costs[guardrail],
            block.bounds.cost_upper[guardrail][block.bounds.safe],
        );
        let cost = own + self.mixed * (base - own);
        if block.safe_only && self.each.contains(&guardrail) {
            // The declared safety of the safe arm vouches for it, not its interval.
            return cost.min(block.bounds.thresholds[guardrail]);
        }
        cost
    }

    /// Bound on a guardrail's mean cost over all segments, its part that frequencies add, and its price; `None` for
    /// one in each segment.
    pub(super) fn overall(&self, guardrail: usize) -> Option<(f64, f64, f64)> {
        let place = self
            .overall
            .iter()
            .position(|row| row.guardrail == guardrail)?;
        let (bound, observed) = self.mean(&self.overall[place]);
        Some((bound, bound - observed, self.prices[place]))
    }

    /// Bound on the safe arm's mean cost over all segments, where a guardrail is over them: none where another arm is
    /// the base, so that its declared safety vouches for it.
    pub(super) fn safe_overall(&self, guardrail: usize) -> Option<f64> {
        let row = self.overall.iter().find(|row| row.guardrail == guardrail)?;
        let is_base = |block: &Block| block.bounds.safe == block.safe;
        let known = self.blocks.iter().all(is_base);
        Some(if known { row.base } else { f64::INFINITY })
    }

    /// Reward per unit of a guardrail's cost that a block would earn with a little more of it.
    pub(super) fn price_in(&self, b: usize, guardrail: usize) -> f64 {
        if self.each.contains(&guardrail) {
            self.local_price(guardrail, b)
        } else {
            self.marginal_price(guardrail, b)
        }
    }

    /// Price of a guardrail in each segment, in one of them.
    pub(super) fn local_price(&self, guardrail: usize, b: usize) -> f64 {
        let place = self.each.iter().position(|&i| i == guardrail);
        let prices = self.pessimistic.block_prices(b);
        place
            .and_then(|place| prices.get(place))
            .copied()
            .unwrap_or(0.0)
    }

    /// Reward per unit of an overall guardrail's cost that a block would earn with a little more of it: where the
    /// next bit of budget is best spent.
    fn marginal_price(&self, guardrail: usize, b: usize) -> f64 {
        let block = &self.blocks[b];
        if block.safe_only {
            return 0.0;
        }
        let v = |a: usize| block.bounds.reward_upper[a] + self.kappa * block.spread[a];
        let value: f64 = block.policy.iter().map(|&(a, p)| p * v(a)).sum();
        let (cost, costs) = (block.costs[guardrail], &block.bounds.cost_upper[guardrail]);
        let gain = |a: usize| {
            if costs[a] > cost {
                (v(a) - value) / (costs[a] - cost)
            } else {
                0.0
            }
        };
        (0..costs.len()).map(gain).fold(0.0, f64::max)
    }
}

fn fill(out: &mut Vec<f64>, numbers: impl Iterator<Item = f64>) {
    out.clear();
    out.extend(numbers);
}
