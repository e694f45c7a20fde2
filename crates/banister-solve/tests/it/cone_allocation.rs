//! Once a round of the largest size has been seen, rounds allocate nothing.

use crate::common;
use crate::counting;

use banister_solve::{ConeLimits, ConeSolver};
use common::cone::World;
use counting::allocations;

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
