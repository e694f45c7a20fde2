//! The segmented agent behind the interface that all agents share.

use super::Segmented;
use crate::agent::{ActionSet, Agent, Outcomes};
use crate::arm_estimate::{ArmEstimate, SegmentCount, SegmentView};
use crate::decision::{Decision, Fallback};
use crate::error::Error;
use crate::monitor::{Assumption, Monitor};
use crate::problem::ArmRanges;

impl Agent for Segmented {
    fn decide(&mut self) -> &Decision {
        Segmented::decide(self)
    }

    fn is_stale(&self) -> bool {
        Segmented::is_stale(self)
    }

    fn decide_safe(&mut self, reason: Fallback) -> Option<&Decision> {
        if self.is_stale() {
            self.plan();
        }
        let forced = self.forced.replace(reason);
        self.publish();
        self.forced = forced;
        Some(&self.decision)
    }

    fn enter(&mut self, segment: &str) -> Result<(), Error> {
        Segmented::enter(self, segment)
    }

    fn policy_in(&mut self, segment: &str) -> Option<&[(usize, f64)]> {
        Some(Segmented::policy_in(self, segment))
    }

    fn segments_at(&mut self, places: std::ops::Range<usize>) -> Vec<SegmentView> {
        self.views(places)
    }

    fn segment_count(&self) -> SegmentCount {
        let (names, max_names) = self.segments.names();
        SegmentCount {
            told_apart: self.segments.owners.len(),
            names,
            max_names,
        }
    }

    fn segment_name(&self, segment: usize) -> Option<&str> {
        Some(&self.segments.list.get(segment)?.name)
    }

    fn check_outcome(
        &self,
        action: usize,
        reward: f64,
        costs: &[f64],
        _: u64,
    ) -> Result<(), Error> {
        self.check_signals(action, reward, costs)
    }

    fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        Segmented::observe(self, arm, reward, costs)
    }

    fn observe_batch(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        self.take_batch(outcomes)
    }

    fn drawn(&mut self, action: usize) {
        self.draw(action);
    }

    fn decided(&mut self, number: u64, safe_probability: Option<f64>) {
        self.announce(number, safe_probability);
    }

    fn gave_up(&mut self, number: u64, action: Option<usize>) {
        self.give_up(number, action);
    }

    fn monitor(&self) -> Option<&Monitor> {
        Some(&self.monitor)
    }

    fn monitor_mut(&mut self) -> Option<&mut Monitor> {
        Some(&mut self.monitor)
    }

    fn acknowledge(&mut self) {
        self.monitor.acknowledge();
        self.stale = true;
    }

    fn assumptions(&self) -> Vec<Assumption> {
        let mut list = self.monitor.assumptions(&self.problem);
        list.push(Assumption::declared(
            "segments come independently of one another, each with a frequency that stays",
        ));
        list
    }

    fn actions(&self) -> Option<ActionSet> {
        Some(ActionSet {
            count: self.names.len(),
            safe: self.problem.declared.safe,
        })
    }

    fn outcomes(&self) -> u64 {
        self.outcomes
    }

    fn names(&self) -> &[String] {
        &self.names
    }

    fn add_arm(
        &mut self,
        name: &str,
        features: Option<&[f64]>,
        ranges: &ArmRanges,
    ) -> Result<usize, Error> {
        match features {
            None => Segmented::add_arm(self, name, ranges),
            Some(_) => Err(Error::NoFeatures),
        }
    }

    fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        Segmented::retire_arm(self, arm)
    }

    /// Estimates of all arms in the segment entered last, also where it shares the pool's policy; of the pool, where
    /// that segment has no statistics.
    fn estimates(&mut self) -> Vec<ArmEstimate> {
        self.estimates_in(self.entered)
    }

    fn save(&self) -> String {
        Segmented::save(self)
    }

    fn save_learned(&self) -> String {
        Segmented::save_learned(self)
    }
}
