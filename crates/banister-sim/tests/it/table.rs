//! Tables of requests: means, orders and windows against the table itself, and errors that name the cell.

use crate::bench::{refused, rows};
use std::path::Path;

use banister_sim::results::{InstanceResult, Measured};
use banister_sim::{Experiment, ExperimentConfig, Options, Progress, TableConfig, run};
use serde_json::{Value, json};

/// 250 requests: arm `a` costs nothing, `b` and `c` cost 0.2 and 0.5 on average.
fn requests() -> Vec<[f64; 6]> {
    let mut random = 1_u64;
    let mut unit = move || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 40) as f64 / (1_u64 << 24) as f64
    };
    let mut row = || {
        let x = unit();
        [0.2, 0.4 + 0.4 * x, unit(), 0.0, 0.4 * x, unit()]
    };
    (0..250).map(|_| row()).collect()
}

const NAMES: [&str; 6] = ["ra", "rb", "rc", "ca", "cb", "cc"];

fn column(place: usize) -> Vec<f64> {
    requests().iter().map(|row| row[place]).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn declared() -> Value {
    let data: serde_json::Map<String, Value> = (NAMES.iter().enumerate())
        .map(|(place, name)| (name.to_string(), json!(column(place))))
        .collect();
    json!({
        "run": {"horizon": 250, "runs": 4, "checkpoints": 5},
        "environment": {
            "kind": "table", "data": data, "arms": ["a", "b", "c"],
            "rewards": ["ra", "rb", "rc"], "costs": [["ca", "cb", "cc"]], "order": "shuffled",
        },
        "guardrail": [{"name": "spend", "at_most": 0.15, "safe_cost": 0.0}],
        "agent": [{"kind": "always", "arm": "b"}],
    })
}

fn check(value: Value) -> Result<Experiment, banister::Error> {
    let config: ExperimentConfig = serde_json::from_value(value).expect("known keys");
    config.check_in("table", Path::new(env!("CARGO_TARGET_TMPDIR")))
}

fn play(value: Value) -> InstanceResult {
    let experiment = check(value).expect("valid");
    let options = Options { no_timing: true };
    let results = run(&[experiment], options, &Progress::default()).expect("valid");
    results.expect("not cancelled").instances.remove(0)
}

fn measured(instance: &InstanceResult, run: usize) -> &Measured {
    instance.agents[0].runs[run]
        .measured
        .as_ref()
        .expect("a table")
}

#[test]
fn means_are_the_tables_and_a_whole_table_has_them() {
    let instance = play(declared());
    let (ra, rb, cb) = (mean(&column(0)), mean(&column(1)), mean(&column(4)));
    // The best policy is a mixture of `a`, which is free, and `b`: `c` earns less per unit of cost.
    let share = 0.15 / cb;
    let best = share * rb + (1.0 - share) * ra;
    assert!((instance.optimum.reward - best).abs() < 1e-12);
    for run in 0..4 {
        let own = measured(&instance, run);
        assert!((own.reward - rb).abs() < 1e-12 && (own.costs[0] - cb).abs() < 1e-12);
        assert!((own.gain - (rb - ra) / (best - ra)).abs() < 1e-9);
        assert_eq!(instance.agents[0].runs[run].violations, Some(250));
        assert!((instance.agents[0].runs[run].regret - 250.0 * (best - rb)).abs() < 1e-9);
        assert_eq!(own.rounds_to_90, Some(100));
    }
}

#[test]
fn windows_are_those_of_the_rows_in_their_order() {
    let mut value = declared();
    value["environment"]["order"] = json!("as_is");
    value["guardrail"][0]["at_most"] = json!(0.2);
    value["run"]["runs"] = json!(1);
    let instance = play(value);
    let costs = column(4);
    let beyond = costs.chunks_exact(100).filter(|window| mean(window) > 0.2);
    let own = measured(&instance, 0);
    assert_eq!(own.beyond[0][0], beyond.count() as f64 / 2.0);
    assert!(own.beyond[0][1].is_nan());
}

#[test]
fn files_and_frames_give_the_same_results() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut csv = NAMES.join(",") + "\n";
    for row in requests() {
        csv += &(row.map(|x| x.to_string()).join(",") + "\n");
    }
    std::fs::write(folder.join("requests.csv"), csv).expect("written");
    let mut value = declared();
    let frame = play(value.clone());
    let table = value["environment"].as_object_mut().expect("a table");
    table.remove("data");
    table.insert("path".into(), json!("requests.csv"));
    // As text: shares of windows that there are none of are NaN.
    assert_eq!(format!("{:?}", play(value)), format!("{frame:?}"));
}

#[test]
fn orders() {
    let order = |declared: Value, horizon: u64, run: u64| {
        let config: TableConfig = serde_json::from_value(declared).expect("known keys");
        config.order(250, horizon, 7, run).expect("valid")
    };
    let all: Vec<usize> = (0..250).collect();
    let sorted = |rows: &[usize]| {
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        rows
    };
    let (logged, played) = order(json!({"order": "shuffled"}), 250, 0);
    assert!(logged.is_empty() && played != all && sorted(&played) == all);
    assert_ne!(order(json!({"order": "shuffled"}), 250, 1).1, played);
    assert_eq!(order(json!({"order": "as_is"}), 250, 3).1, all);
    let (logged, played) = order(json!({"order": "as_is", "log": 0.4}), 150, 0);
    assert!(logged.len() == 100 && played.is_sorted());
    assert_eq!(sorted(&[logged, played].concat()), all);
    // With replacement every row comes as often as any other: χ² with 249 degrees of freedom.
    let (_, played) = order(json!({}), 100_000, 0);
    let mut counts = [0_f64; 250];
    played.iter().for_each(|&row| counts[row] += 1.0);
    let chi: f64 = counts.iter().map(|n| (n - 400.0).powi(2) / 400.0).sum();
    assert!((160.0..350.0).contains(&chi), "{chi}");
}

#[test]
fn a_log_teaches_and_raises_no_alarm() {
    let mut value = declared();
    value["agent"] = json!([{"kind": "opb"}]);
    value["run"]["horizon"] = json!(125);
    let cold = play(value.clone());
    value["environment"]["log"] = json!(0.5);
    let warm = play(value);
    for run in 0..4 {
        let summary = &warm.agents[0].runs[run];
        assert_eq!((summary.violations, summary.first_alarm), (Some(0), None));
        assert!(measured(&warm, run).gain > measured(&cold, run).gain + 0.2);
    }
}

#[test]
fn contexts_are_for_linear_agents_and_judged_by_what_was_drawn() {
    let mut value = declared();
    value["environment"]["features"] = json!(["cb"]);
    value["agent"] = json!([{"kind": "oplb", "parameter_norm": 4.0}]);
    value["guardrail"][0]["at_most"] = json!(0.45);
    let instance = play(value.clone());
    let summary = &instance.agents[0].runs[0];
    assert!(summary.regret.is_nan() && summary.violations.is_none());
    let own = measured(&instance, 0);
    assert!(own.reward > 0.1 && own.costs[0] < 0.45 && own.gain.is_nan());
    value["environment"]["log"] = json!(0.5);
    value["run"]["horizon"] = json!(125);
    play(value.clone());
    value["agent"] = json!([{"kind": "opb"}]);
    let error = check(value).expect_err("an agent on arms").to_string();
    assert!(
        error.contains("other actions come in every round"),
        "{error}"
    );
}

#[test]
fn columns_with_the_sign_changed() {
    let mut value = declared();
    value["environment"]["rewards"] = json!(["-ca", "-cb", "-cc"]);
    value["reward"] = json!({"range": [-1.0, 0.0]});
    let instance = play(value);
    assert!((measured(&instance, 0).reward + mean(&column(4))).abs() < 1e-12);
}

#[test]
fn errors_name_the_cell_or_the_key() {
    // A key of the environment, or of all; its new value, or none; and words of the message.
    let table = r#"
        data/cb/16    | 1.5            | row 17 & column `cb` & 1.5 & [0, 1] & environment.costs[0][1]
        data/cb/16    | "dear"         | row 17 & column `cb` & dear & finite
        data/cb/16    | "inf"          | row 17 & column `cb` & finite
        data/cb       | [0.5]          | environment.data.cb & 1 row & 250
        rewards/1     | "rx"           | environment.rewards[1] & rx & no such column
        costs         | []             | environment.costs & 0 lists & expected 1
        costs/0       | ["ca"]         | environment.costs[0] & 1 column & expected 3
        arms          | ["a", "b"]     | environment.arms & expected 3
        ../run/horizon | 251           | run.horizon & 251 & 250
        log           | 1.0            | environment.log & less than 1
        segment       | "kind"         | environment.segment & no such column
        features      | []             | environment.features & empty
        path          | "x.csv"        | environment.path & not both
        safe          | "z"            | z
        data          |                | environment.path & absent
    "#;
    for (cells, words) in rows(table) {
        let mut value = declared();
        let (key, new) = (cells[0], cells[1]);
        let (place, key) = match key.strip_prefix("../run/") {
            Some(key) => (&mut value["run"], key),
            None => (&mut value["environment"], key),
        };
        match (new, serde_json::from_str::<Value>(new)) {
            ("", _) => drop(place.as_object_mut().expect("a table").remove(key)),
            (_, new) if key.contains('/') => {
                let place = place.pointer_mut(&format!("/{key}"));
                *place.expect("a path") = new.expect("JSON");
            }
            (_, new) => place[key] = new.expect("JSON"),
        }
        refused(check(value), &words, cells[0]);
    }
}

/// Declarations of the suite are true of the requests that come with the program.
#[test]
fn the_requests_to_language_models_are_as_declared() {
    let suite = banister_sim::compare::Suite::named("routing", 1).expect("a suite");
    assert_eq!(suite.entries.len(), 23);
    for entry in suite.entries {
        // Ranges hold for every cell, safe costs are the means, and every run has its rows.
        let mut config = entry.experiment;
        config.agent.truncate(1);
        config.check("routing").expect("valid");
    }
}
