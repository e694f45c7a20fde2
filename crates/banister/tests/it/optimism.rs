//! The optimism lemma on bounds that agents really have, judged by a brute-force LP; and `index`, safe by
//! the same bounds and made as it says.

use banister::{
    Agent as _, Decision, Guardrail, Intervals, OnBreach, Opb, OpbConfig, Optimism, Problem, Range,
    SignalConfig,
};
use common::{Random, Rebuilt, at_most, brute_force_lp, problem, share_of};

use crate::common;

const HORIZON: u64 = 10_000;

/// A problem with m guardrails of mixed kinds, safe costs known or not.
fn random_problem(random: &mut Random, m: usize, relative: bool) -> Problem {
    let guardrails = (0..m).map(|_| {
        let threshold = random.between(0.3, 0.8);
        let known = random.below(2) == 0;
        match random.below(4) {
            0 if relative => Guardrail {
                relative: true,
                ..at_most(random.between(1.2, 2.0), None)
            },
            1 => Guardrail {
                at_most: None,
                at_least: Some(1.0 - threshold),
                ..at_most(0.0, known.then_some(0.9))
            },
            _ => at_most(threshold, known.then_some(0.2)),
        }
    });
    let guardrails = guardrails.collect();
    problem(2 + random.below(5), guardrails)
}

/// Random outcomes for all arms, each as often as it likes, the safe one often enough.
fn feed(agents: &mut [Opb], random: &mut Random, m: usize) {
    let k = agents[0].view().arms.len();
    for arm in 0..k {
        let pulls = match arm {
            0 => 2000 + random.below(300),
            _ => random.below(3) * random.below(200),
        };
        let reward_mean = if arm == 0 { 0.2 } else { random.unit() };
        let means: Vec<f64> = (0..m)
            .map(|i| {
                let at_least = agents[0].problem().declared.guardrails[i]
                    .at_least
                    .is_some();
                match (arm, at_least) {
                    (0, true) => 0.9,
                    (0, false) => 0.2,
                    _ => random.unit(),
                }
            })
            .collect();
        for _ in 0..pulls {
            let reward = random.bernoulli(reward_mean);
            let costs: Vec<f64> = means.iter().map(|&p| random.bernoulli(p)).collect();
            for agent in agents.iter_mut() {
                agent.observe(arm, reward, &costs).expect("valid");
            }
        }
    }
}

/// The policy is a distribution, its pessimistic costs are as certified and within the thresholds,
/// and it stands on at most m + 1 distinct columns.
fn check_decision(decision: &Decision, agent: &Opb, rebuilt: &Rebuilt, v: Option<&[f64]>) {
    let m = rebuilt.thresholds.len();
    let total: f64 = decision.policy.iter().map(|&(_, p)| p).sum();
    assert!((total - 1.0).abs() < 1e-12 && decision.policy.iter().all(|&(_, p)| p > 0.0));
    assert!(decision.policy.windows(2).all(|w| w[0].0 < w[1].0));
    for (i, standard) in agent.problem().guardrails.iter().enumerate() {
        let cost: f64 = decision
            .policy
            .iter()
            .map(|&(a, p)| p * rebuilt.upper[i][a])
            .sum();
        let certificate = &decision.guardrails[i];
        assert!(
            cost <= rebuilt.thresholds[i] + 1e-12,
            "guardrail {i} costs {cost}"
        );
        assert!((standard.show(cost) - certificate.pessimistic_cost).abs() < 1e-9);
        assert!(certificate.slack >= 0.0);
    }
    if let Some(v) = v {
        let value: f64 = decision.policy.iter().map(|&(a, p)| p * v[a]).sum();
        assert!((value - decision.optimistic_reward).abs() < 1e-9);
    }
    // A grain of the safe arm may come on top, where rounding would break a threshold.
    let mut columns: Vec<Vec<u64>> = decision
        .policy
        .iter()
        .filter(|&&(_, p)| p > 1e-9)
        .map(|&(a, _)| {
            let costs = rebuilt
                .upper
                .iter()
                .chain(&rebuilt.lower)
                .map(|row| row[a].to_bits());
            costs.chain([rebuilt.reward_upper[a].to_bits()]).collect()
        })
        .collect();
    columns.sort();
    columns.dedup();
    assert!(
        columns.len() <= m + 1,
        "{} columns for {m} guardrails",
        columns.len()
    );
}

/// Runs `check` on many random agents of the given optimisms, all fed the same outcomes.
fn on_random_bounds(
    optimisms: &[Optimism],
    kinds: &[Intervals],
    mut check: impl FnMut(&mut [Opb], &Rebuilt, f64),
) {
    let mut random = Random::new(21);
    let mut checked = 0;
    for round in 0..240 {
        let m = 1 + round % 3;
        // The paper's bonus is not made for relative guardrails.
        let relative = !optimisms.contains(&Optimism::Paper);
        let declared = random_problem(&mut random, m, relative);
        let kind = random.choose(kinds);
        let mut agents: Vec<Opb> = optimisms
            .iter()
            .map(|&optimism| {
                let config = OpbConfig {
                    intervals: Some(kind),
                    optimism,
                    horizon: Some(HORIZON),
                    // The outcomes fed have nothing to do with what is declared.
                    on_breach: Some(OnBreach::Alert),
                    ..OpbConfig::default()
                };
                Opb::new(&declared, &config).expect("a valid problem")
            })
            .collect();
        feed(&mut agents, &mut random, m);
        let rebuilt = Rebuilt::of(&agents[0]);
        let has_margin = rebuilt.margins.iter().all(|&margin| margin > 0.0);
        for agent in &mut agents {
            assert_eq!(agent.decide().fallback.is_none(), has_margin);
        }
        if has_margin {
            let bar = rebuilt.optimistic_value();
            check(&mut agents, &rebuilt, bar);
            checked += 1;
        }
    }
    assert!(checked > 120, "only {checked} agents had margin");
}

const KINDS: [Intervals; 4] = [
    Intervals::Kl,
    Intervals::Mixture,
    Intervals::Subgaussian,
    Intervals::Paper,
];

#[test]
fn least_stops_exactly_where_the_lemma_does() {
    let mut with_bonus = 0;
    on_random_bounds(&[Optimism::Least], &KINDS, |agents, rebuilt, bar| {
        let decision = agents[0].decide().clone();
        let value = decision.optimistic_reward;
        // With κ = 0 the LP is worth no more than R̄, so at the smallest κ it is worth just R̄.
        assert!((value - bar).abs() < 1e-9, "{value} and {bar}");
        assert!(decision.solver.upper_bound >= decision.solver.value - 1e-12);
        assert!(decision.solver.gap < 1e-9);
        check_decision(&decision, &agents[0], rebuilt, None);
        with_bonus += usize::from(rebuilt.pessimistic_value(0.0) < bar - 1e-6);
    });
    assert!(with_bonus > 60, "κ was above 0 in {with_bonus} cases only");
}

#[test]
fn the_papers_bonus_is_more_than_the_lemma_asks() {
    on_random_bounds(
        &[Optimism::Paper],
        &[Intervals::Paper],
        |agents, rebuilt, _| {
            let agent = &mut agents[0];
            let margins = rebuilt.margins.iter().copied();
            let smallest = margins.fold(f64::INFINITY, f64::min);
            let spread = rebuilt.spread();
            let k = spread.len();
            let log_term = (4.0 * k as f64 * HORIZON as f64 / agent.config().delta).ln();
            let saved: serde_json::Value =
                serde_json::from_str(&agent.save().unwrap()).expect("JSON");
            let mut v = vec![0.0; k];
            for a in 0..k {
                let n = agent.pulls()[a] as f64;
                // Unpulled arms have 1/2 around 1/2.
                let (centre, radius) = if n == 0.0 {
                    (0.5, 0.5)
                } else {
                    let sum =
                        saved["learner"]["estimates"]["arms"][a]["signals"][0]["sum"].as_f64();
                    (sum.expect("a sum") / n, (2.0 * log_term / n).sqrt())
                };
                v[a] = centre + (1.0 + 2.0 / smallest) * radius;
                // κ = 1 would do.
                let own = rebuilt.reward_upper[a] + spread[a];
                assert!(own <= v[a] + 1e-9, "arm {a}: {own} and {}", v[a]);
            }
            let by_hand = brute_force_lp(&v, &rebuilt.upper, &rebuilt.thresholds);
            let expected = by_hand.expect("the safe arm is feasible").0;
            let decision = agent.decide().clone();
            let found = decision.optimistic_reward;
            assert!(
                (found - expected).abs() < 1e-9 * expected,
                "{found} and {expected}"
            );
            assert!(found >= rebuilt.pessimistic_value(1.0) - 1e-9);
            // No reward is above 1, which these bounds are not clipped to.
            let mut clipped = rebuilt.clone();
            (clipped.reward_upper.iter_mut()).for_each(|upper| *upper = upper.min(1.0));
            assert!(found >= clipped.optimistic_value() - 1e-9);
            check_decision(&decision, agent, rebuilt, Some(&v));
        },
    );
}

#[test]
fn the_shadow_price_proves_the_policy_optimal() {
    let declared = problem(3, vec![at_most(0.4, Some(0.1))]);
    // Every arm is fed alike, whatever the policies would have played.
    let config = OpbConfig {
        optimism: Optimism::Least,
        on_breach: Some(OnBreach::Alert),
        ..OpbConfig::default()
    };
    let mut agent = Opb::new(&declared, &config).expect("valid");
    let mut random = Random::new(5);
    for arm in 0..3 {
        for _ in 0..300 {
            let reward = random.bernoulli(0.2 + 0.3 * arm as f64);
            let cost = random.bernoulli(0.1 + 0.3 * arm as f64);
            agent.observe(arm, reward, &[cost]).expect("valid");
        }
    }
    let decision = agent.decide().clone();
    let rebuilt = Rebuilt::of(&agent);
    // The smallest κ at which the LP is worth R̄, by bisection.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if rebuilt.pessimistic_value(middle) < rebuilt.optimistic_value() {
            low = middle;
        } else {
            high = middle;
        }
    }
    // By duality λτ + max_a (V_a − λu_a) is the value at the right price λ and more at any other.
    let price = decision.guardrails[0].price;
    let spread = rebuilt.spread();
    let dual = |price: f64| {
        (0..3)
            .map(|a| rebuilt.reward_upper[a] + high * spread[a] - price * rebuilt.upper[0][a])
            .fold(f64::NEG_INFINITY, f64::max)
            + price * 0.4
    };
    assert!(price > 0.0);
    assert!((dual(price) - decision.optimistic_reward).abs() < 1e-9);
    assert!(dual(price + 0.01) > dual(price) && dual(price - 0.01) > dual(price));
}

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

/// The first mean at which one of the sixteen bets on outcomes has made x of 1, by bisection.
fn first_refuted(outcomes: &[f64], log_x: f64) -> f64 {
    let refutes = |mean: f64| {
        (0..16).any(|k| {
            let stake = 1.0 - (-4.0 / f64::from(1 << k)).exp();
            let factor = |&x: &f64| ((1.0 - stake * x) / (1.0 - stake * mean)).ln();
            outcomes.iter().map(factor).sum::<f64>() >= log_x
        })
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if refutes(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// The bounds with r̃ and c° in the places of U and l. `outcomes` has a row of the reward and of each cost for every arm.
fn indices(agent: &Opb, outcomes: &[Vec<Vec<f64>>]) -> Rebuilt {
    let mut table = Rebuilt::of(agent);
    let (k, m) = (outcomes.len(), table.thresholds.len());
    let total: usize = outcomes.iter().map(|own| own[0].len()).sum();
    // Down to five binary digits.
    let digits = (total as f64).log2().floor().max(4.0) as u32 - 4;
    let each = (total >> digits << digits) as f64 / k as f64;
    let mut pulled = 0;
    for (a, own) in outcomes.iter().enumerate() {
        let n = own[0].len() as f64;
        // Its fair share of outcomes, by the rate at which the margins pay for it.
        let rate = |i: usize| match table.upper[i][a] - table.upper[i][0] {
            beyond if beyond > 0.0 => (table.margins[i] / beyond).min(1.0),
            _ => 1.0,
        };
        let share = each * (0..m).map(rate).fold(1.0, f64::min);
        let log_x = if n > 0.0 {
            (1.0 + share / n).ln()
        } else {
            f64::INFINITY
        };
        table.reward_upper[a] = first_refuted(&own[0], log_x);
        if a == 0 {
            continue;
        }
        pulled += usize::from(n > 0.0);
        // Costs of all arms but the safe one are unknown; one never pulled is taken for the first.
        let (place, ends) = if n > 0.0 { (pulled, m) } else { (1, 1) };
        let worth = n + (ends as f64 / (0.01 * share_of(place, k - 1))).ln();
        for i in 0..m {
            let mirrored: Vec<f64> = own[i + 1].iter().map(|x| 1.0 - x).collect();
            let u = table.upper[i][a];
            let cost = (1.0 - first_refuted(&mirrored, log_x)).min(u);
            table.lower[i][a] = cost + (u - cost) * worth / (worth + 100.0 * share);
        }
    }
    table
}

/// Indices are formulas, so that policies can be judged by another solver.
#[test]
fn the_policy_solves_the_program_of_its_indices() {
    let mut random = Random::new(8);
    let mut widened = 0;
    for case in 0..120 {
        let (m, k) = (1 + case % 3, 3 + case % 4);
        let guardrails = (0..m).map(|_| at_most(random.between(0.2, 0.5), Some(0.1)));
        let declared = problem(k, guardrails.collect());
        let mut agent = indexed(&declared);
        let mut outcomes = vec![vec![Vec::new(); m + 1]; k];
        for (arm, own) in outcomes.iter_mut().enumerate() {
            let p = random.unit();
            for _ in 0..random.below(3) * random.below(90) {
                let mut draw = |p: f64| match case % 2 {
                    0 => random.bernoulli(p),
                    _ => p * random.unit(),
                };
                let reward = draw(p);
                let costs: Vec<f64> = (0..m).map(|_| draw(p * p)).collect();
                agent.observe(arm, reward, &costs).expect("valid");
                for (row, x) in own.iter_mut().zip([&[reward], &costs[..]].concat()) {
                    row.push(x);
                }
            }
        }
        let table = indices(&agent, &outcomes);
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

/// A margin of 0.001 and a dear arm that costs 200 times as much: what exploring it takes is not taken from what earns.
#[test]
fn a_dear_arm_does_not_take_the_budget_of_those_that_earn() {
    let (rewards, costs, top) = ([0.3, 0.6, 0.65], [1e-4, 2.6e-3, 0.2], [1e-3, 0.03, 2.0]);
    let guardrail = Guardrail {
        signal: SignalConfig {
            range: Some(Range::ByArm(top.map(|hi| [0.0, hi]).to_vec())),
            ..SignalConfig::default()
        },
        ..at_most(1.1e-3, Some(costs[0]))
    };
    let declared = problem(3, vec![guardrail]);
    // All of the margin to the arm between.
    let gain = (rewards[1] - rewards[0]) * 1e-3 / (costs[1] - costs[0]);
    let mut shares: Vec<f64> = (0..9)
        .map(|seed| {
            let (mut agent, mut random) = (indexed(&declared), Random::new(seed));
            let mut earned = 0.0;
            for t in 0..9000 {
                let decision = agent.decide();
                let mean = |of: &[f64; 3]| decision.policy.iter().map(|&(a, p)| p * of[a]).sum();
                let (reward, cost): (f64, f64) = (mean(&rewards), mean(&costs));
                assert!(cost <= 1.1e-3, "seed {seed}, round {t}: {cost}");
                earned += f64::from(u8::from(t >= 8000)) * (reward - rewards[0]) / gain / 1000.0;
                let arm = decision.draw(random.unit());
                let cost = 2.0 * costs[arm] * random.unit();
                (agent.observe(arm, random.bernoulli(rewards[arm]), &[cost])).expect("valid");
            }
            earned
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    println!("shares of the gain after 8000 rounds: {shares:.3?}");
    assert!(shares[4] > 0.85, "{shares:?}");
}

/// Thirty arms, 0.95 against 0.85: one bad outcome at the start must not shelve the best arm for long.
#[test]
fn no_run_loses_the_best_of_thirty_arms() {
    let declared = problem(30, vec![at_most(0.5, Some(0.1))]);
    let rewards: Vec<f64> = (0..30).map(|a| if a == 7 { 0.95 } else { 0.85 }).collect();
    let costs = vec![vec![0.1; 30]];
    let mut regrets: Vec<f64> = (0..40)
        .map(|seed| {
            let (mut agent, mut random) = (indexed(&declared), Random::new(seed));
            let mut regret = 0.0;
            play(
                &mut agent,
                &mut random,
                40_000,
                (&rewards, &costs),
                |_, d| {
                    regret += 0.95 - d.policy.iter().map(|&(a, p)| p * rewards[a]).sum::<f64>();
                },
            );
            regret
        })
        .collect();
    regrets.sort_by(f64::total_cmp);
    println!(
        "regret: {} in the median, {} at worst",
        regrets[20], regrets[39]
    );
    assert!(regrets[20] < 250.0 && regrets[39] < 900.0, "{regrets:?}");
}
