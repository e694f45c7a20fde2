//! A restored OPLB goes on bit for bit; a broken snapshot is an error, never a panic.

use crate::common;

use banister::oplb::Solver;
use banister::{Error, Oplb, OplbConfig, UnknownSafeCost};
use common::Random;
use common::linear::World;
use serde_json::{Value, json};

/// Plays with an agent and with one that is saved and restored every few rounds.
fn play(config: &OplbConfig, known: bool, m: usize, fixed: bool) -> Oplb {
    let random = &mut Random::new(31 + m as u64);
    let world = World::new(random, 4, m);
    let mut whole = Oplb::new(&world.problem(0.6, known), config).unwrap();
    let mut parts = whole.clone();
    let set = world.actions(random, 7).concat();
    let mut late = Vec::new();
    for round in 0..1500 {
        let offered = if fixed {
            set.clone()
        } else {
            world.actions(random, 7).concat()
        };
        if !fixed || round == 0 {
            whole.offer(&offered).unwrap();
            parts.offer(&offered).unwrap();
        }
        let decision = whole.decide().clone();
        assert_eq!(&decision, parts.decide(), "{config:?}, round {round}");
        let action = decision.draw(random.unit());
        let x = whole.features(action).unwrap().to_vec();
        let (reward, costs) = world.pull(random, &x);
        late.push((round + random.below(9), x, reward, costs));
        for agent in [&mut whole, &mut parts] {
            for (_, x, reward, costs) in late.iter().filter(|o| o.0 == round) {
                agent.observe_at(x, *reward, costs).unwrap();
            }
        }
        late.retain(|o| o.0 > round);
        if round % 13 == 0 {
            let json = parts.save();
            parts = Oplb::restore(&json).unwrap();
            assert_eq!(parts.save(), json);
            assert_eq!(parts.outcomes(), whole.outcomes());
        }
    }
    whole
}

#[test]
fn restored_agents_go_on_bit_for_bit() {
    for solver in [Solver::Linearised, Solver::Exact] {
        for fixed in [false, true] {
            for (m, known) in [(1, true), (2, true), (1, false)] {
                let config = OplbConfig {
                    solver,
                    ..common::linear::oplb()
                };
                play(&config, known, m, fixed);
            }
        }
    }
    let t_zero = OplbConfig {
        unknown_safe_cost: UnknownSafeCost::Paper,
        horizon: Some(5000),
        ..common::linear::oplb()
    };
    play(&t_zero, false, 1, false);
}

#[test]
fn broken_snapshots_are_refused() {
    let agent = play(&common::linear::oplb(), false, 1, true);
    let good: Value = serde_json::from_str(&agent.save()).unwrap();
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut json = good.clone();
        change(&mut json);
        Oplb::restore(&json.to_string()).unwrap_err()
    };
    let snapshot = |error: Error| {
        assert!(matches!(error, Error::Snapshot { .. }), "{error}");
        error.to_string()
    };
    assert!(snapshot(refused(&|j| j["format"] = json!("banister.opb"))).contains("banister.oplb"));
    assert!(snapshot(refused(&|j| j["version"] = json!(4))).contains("version"));
    assert!(snapshot(refused(&|j| j["version"] = json!(6))).contains("version"));
    assert!(snapshot(refused(&|j| j["actions"] = json!([1.0, 2.0]))).contains("actions"));
    assert!(
        snapshot(refused(&|j| j["actions"] = json!([1.0, 2.0, 3.0, 4.0]))).contains("safe action")
    );
    assert!(snapshot(refused(&|j| j["regression"]["factor"] = json!([]))).contains("regression"));
    assert!(
        snapshot(refused(&|j| j["regression"]["sums"]["lost"] = json!([]))).contains("regression")
    );
    let scales = refused(&|j| j["regression"]["scales"] = json!(null));
    assert!(snapshot(scales).contains("regression"));
    for policy in [json!([[0, 0.5]]), json!([[99, 1.0]]), json!([])] {
        let error = refused(&|j| j["kept"][1]["policy"] = policy.clone());
        assert!(snapshot(error).contains("kept"));
    }
    assert!(snapshot(refused(&|j| j["safe"]["signals"] = json!([]))).contains("safe"));
    assert!(snapshot(refused(&|j| j["safe"] = json!(null))).contains("safe"));
    assert!(snapshot(refused(&|j| j["start"] = json!([[0, -1.0], [1, 2.0]]))).contains("start"));
    for (key, value) in [("detectors", json!([])), ("declared", json!([null, null]))] {
        let error = refused(&|j| j["monitor"][key] = value.clone());
        assert!(snapshot(error).contains("monitor"));
    }
    refused(&|j| j["monitor"]["memory"]["forgotten"] = json!(1_000_000));
    refused(&|j| j["surprise"] = json!(1));
    refused(&|j| j["config"]["delta"] = json!(2.0));
    let text = agent.save();
    for cut in (0..text.len()).step_by(text.len() / 97 + 1) {
        assert!(Oplb::restore(&text[..cut]).is_err());
    }
}
