//! Every registered kind in the log: declared, decided by, learned from, folded again; and what an agent
//! refuses is refused before it is written.

use crate::common;

use banister::guarantee::Guarantee;
use banister_engine::{Decided, Refusal, rebuild};
use banister_rivals::AgentConfig;
use common::Place;
use common::engine::{Engine, check, plain};
use serde_json::{Value, json};

/// A declaration that suits a kind.
fn declaration(config: &AgentConfig) -> Value {
    let mut declaration = plain(config.kind());
    declaration["guardrails"] = json!([{"name": "errors", "at_most": 0.5, "safe_cost": 0.1}]);
    let config = config
        .clone()
        .with_horizon(1000, false)
        .with_parameter_norm(1.0);
    declaration["agent"] = serde_json::to_value(&config).expect("plain");
    if config.takes_features() {
        // Nothing costs nothing: where parts of actions are played it has to be so.
        declaration["guardrails"] = json!([{
            "name": "errors", "at_most": 0.5, "range": [-1.0, 1.0], "safe_cost": 0.0,
        }]);
        declaration["reward"] = json!({"range": [-1.0, 1.0]});
        declaration["arms"] = json!([
            {"name": "old", "features": [0.0, 0.0]},
            {"name": "new", "features": [0.6, 0.8]},
            {"name": "odd", "features": [0.0, 1.0]},
        ]);
    }
    declaration
}

/// A request that suits a kind.
fn request(kind: &str) -> Value {
    if kind == "segmented" {
        json!({"segment": "all"})
    } else {
        json!({})
    }
}

/// A policy whose slack is not negative, if the agent promises that.
fn checked(config: &AgentConfig, decided: &Decided) {
    let promise = config.clone().with_whole_actions().guarantee();
    if promise == Guarantee::EveryRound {
        let rails = &decided.published.guardrails;
        assert!(
            rails.iter().all(|g| g.slack >= 0.0),
            "{config:?}: {rails:?}"
        );
        check(decided);
    } else {
        let total: f64 = (decided.published.policy.iter()).map(|entry| entry.1).sum();
        assert!((total - 1.0).abs() < 1e-9, "the policy sums to {total}");
    }
}

fn kinds() -> Vec<AgentConfig> {
    let of = |kind: &String| AgentConfig::of_kind(kind).expect("it has defaults");
    AgentConfig::kinds().iter().map(of).collect()
}

#[test]
fn every_kind_decides_learns_and_lasts() {
    let place = Place::sqlite();
    let engine = Engine::start(&place.database);
    for config in kinds() {
        let kind = config.kind();
        engine
            .create(declaration(&config))
            .unwrap_or_else(|refusal| panic!("{kind}: {refusal}"));
        for round in 0..40 {
            let decided = engine.decide_with(kind, request(kind)).expect(kind);
            checked(&config, &decided);
            let outcome = json!({"reward": round % 2, "costs": {"errors": (round / 2) % 2}});
            engine
                .report(kind, &decided.shown_id(), outcome)
                .expect(kind);
        }
    }
    let digests: Vec<_> = (kinds().iter())
        .map(|config| engine.digest(config.kind()).expect("folded"))
        .collect();
    engine.stop();
    assert!(
        rebuild(&place.database, |_, _| {})
            .expect("readable")
            .is_equal()
    );
    let engine = Engine::start(&place.database);
    for (config, digest) in kinds().iter().zip(digests) {
        assert_eq!(engine.digest(config.kind()).expect("folded"), digest);
        let decided = engine.decide_with(config.kind(), request(config.kind()));
        checked(config, &decided.expect("it goes on"));
    }
}

/// A change that the agent refuses must not reach the log: nobody could read it any more.
#[test]
fn arms_that_an_agent_does_not_let_go_are_refused_before_anything_is_written() {
    let place = Place::sqlite();
    let engine = Engine::start(&place.database);
    for config in kinds() {
        let kind = config.kind();
        engine.create(declaration(&config)).expect(kind);
        let before = engine.digest(kind).expect("folded");
        match engine.retire_arm(kind, "new") {
            Ok(_) => assert!(
                config.takes_features() || ["opb", "segmented"].contains(&kind),
                "{kind}"
            ),
            Err(Refusal::Invalid { allowed, .. }) => {
                assert!(
                    allowed.contains("the arms of this agent are fixed"),
                    "{allowed}"
                );
                assert_eq!(engine.digest(kind).expect("folded"), before);
            }
            Err(other) => panic!("{kind}: {other}"),
        }
        checked(
            &config,
            &engine
                .decide_with(kind, request(kind))
                .expect("it still decides"),
        );
    }
    engine.stop();
    assert!(
        rebuild(&place.database, |_, _| {})
            .expect("readable")
            .is_equal()
    );
}

#[test]
fn agents_that_sample_draw_for_every_decision() {
    let place = Place::sqlite();
    let engine = Engine::start(&place.database);
    for config in kinds() {
        let kind = config.kind();
        engine.create(declaration(&config)).expect(kind);
        let policy = |_| {
            let decided = engine.decide_with(kind, request(kind)).expect(kind);
            format!("{:?}", decided.published.policy)
        };
        let policies: Vec<String> = (0..40).map(policy).collect();
        let samples = [
            "thompson",
            "lin_con_ts",
            "s_colts",
            "r_colts",
            "lin_ts",
            "safe_lts",
            "safe_lucb",
            "lin_s_colts",
            "lin_r_colts",
        ];
        let differ = policies.iter().any(|policy| *policy != policies[0]);
        assert_eq!(differ, samples.contains(&kind), "{kind}: {policies:?}");
    }
}

#[test]
fn parts_of_actions_are_mixed_and_promised_as_such() {
    let place = Place::sqlite();
    let engine = Engine::start(&place.database);
    let config = AgentConfig::of_kind("roful").expect("registered");
    let view = engine.create(declaration(&config)).expect("it fits");
    assert_eq!(
        serde_json::to_value(view.guarantee).expect("plain"),
        "every_round"
    );
    assert_eq!(
        view.agent,
        config.with_whole_actions().with_parameter_norm(1.0)
    );
    let mut scaled = declaration(&AgentConfig::of_kind("gen_op").expect("registered"));
    scaled["agent"]["play"] = json!("scaled");
    match engine.create(scaled) {
        Err(Refusal::Invalid { field, .. }) => assert_eq!(field, "agent.play"),
        other => panic!("{other:?}"),
    }
}
