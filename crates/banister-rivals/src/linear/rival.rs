//! A rule on feature vectors as a learner: regression, certificates and snapshots are the same for all.

use std::sync::Arc;

use banister::guarantee::Guarantee;
use banister::interval::Interval;
use banister::solve::dense;
use banister::toolkit::linear::{
    EvidenceState, Limit, Ridge, Setup, Tables, check_parameter_norm, upper_end, with_zero_costs,
};
use banister::toolkit::{Answer, Learner, Next, Shell, broken, of_intervals};
use banister::{ArmEstimate, Ask, Error, Event, Fallback, Findings, Outcome, Problem, Round};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Evidence, Plan, Play};
use crate::config::RivalConfig;
use crate::parameters::Parameters;
use crate::parameters::check_setting;
use crate::status;
use crate::stream::{Stream, StreamState};

/// Decision rule of a linear rival.
pub(super) trait Rule: Send + 'static {
    /// The radius of a signal's confidence set, in units of its range: 0 is the reward, 1 + i guardrail i.
    fn radius(&self, evidence: &Evidence, signal: usize) -> f64;

    /// Plans a round. The actions in `evidence` are up to date; nothing is allocated once warm.
    fn plan(&mut self, evidence: &Evidence) -> Plan;

    /// An upper bound on an action's cost in prediction units that is known beforehand.
    fn cost_cap(&self, evidence: &Evidence, action: usize) -> f64 {
        let _ = (evidence, action);
        f64::INFINITY
    }

    /// An outcome came, and `evidence` has taken it.
    fn learn(&mut self, evidence: &Evidence, is_safe: bool) {
        let _ = (evidence, is_safe);
    }

    /// True if noise grows with the length of what is played, so that outcomes are taken per unit of length.
    fn per_length(&self) -> bool {
        false
    }

    /// Random stream, where it samples to decide.
    fn stream(&mut self) -> Option<&mut Stream> {
        None
    }

    /// Memory beside the evidence.
    fn save(&self) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    /// Takes that up again.
    fn restore(&mut self, evidence: &Evidence, memory: &Value) -> Result<(), Error> {
        let _ = evidence;
        if memory.is_null() {
            Ok(())
        } else {
            let reason = "its rule remembers nothing, and `memory` says it does";
            Err(broken(reason))
        }
    }
}

/// Parameters of a rival on feature vectors.
pub(crate) trait LinearConfig: RivalConfig {
    /// Its rule for a problem; refuses what the rule is not made for.
    fn rival(&self, problem: &Problem) -> Result<LinearRival, Error>;
}

/// A rule and its evidence.
pub(crate) struct LinearRival {
    shell: Shell,
    evidence: Evidence,
    rule: Box<dyn Rule>,
    play: Play,
}

impl LinearRival {
    /// `rule` checks the problem, and the parameters of its own.
    pub(super) fn new<R: Rule>(
        problem: &Problem,
        kind: &'static str,
        parameters: Parameters,
        play: Option<Play>,
        rule: impl FnOnce(&Evidence) -> Result<R, Error>,
    ) -> Result<Self, Error> {
        parameters.check()?;
        let problem = with_zero_costs(problem)?.check()?;
        check_setting(kind, &problem)?;
        check_parameter_norm(parameters.parameter_norm, &problem)?;
        let setup = Setup {
            ridge: Ridge::Single(parameters.lambda),
            limit: Limit {
                norm: parameters.norm.unwrap_or(f64::INFINITY),
                clip: false,
                advice: "declare a larger one",
            },
            projected: false,
            tables: Tables::Followed,
        };
        let shell = Shell::unwatched(problem);
        let evidence = Evidence::new(Arc::clone(&shell.problem), setup)?;
        Ok(Self {
            rule: Box::new(rule(&evidence)?),
            shell,
            evidence,
            play: play.unwrap_or_default(),
        })
    }
}

/// Learner of a rule on feature vectors.
pub struct RuleOnFeatures<C> {
    config: C,
    rival: Parts,
    /// True if only decisions that check may leave it.
    promised: bool,
    /// Thresholds in prediction units.
    thresholds: Vec<f64>,
    /// Pessimistic costs of what is played, in standard units.
    costs: Vec<f64>,
    prices: Vec<f64>,
    support: Vec<(usize, f64)>,
    /// Room for features and costs per unit of length.
    unit: (Vec<f64>, Vec<f64>),
}

/// All that outcomes have changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleOnFeaturesState {
    evidence: EvidenceState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stream: Option<StreamState>,
    /// Memory of the rule beside it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    memory: Value,
}

impl<C: LinearConfig> Learner for RuleOnFeatures<C> {
    type Config = C;
    type State = RuleOnFeaturesState;
    const TAKES_FEATURES: bool = true;

    fn new(problem: &Problem, config: &C) -> Result<(Shell, Self), Error> {
        let LinearRival {
            mut shell,
            evidence,
            mut rule,
            play,
        } = config.rival(problem)?;
        shell.samples = rule.stream().is_some();
        let guardrails = shell.problem.guardrails.len();
        let signals = std::iter::zip(&shell.problem.guardrails, &evidence.signals[1..]);
        let own = Self {
            promised: matches!(
                config.guarantee(),
                Guarantee::EveryRound | Guarantee::PerAction
            ),
            config: config.clone(),
            thresholds: signals.map(|(g, s)| g.shown_threshold * s.scale).collect(),
            costs: vec![0.0; guardrails],
            prices: vec![0.0; guardrails],
            support: Vec::with_capacity(2),
            unit: (
                Vec::with_capacity(evidence.dimension()),
                Vec::with_capacity(guardrails),
            ),
            rival: Parts {
                evidence,
                rule,
                play,
            },
        };
        Ok((shell, own))
    }

    fn config(&self) -> &C {
        &self.config
    }

    fn enter(&mut self, shell: &mut Shell, round: &Round) -> Result<(), Error> {
        shell.stale |= self.rival.evidence.enter(shell, round)?;
        Ok(())
    }

    fn plan(&mut self, shell: &mut Shell) -> Result<(), Fallback> {
        self.rival.evidence.update_actions();
        if !self.rival.evidence.is_reliable() {
            return Err(Fallback::IllConditioned);
        }
        let plan = self.rival.rule.plan(&self.rival.evidence);
        let within = self.write_costs(&plan);
        // An agent that promises safety per action plays one that checks, or the safe one.
        if self.promised && !within {
            return Err(Fallback::SolverFailed);
        }
        self.write_policy(shell, &plan);
        // Upper bounds on the reward of this policy and of any feasible one are all that it proves.
        let evidence = &self.rival.evidence;
        let offset = evidence.signals[0].offset;
        let value = plan.scale * self.upper(plan.action, 0);
        let actions = 0..evidence.actions.count;
        let upper_bound = (actions.map(|action| self.upper(action, 0))).fold(value, f64::max);
        let answer = Answer {
            support: &self.support,
            status: status(false, upper_bound - value),
            value: value + offset,
            upper_bound: upper_bound + offset,
            costs: &self.costs,
            prices: &self.prices,
            nodes: 0,
        };
        shell.certify(&answer, |arms, column| evidence.number(arms, column));
        shell.decision.optimistic_reward = shell.decision.solver.upper_bound;
        Ok(())
    }

    /// Its interval vouches for the reward, its declared costs for the rest.
    fn bound_safe(&mut self, shell: &mut Shell) -> f64 {
        self.rival.evidence.update_actions();
        let evidence = &self.rival.evidence;
        let safe = evidence.actions.safe;
        for (i, cost) in shell.safe_costs.iter_mut().enumerate() {
            let known = evidence.problem.guardrails[i].safe_cost;
            let upper = self.ends(safe, i + 1).1 + evidence.signals[i + 1].offset;
            *cost = known.unwrap_or(upper.min(1.0));
        }
        upper_end(self.ends(safe, 0).1 + evidence.signals[0].offset)
    }

    fn check(&self, shell: &Shell, event: &Event) -> Result<(), Error> {
        match event {
            Event::Outcome(outcome) => self.rival.evidence.check_outcome(shell, outcome),
            Event::ArmOffered(arm) => {
                arm.ranges.refuse()?;
                self.rival.evidence.check_arm(arm.name, arm.features)
            }
            event if event.is_optional() => Ok(()),
            _ => Err(event.refusal()),
        }
    }

    fn learn(&mut self, shell: &mut Shell, outcome: &Outcome) -> Next {
        let Parts { evidence, rule, .. } = &mut self.rival;
        let is_safe = if rule.per_length() {
            let (features, costs) = &mut self.unit;
            evidence.write_features(outcome, features);
            let length = dense::dot(features, features).sqrt();
            let share = if length > 0.0 { 1.0 / length } else { 1.0 };
            features.iter_mut().for_each(|x| *x *= share);
            costs.clear();
            costs.extend(outcome.costs.iter().map(|cost| cost * share));
            evidence.observe_features(features, outcome.reward * share, costs)
        } else {
            evidence.observe(outcome)
        };
        rule.learn(evidence, is_safe);
        shell.stale = true;
        Next::Continue
    }

    /// Nothing watches it, so that learning never starts again.
    fn forget(&mut self, _: &mut Shell) {}

    fn follow(&mut self, shell: &mut Shell, event: &Event) -> Next {
        match event {
            Event::ArmOffered(_) | Event::ArmRetired(_) => {
                self.rival.evidence.arms_changed(&shell.arms);
            }
            Event::Reseeded { seed, stream } => {
                if let Some(own) = self.rival.rule.stream() {
                    *own = Stream::new(*seed, *stream);
                }
            }
            _ => {}
        }
        Next::Continue
    }

    fn ask(&mut self, shell: &mut Shell, ask: Ask) -> Findings {
        let Ask::Estimates(_, actions) = ask else {
            return Findings::Unknown;
        };
        self.rival.evidence.update_actions();
        let column = |action| self.rival.evidence.column(&shell.arms, action);
        Findings::each(actions, |action| match column(action) {
            Some(column) => self.estimate_of(column),
            None => {
                let unknown = vec![Interval::UNKNOWN; self.costs.len() + 1];
                ArmEstimate {
                    offered: false,
                    ..of_intervals(&shell.problem, &unknown)
                }
            }
        })
    }

    fn save(&mut self, _: &mut Shell) -> Result<RuleOnFeaturesState, Error> {
        let Parts { evidence, rule, .. } = &mut self.rival;
        Ok(RuleOnFeaturesState {
            evidence: evidence.save(),
            stream: rule.stream().map(|stream| stream.save()),
            memory: rule.save()?,
        })
    }

    fn restore(&mut self, _: &mut Shell, state: RuleOnFeaturesState) -> Result<(), Error> {
        let Parts { evidence, rule, .. } = &mut self.rival;
        evidence.restore(state.evidence)?;
        if let (Some(stream), Some(saved)) = (rule.stream(), state.stream) {
            *stream = Stream::restore(saved);
        }
        rule.restore(evidence, &state.memory)
    }
}

/// A rule and its evidence, without the shell that the agent has taken.
struct Parts {
    evidence: Evidence,
    rule: Box<dyn Rule>,
    play: Play,
}

impl<C: LinearConfig> RuleOnFeatures<C> {
    /// The ends of a signal's interval for an action on offer, in prediction units.
    fn ends(&self, action: usize, signal: usize) -> (f64, f64) {
        let columns = &self.rival.evidence.actions.columns;
        let mean = columns.means[signal][action];
        let reach = self.rival.rule.radius(&self.rival.evidence, signal)
            * columns.squares[1][action].sqrt();
        (mean - reach, mean + reach)
    }

    /// The upper end, which the range of the signal bounds too.
    fn upper(&self, action: usize, signal: usize) -> f64 {
        let most = 1.0 - self.rival.evidence.signals[signal].offset;
        self.ends(action, signal).1.min(most)
    }

    /// Writes what a plan costs at most; whether that keeps every threshold.
    fn write_costs(&mut self, plan: &Plan) -> bool {
        let mut within = true;
        for i in 0..self.costs.len() {
            let guardrail = &self.rival.evidence.problem.guardrails[i];
            let known = guardrail.safe_cost;
            self.costs[i] = match known {
                Some(known) if plan.action == self.rival.evidence.actions.safe => known,
                _ => {
                    let cap = self.rival.rule.cost_cap(&self.rival.evidence, plan.action);
                    let cost = plan.scale * self.upper(plan.action, i + 1).min(cap);
                    let slack = self.thresholds[i] - cost;
                    // Written so that NaN fails. By way of the slack, so that no rounding turns it
                    // negative.
                    within &= slack >= 0.0;
                    guardrail.threshold - slack
                }
            };
        }
        within
    }

    /// The policy of a plan: an action alone, or a mixture with the safe one by increasing number.
    fn write_policy(&mut self, shell: &mut Shell, plan: &Plan) {
        let safe = self.rival.evidence.actions.safe;
        // So little that it rounds to nothing is the safe action.
        let (action, scale) = if plan.action != safe && plan.scale > 0.0 {
            (plan.action, plan.scale)
        } else {
            (safe, 1.0)
        };
        self.support.clear();
        shell.decision.scale = 1.0;
        match self.rival.play {
            _ if scale >= 1.0 => self.support.push((action, 1.0)),
            Play::Scaled => {
                self.support.push((action, 1.0));
                shell.decision.scale = scale;
            }
            Play::Mixed => {
                let mut both = [(action, scale), (safe, 1.0 - scale)];
                both.sort_unstable_by_key(|entry| entry.0);
                self.support.extend_from_slice(&both);
            }
        }
    }

    fn estimate_of(&self, action: usize) -> ArmEstimate {
        let interval = |signal: usize| {
            let offset = self.rival.evidence.signals[signal].offset;
            let (lower, upper) = self.ends(action, signal);
            Interval {
                lower: lower + offset,
                upper: upper + offset,
            }
        };
        let mut intervals: Vec<Interval> = (0..self.rival.evidence.signals.len())
            .map(interval)
            .collect();
        if action == self.rival.evidence.actions.safe {
            let guardrails = &self.rival.evidence.problem.guardrails;
            for (own, guardrail) in intervals[1..].iter_mut().zip(guardrails) {
                // The declared cost is in force, whatever was observed.
                if let Some(known) = guardrail.safe_cost {
                    (own.lower, own.upper) = (known, known);
                }
            }
        }
        of_intervals(&self.rival.evidence.problem, &intervals)
    }
}
