//! Units: one arm per unit and period, one outcome per unit and period, learned once.

use crate::common;

use std::collections::BTreeMap;
use std::sync::Arc;

use banister::ArmWeights;
use banister_engine::{
    Edit, Event, Import, ImportOutcomes, Light, Options, ReadHealth, Refusal, Report, Work, rebuild,
};
use common::engine::{Caller, Engine, conflict, plain, said};
use common::{Place, both, until, whole};
use serde_json::{Value, json};

both!(
    a_unit_keeps_its_arm_across_reports_restarts_and_callers,
    reports_add_up_and_are_learned_once_when_the_period_is_over,
    what_must_change_moves_a_unit_and_nothing_else_does,
    told_prices_move_the_fewest_units,
    a_unit_for_ever_has_one_outcome,
    a_unit_that_returns_is_shown_and_not_learned,
    returns_that_are_declared_independent_are_learned,
    what_ends_a_later_period_early_teaches_nothing,
    a_report_sent_again_says_the_same,
    a_unit_belongs_to_the_token_that_decided_for_it,
    a_unit_has_at_most_a_thousand_reports,
    reports_on_one_unit_read_its_decision_once,
    memory_forgets_units_and_finds_them_again,
    units_are_declared_and_asked_for_by_the_book,
);

fn on_units(period: Value) -> Value {
    let mut declaration = plain("x");
    declaration["unit"] = json!({"name": "user", "period": period});
    declaration["reward"] = json!({"range": [0, 10]});
    declaration["guardrails"] =
        json!([{"name": "errors", "at_most": 4, "safe_cost": 0.5, "range": [0, 10]}]);
    declaration
}

/// An experiment whose policy mixes all arms: two of them earn more and cost too much.
fn mixing(engine: &Caller, declaration: Value) {
    engine.create(declaration).unwrap();
    let arms: Vec<u32> = (0..900).map(|i| i % 3).collect();
    let of = |values: [f64; 3]| arms.iter().map(|&arm| values[arm as usize]).collect();
    let import = Import {
        rewards: of([2.0, 7.0, 7.0]),
        costs: of([0.5, 6.0, 6.0]),
        arms: arms.clone(),
        ..Import::default()
    };
    let experiment = "x".into();
    engine
        .execute(ImportOutcomes { experiment, import })
        .unwrap();
}

fn arm(engine: &Caller, unit: &str) -> u32 {
    engine
        .decide_with("x", json!({ "unit": unit }))
        .unwrap()
        .index
}

fn arms(engine: &Caller, units: usize) -> Vec<u32> {
    (0..units).map(|i| arm(engine, &format!("u{i}"))).collect()
}

fn report(id: usize, reward: f64, errors: f64) -> Value {
    json!({"report": format!("r{id}"), "reward": reward, "costs": {"errors": errors}})
}

fn by_unit(
    engine: &Caller,
    unit: &str,
    mut report: Value,
) -> Result<banister_engine::Reported, Refusal> {
    report["unit"] = json!(unit);
    engine.report("x", "", report)
}

fn a_unit_keeps_its_arm_across_reports_restarts_and_callers(place: &Place) {
    let engine = Engine::start(&place.database);
    mixing(&engine, on_units(json!("30d")));
    let first = arms(&engine, 300);
    let law = engine.live_state("x").policy.unwrap();
    for share in law {
        let count = first.iter().filter(|&&arm| arm == share.index).count() as f64;
        let spread = (300.0 * share.probability * (1.0 - share.probability)).sqrt();
        assert!(
            (count - 300.0 * share.probability).abs() <= 5.0 * spread + 1e-9,
            "{share:?}: {count}"
        );
    }
    for i in 0..300 {
        by_unit(&engine, &format!("u{i}"), report(i, 1.0, 0.0)).unwrap();
    }
    assert_eq!(arms(&engine, 300), first);
    engine.stop();
    let engine = Engine::start(&place.database);
    assert_eq!(arms(&engine, 300), first);
    let view = engine.show("x").unwrap();
    assert_eq!((view.counts.decisions, view.counts.outcomes), (300, 0));
    assert!(
        view.certified
            .as_ref()
            .unwrap()
            .contains("each user is assigned by a policy")
    );
    assert!(
        view.rests_on
            .iter()
            .any(|own| own.text == "outcomes of different users are independent")
    );
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

fn reports_add_up_and_are_learned_once_when_the_period_is_over(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(on_units(json!(2))).unwrap();
    let decided = engine.decide_with("x", json!({"unit": "a"})).unwrap();
    engine.decide_with("x", json!({"unit": "silent"})).unwrap();
    by_unit(&engine, "a", report(1, 2.0, 1.0)).unwrap();
    let again = by_unit(&engine, "a", report(1, 2.0, 1.0)).unwrap();
    assert_eq!(
        (again.reward, again.status),
        (Some(2.0), banister_engine::OutcomeStatus::Pending)
    );
    let id = decided.id;
    let sum = engine
        .report("x", &id, json!({"report": "other", "reward": 3}))
        .unwrap();
    assert_eq!((sum.reward, sum.costs["errors"]), (Some(5.0), Some(1.0)));
    until("the periods are over", || {
        engine.show("x").unwrap().counts.outcomes == 2
    });
    let matured: Vec<_> = whole(&mut *place.open())
        .iter()
        .filter_map(|record| match record.event().unwrap() {
            Event::Matured(outcome) => Some((record.decision, outcome.reward, outcome.costs)),
            _ => None,
        })
        .collect();
    assert_eq!(matured[0], (Some(decided.number), 5.0, vec![1.0]));
    assert_eq!((matured[1].1, &matured[1].2), (0.0, &vec![0.0]));
    let late = engine.report("x", &id, json!({"report": "late", "reward": 1}));
    assert!(conflict(late).contains("time to live"));
    // The one that was sent again is known, also now.
    assert!(
        engine
            .report("x", &id, report(1, 2.0, 1.0))
            .unwrap()
            .is_complete()
    );
    let next = engine.decide_with("x", json!({"unit": "a"})).unwrap();
    assert_ne!(next.number, decided.number);
    assert_eq!(engine.show("x").unwrap().counts.expired, 1);
}

fn what_must_change_moves_a_unit_and_nothing_else_does(place: &Place) {
    let engine = Engine::start(&place.database);
    mixing(&engine, on_units(json!("30d")));
    let first = arms(&engine, 120);
    let on = |arms: &[u32], arm: u32| arms.iter().filter(|&&own| own == arm).count();
    assert!(on(&first, 1) > 0 && on(&first, 0) > 0, "{first:?}");
    engine.retire_arm("x", "new").unwrap();
    let second = arms(&engine, 120);
    for (before, after) in first.iter().zip(&second) {
        assert!(*after != 1 && (*before == 1 || before == after));
    }
    assert_eq!(
        engine.show("x").unwrap().counts.moved as usize,
        on(&first, 1)
    );
    let place_of = |arm: u32| first.iter().position(|&own| own == arm).unwrap();
    let moved = format!("u{}", place_of(1));
    let refused = conflict(by_unit(&engine, &moved, report(1, 1.0, 0.0)));
    assert!(refused.contains("another arm"), "{refused}");
    engine.change("x", json!({"status": "paused"})).unwrap();
    assert_eq!(arms(&engine, 120), vec![0; 120]);
    engine.change("x", json!({"status": "running"})).unwrap();
    // Moved once, they stay for the rest of their period.
    assert_eq!(arms(&engine, 120), vec![0; 120]);
    let counts = engine.show("x").unwrap().counts;
    assert_eq!(
        (counts.decisions, counts.moved as usize),
        (120, on(&first, 1))
    );
    engine.stop();
    let engine = Engine::start(&place.database);
    assert_eq!(arms(&engine, 120), vec![0; 120]);
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

/// The share of units that move is the total variation between the policies, and the law after it the new policy's.
fn told_prices_move_the_fewest_units(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = on_units(json!("30d"));
    declaration["signals"] = json!({"tokens": [0, 10]});
    let both = json!({"tokens": 0.1});
    declaration["guardrails"] = json!([{"name": "dollars", "at_most": 0.3,
        "weights": {"old": {"tokens": 0.01}, "new": both, "odd": both}}]);
    mixing(&engine, declaration);
    let law = || -> BTreeMap<u32, f64> {
        let policy = engine.live_state("x").policy.unwrap();
        policy
            .into_iter()
            .map(|share| (share.index, share.probability))
            .collect()
    };
    let (units, before) = (1000, law());
    let first = arms(&engine, units);
    let weights: ArmWeights = serde_json::from_value(json!({"dollars": {"tokens": 0.2}})).unwrap();
    let edit = Edit::SetWeights {
        name: "old".into(),
        weights,
    };
    engine.edit("x", edit).unwrap();
    let (after, second) = (law(), arms(&engine, units));
    let moved = first.iter().zip(&second).filter(|(a, b)| a != b).count() as f64 / units as f64;
    let p = |law: &BTreeMap<u32, f64>, arm: u32| law.get(&arm).copied().unwrap_or(0.0);
    let distance: f64 = (0..3)
        .map(|arm| (p(&before, arm) - p(&after, arm)).abs())
        .sum::<f64>()
        / 2.0;
    let afresh: f64 = 1.0
        - (0..3)
            .map(|arm| p(&before, arm) * p(&after, arm))
            .sum::<f64>();
    let spread = 5.0 * 0.5 / f64::from(units as u32).sqrt();
    assert!(
        (moved - distance).abs() < spread,
        "{moved} {distance} {before:?} {after:?}"
    );
    assert!(
        afresh > distance + spread,
        "drawing all anew would move {afresh}"
    );
    for arm in 0..3 {
        let share = second.iter().filter(|&&own| own == arm).count() as f64 / units as f64;
        assert!(
            (share - p(&after, arm)).abs() < spread,
            "{arm}: {share} {after:?}"
        );
    }
}

fn a_unit_for_ever_has_one_outcome(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = on_units(json!(null));
    declaration["unit"] = json!({"name": "user"});
    engine.create(declaration).unwrap();
    let first = arms(&engine, 20);
    let whole = json!({"unit": "u3", "reward": 2, "costs": {"errors": 1}});
    assert!(engine.report("x", "", whole.clone()).unwrap().is_complete());
    assert!(engine.report("x", "", whole).unwrap().is_complete());
    let other = json!({"unit": "u3", "reward": 3, "costs": {"errors": 1}});
    assert!(conflict(engine.report("x", "", other)).contains("another outcome"));
    assert_eq!(engine.show("x").unwrap().counts.outcomes, 1);
    assert_eq!(arms(&engine, 20), first);
}

/// A unit has this many periods of a second one after another, each with a report; returns the experiment's view.
fn periods(engine: &Engine, count: usize) -> banister_engine::ExperimentView {
    for period in 0..count {
        let decided = engine.decide_with("x", json!({"unit": "a"})).unwrap();
        by_unit(engine, "a", report(period, 1.0, 4.0)).unwrap();
        let settled = || {
            let counts = engine.show("x").unwrap().counts;
            counts.outcomes + counts.returned == period as u64 + 1
        };
        until("the period is over", settled);
        let late = engine.report("x", &decided.id, report(99, 1.0, 0.0));
        assert!(conflict(late).contains("time to live"));
    }
    engine.show("x").unwrap()
}

fn pulls(engine: &Caller) -> u64 {
    let arms = engine.live_state("x").arms;
    arms.iter().filter_map(|arm| arm.estimate.pulls).sum()
}

fn a_unit_that_returns_is_shown_and_not_learned(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(on_units(json!(1))).unwrap();
    let view = periods(&engine, 3);
    assert_eq!((view.counts.outcomes, view.counts.returned), (1, 2));
    assert_eq!((view.counts.decisions, pulls(&engine)), (3, 1));
    assert!(
        view.certified
            .unwrap()
            .contains("not certified: later periods")
    );
    // A new one is learned, after a restart too; the old one is not.
    engine.stop();
    let engine = Engine::start(&place.database);
    engine.decide_with("x", json!({"unit": "b"})).unwrap();
    engine.decide_with("x", json!({"unit": "a"})).unwrap();
    until("the periods are over", || {
        let counts = engine.show("x").unwrap().counts;
        (counts.outcomes, counts.returned) == (2, 3)
    });
    assert_eq!(pulls(&engine), 2);
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

fn returns_that_are_declared_independent_are_learned(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = on_units(json!(1));
    declaration["unit"]["returns"] = json!("independent");
    engine.create(declaration).unwrap();
    let view = periods(&engine, 2);
    assert_eq!((view.counts.outcomes, view.counts.returned), (2, 0));
    assert_eq!(pulls(&engine), 2);
    let own =
        "outcomes of different users, and of the periods of one that returns, are independent";
    assert!(view.rests_on.iter().any(|is| is.text == own));
    let wrong = json!({"name": "user", "returns": "maybe"});
    let error = serde_json::from_value::<banister_engine::Unit>(wrong).unwrap_err();
    assert!(
        error.to_string().contains("`dependent` or `independent`"),
        "{error}"
    );
}

/// Neither a cancellation nor a retired arm tells the agent of a decision that it never heard of.
fn what_ends_a_later_period_early_teaches_nothing(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(on_units(json!(1))).unwrap();
    periods(&engine, 1);
    let state = || serde_json::to_value(engine.live_state("x")).unwrap();
    let before = state();
    let again = engine.decide_with("x", json!({"unit": "a"})).unwrap();
    engine.cancel("x", &again.id).unwrap();
    let counts = engine.show("x").unwrap().counts;
    assert_eq!(
        (counts.decisions, counts.outcomes, counts.missing),
        (2, 1, 0)
    );
    assert_eq!(state()["arms"], before["arms"]);
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

/// One report id has one content, before the outcome is learned and after; ids of events are apart from those of
/// callers, and from each other.
fn a_report_sent_again_says_the_same(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(on_units(json!(2))).unwrap();
    let decided = engine.decide_with("x", json!({"unit": "a"})).unwrap();
    let said = |report: Value| by_unit(&engine, "a", report);
    said(report(1, 1.0, 1.0)).unwrap();
    let others = [
        report(1, 2.0, 1.0),
        report(1, 1.0, 2.0),
        json!({"report": "r1", "reward": 1}),
    ];
    for other in &others {
        assert!(conflict(said(other.clone())).contains("said something else"));
    }
    let by_event = |event: Option<&str>, id: &str| {
        let mut report = common::engine::said(json!({"unit": "a", "report": id, "reward": 1}));
        report.event = event.map(str::to_string);
        let experiment = "x".into();
        engine
            .execute(banister_engine::Report { experiment, report })
            .unwrap()
            .reward
    };
    let mut sum = 1.0;
    for (event, id) in [
        (Some("a"), "b/c"),
        (Some("a/b"), "c"),
        (None, "a/b/c"),
        (Some(""), "a/b/c"),
    ] {
        sum += 1.0;
        assert_eq!(by_event(event, id), Some(sum), "{event:?} {id}");
        assert_eq!(by_event(event, id), Some(sum), "{event:?} {id}");
    }
    until("the period is over", || {
        engine.show("x").unwrap().counts.outcomes == 1
    });
    let id = decided.id;
    assert!(
        engine
            .report("x", &id, report(1, 1.0, 1.0))
            .unwrap()
            .is_complete()
    );
    for other in others {
        assert!(conflict(engine.report("x", &id, other)).contains("said something else"));
    }
}

/// Where ids belong to tokens, units do.
fn a_unit_belongs_to_the_token_that_decided_for_it(place: &Place) {
    let engine = Engine::start(&place.database);
    for (name, period) in [("short", json!("30d")), ("long", json!("forever"))] {
        let mut declaration = on_units(period);
        declaration["name"] = json!(name);
        engine.create(declaration).unwrap();
        let by = |author: &str, is_report: bool| -> Result<(), Refusal> {
            let author = banister_engine::Author::new(Some(author.into())).of_its_own();
            let caller = Caller(engine.caller.0.by(author));
            if is_report {
                let report = json!({"unit": "a", "report": "r", "reward": 1});
                return caller.report(name, "", report).map(drop);
            }
            caller.decide_with(name, json!({"unit": "a"})).map(drop)
        };
        by("shop", false).unwrap();
        for is_report in [false, true] {
            by("shop", is_report).unwrap();
            let refused = by("app", is_report);
            assert!(
                matches!(refused, Err(Refusal::Forbidden { .. })),
                "{refused:?}"
            );
        }
    }
}

fn refusal<T: std::fmt::Debug>(answer: Result<T, Refusal>, field: &str) -> String {
    match answer {
        Err(Refusal::Invalid {
            field: own,
            allowed,
            ..
        }) => {
            assert_eq!(own, field, "{allowed}");
            allowed
        }
        other => panic!("{field}: {other:?}"),
    }
}

fn a_unit_has_at_most_a_thousand_reports(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = on_units(json!("30d"));
    declaration["reward"] = json!({"range": [0, 10_000]});
    engine.create(declaration).unwrap();
    engine.decide_with("x", json!({"unit": "a"})).unwrap();
    let counts = || engine.show("x").unwrap().counts;
    for id in 0..1000 {
        assert_eq!(counts().full, 0);
        by_unit(&engine, "a", report(id, 1.0, 0.0)).unwrap();
    }
    assert_eq!(counts().full, 1);
    let more = by_unit(&engine, "a", report(1000, 1.0, 0.0));
    assert!(conflict(more).contains("1000 reports"));
    // One that was sent before is known as ever.
    let again = by_unit(&engine, "a", report(7, 1.0, 0.0)).unwrap();
    assert_eq!((again.reward, counts().full), (Some(1000.0), 1));
    let health = engine.query(ReadHealth("x".into())).unwrap();
    let units = health.checks.iter().find(|check| check.name == "units");
    let units = units.unwrap();
    assert_eq!(units.light, Light::Amber);
    assert!(
        units
            .reason
            .contains("1 of 1 (100.0%) have as many reports")
    );
}

fn units_are_declared_and_asked_for_by_the_book(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(on_units(json!("1h"))).unwrap();
    let view = engine.show("x").unwrap();
    assert_eq!(
        (view.ttl_seconds, view.unit.unwrap().period),
        (Some(3600.0), Some(3600.0))
    );
    refusal(engine.decide_with("x", json!({})), "unit");
    refusal(engine.decide_with("x", json!({"unit": "@1"})), "unit");
    refusal(engine.decide_with("x", json!({"unit": ""})), "unit");
    refusal(
        engine.decide_with("x", json!({"unit": "a", "id": "b"})),
        "id",
    );
    engine.decide_with("x", json!({"unit": "a"})).unwrap();
    refusal(by_unit(&engine, "a", json!({"reward": 1})), "report");
    assert!(matches!(
        by_unit(&engine, "b", report(1, 1.0, 0.0)),
        Err(Refusal::Unknown { .. })
    ));
    refusal(engine.change("x", json!({"ttl_seconds": 7})), "ttl_seconds");
    refusal(engine.change("x", json!({"shadow": true})), "shadow");
    let declared = |key: &str, value: Value| {
        let mut own = on_units(json!("1h"));
        own["name"] = json!("y");
        own[key] = value;
        engine.create(own)
    };
    let soon = json!({"name": "user", "period": "soon"});
    for (unit, reason) in [
        (soon, "`soon` is no period"),
        (json!("user"), "an object such as"),
    ] {
        let error = serde_json::from_value::<banister_engine::Unit>(unit).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
    refusal(
        declared("unit", json!({"name": "user", "period": -5})),
        "ttl_seconds",
    );
    refusal(declared("ttl_seconds", json!(5)), "ttl_seconds");
    refusal(declared("shadow", json!(true)), "shadow");
    refusal(
        declared("reward", json!({"range": [1, 2]})),
        "default_outcome",
    );
    refusal(
        declared("budgets", json!({"errors": {"amount": 50, "per": "day"}})),
        "budgets",
    );
    // What assigns units to arms needs both, and says which is missing.
    let missing = |flag: &str, without: &[&str]| {
        let mut own = on_units(json!("1h"));
        own["name"] = json!("y");
        own[flag.split('.').next().unwrap()] = match flag.split_once('.') {
            None => json!({}),
            Some((_, "holdout")) => json!({"holdout": 0.1}),
            Some(_) => json!({"namespace": {"name": "n", "from": 0, "to": 1}}),
        };
        without.iter().for_each(|key| {
            own.as_object_mut().unwrap().remove(*key);
        });
        refusal(engine.create(own), flag)
    };
    for flag in ["flag", "rollout.holdout", "rollout.namespace"] {
        let both = missing(flag, &["unit", "arms", "safe"]);
        assert!(both.ends_with("missing `unit` and `arms`"), "{both}");
        assert!(missing(flag, &["unit"]).ends_with("missing `unit`"));
        assert!(missing(flag, &["arms", "safe"]).ends_with("missing `arms`"));
    }
    let mut plain = plain("z");
    plain["reward"] = json!({"range": [0, 10]});
    engine.create(plain).unwrap();
    refusal(engine.decide_with("z", json!({"unit": "a"})), "unit");
}

/// Reports on units, in one batch, and the work that they were for the writer.
fn batch(engine: &Caller, reports: impl Iterator<Item = (String, Value)>) -> (usize, Work) {
    let (sender, receiver) = std::sync::mpsc::channel();
    let meter = move |work: Work| sender.send(work).unwrap();
    let metered = Caller(engine.0.metered(Arc::new(meter)));
    let each = reports.map(|(unit, mut report)| {
        report["unit"] = json!(unit);
        Report {
            experiment: "x".into(),
            report: said(report),
        }
    });
    let answers = metered.execute_all(each.collect()).unwrap();
    let accepted = answers.iter().filter(|answer| answer.is_ok()).count();
    (accepted, receiver.recv().unwrap())
}

fn reports_on_one_unit_read_its_decision_once(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(on_units(json!("30d"))).unwrap();
    engine.decide_with("x", json!({"unit": "a"})).unwrap();
    engine.decide_with("x", json!({"unit": "b"})).unwrap();
    let of_a = || (0..600).map(|i| ("a".to_string(), report(i, 0.001, 0.0)));
    let (accepted, work) = batch(&engine, of_a());
    // It was in memory, and stays there; of this stretch of time and of that before there is none to be found.
    assert_eq!((accepted, work.events), (600, 602));
    let (accepted, work) = batch(&engine, of_a());
    assert_eq!((accepted, work.events), (600, 2));
    engine.stop();
    let engine = Engine::start(&place.database);
    // From the log, once: the decision, its reports, and two others that its unit may have had.
    let (accepted, work) = batch(&engine, of_a());
    assert_eq!((accepted, work.events), (600, 603));
    let both = of_a().chain([("b".to_string(), report(1, 0.001, 0.0))]);
    let (accepted, work) = batch(&engine, both);
    assert_eq!((accepted, work.events), (601, 6));
    let again = by_unit(&engine, "a", report(1, 0.001, 0.0)).unwrap();
    assert!((again.reward.unwrap() - 0.6).abs() < 1e-9, "{again:?}");
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

fn memory_forgets_units_and_finds_them_again(place: &Place) {
    let options = Options {
        open_bytes: 20_000,
        ..Options::default()
    };
    let engine = Engine::with(&place.database, options);
    engine.create(on_units(json!("30d"))).unwrap();
    let units = || (0..40).map(|i| format!("u{i}"));
    arms(&engine, 40);
    for round in 0..30 {
        let (accepted, _) = batch(&engine, units().map(|unit| (unit, report(round, 0.1, 0.0))));
        assert_eq!(accepted, 40);
    }
    for unit in units() {
        let known = by_unit(&engine, &unit, report(29, 0.1, 0.0)).unwrap();
        assert!((known.reward.unwrap() - 3.0).abs() < 1e-9, "{known:?}");
    }
    engine.stop();
}
