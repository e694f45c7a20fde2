//! Input that OPLB rejects, by the field and value in the message, and rounds given by their numbers. Whatever the
//! features, units and settings: a policy that is a distribution, within its thresholds, with a finite certificate, and
//! never a panic.

use crate::common::verbs::Verbs as _;
use banister::oplb::{Ellipsoid, OplbRadius, RoundInstance as Round, Solver};
use banister::solve::Status;
use banister::{
    Error, Fallback, Guardrail, OnBreach, Opb, OpbConfig, OplbConfig, Problem, SignalConfig,
};
use common::linear::{World, dot};
use common::{Random, at_most, problem, refused};

use crate::common;
use crate::common::player::Oplb;

/// S bounds what no outcome can tell: it is declared wherever features are, and long enough for the
/// safe costs.
#[test]
fn the_length_of_parameters_is_declared_and_possible() {
    // λ follows from short features too.
    let short = OplbConfig {
        parameter_norm: Some(1e8),
        norm: Some(1e-8),
        ..OplbConfig::default()
    };
    let problem_of_short = Problem::contextual(vec![1e-8, 0.0], vec![at_most(0.5, Some(0.1))]);
    assert!(Oplb::new(&problem_of_short, &short).is_ok());
    // ‖μ‖ ≥ 0.2/0.1 = 2, whichever side is allowed and wherever the range begins: 2.6 is 2 ranges.
    let most = at_most(0.5, Some(0.2));
    let least = Guardrail {
        at_most: None,
        at_least: Some(2.5),
        safe_cost: Some(2.6),
        signal: SignalConfig {
            range: Some([2.0, 3.3].into()),
            ..most.signal.clone()
        },
        ..most.clone()
    };
    for (guardrail, needs) in [(most, 2.0), (least, 20.0)] {
        let problem = Problem::contextual(vec![0.1, 0.0, 0.0], vec![guardrail]);
        let length = problem.check().unwrap().least_parameter_norm();
        assert!((length - needs).abs() < 1e-9, "{length}");
        let agent = |s: f64| {
            let config = OplbConfig {
                parameter_norm: Some(s),
                ..OplbConfig::default()
            };
            Oplb::new(&problem, &config)
        };
        let words = ["guardrails[0].safe_cost", "parameter_norm", "at least"];
        refused(agent(needs * 0.999), &words, "too short");
        assert!(agent(needs).is_ok() && agent(needs * 1.001).is_ok());
    }
}

#[test]
fn features_must_fit_the_problem() {
    let guardrail = at_most(0.5, Some(0.1));
    let declared = Problem::contextual(vec![1.0, 0.0], vec![guardrail]);
    let mut agent = Oplb::new(&declared, &common::linear::oplb()).unwrap();
    let (before, nan) = (agent.save(), f64::NAN);
    let offers: [(&[f64], &[&str]); 4] = [
        (&[1.0, 2.0, 3.0], &["actions", "3 numbers", "rows of 2"]),
        (&[1.0, f64::INFINITY], &["actions[0][1]", "inf"]),
        (&[0.0, 1.0, nan, 0.0], &["actions[1][0]", "NaN"]),
        (&[1e151, 0.0], &["actions[0]", "1e150"]),
    ];
    for (actions, words) in offers {
        refused(agent.offer(actions), words, "actions");
    }
    let outcomes: [(&[f64], f64, f64, &[&str]); 4] = [
        (&[1.0], 0.5, 0.5, &["features", "a vector of 1", "length 2"]),
        (&[1.0, nan], 0.5, 0.5, &["features[1]", "NaN"]),
        (&[1.0, 0.0], f64::INFINITY, 0.5, &["reward", "inf"]),
        (&[1.0, 0.0], 0.5, nan, &["cost", "NaN"]),
    ];
    for (x, reward, cost, words) in outcomes {
        refused(agent.observe_at(x, reward, &[cost]), words, "an outcome");
    }
    let words = ["0 costs", "expected 1"];
    refused(agent.observe(0, 0.5, &[]), &words, "no cost");
    refused(agent.observe(1, 0.5, &[0.5]), &["no arm 1"], "an arm");
    let words = ["signal", "2"];
    refused(agent.confidence(2, &[0.0, 0.0]), &words, "a signal");
    refused(agent.confidence(0, &[0.0]), &["parameter"], "a parameter");
    assert_eq!(agent.save(), before, "nothing changed");
}

/// Agents for arms say that they take no features.
#[test]
fn arms_take_no_features() {
    let agent: &mut dyn banister::Agent =
        &mut Opb::new(&problem(2, vec![]), &OpbConfig::default()).unwrap();
    let refused = agent.decide(&banister::Round::offering(&[1.0]));
    assert_eq!(refused.err(), Some(Error::NoFeatures));
    let outcome = banister::Outcome::of_features(&[1.0], 0.0, &[]);
    assert_eq!(agent.observe(&outcome), Err(Error::NoFeatures));
}

/// A linear agent on arms without features: the unit vectors, chosen by number like arms.
#[test]
fn arms_without_features_are_unit_vectors() {
    let declared = problem(3, vec![at_most(0.5, Some(0.0))]);
    let config = OplbConfig {
        radius: Some(OplbRadius::Logdet),
        ..OplbConfig::default()
    };
    let mut agent = Oplb::new(&declared, &config).unwrap();
    assert_eq!(
        (agent.dimension(), agent.offered(), agent.safe()),
        (3, 3, 0)
    );
    // S defaults to √K: all means in [0, 1] are possible.
    let radius = 0.5 * (2.0 * 10_f64.ln()).sqrt() + 3_f64.sqrt();
    assert!((agent.radius(0) - radius).abs() < 1e-12);
    agent.observe(2, 1.0, &[0.0]).unwrap();
    assert!((agent.parameter(0).unwrap()[2] - 0.5).abs() < 1e-12);
}

fn round(random: &mut Random, d: usize, k: usize, solver: Solver) -> Round {
    let world = World::new(random, d, 1);
    let mut actions = world.actions(random, k);
    actions[1] = world.safe.clone();
    let mut gram = vec![vec![0.0; d]; d];
    for (j, row) in gram.iter_mut().enumerate() {
        row[j] = 1.0;
    }
    for _ in 0..50 {
        let x = world.action(random);
        for j in 0..d {
            for i in 0..d {
                gram[j][i] += x[j] * x[i];
            }
        }
    }
    Round {
        actions,
        safe: 1,
        safe_costs: vec![dot(&world.mu[0], &world.safe)],
        thresholds: vec![0.5],
        gram,
        reward: Ellipsoid {
            estimate: world.theta.clone(),
            radius: 3.0,
        },
        costs: vec![Ellipsoid {
            estimate: world.mu[0].clone(),
            radius: 1.0,
        }],
        solver,
        relative_gap: 1e-3,
        max_work: 100_000_000,
    }
}

#[test]
fn a_round_by_its_numbers_is_solved_and_checked() {
    let random = &mut Random::new(40);
    for _ in 0..30 {
        let exact = round(random, 4, 8, Solver::Exact).solve(None).unwrap();
        assert_eq!(exact.status, Status::Optimal);
        let gap = exact.upper_bound - exact.value;
        assert!(exact.costs[0] <= 0.5, "{exact:?}");
        assert!(gap <= 1.000_001e-3 * exact.value.abs(), "{exact:?}");
        let total: f64 = exact.policy.iter().map(|&(_, p)| p).sum();
        assert!((total - 1.0).abs() < 1e-12);
    }
    // Mixing averages uncertainty: without a bonus for it, exact bounds allow at least what intervals
    // per action allow.
    let mut better = 0;
    for seed in 0..30 {
        let of = |solver| {
            let mut round = round(&mut Random::new(seed), 4, 8, solver);
            round.reward.radius = 0.0;
            round.solve(None).unwrap()
        };
        let (exact, linearised) = (of(Solver::Exact), of(Solver::Linearised));
        assert!(linearised.costs[0] <= 0.5 + 1e-12);
        assert!(exact.upper_bound >= linearised.value - 1e-12);
        better += u32::from(exact.value > linearised.value + 1e-6);
    }
    assert!(better > 10, "only {better} rounds are better");
}

#[test]
fn a_round_with_impossible_numbers_is_refused() {
    let good = round(&mut Random::new(1), 3, 4, Solver::Exact);
    type Row = (fn(&mut Round), &'static [&'static str]);
    let rows: [Row; 17] = [
        (|r| r.actions.clear(), &["actions", "empty"]),
        (
            |r| r.actions[2] = vec![1.0],
            &["actions[2]", "a vector of 1"],
        ),
        (|r| r.actions[2][1] = f64::NAN, &["actions[2][1]", "NaN"]),
        (|r| r.safe = 4, &["safe", "4", "0 to 3"]),
        (
            |r| r.safe_costs[0] = 0.5,
            &["safe_costs[0]", "0.5", "margin"],
        ),
        (
            |r| r.safe_costs.clear(),
            &["safe_costs", "0 entries", "expected 1"],
        ),
        (|r| r.costs.clear(), &["costs", "0 entries"]),
        (
            |r| r.thresholds[0] = f64::INFINITY,
            &["thresholds[0]", "inf"],
        ),
        (
            |r| r.reward.radius = -1.0,
            &["reward.radius", "-1", "negative"],
        ),
        (
            |r| r.costs[0].estimate.push(0.0),
            &["costs[0].estimate", "length 3"],
        ),
        (|r| r.relative_gap = 0.0, &["relative_gap", "0"]),
        (|r| r.gram.truncate(2), &["gram", "2 rows", "expected 3"]),
        (|r| r.gram[0][1] += 1.0, &["gram[1][0]", "symmetric"]),
        (|r| r.gram[1][1] = -1.0, &["gram", "positive definite"]),
        (
            |r| r.gram.iter_mut().for_each(|row| row.fill(1.0)),
            &["gram", "positive definite"],
        ),
        (
            |r| r.actions[r.safe].fill(0.0),
            &["safe_costs[0]", "its cost is 0"],
        ),
        // Scaled up so far that bounds overflow: an error, not a NaN.
        (
            |r| r.actions.iter_mut().flatten().for_each(|x| *x *= 1e200),
            &["actions"],
        ),
    ];
    for (change, words) in rows {
        let mut round = good.clone();
        change(&mut round);
        refused(round.solve(None), words, words[0]);
    }
}

fn vector(random: &mut Random, d: usize, scale: f64) -> Vec<f64> {
    (0..d).map(|_| scale * random.normal()).collect()
}

fn hostile_problem(random: &mut Random) -> Problem {
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
            safe_cost: known.then_some(safe_cost),
            signal: SignalConfig {
                range: (!relative).then_some([-1.0, 1.0].into()),
                sub_gaussian: (random.unit() < 0.5).then_some(0.3),
                ..SignalConfig::default()
            },
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
        let problem = hostile_problem(random);
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
