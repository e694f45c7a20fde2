//! LinConTS: Thompson sampling of rewards and of costs.
//!
//! **Problem.** K arms, any number of guardrails; no safe arm is needed, and the costs of one that is known
//! are estimated like all others.
//! **Guarantee.** Cumulative: its paper bounds both the regret and the sum of violations by O(ln T), for
//! coins under one guardrail that is a linear function of the reward; single rounds may break guardrails.
//! **Cost per round.** K·(m + 1) draws and one small linear program, no allocation.
//! **Reference.** Saxena, Gonzalez and Jaldén, "Thompson Sampling for Linearly Constrained Bandits" (2020),
//! LinConTS; here with costs that are signals of their own. Draws are from Beta(1 + s, 1 + n − s) where a
//! signal is bounded and from N(mean, R²/n) where it is sub-Gaussian (uniform before the first outcome),
//! arm by arm, the reward first, then the costs. If no policy keeps the thresholds under the costs drawn,
//! all arms are played alike, and the certificate's solver status is `infeasible`.

use crate::stream::Stream;
use banister::solve::Status;
use banister::{Error, Problem};

use super::posterior::Posterior;
use super::program::Program;
use super::{ArmConfig, ArmEvidence, ArmRival, Plan, Rule, RuleOnArms};
use crate::config::{DELTA, Registered, config};

config! {
    /// LinConTS: the best policy for rewards and costs drawn from their posteriors.
    LinConTsConfig, "lin_con_ts", RuleOnArms<Self>;
    guarantee(Cumulative),
}

impl ArmConfig for LinConTsConfig {
    fn rival(&self, problem: &Problem) -> Result<ArmRival, Error> {
        ArmRival::new(problem, self.kind(), DELTA, |evidence| {
            Ok(LinConTs {
                posteriors: evidence.signals().map(Posterior::new).collect(),
                program: Program::new(evidence),
                stream: Stream::new(0, 0),
            })
        })
    }
}

struct LinConTs {
    /// Of every signal, the reward first.
    posteriors: Vec<Posterior>,
    program: Program,
    stream: Stream,
}

impl Rule for LinConTs {
    fn plan(&mut self, evidence: &ArmEvidence, plan: &mut Plan) {
        let rng = &mut self.stream.rng;
        for arm in 0..evidence.arms() {
            let n = evidence.pulls(arm);
            for (signal, posterior) in self.posteriors.iter().enumerate() {
                let drawn = posterior.draw(n, evidence.estimates.sum(arm, signal), rng);
                match signal {
                    0 => self.program.reward[arm] = drawn,
                    _ => self.program.costs[signal - 1][arm] = drawn,
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

    fn stream(&mut self) -> Option<&mut Stream> {
        Some(&mut self.stream)
    }

    fn reset(&mut self) {
        self.program.reset();
    }
}
