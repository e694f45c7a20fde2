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

/// Wealth of the bets against every arm's probability.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Surprises(Vec<[f64; BETS.len()]>);

impl Surprises {
    /// An arm was drawn from a policy.
    pub(super) fn observe(&mut self, arm: usize, policy: &[(usize, f64)]) {
        for &(other, p) in policy {
            if self.0.len() <= other {
                self.0.resize(other + 1, [1.0; BETS.len()]);
            }
            let surprise = f64::from(u8::from(other == arm)) - p;
            for (wealth, bet) in self.0[other].iter_mut().zip(BETS) {
                *wealth = (*wealth * (1.0 + bet * surprise)).min(MOST);
            }
        }
    }

    /// Evidence that arms are not drawn so. Arm j weighs 1/((j+1)(j+2)), so that arms may be added.
    pub fn evidence(&self) -> f64 {
        // Those that were never bet on have 1.
        let weight = |j: usize| 1.0 / ((j + 1) * (j + 2)) as f64;
        let known: f64 = (self.0.iter().enumerate())
            .map(|(j, own)| weight(j) * own.iter().sum::<f64>() / BETS.len() as f64)
            .sum();
        known + 1.0 / (self.0.len() + 1) as f64
    }

    /// True if it is shown at level 0.001.
    pub fn is_shown(&self) -> bool {
        self.evidence() >= ALARM
    }
}

/// Decisions whose time to live is over, by arm.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missing {
    arms: Vec<ArmMissing>,
    /// Bets against what was drawn, of those that never came.
    surprises: Surprises,
    /// Set once arms were shown to differ, until somebody acknowledges it.
    differs: bool,
}

/// Counts of one arm.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmMissing {
    /// Decisions whose time to live is over.
    pub matured: u64,
    /// Those whose outcome never came.
    pub missing: u64,
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
        self.surprises.observe(arm, policy);
        self.differs |= self.surprises.is_shown();
    }

    /// Evidence that arms differ in what they miss.
    pub fn evidence(&self) -> f64 {
        self.surprises.evidence()
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
        self.surprises = Surprises::default();
        self.differs = false;
    }
}
