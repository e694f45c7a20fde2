//! Environments as declared.

use banister::Error;
use serde::{Deserialize, Serialize};

/// The law of every signal of every arm, or a hard instance by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// The two ends of the range, with the given mean.
    Bernoulli,
    /// Normal around the mean; declare `sub_gaussian` for the signals.
    Gaussian,
    /// Normal around a location, clipped to the range.
    ClippedGaussian,
    /// Beta on the range, with the given mean.
    Beta,
    /// ν of the paper's lower bound, or ν' with `alternative` (corrected, D = 1/8).
    LowerBound,
    /// L1: whether the middle arm is just feasible, or (`alternative`) just not.
    L1,
    /// L2: a feasible and an infeasible arm, both better than the safe one.
    L2,
}

/// `safe` by index or by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ArmRef {
    /// By index.
    Index(usize),
    /// By name.
    Name(String),
}

/// An environment as declared. Which keys apply depends on `kind`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentConfig {
    /// The law.
    pub kind: Kind,
    /// Names of the arms; default `arm 0`, `arm 1`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arms: Option<Vec<String>>,
    /// Mean reward per arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewards: Option<Vec<f64>>,
    /// Mean cost per arm, one row per guardrail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<Vec<Vec<f64>>>,
    /// The safe arm, by index or name; default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safe: Option<ArmRef>,
    /// Standard deviation as a fraction of the signal's range (Gaussian laws; default 0.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
    /// a + b of the Beta law (default 4; larger is less noisy).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concentration: Option<f64>,
    /// Judge by the locations as given rather than by the means after clipping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nominal: Option<bool>,
    /// K of the lower bound (default 4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<usize>,
    /// τ − c_0 of a hard instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// ρ of L1 and L2: the best margin of any arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_margin: Option<f64>,
    /// τ of the lower bound (default 0.5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// ν' instead of ν; the infeasible variant of L1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternative: Option<bool>,
}

impl EnvironmentConfig {
    /// An environment given by its means.
    pub fn arms(kind: Kind, rewards: &[f64], costs: &[&[f64]]) -> Self {
        Self {
            rewards: Some(rewards.to_vec()),
            costs: Some(costs.iter().map(|row| row.to_vec()).collect()),
            ..Self::named(kind)
        }
    }

    /// An environment with nothing but its kind.
    pub fn named(kind: Kind) -> Self {
        Self {
            kind,
            arms: None,
            rewards: None,
            costs: None,
            safe: None,
            sd: None,
            concentration: None,
            nominal: None,
            k: None,
            margin: None,
            best_margin: None,
            threshold: None,
            alternative: None,
        }
    }

    /// Refuses keys that do not apply to the kind.
    pub(crate) fn check_keys(&self) -> Result<(), Error> {
        let hard = matches!(self.kind, Kind::LowerBound | Kind::L1 | Kind::L2);
        let gaussian = matches!(self.kind, Kind::Gaussian | Kind::ClippedGaussian);
        let given = [
            ("rewards", self.rewards.is_some(), !hard),
            ("costs", self.costs.is_some(), !hard),
            ("safe", self.safe.is_some(), !hard),
            ("sd", self.sd.is_some(), gaussian),
            (
                "concentration",
                self.concentration.is_some(),
                self.kind == Kind::Beta,
            ),
            (
                "nominal",
                self.nominal.is_some(),
                self.kind == Kind::ClippedGaussian,
            ),
            ("k", self.k.is_some(), self.kind == Kind::LowerBound),
            ("margin", self.margin.is_some(), hard),
            (
                "best_margin",
                self.best_margin.is_some(),
                matches!(self.kind, Kind::L1 | Kind::L2),
            ),
            (
                "threshold",
                self.threshold.is_some(),
                self.kind == Kind::LowerBound,
            ),
            (
                "alternative",
                self.alternative.is_some(),
                matches!(self.kind, Kind::LowerBound | Kind::L1),
            ),
        ];
        for (key, is_given, applies) in given {
            if is_given && !applies {
                let allowed = format!(
                    "this key does not apply to environments of kind `{}`",
                    name_of(self.kind)
                );
                return Err(Error::invalid(
                    format!("environment.{key}"),
                    "given",
                    allowed,
                ));
            }
        }
        Ok(())
    }
}

pub(crate) fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Bernoulli => "bernoulli",
        Kind::Gaussian => "gaussian",
        Kind::ClippedGaussian => "clipped_gaussian",
        Kind::Beta => "beta",
        Kind::LowerBound => "lower_bound",
        Kind::L1 => "l1",
        Kind::L2 => "l2",
    }
}
