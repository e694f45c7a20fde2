//! Exact OPLB on the rounds its own policies lead to.

#[path = "../tests/common/mod.rs"]
mod common;

use banister_solve::{ConeLimits, ConeSolver, Status};
use common::cone::World;
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut numbers = args.iter().filter_map(|a| a.parse::<usize>().ok());
    let (rounds, only) = (numbers.next().unwrap_or(2000), numbers.next());
    println!("K     d  fixed  median µs   p99 µs    max µs  certified  nodes   pairs   supp>2");
    for k in [10, 100, 1000] {
        if only.is_some_and(|only| only != k) {
            continue;
        }
        for d in [2, 4, 8, 16, 32] {
            for fixed in [false, true] {
                table_row(k, d, fixed, rounds);
            }
        }
    }
}

fn table_row(k: usize, d: usize, fixed: bool, rounds: usize) {
    let mut world = World::new(7 + d as u64, k, d, 1, fixed);
    let mut solver = ConeSolver::default();
    let mut times = Vec::with_capacity(rounds);
    let mut most = 0;
    let (mut certified, mut nodes, mut pairs, mut wide) = (0, 0, 0, 0);
    for _ in 0..rounds {
        let case = world.round();
        let problem = case.problem();
        let mut least = f64::INFINITY;
        // The least of three, each from the same state: other people use this machine too.
        for _ in 0..3 {
            let mut copy = solver.clone();
            let start = Instant::now();
            copy.solve(&problem, &mut ConeLimits::default());
            least = least.min(start.elapsed().as_secs_f64() * 1e6);
        }
        times.push(least);
        let solution = solver.solve(&problem, &mut ConeLimits::default());
        certified += usize::from(solution.status == Status::Optimal);
        nodes += solution.nodes;
        most = most.max(solution.nodes);
        pairs += solution.pairs;
        wide += usize::from(solution.support.len() > 2);
        let support = solution.support.clone();
        world.play(&support);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "{k:<5} {d:<3} {fixed:<5} {:>9.1} {:>9.1} {:>9.1}   {certified}/{rounds} {:>7.1} {:>9.0} {wide:>5} {most}",
        times[rounds / 2],
        times[rounds * 99 / 100],
        times[rounds - 1],
        nodes as f64 / rounds as f64,
        pairs as f64 / rounds as f64,
    );
}
