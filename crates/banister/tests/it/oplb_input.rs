//! Input that OPLB rejects, by the field and value in the message; and rounds given by their numbers.

use crate::common;

use crate::common::player::Oplb;
use banister::oplb::{Ellipsoid, LongFeatures, OplbRadius, RoundInstance as Round, Solver};
use banister::solve::Status;
use banister::{Error, Guardrail, Opb, OpbConfig, OplbConfig, Optimism, Problem, UnknownSafeCost};
use common::linear::{World, dot};
use common::{Random, at_most, problem};

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, words: &[&str]) {
    let message = result.expect_err("must be refused").to_string();
    for word in words {
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
}

fn contextual(change: impl Fn(&mut OplbConfig)) -> Result<Oplb, Error> {
    let mut config = common::linear::oplb();
    change(&mut config);
    let guardrail = at_most(0.5, Some(0.1));
    Oplb::new(
        &Problem::contextual(vec![1.0, 0.0], vec![guardrail]),
        &config,
    )
}

#[test]
fn parameters_must_be_possible() {
    for bad in [0.0, 1.0, -0.5, f64::NAN] {
        refused(contextual(|c| c.delta = bad), &["delta", &bad.to_string()]);
    }
    for bad in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        refused(contextual(|c| c.lambda = Some(bad)), &["lambda"]);
        refused(contextual(|c| c.norm = Some(bad)), &["norm"]);
        refused(
            contextual(|c| c.parameter_norm = Some(bad)),
            &["parameter_norm"],
        );
        refused(contextual(|c| c.relative_gap = bad), &["relative_gap"]);
        refused(contextual(|c| c.radius_scale = bad), &["radius_scale"]);
    }
    refused(contextual(|c| c.max_work = 0), &["max_work", "0"]);
    refused(contextual(|c| c.horizon = Some(0)), &["horizon", "0"]);
    refused(
        contextual(|c| {
            c.radius = Some(OplbRadius::Multiscale);
            c.solver = Solver::Exact;
        }),
        &["radius", "multiscale", "one ellipsoid"],
    );
    refused(
        contextual(|c| {
            c.radius = Some(OplbRadius::Multiscale);
            c.optimism = Some(Optimism::Paper);
        }),
        &["radius", "multiscale", "logdet"],
    );
    refused(
        contextual(|c| c.optimism_delta = f64::NAN),
        &["optimism_delta", "NaN"],
    );
    refused(
        contextual(|c| c.radius = Some(OplbRadius::Paper)),
        &["norm", "absent", "logdet"],
    );
    refused(
        contextual(|c| c.optimism = Some(Optimism::Published)),
        &["optimism", "published"],
    );
    refused(
        contextual(|c| {
            c.solver = Solver::Exact;
            c.optimism = Some(Optimism::Least);
        }),
        &["optimism", "least", "exact"],
    );
    refused(
        contextual(|c| c.norm = Some(0.5)),
        &["features[0]", "length 1", "norm"],
    );
    refused(
        contextual(|c| {
            c.norm = Some(0.5);
            c.long_features = LongFeatures::Clip;
        }),
        &["norm", "0.5", "never shortened"],
    );
    let unknown = Problem::contextual(vec![1.0], vec![at_most(0.5, None)]);
    let paper = OplbConfig {
        unknown_safe_cost: UnknownSafeCost::Paper,
        ..common::linear::oplb()
    };
    refused(Oplb::new(&unknown, &paper), &["horizon", "absent", "T_0"]);
    let relative = Problem::contextual(
        vec![1.0],
        vec![Guardrail {
            relative: true,
            ..at_most(1.5, None)
        }],
    );
    let with_horizon = OplbConfig {
        horizon: Some(10),
        ..paper
    };
    refused(
        Oplb::new(&relative, &with_horizon),
        &["unknown_safe_cost", "relative"],
    );
    let bonus = OplbConfig {
        optimism: Some(Optimism::Paper),
        ..common::linear::oplb()
    };
    refused(Oplb::new(&relative, &bonus), &["optimism", "relative"]);
}

/// S bounds what no outcome can tell: it is declared wherever features are, and long enough for the
/// safe costs.
#[test]
fn the_length_of_parameters_is_declared_and_possible() {
    let absent = contextual(|c| c.parameter_norm = None);
    refused(
        absent,
        &["parameter_norm", "absent", "√K", "(1, v)", "m = 1 "],
    );
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
        range: Some([2.0, 3.3].into()),
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
        let words = ["guardrail[0].safe_cost", "parameter_norm", "at least"];
        refused(agent(needs * 0.999), &words);
        assert!(agent(needs).is_ok() && agent(needs * 1.001).is_ok());
    }
}

#[test]
fn features_must_fit_the_problem() {
    let mut declared = problem(2, vec![]);
    declared.features = vec![vec![1.0, 0.0]];
    refused(declared.check(), &["features", "1 vectors", "expected 2"]);
    declared.features = vec![vec![1.0, 0.0], vec![1.0]];
    refused(
        declared.check(),
        &["features[1]", "a vector of 1", "length 2"],
    );
    declared.features = vec![vec![], vec![]];
    refused(declared.check(), &["features[0]", "empty"]);
    declared.features = vec![vec![1.0, 0.0], vec![0.0, f64::NAN]];
    refused(declared.check(), &["features[1][1]", "NaN", "finite"]);

    let mut agent = contextual(|_| {}).unwrap();
    let before = agent.save();
    refused(
        agent.offer(&[1.0, 2.0, 3.0]),
        &["actions", "3 numbers", "rows of 2"],
    );
    refused(
        agent.offer(&[1.0, f64::INFINITY]),
        &["actions[0][1]", "inf"],
    );
    refused(
        agent.offer(&[0.0, 1.0, f64::NAN, 0.0]),
        &["actions[1][0]", "NaN"],
    );
    refused(agent.offer(&[1e151, 0.0]), &["actions[0]", "1e150"]);
    refused(
        agent.observe_at(&[1.0], 0.5, &[0.5]),
        &["features", "a vector of 1", "length 2"],
    );
    refused(
        agent.observe_at(&[1.0, f64::NAN], 0.5, &[0.5]),
        &["features[1]", "NaN"],
    );
    refused(
        agent.observe_at(&[1.0, 0.0], f64::INFINITY, &[0.5]),
        &["reward", "inf"],
    );
    refused(
        agent.observe_at(&[1.0, 0.0], 0.5, &[f64::NAN]),
        &["cost", "NaN"],
    );
    refused(agent.observe(0, 0.5, &[]), &["0 costs", "expected 1"]);
    refused(agent.observe(1, 0.5, &[0.5]), &["no arm 1"]);
    refused(agent.confidence(2, &[0.0, 0.0]), &["signal", "2"]);
    refused(agent.confidence(0, &[0.0]), &["parameter"]);
    assert_eq!(agent.save(), before, "nothing changed");
}

#[test]
fn a_safe_action_without_features_has_cost_zero() {
    let zero = |guardrail| {
        Oplb::new(
            &Problem::contextual(vec![0.0, 0.0], vec![guardrail]),
            &common::linear::oplb(),
        )
    };
    refused(
        zero(at_most(0.5, Some(0.1))),
        &["guardrail[0].safe_cost", "0.1", "its mean is 0"],
    );
    // A threshold that zero does not keep.
    let below = Guardrail {
        range: Some([-1.0, 1.0].into()),
        ..at_most(-0.2, None)
    };
    refused(zero(below), &["guardrail[0].safe_cost", "margin"]);
    assert!(zero(at_most(0.5, None)).is_ok());
    assert!(zero(at_most(0.5, Some(0.0))).is_ok());
    // The safe cost must leave a margin, whatever the features.
    let broken = Problem::contextual(vec![1.0], vec![at_most(0.5, Some(0.5))]);
    refused(
        Oplb::new(&broken, &common::linear::oplb()),
        &["guardrail[0].safe_cost", "margin"],
    );
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
    let check = |change: &dyn Fn(&mut Round), words: &[&str]| {
        let mut round = good.clone();
        change(&mut round);
        refused(round.solve(None), words);
    };
    check(&|r| r.actions.clear(), &["actions", "empty"]);
    check(
        &|r| r.actions[2] = vec![1.0],
        &["actions[2]", "a vector of 1", "length 3"],
    );
    check(&|r| r.actions[2][1] = f64::NAN, &["actions[2][1]", "NaN"]);
    check(&|r| r.safe = 4, &["safe", "4", "0 to 3"]);
    check(
        &|r| r.safe_costs[0] = 0.5,
        &["safe_costs[0]", "0.5", "margin"],
    );
    check(
        &|r| r.safe_costs.clear(),
        &["safe_costs", "0 entries", "expected 1"],
    );
    check(&|r| r.costs.clear(), &["costs", "0 entries"]);
    check(
        &|r| r.thresholds[0] = f64::INFINITY,
        &["thresholds[0]", "inf"],
    );
    check(
        &|r| r.reward.radius = -1.0,
        &["reward.radius", "-1", "negative"],
    );
    check(
        &|r| r.costs[0].estimate.push(0.0),
        &["costs[0].estimate", "length 3"],
    );
    check(&|r| r.relative_gap = 0.0, &["relative_gap", "0"]);
    check(&|r| r.gram.truncate(2), &["gram", "2 rows", "expected 3"]);
    check(&|r| r.gram[0][1] += 1.0, &["gram[1][0]", "symmetric"]);
    check(&|r| r.gram[1][1] = -1.0, &["gram", "positive definite"]);
    check(
        &|r| r.gram.iter_mut().for_each(|row| row.fill(1.0)),
        &["gram", "positive definite"],
    );
    check(
        &|r| {
            let safe = r.safe;
            r.actions[safe].fill(0.0);
        },
        &["safe_costs[0]", "its cost is 0"],
    );
    // Scaled up so far that bounds overflow: an error, not a NaN.
    check(
        &|r| r.actions.iter_mut().flatten().for_each(|x| *x *= 1e200),
        &["actions"],
    );
}
