//! The segment learner in snapshots.

use serde::{Deserialize, Serialize};

use super::SegmentLearner;
use super::order::Order;
use super::segments::POOL;
use crate::error::{Error, broken};
use crate::estimate::{Estimates, EstimatesState};
use crate::guarded::Shell;
use crate::waiting::Waiting;

/// All that outcomes and contexts have changed. A table is made anew from it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SegmentLearnerState {
    segments: Vec<SegmentState>,
    /// Segments that have a policy of their own, in the order in which they got it.
    told_apart: Vec<usize>,
    /// Contexts of segments beyond the largest number, and decisions among those whose outcomes have not come.
    others: u64,
    others_waiting: u64,
    pools: u32,
    /// Slot that may give way to a new name next.
    hand: usize,
    /// Statistics of pairs of a segment and an arm.
    pairs: EstimatesState,
    /// Decisions of each pair whose outcomes have not come.
    waiting: Waiting,
    /// Statistics of the pool, by arm.
    pool: EstimatesState,
    /// Last decision announced before the pool began, and the number of its context.
    pool_since: u64,
    pool_from: u64,
    order: Order,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SegmentState {
    name: String,
    contexts: u64,
    /// Decisions whose outcomes have not come.
    waiting: u64,
    /// Remaining credit for being seen.
    credit: u64,
    /// Places of its statistics, by arm.
    pairs: Vec<usize>,
}

impl SegmentLearner {
    pub(super) fn state(&self) -> SegmentLearnerState {
        let segments = std::iter::zip(&self.segments.list, &self.segments.names);
        SegmentLearnerState {
            segments: segments
                .map(|(segment, name)| SegmentState {
                    name: name.clone(),
                    contexts: segment.contexts,
                    waiting: segment.waiting,
                    credit: segment.credit,
                    pairs: segment.pairs.clone(),
                })
                .collect(),
            told_apart: self.segments.owners.iter().flatten().copied().collect(),
            others: self.segments.others,
            others_waiting: self.segments.others_waiting,
            pools: self.segments.pools,
            hand: self.segments.hand,
            pairs: self.pairs.state(),
            waiting: self.waiting.clone(),
            pool: self.pool.state(),
            pool_since: self.pool_since,
            pool_from: self.pool_from,
            order: self.order.clone(),
        }
    }

    pub(super) fn take_up(
        &mut self,
        shell: &mut Shell,
        state: SegmentLearnerState,
    ) -> Result<(), Error> {
        state.check(shell)?;
        self.segments = self.checked.no_segments(&shell.problem);
        self.segments.pools = state.pools;
        self.reset_pool(shell);
        self.pool.restore(&shell.problem, &state.pool, None)?;
        self.pool_since = state.pool_since;
        self.pool_from = state.pool_from;
        self.order = state.order;
        // Places in the order in which they were made.
        let mut arm_of = vec![0; state.segments.len() * shell.arms.len()];
        for saved in state.segments {
            let Some(segment) = self.segments.add(&saved.name) else {
                return Err(broken("it holds more segments than `max_segments`"));
            };
            for (arm, &place) in saved.pairs.iter().enumerate() {
                arm_of[place] = arm;
            }
            let own = &mut self.segments.list[segment];
            own.contexts = saved.contexts;
            own.waiting = saved.waiting;
            own.credit = saved.credit;
            own.pairs = saved.pairs;
            self.segments.total += saved.contexts;
        }
        let config = self.checked.pairs_in(shell.monitor.epoch());
        self.pairs = Estimates::new(&shell.problem, &config);
        for arm in arm_of {
            (self.pairs).add(&shell.problem, arm, arm == shell.safe);
        }
        self.pairs.restore(&shell.problem, &state.pairs, None)?;
        self.waiting = state.waiting.check(self.pairs.pulls().len())?;
        for segment in state.told_apart {
            let own = self.segments.list.get(segment);
            if own.is_none_or(|own| own.block != POOL) {
                return Err(broken(format!("`told_apart` has {segment}")));
            }
            self.segments.tell_apart(segment);
        }
        let (declared, known) = (
            shell.problem.declared.segments.len(),
            self.segments.list.len(),
        );
        if state.hand != declared && !(declared..known).contains(&state.hand) {
            return Err(broken(format!("`hand` is {}", state.hand)));
        }
        self.segments.hand = state.hand;
        self.segments.total += state.others;
        self.segments.others = state.others;
        self.segments.others_waiting = state.others_waiting;
        self.rebuild(shell);
        Ok(())
    }
}

impl SegmentLearnerState {
    fn check(&self, shell: &Shell) -> Result<(), Error> {
        // Counts beyond any life would make the next one overflow.
        let contexts: u128 = self.segments.iter().map(|s| u128::from(s.contexts)).sum();
        let total = contexts + u128::from(self.others);
        if total >= u128::from(u64::MAX / 2) || self.pools >= u32::MAX / 2 {
            return Err(broken("its counts are impossible"));
        }
        if !self.order.is_sound(&shell.problem) {
            return Err(broken("`order` does not match the problem"));
        }
        let (arms, mut names) = (shell.arms.len(), std::collections::HashSet::new());
        let mut is_taken = vec![false; self.segments.len() * arms];
        for segment in &self.segments {
            let mut is_new = |&place: &usize| {
                let taken = is_taken.get_mut(place);
                taken.is_some_and(|taken| !std::mem::replace(taken, true))
            };
            let fits = segment.pairs.len() == arms && segment.pairs.iter().all(&mut is_new);
            if !fits || !names.insert(&segment.name) {
                return Err(broken(format!("segment `{}` is impossible", segment.name)));
            }
        }
        let declared = &shell.problem.declared.segments;
        let own = self.segments.iter().map(|s| &s.name);
        if !declared.iter().eq(own.take(declared.len())) {
            return Err(broken(
                "its segments do not begin with those of its problem",
            ));
        }
        Ok(())
    }
}
