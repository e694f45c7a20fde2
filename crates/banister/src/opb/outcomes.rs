//! Checks of outcomes.

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
        let fits = arm < self.names.len()
            && self.outcomes < self.room
            && self.problem.holds(Some(arm), reward, costs);
        if fits {
            return Ok(());
        }
        self.refuse_outcome(arm, reward, costs)
    }

    /// The error for an outcome that is refused.
    #[cold]
    #[inline(never)]
    fn refuse_outcome(&self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.check_arm(arm)?;
        self.check_room(1)?;
        self.problem.check_reported(Some(arm), reward, costs)
    }
}
