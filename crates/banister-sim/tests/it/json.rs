//! Experiments from JSON are those from TOML.

use std::path::Path;

use banister_sim::ExperimentConfig;

const TOML: &str = r#"
    name = "both"
    run = { horizon = 300, runs = 2, seed = 5 }
    reward = { range = [0.0, 2.0] }
    [environment]
    kind = "linear"
    actions = [[1.0, 0.0], [0.5, 0.5]]
    theta = [0.25, 0.5]
    mu = [[0.25, 0.75]]
    safe = "calm"
    arms = ["calm", "bold"]
    [[guardrail]]
    name = "spend"
    at_most = 0.6
    safe_cost = 0.25
    [[agent]]
    kind = "oplb"
    solver = "exact"
    [[agent]]
    kind = "opb"
    label = "arms"
    intervals = "kl"
"#;

#[test]
fn an_experiment_is_the_same_from_either() {
    let mut from_toml: ExperimentConfig = toml::from_str(TOML).expect("valid TOML");
    // Larger than TOML can say.
    from_toml.run.seed = u64::MAX;
    let json = serde_json::to_string(&from_toml).expect("JSON");
    let from_json: ExperimentConfig = serde_json::from_str(&json).expect("valid JSON");
    assert_eq!(from_json, from_toml);
    let experiment = from_json.check("unnamed").expect("valid");
    assert_eq!(experiment.name, "both");
    assert_eq!(experiment.problem().arms, ["calm", "bold"]);
    // As resolved it can be read back, too.
    let resolved = serde_json::to_string(&experiment.resolved).expect("JSON");
    let again: ExperimentConfig = serde_json::from_str(&resolved).expect("valid JSON");
    let again = again.check("unnamed").expect("valid");
    assert_eq!(again.resolved, experiment.resolved);
}

#[test]
fn files_are_looked_for_in_the_folder_given() {
    let folder = std::env::temp_dir().join(format!("banister-json-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("f.csv"), "a,b\n1,2\n0.5,0\n2,1\n0,1\n").expect("written");
    let json = r#"{
        "run": {"horizon": 50, "runs": 1},
        "environment": {"kind": "logged", "path": "f.csv", "k": 2},
        "guardrail": [{"name": "cost", "at_most": 0.6, "safe_cost": 0.4}],
        "agent": [{"kind": "oplb"}]
    }"#;
    let config: ExperimentConfig = serde_json::from_str(json).expect("valid JSON");
    let found = config.check_in("logged", &folder);
    let lost = config.check_in("logged", Path::new("no/such/folder"));
    let _ = std::fs::remove_dir_all(&folder);
    assert_eq!(found.expect("valid").name, "logged");
    assert!(lost.is_err());
}

#[test]
fn unknown_keys_and_custom_kinds_are_refused() {
    for json in [
        r#"{"environment": {"kind": "bernoulli"}, "agnet": []}"#,
        r#"{"environment": {"kind": "custom"}}"#,
        r#"{"environment": {"kind": "bernoulli"}, "agent": [{"kind": "opb", "dleta": 0.1}]}"#,
    ] {
        let config: Result<ExperimentConfig, _> = serde_json::from_str(json);
        assert!(config.is_err(), "{json}");
    }
}
