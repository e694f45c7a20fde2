//! A policy per segment under one budget.

use std::hint::black_box;
use std::time::Instant;

use banister::solve::BlockLp;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::table::Row;
use crate::timing::{Times, nanoseconds};
use crate::workload::{Change, Round, SAFE, Workload};

const SEGMENTS: usize = 1000;
const ACTIONS: usize = 10;

/// Rows of our solver, and the rounds for the others.
pub fn segments() -> (Vec<Row>, Vec<Workload>) {
    let mut rows = vec![];
    let mut workloads = vec![];
    for (m, fresh, one) in [(1, 1e6, 20e3), (2, 5e6, 100e3)] {
        for all in [true, false] {
            let mut workload = draw(m, all);
            let times = time(&mut workload, all);
            let target = if all { fresh } else { one };
            rows.push(Row::new(&workload.name, Some(&workload), times, target));
            workloads.push(workload);
        }
    }
    (rows, workloads)
}

/// Uniform numbers, weighted by the segments' frequencies; a round redraws all segments or one.
fn draw(m: usize, all: bool) -> Workload {
    let mut rng = ChaCha8Rng::seed_from_u64(m as u64);
    let mut uniform = || (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let weights: Vec<f64> = (0..SEGMENTS)
        .map(|_| 2.0 * uniform() / SEGMENTS as f64)
        .collect();
    let mut column = |action: usize| {
        let weight = weights[action / ACTIONS];
        let safe = action % ACTIONS == SAFE;
        let cost = |x: f64| weight * if safe { 0.05 } else { x };
        Change {
            action,
            reward: weight * uniform(),
            costs: (0..m).map(|_| cost(uniform())).collect(),
        }
    };
    let first: Vec<Change> = (0..SEGMENTS * ACTIONS).map(&mut column).collect();
    let changes = if all {
        "all fresh, cold"
    } else {
        "one changed"
    };
    let mut workload = Workload {
        name: format!("{SEGMENTS} segments of {ACTIONS}, m = {m}, {changes}"),
        block: Some(ACTIONS),
        reward: first.iter().map(|c| c.reward).collect(),
        costs: (0..m)
            .map(|i| first.iter().map(|c| c.costs[i]).collect())
            .collect(),
        thresholds: vec![0.2; m],
        rounds: vec![],
    };
    for round in 0..if all { 8 } else { 200 } {
        let from = round * 37 % SEGMENTS * ACTIONS;
        let changed = if all {
            0..SEGMENTS * ACTIONS
        } else {
            from..from + ACTIONS
        };
        workload.rounds.push(Round {
            changes: changed.map(&mut column).collect(),
            value: 0.0,
        });
    }
    workload
}

/// Times each round, with the setting of its blocks, and fills in the optimal values.
fn time(workload: &mut Workload, all: bool) -> Times {
    let mut times = vec![];
    for _ in 0..10 {
        let mut now = workload.without_rounds();
        let mut lp = BlockLp::new(now.costs.len(), 0);
        set(&mut lp, &now, 0..SEGMENTS);
        lp.solve(&now.thresholds, &[]);
        for round in &mut workload.rounds {
            for change in &round.changes {
                now.apply(change);
            }
            let block = round.changes[0].action / ACTIONS;
            let started = Instant::now();
            if all {
                lp = BlockLp::new(now.costs.len(), 0);
                set(&mut lp, &now, 0..SEGMENTS);
            } else {
                set(&mut lp, &now, block..block + 1);
            }
            round.value = black_box(lp.solve(&now.thresholds, &[])).value;
            times.push(nanoseconds(started));
        }
    }
    Times::of(times)
}

fn set(lp: &mut BlockLp, now: &Workload, blocks: std::ops::Range<usize>) {
    for block in blocks {
        let span = block * ACTIONS..(block + 1) * ACTIONS;
        let costs: Vec<&[f64]> = now.costs.iter().map(|row| &row[span.clone()]).collect();
        lp.set(block, SAFE, &now.reward[span.clone()], &costs, &[]);
    }
}
