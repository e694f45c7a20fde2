//! A warm round of a linear rival allocates nothing.

use crate::common;
use crate::counting;
use crate::worlds;
use banister::{Choice, Outcome, Registry as _, Round};

use common::Random;
use serde_json::json;
use worlds::{World, all, config};

#[test]
fn warm_rounds_allocate_nothing() {
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
