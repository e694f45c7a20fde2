//! Speed of banister and of others beside it: `cargo bench -p banister-sim --bench speed`.
//!
//! Everything runs on one thread. A time is the median over batches, with the best batch beside it.
//! The LPs are those of an OPB agent playing on policy, after a log that gave every arm some pulls.
//! HiGHS joins in if `BANISTER_PYTHON` names a Python that can import `highspy`; it gets the very
//! same rounds, through a file. With the argument `linear` only the linear part is run, with `agents` only
//! the rounds per second of every agent, with `rounds` only simulated rounds, with `segments` only policies
//! per segment under one budget.

mod agents;
mod linear;
mod rivals;
mod segments;
mod simulation;
mod table;
mod timing;
mod workload;

use rivals::highs;
use simulation::{DEFAULT, PAPER, bare, memory, simulation};
use table::print_table;
use timing::{time_blocked, time_fresh, time_simplex};
use workload::{fresh_bounds, one_arm_changed};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    if std::env::args().any(|arg| arg == "linear") {
        return linear::linear();
    }
    if std::env::args().any(|arg| arg == "agents") {
        return agents::agents();
    }
    if std::env::args().any(|arg| arg == "segments") {
        let (rows, for_highs) = segments::segments();
        print_table(&rows, highs(&for_highs)?.as_ref());
        return Ok(());
    }
    let memory = memory()?;
    let mut rows = vec![
        bare("bare loop: the same random numbers, three sums"),
        simulation("simulated round, `paper`, K = 4", PAPER, 50.0)?,
        simulation("simulated round, default agent, K = 4", DEFAULT, 50.0)?,
    ];
    let over_bare = rows[2].times.best / rows[0].times.best;
    println!("A round of the default agent takes {over_bare:.2} times the bare loop (aim 1.5).\n");
    if std::env::args().any(|arg| arg == "rounds") {
        print_table(&rows, None);
        return Ok(());
    }
    let mut for_highs = Vec::new();
    for (k, target) in [(4, 40.0), (1000, 4e3), (10_000, 45e3)] {
        let workload = fresh_bounds(k)?;
        for warm in [false, true] {
            rows.push(time_fresh(&workload, warm, target));
        }
        for_highs.push(workload);
    }
    for (k, target) in [(1000, 2.5e3), (10_000, 6e3)] {
        let workload = one_arm_changed(k, 1)?;
        rows.push(time_blocked(&workload, target));
        for_highs.push(workload);
    }
    for (m, target) in [(3, 3e3), (5, 5e3)] {
        let workload = one_arm_changed(1000, m)?;
        rows.push(time_simplex(&workload, target));
        for_highs.push(workload);
    }
    let (segment_rows, segment_rounds) = segments::segments();
    rows.extend(segment_rows);
    for_highs.extend(segment_rounds);
    let highs = highs(&for_highs)?;
    print_table(&rows, highs.as_ref());
    println!("\n{memory}");
    linear::linear()?;
    agents::agents()
}
