//! Simulations with a progress bar: share of the work, rounds done, time left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use banister_sim::{Experiment, Options, Progress, Results};
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::args::Simulation;
use banister_terminal::Failure;

/// Runs the experiments on as many threads as asked for.
pub fn simulate(
    what: &str,
    experiments: &[Experiment],
    args: &Simulation,
) -> Result<Results, Failure> {
    let options = Options {
        no_timing: args.no_timing,
    };
    with_bar(what, experiments, args, |monitor| {
        banister_sim::run(experiments, options, monitor)
    })
}

/// Does the work of some experiments on as many threads as asked for, under a progress bar.
pub fn with_bar<'a, T: Send, E: Into<Failure> + Send>(
    what: &str,
    experiments: impl IntoIterator<Item = &'a Experiment>,
    args: &Simulation,
    work: impl FnOnce(&Progress) -> Result<Option<T>, E> + Send,
) -> Result<T, Failure> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(args.threads.unwrap_or(0).into())
        .build()
        .map_err(|error| Failure::Other(format!("cannot start threads: {error}")))?;
    let (mut rounds, mut total) = (0, 0_u64);
    for experiment in experiments {
        rounds += experiment.total_rounds();
        total = total.saturating_add(experiment.total_work());
    }
    let monitor = Progress::default();
    let seen = Arc::new(AtomicU64::new(0));
    let bar = progress_bar(what, total, rounds, &seen, args.quiet);
    let finished = AtomicBool::new(false);
    let results = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !finished.load(Ordering::Acquire) {
                seen.store(monitor.rounds.load(Ordering::Relaxed), Ordering::Relaxed);
                bar.set_position(monitor.work.load(Ordering::Relaxed));
                std::thread::park_timeout(Duration::from_millis(100));
            }
        });
        // Also if the work panics: the scope waits for the thread above.
        let _guard = Finished(&finished);
        pool.install(|| work(&monitor))
    });
    bar.finish_and_clear();
    match results {
        Ok(Some(results)) => Ok(results),
        Ok(None) => Err(Failure::Other("stopped".into())),
        Err(error) => Err(error.into()),
    }
}

/// Sets its flag when it goes.
struct Finished<'a>(&'a AtomicBool);

impl Drop for Finished<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A bar whose length is time, as far as it can be foretold: a round with many features takes
/// hundreds of times as long as one with four arms.
fn progress_bar(
    what: &str,
    total: u64,
    rounds: u64,
    seen: &Arc<AtomicU64>,
    quiet: bool,
) -> ProgressBar {
    let target = if quiet {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(Some(total), target);
    let seen = Arc::clone(seen);
    let style = ProgressStyle::with_template(
        "{prefix}  {bar:32.green/dim} {percent:>3}%  {done} rounds, {eta} left",
    )
    .unwrap_or_else(|_| ProgressStyle::default_bar())
    .with_key(
        "done",
        move |_: &ProgressState, w: &mut dyn std::fmt::Write| {
            let done = seen.load(Ordering::Relaxed);
            let _ = write!(w, "{} of {}", short(done as f64), short(rounds as f64));
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
