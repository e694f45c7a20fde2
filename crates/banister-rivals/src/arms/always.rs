//! One arm for ever: a baseline.
//!
//! **Problem.** K arms; guardrails are reported, not kept.
//! **Guarantee.** None.
//! **Cost per round.** O(1).

use banister::{Error, Problem};

use super::{ArmConfig, ArmEvidence, ArmRival, Plan, Rule, RuleOnArms};
use crate::config::{DELTA, Registered, config};

config! {
    /// Plays one arm for ever.
    AlwaysConfig, "always", RuleOnArms<Self>;
    guarantee(Unsafe),
    /// The arm, by its name; by default the safe one.
    arm: Option<String>,
}

impl ArmConfig for AlwaysConfig {
    fn rival(&self, problem: &Problem) -> Result<ArmRival, Error> {
        ArmRival::new(problem, self.kind(), DELTA, |evidence| {
            let declared = &evidence.problem.declared;
            let arm = match &self.arm {
                None => declared.safe,
                Some(name) => {
                    let place = declared.arms.iter().position(|own| own == name);
                    place.ok_or_else(|| Error::UnknownArm {
                        name: name.clone(),
                        known: declared.arms.join(", "),
                    })?
                }
            };
            Ok(Always { arm })
        })
    }
}

struct Always {
    arm: usize,
}

impl Rule for Always {
    fn plan(&mut self, _: &ArmEvidence, plan: &mut Plan) {
        plan.play(self.arm);
    }
}
