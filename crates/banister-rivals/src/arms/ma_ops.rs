//! MA-OPS, margin-adaptive optimistic policy search: first finds a policy with a large margin, then is S-OPS with
//! that one as its baseline.
//!
//! **Problem.** K arms, any number of guardrails, the safe arm's costs known; rewards may change at will.
//! **Guarantee.** Every policy keeps every guardrail with probability 1 − δ: its pessimistic costs do. Regret
//! is of order √T/ρ + 1/(Δρ), with Δ the safe arm's margin and ρ the largest of any policy.
//! **Cost per round.** One arm's intervals; while it searches, m small linear programs, then a projection,
//! O(K·m) a step; no allocation.
//! **Reference.** Zuo and Stradi, "Toward Optimal Regret in Adversarial MDPs with Stochastic Hard Constraints"
//! (2026), Algorithm 1, on one state. π̂ = argmax_π min_i (τ_i − π·l_i), of value ρ̄, is uniform before the first
//! trial. The search ends with the safe arm if 2Δ ≥ ρ̄, and with π̂ if 2 min_i (τ_i − π̂·u_i) ≥ ρ̄; else π̂ is
//! played with as much of the safe arm as u needs. Then S-OPS, with what was found in the safe arm's place and
//! η for the rounds that are left.
//!
//! The paper splits δ and forgets all observations between the two phases. Here both use the intervals of all
//! rivals, which hold in all rounds at once, so nothing is split or forgotten.

use super::ops::ops_config;

ops_config! {
    /// MA-OPS: looks for a policy whose margin is at least half of what any can have, and then plays as S-OPS
    /// does, with that policy mixed in where S-OPS has the safe arm.
    MaOpsConfig, "ma_ops", true,
    /// η of mirror descent; by default √(ln(32mKT/δ)/(2KT)), with T the rounds left after the search.
}
