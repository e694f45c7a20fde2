//! Arms given by their means: `bernoulli`, `gaussian`, `clipped_gaussian` and `beta`.

use std::sync::Arc;

use banister::toolkit::{FieldPath, Within};
use banister::{Error, Problem};
use serde::{Deserialize, Serialize};

use super::change_points::ChangePoints;
use super::keys::keys;
use super::model::{
    ArmRef, Dynamics, Environment, Setting, arm_names, count, in_environment, safe_index,
};
use super::moving::{Move, Moving, Users};
use super::outcome::{Arms, Family};

/// New means of all arms from a round on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangePoint {
    /// First round with the new means, counted from 0.
    pub round: u64,
    /// Mean reward per arm; absent: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewards: Option<Vec<f64>>,
    /// Mean cost per arm, one row per guardrail; absent: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<Vec<Vec<f64>>>,
}

/// Declares a struct with the keys that all four kinds share, then its own: serde cannot flatten a struct
/// that denies unknown fields.
macro_rules! arms_config {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $own:ident: $type:ty,)* }) => {
        keys! {
            $(#[$about])*
            $name {
                /// Names of the arms; default `arm 0`, `arm 1`, …
                arms: Vec<String>,
                /// Mean reward per arm.
                rewards: Vec<f64>,
                /// Mean cost per arm, one row per guardrail.
                costs: Vec<Vec<f64>>,
                /// Rounds at which means change, by increasing round.
                changes: Vec<ChangePoint>,
                /// Means that move from round to round.
                moves: Vec<Move>,
                /// Users who come back, whose outcomes depend on each other.
                users: Users,
                /// The safe arm, by index or name; default 0.
                safe: ArmRef,
                $($(#[$doc])* $own: $type,)*
            }
        }

        impl $name {
            /// Arms with these means and defaults for everything else.
            pub fn new(rewards: &[f64], costs: &[&[f64]]) -> Self {
                Self {
                    rewards: Some(rewards.to_vec()),
                    costs: Some(costs.iter().map(|row| row.to_vec()).collect()),
                    ..Self::default()
                }
            }

            pub(super) fn build(&self, setting: &Setting<'_>) -> Result<Environment, Error> {
                let means = ArmMeans {
                    arms: self.arms.as_ref(),
                    safe: self.safe.as_ref(),
                    rewards: self.rewards.clone().ok_or_else(|| {
                        Error::invalid("environment.rewards", "absent", "give one mean per arm")
                    })?,
                    costs: self.costs.clone().unwrap_or_default(),
                    changes: self.changes.as_deref().unwrap_or_default(),
                    moves: self.moves.as_deref().unwrap_or_default(),
                    users: self.users,
                };
                means.build(setting, self.family())
            }
        }
    };
}

arms_config! {
    /// Keys of `bernoulli`.
    BernoulliConfig {}
}

arms_config! {
    /// Keys of `gaussian`.
    GaussianConfig {
        /// Standard deviation as a fraction of the signal's range (default 0.1).
        sd: f64,
    }
}

arms_config! {
    /// Keys of `clipped_gaussian`.
    ClippedGaussianConfig {
        /// Standard deviation as a fraction of the signal's range (default 0.1).
        sd: f64,
        /// Judge by the locations as given rather than by the means after clipping.
        nominal: bool,
    }
}

arms_config! {
    /// Keys of `beta`.
    BetaConfig {
        /// a + b (default 4; larger is less noisy).
        concentration: f64,
    }
}

/// Standard deviation of Gaussian noise where none is declared.
const SD: f64 = 0.1;

impl BernoulliConfig {
    fn family(&self) -> Family {
        Family::Bernoulli
    }
}

impl GaussianConfig {
    fn family(&self) -> Family {
        let sd = self.sd.unwrap_or(SD);
        Family::Gaussian { sd }
    }
}

impl ClippedGaussianConfig {
    fn family(&self) -> Family {
        let (sd, nominal) = (self.sd.unwrap_or(SD), self.nominal == Some(true));
        Family::ClippedGaussian { sd, nominal }
    }
}

impl BetaConfig {
    fn family(&self) -> Family {
        let concentration = self.concentration.unwrap_or(4.0);
        Family::Beta { concentration }
    }
}

/// Means of arms, as declared or as a hard instance has them.
pub(super) struct ArmMeans<'a> {
    pub arms: Option<&'a Vec<String>>,
    pub safe: Option<&'a ArmRef>,
    pub rewards: Vec<f64>,
    pub costs: Vec<Vec<f64>>,
    pub changes: &'a [ChangePoint],
    pub moves: &'a [Move],
    pub users: Option<Users>,
}

impl ArmMeans<'_> {
    /// Builds the environment of K arms whose signals are of one family.
    pub(super) fn build(self, setting: &Setting<'_>, family: Family) -> Result<Environment, Error> {
        check_shape(setting, &self.rewards, &self.costs).within("environment")?;
        let proposed = (0..self.rewards.len()).map(|a| format!("arm {a}"));
        let arms = arm_names(self.arms, proposed)?;
        let declared = Problem {
            safe: safe_index(self.safe, &arms)?,
            arms,
            reward: setting.reward.clone(),
            guardrails: setting.guardrails.clone(),
            ..Problem::default()
        };
        let problem = declared.check().with_path(in_environment)?;
        if let Family::Gaussian { sd } | Family::ClippedGaussian { sd, .. } = family
            && !(sd.is_finite() && sd > 0.0)
        {
            let allowed = "must be a finite number above 0";
            return Err(Error::invalid("environment.sd", sd, allowed));
        }
        let signals = 1 + problem.guardrails.len();
        // `table` is where the means are declared.
        let build = |table: &str, means: &[Vec<f64>]| {
            let field = |s: usize| match s {
                0 => format!("{table}.rewards"),
                s => format!("{table}.costs[{}]", s - 1),
            };
            let fields: Vec<String> = (0..signals).map(field).collect();
            Arms::new(family, &fields, |arm, s| *problem.own_signal(arm, s), means)
        };
        let means: Vec<Vec<f64>> = std::iter::once(self.rewards).chain(self.costs).collect();
        let arms = build("environment", &means)?;
        let safe = declared.safe;
        let later = changes(setting, self.changes, means, build)?;
        let moves = !self.moves.is_empty() || self.users.is_some();
        if moves && !later.is_empty() {
            let allowed = "means change at given rounds, or move and have users, not both";
            return Err(Error::invalid("environment.changes", "given", allowed));
        }
        Ok(Environment {
            parameters: arms.by_signal(),
            safe_means: Some(arms.means(safe).to_vec()),
            safe_field: format!("environment.costs[{{i}}][{safe}]"),
            ..Environment::new(
                declared,
                if moves {
                    let arms = (arms, family);
                    let world = Moving::new(&problem, arms, self.moves, self.users)?;
                    Dynamics::General(Arc::new(world))
                } else if later.is_empty() {
                    Dynamics::Fixed(arms)
                } else {
                    let all = std::iter::once((0, arms)).chain(later).collect();
                    Dynamics::General(Arc::new(ChangePoints(all)))
                },
            )
        })
    }
}

/// The arms from each change point on; `build` makes them from means, given where those are declared.
fn changes(
    setting: &Setting<'_>,
    declared: &[ChangePoint],
    mut means: Vec<Vec<f64>>,
    build: impl Fn(&str, &[Vec<f64>]) -> Result<Arms, Error>,
) -> Result<Vec<(u64, Arms)>, Error> {
    let mut arms = Vec::new();
    let mut last = 0;
    for (n, change) in declared.iter().enumerate() {
        let field = FieldPath::from(("environment.changes", n));
        if change.round <= last || change.round >= setting.horizon {
            let allowed = format!(
                "rounds of changes increase, and lie between 1 and the horizon of {}",
                setting.horizon
            );
            return Err(Error::invalid(field.key("round"), change.round, allowed));
        }
        last = change.round;
        if let Some(rewards) = &change.rewards {
            means[0].clone_from(rewards);
        }
        if let Some(costs) = &change.costs {
            means.truncate(1);
            means.extend(costs.iter().cloned());
        }
        check_shape(setting, &means[0], &means[1..]).within(field.clone())?;
        arms.push((change.round, build(&field.to_string(), &means)?));
    }
    Ok(arms)
}

fn check_shape(setting: &Setting<'_>, rewards: &[f64], costs: &[Vec<f64>]) -> Result<(), Error> {
    if rewards.is_empty() {
        let allowed = "a policy needs at least one arm";
        return Err(Error::invalid("rewards", "empty", allowed));
    }
    if costs.len() != setting.guardrails.len() {
        let allowed = format!(
            "expected {}: one row per guardrail, in their order",
            setting.guardrails.len()
        );
        return Err(Error::invalid("costs", count(costs.len(), "row"), allowed));
    }
    for (i, row) in costs.iter().enumerate() {
        if row.len() != rewards.len() {
            let allowed = format!("expected {}: one per arm, as in `rewards`", rewards.len());
            let value = count(row.len(), "number");
            return Err(Error::invalid(("costs", i), value, allowed));
        }
    }
    Ok(())
}
