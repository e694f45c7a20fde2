//! The registry of agents: parameters, guarantee and construction of every kind.

use banister::decision::Confidence;
use banister::guarantee::{CumulativeBudget, Guarantee};
use banister::toolkit::linear::parameter_norm;
use banister::toolkit::{DELTA, Play, Registered, SnapshotHeader, broken};
use banister::{Agent, Error, Model, OnBreach, OpbConfig, OplbConfig, Problem, SegmentedConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arms::{
    AlwaysConfig, ConservativeUcbConfig, DoslbConfig, KlUcbConfig, LagrangeBwkConfig,
    LinConKlUcbConfig, LinConTsConfig, MaOpsConfig, PessimisticOptimisticConfig,
    PrimalDualBwkConfig, RColtsConfig, SColtsConfig, SOpsConfig, ThompsonConfig, Ucb1Config,
    UcbBwkConfig,
};
use crate::linear::{
    ConservativeLinUcbConfig, GenOpConfig, HpUcbConfig, HplcLucbConfig, LinRColtsConfig,
    LinSColtsConfig, LinTsConfig, LinUcbConfig, RofulConfig, SafeLtsConfig, SafeLucbConfig,
};

/// Declares the enum of all agents, and its two ways to what is registered about them.
macro_rules! agents {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident($config:ty),)* }) => {
        $(#[$doc])*
        pub enum $name {
            $($(#[$about])* $variant($config),)*
        }

        impl $name {
            fn registered(&self) -> &dyn Registered {
                match self {
                    $(Self::$variant(config) => config,)*
                }
            }

            fn registered_mut(&mut self) -> &mut dyn Registered {
                match self {
                    $(Self::$variant(config) => config,)*
                }
            }
        }
    };
}

agents! {
    /// An agent as declared, by its `kind`.
    ///
    /// ```
    /// use banister_rivals::AgentConfig;
    ///
    /// let config: AgentConfig = serde_json::from_str(r#"{"kind": "opb", "delta": 0.05}"#)?;
    /// assert_eq!(config.label(), "opb");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    #[non_exhaustive]
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
        /// S-OPS: K arms, and policies that keep every guardrail in every round with probability 1 − `delta`:
        /// mirror descent among those that may, mixed with the safe arm as far as that needs.
        SOps(SOpsConfig),
        /// S-COLTS: K arms, and policies that keep every guardrail in every round with probability 1 − `delta`:
        /// sampled ones, mixed with the safe arm as far as that needs.
        SColts(SColtsConfig),
        /// MA-OPS: K arms, and policies that keep every guardrail in every round with probability 1 − `delta`:
        /// as S-OPS, but it first looks for a policy with more margin than the safe arm to mix with.
        MaOps(MaOpsConfig),
        /// Doubly optimistic: K arms, cumulative costs only.
        Doslb(DoslbConfig),
        /// R-COLTS: K arms, cumulative costs only, the best of several sampled programs.
        RColts(RColtsConfig),
        /// LinConTS: K arms, cumulative costs only, by Thompson sampling of rewards and costs.
        LinConTs(LinConTsConfig),
        /// LinCon-KL-UCB: K arms, cumulative costs only, by KL-UCB's bounds of rewards and costs.
        LinConKlUcb(LinConKlUcbConfig),
        /// The pessimistic-optimistic primal-dual agent: K arms, cumulative costs only, kept by queues.
        PessimisticOptimistic(PessimisticOptimisticConfig),
        /// Conservative UCB: K arms; summed costs keep the thresholds at all times with probability
        /// 1 − `delta`, single rounds need not.
        ConservativeUcb(ConservativeUcbConfig),
        /// UCB for bandits with knapsacks: K arms, cumulative costs only, within budgets for a known number of
        /// rounds; the safe arm once one is spent.
        UcbBwk(UcbBwkConfig),
        /// PrimalDualBwK: K arms, cumulative costs only, within budgets for a known number of rounds; the safe
        /// arm once one is spent.
        PrimalDualBwk(PrimalDualBwkConfig),
        /// LagrangeBwK: K arms, cumulative costs only, within budgets for a known number of rounds; the safe arm
        /// once one is spent.
        LagrangeBwk(LagrangeBwkConfig),
        /// One arm for ever: K arms, guardrails ignored.
        Always(AlwaysConfig),
        /// UCB1: K arms, guardrails ignored.
        Ucb1(Ucb1Config),
        /// KL-UCB: K arms, guardrails ignored.
        KlUcb(KlUcbConfig),
        /// Thompson sampling: K arms, guardrails ignored.
        Thompson(ThompsonConfig),
        /// HPLC-LUCB: feature vectors beside x_0 = 0, every action played is safe with high probability.
        HplcLucb(HplcLucbConfig),
        /// HP-UCB: feature vectors beside x_0 = 0, the realised cost of every action played keeps the guardrail with
        /// high probability.
        HpUcb(HpUcbConfig),
        /// Safe-LTS: feature vectors beside x_0 = 0, Thompson sampling among safe actions.
        SafeLts(SafeLtsConfig),
        /// ROFUL: feature vectors beside x_0 = 0, optimistic in direction, safe in length.
        Roful(RofulConfig),
        /// GenOP: feature vectors beside x_0 = 0, pessimistic in length, with a larger bonus on the reward.
        GenOp(GenOpConfig),
        /// Safe-LUCB: feature vectors beside x_0 = 0, explores short actions first.
        SafeLucb(SafeLucbConfig),
        /// S-COLTS on features beside x_0 = 0: reward and cost sampled together, safe in length.
        LinSColts(LinSColtsConfig),
        /// R-COLTS on features beside x_0 = 0: reward and cost sampled together, cumulative costs only.
        LinRColts(LinRColtsConfig),
        /// Conservative LinUCB: feature vectors, cumulative costs only.
        ConservativeLinUcb(ConservativeLinUcbConfig),
        /// LinUCB: feature vectors, guardrails ignored.
        LinUcb(LinUcbConfig),
        /// Linear Thompson sampling: feature vectors, guardrails ignored.
        LinTs(LinTsConfig),
    }
}

impl AgentConfig {
    /// The registry described as JSON Schema: every kind of agent with its parameters, their types,
    /// defaults and meanings. The faces of banister are made from it.
    ///
    /// ```
    /// let schema = banister_rivals::AgentConfig::schema();
    /// assert_eq!(schema["oneOf"][0]["properties"]["kind"]["const"], "opb");
    /// ```
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }

    /// Every kind there is, in the registry's order.
    ///
    /// ```
    /// assert_eq!(banister_rivals::AgentConfig::kinds()[..2], ["opb", "oplb"]);
    /// ```
    pub fn kinds() -> Vec<String> {
        let schema = Self::schema();
        let kinds = schema["oneOf"].as_array().into_iter().flatten();
        kinds
            .filter_map(|kind| kind["properties"]["kind"]["const"].as_str())
            .map(str::to_string)
            .collect()
    }

    /// A kind with its defaults. An unknown one is refused with those there are.
    pub fn of_kind(kind: &str) -> Result<Self, Error> {
        let declared = serde_json::json!({ "kind": kind });
        serde_json::from_value(declared).map_err(|_| {
            let allowed = format!("the kinds are {}", Self::kinds().join(", "));
            Error::invalid("kind", kind, allowed)
        })
    }

    /// Name of the kind in configuration.
    pub fn kind(&self) -> &'static str {
        self.registered().kind()
    }

    /// Promise about its guardrails.
    pub fn guarantee(&self) -> Guarantee {
        self.registered().guarantee()
    }

    /// Extent of that promise, where it is a cumulative one.
    pub fn budget(&self) -> CumulativeBudget {
        self.registered().budget()
    }

    /// The least probability of the safe action in its policies.
    pub fn floor(&self) -> f64 {
        self.registered().floor()
    }

    /// True if it is for actions with features, which it may be offered anew in every round.
    pub fn takes_features(&self) -> bool {
        self.registered().takes_features()
    }

    /// Parameters of named arms that share a context.
    pub fn model(&self) -> Model {
        match self {
            Self::Oplb(config) => config.model,
            _ => Model::Shared,
        }
    }

    /// L and S, how long it assumes feature vectors and parameters to be at most (S in units of the
    /// signals' ranges), where it assumes any such thing.
    pub fn assumed_norms(&self, problem: &Problem) -> (Option<f64>, Option<f64>) {
        match self.clone().registered_mut().linear() {
            None => (None, None),
            Some(keys) => (keys.norm, parameter_norm(*keys.parameter_norm, problem)),
        }
    }

    /// Name in results.
    pub fn label(&self) -> String {
        let config = self.registered();
        let given = config.label().map(str::to_string);
        given.unwrap_or_else(|| config.default_label())
    }

    /// δ, the probability with which the bounds in its certificates may fail.
    pub fn delta(&self) -> f64 {
        self.clone().delta_mut().map_or(DELTA, |delta| *delta)
    }

    /// Probabilities of its promises, where it states them.
    pub fn confidence(&self) -> Option<Confidence> {
        self.registered().confidence()
    }

    /// The same, to change it; `None` for an agent that has no such parameter.
    pub fn delta_mut(&mut self) -> Option<&mut f64> {
        self.registered_mut().delta()
    }

    /// Fills in the horizon where the agent needs one and none is given.
    pub fn with_horizon(mut self, horizon: u64, unknown_safe_cost: bool) -> Self {
        if let Some(given) = self.registered_mut().horizon(unknown_safe_cost) {
            given.get_or_insert(horizon);
        }
        self
    }

    /// Fills in S where the agent assumes one and none is given: for callers who know how long the
    /// parameters are.
    pub fn with_parameter_norm(mut self, s: f64) -> Self {
        if let Some(keys) = self.registered_mut().linear() {
            keys.parameter_norm.get_or_insert(s);
        }
        self
    }

    /// The numbers in force: S and λ of a linear agent filled in where they follow from the problem.
    ///
    /// ```
    /// use banister::Problem;
    /// use banister_rivals::AgentConfig;
    ///
    /// let arms = (0..4).map(|a| format!("arm {a}")).collect();
    /// let problem = Problem { arms, ..Default::default() };
    /// let AgentConfig::Oplb(oplb) = AgentConfig::of_kind("oplb")?.resolved(&problem) else { panic!() };
    /// // λ_0 of `multiscale` radii is taken from the first actions unless `norm` is declared.
    /// assert_eq!((oplb.parameter_norm, oplb.lambda), (Some(2.0), None));
    /// # Ok::<(), banister::Error>(())
    /// ```
    pub fn resolved(mut self, problem: &Problem) -> Self {
        if let Some(keys) = self.registered_mut().linear() {
            *keys.parameter_norm = parameter_norm(*keys.parameter_norm, problem);
            if let Some((lambda, default)) = keys.lambda {
                lambda.get_or_insert(default);
            }
        }
        self
    }

    /// Fills in the reaction to alarms where the agent is watched and none is given.
    pub fn with_on_breach(mut self, reaction: OnBreach) -> Self {
        if let Some(given) = self.registered_mut().on_breach() {
            given.get_or_insert(reaction);
        }
        self
    }

    /// For callers that can only play whole actions: where an agent plays parts of them and is not told
    /// how, it mixes them with the safe action ([`Play::Mixed`]).
    pub fn with_whole_actions(mut self) -> Self {
        if let Some(given) = self.registered_mut().play() {
            given.get_or_insert(Play::Mixed);
        }
        self
    }

    /// True if it plays parts of actions as they are ([`banister::Decision::scale`]), not mixed with the safe
    /// one.
    pub fn plays_parts(&self) -> bool {
        let mut own = self.clone();
        let play = own.registered_mut().play();
        play.is_some_and(|given| *given != Some(Play::Mixed))
    }

    /// The agent, ready to run.
    pub fn build(&self, problem: &Problem) -> Result<Box<dyn Agent>, Error> {
        self.registered().build(problem)
    }

    /// Takes up an agent where [`Agent::save`] left it, with what it was made from.
    pub fn restore(json: &str) -> Result<Restored, Error> {
        let SnapshotHeader {
            kind,
            mut config,
            problem,
        } = SnapshotHeader::read(json)?;
        config.insert("kind".into(), kind.into());
        let config: Self =
            serde_json::from_value(config.into()).map_err(|e| broken(e.to_string()))?;
        Ok(Restored {
            agent: config.registered().restore(json)?,
            problem,
            config,
        })
    }
}

/// An agent taken up from a snapshot.
pub struct Restored {
    /// The agent, ready to continue.
    pub agent: Box<dyn Agent>,
    /// The problem it was made for.
    pub problem: Problem,
    /// Parameters it was made with.
    pub config: AgentConfig,
}
