//! Segments: truths against brute force, the promise on the routing table, and errors that name the key.

use banister_sim::results::InstanceResult;
use banister_sim::{Experiment, ExperimentConfig, Options, Progress, run};
use serde_json::{Value, json};

fn experiment(declared: Value) -> Result<Experiment, banister::Error> {
    let config: ExperimentConfig = serde_json::from_value(declared).expect("an experiment");
    config.check("segments")
}

fn result(declared: Value) -> InstanceResult {
    let experiment = experiment(declared).expect("a good one");
    let results = run(&[experiment], Options::default(), &Progress::default());
    let mut results = results.expect("a run").expect("not cancelled");
    results.instances.remove(0)
}

/// Two segments, two arms beside the safe one; scopes of one guardrail.
fn declared(scope: &str) -> Value {
    json!({
        "run": {"horizon": 4000, "runs": 3, "checkpoints": 4, "seed": 5},
        "environment": {
            "kind": "segmented",
            "frequencies": [0.75, 0.25],
            "rewards": [[0.1, 0.6, 0.9], [0.2, 0.5, 0.8]],
            "costs": [[[0.05, 0.2, 0.5], [0.1, 0.3, 0.4]]],
        },
        "guardrail": [{"name": "c", "at_most": 0.3, "scope": scope}],
        "agent": [{"kind": "segmented"}, {"kind": "opb"}, {"kind": "always", "arm": "arm 2"}],
    })
}

/// The best table by trying all of them on a grid.
fn by_grid(scope: &str) -> f64 {
    let (p, r) = ([0.75, 0.25], [[0.1, 0.6, 0.9], [0.2, 0.5, 0.8]]);
    let c = [[0.05, 0.2, 0.5], [0.1, 0.3, 0.4]];
    let steps = 60;
    let mut policies = Vec::new();
    for i in 0..=steps {
        for j in 0..=steps - i {
            let parts = [i, j, steps - i - j];
            policies.push(parts.map(|x| x as f64 / steps as f64));
        }
    }
    let dot = |policy: &[f64; 3], means: &[f64; 3]| -> f64 {
        policy.iter().zip(means).map(|(a, b)| a * b).sum()
    };
    let points = |s: usize| -> Vec<(f64, f64)> {
        let each = policies.iter();
        each.map(|x| (dot(x, &r[s]), dot(x, &c[s]))).collect()
    };
    let (first, second) = (points(0), points(1));
    let mut best = 0.0_f64;
    for a in &first {
        for b in &second {
            let kept = match scope {
                "each" => a.1 <= 0.3 + 1e-9 && b.1 <= 0.3 + 1e-9,
                _ => p[0] * a.1 + p[1] * b.1 <= 0.3 + 1e-9,
            };
            if kept {
                best = best.max(p[0] * a.0 + p[1] * b.0);
            }
        }
    }
    best
}

#[test]
fn the_best_table_is_the_best() {
    for scope in ["overall", "each"] {
        let found = experiment(declared(scope))
            .expect("a good one")
            .optimum()
            .reward;
        let grid = by_grid(scope);
        assert!(
            found >= grid - 1e-9 && found <= grid + 0.01,
            "{scope}: {found} {grid}"
        );
    }
}

#[test]
fn tables_are_judged_before_the_segment_is_known() {
    for scope in ["overall", "each"] {
        let result = result(declared(scope));
        for agent in &result.agents {
            for run in &agent.runs {
                let violations = run.violations.expect("means are known");
                match agent.name.as_str() {
                    // 0.5 in one segment, 0.4 in the other: beyond 0.3 however it is judged.
                    "always (arm 2)" | "always arm 2" => assert_eq!(violations, 4000),
                    "segmented" => assert_eq!(violations, 0, "{scope}"),
                    _ => {}
                }
                assert!(
                    run.regret > 0.0 || agent.name.starts_with("always"),
                    "{}",
                    agent.name
                );
            }
        }
    }
}

#[test]
fn late_outcomes_keep_the_promise() {
    let mut late = declared("overall");
    late["run"]["delay"] = json!(50);
    let result = result(late);
    assert!(
        result.agents[0]
            .runs
            .iter()
            .all(|run| run.violations == Some(0))
    );
}

/// Nine sources of prompts under three hundredths of a cent each; the best policy that ignores them has 0.865.
#[test]
fn routing_with_sources_beats_what_ignores_them() {
    let result = result(json!({
        "run": {"horizon": 36090, "runs": 1, "checkpoints": 10, "seed": 7},
        "environment": {
            "kind": "table",
            "path": "banister:routing",
            "arms": ["llama", "mistral", "gemini"],
            "rewards": ["llama_reward", "mistral_reward", "gemini_reward"],
            "costs": [["llama_cost", "mistral_cost", "gemini_cost"]],
            "segment": "class",
        },
        "guardrail": [{
            "name": "dollars",
            "at_most": 3e-4,
            "range": {"llama": [0, 4.5e-4], "mistral": [0, 6.5e-3], "gemini": [0, 0.17]},
        }],
        "agent": [{"kind": "segmented"}],
    }));
    let run = &result.agents[0].runs[0];
    assert_eq!(run.violations, Some(0));
    assert!(run.reward_end >= 0.885, "{}", run.reward_end);
    assert!(run.regret > 0.0 && result.optimum.reward > 0.89);
}

#[test]
fn the_limit_of_one_segment_is_that_of_its_arms() {
    let arms = json!({
        "run": {"horizon": 50_000, "runs": 1},
        "environment": {"kind": "bernoulli", "rewards": [0.1, 0.6, 0.9], "costs": [[0.05, 0.2, 0.5]]},
        "guardrail": [{"name": "c", "at_most": 0.3}],
        "agent": [{"kind": "opb"}],
    });
    let mut one = arms.clone();
    one["environment"] = json!({
        "kind": "segmented", "rewards": [[0.1, 0.6, 0.9]], "costs": [[[0.05, 0.2, 0.5]]],
    });
    let limit = |declared: Value| {
        experiment(declared)
            .expect("a good one")
            .limit(0.01)
            .expect("known")
    };
    let (found, expected) = (limit(one), limit(arms.clone()));
    assert!(
        (found - expected).abs() < 1e-3 * expected,
        "{found} {expected}"
    );
    // Two halves that are alike know half as much each.
    let mut two = arms;
    two["environment"] = json!({
        "kind": "segmented",
        "rewards": [[0.1, 0.6, 0.9], [0.1, 0.6, 0.9]],
        "costs": [[[0.05, 0.2, 0.5], [0.05, 0.2, 0.5]]],
    });
    let ratio = limit(two) / expected;
    assert!((1.3..1.5).contains(&ratio), "{ratio}");
}

#[test]
fn what_cannot_be_is_refused() {
    let cases: [(&str, Value, &str); 6] = [
        ("frequencies", json!([0.5, 0.6]), "environment.frequencies"),
        ("frequencies", json!([1.0]), "environment.frequencies"),
        ("rewards", json!([[0.1, 0.6, 0.9]]), "environment.costs[0]"),
        ("costs", json!([]), "environment.costs"),
        ("segments", json!(["a", "a"]), "segments[1]"),
        (
            "costs",
            json!([[[0.05, 0.2, 1.5], [0.1, 0.3, 0.4]]]),
            "environment.costs[0][0]",
        ),
    ];
    for (key, value, field) in cases {
        let mut bad = declared("overall");
        bad["environment"][key] = value;
        let error = experiment(bad).expect_err(key).to_string();
        assert!(error.contains(field), "{key}: {error}");
    }
    // Safe on average, not in the second segment.
    let mut bad = declared("each");
    bad["environment"]["costs"][0][1][0] = json!(0.35);
    let error = experiment(bad.clone()).expect_err("unsafe").to_string();
    assert!(error.contains("segment 1"), "{error}");
    bad["guardrail"][0]["scope"] = json!("overall");
    assert!(experiment(bad).is_ok());
    let mut bad = declared("overall");
    bad["guardrail"][0]["safe_cost"] = json!(0.0625);
    let error = experiment(bad).expect_err("it differs").to_string();
    assert!(error.contains("safe_cost"), "{error}");
}
