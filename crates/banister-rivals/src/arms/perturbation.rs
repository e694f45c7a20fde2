//! Coupled perturbations of COLTS: one random number per arm moves its reward up and its costs down together.

use rand_distr::{Distribution, StandardNormal};

use super::ArmEvidence;
use super::program::Program;
use crate::stream::Stream;

/// LP(r̃; c̃), r̃ = r̂ + ωβη and c̃ = ĉ − ωβη, with η drawn anew for every program. β is the width of our own intervals: U − r̂
/// of a reward, half of u − l of a cost.
pub(super) struct Perturbation {
    omega: f64,
    pub program: Program,
    pub stream: Stream,
}

impl Perturbation {
    pub fn new(evidence: &ArmEvidence, omega: f64) -> Self {
        Self {
            omega,
            program: Program::new(evidence),
            stream: Stream::new(0, 0),
        }
    }

    /// Writes r̃ and c̃; one η per arm, in the order of the arms. Known costs do not move.
    pub fn sample(&mut self, evidence: &ArmEvidence) {
        for arm in 0..evidence.arms() {
            let eta: f64 = StandardNormal.sample(&mut self.stream.rng);
            let bounds = &evidence.bounds;
            let step = |signal: usize, width: f64| match evidence.mean(arm, signal) {
                Some(mean) => (mean, self.omega * width * eta),
                // All that is known is the range.
                None => (0.5, self.omega * 0.5 * eta),
            };
            let above = evidence
                .mean(arm, 0)
                .map(|mean| bounds.reward_upper[arm] - mean);
            let (mean, noise) = step(0, above.unwrap_or(0.5).max(0.0));
            self.program.reward[arm] = mean + noise;
            for (i, guardrail) in evidence.problem.guardrails.iter().enumerate() {
                self.program.costs[i][arm] = match guardrail.safe_cost {
                    Some(known) if arm == evidence.safe() => known,
                    _ => {
                        let width = bounds.cost_upper[i][arm] - bounds.cost_lower[i][arm];
                        let (mean, noise) = step(i + 1, 0.5 * width);
                        mean - noise
                    }
                };
            }
        }
    }
}
