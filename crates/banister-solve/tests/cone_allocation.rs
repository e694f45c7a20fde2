//! Once a round of the largest size has been seen, rounds allocate nothing.
#![allow(unsafe_code)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use banister_solve::{ConeLimits, ConeSolver};
use common::cone::World;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator unchanged; counting touches only a
// thread-local integer without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn rounds_allocate_nothing() {
    for (k, d, m) in [(10, 3, 1), (100, 8, 1), (300, 4, 1), (20, 5, 2), (30, 8, 3)] {
        let mut world = World::new(9, k, d, m, false);
        let mut solver = ConeSolver::default();
        let mut late = 0;
        for round in 0..250 {
            let case = world.round();
            let before = COUNT.with(Cell::get);
            let solution = solver.solve(&case.problem(), &mut ConeLimits::default());
            let count = COUNT.with(Cell::get) - before;
            let support = solution.support.clone();
            world.play(&support);
            if round >= 50 {
                late += count;
            }
        }
        assert_eq!(late, 0, "K = {k}, d = {d}, m = {m}");
    }
}
