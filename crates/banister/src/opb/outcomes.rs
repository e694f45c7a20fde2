//! Which outcomes are accepted.

use super::Opb;
use crate::error::Error;
use crate::interval::Intervals;

impl Opb {
    #[inline]
    pub(super) fn check_arm(&self, arm: usize) -> Result<(), Error> {
        if arm < self.names.len() {
            return Ok(());
        }
        Err(Error::NoSuchArm {
            arm,
            last: self.names.len() - 1,
        })
    }

    #[inline]
    pub(super) fn check_room(&self, more: u64) -> Result<(), Error> {
        if self.outcomes.saturating_add(more) <= self.room {
            return Ok(());
        }
        Err(Error::HorizonExceeded {
            horizon: self.room,
            intervals: match self.t_zero {
                Some(_) => "T_0",
                None => self.checked.config.intervals.map_or("", Intervals::name),
            },
        })
    }

    #[inline]
    pub(super) fn check_outcome(
        &self,
        arm: usize,
        reward: f64,
        costs: &[f64],
    ) -> Result<(), Error> {
        let guardrails = &self.problem.guardrails;
        let fits = arm < self.names.len()
            && self.outcomes < self.room
            && costs.len() == guardrails.len()
            && self.problem.reward.admits(reward)
            && std::iter::zip(guardrails, costs).all(|(g, &cost)| g.signal.admits(cost));
        if fits {
            return Ok(());
        }
        self.refuse_outcome(arm, reward, costs)
    }

    /// What is wrong with an outcome that does not fit.
    #[cold]
    #[inline(never)]
    fn refuse_outcome(&self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.check_arm(arm)?;
        self.check_room(1)?;
        let guardrails = &self.problem.guardrails;
        if costs.len() != guardrails.len() {
            let names: Vec<&str> = guardrails.iter().map(|g| g.name.as_str()).collect();
            return Err(Error::CostCount {
                got: costs.len(),
                expected: guardrails.len(),
                names: names.join(", "),
            });
        }
        if !self.problem.reward.admits(reward) {
            return Err(self.problem.reward.refuse("reward", reward));
        }
        for (guardrail, &cost) in guardrails.iter().zip(costs) {
            if !guardrail.signal.admits(cost) {
                return Err(guardrail.signal.refuse(&guardrail.name, cost));
            }
        }
        Ok(())
    }
}
