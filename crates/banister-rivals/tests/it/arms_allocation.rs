//! Rounds of agents on arms allocate nothing once warm.

use crate::common;
use crate::counting;

use crate::common::player::Inspect as _;
use banister::{Problem, Registry as _};
use banister_rivals::AgentConfig;
use common::{Random, at_most, problem};

/// Allocations of 4000 rounds after 3000 others, with the mean cost of an arm under a guardrail.
fn allocations(
    config: &AgentConfig,
    problem: &Problem,
    mean: impl Fn(usize, usize) -> f64,
) -> Option<u64> {
    let mut agent = config.build(problem).ok()?;
    let mut random = Random::new(21);
    let mut costs = vec![0.0; problem.guardrails.len()];
    let mut play = |rounds: usize| {
        for _ in 0..rounds {
            let arm = agent.decide_arms().draw(random.unit());
            for (i, cost) in costs.iter_mut().enumerate() {
                *cost = random.bernoulli(mean(arm, i));
            }
            let reward = random.bernoulli(0.2 + 0.1 * (arm % 7) as f64);
            agent.observe_arm(arm, reward, &costs).expect("in range");
        }
    };
    play(3000);
    let before = counting::allocations();
    play(4000);
    Some(counting::allocations() - before)
}

#[test]
fn warm_rounds_allocate_nothing() {
    let mut counted = 0;
    for kind in AgentConfig::kinds() {
        let config = AgentConfig::of_kind(&kind).expect("its defaults");
        if config.takes_features() {
            continue;
        }
        let config = config.with_horizon(6500, false);
        for (k, m) in [(4, 1), (4, 2), (30, 1), (30, 3)] {
            let problem = problem(k, vec![at_most(0.25, Some(0.1)); m]);
            let mean = |arm: usize, i: usize| 0.1 + 0.1 * ((arm + i) % 5) as f64;
            if let Some(count) = allocations(&config, &problem, mean) {
                assert_eq!(count, 0, "{kind}, K = {k}, m = {m}");
                counted += 1;
            }
        }
        // No arm keeps both guardrails, with a mixture that does and without.
        for threshold in [0.6, 0.4] {
            let problem = problem(2, vec![at_most(threshold, None); 2]);
            let mean = |arm: usize, i: usize| if arm == i { 0.9 } else { 0.1 };
            if let Some(count) = allocations(&config, &problem, mean) {
                assert_eq!(count, 0, "{kind}, torn");
            }
        }
    }
    assert!(counted >= 54);
}
