//! What an agent is asked to do: arms, a safe one among them, a reward and guardrails.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::guardrail::{Guardrail, Standard};
use crate::signal::{Signal, SignalConfig};

/// A K-armed problem as declared.
///
/// ```
/// use banister::{Guardrail, Problem};
///
/// let problem = Problem {
///     arms: vec!["control".into(), "bold".into()],
///     safe: 0,
///     reward: Default::default(),
///     guardrails: vec![Guardrail {
///         name: "complaints".into(),
///         at_most: Some(0.1),
///         safe_cost: Some(0.02),
///         ..Default::default()
///     }],
/// };
/// assert!(problem.check().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Names of the arms.
    pub arms: Vec<String>,
    /// Index of the safe arm.
    pub safe: usize,
    /// The reward signal.
    #[serde(default)]
    pub reward: SignalConfig,
    /// The guardrails.
    #[serde(default)]
    pub guardrails: Vec<Guardrail>,
}

/// A problem whose every number has been checked, in standard form.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedProblem {
    /// As declared.
    pub declared: Problem,
    /// The reward signal.
    pub reward: Signal,
    /// The guardrails in standard form.
    pub guardrails: Vec<Standard>,
}

impl Problem {
    /// Checks everything and brings the guardrails to standard form.
    pub fn check(&self) -> Result<CheckedProblem, Error> {
        if self.arms.is_empty() {
            return Err(Error::invalid(
                "arms",
                "empty",
                "a policy needs at least one arm",
            ));
        }
        for (i, name) in self.arms.iter().enumerate() {
            check_name(&self.arms[..i], name, &format!("arms[{i}]"))?;
        }
        if self.safe >= self.arms.len() {
            let allowed = format!("must be the index of an arm, 0 to {}", self.arms.len() - 1);
            return Err(Error::invalid("safe", self.safe, allowed));
        }
        let reward = self.reward.check("reward")?;
        let mut guardrails: Vec<Standard> = Vec::new();
        for (i, guardrail) in self.guardrails.iter().enumerate() {
            let field = format!("guardrail[{i}]");
            let standard = guardrail.check(&field)?;
            if guardrails.iter().any(|g| g.name == standard.name) {
                let allowed = "every guardrail needs a name of its own";
                return Err(Error::invalid(
                    format!("{field}.name"),
                    &standard.name,
                    allowed,
                ));
            }
            guardrails.push(standard);
        }
        Ok(CheckedProblem {
            declared: self.clone(),
            reward,
            guardrails,
        })
    }
}

/// Refuses an empty arm name or one that is taken.
pub(crate) fn check_name(taken: &[String], name: &str, field: &str) -> Result<(), Error> {
    if name.trim().is_empty() {
        return Err(Error::invalid(field, "empty", "an arm needs a name"));
    }
    if taken.iter().any(|other| other == name) {
        return Err(Error::invalid(
            field,
            name,
            "every arm needs a name of its own",
        ));
    }
    Ok(())
}
