//! Optimism that leans, `index` and `sampled`: safe by the same bounds as every other, made as it says, and
//! repeatable.

use crate::common;

use banister::{Agent, Decision, OnBreach, Opb, OpbConfig, Oplb, OplbConfig, Optimism, Problem};
use common::{Random, Rebuilt, at_most, linear, problem, share_of};

fn sampled(problem: &Problem, omega: f64, seed: u64) -> Opb {
    leaning(problem, Optimism::Sampled, omega, seed)
}

fn leaning(problem: &Problem, optimism: Optimism, omega: f64, seed: u64) -> Opb {
    let config = OpbConfig {
        optimism,
        omega,
        // Some outcomes here have nothing to do with what is declared.
        on_breach: Some(OnBreach::Alert),
        ..OpbConfig::default()
    };
    let mut agent = Opb::new(problem, &config).expect("valid");
    agent.reseed(seed, 3);
    agent
}

/// Plays rounds on coins with these means; every decision goes through `look`.
fn play(
    agent: &mut Opb,
    random: &mut Random,
    rounds: u64,
    means: (&[f64], &[Vec<f64>]),
    mut look: impl FnMut(&Opb, &Decision),
) {
    for _ in 0..rounds {
        let decision = agent.decide().clone();
        look(agent, &decision);
        let arm = decision.draw(random.unit());
        let reward = random.bernoulli(means.0[arm]);
        let costs: Vec<f64> = means
            .1
            .iter()
            .map(|row| random.bernoulli(row[arm]))
            .collect();
        agent.observe(arm, reward, &costs).expect("valid");
    }
}

#[test]
fn no_policy_ever_exceeds_the_upper_cost_bounds_however_wild_the_draws() {
    let mut random = Random::new(5);
    let mut unusual = 0;
    for case in 0..40 {
        let m = 1 + case % 3;
        let k = 2 + random.below(6);
        let guardrails = (0..m).map(|i| {
            let known = (case + i) % 4 > 0;
            at_most(random.between(0.2, 0.6), known.then_some(0.1))
        });
        let declared = problem(k, guardrails.collect());
        let rewards: Vec<f64> = (0..k).map(|_| random.unit()).collect();
        let costs: Vec<Vec<f64>> = (0..m)
            .map(|_| {
                let row = (0..k).map(|a| if a == 0 { 0.1 } else { random.unit() });
                row.collect()
            })
            .collect();
        let omega = [0.0, 0.2, 1.0, 30.0][case % 4];
        let mut agent = match case % 5 {
            0 => leaning(&declared, Optimism::Index, 0.0, 0),
            _ => sampled(&declared, omega, case as u64),
        };
        play(
            &mut agent,
            &mut random,
            600,
            (&rewards, &costs),
            |agent, decision| {
                let bounds = Rebuilt::of(agent);
                for (i, row) in bounds.upper.iter().enumerate() {
                    let cost: f64 = decision.policy.iter().map(|&(a, p)| p * row[a]).sum();
                    let only_safe = decision.fallback.is_some();
                    assert!(only_safe || cost <= bounds.thresholds[i] + 1e-12);
                }
                unusual += usize::from(decision.policy.len() > 1);
            },
        );
    }
    assert!(
        unusual > 5000,
        "{unusual} policies had anything to exceed with"
    );
}

/// Outcomes of an arm as the test has counted them.
#[derive(Clone, Default)]
struct Counted {
    n: u64,
    /// Sums of the reward and of each cost.
    sums: Vec<f64>,
}

/// The bounds with r̃ and c̃ in the places of U and l.
fn leaned(agent: &Opb, counted: &[Counted], lean: impl Fn(usize) -> f64) -> Rebuilt {
    let mut table = Rebuilt::of(agent);
    for (a, own) in counted.iter().enumerate() {
        let mean = |s: usize| (own.n > 0).then(|| own.sums[s] / own.n as f64);
        let (x, upper) = (lean(a), table.reward_upper[a]);
        let reward = mean(0).unwrap_or(0.5);
        table.reward_upper[a] = reward + x * (upper - reward);
        for i in 0..table.thresholds.len() {
            let (l, u) = (table.lower[i][a], table.upper[i][a]);
            let cost = mean(i + 1).unwrap_or(0.5).clamp(l, u);
            table.lower[i][a] = cost - x * (cost - l);
        }
    }
    table
}

/// The index's lean is a formula and ω = 0 leaves no chance, so that their policies can be judged by another
/// solver.
#[test]
fn the_policy_solves_the_program_of_what_it_leans_to() {
    let mut random = Random::new(8);
    let mut widened = 0;
    for case in 0..120 {
        let (m, k) = (1 + case % 3, 3 + case % 4);
        let guardrails = (0..m).map(|_| at_most(random.between(0.2, 0.5), Some(0.1)));
        let declared = problem(k, guardrails.collect());
        let indexed = case % 2 == 0;
        let mut agent = if indexed {
            leaning(&declared, Optimism::Index, 0.0, 1)
        } else {
            sampled(&declared, 0.0, 1)
        };
        let (mut counted, mut levels) = (vec![Counted::default(); k], vec![0.0_f64; k]);
        let mut pulled = 0;
        for (arm, own) in counted.iter_mut().enumerate() {
            let p = random.unit();
            own.n = (random.below(3) * random.below(90)) as u64;
            own.sums = vec![0.0; m + 1];
            for _ in 0..own.n {
                let reward = random.bernoulli(p);
                let costs: Vec<f64> = (0..m).map(|_| random.bernoulli(p * p)).collect();
                agent.observe(arm, reward, &costs).expect("valid");
                for (sum, x) in own.sums.iter_mut().zip([&[reward], &costs[..]].concat()) {
                    *sum += x;
                }
            }
            pulled += usize::from(own.n > 0);
            // U and every l, but the safe arm's cost is known.
            let ends = if arm == 0 { 1 } else { 1 + m };
            levels[arm] = (ends as f64 / (0.1 * share_of(pulled.max(1), k))).ln();
        }
        let total: u64 = counted.iter().map(|own| own.n).sum();
        let table = leaned(&agent, &counted, |a| {
            if !indexed {
                return 0.0;
            }
            let ratio = total as f64 / (k as f64 * counted[a].n as f64);
            let lean = ((1.0 + ratio).ln() / (levels[a] + 3.0)).sqrt();
            if counted[a].n == 0 {
                1.0
            } else {
                lean.min(1.0)
            }
        });
        let (bar, spread) = (table.optimistic_value(), table.spread());
        let decision = agent.decide();
        let sum = |of: &[f64]| decision.policy.iter().map(|&(a, p)| p * of[a]).sum::<f64>();
        let (reward, width) = (sum(&table.reward_upper), sum(&spread));
        let kappa = if width > 1e-12 {
            ((bar - reward) / width).max(0.0)
        } else {
            0.0
        };
        widened += usize::from(kappa > 0.0);
        // At the least κ the program is worth R̃, and the policy attains it.
        let best = table.pessimistic_value(kappa);
        assert!((best - bar).abs() < 1e-9, "case {case}: {best} for {bar}");
        assert!((decision.optimistic_reward - bar).abs() < 1e-9);
    }
    assert!(widened > 40, "{widened} policies had a κ to find");
}

#[test]
fn an_arm_is_drawn_as_best_with_the_probability_of_two_normals() {
    let declared = Problem {
        guardrails: Vec::new(),
        ..problem(2, Vec::new())
    };
    let omega = 0.3;
    let mut agent = sampled(&declared, omega, 0);
    for i in 0..400 {
        agent
            .observe(0, f64::from(u8::from(i % 2 == 0)), &[])
            .expect("valid");
        if i % 4 == 0 {
            agent
                .observe(1, f64::from(u8::from(i % 8 == 0)), &[])
                .expect("valid");
        }
    }
    let half = |arm: usize| agent.interval(arm, 0).expect("an arm").upper - 0.5;
    // Equal means: a coin, whatever the widths; and the mean of arm 0 is a little higher after one more 1.
    let (wide, narrow) = (half(1), half(0));
    assert!(wide > 1.5 * narrow);
    let count = |agent: &Opb| {
        let chosen = (0..4000_u64).filter(|&seed| {
            let mut own = Opb::restore(&agent.save_learned()).expect("its own");
            own.reseed(seed, 0);
            own.decide().policy[0].0 == 1
        });
        chosen.count() as f64 / 4000.0
    };
    let fair = count(&agent);
    assert!(
        (fair - 0.5).abs() < 4.0 * (0.25_f64 / 4000.0).sqrt(),
        "{fair}"
    );
    for _ in 0..20 {
        agent.observe(1, 1.0, &[]).expect("valid");
    }
    let (mean, upper) = (70.0 / 120.0, agent.interval(1, 0).expect("an arm").upper);
    let sd = omega * ((upper - mean).powi(2) + narrow * narrow).sqrt();
    let law = standard_normal_below((mean - 0.5) / sd);
    let drawn = count(&agent);
    assert!(
        law > 0.6 && law < 0.999,
        "the test has something to tell apart: {law}"
    );
    assert!(
        (drawn - law).abs() < 4.0 * (law * (1.0 - law) / 4000.0).sqrt() + 1e-3,
        "{drawn} for {law}"
    );
}

/// Φ, by Simpson's rule.
fn standard_normal_below(x: f64) -> f64 {
    let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let (from, n) = (-10.0, 4000);
    let h = (x - from) / f64::from(n);
    let weight = |i: i32| match i {
        0 => 1.0,
        i if i == n => 1.0,
        i if i % 2 == 1 => 4.0,
        _ => 2.0,
    };
    (0..=n)
        .map(|i| weight(i) * density(from + h * f64::from(i)))
        .sum::<f64>()
        * h
        / 3.0
}

const REWARDS: [f64; 4] = common::PAPER_REWARDS;

fn paper() -> (Problem, Vec<Vec<f64>>) {
    let declared = problem(4, vec![at_most(0.3, Some(0.0))]);
    (declared, vec![common::PAPER_COSTS.to_vec()])
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let (declared, costs) = paper();
    let run = |seed: u64, ask: usize| {
        let (mut agent, mut random) = (sampled(&declared, 0.2, seed), Random::new(4));
        play(&mut agent, &mut random, 300, (&REWARDS, &costs), |_, _| {});
        // Asking again draws nothing new: nothing came in between.
        (0..ask).for_each(|_| drop(agent.decide().clone()));
        (agent.save_learned(), agent.decide().clone())
    };
    assert_eq!(run(7, 0), run(7, 5));
    assert_ne!(run(7, 0).0, run(8, 0).0);
}

#[test]
fn a_restored_agent_continues_bit_for_bit() {
    for optimism in [Optimism::Sampled, Optimism::Index] {
        continues(optimism);
    }
}

fn continues(optimism: Optimism) {
    let (declared, costs) = paper();
    let (mut agent, mut random) = (leaning(&declared, optimism, 0.4, 11), Random::new(9));
    play(&mut agent, &mut random, 250, (&REWARDS, &costs), |_, _| {});
    let mut restored = Opb::restore(&agent.save()).expect("its own");
    let (mut ahead, mut behind) = (random, Random::new(10));
    for _ in 0..400 {
        assert_eq!(agent.decide(), restored.decide());
        let arm = agent.decide().draw(ahead.unit());
        let (reward, cost) = (
            behind.bernoulli(REWARDS[arm]),
            behind.bernoulli(costs[0][arm]),
        );
        for own in [&mut agent, &mut restored] {
            own.observe(arm, reward, &[cost]).expect("valid");
        }
        assert_eq!(agent.save(), restored.save());
    }
}

/// A negative control in both directions: after an unlucky start, ω = 0 never looks at the best arm again, the
/// the index and an ω of the
/// size of the intervals come back to it, and a huge one plays whatever.
#[test]
fn what_leans_explores() {
    let best_after = |optimism: Optimism, omega: f64, seed: u64| {
        let declared = problem(3, vec![at_most(0.5, Some(0.1))]);
        let mut agent = leaning(&declared, optimism, omega, seed);
        let (rewards, costs) = ([0.1, 0.5, 0.9], vec![vec![0.1, 0.2, 0.2]]);
        for i in 0..60 {
            agent
                .observe(1, f64::from(u8::from(i % 2 == 0)), &[0.0])
                .expect("valid");
            if i < 8 {
                agent
                    .observe(2, f64::from(u8::from(i == 0)), &[0.0])
                    .expect("valid");
            }
        }
        let before = agent.pulls()[2];
        play(
            &mut agent,
            &mut Random::new(seed),
            8000,
            (&rewards, &costs),
            |_, _| {},
        );
        (agent.pulls()[2] - before) as f64 / 8000.0
    };
    for seed in 0..5 {
        let drawn = |omega: f64| best_after(Optimism::Sampled, omega, seed);
        assert_eq!(drawn(0.0), 0.0);
        let index = best_after(Optimism::Index, 0.0, seed);
        assert!(index > 0.7, "{index}");
        let (wide, huge) = (drawn(1.0), drawn(1e6));
        assert!(wide > 0.7, "{wide}");
        assert!(huge > 0.02 && huge < 0.6, "{huge}");
    }
}

#[test]
fn a_scale_that_is_none_is_refused() {
    for omega in [-0.1, f64::NAN, f64::INFINITY] {
        let arms = OpbConfig {
            omega,
            ..OpbConfig::default()
        };
        let error = Opb::new(&problem(2, Vec::new()), &arms).expect_err("refused");
        assert!(error.to_string().contains("omega"), "{error}");
        let features = OplbConfig {
            omega,
            ..linear::oplb()
        };
        let error = Oplb::new(&Problem::contextual(vec![1.0], Vec::new()), &features);
        assert!(error.expect_err("refused").to_string().contains("omega"));
    }
}

/// Linear actions: safe by the intervals they are certified by, repeatable, and drawn by one direction for all,
/// so that equal features never differ.
#[test]
fn linear_actions_are_drawn_together() {
    let spend = at_most(0.5, Some(0.2));
    let declared = Problem::contextual(vec![1.0, 0.0, 0.0], vec![spend]);
    let config = OplbConfig {
        optimism: Some(Optimism::Sampled),
        omega: 0.5,
        ..linear::oplb()
    };
    let mut agent = Oplb::new(&declared, &config).expect("valid");
    agent.reseed(2, 1);
    let mut random = Random::new(3);
    let mut policies = 0;
    for round in 0..600 {
        let v = [random.unit(), random.unit()];
        let w = [random.unit(), random.unit()];
        // The first two are the same action.
        agent
            .offer(&[0.5, v[0], v[1], 0.5, v[0], v[1], 0.5, w[0], w[1]])
            .expect("valid");
        if round == 300 {
            let mut other = Oplb::restore(&agent.save()).expect("its own");
            assert_eq!(other.decide(), agent.decide());
            assert_eq!(other.save(), agent.save());
            let before = agent.decide().clone();
            let differs = (0..50).any(|seed| {
                other.reseed(seed, 9);
                *other.decide() != before
            });
            assert!(differs);
        }
        let decision = agent.decide().clone();
        let of = |a: usize| decision.probability(a);
        let mut upper = |a: usize| agent.interval(a, 1).expect("on offer").upper.min(1.0);
        let cost: f64 = (0..4).map(|a| of(a) * upper(a)).sum();
        assert!(decision.fallback.is_some() || cost <= 0.5 + 1e-12, "{cost}");
        assert_eq!(of(0), of(1), "twins share");
        policies += usize::from(of(2) > 0.0 && of(2) < 1.0);
        let action = decision.draw(random.unit());
        let x = agent.features(action).expect("on offer").to_vec();
        let reward = random.bernoulli(0.2 * x[0] + 0.4 * x[1]);
        agent
            .observe(action, reward, &[random.bernoulli(0.2 * x[0] + 0.3 * x[2])])
            .expect("valid");
    }
    assert!(policies > 50, "{policies} policies mixed");
}
