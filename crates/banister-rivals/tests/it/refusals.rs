//! Refusals of agents, as tables: problems outside their setting, and parameters that cannot be.

use crate::common;
use crate::worlds;

use crate::common::player::{Inspect as _, Player};
use banister::{
    Agent, Drift, DriftUnit, Fallback, Guardrail, Problem, Registry as _, Round, SignalConfig,
};
use banister_rivals::AgentConfig;
use banister_rivals::linear::Play;
use common::linear::dot;
use common::{Random, at_most, read, refused, rows};
use serde_json::json;
use worlds::{SCALED, WHOLE, World, all, config, parts};

/// Problems by name; the safe action of linear ones is x_0 = 0 or elsewhere.
fn problem_of(name: &str) -> Problem {
    let named = |name: &str, guardrail: Guardrail| Guardrail {
        name: name.into(),
        ..guardrail
    };
    let relative = Guardrail {
        relative: true,
        ..named("latency", at_most(1.1, None))
    };
    let negative = Guardrail {
        signal: SignalConfig {
            range: Some([-1.0, 1.0].into()),
            ..SignalConfig::default()
        },
        ..at_most(-0.1, None)
    };
    let moving = Guardrail {
        signal: SignalConfig {
            drift: Some(Drift {
                by: 1e-6,
                per: DriftUnit::Decision,
                pause: None,
            }),
            ..SignalConfig::default()
        },
        ..at_most(0.5, Some(0.1))
    };
    let arms = |guardrails| Problem {
        guardrails,
        ..common::problem(3, Vec::new())
    };
    let known = at_most(0.5, Some(0.1));
    let unknown = at_most(0.5, None);
    let linear = |x: [f64; 2], guardrails| Problem::contextual(x.to_vec(), guardrails);
    let (zero, elsewhere) = ([0.0, 0.0], [1.0, 0.0]);
    match name {
        "arms" => arms(vec![known]),
        "arms, none" => arms(vec![]),
        "arms, relative" => arms(vec![relative]),
        "arms, moving" => arms(vec![moving]),
        "arms, unknown" => arms(vec![known, named("returns", unknown)]),
        "zero" => linear(zero, vec![unknown]),
        "zero, none" => linear(zero, vec![]),
        "zero, two" => linear(zero, vec![unknown.clone(), named("other", unknown)]),
        "zero, negative" => linear(zero, vec![negative]),
        "zero, known" => linear(zero, vec![known]),
        "elsewhere" => linear(elsewhere, vec![known]),
        "elsewhere, unknown" => linear(elsewhere, vec![unknown]),
        "elsewhere, relative" => linear(elsewhere, vec![relative]),
        "elsewhere, moving" => linear(elsewhere, vec![moving]),
        other => panic!("no problem {other}"),
    }
}

/// Kinds that a row is about: one, several, or all of a sort.
fn kinds_of(names: &str) -> Vec<String> {
    let of_arms = |kind: &String| {
        let config = AgentConfig::of_kind(kind).expect("its defaults");
        !config.takes_features() && !["opb", "segmented"].contains(&&kind[..])
    };
    match names {
        "arms" => AgentConfig::kinds().into_iter().filter(of_arms).collect(),
        "parts" => parts().map(String::from).collect(),
        "whole" => WHOLE.map(String::from).to_vec(),
        "linear" => all().map(String::from).collect(),
        names => names.split(' ').map(String::from).collect(),
    }
}

/// Kinds, problem, parameters beside those that it cannot do without, and words of the message; KIND is its name.
const TABLE: &str = "
    arms                 | arms, relative      |                                | `kind` is KIND & `latency` is relative
    arms                 | arms, moving        |                                | `guardrails[0].drift` & KIND & `segmented`
    conservative_ucb ma_ops s_ops pessimistic_optimistic s_colts | arms, unknown | | `kind` is KIND & `safe_cost` & `returns`
    ucb1                 | arms                | exploration = 0                | `exploration`
    kl_ucb               | arms                | c = -1                         | `c`
    s_colts r_colts      | arms                | omega = 0                      | `omega`
    r_colts              | arms                | draws_per_round = 0            | `draws_per_round`
    r_colts              | arms                | draws_per_round = 1001         | `draws_per_round`
    s_ops ma_ops         | arms                |                                | `horizon`
    s_ops ma_ops         | arms                | horizon = 0                    | `horizon`
    s_ops ma_ops         | arms                | learning_rate = 0              | `learning_rate`
    s_ops ma_ops         | arms                | horizon = 9, exploration = -1  | `exploration`
    pessimistic_optimistic | arms              | margin = 0                     | `margin`
    pessimistic_optimistic | arms              | reward_weight = 0              | `reward_weight`
    pessimistic_optimistic | arms              | tightening = -1                | `tightening`
    lagrange_bwk         | arms                | horizon = 9, exploration = 0   | `exploration`
    lagrange_bwk         | arms                | horizon = 9, exploration = 1   | `exploration`
    ucb_bwk primal_dual_bwk lagrange_bwk | arms |                               | `horizon`
    ucb_bwk primal_dual_bwk lagrange_bwk | arms | horizon = 0                   | `horizon`
    ucb_bwk primal_dual_bwk lagrange_bwk | arms | horizon = 9, epsilon = -0.1   | `epsilon`
    ucb_bwk              | arms                | horizon = 9, epsilon = 1       | `epsilon`
    primal_dual_bwk lagrange_bwk | arms        | horizon = 9, epsilon = 0       | `epsilon`
    parts                | elsewhere           |                                | kind & KIND & x_0 = 0 & oplb
    parts                | zero, none          |                                | kind & KIND & one guardrail & 0
    parts                | zero, two           |                                | kind & KIND & one guardrail & 2
    parts                | zero, negative      |                                | safe_cost & margin & -0.1
    parts                | arms                |                                | kind & KIND & x_0 = 0
    parts                | zero, known         |                                | safe_cost & its mean is 0
    conservative_lin_ucb | elsewhere, unknown  |                                | kind & KIND & safe_cost & cost
    whole                | elsewhere, relative |                                | kind & KIND & relative
    whole                | elsewhere, moving   |                                | `guardrails[0].drift` & KIND
    linear               | zero                | delta = 0                      | delta
    linear               | zero                | delta = 1                      | delta
    linear               | zero                | delta = -1                     | delta
    linear               | zero                | lambda = 0                     | lambda
    linear               | zero                | lambda = -1                    | lambda
    linear               | zero                | parameter_norm = 0             | parameter_norm
    linear               | zero                | parameter_norm = -1            | parameter_norm
    hplc_lucb safe_lts   | zero                | noise_factor = 0               | noise_factor
    hplc_lucb safe_lts   | zero                | log_every = 0                  | log_every & at least 1
    hplc_lucb safe_lts   | zero                | radius = 'logdet', noise_factor = 2 | noise_factor & logdet
    hplc_lucb safe_lts   | zero                | radius = 'logdet', log_every = 2 | log_every & logdet
    roful gen_op         | zero                | max_scale = 0                  | max_scale
    roful gen_op         | zero                | max_scale = 1.5                | max_scale
    roful gen_op         | zero                | radius = 'paper'               | norm & absent & logdet
    lin_ts               | zero                | v = 0                          | v
    lin_s_colts lin_r_colts | zero             | omega = 0                      | omega
    lin_r_colts          | zero                | draws = 0                      | draws
    lin_r_colts          | zero                | draws = 100000                 | draws
    safe_lucb            | zero                | exploration = 5, horizon = 0   | horizon
    roful                | zero                | lambda = 1e-100                | must be at least 1e-9
";

#[test]
fn what_is_outside_the_setting_or_cannot_be_is_refused_with_the_reason() {
    for (cells, words) in rows(TABLE) {
        for kind in kinds_of(cells[0]) {
            let mut config = config(&kind, read(cells[2]));
            if cells[1] != "arms" {
                config = config.with_horizon(400, false);
            }
            let words: Vec<String> = words.iter().map(|w| w.replace("KIND", &kind)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let what = format!("{kind} {cells:?}");
            refused(config.build(&problem_of(cells[1])), &words, &what);
        }
    }
    for kind in kinds_of("arms") {
        for bad in [0.0, 1.0, -0.5, 2.0, f64::NAN] {
            let mut config = config(&kind, json!({})).with_horizon(400, false);
            if let Some(delta) = config.delta_mut() {
                *delta = bad;
                refused(config.build(&problem_of("arms")), &["`delta`"], &kind);
            }
        }
    }
    for kind in [kinds_of("arms"), kinds_of("linear")].concat() {
        let unknown = json!({ "kind": kind, "surprise": 1 });
        let read = serde_json::from_value::<AgentConfig>(unknown);
        refused(read, &["surprise"], &kind);
    }
}

/// Neighbours of what is refused.
#[test]
fn what_is_inside_the_setting_is_built() {
    let needs_costs = kinds_of("conservative_ucb ma_ops s_ops pessimistic_optimistic s_colts");
    for kind in kinds_of("arms") {
        let config = config(&kind, json!({})).with_horizon(400, false);
        let other = if needs_costs.contains(&kind) {
            "arms, none"
        } else {
            "arms, unknown"
        };
        assert!(config.build(&problem_of(other)).is_ok(), "{kind}");
    }
    // Rates of one's own, and the update for fixed means, need no horizon.
    for kind in ["s_ops", "ma_ops"] {
        for keys in [
            json!({ "learning_rate": 0.1 }),
            json!({ "update": "optimistic" }),
        ] {
            let config = config(kind, keys);
            assert!(config.build(&problem_of("arms")).is_ok());
            assert_eq!(config.clone().with_horizon(9, false), config);
        }
    }
    let zero = problem_of("zero");
    for kind in parts() {
        assert!(config(kind, json!({})).build(&zero).is_ok(), "{kind}");
    }
    for kind in ["lin_ucb", "lin_ts"] {
        let unknown = problem_of("elsewhere, unknown");
        let mut agent = config(kind, json!({})).build(&unknown).unwrap();
        let round = Round {
            only_safe: Some(Fallback::Paused),
            ..Round::default()
        };
        let decision = agent.decide(&round).unwrap();
        assert!(decision.guardrails[0].slack >= 0.0);
    }
    // Too long for what was declared.
    let keys = json!({ "radius": "paper", "norm": 0.5 });
    let mut agent = Player::of(config("roful", keys).build(&zero).unwrap(), &zero);
    let error = agent.offer(&[1.0, 0.0]).unwrap_err().to_string();
    assert!(error.contains("norm") && !error.contains("clip"), "{error}");
}

/// With a horizon of 1000 it explores for 100 outcomes; without, it has to be told.
#[test]
fn safe_lucb_explores_for_a_time_that_follows_from_the_horizon() {
    let problem = problem_of("zero");
    let bare = AgentConfig::of_kind("safe_lucb").unwrap();
    refused(bare.build(&problem), &["exploration"], "no horizon");
    let told = bare.with_horizon(1000, false).with_parameter_norm(1.0);
    let mut agent = Player::of(told.build(&problem).unwrap(), &problem);
    agent.offer(&[1.0, 0.0, 0.6, 0.8]).unwrap();
    for round in 0..150 {
        // Only exploring draws: a decision on the same outcomes is another one.
        let policies: Vec<_> = (0..20).map(|_| agent.decide().policy.clone()).collect();
        let differ = policies.iter().any(|policy| *policy != policies[0]);
        assert_eq!(differ, round < 100, "round {round}");
        agent.observe_at(&[0.1, 0.1], 0.5, &[0.1]).unwrap();
    }
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
}

/// S must be long enough for the declared costs of the safe action.
#[test]
fn a_parameter_norm_too_short_for_the_safe_cost_is_refused() {
    let most = at_most(0.5, Some(0.2));
    let least = Guardrail {
        at_most: None,
        at_least: Some(2.5),
        safe_cost: Some(2.6),
        signal: SignalConfig {
            range: Some([2.0, 3.3].into()),
            ..most.signal.clone()
        },
        ..most.clone()
    };
    for (guardrail, needs) in [(most, 2.0), (least, 20.0)] {
        let problem = Problem::contextual(vec![0.1, 0.0, 0.0], vec![guardrail]);
        for kind in ["lin_ucb", "lin_ts", "conservative_lin_ucb"] {
            let rival = |s| AgentConfig::of_kind(kind).unwrap().with_parameter_norm(s);
            let words = ["guardrails[0].safe_cost", "parameter_norm", "at least"];
            refused(rival(needs * 0.999).build(&problem), &words, kind);
            assert!(rival(needs).build(&problem).is_ok());
        }
    }
    // Arms that are their own features: every mean is known to lie in its range.
    let far = Guardrail {
        signal: SignalConfig {
            range: Some([5.0, 6.0].into()),
            ..SignalConfig::default()
        },
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
