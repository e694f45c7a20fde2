//! The registry of agents: parameters, guarantee and construction of every kind that a program knows.

use std::ops::DerefMut;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::agent::Agent;
use crate::error::{Error, broken};
use crate::guarded::SnapshotHeader;
use crate::linear::parameter_norm;
use crate::monitor::OnBreach;
use crate::opb::OpbConfig;
use crate::oplb::OplbConfig;
use crate::parameters::{DELTA, Registered};
use crate::play::Play;
use crate::problem::Problem;
use crate::segmented::SegmentedConfig;

/// Declares an enum of agents by their parameters; it dereferences to what is registered about the agent.
#[macro_export]
macro_rules! agents {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident($config:ty),)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$about])* $variant($config),)*
        }

        impl $crate::Registry for $name {}

        impl std::ops::Deref for $name {
            type Target = dyn $crate::toolkit::Registered;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$variant(config) => config,)*
                }
            }
        }

        impl std::ops::DerefMut for $name {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $(Self::$variant(config) => config,)*
                }
            }
        }
    };
}

agents! {
    /// An agent of this crate as declared, by its `kind`.
    ///
    /// ```
    /// use banister::{AgentConfig, Registry as _};
    ///
    /// let config: AgentConfig = serde_json::from_str(r#"{"kind": "opb", "delta": 0.05}"#)?;
    /// assert_eq!(config.label(), "opb");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    AgentConfig {
        /// The optimistic-pessimistic bandit: K arms, and policies that keep every guardrail in every round
        /// with probability 1 − `delta`.
        Opb(OpbConfig),
        /// The optimistic-pessimistic linear bandit: actions are feature vectors, the same in every round or
        /// others each time, and policies keep every guardrail in every round with probability 1 − `delta`.
        Oplb(OplbConfig),
        /// Segments under one budget: K arms, a policy for every segment of users or requests, and guardrails over
        /// all segments or in each, kept in every round with probability 1 − `delta`.
        Segmented(SegmentedConfig),
    }
}

/// Agents as declared: an enum of their parameters, made by [`agents!`](crate::agents), which dereferences to one entry.
pub trait Registry:
    Clone + Serialize + DeserializeOwned + JsonSchema + DerefMut<Target = dyn Registered>
{
    /// The registry described as JSON Schema: every kind of agent with its parameters, their types, defaults and
    /// meanings. The interfaces of banister are made from it.
    ///
    /// ```
    /// use banister::{AgentConfig, Registry as _};
    ///
    /// let schema = AgentConfig::schema();
    /// assert_eq!(schema["oneOf"][0]["properties"]["kind"]["const"], "opb");
    /// ```
    fn schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }

    /// Every kind there is, in the registry's order.
    ///
    /// ```
    /// use banister::{AgentConfig, Registry as _};
    ///
    /// assert_eq!(AgentConfig::kinds()[..2], ["opb", "oplb"]);
    /// ```
    fn kinds() -> Vec<String> {
        let schema = Self::schema();
        let kinds = schema["oneOf"].as_array().into_iter().flatten();
        kinds
            .filter_map(|kind| kind["properties"]["kind"]["const"].as_str())
            .map(str::to_string)
            .collect()
    }

    /// A kind with its defaults. An unknown one is refused with those there are.
    fn of_kind(kind: &str) -> Result<Self, Error> {
        let declared = serde_json::json!({ "kind": kind });
        serde_json::from_value(declared).map_err(|_| {
            let allowed = format!("the kinds are {}", Self::kinds().join(", "));
            Error::invalid("kind", kind, allowed)
        })
    }

    /// L and S, how long it assumes feature vectors and parameters to be at most (S in units of the
    /// signals' ranges), where it assumes any such thing.
    fn assumed_norms(&self, problem: &Problem) -> (Option<f64>, Option<f64>) {
        match self.clone().linear() {
            None => (None, None),
            Some(keys) => (keys.norm, parameter_norm(*keys.parameter_norm, problem)),
        }
    }

    /// δ, the probability with which the bounds in its certificates may fail.
    fn delta(&self) -> f64 {
        self.clone().delta_mut().map_or(DELTA, |delta| *delta)
    }

    /// Fills in the horizon where the agent needs one and none is given.
    fn with_horizon(mut self, horizon: u64, unknown_safe_cost: bool) -> Self {
        if let Some(given) = self.horizon(unknown_safe_cost) {
            given.get_or_insert(horizon);
        }
        self
    }

    /// Fills in S where the agent assumes one and none is given: for callers who know how long the
    /// parameters are.
    fn with_parameter_norm(mut self, s: f64) -> Self {
        if let Some(keys) = self.linear() {
            keys.parameter_norm.get_or_insert(s);
        }
        self
    }

    /// The numbers in force: S and λ of a linear agent filled in where they follow from the problem.
    ///
    /// ```
    /// use banister::{AgentConfig, Problem, Registry as _};
    ///
    /// let arms = (0..4).map(|a| format!("arm {a}")).collect();
    /// let problem = Problem { arms, ..Default::default() };
    /// let AgentConfig::Oplb(oplb) = AgentConfig::of_kind("oplb")?.resolved(&problem) else { panic!() };
    /// // λ_0 of `multiscale` radii is taken from the first actions unless `norm` is declared.
    /// assert_eq!((oplb.parameter_norm, oplb.lambda), (Some(2.0), None));
    /// # Ok::<(), banister::Error>(())
    /// ```
    fn resolved(mut self, problem: &Problem) -> Self {
        if let Some(keys) = self.linear() {
            *keys.parameter_norm = parameter_norm(*keys.parameter_norm, problem);
            if let Some((lambda, default)) = keys.lambda {
                lambda.get_or_insert(default);
            }
        }
        self
    }

    /// Fills in the reaction to alarms where the agent is watched and none is given.
    fn with_on_breach(mut self, reaction: OnBreach) -> Self {
        if let Some(given) = self.on_breach() {
            given.get_or_insert(reaction);
        }
        self
    }

    /// For callers that can only play whole actions: where an agent plays parts of them and does not declare how, it
    /// mixes them with the safe action ([`Play::Mixed`]).
    fn with_whole_actions(mut self) -> Self {
        if let Some(given) = self.play() {
            given.get_or_insert(Play::Mixed);
        }
        self
    }

    /// True if it plays parts of actions as they are ([`crate::Decision::scale`]), not mixed with the safe
    /// one.
    fn plays_parts(&self) -> bool {
        let mut own = self.clone();
        let play = own.play();
        play.is_some_and(|given| *given != Some(Play::Mixed))
    }

    /// Takes up an agent where [`Agent::save`] left it, with what it was made from.
    fn restore(json: &str) -> Result<Restored<Self>, Error> {
        let SnapshotHeader {
            kind,
            mut config,
            problem,
        } = SnapshotHeader::read(json)?;
        config.insert("kind".into(), kind.into());
        let config: Self =
            serde_json::from_value(config.into()).map_err(|e| broken(e.to_string()))?;
        Ok(Restored {
            agent: Registered::restore(&*config, json)?,
            problem,
            config,
        })
    }
}

/// An agent taken up from a snapshot.
pub struct Restored<C> {
    /// The agent, ready to continue.
    pub agent: Box<dyn Agent>,
    /// The problem it was made for.
    pub problem: Problem,
    /// Parameters it was made with.
    pub config: C,
}
