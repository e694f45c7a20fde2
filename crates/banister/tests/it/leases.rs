//! Leases and their clients. `clients/leases.json` holds what clients in every language must answer; `BLESS=1` writes it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use banister::lease::{Gate, Holdout, Lease, LeaseClient, LeaseSigner, SignedLease, draw, uniform};
use serde_json::{Value, json};

const NOW: i64 = 1_790_000_000_000;

fn signer() -> LeaseSigner {
    LeaseSigner::new(&[7; 32])
}

fn lease(number: u64) -> Lease {
    Lease {
        experiment: "checkout".into(),
        lease: number,
        issued: NOW,
        expires: NOW + 60_000,
        most: 1_000_000,
        arms: ["control", "bold", "red"].map(String::from).into(),
        safe: 0,
        key: 6_543_210_987_654_321,
        prefix: format!("{number}/"),
        holdout: None,
        gate: None,
        policies: BTreeMap::from([(String::new(), vec![(0, 0.25), (1, 0.5), (2, 0.25)])]),
        certificate: json!({"": {"outcomes": 17}}),
    }
}

fn variants() -> Vec<(&'static str, Lease)> {
    let holdout = Some(Holdout {
        key: 1_234_567_890_123,
        share: 0.2,
    });
    let gate = Some(Gate {
        key: 9_007_199_254_740_991,
        from: 0.25,
        to: 0.75,
    });
    let mut units = lease(5);
    units.prefix = String::new();
    units.safe = 1;
    let mut segments = lease(8);
    segments.policies = BTreeMap::from([
        ("new".into(), vec![(0, 0.1), (2, 0.9)]),
        ("日本".into(), vec![(1, 1.0)]),
    ]);
    let held = |gate| Lease {
        holdout,
        gate,
        ..units.clone()
    };
    vec![
        ("arms", lease(17)),
        ("units", units.clone()),
        ("holdout", held(None)),
        ("holdout and namespace", held(gate)),
        ("segments", segments),
    ]
}

/// Units of every length modulo eight, beyond ASCII, and empty.
fn units() -> Vec<String> {
    let plain = (0..40).map(|i| format!("user-{}", "7".repeat(i % 17)) + &i.to_string());
    let others = [
        "",
        "é",
        "漢字",
        "🦀🦀",
        "a\u{0}b",
        "\"\\",
        "ünïcödé-1234567",
    ];
    plain.chain(others.map(String::from)).collect()
}

fn vectors() -> Value {
    let hashes = units().into_iter().enumerate().map(|(i, unit)| {
        let key = [(i as u64) << 40 | 0xabcdef, i as u64 % 3];
        let parts = [["", "17/", "é"][i % 3], unit.as_str()];
        json!({"key": key, "parts": parts, "uniform": uniform(key, parts)})
    });
    let draws = |lease: &Lease| {
        let segments = ["", "new", "日本", "unheard of"];
        let each = segments.iter().flat_map(|segment| {
            units().into_iter().map(move |unit| {
                let own = lease.arm(segment, &unit);
                json!({"segment": segment, "unit": unit, "arm": own.arm, "is_drawn": own.is_drawn})
            })
        });
        Value::from_iter(each)
    };
    let times = [-1, 0, 1, 59_999, 60_000].map(|after| NOW + after);
    let mut leases: Vec<Value> = variants()
        .iter()
        .map(|(name, lease)| {
            let holds = times.map(|now| json!({"now": now, "holds": lease.holds_at(now)}));
            let signed = signer().sign(lease, NOW).unwrap();
            json!({"name": name, "signed": signed, "refused": null, "holds": holds, "draws": draws(lease)})
        })
        .collect();
    for (name, signed) in forged() {
        let refused = signed.verify(&public_key()).unwrap_err().to_string();
        leases.push(
            json!({"name": name, "signed": signed, "refused": refused, "holds": [], "draws": []}),
        );
    }
    let hashes = Value::from_iter(hashes);
    json!({"public_key": signed(&lease(1)).public_key, "hashes": hashes, "leases": leases})
}

fn signed(lease: &Lease) -> SignedLease {
    signer().sign(lease, NOW).unwrap()
}

fn public_key() -> [u8; 32] {
    banister::lease::from_hex(&signed(&lease(1)).public_key).unwrap()
}

fn forged() -> Vec<(&'static str, SignedLease)> {
    let good = signed(&lease(17));
    let changed = |change: &dyn Fn(&mut SignedLease)| {
        let mut own = good.clone();
        change(&mut own);
        own
    };
    let with = |change: &dyn Fn(&mut Lease)| {
        let mut own = lease(17);
        change(&mut own);
        signed(&own)
    };
    let policy = |own: &[(usize, f64)]| BTreeMap::from([(String::new(), own.to_vec())]);
    vec![
        (
            "its text was changed",
            changed(&|own| own.lease = own.lease.replace("60000", "90000")),
        ),
        (
            "another key",
            LeaseSigner::new(&[8; 32]).sign(&lease(17), NOW).unwrap(),
        ),
        ("its time was changed", changed(&|own| own.now -= 1)),
        ("no signature", changed(&|own| own.signature.clear())),
        (
            "half a signature",
            changed(&|own| own.signature.truncate(64)),
        ),
        (
            "not hexadecimal",
            changed(&|own| own.signature.replace_range(0..2, "zz")),
        ),
        (
            "probabilities of 0.9",
            with(&|own| own.policies = policy(&[(0, 0.5), (1, 0.4)])),
        ),
        (
            "an arm that is none",
            with(&|own| own.policies = policy(&[(0, 0.5), (3, 0.5)])),
        ),
        (
            "a probability below 0",
            with(&|own| own.policies = policy(&[(0, -0.5), (1, 1.5)])),
        ),
        ("a safe arm that is none", with(&|own| own.safe = 3)),
    ]
}

#[test]
fn the_vectors_of_all_clients_are_what_this_one_answers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/leases.json");
    let current = serde_json::to_string_pretty(&vectors()).unwrap() + "\n";
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &current).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap();
    assert!(
        stored == current,
        "leases changed: `BLESS=1` writes the vectors anew"
    );
}

#[test]
fn a_signed_lease_comes_back_as_it_was() {
    for (name, own) in variants() {
        assert_eq!(signed(&own).verify(&public_key()).unwrap(), own, "{name}");
    }
    for (name, own) in forged() {
        assert!(own.verify(&public_key()).is_err(), "{name}");
    }
}

/// The law of a draw is the policy's, also among units that are not held out, and under two policies few change.
#[test]
fn draws_have_the_law_of_their_policy() {
    let policy = [(0, 0.25), (1, 0.5), (2, 0.25)];
    let n = 200_000;
    for holdout in [None, Some(Holdout { key: 3, share: 0.2 })] {
        for safe in 0..3 {
            let mut counts = [0.0; 3];
            for i in 0..n {
                let unit = i.to_string();
                let own = holdout.map(|own| (own, unit.as_str()));
                let u = draw(11, ["", &unit], own, &policy, safe);
                assert!((0.0..1.0).contains(&u));
                let arm = usize::from(u >= 0.25) + usize::from(u >= 0.75);
                counts[arm] += 1.0;
                let is_held = holdout.is_some_and(|own| own.holds(&unit));
                assert!(!is_held || arm == safe);
            }
            for (arm, p) in policy {
                let spread = (f64::from(n) * p * (1.0 - p)).sqrt();
                assert!(
                    (counts[arm] - f64::from(n) * p).abs() < 5.0 * spread,
                    "{holdout:?} {counts:?}"
                );
            }
        }
    }
}

fn client(limit: usize) -> LeaseClient {
    LeaseClient::new("checkout", "control", Some(public_key()), limit)
}

fn answer(lease: &Lease, now: i64) -> SignedLease {
    signer().sign(lease, now).unwrap()
}

/// A unit that a lease gives an arm other than the safe one.
fn bold(lease: &Lease) -> String {
    let all = (0..).map(|i| format!("u{i}"));
    all.into_iter()
        .find(|unit| lease.arm("", unit).arm != lease.safe)
        .unwrap()
}

#[test]
fn a_client_draws_while_its_lease_holds_and_plays_safe_without() {
    let own = lease(17);
    let unit = bold(&own);
    let mut client = client(10);
    assert_eq!(client.decide("", &unit, 0).arm, "control");
    assert_eq!(client.left(0), 0);
    // The request was sent at 5000 of our clock and answered 20 s after the lease was issued.
    client.accept(&answer(&own, NOW + 20_000), 5000).unwrap();
    assert_eq!(client.left(5000), 40_000);
    let drawn = client.decide("", &unit, 5100);
    assert_ne!(drawn.arm, "control");
    assert_eq!(drawn.prefix, Some("17/"));
    let late = client.decide("", &unit, 45_000);
    assert_eq!((late.arm, late.prefix), ("control", None));
    let exposed = client.take_exposures();
    assert_eq!(exposed.len(), 1);
    let (number, each) = &exposed[0];
    assert_eq!((*number, each.len(), each[0].at), (17, 1, NOW + 20_100));
    assert_eq!(
        (each[0].unit.as_str(), &each[0].segment),
        (unit.as_str(), &None)
    );
    assert_eq!((client.waiting(), client.take_exposures().len()), (0, 0));
}

#[test]
fn an_answer_that_is_old_forged_or_repeated_prolongs_nothing() {
    let mut client = client(10);
    client.accept(&answer(&lease(17), NOW), 0).unwrap();
    // The answer comes again, later: the lease does not hold for longer.
    client.accept(&answer(&lease(17), NOW), 50_000).unwrap();
    assert_eq!(client.left(50_000), 10_000);
    let mut newer = lease(18);
    newer.expires = NOW + 90_000;
    client
        .accept(&answer(&newer, NOW + 40_000), 40_000)
        .unwrap();
    assert_eq!(client.left(50_000), 40_000);
    client.accept(&answer(&lease(17), NOW), 50_000).unwrap();
    assert_eq!(client.left(50_000), 40_000);
    for (name, own) in forged() {
        assert!(client.accept(&own, 50_000).is_err(), "{name}");
    }
    assert_eq!(client.left(50_000), 40_000);
    // Without a key of its own it takes the answer's, whose signature must still fit.
    let mut trusting = LeaseClient::new("checkout", "control", None, 10);
    trusting.accept(&answer(&lease(17), NOW), 0).unwrap();
    let mut broken = answer(&lease(18), NOW);
    broken.public_key = "7".into();
    let error = trusting.accept(&broken, 0).unwrap_err().to_string();
    assert!(error.contains("public_key"), "{error}");
    // All experiments of a service have one key.
    let mut other = lease(18);
    other.experiment = "search".into();
    let error = trusting.accept(&answer(&other, NOW), 0).unwrap_err();
    assert!(error.to_string().contains("`checkout`"), "{error}");
}

#[test]
fn what_cannot_be_reported_is_not_drawn_and_a_lease_has_its_number_of_decisions() {
    let mut own = lease(17);
    let unit = bold(&own);
    let mut full = client(3);
    full.accept(&answer(&own, NOW), 0).unwrap();
    let drawn = |client: &mut LeaseClient| client.decide("", &unit, 1).prefix.is_some();
    let times = |client: &mut LeaseClient| (0..9).filter(|_| drawn(client)).count();
    assert_eq!(times(&mut full), 3);
    // Exposures of an older lease wait with those of the newer one.
    full.accept(&answer(&lease(18), NOW), 0).unwrap();
    assert_eq!((times(&mut full), full.waiting()), (0, 3));
    assert_eq!(full.take_exposures()[0].0, 17);
    assert_eq!(times(&mut full), 3);
    own.most = 2;
    let mut few = client(10);
    few.accept(&answer(&own, NOW), 0).unwrap();
    assert_eq!(times(&mut few), 2);
}

#[test]
fn exposures_name_unit_arm_and_segment() {
    let (_, own) = variants().pop().unwrap();
    let mut client = client(100);
    client.accept(&answer(&own, NOW), 0).unwrap();
    let mut expected = Vec::new();
    for unit in units().iter().filter(|unit| !unit.is_empty()) {
        for segment in ["new", "日本", "unheard of"] {
            let decided = client.decide(segment, unit, 7);
            if decided.prefix.is_some() {
                expected.push((unit.clone(), segment, decided.arm.to_string()));
            }
        }
    }
    assert_eq!(expected.len(), 2 * units().len() - 2);
    let exposed = client.take_exposures().pop().unwrap().1;
    let found = exposed.iter().map(|e| {
        let segment = e.segment.as_deref().unwrap();
        (e.unit.clone(), segment, e.arm.clone())
    });
    assert_eq!(found.collect::<Vec<_>>(), expected);
}
