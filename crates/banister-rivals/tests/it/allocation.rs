//! Rounds of rivals allocate nothing once warm.

use crate::common::verbs::Verbs as _;
use banister::{Choice, Outcome, Problem, Registry as _, Round};
use banister_rivals::AgentConfig;
use common::{Random, at_most, problem};
use serde_json::json;
use worlds::{World, all, config};

use crate::common::player::Inspect as _;
use crate::{common, counting, worlds};

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
fn rounds_on_arms_allocate_nothing() {
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

#[test]
fn linear_rounds_allocate_nothing() {
    for kind in all() {
        let world = World::of(kind, 8, None);
        for changing in [false, true] {
            for mixed in [false, true] {
                let mut declared = config(kind, json!({}));
                if mixed {
                    declared = declared.with_whole_actions();
                }
                let mut agent = declared.build(&world.problem).unwrap();
                let random = &mut Random::new(2);
                let sets: Vec<Vec<f64>> = (0..10).map(|_| world.offer(random)).collect();
                let outcomes: Vec<(f64, Vec<f64>)> =
                    (0..50).map(|_| world.pull(random, &[0.1; 3])).collect();
                let mut x = [0.0; 3];
                let mut round = |t: usize| {
                    let set = &sets[t % sets.len()];
                    let choice = if changing {
                        Choice::Offered(set)
                    } else {
                        Choice::Arms
                    };
                    let round = Round {
                        choice,
                        ..Round::default()
                    };
                    let decision = agent.decide(&round).unwrap();
                    let (action, scale) = (decision.draw(0.3), decision.scale);
                    let own = set.get(3 * action..3 * action + 3);
                    let features = match own.filter(|_| changing) {
                        Some(own) => own,
                        None if changing => &world.problem.features[2],
                        None => &world.problem.features[action],
                    };
                    for (out, v) in x.iter_mut().zip(features) {
                        *out = scale * v;
                    }
                    let (reward, costs) = &outcomes[t % outcomes.len()];
                    let outcome = if !changing && scale == 1.0 && t.is_multiple_of(2) {
                        Outcome::of_arm(action, *reward, costs)
                    } else {
                        Outcome::of_features(&x, *reward, costs)
                    };
                    agent.observe(&outcome).unwrap();
                };
                // Past the first refresh of the factor.
                (0..1100).for_each(&mut round);
                let before = counting::allocations();
                (0..2500).for_each(&mut round);
                let more = counting::allocations() - before;
                assert_eq!(more, 0, "{kind}, changing = {changing}, mixed = {mixed}");
            }
        }
    }
}
