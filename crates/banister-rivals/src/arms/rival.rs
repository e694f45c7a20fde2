//! A rule on arms as a learner: estimates, certificates and snapshots are the same for all.

use banister::guarantee::Guarantee;
use banister::toolkit::{Answer, EstimatesState, Learner, Next, Shell, of_arm};
use banister::{Ask, Error, Event, Fallback, Findings, Outcome, Problem};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ArmEvidence, Plan};
use crate::config::RivalConfig;
use crate::parameters::check_setting;
use crate::status;
use crate::stream::{Stream, StreamState};

/// Decision rule of a rival on arms.
pub(crate) trait Rule: Send + 'static {
    /// Writes the round's policy. Nothing is allocated once warm.
    fn plan(&mut self, evidence: &ArmEvidence, plan: &mut Plan);

    /// An outcome came; `evidence` is still as it was before it. Reward and costs are as observed.
    fn learn(&mut self, evidence: &ArmEvidence, arm: usize, reward: f64, costs: &[f64]) {
        let _ = (evidence, arm, reward, costs);
    }

    /// Random stream, where it samples to decide.
    fn stream(&mut self) -> Option<&mut Stream> {
        None
    }

    /// Drops whatever only helps the next plan.
    fn reset(&mut self) {}

    /// Memory beside the evidence.
    fn save(&self) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    /// Takes that up again.
    fn restore(&mut self, evidence: &ArmEvidence, memory: &Value) -> Result<(), Error> {
        let _ = (evidence, memory);
        Ok(())
    }
}

/// Parameters of a rival on arms.
pub(crate) trait ArmConfig: RivalConfig {
    /// Its rule for a problem; refuses what the rule is not made for.
    fn rival(&self, problem: &Problem) -> Result<ArmRival, Error>;
}

/// A rule and its evidence.
pub(crate) struct ArmRival {
    evidence: ArmEvidence,
    rule: Box<dyn Rule>,
}

impl ArmRival {
    /// `delta` is for the intervals; `rule` checks the problem and the parameters.
    pub(super) fn new<R: Rule>(
        problem: &Problem,
        kind: &'static str,
        delta: f64,
        rule: impl FnOnce(&ArmEvidence) -> Result<R, Error>,
    ) -> Result<Self, Error> {
        let problem = problem.check()?;
        check_setting(kind, &problem)?;
        let evidence = ArmEvidence::new(problem, delta);
        let rule = Box::new(rule(&evidence)?);
        Ok(Self { evidence, rule })
    }
}

/// Learner of a rule on arms.
pub struct RuleOnArms<C> {
    config: C,
    rival: ArmRival,
    plan: Plan,
    /// π·u of the plan.
    costs: Vec<f64>,
}

/// All that outcomes have changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleOnArmsState {
    estimates: EstimatesState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stream: Option<StreamState>,
    /// Memory of the rule beside them.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    memory: Value,
}

impl<C: ArmConfig> Learner for RuleOnArms<C> {
    type Config = C;
    type State = RuleOnArmsState;
    const FIXED_ARMS: bool = true;

    fn new(problem: &Problem, config: &C) -> Result<(Shell, Self), Error> {
        let rival = config.rival(problem)?;
        let guardrails = rival.evidence.problem.guardrails.len();
        let mut own = Self {
            config: config.clone(),
            plan: Plan::new(rival.evidence.arms(), guardrails),
            costs: vec![0.0; guardrails],
            rival,
        };
        let problem = problem.check()?;
        problem.refuse_made("agents of other papers learn costs as they are: leave it out")?;
        let mut shell = Shell::unwatched(problem);
        shell.samples = own.rival.rule.stream().is_some();
        Ok((shell, own))
    }

    fn config(&self) -> &C {
        &self.config
    }

    fn plan(&mut self, shell: &mut Shell) -> Result<(), Fallback> {
        let ArmRival { evidence, rule } = &mut self.rival;
        rule.plan(evidence, &mut self.plan);
        let (plan, bounds) = (&self.plan, &evidence.bounds);
        for (cost, upper) in self.costs.iter_mut().zip(&bounds.cost_upper) {
            *cost = plan.policy.iter().map(|&(arm, p)| p * upper[arm]).sum();
        }
        // Upper bounds on the reward of this policy and of any feasible one are all that it proves.
        let value = plan.expected(&bounds.reward_upper);
        let (_, most) = evidence.best(|arm| bounds.reward_upper[arm]);
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
        // An agent that promises safety in every round gives a policy that checks, or none.
        let promised = self.config.guarantee() == Guarantee::EveryRound;
        if promised && !answer.is_within(&bounds.thresholds) {
            return Err(Fallback::SolverFailed);
        }
        shell.certify(&answer, |_, arm| arm);
        shell.decision.optimistic_reward = shell.decision.solver.upper_bound;
        Ok(())
    }

    fn bound_safe(&mut self, shell: &mut Shell) -> f64 {
        let bounds = &self.rival.evidence.bounds;
        for (cost, row) in shell.safe_costs.iter_mut().zip(&bounds.cost_upper) {
            *cost = row[bounds.safe];
        }
        bounds.reward_upper[bounds.safe]
    }

    fn learn(&mut self, shell: &mut Shell, outcome: &Outcome) -> Next {
        let ArmRival { evidence, rule } = &mut self.rival;
        rule.learn(evidence, outcome.action, outcome.reward, outcome.costs);
        evidence.observe(outcome.action, outcome.reward, outcome.costs);
        shell.stale = true;
        Next::Continue
    }

    /// Nothing watches it, so that learning never starts again.
    fn forget(&mut self, _: &mut Shell) {}

    fn follow(&mut self, _: &mut Shell, event: &Event) -> Next {
        if let (Event::Reseeded { seed, stream }, Some(own)) = (event, self.rival.rule.stream()) {
            *own = Stream::new(*seed, *stream);
        }
        Next::Continue
    }

    fn ask(&mut self, shell: &mut Shell, ask: Ask) -> Findings {
        let Ask::Estimates(_, arms) = ask else {
            return Findings::Unknown;
        };
        let estimates = &self.rival.evidence.estimates;
        Findings::each(arms, |arm| {
            of_arm(&shell.problem, estimates, (arm, arm), true)
        })
    }

    fn save(&mut self, _: &mut Shell) -> Result<RuleOnArmsState, Error> {
        let ArmRival { evidence, rule } = &mut self.rival;
        rule.reset();
        Ok(RuleOnArmsState {
            estimates: evidence.estimates.state(),
            stream: rule.stream().map(|stream| stream.save()),
            memory: rule.save()?,
        })
    }

    fn restore(&mut self, shell: &mut Shell, state: RuleOnArmsState) -> Result<(), Error> {
        let ArmRival { evidence, rule } = &mut self.rival;
        evidence.restore(&state.estimates, shell.outcomes)?;
        if let (Some(stream), Some(saved)) = (rule.stream(), state.stream) {
            *stream = Stream::restore(saved);
        }
        rule.restore(evidence, &state.memory)
    }
}
