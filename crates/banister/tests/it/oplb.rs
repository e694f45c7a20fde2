//! OPLB as its users see it: bounds, optimism, safety, late outcomes.

use crate::common;

use crate::common::player::Oplb;
use banister::oplb::{OplbRadius, Solver};
use banister::solve::{Lp, LpSolver, Status};
use banister::{Decision, Guardrail, OplbConfig, Optimism, Problem, SignalConfig};
use common::Random;
use common::linear::{Direct, Matrix, World, dot, unit};

/// Largest ⟨x, v⟩ over the ellipsoid ‖v‖_gram ≤ 1, by walking a fine grid of directions.
fn support(gram: &Matrix, x: &[f64]) -> f64 {
    let value = |v: &[f64]| {
        let image: Vec<f64> = gram.iter().map(|row| dot(row, v)).collect();
        dot(x, v) / dot(v, &image).sqrt()
    };
    let steps = 2000;
    let angle = |k: usize| 2.0 * std::f64::consts::PI * k as f64 / steps as f64;
    let best = f64::NEG_INFINITY;
    match gram.len() {
        0 => 0.0,
        1 => value(&[1.0]).max(value(&[-1.0])),
        2 => (0..steps).fold(best, |best, k| {
            best.max(value(&[angle(k).cos(), angle(k).sin()]))
        }),
        _ => {
            // Three dimensions: a coarse grid, then finer ones around the best point.
            let point = |a: f64, b: f64| [a.cos() * b.sin(), a.sin() * b.sin(), b.cos()];
            let (mut a, mut b, mut reach) = (0.0, 0.0, std::f64::consts::PI);
            for _ in 0..8 {
                let mut found = (value(&point(a, b)), a, b);
                for i in -40..=40 {
                    for j in -40..=40 {
                        let (s, t) = (
                            a + reach * f64::from(i) / 40.0,
                            b + reach * f64::from(j) / 40.0,
                        );
                        let here = value(&point(s, t));
                        if here > found.0 {
                            found = (here, s, t);
                        }
                    }
                }
                (a, b, reach) = (found.1, found.2, reach / 8.0);
            }
            value(&point(a, b))
        }
    }
}

fn mixture(agent: &Oplb, decision: &Decision) -> Vec<f64> {
    let mut x = vec![0.0; agent.dimension()];
    for &(action, p) in &decision.policy {
        let features = agent
            .features(action)
            .expect("the policy is on what is offered");
        x.iter_mut().zip(features).for_each(|(x, f)| *x += p * f);
    }
    x
}

/// Exact OPLB certifies a policy by the worst and the best parameters in the confidence sets.
#[test]
fn exact_bounds_are_the_extremes_over_the_ellipsoids() {
    for (seed, d) in (0..12).zip([2, 3].into_iter().cycle()) {
        let random = &mut Random::new(seed);
        let world = World::new(random, d, 1);
        let mut agent = Oplb::new(&world.problem(0.5, true), &common::linear::exact()).unwrap();
        let mut data: [Vec<(Vec<f64>, f64)>; 2] = [Vec::new(), Vec::new()];
        let margin = 0.5 - dot(&world.mu[0], &world.safe);
        for round in 0..120 {
            let set = world.actions(random, 4);
            agent.offer(&set.concat()).unwrap();
            let decision = agent.decide().clone();
            let action = decision.draw(random.unit());
            let x = agent.features(action).unwrap().to_vec();
            if round % 30 == 29 {
                let mean = mixture(&agent, &decision);
                let reward = Direct::new(1.0, &world.safe, None, &data[0]);
                let safe_cost = dot(&world.mu[0], &world.safe);
                let cost = Direct::new(1.0, &world.safe, Some(safe_cost), &data[1]);
                let beta = reward.radius(0.5, 0.01, 1.0);
                let rho = (1.0 + 2.0 / margin) * beta;
                let kappa = cost.radius(0.5, 0.01, 1.0);
                let best = reward.mean(&mean) + rho * support(&reward.gram, &mean);
                let worst = cost.mean(&mean) + kappa * support(&cost.gram, &cost.project(&mean));
                let claimed = decision.guardrails[0].pessimistic_cost;
                assert!((decision.optimistic_reward - best).abs() < 1e-4 * best.abs());
                assert!((claimed - worst).abs() < 1e-4, "{claimed} {worst}");
            }
            let (r, c) = world.pull(random, &x);
            agent.observe(action, r, &c).unwrap();
            data[0].push((x.clone(), r));
            data[1].push((x, c[0]));
        }
    }
}

fn configs() -> Vec<OplbConfig> {
    let linearised = |optimism| OplbConfig {
        optimism: Some(optimism),
        ..common::linear::oplb()
    };
    vec![
        linearised(Optimism::Least),
        linearised(Optimism::Paper),
        common::linear::exact(),
        OplbConfig {
            radius: Some(OplbRadius::Paper),
            norm: Some(1.0),
            ..common::linear::oplb()
        },
    ]
}

/// The best feasible policy's reward under the true means.
fn optimum(world: &World, agent: &Oplb, thresholds: &[f64], sign: &[f64]) -> f64 {
    let all = 0..agent.offered();
    let features = |a: usize| agent.features(a).unwrap();
    let reward: Vec<f64> = all
        .clone()
        .map(|a| dot(&world.theta, features(a)))
        .collect();
    let costs: Vec<Vec<f64>> = world
        .mu
        .iter()
        .zip(sign)
        .map(|(mu, sign)| all.clone().map(|a| sign * dot(mu, features(a))).collect())
        .collect();
    let lp = Lp {
        reward: &reward,
        costs: &costs,
        thresholds,
    };
    let mut solver = LpSolver::default();
    let solution = solver.solve(&lp, Some(agent.safe()));
    assert_eq!(solution.status, Status::Optimal);
    solution.value
}

/// Runs an agent; in every round in which the confidence sets hold, the policy must be feasible and
/// its certificate optimistic.
fn check_rounds(
    world: &World,
    problem: &Problem,
    config: &OplbConfig,
    rounds: usize,
    seed: u64,
) -> u32 {
    let random = &mut Random::new(seed);
    let mut agent = Oplb::new(problem, config).unwrap();
    let safe = &world.safe;
    let mut held = 0;
    let mut thresholds = Vec::new();
    let mut signs = Vec::new();
    for (guardrail, mu) in problem.guardrails.iter().zip(&world.mu) {
        let factor = if guardrail.relative {
            dot(mu, safe)
        } else {
            1.0
        };
        let sign = if guardrail.at_most.is_some() {
            1.0
        } else {
            -1.0
        };
        thresholds.push(sign * factor * guardrail.at_most.or(guardrail.at_least).unwrap());
        signs.push(sign);
    }
    for _ in 0..rounds {
        let set = world.actions(random, 6);
        agent.offer(&set.concat()).unwrap();
        let decision = agent.decide().clone();
        let total: f64 = decision.policy.iter().map(|&(_, p)| p).sum();
        assert!((total - 1.0).abs() < 1e-12 && decision.policy.iter().all(|&(_, p)| p > 0.0));
        assert!(decision.guardrails.iter().all(|g| g.slack >= 0.0));
        let covered = (0..=world.mu.len()).all(|signal| {
            let parameter = match signal {
                0 => &world.theta,
                i => &world.mu[i - 1],
            };
            agent.confidence(signal, parameter).unwrap() <= 1.0
        });
        if covered && decision.fallback.is_none() {
            held += 1;
            let x = mixture(&agent, &decision);
            for (i, mu) in world.mu.iter().enumerate() {
                assert!(signs[i] * dot(mu, &x) <= thresholds[i] + 1e-9, "{config:?}");
            }
            let best = optimum(world, &agent, &thresholds, &signs);
            let claimed = decision.optimistic_reward + decision.solver.gap;
            assert!(claimed >= best - 1e-9, "{claimed} < {best}: {config:?}");
            assert!(decision.solver.upper_bound >= decision.solver.value - 1e-12);
        }
        let action = decision.draw(random.unit());
        let x = agent.features(action).unwrap().to_vec();
        let (r, c) = world.pull(random, &x);
        agent.observe(action, r, &c).unwrap();
    }
    held
}

/// With a threshold that no policy reaches, the optimistic reward of `index` is the largest of mean + R√(2 ln(1 + t‖x‖²))‖x‖
/// over the actions, within the bounds of `least`.
#[test]
fn indices_are_widths_of_one_direction() {
    let world = World::new(&mut Random::new(8), 5, 1);
    let problem = world.problem(0.999, true);
    let config = |optimism| OplbConfig {
        optimism: Some(optimism),
        lambda: Some(0.05),
        ..common::linear::oplb()
    };
    let [mut index, mut least] = [Optimism::Index, Optimism::Least]
        .map(|optimism| Oplb::new(&problem, &config(optimism)).unwrap());
    let random = &mut Random::new(9);
    let mut data = Vec::new();
    for _ in 0..400 {
        let set = world.actions(random, 4);
        index.offer(&set.concat()).unwrap();
        least.offer(&set.concat()).unwrap();
        let x = index.features(random.below(4)).unwrap().to_vec();
        let (r, c) = world.pull(random, &x);
        index.observe_at(&x, r, &c).unwrap();
        least.observe_at(&x, r, &c).unwrap();
        data.push((x, r));
    }
    let set = world.actions(random, 4);
    index.offer(&set.concat()).unwrap();
    least.offer(&set.concat()).unwrap();
    let direct = Direct::new(0.05, &[0.0; 5], None, &data);
    let value = |x: &[f64]| {
        let width = direct.width(x);
        direct.mean(x) + 0.5 * (2.0 * (1.0 + 400.0 * width * width).ln()).sqrt() * width
    };
    let offered = (0..index.offered()).map(|a| value(index.features(a).unwrap()));
    let expected = offered.fold(0.0, f64::max);
    let (found, bound) = (
        index.decide().optimistic_reward,
        least.decide().optimistic_reward,
    );
    assert!(
        (found - expected).abs() < 1e-6 && found < bound,
        "{found} {expected} {bound}"
    );
}

/// In twelve dimensions, with sixty fixed actions, `index` earns more than `least` in nearly every world, and no policy
/// violates.
#[test]
fn indices_learn_faster_and_are_as_safe() {
    let (mut better, mut gains, mut violating) = (0, [0.0; 2], 0);
    for seed in 0..20 {
        let world = World::new(&mut Random::new(100 + seed), 12, 1);
        let set = world.actions(&mut Random::new(200 + seed), 60);
        let earned = [Optimism::Index, Optimism::Least].map(|optimism| {
            let config = OplbConfig {
                optimism: Some(optimism),
                delta: 0.1,
                ..common::linear::oplb()
            };
            let mut agent = Oplb::new(&world.problem(0.5, true), &config).unwrap();
            let random = &mut Random::new(seed);
            let (mut earned, mut violated) = (0.0, false);
            agent.offer(&set.concat()).unwrap();
            for _ in 0..3000 {
                let decision = agent.decide().clone();
                let x = mixture(&agent, &decision);
                violated |= dot(&world.mu[0], &x) > 0.5 + 1e-9;
                earned += dot(&world.theta, &x) - dot(&world.theta, &world.safe);
                let x = agent
                    .features(decision.draw(random.unit()))
                    .unwrap()
                    .to_vec();
                let (r, c) = world.pull(random, &x);
                agent.observe_at(&x, r, &c).unwrap();
            }
            violating += u32::from(violated);
            earned
        });
        better += u32::from(earned[0] > earned[1]);
        gains = [gains[0] + earned[0], gains[1] + earned[1]];
    }
    // δ = 0.1 in each of 40 runs: nine or more are one in a hundred.
    assert!(violating < 9, "{violating}");
    assert!(
        better >= 16 && gains[0] > 1.2 * gains[1],
        "{better} {gains:?}"
    );
}

/// Every solver and optimism, known and unknown safe costs, m = 1..4.
#[test]
fn policies_are_safe_and_optimistic_wherever_the_confidence_sets_hold() {
    for config in configs() {
        for (m, known) in [
            (1, true),
            (1, false),
            (2, true),
            (3, true),
            (4, true),
            (2, false),
        ] {
            let seed = m as u64 * 17 + u64::from(known);
            let world = World::new(&mut Random::new(seed), 4, m);
            let held = check_rounds(&world, &world.problem(0.6, known), &config, 300, seed);
            assert!(held > 100 || !known, "{held} rounds: {config:?}");
        }
    }
}

/// Guardrails relative to a safe action of unknown cost, from above and from below.
#[test]
fn relative_and_lower_guardrails_hold_too() {
    let world = World::new(&mut Random::new(4), 3, 2);
    let relative = Guardrail {
        name: "more".into(),
        at_most: Some(2.5),
        relative: true,
        ..Guardrail::default()
    };
    let least = Guardrail {
        name: "less".into(),
        at_least: Some(0.05),
        safe_cost: Some(dot(&world.mu[1], &world.safe)),
        ..Guardrail::default()
    };
    let problem = Problem::contextual(world.safe.clone(), vec![relative, least]);
    for solver in [Solver::Linearised, Solver::Exact] {
        let config = OplbConfig {
            solver,
            delta: 0.2,
            ..common::linear::oplb()
        };
        let held = check_rounds(&world, &problem, &config, 6000, 5);
        assert!(held > 100, "{held} rounds with {solver:?}");
    }
}

/// On the K unit vectors with every action feasible, both solvers compare the same numbers.
#[test]
fn linearised_equals_exact_on_unit_vectors_where_bounds_coincide() {
    let random = &mut Random::new(8);
    let k = 6;
    let rewards: Vec<f64> = (0..k).map(|_| random.unit()).collect();
    let problem = common::problem(
        k,
        vec![Guardrail {
            // So loose, and so little noise, that every single action keeps it from the start: the
            // best policy is one action, on which the bounds coincide.
            signal: SignalConfig {
                range: Some([0.0, 100.0].into()),
                sub_gaussian: Some(1.0),
                ..SignalConfig::default()
            },
            ..common::at_most(90.0, Some(0.0))
        }],
    );
    let config = |solver| OplbConfig {
        solver,
        optimism: Some(Optimism::Paper),
        parameter_norm: Some(0.1),
        relative_gap: 1e-9,
        ..common::linear::oplb()
    };
    let mut linearised = Oplb::new(&problem, &config(Solver::Linearised)).unwrap();
    let mut exact = Oplb::new(&problem, &config(Solver::Exact)).unwrap();
    for _ in 0..400 {
        let a = linearised.decide().clone();
        let b = exact.decide().clone();
        assert!((a.optimistic_reward - b.optimistic_reward).abs() < 1e-8);
        let arm = b.draw(0.5);
        assert_eq!(b.policy.len(), 1, "one action is best");
        let reward = random.bernoulli(rewards[arm]);
        linearised.observe(arm, reward, &[random.unit()]).unwrap();
        exact.observe(arm, reward, &[random.unit()]).unwrap();
    }
}

/// x_0 = 0: doing nothing costs nothing, and a policy scales actions down.
#[test]
fn a_safe_action_of_zero_features_costs_nothing() {
    let random = &mut Random::new(2);
    let (theta, mu) = (unit(random, 3), unit(random, 3));
    let guardrail = Guardrail {
        name: "effort".into(),
        at_most: Some(0.2),
        signal: SignalConfig {
            range: Some([-1.0, 1.0].into()),
            sub_gaussian: Some(0.1),
            ..SignalConfig::default()
        },
        ..Guardrail::default()
    };
    let mut problem = Problem::contextual(vec![0.0; 3], vec![guardrail]);
    problem.reward = banister::SignalConfig {
        range: Some([-1.0, 1.0].into()),
        sub_gaussian: Some(0.1),
        ..Default::default()
    };
    for solver in [Solver::Linearised, Solver::Exact] {
        let config = OplbConfig {
            solver,
            ..common::linear::oplb()
        };
        let mut agent = Oplb::new(&problem, &config).unwrap();
        let mut earned = 0.0;
        for _ in 0..2000 {
            let set: Vec<f64> = (0..8).flat_map(|_| unit(random, 3)).collect();
            agent.offer(&set).unwrap();
            let decision = agent.decide().clone();
            assert!(decision.fallback.is_none());
            let x = mixture(&agent, &decision);
            assert!(dot(&mu, &x) <= 0.2 + 1e-9);
            earned += dot(&theta, &x);
            let action = decision.draw(random.unit());
            let x = agent.features(action).unwrap().to_vec();
            let reward = dot(&theta, &x) + 0.1 * random.normal();
            let cost = dot(&mu, &x) + 0.1 * random.normal();
            agent.observe(action, reward, &[cost]).unwrap();
        }
        assert!(earned / 2000.0 > 0.1, "{earned} with {solver:?}");
    }
}

/// The confidence sets hold at their level, and radii made far too small do not.
#[test]
fn confidence_sets_cover_at_level_delta() {
    let share = |scale: f64| {
        let runs = 200;
        let missed = (0..runs).filter(|&seed| {
            let random = &mut Random::new(1000 + seed);
            let world = World::new(random, 3, 1);
            let config = OplbConfig {
                delta: 0.1,
                radius_scale: scale,
                ..common::linear::oplb()
            };
            let mut agent = Oplb::new(&world.problem(0.5, true), &config).unwrap();
            (0..250).any(|_| {
                agent.offer(&world.actions(random, 4).concat()).unwrap();
                let action = agent.decide().draw(random.unit());
                let x = agent.features(action).unwrap().to_vec();
                let (r, c) = world.pull(random, &x);
                agent.observe(action, r, &c).unwrap();
                agent.confidence(0, &world.theta).unwrap() > 1.0
                    || agent.confidence(1, &world.mu[0]).unwrap() > 1.0
            })
        });
        missed.count() as f64 / f64::from(runs as u32)
    };
    // Three standard deviations above δ = 0.1 for 200 runs.
    assert!(share(1.0) <= 0.1 + 3.0 * (0.09_f64 / 200.0).sqrt());
    assert!(share(0.3) > 0.5);
}
