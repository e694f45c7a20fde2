//! Parameters of agents: what the registry asks of them, and the macro that declares those of a rival.

pub use crate::parameters::DELTA;
use banister::toolkit::linear::LinearKeys;
use banister::{Agent, Confidence, CumulativeBudget, Error, Guarantee, OnBreach, Problem};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::play::Play;

/// Parameters of an agent as the registry sees them.
pub(crate) trait Registered {
    fn kind(&self) -> &'static str;
    /// The label it was given.
    fn label(&self) -> Option<&str>;
    /// Name in results without a label.
    fn default_label(&self) -> String {
        self.kind().into()
    }
    fn guarantee(&self) -> Guarantee;
    /// Extent of a cumulative promise.
    fn budget(&self) -> CumulativeBudget {
        CumulativeBudget::default()
    }
    /// Probabilities of its promises, where it states them.
    fn confidence(&self) -> Option<Confidence> {
        None
    }
    /// True for an agent on feature vectors.
    fn takes_features(&self) -> bool;
    /// δ, if it has one.
    fn delta(&mut self) -> Option<&mut f64> {
        None
    }
    /// Horizon, if it cannot run without one, given that some safe cost is unknown or that all are known.
    fn horizon(&mut self, unknown_safe_cost: bool) -> Option<&mut Option<u64>> {
        let _ = unknown_safe_cost;
        None
    }
    /// Assumptions of a linear agent.
    fn linear(&mut self) -> Option<LinearKeys<'_>> {
        None
    }
    /// Least probability of the safe action.
    fn floor(&self) -> f64 {
        0.0
    }
    /// Reaction to alarms, if it is watched.
    fn on_breach(&mut self) -> Option<&mut Option<OnBreach>> {
        None
    }
    /// Way of playing parts of actions, if it does.
    fn play(&mut self) -> Option<&mut Option<Play>> {
        None
    }
    /// The agent, new.
    fn build(&self, problem: &Problem) -> Result<Box<dyn Agent>, Error>;
    /// The agent where a snapshot of it left it.
    fn restore(&self, json: &str) -> Result<Box<dyn Agent>, Error>;
}

/// Parameters that a rival keeps for its snapshots.
pub(crate) trait RivalConfig:
    Registered + Serialize + DeserializeOwned + Clone + Send + 'static
{
}

impl<C: Registered + Serialize + DeserializeOwned + Clone + Send + 'static> RivalConfig for C {}

/// [`Registered::build`] and [`Registered::restore`] of the agent around a learner.
macro_rules! agent_of {
    (false) => {
        $crate::config::agent_of!($crate::arms::RuleOnArms<Self>);
    };
    (true) => {
        $crate::config::agent_of!($crate::linear::RuleOnFeatures<Self>);
    };
    ($learner:ty) => {
        fn build(
            &self,
            problem: &banister::Problem,
        ) -> Result<Box<dyn banister::Agent>, banister::Error> {
            Ok(Box::new(banister::Guarded::<$learner>::new(problem, self)?))
        }
        fn restore(&self, json: &str) -> Result<Box<dyn banister::Agent>, banister::Error> {
            Ok(Box::new(banister::Guarded::<$learner>::restore(json)?))
        }
    };
}

pub(crate) use agent_of;

/// Declares the parameters of a rival: the struct, its defaults and [`Registered`].
///
/// `config! { /// doc
/// Name, "kind", takes features; keys… }` reads keys in the order in which they are serialised:
///
/// - `guarantee(G),`: the promise, where it does not depend on `play`; `guarantee(Cumulative: B),` with the budget
///   where it is not `Sublinear`
/// - `delta,` `horizon,` `play,`: keys that several rivals have, with their documentation
/// - `regression,`: δ, `radius`, λ, S and L of a ridge regression
/// - `own_radii,`: the same with the choice of the radii that HPLC-LUCB's authors ran it with
/// - `key: Option<T>,` and `key: T = default,`: keys of its own
///
/// Its `ArmConfig` or `LinearConfig` makes the rule.
macro_rules! config {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $features:tt; $($keys:tt)*) => {
        $crate::config::config! {
            @ ([$(#[$doc])*] $name $kind $features)
            [
                #[doc = concat!("Name in results; by default `", $kind, "`.")]
                #[serde(skip_serializing_if = "Option::is_none")]
                pub label: Option<String>,
            ] [label: None,] []
            $($keys)*
        }
    };
    (@ ([$($doc:tt)*] $name:ident $kind:literal $features:tt)
        [$($field:tt)*] [$($default:tt)*] [$($method:tt)*]
    ) => {
        $($doc)*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($field)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($default)* }
            }
        }

        impl $crate::config::Registered for $name {
            fn kind(&self) -> &'static str {
                $kind
            }
            fn label(&self) -> Option<&str> {
                self.label.as_deref()
            }
            fn takes_features(&self) -> bool {
                $features
            }
            $crate::config::agent_of!($features);
            $($method)*
        }
    };
    (@ $head:tt [$($field:tt)*] $default:tt [$($method:tt)*]
        guarantee($guarantee:ident $(: $budget:ident)?), $($keys:tt)*
    ) => {
        $crate::config::config! {
            @ $head [$($field)*] $default [
                $($method)*
                fn guarantee(&self) -> banister::Guarantee {
                    banister::Guarantee::$guarantee
                }
                $(fn budget(&self) -> banister::CumulativeBudget {
                    banister::CumulativeBudget::$budget
                })?
            ] $($keys)*
        }
    };
    (@ $head:tt [$($field:tt)*] [$($default:tt)*] [$($method:tt)*] delta, $($keys:tt)*) => {
        $crate::config::config! {
            @ $head [
                $($field)*
                /// δ: probability with which some interval may fail; by default 0.01.
                pub delta: f64,
            ] [$($default)* delta: $crate::config::DELTA,] [
                $($method)*
                fn delta(&mut self) -> Option<&mut f64> {
                    Some(&mut self.delta)
                }
            ] $($keys)*
        }
    };
    (@ $head:tt [$($field:tt)*] [$($default:tt)*] [$($method:tt)*] horizon, $($keys:tt)*) => {
        $crate::config::config! {
            @ $head [
                $($field)*
                /// T: the number of rounds that the budgets are for. It has no default.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub horizon: Option<u64>,
            ] [$($default)* horizon: None,] [
                $($method)*
                fn horizon(&mut self, _: bool) -> Option<&mut Option<u64>> {
                    Some(&mut self.horizon)
                }
            ] $($keys)*
        }
    };
    (@ $head:tt [$($field:tt)*] [$($default:tt)*] [$($method:tt)*] play, $($keys:tt)*) => {
        $crate::config::config! {
            @ $head [
                $($field)*
                /// Way of playing a part of an action: `scaled`, the default, or `mixed` with the safe action.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub play: Option<$crate::play::Play>,
            ] [$($default)* play: None,] [
                $($method)*
                fn guarantee(&self) -> banister::Guarantee {
                    $crate::play::Play::guarantee(self.play)
                }
                fn play(&mut self) -> Option<&mut Option<$crate::play::Play>> {
                    Some(&mut self.play)
                }
            ] $($keys)*
        }
    };
    (@ ([$($doc:tt)*] $name:ident $($head:tt)*)
        [$($field:tt)*] [$($default:tt)*] [$($method:tt)*] regression, $($keys:tt)*
    ) => {
        impl $name {
            fn parameters(&self) -> $crate::parameters::Parameters {
                $crate::parameters::Parameters {
                    delta: Some(self.delta),
                    radius: self.radius,
                    lambda: self.lambda,
                    parameter_norm: self.parameter_norm,
                    norm: self.norm,
                }
            }
        }
        $crate::config::config! {
            @ ([$($doc)*] $name $($head)*) [
                $($field)*
                /// δ: probability with which some confidence set may fail; by default 0.01.
                pub delta: f64,
                /// Width of the confidence sets; by default `logdet`.
                pub radius: banister::oplb::Radius,
                /// λ, the ridge; by default 1.
                pub lambda: f64,
                /// S: every unknown parameter is at most this long, in units of its signal's range; to be
                /// declared, or √K where arms are their own features and means at most one range.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub parameter_norm: Option<f64>,
                /// L: every feature vector is at most this long; unchecked by default (`paper` radii need it).
                #[serde(skip_serializing_if = "Option::is_none")]
                pub norm: Option<f64>,
            ] [
                $($default)*
                delta: $crate::config::DELTA,
                radius: banister::oplb::Radius::default(),
                lambda: 1.0,
                parameter_norm: None,
                norm: None,
            ] [
                $($method)*
                fn delta(&mut self) -> Option<&mut f64> {
                    Some(&mut self.delta)
                }
                fn linear(&mut self) -> Option<banister::toolkit::linear::LinearKeys<'_>> {
                    Some(banister::toolkit::linear::LinearKeys {
                        lambda: None,
                        parameter_norm: &mut self.parameter_norm,
                        norm: self.norm,
                    })
                }
            ] $($keys)*
        }
    };
    (@ ([$($doc:tt)*] $name:ident $($head:tt)*)
        [$($field:tt)*] [$($default:tt)*] [$($method:tt)*] own_radii, $($keys:tt)*
    ) => {
        impl $name {
            fn parameters(&self) -> $crate::parameters::Parameters {
                $crate::parameters::Parameters {
                    delta: self.radius.delta(self.delta),
                    radius: banister::oplb::Radius::Logdet,
                    lambda: self.lambda.unwrap_or(self.radius.lambda()),
                    parameter_norm: self.parameter_norm,
                    norm: None,
                }
            }
        }
        $crate::config::config! {
            @ ([$($doc)*] $name $($head)*) [
                $($field)*
                /// Width of the confidence sets: `authors`, the default, as in the authors' runs, or `logdet`, as
                /// other agents have it.
                pub radius: $crate::parameters::StageRadius,
                /// δ of the confidence sets. By default it falls as 1/(1 + log entries) with `authors` radii, as in
                /// the authors' runs, and is 0.01 with `logdet`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub delta: Option<f64>,
                /// Outcomes per log entry, which δ of `authors` radii falls with unless it is given; by default 1.
                /// The authors' runs have 100 for 10⁶ rounds and fewer, and 1000 for 10⁷.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub log_every: Option<u64>,
                /// Factor on the noise constant R in the first term of `authors` radii; by default 2, as in the
                /// authors' runs. Below 1 it voids the guarantee.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub noise_factor: Option<f64>,
                /// λ, the ridge; by default 0.1 with `authors` radii, 1 with `logdet`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub lambda: Option<f64>,
                /// S: every unknown parameter is at most this long, in units of its signal's range; to be
                /// declared.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub parameter_norm: Option<f64>,
            ] [
                $($default)*
                radius: $crate::parameters::StageRadius::default(),
                delta: None,
                log_every: None,
                noise_factor: None,
                lambda: None,
                parameter_norm: None,
            ] [
                $($method)*
                fn delta(&mut self) -> Option<&mut f64> {
                    self.delta.as_mut()
                }
                fn linear(&mut self) -> Option<banister::toolkit::linear::LinearKeys<'_>> {
                    Some(banister::toolkit::linear::LinearKeys {
                        lambda: Some((&mut self.lambda, self.radius.lambda())),
                        parameter_norm: &mut self.parameter_norm,
                        norm: None,
                    })
                }
            ] $($keys)*
        }
    };
    (@ $head:tt [$($field:tt)*] [$($default:tt)*] $method:tt
        $(#[$doc:meta])* $key:ident: Option<$type:ty>, $($keys:tt)*
    ) => {
        $crate::config::config! {
            @ $head [
                $($field)*
                $(#[$doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $key: Option<$type>,
            ] [$($default)* $key: None,] $method $($keys)*
        }
    };
    (@ $head:tt [$($field:tt)*] [$($default:tt)*] $method:tt
        $(#[$doc:meta])* $key:ident: $type:ty = $value:expr, $($keys:tt)*
    ) => {
        $crate::config::config! {
            @ $head [$($field)* $(#[$doc])* pub $key: $type,] [$($default)* $key: $value,] $method
            $($keys)*
        }
    };
    // Further methods of [`Registered`], written out.
    (@ $head:tt $field:tt $default:tt [$($method:tt)*] ; $($more:tt)*) => {
        $crate::config::config! { @ $head $field $default [$($method)* $($more)*] }
    };
}

pub(crate) use config;
