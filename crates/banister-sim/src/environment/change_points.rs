//! Arms whose means change at given rounds.

use banister::Error;
use banister::toolkit::CheckedProblem;

use super::outcome::{Arms, Pull};
use super::world::{RunStart, World, WorldRound, WorldRun};
use crate::results::GuardrailInfo;

/// Arms by the round from which they are as they are, the first at round 0.
pub(crate) struct ChangePoints(pub(super) Vec<(u64, Arms)>);

impl World for ChangePoints {
    fn start<'a>(&'a self, _: &RunStart<'a>) -> Result<Box<dyn WorldRun + 'a>, Error> {
        Ok(Box::new(ChangingArms {
            now: &self.0[0].1,
            later: &self.0,
            round: 0,
        }))
    }

    fn arms(&self) -> Option<&Arms> {
        Some(&self.0[0].1)
    }

    fn changes(&self) -> Vec<u64> {
        self.0[1..].iter().map(|(round, _)| *round).collect()
    }

    /// Refuses changes after which the safe arm breaks a guardrail: nothing would be left to play. A relative
    /// threshold moves with the safe arm, so there its mean must stay.
    fn check(&self, problem: &CheckedProblem, guardrails: &[GuardrailInfo]) -> Result<(), Error> {
        let safe = problem.declared.safe;
        for (n, (_, arms)) in self.0[1..].iter().enumerate() {
            for (i, guardrail) in guardrails.iter().enumerate() {
                let mean = arms.mean(safe, i + 1);
                let first = self.0[0].1.mean(safe, i + 1);
                let breaks = guardrail.direction.excess(mean, guardrail.threshold) >= 0.0;
                let moves = problem.declared.guardrails[i].relative && mean != first;
                if !breaks && !moves {
                    continue;
                }
                let name = &guardrail.name;
                let allowed = if moves {
                    format!("`{name}` is relative to the safe arm, whose mean must stay at {first}")
                } else {
                    format!(
                        "the safe arm must meet guardrail `{name}` (threshold {}) with margin",
                        guardrail.threshold
                    )
                };
                let field = format!("environment.changes[{n}].costs[{i}][{safe}]");
                return Err(Error::invalid(field, mean, allowed));
            }
        }
        Ok(())
    }
}

/// One run of arms that change.
struct ChangingArms<'a> {
    now: &'a Arms,
    /// Changes to come.
    later: &'a [(u64, Arms)],
    round: u64,
}

impl WorldRun for ChangingArms<'_> {
    fn begin(&mut self, round: &mut WorldRound) -> Result<bool, Error> {
        let t = self.round;
        self.round += 1;
        let [(from, arms), later @ ..] = self.later else {
            return Ok(false);
        };
        if *from != t {
            return Ok(false);
        }
        (self.now, self.later) = (arms, later);
        round.means = arms.by_signal();
        Ok(true)
    }

    fn pull(&mut self, _: &WorldRound, pull: Pull<'_>) -> Result<f64, Error> {
        Ok(self.now.pull_scaled(pull))
    }
}
