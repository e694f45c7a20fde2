//! The cone solver against grids, slow searches and Clarabel, and by its own certificate; rounds allocate
//! nothing.

use banister_solve::{ConeLimits, ConeSolution, ConeSolver, Status};
use common::Rng;
use common::cone::{ConeCase, World};
use counting::allocations;

use crate::{common, counting};

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
        assert_eq!(solution.status, Status::Optimal, "{solution:?} {case:?}");
        assert!(
            solution.value >= grid - 2e-6 * (1.0 + grid.abs()),
            "{grid} {solution:?} {case:?}"
        );
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
        for mut world in [World::new(5, 30, 6, m, false), World::related(5, 30, 8, m)] {
            let mut solver = ConeSolver::default();
            let mut certified = 0;
            for _ in 0..100 {
                let case = world.round();
                let solution = solver.solve(&case.problem(), &mut limits(1e-3));
                check(&case, solution);
                assert!(solution.upper_bound.is_finite());
                certified += usize::from(solution.status == Status::Optimal);
                let support = solution.support.clone();
                world.play(&support);
            }
            assert!(certified >= 99, "m = {m}: {certified}");
        }
    }
}

/// The same with the actions in reverse order.
fn reversed(case: &ConeCase) -> ConeCase {
    let (k, mut other) = (case.actions(), case.clone());
    other.reward.reverse();
    other.along.reverse();
    other.costs.iter_mut().for_each(|row| row.reverse());
    for j in 0..case.dimension {
        other.across[j * case.stride..j * case.stride + k].reverse();
    }
    other.safe = k - 1 - case.safe;
    other
}

/// The same problem with every action twice.
fn doubled(case: &ConeCase) -> ConeCase {
    let k = case.actions();
    let twice = |row: &[f64]| {
        row[..k]
            .iter()
            .chain(&row[..k])
            .copied()
            .collect::<Vec<_>>()
    };
    let rows = (0..case.dimension).flat_map(|j| twice(&case.across[j * case.stride..]));
    ConeCase {
        reward: twice(&case.reward),
        along: twice(&case.along),
        across: rows.collect(),
        stride: 2 * k,
        costs: case.costs.iter().map(|row| twice(row)).collect(),
        ..case.clone()
    }
}

#[test]
fn units_order_and_twins_do_not_matter() {
    let mut rng = Rng::new(31);
    for round in 0..120 {
        let case = ConeCase::random(&mut rng, 2 + round % 20, 1 + round % 6, 1);
        let value = |case: &ConeCase| {
            let mut solver = ConeSolver::default();
            let solution = solver.solve(&case.problem(), &mut limits(1e-6));
            assert_eq!(solution.status, Status::Optimal, "{solution:?} {case:?}");
            solution.value
        };
        let plain = value(&case);
        let close = |other: f64, what: &str| {
            assert!(
                (other - plain).abs() <= 4e-6 * (1.0 + plain.abs()),
                "{what}: {other} {plain} {case:?}"
            );
        };
        close(value(&reversed(&case)), "order");
        close(value(&doubled(&case)), "twins");
        let mut scaled = case.clone();
        scaled.reward.iter_mut().for_each(|x| *x *= 1e3);
        scaled.reward_radius *= 1e3;
        close(value(&scaled) / 1e3, "units of reward");
        let mut scaled = case.clone();
        scaled.costs[0].iter_mut().for_each(|x| *x *= 1e-4);
        scaled.cost_radii[0] *= 1e-4;
        scaled.thresholds[0] *= 1e-4;
        close(value(&scaled), "units of cost");
        let mut scaled = case.clone();
        scaled.across.iter_mut().for_each(|x| *x *= 300.0);
        scaled.along.iter_mut().for_each(|x| *x *= 300.0);
        scaled.reward_radius /= 300.0;
        scaled.cost_radii[0] /= 300.0;
        close(value(&scaled), "units of Z");
    }
}

#[test]
fn more_room_or_more_optimism_never_hurts() {
    let mut rng = Rng::new(32);
    for round in 0..100 {
        let mut case = ConeCase::random(&mut rng, 2 + round % 25, 1 + round % 7, 1 + round % 3);
        let solve = |case: &ConeCase| {
            let mut solver = ConeSolver::default();
            solver.solve(&case.problem(), &mut limits(1e-5)).clone()
        };
        let before = solve(&case);
        case.thresholds[0] += 0.05;
        let roomier = solve(&case);
        assert!(roomier.upper_bound >= before.value, "{case:?}");
        case.reward_radius += 0.1;
        let bolder = solve(&case);
        assert!(bolder.upper_bound >= roomier.value, "{case:?}");
    }
}

#[test]
fn the_price_is_what_room_earns() {
    let mut rng = Rng::new(33);
    let mut compared = 0;
    for round in 0..200 {
        let mut case = ConeCase::random(&mut rng, 2 + round % 10, 1 + round % 4, 1);
        let solve = |case: &ConeCase| {
            let mut solver = ConeSolver::default();
            solver.solve(&case.problem(), &mut limits(1e-9)).clone()
        };
        let before = solve(&case);
        let step = 1e-4;
        case.thresholds[0] += step;
        let after = solve(&case);
        let actions = |s: &ConeSolution| s.support.iter().map(|e| e.0).collect::<Vec<_>>();
        if before.status == Status::Optimal
            && after.status == Status::Optimal
            && actions(&before) == actions(&after)
        {
            let earned = (after.value - before.value) / step;
            let price = 0.5 * (before.prices[0] + after.prices[0]);
            assert!(
                (earned - price).abs() <= 1e-3 * (1.0 + price),
                "{earned} {price} {before:?} {after:?}"
            );
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn the_same_problem_gives_the_same_bits() {
    let mut world = World::new(8, 50, 6, 1, false);
    let (mut one, mut two) = (ConeSolver::default(), ConeSolver::default());
    for _ in 0..50 {
        let case = world.round();
        let a = one.solve(&case.problem(), &mut limits(1e-3)).clone();
        let b = two.solve(&case.problem(), &mut limits(1e-3)).clone();
        assert_eq!(a, b);
        world.play(&a.support);
    }
    // A copy continues like the original; one that forgot may differ within the gap only.
    let case = world.round();
    let copy = one
        .clone()
        .solve(&case.problem(), &mut limits(1e-3))
        .clone();
    assert_eq!(&copy, one.solve(&case.problem(), &mut limits(1e-3)));
    two.reset();
    let fresh = two.solve(&case.problem(), &mut limits(1e-3));
    assert!((fresh.value - copy.value).abs() <= 2e-3 * copy.value.abs());
}

#[test]
fn degenerate_sizes() {
    let mut rng = Rng::new(34);
    for (k, p, m) in [
        (1, 0, 0),
        (1, 0, 1),
        (1, 3, 2),
        (6, 0, 1),
        (6, 0, 2),
        (6, 3, 0),
    ] {
        let case = ConeCase::random(&mut rng, k, p, m);
        let mut solver = ConeSolver::default();
        let solution = solver.solve(&case.problem(), &mut limits(1e-6));
        check(&case, solution);
        assert_eq!(solution.status, Status::Optimal, "{solution:?}");
    }
    // Without a norm the guardrail is linear, and the optimum a pair.
    for _ in 0..50 {
        let mut case = ConeCase::random(&mut rng, 12, 3, 1);
        case.cost_radii[0] = 0.0;
        let mut solver = ConeSolver::default();
        let solution = solver.solve(&case.problem(), &mut limits(1e-9));
        check(&case, solution);
        assert_eq!(solution.status, Status::Optimal, "{solution:?}");
        assert!(solution.support.len() <= 2);
    }
}

#[test]
fn rounds_allocate_nothing() {
    for (k, d, m) in [(10, 3, 1), (100, 8, 1), (300, 4, 1), (20, 5, 2), (30, 8, 3)] {
        let mut world = World::new(9, k, d, m, false);
        let mut solver = ConeSolver::default();
        let mut late = 0;
        for round in 0..250 {
            let case = world.round();
            let before = allocations();
            let solution = solver.solve(&case.problem(), &mut ConeLimits::default());
            let count = allocations() - before;
            let support = solution.support.clone();
            world.play(&support);
            if round >= 50 {
                late += count;
            }
        }
        assert_eq!(late, 0, "K = {k}, d = {d}, m = {m}");
    }
}
