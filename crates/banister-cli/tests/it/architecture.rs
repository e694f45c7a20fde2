//! Who may import whom, kept by a look at `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("cargo prints JSON")
}

/// Package name by id, and the names each package depends on outside its tests and build scripts.
fn dependencies(metadata: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let text = |value: &Value| value.as_str().expect("a string").to_string();
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let names: BTreeMap<String, String> = list(&metadata["packages"])
        .iter()
        .map(|p| (text(&p["id"]), text(&p["name"])))
        .collect();
    let is_normal = |dep: &Value| {
        list(&dep["dep_kinds"])
            .iter()
            .any(|kind| kind["kind"].is_null())
    };
    list(&metadata["resolve"]["nodes"])
        .iter()
        .map(|node| {
            let deps = list(&node["deps"]);
            let normal = deps
                .iter()
                .filter(|d| is_normal(d))
                .map(|d| names[&text(&d["pkg"])].clone());
            (names[&text(&node["id"])].clone(), normal.collect())
        })
        .collect()
}

fn closure<'a>(graph: &'a BTreeMap<String, BTreeSet<String>>, from: &'a str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        for dependency in graph.get(name).into_iter().flatten() {
            if seen.insert(dependency.as_str()) {
                open.push(dependency);
            }
        }
    }
    seen
}

#[test]
fn arrows_between_our_crates_point_down() {
    let graph = dependencies(&metadata());
    let allowed: [(&str, &[&str]); 11] = [
        ("banister-solve", &[]),
        ("banister", &["banister-solve"]),
        ("banister-sim", &["banister", "banister-table"]),
        ("banister-table", &[]),
        ("banister-report", &["banister-sim", "banister-table"]),
        ("banister-offline", &["banister"]),
        ("banister-engine", &["banister"]),
        (
            "banister-service",
            &["banister", "banister-engine", "banister-table"],
        ),
        (
            "banister-cli",
            &[
                "banister-engine",
                "banister-service",
                "banister-solve",
                "banister",
                "banister-sim",
                "banister-report",
            ],
        ),
        (
            "banister-py",
            &[
                "banister",
                "banister-sim",
                "banister-offline",
                "banister-report",
                "banister-cli",
            ],
        ),
        ("xtask", &[]),
    ];
    let ours: BTreeSet<&str> = allowed.iter().map(|(name, _)| *name).collect();
    for (name, may) in allowed {
        for dependency in graph[name].iter().filter(|d| ours.contains(d.as_str())) {
            assert!(
                may.contains(&dependency.as_str()),
                "{name} must not depend on {dependency}"
            );
        }
    }
    let workspace: BTreeSet<&str> = graph
        .keys()
        .map(String::as_str)
        .filter(|n| n.starts_with("banister"))
        .collect();
    assert!(
        workspace.is_subset(&ours),
        "give every new crate its place in this test: {workspace:?}"
    );
}

#[test]
fn the_core_has_no_threads_no_terminal_no_network() {
    let graph = dependencies(&metadata());
    for core in ["banister-solve", "banister"] {
        let all = closure(&graph, core);
        assert!(all.contains("serde"), "the graph was read");
        for heavy in ["tokio", "rayon", "clap", "indicatif", "axum", "reqwest"] {
            assert!(!all.contains(heavy), "{core} must not depend on {heavy}");
        }
        // Agents that sample do so from seeds; solvers have no business with random numbers.
        assert!(core == "banister" || !all.contains("rand"));
    }
}
