//! Rollouts: ramps, floors, holdouts, times and namespaces, all inside the policy that is certified.

use crate::common;

use banister::Fallback;
use banister_engine::{Import, ImportOutcomes, Timestamp, rebuild};
use common::engine::{Caller, Engine, conflict, field, plain};
use common::{Place, both, until};
use serde_json::{Value, json};

both!(
    a_ramp_limits_the_traffic_away_from_the_safe_arm,
    nothing_but_the_safe_arm_before_the_start_and_after_the_end,
    a_holdout_is_always_safe_and_the_law_is_the_policy,
    floors_are_kept_once_they_are_certified,
    experiments_of_a_namespace_share_no_unit,
    rollouts_are_declared_by_the_book,
);

/// An experiment of which much is known: `new` is cheap and earns more.
fn known(engine: &Caller, declaration: Value) {
    let name = declaration["name"].as_str().unwrap().to_string();
    engine.create(declaration).unwrap();
    let arms: Vec<u32> = (0..1500).map(|i| i % 3).collect();
    let of = |values: [f64; 3]| arms.iter().map(|&arm| values[arm as usize]).collect();
    let import = Import {
        rewards: of([0.2, 0.9, 0.1]),
        costs: of([0.1, 0.2, 0.3]),
        arms: arms.clone(),
        ..Import::default()
    };
    let experiment = name.as_str().into();
    engine
        .execute(ImportOutcomes { experiment, import })
        .unwrap();
}

fn with(name: &str, rollout: Value) -> Value {
    let mut declaration = plain(name);
    declaration["rollout"] = rollout;
    declaration
}

fn on_units(name: &str, rollout: Value) -> Value {
    let mut declaration = with(name, rollout);
    declaration["unit"] = json!({"name": "user", "period": "forever"});
    declaration
}

fn away(engine: &Caller, name: &str) -> f64 {
    let decided = engine.decide_with(name, json!({})).unwrap();
    assert_eq!(decided.published.fallback, None);
    1.0 - decided.published.probability(0)
}

fn a_ramp_limits_the_traffic_away_from_the_safe_arm(place: &Place) {
    let engine = Engine::start(&place.database);
    let ramp = json!({"ramp": [{"after": 0, "at_most": 0.05}, {"after": 2, "at_most": 0.3}, {"after": "1h", "at_most": 1}]});
    known(&engine, with("x", ramp));
    let first = away(&engine, "x");
    assert!((first - 0.05).abs() < 1e-9, "{first}");
    let cost = engine
        .decide_with("x", json!({}))
        .unwrap()
        .published
        .guardrails[0];
    assert!(cost.pessimistic_cost <= cost.threshold && cost.slack > 0.0);
    until("the second step", || {
        engine.show("x").unwrap().share == Some(0.3)
    });
    let second = away(&engine, "x");
    assert!((second - 0.3).abs() < 1e-9, "{second}");
    // A change counts from the next decision on.
    engine
        .change("x", json!({"rollout": {"ramp": [{"at_most": 0.5}]}}))
        .unwrap();
    assert!((away(&engine, "x") - 0.5).abs() < 1e-9);
    engine.change("x", json!({"rollout": null})).unwrap();
    assert!(away(&engine, "x") > 0.9);
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
    let engine = Engine::start(&place.database);
    assert!(away(&engine, "x") > 0.9);
}

fn nothing_but_the_safe_arm_before_the_start_and_after_the_end(place: &Place) {
    let engine = Engine::start(&place.database);
    let reason = |name: &str| {
        let decided = engine.decide_with(name, json!({})).unwrap();
        let published = decided.published;
        assert!(published.fallback.is_none() || published.policy == [(0, 1.0)]);
        published.fallback
    };
    let later = |seconds: f64| Timestamp::now().plus_seconds(seconds).to_string();
    known(&engine, with("later", json!({"start": later(3600.0)})));
    known(&engine, with("over", json!({"end": later(-3600.0)})));
    known(&engine, with("short", json!({"end": later(2.0)})));
    known(
        &engine,
        with(
            "waiting",
            json!({"ramp": [{"after": "1h", "at_most": 0.5}]}),
        ),
    );
    assert_eq!(reason("later"), Some(Fallback::NotRunning));
    assert_eq!(reason("over"), Some(Fallback::NotRunning));
    assert_eq!(reason("waiting"), Some(Fallback::NotRunning));
    until("the end", || reason("short") == Some(Fallback::NotRunning));
    assert!(engine.show("short").unwrap().counts.decisions > 0);
    engine.change("later", json!({"rollout": {}})).unwrap();
    assert_eq!(reason("later"), None);
    // No policy is published twice for it.
    let before = engine.stats().number;
    for _ in 0..20 {
        reason("over");
    }
    assert_eq!(engine.stats().number - before, 20);
}

fn a_holdout_is_always_safe_and_the_law_is_the_policy(place: &Place) {
    let engine = Engine::start(&place.database);
    known(
        &engine,
        on_units(
            "x",
            json!({"holdout": 0.2, "ramp": [{"at_most": 0.6}, {"after": "9d", "at_most": 0.7}]}),
        ),
    );
    let arm = |unit: usize| {
        let decided = engine
            .decide_with("x", json!({"unit": format!("u{unit}")}))
            .unwrap();
        let published = &decided.published;
        assert_eq!(published.probability(decided.index), decided.probability);
        (decided.index, 1.0 - published.probability(0))
    };
    let drawn: Vec<(u32, f64)> = (0..1500).map(arm).collect();
    let law = drawn[0].1;
    assert!((law - 0.6).abs() < 1e-9, "{law}");
    let away = drawn.iter().filter(|own| own.0 != 0).count() as f64 / 1500.0;
    assert!(
        (away - law).abs() < 5.0 * (law * (1.0 - law) / 1500.0).sqrt(),
        "{away}"
    );
    // Those held out are the same whatever the policy: with all of the traffic, a fifth stays safe.
    engine
        .change("x", json!({"rollout": {"holdout": 0.2}}))
        .unwrap();
    let safe: Vec<usize> = (1500..3000).filter(|&unit| arm(unit).0 == 0).collect();
    let share = safe.len() as f64 / 1500.0;
    assert!(
        (share - 0.2).abs() < 5.0 * (0.16_f64 / 1500.0).sqrt(),
        "{share}"
    );
    assert_eq!(
        field(engine.change("x", json!({"rollout": null}))),
        "rollout"
    );
    assert_eq!(
        field(engine.change("x", json!({"rollout": {"holdout": 0.3}}))),
        "rollout"
    );
}

fn floors_are_kept_once_they_are_certified(place: &Place) {
    let engine = Engine::start(&place.database);
    engine
        .create(with("new", json!({"floors": {"odd": 0.9}})))
        .unwrap();
    // The margin 0.4 pays for 4/9 of an arm that may cost 1; a thousandth is left to the program.
    let odd = engine
        .decide_with("new", json!({}))
        .unwrap()
        .published
        .probability(2);
    assert!((odd - 0.999 * 0.4 / 0.9).abs() < 1e-6, "{odd}");
    known(&engine, with("x", json!({"floors": {"odd": 0.15}})));
    let published = engine.decide_with("x", json!({})).unwrap().published;
    assert!(
        (published.probability(2) - 0.15).abs() < 1e-9,
        "{published:?}"
    );
    let own = published.guardrails[0];
    assert!(own.pessimistic_cost <= own.threshold);
}

fn experiments_of_a_namespace_share_no_unit(place: &Place) {
    let engine = Engine::start(&place.database);
    let part =
        |from: f64, to: f64| json!({"namespace": {"name": "checkout", "from": from, "to": to}});
    known(&engine, on_units("one", part(0.0, 0.5)));
    known(&engine, on_units("two", part(0.5, 0.8)));
    let refused = conflict(engine.create(on_units("three", part(0.7, 0.9))));
    // The caller's token may be for other experiments.
    assert!(!refused.contains("`two`"), "{refused}");
    let mut counts = [0; 3];
    for unit in 0..600 {
        let inside = |name: &str| {
            let decided = engine
                .decide_with(name, json!({"unit": format!("u{unit}")}))
                .unwrap();
            let is_outside = decided.published.fallback == Some(Fallback::Outside);
            assert!(!is_outside || decided.index == 0);
            let report =
                json!({"unit": format!("u{unit}"), "reward": 1.0, "costs": {"errors": 0.0}});
            let reported = engine.report(name, "", report);
            assert_eq!(reported.is_ok(), !is_outside);
            !is_outside
        };
        match (inside("one"), inside("two")) {
            (true, true) => panic!("{unit} is in both"),
            (one, two) => {
                counts[if one {
                    0
                } else if two {
                    1
                } else {
                    2
                }] += 1
            }
        }
    }
    for (count, share) in counts.into_iter().zip([0.5, 0.3, 0.2]) {
        let spread = (600.0 * share * (1.0_f64 - share)).sqrt();
        assert!(
            (f64::from(count) - 600.0 * share).abs() < 5.0 * spread,
            "{counts:?}"
        );
    }
    let view = engine.show("one").unwrap();
    assert_eq!(view.counts.decisions, counts[0] as u64);
    // An archived experiment's units are free again.
    engine.change("two", json!({"status": "archived"})).unwrap();
    engine.create(on_units("three", part(0.7, 0.9))).unwrap();
}

fn rollouts_are_declared_by_the_book(place: &Place) {
    let engine = Engine::start(&place.database);
    let bad = [
        (
            json!({"start": "2030-01-02T00:00:00Z", "end": "2030-01-01T00:00:00Z"}),
            "rollout.end",
        ),
        (
            json!({"ramp": [{"at_most": 0.5}, {"after": 1, "at_most": 0.4}]}),
            "rollout.ramp[1]",
        ),
        (
            json!({"ramp": [{"after": 2, "at_most": 0.2}, {"after": 1, "at_most": 0.4}]}),
            "rollout.ramp[1]",
        ),
        (json!({"ramp": [{"at_most": 1.5}]}), "rollout.ramp[0]"),
        (json!({"ramp": [{"at_most": 0.0}]}), "rollout.ramp[0]"),
        (json!({"floors": {"old": 0.1}}), "rollout.floors.old"),
        (json!({"floors": {"none": 0.1}}), "rollout.floors.none"),
        (
            json!({"floors": {"new": 0.6, "odd": 0.5}}),
            "rollout.floors.odd",
        ),
        (json!({"floors": {"new": -0.1}}), "rollout.floors.new"),
        // More than the last step of the ramp ever leaves to them.
        (
            json!({"floors": {"new": 0.1, "odd": 0.25}, "ramp": [{"at_most": 0.1}, {"after": 1, "at_most": 0.3}]}),
            "rollout.floors.odd",
        ),
        (json!({"holdout": 0.1}), "rollout.holdout"),
        (
            json!({"namespace": {"name": "n", "from": 0, "to": 1}}),
            "rollout.namespace",
        ),
    ];
    for (rollout, expected) in bad {
        assert_eq!(
            field(engine.create(with("x", rollout.clone()))),
            expected,
            "{rollout}"
        );
    }
    let mut segmented = with("x", json!({"ramp": [{"at_most": 0.5}]}));
    segmented["segments"] = json!(["a", "b"]);
    assert_eq!(field(engine.create(segmented)), "rollout");
    let mut linear = with("x", json!({"floors": {"odd": 0.1}}));
    linear["agent"] = json!({"kind": "oplb", "parameter_norm": 1});
    assert_eq!(field(engine.create(linear)), "rollout.floors.odd");
    let held = on_units("x", json!({"holdout": 0.8, "floors": {"new": 0.25}}));
    assert_eq!(field(engine.create(held)), "rollout.floors.new");
    // Exactly what they leave, and more than a step but the last does.
    for rollout in [
        json!({"floors": {"new": 0.1, "odd": 0.2}, "ramp": [{"at_most": 0.3}]}),
        json!({"floors": {"new": 0.3}, "ramp": [{"at_most": 0.1}, {"after": 1, "at_most": 0.3}]}),
        json!({"holdout": 0.9, "floors": {"new": 0.1}}),
    ] {
        let name = format!("e{}", engine.stats().number);
        engine.create(on_units(&name, rollout)).unwrap();
    }
    engine.create(with("x", json!({}))).unwrap();
    assert_eq!(field(engine.change("x", json!({"share": 0.1}))), "share");
    let floors = json!({"rollout": {"floors": {"new": 0.6}, "ramp": [{"at_most": 0.5}]}});
    assert_eq!(field(engine.change("x", floors)), "rollout.floors.new");
}
