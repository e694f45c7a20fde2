//! K-armed worlds: means as declared, or a hard instance by name.

use banister::{Error, Problem, Signal};

use crate::environment::{ArmRef, EnvironmentConfig};
use crate::experiment::ExperimentConfig;
use crate::hard::HardInstance;
use crate::law::Arms;
use crate::world::{Environment, World};

/// Builds the world of a K-armed experiment; `hard` is the hard instance spelled out, if it is one.
pub(crate) fn world(config: &ExperimentConfig, hard: Option<HardInstance>) -> Result<World, Error> {
    let env = &config.environment;
    let (kind, sd, rewards, costs) = match hard {
        Some(hard) => (hard.kind, hard.sd, hard.rewards, vec![hard.costs]),
        None => {
            let rewards = env.rewards.clone().ok_or_else(|| {
                Error::invalid("environment.rewards", "absent", "give one mean per arm")
            })?;
            (
                env.kind,
                env.sd,
                rewards,
                env.costs.clone().unwrap_or_default(),
            )
        }
    };
    check_shape(config, &rewards, &costs)?;
    let arms = arm_names(env, rewards.len())?;
    let declared = Problem {
        safe: safe_index(env.safe.as_ref(), &arms)?,
        arms,
        reward: config.reward,
        guardrails: config.guardrail.clone(),
        ..Problem::default()
    };
    let problem = declared.check().map_err(in_environment)?;
    let sd = sd.unwrap_or(0.1);
    if !(sd.is_finite() && sd > 0.0) {
        return Err(Error::invalid(
            "environment.sd",
            sd,
            "must be a finite number above 0",
        ));
    }
    let signals: Vec<(String, Signal)> =
        std::iter::once(("environment.rewards".to_string(), problem.reward))
            .chain(
                problem
                    .guardrails
                    .iter()
                    .enumerate()
                    .map(|(i, g)| (format!("environment.costs[{i}]"), g.signal)),
            )
            .collect();
    let means: Vec<Vec<f64>> = std::iter::once(rewards).chain(costs).collect();
    let arms = Arms::new(env, kind, sd, &signals, &means)?;
    let changes = changes(config, means, |name, means| {
        let named: Vec<(String, Signal)> = (signals.iter().enumerate())
            .map(|(s, (_, signal))| (name(s), *signal))
            .collect();
        Arms::new(env, kind, sd, &named, means)
    })?;
    let safe = declared.safe;
    Ok(World {
        parameters: (0..signals.len())
            .map(|s| (0..arms.count()).map(|a| arms.means(a)[s]).collect())
            .collect(),
        safe_means: Some(arms.means(safe).to_vec()),
        safe_fields: (0..config.guardrail.len())
            .map(|i| format!("environment.costs[{i}][{safe}]"))
            .collect(),
        longest: 1.0,
        problem: declared,
        environment: Environment::Arms(arms),
        changes,
    })
}

/// The laws from each change point on; `law` makes them from means, given how to call a signal's.
fn changes(
    config: &ExperimentConfig,
    mut means: Vec<Vec<f64>>,
    law: impl Fn(&dyn Fn(usize) -> String, &[Vec<f64>]) -> Result<Arms, Error>,
) -> Result<Vec<(u64, Arms)>, Error> {
    let mut laws = Vec::new();
    let mut last = 0;
    let declared = config.environment.changes.as_deref().unwrap_or_default();
    for (n, change) in declared.iter().enumerate() {
        let field = format!("environment.changes[{n}]");
        if change.round <= last || change.round >= config.run.horizon {
            let allowed = format!(
                "rounds of changes increase, and lie between 1 and the horizon of {}",
                config.run.horizon
            );
            return Err(Error::invalid(
                format!("{field}.round"),
                change.round,
                allowed,
            ));
        }
        last = change.round;
        if let Some(rewards) = &change.rewards {
            means[0].clone_from(rewards);
        }
        if let Some(costs) = &change.costs {
            means.truncate(1);
            means.extend(costs.iter().cloned());
        }
        check_shape(config, &means[0], &means[1..]).map_err(|error| renamed(error, &field))?;
        let name = |signal: usize| match signal {
            0 => format!("{field}.rewards"),
            s => format!("{field}.costs[{}]", s - 1),
        };
        laws.push((change.round, law(&name, &means)?));
    }
    Ok(laws)
}

/// An error of the environment as one of a change point.
fn renamed(error: Error, field: &str) -> Error {
    match error {
        Error::Invalid {
            field: own,
            value,
            allowed,
        } => Error::invalid(own.replacen("environment", field, 1), value, allowed),
        other => other,
    }
}

/// The arms are declared in the environment's table.
pub(crate) fn in_environment(error: Error) -> Error {
    match error {
        Error::Invalid {
            field,
            value,
            allowed,
        } if field.starts_with("arms") => {
            Error::invalid(format!("environment.{field}"), value, allowed)
        }
        other => other,
    }
}

fn check_shape(
    config: &ExperimentConfig,
    rewards: &[f64],
    costs: &[Vec<f64>],
) -> Result<(), Error> {
    if rewards.is_empty() {
        return Err(Error::invalid(
            "environment.rewards",
            "empty",
            "a policy needs at least one arm",
        ));
    }
    if costs.len() != config.guardrail.len() {
        let allowed = format!(
            "expected {}: one row per guardrail, in their order",
            config.guardrail.len()
        );
        return Err(Error::invalid(
            "environment.costs",
            count(costs.len(), "row"),
            allowed,
        ));
    }
    for (i, row) in costs.iter().enumerate() {
        if row.len() != rewards.len() {
            let allowed = format!("expected {}: one per arm, as in `rewards`", rewards.len());
            let value = count(row.len(), "number");
            return Err(Error::invalid(
                format!("environment.costs[{i}]"),
                value,
                allowed,
            ));
        }
    }
    Ok(())
}

/// "1 row", "2 rows".
pub(crate) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn arm_names(config: &EnvironmentConfig, k: usize) -> Result<Vec<String>, Error> {
    named(config, (0..k).map(|a| format!("arm {a}")).collect())
}

/// The names given, or those proposed.
pub(crate) fn named(
    config: &EnvironmentConfig,
    proposed: Vec<String>,
) -> Result<Vec<String>, Error> {
    let k = proposed.len();
    match &config.arms {
        None => Ok(proposed),
        Some(names) if names.len() == k => Ok(names.clone()),
        Some(names) => {
            let value = count(names.len(), "name");
            Err(Error::invalid(
                "environment.arms",
                value,
                format!("expected {k}: one per arm"),
            ))
        }
    }
}

/// The index of the safe arm; 0 if not given.
pub(crate) fn safe_index(safe: Option<&ArmRef>, arms: &[String]) -> Result<usize, Error> {
    match safe {
        None => Ok(0),
        Some(ArmRef::Index(i)) if *i < arms.len() => Ok(*i),
        Some(ArmRef::Index(i)) => Err(Error::invalid(
            "environment.safe",
            i,
            format!("must be the index of an arm, 0 to {}", arms.len() - 1),
        )),
        Some(ArmRef::Name(name)) => {
            arms.iter()
                .position(|arm| arm == name)
                .ok_or_else(|| Error::UnknownArm {
                    name: name.clone(),
                    known: arms.join(", "),
                })
        }
    }
}
