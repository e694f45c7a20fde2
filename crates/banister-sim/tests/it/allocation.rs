//! Rounds allocate nothing: a run ten times as long asks the allocator for no more.

use crate::counting;

use banister_sim::{ExperimentConfig, Options, Progress, run_shard};

/// Allocations of one run with `k` arms, `m` guardrails and the given agent.
fn allocations(k: usize, m: usize, horizon: u64, agent: &str) -> u64 {
    let rewards: Vec<f64> = (0..k).map(|a| 0.1 + 0.8 * a as f64 / k as f64).collect();
    let costs: Vec<f64> = (0..k)
        .map(|a| 0.05 + 0.5 * (a * 7 % k) as f64 / k as f64)
        .collect();
    let guardrails: Vec<String> = (0..m)
        .map(|i| format!(r#"{{ name = "g{i}", at_most = 0.3, safe_cost = 0.05 }}"#))
        .collect();
    let text = format!(
        r#"
        run = {{ horizon = {horizon}, runs = 1, checkpoints = 10 }}
        environment = {{ kind = "bernoulli", rewards = {rewards:?}, costs = {:?} }}
        guardrail = [{}]
        agent = [{agent}]
        "#,
        vec![costs; m],
        guardrails.join(", "),
    );
    allocations_of(&text)
}

/// Allocations of one run of the first agent.
fn allocations_of(text: &str) -> u64 {
    let config: ExperimentConfig = toml::from_str(text).expect("an experiment");
    let experiment = config.check("allocation").expect("a valid experiment");
    let before = counting::allocations();
    let monitor = Progress::default();
    run_shard(&experiment, 0, 0..1, Options::default(), &monitor).expect("a run");
    counting::allocations() - before
}

#[test]
fn a_longer_linear_run_allocates_no_more() {
    for solver in ["linearised", "exact"] {
        for (actions, m) in [("contextual", 1), ("contextual", 2), ("fixed", 1)] {
            let count = |horizon: u64| {
                let guardrails: Vec<String> = (0..m)
                    .map(|i| format!(r#"{{ name = "g{i}", at_most = 0.5, safe_cost = 0.3 }}"#))
                    .collect();
                allocations_of(&format!(
                    r#"
                    run = {{ horizon = {horizon}, runs = 1, checkpoints = 10 }}
                    environment = {{ kind = "linear", d = 5, k = 12, actions = "{actions}" }}
                    guardrail = [{}]
                    agent = [{{ kind = "oplb", solver = "{solver}" }}]
                    "#,
                    guardrails.join(", ")
                ))
            };
            let (short, long) = (count(400), count(4_000));
            assert!(
                long <= short + 8,
                "{solver}, {actions}, m = {m}: {short} then {long}"
            );
        }
    }
}

#[test]
fn a_longer_run_allocates_no_more() {
    let agents = [
        r#"{ kind = "opb" }"#,
        r#"{ kind = "opb", intervals = "paper", optimism = "paper" }"#,
        r#"{ kind = "opb", intervals = "kl", optimism = "least" }"#,
        r#"{ kind = "opb", intervals = "mixture", optimism = "least" }"#,
    ];
    for agent in agents {
        for (k, m) in [(4, 1), (4, 3), (40, 2), (700, 1)] {
            let (short, long) = (
                allocations(k, m, 2_000, agent),
                allocations(k, m, 20_000, agent),
            );
            // Buffers still grow to their largest size early on; ten times the rounds may cost a
            // few such steps more, never one per round.
            assert!(
                long <= short + 8,
                "{agent}, K = {k}, m = {m}: {short} then {long}"
            );
        }
    }
}
