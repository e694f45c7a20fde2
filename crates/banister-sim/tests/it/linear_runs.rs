//! Runs of OPLB: safe in every round, the same on any number of threads, and whole from shards.

use crate::common;

use banister_sim::results::AgentResult;
use banister_sim::{ExperimentConfig, Options, Progress, coverage, run};
use common::traces;

const QUIET: Options = Options { no_timing: true };

fn parse(text: &str) -> ExperimentConfig {
    toml::from_str(text).expect("valid TOML")
}

/// A contextual experiment; `known` says whether agents are told the safe costs.
fn contextual(rounds: u64, run: &str, m: usize, known: bool, agents: &str) -> ExperimentConfig {
    let guardrails: Vec<String> = (0..m)
        .map(|i| {
            let (safe, side) = match i {
                1 => (0.7, "at_least = 0.45"),
                _ => (0.3, "at_most = 0.55"),
            };
            let told = if known {
                format!(", safe_cost = {safe}")
            } else {
                String::new()
            };
            format!(r#"{{ name = "g{i}", {side}{told} }}"#)
        })
        .collect();
    let costs: Vec<&str> = ["0.3", "0.7", "0.3"][..m].to_vec();
    parse(&format!(
        r#"
        run = {{ horizon = {rounds}, seed = 3, checkpoints = 7, {run} }}
        environment = {{ kind = "linear", d = 4, k = 6, safe_costs = [{}], instance_seed = 2 }}
        guardrail = [{}]
        agent = [{agents}]
        "#,
        costs.join(", "),
        guardrails.join(", ")
    ))
}

fn results(config: &ExperimentConfig) -> Vec<AgentResult> {
    let experiment = config.check("test").expect("valid");
    let done = run(&[experiment], QUIET, &Progress::default()).expect("valid");
    done.expect("not cancelled").instances.remove(0).agents
}

const LINEARISED: &str = r#"{ kind = "oplb", norm = 1.0 }"#;
const BOTH: &str =
    r#"{ kind = "oplb", norm = 1.0 }, { kind = "oplb", solver = "exact", norm = 1.0 }"#;

#[test]
fn no_policy_breaks_a_guardrail() {
    let exact = r#"{ kind = "oplb", solver = "exact", norm = 1.0 }"#;
    for (m, known, agent) in [
        (1, true, LINEARISED),
        (1, false, LINEARISED),
        (2, true, LINEARISED),
        (3, false, LINEARISED),
        (1, true, exact),
        (1, false, exact),
        (2, false, exact),
        (3, true, exact),
    ] {
        for run in [
            "delay = 0",
            "delay = 40",
            "batch = 25",
            "delay = 30, batch = 10",
        ] {
            // Exact OPLB takes its time where guardrails are several.
            let rounds = if m > 1 && agent == exact { 300 } else { 2500 };
            let run = format!("runs = 2, {run}");
            for summary in &results(&contextual(rounds, &run, m, known, agent))[0].runs {
                let case = format!("m = {m}, known {known}, {run}, {agent}");
                assert_eq!(summary.violations, Some(0), "{case}");
                assert!(rounds < 1000 || summary.pulls[1] > rounds / 20, "{case}");
                assert_eq!(summary.pulls.iter().sum::<u64>(), rounds);
                assert!(summary.regret > 0.0);
            }
        }
    }
}

#[test]
fn other_rules_and_optimisms_are_safe_too() {
    let agents = r#"
        { kind = "oplb", optimism = "least" },
        { kind = "oplb", optimism = "paper" },
        { kind = "oplb", radius = "paper", norm = 1.0, label = "paper radius" },
    "#;
    for agent in results(&contextual(3000, "runs = 2", 1, true, agents)) {
        assert!(
            agent.runs.iter().all(|r| r.violations == Some(0)),
            "{}",
            agent.name
        );
    }
    let rule = r#"{ kind = "oplb", unknown_safe_cost = "paper" }, { kind = "oplb", solver = "exact", unknown_safe_cost = "paper" }"#;
    for agent in results(&contextual(6000, "runs = 2", 1, false, rule)) {
        assert!(
            agent
                .runs
                .iter()
                .all(|r| r.violations == Some(0) && r.pulls[1] > 0),
            "{}",
            agent.name
        );
    }
}

#[test]
fn with_the_guarantee_voided_violations_are_counted() {
    let reckless = r#"
        { kind = "oplb", radius_scale = 0.05, label = "linearised" },
        { kind = "oplb", solver = "exact", radius_scale = 0.05, label = "exact" },
    "#;
    for agent in results(&contextual(4000, "runs = 3", 1, true, reckless)) {
        let broken: u64 = agent.runs.iter().filter_map(|r| r.violations).sum();
        assert!(broken > 100, "{}: {broken}", agent.name);
        assert!(agent.runs.iter().any(|r| r.worst_exceedance > 1e-3));
    }
}

#[test]
fn results_depend_neither_on_threads_nor_on_shards() {
    let configs = [
        contextual(200, "runs = 4", 2, true, BOTH),
        contextual(800, "runs = 4, delay = 20, batch = 3", 1, false, BOTH),
    ];
    let experiments = configs.map(|c| c.check("busy").expect("valid"));
    let on_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().expect("a pool");
        pool.install(|| run(&experiments, QUIET, &Progress::default()).expect("valid"))
    };
    let one = on_threads(1).expect("not cancelled");
    assert_eq!(Some(&one), on_threads(3).as_ref());
    for (experiment, instance) in experiments.iter().zip(&one.instances) {
        assert_eq!(instance.arms, ["safe action", "other actions"]);
        assert!(instance.optimum.averaged && instance.optimum.policy.is_empty());
        for (a, agent) in instance.agents.iter().enumerate() {
            let head = traces(experiment, a, 0..1, QUIET);
            let tail = traces(experiment, a, 1..4, QUIET);
            let mut best = 0.0;
            for (trace, summary) in head.iter().chain(&tail).zip(&agent.runs) {
                assert_eq!(&trace.summary, summary);
                best += trace.optimum.as_ref().expect("an average").0 / 4.0;
            }
            // All agents meet the same actions, hence the same optima.
            assert!((best - instance.optimum.reward).abs() < 1e-12);
        }
    }
}

/// With one linearised guardrail no policies tie; that of others is worth the same is a law of agents (`agent_laws`).
#[test]
fn a_set_offered_anew_each_round_is_played_like_a_fixed_one() {
    let folder = std::env::temp_dir().join(format!("banister-same-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let csv = "a,b,c\n0.2,0.9,-0.3\n-0.5,0.1,0.7\n1.0,0.0,0.2\n0.4,-0.6,0.5\n-0.1,-0.2,-0.9\n";
    std::fs::write(folder.join("f.csv"), csv).expect("written");
    for run in ["runs = 2", "runs = 2, delay = 15"] {
        // Later a policy for actions that stay may stay too.
        let rounds = 200;
        let mut offered = contextual(rounds, run, 1, true, LINEARISED);
        let environment = "kind = 'logged'\npath = 'f.csv'\nk = 5\nsafe_costs = [0.3]";
        offered.environment = toml::from_str(environment).expect("valid TOML");
        let offered = offered.check_in("offered", &folder).expect("valid");
        let changing = offered.environment().as_changing().expect("changing");
        let mut rows = Vec::new();
        changing.draw(0, &mut common::any_stream(), &mut rows);
        rows.extend_from_slice(changing.safe_action());
        let actions: Vec<Vec<f64>> = rows.chunks(4).map(<[f64]>::to_vec).collect();
        let mut fixed = contextual(rounds, run, 1, true, LINEARISED);
        fixed.environment = toml::from_str(&format!(
            "kind = 'linear'\nactions = {actions:?}\nsafe = 5\ntheta = {:?}\nmu = {:?}",
            changing.parameters()[0],
            &changing.parameters()[1..]
        ))
        .expect("valid TOML");
        let fixed = fixed.check("fixed").expect("valid");
        let anew = traces(&offered, 0, 0..2, QUIET);
        let still = traces(&fixed, 0, 0..2, QUIET);
        for (a, b) in anew.iter().zip(&still) {
            let (a, b) = (&a.summary, &b.summary);
            assert!(
                (a.regret - b.regret).abs() < 1e-6 * b.regret,
                "{run}: {} and {}",
                a.regret,
                b.regret
            );
            assert_eq!(a.pulls, [b.pulls[5], b.pulls[..5].iter().sum()]);
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn arms_can_be_played_as_unit_vectors_at_a_price() {
    let config = parse(
        r#"
        run = { horizon = 20000, runs = 3, checkpoints = 5 }
        environment = { kind = "bernoulli", rewards = [0.2, 0.7, 0.5, 0.5, 0.4], costs = [[0.1, 0.3, 0.3, 0.9, 0.3]] }
        guardrail = [{ name = "cost", at_most = 0.6, safe_cost = 0.1 }]
        agent = [{ kind = "opb", intervals = "subgaussian" }, { kind = "oplb" }]
        "#,
    );
    let agents = results(&config);
    for agent in &agents {
        assert!(
            agent.runs.iter().all(|r| r.violations == Some(0)),
            "{}",
            agent.name
        );
        assert!(agent.runs.iter().all(|r| r.regret > 0.0));
    }
    let regret = |a: usize| agents[a].runs.iter().map(|r| r.regret).sum::<f64>();
    assert!(regret(0) < regret(1), "{} and {}", regret(0), regret(1));
}

#[test]
fn confidence_sets_hold_as_often_as_they_say() {
    let agents = r#"
        { kind = "oplb", norm = 1.0, delta = 0.05, optimism_delta = 0.05 },
        { kind = "oplb", norm = 1.0, delta = 0.05, optimism_delta = 0.05, radius = "logdet" },
        { kind = "oplb", norm = 1.0, delta = 0.05, optimism_delta = 0.05, radius = "paper" },
        { kind = "oplb", norm = 1.0, delta = 0.05, optimism_delta = 0.05, radius_scale = 0.1, label = "voided" },
    "#;
    let experiment = contextual(400, "runs = 40", 2, true, agents)
        .check("cover")
        .expect("valid");
    let monitor = Progress::default();
    let watch = |agent: usize| {
        coverage(&experiment, agent, &monitor)
            .expect("oplb")
            .expect("not cancelled")
    };
    let (multiscale, logdet, paper, voided) = (watch(0), watch(1), watch(2), watch(3));
    for held in [&multiscale, &logdet, &paper] {
        assert_eq!(held.runs, 40);
        // δ = 0.1 allows four of 40; five more standard deviations are chance.
        assert!(held.left <= 13, "{held:?}");
        assert!(
            held.mean_largest.iter().all(|r| *r > 0.05 && *r < 1.0),
            "{held:?}"
        );
        assert!(held.left_by_signal.iter().all(|n| *n <= held.left));
    }
    // In four dimensions the paper's radius is the wider one.
    for s in 0..3 {
        assert!(paper.mean_largest[s] < logdet.mean_largest[s]);
    }
    assert!(voided.left > 30, "{voided:?}");
    let rounds = monitor.rounds.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(rounds, 4 * 40 * 400);
    // Only OPLB has such sets.
    let arms = common::paper_experiment(0.5, 10, 1, Default::default());
    assert!(coverage(&arms.check("arms").expect("valid"), 0, &monitor).is_err());
}

#[test]
fn the_work_of_all_runs_is_what_the_monitor_counts() {
    for config in [
        contextual(300, "runs = 2", 1, true, BOTH),
        common::paper_experiment(0.5, 500, 2, Default::default()),
    ] {
        let experiment = config.check("work").expect("valid");
        let monitor = Progress::default();
        run(std::slice::from_ref(&experiment), QUIET, &monitor).expect("valid");
        let seen =
            |count: &std::sync::atomic::AtomicU64| count.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(seen(&monitor.rounds), experiment.total_rounds());
        assert_eq!(seen(&monitor.work), experiment.total_work());
    }
}
