//! Outcomes: which are accepted, and what they change.

use super::OplbPerArm;
use super::arm::Frame;
use crate::agent::{Outcomes, Played};
use crate::error::Error;
use crate::monitor::{Next, Outcome, Source};
use crate::problem::check_vector;

impl OplbPerArm {
    /// Takes one outcome of an arm in the context on offer: its reward and one cost per guardrail. Nothing changes if
    /// any number is refused.
    pub fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.check_arm(arm)?;
        self.check_signals(reward, costs)?;
        let context = self.context_of(arm)?;
        self.take(Source::Immediate, (arm, &context), reward, costs);
        Ok(())
    }

    /// Takes the outcome of an arm in any context: its number, then the context's.
    pub fn observe_at(
        &mut self,
        features: &[f64],
        reward: f64,
        costs: &[f64],
    ) -> Result<(), Error> {
        let (arm, context) = self.played(features)?;
        self.check_signals(reward, costs)?;
        self.take(Source::Immediate, (arm, &context), reward, costs);
        Ok(())
    }

    /// Takes many outcomes; all are checked before any is taken.
    pub(super) fn take_batch(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        let (guardrails, width) = (self.problem.guardrails.len(), self.numbers + 1);
        outcomes.check(guardrails, Some(width))?;
        let mut taken = Vec::with_capacity(outcomes.rewards.len());
        for (i, &reward) in outcomes.rewards.iter().enumerate() {
            self.check_signals(reward, outcomes.costs_of(i, guardrails))?;
            taken.push(match outcomes.played {
                Played::Arms(arms) | Played::InSegments(arms, _) => {
                    self.check_arm(arms[i])?;
                    (arms[i], self.context_of(arms[i])?)
                }
                Played::Features(x) => self.played(&x[i * width..(i + 1) * width])?,
            });
        }
        for (i, (arm, context)) in taken.iter().enumerate() {
            let costs = outcomes.costs_of(i, guardrails);
            let source = outcomes.source_of(i);
            self.take(source, (*arm, context), outcomes.rewards[i], costs);
        }
        Ok(())
    }

    /// Arm and context of d + 1 numbers.
    pub(super) fn played(&self, features: &[f64]) -> Result<(usize, Vec<f64>), Error> {
        check_vector("features", features, self.numbers + 1)?;
        let arm = features[0] as usize;
        if arm as f64 != features[0] {
            let allowed = "the first number of a context's features is the arm's";
            return Err(Error::invalid("features[0]", features[0], allowed));
        }
        self.check_arm(arm)?;
        Ok((arm, self.frame().admit("features", &features[1..])?))
    }

    fn context_of(&self, arm: usize) -> Result<Vec<f64>, Error> {
        if self.context.is_none() {
            let allowed = "no context has been offered yet: take the outcome by its features";
            return Err(Error::invalid("arm", &self.names[arm], allowed));
        }
        Ok(self.rows[arm][1..].to_vec())
    }

    pub(super) fn check_signals(&self, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.problem.check_reported(None, reward, costs)
    }

    /// Takes a checked outcome as it counts.
    fn take(&mut self, source: Source, played: (usize, &[f64]), reward: f64, costs: &[f64]) {
        if self.problem.holds(None, reward, costs) {
            return self.learn(source, played, reward, costs);
        }
        let mut room = std::mem::take(&mut self.counted);
        let outcome = (Some(played.0), reward, costs);
        let (reward, costs) =
            (self.monitor).count(&self.problem, outcome, self.outcomes + 1, &mut room);
        self.learn(source, played, reward, costs);
        self.counted = room;
    }

    fn learn(
        &mut self,
        source: Source,
        (arm, context): (usize, &[f64]),
        reward: f64,
        costs: &[f64],
    ) {
        self.outcomes += 1;
        if !self.monitor.is_current(source) {
            self.monitor.forget();
            return;
        }
        self.number(arm);
        let frame = Frame {
            checked: &self.checked,
            signals: &self.signals,
            numbers: self.numbers,
        };
        self.arms[arm].take(frame, context, reward, costs);
        let safe = self.problem.declared.safe;
        let outcome = Outcome {
            is_safe: arm == safe,
            safe_probability: self.decision.probability(safe),
            segment: None,
            source,
        };
        let mut next = (self.monitor).take(&self.problem, outcome, costs, self.outcomes);
        if self.test_fit(arm) == Next::Restart {
            next = Next::Restart;
        }
        if next == Next::Restart {
            self.relearn();
        }
    }
}
