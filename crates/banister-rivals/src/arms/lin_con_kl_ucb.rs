//! LinCon-KL-UCB: KL-UCB's bounds, optimistic about rewards and about costs.
//!
//! **Problem.** K arms, any number of guardrails; no safe arm is needed, and the costs of one that is known
//! are estimated like all others.
//! **Guarantee.** Cumulative: bounds at level ln t make violations rare, not impossible; single rounds may
//! break guardrails.
//! **Cost per round.** K·(m + 1) bounds and one small linear program, no allocation.
//! **Reference.** Saxena, Gonzalez and Jaldén, "Thompson Sampling for Linearly Constrained Bandits" (2020),
//! where it is what LinConTS is compared with; here with costs that are signals of their own. The bounds are
//! the ends of { q : n·d(p̂, q) ≤ ln t }, with t the outcomes so far, and d binary where a signal is bounded,
//! Gaussian where it is sub-Gaussian. If no policy keeps the thresholds, all arms are played alike, and the
//! certificate's solver status is `infeasible`.

use banister::solve::Status;
use banister::{Error, Problem};

use super::divergence::Divergence;
use super::program::Program;
use super::{ArmConfig, ArmEvidence, ArmRival, Plan, Rule, RuleOnArms};
use crate::config::{DELTA, Registered, config};

config! {
    /// LinCon-KL-UCB: the best policy if rewards are as high and costs as low as KL-UCB's bounds at level ln t
    /// allow.
    LinConKlUcbConfig, "lin_con_kl_ucb", RuleOnArms<Self>;
    guarantee(Cumulative),
}

impl ArmConfig for LinConKlUcbConfig {
    fn rival(&self, problem: &Problem) -> Result<ArmRival, Error> {
        ArmRival::new(problem, self.kind(), DELTA, |evidence| {
            Ok(LinConKlUcb {
                divergences: evidence.signals().map(Divergence::new).collect(),
                program: Program::new(evidence),
            })
        })
    }
}

struct LinConKlUcb {
    /// Of every signal, the reward first.
    divergences: Vec<Divergence>,
    program: Program,
}

impl Rule for LinConKlUcb {
    fn plan(&mut self, evidence: &ArmEvidence, plan: &mut Plan) {
        let level = libm::log(evidence.outcomes.max(1) as f64);
        let Program { reward, costs, .. } = &mut self.program;
        for arm in 0..evidence.arms() {
            let n = evidence.pulls(arm);
            for (signal, divergence) in self.divergences.iter().enumerate() {
                let mean = evidence.mean(arm, signal);
                match signal {
                    0 => reward[arm] = mean.map_or(1.0, |p| divergence.upper(p, n, level)),
                    _ => {
                        let lower = mean.map_or(0.0, |p| divergence.lower(p, n, level));
                        costs[signal - 1][arm] = lower;
                    }
                }
            }
        }
        let bounds = &evidence.bounds;
        let solution = self.program.solve(&bounds.thresholds, bounds.safe);
        match solution.status {
            Status::Infeasible => plan.surrender(evidence.arms()),
            _ => plan.follow(solution),
        }
    }

    fn reset(&mut self) {
        self.program.reset();
    }
}
