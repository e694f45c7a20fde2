//! OPLB, the optimistic-pessimistic linear bandit.
//!
//! **Problem.** Actions are feature vectors x in R^d, the same ones every round or others each time;
//! mean reward ⟨x, θ⟩ and mean costs ⟨x, μ_i⟩ with unknown parameters; the safe action x_0 keeps
//! every guardrail with margin. Every policy published must keep its expected costs within the
//! thresholds.
//! **Guarantee.** With probability 1 − δ, every policy in every round is feasible; with probability
//! 1 − δ − δ_o the regret is of order d√T/Δ too (theory: [`crate::theory`]).
//! **Cost per round.** Observing O(d²); deciding O(1) while the actions stay and little is learned, else O(Kd²)
//! and linear programs as in [`crate::Opb`] (`linearised`) or the certified search of
//! [`crate::solve::ConeSolver`] (`exact`); no allocation.
//! **Reference.** Pacchiano, Ghavamzadeh, Bartlett and Jiang, "Stochastic Bandits with Linear
//! Constraints", Algorithm 1, with the errata in `docs/`.
//!
//! Files, in reading order: `config`, `width` (of intervals), `linked` (signals with a link), `decide` (bounds,
//! program, policy), `kept` (policies that stay), `outcomes`, `fit` (of the model), `arms`, `agent`, `inspect`,
//! `snapshot`; `round` solves one round given from a file. `per_arm/` is the agent with a parameter per arm
//! ([`OplbPerArm`]).

mod agent;
mod arms;
mod config;
mod decide;
mod fit;
mod inspect;
mod kept;
mod linked;
mod outcomes;
mod per_arm;
mod round;
mod snapshot;
mod width;

use banister_solve::ConeSolver;

use crate::certificate::Certifier;
use crate::decision::Decision;
use crate::error::Error;
use crate::estimate::{EstimateConfig, Estimates};
use crate::fit::{Fit, Forecast};
use crate::interval::Level;
pub use crate::linear::Link;
pub use crate::linear::Radius;
use crate::linear::{Ends, Evidence, Limit, Logit, Setup, Tables, log_odds, with_zero_costs};
use crate::monitor::Monitor;
use crate::optimism::Bounds;
use crate::optimism::Floor;
use crate::optimism::Planner;
use crate::problem::{CheckedProblem, Model, Problem};
use crate::safe_cost::TZeroRule;
use config::CheckedOplb;
pub use config::{LongFeatures, OplbConfig, OplbRadius, Solver};
use kept::Kept;
pub use per_arm::OplbPerArm;
pub use round::{Ellipsoid, Round, RoundAnswer};

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
/// // No parameter is longer than one range of its signal.
/// let config = OplbConfig { parameter_norm: Some(1.0), ..Default::default() };
/// let mut agent = Oplb::new(&problem, &config)?;
/// // This round there are two actions beside the safe one, each with two features.
/// agent.offer(&[0.6, 0.8, 0.8, -0.6])?;
/// let action = agent.decide().draw(0.5); // a uniform random number chooses
/// agent.observe(action, 1.0, &[0.0])?;
/// assert!(agent.decide().guardrails[0].slack >= 0.0);
/// # Ok::<(), banister::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Oplb {
    evidence: Evidence,
    checked: CheckedOplb,
    /// Confidence sets of signals with a logistic link, in turned coordinates.
    logits: Vec<Option<Logit>>,
    /// Their view of the safe action.
    linked_safe: Vec<Ends>,
    /// Statistics of the safe action's own signals, where some safe cost is unknown.
    safe_estimates: Option<Estimates>,
    t_zero: Option<TZeroRule>,
    bounds: Bounds,
    planner: Planner,
    exact: Exact,
    floor: Floor,
    certifier: Certifier,
    decision: Decision,
    /// State in which the decision was solved for, while it may be kept.
    kept: Option<Kept>,
    monitor: Monitor,
    /// Test of the model, where there is a guardrail.
    fit: Option<Box<Fit>>,
    /// Costs with a link of the outcome taken last, beside what was expected of them.
    forecasts: Vec<Forecast>,
    /// Outcomes for which the T_0 rule holds.
    room: u64,
    /// Room for the costs of an outcome as they count.
    counted: Vec<f64>,
}

/// State of exact OPLB.
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
        let problem = with_zero_costs(problem)?.check()?;
        let checked = config.check(&problem)?;
        if config.model == Model::PerArm {
            let allowed = "a parameter per arm makes another agent: `OplbPerArm`";
            return Err(Error::invalid("model", "per_arm", allowed));
        }
        let evidence = Evidence::new(problem, setup(&checked))?;
        let mut agent = Self::with(evidence, checked);
        agent.view_safe();
        agent.offered_anew();
        Ok(agent)
    }

    fn with(evidence: Evidence, checked: CheckedOplb) -> Self {
        let problem = &evidence.problem;
        let config = &checked.config;
        let unknown = problem.guardrails.iter().any(|g| g.safe_cost.is_none());
        let t_zero = config
            .needs_horizon(unknown)
            .then(|| TZeroRule::new(problem, config.horizon, false));
        let certifier = Certifier::new(problem);
        let logit = |(signal, link): (usize, &Link)| {
            let guardrail = signal.checked_sub(1).map(|i| &problem.guardrails[i]);
            let logit = Logit::new(evidence.dimension(), checked.parameter_norm);
            (*link == Link::Logistic).then(|| match guardrail.and_then(|g| g.safe_cost) {
                Some(known) => logit.with_known(evidence.safe_turned().to_vec(), log_odds(known)),
                None => logit,
            })
        };
        let logits: Vec<Option<Logit>> = checked.links.iter().enumerate().map(logit).collect();
        Self {
            linked_safe: vec![Ends::UNKNOWN; logits.len()],
            logits,
            safe_estimates: unknown.then(|| safe_estimates(problem, checked.level_in(0))),
            room: match (&t_zero, config.horizon) {
                (Some(_), Some(horizon)) => horizon,
                _ => u64::MAX,
            },
            t_zero,
            bounds: Bounds::new(
                problem.guardrails.iter().map(|g| g.threshold).collect(),
                config.floor,
            ),
            planner: Planner::dense(checked.optimism),
            exact: Exact {
                costs: vec![Vec::new(); problem.guardrails.len()],
                radii: vec![0.0; problem.guardrails.len()],
                ..Exact::default()
            },
            floor: Floor::default(),
            decision: Decision {
                confidence: config.confidence(),
                ..certifier.blank()
            },
            kept: None,
            certifier,
            monitor: Monitor::new(problem, checked.monitor),
            fit: checked.new_fit(&evidence),
            forecasts: vec![Forecast::default(); problem.guardrails.len()],
            counted: Vec::with_capacity(problem.guardrails.len()),
            evidence,
            checked,
        }
    }

    /// Dimension d of the features.
    pub fn dimension(&self) -> usize {
        self.evidence.space.dimension
    }

    /// Outcomes that arrived in all.
    pub fn outcomes(&self) -> u64 {
        self.evidence.outcomes
    }

    /// The problem in standard form.
    pub fn problem(&self) -> &CheckedProblem {
        &self.evidence.problem
    }

    /// Parameters as declared.
    pub fn config(&self) -> &OplbConfig {
        &self.checked.config
    }

    /// Number of the safe action among those on offer.
    pub fn safe(&self) -> usize {
        self.evidence.actions.safe
    }

    /// Number of actions on offer, the safe one included.
    pub fn offered(&self) -> usize {
        self.evidence.actions.count
    }

    /// Features of an action on offer.
    pub fn features(&self, action: usize) -> Option<&[f64]> {
        self.evidence.features(action)
    }

    /// The last decision, without deciding anew.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Replaces the actions to choose among: feature vectors one after another. They stay on offer
    /// until others are offered; deciding on the same set again is much faster.
    ///
    /// The safe action is always on offer: if it is not among those given, it comes after the last.
    pub fn offer(&mut self, actions: &[f64]) -> Result<(), Error> {
        self.evidence.offer(actions)?;
        self.offered_anew();
        Ok(())
    }

    /// Drops what was learned and starts the next epoch, with its share of δ; what is on offer stays.
    fn relearn(&mut self) {
        self.monitor.restart(self.evidence.outcomes);
        self.enter_epoch();
        self.evidence.forget();
        self.logits.iter_mut().flatten().for_each(Logit::clear);
        self.view_safe();
        self.offered_anew();
    }

    /// Takes the level of the monitor's epoch for everything that has one.
    fn enter_epoch(&mut self) {
        let epoch = self.monitor.epoch();
        self.checked.enter(epoch);
        self.restart_fit();
        let problem = &self.evidence.problem;
        if let Some(estimates) = &mut self.safe_estimates {
            *estimates = safe_estimates(problem, self.checked.level_in(epoch));
        }
        if let Some(rule) = &mut self.t_zero {
            *rule = TZeroRule::new(problem, self.checked.config.horizon, false);
        }
    }

    /// Makes room for the set on offer, and forgets what helped with the last one.
    fn offered_anew(&mut self) {
        self.kept = None;
        let actions = &self.evidence.actions;
        self.bounds.safe = actions.safe;
        self.bounds.resize(actions.count);
        self.planner.reset(actions.count);
        self.exact.solver.reset();
    }
}

/// Set-up of the regression from checked parameters.
fn setup(checked: &CheckedOplb) -> Setup {
    Setup {
        ridge: checked.ridge,
        limit: Limit {
            norm: checked.norm,
            clip: checked.config.long_features == LongFeatures::Clip,
            advice: "declare a larger one, or `long_features = \"clip\"`",
        },
        projected: true,
        // Exact policies are made from whitened features, intervals from their lengths alone.
        tables: match checked.config.solver {
            Solver::Exact => Tables::Whitened,
            Solver::Linearised => Tables::Lengths,
        },
    }
}

/// Scalar intervals for the safe action's own signals, each cost at level δ_s.
fn safe_estimates(problem: &CheckedProblem, delta: f64) -> Estimates {
    let unknown = problem.guardrails.iter().filter(|g| g.safe_cost.is_none());
    let level = Level::at(delta * unknown.count() as f64);
    Estimates::of_safe(problem, &EstimateConfig::at(level))
}
