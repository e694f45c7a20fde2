//! What agents meet: the problem they are told, what really happens, and the truths behind it.

use std::fmt;
use std::sync::Arc;

use banister::solve::{Lp, LpSolver, Status};
use banister::{CheckedProblem, Direction, Error, Problem};

use crate::custom::CustomEnvironment;
use crate::law::Arms;
use crate::linear::Changing;
use crate::redrawn::Redrawn;
use crate::results::{GuardrailInfo, Optimum};

/// What really happens in a round.
#[derive(Debug, Clone)]
pub enum Environment {
    /// The same actions in every round: arms, or a fixed set of feature vectors.
    Arms(Arms),
    /// Other feature vectors in every round.
    Changing(Changing),
    /// An environment from outside.
    Custom(Custom),
    /// Every run draws an instance of its own.
    Redrawn(Box<Redrawn>),
}

/// An environment from outside, and what it says of itself.
#[derive(Clone)]
pub struct Custom {
    pub(crate) environment: Arc<dyn CustomEnvironment>,
    pub(crate) knows_means: bool,
    pub(crate) actions_change: bool,
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Custom")
            .field("knows_means", &self.knows_means)
            .field("actions_change", &self.actions_change)
            .finish_non_exhaustive()
    }
}

impl Environment {
    /// The laws of the actions, where they stay the same.
    pub fn as_arms(&self) -> Option<&Arms> {
        match self {
            Self::Arms(arms) => Some(arms),
            Self::Changing(_) | Self::Custom(_) | Self::Redrawn(_) => None,
        }
    }

    /// The changing actions, where they change.
    pub fn as_changing(&self) -> Option<&Changing> {
        match self {
            Self::Changing(changing) => Some(changing),
            Self::Arms(_) | Self::Custom(_) | Self::Redrawn(_) => None,
        }
    }

    /// Whether rounds bring actions of their own.
    pub(crate) fn actions_change(&self) -> bool {
        match self {
            Self::Arms(_) | Self::Redrawn(_) => false,
            Self::Changing(_) => true,
            Self::Custom(custom) => custom.actions_change,
        }
    }
}

/// An environment with everything that is true of it.
#[derive(Debug, Clone)]
pub(crate) struct World {
    /// What agents are told.
    pub problem: Problem,
    pub environment: Environment,
    /// θ, then one μ per guardrail, in signal units per feature unit; empty where there are none.
    pub parameters: Vec<Vec<f64>>,
    /// The safe action's true reward and costs, where they are known.
    pub safe_means: Option<Vec<f64>>,
    /// How the user calls the safe action's cost under guardrail 0, 1, …
    pub safe_fields: Vec<String>,
    /// Length of the longest feature vector that can come.
    pub longest: f64,
    /// Rounds at which the means of arms change, and the laws from then on.
    pub changes: Vec<(u64, Arms)>,
}

/// 1 where a guardrail bounds its signal from above, −1 from below.
pub(crate) fn sign(guardrail: &GuardrailInfo) -> f64 {
    match guardrail.direction {
        Direction::AtMost => 1.0,
        Direction::AtLeast => -1.0,
    }
}

/// Thresholds in signal units (NaN: unknown, as the safe mean it is relative to), and that the
/// declared safe costs are true and leave a margin.
pub(crate) fn thresholds(
    problem: &CheckedProblem,
    world: &World,
) -> Result<Vec<GuardrailInfo>, Error> {
    let mut infos = Vec::new();
    for (i, standard) in problem.guardrails.iter().enumerate() {
        let declared = &problem.declared.guardrails[i];
        let bound = declared.at_most.or(declared.at_least).unwrap_or(0.0);
        let info = |threshold: f64| GuardrailInfo {
            name: standard.name.clone(),
            direction: standard.direction,
            threshold,
        };
        let Some(mean) = world.safe_means.as_ref().map(|means| means[i + 1]) else {
            // A declared safe cost has been checked against its own threshold.
            let base = declared.safe_cost.unwrap_or(f64::NAN);
            infos.push(info(if declared.relative {
                bound * base
            } else {
                bound
            }));
            continue;
        };
        let threshold = if declared.relative {
            bound * mean
        } else {
            bound
        };
        if matches!(world.environment, Environment::Redrawn(_)) {
            // Every run has its own, checked where it is drawn.
            infos.push(info(f64::NAN));
            continue;
        }
        let has_margin = match standard.direction {
            Direction::AtMost => mean < threshold,
            Direction::AtLeast => mean > threshold,
        };
        // Without the last digits, which may be those of a scalar product.
        let shown = (mean * 1e12).round() / 1e12;
        if !has_margin {
            let allowed = format!(
                "the safe arm must meet guardrail `{}` (threshold {threshold}) with margin",
                standard.name
            );
            return Err(Error::invalid(&world.safe_fields[i], shown, allowed));
        }
        if let Some(c) = declared.safe_cost
            && (c - mean).abs() > 1e-9 * standard.signal.unit()
        {
            let allowed = format!(
                "the environment's safe arm has mean {shown}; leave `safe_cost` out if it is unknown"
            );
            return Err(Error::invalid(
                format!("guardrail[{i}].safe_cost"),
                c,
                allowed,
            ));
        }
        infos.push(info(threshold));
    }
    check_changes(problem, world, &infos)?;
    Ok(infos)
}

/// Refuses changes after which the safe arm breaks a guardrail: nothing would be left to play. A relative
/// threshold moves with the safe arm, so there its mean must stay.
fn check_changes(
    problem: &CheckedProblem,
    world: &World,
    guardrails: &[GuardrailInfo],
) -> Result<(), Error> {
    let safe = problem.declared.safe;
    for (n, (_, arms)) in world.changes.iter().enumerate() {
        for (i, guardrail) in guardrails.iter().enumerate() {
            let mean = arms.means(safe)[i + 1];
            let first = world.safe_means.as_ref().map_or(mean, |means| means[i + 1]);
            let breaks = sign(guardrail) * (mean - guardrail.threshold) >= 0.0;
            let moves = problem.declared.guardrails[i].relative && mean != first;
            if breaks || moves {
                let name = &guardrail.name;
                let allowed = if moves {
                    format!("`{name}` is relative to the safe arm, whose mean must stay at {first}")
                } else {
                    format!(
                        "the safe arm must meet guardrail `{name}` (threshold {}) with margin",
                        guardrail.threshold
                    )
                };
                let field = format!("environment.changes[{n}].costs[{i}][{safe}]");
                return Err(Error::invalid(field, mean, allowed));
            }
        }
    }
    Ok(())
}

/// The best feasible policy, from the same LP with the true means. Where actions or means change
/// there is one in every round, and their average is known only afterwards.
pub(crate) fn optimum(
    guardrails: &[GuardrailInfo],
    environment: &Environment,
) -> Result<Optimum, Error> {
    let Some(arms) = environment.as_arms() else {
        return Ok(Optimum {
            reward: f64::NAN,
            costs: Vec::new(),
            policy: Vec::new(),
            averaged: true,
        });
    };
    let k = arms.count();
    let reward: Vec<f64> = (0..k).map(|a| arms.means(a)[0]).collect();
    let costs: Vec<Vec<f64>> = guardrails
        .iter()
        .enumerate()
        .map(|(i, g)| (0..k).map(|a| sign(g) * arms.means(a)[i + 1]).collect())
        .collect();
    let thresholds: Vec<f64> = guardrails.iter().map(|g| sign(g) * g.threshold).collect();
    let lp = Lp {
        reward: &reward,
        costs: &costs,
        thresholds: &thresholds,
    };
    let mut solver = LpSolver::default();
    let solution = solver.solve(&lp, None);
    if solution.status == Status::Infeasible {
        return Err(Error::invalid(
            "environment.costs",
            "infeasible",
            "no policy meets the guardrails",
        ));
    }
    Ok(Optimum {
        reward: solution.value,
        costs: solution
            .costs
            .iter()
            .zip(guardrails)
            .map(|(c, g)| sign(g) * c)
            .collect(),
        policy: solution.support.clone(),
        averaged: false,
    })
}
