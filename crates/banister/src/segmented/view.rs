//! Segments as a person looks at them.

use std::ops::Range;

use super::SegmentLearner;
use super::segments::POOL;
use super::table::TableStatus;
use crate::arm_estimate::{ArmEstimate, SegmentView, of_arm};
use crate::guarded::Shell;

/// Names of pooled segments that a view lists.
const LISTED: usize = 20;

impl SegmentLearner {
    /// Segments that are told apart, those seen most often first, and the pool of the others last: those at the
    /// places asked for.
    pub(super) fn views(&mut self, shell: &Shell, places: Range<usize>) -> Vec<SegmentView> {
        self.update_table(shell);
        let seen = |b: &usize| self.segments.owners[*b].map(|s| self.segments.list[s].contexts);
        let mut blocks: Vec<usize> = (1..self.segments.owners.len()).collect();
        blocks.sort_by_key(|b| std::cmp::Reverse(seen(b)));
        blocks.push(POOL);
        let end = places.end.min(blocks.len());
        let start = places.start.min(end);
        (blocks[start..end].iter())
            .map(|&b| self.view_block(shell, b))
            .collect()
    }

    fn view_block(&mut self, shell: &Shell, b: usize) -> SegmentView {
        let problem = &shell.problem;
        let owner = self.segments.owners[b];
        let name = owner.map(|s| self.segments.names[s].clone());
        let is_forced = self.table.verdict != TableStatus::Planned || shell.monitor.forces_safe();
        let policy = if is_forced {
            vec![(shell.safe, 1.0)]
        } else {
            self.write_answer(shell, b);
            self.support.clone()
        };
        let mut rare: Vec<_> = std::iter::zip(&self.segments.list, &self.segments.names)
            .filter(|(s, _)| owner.is_none() && s.block == POOL && s.contexts > 0)
            .collect();
        rare.sort_by_key(|(s, _)| std::cmp::Reverse(s.contexts));
        let contexts = match owner {
            Some(s) => self.segments.list[s].contexts,
            None => self.segments.others + rare.iter().map(|(s, _)| s.contexts).sum::<u64>(),
        };
        let block = &self.table.blocks[b];
        let guardrails = problem.guardrails.iter().enumerate();
        let safe = block.safe;
        let costs = guardrails.clone().map(|(i, guardrail)| {
            let cost = if is_forced {
                block.bounds.cost_upper[i][safe]
            } else {
                self.table.mixed_cost(b, i)
            };
            guardrail.shown().cost(cost)
        });
        let prices = guardrails.map(|(i, guardrail)| {
            if is_forced {
                return 0.0;
            }
            let unit = problem.reward.unit() / guardrail.shown().unit();
            unit * self.table.price_in(b, i)
        });
        SegmentView {
            name,
            pooled: (rare.iter().take(LISTED))
                .map(|(_, name)| (*name).clone())
                .collect(),
            contexts,
            frequency: contexts as f64 / self.segments.total.max(1) as f64,
            policy,
            costs: costs.collect(),
            prices: prices.collect(),
            arms: (0..shell.arms.len())
                .map(|arm| self.estimate_in(shell, owner, arm))
                .collect(),
        }
    }

    /// Estimates of an arm in a segment, or in the pool.
    pub(super) fn estimate_in(
        &self,
        shell: &Shell,
        segment: Option<usize>,
        arm: usize,
    ) -> ArmEstimate {
        let offered = shell.arms.column(arm).is_some();
        match segment {
            Some(s) => {
                let place = self.segments.list[s].pairs[arm];
                of_arm(&shell.problem, &self.pairs, (place, arm), offered)
            }
            None => of_arm(&shell.problem, &self.pool, (arm, arm), offered),
        }
    }
}
