//! Outcomes and contexts: which are accepted, and what they change.

use super::segments::POOL;
use super::{POOLED, Segmented};
use crate::agent::{Origin, Outcomes, Played};
use crate::error::Error;
use crate::estimate::Estimates;
use crate::monitor::{Drawn, Next, Outcome, Source, Turn};
use crate::problem::{Direction, check_segment};

impl Segmented {
    pub(super) fn check_arm(&self, arm: usize) -> Result<(), Error> {
        if arm < self.names.len() {
            return Ok(());
        }
        Err(Error::NoSuchArm {
            arm,
            last: self.names.len() - 1,
        })
    }

    pub(super) fn check_signals(
        &self,
        arm: usize,
        reward: f64,
        costs: &[f64],
    ) -> Result<(), Error> {
        self.check_arm(arm)?;
        if self.problem.holds(Some(arm), reward, costs) {
            return Ok(());
        }
        self.problem.check_reported(Some(arm), reward, costs)
    }

    /// Takes one outcome of the segment entered last: the arm that was played, its reward and one cost per guardrail.
    /// It counts the context, unless a decision there waits for its outcome: that one's was counted. Nothing changes
    /// if any number is refused.
    pub fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.check_signals(arm, reward, costs)?;
        let segment = self.met();
        self.take(Source::Immediate, segment, arm, reward, costs);
        Ok(())
    }

    /// Counts the context of the segment entered last, and gives its pair with the arm drawn a number before its
    /// outcome is seen.
    pub(super) fn draw(&mut self, arm: usize) {
        if arm >= self.names.len() {
            return;
        }
        let segment = self.count_context();
        *self.segments.waiting(segment) += 1;
        if let Some(s) = segment {
            self.pairs.number(self.segments.list[s].pairs[arm]);
        }
        let pooled = self.block() == POOL;
        if pooled {
            self.pool.number(arm);
        }
        self.drawn = Some(Drawn {
            arm,
            segment,
            pooled,
            safe_probability: None,
        });
    }

    /// Waits for the outcome of the decision drawn last.
    pub(super) fn announce(&mut self, number: u64, safe_probability: Option<f64>) {
        let drawn = self.drawn.take().map(|drawn| Drawn {
            safe_probability,
            ..drawn
        });
        let given_up = (self.monitor).decided_in(number, safe_probability, drawn);
        if let Some(given_up) = given_up {
            self.miss(&given_up);
        }
    }

    /// The outcome of a decision will never come: one that is waited for, or else of this arm in the segment entered
    /// last.
    pub(super) fn give_up(&mut self, number: u64, arm: Option<usize>) {
        let given_up = match arm.filter(|&arm| arm < self.names.len()) {
            None => self.monitor.give_up(number),
            Some(_) if !self.monitor.is_current(Source::Announced(number)) => None,
            Some(arm) => Some(Drawn {
                arm,
                segment: self.entered,
                pooled: self.block() == POOL && number > self.pool_since,
                safe_probability: None,
            }),
        };
        // Its context was counted, and the outcome may still be reported by its arm.
        if let Some(given_up) = given_up {
            self.miss(&given_up);
        }
    }

    /// An outcome that is given up counts at its worst in the pool: at the end of its range that safety fears.
    fn miss(&mut self, drawn: &Drawn) {
        self.monitor.missed(&self.problem, drawn, self.outcomes);
        if !drawn.pooled {
            return;
        }
        let mut costs = std::mem::take(&mut self.counted);
        let problem = &self.problem;
        let is_safe = drawn.arm == problem.declared.safe;
        costs.clear();
        costs.extend(problem.guardrails.iter().enumerate().map(|(i, guardrail)| {
            let own = problem.own_signal(drawn.arm, i + 1);
            // A relative guardrail rests on the other end of the safe arm's.
            let mirrored = is_safe && guardrail.factor != 0.0;
            if (guardrail.direction == Direction::AtMost) != mirrored {
                own.hi
            } else {
                own.lo
            }
        }));
        let reward = problem.own_signal(drawn.arm, 0).lo;
        let found = Learned::take(&mut self.pool, drawn.arm, reward, &costs);
        self.counted = costs;
        if found.computed {
            self.change(POOL);
        }
        if self.refute(None, drawn.arm, found.refuted) == Next::Restart {
            self.relearn();
        }
    }

    /// The policy of a block may be another now.
    fn change(&mut self, block: usize) {
        self.stale = true;
        if !self.table.changed.contains(&block) {
            self.table.changed.push(block);
        }
    }

    /// Raises an alarm where an arm's outcomes contradict each other: (guardrail, mean, outcomes).
    fn refute(
        &mut self,
        segment: Option<usize>,
        arm: usize,
        refuted: Option<(usize, f64, u64)>,
    ) -> Next {
        let Some((guardrail, mean, pulls)) = refuted else {
            return Next::Continue;
        };
        let mean = self.problem.guardrails[guardrail].signal_of(mean);
        let key = (arm, guardrail);
        (self.monitor).refute(key, segment, pulls, mean, self.outcomes)
    }

    /// The segment entered last, of an outcome that came at once.
    fn met(&mut self) -> Option<usize> {
        let segment = self.learn_of_segment();
        if self.segments.has_come(segment) {
            return segment;
        }
        self.count_context()
    }

    /// Counts a context of the segment entered last, after its decision: the table was fixed before.
    fn count_context(&mut self) -> Option<usize> {
        self.learn_of_segment();
        self.segments.count(self.entered);
        if self.watches_segments {
            if self.segments.has_doubled() && self.segments.leave_pool() {
                self.renew_pool();
                self.rebuild();
            }
        } else if self.segments.is_time_to_look() {
            self.look();
        }
        self.entered
    }

    /// Tells segments apart if that is estimated to earn more than not to.
    #[cold]
    fn look(&mut self) {
        if !self.segments.may_leave_pool() {
            return;
        }
        let mut apart = self.segments.clone();
        apart.leave_pool();
        // The new pool is taken for what the old one was: it is small, and nothing is certified by this.
        let (together, _) = self.earnings(&self.segments);
        let (earned, variance) = self.earnings(&apart);
        // Two standard errors: the best of many estimates looks better than it is.
        if earned > together + 2.0 * variance.sqrt() {
            self.segments = apart;
            self.renew_pool();
            self.rebuild();
        }
    }

    pub(super) fn take_batch(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        let rows = outcomes.of_arms(self.problem.guardrails.len())?;
        for (arm, reward, costs) in rows.clone() {
            self.check_signals(arm, reward, costs)?;
        }
        let names = match outcomes.played {
            Played::InSegments(_, names) => names,
            _ => &[],
        };
        for name in names {
            check_segment(name)?;
        }
        for (i, (arm, reward, costs)) in rows.enumerate() {
            if let Some(name) = names.get(i) {
                self.enter(name)?;
            }
            // A log's contexts are another policy's, and need not come with the frequencies that are met here.
            let segment = match outcomes.origin {
                Origin::Immediate => self.met(),
                Origin::Logged => self.learn_of_segment(),
                _ => {
                    self.segments.has_come(self.entered);
                    self.entered
                }
            };
            self.take(outcomes.source_of(i), segment, arm, reward, costs);
        }
        Ok(())
    }

    /// Makes room for the segment entered last, without counting its context.
    fn learn_of_segment(&mut self) -> Option<usize> {
        if let Some(segment) = self.entered {
            self.segments.meet(segment);
        } else if self.entered_name != POOLED {
            self.entered = self.admit();
        }
        self.entered
    }

    /// Finds a place for the segment entered last, which is new.
    #[cold]
    fn admit(&mut self) -> Option<usize> {
        if let Some(segment) = self.segments.add(&self.entered_name) {
            self.add_pairs(segment);
            self.tell_of_names();
            return Some(segment);
        }
        self.tell_of_names();
        let alarms = self.monitor.alarms();
        let is_named = |s: usize| alarms.iter().any(|alarm| alarm.segment == Some(s));
        let segment = (self.segments).replace_rare(&self.entered_name, is_named)?;
        self.segments.meet(segment);
        self.monitor.leave_segment(segment);
        for &pair in &self.segments.list[segment].pairs {
            self.pairs.clear(pair);
        }
        Some(segment)
    }

    /// Warns where names are near their limit: real segments may find no place.
    fn tell_of_names(&mut self) {
        if self.segments.are_many() {
            let (names, most) = self.segments.names();
            (self.monitor).warn_of_names(names as u64, most as f64, self.outcomes);
        }
    }

    /// Takes a checked outcome as it counts.
    fn take(
        &mut self,
        source: Source,
        segment: Option<usize>,
        arm: usize,
        reward: f64,
        costs: &[f64],
    ) {
        if self.problem.holds(Some(arm), reward, costs) {
            return self.learn(source, segment, arm, reward, costs);
        }
        let mut room = std::mem::take(&mut self.counted);
        let outcome = (Some(arm), reward, costs);
        let (reward, costs) =
            (self.monitor).count(&self.problem, outcome, self.outcomes + 1, &mut room);
        self.learn(source, segment, arm, reward, costs);
        self.counted = room;
    }

    /// Learns from a checked outcome, whose signals count as they are.
    fn learn(
        &mut self,
        source: Source,
        segment: Option<usize>,
        arm: usize,
        reward: f64,
        costs: &[f64],
    ) {
        self.outcomes += 1;
        if !self.monitor.is_current(source) {
            self.monitor.forget();
            return;
        }
        let block = segment.map_or(POOL, |s| self.segments.list[s].block);
        let mut own = Learned::default();
        if let Some(s) = segment {
            let pair = self.segments.list[s].pairs[arm];
            own = Learned::take(&mut self.pairs, pair, reward, costs);
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
                && match source {
                    Source::Immediate => true,
                    Source::InOrder(number, _) => number > self.pool_since,
                    Source::Announced(_) | Source::Logged => false,
                },
            safe_probability: None,
        };
        if matches!(source, Source::InOrder(..)) {
            self.monitor.came(&self.problem, &drawn);
        }
        let mut pooled = Learned::default();
        if drawn.pooled {
            pooled = Learned::take(&mut self.pool, arm, reward, costs);
        }
        let mut refuted_arm = arm;
        let safe = self.problem.declared.safe;
        let outcome = Outcome {
            is_safe: arm == safe,
            safe_probability: self.decision.probability(safe),
            segment: segment.filter(|_| block != POOL && self.watches_segments),
            source,
        };
        let (pool, taken) = (&mut self.pool, self.outcomes);
        let learn = |turn: &Turn, costs: &[f64]| {
            if let Some(Drawn {
                arm, pooled: true, ..
            }) = turn.drawn
            {
                let found = Learned::take(pool, arm, turn.reward, costs);
                pooled.computed |= found.computed;
                if found.refuted.is_some() {
                    (pooled.refuted, refuted_arm) = (found.refuted, arm);
                }
            }
        };
        let signals = (reward, costs);
        let next = (self.monitor).take_in_turn(&self.problem, outcome, signals, taken, learn);
        if pooled.computed {
            self.change(POOL);
        }
        let refuted = [
            self.refute(segment, arm, own.refuted),
            self.refute(segment, refuted_arm, pooled.refuted),
        ];
        if next == Next::Restart || refuted.contains(&Next::Restart) {
            self.relearn();
        }
    }

    /// Drops what was learned of the arms and the contexts, and starts the next epoch, with its share of δ: an alarm may
    /// be about either.
    #[cold]
    fn relearn(&mut self) {
        self.monitor.restart(self.outcomes);
        let epoch = self.monitor.epoch();
        self.segments.forget();
        self.pairs = Estimates::new(&self.problem, &self.checked.pairs_in(epoch));
        for segment in 0..self.segments.list.len() {
            self.segments.list[segment].pairs.clear();
            self.add_pairs(segment);
        }
        self.renew_pool();
        self.rebuild();
    }
}

/// Consequence of an outcome for the statistics that took it.
#[derive(Debug, Clone, Copy, Default)]
struct Learned {
    /// True if intervals were computed again.
    computed: bool,
    /// Guardrail whose intervals have nothing in common, the mean and the outcomes.
    refuted: Option<(usize, f64, u64)>,
}

impl Learned {
    fn take(estimates: &mut Estimates, place: usize, reward: f64, costs: &[f64]) -> Self {
        let computed = estimates.take(place, reward, costs);
        let refuted = estimates.take_refuted().map(|signal| {
            let mean = estimates.mean(place, signal).unwrap_or(0.0);
            (signal - 1, mean, estimates.pulls()[place])
        });
        Self { computed, refuted }
    }
}
