//! Exact OPLB on the rounds that its own policies lead to, certified to 1e-3, beside Clarabel on the
//! concave relaxation of a sample of the same rounds (one SOCP, which only bounds the optimum); and
//! with two and three guardrails beside one.
//!
//! `cargo bench -p banister-solve --bench cone -- [rounds] [K] [several]`

#[path = "../tests/it/common/mod.rs"]
mod common;

use banister_solve::{ConeLimits, ConeSolver, Status};
use clarabel::solver::IPSolver;
use common::cone::World;
use common::oracles::{clarabel_set_up, vertex_values};
use std::time::Instant;

/// Rounds given to Clarabel.
const SAMPLE: usize = 15;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut numbers = args.iter().filter_map(|a| a.parse::<usize>().ok());
    let (rounds, only) = (numbers.next().unwrap_or(2000).max(1), numbers.next());
    several(rounds, only);
    if args.iter().any(|a| a == "several") {
        return;
    }
    println!(
        "   K   d  actions     median µs    p99 µs    max µs   certified  nodes     pairs  support > 2  Clarabel µs  ratio"
    );
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

/// Two and three guardrails, unrelated and about the same thing, beside one.
fn several(rounds: usize, only: Option<usize>) {
    println!(
        "   K   d  guardrails   certified  worst gap  nodes   median µs   mean µs    p99 µs  median to one's"
    );
    for k in [10, 100] {
        if only.is_some_and(|only| only != k) {
            continue;
        }
        for d in [2, 4, 8, 16] {
            let seed = 7 + d as u64;
            let one = several_row(
                "1        ",
                World::new(seed, k, d, 1, false),
                rounds,
                (k, d),
                None,
            );
            for m in [2, 3] {
                let world = World::new(seed, k, d, m, false);
                several_row(&format!("{m}        "), world, rounds, (k, d), Some(one));
                if d > 2 {
                    let world = World::related(seed, k, d, m);
                    several_row(&format!("{m} related"), world, rounds, (k, d), Some(one));
                }
            }
        }
    }
}

/// Prints a row; the median time.
fn several_row(
    name: &str,
    mut world: World,
    rounds: usize,
    (k, d): (usize, usize),
    one: Option<f64>,
) -> f64 {
    let mut solver = ConeSolver::default();
    let (mut times, mut certified, mut nodes, mut worst) = (vec![], 0, 0, 0.0_f64);
    for _ in 0..rounds {
        let case = world.round();
        let (last, mut least) = (solver.start().to_vec(), f64::INFINITY);
        for _ in 0..3 {
            solver.set_start(&last);
            let start = Instant::now();
            solver.solve(&case.problem(), &mut ConeLimits::default());
            least = least.min(micros(start));
        }
        solver.set_start(&last);
        let solution = solver.solve(&case.problem(), &mut ConeLimits::default());
        times.push(least);
        certified += usize::from(solution.status == Status::Optimal);
        nodes += solution.nodes;
        worst = worst.max(solution.gap() / solution.value.abs());
        let support = solution.support.clone();
        world.play(&support);
    }
    times.sort_by(f64::total_cmp);
    let median = times[rounds / 2];
    println!(
        "{k:>4}  {d:>2}  {name}  {certified:>6}/{rounds}  {:>8.3}% {:>6.1} {median:>11.1} {:>9.1} {:>9.1}  {:>15.1}",
        100.0 * worst,
        nodes as f64 / rounds as f64,
        times.iter().sum::<f64>() / rounds as f64,
        times[rounds * 99 / 100],
        median / one.unwrap_or(median),
    );
    median
}

fn table_row(k: usize, d: usize, fixed: bool, rounds: usize) {
    let mut world = World::new(7 + d as u64, k, d, 1, fixed);
    let mut solver = ConeSolver::default();
    let (mut times, mut others, mut sampled) = (Vec::with_capacity(rounds), vec![], vec![]);
    let (mut certified, mut nodes, mut pairs, mut wide) = (0, 0, 0, 0);
    for round in 0..rounds {
        let case = world.round();
        let problem = case.problem();
        // The least of three, each from the same policy: other work may share the machine.
        let (last, mut least) = (solver.start().to_vec(), f64::INFINITY);
        for _ in 0..3 {
            solver.set_start(&last);
            let start = Instant::now();
            solver.solve(&problem, &mut ConeLimits::default());
            least = least.min(micros(start));
        }
        solver.set_start(&last);
        times.push(least);
        if round % rounds.div_ceil(SAMPLE) == 0 {
            // The least of three here too, and without the time to set the problem up.
            let values = vertex_values(&case);
            let other = (0..3).map(|_| {
                let mut clarabel = clarabel_set_up(&case, &values);
                let start = Instant::now();
                clarabel.solve();
                micros(start)
            });
            others.push(other.fold(f64::INFINITY, f64::min));
            sampled.push(least);
        }
        let solution = solver.solve(&problem, &mut ConeLimits::default());
        certified += usize::from(solution.status == Status::Optimal);
        nodes += solution.nodes;
        pairs += solution.pairs;
        wide += usize::from(solution.support.len() > 2);
        let support = solution.support.clone();
        world.play(&support);
    }
    times.sort_by(f64::total_cmp);
    others.sort_by(f64::total_cmp);
    sampled.sort_by(f64::total_cmp);
    let (median, other) = (times[rounds / 2], others[others.len() / 2]);
    let own = sampled[sampled.len() / 2];
    println!(
        "{k:>4}  {d:>2}  {}  {median:>9.1} {:>9.1} {:>9.1}  {certified:>5}/{rounds} {:>6.1} {:>9.0}  {:>10.1}%  {other:>11.0}  {:>5.0}",
        if fixed { "fixed     " } else { "contextual" },
        times[rounds * 99 / 100],
        times[rounds - 1],
        nodes as f64 / rounds as f64,
        pairs as f64 / rounds as f64,
        100.0 * wide as f64 / rounds as f64,
        other / own,
    );
}

fn micros(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e6
}
