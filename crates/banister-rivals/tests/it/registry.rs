//! The registry: every kind of agent behind one interface, one restore and one schema; grids of constants.

use banister::{Agent, Guardrail, Opb, OpbConfig, Problem, Registry as _, Round, SignalConfig};
use banister_rivals::AgentConfig;
use serde_json::{Value, json};

use crate::common;
use crate::common::player::Inspect as _;

fn guardrails() -> Vec<Guardrail> {
    vec![
        Guardrail {
            name: "spend".into(),
            at_most: Some(6.0),
            safe_cost: Some(1.0),
            signal: SignalConfig {
                range: Some([0.0, 10.0].into()),
                ..SignalConfig::default()
            },
            ..Default::default()
        },
        Guardrail {
            name: "happiness".into(),
            at_least: Some(0.3),
            safe_cost: Some(0.8),
            ..Default::default()
        },
    ]
}

/// A problem of the setting that a kind is for.
fn problem(config: &AgentConfig) -> Problem {
    // Parts of actions, beside x_0 = 0.
    let scaled = config.plays_parts();
    Problem {
        arms: vec!["control".into(), "bold".into(), "bolder".into()],
        safe: 0,
        features: if config.takes_features() {
            let safe = if scaled { 0.0 } else { 1.0 };
            vec![vec![safe, 0.0], vec![0.6, 0.8], vec![0.8, 0.6]]
        } else {
            vec![]
        },
        reward: SignalConfig {
            range: Some([0.0, 100.0].into()),
            ..Default::default()
        },
        guardrails: if scaled {
            vec![Guardrail {
                safe_cost: Some(0.0),
                ..guardrails().remove(0)
            }]
        } else {
            guardrails()
        },
        ..Problem::default()
    }
}

/// Every kind there is, by the schema, so that a new one is tested without being listed.
fn kinds() -> Vec<AgentConfig> {
    let schema = AgentConfig::schema();
    let variants = schema["oneOf"].as_array().expect("a list of kinds");
    let kind = |variant: &Value| json!({ "kind": variant["properties"]["kind"]["const"] });
    let configs: Vec<AgentConfig> = variants
        .iter()
        .map(|variant| serde_json::from_value(kind(variant)).expect("defaults suffice"))
        .map(|config: AgentConfig| config.with_horizon(1000, false).with_parameter_norm(2.0))
        .collect();
    assert!(configs.len() >= 2);
    configs
}

fn each(check: impl Fn(&AgentConfig, &Problem, Box<dyn Agent>)) {
    for config in kinds() {
        let problem = problem(&config);
        let agent = config.build(&problem).expect("a plain problem");
        check(&config, &problem, agent);
    }
}

const ROUNDS: [(usize, f64, [f64; 2]); 5] = [
    (0, 50.0, [1.0, 0.9]),
    (1, 80.0, [4.0, 0.7]),
    (2, 20.0, [9.0, 0.1]),
    (1, 70.0, [3.0, 0.6]),
    (0, 40.0, [2.0, 0.8]),
];

#[test]
fn every_kind_documents_every_parameter() {
    let schema = AgentConfig::schema();
    for variant in schema["oneOf"].as_array().expect("kinds") {
        for (name, entry) in variant["properties"].as_object().expect("keys") {
            let documented = entry["description"].as_str().or(entry["const"].as_str());
            assert!(documented.is_some_and(|text| text.len() > 2), "{name}");
        }
    }
}

#[test]
fn beliefs_are_in_the_users_units_and_hold_the_mean() {
    each(|config, problem, mut agent| {
        let m = problem.guardrails.len();
        for _ in 0..20 {
            for (arm, reward, costs) in ROUNDS {
                agent
                    .observe_arm(arm, reward, &costs[..m])
                    .expect("in range");
            }
        }
        let estimates = banister::estimates(&mut *agent, &Round::default());
        if estimates.is_empty() {
            return; // It does not say.
        }
        assert_eq!(estimates.len(), 3);
        for estimate in &estimates {
            assert!(estimate.offered);
            let ranges = [(0.0, 100.0), (0.0, 10.0), (0.0, 1.0)];
            let estimates = std::iter::once(&estimate.reward).chain(&estimate.costs);
            for (estimate, (lo, hi)) in estimates.zip(ranges) {
                assert!(lo <= estimate.lower && estimate.lower <= estimate.upper);
                assert!(estimate.upper <= hi);
            }
        }
        if !config.takes_features() {
            // Plain means of what was observed.
            assert_eq!(estimates[1].pulls, Some(40));
            let near = |x: Option<f64>, y: f64| assert!((x.expect("played") - y).abs() < 1e-12);
            near(estimates[1].reward.mean, 75.0);
            near(estimates[1].costs[0].mean, 3.5);
            near(estimates[1].costs[1].mean, 0.65);
            near(estimates[2].costs[1].mean, 0.1);
            let mean = estimates[0].reward.mean.expect("played");
            assert!(estimates[0].reward.lower < mean && mean < estimates[0].reward.upper);
            assert!(
                estimates[0].reward.lower > 0.0,
                "the lower end is an interval's, not the range's"
            );
        }
    });
}

/// The chapter has one row per kind, and it says what the kind promises.
#[test]
fn the_chapter_on_rivals_has_every_kind_with_its_promise() {
    let chapter = include_str!("../../../../docs/rivals.md");
    for kind in AgentConfig::kinds() {
        let config = AgentConfig::of_kind(&kind).expect("it has defaults");
        let row = format!("| `{kind}` | {} |", config.guarantee().words());
        let rows = chapter.lines().filter(|line| line.starts_with(&row));
        assert_eq!(rows.count(), 1, "{row}");
    }
}

#[test]
fn an_agent_built_by_kind_is_the_agent_itself() {
    let declared = common::problem(3, vec![common::at_most(0.5, Some(0.1))]);
    let config: AgentConfig =
        serde_json::from_str(r#"{"kind": "opb", "intervals": "paper"}"#).expect("JSON");
    let config = config.with_horizon(500, false);
    let mut boxed = config.build(&declared).expect("valid");
    let direct = OpbConfig {
        intervals: Some(banister::Intervals::Paper),
        horizon: Some(500),
        ..OpbConfig::default()
    };
    let mut plain = Opb::new(&declared, &direct).expect("valid");
    let mut random = common::Random::new(8);
    for round in 0..200 {
        let (arm, reward, costs) = (round % 3, random.unit(), [random.unit()]);
        boxed.observe_arm(arm, reward, &costs).expect("valid");
        plain.observe(arm, reward, &costs).expect("valid");
        assert_eq!(boxed.decide_arms(), plain.decide());
    }
    assert_eq!(boxed.save(), plain.save());
    // Anytime intervals need no horizon and get none.
    let anytime: AgentConfig = serde_json::from_str(r#"{"kind": "opb"}"#).expect("JSON");
    assert_eq!(anytime.clone().with_horizon(500, false), anytime);
}

#[test]
fn grids_change_the_declared_constants_and_nothing_else() {
    let mut with_grid = Vec::new();
    for kind in AgentConfig::kinds() {
        let default = AgentConfig::of_kind(&kind).expect("a kind");
        let grid = default.grid();
        if grid.is_empty() {
            continue;
        }
        let declared = |agent: &AgentConfig| serde_json::to_value(agent).expect("JSON");
        let before = declared(&default);
        let mut labels: Vec<String> = grid.iter().map(|own| own.label()).collect();
        labels.sort();
        labels.dedup();
        assert_eq!(labels.len(), grid.len(), "{kind}: labels differ");
        for point in &grid {
            assert_eq!(point.kind(), kind);
            assert_eq!(point.guarantee(), default.guarantee());
            assert_eq!(point.delta(), default.delta(), "δ is a promise");
            let after = declared(point);
            for (key, value) in after.as_object().expect("keys") {
                // Written in the label if it is another one.
                let is_named = point.label().contains(&format!(", {key} = "));
                assert!(
                    key == "label" || before.get(key) == Some(value) || is_named,
                    "{kind}: {key}"
                );
            }
        }
        with_grid.push((kind, grid.len()));
    }
    let points = |kind: &str| {
        with_grid
            .iter()
            .find(|(own, _)| own == kind)
            .map(|(_, n)| *n)
    };
    assert_eq!(points("s_colts"), Some(3));
    assert_eq!(points("pessimistic_optimistic"), Some(9));
    assert_eq!(points("ucb1"), Some(3));
    for ours in ["opb", "oplb", "segmented"] {
        assert_eq!(points(ours), None, "{ours} is never tuned");
    }
}

#[test]
fn every_point_on_arms_can_be_built() {
    let problem = Problem {
        arms: vec!["safe".into(), "bold".into()],
        guardrails: vec![Guardrail {
            name: "cost".into(),
            at_most: Some(0.3),
            safe_cost: Some(0.1),
            ..Guardrail::default()
        }],
        ..Problem::default()
    };
    for kind in AgentConfig::kinds() {
        let default = AgentConfig::of_kind(&kind).expect("a kind");
        // One that refuses this problem refuses it with every constant.
        let build = |agent: AgentConfig| agent.with_horizon(1000, false).build(&problem).is_ok();
        let fits = build(default.clone());
        for point in default.grid() {
            assert_eq!(build(point.clone()), fits, "{}", point.label());
        }
    }
}
