//! Rounds meant to break the cone solver, budgets that end too soon, and input that makes no sense.

use crate::common;

use banister_solve::{ConeLimits, ConeSolution, ConeSolver, LpError, Status, solve_cone_once};
use common::Rng;
use common::cone::{ConeCase, World};

fn limits(relative_gap: f64, work: u64) -> ConeLimits<'static> {
    ConeLimits {
        relative_gap,
        work,
        stop: None,
    }
}

/// A distribution, within every threshold, whose value its own bound does not contradict.
fn check(case: &ConeCase, solution: &ConeSolution) {
    let pi = &solution.support;
    let total: f64 = pi.iter().map(|e| e.1).sum();
    assert!((total - 1.0).abs() < 1e-12, "mass {total}: {case:?}");
    assert!(pi.iter().all(|e| e.1 > 0.0 && e.0 < case.actions()));
    assert!(pi.windows(2).all(|w| w[0].0 < w[1].0), "{solution:?}");
    for (cost, tau) in solution.costs.iter().zip(&case.thresholds) {
        assert!(cost <= tau, "{solution:?} {case:?}");
    }
    for i in 0..case.costs.len() {
        let size =
            case.thresholds[i].abs() + case.costs[i].iter().fold(0.0, |x: f64, w| x.max(w.abs()));
        let norms = (0..case.actions())
            .map(|a| case.norm(a))
            .fold(0.0, f64::max);
        let rounding = 1e-14 * (size + case.cost_radii[i] * norms);
        assert!(
            case.cost(i, pi) <= case.thresholds[i] + rounding,
            "{solution:?} {case:?}"
        );
    }
    assert!(
        solution.upper_bound >= solution.value,
        "{solution:?} {case:?}"
    );
}

/// Numbers at the edge of what they may be.
fn hostile(rng: &mut Rng) -> ConeCase {
    let (k, p, m) = (1 + rng.below(12), rng.below(6), rng.below(4));
    let mut case = ConeCase::random(rng, k, p, m);
    for _ in 0..1 + rng.below(3) {
        let a = rng.below(k);
        let b = rng.below(k);
        match rng.below(14) {
            0 => case.cost_radii.iter_mut().for_each(|x| *x *= 1e-9),
            1 => case.cost_radii.iter_mut().for_each(|x| *x *= 1e9),
            2 => case.cost_radii.iter_mut().for_each(|x| *x = 0.0),
            3 => (0..m).for_each(|i| case.thresholds[i] = case.costs[i][0] + 1e-9),
            4 if a > 0 && b > 0 => {
                for j in 0..p {
                    case.across[j * case.stride + a] = -3.0 * case.z(j, b);
                }
            }
            5 if a > 0 && b > 0 => {
                for j in 0..p {
                    case.across[j * case.stride + a] = case.z(j, b);
                }
                (0..m).for_each(|i| case.costs[i][a] = case.costs[i][b]);
                case.reward[a] = case.reward[b];
                case.along[a] = case.along[b];
            }
            6 => (0..p).for_each(|j| case.across[j * case.stride + a] = 0.0),
            7 => case.across.iter_mut().for_each(|z| *z *= 1e8),
            8 => case.across.iter_mut().for_each(|z| *z *= 1e-8),
            9 => case.across.fill(0.0),
            10 => case.along.fill(0.0),
            11 => case.reward_radius = [0.0, 1e-9, 1e9][rng.below(3)],
            12 => {
                // Costs on a grid, so that some actions meet their threshold exactly.
                for row in &mut case.costs {
                    row[1..]
                        .iter_mut()
                        .for_each(|w| *w = (*w * 4.0).round() / 4.0);
                }
            }
            _ => case
                .reward
                .iter_mut()
                .for_each(|x| *x = (*x * 2.0).round() / 2.0),
        }
    }
    case
}

/// The largest uncertainty of an action's cost, in units of the safe action's margin.
fn uncertainty(case: &ConeCase) -> f64 {
    let norms = (0..case.actions()).map(|a| case.norm(a));
    let longest = norms.fold(0.0, f64::max);
    let margin = |i: usize| case.thresholds[i] - case.costs[i][case.safe];
    let own = (0..case.costs.len()).map(|i| case.cost_radii[i] * longest / margin(i));
    own.fold(0.0, f64::max)
}

/// Whatever the numbers, policies and bounds are valid. Up to uncertainties of a million margins they are certified as
/// well, but for a few; beyond, a length that a guardrail allows is close to rounding errors.
#[test]
fn every_policy_is_within_the_thresholds() {
    let mut rng = Rng::new(21);
    let mut solver = ConeSolver::default();
    // By number of guardrails.
    let (mut certified, mut posed) = ([0; 4], [0; 4]);
    for round in 0..100_000 {
        let case = hostile(&mut rng);
        let work = if round % 8 == 0 { 200 } else { 100_000 };
        let solution = solver.solve(&case.problem(), &mut limits(1e-3, work));
        check(&case, solution);
        if work > 200 && uncertainty(&case) < 1e6 {
            let m = case.costs.len();
            posed[m] += 1;
            certified[m] += usize::from(solution.status == Status::Optimal);
        }
    }
    println!("certified {certified:?} of {posed:?}");
    for (certified, posed) in certified.into_iter().zip(posed) {
        assert!(posed > 15_000);
        assert!(certified * 100 >= posed * 97, "{certified} of {posed}");
    }
}

#[test]
fn a_bound_is_valid_whenever_the_search_stops() {
    let mut rng = Rng::new(22);
    for round in 0..150 {
        let case = if round % 2 == 0 {
            ConeCase::random(&mut rng, 3 + round % 30, 1 + round % 6, 1 + round / 2 % 3)
        } else {
            World::new(round as u64, 25, 5, 1, false).round()
        };
        let full = ConeSolver::default()
            .solve(&case.problem(), &mut limits(1e-4, u64::MAX))
            .clone();
        for power in 0..8 {
            let work = 10u64.pow(power);
            let mut solver = ConeSolver::default();
            let solution = solver.solve(&case.problem(), &mut limits(1e-4, work));
            check(&case, solution);
            assert!(
                solution.upper_bound >= full.value,
                "work {work}: {solution:?} {full:?} {case:?}"
            );
            assert!(solution.value <= full.upper_bound, "{solution:?} {full:?}");
        }
    }
}

#[test]
fn the_callers_clock_ends_the_search() {
    let case = World::new(1, 300, 8, 1, false).round();
    let mut calls = 0;
    let mut stop = || {
        calls += 1;
        true
    };
    let mut limits = ConeLimits {
        relative_gap: 0.0,
        work: u64::MAX,
        stop: Some(&mut stop),
    };
    let solution = ConeSolver::default()
        .solve(&case.problem(), &mut limits)
        .clone();
    check(&case, &solution);
    assert_eq!(solution.status, Status::Budget);
    assert!(solution.upper_bound.is_finite());
    assert_eq!(calls, 1);
}

#[test]
fn nonsense_gets_the_safe_action_and_no_bound() {
    let mut rng = Rng::new(23);
    let good = ConeCase::random(&mut rng, 5, 3, 2);
    let breakages: [fn(&mut ConeCase); 9] = [
        |c| c.reward[2] = f64::NAN,
        |c| c.along[1] = f64::INFINITY,
        |c| c.across[c.stride + 1] = f64::NAN,
        |c| c.costs[1][3] = f64::NAN,
        |c| c.cost_radii[0] = f64::NAN,
        |c| c.cost_radii[0] = -1.0,
        |c| c.reward_radius = -0.5,
        |c| c.thresholds[0] = c.costs[0][0],
        |c| c.across[0] = 0.5,
    ];
    for (n, breakage) in breakages.iter().enumerate() {
        let mut case = good.clone();
        breakage(&mut case);
        let mut solver = ConeSolver::default();
        let solution = solver.solve(&case.problem(), &mut limits(1e-3, 1_000_000));
        assert_eq!(solution.status, Status::Budget, "breakage {n}");
        assert_eq!(solution.support, [(0, 1.0)], "breakage {n}");
        assert_eq!(solution.upper_bound, f64::INFINITY, "breakage {n}");
        let refused = solve_cone_once(&case.problem(), &mut limits(1e-3, 1_000_000));
        assert!(refused.is_err(), "breakage {n}");
        // And the solver is none the worse for it.
        let again = solver
            .solve(&good.problem(), &mut limits(1e-3, 1_000_000))
            .clone();
        let fresh = ConeSolver::default()
            .solve(&good.problem(), &mut limits(1e-3, 1_000_000))
            .clone();
        assert_eq!(again.value, fresh.value);
    }
}

#[test]
fn errors_name_the_field() {
    let mut rng = Rng::new(24);
    let good = ConeCase::random(&mut rng, 5, 3, 2);
    let error = |change: fn(&mut ConeCase)| -> LpError {
        let mut case = good.clone();
        change(&mut case);
        solve_cone_once(&case.problem(), &mut ConeLimits::default()).expect_err("a bad problem")
    };
    let text = |change| error(change).to_string();
    assert!(text(|c| c.reward.clear()).contains("reward"));
    assert!(text(|c| c.along.truncate(4)).contains("`along` has 4"));
    assert!(text(|c| c.across.truncate(7)).contains("across"));
    assert!(text(|c| c.stride = 3).contains("stride"));
    assert!(text(|c| c.costs[1].truncate(2)).contains("costs[1]"));
    assert!(text(|c| c.cost_radii.truncate(1)).contains("cost_radii"));
    assert!(text(|c| c.thresholds.push(0.0)).contains("thresholds"));
    assert!(text(|c| c.costs[0][2] = f64::NAN).contains("costs[0][2]"));
    assert!(text(|c| c.cost_radii[1] = -1.0).contains("cost_radii[1]"));
    assert!(text(|c| c.safe = 9).contains("`safe` is 9"));
    assert!(text(|c| c.safe = 1).contains("`safe` is 1"));
    assert!(solve_cone_once(&good.problem(), &mut ConeLimits::default()).is_ok());
}
