//! Lifts, settling, health and reports of experiments.

use crate::common;

use banister_engine::{
    Health, Import, ImportOutcomes, LiftsView, Light, ReadHealth, ReadLifts, ReadReport, Refusal,
};
use common::engine::{Caller, Engine, plain};
use common::{Place, both, until};
use serde_json::json;

both!(
    a_policy_settles_when_enough_is_known_and_says_so,
    health_says_what_is_wrong_and_where,
    arms_that_are_the_same_must_look_so,
    a_report_has_all_that_people_ask_for,
);

fn lifts(engine: &Caller) -> LiftsView {
    engine.query(ReadLifts("x".into())).unwrap()
}

fn health(engine: &Caller) -> Health {
    engine.query(ReadHealth("x".into())).unwrap()
}

/// Outcomes of the three arms in turns, with these rewards and costs of 0 or 1 in 100.
fn teach(engine: &Caller, rows: u32, rewards: [u32; 3], costs: [u32; 3]) {
    let arms: Vec<u32> = (0..rows).map(|i| i % 3).collect();
    let of = |share: [u32; 3]| -> Vec<f64> {
        let each = arms.iter().enumerate();
        let one = |(i, &arm): (usize, &u32)| {
            f64::from(u8::from((i as u32 / 3 * 37) % 100 < share[arm as usize]))
        };
        each.map(one).collect()
    };
    let import = Import {
        rewards: of(rewards),
        costs: of(costs),
        arms: arms.clone(),
        ..Import::default()
    };
    let experiment = "x".into();
    engine
        .execute(ImportOutcomes { experiment, import })
        .unwrap();
}

fn a_policy_settles_when_enough_is_known_and_says_so(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = plain("x");
    declaration["stop_when"] = json!({"worth_left": 0.05});
    engine.create(declaration).unwrap();
    let found = lifts(&engine);
    assert!(found.settled.is_none());
    teach(&engine, 3000, [30, 60, 10], [10, 20, 20]);
    let found = lifts(&engine);
    let left = found.worth_left.unwrap();
    assert!(left.per_decision > 0.05, "{left:?}");
    let new = found
        .lifts
        .iter()
        .find(|own| own.arm == "new" && own.signal == "reward")
        .unwrap();
    assert!(
        new.difference.lower > 0.2 && new.difference.upper < 0.4,
        "{new:?}"
    );
    assert!((new.difference.estimate.unwrap() - 0.3).abs() < 0.01);
    teach(&engine, 60_000, [30, 60, 10], [10, 20, 20]);
    // It looks when outcomes come.
    let mut decided = 0;
    until("it settles", || {
        let id = format!("d{decided}");
        let is_below = |step: u32, share: u32| u8::from(decided * step % 100 < share);
        let report = json!({"reward": is_below(37, 60), "costs": {"errors": is_below(53, 20)}});
        decided += 1;
        engine.decide("x", &id).unwrap();
        engine.report("x", &id, report).unwrap();
        engine.show("x").unwrap().settled.is_some()
    });
    let policy = engine.live_state("x").policy.unwrap();
    assert!(
        policy
            .iter()
            .any(|share| share.action == "new" && share.probability > 0.99),
        "{policy:?}"
    );
    assert!(lifts(&engine).worth_left.unwrap().per_decision <= 0.05);
    engine.stop();
    let engine = Engine::start(&place.database);
    assert!(engine.show("x").unwrap().settled.is_some());
    let settled = engine.decide("x", "after").unwrap();
    assert!(settled.published.guardrails[0].slack >= 0.0);
    let view = engine
        .change("x", json!({"settled": false, "stop_when": null}))
        .unwrap();
    assert!(view.settled.is_none() && view.stop_when.is_none());
    let refused = engine.change("x", json!({"stop_when": {"worth_left": -1}}));
    assert!(
        matches!(refused, Err(Refusal::Invalid { field, .. }) if field == "stop_when.worth_left")
    );
}

fn light(health: &Health, name: &str) -> (Light, String) {
    let own = health
        .checks
        .iter()
        .find(|own| own.name == name)
        .expect(name);
    (own.light, own.reason.clone())
}

fn health_says_what_is_wrong_and_where(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = plain("x");
    declaration["ttl_seconds"] = json!(0.001);
    engine.create(declaration).unwrap();
    teach(&engine, 900, [30, 60, 60], [10, 90, 90]);
    for i in 0..300 {
        engine.decide("x", &format!("d{i}")).unwrap();
    }
    until("nothing came", || {
        engine.show("x").unwrap().counts.missing == 300
    });
    let found = health(&engine);
    assert_eq!(light(&found, "assignment").0, Light::Green, "{found:?}");
    assert_eq!(light(&found, "monitors").0, Light::Green, "{found:?}");
    let (amber, why) = light(&found, "traffic without outcomes");
    assert_eq!((amber, found.light), (Light::Amber, Light::Amber));
    assert!(why.contains("300 of 300"), "{why}");
    let (green, why) = light(&found, "missing outcomes");
    assert!(
        green == Light::Green && why.contains("arms do not differ"),
        "{why}"
    );
}

/// Labels alone tell the arms apart: by chance one differs in 2% of experiments at most. Where a fault adds to one of
/// them, it is seen.
fn arms_that_are_the_same_must_look_so(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = plain("x");
    declaration["a_a"] = json!(true);
    engine.create(declaration).unwrap();
    teach(&engine, 6000, [30, 30, 30], [10, 10, 10]);
    assert_eq!(light(&health(&engine), "A/A").0, Light::Green);
    teach(&engine, 6001, [30, 30, 45], [10, 10, 10]);
    let (red, why) = light(&health(&engine), "A/A");
    assert!(red == Light::Red && why.contains("reward of odd"), "{why}");
}

fn a_report_has_all_that_people_ask_for(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    teach(&engine, 3000, [30, 60, 10], [10, 20, 20]);
    let report = engine.query(ReadReport("x".into())).unwrap();
    let earned = report.earned.unwrap();
    // A thousand outcomes of each arm: 300 more, and 200 less.
    assert!(
        (earned.estimate.unwrap() - 100.0).abs() < 10.0,
        "{earned:?}"
    );
    assert!(earned.lower < 100.0 && earned.upper > 100.0);
    let errors = &report.guardrails[0];
    assert!(
        errors.held && (errors.mean.unwrap() - 0.1667).abs() < 0.1,
        "{errors:?}"
    );
    assert_eq!(errors.threshold, Some(0.5));
    assert_eq!(report.health.experiment, "x");
    assert!(
        report
            .lift
            .enough
            .unwrap()
            .starts_with("learning on could raise reward")
    );
}
