//! An environment as built, with everything that is true of it.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use banister::toolkit::FieldPath;
use banister::{Error, Guardrail, Link, Problem, SignalConfig};
use serde::{Deserialize, Serialize};

use super::changing::Changing;
use super::outcome::Arms;
use super::per_run::PerRunInstance;
use super::segments::Segments;
use super::world::World;

/// The rest of the experiment, as far as building an environment needs it or fills it in.
pub(crate) struct Setting<'a> {
    pub horizon: u64,
    pub runs: u64,
    pub reward: &'a mut SignalConfig,
    pub guardrails: &'a mut Vec<Guardrail>,
    /// Folder that relative paths start from.
    pub folder: &'a Path,
}

/// An environment with everything that is true of it.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The problem as agents see it.
    pub(crate) problem: Problem,
    pub(crate) dynamics: Dynamics,
    /// θ, then one μ per guardrail, in signal units per feature unit; empty where there are none.
    pub(crate) parameters: Vec<Vec<f64>>,
    /// Length that no parameter exceeds, where there are any: environments are made so that it is 1, in units of the
    /// ranges; log-odds are longer, and so may the parameters of single arms be.
    pub(crate) parameter_norm: Option<f64>,
    /// Link between ⟨x, parameter⟩ and the means.
    pub(crate) link: Link,
    /// The safe action's true reward and costs, where they are known.
    pub(crate) safe_means: Option<Vec<f64>>,
    /// Field by which the user declares the safe action's cost under a guardrail, `{i}` standing for the guardrail's
    /// number and `{s}` for the signal's.
    pub(crate) safe_field: String,
    /// Length of the longest feature vector that can come.
    pub(crate) longest: f64,
    /// Law of the instances, where every run draws one of its own; the rest is then that of the first run.
    pub(crate) per_run: Option<PerRunInstance>,
}

/// Source of a round's actions and outcomes.
#[derive(Debug, Clone)]
pub(crate) enum Dynamics {
    /// Actions and means that stay for all rounds: arms, or a fixed set of feature vectors. The fast path.
    Fixed(Arms),
    /// Everything else.
    General(Arc<dyn World>),
}

impl Environment {
    /// An environment of which nothing else is known.
    pub(crate) fn new(problem: Problem, dynamics: Dynamics) -> Self {
        Self {
            problem,
            dynamics,
            parameters: Vec::new(),
            parameter_norm: None,
            link: Link::Identity,
            safe_means: None,
            safe_field: String::new(),
            longest: 1.0,
            per_run: None,
        }
    }

    /// The world, unless actions and means stay.
    pub(crate) fn world(&self) -> Option<&dyn World> {
        match &self.dynamics {
            Dynamics::Fixed(_) => None,
            Dynamics::General(world) => Some(&**world),
        }
    }

    /// The arms that stay, with means that stay.
    pub(crate) fn fixed_arms(&self) -> Option<&Arms> {
        match &self.dynamics {
            Dynamics::Fixed(arms) if self.per_run.is_none() => Some(arms),
            _ => None,
        }
    }

    /// The arms, where the actions stay the same; where means change, as they are in the first round.
    pub fn as_arms(&self) -> Option<&Arms> {
        self.fixed_arms().or_else(|| self.world()?.arms())
    }

    /// The changing actions, where they change.
    pub fn as_changing(&self) -> Option<&Changing> {
        let world: &dyn Any = self.world()?;
        world.downcast_ref()
    }

    /// The segments, as they are in the first round.
    pub(crate) fn segments(&self) -> Option<&Segments> {
        self.world()?.segments()
    }

    /// True where rounds bring actions of their own.
    pub(crate) fn actions_change(&self) -> bool {
        self.world().is_some_and(World::actions_change)
    }
}

/// An arm by index or by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum ArmRef {
    /// Its index.
    Index(usize),
    /// Its name.
    Name(String),
}

/// Arms are declared in the environment's table.
pub(crate) fn in_environment(path: FieldPath) -> FieldPath {
    path.moved("arms", "environment.arms")
}

/// "1 row", "2 rows".
pub(super) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The names given, or those proposed.
pub(super) fn arm_names(
    given: Option<&Vec<String>>,
    proposed: impl Iterator<Item = String>,
) -> Result<Vec<String>, Error> {
    let proposed: Vec<String> = proposed.collect();
    let Some(names) = given else {
        return Ok(proposed);
    };
    if names.len() != proposed.len() {
        let allowed = format!("expected {}: one per arm", proposed.len());
        let value = count(names.len(), "name");
        return Err(Error::invalid("environment.arms", value, allowed));
    }
    Ok(names.clone())
}

/// "nothing" or another name for action 0, then numbered ones.
pub(super) fn numbered(first: &str, others: &str, k: usize) -> impl Iterator<Item = String> {
    let rest = (1..k).map(move |j| format!("{others} {j}"));
    std::iter::once(first.to_string()).chain(rest)
}

/// The index of the safe arm; 0 if not given.
pub(super) fn safe_index(safe: Option<&ArmRef>, arms: &[String]) -> Result<usize, Error> {
    safe.map_or(Ok(0), |safe| safe.index(arms, "environment.safe"))
}

impl ArmRef {
    /// Number of the arm; `field` is where it is declared.
    pub(super) fn index(&self, arms: &[String], field: &str) -> Result<usize, Error> {
        match self {
            Self::Index(i) if *i < arms.len() => Ok(*i),
            Self::Index(i) => {
                let allowed = format!("must be the index of an arm, 0 to {}", arms.len() - 1);
                Err(Error::invalid(field, i, allowed))
            }
            Self::Name(name) => {
                let place = arms.iter().position(|arm| arm == name);
                place.ok_or_else(|| Error::UnknownArm {
                    name: name.clone(),
                    known: arms.join(", "),
                })
            }
        }
    }
}
