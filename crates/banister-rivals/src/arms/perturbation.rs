//! Coupled perturbations of COLTS: one random number per arm moves its reward up and its costs down together.

use rand_distr::{Distribution, StandardNormal};

use super::ArmEvidence;
use super::program::Program;
use crate::stream::Stream;

/// LP(r̃; c̃), r̃ = r̂ + ωβη and c̃ = ĉ − ωβη, with η drawn anew for every program.
pub(super) struct Perturbation {
    omega: f64,
    /// R of every signal, the reward first.
    r: Vec<f64>,
    pub program: Program,
    pub stream: Stream,
}

impl Perturbation {
    pub fn new(evidence: &ArmEvidence, omega: f64) -> Self {
        Self {
            omega,
            r: evidence.signals().map(|signal| signal.r()).collect(),
            program: Program::new(evidence),
            stream: Stream::new(0, 0),
        }
    }

    /// Writes r̃ and c̃; one η per arm, in the order of the arms. Known costs do not move.
    pub fn sample(&mut self, evidence: &ArmEvidence) {
        for arm in 0..evidence.arms() {
            let eta: f64 = StandardNormal.sample(&mut self.stream.rng);
            let n = evidence.pulls(arm) as f64;
            // β for R = 1.
            let radius = if n > 0.0 {
                ((n + 1.0) * (libm::log(n + 1.0) + 2.0 * evidence.log_level)).sqrt() / n
            } else {
                f64::INFINITY
            };
            let step = |signal: usize| match evidence.mean(arm, signal) {
                Some(mean) => (mean, self.omega * self.r[signal] * radius * eta),
                // All that is known is the range.
                None => (0.5, self.omega * 0.5 * eta),
            };
            let (mean, noise) = step(0);
            self.program.reward[arm] = mean + noise;
            for (i, guardrail) in evidence.problem.guardrails.iter().enumerate() {
                self.program.costs[i][arm] = match guardrail.safe_cost {
                    Some(known) if arm == evidence.safe() => known,
                    _ => {
                        let (mean, noise) = step(i + 1);
                        mean - noise
                    }
                };
            }
        }
    }
}
