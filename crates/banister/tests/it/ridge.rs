//! The regression against the normal equations solved directly, for every kind of safe action.

use crate::common;

use crate::common::player::Oplb;
use banister::oplb::OplbRadius;
use banister::{Guardrail, OplbConfig, Problem, SignalConfig};
use common::Random;
use common::linear::{Direct, World, dot, length, unit};
use proptest::prelude::*;

/// A safe action of each kind.
fn safe_action(random: &mut Random, kind: usize, d: usize) -> Vec<f64> {
    // Much longer, and the test's own Gram matrix would lose the digits to compare.
    let scale = [1.0, 0.0, 100.0, 1e-4, -3.0][kind];
    unit(random, d).iter().map(|x| x * scale).collect()
}

fn guardrails(random: &mut Random, m: usize, zero: bool, known: &[bool]) -> Vec<Guardrail> {
    (0..m)
        .map(|i| Guardrail {
            name: format!("g{i}"),
            at_most: Some(5.0),
            safe_cost: known[i].then(|| if zero { 0.0 } else { random.between(-2.0, 4.0) }),
            signal: SignalConfig {
                range: Some([-10.0, 20.0].into()),
                sub_gaussian: Some(1.0),
                ..SignalConfig::default()
            },
            ..Guardrail::default()
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Estimates, radii and intervals are those of the normal equations.
    #[test]
    fn estimates_radii_and_intervals_match_a_direct_solve(
        seed in any::<u64>(),
        d in 1usize..7,
        m in 0usize..4,
        kind in 0usize..5,
        n in 0usize..40,
        lambda in prop_oneof![Just(1.0), Just(0.1), Just(7.0)],
        levels in any::<bool>(),
    ) {
        let random = &mut Random::new(seed);
        let safe = safe_action(random, kind, d);
        let zero = kind == 1;
        let known: Vec<bool> = (0..m).map(|_| random.unit() < 0.6 || zero).collect();
        let guardrails = guardrails(random, m, zero, &known);
        let problem = Problem::contextual(safe.clone(), guardrails.clone());
        let s = problem.check().unwrap().least_parameter_norm().max(2.0);
        let radius = if levels { OplbRadius::Multiscale } else { OplbRadius::Logdet };
        let config = OplbConfig {
            radius: Some(radius),
            lambda: Some(lambda),
            parameter_norm: Some(s),
            ..OplbConfig::default()
        };
        let mut agent = Oplb::new(&problem, &config).unwrap();
        let mut data: Vec<Vec<(Vec<f64>, f64)>> = vec![Vec::new(); m + 1];
        for _ in 0..n {
            // Now and then the safe action, or one along it.
            let x: Vec<f64> = match random.below(5) {
                0 => safe.clone(),
                1 if !zero => safe.iter().map(|v| 0.5 * v).collect(),
                _ => unit(random, d),
            };
            let reward = random.unit();
            let costs: Vec<f64> = (0..m).map(|_| random.between(-9.0, 19.0)).collect();
            agent.observe_at(&x, reward, &costs).unwrap();
            data[0].push((x.clone(), reward));
            for i in 0..m {
                data[i + 1].push((x.clone(), costs[i]));
            }
        }
        let offered: Vec<Vec<f64>> = (0..5).map(|_| unit(random, d)).collect();
        agent.offer(&offered.concat()).unwrap();
        let tolerance = 1e-8;
        // The costs share δ with the scalar intervals of unknown safe costs; the reward has its own.
        let shared = 0.01 / (m + known.iter().filter(|k| !**k).count()) as f64;
        for signal in 0..=m {
            let (lo, unit, r, known, level) = match signal {
                0 => (0.0, 1.0, 0.5, None, 0.1),
                i => (-10.0, 30.0, 1.0 / 30.0, guardrails[i - 1].safe_cost, shared),
            };
            let direct = Direct::new(lambda, &safe, known, &data[signal]);
            let radius = direct.radius(r, level, s);
            if !levels {
                prop_assert!((agent.radius(signal) - radius).abs() < 1e-9 * radius);
            }
            let estimate = agent.parameter(signal).unwrap();
            for x in &offered {
                let error = dot(&estimate, x) - direct.mean(x);
                prop_assert!(error.abs() < tolerance, "{error}");
            }
            for (a, x) in offered.iter().enumerate() {
                let interval = agent.interval(a, signal).unwrap();
                let centre = (direct.mean(x) - lo) / unit;
                if levels {
                    // Log-determinants are kept to 0.05; a thousandth of b and a little of S are given away.
                    let width = |more| direct.multiscale(x, r * unit, level, s * unit, more) / unit;
                    prop_assert!((interval.upper + interval.lower - 2.0 * centre).abs() < tolerance);
                    let reach = (interval.upper - interval.lower) / 2.0;
                    let (least, most) = (width(0.0), width(0.05));
                    prop_assert!(reach >= least - tolerance, "{reach} {least}");
                    prop_assert!(reach <= 1.001 * most + tolerance + 1e-7 * s, "{reach} {most}");
                    continue;
                }
                let reach = radius * direct.width(x);
                let low = interval.lower - (centre - reach);
                let high = interval.upper - (centre + reach);
                prop_assert!(low.abs().max(high.abs()) < tolerance, "{low} {high} of {reach}");
            }
        }
    }

    /// A set that stays is the same to 1e-9 as one offered anew, whatever comes late or in batches.
    #[test]
    fn a_set_that_stays_agrees_with_one_offered_anew(
        seed in any::<u64>(),
        d in 2usize..9,
        m in 1usize..3,
        k in 1usize..40,
        known in any::<bool>(),
        exact in any::<bool>(),
    ) {
        let random = &mut Random::new(seed);
        let world = World::new(random, d, m);
        let problem = world.problem(0.6, known);
        let config = if exact { common::linear::exact() } else { common::linear::oplb() };
        let set = world.actions(random, k);
        let mut stays = Oplb::new(&problem, &config).unwrap();
        stays.offer(&set.concat()).unwrap();
        let mut anew = stays.clone();
        for round in 0..60 {
            anew.offer(&set.concat()).unwrap();
            let action = if random.unit() < 0.2 { stays.safe() } else { random.below(k) };
            if random.unit() < 0.7 {
                stays.decide();
            }
            let x = stays.features(action).unwrap().to_vec();
            let (reward, costs) = world.pull(random, &x);
            let count = if round % 7 == 0 { 12 } else { 1 };
            for _ in 0..count {
                stays.observe(action, reward, &costs).unwrap();
                anew.observe_at(&x, reward, &costs).unwrap();
            }
            for signal in 0..=m {
                for action in 0..stays.offered() {
                    let a = stays.interval(action, signal).unwrap();
                    let b = anew.interval(action, signal).unwrap();
                    prop_assert!((a.lower - b.lower).abs() < 1e-9 && (a.upper - b.upper).abs() < 1e-9);
                }
            }
        }
        let (a, b) = (stays.decide().clone(), anew.decide().clone());
        // An exact decision is certified to a gap; the proven bounds must overlap.
        let slack = 1e-9 + a.solver.gap.max(b.solver.gap);
        let apart = (a.optimistic_reward - b.optimistic_reward).abs();
        prop_assert!(apart <= slack, "{apart} {a:?} {b:?}");
    }
}

/// A million rank-one updates leave the estimates where a fresh factorisation puts them.
#[test]
fn a_million_updates_do_not_drift() {
    let random = &mut Random::new(3);
    let d = 6;
    let world = World::new(random, d, 1);
    let config = OplbConfig {
        optimism_delta: 0.005,
        ..common::linear::logdet()
    };
    let mut agent = Oplb::new(&world.problem(0.6, true), &config).unwrap();
    let set = world.actions(random, 12);
    agent.offer(&set.concat()).unwrap();
    let safe_cost = dot(&world.mu[0], &world.safe);
    // Exact: how often each action was played, and how often it was rewarded.
    let (mut pulls, mut rewards) = ([0.0; 12], [0.0; 12]);
    for round in 0..1_000_000_u32 {
        // Mostly the same few actions: the Gram matrix becomes very long in some directions.
        let common = random.unit() < 0.999;
        let action = random.below(if common { 3 } else { 12 });
        let (reward, costs) = world.pull(random, &set[action]);
        agent.observe(action, reward, &costs).unwrap();
        if round % 3 == 0 {
            agent.interval(0, 0).unwrap();
        }
        pulls[action] += 1.0;
        rewards[action] += reward;
    }
    let mut gram = vec![vec![0.0; d]; d];
    let mut sums = vec![0.0; d];
    for (j, row) in gram.iter_mut().enumerate() {
        row[j] = 1.0;
    }
    for (a, x) in set.iter().enumerate() {
        for j in 0..d {
            sums[j] += rewards[a] * x[j];
            for k in 0..d {
                gram[j][k] += pulls[a] * x[j] * x[k];
            }
        }
    }
    let theta = common::linear::solve(&gram, &sums);
    let log_det = common::linear::log_det(&gram);
    let radius = 0.5 * (log_det + 2.0 * 200_f64.ln()).sqrt() + 1.0;
    assert!((agent.radius(0) - radius).abs() < 1e-9 * radius);
    for (a, x) in set.iter().enumerate() {
        let interval = agent.interval(a, 0).unwrap();
        let width = dot(x, &common::linear::solve(&gram, x)).sqrt();
        let centre = dot(x, &theta);
        let low = interval.lower - (centre - radius * width);
        let high = interval.upper - (centre + radius * width);
        let reach = radius * width;
        assert!(
            low.abs().max(high.abs()) < 1e-10,
            "action {a}: {low} {high} of {reach}"
        );
    }
    let estimate = agent.parameter(1).unwrap();
    assert!((dot(&estimate, &world.safe) - safe_cost).abs() < 1e-9);
}

/// The paper's radius, as printed but for the split of δ.
#[test]
fn the_papers_radius_is_its_formula() {
    let random = &mut Random::new(5);
    let world = World::new(random, 4, 1);
    let config = OplbConfig {
        radius: Some(OplbRadius::Paper),
        norm: Some(1.0),
        parameter_norm: Some(1.5),
        lambda: Some(2.0),
        delta: 0.025,
        optimism_delta: 0.025,
        ..common::linear::oplb()
    };
    let mut agent = Oplb::new(&world.problem(0.6, true), &config).unwrap();
    for n in 0..50 {
        for (signal, dimension) in [(0, 4.0), (1, 3.0)] {
            let inside: f64 = dimension * ((1.0 + f64::from(n) / 2.0) / 0.025).ln();
            let expected = 0.5 * inside.sqrt() + 2_f64.sqrt() * 1.5;
            assert!((agent.radius(signal) - expected).abs() < 1e-12);
        }
        let x = world.action(random);
        let (reward, costs) = world.pull(random, &x);
        agent.observe_at(&x, reward, &costs).unwrap();
    }
}

/// Features in other units, with S in step (and λ_0 by itself), change nothing but those units.
#[test]
fn units_of_the_features_do_not_matter() {
    let random = &mut Random::new(9);
    let world = World::new(random, 5, 2);
    let scale = 1e-3;
    let scaled = |x: &[f64]| -> Vec<f64> { x.iter().map(|v| v * scale).collect() };
    let mut plain = Oplb::new(&world.problem(0.6, true), &common::linear::oplb()).unwrap();
    let mut problem = world.problem(0.6, true);
    problem.features[0] = scaled(&world.safe);
    let config = OplbConfig {
        parameter_norm: Some(1.0 / scale),
        ..common::linear::oplb()
    };
    let mut other = Oplb::new(&problem, &config).unwrap();
    for _ in 0..200 {
        let set = world.actions(random, 10);
        plain.offer(&set.concat()).unwrap();
        other.offer(&scaled(&set.concat())).unwrap();
        let (a, b) = (plain.decide().clone(), other.decide().clone());
        assert!((a.optimistic_reward - b.optimistic_reward).abs() < 1e-7);
        assert!((a.guardrails[0].pessimistic_cost - b.guardrails[0].pessimistic_cost).abs() < 1e-7);
        let action = a.draw(random.unit());
        let x = plain.features(action).unwrap().to_vec();
        assert!(length(&x) <= 1.0 + 1e-12);
        let (reward, costs) = world.pull(random, &x);
        plain.observe(action, reward, &costs).unwrap();
        other.observe(action, reward, &costs).unwrap();
    }
}
