//! Guarantees of linear rivals on true parameters; agents without one are seen to violate.

use crate::common;
use crate::common::verbs::Verbs as _;
use crate::worlds;

use crate::common::player::Player;
use banister::guarantee::Guarantee;
use banister::{Agent, Fallback, Guardrail, Problem, Registry as _, SignalConfig};
use banister_rivals::AgentConfig;
use common::Random;
use common::linear::dot;
use serde_json::json;
use worlds::{SCALED, WHOLE, World, all, config, parts, played};

const ROUNDS: usize = 1500;

/// Rounds in which the action played breaks a guardrail by its true mean; whether the costs so far ever
/// exceeded their budget; and the mean reward of the last rounds.
fn violations(agent: &AgentConfig, world: &World, seed: u64, changing: bool) -> (usize, bool, f64) {
    let per_action = agent.guarantee() == Guarantee::PerAction;
    let mut agent = Player::of(agent.build(&world.problem).unwrap(), &world.problem);
    agent.reseed(seed, 0);
    let random = &mut Random::new(1000 + seed);
    let (mut broken, mut overspent, mut earned) = (0, false, 0.0);
    let mut sums = vec![0.0; world.mus.len()];
    for round in 0..ROUNDS {
        if changing {
            agent.offer(&world.offer(random)).unwrap();
        }
        let x = played(&mut agent, random.unit());
        if per_action {
            let decision = agent.decide();
            assert!(decision.scale > 0.0 && decision.scale <= 1.0);
            assert!(decision.guardrails[0].slack >= 0.0, "{decision:?}");
            assert_eq!(decision.fallback, None);
        }
        let excess = |i: usize| world.excess(i, &x);
        broken += usize::from((0..sums.len()).any(|i| excess(i) > 1e-12));
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum += excess(i);
            overspent |= *sum > 1e-9;
        }
        if round >= ROUNDS - 200 {
            earned += dot(&world.theta, &x) / 200.0;
        }
        let (reward, costs) = world.pull(random, &x);
        agent.observe_at(&x, reward, &costs).unwrap();
    }
    (broken, overspent, earned)
}

#[test]
fn safe_per_action_is_safe_per_action() {
    for kind in SCALED {
        let mut earned = 0.0;
        for seed in 0..6 {
            let world = World::of(kind, seed, Some(0.1));
            for changing in [false, true] {
                let keys = match seed % 3 {
                    0 => json!({ "delta": 0.05 }),
                    1 => json!({ "delta": 0.001, "lambda": 0.5 }),
                    _ => json!({ "play": null }),
                };
                let agent = config(kind, keys);
                let (broken, _, last) = violations(&agent, &world, seed, changing);
                assert_eq!(broken, 0, "{kind}, seed {seed}, changing = {changing}");
                earned += last;
            }
        }
        assert!(earned > 0.0, "{kind} earns nothing: {earned}");
    }
}

#[test]
fn radii_that_are_too_small_are_seen_to_be() {
    let mut broken = 0;
    for seed in 0..6 {
        let world = World::of("hplc_lucb", seed, Some(0.3));
        let keys = json!({ "noise_factor": 0.01, "lambda": 0.0001 });
        broken += violations(&config("hplc_lucb", keys), &world, seed, false).0;
    }
    assert!(broken > 100, "{broken}");
}

#[test]
fn a_budget_is_kept_over_time_and_not_in_every_round() {
    let (mut broken, mut unsafe_broken) = (0, [0; 2]);
    for seed in 0..6 {
        let world = World::whole(seed, Some(0.1));
        for changing in [false, true] {
            for (place, kind) in WHOLE.into_iter().enumerate() {
                let (rounds, overspent, _) =
                    violations(&config(kind, json!({})), &world, seed, changing);
                match place {
                    0 => {
                        assert!(!overspent, "seed {seed}, changing = {changing}");
                        broken += rounds;
                    }
                    _ => unsafe_broken[place - 1] += rounds,
                }
            }
        }
    }
    assert!(broken > 100, "a budget is there to be used: {broken}");
    assert!(unsafe_broken.iter().all(|&n| n > 1000), "{unsafe_broken:?}");
}

/// Σ (⟨x_t, μ⟩ − b)₊ grows as √T, so that it grows less in each third of the rounds. Who ignores costs keeps
/// exceeding.
#[test]
fn the_excess_of_r_colts_dies_away() {
    let excess = |kind: &str, seed: u64| -> [f64; 3] {
        let world = World::scaled(seed, "at_most", Some(0.1));
        let keys = json!({ "parameter_norm": 1.0 });
        let mut agent = Player::of(
            config(kind, keys).build(&world.problem).unwrap(),
            &world.problem,
        );
        agent.reseed(seed, 0);
        let random = &mut Random::new(1000 + seed);
        let mut sums = [0.0; 3];
        for round in 0..3 * ROUNDS {
            let x = played(&mut agent, random.unit());
            sums[round / ROUNDS] += world.excess(0, &x).max(0.0);
            let (reward, costs) = world.pull(random, &x);
            agent.observe_at(&x, reward, &costs).unwrap();
        }
        sums
    };
    let total = |kind: &str| {
        let mut all = [0.0; 3];
        for seed in 0..6 {
            let sums = excess(kind, seed);
            all.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
        }
        all
    };
    let (ours, ignored) = (total("lin_r_colts"), total("lin_ucb"));
    // Of √3, the first third has 0.58 and the last 0.18.
    assert!(ours[0] > 0.0 && ours[2] < 0.5 * ours[0], "{ours:?}");
    assert!(ignored[2] > 0.8 * ignored[0], "{ignored:?}");
    assert!(ours[2] < 0.2 * ignored[2], "{ours:?} {ignored:?}");
}

/// Whatever the units, lengths and observations: a policy, a part of an action, a finite certificate, and
/// never a panic.
#[test]
fn hostile_rounds_end_in_a_certified_decision() {
    let random = &mut Random::new(78);
    let mut forced = 0;
    for kind in all().collect::<Vec<_>>().repeat(40) {
        let d = 1 + random.below(5);
        let size = random.choose(&[1.0, 1e-6, 1e6]);
        let per_action = SCALED.contains(&kind);
        let in_parts = parts().any(|other| other == kind);
        let safe: Vec<f64> = if in_parts {
            vec![0.0; d]
        } else {
            (0..d).map(|_| size * random.normal()).collect()
        };
        let guardrail = Guardrail {
            name: "cost".into(),
            at_most: Some(random.choose(&[0.5, 1e-9, 0.999])),
            safe_cost: Some(0.0),
            signal: SignalConfig {
                range: Some(random.choose(&[[-1.0, 1.0], [-1e-6, 1e6]]).into()),
                sub_gaussian: (random.unit() < 0.5).then_some(0.3),
                ..SignalConfig::default()
            },
            ..Guardrail::default()
        };
        let problem = Problem {
            reward: SignalConfig {
                range: Some([-1.0, 1.0].into()),
                sub_gaussian: Some(0.2),
                ..SignalConfig::default()
            },
            ..Problem::contextual(safe, vec![guardrail])
        };
        let keys = json!({
            "lambda": random.choose(&[1.0, 1e-6, 1e6]),
            "parameter_norm": random.choose(&[1.0, 1e-3, 1e3]),
        });
        let mut declared = config(kind, keys);
        let mixed = random.unit() < 0.5;
        if mixed {
            declared = declared.with_whole_actions();
        }
        let mut agent = Player::of(declared.build(&problem).unwrap(), &problem);
        for _ in 0..40 {
            if random.unit() < 0.7 {
                let mut set: Vec<f64> = Vec::new();
                for _ in 0..random.below(8) {
                    let scale = random.choose(&[1.0, 1.0, 0.0, 1e-8, 1e8, 1e-200]);
                    match random.below(4) {
                        0 if !set.is_empty() => set.extend_from_within(..d),
                        _ => set.extend((0..d).map(|_| scale * random.normal())),
                    }
                }
                agent.offer(&set).unwrap();
            }
            let decision = agent.decide().clone();
            let count = agent.offered();
            let total: f64 = decision.policy.iter().map(|entry| entry.1).sum();
            assert!((total - 1.0).abs() < 1e-12, "{kind}: {decision:?}");
            assert!((decision.policy.iter()).all(|&(a, p)| p >= 0.0 && a < count));
            assert!(decision.scale > 0.0 && decision.scale <= 1.0);
            assert!(decision.scale == 1.0 || (in_parts && !mixed));
            let certificate = decision.guardrails[0];
            assert!(
                certificate.pessimistic_cost.is_finite(),
                "{kind}: {decision:?}"
            );
            assert!(
                certificate.slack >= 0.0 || !per_action,
                "{kind}: {decision:?}"
            );
            let report = decision.solver;
            assert!(report.value.is_finite() && report.upper_bound >= report.value);
            // Features whose lengths are 1e16 apart leave nothing to rely on, and say so.
            let rounded = decision.fallback == Some(Fallback::IllConditioned);
            forced += u32::from(decision.fallback.is_some() && !rounded);
            for _ in 0..1 + random.below(3) {
                let cost = match problem.guardrails[0].signal.sub_gaussian {
                    Some(_) => random.choose(&[1.0, 1e30, -1e30]) * random.normal(),
                    None => random.between(-1e-6, 1.0),
                };
                let reward = random.choose(&[1.0, 1.0, 1e30]) * random.normal();
                let action = random.below(count);
                agent.observe(action, reward, &[cost]).unwrap();
            }
        }
        let json = agent.save();
        assert_eq!(
            AgentConfig::restore(&json).unwrap().agent.save().unwrap(),
            json
        );
    }
    assert!(forced < 50, "a rule that cannot decide: {forced}");
}

/// Agents that cannot rely on their regression play the safe action and say why, and go on when enough was seen
/// in every direction.
#[test]
fn an_ill_conditioned_regression_forces_the_safe_action_until_it_recovers() {
    let at_most = |threshold| Guardrail {
        name: "cost".into(),
        at_most: Some(threshold),
        safe_cost: Some(0.0),
        ..Guardrail::default()
    };
    // It regresses on unit vectors, whatever the length of what is played.
    let kinds = (AgentConfig::kinds().into_iter()).filter(|kind| kind != "hp_ucb");
    for kind in kinds.filter(|kind| AgentConfig::of_kind(kind).unwrap().takes_features()) {
        let config = AgentConfig::of_kind(&kind).unwrap();
        let mut config = config.with_parameter_norm(1e-9).with_horizon(10, false);
        if let AgentConfig::Oplb(oplb) = &mut config {
            // By default it is in proportion to the first action played.
            oplb.lambda = Some(1.0);
        }
        let problem = Problem::contextual(vec![0.0, 0.0], vec![at_most(0.5)]);
        let mut agent = Player::of(config.build(&problem).unwrap(), &problem);
        let forced = |agent: &mut Player<Box<dyn Agent>>| {
            agent.offer(&[1e9, 0.0, 0.0, 1e9]).unwrap();
            let decision = agent.decide();
            assert!(decision.guardrails[0].slack >= 0.0 || decision.fallback.is_none());
            decision.fallback
        };
        assert_eq!(forced(&mut agent), None, "{kind}");
        for _ in 0..64 {
            agent.observe_at(&[1e60, 1.0], 0.5, &[0.1]).unwrap();
            agent.observe_at(&[1e9, 1e9], 0.5, &[0.1]).unwrap();
        }
        assert_eq!(forced(&mut agent), Some(Fallback::IllConditioned), "{kind}");
        let json = agent.save();
        let mut agent = Player::of(AgentConfig::restore(&json).unwrap().agent, &problem);
        assert_eq!(agent.save(), json);
        assert_eq!(forced(&mut agent), Some(Fallback::IllConditioned), "{kind}");
        for _ in 0..64 {
            agent.observe_at(&[1e60, 1e60], 0.5, &[0.1]).unwrap();
            agent.observe_at(&[1e60, -1e60], 0.5, &[0.1]).unwrap();
        }
        assert_eq!(forced(&mut agent), None, "{kind}");
    }
}
