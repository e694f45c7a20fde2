//! A rule on feature vectors as an agent: regression, certificates, snapshots and checks are the same for
//! all.

use banister::interval::Interval;
use banister::solve::dense;
use banister::toolkit::linear::{
    Limit, Ridge, Setup, Tables, check_parameter_norm, upper_end, with_zero_costs,
};
use banister::toolkit::{Certifier, broken, of_intervals};
use banister::{Agent, ArmEstimate, Decision, Error, Fallback, Guarantee};
use serde_json::Value;

use super::{Evidence, Plan, Play};
use crate::config::{Recipe, RivalConfig};
use crate::parameters::Parameters;
use crate::saved::{self, Saved, part, to_part};
use crate::setting::no_relative;

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
        let _ = evidence;
        if memory.is_null() {
            Ok(())
        } else {
            Err(broken(
                "its rule remembers nothing, and `memory` says it does",
            ))
        }
    }
}

/// A rule with everything around it.
pub(super) struct Rival<C, R> {
    config: C,
    pub(super) rule: R,
    pub(super) evidence: Evidence,
    play: Play,
    /// True if only decisions that check may leave it.
    pub(super) promised: bool,
    /// Thresholds in prediction units.
    thresholds: Vec<f64>,
    /// Pessimistic costs of what is played, in standard units.
    pub(super) costs: Vec<f64>,
    pub(super) prices: Vec<f64>,
    pub(super) support: Vec<(usize, f64)>,
    pub(super) certifier: Certifier,
    pub(super) decision: Decision,
    /// Room for the costs of an outcome as they count.
    counted: Vec<f64>,
    /// Room for features and costs per unit of length.
    unit: (Vec<f64>, Vec<f64>),
}

/// The agent of a rule, new or where a snapshot left it. `rule` checks the problem, and what the parameters of its
/// own are.
pub(super) fn make<C: RivalConfig, R: Rule>(
    recipe: Recipe<C>,
    parameters: Parameters,
    play: Option<Play>,
    rule: impl FnOnce(&Evidence) -> Result<R, Error>,
) -> Result<Box<dyn Agent>, Error> {
    parameters.check()?;
    let problem = with_zero_costs(recipe.problem)?.check()?;
    no_relative(recipe.config.kind(), &problem)?;
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
    let mut evidence = Evidence::new(problem, setup)?;
    let mut rule = rule(&evidence)?;
    if let Some(saved) = recipe.saved {
        let own = part("evidence", &saved.evidence)?;
        evidence.restore(own, saved.outcomes)?;
        rule.restore(&evidence, &saved.memory)?;
    }
    let problem = &evidence.problem;
    let certifier = Certifier::new(problem);
    let guardrails = problem.guardrails.len();
    let signals = std::iter::zip(&problem.guardrails, &evidence.signals[1..]);
    Ok(Box::new(Rival {
        promised: matches!(
            recipe.config.guarantee(),
            Guarantee::EveryRound | Guarantee::PerAction
        ),
        config: recipe.config.clone(),
        rule,
        play: play.unwrap_or_default(),
        thresholds: signals.map(|(g, s)| g.shown_threshold * s.scale).collect(),
        costs: vec![0.0; guardrails],
        counted: Vec::with_capacity(guardrails),
        unit: (
            Vec::with_capacity(evidence.dimension()),
            Vec::with_capacity(guardrails),
        ),
        prices: vec![0.0; guardrails],
        support: Vec::with_capacity(2),
        decision: certifier.blank(),
        certifier,
        evidence,
    }))
}

impl<C: RivalConfig, R: Rule> Rival<C, R> {
    pub(super) fn check(&self, action: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.evidence.check_action(action)?;
        self.evidence.problem.refuse(None, reward, costs)
    }

    pub(super) fn check_at(
        &self,
        features: &[f64],
        reward: f64,
        costs: &[f64],
    ) -> Result<(), Error> {
        self.evidence.check_features(features)?;
        self.evidence.problem.refuse(None, reward, costs)
    }

    pub(super) fn take(&mut self, action: usize, reward: f64, costs: &[f64]) {
        if self.rule.per_length() {
            self.unit.0.clear();
            (self.unit.0).extend_from_slice(self.evidence.actions.features(action));
            return self.take_per_length(reward, costs);
        }
        let (reward, costs) =
            (self.evidence.problem).counted(None, reward, costs, &mut self.counted);
        let is_safe = self.evidence.take(action, reward, costs);
        self.rule.learn(&self.evidence, is_safe);
    }

    pub(super) fn take_at(&mut self, features: &[f64], reward: f64, costs: &[f64]) {
        if self.rule.per_length() {
            self.unit.0.clear();
            self.unit.0.extend_from_slice(features);
            return self.take_per_length(reward, costs);
        }
        let (reward, costs) =
            (self.evidence.problem).counted(None, reward, costs, &mut self.counted);
        let is_safe = self.evidence.take_at(features, reward, costs);
        self.rule.learn(&self.evidence, is_safe);
    }

    /// Takes an outcome of the features in `unit`, both divided by their length.
    fn take_per_length(&mut self, reward: f64, costs: &[f64]) {
        let (features, unit_costs) = &mut self.unit;
        let length = dense::dot(features, features).sqrt();
        let share = if length > 0.0 { 1.0 / length } else { 1.0 };
        features.iter_mut().for_each(|x| *x *= share);
        let (reward, costs) =
            (self.evidence.problem).counted(None, reward, costs, &mut self.counted);
        unit_costs.clear();
        unit_costs.extend(costs.iter().map(|cost| cost * share));
        let is_safe = (self.evidence).take_at(features, reward * share, unit_costs);
        self.rule.learn(&self.evidence, is_safe);
    }

    /// The ends of a signal's interval for an action on offer, in prediction units.
    fn ends(&self, action: usize, signal: usize) -> (f64, f64) {
        let columns = &self.evidence.actions.columns;
        let mean = columns.means[signal][action];
        let reach = self.rule.radius(&self.evidence, signal) * columns.squares[1][action].sqrt();
        (mean - reach, mean + reach)
    }

    /// The upper end, which the range of the signal bounds too.
    pub(super) fn upper(&self, action: usize, signal: usize) -> f64 {
        let most = 1.0 - self.evidence.signals[signal].offset;
        self.ends(action, signal).1.min(most)
    }

    /// Writes what a plan costs at most; whether that keeps every threshold.
    pub(super) fn write_costs(&mut self, plan: &Plan) -> bool {
        let mut within = true;
        for i in 0..self.costs.len() {
            let guardrail = &self.evidence.problem.guardrails[i];
            let known = guardrail.safe_cost;
            self.costs[i] = match known {
                Some(known) if plan.action == self.evidence.actions.safe => known,
                _ => {
                    let cap = self.rule.cost_cap(&self.evidence, plan.action);
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

    /// Its interval vouches for the reward, its declared costs for the rest.
    #[cold]
    #[inline(never)]
    pub(super) fn publish_safe(&mut self, reason: Fallback) {
        let safe = self.evidence.actions.safe;
        let value = upper_end(self.ends(safe, 0).1 + self.evidence.signals[0].offset);
        for i in 0..self.costs.len() {
            let known = self.evidence.problem.guardrails[i].safe_cost;
            let upper = self.ends(safe, i + 1).1 + self.evidence.signals[i + 1].offset;
            self.costs[i] = known.unwrap_or(upper.min(1.0));
        }
        let cost = |i: usize| self.costs[i];
        let (problem, decision) = (&self.evidence.problem, &mut self.decision);
        (self.certifier).certify_safe(problem, safe, value, cost, reason, decision);
        decision.scale = 1.0;
    }

    /// The policy of a plan: an action alone, or a mixture with the safe one by increasing number.
    pub(super) fn write_policy(&mut self, plan: &Plan) {
        let safe = self.evidence.actions.safe;
        // So little that it rounds to nothing is the safe action.
        let (action, scale) = if plan.action != safe && plan.scale > 0.0 {
            (plan.action, plan.scale)
        } else {
            (safe, 1.0)
        };
        self.support.clear();
        self.decision.scale = 1.0;
        match self.play {
            _ if scale >= 1.0 => self.support.push((action, 1.0)),
            Play::Scaled => {
                self.support.push((action, 1.0));
                self.decision.scale = scale;
            }
            Play::Mixed => {
                let mut both = [(action, scale), (safe, 1.0 - scale)];
                both.sort_unstable_by_key(|entry| entry.0);
                self.support.extend_from_slice(&both);
            }
        }
    }

    pub(super) fn snapshot(&self, learned: bool) -> String {
        let evidence = &self.evidence;
        let saved = Saved {
            outcomes: evidence.outcomes,
            evidence: to_part(if learned {
                evidence.save_learned()
            } else {
                evidence.save()
            }),
            memory: self.rule.save(evidence, learned),
        };
        saved::write(
            &evidence.problem.declared,
            self.config.kind(),
            &self.config,
            saved,
        )
    }

    pub(super) fn estimate_of(&self, action: usize) -> ArmEstimate {
        let interval = |signal: usize| {
            let offset = self.evidence.signals[signal].offset;
            let (lower, upper) = self.ends(action, signal);
            Interval {
                lower: lower + offset,
                upper: upper + offset,
            }
        };
        let mut intervals: Vec<Interval> = (0..self.evidence.signals.len()).map(interval).collect();
        if action == self.evidence.actions.safe {
            let guardrails = &self.evidence.problem.guardrails;
            for (own, guardrail) in intervals[1..].iter_mut().zip(guardrails) {
                // The declared cost is in force, whatever was observed.
                if let Some(known) = guardrail.safe_cost {
                    (own.lower, own.upper) = (known, known);
                }
            }
        }
        of_intervals(&self.evidence.problem, &intervals)
    }

    pub(super) fn offer_named(
        &mut self,
        (actions, names): (Vec<f64>, Vec<String>),
    ) -> Result<(), Error> {
        self.evidence.offer(&actions)?;
        self.evidence.names = names;
        Ok(())
    }
}
