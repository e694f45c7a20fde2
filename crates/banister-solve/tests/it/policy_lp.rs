//! The policy LP against independent solvers and by its own certificate.

use crate::common;

use banister_solve::{
    BlockedLp, Lp, LpSolver, MAX_RETREATS, OnceSolver, Solution, Status, solve_once,
};
use common::{Case, Rng, clarabel_value, corners_value, microlp_value, pairs_value};

/// The invariants of every answer: a distribution, within the thresholds in floating point, small
/// support, value as stated, and a proof that closes.
fn check(case: &Case, solution: &Solution) {
    let lp = case.lp();
    let total: f64 = solution.support.iter().map(|e| e.1).sum();
    assert!((total - 1.0).abs() < 1e-12, "mass {total}: {case:?}");
    assert!(solution.support.iter().all(|e| e.1 > 0.0), "{case:?}");
    assert!(
        solution.support.windows(2).all(|w| w[0].0 < w[1].0),
        "{case:?}"
    );
    for (i, row) in lp.costs.iter().enumerate() {
        let cost: f64 = solution.support.iter().map(|&(a, p)| p * row[a]).sum();
        assert!(
            cost <= lp.thresholds[i],
            "cost {cost:e} over {}: {case:?}",
            lp.thresholds[i]
        );
        assert_eq!(cost, solution.costs[i]);
    }
    let columns: std::collections::BTreeSet<Vec<u64>> = solution
        .support
        .iter()
        // A grain of the safe action that rounding asked for is not counted.
        .filter(|e| e.1 > 1e-12)
        .map(|&(a, _)| {
            lp.costs
                .iter()
                .map(|row| row[a].to_bits())
                .chain([lp.reward[a].to_bits()])
                .collect()
        })
        .collect();
    assert!(
        columns.len() <= lp.costs.len() + 1,
        "support: {case:?} {solution:?}"
    );
    assert!(solution.prices.iter().all(|&p| p >= 0.0));
    let scale = 1.0 + lp.reward.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    assert!(
        solution.gap() <= 1e-10 * scale,
        "gap {:e}: {case:?}",
        solution.gap()
    );
    assert_eq!(solution.status, Status::Optimal, "{case:?}");
}

#[test]
fn agrees_with_microlp_on_random_tied_and_degenerate_problems() {
    let mut rng = Rng::new(1);
    for m in 1..=5 {
        let mut solver = LpSolver::default();
        for _ in 0..1500 {
            let case = Case::random(&mut rng, m, 40);
            let start = case.safe();
            let solution = solver.solve(&case.lp(), Some(start)).clone();
            check(&case, &solution);
            let oracle = microlp_value(&case).expect("a safe action makes it feasible");
            assert!(
                (solution.value - oracle).abs() < 1e-9,
                "{} {oracle}: {case:?}",
                solution.value
            );
        }
    }
}

#[test]
fn agrees_with_clarabel_and_with_enumerating_pairs() {
    let mut rng = Rng::new(2);
    for m in 1..=5 {
        for _ in 0..60 {
            let case = Case::random(&mut rng, m, 25);
            let mut solver = LpSolver::default();
            let solution = solver.solve(&case.lp(), Some(case.safe()));
            let interior = clarabel_value(&case);
            assert!((solution.value - interior).abs() < 1e-7, "{case:?}");
            if m == 1 {
                assert!(
                    (solution.value - pairs_value(&case)).abs() < 1e-12,
                    "{case:?}"
                );
            }
        }
    }
}

#[test]
fn warm_starts_and_cold_starts_find_the_same_value() {
    let mut rng = Rng::new(3);
    for m in 1..=5 {
        for _ in 0..30 {
            let mut case = Case::random(&mut rng, m, 60);
            let mut warm = LpSolver::default();
            for _ in 0..60 {
                case.change_one_action(&mut rng);
                let start = case.safe();
                let value = {
                    let solution = warm.solve(&case.lp(), Some(start));
                    check(&case, solution);
                    solution.value
                };
                let cold = LpSolver::default().solve(&case.lp(), Some(start)).value;
                assert!((value - cold).abs() < 1e-10, "{case:?}");
            }
        }
    }
}

#[test]
fn blocked_problems_agree_with_whole_ones() {
    let mut rng = Rng::new(4);
    for round in 0..60 {
        let mut case = Case::random(&mut rng, 1, if round % 2 == 0 { 700 } else { 150 });
        let mut blocked = BlockedLp::new(case.reward.clone(), case.costs.clone());
        for _ in 0..40 {
            let a = case.change_one_action(&mut rng);
            blocked.set(a, case.reward[a], case.costs[0][a]);
            let solution = blocked.solve(case.thresholds[0], case.safe()).clone();
            check(&case, &solution);
            let whole = LpSolver::default().solve(&case.lp(), None).value;
            assert!((solution.value - whole).abs() < 1e-12, "{case:?}");
        }
    }
}

#[test]
fn without_a_start_feasibility_is_decided() {
    let mut rng = Rng::new(5);
    let mut infeasible = 0;
    for m in 1..=5 {
        for _ in 0..400 {
            let mut case = Case::random(&mut rng, m, 12);
            case.drop_safe();
            let mut solver = LpSolver::default();
            let solution = solver.solve(&case.lp(), None).clone();
            match microlp_value(&case) {
                // The oracle allows 1e-7 or so: what it calls feasible may be so by a hair only.
                Some(_) if microlp_value(&case.tightened(1e-6)).is_none() => {}
                Some(oracle) => {
                    check(&case, &solution);
                    assert!((solution.value - oracle).abs() < 1e-9, "{case:?}");
                }
                None => {
                    infeasible += 1;
                    assert_eq!(solution.status, Status::Infeasible, "{case:?}");
                    assert!(solution.support.is_empty());
                }
            }
        }
    }
    assert!(
        infeasible > 100,
        "the generator must reach infeasible problems"
    );
}

#[test]
fn a_solver_used_again_answers_as_a_fresh_one() {
    let mut rng = Rng::new(17);
    let mut solver = OnceSolver::default();
    for _ in 0..3000 {
        let m = rng.below(6);
        let mut case = Case::random(&mut rng, m, 30);
        if rng.below(2) == 0 {
            case.drop_safe();
        }
        let lp = case.lp();
        let fresh = solve_once(lp.reward, lp.costs, lp.thresholds);
        let again = solver.solve(lp.reward, lp.costs, lp.thresholds).cloned();
        assert_eq!(again, fresh, "{case:?}");
    }
}

#[test]
fn identical_actions_share_their_mass() {
    let reward = [0.1, 0.9, 0.9, 0.9];
    for m in 1..=3 {
        let costs = vec![vec![0.0, 1.0, 1.0, 1.0]; m];
        let thresholds = vec![0.3; m];
        let lp = Lp {
            reward: &reward,
            costs: &costs,
            thresholds: &thresholds,
        };
        let mut solver = LpSolver::default();
        let solution = solver.solve(&lp, Some(0));
        assert_eq!(solution.support.len(), 4);
        for &(a, p) in &solution.support {
            assert!((p - if a == 0 { 0.7 } else { 0.1 }).abs() < 1e-12);
        }
    }
}

#[test]
fn a_threshold_met_exactly_needs_no_mixture() {
    let reward = [0.1, 0.7, 0.4];
    let costs = vec![vec![0.0, 0.2, 0.5], vec![0.1, 0.3, 0.3]];
    let lp = Lp {
        reward: &reward,
        costs: &costs,
        thresholds: &[0.2, 0.3],
    };
    let mut solver = LpSolver::default();
    assert_eq!(solver.solve(&lp, Some(0)).support, [(1, 1.0)]);
    let one = Lp {
        reward: &reward,
        costs: &costs[..1],
        thresholds: &[0.2],
    };
    assert_eq!(LpSolver::default().solve(&one, Some(0)).support, [(1, 1.0)]);
}

#[test]
fn prices_are_the_slope_of_the_value_in_the_threshold() {
    let mut rng = Rng::new(6);
    for m in 1..=4 {
        for _ in 0..100 {
            let case = Case::smooth(&mut rng, m, 30);
            let mut solver = LpSolver::default();
            let base = solver.solve(&case.lp(), Some(case.safe())).clone();
            for i in 0..m {
                let step = 1e-7;
                let value_at = |delta: f64| {
                    let mut moved = case.clone();
                    moved.thresholds[i] += delta;
                    LpSolver::default()
                        .solve(&moved.lp(), Some(case.safe()))
                        .value
                };
                let (left, right) = (
                    (base.value - value_at(-step)) / step,
                    (value_at(step) - base.value) / step,
                );
                assert!(
                    right - 1e-6 <= base.prices[i] && base.prices[i] <= left + 1e-6,
                    "price {} not in [{right}, {left}]: {case:?}",
                    base.prices[i]
                );
            }
        }
    }
}

#[test]
fn values_do_not_depend_on_the_order_of_actions() {
    let mut rng = Rng::new(7);
    for m in 1..=4 {
        for _ in 0..200 {
            let case = Case::random(&mut rng, m, 30);
            let value = LpSolver::default().solve(&case.lp(), None).value;
            let mirrored = case.reversed();
            let other = LpSolver::default().solve(&mirrored.lp(), None).value;
            assert!((value - other).abs() < 1e-11, "{case:?}");
        }
    }
}

#[test]
fn malformed_problems_are_named() {
    let costs = vec![vec![0.0, 1.0]];
    let reward = [0.1, f64::NAN];
    let lp = Lp {
        reward: &reward,
        costs: &costs,
        thresholds: &[0.5],
    };
    assert_eq!(
        lp.check().unwrap_err().to_string(),
        "`reward[1]` is NaN: only finite numbers are allowed"
    );
    let lp = Lp {
        reward: &[0.1],
        costs: &costs,
        thresholds: &[0.5],
    };
    assert!(
        lp.check()
            .unwrap_err()
            .to_string()
            .contains("`costs[0]` has 2 entries, expected 1")
    );
    let lp = Lp {
        reward: &[0.1, 0.2],
        costs: &costs,
        thresholds: &[],
    };
    assert!(
        lp.check()
            .unwrap_err()
            .to_string()
            .contains("`thresholds` has 0 entries")
    );
    let lp = Lp {
        reward: &[],
        costs: &[],
        thresholds: &[],
    };
    assert!(
        lp.check()
            .unwrap_err()
            .to_string()
            .contains("at least one action")
    );
}

/// A safe action a hair below its threshold: one unit in the last place is then a large part of the
/// weight beyond it, and stepping back by single units took as long as the margin is small.
#[test]
fn steps_back_from_rounding_are_few_however_thin_the_margin() {
    let mut rng = Rng::new(13);
    let mut stepped = 0;
    for round in 0..20_000 {
        let (m, k) = (1 + rng.below(3), 2 + rng.below(40));
        let mut case = Case::smooth(&mut rng, m, k);
        let margin = 10_f64.powf(-1.0 - 14.0 * rng.unit());
        for i in 0..m {
            case.costs[i][0] = case.thresholds[i] - margin;
        }
        let lp = case.lp();
        let mut solver = LpSolver::default();
        let solution = solver.solve(&lp, Some(0));
        let passes = 200 + 50 * m + 4 * (m + 1);
        assert!(solution.retreats <= MAX_RETREATS, "{round}: {solution:?}");
        assert!(solution.pivots <= passes, "{round}: {solution:?}");
        assert!(solution.costs[0] <= lp.thresholds[0], "{round}");
        stepped += usize::from(solution.retreats > 0);
        if m == 1 {
            let mut blocked = BlockedLp::new(case.reward.clone(), case.costs.clone());
            let other = blocked.solve(case.thresholds[0], 0);
            assert!(other.retreats <= MAX_RETREATS, "{round}: {other:?}");
            assert!(other.costs[0] <= case.thresholds[0], "{round}");
            // What is given up is in proportion to what rounding took.
            let scale = margin + 4.0 * f64::EPSILON;
            assert!(
                solution.gap() <= 1e-3 * margin + 100.0 * scale,
                "{round}: {margin:e} {solution:?}"
            );
        }
    }
    assert!(stepped > 100, "only {stepped} problems had to step back");
    let thin = Lp {
        reward: &[0.1, 1.0],
        costs: &[vec![0.3 - 8.5e-13, 1.0]],
        thresholds: &[0.3],
    };
    let mut solver = LpSolver::default();
    let solution = solver.solve(&thin, Some(0));
    assert!(solution.costs[0] <= 0.3 && solution.support.len() == 2);
}

/// Thresholds met exactly, by the start as well, and corners where more rows are tight than there are actions.
#[test]
fn degenerate_problems_are_solved_within_their_thresholds() {
    let mut rng = Rng::new(14);
    let (mut started, mut infeasible) = (0, 0);
    for round in 0..12_000 {
        let (m, k) = (1 + rng.below(3), 2 + rng.below(4));
        let grid = [4.0, 9.0, 10.0][round % 3];
        let mut case = Case::on_grid(&mut rng, m, k, grid);
        let on_threshold = rng.below(k);
        for i in 0..m {
            if rng.below(2) == 0 {
                case.thresholds[i] = case.costs[i][on_threshold];
            }
        }
        let best = corners_value(&case);
        let lp = case.lp();
        let meets = |a: &usize| (0..m).all(|i| lp.costs[i][*a] <= lp.thresholds[i]);
        let starts = (0..k).filter(meets).map(Some);
        for start in starts.chain([None]) {
            let mut solver = LpSolver::default();
            let solution = solver.solve(&lp, start).clone();
            let Some(best) = best else {
                assert_eq!(solution.status, Status::Infeasible, "{round}: {case:?}");
                infeasible += 1;
                continue;
            };
            check(&case, &solution);
            assert!(
                (solution.value - best).abs() < 1e-9,
                "{round}, {start:?}: {} instead of {best}: {case:?}",
                solution.value
            );
            started += usize::from(start.is_some());
        }
        if let Some(best) = best {
            let solution = solve_once(lp.reward, lp.costs, lp.thresholds).unwrap();
            check(&case, &solution);
            assert!((solution.value - best).abs() < 1e-9, "{round}: {case:?}");
        }
    }
    assert!(started > 5000 && infeasible > 500, "{started} {infeasible}");
}

#[test]
fn a_start_on_its_thresholds_and_none_at_all() {
    let reward = [0.75, 0.25, 0.75, 0.25];
    let costs = vec![vec![0.75, 0.0, 1.0, 0.25], vec![0.25, 1.0, 0.25, 0.75]];
    let lp = Lp {
        reward: &reward,
        costs: &costs,
        thresholds: &[0.25, 0.75],
    };
    let mut solver = LpSolver::default();
    let solution = solver.solve(&lp, Some(3));
    assert!((solution.value - 5.0 / 12.0).abs() < 1e-12, "{solution:?}");
    assert!(solution.costs[0] <= 0.25 && solution.costs[1] <= 0.75);

    let reward = [1.0, 0.222, 0.889, 1.0];
    let costs = vec![vec![0.6, 0.7, 0.4, 0.2], vec![0.4, 0.0, 0.6, 0.8]];
    let solution = solve_once(&reward, &costs, &[0.4, 0.6]).unwrap();
    assert!((solution.value - 1.0).abs() < 1e-9, "{solution:?}");
    assert!(
        solution.costs[0] <= 0.4 && solution.costs[1] <= 0.6,
        "{solution:?}"
    );
}
