//! Decisions whose outcomes have not come: counted by arm, and by segment and arm, for exploration alone.

use crate::common::verbs::Verbs as _;
use banister::{
    Agent, Guardrail, Opb, OpbConfig, Origin, Outcome, Pending, Problem, Round, Segmented,
    SegmentedConfig,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

const SEGMENTS: [&str; 2] = ["a", "b"];

fn problem(arms: usize) -> Problem {
    Problem {
        arms: (0..arms).map(|arm| format!("arm {arm}")).collect(),
        guardrails: vec![Guardrail {
            name: "cost".into(),
            at_most: Some(0.5),
            safe_cost: Some(0.1),
            ..Guardrail::default()
        }],
        segments: SEGMENTS.map(String::from).to_vec(),
        ..Problem::default()
    }
}

fn made(is_segmented: bool) -> Box<dyn Agent> {
    if is_segmented {
        Box::new(Segmented::new(&problem(3), &SegmentedConfig::default()).unwrap())
    } else {
        let problem = Problem {
            segments: Vec::new(),
            ..problem(3)
        };
        Box::new(Opb::new(&problem, &OpbConfig::default()).unwrap())
    }
}

fn pending(decision: u64, (segment, arm): (usize, usize), is_segmented: bool) -> Pending<'static> {
    Pending {
        decision,
        action: arm,
        segment: is_segmented.then_some(SEGMENTS[segment]),
        safe_probability: Some(0.5),
        time: None,
        excess: &[],
    }
}

/// Counts that a snapshot has, by segment and arm.
fn counts(agent: &mut dyn Agent, is_segmented: bool) -> [[u64; 3]; 2] {
    let saved: Value = serde_json::from_str(&agent.save().unwrap()).unwrap();
    let state = &saved["learner"];
    let waiting = |place: usize| state["waiting"][place].as_u64().unwrap_or(0);
    std::array::from_fn(|segment| {
        std::array::from_fn(|arm| match is_segmented {
            true => waiting(state["segments"][segment]["pairs"][arm].as_u64().unwrap() as usize),
            false if segment == 0 => waiting(arm),
            false => 0,
        })
    })
}

#[test]
fn counts_are_those_of_a_ledger() {
    for is_segmented in [false, true] {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut agent = made(is_segmented);
        let mut open: Vec<(u64, (usize, usize))> = Vec::new();
        for decision in 1..=600 {
            let segment = if is_segmented {
                rng.random_range(0..2)
            } else {
                0
            };
            let pair = (segment, rng.random_range(0..3));
            agent
                .announce(&pending(decision, pair, is_segmented))
                .unwrap();
            open.push((decision, pair));
            for _ in 0..2 {
                let place = rng.random_range(0..=3 * open.len());
                if place >= open.len() {
                    continue;
                }
                let (decision, (segment, arm)) = open.swap_remove(place);
                if rng.random::<f64>() < 0.3 {
                    let given_up = pending(decision, (segment, arm), is_segmented);
                    agent.give_up(&given_up).unwrap();
                } else {
                    let outcome = Outcome {
                        segment: is_segmented.then_some(SEGMENTS[segment]),
                        origin: Origin::Announced(decision),
                        ..Outcome::of_arm(arm, 0.5, &[0.1])
                    };
                    agent.observe(&outcome).unwrap();
                }
            }
            if decision == 400 {
                // An arm is forgotten, and what was drawn of it teaches nothing.
                agent.forget_arm(1).unwrap();
                open.retain(|(_, (_, arm))| *arm != 1);
            }
            if decision.is_multiple_of(50) {
                let mut expected = [[0; 3]; 2];
                (open.iter()).for_each(|(_, (segment, arm))| expected[*segment][*arm] += 1);
                assert_eq!(counts(&mut *agent, is_segmented), expected, "{decision}");
                let saved = agent.save().unwrap();
                agent = if is_segmented {
                    Box::new(Segmented::restore(&saved).unwrap())
                } else {
                    Box::new(Opb::restore(&saved).unwrap())
                };
                assert_eq!(counts(&mut *agent, is_segmented), expected, "{decision}");
            }
        }
        assert!(!open.is_empty());
    }
}

#[test]
fn what_is_drawn_already_is_explored_less_and_bounds_do_not_move() {
    for is_segmented in [false, true] {
        let mut agent = made(is_segmented);
        let round = Round {
            segment: is_segmented.then_some("a"),
            ..Round::default()
        };
        for i in 0..1200 {
            let outcome = Outcome {
                segment: round.segment,
                ..Outcome::of_arm(i % 3, f64::from(u8::from(i % 2 == 0)), &[0.1])
            };
            agent.observe(&outcome).unwrap();
        }
        let costs = |agent: &mut dyn Agent| {
            let costs = (0..3).map(|arm| agent.estimate(&round, arm).unwrap().costs[0]);
            costs.collect::<Vec<_>>()
        };
        let before = costs(&mut *agent);
        // Arms alike: those whose outcomes are on their way give way.
        let mut decision = 0;
        for (arm, draws) in [(1, 1500), (2, 2500)] {
            for _ in 0..draws {
                decision += 1;
                let own = pending(decision, (0, arm), is_segmented);
                agent.announce(&own).unwrap();
            }
            let saved = agent.save().unwrap();
            let mut restored: Box<dyn Agent> = if is_segmented {
                Box::new(Segmented::restore(&saved).unwrap())
            } else {
                Box::new(Opb::restore(&saved).unwrap())
            };
            let policy = &restored.decide(&round).unwrap().policy;
            assert!(
                policy.iter().all(|(own, _)| *own != arm),
                "{is_segmented}: {policy:?}"
            );
        }
        assert_eq!(costs(&mut *agent), before);
    }
}

/// Replicas fold the same log, and one of them writes the snapshot that another one starts from.
#[test]
fn saving_changes_nothing_that_is_published() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let (mut saved, mut other) = (made(false), made(false));
    for number in 1..=3000_u64 {
        let round = Round::default();
        let [own, same] = [&mut saved, &mut other].map(|agent| agent.decide(&round).unwrap());
        assert_eq!(own, same, "decision {number}");
        let arm = own.draw(rng.random());
        let cost = f64::from(u8::from(rng.random_bool([0.1, 0.4, 0.6][arm])));
        let reward = f64::from(u8::from(rng.random_bool([0.2, 0.7, 0.8][arm])));
        for agent in [&mut saved, &mut other] {
            agent.announce(&pending(number, (0, arm), false)).unwrap();
            // One in seven never comes.
            if number % 7 > 0 {
                let outcome = Outcome::of_arm(arm, reward, std::slice::from_ref(&cost));
                let origin = Origin::Announced(number);
                agent.observe(&Outcome { origin, ..outcome }).unwrap();
            }
        }
        if number % 250 == 3 {
            let snapshot = saved.save().unwrap();
            if number % 500 == 3 {
                saved = Box::new(Opb::restore(&snapshot).unwrap());
            }
        }
    }
}
