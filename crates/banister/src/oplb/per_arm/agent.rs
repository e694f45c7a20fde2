//! OPLB with a parameter per arm behind the interface that all agents share.

use super::OplbPerArm;
use super::arm::ArmSets;
use crate::agent::{ActionSet, Agent, Outcomes};
use crate::arm_estimate::{ArmEstimate, Estimate};
use crate::decision::{Decision, Fallback};
use crate::error::Error;
use crate::fit::Comparison;
use crate::interval::Interval;
use crate::linear::Ends;
use crate::monitor::{Assumption, Monitor};
use crate::problem::{ArmRanges, Direction, check_vector};

impl Agent for OplbPerArm {
    fn decide(&mut self) -> &Decision {
        OplbPerArm::decide(self)
    }

    fn decide_safe(&mut self, reason: Fallback) -> Option<&Decision> {
        Some(OplbPerArm::decide_safe(self, reason))
    }

    fn check_outcome(
        &self,
        action: usize,
        reward: f64,
        costs: &[f64],
        _: u64,
    ) -> Result<(), Error> {
        self.check_arm(action)?;
        self.check_signals(reward, costs)
    }

    fn check_outcome_at(
        &self,
        features: &[f64],
        reward: f64,
        costs: &[f64],
        _: u64,
    ) -> Result<(), Error> {
        self.played(features)?;
        self.check_signals(reward, costs)
    }

    fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        OplbPerArm::observe(self, arm, reward, costs)
    }

    fn observe_batch(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        self.take_batch(outcomes)
    }

    fn drawn(&mut self, action: usize) {
        if action < self.names.len() {
            self.number(action);
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
        self.arms.iter_mut().for_each(ArmSets::clear_fit);
    }

    fn assumptions(&self) -> Vec<Assumption> {
        let mut list = self.monitor.assumptions(&self.problem);
        let signals = 1..self.signals.len();
        let mut comparisons = signals.map(|signal| self.checked.comparison(signal));
        list.push(Assumption {
            watched: self.signals.len() > 1 && comparisons.all(|c| c != Comparison::Untested),
            ..self
                .checked
                .assumption("the context, for every arm on its own")
        });
        list
    }

    fn offer(&mut self, actions: &[f64]) -> Result<(), Error> {
        OplbPerArm::offer(self, actions)
    }

    fn observe_at(&mut self, features: &[f64], reward: f64, costs: &[f64]) -> Result<(), Error> {
        OplbPerArm::observe_at(self, features, reward, costs)
    }

    fn features(&self, action: usize) -> Option<&[f64]> {
        self.rows.get(action).map(Vec::as_slice)
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
        OplbPerArm::names(self)
    }

    fn add_arm(
        &mut self,
        name: &str,
        features: Option<&[f64]>,
        ranges: &ArmRanges,
    ) -> Result<usize, Error> {
        ranges.refuse()?;
        if features.is_some() {
            let allowed = "an arm's features are the context's: omit them";
            return Err(Error::invalid("features", "given", allowed));
        }
        OplbPerArm::add_arm(self, name)
    }

    fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        OplbPerArm::retire_arm(self, arm)
    }

    fn estimates(&mut self) -> Vec<ArmEstimate> {
        (0..self.names.len())
            .map(|arm| self.estimate_of(arm))
            .collect()
    }

    fn estimate(&mut self, arm: usize) -> Option<ArmEstimate> {
        (arm < self.names.len()).then(|| self.estimate_of(arm))
    }

    fn save(&self) -> String {
        OplbPerArm::save(self)
    }

    fn save_learned(&self) -> String {
        OplbPerArm::save_learned(self)
    }
}

/// Signal 0 is the reward, signal 1 + i guardrail i.
impl OplbPerArm {
    /// Estimates of an arm in the context on offer.
    fn estimate_of(&mut self, arm: usize) -> ArmEstimate {
        let every = self.ends(arm);
        let own = &self.arms[arm];
        let is_known = |signal: usize| {
            let safe = arm == self.problem.declared.safe && signal > 0;
            own.pulls > 0 || (safe && self.problem.guardrails[signal - 1].safe_cost.is_some())
        };
        let parts = |signal: usize| {
            let Ends { lower, mean, upper } = every[signal];
            (is_known(signal).then_some(mean), Interval { lower, upper })
        };
        let (mean, ends) = parts(0);
        let guardrails = self.problem.guardrails.iter().enumerate();
        ArmEstimate {
            offered: own.offered,
            pulls: Some(own.pulls),
            reward: Estimate::in_units(&self.problem.reward, Direction::AtMost, mean, ends),
            costs: guardrails
                .map(|(i, guardrail)| {
                    let (mean, ends) = parts(i + 1);
                    Estimate::of_guardrail(guardrail, mean, ends)
                })
                .collect(),
        }
    }

    /// The interval of an arm's mean in the context on offer, in standard units.
    pub fn interval(&mut self, arm: usize, signal: usize) -> Result<Interval, Error> {
        self.check_arm(arm)?;
        self.check_signal(signal)?;
        let Ends { lower, upper, .. } = self.ends(arm)[signal];
        Ok(Interval { lower, upper })
    }

    /// Distance of an arm's parameter from its estimate, in units of the confidence set's radius: at most 1 on the
    /// event that all guarantees rest on. `parameter` is in signal units per feature unit, or with a logistic link in
    /// log-odds.
    pub fn confidence(&self, arm: usize, signal: usize, parameter: &[f64]) -> Result<f64, Error> {
        self.check_arm(arm)?;
        self.check_signal(signal)?;
        check_vector("parameter", parameter, self.numbers)?;
        let scale = match self.checked.links[signal] {
            crate::oplb::Link::Identity => self.signals[signal].scale,
            crate::oplb::Link::Logistic => self.signals[signal].scale.signum(),
        };
        let own: Vec<f64> = parameter.iter().map(|x| x * scale).collect();
        Ok(self.arms[arm].distance(self.frame(), signal, &own))
    }

    fn check_signal(&self, signal: usize) -> Result<(), Error> {
        if signal < self.signals.len() {
            return Ok(());
        }
        let allowed = format!("must be 0 to {}", self.signals.len() - 1);
        Err(Error::invalid("signal", signal, allowed))
    }
}
