//! Sums of drawn outcomes: means, windows beyond the threshold, and the way to the possible gain.

use crate::results::{Measured, WINDOWS};

/// Rounds in a row whose policies must have the share of the gain.
const IN_A_ROW: usize = 100;

/// Share of the possible gain.
const SHARE: f64 = 0.9;

/// Sums over the rounds so far.
pub(crate) struct Drawn {
    rounds: u64,
    reward: f64,
    costs: Vec<f64>,
    /// Per guardrail and length: signed sum in the open window, and windows beyond the threshold.
    windows: Vec<[(f64, u64); 2]>,
    /// Expected earnings beyond the safe action, of the policies and of the best one.
    gains: [f64; 2],
    /// `gains` of each of the last rounds, a ring buffer.
    last: Vec<[f64; 2]>,
    rounds_to_90: Option<u64>,
}

impl Drawn {
    pub(super) fn new(guardrails: usize) -> Self {
        Self {
            rounds: 0,
            reward: 0.0,
            costs: vec![0.0; guardrails],
            windows: vec![[(0.0, 0); 2]; guardrails],
            gains: [0.0; 2],
            last: Vec::with_capacity(IN_A_ROW),
            rounds_to_90: None,
        }
    }

    /// Adds a round: reward and costs as drawn; per guardrail sign, signed threshold and rounding; and
    /// what its policy and the best one earn in expectation beyond the safe action.
    pub(super) fn add(
        &mut self,
        (reward, costs): (f64, &[f64]),
        limits: &[(f64, f64, f64)],
        gains: [f64; 2],
    ) {
        self.rounds += 1;
        self.reward += reward;
        for (i, &(sign, limit, rounding)) in limits.iter().enumerate() {
            self.costs[i] += costs[i];
            for (window, length) in std::iter::zip(&mut self.windows[i], WINDOWS) {
                window.0 += sign * costs[i];
                if self.rounds.is_multiple_of(length) {
                    window.1 += u64::from(window.0 / length as f64 > limit + rounding);
                    window.0 = 0.0;
                }
            }
        }
        for (sum, gain) in std::iter::zip(&mut self.gains, gains) {
            *sum += gain;
        }
        if self.rounds_to_90.is_none() {
            self.look(gains);
        }
    }

    fn look(&mut self, gains: [f64; 2]) {
        if self.last.len() < IN_A_ROW {
            self.last.push(gains);
        } else {
            self.last[self.rounds as usize % IN_A_ROW] = gains;
        }
        let sum = |i: usize| self.last.iter().map(|gains| gains[i]).sum::<f64>();
        if self.last.len() == IN_A_ROW && sum(0) >= SHARE * sum(1) {
            self.rounds_to_90 = Some(self.rounds);
        }
    }

    pub(super) fn measured(self, rounds: u64) -> Measured {
        let n = rounds as f64;
        let beyond = |windows: &[(f64, u64); 2]| {
            std::array::from_fn(|i| windows[i].1 as f64 / (rounds / WINDOWS[i]) as f64)
        };
        Measured {
            reward: self.reward / n,
            costs: self.costs.iter().map(|sum| sum / n).collect(),
            beyond: self.windows.iter().map(beyond).collect(),
            gain: self.gains[0] / self.gains[1],
            rounds_to_90: self.rounds_to_90,
        }
    }
}
