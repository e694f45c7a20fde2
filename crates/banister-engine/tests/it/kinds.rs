//! Every kind that a service knows: declared, decided by, learned from, folded again; and rivals, which it does not.

use crate::common;

use banister::{AgentConfig, Registry as _};
use banister_engine::{Declaration, rebuild};
use common::Place;
use common::engine::{Engine, check, plain};
use serde_json::json;

#[test]
fn every_kind_decides_learns_and_lasts() {
    let place = Place::sqlite();
    let engine = Engine::start(&place.database);
    let kinds = AgentConfig::kinds();
    let request = |kind: &str| match kind {
        "segmented" => json!({"segment": "all"}),
        _ => json!({}),
    };
    for kind in &kinds {
        let config = AgentConfig::of_kind(kind).expect("it has defaults");
        let mut declaration = plain(kind);
        declaration["guardrails"] = json!([{"name": "errors", "at_most": 0.5, "safe_cost": 0.1}]);
        declaration["agent"] = json!(config.with_parameter_norm(1.0));
        engine.create(declaration).expect(kind);
        for round in 0..40 {
            let decided = engine.decide_with(kind, request(kind)).expect(kind);
            check(&decided);
            let outcome = json!({"reward": round % 2, "costs": {"errors": (round / 2) % 2}});
            let id = decided.id;
            engine.report(kind, &id, outcome).expect(kind);
        }
    }
    let digests = |engine: &Engine| -> Vec<_> {
        let all = kinds.iter().map(|kind| engine.digest(kind));
        all.map(|digest| digest.expect("folded")).collect()
    };
    let before = digests(&engine);
    engine.stop();
    let rebuilt = rebuild(&place.database, |_, _| {}).expect("readable");
    assert!(rebuilt.is_equal());
    let engine = Engine::start(&place.database);
    assert_eq!(digests(&engine), before);
    for kind in &kinds {
        check(&engine.decide_with(kind, request(kind)).expect("it goes on"));
    }
}

#[test]
fn a_rival_is_refused_with_the_reason() {
    for kind in ["thompson", "roful", "nonsense"] {
        let mut declaration = plain("x");
        declaration["agent"] = json!({ "kind": kind });
        let refused = serde_json::from_value::<Declaration>(declaration);
        let message = refused.expect_err("no such agent here").to_string();
        for word in [kind, "`opb`", "`segmented`", "program `banister`"] {
            assert!(message.contains(word), "{message}");
        }
    }
}
