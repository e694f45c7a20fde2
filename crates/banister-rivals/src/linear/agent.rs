//! Linear rivals behind the interface that all agents share.

use super::Rule;
use super::rival::Rival;
use crate::config::RivalConfig;
use crate::status;
use banister::toolkit::Answer;
use banister::{
    ActionSet, Agent, ArmEstimate, ArmRanges, Decision, Error, Fallback, Outcomes, Played,
};

impl<C: RivalConfig, R: Rule> Agent for Rival<C, R> {
    fn decide(&mut self) -> &Decision {
        self.decision.outcomes = self.evidence.outcomes;
        self.evidence.update_actions();
        if !self.evidence.is_reliable() {
            self.publish_safe(Fallback::IllConditioned);
            return &self.decision;
        }
        let plan = self.rule.plan(&self.evidence);
        let within = self.write_costs(&plan);
        // An agent that promises safety per action plays one that checks, or the safe one.
        if self.promised && !within {
            self.publish_safe(Fallback::SolverFailed);
            return &self.decision;
        }
        self.write_policy(&plan);
        // Upper bounds on the reward of this policy and of any feasible one are all that it proves.
        let offset = self.evidence.signals[0].offset;
        let value = plan.scale * self.upper(plan.action, 0);
        let actions = 0..self.evidence.actions.count;
        let upper_bound = (actions.map(|action| self.upper(action, 0))).fold(value, f64::max);
        let answer = Answer {
            support: &self.support,
            status: status(false, upper_bound - value),
            value: value + offset,
            upper_bound: upper_bound + offset,
            costs: &self.costs,
            prices: &self.prices,
            nodes: 0,
        };
        self.decision.policy.clear();
        self.decision.policy.extend_from_slice(answer.support);
        self.certifier.certify(&answer, &mut self.decision);
        self.decision.optimistic_reward = self.decision.solver.upper_bound;
        &self.decision
    }

    fn decide_safe(&mut self, reason: Fallback) -> Option<&Decision> {
        self.decision.outcomes = self.evidence.outcomes;
        self.evidence.update_actions();
        self.publish_safe(reason);
        Some(&self.decision)
    }

    fn samples(&self) -> bool {
        self.rule.samples()
    }

    fn reseed(&mut self, seed: u64, stream: u64) {
        self.rule.reseed(seed, stream);
    }

    fn check_outcome(
        &self,
        action: usize,
        reward: f64,
        costs: &[f64],
        _more: u64,
    ) -> Result<(), Error> {
        self.check(action, reward, costs)
    }

    fn check_outcome_at(
        &self,
        features: &[f64],
        reward: f64,
        costs: &[f64],
        _more: u64,
    ) -> Result<(), Error> {
        self.check_at(features, reward, costs)
    }

    fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.check(arm, reward, costs)?;
        self.take(arm, reward, costs);
        Ok(())
    }

    fn observe_at(&mut self, features: &[f64], reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.check_at(features, reward, costs)?;
        self.take_at(features, reward, costs);
        Ok(())
    }

    fn observe_batch(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        let (guardrails, d) = (self.evidence.guardrails(), self.evidence.dimension());
        outcomes.check(guardrails, Some(d))?;
        let rows = outcomes.rewards.iter().enumerate();
        let rows = rows.map(|(i, &reward)| (i, reward, outcomes.costs_of(i, guardrails)));
        match outcomes.played {
            Played::Arms(actions) | Played::InSegments(actions, _) => {
                for (i, reward, costs) in rows.clone() {
                    self.check(actions[i], reward, costs)?;
                }
                rows.for_each(|(i, reward, costs)| self.take(actions[i], reward, costs));
            }
            Played::Features(x) => {
                let features = |i: usize| &x[i * d..(i + 1) * d];
                for (i, reward, costs) in rows.clone() {
                    self.check_at(features(i), reward, costs)?;
                }
                rows.for_each(|(i, reward, costs)| self.take_at(features(i), reward, costs));
            }
        }
        Ok(())
    }

    fn offer(&mut self, actions: &[f64]) -> Result<(), Error> {
        self.evidence.offer(actions)
    }

    fn features(&self, action: usize) -> Option<&[f64]> {
        self.evidence.features(action)
    }

    fn actions(&self) -> Option<ActionSet> {
        Some(ActionSet {
            count: self.evidence.actions.count,
            safe: self.evidence.actions.safe,
        })
    }

    fn outcomes(&self) -> u64 {
        self.evidence.outcomes
    }

    fn names(&self) -> &[String] {
        &self.evidence.names
    }

    fn add_arm(
        &mut self,
        name: &str,
        features: Option<&[f64]>,
        ranges: &ArmRanges,
    ) -> Result<usize, Error> {
        ranges.refuse()?;
        let set = self.evidence.with_arm(name, features)?;
        self.offer_named(set)?;
        Ok(self.evidence.names.len() - 1)
    }

    fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        let set = self.evidence.without_arm(arm)?;
        self.offer_named(set)
    }

    fn estimates(&mut self) -> Vec<ArmEstimate> {
        self.evidence.update_actions();
        let actions = 0..self.evidence.actions.count;
        actions.map(|action| self.estimate_of(action)).collect()
    }

    fn estimate(&mut self, action: usize) -> Option<ArmEstimate> {
        self.evidence.update_actions();
        (action < self.evidence.actions.count).then(|| self.estimate_of(action))
    }

    fn save(&self) -> String {
        self.snapshot(false)
    }

    fn save_learned(&self) -> String {
        self.snapshot(true)
    }
}
