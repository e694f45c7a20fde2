//! Simulated rounds, and what they take of memory.

use std::hint::black_box;
use std::time::Instant;

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use banister_sim::{ExperimentConfig, Options, Progress, run_shard};

use crate::Failure;
use crate::table::Row;
use crate::timing::{Times, nanoseconds};

pub const PAPER: &str = r#"{ kind = "opb", intervals = "paper", optimism = "paper" }"#;
pub const DEFAULT: &str = r#"{ kind = "opb" }"#;

/// The paper's instance with Bernoulli arms.
pub fn instance(agent: &str, threshold: f64, horizon: u64) -> Result<ExperimentConfig, Failure> {
    Ok(toml::from_str(&format!(
        r#"
        run = {{ horizon = {horizon}, runs = 1, seed = 7 }}
        environment = {{ kind = "bernoulli", rewards = [0.1, 0.2, 0.4, 0.7], costs = [[0.0, 0.4, 0.5, 0.2]] }}
        guardrail = [{{ name = "cost", at_most = {threshold}, safe_cost = 0.0 }}]
        agent = [{agent}]
        "#
    ))?)
}

const BATCHES: u64 = 8;

/// Nanoseconds per round, everything included, over the paper's three thresholds.
pub fn simulation(name: &str, agent: &str, target: f64) -> Result<Row, Failure> {
    const HORIZON: u64 = 1_000_000;
    let thresholds = [1.0, 0.5, 0.2];
    let mut experiments = Vec::new();
    for threshold in thresholds {
        experiments.push(instance(agent, threshold, HORIZON)?.check("speed")?);
    }
    let mut times = Vec::new();
    for batch in 0..BATCHES {
        let started = Instant::now();
        for experiment in &experiments {
            black_box(run_shard(
                experiment,
                0,
                batch..batch + 1,
                Options::default(),
                &Progress::default(),
            )?);
        }
        times.push(nanoseconds(started) / (HORIZON * thresholds.len() as u64) as f64);
    }
    Ok(Row::new(name, None, Times::of(times), target))
}

/// Nanoseconds per round of a loop that draws the random numbers of a simulated round, chooses between two
/// arms and adds three sums: what is left of a simulator without agent, policy, certificate and metrics.
pub fn bare(name: &str) -> Row {
    const ROUNDS: u64 = 3_000_000;
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let means = black_box([[0.1, 0.0], [0.7, 0.2]]);
    let mut times = Vec::new();
    for _ in 0..BATCHES {
        let started = Instant::now();
        let mut sums = [0.0; 3];
        for _ in 0..ROUNDS {
            let mut uniform = || (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            let [reward, cost] = means[usize::from(uniform() < 0.9)];
            sums[0] += 1.0;
            sums[1] += f64::from(u8::from(uniform() < reward));
            sums[2] += f64::from(u8::from(uniform() < cost));
        }
        black_box(sums);
        times.push(nanoseconds(started) / ROUNDS as f64);
    }
    Row::new(name, None, Times::of(times), f64::INFINITY)
}

/// Peak memory after a short and after a long run.
pub fn memory() -> Result<String, Failure> {
    let mut peaks = Vec::new();
    for horizon in [100_000, 10_000_000] {
        let experiment = instance(PAPER, 0.5, horizon)?.check("memory")?;
        run_shard(
            &experiment,
            0,
            0..1,
            Options::default(),
            &Progress::default(),
        )?;
        peaks.push((horizon, peak_memory()));
    }
    let parts: Vec<String> = peaks
        .iter()
        .map(|(horizon, peak)| {
            let peak = peak.clone().unwrap_or_else(|| "unknown here".into());
            format!("{peak} after a run of {horizon} rounds")
        })
        .collect();
    Ok(format!("Peak memory: {}.", parts.join(", ")))
}

/// The peak resident set of this process, on Linux.
pub fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    Some(line.trim().to_string())
}
