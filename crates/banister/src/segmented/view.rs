//! Segments as a person looks at them.

use std::ops::Range;

use super::Segmented;
use super::segments::POOL;
use crate::arm_estimate::{ArmEstimate, SegmentView, of_place};

/// Names of pooled segments that a view lists.
const LISTED: usize = 20;

impl Segmented {
    /// Segments that are told apart, those seen most often first, and the pool of the others last: those at the
    /// places asked for.
    pub fn views(&mut self, places: Range<usize>) -> Vec<SegmentView> {
        if self.is_stale() {
            self.plan();
        }
        let seen = |b: &usize| self.segments.owners[*b].map(|s| self.segments.list[s].contexts);
        let mut blocks: Vec<usize> = (1..self.segments.owners.len()).collect();
        blocks.sort_by_key(|b| std::cmp::Reverse(seen(b)));
        blocks.push(POOL);
        let end = places.end.min(blocks.len());
        let start = places.start.min(end);
        blocks[start..end].iter().map(|&b| self.view(b)).collect()
    }

    fn view(&mut self, b: usize) -> SegmentView {
        let owner = self.segments.owners[b];
        let name = owner.map(|s| self.segments.list[s].name.clone());
        let policy = if self.forced.is_some() {
            vec![(self.problem.declared.safe, 1.0)]
        } else {
            self.write_answer(b);
            self.support.clone()
        };
        let mut rare: Vec<_> = (self.segments.list.iter())
            .filter(|s| owner.is_none() && s.block == POOL && s.contexts > 0)
            .collect();
        rare.sort_by_key(|s| std::cmp::Reverse(s.contexts));
        let contexts = match owner {
            Some(s) => self.segments.list[s].contexts,
            None => self.segments.others + rare.iter().map(|s| s.contexts).sum::<u64>(),
        };
        let block = &self.table.blocks[b];
        let guardrails = self.problem.guardrails.iter().enumerate();
        let safe = block.bounds.safe;
        let costs = guardrails.clone().map(|(i, guardrail)| {
            let cost = match self.forced {
                Some(_) => block.bounds.cost_upper[i][safe],
                None => self.table.mixed_cost(b, i),
            };
            guardrail.shown().cost(cost)
        });
        let prices = guardrails.map(|(i, guardrail)| match self.forced {
            Some(_) => 0.0,
            None => {
                let unit = self.problem.reward.unit() / guardrail.signal.unit();
                unit * self.table.price_in(b, i)
            }
        });
        SegmentView {
            name,
            pooled: rare.iter().take(LISTED).map(|s| s.name.clone()).collect(),
            contexts,
            frequency: contexts as f64 / self.segments.total.max(1) as f64,
            policy,
            costs: costs.collect(),
            prices: prices.collect(),
            arms: self.estimates_in(owner),
        }
    }

    /// Estimates of all arms in a segment, or in the pool.
    pub(super) fn estimates_in(&self, segment: Option<usize>) -> Vec<ArmEstimate> {
        let shown = |arm: usize| {
            let offered = self.arm.contains(&arm);
            match segment {
                Some(s) => {
                    let place = self.segments.list[s].pairs[arm];
                    of_place(&self.problem, &self.pairs, (place, arm), offered)
                }
                None => of_place(&self.problem, &self.pool, (arm, arm), offered),
            }
        };
        (0..self.names.len()).filter_map(shown).collect()
    }
}
