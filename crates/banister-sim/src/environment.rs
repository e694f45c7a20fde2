//! Environments as declared.

use banister::{Error, two_numbers};
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
    /// Actions are feature vectors and every mean is linear in them.
    Linear,
    /// The linear instance of the paper's authors: d actions beside x_0 = 0.
    AuthorsLinear,
    /// Directions that may be played at any part of their length, x_0 = 0; every run draws an instance of
    /// its own.
    Directions,
    /// Feature vectors from a file, with simulated outcomes that are linear in them.
    Logged,
    /// A [`crate::CustomEnvironment`]: code, which no file can declare.
    #[serde(skip_deserializing)]
    Custom,
}

impl Kind {
    pub(crate) fn is_linear(self) -> bool {
        matches!(self, Self::Linear | Self::AuthorsLinear | Self::Logged)
    }
}

/// How the actions of a linear environment come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "`actions` must be `contextual`, `fixed`, `sphere`, `ball`, or a list of feature vectors"
)]
pub enum Actions {
    /// Drawn at random.
    Drawn(Drawn),
    /// The same feature vectors in every round.
    List(Vec<Vec<f64>>),
}

/// How random actions are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Drawn {
    /// (1, v)/√2 with v uniform on the unit sphere, anew in every round.
    Contextual,
    /// The same law, drawn once for all rounds and runs.
    Fixed,
    /// Uniform on the unit sphere, anew in every round; x_0 = 0.
    Sphere,
    /// Uniform in the unit ball, anew in every round; x_0 = 0.
    Ball,
}

/// Which instances the runs of `directions` meet, where they are not drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Instances {
    /// Those of the authors' figure: run r meets the r-th of 30.
    Published,
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

/// New means of all arms from a round on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Rounds at which means change, by increasing round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<ChangePoint>>,
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
    /// K of the lower bound (default 4); actions per round beside the safe one (linear kinds).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<usize>,
    /// τ − c_0 of a hard instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// ρ of L1 and L2: the best margin of any arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_margin: Option<f64>,
    /// τ of the lower bound and of the authors' linear instance (default 0.5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Between which every run draws its threshold (`directions`; default [0.25, 1]).
    #[serde(
        default,
        deserialize_with = "two_numbers",
        skip_serializing_if = "Option::is_none"
    )]
    pub threshold_range: Option<[f64; 2]>,
    /// Which instances the runs meet (`directions`); absent: every run draws one from `instance_seed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instances: Option<Instances>,
    /// ν' instead of ν; the infeasible variant of L1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternative: Option<bool>,
    /// Length of the feature vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d: Option<usize>,
    /// How the actions come; default `contextual`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Actions>,
    /// θ: the reward's mean is ⟨x, θ⟩; default drawn from `instance_seed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theta: Option<Vec<f64>>,
    /// μ, one vector per guardrail; default drawn from `instance_seed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mu: Option<Vec<Vec<f64>>>,
    /// Standard deviation of Gaussian noise as a fraction of the signal's range; absent: signals
    /// take the two ends of their range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<f64>,
    /// True costs of the safe action, one per guardrail; default the guardrails' `safe_cost`, else
    /// half-way between the harmless end of the range and the threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safe_costs: Option<Vec<f64>>,
    /// Seed of the instance, apart from the runs' (default 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_seed: Option<u64>,
    /// File of features: CSV or Parquet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Columns that are features; default all numeric ones but `round`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// Column whose equal values make an action set; default `k` rows make one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<String>,
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
            changes: None,
            safe: None,
            sd: None,
            concentration: None,
            nominal: None,
            k: None,
            margin: None,
            best_margin: None,
            threshold: None,
            threshold_range: None,
            instances: None,
            alternative: None,
            d: None,
            actions: None,
            theta: None,
            mu: None,
            noise: None,
            safe_costs: None,
            instance_seed: None,
            path: None,
            columns: None,
            round: None,
        }
    }

    /// Refuses keys that do not apply to the kind.
    pub(crate) fn check_keys(&self) -> Result<(), Error> {
        let is = |kind: Kind| self.kind == kind;
        if is(Kind::Custom) {
            let allowed = "an environment from outside is code: see `CustomExperiment`";
            return Err(Error::invalid("environment.kind", "custom", allowed));
        }
        let hard = is(Kind::LowerBound) || is(Kind::L1) || is(Kind::L2);
        let directions = is(Kind::Directions);
        let linear = self.kind.is_linear();
        let plain = !hard && !linear && !directions;
        let gaussian = is(Kind::Gaussian) || is(Kind::ClippedGaussian);
        // Kinds whose parameters can be drawn or given.
        let model = is(Kind::Linear) || is(Kind::Logged);
        let listed = is(Kind::Linear) && matches!(self.actions, Some(Actions::List(_)));
        let fixed = listed || self.actions == Some(Actions::Drawn(Drawn::Fixed));
        let given = [
            (
                "arms",
                self.arms.is_some(),
                plain || hard || fixed || is(Kind::AuthorsLinear),
            ),
            ("rewards", self.rewards.is_some(), plain),
            ("costs", self.costs.is_some(), plain),
            ("changes", self.changes.is_some(), plain),
            ("safe", self.safe.is_some(), plain || listed),
            ("sd", self.sd.is_some(), gaussian),
            (
                "concentration",
                self.concentration.is_some(),
                is(Kind::Beta),
            ),
            ("nominal", self.nominal.is_some(), is(Kind::ClippedGaussian)),
            (
                "k",
                self.k.is_some(),
                is(Kind::LowerBound) || model || directions,
            ),
            ("margin", self.margin.is_some(), hard),
            (
                "best_margin",
                self.best_margin.is_some(),
                is(Kind::L1) || is(Kind::L2),
            ),
            (
                "threshold",
                self.threshold.is_some(),
                is(Kind::LowerBound) || is(Kind::AuthorsLinear),
            ),
            (
                "alternative",
                self.alternative.is_some(),
                is(Kind::LowerBound) || is(Kind::L1),
            ),
            (
                "d",
                self.d.is_some(),
                is(Kind::Linear) || is(Kind::AuthorsLinear) || directions,
            ),
            (
                "threshold_range",
                self.threshold_range.is_some(),
                directions,
            ),
            ("instances", self.instances.is_some(), directions),
            ("actions", self.actions.is_some(), is(Kind::Linear)),
            ("theta", self.theta.is_some(), model),
            ("mu", self.mu.is_some(), model),
            ("noise", self.noise.is_some(), linear || directions),
            ("safe_costs", self.safe_costs.is_some(), model && !listed),
            (
                "instance_seed",
                self.instance_seed.is_some(),
                (model && !listed) || (directions && self.instances.is_none()),
            ),
            ("path", self.path.is_some(), is(Kind::Logged)),
            ("columns", self.columns.is_some(), is(Kind::Logged)),
            ("round", self.round.is_some(), is(Kind::Logged)),
        ];
        for (key, is_given, applies) in given {
            if is_given && !applies {
                let with = if listed {
                    " with a list of actions"
                } else if directions && key == "instance_seed" {
                    " with published instances"
                } else {
                    ""
                };
                let allowed = format!(
                    "this key does not apply to environments of kind `{}`{with}",
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
        Kind::Linear => "linear",
        Kind::AuthorsLinear => "authors_linear",
        Kind::Custom => "custom",
        Kind::Directions => "directions",
        Kind::Logged => "logged",
    }
}
