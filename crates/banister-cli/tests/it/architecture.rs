//! The architecture page as tests: imports between crates and modules, and paths that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
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
    let allowed: [(&str, &[&str]); 15] = [
        ("banister-solve", &[]),
        ("banister", &["banister-solve"]),
        ("banister-rivals", &["banister"]),
        (
            "banister-sim",
            &["banister", "banister-rivals", "banister-table"],
        ),
        ("banister-table", &[]),
        ("banister-uplot", &[]),
        (
            "banister-report",
            &["banister-sim", "banister-table", "banister-uplot"],
        ),
        ("banister-offline", &["banister"]),
        ("banister-terminal", &["banister"]),
        ("banister-engine", &["banister"]),
        (
            "banister-service",
            &[
                "banister",
                "banister-engine",
                "banister-offline",
                "banister-table",
            ],
        ),
        (
            "banisterd",
            &["banister-engine", "banister-service", "banister-terminal"],
        ),
        (
            "banister-cli",
            &[
                "banister-solve",
                "banister",
                "banister-rivals",
                "banister-sim",
                "banister-report",
                "banister-offline",
                "banister-table",
                "banister-terminal",
            ],
        ),
        (
            "banister-py",
            &[
                "banister",
                "banister-rivals",
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
    for core in ["banister-solve", "banister", "banister-rivals"] {
        let all = closure(&graph, core);
        assert!(all.contains("serde"), "the graph was read");
        for heavy in ["tokio", "rayon", "clap", "indicatif", "axum", "reqwest"] {
            assert!(!all.contains(heavy), "{core} must not depend on {heavy}");
        }
        // Agents that sample do so from seeds; solvers have no business with random numbers.
        assert!(core != "banister-solve" || !all.contains("rand"));
    }
}

/// Neither of the program a newcomer builds and the one a team deploys carries the other.
#[test]
fn the_two_programs_share_no_more_than_the_core_logs_tables_and_the_terminal() {
    let graph = dependencies(&metadata());
    let (research, service) = (
        closure(&graph, "banister-cli"),
        closure(&graph, "banisterd"),
    );
    let ours = |name: &&str| name.starts_with("banister");
    let both: Vec<&str> = research
        .intersection(&service)
        .copied()
        .filter(ours)
        .collect();
    let shared = [
        "banister",
        "banister-offline",
        "banister-solve",
        "banister-table",
        "banister-terminal",
    ];
    assert_eq!(both, shared);
    for foreign in ["tokio", "axum", "rusqlite", "rustls"] {
        assert!(
            service.contains(foreign) && !research.contains(foreign),
            "{foreign}"
        );
    }
    for foreign in ["rayon", "tiny-skia"] {
        assert!(
            research.contains(foreign) && !service.contains(foreign),
            "{foreign}"
        );
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}

/// Top-level modules of a crate, each with those that it names as `crate::module`.
fn modules(src: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    rust_files(src, &mut files);
    let module = |path: &Path| {
        let inner = path.strip_prefix(src).unwrap();
        let first = inner.components().next().unwrap().as_os_str();
        first.to_string_lossy().trim_end_matches(".rs").to_string()
    };
    let names: BTreeSet<String> = files.iter().map(|path| module(path)).collect();
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in &files {
        let from = module(path);
        if from == "lib" || from == "main" {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            for rest in line.split("crate::").skip(1) {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                let to = &rest[..end.unwrap_or(rest.len())];
                if to != from && names.contains(to) {
                    graph
                        .entry(from.clone())
                        .or_default()
                        .insert(to.to_string());
                }
            }
        }
    }
    graph
}

/// The folders of all packages.
fn packages() -> Vec<PathBuf> {
    let crates = fs::read_dir(root().join("crates")).unwrap().flatten();
    let others = [root().join("python"), root().join("xtask")];
    crates.map(|entry| entry.path()).chain(others).collect()
}

/// Packages with `test = false` are not built a second time for unit tests, so that one there would never run.
#[test]
fn unit_tests_stand_where_they_run() {
    for path in packages() {
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap();
        let mut files = Vec::new();
        rust_files(&path.join("src"), &mut files);
        let is_test = |file: &PathBuf| fs::read_to_string(file).unwrap().contains("#[test]");
        let tests: Vec<PathBuf> = files.into_iter().filter(is_test).collect();
        assert!(
            manifest.contains("\ntest = false\n") == tests.is_empty(),
            "`test = false` in {} and {tests:?}",
            path.display()
        );
    }
}

#[test]
fn modules_of_a_crate_have_no_circles() {
    for path in packages() {
        let graph = modules(&path.join("src"));
        for name in graph.keys() {
            let reached = closure(&graph, name);
            assert!(
                !reached.contains(name.as_str()),
                "{}: module `{name}` reaches itself by way of one of {reached:?}",
                path.display()
            );
        }
    }
}

#[test]
fn the_architecture_page_is_true() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let named: BTreeSet<&str> = page.split('`').skip(1).step_by(2).collect();
    let is_path = |text: &&&str| text.contains('/') && !text.contains([' ', '{', '(', '…']);
    for path in named.iter().filter(is_path) {
        assert!(
            root().join(path).exists(),
            "docs/architecture.md names `{path}`"
        );
    }
    let mut missing = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().to_string();
        let folders = fs::read_dir(entry.path().join("src")).unwrap().flatten();
        let folders = folders.filter(|f| f.path().is_dir()).map(|f| {
            let folder = f.file_name().to_string_lossy().to_string();
            format!("crates/{name}/src/{folder}/")
        });
        missing.extend(
            folders
                .chain([format!("crates/{name}/")])
                .filter(|path| !named.contains(path.as_str())),
        );
    }
    let tracked = [
        "python/",
        "xtask/",
        "experiments/",
        "docs/",
        "tests/",
        "benches/",
        "examples/",
        "deploy/",
        "clients/",
    ];
    missing.extend(
        tracked
            .map(String::from)
            .into_iter()
            .filter(|path| !named.contains(path.as_str())),
    );
    assert!(
        missing.is_empty(),
        "docs/architecture.md does not name {missing:?}"
    );
}
