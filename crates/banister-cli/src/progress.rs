//! Simulations with a progress bar: rounds done, rounds a second, time left.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use banister_sim::{Experiment, Monitor, Options, Results};
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::args::Simulation;
use crate::failure::Failure;

/// Runs the experiments on as many threads as asked for.
pub fn simulate(
    what: &str,
    experiments: &[Experiment],
    args: &Simulation,
) -> Result<Results, Failure> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(args.threads.unwrap_or(0).into())
        .build()
        .map_err(|error| Failure::Other(format!("cannot start threads: {error}")))?;
    let options = Options {
        no_timing: args.no_timing,
    };
    let total = experiments.iter().map(Experiment::total_rounds).sum();
    let bar = progress_bar(what, total, args.quiet);
    let monitor = Monitor::default();
    let finished = AtomicBool::new(false);
    let results = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !finished.load(Ordering::Acquire) {
                bar.set_position(monitor.rounds.load(Ordering::Relaxed));
                std::thread::park_timeout(Duration::from_millis(100));
            }
        });
        let results = pool.install(|| banister_sim::run(experiments, options, &monitor));
        finished.store(true, Ordering::Release);
        results
    });
    bar.finish_and_clear();
    match results {
        Ok(Some(results)) => Ok(results),
        Ok(None) => Err(Failure::Other("stopped".into())),
        Err(error) => Err(Failure::input(error)),
    }
}

fn progress_bar(what: &str, total: u64, quiet: bool) -> ProgressBar {
    let target = if quiet {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(Some(total), target);
    let style = ProgressStyle::with_template(
        "{prefix}  {bar:32.green/dim} {percent:>3}%  {done} of {all} rounds, {speed}, {eta} left",
    )
    .unwrap_or_else(|_| ProgressStyle::default_bar())
    .with_key(
        "done",
        |state: &ProgressState, w: &mut dyn std::fmt::Write| {
            let _ = write!(w, "{}", short(state.pos() as f64));
        },
    )
    .with_key(
        "all",
        |state: &ProgressState, w: &mut dyn std::fmt::Write| {
            let _ = write!(w, "{}", short(state.len().unwrap_or(0) as f64));
        },
    )
    .with_key(
        "speed",
        |state: &ProgressState, w: &mut dyn std::fmt::Write| {
            let _ = write!(w, "{}/s", short(state.per_sec()));
        },
    );
    bar.set_style(style);
    bar.set_prefix(what.to_string());
    bar
}

fn short(x: f64) -> String {
    if x >= 1e6 {
        format!("{:.1}M", x / 1e6)
    } else {
        HumanCount(x as u64).to_string()
    }
}
