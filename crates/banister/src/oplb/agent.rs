//! OPLB behind the interface that all agents share.

use super::Oplb;
use crate::agent::{ActionSet, Agent, Outcomes};
use crate::arm_estimate::{ArmEstimate, of_intervals};
use crate::decision::{Decision, Fallback};
use crate::error::Error;
use crate::interval::Interval;
use crate::monitor::{Assumption, Monitor};
use crate::problem::ArmRanges;

impl Agent for Oplb {
    fn decide(&mut self) -> &Decision {
        Oplb::decide(self)
    }

    fn is_stale(&self) -> bool {
        let serves = self.kept.is_some_and(|kept| kept.serves(self));
        !serves || self.monitor.forces_safe() || self.monitor.foremost() != self.decision.alarm
    }

    fn decide_safe(&mut self, reason: Fallback) -> Option<&Decision> {
        Some(Oplb::decide_safe(self, reason))
    }

    fn check_outcome(
        &self,
        action: usize,
        reward: f64,
        costs: &[f64],
        more: u64,
    ) -> Result<(), Error> {
        self.evidence.check_action(action)?;
        Oplb::check_outcome(self, reward, costs, more.saturating_add(1))
    }

    fn check_outcome_at(
        &self,
        features: &[f64],
        reward: f64,
        costs: &[f64],
        more: u64,
    ) -> Result<(), Error> {
        self.evidence.check_features(features)?;
        Oplb::check_outcome(self, reward, costs, more.saturating_add(1))
    }

    fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        Oplb::observe(self, arm, reward, costs)
    }

    fn observe_batch(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        self.take_batch(outcomes)
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
        self.restart_fit();
    }

    fn assumptions(&self) -> Vec<Assumption> {
        let mut list = self.monitor.assumptions(&self.evidence.problem);
        list.push(Assumption {
            watched: (self.fit.as_ref()).is_some_and(|fit| fit.is_whole()),
            ..self.checked.assumption("the features")
        });
        list
    }

    fn offer(&mut self, actions: &[f64]) -> Result<(), Error> {
        Oplb::offer(self, actions)
    }

    fn observe_at(&mut self, features: &[f64], reward: f64, costs: &[f64]) -> Result<(), Error> {
        Oplb::observe_at(self, features, reward, costs)
    }

    fn features(&self, action: usize) -> Option<&[f64]> {
        Oplb::features(self, action)
    }

    fn actions(&self) -> Option<ActionSet> {
        Some(ActionSet {
            count: self.offered(),
            safe: self.safe(),
        })
    }

    fn outcomes(&self) -> u64 {
        Oplb::outcomes(self)
    }

    fn names(&self) -> &[String] {
        Oplb::names(self)
    }

    fn add_arm(
        &mut self,
        name: &str,
        features: Option<&[f64]>,
        ranges: &ArmRanges,
    ) -> Result<usize, Error> {
        ranges.refuse()?;
        Oplb::add_arm(self, name, features)
    }

    fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        Oplb::retire_arm(self, arm)
    }

    fn estimates(&mut self) -> Vec<ArmEstimate> {
        (0..self.offered())
            .map(|action| self.estimate_of(action))
            .collect()
    }

    fn estimate(&mut self, action: usize) -> Option<ArmEstimate> {
        (action < self.offered()).then(|| self.estimate_of(action))
    }

    fn save(&self) -> String {
        Oplb::save(self)
    }

    fn save_learned(&self) -> String {
        Oplb::save_learned(self)
    }
}

impl Oplb {
    fn estimate_of(&mut self, action: usize) -> ArmEstimate {
        // Asked for action and signal that exist: the unknown interval is never used.
        let signals = 0..=self.evidence.problem.guardrails.len();
        let intervals: Vec<Interval> = signals
            .map(|signal| self.interval(action, signal).unwrap_or(Interval::UNKNOWN))
            .collect();
        of_intervals(&self.evidence.problem, &intervals)
    }
}
