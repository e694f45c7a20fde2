//! The registry of agents: parameters, guarantee and construction of every kind.

use banister::{OpbConfig, OplbConfig, SegmentedConfig};

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

banister::agents! {
    /// An agent as declared, by its `kind`.
    ///
    /// ```
    /// use banister::Registry as _;
    /// use banister_rivals::AgentConfig;
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
