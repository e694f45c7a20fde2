//! Shards: any split of the runs, gathered in any order, through bytes, is the whole.

use crate::common;

use std::sync::atomic::Ordering;

use banister::OpbConfig;
use banister_sim::{
    Experiment, ExperimentConfig, Options, Progress, Shard, gather, plan, run, run_shard,
};
use common::paper_experiment;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

const QUIET: Options = Options { no_timing: true };

fn experiments() -> Vec<Experiment> {
    let arms = r#"
        run = { horizon = 400, runs = 7, checkpoints = 9, delay = 3 }
        environment = { kind = "beta", rewards = [0.1, 0.5, 0.8], costs = [[0.1, 0.3, 0.6]] }
        guardrail = [{ name = "spend", at_most = 0.4 }]
        agent = [{ kind = "opb" }, { kind = "opb", intervals = "paper" }]
    "#;
    let linear = r#"
        run = { horizon = 300, runs = 5, checkpoints = 4 }
        environment = { kind = "linear", d = 3, k = 4 }
        guardrail = [{ name = "spend", at_most = 0.6, safe_cost = 0.3 }]
        agent = [{ kind = "oplb" }]
    "#;
    let parse = |text: &str| -> ExperimentConfig { toml::from_str(text).expect("valid TOML") };
    // The same one twice is two instances.
    [arms, linear, arms]
        .map(|text| parse(text).check("shards").expect("valid"))
        .to_vec()
}

fn play(experiment: &Experiment, agent: usize, runs: std::ops::Range<u64>) -> Shard {
    let shard = run_shard(experiment, agent, runs, QUIET, &Progress::default());
    shard.expect("it runs").expect("not cancelled")
}

#[test]
fn any_split_in_any_order_is_the_whole() {
    let experiments = experiments();
    let whole = run(&experiments, QUIET, &Progress::default()).expect("it runs");
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut below = |n: u64| rng.next_u64() % n;
    for _ in 0..6 {
        let mut bytes = Vec::new();
        for experiment in &experiments {
            for agent in 0..experiment.agents().len() {
                let (mut from, runs) = (0, experiment.resolved.run.runs);
                while from < runs {
                    let to = from + 1 + below(runs - from);
                    let shard = play(experiment, agent, from..to);
                    bytes.push(shard.to_bytes().expect("bytes"));
                    from = to;
                }
            }
        }
        for i in (1..bytes.len()).rev() {
            bytes.swap(i, below(i as u64 + 1) as usize);
        }
        let shards = bytes
            .iter()
            .map(|bytes| Shard::from_bytes(bytes).expect("a shard"));
        let gathered = gather(&experiments, shards).expect("complete");
        assert_eq!(Some(&gathered), whole.as_ref());
    }
}

#[test]
fn plans_cover_every_run_once_in_tasks_of_about_equal_work() {
    for experiment in experiments() {
        let total = experiment.total_work();
        let runs = experiment.resolved.run.runs;
        for work in [0, 1, total / 10, total / 3, total, u64::MAX] {
            let tasks = plan(&experiment, work);
            for agent in 0..experiment.agents().len() {
                let mut own = tasks.iter().filter(|task| task.0 == agent);
                let end = own.try_fold(0, |end, (_, runs)| {
                    (runs.start == end && runs.end > end).then_some(runs.end)
                });
                assert_eq!(end, Some(runs), "{tasks:?}");
                let sizes = || {
                    let own = tasks.iter().filter(|task| task.0 == agent);
                    own.map(|(_, runs)| runs.end - runs.start)
                };
                assert!(sizes().max() <= sizes().min().map(|least| least + 1));
            }
        }
        assert_eq!(plan(&experiment, u64::MAX).len(), experiment.agents().len());
        let single = runs as usize * experiment.agents().len();
        assert_eq!(plan(&experiment, 0).len(), single);
    }
}

#[test]
fn runs_that_are_missing_double_or_foreign_are_refused() {
    let config = paper_experiment(0.2, 200, 4, OpbConfig::default());
    let experiment = config.check("paper").expect("valid");
    let experiments = std::slice::from_ref(&experiment);
    let refused = |shards: Vec<Shard>, message: &str| {
        let error = gather(experiments, shards).expect_err(message);
        assert!(error.to_string().contains(message), "{error}");
    };
    let part = |runs| play(&experiment, 0, runs);
    refused(vec![part(0..2), part(3..4)], "without run 2 of opb");
    refused(vec![part(0..3), part(2..4)], "run 2 of agent 0 again");
    refused(vec![part(0..5)], "has no such run");
    let mut other_agent = part(0..4);
    other_agent.agent = 1;
    refused(vec![other_agent], "has no such run");
    let mut torn = part(0..4);
    torn.traces[1].cost.clear();
    refused(vec![torn], "the shape of a run");
    for change in [
        |config: &mut ExperimentConfig| config.run.seed = 8,
        |config: &mut ExperimentConfig| config.guardrail[0].at_most = Some(0.3),
        |config: &mut ExperimentConfig| config.name = Some("another".into()),
    ] {
        let mut other = config.clone();
        change(&mut other);
        let other = other.check("paper").expect("valid");
        refused(vec![play(&other, 0, 0..4)], "of another experiment");
    }
    assert!(run_shard(&experiment, 1, 0..1, QUIET, &Progress::default()).is_err());
}

#[test]
fn bytes_that_are_no_shard_are_an_error() {
    let config = paper_experiment(0.2, 50, 2, OpbConfig::default());
    let experiment = config.check("paper").expect("valid");
    let shard = play(&experiment, 0, 0..2);
    let bytes = shard.to_bytes().expect("bytes");
    assert_eq!(Shard::from_bytes(&bytes), Ok(shard));
    for length in 0..bytes.len() {
        assert!(Shard::from_bytes(&bytes[..length]).is_err(), "{length}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(Shard::from_bytes(&longer).is_err());
    let mut newer = bytes.clone();
    newer[15] = b'9';
    assert!(Shard::from_bytes(&newer).is_err());
    // Any byte may be wrong: an error or another shard, which then does not fit, never a panic.
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut torn = bytes.clone();
            torn[at] ^= flip;
            if let Ok(shard) = Shard::from_bytes(&torn) {
                let _ = gather(std::slice::from_ref(&experiment), [shard]);
            }
        }
    }
}

#[test]
fn a_shard_reports_its_progress_and_can_be_cancelled() {
    let config = paper_experiment(0.2, 500, 4, OpbConfig::default());
    let experiment = config.check("paper").expect("valid");
    let monitor = Progress::default();
    let done = run_shard(&experiment, 0, 1..4, QUIET, &monitor).expect("it runs");
    assert_eq!(done.map(|shard| shard.traces.len()), Some(3));
    assert_eq!(monitor.rounds.load(Ordering::Relaxed), 1500);
    let work = experiment.total_work() / 4 * 3;
    assert_eq!(monitor.work.load(Ordering::Relaxed), work);
    monitor.cancelled.store(true, Ordering::Relaxed);
    let cancelled = run_shard(&experiment, 0, 0..4, QUIET, &monitor);
    assert_eq!(cancelled, Ok(None));
}
