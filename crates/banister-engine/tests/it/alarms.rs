//! Outcomes that wait, outcomes that never come, and alarms: raised, recorded, acknowledged.

use std::collections::BTreeSet;

use crate::common;

use banister::monitor::AlarmKind;
use banister::{Fallback, OnBreach};
use banister_engine::{
    AlarmRaised, Edit, Event, EventKind, Import, ImportOutcomes, OutcomeStatus, Record, Report,
    rebuild,
};
use common::engine::{Engine, conflict, field, plain, said};
use common::{Place, both, until};
use serde_json::json;

both!(
    early_reports_wait_for_the_time_to_live,
    what_never_comes_is_counted_and_tested,
    a_breach_forces_the_safe_action_until_it_is_acknowledged,
    alert_only_says_so,
    a_warning_that_comes_true_at_once_is_recorded_once,
    the_reaction_to_alarms_changes,
    a_cost_beyond_its_range_is_stored_and_raises_an_alarm,
    a_model_that_is_refuted_says_where,
    what_the_caller_did_in_shadow_mode_is_no_breach_of_ours,
);

fn records(place: &Place) -> Vec<Record> {
    place.open().read(0, 100_000).expect("records")
}

/// Good outcomes come early and the default is "none": learned as they come, an arm with 5% purchases was
/// certified at 97%.
fn early_reports_wait_for_the_time_to_live(place: &Place) {
    let engine = Engine::start(&place.database);
    let declaration = json!({
        "name": "x", "arms": ["control", "bold"], "safe": "control",
        "guardrails": [{"name": "purchases", "at_least": 0.1, "safe_cost": 0.9}],
        // Plays the other arm from the start: it may be worth more.
        "reward": {"range": {"control": [0, 1], "bold": [0, 1.1]}},
        "ttl_seconds": 3, "default_outcome": {"reward": 0, "costs": {"purchases": 0}},
    });
    engine.create(declaration).unwrap();
    let mut bold = Vec::new();
    for i in 0..60 {
        let decided = engine.decide("x", &format!("d{i}")).unwrap();
        let name = &decided.published.info.arms[decided.index as usize];
        let buys = name == "control" || i % 20 == 0;
        if name == "bold" {
            bold.push(i);
        }
        if buys {
            let said = json!({"reward": 1, "costs": {"purchases": 1}});
            let reported = engine.report("x", &format!("d{i}"), said.clone()).unwrap();
            assert!(reported.status == OutcomeStatus::Pending);
            // The same again is no news; another is a contradiction.
            assert!(
                engine.report("x", &format!("d{i}"), said).unwrap().status
                    == OutcomeStatus::Pending
            );
            let other = json!({"reward": 0});
            conflict(engine.report("x", &format!("d{i}"), other));
        }
    }
    assert!(!bold.is_empty());
    assert_eq!(
        engine.show("x").unwrap().counts.outcomes,
        0,
        "nothing is learned before its time"
    );
    until("all are learned", || {
        engine.show("x").unwrap().counts.outcomes == 60
    });
    let state = engine.live_state("x");
    let beliefs = &state.arms[1].estimate;
    let buyers = bold.iter().filter(|i| *i % 20 == 0).count();
    let mean = buyers as f64 / bold.len() as f64;
    assert!((beliefs.costs[0].mean.unwrap() - mean).abs() < 1e-12);
    // In the order of decisions, each once.
    let matured: Vec<u64> = (records(place).iter())
        .filter(|r| r.kind == EventKind::Outcome)
        .map(|r| r.decision.unwrap())
        .collect();
    assert!(matured.windows(2).all(|w| w[0] < w[1]) && matured.len() == 60);
    let reason = conflict(engine.report("x", "d1", json!({"reward": 0.5})));
    assert!(
        reason.contains("by default") || reason.contains("another outcome"),
        "{reason}"
    );
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

fn what_never_comes_is_counted_and_tested(place: &Place) {
    let engine = Engine::start(&place.database);
    // (name, whether the outcomes of other arms than the safe one get lost)
    for (name, differs) in [("at-random", false), ("by-arm", true)] {
        let mut declaration = plain(name);
        // Other arms are played from the start: one may be worth more.
        declaration["reward"] = json!({"range": {"old": [0, 1], "new": [0, 1.1], "odd": [0, 1]}});
        declaration["ttl_seconds"] = json!(0.2);
        engine.create(declaration).unwrap();
        for i in 0..240 {
            let id = format!("{i}");
            let decided = engine.decide(name, &id).unwrap();
            let lost = if differs {
                decided.index != 0
            } else {
                i % 3 == 0
            };
            if !lost {
                let said = json!({"reward": 0.5, "costs": {"errors": 0.1}});
                // Whoever is too late is told so, and nothing else happens.
                let _ = engine.report(name, &id, said);
            }
        }
        until("all are settled", || {
            let counts = engine.show(name).unwrap().counts;
            counts.outcomes + counts.missing == 240
        });
        let state = engine.live_state(name);
        let missing: u64 = state.arms.iter().map(|arm| arm.missing).sum();
        assert_eq!(missing, engine.show(name).unwrap().counts.missing);
        let alarms = engine.show(name).unwrap().summary.alarms;
        if differs {
            until("an alarm", || !engine.show(name).unwrap().alarms.is_empty());
            let alarm = &engine.show(name).unwrap().alarms[0].alarm;
            assert_eq!(alarm.kind, AlarmKind::Missing);
            assert!(alarm.message.contains("not at random"), "{}", alarm.message);
            let decided = engine.decide(name, "after").unwrap();
            assert_eq!(decided.published.fallback, Some(Fallback::Alarm));
        } else {
            assert!(alarms.is_empty(), "{alarms:?}");
        }
    }
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

/// Reports costs of 0 for a while, then of 1, until something is raised; the safe arm's stay.
fn breach(engine: &Engine, name: &str) {
    for i in 0..800 {
        if !engine.show(name).unwrap().alarms.is_empty() {
            return;
        }
        let id = format!("breach {i}");
        let decided = engine.decide(name, &id).unwrap();
        let cost = if decided.index == 0 {
            i % 10 == 0
        } else {
            i >= 200
        };
        let said = json!({"reward": 0.5, "costs": {"errors": u8::from(cost)}});
        engine.report(name, &id, said).unwrap();
    }
    panic!("no alarm");
}

fn a_breach_forces_the_safe_action_until_it_is_acknowledged(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = plain("x");
    // A low bar, so that few outcomes do.
    declaration["agent"] =
        json!({"kind": "opb", "alarm_delta": 0.9, "floor": 0.05, "on_breach": "safe"});
    engine.create(declaration).unwrap();
    breach(&engine, "x");
    let view = engine.show("x").unwrap();
    assert!(view.alarms[0].alarm.message.contains("errors"), "{view:?}");
    assert!(view.alarms[0].alarm.forces_safe);
    assert_eq!(
        engine.stats().experiments[0].alarms,
        view.alarms.len() as u64
    );
    let decided = engine.decide("x", "forced").unwrap();
    assert_eq!(decided.published.fallback, Some(Fallback::Alarm));
    assert!(decided.published.info.assumptions.iter().any(|a| a.watched));
    // An alarm never drops outcomes.
    let before = engine.show("x").unwrap().counts.outcomes;
    let said = json!({"reward": 0.5, "costs": {"errors": 0}});
    engine.report("x", "forced", said).unwrap();
    assert_eq!(engine.show("x").unwrap().counts.outcomes, before + 1);
    let note = || Edit::AcknowledgeAlarms {
        note: "the payment page was down".into(),
    };
    let view = engine.edit("x", note()).unwrap();
    assert!(view.alarms.is_empty());
    assert_eq!(engine.decide("x", "free").unwrap().published.fallback, None);
    // Nothing to acknowledge, nothing to write.
    let number = engine.show("x").unwrap().number;
    assert_eq!(engine.edit("x", note()).unwrap().number, number);
    let digest = engine.digest("x").unwrap();
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
    let again = Engine::start(&place.database);
    assert_eq!(again.digest("x").unwrap(), digest);
    let kinds = records(place).into_iter().map(|r| r.event().unwrap());
    let kinds: Vec<Event> = kinds.collect();
    let raised = |e: &&Event| matches!(e, Event::AlarmRaised(_));
    let acknowledged =
        |e: &&Event| matches!(e, Event::Edited(json) if json.contains("the payment page"));
    assert!(kinds.iter().filter(raised).count() >= 1);
    assert_eq!(kinds.iter().filter(acknowledged).count(), 1);
}

/// One batch of outcomes warns of a breach and proves it, beside an alarm that stands: every alarm is one event.
fn a_warning_that_comes_true_at_once_is_recorded_once(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = plain("x");
    declaration["agent"] = json!({"kind": "opb", "on_breach": "alert"});
    engine.create(declaration).unwrap();
    let played: Vec<(String, u32)> = (0..1500)
        .map(|i| {
            (
                i.to_string(),
                engine.decide("x", &i.to_string()).unwrap().index,
            )
        })
        .collect();
    let reports = |from: usize, to: usize, costs: [f64; 2]| {
        let each = played[from..to].iter().map(|(id, action)| {
            let cost = costs[usize::from(*action > 0)];
            let mut report = said(json!({"reward": 0.5, "costs": {"errors": cost}}));
            report.decision = id.clone();
            let experiment = "x".into();
            Report { experiment, report }
        });
        for answer in engine.execute_all(each.collect()).unwrap() {
            answer.unwrap();
        }
    };
    reports(0, 1, [1.6, 1.6]);
    until("the range's alarm is recorded", || {
        engine.show("x").unwrap().alarms.len() == 1
    });
    reports(1, 1500, [1.0, 1.0]);
    until("the breach is recorded", || {
        let alarms = &engine.show("x").unwrap().alarms;
        alarms.iter().any(|own| own.alarm.kind == AlarmKind::Breach)
    });
    engine.digest("x").unwrap();
    engine.stop();
    let raised = records(place).into_iter().filter_map(|record| {
        let Event::AlarmRaised(json) = record.event().unwrap() else {
            return None;
        };
        let alarm: AlarmRaised = serde_json::from_str(&json).unwrap();
        Some(alarm.of_agent.expect("the agent's"))
    });
    let raised: Vec<u64> = raised.collect();
    let distinct: BTreeSet<u64> = raised.iter().copied().collect();
    assert_eq!(raised.len(), distinct.len(), "{raised:?}");
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

/// Somebody on call turns the reaction down, and up again; where learning again needs a share of δ, it is not to be had
/// later.
fn the_reaction_to_alarms_changes(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    let on_breach = |engine: &Engine| engine.show("x").unwrap().on_breach;
    assert_eq!(on_breach(&engine), Some(OnBreach::Relearn));
    let mut shared = plain("shared");
    shared["agent"] = json!({"kind": "segmented"});
    engine.create(shared).unwrap();
    let relearn = engine.change("shared", json!({"on_breach": "relearn"}));
    assert_eq!(field(relearn), "on_breach");
    engine.change("x", json!({"on_breach": "alert"})).unwrap();
    let number = engine.show("x").unwrap().number;
    let again = engine.change("x", json!({"on_breach": "alert"})).unwrap();
    assert_eq!(
        (again.number, again.on_breach),
        (number, Some(OnBreach::Alert))
    );
    let beyond = |engine: &Engine, id: &str| {
        engine.decide("x", id).unwrap();
        let said = json!({"reward": 1, "costs": {"errors": 1.6}});
        let reported = engine.report("x", id, said).unwrap();
        let decided = engine.decide("x", &format!("after {id}")).unwrap();
        (reported.alarms[0].forces_safe, decided.published.fallback)
    };
    assert_eq!(beyond(&engine, "a"), (false, None));
    engine.stop();
    let engine = Engine::start(&place.database);
    assert_eq!(on_breach(&engine), Some(OnBreach::Alert));
    // Nobody has acknowledged the first one: the next acts all the same.
    engine.change("x", json!({"on_breach": "safe"})).unwrap();
    assert_eq!(beyond(&engine, "b"), (true, Some(Fallback::Alarm)));
    assert!(
        engine
            .show("x")
            .unwrap()
            .alarms
            .iter()
            .any(|own| own.alarm.forces_safe)
    );
    // Where it was declared, it can be left and taken up again.
    let mut declared = plain("y");
    declared["agent"] = json!({"kind": "opb", "on_breach": "relearn"});
    engine.create(declared).unwrap();
    for reaction in ["safe", "relearn"] {
        let view = engine.change("y", json!({"on_breach": reaction})).unwrap();
        assert_eq!(json!(view.on_breach), json!(reaction));
    }
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

/// A price goes up beyond what was declared: no outcome is lost, and nobody goes on as before.
fn a_cost_beyond_its_range_is_stored_and_raises_an_alarm(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    let decided = engine.decide("x", "a").unwrap();
    let arm = decided.published.info.arms[decided.index as usize].clone();
    let said = json!({"reward": 2, "costs": {"errors": 1.6}});
    let reported = engine.report("x", "a", said.clone()).unwrap();
    assert_eq!(
        (reported.is_complete(), reported.costs["errors"]),
        (true, Some(1.6))
    );
    let kinds: Vec<AlarmKind> = reported.alarms.iter().map(|alarm| alarm.kind).collect();
    assert_eq!(kinds, [AlarmKind::RewardRange, AlarmKind::Range]);
    let alarm = &reported.alarms[1];
    assert_eq!(
        (alarm.guardrail.as_deref(), alarm.arm.as_deref()),
        (Some("errors"), Some(&*arm))
    );
    assert!(
        alarm.forces_safe && alarm.message.contains("[0, 1.6]"),
        "{alarm:?}"
    );
    assert_eq!(
        engine.report("x", "a", said).unwrap().alarms.len(),
        2,
        "said again"
    );
    let decided = engine.decide("x", "b").unwrap();
    assert_eq!(decided.published.fallback, Some(Fallback::Alarm));
    let recorded = engine.show("x").unwrap().summary.alarms;
    assert_eq!(recorded.len(), 2);
    let answered = AlarmRaised {
        of_agent: recorded[1].alarm.of_agent,
        ..alarm.clone()
    };
    assert_eq!(recorded[1].alarm, answered);
    let digest = engine.digest("x").unwrap();
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
    assert_eq!(Engine::start(&place.database).digest("x").unwrap(), digest);
}

/// Errors come where just one of two features is positive.
fn a_model_that_is_refuted_says_where(place: &Place) {
    let engine = Engine::start(&place.database);
    let declaration = json!({
        "name": "x", "dimension": 4, "safe_action": [1.0, 0.0, 0.0, 0.0],
        "guardrails": [{"name": "errors", "at_most": 0.6, "safe_cost": 0.1}],
        "agent": {"kind": "oplb", "parameter_norm": 3},
    });
    let made = engine.create(declaration).unwrap();
    assert!(made.alarms.is_empty());
    let mut import = Import::default();
    for i in 0..800_u32 {
        let (a, b) = (f64::from(i * 7 % 16) - 7.5, f64::from(i * 5 % 23) - 11.0);
        import.features.extend([0.0, 0.5, a / 20.0, b / 30.0]);
        import.rewards.push(0.5);
        import
            .costs
            .push(f64::from(u8::from((a > 0.0) != (b > 0.0))));
    }
    let experiment = "x".into();
    engine
        .execute(ImportOutcomes { experiment, import })
        .unwrap();
    // Recorded by the next command.
    engine
        .decide_with(
            "x",
            json!({"id": "next", "actions": [[0.0, 0.5, 0.1, 0.1]]}),
        )
        .unwrap();
    let alarm = engine.show("x").unwrap().summary.alarms.remove(0).alarm;
    assert_eq!(alarm.kind, AlarmKind::ModelRefuted);
    assert!(
        alarm.message.contains("feature 2 ") && alarm.message.contains("feature 3 "),
        "{alarm:?}"
    );
    assert!(alarm.forces_safe && alarm.guardrail.as_deref() == Some("errors"));
    let kind = serde_json::to_value(&alarm).unwrap()["kind"].take();
    assert_eq!(kind, "model_refuted");
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

fn alert_only_says_so(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = plain("x");
    declaration["agent"] = json!({"kind": "opb", "alarm_delta": 0.9, "on_breach": "alert"});
    engine.create(declaration).unwrap();
    breach(&engine, "x");
    let decided = engine.decide("x", "on").unwrap();
    assert_ne!(decided.published.fallback, Some(Fallback::Alarm));
    assert!(!engine.show("x").unwrap().alarms.is_empty());
}

/// Decisions of a shadow whose outcomes come when it is over: the caller's policy was played, not ours.
fn what_the_caller_did_in_shadow_mode_is_no_breach_of_ours(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = plain("x");
    declaration["shadow"] = json!(true);
    declaration["agent"] = json!({"kind": "opb", "alarm_delta": 0.9});
    engine.create(declaration).unwrap();
    for i in 0..100 {
        let request = json!({"id": format!("{i}"), "taken": "new", "propensity": 1.0});
        engine.decide_with("x", request).unwrap();
    }
    engine.change("x", json!({"shadow": false})).unwrap();
    engine.decide("x", "own").unwrap();
    for i in 0..100 {
        let said = json!({"reward": 0.5, "costs": {"errors": 1}});
        engine.report("x", &format!("{i}"), said).unwrap();
    }
    assert_eq!(engine.show("x").unwrap().alarms.len(), 0);
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}
