//! Environments: what really happens when an action is played.
//!
//! `config → Environment`. A declaration ([`EnvironmentConfig`], one struct per kind) is built into an
//! [`Environment`], which knows the truth: distributions or parameters, and the safe action's means. This
//! folder knows nothing of agents and runs. In reading order:
//!
//! - `outcome.rs`: distributions of outcomes, and arms made of them, which stay; `world.rs`: the trait of everything
//!   else. Worlds: `change_points.rs` (arms whose means change at given rounds), `moving.rs` (arms whose means
//!   move, and users who come back), `changing.rs` (other actions in every
//!   round, with `draw.rs` for random directions and `cost_shape.rs` for means that are not linear), `per_arm.rs` (arms
//!   in contexts), `segmented.rs` with `segments.rs` (what is true of segments), `checked.rs` (the user-supplied
//!   environments of `custom.rs`). `per_run.rs`: instances that every run draws.
//! - `model.rs`: an environment as built, and what building one needs of the experiment.
//! - The kinds, whose keys are declared by `keys.rs`: `arms.rs`, `hard.rs`, `parameters.rs` with `linear.rs`,
//!   `authors_linear.rs`, `directions.rs`, `misspecified.rs`, `segmented.rs`; from files, by `read.rs`: `logged.rs` and
//!   `table.rs`.

mod arms;
mod authors_linear;
mod change_points;
mod changing;
mod checked;
mod cost_shape;
mod custom;
mod directions;
mod draw;
mod hard;
mod keys;
mod linear;
mod logged;
mod misspecified;
mod model;
mod moving;
mod outcome;
mod parameters;
mod per_arm;
mod per_run;
mod read;
mod segmented;
mod segments;
mod table;
mod world;

pub use arms::{BernoulliConfig, BetaConfig, ChangePoint, ClippedGaussianConfig, GaussianConfig};
pub use authors_linear::AuthorsLinearConfig;
pub use changing::Changing;
pub(crate) use checked::{CUSTOM_CALL, Custom};
pub use cost_shape::CostShape;
pub use custom::{CustomEnvironment, CustomRound, CustomRun};
pub(crate) use directions::declaration;
pub use directions::{DirectionsConfig, Instances};
pub use hard::{L1Config, L2Config, LowerBoundConfig};
pub use linear::{Actions, Drawn, LinearConfig};
pub use logged::LoggedConfig;
pub use misspecified::MisspecifiedConfig;
pub use model::{ArmRef, Environment};
pub(crate) use model::{Dynamics, Setting, in_environment};
pub use moving::{MeanPath, Move, Users};
pub use outcome::Arms;
pub(crate) use outcome::Pull;
pub use per_run::ParameterLaw;
pub(crate) use per_run::{INSTANCES, PUBLISHED_COUNT};
pub use segmented::SegmentedConfig;
pub(crate) use segments::Segments;
pub use table::{Order, TableCell, TableConfig};
pub use world::LoggedOutcome;
pub(crate) use world::{RunStart, World, WorldRound, WorldRun};

use banister::Error;
use banister::toolkit::Within;
use serde::{Deserialize, Serialize};

/// Declares the kinds once: the enum, the number that identifies a kind in the hash of an experiment (its place), and
/// the way to its `build`.
macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident($config:ty),)*) => {
        /// An environment as declared: its `kind`, and the keys of that kind.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum EnvironmentConfig {
            $($(#[$about])* $kind($config),)*
        }

        impl EnvironmentConfig {
            fn number(&self) -> u8 {
                #[repr(u8)]
                enum Number {
                    $($kind,)*
                }
                match self {
                    $(Self::$kind(_) => Number::$kind as u8,)*
                }
            }

            fn build_kind(&mut self, setting: &mut Setting<'_>) -> Result<Environment, Error> {
                match self {
                    $(Self::$kind(config) => config.build(setting),)*
                }
            }
        }
    };
}

kinds! {
    /// The two ends of the range, with the given mean.
    Bernoulli(BernoulliConfig),
    /// Normal around the mean; declare `sub_gaussian` for the signals.
    Gaussian(GaussianConfig),
    /// Normal around a location, clipped to the range.
    ClippedGaussian(ClippedGaussianConfig),
    /// Beta on the range, with the given mean.
    Beta(BetaConfig),
    /// ν of the paper's lower bound, or ν' with `alternative` (corrected, D = 1/8).
    LowerBound(LowerBoundConfig),
    /// L1: the middle arm is just feasible, or (`alternative`) just not.
    L1(L1Config),
    /// L2: a feasible and an infeasible arm, both better than the safe one.
    L2(L2Config),
    /// Actions are feature vectors and every mean is linear in them.
    Linear(LinearConfig),
    /// The linear instance of the paper's authors: d actions beside x_0 = 0.
    AuthorsLinear(AuthorsLinearConfig),
    /// Directions that may be played at any part of their length, x_0 = 0; every run draws an instance of
    /// its own.
    Directions(DirectionsConfig),
    /// Feature vectors from a file, with simulated outcomes that are linear in them.
    Logged(LoggedConfig),
    /// Actions are feature vectors and mean costs are not linear in them.
    Misspecified(MisspecifiedConfig),
    /// Requests with the outcome of every arm, from a file or a frame.
    Table(TableConfig),
    /// Arms whose means differ by segment of users or requests.
    Segmented(SegmentedConfig),
    /// A [`CustomEnvironment`]: code, which no file can declare.
    #[serde(skip_deserializing)]
    #[schemars(skip)]
    Custom(CustomConfig),
}

/// A [`CustomEnvironment`] as resolved experiments show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CustomConfig {
    /// Names of the arms.
    pub arms: Option<Vec<String>>,
    /// The safe arm.
    pub safe: Option<ArmRef>,
}

impl CustomConfig {
    fn build(&self, _: &Setting<'_>) -> Result<Environment, Error> {
        let allowed = "a user-supplied environment is code: see `CustomExperiment`";
        Err(Error::invalid("environment.kind", "custom", allowed))
    }
}

impl EnvironmentConfig {
    /// Encodes what identifies the environment: the kind's number, then its keys.
    pub(crate) fn identity(&self) -> Result<Vec<u8>, postcard::Error> {
        let tagged = postcard::to_stdvec(self)?;
        // The tag is a short text: a byte for its length, and its bytes.
        let keys = &tagged[1 + usize::from(tagged[0])..];
        Ok([&[self.number()], keys].concat())
    }

    /// Explains serde's message about a key that an environment of this kind does not have; `None` for
    /// messages about anything else.
    pub fn explain_key(kind: &str, message: &str) -> Option<Error> {
        let (key, keys) = message.strip_prefix("unknown field `")?.split_once('`')?;
        let expected = keys.trim_start_matches(", ").trim_end();
        let allowed =
            format!("this key does not apply to environments of kind `{kind}`; {expected}");
        Some(Error::invalid(
            format!("environment.{key}"),
            "given",
            allowed,
        ))
    }

    /// Builds the environment, and fills in what follows from other keys.
    pub(crate) fn build(&mut self, setting: &mut Setting<'_>) -> Result<Environment, Error> {
        let mut named = setting.guardrails.iter().enumerate();
        if let Some((i, own)) = named.find_map(|(i, own)| Some((i, own.expression.as_ref()?))) {
            let allowed = "every cost is drawn for itself here: leave it out";
            return Err(Error::invalid("expression", own, allowed)).within(("guardrails", i));
        }
        self.build_kind(setting)
    }

    /// Seed whose first streams the parameters of a linear instance were drawn from.
    pub(crate) fn parameter_seed(&self) -> Option<u64> {
        let (theta, mu, seed) = match self {
            Self::Linear(c) => (&c.theta, &c.mu, c.instance_seed),
            Self::Logged(c) => (&c.theta, &c.mu, c.instance_seed),
            Self::AuthorsLinear(_) => return Some(draw::INSTANCE_SEED),
            _ => return None,
        };
        let drawn = theta.is_none() || mu.is_none();
        drawn.then_some(seed.unwrap_or(draw::INSTANCE_SEED))
    }
}
