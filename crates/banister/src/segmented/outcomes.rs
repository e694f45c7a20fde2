//! Outcomes and contexts: which are accepted, and what they change.

use super::segments::POOL;
use super::{POOLED, Segmented};
use crate::agent::{Origin, Outcomes, Played};
use crate::error::Error;
use crate::monitor::{Next, Outcome, Source};
use crate::problem::check_segment;

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
        if self.block() == POOL {
            self.pool.number(arm);
        }
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
        let config = (self.checked).pool_in(self.monitor.epoch(), apart.pools);
        // The new pool is taken for what the old one was: it is small, and nothing is certified by this.
        let (together, _) = self.earnings(&self.segments);
        let (earned, variance) = self.earnings(&apart);
        // Two standard errors: the best of many estimates looks better than it is.
        if earned > together + 2.0 * variance.sqrt() {
            self.segments = apart;
            self.pool = self.new_pool(&config);
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
        if self.entered.is_none() && self.entered_name != POOLED {
            self.entered = self.segments.add(&self.entered_name);
            if let Some(segment) = self.entered {
                self.add_pairs(segment);
            }
        }
        self.entered
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
        let mut computed = false;
        let mut refuted = None;
        if let Some(s) = segment {
            let pair = self.segments.list[s].pairs[arm];
            let own = self.pairs.take(pair, reward, costs);
            computed |= own && block != POOL;
            if own && let Some(signal) = self.pairs.take_refuted() {
                let mean = self.pairs.mean(pair, signal).unwrap_or(0.0);
                refuted = Some((signal - 1, mean, self.pairs.pulls()[pair]));
            }
        }
        // Segments of a log need not come as often as they do here, so their average is another.
        if block == POOL && source != Source::Logged {
            computed |= self.pool.take(arm, reward, costs);
            if let Some(signal) = self.pool.take_refuted() {
                let mean = self.pool.mean(arm, signal).unwrap_or(0.0);
                refuted = Some((signal - 1, mean, self.pool.pulls()[arm]));
            }
        }
        if computed {
            self.stale = true;
            if !self.table.changed.contains(&block) {
                self.table.changed.push(block);
            }
        }
        let safe = self.problem.declared.safe;
        let outcome = Outcome {
            is_safe: arm == safe,
            safe_probability: self.decision.probability(safe),
            segment: segment.filter(|_| block != POOL && self.watches_segments),
            source,
        };
        let mut next = (self.monitor).take(&self.problem, outcome, costs, self.outcomes);
        if let Some((guardrail, mean, pulls)) = refuted {
            let mean = self.problem.guardrails[guardrail].signal_of(mean);
            let key = (arm, guardrail);
            let also = (self.monitor).refute(key, segment, pulls, mean, self.outcomes);
            next = if next == Next::Restart { next } else { also };
        }
        if next == Next::Restart {
            self.relearn();
        }
    }

    /// Drops what was learned of the arms and starts the next epoch, with its share of δ. Frequencies stay: they are
    /// not what an alarm is about.
    #[cold]
    fn relearn(&mut self) {
        self.monitor.restart(self.outcomes);
        let epoch = self.monitor.epoch();
        self.pairs = crate::estimate::Estimates::new(&self.problem, &self.checked.pairs_in(epoch));
        for segment in 0..self.segments.list.len() {
            self.segments.list[segment].pairs.clear();
            self.add_pairs(segment);
        }
        self.renew_pool();
        self.rebuild();
    }
}
