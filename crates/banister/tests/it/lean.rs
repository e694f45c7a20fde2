//! Optimism that leans, `index`: safe by the bounds that every optimism is safe by, and made as it says.

use crate::common;

use banister::{Decision, OnBreach, Opb, OpbConfig, Optimism, Problem};
use common::{Random, Rebuilt, at_most, problem, share_of};

fn indexed(problem: &Problem) -> Opb {
    let config = OpbConfig {
        optimism: Optimism::Index,
        // Some outcomes here have nothing to do with what is declared.
        on_breach: Some(OnBreach::Alert),
        ..OpbConfig::default()
    };
    Opb::new(problem, &config).expect("valid")
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
fn no_policy_ever_exceeds_the_upper_cost_bounds() {
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
        play(
            &mut indexed(&declared),
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

/// The lean is a formula, so that policies can be judged by another solver.
#[test]
fn the_policy_solves_the_program_of_what_it_leans_to() {
    let mut random = Random::new(8);
    let mut widened = 0;
    for case in 0..120 {
        let (m, k) = (1 + case % 3, 3 + case % 4);
        let guardrails = (0..m).map(|_| at_most(random.between(0.2, 0.5), Some(0.1)));
        let declared = problem(k, guardrails.collect());
        let mut agent = indexed(&declared);
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
fn an_unlucky_start_does_not_hide_the_best_arm() {
    let declared = problem(3, vec![at_most(0.5, Some(0.1))]);
    let (rewards, costs) = ([0.1, 0.5, 0.9], vec![vec![0.1, 0.2, 0.2]]);
    for seed in 0..5 {
        let mut agent = indexed(&declared);
        for i in 0..60 {
            let reward = f64::from(u8::from(i % 2 == 0));
            agent.observe(1, reward, &[0.0]).expect("valid");
            if i < 8 {
                let reward = f64::from(u8::from(i == 0));
                agent.observe(2, reward, &[0.0]).expect("valid");
            }
        }
        let before = agent.pulls()[2];
        let mut random = Random::new(seed);
        play(&mut agent, &mut random, 8000, (&rewards, &costs), |_, _| {});
        let share = (agent.pulls()[2] - before) as f64 / 8000.0;
        assert!(share > 0.7, "{share}");
    }
}
