//! Problems as declared: arms or feature vectors, a safe one among them, a reward and guardrails; and their
//! standard form. Files, in reading order: `direction`, `signal`, `guardrail`.

mod direction;
mod guardrail;
mod signal;

pub use direction::Direction;
pub(crate) use guardrail::Shown;
pub use guardrail::{Guardrail, Standard};
pub use signal::{Signal, SignalConfig, two_numbers};

use serde::{Deserialize, Serialize};

use crate::error::{Error, finite};

/// A problem as declared: K arms, K feature vectors, or (see [`Problem::contextual`]) a safe action
/// in a feature space where every round brings other actions.
///
/// ```
/// use banister::{Guardrail, Problem};
///
/// let problem = Problem {
///     arms: vec!["control".into(), "bold".into()],
///     safe: 0,
///     guardrails: vec![Guardrail {
///         name: "complaints".into(),
///         at_most: Some(0.1),
///         safe_cost: Some(0.02),
///         ..Default::default()
///     }],
///     ..Default::default()
/// };
/// assert!(problem.check().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Names of the arms.
    pub arms: Vec<String>,
    /// Index of the safe arm.
    pub safe: usize,
    /// One feature vector per arm, for linear agents; none: arms are their own features.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<Vec<f64>>,
    /// Range and noise of the reward.
    #[serde(default)]
    pub reward: SignalConfig,
    /// Guardrails that every policy must keep.
    #[serde(default)]
    pub guardrails: Vec<Guardrail>,
}

/// A problem whose every number has been checked, in standard form.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedProblem {
    /// The problem as declared.
    pub declared: Problem,
    /// Checked signal of the reward.
    pub reward: Signal,
    /// The guardrails in standard form.
    pub guardrails: Vec<Standard>,
}

impl Problem {
    /// A problem whose actions come anew each round (`Oplb::offer`); only the safe action, given by
    /// its features x_0, is always there.
    pub fn contextual(safe_action: Vec<f64>, guardrails: Vec<Guardrail>) -> Self {
        Self {
            arms: vec!["safe".into()],
            features: vec![safe_action],
            guardrails,
            ..Self::default()
        }
    }

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
        self.check_features()?;
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

impl Problem {
    fn check_features(&self) -> Result<(), Error> {
        let features = &self.features;
        if features.is_empty() {
            return Ok(());
        }
        if features.len() != self.arms.len() {
            let value = format!("{} vectors", features.len());
            let allowed = format!("expected {}: one per arm", self.arms.len());
            return Err(Error::invalid("features", value, allowed));
        }
        let d = features[0].len();
        if d == 0 {
            return Err(Error::invalid(
                "features[0]",
                "empty",
                "a feature vector needs at least one number",
            ));
        }
        for (a, x) in features.iter().enumerate() {
            check_vector(&format!("features[{a}]"), x, d)?;
        }
        Ok(())
    }
}

impl CheckedProblem {
    /// A signal (0 the reward, 1 + i guardrail i) of an arm as it is and in common units, and its direction.
    pub(crate) fn signal_of(&self, _arm: usize, signal: usize) -> (&Signal, &Signal, Direction) {
        match signal.checked_sub(1).map(|i| &self.guardrails[i]) {
            None => (&self.reward, &self.reward, Direction::AtMost),
            Some(g) => (&g.signal, &g.signal, g.direction),
        }
    }

    /// True if a reward and costs are possible for their signals.
    #[inline]
    pub fn admits(&self, reward: f64, costs: &[f64]) -> bool {
        costs.len() == self.guardrails.len()
            && self.reward.admits(reward)
            && std::iter::zip(&self.guardrails, costs).all(|(g, &cost)| g.signal.admits(cost))
    }

    /// The error for a reward and costs that are not.
    pub fn refuse(&self, reward: f64, costs: &[f64]) -> Result<(), Error> {
        let guardrails = &self.guardrails;
        if costs.len() != guardrails.len() {
            let names: Vec<&str> = guardrails.iter().map(|g| g.name.as_str()).collect();
            return Err(Error::CostCount {
                got: costs.len(),
                expected: guardrails.len(),
                names: names.join(", "),
            });
        }
        if !self.reward.admits(reward) {
            return Err(self.reward.refuse("reward", reward));
        }
        for (guardrail, &cost) in guardrails.iter().zip(costs) {
            if !guardrail.signal.admits(cost) {
                return Err(guardrail.signal.refuse(&guardrail.name, cost));
            }
        }
        Ok(())
    }
}

/// Refuses a feature vector of the wrong length or with a number that is not finite.
pub(crate) fn check_vector(field: &str, x: &[f64], d: usize) -> Result<(), Error> {
    if x.len() != d {
        let value = format!("a vector of {}", x.len());
        let allowed = format!("feature vectors have length {d} here");
        return Err(Error::invalid(field, value, allowed));
    }
    match x.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(j) => finite(&format!("{field}[{j}]"), x[j]).map(|_| ()),
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
