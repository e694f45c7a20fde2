//! What agents refuse, as tables: problems outside their setting, and parameters that cannot be.

use crate::common;
use crate::worlds;

use crate::common::player::{Inspect as _, Player};
use banister::{Agent, Error, Fallback, Guardrail, Problem, Round};
use banister_rivals::AgentConfig;
use banister_rivals::linear::Play;
use common::linear::dot;
use common::{Random, at_most};
use serde_json::{Value, json};
use worlds::{SCALED, WHOLE, World, all, config, parts};

/// Every kind on arms there is, so that a new one is tested without being listed.
fn kinds() -> Vec<AgentConfig> {
    let kinds = AgentConfig::kinds();
    let all = kinds
        .iter()
        .map(|k| AgentConfig::of_kind(k).expect("its defaults"));
    let arms: Vec<AgentConfig> = all
        .filter(|config| !config.takes_features())
        .map(|config| config.with_horizon(400, false))
        .collect();
    assert!(arms.len() >= 14);
    arms
}

fn problem(arms: usize, m: usize) -> Problem {
    let all = [
        at_most(0.4, Some(0.2)),
        Guardrail {
            name: "returns".into(),
            at_least: Some(0.45),
            safe_cost: Some(0.7),
            ..Guardrail::default()
        },
    ];
    Problem {
        safe: arms / 2,
        guardrails: all[..m].to_vec(),
        ..common::problem(arms, Vec::new())
    }
}

#[test]
fn problems_outside_a_setting_are_refused_with_the_reason() {
    let relative = Problem {
        guardrails: vec![Guardrail {
            name: "latency".into(),
            at_most: Some(1.1),
            relative: true,
            ..Guardrail::default()
        }],
        ..problem(3, 0)
    };
    let mut unknown = problem(3, 2);
    unknown.guardrails[1].safe_cost = None;
    let needs_costs = [
        "conservative_ucb",
        "ma_ops",
        "s_ops",
        "pessimistic_optimistic",
        "s_colts",
    ];
    let kinds = kinds();
    let others = kinds
        .iter()
        .filter(|config| !["opb", "segmented"].contains(&config.kind()));
    for config in others {
        let kind = config.kind();
        let refused = |problem: &Problem, words: &[&str]| match config.build(problem) {
            Err(Error::Invalid {
                field,
                value,
                allowed,
            }) => {
                assert_eq!((field.as_str(), value.as_str()), ("kind", kind));
                for word in words {
                    assert!(allowed.contains(word), "{kind}: {allowed}");
                }
            }
            Err(other) => panic!("{kind}: {other}"),
            Ok(_) => panic!("{kind} must refuse"),
        };
        refused(&relative, &["`latency` is relative"]);
        if needs_costs.contains(&kind) {
            refused(&unknown, &["`safe_cost`", "`returns`"]);
            assert!(config.build(&problem(3, 0)).is_ok());
        } else {
            assert!(config.build(&unknown).is_ok(), "{kind}");
        }
    }
}

#[test]
fn parameters_are_checked() {
    let refused = |parameters: Value, field: &str| {
        let config: AgentConfig = serde_json::from_value(parameters.clone()).expect("known keys");
        match config.build(&problem(3, 1)) {
            Err(Error::Invalid { field: found, .. }) => assert_eq!(found, field, "{parameters}"),
            Err(other) => panic!("{parameters}: {other}"),
            Ok(_) => panic!("{parameters} must be refused"),
        }
    };
    for config in kinds() {
        for delta in [0.0, 1.0, -0.5, 2.0] {
            if config.clone().delta_mut().is_some() {
                refused(json!({ "kind": config.kind(), "delta": delta, }), "delta");
            }
        }
        let mut config = config;
        if let Some(delta) = config.delta_mut() {
            *delta = f64::NAN;
            assert!(config.build(&problem(3, 1)).is_err());
        }
    }
    refused(json!({ "kind": "ucb1", "exploration": 0 }), "exploration");
    refused(json!({ "kind": "kl_ucb", "c": -1 }), "c");
    refused(json!({ "kind": "s_colts", "omega": 0 }), "omega");
    refused(json!({ "kind": "r_colts", "omega": 0 }), "omega");
    for draws in [0, 1001] {
        let keys = json!({ "kind": "r_colts", "draws_per_round": draws });
        refused(keys, "draws_per_round");
    }
    for kind in ["s_ops", "ma_ops"] {
        refused(json!({ "kind": kind }), "horizon");
        refused(json!({ "kind": kind, "horizon": 0 }), "horizon");
        refused(json!({ "kind": kind, "learning_rate": 0 }), "learning_rate");
        refused(
            json!({ "kind": kind, "horizon": 9, "exploration": -1 }),
            "exploration",
        );
        // Rates of one's own, and the update for fixed means, need no horizon.
        for keys in [
            json!({ "kind": kind, "learning_rate": 0.1 }),
            json!({ "kind": kind, "update": "optimistic" }),
        ] {
            let config: AgentConfig = serde_json::from_value(keys).expect("known keys");
            assert!(config.build(&problem(3, 2)).is_ok());
            assert_eq!(config.clone().with_horizon(9, false), config);
        }
    }
    for (key, value) in [("margin", 0), ("reward_weight", 0), ("tightening", -1)] {
        refused(json!({ "kind": "pessimistic_optimistic", key: value }), key);
    }
    for exploration in [0, 1] {
        let keys = json!({ "kind": "lagrange_bwk", "horizon": 9, "exploration": exploration });
        refused(keys, "exploration");
    }
    for kind in ["ucb_bwk", "primal_dual_bwk", "lagrange_bwk"] {
        refused(json!({ "kind": kind }), "horizon");
        refused(json!({ "kind": kind, "horizon": 0 }), "horizon");
        refused(
            json!({ "kind": kind, "horizon": 9, "epsilon": -0.1 }),
            "epsilon",
        );
    }
    refused(
        json!({ "kind": "ucb_bwk", "horizon": 9, "epsilon": 1 }),
        "epsilon",
    );
    for kind in ["primal_dual_bwk", "lagrange_bwk"] {
        refused(
            json!({ "kind": kind, "horizon": 9, "epsilon": 0 }),
            "epsilon",
        );
    }
    assert!(
        serde_json::from_value::<AgentConfig>(json!({ "kind": "thompson", "seed": 1 })).is_err()
    );
}

#[track_caller]
fn refused(kind: &str, keys: Value, problem: &Problem, words: &[&str]) {
    let Err(error) = config(kind, keys).build(problem) else {
        panic!("{kind} must be refused");
    };
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
}

#[test]
fn a_problem_outside_the_setting_is_refused_with_the_reason() {
    let zero = vec![0.0, 0.0];
    let plain = Problem::contextual(zero.clone(), vec![at_most(0.5, None)]);
    for kind in parts() {
        assert!(config(kind, json!({})).build(&plain).is_ok(), "{kind}");
        let elsewhere = Problem::contextual(vec![1.0, 0.0], vec![at_most(0.5, Some(0.1))]);
        refused(
            kind,
            json!({}),
            &elsewhere,
            &["kind", kind, "x_0 = 0", "oplb"],
        );
        let none = Problem::contextual(zero.clone(), vec![]);
        refused(
            kind,
            json!({}),
            &none,
            &["kind", kind, "one guardrail", "0"],
        );
        let mut other = at_most(0.4, None);
        other.name = "other".into();
        let two = Problem::contextual(zero.clone(), vec![at_most(0.5, None), other]);
        refused(kind, json!({}), &two, &["kind", kind, "one guardrail", "2"]);
        let mut negative = at_most(-0.1, None);
        negative.range = Some([-1.0, 1.0].into());
        let negative = Problem::contextual(zero.clone(), vec![negative]);
        refused(kind, json!({}), &negative, &["safe_cost", "margin", "-0.1"]);
        // Arms that are their own features have no x_0 = 0.
        let arms = common::problem(3, vec![at_most(0.5, Some(0.1))]);
        refused(kind, json!({}), &arms, &["kind", kind, "x_0 = 0"]);
        let wrong = Problem::contextual(zero.clone(), vec![at_most(0.5, Some(0.1))]);
        refused(kind, json!({}), &wrong, &["safe_cost", "its mean is 0"]);
    }
    let unknown = Problem::contextual(vec![1.0, 0.0], vec![at_most(0.5, None)]);
    let kind = "conservative_lin_ucb";
    refused(
        kind,
        json!({}),
        &unknown,
        &["kind", kind, "safe_cost", "cost"],
    );
    let relative = Problem::contextual(
        vec![1.0, 0.0],
        vec![Guardrail {
            relative: true,
            ..at_most(1.1, None)
        }],
    );
    for kind in WHOLE {
        refused(kind, json!({}), &relative, &["kind", kind, "relative"]);
    }
    for kind in ["lin_ucb", "lin_ts"] {
        let mut agent = config(kind, json!({})).build(&unknown).unwrap();
        let round = Round {
            only_safe: Some(Fallback::Paused),
            ..Round::default()
        };
        let decision = agent.decide(&round).unwrap();
        assert!(decision.guardrails[0].slack >= 0.0);
    }
}

#[test]
fn parameters_must_be_possible() {
    let problem = Problem::contextual(vec![0.0; 2], vec![at_most(0.5, None)]);
    for kind in all() {
        for bad in [0.0, 1.0, -1.0] {
            refused(kind, json!({ "delta": bad }), &problem, &["delta"]);
        }
        for bad in [0.0, -1.0] {
            refused(kind, json!({ "lambda": bad }), &problem, &["lambda"]);
            let keys = json!({ "parameter_norm": bad });
            refused(kind, keys, &problem, &["parameter_norm"]);
        }
        let unknown = json!({ "kind": kind, "surprise": 1 });
        assert!(serde_json::from_value::<AgentConfig>(unknown).is_err());
    }
    for kind in ["hplc_lucb", "safe_lts"] {
        refused(
            kind,
            json!({ "noise_factor": 0.0 }),
            &problem,
            &["noise_factor"],
        );
        refused(
            kind,
            json!({ "log_every": 0 }),
            &problem,
            &["log_every", "at least 1"],
        );
        for key in ["noise_factor", "log_every"] {
            let keys = json!({ "radius": "logdet", key: 2 });
            refused(kind, keys, &problem, &[key, "logdet"]);
        }
    }
    for kind in ["roful", "gen_op"] {
        for bad in [0.0, 1.5] {
            refused(kind, json!({ "max_scale": bad }), &problem, &["max_scale"]);
        }
        let paper = json!({ "radius": "paper" });
        refused(kind, paper, &problem, &["norm", "absent", "logdet"]);
    }
    refused("lin_ts", json!({ "v": 0.0 }), &problem, &["v"]);
    for kind in ["lin_s_colts", "lin_r_colts"] {
        refused(kind, json!({ "omega": 0.0 }), &problem, &["omega"]);
    }
    for bad in [0.0, 1e5] {
        refused("lin_r_colts", json!({ "draws": bad }), &problem, &["draws"]);
    }
    let horizon = json!({ "exploration": 5, "horizon": 0 });
    refused("safe_lucb", horizon, &problem, &["horizon"]);
    let bare = AgentConfig::of_kind("safe_lucb").unwrap();
    let error = bare.build(&problem).err().unwrap().to_string();
    assert!(error.contains("exploration"), "{error}");
    // With a horizon of 1000 it explores for 100 outcomes.
    let mut agent = bare
        .with_horizon(1000, false)
        .with_parameter_norm(1.0)
        .build(&problem)
        .map(|agent| Player::of(agent, &problem))
        .unwrap();
    agent.offer(&[1.0, 0.0, 0.6, 0.8]).unwrap();
    for round in 0..150 {
        // Only exploring draws: a decision on the same outcomes is another one.
        let policies: Vec<_> = (0..20).map(|_| agent.decide().policy.clone()).collect();
        let differ = policies.iter().any(|policy| *policy != policies[0]);
        assert_eq!(differ, round < 100, "round {round}");
        agent.observe_at(&[0.1, 0.1], 0.5, &[0.1]).unwrap();
    }
    // Too long for what was declared.
    let keys = json!({ "radius": "paper", "norm": 0.5 });
    let agent = config("roful", keys).build(&problem).unwrap();
    let mut agent = Player::of(agent, &problem);
    let error = agent.offer(&[1.0, 0.0]).unwrap_err().to_string();
    assert!(error.contains("norm") && !error.contains("clip"), "{error}");
}

#[test]
fn mixing_expects_what_scaling_does() {
    for kind in SCALED {
        for seed in [2, 3] {
            let world = World::of(kind, seed, Some(0.3));
            let base = config(kind, json!({ "parameter_norm": 1.2 }));
            let mut scaled = Player::of(base.build(&world.problem).unwrap(), &world.problem);
            let mixed = base.clone().with_whole_actions();
            assert_eq!(
                mixed,
                config(kind, json!({ "parameter_norm": 1.2, "play": "mixed" }))
            );
            let mut mixed = Player::of(mixed.build(&world.problem).unwrap(), &world.problem);
            let random = &mut Random::new(1);
            let mut mixtures = 0;
            for round in 0..400 {
                let (one, both) = (scaled.decide().clone(), mixed.decide().clone());
                assert_eq!(one.policy.len(), 1);
                assert_eq!(both.scale, 1.0);
                assert!(one.scale > 0.0 && one.scale <= 1.0);
                let x =
                    |agent: &Player<Box<dyn Agent>>, a: usize| agent.features(a).unwrap().to_vec();
                let whole = x(&scaled, one.policy[0].0);
                for parameter in [&world.theta, &world.mus[0]] {
                    let expected = one.scale * dot(&whole, parameter);
                    let mixture: f64 = (both.policy.iter())
                        .map(|&(a, p)| p * dot(&x(&mixed, a), parameter))
                        .sum();
                    assert!((expected - mixture).abs() < 1e-12, "{kind}, {round}");
                }
                assert!(both.policy.is_sorted());
                let total: f64 = both.policy.iter().map(|entry| entry.1).sum();
                assert!((total - 1.0).abs() < 1e-15);
                assert_eq!(one.guardrails, both.guardrails);
                assert_eq!(one.optimistic_reward, both.optimistic_reward);
                mixtures += usize::from(both.policy.len() == 2);
                let played: Vec<f64> = whole.iter().map(|x| x * one.scale).collect();
                let (reward, costs) = world.pull(random, &played);
                scaled.observe_at(&played, reward, &costs).unwrap();
                mixed.observe_at(&played, reward, &costs).unwrap();
            }
            assert!(mixtures > 100, "{kind}: {mixtures}");
        }
    }
    // An own choice stands, and others have none.
    let given = config("roful", json!({ "play": "scaled" })).with_whole_actions();
    let AgentConfig::Roful(roful) = given else {
        panic!("as declared")
    };
    assert_eq!(roful.play, Some(Play::Scaled));
    let plain = AgentConfig::of_kind("opb").unwrap();
    assert_eq!(plain.clone().with_whole_actions(), plain);
}

/// Numbers beyond all measure make it play nothing; they do not keep it busy for ever.
#[test]
fn parameters_beyond_all_measure_are_answered() {
    for kind in all() {
        let world = World::of(kind, 3, None);
        for norm in [1e150, 1e300, f64::MAX] {
            let built = config(kind, json!({"parameter_norm": norm})).build(&world.problem);
            let Ok(mut agent) = built else { continue };
            for _ in 0..3 {
                let decision = agent.decide_arms();
                let total: f64 = decision.policy.iter().map(|entry| entry.1).sum();
                assert!((total - 1.0).abs() < 1e-9, "{kind}: {decision:?}");
                assert!(
                    (0.0..=1.0).contains(&decision.scale),
                    "{kind}: {decision:?}"
                );
            }
        }
    }
    // A ridge that rounding would undo promises nothing.
    let error = config("roful", json!({"lambda": 1e-100}))
        .build(&World::of("roful", 3, None).problem)
        .err()
        .expect("refused");
    assert!(
        error.to_string().contains("must be at least 1e-9"),
        "{error}"
    );
}

/// S must be long enough for the declared costs of the safe action.
#[test]
fn a_parameter_norm_too_short_for_the_safe_cost_is_refused() {
    let most = Guardrail {
        name: "cost".into(),
        at_most: Some(0.5),
        safe_cost: Some(0.2),
        ..Guardrail::default()
    };
    let least = Guardrail {
        at_most: None,
        at_least: Some(2.5),
        safe_cost: Some(2.6),
        range: Some([2.0, 3.3].into()),
        ..most.clone()
    };
    for (guardrail, needs) in [(most, 2.0), (least, 20.0)] {
        let problem = Problem::contextual(vec![0.1, 0.0, 0.0], vec![guardrail]);
        for kind in ["lin_ucb", "lin_ts", "conservative_lin_ucb"] {
            let rival = |s| AgentConfig::of_kind(kind).unwrap().with_parameter_norm(s);
            let refused = rival(needs * 0.999)
                .build(&problem)
                .err()
                .unwrap()
                .to_string();
            for word in ["guardrail[0].safe_cost", "parameter_norm", "at least"] {
                assert!(refused.contains(word), "{refused}");
            }
            assert!(rival(needs).build(&problem).is_ok());
        }
    }
    // Arms that are their own features: every mean is known to lie in its range.
    let far = Guardrail {
        range: Some([5.0, 6.0].into()),
        ..at_most(5.9, Some(5.5))
    };
    let config = banister::OplbConfig {
        norm: Some(2.0),
        ..Default::default()
    };
    let resolved = AgentConfig::Oplb(config).resolved(&common::problem(4, vec![far]));
    let AgentConfig::Oplb(own) = resolved else {
        panic!()
    };
    assert_eq!((own.parameter_norm, own.lambda), (Some(12.0), Some(0.2)));
}
