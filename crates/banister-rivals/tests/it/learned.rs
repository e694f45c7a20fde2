//! Learned state depends on outcomes and arms, not on the decisions between them.

use crate::common;

use banister::{ArmRanges, Fallback, Guardrail, OpbConfig, OplbConfig, Problem};
use banister_rivals::AgentConfig;
use common::Random;

fn problem(features: bool, known: bool) -> Problem {
    let arms = 4;
    Problem {
        arms: (0..arms).map(|a| format!("arm {a}")).collect(),
        safe: 1,
        features: if features {
            (0..arms)
                .map(|a| vec![1.0, a as f64 / 4.0, if a == 1 { 0.5 } else { -0.25 }])
                .collect()
        } else {
            Vec::new()
        },
        guardrails: vec![Guardrail {
            name: "cost".into(),
            at_most: Some(0.6),
            safe_cost: known.then_some(0.1),
            ..Guardrail::default()
        }],
        ..Problem::default()
    }
}

fn agents() -> Vec<(Problem, AgentConfig)> {
    let opb = || AgentConfig::Opb(OpbConfig::default());
    let oplb = AgentConfig::Oplb(OplbConfig::default()).with_parameter_norm(1.0);
    vec![
        (problem(false, true), opb()),
        (problem(false, false), opb()),
        (problem(true, true), oplb.clone()),
        (problem(true, false), oplb.clone()),
        (
            Problem::contextual(vec![1.0, 0.0], problem(false, true).guardrails),
            oplb,
        ),
    ]
}

/// The features by which an agent is told of an arm; none for arms by number.
fn at(problem: &Problem, arm: usize, random: &mut Random) -> Vec<f64> {
    match problem.features.len() {
        0 => Vec::new(),
        1 => vec![random.unit(), random.unit()],
        _ => problem.features[arm].clone(),
    }
}

#[test]
fn deciding_teaches_nothing() {
    for (problem, config) in agents() {
        let random = &mut Random::new(5);
        let mut silent = config.build(&problem).unwrap();
        let mut busy = config.build(&problem).unwrap();
        for round in 0..400 {
            if problem.features.len() == 1 {
                busy.offer(&[random.unit(), random.unit(), 0.2, 0.3])
                    .unwrap();
            }
            busy.decide();
            if round % 7 == 0 {
                busy.decide_safe(Fallback::Paused).unwrap();
            }
            busy.estimate(0).unwrap();
            let arm = random.below(problem.arms.len());
            let (reward, costs) = (random.unit(), [random.unit() / 2.0]);
            let x = at(&problem, arm, random);
            for agent in [&mut silent, &mut busy] {
                if x.is_empty() {
                    agent.observe(arm, reward, &costs).unwrap()
                } else {
                    agent.observe_at(&x, reward, &costs).unwrap()
                }
            }
            if round == 200 && config == agents()[0].1 {
                for agent in [&mut silent, &mut busy] {
                    agent.add_arm("late", None, &ArmRanges::default()).unwrap();
                    agent.retire_arm(3).unwrap();
                }
            }
            if round % 50 == 49 {
                assert_eq!(silent.save_learned(), busy.save_learned(), "{config:?}");
            }
        }
        // And it is enough to go on from.
        let saved = busy.save_learned();
        let mut restored = AgentConfig::restore(&saved).unwrap().agent;
        assert_eq!(restored.save_learned(), saved);
        assert_eq!(restored.outcomes(), 400);
        assert_eq!(restored.decide().outcomes, 400);
    }
}

#[test]
fn the_safe_action_can_be_asked_for() {
    for (problem, config) in agents() {
        let mut agent = config.build(&problem).unwrap();
        let safe = agent.actions().unwrap().safe;
        let decision = agent.decide_safe(Fallback::Paused).unwrap();
        assert_eq!(decision.policy, [(safe, 1.0)]);
        assert_eq!(decision.fallback, Some(Fallback::Paused));
        assert!(decision.guardrails[0].slack >= 0.0);
        assert!(decision.guardrails[0].pessimistic_cost <= 0.6);
        // It is asked for once: the next decision is free again.
        assert_ne!(agent.decide().fallback, Some(Fallback::Paused));
    }
}

#[test]
fn outcomes_are_checked_as_they_would_be_taken() {
    for (problem, config) in agents() {
        let agent = config.build(&problem).unwrap();
        let before = agent.save_learned();
        for (reward, costs) in [
            (0.5, vec![0.5]),
            (1.5, vec![0.5]),
            (0.5, vec![-0.1]),
            (0.5, vec![]),
            (f64::NAN, vec![0.5]),
            (0.5, vec![f64::INFINITY]),
        ] {
            let checked = agent.check_outcome(0, reward, &costs, 0);
            assert_eq!(agent.save_learned(), before, "checking changes nothing");
            let mut copy = AgentConfig::restore(&before).unwrap().agent;
            assert_eq!(checked, copy.observe(0, reward, &costs), "{config:?}");
        }
        if config.takes_features() {
            let d = problem.features[0].len();
            for x in [vec![0.1; d], vec![0.1; d + 1], vec![f64::NAN; d]] {
                let checked = agent.check_outcome_at(&x, 0.5, &[0.5], 0);
                let mut copy = AgentConfig::restore(&before).unwrap().agent;
                let taken = copy.observe_at(&x, 0.5, &[0.5]);
                assert_eq!(checked.is_ok(), taken.is_ok());
            }
        }
    }
}

#[test]
fn a_horizon_counts_outcomes_on_their_way() {
    let config = AgentConfig::Opb(OpbConfig::paper(10));
    let mut agent = config.build(&problem(false, true)).unwrap();
    for _ in 0..8 {
        agent.observe(1, 0.5, &[0.1]).unwrap();
    }
    assert!(agent.check_outcome(1, 0.5, &[0.1], 1).is_ok());
    assert!(agent.check_outcome(1, 0.5, &[0.1], 2).is_err());
}

#[test]
fn a_belief_is_one_of_the_beliefs() {
    for (problem, config) in agents() {
        let mut agent = config.build(&problem).unwrap();
        let all = agent.estimates();
        for (action, estimate) in all.iter().enumerate() {
            assert_eq!(agent.estimate(action).as_ref(), Some(estimate));
        }
        assert_eq!(agent.estimate(all.len()), None);
    }
    // A declared safe cost is in force, whatever was observed.
    let mut agent = agents()[0].1.build(&problem(false, true)).unwrap();
    agent.observe(1, 0.5, &[0.9]).unwrap();
    let cost = agent.estimate(1).unwrap().costs[0];
    assert_eq!((cost.lower, cost.upper, cost.mean), (0.1, 0.1, Some(0.1)));
}
