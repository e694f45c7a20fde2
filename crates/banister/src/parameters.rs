//! Parameters of agents: what the registry asks of them, and the macro that declares them.

use crate::agent::Agent;
use crate::decision::Confidence;
use crate::error::Error;
use crate::guarantee::{CumulativeBudget, Guarantee};
use crate::monitor::OnBreach;
use crate::play::Play;
use crate::problem::{Model, Problem};

/// δ of the intervals, unless an agent is given its own.
pub const DELTA: f64 = 0.01;

/// Parameters of an agent as the registry sees them; [`config!`](crate::config) implements it.
pub trait Registered {
    /// Name of the kind in configuration.
    fn kind(&self) -> &'static str;
    /// The label it was given.
    fn given_label(&self) -> Option<&str>;
    /// Name in results without a label.
    fn default_label(&self) -> String {
        self.kind().into()
    }
    /// Name in results.
    fn label(&self) -> String {
        let given = self.given_label().map(str::to_string);
        given.unwrap_or_else(|| self.default_label())
    }
    /// The promise that follows from the parameters.
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
    /// Parameters of named arms that share a context.
    fn model(&self) -> Model {
        Model::Shared
    }
    /// δ, to change it, if it has one.
    fn delta_mut(&mut self) -> Option<&mut f64> {
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

/// The keys of a linear agent whose defaults depend on the problem.
pub struct LinearKeys<'a> {
    /// λ and its default, where that follows from the other keys.
    pub lambda: Option<(&'a mut Option<f64>, f64)>,
    /// S, where it is declared.
    pub parameter_norm: &'a mut Option<f64>,
    /// L, as declared.
    pub norm: Option<f64>,
}

/// Declares the parameters of an agent: the struct, its defaults and [`Registered`](crate::toolkit::Registered).
///
/// `config! { /// doc
/// Name, "kind", Learner; keys… }` reads keys in the order in which they are serialised:
///
/// - `/// doc label,`: the documentation of the label, first, where the kind is not its default
/// - `guarantee(G),`: the promise, where it does not depend on other keys; `guarantee(Cumulative: B),` with the budget
///   where it is not `Sublinear`
/// - `delta,` and `horizon,`: keys that several agents have, with their documentation; `/// doc delta,` with another
/// - `key: Option<T>,` and `key: T = default,`: keys of its own
/// - `block,`: a macro in scope adds keys and goes on with `config!`
/// - `; fn …`: further methods of `Registered`, last. Without a learner, `takes_features`, `build` and `restore` are
///   among them
#[macro_export]
macro_rules! config {
    ($(#[$doc:meta])* $name:ident, $kind:literal $(, $learner:ty)?;
        $(#[$label:meta])+ label, $($keys:tt)*
    ) => {
        $crate::config! {
            @ ([$(#[$doc])*] $name $kind [$($learner)?])
            [
                $(#[$label])+
                #[serde(skip_serializing_if = "Option::is_none")]
                pub label: Option<String>,
            ] [label: None,] []
            $($keys)*
        }
    };
    ($(#[$doc:meta])* $name:ident, $kind:literal $(, $learner:ty)?; $($keys:tt)*) => {
        $crate::config! {
            $(#[$doc])* $name, $kind $(, $learner)?;
            #[doc = concat!("Name in results; by default `", $kind, "`.")] label,
            $($keys)*
        }
    };
    (@ ([$($doc:tt)*] $name:ident $kind:literal [$($learner:ty)?])
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

        impl $crate::parameters::Registered for $name {
            fn kind(&self) -> &'static str {
                $kind
            }
            fn given_label(&self) -> Option<&str> {
                self.label.as_deref()
            }
            $(fn takes_features(&self) -> bool {
                $crate::Guarded::<$learner>::TAKES_FEATURES
            }
            fn build(&self, problem: &$crate::Problem) -> Result<Box<dyn $crate::Agent>, $crate::Error> {
                Ok(Box::new($crate::Guarded::<$learner>::new(problem, self)?))
            }
            fn restore(&self, json: &str) -> Result<Box<dyn $crate::Agent>, $crate::Error> {
                Ok(Box::new($crate::Guarded::<$learner>::restore(json)?))
            })?
            $($method)*
        }
    };
    (@ $head:tt $field:tt $default:tt [$($method:tt)*] ; $($more:tt)*) => {
        $crate::config! { @ $head $field $default [$($method)* $($more)*] }
    };
    (@ $head:tt $field:tt $default:tt [$($method:tt)*]
        guarantee($guarantee:ident $(: $budget:ident)?), $($keys:tt)*
    ) => {
        $crate::config! {
            @ $head $field $default [
                $($method)*
                fn guarantee(&self) -> $crate::guarantee::Guarantee {
                    $crate::guarantee::Guarantee::$guarantee
                }
                $(fn budget(&self) -> $crate::guarantee::CumulativeBudget {
                    $crate::guarantee::CumulativeBudget::$budget
                })?
            ] $($keys)*
        }
    };
    (@ $head:tt $field:tt $default:tt $method:tt delta, $($keys:tt)*) => {
        $crate::config! {
            @ $head $field $default $method
            /// δ: probability with which some interval may fail; by default 0.01.
            delta, $($keys)*
        }
    };
    (@ $head:tt [$($field:tt)*] [$($default:tt)*] [$($method:tt)*]
        $(#[$doc:meta])+ delta, $($keys:tt)*
    ) => {
        $crate::config! {
            @ $head [$($field)* $(#[$doc])+ pub delta: f64,]
            [$($default)* delta: $crate::parameters::DELTA,] [
                $($method)*
                fn delta_mut(&mut self) -> Option<&mut f64> {
                    Some(&mut self.delta)
                }
            ] $($keys)*
        }
    };
    (@ $head:tt [$($field:tt)*] [$($default:tt)*] [$($method:tt)*] horizon, $($keys:tt)*) => {
        $crate::config! {
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
    (@ $head:tt $field:tt $default:tt $method:tt $block:ident, $($keys:tt)*) => {
        $block! { @ $head $field $default $method $($keys)* }
    };
    (@ $head:tt [$($field:tt)*] [$($default:tt)*] $method:tt
        $(#[$doc:meta])* $key:ident: Option<$type:ty>, $($keys:tt)*
    ) => {
        $crate::config! {
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
        $crate::config! {
            @ $head [$($field)* $(#[$doc])* pub $key: $type,] [$($default)* $key: $value,] $method
            $($keys)*
        }
    };
}

/// Block of [`config!`](crate::config) for agents with a monitor: `on_breach` and `alarm_delta`, and the check of what
/// all of them share.
macro_rules! watched {
    (@ ([$($doc:tt)*] $name:ident $($head:tt)*)
        [$($field:tt)*] [$($default:tt)*] [$($method:tt)*] $($keys:tt)*
    ) => {
        impl $name {
            /// Checks δ, δ_o and δ_b; parameters of the monitor.
            fn monitor(&self, exact_safe_cost: bool) -> Result<crate::monitor::MonitorConfig, crate::error::Error> {
                crate::error::open_unit("delta", self.delta)?;
                crate::error::open_unit("optimism_delta", self.optimism_delta)?;
                crate::error::open_unit("alarm_delta", self.alarm_delta)?;
                let guarantee = crate::parameters::Registered::guarantee(self);
                Ok(crate::monitor::MonitorConfig {
                    on_breach: self.on_breach.unwrap_or(guarantee.on_breach()),
                    alarm_level: 1.0 / self.alarm_delta,
                    relearns_by_place: false,
                    exact_safe_cost,
                })
            }
        }
        crate::config! {
            @ ([$($doc)*] $name $($head)*) [
                $($field)*
                /// Reaction to an alarm; by default `relearn` for arms and `safe` elsewhere, or `alert` where the parameters
                /// void the guarantee.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub on_breach: Option<crate::monitor::OnBreach>,
                /// δ_b: probability that a breach is ever raised falsely, and that a true safe cost is ever refuted.
                #[serde(skip_serializing_if = "crate::monitor::is_usual")]
                pub alarm_delta: f64,
            ] [$($default)* on_breach: None, alarm_delta: crate::monitor::ALARM_DELTA,] [
                $($method)*
                fn on_breach(&mut self) -> Option<&mut Option<crate::monitor::OnBreach>> {
                    Some(&mut self.on_breach)
                }
            ] $($keys)*
        }
    };
}

pub(crate) use watched;

/// Refuses a horizon of 0, and none where one is `needed`.
pub(crate) fn check_horizon(given: Option<u64>, needed: Option<String>) -> Result<(), Error> {
    match (given, needed) {
        (Some(0), _) => Err(Error::invalid("horizon", 0, "must be at least 1")),
        (None, Some(why)) => Err(Error::invalid("horizon", "absent", why)),
        _ => Ok(()),
    }
}
