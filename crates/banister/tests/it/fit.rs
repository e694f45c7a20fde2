//! The tests of models: their words, and what follows an alarm.

use crate::common::Random;
use crate::common::verbs::Verbs as _;

use crate::common::player::Inspect as _;
use crate::common::player::{Oplb, OplbPerArm};
use banister::monitor::{Alarm, AlarmKind};
use banister::{Guardrail, Link, Model, OnBreach, OplbConfig, Problem};

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
    let raised = agent.monitor().raised();
    for _ in 0..most {
        let mut x: Vec<f64> = (0..agent.dimension())
            .map(|_| random.between(-0.5, 0.5))
            .collect();
        (x[0], x[1]) = (0.0, 0.5);
        let spent = f64::from(u8::from(random.unit() < cost(x[2], x[3])));
        agent.observe_at(&x, 0.5, &[spent]).unwrap();
        let monitor = agent.monitor();
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
    assert_eq!(agent.monitor().alarms(), [alarm]);
    let text = alarm.describe(agent.problem(), None, None);
    let misfit = alarm.misfit.expect("a misfit");
    let features = misfit.cell.map(|range| range.map(|range| range.feature));
    assert_eq!(features, [Some(2), Some(3), None], "{text}");
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

    // It survives a snapshot.
    let json = agent.save();
    let restored = Oplb::restore(&json).unwrap();
    assert_eq!(restored.monitor().alarms(), [alarm]);
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

/// Plays actions whose cost is a product of three features; returns the alarm and the rounds until then that broke the
/// guardrail.
fn play_triples(seed: u64, rounds: usize) -> (Option<Alarm>, usize) {
    let guardrail = Guardrail {
        at_most: Some(0.45),
        ..spend()
    };
    let safe = vec![1.0, 0.0, 0.0, 0.0, 0.0];
    let problem = Problem::contextual(safe, vec![guardrail]);
    let mut agent = Oplb::new(&problem, &config(OnBreach::Safe)).unwrap();
    let random = &mut Random::new(seed);
    let mut violations = 0;
    for _ in 0..rounds {
        let actions: Vec<f64> = (0..4)
            .flat_map(|_| {
                let mut sign = || [-0.5, 0.5][random.below(2)];
                [0.0, 0.5, sign(), sign(), sign()]
            })
            .collect();
        agent.offer(&actions).unwrap();
        let cost = |x: &[f64]| 0.42 + 2.4 * x[2] * x[3] * x[4];
        let of = |action: usize| match actions.get(5 * action..5 * action + 5) {
            Some(x) => cost(x),
            None => 0.1,
        };
        let decision = agent.decide();
        let mean: f64 = decision.policy.iter().map(|&(a, p)| p * of(a)).sum();
        violations += usize::from(mean > 0.45);
        let drawn = decision.draw(random.unit());
        let reward = if drawn < 4 {
            0.7 + 0.3 * actions[5 * drawn + 2]
        } else {
            0.2
        };
        let spent = random.bernoulli(of(drawn));
        agent.observe(drawn, reward, &[spent]).unwrap();
        if let Some(alarm) = agent.monitor().alarms().first() {
            return (Some(*alarm), violations);
        }
    }
    (None, violations)
}

#[test]
fn a_product_of_three_features_is_refuted() {
    for seed in 0..6 {
        let (alarm, violations) = play_triples(seed, 12_000);
        let alarm = alarm.expect("an alarm");
        assert_eq!(alarm.kind, AlarmKind::ModelRefuted, "seed {seed}");
        let cell = alarm.misfit.unwrap().cell;
        let features = cell.map(|range| range.map(|range| range.feature));
        assert_eq!(features, [Some(2), Some(3), Some(4)], "seed {seed}");
        assert!(violations < 1000, "seed {seed}: {violations}");
    }
}

/// δ is a tenth, so that 150 runs could tell a level that is not kept.
#[test]
fn octants_of_a_true_model_keep_the_level() {
    let mut false_alarms = 0;
    for seed in 0..150 {
        let config = OplbConfig {
            delta: 0.1,
            ..config(OnBreach::Safe)
        };
        let mut safe = vec![0.0; 7];
        safe[0] = 1.0;
        let problem = Problem::contextual(safe, vec![spend()]);
        let mut agent = Oplb::new(&problem, &config).unwrap();
        let random = &mut Random::new(seed);
        let found = observe(&mut agent, random, 600, |a, b| 0.3 + 0.3 * a - 0.2 * b);
        false_alarms += usize::from(found.is_some());
    }
    assert!(false_alarms <= 15, "{false_alarms} of 150");
}

#[test]
fn a_model_that_is_refuted_after_relearning_forces_the_safe_action() {
    let random = &mut Random::new(4);
    let mut agent = agent(OnBreach::Relearn, 0);
    let first = observe(&mut agent, random, 3000, xor).expect("an alarm");
    assert!(!first.forces_safe);
    assert_eq!(agent.monitor().epoch(), 1);
    let second = observe(&mut agent, random, 6000, xor).expect("another");
    assert!(second.forces_safe);
    assert_eq!(agent.monitor().epoch(), 1);
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
    let alarm = agent.monitor().alarms()[0];
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
    let sums = saved["learner"]["fit"]["cells"]["sums"]
        .as_array()
        .unwrap()
        .len();
    // All, 3 per feature for 64 of them, 128 pairs, 68 triples and the safe arm; each a count, a cost and 100 features.
    assert_eq!(sums, (1 + 3 * 64 + 128 + 68 + 1) * (2 + 100));
}

/// An agent with a parameter per arm on contexts (1, a, b), the safe arm's costs unknown.
fn per_arm(config: OplbConfig) -> OplbPerArm {
    let spend = Guardrail {
        safe_cost: None,
        ..spend()
    };
    let names = ["control", "plain", "bold"].map(String::from).to_vec();
    let config = OplbConfig {
        model: Model::PerArm,
        ..config
    };
    let problem = Problem {
        arms: names,
        context: Some(3),
        guardrails: vec![spend],
        ..Problem::default()
    };
    OplbPerArm::new(&problem, &config).unwrap()
}

/// Takes outcomes of all arms in random contexts until an alarm is raised that was not there before.
fn observe_arms(
    agent: &mut OplbPerArm,
    random: &mut Random,
    most: usize,
    cost: impl Fn(usize, f64, f64) -> f64,
) -> Option<Alarm> {
    let raised = agent.monitor().raised();
    for _ in 0..most {
        let arm = random.below(3);
        let (a, b) = (random.between(-0.5, 0.5), random.between(-0.5, 0.5));
        let spent = random.bernoulli(cost(arm, a, b));
        agent.observe_in(arm, &[1.0, a, b], 0.5, &[spent]).unwrap();
        let monitor = agent.monitor();
        if monitor.raised() > raised {
            return monitor.alarms().first().copied();
        }
    }
    None
}

fn linear(arm: usize, a: f64, b: f64) -> f64 {
    [0.2, 0.3, 0.4][arm] + [0.2, -0.3, 0.0][arm] * a + [0.0, 0.1, 0.3][arm] * b
}

/// The bold arm's cost is a square of the context.
fn curved(arm: usize, a: f64, b: f64) -> f64 {
    if arm == 2 {
        0.1 + 2.8 * a * a
    } else {
        linear(arm, a, b)
    }
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

#[test]
fn the_arm_whose_model_is_wrong_is_named() {
    let random = &mut Random::new(7);
    let mut agent = per_arm(config(OnBreach::Safe));
    assert!(agent.assumptions().last().unwrap().watched);
    observe_arms(&mut agent, random, 400, curved);
    let saved = agent.save();
    let mut restored = OplbPerArm::restore(&saved).unwrap();
    assert_eq!(restored.save(), saved);
    let alarm = observe_arms(&mut agent, &mut Random::new(8), 9000, curved).expect("an alarm");
    let found = observe_arms(&mut restored, &mut Random::new(8), 9000, curved);
    assert_eq!(found, Some(alarm));
    assert_eq!(restored.save(), agent.save());
    assert_eq!((alarm.kind, alarm.arm), (AlarmKind::ModelRefuted, Some(2)));
    let text = alarm.describe(agent.problem(), Some("bold"), None);
    assert!(text.starts_with("bold, feature 1 "), "{text}");
    assert!(alarm.forces_safe);

    // Acknowledged, the tests start anew, and find the same.
    agent.acknowledge();
    let again = observe_arms(&mut agent, random, 9000, curved).expect("an alarm");
    assert_eq!(again.arm, Some(2));

    let mut broken: serde_json::Value = serde_json::from_str(&saved).unwrap();
    broken["arms"][0]["fit"]["cells"]["sums"] = serde_json::json!([1.0]);
    assert!(OplbPerArm::restore(&broken.to_string()).is_err());

    // Learning again does not mend it.
    let mut agent = per_arm(config(OnBreach::Relearn));
    assert!(
        !observe_arms(&mut agent, random, 9000, curved)
            .unwrap()
            .forces_safe
    );
    assert_eq!(agent.monitor().epoch(), 1);
    assert!(
        observe_arms(&mut agent, random, 12_000, curved)
            .unwrap()
            .forces_safe
    );
}

/// δ is a tenth, so that 300 runs could tell a level that is not kept.
#[test]
fn true_models_raise_no_alarm_per_arm_or_with_a_link() {
    let delta = OplbConfig {
        delta: 0.1,
        ..config(OnBreach::Safe)
    };
    let linked = OplbConfig {
        link: Link::Logistic,
        ..delta.clone()
    };
    let bent = |arm: usize, a: f64, b: f64| sigmoid([-1.5, -0.5, 0.0][arm] + 2.0 * a - b);
    for seed in 0..100 {
        let random = &mut Random::new(seed);
        let found = observe_arms(&mut per_arm(delta.clone()), random, 900, linear);
        assert_eq!(found, None, "seed {seed}");
        let found = observe_arms(&mut per_arm(linked.clone()), random, 900, bent);
        assert_eq!(found, None, "seed {seed}");
        let mut shared = linked_agent(linked.clone());
        let mean = |a: f64, b: f64| sigmoid(-0.5 + 2.0 * a - b);
        assert_eq!(observe(&mut shared, random, 900, mean), None, "seed {seed}");
    }
}

/// An agent with a logistic link on (safe, constant, a, b).
fn linked_agent(config: OplbConfig) -> Oplb {
    let config = OplbConfig {
        link: Link::Logistic,
        ..config
    };
    Oplb::new(
        &Problem::contextual(vec![1.0, 0.0, 0.0, 0.0], vec![spend()]),
        &config,
    )
    .unwrap()
}

#[test]
fn a_model_with_a_link_is_refuted() {
    let random = &mut Random::new(9);
    let mut agent = linked_agent(config(OnBreach::Safe));
    assert!(agent.assumptions().last().unwrap().watched);
    observe(&mut agent, random, 500, xor);
    let saved = agent.save();
    let mut restored = Oplb::restore(&saved).unwrap();
    assert_eq!(restored.save(), saved);
    let alarm = observe(&mut agent, &mut Random::new(1), 20_000, xor).expect("an alarm");
    let found = observe(&mut restored, &mut Random::new(1), 20_000, xor);
    assert_eq!(found, Some(alarm));
    let text = alarm.describe(agent.problem(), None, None);
    assert!(
        text.starts_with("feature 2 ") && text.contains(" and feature 3 "),
        "{text}"
    );
    let misfit = alarm.misfit.unwrap();
    assert!((misfit.predicted - 0.3).abs() < 0.1, "{text}");
    assert!((alarm.mean - misfit.predicted).abs() > 0.1, "{text}");

    let mut agent = per_arm(OplbConfig {
        link: Link::Logistic,
        ..config(OnBreach::Safe)
    });
    let bold = |arm: usize, a: f64, b: f64| if arm == 2 { xor(a, b) } else { 0.3 };
    let alarm = observe_arms(&mut agent, random, 40_000, bold).expect("an alarm");
    assert_eq!((alarm.kind, alarm.arm), (AlarmKind::ModelRefuted, Some(2)));

    // Intervals that are scaled down prove nothing, and are not tested against.
    let narrow = OplbConfig {
        radius_scale: 0.1,
        ..config(OnBreach::Safe)
    };
    let mut agent = linked_agent(narrow);
    assert!(!agent.assumptions().last().unwrap().watched);
    assert_eq!(observe(&mut agent, random, 1000, |_, _| 0.3), None);
}
