//! S-OPS, safe optimistic policy search: mirror descent among the policies that may be feasible, made safe by
//! mixing in the safe arm.
//!
//! **Problem.** K arms, any number of guardrails, the safe arm's costs known; rewards may change at will.
//! **Guarantee.** Every policy keeps every guardrail with probability 1 − δ: its pessimistic costs do. Regret
//! is of order √T/Δ, with Δ the safe arm's margin.
//! **Cost per round.** One arm's intervals and a projection, O(K·m) a step, no allocation.
//! **Reference.** Stradi, Castiglioni, Marchesi and Gatti, "Learning Adversarial MDPs with Stochastic Hard
//! Constraints" (ICML 2025), S-OPS, on one state: q̂ starts uniform; an outcome of arm a with the loss
//! ℓ = 1 − reward multiplies its weight by exp(−ηℓ/(p_a + γ)), p the policy that was played; then q̂ is the
//! projection by relative entropy onto { π·l ≤ τ }. Played is (1−λ)q̂ + λ·safe, with the least λ that π·u ≤ τ
//! allows. η = γ as in Theorem 1 of Zuo and Stradi, "Toward Optimal Regret in Adversarial MDPs with Stochastic
//! Hard Constraints" (2026), which proves the rate above.
//!
//! Intervals are those of all rivals here, which hold in all rounds at once, not the papers' Hoeffding ones. With
//! `update = "optimistic"`, q̂ is LP(U; l): our counterpart for rewards with fixed means, not the papers' update.
//! p is the policy for the outcomes seen so far, so late outcomes count as if they had come at once.

use super::ops::ops_config;

ops_config! {
    /// S-OPS: mirror descent among the policies that may keep the guardrails, with as much of the safe arm mixed
    /// in as their pessimistic costs need.
    SOpsConfig, "s_ops", false,
    /// η of mirror descent; by default √(ln(32mKT/δ)/(2KT)).
}
