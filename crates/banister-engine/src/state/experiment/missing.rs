//! Outcomes that never came, by arm: are they missing at random?
//!
//! An outcome may go missing at any time, but not because of its arm: then, of the decisions
//! whose outcome is missing, the arm drawn is as the policy said. For every arm the bets
//! Π(1 + λ(1{drawn} − π)) are a martingale under that; their weighted mean reaches 1000 with
//! probability at most 0.001, ever.

use serde::{Deserialize, Serialize};

const BETS: [f64; 6] = [0.5, 0.2, 0.05, -0.05, -0.2, -0.5];
/// Evidence at which arms are said to differ: level 0.001.
const ALARM: f64 = 1000.0;
/// Far from overflow.
const MOST: f64 = 1e100;

/// Decisions whose time to live is over, by arm.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missing {
    arms: Vec<ArmMissing>,
    /// Set once arms were shown to differ, until somebody acknowledges it.
    differs: bool,
}

/// Counts of one arm, and the wealth of the bets against it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmMissing {
    /// Decisions whose time to live is over.
    pub matured: u64,
    /// Those whose outcome never came.
    pub missing: u64,
    wealth: [f64; BETS.len()],
}

impl Default for ArmMissing {
    fn default() -> Self {
        Self {
            matured: 0,
            missing: 0,
            wealth: [1.0; BETS.len()],
        }
    }
}

impl Missing {
    /// Counts of an arm.
    pub fn of(&self, arm: usize) -> Option<&ArmMissing> {
        self.arms.get(arm)
    }

    fn arm(&mut self, arm: usize) -> &mut ArmMissing {
        if self.arms.len() <= arm {
            self.arms.resize_with(arm + 1, ArmMissing::default);
        }
        &mut self.arms[arm]
    }

    /// Counts a decision whose outcome came in time.
    pub(super) fn came(&mut self, arm: usize) {
        self.arm(arm).matured += 1;
    }

    /// Counts one whose outcome did not, given the policy it was drawn from.
    pub(super) fn never_came(&mut self, arm: usize, policy: &[(usize, f64)]) {
        let drawn = self.arm(arm);
        drawn.matured += 1;
        drawn.missing += 1;
        for &(other, p) in policy {
            let surprise = f64::from(u8::from(other == arm)) - p;
            for (wealth, bet) in self.arm(other).wealth.iter_mut().zip(BETS) {
                *wealth = (*wealth * (1.0 + bet * surprise)).min(MOST);
            }
        }
        self.differs |= self.evidence() >= ALARM;
    }

    /// Evidence that arms differ in what they miss. Arm j weighs 1/((j+1)(j+2)), so that arms may be added.
    pub fn evidence(&self) -> f64 {
        let weighted = self.arms.iter().enumerate().map(|(j, arm)| {
            let mean = arm.wealth.iter().sum::<f64>() / BETS.len() as f64;
            mean / ((j + 1) * (j + 2)) as f64
        });
        weighted.sum()
    }

    /// Returns true if arms differ, at level 0.001.
    pub(super) fn differs(&self) -> bool {
        self.differs
    }

    /// The arms that miss the most and the least of their outcomes.
    pub(super) fn extremes(&self) -> Option<(usize, usize)> {
        let rate = |arm: &ArmMissing| arm.missing as f64 / arm.matured.max(1) as f64;
        let seen = || (self.arms.iter().enumerate()).filter(|(_, arm)| arm.matured > 0);
        let most = seen().max_by(|a, b| rate(a.1).total_cmp(&rate(b.1)))?;
        let least = seen().min_by(|a, b| rate(a.1).total_cmp(&rate(b.1)))?;
        Some((most.0, least.0))
    }

    /// Starts the test anew; the counts stay.
    pub(super) fn acknowledge(&mut self) {
        for arm in &mut self.arms {
            arm.wealth = ArmMissing::default().wealth;
        }
        self.differs = false;
    }
}
