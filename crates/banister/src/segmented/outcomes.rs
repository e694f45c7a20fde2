//! Outcomes and contexts: what they change.

use super::segments::POOL;
use super::{POOLED, SegmentLearner};
use crate::estimate::{Changed, Estimates};
use crate::guarded::Shell;
use crate::monitor::{Drawn, Next, Origin, Watched};
use crate::problem::Direction;
use crate::round::{Outcome, Pending};

impl SegmentLearner {
    /// Counts the context of a decision whose outcome comes later, and gives its pair with the arm drawn a number
    /// before that outcome is seen.
    pub(super) fn draw(&mut self, shell: &mut Shell, pending: &Pending) -> Next {
        let arm = pending.action;
        shell.monitor.announce(pending.decision);
        let taken = shell.outcomes;
        let next = (shell.monitor).observe_segment(&shell.problem, pending.excess, taken);
        let time = shell.time_of_pending(pending);
        let segment = self.count_context(shell, time);
        *self.segments.waiting(segment) += 1;
        if let Some(s) = segment {
            let pair = self.segments.list[s].pairs[arm];
            self.pairs.number(pair);
            self.waiting.announce(pair);
        }
        let pooled = self.is_pooled();
        if pooled {
            self.pool.number(arm);
        } else if self.segments.total == self.pool_from {
            self.pool_since = pending.decision;
        }
        let drawn = Drawn {
            arm,
            segment,
            pooled,
            safe_probability: pending.safe_probability,
            time,
        };
        // Without a probability its outcome comes in order, and waits for nothing.
        let waits = pending.safe_probability.is_some();
        let given_up = waits.then(|| self.order.announce(pending.decision, drawn));
        (given_up.flatten()).map_or(next, |given_up| self.miss(shell, &given_up).or(next))
    }

    /// The outcome of a decision will never come: one that is waited for, or else of this arm in its segment.
    pub(super) fn abandon(&mut self, shell: &mut Shell, pending: &Pending) -> Next {
        let decision = pending.decision;
        let arm = pending.action;
        let is_waited_for = shell.monitor.is_waited_for(decision, arm);
        if let Some(s) = self.entered.filter(|_| is_waited_for) {
            self.waiting.end(self.segments.list[s].pairs[arm]);
        }
        let given_up = if pending.safe_probability.is_some() {
            self.order.give_up(decision)
        } else {
            let is_current = shell.monitor.is_current(Origin::Announced(decision));
            let time = shell.time_of_pending(pending);
            is_current.then(|| Drawn {
                arm,
                segment: self.entered,
                pooled: self.block() == POOL && decision > self.pool_since,
                safe_probability: None,
                time,
            })
        };
        // Its context was counted, and the outcome may still be reported by its arm.
        given_up.map_or(Next::Continue, |given_up| self.miss(shell, &given_up))
    }

    /// An outcome that is given up counts at its worst in the pool: at the end of its range that safety fears.
    fn miss(&mut self, shell: &mut Shell, drawn: &Drawn) -> Next {
        (shell.monitor).missed(&shell.problem, drawn, shell.outcomes);
        if !drawn.pooled {
            return Next::Continue;
        }
        let mut costs = std::mem::take(&mut shell.counted);
        let problem = &shell.problem;
        let is_safe = drawn.arm == problem.declared.safe;
        costs.clear();
        costs.extend((1..problem.width()).map(|s| {
            let (own, _, direction) = problem.signal_of(drawn.arm, s);
            // A relative guardrail rests on the other end of the safe arm's.
            let mirrored = is_safe && problem.is_relative(s);
            if (direction == Direction::AtMost) != mirrored {
                own.hi
            } else {
                own.lo
            }
        }));
        let reward = problem.own_signal(drawn.arm, 0).lo;
        let found = Learned::from(&mut self.pool, drawn.arm, (reward, &costs), drawn.time);
        shell.counted = costs;
        if found.computed {
            self.change(POOL);
        }
        found.tell_change(shell, None, drawn.arm)
    }

    /// The policy of a block may be another now.
    fn change(&mut self, block: usize) {
        self.is_outdated = true;
        if !self.table.changed.contains(&block) {
            self.table.changed.push(block);
        }
    }

    /// Bounds of all blocks are others.
    pub(super) fn change_all(&mut self) {
        self.is_outdated = true;
        self.table.changed.clear();
        self.table.changed.extend(0..self.table.blocks.len());
    }

    /// The segment entered last, of an outcome that came at once. It counts the context, unless a decision there waits
    /// for its outcome: that one's was counted.
    fn meet_segment(&mut self, shell: &mut Shell, time: f64, next: &mut Next) -> Option<usize> {
        let segment = self.learn_of_segment(shell);
        if self.segments.has_come(segment) {
            return segment;
        }
        let own = shell.decision.segment.as_ref();
        if let Some(own) = own.filter(|own| own.name == self.entered_name) {
            *next = (shell.monitor).observe_segment(&shell.problem, &own.excess, shell.outcomes);
        }
        self.count_context(shell, time)
    }

    /// Counts a context of the segment entered last, after its decision: the table was fixed before.
    fn count_context(&mut self, shell: &mut Shell, time: f64) -> Option<usize> {
        self.learn_of_segment(shell);
        self.segments.count(self.entered);
        if self.watches_segments {
            if self.segments.has_doubled() && self.segments.leave_pool() {
                self.renew_pool(shell);
                self.rebuild(shell);
            }
        } else if self.segments.is_time_to_look() {
            self.look(shell, time);
        }
        self.entered
    }

    /// Tells segments apart if that is estimated to earn more than not to, by bounds of the time of a decision: outcomes
    /// alone decide it, not who asked for a policy since.
    #[cold]
    fn look(&mut self, shell: &mut Shell, time: f64) {
        if !self.segments.may_leave_pool() {
            return;
        }
        let mut apart = self.segments.clone();
        apart.leave_pool();
        let until = shell.until_from(time);
        self.pairs.use_until(until);
        self.pool.use_until(until);
        // The new pool is taken for what the old one was: it is small, and nothing is certified by this.
        let (together, _) = self.earnings(shell, &self.segments);
        let (earned, variance) = self.earnings(shell, &apart);
        self.pairs.use_until(shell.until);
        self.pool.use_until(shell.until);
        // Two standard errors: the best of many estimates looks better than it is.
        if earned > together + 2.0 * variance.sqrt() {
            self.segments = apart;
            self.renew_pool(shell);
            self.rebuild(shell);
        }
    }

    /// Makes room for the segment entered last, without counting its context.
    fn learn_of_segment(&mut self, shell: &mut Shell) -> Option<usize> {
        if let Some(segment) = self.entered {
            self.segments.meet(segment);
        } else if self.entered_name != POOLED {
            self.entered = self.admit(shell);
        }
        self.entered
    }

    /// Finds a place for the segment entered last, which is new.
    #[cold]
    fn admit(&mut self, shell: &mut Shell) -> Option<usize> {
        if let Some(segment) = self.segments.add(&self.entered_name) {
            self.add_pairs(shell, segment);
            self.warn_of_names(shell);
            return Some(segment);
        }
        self.warn_of_names(shell);
        let alarms = shell.monitor.alarms();
        let is_named = |s: usize| alarms.iter().any(|alarm| alarm.segment == Some(s));
        let segment = (self.segments).replace_rare(&self.entered_name, is_named)?;
        self.segments.meet(segment);
        shell.monitor.leave_segment(segment);
        self.order.leave_segment(segment);
        for &pair in &self.segments.list[segment].pairs {
            self.pairs.clear(pair);
            self.waiting.clear(pair);
        }
        Some(segment)
    }

    /// Warns where names are near their limit: real segments may find no place.
    fn warn_of_names(&self, shell: &mut Shell) {
        if self.segments.are_many() {
            let (names, most) = (self.segments.names.len(), self.segments.most());
            (shell.monitor).warn_of_names(names as u64, most as f64, shell.outcomes);
        }
    }

    /// Learns from an outcome of the segment entered last.
    pub(super) fn learn_entered(&mut self, shell: &mut Shell, outcome: &Outcome) -> Next {
        let Outcome {
            action: arm,
            reward,
            costs,
            origin,
            ..
        } = *outcome;
        let time = shell.time_of(outcome);
        let mut next = Next::Continue;
        // A log's contexts are another's, and need not come with the frequencies seen here, unless that is declared.
        let segment = match origin {
            Origin::Immediate => self.meet_segment(shell, time, &mut next),
            Origin::Sampled { is_first: true, .. } => self.count_context(shell, time),
            Origin::Logged | Origin::Sampled { .. } => self.learn_of_segment(shell),
            _ => {
                self.segments.has_come(self.entered);
                self.entered
            }
        };
        let block = segment.map_or(POOL, |s| self.segments.list[s].block);
        // Before that its policy was another block's.
        let is_since = match origin {
            Origin::Announced(decision) | Origin::InOrder(decision) => decision > self.pool_since,
            Origin::Immediate => self.segments.total > self.pool_from,
            Origin::Logged | Origin::Sampled { .. } => false,
        };
        let is_forgotten = shell.monitor.is_forgotten(arm, origin);
        if is_forgotten {
            shell.monitor.forget();
        }
        let mut own = Learned::default();
        if let Some(s) = segment.filter(|_| !is_forgotten) {
            let pair = self.segments.list[s].pairs[arm];
            self.waiting.end(pair);
            own = Learned::from(&mut self.pairs, pair, (reward, costs), time);
        }
        if own.computed && block != POOL {
            self.change(block);
        }
        let drawn = Drawn {
            arm,
            segment,
            // Segments of a log need not come as often as they do here, so their average is another. Announced ones
            // wait for their turn.
            pooled: block == POOL
                && !is_forgotten
                && match origin {
                    Origin::Immediate => is_since,
                    Origin::Sampled { is_blind, .. } => is_blind && self.is_pooled(),
                    Origin::InOrder(_) => is_since,
                    Origin::Announced(_) | Origin::Logged => false,
                },
            safe_probability: None,
            time,
        };
        if matches!(origin, Origin::InOrder(_)) {
            shell.monitor.came(&shell.problem, &drawn);
        }
        let mut pooled = Learned::default();
        if drawn.pooled {
            pooled = Learned::from(&mut self.pool, arm, (reward, costs), time);
        }
        let mut changed_arm = arm;
        let taken = shell.outcomes;
        // The claim about the pool is one about its average, in the order of decisions.
        let in_turn = matches!(origin, Origin::Announced(_)) && block == POOL;
        let claims = outcome.claims_by(&shell.decision);
        let watched = Watched {
            is_safe: arm == shell.safe,
            arm: Some(arm),
            segment: segment.filter(|_| block != POOL && self.watches_segments),
            claims: claims.filter(|_| is_since && !in_turn),
        };
        next = next.or((shell.monitor).observe(&shell.problem, &watched, costs, taken));
        if let Origin::Announced(decision) = origin {
            if self.order.arrived(decision, outcome) {
                shell.monitor.forget_missing();
            }
            while let Some((drawn, own)) = self.order.next() {
                shell.monitor.came(&shell.problem, &drawn);
                if !drawn.pooled {
                    continue;
                }
                let watched = Watched {
                    is_safe: drawn.arm == shell.safe,
                    arm: Some(drawn.arm),
                    segment: None,
                    claims: (!own.claims.is_empty()).then_some(&own.claims),
                };
                next = next.or((shell.monitor).detect(&shell.problem, &watched, &own.costs, taken));
                let signals = (own.reward, &own.costs[..]);
                let found = Learned::from(&mut self.pool, drawn.arm, signals, drawn.time);
                pooled.computed |= found.computed;
                if found.changed.is_some() {
                    (pooled.changed, changed_arm) = (found.changed, drawn.arm);
                }
            }
        }
        if pooled.computed {
            self.change(POOL);
        }
        let next = own.tell_change(shell, segment, arm).or(next);
        pooled.tell_change(shell, segment, changed_arm).or(next)
    }
}

/// Consequence of an outcome for the statistics that took it.
#[derive(Debug, Clone, Copy, Default)]
struct Learned {
    /// True if intervals were computed again.
    computed: bool,
    /// The mean that has changed, if one has.
    changed: Option<Changed>,
}

impl Learned {
    fn from(
        estimates: &mut Estimates,
        place: usize,
        (reward, costs): (f64, &[f64]),
        time: f64,
    ) -> Self {
        Self {
            computed: estimates.observe(place, reward, costs, time),
            changed: estimates.changed(),
        }
    }

    /// Says which arm's mean has changed.
    fn tell_change(&self, shell: &mut Shell, segment: Option<usize>, arm: usize) -> Next {
        (self.changed.as_ref()).map_or(Next::Continue, |changed| {
            shell.tell_change(arm, segment, changed)
        })
    }
}
