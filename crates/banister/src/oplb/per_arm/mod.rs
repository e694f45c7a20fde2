//! OPLB with a parameter per arm.
//!
//! **Problem.** K named arms and a context x in R^d that comes before every decision; the mean reward of arm a is
//! ⟨x, θ_a⟩ and its mean costs are ⟨x, μ_{a,i}⟩ (or σ of that, with a link), *the safe arm's too*: control may sell more in
//! the evening. Every policy must keep its expected costs within the thresholds in its context.
//! **Guarantee.** With probability 1 − δ, every policy in every round is feasible in its context, and so overall: each
//! arm has confidence sets of its own, and arms share δ in the order of their first pull ([`crate::interval`]). Where the
//! safe arm's own bound does not prove a margin in a context, the policy is the safe arm.
//! **Cost per round.** Observing O(d²); deciding O(Kd²) and linear programs as in [`crate::Opb`].
//!
//! A context is offered as its d numbers; an outcome is taken by its arm while the context stays, or by d + 1
//! numbers, the arm's and the context's ([`crate::ContextArms`]).
//!
//! Files, in reading order: `arm` (the sets of one arm), `decide`, `outcomes`, `fit` (of the models), `arms`, `agent`,
//! `snapshot`.

mod agent;
mod arm;
mod arms;
mod decide;
mod fit;
mod outcomes;
mod snapshot;

use super::config::{CheckedOplb, OplbConfig};
use crate::certificate::Certifier;
use crate::decision::Decision;
use crate::error::Error;
use crate::interval::Budget;
use crate::linear::LinearSignal;
use crate::monitor::Monitor;
use crate::optimism::{Bounds, Floor, Planner};
use crate::problem::{CheckedProblem, Direction, Model, Problem, check_vector};
use arm::{ArmSets, Frame};

/// The agent. See the module's page for what it promises.
///
/// ```
/// use banister::{ContextArms, Guardrail, Model, OplbConfig, OplbPerArm};
///
/// let arms = ContextArms { arms: 2, safe: 0, numbers: 2, model: Model::PerArm };
/// let sales = Guardrail {
///     name: "sales".into(),
///     at_least: Some(0.9),
///     relative: true, // in every context at least 90% of what control sells there
///     ..Default::default()
/// };
/// let problem = arms.problem(vec!["control".into(), "bold".into()], vec![sales]);
/// let config = OplbConfig {
///     model: Model::PerArm,
///     parameter_norm: Some(1.0),
///     ..Default::default()
/// };
/// let mut agent = OplbPerArm::new(&problem, &config)?;
/// agent.offer(&[1.0, 0.3])?; // a constant, and the hour
/// let arm = agent.decide().draw(0.5);
/// agent.observe(arm, 1.0, &[1.0])?;
/// agent.observe_at(&arms.features(1, &[1.0, 0.9]), 0.0, &[0.0])?; // a late one, of another context
/// # Ok::<(), banister::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OplbPerArm {
    problem: CheckedProblem,
    checked: CheckedOplb,
    /// Signal 0 is the reward, signal 1 + i guardrail i.
    signals: Vec<LinearSignal>,
    /// Length d of the context.
    numbers: usize,
    /// Every arm there ever was: its names, and its sets.
    names: Vec<String>,
    arms: Vec<ArmSets>,
    /// Budgets of δ_o and δ, which arms share in the order of their first pull.
    budgets: [Budget; 2],
    /// The context; none before the first one.
    context: Option<Vec<f64>>,
    /// Arms in the columns of the bounds.
    columns: Vec<usize>,
    outcomes: u64,
    bounds: Bounds,
    planner: Planner,
    floor: Floor,
    certifier: Certifier,
    decision: Decision,
    monitor: Monitor,
    /// Features of the arms in the context: number, then context.
    rows: Vec<Vec<f64>>,
    /// Room for the costs of an outcome as they count, and for a whitened vector.
    counted: Vec<f64>,
    room: Vec<f64>,
}

impl OplbPerArm {
    /// Checks the problem and the parameters, and starts with no outcomes. The problem's features say how long the
    /// context is ([`crate::ContextArms::problem`]).
    pub fn new(problem: &Problem, config: &OplbConfig) -> Result<Self, Error> {
        problem.one_range_each()?;
        let problem = problem.check()?;
        let numbers = context_length(&problem.declared)?;
        let checked = config.check(&problem)?;
        if checked.config.model != Model::PerArm {
            let allowed = "this agent has a parameter per arm: use `per_arm`";
            return Err(Error::invalid("model", "shared", allowed));
        }
        let signals = std::iter::once(LinearSignal::new(&problem.reward, Direction::AtMost));
        let guardrails = problem.guardrails.iter();
        let signals: Vec<LinearSignal> = signals
            .chain(guardrails.map(|g| LinearSignal::new(&g.signal, g.direction)))
            .collect();
        let certifier = Certifier::new(&problem);
        let thresholds = problem.guardrails.iter().map(|g| g.threshold).collect();
        let mut own = Self {
            budgets: [Budget::new(1.0, 0); 2],
            numbers,
            names: Vec::new(),
            arms: Vec::new(),
            context: None,
            columns: Vec::new(),
            outcomes: 0,
            bounds: Bounds::new(thresholds, config.floor),
            planner: Planner::dense(checked.optimism),
            floor: Floor::default(),
            decision: Decision {
                confidence: config.confidence(),
                ..certifier.blank()
            },
            certifier,
            monitor: Monitor::new(&problem, checked.monitor),
            rows: Vec::new(),
            counted: Vec::with_capacity(problem.guardrails.len()),
            room: Vec::new(),
            signals,
            checked,
            problem,
        };
        own.enter_epoch();
        for name in own.problem.declared.arms.clone() {
            own.push_arm(name);
        }
        own.place_arms();
        Ok(own)
    }

    /// Length d of the context.
    pub fn context_length(&self) -> usize {
        self.numbers
    }

    /// The problem in standard form.
    pub fn problem(&self) -> &CheckedProblem {
        &self.problem
    }

    /// Parameters as declared.
    pub fn config(&self) -> &OplbConfig {
        &self.checked.config
    }

    /// Outcomes that arrived in all.
    pub fn outcomes(&self) -> u64 {
        self.outcomes
    }

    /// The last decision, without deciding anew.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Replaces the context: decisions are made in it, and outcomes taken by arm belong to it. The features of all
    /// arms in it, in their order, say the same.
    pub fn offer(&mut self, context: &[f64]) -> Result<(), Error> {
        let context = self.shared_context(context).unwrap_or(context);
        check_vector("context", context, self.numbers)?;
        let context = self.frame().admit("context", context)?;
        for row in &mut self.rows {
            row[1..].copy_from_slice(&context);
        }
        self.context = Some(context);
        Ok(())
    }

    /// The context of all arms' features, one after another.
    fn shared_context<'a>(&self, features: &'a [f64]) -> Option<&'a [f64]> {
        let context = features.get(1..=self.numbers)?;
        let mut rows = features.chunks_exact(self.numbers + 1).enumerate();
        let fits = features.len() == self.names.len() * (self.numbers + 1)
            && rows.all(|(arm, row)| row[0] == arm as f64 && row[1..] == *context);
        fits.then_some(context)
    }

    /// Takes the level of the monitor's epoch: budgets are whole again, less what earlier epochs had.
    fn enter_epoch(&mut self) {
        let share = self.checked.share_in(self.monitor.epoch());
        let config = &self.checked.config;
        let arms = self.problem.declared.arms.len();
        let known = self
            .problem
            .guardrails
            .iter()
            .all(|g| g.safe_cost.is_some());
        // A safe arm whose costs are all known takes no number on the cost side.
        let costly = arms - usize::from(known);
        self.budgets = [
            Budget::new(config.optimism_delta * share, arms),
            Budget::new(config.delta * share, costly),
        ];
        self.arms.iter_mut().for_each(ArmSets::clear);
    }

    /// Drops what was learned and starts the next epoch.
    fn relearn(&mut self) {
        self.monitor.restart(self.outcomes);
        self.enter_epoch();
    }

    /// Parameters common to the sets of all arms.
    fn frame(&self) -> Frame<'_> {
        Frame {
            checked: &self.checked,
            signals: &self.signals,
            numbers: self.numbers,
        }
    }
}

/// Length of the context, by the features of the arms: each its number, then zeros.
fn context_length(problem: &Problem) -> Result<usize, Error> {
    let numbered = |(arm, x): (usize, &Vec<f64>)| {
        x.len() > 1 && x[0] == arm as f64 && x[1..].iter().all(|x| *x == 0.0)
    };
    let fits = !problem.features.is_empty() && problem.features.iter().enumerate().all(numbered);
    if fits {
        return Ok(problem.features[0].len() - 1);
    }
    let allowed = "a parameter per arm needs named arms and the length of the context: no features of their own";
    Err(Error::invalid("model", "per_arm", allowed))
}
