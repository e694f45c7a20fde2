//! Outcomes: which are accepted, and what they change.

use super::Oplb;
use crate::agent::{Outcomes, Played};
use crate::error::Error;
use crate::monitor::Source;
use crate::monitor::{Next, Outcome};

/// The action of an outcome: its number among those on offer now, or its features.
#[derive(Clone, Copy)]
pub(super) enum Taken<'a> {
    Action(usize),
    Features(&'a [f64]),
}

impl Oplb {
    /// Takes one outcome: the number of the action played among those on offer now, its reward and
    /// one cost per guardrail. Nothing changes if any number is refused.
    pub fn observe(&mut self, action: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.evidence.check_action(action)?;
        self.check_outcome(reward, costs, 1)?;
        self.take(Source::Immediate, Taken::Action(action), reward, costs);
        Ok(())
    }

    /// Takes the outcome of an action by its features, whatever is on offer now: for outcomes that
    /// come late.
    pub fn observe_at(
        &mut self,
        features: &[f64],
        reward: f64,
        costs: &[f64],
    ) -> Result<(), Error> {
        self.evidence.check_features(features)?;
        self.check_outcome(reward, costs, 1)?;
        self.take(Source::Immediate, Taken::Features(features), reward, costs);
        Ok(())
    }

    /// Takes many outcomes, of actions on offer now or by their features; all are checked before any is
    /// taken.
    pub(super) fn take_batch(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        let (guardrails, d) = (self.evidence.problem.guardrails.len(), self.dimension());
        outcomes.check(guardrails, Some(d))?;
        let taken = |i: usize| match outcomes.played {
            Played::Arms(actions) | Played::InSegments(actions, _) => Taken::Action(actions[i]),
            Played::Features(x) => Taken::Features(&x[i * d..(i + 1) * d]),
        };
        for (i, &reward) in outcomes.rewards.iter().enumerate() {
            match taken(i) {
                Taken::Action(action) => self.evidence.check_action(action)?,
                Taken::Features(features) => self.evidence.check_features(features)?,
            }
            self.check_outcome(reward, outcomes.costs_of(i, guardrails), i as u64 + 1)?;
        }
        for (i, &reward) in outcomes.rewards.iter().enumerate() {
            let costs = outcomes.costs_of(i, guardrails);
            self.take(outcomes.source_of(i), taken(i), reward, costs);
        }
        Ok(())
    }

    /// Takes a checked outcome as it counts.
    fn take(&mut self, source: Source, taken: Taken, reward: f64, costs: &[f64]) {
        let evidence = &self.evidence;
        if evidence.problem.holds(None, reward, costs) {
            return self.learn(source, taken, reward, costs);
        }
        let arm = match taken {
            Taken::Action(action) if action < evidence.names.len() => Some(action),
            _ => None,
        };
        let mut room = std::mem::take(&mut self.counted);
        let (outcome, number) = ((arm, reward, costs), evidence.outcomes + 1);
        let (reward, costs) = (self.monitor).count(&evidence.problem, outcome, number, &mut room);
        self.learn(source, taken, reward, costs);
        self.counted = room;
    }

    /// Learns from a checked outcome, whose signals count as they are.
    fn learn(&mut self, source: Source, taken: Taken, reward: f64, costs: &[f64]) {
        if !self.monitor.is_current(source) {
            self.evidence.outcomes += 1;
            self.monitor.forget();
            return;
        }
        let is_safe = match taken {
            Taken::Action(action) => self.evidence.take(action, reward, costs),
            Taken::Features(features) => self.evidence.take_at(features, reward, costs),
        };
        self.learn_linked(reward, costs);
        self.learn_safe(is_safe, reward, costs);
        let outcome = Outcome {
            is_safe,
            safe_probability: self.decision.probability(self.evidence.actions.safe),
            segment: None,
            source,
        };
        let number = self.evidence.outcomes;
        let mut next = (self.monitor).take(&self.evidence.problem, outcome, costs, number);
        if is_safe && let Some(guardrail) = self.refuted() {
            next = self.refute(guardrail, next);
        }
        if !is_safe && self.test_fit(taken) == Next::Restart {
            next = Next::Restart;
        }
        if next == Next::Restart {
            self.relearn();
        }
    }

    /// The guardrail under which the safe action's own outcomes contradict each other, or the regression.
    fn refuted(&mut self) -> Option<usize> {
        let estimates = self.safe_estimates.as_mut()?;
        if let Some(signal) = estimates.take_refuted() {
            return Some(signal - 1);
        }
        let guardrails = self.evidence.problem.guardrails.iter().enumerate();
        let mut unknown = guardrails.filter(|(_, g)| g.safe_cost.is_none());
        let (i, _) = unknown.find(|&(i, _)| {
            let (lower, upper) = self.safe_interval(i);
            lower > upper
        })?;
        Some(i)
    }

    /// Raises the alarm that the safe action's mean has changed, or that the linear model is wrong.
    #[cold]
    fn refute(&mut self, guardrail: usize, next: Next) -> Next {
        let Some(estimates) = &self.safe_estimates else {
            return next;
        };
        let pulls = estimates.pulls()[0];
        let problem = &self.evidence.problem;
        let mean = estimates.mean(0, guardrail + 1).unwrap_or(0.0);
        let mean = problem.guardrails[guardrail].signal_of(mean);
        let key = (problem.declared.safe, guardrail);
        let also = (self.monitor).refute(key, None, pulls, mean, self.evidence.outcomes);
        if next == Next::Restart { next } else { also }
    }

    pub(super) fn check_outcome(&self, reward: f64, costs: &[f64], more: u64) -> Result<(), Error> {
        if self.evidence.outcomes.saturating_add(more) > self.room {
            return Err(Error::HorizonExceeded {
                horizon: self.room,
                intervals: "T_0",
            });
        }
        self.evidence.check_signals(reward, costs)
    }

    /// Takes an outcome into the safe action's own statistics, where its costs are unknown.
    fn learn_safe(&mut self, is_safe: bool, reward: f64, costs: &[f64]) {
        if let (true, Some(estimates)) = (is_safe, &mut self.safe_estimates) {
            estimates.take(0, reward, costs);
            if let Some(rule) = &mut self.t_zero {
                let (problem, pulls) = (&self.evidence.problem, estimates.pulls()[0]);
                rule.update(problem, pulls, |i| estimates.sum(0, i + 1));
            }
        }
    }
}
