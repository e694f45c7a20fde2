//! Timing our solvers.

use std::hint::black_box;
use std::time::Instant;

use banister::solve::{BlockedLp, LpSolver};

use crate::table::Row;
use crate::workload::{SAFE, Workload};

/// Median and minimum, in nanoseconds.
#[derive(Clone, Copy)]
pub struct Times {
    pub median: f64,
    pub best: f64,
}

impl Times {
    pub fn of(mut times: Vec<f64>) -> Self {
        times.sort_unstable_by(f64::total_cmp);
        Self {
            median: times[times.len() / 2],
            best: times[0],
        }
    }
}

pub fn nanoseconds(started: Instant) -> f64 {
    started.elapsed().as_nanos() as f64
}

/// Times `solve` over all items, many times.
pub fn batches<T>(items: &[T], budget: f64, mut solve: impl FnMut(&T)) -> Times {
    let mut times = Vec::new();
    let begun = Instant::now();
    while times.len() < 5 || (nanoseconds(begun) < budget && times.len() < 2000) {
        let started = Instant::now();
        for item in items {
            solve(item);
        }
        times.push(nanoseconds(started) / items.len() as f64);
    }
    Times::of(times)
}

/// Time that most LP rows may take, in nanoseconds.
pub const BUDGET: f64 = 0.5e9;

pub fn time_fresh(workload: &Workload, warm: bool, target: f64) -> Row {
    let problems = workload.problems();
    let mut solver = LpSolver::default();
    let times = batches(&problems, BUDGET, |problem| {
        if !warm {
            solver.reset();
        }
        black_box(solver.solve(black_box(&problem.lp()), Some(SAFE)));
    });
    let name = format!("{}, {}", workload.name, if warm { "warm" } else { "cold" });
    Row::new(&name, Some(workload), times, target).beside(&problems)
}

pub fn time_blocked(workload: &Workload, target: f64) -> Row {
    let tau = workload.thresholds[0];
    let mut fresh = BlockedLp::new(workload.reward.clone(), workload.costs.clone());
    fresh.solve(tau, SAFE);
    let mut times = Vec::new();
    for _ in 0..100 {
        let mut lp = fresh.clone();
        let started = Instant::now();
        for round in &workload.rounds {
            let change = &round.changes[0];
            lp.set(change.action, change.reward, change.costs[0]);
            black_box(lp.solve(tau, SAFE));
        }
        times.push(nanoseconds(started) / workload.rounds.len() as f64);
    }
    let row = Row::new(&workload.name, Some(workload), Times::of(times), target);
    row.beside(&workload.problems()[..8])
}

/// Times every round on its own: the median is over rounds.
pub fn time_simplex(workload: &Workload, target: f64) -> Row {
    let mut times = Vec::new();
    let mut now = workload.without_rounds();
    let mut solver = LpSolver::default();
    for _ in 0..20 {
        now = workload.without_rounds();
        solver.solve(&now.lp(), Some(SAFE));
        for round in &workload.rounds {
            now.apply(&round.changes[0]);
            let started = Instant::now();
            black_box(solver.solve(black_box(&now.lp()), Some(SAFE)));
            times.push(nanoseconds(started));
        }
    }
    let row = Row::new(&workload.name, Some(workload), Times::of(times), target);
    row.beside(&[now])
}
