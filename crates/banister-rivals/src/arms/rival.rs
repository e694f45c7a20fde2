//! A rule on arms as an agent: estimates, certificates, snapshots and checks are the same for all.

use banister::toolkit::{Answer, Certifier, of_arm};
use banister::{ActionSet, Agent, ArmEstimate, Decision, Error, Fallback, Guarantee, Outcomes};
use serde_json::Value;

use super::{Evidence, Plan};
use crate::config::{Recipe, RivalConfig};
use crate::saved::{self, Saved};
use crate::setting::no_relative;
use crate::status;

/// Decision rule of a rival on arms.
pub(crate) trait Rule: Send + 'static {
    /// Writes the round's policy. Nothing is allocated once warm.
    fn plan(&mut self, evidence: &Evidence, plan: &mut Plan);

    /// An outcome came; `evidence` is still as it was before it. Reward and costs are as observed.
    fn learn(&mut self, evidence: &Evidence, arm: usize, reward: f64, costs: &[f64]) {
        let _ = (evidence, arm, reward, costs);
    }

    /// See [`Agent::samples`].
    fn samples(&self) -> bool {
        false
    }

    /// See [`Agent::reseed`].
    fn reseed(&mut self, seed: u64, stream: u64) {
        let _ = (seed, stream);
    }

    /// Memory beside the evidence. `learned`: only the part that follows from the outcomes.
    fn save(&self, evidence: &Evidence, learned: bool) -> Value {
        let _ = (evidence, learned);
        Value::Null
    }

    /// Takes that up again.
    fn restore(&mut self, evidence: &Evidence, memory: &Value) -> Result<(), Error> {
        let _ = (evidence, memory);
        Ok(())
    }
}

/// A rule with everything around it.
struct Rival<C, R> {
    config: C,
    rule: R,
    evidence: Evidence,
    plan: Plan,
    /// π·u of the plan.
    costs: Vec<f64>,
    certifier: Certifier,
    decision: Decision,
    /// Room for the costs of an outcome as they count.
    counted: Vec<f64>,
}

/// The agent of a rule, new or where a snapshot left it. `delta` is for its intervals; `rule` checks the
/// problem and the parameters.
pub(super) fn make<C: RivalConfig, R: Rule>(
    recipe: Recipe<C>,
    delta: f64,
    rule: impl FnOnce(&Evidence) -> Result<R, Error>,
) -> Result<Box<dyn Agent>, Error> {
    let mut evidence = Evidence::new(recipe.problem.check()?, delta);
    no_relative(recipe.config.kind(), &evidence.problem)?;
    let mut rule = rule(&evidence)?;
    if let Some(saved) = recipe.saved {
        evidence.restore(&saved.evidence, saved.outcomes)?;
        rule.restore(&evidence, &saved.memory)?;
    }
    let certifier = Certifier::new(&evidence.problem);
    let guardrails = evidence.problem.guardrails.len();
    Ok(Box::new(Rival {
        config: recipe.config.clone(),
        rule,
        plan: Plan::new(evidence.arms(), guardrails),
        evidence,
        costs: vec![0.0; guardrails],
        counted: Vec::with_capacity(guardrails),
        decision: certifier.blank(),
        certifier,
    }))
}

impl<C: RivalConfig, R: Rule> Rival<C, R> {
    fn check(&self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        if arm >= self.evidence.arms() {
            let last = self.evidence.arms() - 1;
            return Err(Error::NoSuchArm { arm, last });
        }
        let problem = &self.evidence.problem;
        if problem.holds(Some(arm), reward, costs) {
            Ok(())
        } else {
            problem.refuse(Some(arm), reward, costs)
        }
    }

    /// Takes a checked outcome as it counts.
    fn take(&mut self, arm: usize, reward: f64, costs: &[f64]) {
        let (reward, costs) =
            (self.evidence.problem).counted(Some(arm), reward, costs, &mut self.counted);
        self.rule.learn(&self.evidence, arm, reward, costs);
        self.evidence.take(arm, reward, costs);
    }

    #[cold]
    #[inline(never)]
    fn publish_safe(&mut self, reason: Fallback) {
        let evidence = &self.evidence;
        let (safe, bounds) = (evidence.safe(), &evidence.bounds);
        let cost = |i: usize| bounds.cost_upper[i][safe];
        let value = bounds.reward_upper[safe];
        (self.certifier).certify_safe(
            &evidence.problem,
            safe,
            value,
            cost,
            reason,
            &mut self.decision,
        );
    }

    fn snapshot(&self, learned: bool) -> String {
        let evidence = &self.evidence;
        let saved = Saved {
            outcomes: evidence.outcomes,
            evidence: evidence.save(),
            memory: self.rule.save(evidence, learned),
        };
        saved::write(
            &evidence.problem.declared,
            self.config.kind(),
            &self.config,
            saved,
        )
    }
}

impl<C: RivalConfig, R: Rule> Agent for Rival<C, R> {
    fn decide(&mut self) -> &Decision {
        self.rule.plan(&self.evidence, &mut self.plan);
        let (plan, bounds) = (&self.plan, &self.evidence.bounds);
        for (cost, upper) in self.costs.iter_mut().zip(&bounds.cost_upper) {
            *cost = plan.policy.iter().map(|&(arm, p)| p * upper[arm]).sum();
        }
        // Upper bounds on the reward of this policy and of any feasible one are all that it proves.
        let value = plan.expected(&bounds.reward_upper);
        let (_, most) = self.evidence.best(|arm| bounds.reward_upper[arm]);
        let upper_bound = plan.bound.min(most).max(value);
        let answer = Answer {
            support: &plan.policy,
            status: status(plan.infeasible, upper_bound - value),
            value,
            upper_bound,
            costs: &self.costs,
            prices: &plan.prices,
            nodes: 0,
        };
        self.decision.outcomes = self.evidence.outcomes;
        // An agent that promises safety in every round gives a policy that checks, or none.
        let promised = self.config.guarantee() == Guarantee::EveryRound;
        if promised && !answer.is_within(&bounds.thresholds) {
            self.publish_safe(Fallback::SolverFailed);
            return &self.decision;
        }
        self.decision.policy.clear();
        self.decision.policy.extend_from_slice(answer.support);
        self.certifier.certify(&answer, &mut self.decision);
        self.decision.optimistic_reward = self.decision.solver.upper_bound;
        &self.decision
    }

    fn decide_safe(&mut self, reason: Fallback) -> Option<&Decision> {
        self.decision.outcomes = self.evidence.outcomes;
        self.publish_safe(reason);
        Some(&self.decision)
    }

    fn samples(&self) -> bool {
        self.rule.samples()
    }

    fn reseed(&mut self, seed: u64, stream: u64) {
        self.rule.reseed(seed, stream);
    }

    fn check_outcome(
        &self,
        action: usize,
        reward: f64,
        costs: &[f64],
        _more: u64,
    ) -> Result<(), Error> {
        self.check(action, reward, costs)
    }

    fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.check(arm, reward, costs)?;
        self.take(arm, reward, costs);
        Ok(())
    }

    fn observe_batch(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        let rows = outcomes.of_arms(self.evidence.problem.guardrails.len())?;
        for (arm, reward, costs) in rows.clone() {
            self.check(arm, reward, costs)?;
        }
        rows.for_each(|(arm, reward, costs)| self.take(arm, reward, costs));
        Ok(())
    }

    fn actions(&self) -> Option<ActionSet> {
        Some(ActionSet {
            count: self.evidence.arms(),
            safe: self.evidence.safe(),
        })
    }

    fn outcomes(&self) -> u64 {
        self.evidence.outcomes
    }

    fn names(&self) -> &[String] {
        &self.evidence.problem.declared.arms
    }

    fn estimates(&mut self) -> Vec<ArmEstimate> {
        let arms = 0..self.evidence.arms();
        arms.filter_map(|arm| self.estimate(arm)).collect()
    }

    fn estimate(&mut self, arm: usize) -> Option<ArmEstimate> {
        let Evidence {
            problem, estimates, ..
        } = &self.evidence;
        of_arm(problem, estimates, arm, true)
    }

    fn save(&self) -> String {
        self.snapshot(false)
    }

    fn save_learned(&self) -> String {
        self.snapshot(true)
    }
}
