//! Outcomes that are given up: are they missing at random?
//!
//! An outcome may go missing at any time, but not because of its segment or its arm. Segments come independently of one
//! another, so those of a decision that is given up and of one whose outcome came are exchangeable: for every segment
//! the bets Π(1 + λ(1{given up} − 1{came})) over such pairs are a martingale. So are Π(1 + λ(1{safe arm} − p_0)) over the
//! decisions given up, p_0 the probability that their policies gave the safe arm. The mean over the bets reaches 1000
//! with probability at most 0.001, ever, for the arms and for all segments together, the j-th of which has 1/(j(j+1)) of
//! that. Where it starts again it has a share of that level ([`share_of_start`]): there is one budget for the whole life.

use serde::{Deserialize, Serialize};

use super::share_of_start;

const BETS: [f64; 3] = [0.5, 0.2, 0.05];
/// Evidence that raises an alarm: level 0.001.
const ALARM: f64 = 1000.0;
/// Far from overflow.
const MOST: f64 = 1e100;

/// Arm and segment of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drawn {
    pub arm: usize,
    /// Segment; `None` for those beyond the largest number.
    pub segment: Option<usize>,
    /// True if the pool that there is now made it.
    pub pooled: bool,
    /// Probability that its policy gave the safe action, where it is known.
    pub safe_probability: Option<f64>,
    /// Time of it, as learners count it.
    pub time: f64,
}

/// Decisions whose outcomes came or were given up, and the wealth of the bets.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Missing {
    segments: Vec<Count>,
    /// Bets that the safe arm is missing more often, and that others are.
    arms: [Count; 2],
    /// Segment of a decision whose outcome came and that is not compared yet.
    came: Option<usize>,
    /// Times that it started again.
    restarts: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Count {
    came: u64,
    missing: u64,
    wealth: [f64; BETS.len()],
}

impl Default for Count {
    fn default() -> Self {
        Self {
            came: 0,
            missing: 0,
            wealth: [1.0; BETS.len()],
        }
    }
}

/// Evidence that outcomes are not missing at random.
pub(super) struct Unequal {
    pub segment: Option<usize>,
    /// True if it is the safe arm's that are missing, where it is not about a segment.
    pub is_safe: bool,
    pub missing: u64,
    /// Share of all decisions there that are.
    pub share: f64,
    pub evidence: f64,
}

impl Count {
    fn bet(&mut self, surprise: f64) -> f64 {
        for (wealth, bet) in self.wealth.iter_mut().zip(BETS) {
            *wealth = (*wealth * (1.0 + bet * surprise)).min(MOST);
        }
        self.wealth.iter().sum::<f64>() / BETS.len() as f64
    }

    fn found(&self, evidence: f64, segment: Option<usize>, is_safe: bool) -> Option<Unequal> {
        (evidence >= ALARM).then(|| Unequal {
            segment,
            is_safe,
            missing: self.missing,
            share: self.missing as f64 / (self.missing + self.came).max(1) as f64,
            evidence,
        })
    }
}

impl Missing {
    /// Starts again, with the next share of its level.
    pub(super) fn restart(&mut self) {
        *self = Self {
            restarts: self.restarts + 1,
            ..Self::default()
        };
    }

    fn segment(&mut self, segment: usize) -> &mut Count {
        if self.segments.len() <= segment {
            self.segments.resize(segment + 1, Count::default());
        }
        &mut self.segments[segment]
    }

    /// Counts a decision whose outcome came.
    pub(super) fn came(&mut self, drawn: &Drawn, is_safe: bool) {
        self.arms[usize::from(!is_safe)].came += 1;
        if let Some(segment) = drawn.segment {
            self.segment(segment).came += 1;
            self.came = Some(segment);
        }
    }

    /// Counts one that is given up, and looks at the evidence.
    pub(super) fn given_up(&mut self, drawn: &Drawn, is_safe: bool) -> Option<Unequal> {
        self.arms[usize::from(!is_safe)].missing += 1;
        let share = share_of_start(self.restarts);
        let mut found = None;
        if let Some(p) = drawn.safe_probability {
            let surprise = f64::from(u8::from(is_safe)) - p;
            for (own, (count, sign)) in self.arms.iter_mut().zip([1.0, -1.0]).enumerate() {
                let evidence = 0.5 * share * count.bet(sign * surprise);
                found = found.or(count.found(evidence, None, own == 0));
            }
        }
        let Some(segment) = drawn.segment else {
            return found;
        };
        self.segment(segment).missing += 1;
        let Some(other) = self.came.take().filter(|&other| other != segment) else {
            return found;
        };
        self.segment(other).bet(-1.0);
        let own = self.segment(segment);
        let evidence = share * own.bet(1.0) / ((segment + 1) * (segment + 2)) as f64;
        found.or(own.found(evidence, Some(segment), false))
    }

    /// A segment's number goes to another one. The wealth stays: whose segment is bet on was known before.
    pub(super) fn leave_segment(&mut self, segment: usize) {
        self.came = self.came.filter(|&own| own != segment);
        if let Some(count) = self.segments.get_mut(segment) {
            (count.came, count.missing) = (0, 0);
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        let mut counts = self.segments.iter().chain(&self.arms);
        let sound = |count: &Count| {
            let counted = count.came.max(count.missing) < u64::MAX / 2;
            counted && count.wealth.iter().all(|w| (0.0..=MOST).contains(w))
        };
        counts.all(sound) && self.restarts < u64::MAX / 2
    }
}
