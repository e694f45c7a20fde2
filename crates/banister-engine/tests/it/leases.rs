//! Leases: policies drawn from elsewhere, and the exposures that are checked against them.

use crate::common;

use banister::lease::{Exposure, Lease};
use banister_engine::{
    Expose, Exposed, GrantLease, Import, ImportOutcomes, LeaseRequest, Options, Refusal, Timestamp,
    rebuild,
};
use common::engine::{Caller, Engine, conflict, field, plain, unknown};
use common::{Place, both, until};
use serde_json::{Value, json};

both!(
    an_exposure_is_a_decision_once_and_is_learned,
    what_the_hash_does_not_demand_teaches_nothing,
    a_lease_is_shared_until_half_of_its_time_is_over_or_something_changes,
    a_unit_for_ever_that_saw_two_arms_is_closed,
    segments_have_policies_of_their_own,
    ids_of_leases_are_reserved,
    exposures_may_be_a_little_ahead_of_the_log,
    leases_are_for_what_can_be_decided_elsewhere,
);

fn known(engine: &Caller, declaration: Value) {
    engine.create(declaration).unwrap();
    let arms: Vec<u32> = (0..900).map(|i| i % 3).collect();
    let of = |values: [f64; 3]| arms.iter().map(|&arm| values[arm as usize]).collect();
    let import = Import {
        rewards: of([0.2, 0.7, 0.7]),
        costs: of([0.1, 0.8, 0.8]),
        arms: arms.clone(),
        ..Import::default()
    };
    let experiment = "x".into();
    engine
        .execute(ImportOutcomes { experiment, import })
        .unwrap();
}

fn grant(engine: &Caller, seconds: f64) -> Result<Lease, Refusal> {
    let request = LeaseRequest {
        seconds: Some(seconds),
    };
    let experiment = "x".into();
    let (lease, now) = engine.execute(GrantLease {
        experiment,
        request,
    })?;
    assert!(lease.holds_at(now.0.div_euclid(1000)));
    Ok(lease)
}

fn expose(engine: &Caller, lease: u64, exposure: Exposure) -> Result<Exposed, Refusal> {
    engine.execute(Expose {
        experiment: "x".into(),
        lease,
        exposure,
    })
}

fn exposure(lease: &Lease, unit: &str) -> Exposure {
    Exposure {
        unit: unit.into(),
        arm: lease.arms[lease.arm("", unit).arm].clone(),
        at: lease.issued,
        segment: None,
    }
}

fn an_exposure_is_a_decision_once_and_is_learned(place: &Place) {
    let engine = Engine::start(&place.database);
    known(&engine, plain("x"));
    let lease = grant(&engine, 60.0).unwrap();
    assert_eq!(lease.expires - lease.issued, 60_000);
    assert!(lease.holds_at(lease.issued) && !lease.holds_at(lease.expires));
    let policy = &lease.policies[""];
    assert!(policy.len() > 1, "{policy:?}");
    let mut counts = [0; 3];
    for unit in 0..300 {
        let unit = format!("u{unit}");
        let first = expose(&engine, lease.lease, exposure(&lease, &unit)).unwrap();
        let again = expose(&engine, lease.lease, exposure(&lease, &unit)).unwrap();
        assert_eq!(first, again);
        counts[lease.arm("", &unit).arm] += 1;
        let report = json!({"reward": 1.0, "costs": {"errors": 0.0}});
        assert!(
            engine
                .report("x", &first.decision, report)
                .unwrap()
                .is_complete()
        );
    }
    for &(arm, p) in policy {
        let spread = (300.0 * p * (1.0 - p)).sqrt();
        assert!(
            (f64::from(counts[arm]) - 300.0 * p).abs() < 5.0 * spread,
            "{policy:?} {counts:?}"
        );
    }
    let counts = engine.show("x").unwrap().counts;
    assert_eq!((counts.decisions, counts.outcomes), (300, 300));
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
    // Exposures are taken after a restart, too.
    let engine = Engine::start(&place.database);
    expose(&engine, lease.lease, exposure(&lease, "late")).unwrap();
    assert_eq!(engine.show("x").unwrap().counts.decisions, 301);
}

fn what_the_hash_does_not_demand_teaches_nothing(place: &Place) {
    let engine = Engine::start(&place.database);
    known(&engine, plain("x"));
    let lease = grant(&engine, 60.0).unwrap();
    let own = exposure(&lease, "u");
    let other = lease
        .arms
        .iter()
        .find(|arm| **arm != own.arm)
        .unwrap()
        .clone();
    let with = |change: &dyn Fn(&mut Exposure)| {
        let mut changed = own.clone();
        change(&mut changed);
        expose(&engine, lease.lease, changed)
    };
    assert_eq!(field(with(&|e| e.arm = other.clone())), "arm");
    assert_eq!(field(with(&|e| e.arm = "none".into())), "arm");
    assert_eq!(field(with(&|e| e.at = lease.issued - 1)), "at");
    assert_eq!(field(with(&|e| e.at = lease.expires)), "at");
    assert_eq!(
        field(with(&|e| e.at = lease.expires - 1)),
        "at",
        "it is yet to come"
    );
    assert_eq!(field(with(&|e| e.at = i64::MAX)), "at");
    assert_eq!(field(with(&|e| e.segment = Some("s".into()))), "segment");
    assert_eq!(field(with(&|e| e.unit = "@1".into())), "unit");
    assert_eq!(
        unknown(expose(&engine, lease.lease + 1, own.clone())),
        "lease"
    );
    assert_eq!(unknown(expose(&engine, 1, own.clone())), "lease");
    assert_eq!(engine.show("x").unwrap().counts.decisions, 0);
}

fn a_lease_is_shared_until_half_of_its_time_is_over_or_something_changes(place: &Place) {
    let engine = Engine::start(&place.database);
    known(&engine, plain("x"));
    let first = grant(&engine, 2.0).unwrap();
    assert_eq!(grant(&engine, 2.0).unwrap(), first);
    until("half of its time", || grant(&engine, 2.0).unwrap() != first);
    let before = grant(&engine, 60.0).unwrap();
    engine.change("x", json!({"status": "paused"})).unwrap();
    let paused = grant(&engine, 60.0).unwrap();
    assert_ne!(paused.lease, before.lease);
    assert_eq!(paused.policies[""], [(0, 1.0)]);
    // What was drawn before is taken.
    expose(&engine, before.lease, exposure(&before, "u")).unwrap();
    engine.change("x", json!({"status": "running"})).unwrap();
    let end = Timestamp::now().plus_seconds(20.0);
    engine
        .change("x", json!({"rollout": {"end": end.to_string()}}))
        .unwrap();
    assert_eq!(
        grant(&engine, 60.0).unwrap().expires,
        end.0.div_euclid(1000)
    );
    engine.change("x", json!({"status": "archived"})).unwrap();
    conflict(grant(&engine, 60.0));
    conflict(expose(&engine, before.lease, exposure(&before, "v")));
}

fn a_unit_for_ever_that_saw_two_arms_is_closed(place: &Place) {
    let options = Options::default();
    let engine = Engine::with(&place.database, options);
    let mut declaration = plain("x");
    declaration["unit"] = json!({"name": "user", "period": "forever"});
    known(&engine, declaration);
    let lease = grant(&engine, 60.0).unwrap();
    assert_eq!(lease.prefix, "");
    let moved = (0..)
        .map(|i| format!("u{i}"))
        .find(|unit| lease.arm("", unit).arm != 0)
        .unwrap();
    // By the server or by the lease: the same arm.
    for i in 0..50 {
        let unit = format!("both{i}");
        let decided = engine.decide_with("x", json!({"unit": unit})).unwrap();
        assert_eq!(decided.index as usize, lease.arm("", &unit).arm);
        expose(&engine, lease.lease, exposure(&lease, &unit)).unwrap();
    }
    expose(&engine, lease.lease, exposure(&lease, &moved)).unwrap();
    engine.change("x", json!({"status": "paused"})).unwrap();
    let paused = grant(&engine, 60.0).unwrap();
    expose(&engine, paused.lease, exposure(&paused, &moved)).unwrap();
    let view = engine.show("x").unwrap();
    assert_eq!((view.counts.decisions, view.counts.moved), (51, 1));
    let report = json!({"unit": moved, "reward": 1.0, "costs": {"errors": 0.0}});
    conflict(engine.report("x", "", report));
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

fn segments_have_policies_of_their_own(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = plain("x");
    declaration["segments"] = json!(["new", "old"]);
    engine.create(declaration).unwrap();
    let lease = grant(&engine, 60.0).unwrap();
    assert_eq!(lease.policies.keys().collect::<Vec<_>>(), ["new", "old"]);
    for (i, segment) in ["new", "old", "new"].into_iter().enumerate() {
        let unit = format!("u{i}");
        let arm = lease.arms[lease.arm(segment, &unit).arm].clone();
        let (at, segment) = (lease.issued, Some(segment.to_string()));
        expose(
            &engine,
            lease.lease,
            Exposure {
                unit,
                arm,
                at,
                segment,
            },
        )
        .unwrap();
    }
    let unheard = lease.arm("unheard of", "u");
    assert!(!unheard.is_drawn && unheard.arm == lease.safe);
    assert_eq!(engine.show("x").unwrap().counts.decisions, 3);
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

fn leases_are_for_what_can_be_decided_elsewhere(place: &Place) {
    let engine = Engine::start(&place.database);
    let cases = [
        (
            "context",
            json!({"context": 2, "agent": {"kind": "oplb", "parameter_norm": 1.0}}),
        ),
        ("shadow", json!({"shadow": true})),
        (
            "unit.period",
            json!({"unit": {"name": "user", "period": "1d"}}),
        ),
        (
            "budgets",
            json!({"budgets": {"errors": {"amount": 50, "per": "day"}}}),
        ),
    ];
    for (i, (said, own)) in cases.into_iter().enumerate() {
        let mut declaration = plain(&format!("x{i}"));
        let fields = own.as_object().unwrap().clone();
        declaration.as_object_mut().unwrap().extend(fields);
        engine.create(declaration).unwrap();
        let request = LeaseRequest::default();
        let experiment = format!("x{i}").as_str().into();
        let reason = conflict(engine.execute(GrantLease {
            experiment,
            request,
        }));
        assert!(reason.contains(said), "{reason}");
    }
    engine.create(plain("x")).unwrap();
    for seconds in [0.0, 0.5, 3601.0, f64::NAN, -1.0] {
        assert_eq!(field(grant(&engine, seconds)), "seconds");
    }
}

/// A client's time may be ahead by as long as its request for the lease took, and no further.
fn exposures_may_be_a_little_ahead_of_the_log(place: &Place) {
    let engine = Engine::start(&place.database);
    known(&engine, plain("x"));
    let lease = grant(&engine, 3600.0).unwrap();
    let ahead = |unit: &str, milliseconds: i64| {
        let mut own = exposure(&lease, unit);
        own.at = lease.issued + milliseconds;
        expose(&engine, lease.lease, own)
    };
    ahead("near", 9_000).unwrap();
    for far in [600_000, 3_599_999] {
        assert_eq!(field(ahead("far", far)), "at");
    }
}

/// Nobody can take the id of a unit under a lease before the unit does.
fn ids_of_leases_are_reserved(place: &Place) {
    let engine = Engine::start(&place.database);
    known(&engine, plain("x"));
    let lease = grant(&engine, 60.0).unwrap();
    for id in [format!("{}/u", lease.lease), "7/".into(), "0012/a/b".into()] {
        assert_eq!(field(engine.decide("x", &id)), "id");
    }
    for id in ["u/7", "7", "a7/u"] {
        engine.decide("x", id).unwrap();
    }
    expose(&engine, lease.lease, exposure(&lease, "u")).unwrap();
}
