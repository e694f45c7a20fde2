//! The cone solver against Clarabel, against branch and bound, and against climbing from many
//! starts.

mod common;

use banister_solve::{ConeLimits, ConeSolver, Status};
use common::Rng;
use common::cone::{ConeCase, World};
use common::oracles::{branch_and_bound, clarabel_linear, climb, vertex_values};

fn limits(relative_gap: f64) -> ConeLimits<'static> {
    ConeLimits {
        relative_gap,
        ..ConeLimits::default()
    }
}

#[test]
fn the_concave_relaxation_is_never_below() {
    for (k, d, m) in [
        (10, 2, 1),
        (10, 4, 1),
        (30, 8, 1),
        (60, 16, 1),
        (20, 5, 2),
        (12, 4, 3),
    ] {
        let mut world = World::new(11, k, d, m, false);
        let mut solver = ConeSolver::default();
        for round in 0..60 {
            let case = world.round();
            let solution = solver.solve(&case.problem(), &mut limits(1e-3)).clone();
            if round % 3 == 0 {
                let (relaxed, _) = clarabel_linear(&case, &vertex_values(&case));
                let size = 1e-6 * (1.0 + relaxed.abs());
                assert!(solution.value <= relaxed + size, "{relaxed} {solution:?}");
            }
            world.play(&solution.support);
        }
    }
}

#[test]
fn a_linear_objective_agrees_with_clarabel() {
    let mut rng = Rng::new(2);
    let mut solver = ConeSolver::default();
    for round in 0..300 {
        let m = 1 + usize::from(round % 5 == 0);
        let mut case = ConeCase::random(&mut rng, 2 + round % 40, 1 + round % 9, m);
        case.reward_radius = 0.0;
        if round % 4 == 0 {
            case.along.fill(0.0);
        }
        let solution = solver.solve(&case.problem(), &mut limits(1e-5)).clone();
        let (oracle, _) = clarabel_linear(&case, &case.reward);
        assert!(
            solution.upper_bound >= oracle - 1e-6,
            "{oracle} {solution:?}"
        );
        assert!(solution.value <= oracle + 1e-6, "{oracle} {solution:?}");
        if m == 1 {
            assert_eq!(solution.status, Status::Optimal, "{solution:?} {case:?}");
            assert!(solution.value >= oracle - 2e-5, "{oracle} {solution:?}");
        }
    }
}

#[test]
fn branch_and_bound_agrees() {
    let mut rng = Rng::new(3);
    let mut solver = ConeSolver::default();
    let mut closed = 0;
    for round in 0..60 {
        let mut case = ConeCase::random(&mut rng, 3 + round % 3, 1 + round % 5, 1);
        if round % 3 == 0 {
            case.along.fill(0.0);
        }
        let solution = solver.solve(&case.problem(), &mut limits(1e-5)).clone();
        assert_eq!(solution.status, Status::Optimal, "{solution:?} {case:?}");
        let size = 1.0 + solution.value.abs();
        let (best, bound) = branch_and_bound(&case, 2e-3 * size, 4000);
        assert!(
            solution.upper_bound >= best - 1e-12 * size,
            "{best} {solution:?}"
        );
        assert!(
            solution.value <= bound + 1e-12 * size,
            "{bound} {solution:?}"
        );
        closed += usize::from(bound - best <= 2.001e-3 * size);
    }
    assert!(closed > 30, "the oracle closed only {closed} problems");
}

#[test]
fn no_climb_from_any_start_gets_higher() {
    let mut rng = Rng::new(4);
    let mut solver = ConeSolver::default();
    for round in 0..40 {
        let m = 1 + usize::from(round % 4 == 0);
        let case = if round % 2 == 0 {
            ConeCase::random(&mut rng, 4 + round % 9, 2 + round % 5, m)
        } else {
            let mut world = World::new(round as u64, 8, 4, m, false);
            for _ in 0..round {
                let case = world.round();
                let solution = solver.solve(&case.problem(), &mut limits(1e-3));
                let support = solution.support.clone();
                world.play(&support);
            }
            world.round()
        };
        let solution = solver.solve(&case.problem(), &mut limits(1e-4)).clone();
        let size = vertex_values(&case)
            .iter()
            .fold(0.0_f64, |x, f| x.max(f.abs()));
        let mut best = f64::NEG_INFINITY;
        for start in 0..12 {
            let c = match start {
                0 => vertex_values(&case),
                _ => (0..case.actions()).map(|_| rng.normal()).collect(),
            };
            best = best.max(climb(&case, c, 5));
        }
        assert!(
            solution.upper_bound >= best - 1e-9 * size,
            "{best} {solution:?} {case:?}"
        );
        if m == 1 {
            assert_eq!(solution.status, Status::Optimal, "{solution:?} {case:?}");
            assert!(solution.value >= best - 2e-4 * size, "{best} {solution:?}");
        } else if solution.value < best - 1e-3 * size {
            println!(
                "several: {} of {best}, bound {}",
                solution.value, solution.upper_bound
            );
        }
    }
}
