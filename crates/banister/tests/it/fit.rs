//! The test of the linear model: its words, and what follows an alarm.

use crate::common::Random;

use banister::{Agent, Alarm, AlarmKind, Guardrail, OnBreach, Oplb, OplbConfig, Problem};

fn spend() -> Guardrail {
    Guardrail {
        name: "spend".into(),
        at_most: Some(0.6),
        safe_cost: Some(0.1),
        ..Guardrail::default()
    }
}

fn config(on_breach: OnBreach) -> OplbConfig {
    OplbConfig {
        parameter_norm: Some(3.0),
        on_breach: Some(on_breach),
        ..OplbConfig::default()
    }
}

/// An agent on (safe, constant, a, b, …), `more` features that mean nothing.
fn agent(on_breach: OnBreach, more: usize) -> Oplb {
    let mut safe = vec![0.0; 4 + more];
    safe[0] = 1.0;
    Oplb::new(
        &Problem::contextual(safe, vec![spend()]),
        &config(on_breach),
    )
    .unwrap()
}

/// Takes outcomes of random actions until an alarm is raised that was not there before, `most` at most.
fn observe(
    agent: &mut Oplb,
    random: &mut Random,
    most: usize,
    cost: impl Fn(f64, f64) -> f64,
) -> Option<Alarm> {
    let raised = agent.monitor().unwrap().raised();
    for _ in 0..most {
        let mut x: Vec<f64> = (0..agent.dimension())
            .map(|_| random.between(-0.5, 0.5))
            .collect();
        (x[0], x[1]) = (0.0, 0.5);
        let spent = f64::from(u8::from(random.unit() < cost(x[2], x[3])));
        agent.observe_at(&x, 0.5, &[spent]).unwrap();
        let monitor = agent.monitor().unwrap();
        if monitor.raised() > raised {
            let refuted = |alarm: &&Alarm| alarm.kind == AlarmKind::ModelRefuted;
            return monitor.alarms().iter().rev().find(refuted).copied();
        }
    }
    None
}

/// One of the two is positive.
fn xor(a: f64, b: f64) -> f64 {
    if (a > 0.0) == (b > 0.0) { 0.1 } else { 0.5 }
}

#[test]
fn the_alarm_says_where_the_model_is_wrong() {
    let random = &mut Random::new(3);
    let mut agent = agent(OnBreach::Safe, 0);
    let alarm = observe(&mut agent, random, 3000, xor).expect("an alarm");
    assert_eq!(agent.monitor().unwrap().alarms(), [alarm]);
    let text = alarm.describe(agent.problem(), None, None);
    let misfit = alarm.misfit.expect("a misfit");
    let features = misfit.cell.map(|range| range.map(|range| range.feature));
    assert_eq!(features, [Some(2), Some(3)], "{text}");
    let signs = misfit
        .cell
        .map(|range| range.is_some_and(|range| range.above.is_some()));
    let dearer = alarm.mean > misfit.predicted;
    assert_eq!(dearer, signs[0] != signs[1], "{text}");
    assert!(text.starts_with("feature 2 "), "{text}");
    assert!(text.contains(if dearer {
        " more than the model says"
    } else {
        " less than the model says"
    }));
    assert!(alarm.forces_safe && alarm.evidence > 100.0);
    agent.offer(&[0.0, 0.5, 0.1, 0.1]).unwrap();
    assert_eq!(agent.decide().alarm, Some(alarm));
    assert!(agent.decide().fallback.is_some());

    // It survives a snapshot; older ones have no such test, and older alarms no such field.
    let json = agent.save();
    let restored = Oplb::restore(&json).unwrap();
    assert_eq!(restored.monitor().unwrap().alarms(), [alarm]);
    let mut old: serde_json::Value = serde_json::from_str(&json).unwrap();
    old["version"] = serde_json::json!(3);
    old.as_object_mut().unwrap().remove("fit");
    let alarms = &mut old["monitor"]["memory"]["alarms"];
    alarms[0].as_object_mut().unwrap().remove("misfit");
    Oplb::restore(&old.to_string()).unwrap();
    for broken in [serde_json::json!([]), serde_json::json!([1.0])] {
        let mut json: serde_json::Value = serde_json::from_str(&json).unwrap();
        json["fit"]["cells"]["sums"] = broken;
        assert!(
            Oplb::restore(&json.to_string())
                .unwrap_err()
                .to_string()
                .contains("fit")
        );
    }

    // Acknowledged, the test starts anew, and finds the same.
    agent.acknowledge();
    assert!(agent.decide().fallback.is_none());
    assert!(observe(&mut agent, random, 3000, xor).is_some());
}

#[test]
fn means_that_are_linear_raise_no_alarm() {
    for seed in 0..40 {
        let random = &mut Random::new(seed);
        let mut agent = agent(OnBreach::Safe, 2);
        let found = observe(&mut agent, random, 1500, |a, b| 0.3 + 0.3 * a - 0.2 * b);
        assert_eq!(found, None, "seed {seed}");
    }
}

#[test]
fn a_model_that_is_refuted_after_relearning_forces_the_safe_action() {
    let random = &mut Random::new(4);
    let mut agent = agent(OnBreach::Relearn, 0);
    let first = observe(&mut agent, random, 3000, xor).expect("an alarm");
    assert!(!first.forces_safe);
    assert_eq!(agent.monitor().unwrap().epoch(), 1);
    let second = observe(&mut agent, random, 6000, xor).expect("another");
    assert!(second.forces_safe);
    assert_eq!(agent.monitor().unwrap().epoch(), 1);
}

#[test]
fn an_arm_off_the_line_is_named() {
    let line = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
    let problem = Problem {
        arms: ["safe", "a", "b", "c", "d", "e"].map(String::from).to_vec(),
        features: line.iter().map(|x| vec![1.0, *x]).collect(),
        guardrails: vec![spend()],
        ..Problem::default()
    };
    let mut agent = Oplb::new(&problem, &config(OnBreach::Alert)).unwrap();
    let random = &mut Random::new(5);
    // Arms "a" to "e" cost 0.1 + 0.2x, but "c" 0.7.
    for _ in 0..4000 {
        let arm = 1 + random.below(5);
        let cost = if arm == 3 { 0.7 } else { 0.1 + 0.2 * line[arm] };
        let spent = f64::from(u8::from(random.unit() < cost));
        agent.observe(arm, 0.5, &[spent]).unwrap();
    }
    let alarm = agent.monitor().unwrap().alarms()[0];
    assert_eq!((alarm.kind, alarm.arm), (AlarmKind::ModelRefuted, Some(3)));
    let text = alarm.describe(agent.problem(), Some("c"), None);
    assert!(text.starts_with("c: spend averaged "), "{text}");
    // Arms that come and go take their sums along.
    agent.retire_arm(1).unwrap();
    agent.add_arm("f", Some(&[1.0, 0.5])).unwrap();
    let json = agent.save();
    assert_eq!(Oplb::restore(&json).unwrap().save(), json);
}

#[test]
fn many_features_have_a_bounded_number_of_cells() {
    let random = &mut Random::new(6);
    let mut agent = agent(OnBreach::Safe, 96);
    assert_eq!(observe(&mut agent, random, 150, |_, _| 0.3), None);
    let saved: serde_json::Value = serde_json::from_str(&agent.save()).unwrap();
    let sums = saved["fit"]["cells"]["sums"].as_array().unwrap().len();
    // All, 3 per feature for 64 of them, 128 pairs and the safe arm; each a count, a cost and 100 features.
    assert_eq!(sums, (1 + 3 * 64 + 128 + 1) * (2 + 100));
}
