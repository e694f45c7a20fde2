//! The sizes up to which a decision takes about 2 ms: one thread decides for all experiments, and others wait for it.
//!
//! Measured with the core alone on one busy core of a server, one guardrail, an outcome before every decision, and with
//! the estimates that are kept of the policy's actions; medians in milliseconds:
//!
//! | features: actions K, length d | ms | (K + 50)(d + 50)² in millions |
//! |---|---|---|
//! | 100, 64, offered anew | 0.4 | 1.9 |
//! | 1000, 16, offered anew | 0.6 | 4.6 |
//! | 100, 128, offered anew | 1.0 | 4.8 |
//! | 10, 256, offered anew | 0.8 | 5.6 |
//! | 1000, 32, offered anew | 1.6 | 7.1 |
//! | 100, 180, offered anew | 1.9 | 7.9 |
//! | 1, 346, offered anew | 1.4 | 8.0 |
//! | 2000, 16, offered anew | 2.0 | 8.9 |
//! | 4000, 16, offered anew | 16 | 18 |
//! | 100, 512, of arms | 5.9 | 47 |
//! | 10, 901, of arms in a context | 6.5 | 54 |
//!
//! | arms: policies × arms, guardrails | ms | policies·arms·(1 + guardrails) |
//! |---|---|---|
//! | 1 × 1000, 1 | 0.2 | 2 000 |
//! | 1 × 10 000, 1 | 1.8 | 20 000 |
//! | 1 × 10 000, 4 | 5.9 | 50 000 |
//! | 100 × 10, 1 in each segment | 0.2 | 2 000 |
//! | 1000 × 10, 1 in each segment | 2.1 | 20 000 |
//!
//! An outcome takes less, but for a regression per arm, which takes 0.4 ns·d³: it counts as d actions at least.

use banister::{AgentConfig, Model, SegmentedConfig};

use super::Kind;
use crate::refusal::Refusal;

/// Most of (actions + 50)·(features + 50)².
const MOST_PRODUCTS: usize = 8_000_000;
/// Time of a decision beside its actions, in actions, and of an action beside its features, in features.
const BESIDE: usize = 50;
/// Longest features: with one action more are too many.
pub const LONGEST_FEATURES: usize = 346;
/// Most of policies·arms·(1 + guardrails).
const MOST_ESTIMATES: usize = 20_000;
/// Multiplications that exact OPLB may spend on a decision.
pub(super) const MOST_WORK: u64 = 1_000_000;

const WHY: &str = "so that a decision takes about 2 ms: one thread decides for all";

/// Refuses actions of a length that are so many that a decision among them would take long.
pub(crate) fn check_products(field: &str, actions: usize, length: usize) -> Result<(), Refusal> {
    let square = length.saturating_add(BESIDE).saturating_pow(2);
    let products = actions.saturating_add(BESIDE).saturating_mul(square);
    if products <= MOST_PRODUCTS {
        return Ok(());
    }
    let value = format!("{actions} actions of {length} features");
    let most = (MOST_PRODUCTS / square).saturating_sub(BESIDE);
    let allowed = format!(
        "(actions + {BESIDE})·(features + {BESIDE})² must be at most {MOST_PRODUCTS}, {WHY}; of this length {most} fit"
    );
    Err(Refusal::invalid(field, value, allowed))
}

fn check_estimates(
    field: &str,
    policies: usize,
    arms: usize,
    guardrails: usize,
) -> Result<(), Refusal> {
    let signals = 1 + guardrails;
    if policies.saturating_mul(arms).saturating_mul(signals) <= MOST_ESTIMATES {
        return Ok(());
    }
    let (value, formula) = if policies == 1 {
        (format!("{arms} arms"), "arms·(1 + guardrails)")
    } else {
        let value = format!("{} segments of {arms} arms", policies - 1);
        (value, "(1 + agent.max_segments)·arms·(1 + guardrails)")
    };
    let allowed = format!("{formula} must be at most {MOST_ESTIMATES}, {WHY}");
    Err(Refusal::invalid(field, value, allowed))
}

/// Bounds the segments that are told apart by default, so that twice as many arms fit: a segment is seen before anybody
/// could refuse it.
pub(super) fn bound_segments(
    agent: &mut SegmentedConfig,
    arms: usize,
    guardrails: usize,
    declared: usize,
) {
    if agent.max_segments == SegmentedConfig::default().max_segments {
        let fit = MOST_ESTIMATES / (2 * arms.max(1) * (1 + guardrails));
        agent.max_segments = agent.max_segments.min(fit).max(declared);
    }
}

/// Size of an experiment, as far as the time of its decisions depends on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub kind: Kind,
    pub arms: usize,
    /// Length of the arms' features, where they have any.
    pub length: Option<usize>,
    pub guardrails: usize,
}

impl Size {
    /// Refuses an experiment whose decisions would take long; `field` is what makes it large, where it has arms.
    pub(crate) fn check(self, config: &AgentConfig, field: &str) -> Result<(), Refusal> {
        let (arms, guardrails) = (self.arms, self.guardrails);
        match (self.kind, config) {
            (Kind::Candidates(d), _) => check_products("dimension", 1, d),
            (Kind::Context(d), _) if config.model() == Model::PerArm => {
                check_products("context", arms.max(d), d)
            }
            (Kind::Context(d), _) => {
                let length = d.saturating_mul(arms.saturating_sub(1)).saturating_add(1);
                check_products("context", arms, length)
            }
            (Kind::Arms, AgentConfig::Segmented(own)) => {
                check_estimates(field, own.max_segments.saturating_add(1), arms, guardrails)
            }
            // Without features every arm is a dimension of its own.
            (Kind::Arms, _) if config.takes_features() => {
                check_products(field, arms, self.length.unwrap_or(arms))
            }
            (Kind::Arms, _) => check_estimates(field, 1, arms, guardrails),
        }
    }
}
