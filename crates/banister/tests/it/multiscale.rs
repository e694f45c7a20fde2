//! Radii by the best of several ridges: coverage, the edge of the confidence set, and extremes. Their formula is
//! checked in `ridge.rs`, their rounding in `exact_arithmetic.rs`.

use crate::common;

use crate::common::player::Oplb;
use banister::oplb::OplbRadius;
use banister::{Guardrail, OplbConfig, Problem, SignalConfig};
use common::Random;
use common::linear::{World, dot, length, logdet, oplb, unit};

const RUNS: usize = 100;

/// Runs of 300 rounds on policy at level 0.1 for the reward and for the cost: how many had a mean outside its
/// interval ever, and the worst error of a run over its half-width, on average.
fn coverage(world: &World, known: bool, config: &OplbConfig, seed: u64) -> (usize, f64) {
    let config = OplbConfig {
        delta: 0.1,
        optimism_delta: 0.1,
        ..config.clone()
    };
    let (mut left, mut sum) = (0, 0.0);
    for run in 0..RUNS {
        let random = &mut Random::new(seed + run as u64);
        let mut agent = Oplb::new(&world.problem(0.5, known), &config).unwrap();
        let mut worst = 0.0_f64;
        for _ in 0..300 {
            agent.offer(&world.actions(random, 4).concat()).unwrap();
            let action = agent.decide().draw(random.unit());
            for a in 0..agent.offered() {
                for (signal, truth) in [(0, &world.theta), (1, &world.mu[0])] {
                    if signal == 1 && known && a == agent.safe() {
                        continue;
                    }
                    let mean = dot(agent.features(a).unwrap(), truth);
                    let found = agent.interval(a, signal).unwrap();
                    let centre = (found.lower + found.upper) / 2.0;
                    let ratio = (mean - centre).abs() / (found.upper - centre);
                    // NaN counts as outside.
                    worst = if ratio <= worst { worst } else { ratio };
                }
            }
            let x = agent.features(action).unwrap().to_vec();
            let (reward, costs) = world.pull(random, &x);
            agent.observe(action, reward, &costs).unwrap();
        }
        left += usize::from(!(worst <= 1.0));
        sum += worst;
    }
    (left, sum / RUNS as f64)
}

/// Means stay in their intervals in all rounds of at least 1 − δ − δ_o of the runs, across x_0 and with its cost
/// unknown; the intervals waste less than one ellipsoid does, and scaled to two fifths they fail.
#[test]
fn intervals_hold_at_all_times() {
    let world = World::new(&mut Random::new(41), 3, 1);
    for (known, seed) in [(true, 1000), (false, 2000)] {
        let (left, worst) = coverage(&world, known, &oplb(), seed);
        // 20 of 100 are allowed, and three standard deviations more.
        assert!(left <= 32, "left in {left}");
        let (_, wasteful) = coverage(&world, known, &logdet(), seed);
        assert!(worst > wasteful, "{worst} {wasteful}");
        let narrow = OplbConfig {
            radius_scale: 0.4,
            ..oplb()
        };
        let (left, _) = coverage(&world, known, &narrow, seed);
        assert!(left > 60, "left in {left}");
    }
}

/// An agent with Gaussian signals of known noise, and the problem's own parameters.
struct Edge {
    problem: Problem,
    config: OplbConfig,
    safe: Vec<f64>,
    theta: Vec<f64>,
    mu: Vec<f64>,
}

impl Edge {
    fn new(random: &mut Random, d: usize, known: bool) -> Self {
        let s = 2.0;
        let scaled = |x: Vec<f64>| -> Vec<f64> { x.iter().map(|v| s * v).collect() };
        let safe: Vec<f64> = unit(random, d);
        let (theta, mu) = (scaled(unit(random, d)), scaled(unit(random, d)));
        let (range, sub_gaussian) = (Some([-500.0, 500.0].into()), Some(1.0));
        let guardrail = Guardrail {
            name: "cost".into(),
            at_most: Some(10.0),
            safe_cost: known.then(|| dot(&safe, &mu)),
            signal: SignalConfig {
                range: range.clone(),
                sub_gaussian,
                ..SignalConfig::default()
            },
            ..Guardrail::default()
        };
        let mut problem = Problem::contextual(safe.clone(), vec![guardrail]);
        problem.reward = SignalConfig {
            range,
            sub_gaussian,
            ..SignalConfig::default()
        };
        let config = OplbConfig {
            parameter_norm: Some(s / 1000.0 * (1.0 + 1e-12)),
            ..OplbConfig::default()
        };
        Self {
            problem,
            config,
            safe,
            theta,
            mu,
        }
    }

    /// An agent that has seen the parameters' means with this noise.
    fn agent(&self, played: &[Vec<f64>], noise: &[f64], times: [f64; 2]) -> Oplb {
        let mut agent = Oplb::new(&self.problem, &self.config).unwrap();
        for (x, noise) in played.iter().zip(noise) {
            let reward = dot(x, &self.theta) + times[0] * noise;
            let cost = dot(x, &self.mu) + times[1] * noise;
            agent.observe_at(x, reward, &[cost]).unwrap();
        }
        agent
    }
}

/// Noise that takes the parameters right to the edge of the confidence set, with the longest parameters there can
/// be: every direction's interval still holds the mean, and some no longer do a little beyond the edge.
#[test]
fn every_direction_holds_up_to_the_edge_of_the_set() {
    let (mut closest, mut beyond) = (0.0_f64, 0);
    for seed in 0..60 {
        let random = &mut Random::new(seed);
        let (d, known) = (1 + random.below(4), random.unit() < 0.5);
        let edge = Edge::new(random, d, known && d > 1);
        // Some directions often, some hardly ever.
        let line = unit(random, d);
        let count = 1 + random.below(200);
        let played: Vec<Vec<f64>> = (0..count)
            .map(|_| match random.below(12) {
                0 => edge.safe.clone(),
                1 => unit(random, d),
                _ => (unit(random, d).iter().zip(&line))
                    .map(|(x, l)| 0.05 * x + 0.9 * l)
                    .collect(),
            })
            .collect();
        // All noise along one direction, so that it adds up.
        let towards = unit(random, d);
        let noise: Vec<f64> = played.iter().map(|x| dot(x, &towards)).collect();
        let mut agent = edge.agent(&played, &noise, [1.0, 1.0]);
        let truths = [&edge.theta, &edge.mu];
        let to_edge = [0, 1].map(|signal| agent.confidence(signal, truths[signal]).unwrap());
        for scale in [1.0, 1.3] {
            let times = to_edge.map(|ratio| scale / ratio);
            agent = edge.agent(&played, &noise, times);
            let directions: Vec<f64> = (0..40).flat_map(|_| unit(random, d)).collect();
            agent.offer(&directions).unwrap();
            for signal in 0..2 {
                let there = agent.confidence(signal, truths[signal]).unwrap();
                assert!((there - scale).abs() < 1e-6, "{there}");
                for (a, x) in directions.chunks_exact(d).enumerate() {
                    let mean = (dot(x, truths[signal]) + 500.0) / 1000.0;
                    let found = agent.interval(a, signal).unwrap();
                    let centre = (found.lower + found.upper) / 2.0;
                    let ratio = (mean - centre).abs() / (found.upper - centre);
                    if scale == 1.0 {
                        assert!(ratio <= 1.0, "{ratio} at {seed}");
                        closest = closest.max(ratio);
                    } else {
                        beyond += u32::from(ratio > 1.0);
                    }
                }
            }
        }
    }
    assert!(closest > 0.95 && beyond > 0, "{closest} {beyond}");
}

/// A smaller δ never narrows an interval, and optimism's own budget moves the reward alone.
#[test]
fn a_smaller_delta_is_wider() {
    let random = &mut Random::new(8);
    let world = World::new(random, 4, 1);
    let levels = [(0.2, 0.1), (0.01, 0.1), (1e-6, 0.1), (1e-6, 0.5)];
    let mut agents = levels.map(|(delta, optimism_delta)| {
        let config = OplbConfig {
            delta,
            optimism_delta,
            ..oplb()
        };
        Oplb::new(&world.problem(0.5, true), &config).unwrap()
    });
    let set = world.actions(random, 5);
    for _ in 0..200 {
        let x = random.below(5);
        let (reward, costs) = world.pull(random, &set[x]);
        for agent in &mut agents {
            agent.observe_at(&set[x], reward, &costs).unwrap();
        }
    }
    for agent in &mut agents {
        agent.offer(&set.concat()).unwrap();
    }
    for action in 0..5 {
        let widths = [0, 1].map(|signal| {
            agents.each_mut().map(|agent| {
                let found = agent.interval(action, signal).unwrap();
                found.upper - found.lower
            })
        });
        let [reward, cost] = widths;
        assert!(cost[0] < cost[1] && cost[1] < cost[2] && cost[2] == cost[3]);
        assert!(reward[0] == reward[1] && reward[1] == reward[2] && reward[2] > reward[3]);
    }
}

/// The first outcome fixes the grid: longer actions later change nothing about it, and neither does what is on offer, so
/// that what is learned follows from the outcomes alone.
#[test]
fn the_grid_is_frozen_by_the_first_outcome() {
    let random = &mut Random::new(3);
    let world = World::new(random, 3, 1);
    let problem = world.problem(0.5, true);
    let set = world.actions(random, 4).concat();
    let long: Vec<f64> = set.iter().map(|x| 100.0 * x).collect();
    let mut found = Oplb::new(&problem, &oplb()).unwrap();
    found.offer(&long).unwrap();
    found.offer(&set).unwrap();
    // The safe action is shorter than 1, the first one played is 1 long.
    let declared = OplbConfig {
        lambda: Some(0.05),
        ..oplb()
    };
    let mut given = Oplb::new(&problem, &declared).unwrap();
    let mut replayed = Oplb::new(&problem, &oplb()).unwrap();
    for round in 0..50 {
        for agent in [&mut found, &mut given] {
            agent
                .offer(if round % 2 == 1 { &long } else { &set })
                .unwrap();
            agent.decide();
            agent
                .observe(round % 4, f64::from(round % 2 == 0), &[0.5])
                .unwrap();
        }
        let x = found.features(round % 4).unwrap();
        (replayed.observe_at(x, f64::from(round % 2 == 0), &[0.5])).unwrap();
        assert_eq!(replayed.save(), found.save());
        let mut copy = Oplb::restore(&found.save()).unwrap();
        copy.offer(&set).unwrap();
        found.offer(&set).unwrap();
        given.offer(&set).unwrap();
        for mut agent in [found.clone(), copy] {
            let (a, b) = (agent.interval(1, 1).unwrap(), given.interval(1, 1).unwrap());
            assert!(
                (a.upper - b.upper).abs() < 1e-9 * b.upper.abs(),
                "{a:?} {b:?}"
            );
        }
    }
}

/// One dimension, collinear actions, nothing but zero, an S beyond all measure: bounds stay honest numbers.
#[test]
fn extremes_are_safe() {
    let guardrail = |safe_cost| Guardrail {
        name: "cost".into(),
        at_most: Some(0.5),
        safe_cost: Some(safe_cost),
        ..Guardrail::default()
    };
    for (safe, cost) in [(vec![1.0], 0.2), (vec![0.0; 3], 0.0), (vec![1.0, 0.0], 0.2)] {
        for s in [1.0, 1e12] {
            let d = safe.len();
            let problem = Problem::contextual(safe.clone(), vec![guardrail(cost)]);
            let config = OplbConfig {
                parameter_norm: Some(s),
                ..OplbConfig::default()
            };
            let mut agent = Oplb::new(&problem, &config).unwrap();
            // Along one line, and zero.
            let line: Vec<f64> = (0..d).map(|j| 1.0 / (1.0 + j as f64)).collect();
            let set: Vec<f64> = ([0.0, 0.3, 0.6, 0.9].iter())
                .flat_map(|scale| line.iter().map(move |x| scale * x))
                .collect();
            agent.offer(&set).unwrap();
            let random = &mut Random::new(11);
            for _ in 0..3000 {
                let decision = agent.decide().clone();
                assert!(decision.guardrails[0].slack >= 0.0);
                // Costs and rewards of half the first coordinate.
                let action = decision.draw(random.unit());
                let mean = 0.2 * agent.features(action).unwrap()[0];
                let cost = random.bernoulli(mean);
                agent.observe(action, 1.0 - cost, &[cost]).unwrap();
            }
            for action in 0..4 {
                let found = agent.interval(action, 1).unwrap();
                let mean = 0.2 * agent.features(action).unwrap()[0];
                assert!(found.lower <= mean + 1e-9 && mean - 1e-9 <= found.upper);
            }
        }
    }
}

/// A generous S costs little where data are: λ_0 S√b falls as 1/n, √λ S‖x‖ only as 1/√n.
#[test]
fn a_generous_s_costs_little() {
    let random = &mut Random::new(21);
    let world = World::new(random, 3, 1);
    let set = world.actions(random, 6);
    let mut width = |radius, s| {
        let config = OplbConfig {
            radius: Some(radius),
            parameter_norm: Some(s),
            ..OplbConfig::default()
        };
        let mut agent = Oplb::new(&world.problem(0.5, true), &config).unwrap();
        agent.offer(&set.concat()).unwrap();
        for round in 0..3000 {
            let (reward, costs) = world.pull(random, &set[round % 6]);
            agent.observe(round % 6, reward, &costs).unwrap();
        }
        let found = agent.interval(0, 1).unwrap();
        assert!(length(&set[0]) > 0.0);
        found.upper - found.lower
    };
    let many = width(OplbRadius::Multiscale, 10.0) / width(OplbRadius::Multiscale, 1.0);
    let one = width(OplbRadius::Logdet, 10.0) / width(OplbRadius::Logdet, 1.0);
    assert!(many < 1.1 && one > 3.0, "{many} {one}");
}
