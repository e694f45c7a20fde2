//! Estimates of how long a comparison takes.

use std::time::Duration;

use banister_sim::compare::{Agents, Comparison, Entry};
use banister_sim::{ExperimentConfig, Options, Progress, Shard, run_shard};
use serde_json::json;

fn plan(horizon: u64, runs: u64) -> Comparison {
    let config: ExperimentConfig = serde_json::from_value(json!({
        "run": {"horizon": horizon, "runs": runs, "checkpoints": 2},
        "environment": {"kind": "bernoulli", "rewards": [0.1, 0.7], "costs": [[0.0, 0.2]]},
        "guardrail": [{"name": "cost", "at_most": 0.3, "safe_cost": 0.0}],
    }))
    .expect("an experiment");
    let agents = Agents::listed("ucb1").expect("a kind");
    Comparison::plan(vec![Entry::new(config)], &agents, false).expect("it fits")
}

/// A run of that plan which is said to have taken some time per round.
fn finished(plan: &Comparison, nanoseconds: f64) -> Shard {
    let (experiment, options) = (&plan.experiments[0], Options::default());
    let shard = run_shard(experiment, 0, 0..1, options, &Progress::default());
    let mut shard = shard.expect("it runs").expect("not cancelled");
    shard.traces[0].summary.nanoseconds_per_round = Some(nanoseconds);
    shard
}

#[test]
fn runs_left_take_as_long_as_those_done() {
    let long = plan(2_000_000, 1001);
    let done = [finished(&long, 5000.0)];
    // 1000 runs of 10 seconds.
    for threads in [1, 4] {
        let estimate = long.estimate(&done, threads).expect("no rounds played");
        let expected = Duration::from_secs(10_000) / threads as u32;
        assert_eq!(estimate.map(|t| t.as_millis()), Some(expected.as_millis()));
    }
    // Without any the first part of one is played: some time, for all 1001 of them.
    let estimate = long.estimate(&[], 1).expect("rounds play");
    assert!(estimate.is_some_and(|time| time > Duration::from_millis(1)));
}

#[test]
fn short_comparisons_are_not_measured() {
    assert_eq!(
        plan(1000, 10).estimate(&[], 2).expect("nothing plays"),
        None
    );
}
