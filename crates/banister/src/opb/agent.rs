//! OPB behind the interface that all agents share.

use super::Opb;
use crate::agent::{ActionSet, Agent, Outcomes};
use crate::arm_estimate::{ArmEstimate, of_arm};
use crate::decision::{Decision, Fallback};
use crate::error::Error;
use crate::monitor::{Assumption, Monitor};
use crate::problem::ArmRanges;

impl Agent for Opb {
    fn decide(&mut self) -> &Decision {
        Opb::decide(self)
    }

    #[inline]
    fn is_stale(&self) -> bool {
        self.stale || self.monitor.raised() != self.alarms_seen
    }

    fn decide_safe(&mut self, reason: Fallback) -> Option<&Decision> {
        self.begin_decision();
        self.publish_safe(reason);
        Some(&self.decision)
    }

    fn check_outcome(
        &self,
        action: usize,
        reward: f64,
        costs: &[f64],
        more: u64,
    ) -> Result<(), Error> {
        self.check_arm(action)?;
        self.check_room(more.saturating_add(1))?;
        self.problem.check_reported(Some(action), reward, costs)
    }

    fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        Opb::observe(self, arm, reward, costs)
    }

    fn observe_batch(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        self.take_batch(outcomes)
    }

    fn drawn(&mut self, action: usize) {
        if action < self.names.len() {
            self.estimates.number(action);
        }
    }

    fn decided(&mut self, number: u64, safe_probability: Option<f64>) {
        self.monitor.decided(number, safe_probability);
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
        self.monitor.assumptions(&self.problem)
    }

    fn actions(&self) -> Option<ActionSet> {
        Some(ActionSet {
            count: self.names.len(),
            safe: self.problem.declared.safe,
        })
    }

    fn outcomes(&self) -> u64 {
        Opb::outcomes(self)
    }

    fn names(&self) -> &[String] {
        self.arm_names()
    }

    fn add_arm(
        &mut self,
        name: &str,
        features: Option<&[f64]>,
        ranges: &ArmRanges,
    ) -> Result<usize, Error> {
        match features {
            None => self.add_arm_with(name, ranges),
            Some(_) => Err(Error::NoFeatures),
        }
    }

    fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        Opb::retire_arm(self, arm)
    }

    fn estimates(&mut self) -> Vec<ArmEstimate> {
        (0..self.names.len())
            .filter_map(|arm| self.estimate(arm))
            .collect()
    }

    fn estimate(&mut self, arm: usize) -> Option<ArmEstimate> {
        of_arm(&self.problem, &self.estimates, arm, self.is_offered(arm))
    }

    fn save(&self) -> String {
        Opb::save(self)
    }

    fn save_learned(&self) -> String {
        Opb::save_learned(self)
    }
}
