//! OPLB, the optimistic-pessimistic linear bandit.
//!
//! **Problem.** Actions are feature vectors x in R^d, the same ones every round or others each time;
//! mean reward ⟨x, θ⟩ and mean costs ⟨x, μ_i⟩ with unknown parameters; the safe action x_0 keeps
//! every guardrail with margin. Every policy published must keep its expected costs within the
//! thresholds.
//! **Guarantee.** With probability 1 − δ, every policy in every round is feasible, and the regret is
//! of order d√T/Δ (theory: [`crate::theory`]).
//! **Cost per round.** Observing O(d²); deciding O(Kd²) for new actions and O(Kd) for the same ones,
//! then linear programs as in [`crate::Opb`] (`linearised`) or the certified search of
//! [`crate::solve::ConeSolver`] (`exact`); no allocation.
//! **Reference.** Pacchiano, Ghavamzadeh, Bartlett and Jiang, "Stochastic Bandits with Linear
//! Constraints", Algorithm 1, with the errata in `docs/`.

mod actions;
mod agent;
mod arms;
mod config;
mod decide;
mod inspect;
mod outcomes;
mod regression;
mod round;
mod snapshot;
mod space;

use banister_solve::{ConeSolver, dense};

use crate::bounds::Bounds;
use crate::certificate::Certifier;
use crate::decision::Decision;
use crate::error::Error;
use crate::estimate::{Estimates, SignalRule};
use crate::guardrail::Direction;
use crate::interval::{Intervals, Level};
use crate::optimism::Planner;
use crate::problem::{CheckedProblem, Problem, check_vector};
use crate::safe_cost::TZeroRule;
use crate::signal::Signal;
use actions::{Actions, Terms};
use config::CheckedOplb;
pub use config::{LongFeatures, OplbConfig, Radius, Solver};
use regression::Regression;
pub use round::{Ellipsoid, Round, RoundAnswer};
use space::Space;

/// The agent. See the module's page for what it promises.
///
/// ```
/// use banister::{Guardrail, Oplb, OplbConfig, Problem};
///
/// let spend = Guardrail {
///     name: "spend".into(),
///     at_most: Some(0.5),
///     safe_cost: Some(0.1),
///     ..Default::default()
/// };
/// let problem = Problem::contextual(vec![1.0, 0.0], vec![spend]);
/// let mut agent = Oplb::new(&problem, &OplbConfig::default())?;
/// // This round there are two actions beside the safe one, each with two features.
/// agent.offer(&[0.6, 0.8, 0.8, -0.6])?;
/// let action = agent.decide().draw(0.5); // a uniform random number chooses
/// agent.observe(action, 1.0, &[0.0])?;
/// assert!(agent.decide().guardrails[0].slack >= 0.0);
/// # Ok::<(), banister::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Oplb {
    problem: CheckedProblem,
    checked: CheckedOplb,
    space: Space,
    safe_action: Vec<f64>,
    /// x̃_0.
    safe_turned: Vec<f64>,
    signals: Vec<LinearSignal>,
    /// Per signal: its mean per share of x_0, where known beforehand.
    along: Vec<f64>,
    regression: Regression,
    actions: Actions,
    /// Their names, if they have any.
    names: Vec<String>,
    /// What is known of the safe action's own signals, where some safe cost is unknown.
    safe_estimates: Option<Estimates>,
    t_zero: Option<TZeroRule>,
    bounds: Bounds,
    planner: Planner,
    exact: Exact,
    certifier: Certifier,
    decision: Decision,
    outcomes: u64,
    /// Outcomes for which the T_0 rule holds.
    room: u64,
    /// Room for an outcome's features, plain and whitened, and its targets.
    x: Vec<f64>,
    y: Vec<f64>,
    targets: Vec<f64>,
}

/// A signal as the regression sees it: linear in the features, in units of its range.
#[derive(Debug, Clone, Copy)]
struct LinearSignal {
    /// Observation times this is the regression's target.
    scale: f64,
    /// Standard units are the prediction plus this (a policy's probabilities sum to one).
    offset: f64,
    /// R in units of the range.
    r: f64,
}

impl LinearSignal {
    fn new(signal: &Signal, mirrored: bool) -> Self {
        let (origin, scale) = signal.affine(mirrored);
        Self {
            scale,
            offset: -origin * scale,
            r: signal.r(),
        }
    }
}

/// What exact OPLB works with.
#[derive(Debug, Clone, Default)]
struct Exact {
    solver: ConeSolver,
    reward: Vec<f64>,
    /// Linear parts of the costs.
    costs: Vec<Vec<f64>>,
    radii: Vec<f64>,
    zeros: Vec<f64>,
}

impl Oplb {
    /// Checks the problem and the parameters, and starts with no outcomes. The problem's arms are on
    /// offer; without features they are the unit vectors.
    pub fn new(problem: &Problem, config: &OplbConfig) -> Result<Self, Error> {
        let declared = with_zero_costs(problem)?;
        let problem = declared.check()?;
        let checked = config.check(&problem)?;
        let arms = declared.arms.len();
        let features: Vec<f64> = match declared.features.is_empty() {
            false => declared.features.concat(),
            true => (0..arms * arms)
                .map(|i| f64::from(u8::from(i % arms == i / arms)))
                .collect(),
        };
        let d = features.len() / arms;
        let safe_action = features[declared.safe * d..(declared.safe + 1) * d].to_vec();
        let mut agent = Self::around(problem, checked, safe_action);
        agent
            .check_norm("features", agent.problem.declared.safe, &agent.safe_action)
            .map_err(|error| match config.long_features {
                LongFeatures::Error => error,
                LongFeatures::Clip => Error::invalid(
                    "norm",
                    agent.checked.norm,
                    "the safe action itself is longer, and is never shortened",
                ),
            })?;
        agent.offer(&features).map_err(in_features)?;
        agent.names = declared.arms;
        Ok(agent)
    }

    /// An agent that is offered nothing yet.
    fn around(problem: CheckedProblem, checked: CheckedOplb, safe_action: Vec<f64>) -> Self {
        let space = Space::around(&safe_action);
        let (d, p) = (space.dimension, space.across);
        let mut signals = vec![LinearSignal::new(&problem.reward, false)];
        let mut coordinates = vec![d];
        let mut along = vec![0.0];
        for guardrail in &problem.guardrails {
            let mirrored = guardrail.direction == Direction::AtLeast;
            let signal = LinearSignal::new(&guardrail.signal, mirrored);
            coordinates.push(if guardrail.safe_cost.is_some() { p } else { d });
            along.push(guardrail.safe_cost.map_or(0.0, |y| y - signal.offset));
            signals.push(signal);
        }
        let config = &checked.config;
        let unknown = problem.guardrails.iter().any(|g| g.safe_cost.is_none());
        let t_zero = config
            .needs_horizon(unknown)
            .then(|| TZeroRule::new(&problem, config.horizon, false));
        let certifier = Certifier::new(&problem);
        let regression = Regression::new(d, p, checked.lambda, coordinates);
        let padded = regression.padded();
        let padded_signals = regression.padded_signals();
        Self {
            regression,
            actions: Actions::default(),
            names: Vec::new(),
            safe_estimates: unknown.then(|| safe_estimates(&problem, &checked)),
            room: match (&t_zero, config.horizon) {
                (Some(_), Some(horizon)) => horizon,
                _ => u64::MAX,
            },
            t_zero,
            bounds: Bounds::new(problem.guardrails.iter().map(|g| g.threshold).collect()),
            planner: Planner::dense(checked.optimism),
            exact: Exact {
                costs: vec![Vec::new(); problem.guardrails.len()],
                radii: vec![0.0; problem.guardrails.len()],
                ..Exact::default()
            },
            decision: certifier.blank(),
            certifier,
            outcomes: 0,
            x: vec![0.0; padded],
            y: vec![0.0; padded],
            targets: vec![0.0; padded_signals],
            safe_turned: space.safe(padded),
            space,
            safe_action,
            signals,
            along,
            problem,
            checked,
        }
    }

    /// d.
    pub fn dimension(&self) -> usize {
        self.space.dimension
    }

    /// Outcomes that arrived in all.
    pub fn outcomes(&self) -> u64 {
        self.outcomes
    }

    /// The problem, checked.
    pub fn problem(&self) -> &CheckedProblem {
        &self.problem
    }

    /// The parameters.
    pub fn config(&self) -> &OplbConfig {
        &self.checked.config
    }

    /// Number of the safe action among those on offer.
    pub fn safe(&self) -> usize {
        self.actions.safe
    }

    /// Number of actions on offer, the safe one included.
    pub fn offered(&self) -> usize {
        self.actions.count
    }

    /// Features of an action on offer.
    pub fn features(&self, action: usize) -> Option<&[f64]> {
        (action < self.actions.count).then(|| self.actions.features(action))
    }

    /// The last decision.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Replaces the actions to choose among: feature vectors one after another. They stay on offer
    /// until others are offered; deciding on the same set again is much faster.
    ///
    /// The safe action is always on offer: if it is not among those given, it comes after the last.
    pub fn offer(&mut self, actions: &[f64]) -> Result<(), Error> {
        let d = self.space.dimension;
        if !actions.len().is_multiple_of(d) {
            let value = format!("{} numbers", actions.len());
            let allowed = format!("expected rows of {d} features each");
            return Err(Error::invalid("actions", value, allowed));
        }
        // A square that overflows or is not a number shows here; the exact fault is looked for then.
        let clip = self.checked.config.long_features == LongFeatures::Clip;
        let limit = self.checked.norm * (1.0 + 1e-12);
        let most = if clip { f64::MAX } else { limit * limit };
        for (a, x) in actions.chunks_exact(d).enumerate() {
            let square = dense::dot(x, x);
            if !(square <= most.min(f64::MAX)) {
                check_vector(&format!("actions[{a}]"), x, d)?;
                self.check_norm("actions", a, x)?;
            }
        }
        let limit = if clip {
            self.checked.norm
        } else {
            f64::INFINITY
        };
        self.actions.replace(actions, &self.safe_action, limit);
        self.names.clear();
        self.bounds.safe = self.actions.safe;
        self.bounds.resize(self.actions.count);
        self.planner.reset(self.actions.count);
        self.exact.solver.reset();
        Ok(())
    }

    /// Refuses a feature vector that is too long.
    fn check_norm(&self, field: &str, a: usize, x: &[f64]) -> Result<(), Error> {
        let length = dense::dot(x, x).sqrt();
        let norm = self.checked.norm;
        let clip = self.checked.config.long_features == LongFeatures::Clip;
        if !length.is_finite() {
            let allowed = "the square of its length must be a finite number";
            return Err(Error::invalid(format!("{field}[{a}]"), length, allowed));
        }
        if length > norm * (1.0 + 1e-12) && (!clip || x == self.safe_action) {
            let value = format!("a vector of length {length}");
            let allowed = format!(
                "longer than `norm` = {norm}: declare a larger one, or `long_features = \"clip\"`"
            );
            return Err(Error::invalid(format!("{field}[{a}]"), value, allowed));
        }
        Ok(())
    }

    /// Brings what is known of the actions on offer up to date.
    fn update_actions(&mut self) {
        let terms = Terms {
            space: &self.space,
            along: &self.along,
            hide_safe: self.safe_estimates.is_some(),
        };
        self.actions.update(&self.regression, &terms);
    }
}

/// With x_0 = 0 every safe cost is 0, by linearity.
fn with_zero_costs(problem: &Problem) -> Result<Problem, Error> {
    let mut problem = problem.clone();
    let is_zero = problem
        .features
        .get(problem.safe)
        .is_some_and(|x| !x.is_empty() && x.iter().all(|&v| v == 0.0));
    if !is_zero {
        return Ok(problem);
    }
    for (i, guardrail) in problem.guardrails.iter_mut().enumerate() {
        match guardrail.safe_cost {
            None | Some(0.0) => guardrail.safe_cost = Some(0.0),
            Some(c) => {
                return Err(Error::invalid(
                    format!("guardrail[{i}].safe_cost"),
                    c,
                    "the safe action's features are all zero, so its mean is 0",
                ));
            }
        }
    }
    Ok(problem)
}

/// Features declared with the problem are called so in errors.
fn in_features(error: Error) -> Error {
    match error {
        Error::Invalid {
            field,
            value,
            allowed,
        } => Error::invalid(field.replacen("actions", "features", 1), value, allowed),
        other => other,
    }
}

/// Scalar intervals for the safe action's own signals, each at level δ_s.
fn safe_estimates(problem: &CheckedProblem, checked: &CheckedOplb) -> Estimates {
    let level = Level {
        delta: checked.level,
        signals: 1,
        arms: 1,
        horizon: None,
        log_term: None,
        rho: 1.0,
    };
    let rules = SignalRule::all(problem, &level, Intervals::suiting, |_| true);
    let mut estimates = Estimates::new(rules);
    estimates.add_arm();
    estimates
}
