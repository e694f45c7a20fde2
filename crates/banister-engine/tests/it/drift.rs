//! Declared drift: time is the log's, and no policy is used beyond the time that it was made for.

use crate::common;

use banister::{Event, Origin, Outcome, Pending, Round};
use banister_engine::{Import, ImportOutcomes, Options, Timestamp, rebuild};
use common::engine::{Caller, Engine, field, plain};
use common::{Place, both, until, whole, write};
use serde_json::{Value, json};

both!(
    decisions_are_those_of_an_agent_that_is_told_the_time,
    an_idle_hour_makes_bounds_wider,
    no_policy_is_used_beyond_its_time,
    segments_learn_by_events_alone,
);

fn drifting(by: f64, per: &str) -> Value {
    let mut declaration = plain("x");
    declaration["guardrails"][0]["drift"] = json!({"by": by, "per": per});
    declaration
}

fn outcome(i: usize, action: u32) -> (f64, f64) {
    let cost = if action == 0 {
        0.1
    } else {
        (i % 5) as f64 / 8.0
    };
    (0.2 + 0.3 * f64::from(action), cost)
}

fn report(engine: &Caller, i: usize, action: u32) {
    let (reward, cost) = outcome(i, action);
    let report = json!({"reward": reward, "costs": {"errors": cost}});
    engine.report("x", &format!("d{i}"), report).unwrap();
}

/// Seconds from the experiment's creation to a decision.
fn age(engine: &Caller, time: Timestamp) -> f64 {
    time.seconds_since(engine.show("x").unwrap().created)
}

/// The engine decides bit by bit like an agent in Rust that is told the times of the log's events, through snapshots and
/// restarts.
fn decisions_are_those_of_an_agent_that_is_told_the_time(place: &Place) {
    for (name, per) in [("decisions", "decision"), ("hours", "hour")] {
        let mut declaration = drifting(1e-3, per);
        declaration["name"] = json!(name);
        let options = || Options {
            snapshot_every: 13,
            ..Options::default()
        };
        let mut engine = Engine::with(&place.database, options());
        let created = engine.create(declaration.clone()).unwrap();
        let declaration: banister_engine::Declaration =
            serde_json::from_value(declaration).unwrap();
        let checked = declaration.check().unwrap();
        let mut twin = checked.config.build(&checked.problem).unwrap();
        for i in 0..250 {
            if i % 60 == 59 {
                engine.stop();
                engine = Engine::with(&place.database, options());
            }
            let id = format!("d{i}");
            let decided = engine.decide(name, &id).unwrap();
            let time = if per == "decision" {
                (i + 1) as f64
            } else {
                decided.time.seconds_since(created.created)
            };
            let round = Round {
                time: Some(time),
                ..Round::default()
            };
            let decision = twin.decide(&round).unwrap().clone();
            assert_eq!(decided.published.policy, decision.policy, "{per} {i}");
            assert_eq!(decided.published.guardrails, decision.guardrails);
            assert_eq!(decided.published.until, decision.until);
            let action = decided.index as usize;
            let pending = Pending {
                decision: decided.number,
                action,
                segment: None,
                safe_probability: Some(decision.probability(0)),
                excess: &[],
                time: Some(time),
            };
            twin.apply(&Event::Drawn(&pending)).unwrap();
            let (reward, cost) = outcome(i, decided.index);
            let told = json!({"reward": reward, "costs": {"errors": cost}});
            engine.report(name, &id, told).unwrap();
            let costs = [cost];
            let observed = Outcome {
                origin: Origin::Announced(decided.number),
                time: Some(time),
                ..Outcome::of_arm(action, reward, &costs)
            };
            twin.apply(&Event::Outcome(&observed)).unwrap();
        }
        assert!(twin.view().outcomes == 250);
        engine.stop();
        assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
    }
}

/// Upper end of an arm's cost.
fn upper(engine: &Caller, arm: usize) -> f64 {
    engine.live_state("x").arms[arm].estimate.costs[0].upper
}

/// A log that was written earlier: whoever opens it now has been idle since.
fn an_idle_hour_makes_bounds_wider(place: &Place) {
    let scratch = Place::sqlite();
    let engine = Engine::start(&scratch.database);
    let mut declaration = drifting(0.24, "day");
    declaration["arms"] = json!(["old", "new"]);
    engine.create(declaration).unwrap();
    for i in 0..200 {
        engine.decide("x", &format!("d{i}")).unwrap();
        let cheap = json!({"reward": 0.5, "costs": {"errors": 0}});
        engine.report("x", &format!("d{i}"), cheap).unwrap();
    }
    let before = upper(&engine, 1);
    assert!(before < 0.5, "{before}");
    let windows = &engine.live_state("x").arms[1].estimate.windows;
    assert!(windows[0].is_none() && windows[1].is_some_and(|n| n > 0));
    engine.stop();
    let mut events = whole(&mut *scratch.open());
    for record in &mut events {
        let (author, event) = record.read().unwrap();
        record.time = Timestamp(record.time.0 - 3_700_000_000);
        record.write(&author, &event).unwrap();
    }
    write(&mut *place.open(), &events);
    let engine = Engine::start(&place.database);
    until("the log is read", || engine.show("x").is_ok());
    let decided = engine.decide("x", "later").unwrap();
    let after = upper(&engine, 1);
    assert!((after - before - 0.0102).abs() < 0.0012, "{before} {after}");
    assert!(decided.published.until.unwrap() >= age(&engine, decided.time));
    let known = decided.published.estimate(1).map(|own| own.costs[0].upper);
    assert!(known.is_none_or(|known| known == after));
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

/// Policies for three seconds, over arms and by segment, of a writer and of replicas: one that nobody asked for in time
/// is made anew.
fn no_policy_is_used_beyond_its_time(place: &Place) {
    for by_segment in [false, true] {
        let mut declaration = drifting(1.0, "hour");
        if by_segment {
            let names =
                |what: &str, n: usize| (0..n).map(|i| format!("{what}{i}")).collect::<Vec<_>>();
            declaration["arms"] = json!(names("arm", 20));
            declaration["safe"] = json!("arm0");
            declaration["segments"] = json!(names("s", 60));
            declaration["guardrails"][0]["scope"] = json!("each");
        }
        let place = if place.server.is_some() {
            &Place::postgres().expect("a server")
        } else {
            &Place::sqlite()
        };
        // In a database, of two replicas in turn.
        let replicas = if place.server.is_some() { 2 } else { 1 };
        let engines: Vec<Engine> = (0..replicas)
            .map(|_| Engine::start(&place.database))
            .collect();
        let engine = &engines[0];
        engine.create(declaration).unwrap();
        for other in &engines {
            until("it hears of it", || other.show("x").is_ok());
        }
        let ask = |i: usize| {
            let mut request = json!({"id": format!("d{i}")});
            if by_segment {
                request["segment"] = json!("s1");
            }
            let decided = engines[i % replicas].decide_with("x", request).unwrap();
            let ends = decided.published.until;
            let time = age(engine, decided.time);
            assert!(ends.is_none_or(|ends| ends >= time), "{ends:?} {time}");
            (decided, ends)
        };
        for i in 0..40 {
            let (decided, _) = ask(i);
            report(engine, i, decided.index);
        }
        for i in 40..43 {
            let (_, ends) = ask(i);
            let over = |ends: f64| age(engine, Timestamp::now()) > ends;
            until("it is over", || over(ends.expect("a drift")));
            assert_ne!(ask(100 + i).1, ends);
        }
        engines.into_iter().for_each(Engine::stop);
        assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
    }
}

/// Policies that somebody looks at do not change what is learned, though they are made for another time.
fn segments_learn_by_events_alone(place: &Place) {
    let mut declaration = drifting(0.5, "hour");
    declaration["segments"] = json!(["de", "fr"]);
    declaration["agent"] = json!({"kind": "segmented", "pool_until": 5});
    let engine = Engine::start(&place.database);
    engine.create(declaration).unwrap();
    for i in 0..200 {
        let segment = ["de", "fr", "it"][i % 3];
        let request = json!({"id": format!("d{i}"), "segment": segment});
        let decided = engine.decide_with("x", request).unwrap();
        if i % 7 == 3 {
            engine.cancel("x", &format!("d{i}")).unwrap();
        } else {
            report(&engine, i, decided.index);
        }
        if i % 11 == 0 {
            engine.live_state("x");
        }
    }
    let digest = engine.digest("x").unwrap().0;
    engine.stop();
    let rebuilt = rebuild(&place.database, |_, _| {}).unwrap();
    assert!(rebuilt.is_equal());
    assert_eq!(rebuilt.experiments[0].digest, digest);
}

#[test]
fn bad_drift_and_outcomes_without_a_time_are_refused() {
    let place = Place::sqlite();
    let engine = Engine::start(&place.database);
    for (by, per) in [(-0.1, "day"), (1.5, "hour")] {
        let refused = engine.create(drifting(by, per));
        assert_eq!(field(refused), "guardrails[0].drift.by");
    }
    let mut mixed = drifting(0.1, "day");
    mixed["reward"] = json!({"drift": {"by": 0.1, "per": "decision"}});
    assert_eq!(field(engine.create(mixed)), "guardrails[0].drift.per");
    engine.create(drifting(0.1, "day")).unwrap();
    let import = Import {
        arms: vec![0],
        rewards: vec![0.5],
        costs: vec![0.1],
        ..Import::default()
    };
    let refused = engine.execute(ImportOutcomes {
        experiment: "x".into(),
        import,
    });
    assert_eq!(field(refused), "rows");
    engine.stop();
}
