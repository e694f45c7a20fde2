//! Whatever the features, units and settings: a policy that is a distribution, within its thresholds,
//! with a finite certificate, and never a panic.

use crate::common;

use crate::common::player::Oplb;
use banister::oplb::Solver;
use banister::solve::Status;
use banister::{Fallback, Guardrail, OnBreach, OplbConfig, Problem, SignalConfig};
use common::Random;

fn vector(random: &mut Random, d: usize, scale: f64) -> Vec<f64> {
    (0..d).map(|_| scale * random.normal()).collect()
}

fn problem(random: &mut Random) -> Problem {
    let (d, m) = (1 + random.below(6), random.below(4));
    let scale = random.choose(&[1.0, 1e-6, 1e6, 1e3]);
    let mut safe = match random.below(4) {
        0 | 1 => vec![0.0; d],
        _ => vector(random, d, scale),
    };
    if random.unit() < 0.25 {
        // Along one axis.
        safe[random.below(d)] = scale;
    }
    let zero = safe.iter().all(|&x| x == 0.0);
    let guardrail = |random: &mut Random, i: usize| {
        let relative = !zero && random.unit() < 0.15;
        let known = !relative && random.unit() < 0.6;
        let safe_cost = if zero {
            0.0
        } else {
            random.between(-0.3, 0.29)
        };
        Guardrail {
            name: format!("guardrail {i}"),
            at_most: Some(if relative {
                1.0 + random.unit()
            } else {
                random.between(0.3, 0.9)
            }),
            relative,
            range: (!relative).then_some([-1.0, 1.0].into()),
            sub_gaussian: (random.unit() < 0.5).then_some(0.3),
            safe_cost: known.then_some(safe_cost),
            ..Guardrail::default()
        }
    };
    let guardrails = (0..m).map(|i| guardrail(random, i)).collect();
    Problem {
        reward: SignalConfig {
            range: Some([-1.0, 1.0].into()),
            sub_gaussian: (random.unit() < 0.3).then_some(0.5),
            ..SignalConfig::default()
        },
        ..Problem::contextual(safe, guardrails)
    }
}

fn config(random: &mut Random) -> OplbConfig {
    OplbConfig {
        solver: random.choose(&[Solver::Exact, Solver::Linearised]),
        lambda: Some(random.choose(&[1.0, 1e-6, 1e6, 0.1])),
        parameter_norm: Some(random.choose(&[1.0, 1e-3, 1e3])),
        max_work: random.choose(&[1, 1000, 100_000, 200_000_000]),
        radius_scale: random.choose(&[1.0, 1.0, 1e-6, 1e3]),
        ..OplbConfig::default()
    }
}

/// Actions along the safe one, zero, twice the same, very long and very short.
fn actions(random: &mut Random, safe: &[f64]) -> Vec<f64> {
    let d = safe.len();
    let mut set: Vec<f64> = Vec::new();
    for _ in 0..random.below(12) {
        let scale = random.choose(&[1.0, 1.0, 1.0, 1e-8, 1e8]);
        match random.below(5) {
            0 => set.extend(safe.iter().map(|x| scale * x)),
            1 => set.extend(vec![0.0; d]),
            2 if !set.is_empty() => set.extend_from_within(..d),
            _ => set.extend(vector(random, d, scale)),
        }
    }
    set
}

#[test]
fn hostile_rounds_end_in_a_certified_policy() {
    let random = &mut Random::new(77);
    let (mut decisions, mut forced, mut budgets) = (0, 0, 0);
    for _ in 0..250 {
        let problem = problem(random);
        let mut config = config(random);
        // Long enough for the safe costs, often not by more.
        let least = problem.check().unwrap().least_parameter_norm();
        config.parameter_norm = config.parameter_norm.map(|s| s.max(least));
        // The outcomes have nothing to do with what is declared.
        config.on_breach = Some(OnBreach::Alert);
        let mut agent = Oplb::new(&problem, &config).unwrap();
        for _ in 0..40 {
            if random.unit() < 0.7 {
                agent.offer(&actions(random, &problem.features[0])).unwrap();
            }
            let decision = agent.decide().clone();
            let total: f64 = decision.policy.iter().map(|entry| entry.1).sum();
            assert!((total - 1.0).abs() < 1e-9, "{decision:?}");
            let offered = agent.offered();
            assert!(decision.policy.iter().all(|&(a, p)| p > 0.0 && a < offered));
            for certificate in &decision.guardrails {
                assert!(certificate.slack >= 0.0, "{decision:?}");
                assert!(certificate.pessimistic_cost.is_finite() && certificate.price >= 0.0);
            }
            let report = decision.solver;
            assert!(report.value.is_finite() && report.upper_bound >= report.value);
            assert_ne!(
                decision.fallback,
                Some(Fallback::SolverFailed),
                "{decision:?}"
            );
            decisions += 1;
            forced += u32::from(decision.fallback.is_some());
            budgets += u32::from(report.status == Status::Budget);
            for _ in 0..1 + random.below(4) {
                let costs: Vec<f64> = (problem.guardrails.iter())
                    .map(|g| random.between(if g.relative { 0.0 } else { -1.0 }, 1.0))
                    .collect();
                let (action, reward) = (random.below(offered), random.between(-1.0, 1.0));
                agent.observe(action, reward, &costs).unwrap();
            }
        }
    }
    // All kinds of endings are there.
    assert!(
        forced > 100 && budgets > forced && decisions > 3 * budgets,
        "{forced} {budgets} {decisions}"
    );
}
