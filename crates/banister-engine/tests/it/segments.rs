//! Decisions in segments: declared, decided, learned from and folded again.

use crate::common;
use banister::Origin;

use banister::monitor::AlarmKind;
use banister_engine::{
    Decide, Decided, Import, ImportOutcomes, Options, ReadSegments, RecordedAlarm, SegmentList,
    rebuild,
};
use common::engine::{Caller, Engine, check, field, plain};
use common::ledger::agree;
use common::{Place, both, until};
use serde_json::{Value, json};

both!(
    what_is_learned_by_segment_is_a_fold_of_the_log,
    outcomes_with_a_time_to_live_come_to_their_segment,
    outcomes_that_never_come_in_one_segment_raise_an_alarm_and_count_at_their_worst,
);

const NAMES: [&str; 4] = ["de", "fr", "it", "rare"];

fn declare(name: &str) -> Value {
    let mut declaration = plain(name);
    declaration["segments"] = json!(["de", "fr"]);
    declaration["agent"] = json!({"kind": "segmented", "pool_until": 5});
    // Over all segments they are told apart only once that is estimated to earn more.
    declaration["guardrails"][0]["scope"] = json!("each");
    declaration
}

fn request(i: usize) -> Value {
    json!({"id": format!("d{i}"), "segment": segment(i)})
}

fn segment(i: usize) -> &'static str {
    // The last is rare.
    NAMES[[0, 1, 0, 2, 0, 1, 0, 2, 0, 1, 3][i % 11]]
}

fn decide(caller: &Caller, name: &str, i: usize) -> Decided {
    let decided = caller.decide_with(name, request(i)).unwrap();
    check(&decided);
    let own = decided.published.segment.as_ref().expect("a certificate");
    assert_eq!(own.name, segment(i));
    decided
}

/// Germans like what is new, others do not.
fn outcome(i: usize, action: u32) -> Value {
    let liked = (action == 1) == (segment(i) == "de");
    json!({"reward": if liked { 0.9 } else { 0.1 }, "costs": {"errors": (i % 3) as f64 / 10.0}})
}

fn segments(caller: &Caller, name: &str) -> SegmentList {
    caller
        .query(ReadSegments {
            name: name.into(),
            places: 0..100,
        })
        .unwrap()
}

fn often() -> Options {
    Options {
        snapshot_every: 13,
        ..Options::default()
    }
}

fn what_is_learned_by_segment_is_a_fold_of_the_log(place: &Place) {
    let engine = Engine::with(&place.database, often());
    engine.create(declare("x")).unwrap();
    let mut shadow = declare("shadow");
    shadow["shadow"] = json!(true);
    engine.create(shadow).unwrap();
    let mut overall = declare("overall");
    overall["guardrails"][0]["scope"] = json!("overall");
    engine.create(overall).unwrap();
    let mut actions = Vec::new();
    for i in 0..300 {
        actions.push(decide(&engine, "x", i).index);
        let other = decide(&engine, "overall", i).index;
        (engine.report("overall", &format!("d{i}"), outcome(i, other))).unwrap();
        decide(&engine, "shadow", i);
        let report = json!({"taken": "new", "reward": 1, "costs": {"errors": 0}});
        engine.report("shadow", &format!("d{i}"), report).unwrap();
        // Late, in another order, and some of them never.
        if i % 20 == 19 {
            for j in (i - 19..=i).rev().filter(|j| j % 7 != 0) {
                let id = format!("d{j}");
                engine.report("x", &id, outcome(j, actions[j])).unwrap();
                engine.report("x", &id, outcome(j, actions[j])).unwrap();
            }
        }
        // Asked again, the answer is the same.
        let again = decide(&engine, "x", i / 2);
        assert_eq!(again.index, actions[i / 2]);
    }
    // Several in one commit.
    let batch = (300..320).map(|i| {
        let request = serde_json::from_value(request(i)).unwrap();
        Decide::new("x".into(), request)
    });
    for answer in engine.execute_all(batch.collect()).unwrap() {
        check(&answer.unwrap());
    }
    let import = Import {
        arms: vec![1, 1, 0],
        rewards: vec![1.0, 0.5, 0.0],
        costs: vec![0.0, 0.1, 0.2],
        segments: vec!["de".into(), "new in the log".into(), "de".into()],
        ..Import::default()
    };
    let experiment = "x".into();
    let again = import.clone();
    engine
        .execute(ImportOutcomes { experiment, import })
        .unwrap();
    // The same rows declared a sample would count twice.
    let mut import = again;
    import.set_origins(
        &[Origin::Sampled {
            is_first: true,
            is_blind: false,
        }; 3],
    );
    let experiment: std::sync::Arc<str> = "x".into();
    let refused = engine.execute(ImportOutcomes {
        experiment: experiment.clone(),
        import: import.clone(),
    });
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .starts_with("`frequencies` is same")
    );
    // Other rows of the same traffic count their segments, one of them twice answered.
    import.rewards[0] = 0.25;
    let sampled = [true, false, true].map(|is_first| Origin::Sampled {
        is_first,
        is_blind: false,
    });
    import.set_origins(&sampled);
    import.segments = vec!["de".into(), "de".into(), "fr".into()];
    import.arms = vec![0, 1, 1];
    engine
        .execute(ImportOutcomes { experiment, import })
        .unwrap();
    for name in ["x", "shadow"] {
        let page = segments(&engine, name);
        let last = page.segments.last().unwrap();
        assert_eq!(
            (page.total, last.name.is_none()),
            (page.segments.len(), true)
        );
        let contexts: u64 = page.segments.iter().map(|own| own.contexts).sum();
        assert_eq!(contexts, if name == "x" { 322 } else { 300 });
        assert_eq!(page.segments[0].name.as_deref(), Some("de"));
        assert_eq!(page.segments[0].arms.len(), 3);
        let frequencies = page.segments.iter().map(|own| own.frequency);
        assert!((frequencies.sum::<f64>() - 1.0).abs() < 1e-9);
    }
    let names = ["x", "shadow", "overall"];
    let before = names.map(|name| (engine.digest(name).unwrap(), shown(&engine, name)));
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
    let engine = Engine::start(&place.database);
    let after = names.map(|name| (engine.digest(name).unwrap(), shown(&engine, name)));
    assert_eq!(after, before);
    // Without snapshots it is the same.
    engine.stop();
    place.run("DELETE FROM snapshots", "DELETE FROM snapshots");
    let engine = Engine::start(&place.database);
    let after = names.map(|name| (engine.digest(name).unwrap(), shown(&engine, name)));
    assert_eq!(after, before);
    decide(&engine, "x", 500);
}

/// All that is learned of the segments. Policies stand until there is something new, and so may be other ones after a
/// restart, which makes them anew.
fn shown(caller: &Caller, name: &str) -> Vec<String> {
    let page = segments(caller, name);
    let each = page.segments.iter();
    each.map(|own| format!("{:?} {} {:?}", own.name, own.contexts, own.arms))
        .collect()
}

fn outcomes_with_a_time_to_live_come_to_their_segment(place: &Place) {
    let engine = Engine::with(&place.database, often());
    let mut declaration = declare("x");
    declaration["ttl_seconds"] = json!(0.001);
    declaration["default_outcome"] = json!({"reward": 0, "costs": {"errors": 0.1}});
    engine.create(declaration).unwrap();
    for i in 0..40 {
        decide(&engine, "x", i);
    }
    until("all are learned", || {
        engine.show("x").unwrap().counts.outcomes == 40
    });
    let page = segments(&engine, "x");
    let pulls = |name: &str| -> u64 {
        let found = (page.segments.iter()).find(|own| own.name.as_deref() == Some(name));
        let arms = &found.unwrap().arms;
        arms.iter().filter_map(|arm| arm.estimate.pulls).sum()
    };
    let seen = |name: &str| (0..40).filter(|&i| segment(i) == name).count() as u64;
    // Those that were declared are told apart once there are contexts enough to look at them.
    for own in page.segments.iter().filter_map(|own| own.name.as_ref()) {
        assert_eq!(pulls(own), seen(own));
    }
    let digest = engine.digest("x").unwrap();
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
    assert_eq!(Engine::start(&place.database).digest("x").unwrap(), digest);
}

/// One segment never reports. What is given up is the pool's at its worst, and an alarm tells of the segment; without
/// guardrails nothing rests on it, and there is none.
fn outcomes_that_never_come_in_one_segment_raise_an_alarm_and_count_at_their_worst(place: &Place) {
    let engine = Engine::with(&place.database, often());
    let names = ["guarded", "free"];
    for name in names {
        let mut declaration = plain(name);
        declaration["segments"] = json!(["de", "fr"]);
        declaration["agent"] = json!({"kind": "segmented", "pool_until": 1_000_000});
        declaration["ttl_seconds"] = json!(2);
        declaration["guardrails"] = match name {
            "free" => json!([]),
            _ => json!([{"name": "errors", "at_most": 0.5}]),
        };
        engine.create(declaration).unwrap();
        let costs = |cost: f64| match name {
            "free" => json!({}),
            _ => json!({"errors": cost}),
        };
        for i in 0..80 {
            let segment = ["de", "fr"][i % 2];
            let request = json!({"id": format!("d{i}"), "segment": segment});
            engine.decide_with(name, request).unwrap();
            if segment == "de" {
                let report = json!({"reward": 1, "costs": costs(0.1)});
                // Whoever is too late is told so, and it is missing, too.
                let _ = engine.report(name, &format!("d{i}"), report);
            }
        }
    }
    for name in names {
        until("all are settled", || {
            let counts = engine.show(name).unwrap().counts;
            counts.outcomes + counts.missing == 80
        });
        let view = engine.show(name).unwrap();
        let (came, missing) = (view.counts.outcomes as f64, view.counts.missing as f64);
        let pool = segments(&engine, name).segments.pop().unwrap();
        let sum = |of: &dyn Fn(&banister::ArmEstimate) -> f64| -> f64 {
            let arms = pool.arms.iter().map(|arm| &arm.estimate);
            let arms = arms.filter(|arm| arm.pulls > Some(0));
            arms.map(|arm| arm.pulls.unwrap() as f64 * of(arm)).sum()
        };
        assert_eq!((pool.name, sum(&|_| 1.0)), (None, 80.0));
        assert!((sum(&|arm| arm.reward.mean.unwrap()) - came).abs() < 1e-9);
        if name == "free" {
            assert_eq!(json!(view.alarms), json!([]));
            continue;
        }
        assert!((sum(&|arm| arm.costs[0].mean.unwrap()) - 0.1 * came - missing).abs() < 1e-9);
        let is_missing = |own: &&RecordedAlarm| own.alarm.kind == AlarmKind::Missing;
        until("an alarm", || {
            let alarms = engine.show(name).unwrap().summary.alarms;
            alarms.iter().any(|own| is_missing(&own))
        });
        let alarms = engine.show(name).unwrap().summary.alarms;
        let own = alarms.iter().find(is_missing).unwrap();
        assert_eq!(own.alarm.segment.as_deref(), Some("fr"));
        assert!(!own.alarm.forces_safe);
        let message = &own.alarm.message;
        let words = "in the segment fr, the outcomes of ";
        assert!(message.starts_with(words), "{message}");
    }
    let seen = |engine: &Engine| {
        names.map(|name| {
            let alarms = json!(engine.show(name).unwrap().alarms);
            (engine.digest(name).unwrap(), shown(engine, name), alarms)
        })
    };
    let before = seen(&engine);
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
    let engine = Engine::start(&place.database);
    assert_eq!(seen(&engine), before);
    // Without snapshots it is the same.
    engine.stop();
    place.run("DELETE FROM snapshots", "DELETE FROM snapshots");
    assert_eq!(seen(&Engine::start(&place.database)), before);
}

#[test]
fn replicas_decide_in_segments_alike() {
    let Some(place) = Place::postgres() else {
        return;
    };
    let engines = [
        Engine::start(&place.database),
        Engine::start(&place.database),
    ];
    engines[0].create(declare("x")).unwrap();
    until("the other hears of it", || engines[1].show("x").is_ok());
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let engines = &engines;
            scope.spawn(move || {
                for i in (0..200).filter(|i| i % 4 == worker) {
                    let decided = decide(&engines[i % 2], "x", i);
                    let (id, told) = (format!("d{i}"), outcome(i, decided.index));
                    let other = &engines[(i + worker) % 2];
                    other.report("x", &id, told).unwrap();
                }
            });
        }
    });
    agree(&place.database, &[&engines[0], &engines[1]]);
}

#[test]
fn segments_made_from_fields_have_one_name() {
    let place = Place::sqlite();
    let engine = Engine::start(&place.database);
    let mut declaration = plain("x");
    declaration["segments"] = json!({
        "fields": ["country", "device"],
        "known": [{"device": "mobile", "country": "de"}],
    });
    let view = engine.create(declaration.clone()).unwrap();
    assert_eq!(view.agent.kind(), "segmented");
    let given = json!(view.segments);
    assert_eq!(given, declaration["segments"]);
    let named = |country: &str, device: &str| {
        let request = json!({"segment": {"country": country, "device": device}});
        let decided = engine.decide_with("x", request).unwrap();
        decided.published.segment.as_ref().unwrap().name.clone()
    };
    assert_eq!(named("de", "mobile"), "country=de, device=mobile");
    // Whatever is in the values, two segments have two names.
    let odd = ["de", "de, device=x", "de\\", "de\\, device=x", ",", "\\,"];
    let mut names = Vec::new();
    for country in odd {
        for device in odd {
            names.push(named(country, device));
        }
    }
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    let segments = view.segments.unwrap();
    let banister_engine::Segments::Fields(fields) = segments else {
        panic!("{segments:?}");
    };
    for name in names {
        assert!(fields.is_name(&name), "{name}");
    }
    for name in [
        "de",
        "country=de",
        "device=de, country=x",
        "country=de, device=x, y",
    ] {
        assert!(!fields.is_name(name), "{name}");
    }
    let refused = |segment: Value| field(engine.decide_with("x", json!({"segment": segment})));
    assert_eq!(refused(json!("de")), "segment");
    assert_eq!(refused(json!({"country": "de"})), "segment.device");
    let more = json!({"country": "de", "device": "x", "hour": "1"});
    assert_eq!(refused(more), "segment.hour");
    let long = json!({"country": "d".repeat(200), "device": "x"});
    assert_eq!(refused(long), "segment");
}

#[test]
fn segments_are_refused_where_nobody_knows_them() {
    let place = Place::sqlite();
    let engine = Engine::start(&place.database);
    let with = |key: &str, value: Value| {
        let mut declaration = declare("y");
        declaration[key] = value;
        field(engine.create(declaration))
    };
    assert_eq!(with("agent", json!({"kind": "opb"})), "segments");
    assert_eq!(with("segments", json!(["de", "de"])), "segments[1]");
    assert_eq!(with("segments", json!(["de", " "])), "segments[1]");
    assert_eq!(with("segments", json!({"fields": []})), "segments.fields");
    let fields = json!({"fields": ["a", "a b"]});
    assert_eq!(with("segments", fields), "segments.fields[1]");
    let known = json!({"fields": ["a"], "known": [{"b": "1"}]});
    assert_eq!(with("segments", known), "segments.known[0].b");
    assert_eq!(
        with("agent", json!({"kind": "segmented", "log_term": 1.0})),
        "agent.log_term"
    );
    let mut each = plain("each");
    each["guardrails"][0]["scope"] = json!("each");
    assert_eq!(field(engine.create(each.clone())), "guardrails[0].scope");
    each["agent"] = json!({"kind": "segmented"});
    let view = engine.create(each).unwrap();
    assert_eq!(json!(view.guardrails)[0]["scope"], "each");
    assert_eq!(json!(view.segments), json!([]));
    engine.create(plain("plain")).unwrap();
    let given = engine.decide_with("plain", json!({"segment": "de"}));
    assert_eq!(field(given), "segment");
    assert_eq!(segments(&engine, "plain").total, 0);
    engine.create(declare("x")).unwrap();
    assert_eq!(field(engine.decide_with("x", json!({}))), "segment");
    let values = engine.decide_with("x", json!({"segment": {"country": "de"}}));
    assert_eq!(field(values), "segment");
    let none = Import {
        arms: vec![1],
        rewards: vec![1.0],
        costs: vec![0.0],
        ..Import::default()
    };
    let (experiment, import) = ("x".into(), none);
    assert_eq!(
        field(engine.execute(ImportOutcomes { experiment, import })),
        "segments"
    );
    let paced = json!([{
        "name": "errors", "at_most": 0.5,
        "budget": {"amount": 10, "per": "day"},
    }]);
    let paced = with("guardrails", paced);
    assert_eq!(paced, "budgets.errors.pacing");
}

/// An alarm about a segment says its name.
#[test]
fn a_breach_in_one_segment_is_told_by_its_name() {
    let place = Place::sqlite();
    let engine = Engine::with(&place.database, often());
    let mut declaration = declare("x");
    declaration["guardrails"] = json!([{"name": "errors", "at_most": 0.3, "scope": "each"}]);
    declaration["agent"] = json!({"kind": "segmented", "alarm_delta": 0.5});
    engine.create(declaration).unwrap();
    for i in 0..400 {
        decide(&engine, "x", i);
        // The safe arm itself fails in one segment.
        let cost = if segment(i) == "fr" && i > 100 { 1 } else { 0 };
        let report = json!({"reward": 0.5, "costs": {"errors": cost}});
        engine.report("x", &format!("d{i}"), report).unwrap();
    }
    until("an alarm", || !engine.show("x").unwrap().alarms.is_empty());
    let alarms = engine.show("x").unwrap().summary.alarms;
    let own = (alarms.iter()).find(|own| own.alarm.segment.is_some());
    let own = own.unwrap_or_else(|| panic!("{alarms:?}"));
    assert_eq!(own.alarm.segment.as_deref(), Some("fr"));
    assert!(
        own.alarm.message.starts_with("in the segment fr, "),
        "{}",
        own.alarm.message
    );
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

/// Many segments, a page of them at a time.
#[test]
fn many_segments_are_told_apart() {
    let place = Place::sqlite();
    let engine = Engine::with(&place.database, often());
    let names: Vec<String> = (0..900).map(|i| format!("s{i}")).collect();
    let arms: Vec<String> = (0..10).map(|i| format!("arm {i}")).collect();
    engine
        .create(json!({
            "name": "x", "arms": arms, "safe": "arm 0", "segments": names,
            "guardrails": [{"name": "errors", "at_most": 0.5, "safe_cost": 0.1, "scope": "each"}],
        }))
        .unwrap();
    for i in 0..30 {
        let request = json!({"id": format!("d{i}"), "segment": names[i % 7]});
        let decided = engine.decide_with("x", request).unwrap();
        check(&decided);
        let own = decided.published.segment.as_ref().unwrap();
        assert_eq!(own.name, names[i % 7]);
        let report = json!({"reward": 1, "costs": {"errors": 0}});
        engine.report("x", &format!("d{i}"), report).unwrap();
    }
    let (name, places) = ("x".into(), 0..8);
    let page = engine.query(ReadSegments { name, places }).unwrap();
    assert_eq!((page.total, page.segments.len()), (901, 8));
    let contexts: u64 = page.segments.iter().map(|own| own.contexts).sum();
    assert_eq!(contexts, 30);
    assert_eq!(engine.stats().experiments[0].segments.told_apart, 901);
    let digest = engine.digest("x").unwrap();
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
    assert_eq!(Engine::start(&place.database).digest("x").unwrap(), digest);
}
