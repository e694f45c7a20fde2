//! The life of linear rivals: snapshots, what is learned, what is refused, and playing whole actions.

use crate::common;
use crate::worlds;

use banister::{
    Agent, ArmRanges, Error, Fallback, Guarantee, Guardrail, Origin, Outcomes, Played, Problem,
};
use banister_rivals::AgentConfig;
use banister_rivals::linear::Play;
use common::linear::dot;
use common::{Random, at_most};
use serde_json::{Value, json};
use worlds::{SCALED, WHOLE, World, all, config, parts, played};

/// Plays `rounds` rounds beside one that is saved and restored every few of them.
fn play(kind: &str, keys: Value, changing: bool, rounds: usize) -> Box<dyn Agent> {
    let world = World::of(kind, 8, None);
    let config = config(kind, keys);
    let mut whole = config.build(&world.problem).unwrap();
    whole.reseed(4, 5);
    let mut parts = AgentConfig::restore(&whole.save()).unwrap().agent;
    let random = &mut Random::new(17);
    let mut late = Vec::new();
    for round in 0..rounds {
        if changing {
            let offered = world.offer(random);
            whole.offer(&offered).unwrap();
            parts.offer(&offered).unwrap();
        }
        let decision = whole.decide().clone();
        assert_eq!(&decision, parts.decide(), "{kind}, round {round}");
        let action = decision.draw(random.unit());
        let x = whole.features(action).unwrap();
        let x: Vec<f64> = x.iter().map(|x| x * decision.scale).collect();
        let (reward, costs) = world.pull(random, &x);
        if !changing && decision.scale == 1.0 && round % 3 == 0 {
            for agent in [&mut whole, &mut parts] {
                agent.observe(action, reward, &costs).unwrap();
            }
        } else {
            late.push((round + random.below(5), x, reward, costs));
        }
        for agent in [&mut whole, &mut parts] {
            for (_, x, reward, costs) in late.iter().filter(|o| o.0 == round) {
                agent.observe_at(x, *reward, costs).unwrap();
            }
        }
        late.retain(|o| o.0 > round);
        if round % 13 == 0 {
            let json = parts.save();
            let restored = AgentConfig::restore(&json).unwrap();
            assert_eq!(restored.config, config);
            parts = restored.agent;
            assert_eq!(parts.save(), json);
            assert_eq!(parts.outcomes(), whole.outcomes());
            assert_eq!(parts.names(), whole.names());
        }
    }
    assert_eq!(parts.save(), whole.save(), "{kind}");
    whole
}

#[test]
fn restored_agents_go_on_bit_for_bit() {
    for kind in all() {
        for changing in [false, true] {
            play(kind, json!({}), changing, 1300);
        }
    }
    play("roful", json!({ "play": "mixed" }), false, 300);
    play("lin_ts", json!({ "v": 0.1 }), true, 300);
}

#[test]
fn another_seed_is_another_sample() {
    for kind in ["safe_lts", "lin_ts", "safe_lucb", "lin_s_colts"] {
        let world = World::of(kind, 8, None);
        let config = config(kind, json!({}));
        let run = |seed: u64, stream: u64| -> Vec<usize> {
            let mut agent = config.build(&world.problem).unwrap();
            agent.reseed(seed, stream);
            (0..30).map(|_| agent.decide().policy[0].0).collect()
        };
        assert_eq!(run(1, 2), run(1, 2));
        assert_ne!(run(1, 2), run(1, 3), "{kind}");
        assert_ne!(run(1, 2), run(2, 2), "{kind}");
    }
}

#[test]
fn deciding_teaches_nothing() {
    for kind in all() {
        let world = World::of(kind, 2, None);
        let config = config(kind, json!({}));
        for changing in [false, true] {
            let mut silent = config.build(&world.problem).unwrap();
            let mut busy = config.build(&world.problem).unwrap();
            let random = &mut Random::new(6);
            if changing {
                silent.offer(&world.offer(random)).unwrap();
            }
            for round in 0..200 {
                if changing {
                    busy.offer(&world.offer(random)).unwrap();
                }
                if round % 7 == 0 {
                    busy.decide_safe(Fallback::Paused).unwrap();
                    busy.estimates();
                }
                let x = played(&mut *busy, random.unit());
                let (reward, costs) = world.pull(random, &x);
                silent.observe_at(&x, reward, &costs).unwrap();
                busy.observe_at(&x, reward, &costs).unwrap();
            }
            let saved = busy.save_learned();
            assert_eq!(silent.save_learned(), saved, "{kind}");
            let mut restored = AgentConfig::restore(&saved).unwrap().agent;
            assert_eq!(restored.save_learned(), saved, "{kind}");
            assert_eq!(restored.decide().outcomes, 200);
        }
    }
}

#[test]
fn broken_snapshots_are_refused() {
    for kind in all() {
        let mut agent = play(kind, json!({}), false, 60);
        agent.decide();
        let good: Value = serde_json::from_str(&agent.save()).unwrap();
        assert!(!good["saved"]["evidence"]["columns"].is_null());
        let refused = |change: &dyn Fn(&mut Value)| {
            let mut json = good.clone();
            change(&mut json);
            match AgentConfig::restore(&json.to_string()) {
                Err(error) => error,
                Ok(_) => panic!("{kind}: restored from {json}"),
            }
        };
        let snapshot = |error: Error, word: &str| {
            assert!(matches!(error, Error::Snapshot { .. }), "{kind}: {error}");
            assert!(error.to_string().contains(word), "{kind}: {error}");
        };
        let evidence = |key: &'static str, value: Value| {
            refused(&move |j: &mut Value| j["saved"]["evidence"][key] = value.clone())
        };
        snapshot(refused(&|j| j["version"] = json!(1)), "version");
        snapshot(evidence("actions", json!([1.0])), "actions");
        snapshot(evidence("actions", json!([1.0, 2.0, 3.0])), "safe action");
        snapshot(evidence("names", json!(["one"])), "names");
        snapshot(evidence("surprise", json!(1)), "surprise");
        let factor =
            refused(&|j| j["saved"]["evidence"]["regression"]["factor"] = json!([1.0, 0.0]));
        snapshot(factor, "regression");
        let columns = refused(&|j| j["saved"]["evidence"]["columns"]["means"] = json!([[]]));
        snapshot(columns, "columns");
        snapshot(refused(&|j| j["saved"]["memory"] = json!([7])), "its ");
        refused(&|j| j["config"]["delta"] = json!(2.0));
        refused(&|j| j["config"]["lambda"] = json!(0.0));
        refused(&|j| j["config"]["kind"] = json!("nothing"));
        let text = agent.save();
        for cut in (0..text.len()).step_by(text.len() / 53 + 1) {
            assert!(AgentConfig::restore(&text[..cut]).is_err());
        }
    }
    // A budget that counts more than there was.
    let agent = play("conservative_lin_ucb", json!({}), false, 60);
    let mut json: Value = serde_json::from_str(&agent.save()).unwrap();
    json["saved"]["memory"]["safe"] = json!(1000);
    let error = AgentConfig::restore(&json.to_string()).err().unwrap();
    assert!(error.to_string().contains("budget"), "{error}");
}

#[test]
fn what_cannot_be_changes_nothing() {
    for kind in all() {
        let world = World::of(kind, 2, None);
        let m = world.mus.len();
        let mut agent = config(kind, json!({})).build(&world.problem).unwrap();
        let good = vec![0.1; m];
        agent.observe(1, 0.5, &good).unwrap();
        agent.decide();
        let before = agent.save();
        let x = [0.1, 0.2, 0.3];
        for (reward, costs) in [
            (f64::NAN, good.clone()),
            (f64::INFINITY, good.clone()),
            (9.0, good.clone()),
            (0.5, vec![f64::NAN; m]),
            (0.5, vec![-77.0; m]),
            (0.5, vec![0.1; m + 1]),
            (0.5, vec![]),
        ] {
            let checked = agent.check_outcome(1, reward, &costs, 0);
            assert!(checked.is_err());
            assert_eq!(checked, agent.observe(1, reward, &costs), "{kind}");
            assert_eq!(checked, agent.observe_at(&x, reward, &costs));
            assert_eq!(checked, agent.check_outcome_at(&x, reward, &costs, 0));
        }
        for x in [
            vec![0.1; 2],
            vec![0.1; 4],
            vec![0.1, f64::NAN, 0.1],
            vec![0.1, f64::INFINITY, 0.1],
            vec![1e200; 3],
        ] {
            assert!(agent.observe_at(&x, 0.5, &good).is_err(), "{kind}");
            assert!(agent.check_outcome_at(&x, 0.5, &good, 0).is_err());
            assert!(agent.offer(&x).is_err(), "{kind}");
        }
        assert_eq!(
            agent.observe(6, 0.5, &good),
            Err(Error::NoSuchArm { arm: 6, last: 5 })
        );
        let features = [0.1, 0.2, 0.3, 0.1, f64::NAN, 0.3];
        let costs = vec![0.1; 2 * m];
        let mut batch = Outcomes {
            played: Played::Features(&features),
            rewards: &[0.5, 0.5],
            costs: &costs,
            origin: Origin::Immediate,
        };
        assert!(agent.observe_batch(&batch).is_err());
        batch.played = Played::Arms(&[1, 9]);
        assert!(agent.observe_batch(&batch).is_err());
        assert_eq!(agent.save(), before, "{kind}");
        agent.observe_at(&x, 0.5, &good).unwrap();
    }
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
        let decision = agent.decide_safe(Fallback::Paused).unwrap();
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
        .unwrap();
    agent.offer(&[1.0, 0.0, 0.6, 0.8]).unwrap();
    for round in 0..150 {
        let before = agent.save();
        agent.decide();
        assert_eq!(
            agent.save() == before,
            round >= 100,
            "round {round}: only exploring draws"
        );
        agent.observe_at(&[0.1, 0.1], 0.5, &[0.1]).unwrap();
        agent.decide_safe(Fallback::Paused).unwrap();
    }
    // Too long for what was declared.
    let keys = json!({ "radius": "paper", "norm": 0.5 });
    let mut agent = config("roful", keys).build(&problem).unwrap();
    let error = agent.offer(&[1.0, 0.0]).unwrap_err().to_string();
    assert!(error.contains("norm") && !error.contains("clip"), "{error}");
}

#[test]
fn mixing_expects_what_scaling_does() {
    for kind in SCALED {
        for seed in [2, 3] {
            let world = World::of(kind, seed, Some(0.3));
            let base = config(kind, json!({ "parameter_norm": 1.2 }));
            let mut scaled = base.build(&world.problem).unwrap();
            let mixed = base.clone().with_whole_actions();
            assert_eq!(
                mixed,
                config(kind, json!({ "parameter_norm": 1.2, "play": "mixed" }))
            );
            let mut mixed = mixed.build(&world.problem).unwrap();
            let random = &mut Random::new(1);
            let mut mixtures = 0;
            for round in 0..400 {
                let (one, both) = (scaled.decide().clone(), mixed.decide().clone());
                assert_eq!(one.policy.len(), 1);
                assert_eq!(both.scale, 1.0);
                assert!(one.scale > 0.0 && one.scale <= 1.0);
                let x = |agent: &dyn Agent, a: usize| agent.features(a).unwrap().to_vec();
                let whole = x(&*scaled, one.policy[0].0);
                for parameter in [&world.theta, &world.mus[0]] {
                    let expected = one.scale * dot(&whole, parameter);
                    let mixture: f64 = (both.policy.iter())
                        .map(|&(a, p)| p * dot(&x(&*mixed, a), parameter))
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

#[test]
fn arms_come_and_go_and_the_safe_one_can_be_asked_for() {
    for kind in all() {
        let world = World::of(kind, 2, None);
        let registered = config(kind, json!({}));
        assert!(registered.takes_features());
        assert_eq!(
            registered.guarantee() == Guarantee::PerAction,
            SCALED.contains(&kind)
        );
        let mut agent = registered.build(&world.problem).unwrap();
        assert_eq!(
            agent.add_arm("new", Some(&[0.2, 0.1, 0.3]), &ArmRanges::default()),
            Ok(6)
        );
        assert!(agent.retire_arm(2).is_err(), "the safe one stays");
        agent.retire_arm(0).unwrap();
        assert_eq!(agent.names()[1], "arm 2");
        assert_eq!(agent.actions().unwrap().safe, 1);
        let decision = agent.decide_safe(Fallback::Paused).unwrap();
        assert_eq!(
            (&decision.policy[..], decision.scale),
            (&[(1, 1.0)][..], 1.0)
        );
        assert_eq!(decision.fallback, Some(Fallback::Paused));
        assert!(decision.guardrails.iter().all(|g| g.slack >= 0.0));
        let known = world.problem.guardrails[0].safe_cost.unwrap();
        assert!((decision.guardrails[0].pessimistic_cost - known).abs() < 1e-12);
        assert_eq!(agent.decide().fallback, None);
        let estimates = agent.estimates();
        assert_eq!(estimates.len(), 6);
        assert_eq!(agent.estimate(3).as_ref(), Some(&estimates[3]));
        assert_eq!(agent.estimate(6), None);
        assert!((estimates[1].costs[0].upper - known).abs() < 1e-12);
    }
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
                let decision = agent.decide();
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
