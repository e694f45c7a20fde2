//! The cone solver against grids, slow searches and Clarabel, and by its own certificate.

mod common;

use banister_solve::{ConeLimits, ConeSolution, ConeSolver, Status};
use common::Rng;
use common::cone::{ConeCase, World};

fn limits(relative_gap: f64) -> ConeLimits<'static> {
    ConeLimits {
        relative_gap,
        ..ConeLimits::default()
    }
}

/// The invariants of every answer, recomputed independently.
fn check(case: &ConeCase, solution: &ConeSolution) {
    let pi = &solution.support;
    let total: f64 = pi.iter().map(|e| e.1).sum();
    assert!((total - 1.0).abs() < 1e-12, "mass {total}: {case:?}");
    assert!(pi.iter().all(|e| e.1 > 0.0), "{solution:?}");
    assert!(pi.windows(2).all(|w| w[0].0 < w[1].0), "{solution:?}");
    for i in 0..case.costs.len() {
        assert!(
            solution.costs[i] <= case.thresholds[i],
            "{solution:?} {case:?}"
        );
        let size = 1.0 + case.thresholds[i].abs() + case.cost(i, pi).abs();
        let drift = (case.cost(i, pi) - solution.costs[i]).abs();
        assert!(drift <= 1e-12 * size, "{drift:e}: {solution:?}");
    }
    let value = case.objective(pi);
    let drift = (value - solution.value).abs();
    assert!(drift <= 1e-12 * (1.0 + value.abs()), "{value} {solution:?}");
    assert!(solution.upper_bound >= solution.value);
    assert!(solution.prices.iter().all(|&p| p >= 0.0 && p.is_finite()));
}

/// The best of all mixtures of three actions on a grid.
fn grid_value(case: &ConeCase, steps: usize) -> f64 {
    let k = case.actions();
    let mut best = f64::NEG_INFINITY;
    for x in 0..=steps {
        for y in 0..=(steps - x) {
            if (k < 3 && x + y < steps) || (k < 2 && y > 0) {
                continue;
            }
            let weights = [x, y, steps - x - y].map(|n| n as f64 / steps as f64);
            let pi: Vec<(usize, f64)> = (0..k.min(3)).map(|a| (a, weights[a])).collect();
            if case.excess(&pi) <= 0.0 {
                best = best.max(case.objective(&pi));
            }
        }
    }
    best
}

#[test]
fn no_point_of_a_grid_is_better() {
    let mut rng = Rng::new(1);
    let mut solver = ConeSolver::default();
    for round in 0..600 {
        let k = 1 + round % 3;
        let case = ConeCase::random(&mut rng, k, 1 + round % 4, 1 + round % 2);
        let solution = solver.solve(&case.problem(), &mut limits(1e-6)).clone();
        check(&case, &solution);
        let grid = grid_value(&case, 120);
        assert!(
            solution.upper_bound >= grid - 1e-12,
            "{grid} {solution:?} {case:?}"
        );
        if case.costs.len() == 1 {
            assert_eq!(solution.status, Status::Optimal, "{solution:?} {case:?}");
            assert!(
                solution.value >= grid - 2e-6 * (1.0 + grid.abs()),
                "{grid} {solution:?} {case:?}"
            );
        }
    }
}

#[test]
fn every_realistic_round_is_certified() {
    for (k, d) in [(10, 2), (10, 8), (40, 4), (100, 16), (60, 32)] {
        for fixed in [false, true] {
            let mut world = World::new(3, k, d, 1, fixed);
            let mut solver = ConeSolver::default();
            for _ in 0..300 {
                let case = world.round();
                let solution = solver.solve(&case.problem(), &mut limits(1e-3));
                check(&case, solution);
                assert_eq!(solution.status, Status::Optimal, "{solution:?}");
                assert!(solution.gap() <= 1.0001e-3 * solution.value.abs());
                let support = solution.support.clone();
                world.play(&support);
            }
        }
    }
}

#[test]
fn several_guardrails_are_met_and_bounded() {
    for m in 2..=4 {
        let mut world = World::new(5, 30, 6, m, false);
        let mut solver = ConeSolver::default();
        let mut gaps = vec![];
        for _ in 0..100 {
            let case = world.round();
            let solution = solver.solve(&case.problem(), &mut limits(1e-3));
            check(&case, solution);
            assert!(solution.upper_bound.is_finite());
            gaps.push(solution.gap() / solution.value.abs());
            let support = solution.support.clone();
            world.play(&support);
        }
        gaps.sort_by(f64::total_cmp);
        println!("m = {m}: median gap {:.4}, worst {:.4}", gaps[50], gaps[99]);
        assert!(gaps[50] < 0.3, "{}", gaps[50]);
    }
}
