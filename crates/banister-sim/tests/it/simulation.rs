//! The runner: streams, threads, shards, curves, and outcomes on their way.

use crate::common;

use banister::{Intervals, Opb, OpbConfig, Optimism};
use banister_rivals::AgentConfig;
use banister_sim::{
    BernoulliConfig, EnvironmentConfig, Experiment, ExperimentConfig, MAX_CHECKPOINTS, Options,
    Progress, Results, RunConfig, run, run_shard,
};
use common::{laws, paper_experiment, simulate, traces};
use rand::{Rng as _, SeedableRng};
use rand_chacha::ChaCha8Rng;

const QUIET: Options = Options { no_timing: true };

/// Several agents, two guardrails, delays and batches: anything that could depend on threads.
fn busy(delay: u64, batch: u64) -> ExperimentConfig {
    let text = format!(
        r#"
        run = {{ horizon = 3000, runs = 5, seed = 3, checkpoints = 7, delay = {delay}, batch = {batch} }}
        agent = [
            {{ kind = "opb" }},
            {{ kind = "opb", optimism = "least", intervals = "kl" }},
            {{ kind = "opb", intervals = "paper" }},
        ]
        [environment]
        kind = "beta"
        rewards = [0.1, 0.5, 0.8]
        costs = [[0.1, 0.3, 0.6], [0.9, 0.7, 0.5]]
        [[guardrail]]
        name = "spend"
        at_most = 0.4
        safe_cost = 0.1
        [[guardrail]]
        name = "quality"
        at_least = 0.6
        "#
    );
    toml::from_str(&text).expect("valid TOML")
}

fn results(experiment: &Experiment) -> Results {
    let experiments = std::slice::from_ref(experiment);
    let done = run(experiments, QUIET, &Progress::default()).expect("valid");
    done.expect("not cancelled")
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let experiments = [busy(0, 1), busy(30, 8)].map(|c| c.check("busy").expect("valid"));
    let on_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().expect("a pool");
        pool.install(|| run(&experiments, QUIET, &Progress::default()).expect("valid"))
    };
    let one = on_threads(1);
    assert!(one.is_some());
    assert_eq!(one, on_threads(2));
    assert_eq!(one, on_threads(3));
}

#[test]
fn a_shard_is_the_same_runs_alone_and_curves_are_their_statistics() {
    let experiment = busy(5, 3).check("busy").expect("valid");
    let all = results(&experiment);
    for (a, agent) in all.instances[0].agents.iter().enumerate() {
        let head = traces(&experiment, a, 0..2, QUIET);
        let tail = traces(&experiment, a, 2..5, QUIET);
        let traces: Vec<_> = head.into_iter().chain(tail).collect();
        assert_eq!(traces.len(), 5);
        for (trace, summary) in traces.iter().zip(&agent.runs) {
            assert_eq!(&trace.summary, summary);
            assert_eq!(trace.regret.last(), Some(&summary.regret));
            assert_eq!(summary.pulls.iter().sum::<u64>(), 3000);
        }
        for (k, &mean) in agent.curve.regret_mean.iter().enumerate() {
            let mut values: Vec<f64> = traces.iter().map(|t| t.regret[k]).collect();
            let average = values.iter().sum::<f64>() / 5.0;
            let squares: f64 = values.iter().map(|x| (x - average).powi(2)).sum();
            values.sort_by(f64::total_cmp);
            assert!((mean - average).abs() < 1e-9);
            assert!((agent.curve.regret_std[k] - (squares / 4.0).sqrt()).abs() < 1e-9);
            // The 5% point of five numbers lies a fifth of the way from the first to the second.
            let low = values[0] + 0.2 * (values[1] - values[0]);
            let high = values[3] + 0.8 * (values[4] - values[3]);
            assert!((agent.curve.regret_q05[k] - low).abs() < 1e-9);
            assert!((agent.curve.regret_q95[k] - high).abs() < 1e-9);
            let spend = traces
                .iter()
                .map(|t| t.worst[0][k])
                .fold(f64::MIN, f64::max);
            let quality = traces
                .iter()
                .map(|t| t.worst[1][k])
                .fold(f64::MAX, f64::min);
            assert_eq!(agent.curve.cost_worst[0][k], spend);
            assert_eq!(agent.curve.cost_worst[1][k], quality);
        }
    }
}

#[test]
fn a_run_is_the_plain_loop_on_its_own_stream() {
    let config = paper_experiment(0.2, 4000, 3, OpbConfig::paper(4000));
    let experiment = config.check("paper").expect("valid");
    let traces = traces(&experiment, 0, 0..3, QUIET);
    let declared = common::paper_problem(0.2, Some(0.0));
    for (run, trace) in traces.iter().enumerate() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        rng.set_stream(run as u64);
        let mut agent = Opb::new(&declared, &OpbConfig::paper(4000)).expect("valid");
        let (mut regret, mut pulls, mut costs) = (0.0, [0; 4], [0.0]);
        for _ in 0..4000 {
            let decision = agent.decide();
            let reward = |&(a, p): &(usize, f64)| p * common::PAPER_REWARDS[a];
            regret += 0.7 - decision.policy.iter().map(reward).sum::<f64>();
            let arm = if decision.policy.len() == 1 {
                decision.policy[0].0
            } else {
                decision.draw((rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64)
            };
            pulls[arm] += 1;
            let reward = laws(&experiment).pull(arm, &mut rng, &mut costs);
            agent.observe(arm, reward, &costs).expect("valid");
        }
        assert!((trace.summary.regret - regret).abs() < 1e-6);
        assert_eq!(trace.summary.pulls, pulls);
        assert_eq!(trace.summary.violations, Some(0));
    }
}

#[test]
fn checkpoints_end_at_the_horizon_and_are_few() {
    for (horizon, checkpoints, expected) in [
        (5000_u64, 1000_usize, 1000_usize),
        (5000, 1, 1),
        (17, 500, 17),
        (1, 1, 1),
        (1001, 1000, 1000),
    ] {
        let mut config = paper_experiment(0.5, horizon, 1, OpbConfig::default());
        config.run.checkpoints = checkpoints;
        let all = results(&config.check("x").expect("valid"));
        let curve = &all.instances[0].agents[0].curve;
        assert_eq!(curve.round.len(), expected);
        assert!(expected <= MAX_CHECKPOINTS);
        assert_eq!(curve.round.last(), Some(&horizon));
        assert!(curve.round.windows(2).all(|w| w[0] < w[1]));
        assert!(curve.round[0] >= 1);
        for row in [&curve.regret_mean, &curve.reward_mean, &curve.cost_mean[0]] {
            assert_eq!(row.len(), expected);
        }
    }
}

/// Outcomes delivered to a single-armed agent, found by the smallest horizon that suffices: the
/// agent refuses one outcome more than its intervals are made for.
fn delivered(horizon: u64, delay: u64, batch: u64) -> u64 {
    let suffices = |limit: u64| {
        let config = ExperimentConfig {
            name: None,
            run: RunConfig {
                horizon,
                runs: 1,
                delay: banister_sim::Delay::UpTo(delay),
                batch,
                ..RunConfig::default()
            },
            environment: EnvironmentConfig::Bernoulli(BernoulliConfig::new(&[0.5], &[])),
            reward: Default::default(),
            guardrail: vec![],
            agent: vec![AgentConfig::Opb(OpbConfig {
                intervals: Some(Intervals::Paper),
                horizon: Some(limit),
                ..OpbConfig::default()
            })],
        };
        let experiment = config.check("single").expect("valid");
        run_shard(&experiment, 0, 0..1, QUIET, &Progress::default()).is_ok()
    };
    assert!(suffices(horizon), "more outcomes than rounds");
    let (mut too_few, mut enough) = (0, horizon);
    while enough - too_few > 1 {
        let middle = (too_few + enough) / 2;
        if suffices(middle) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    enough
}

#[test]
fn no_outcome_is_lost_but_those_still_on_their_way() {
    assert_eq!(delivered(1000, 0, 1), 1000);
    assert_eq!(delivered(1000, 0, 7), 994);
    assert_eq!(delivered(1000, 0, 1000), 1000);
    for (delay, batch) in [(1, 1), (40, 1), (40, 16), (3, 100)] {
        let handed = 1000 / batch * batch;
        let count = delivered(1000, delay, batch);
        assert!(
            count <= handed && count + delay >= handed,
            "{count} of {handed}"
        );
    }
    // With delays uniform on 0..=d, d/2 outcomes are on their way on average.
    let pending = 2000 - delivered(2000, 400, 1);
    assert!((160..=240).contains(&pending), "{pending} pending");
}

#[test]
fn a_delay_longer_than_the_run_teaches_nothing() {
    let mut config = paper_experiment(0.5, 300, 2, OpbConfig::default());
    config.run.batch = 300;
    let all = results(&config.check("late").expect("valid"));
    for summary in &all.instances[0].agents[0].runs {
        // The first policy, 300 times: nothing is known, and nothing is better than the safe arm.
        assert_eq!(summary.pulls, [300, 0, 0, 0]);
        assert!((summary.regret - 300.0 * 0.6).abs() < 1e-9);
    }
}

#[test]
fn a_cancelled_simulation_gives_no_results() {
    let config = paper_experiment(0.5, 100_000, 1, OpbConfig::default());
    let experiment = config.check("x").expect("valid");
    let monitor = Progress::default();
    monitor
        .cancelled
        .store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(run(&[experiment], QUIET, &monitor), Ok(None));
}

#[test]
fn timing_is_left_out_on_demand_only() {
    let config = paper_experiment(0.5, 100, 1, OpbConfig::default());
    let experiment = config.check("x").expect("valid");
    let timed = traces(&experiment, 0, 0..1, Options::default());
    assert!(timed[0].summary.nanoseconds_per_round.is_some());
    let quiet = traces(&experiment, 0, 0..1, QUIET);
    assert_eq!(quiet[0].summary.nanoseconds_per_round, None);
}

/// Deliberately pinned digits: a change here means that published results can no longer be
/// reproduced from their seeds. Explain it in the changelog.
#[test]
fn pinned_whole_runs_do_not_change_unnoticed() {
    let usual = simulate(paper_experiment(0.2, 5000, 2, OpbConfig::default()));
    let least = simulate(paper_experiment(
        0.5,
        5000,
        2,
        OpbConfig {
            optimism: Optimism::Least,
            ..OpbConfig::default()
        },
    ));
    let paper = simulate(paper_experiment(1.0, 5000, 2, OpbConfig::paper(5000)));
    let found: Vec<(f64, Vec<u64>)> = [usual, least, paper]
        .iter()
        .flat_map(|agent| agent.runs.iter().map(|r| (r.regret, r.pulls.clone())))
        .collect();
    for ((regret, pulls), (expected, expected_pulls)) in found.iter().zip(PINNED) {
        assert_eq!(pulls[..], expected_pulls, "{found:?}");
        assert!((regret - expected).abs() < 1e-5, "{found:?}");
    }
}

/// Regret and pulls of runs 0 and 1 of three agents (pinned).
const PINNED: [(f64, [u64; 4]); 6] = [
    (594.2045253934865, [992, 20, 15, 3973]),
    (768.0565392649199, [1271, 17, 11, 3701]),
    (19.129811112424044, [23, 8, 8, 4961]),
    (10.92458254655247, [7, 5, 8, 4980]),
    (701.4140842583888, [353, 454, 881, 3312]),
    (686.5005669762052, [357, 463, 795, 3385]),
];
