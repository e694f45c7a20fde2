//! Files that `run` and `reproduce` write.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assert_cmd::Command;

fn banister(args: &[&str], directory: &Path) {
    Command::cargo_bin("banister")
        .expect("the program is built")
        .args(args)
        .current_dir(directory)
        .assert()
        .success();
}

fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(root: &Path, directory: &Path, all: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(directory).expect("a directory").flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(root, &path, all);
            } else {
                let name = path
                    .strip_prefix(root)
                    .expect("below the root")
                    .display()
                    .to_string();
                all.insert(name, fs::read(&path).expect("a readable file"));
            }
        }
    }
    let mut all = BTreeMap::new();
    walk(root, root, &mut all);
    all
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let home = tempfile::tempdir().expect("a directory");
    banister(&["init"], home.path());
    for threads in ["1", "2", "5"] {
        let args = [
            "run",
            "experiment.toml",
            "--horizon",
            "3000",
            "--runs",
            "6",
            "--no-timing",
            "-q",
        ];
        let out = ["--threads", threads, "--out", threads];
        banister(&[&args[..], &out[..]].concat(), home.path());
    }
    let one = files(&home.path().join("1"));
    assert!(one.contains_key("curves.parquet") && one.contains_key("report.html"));
    assert!(
        one == files(&home.path().join("2")),
        "two threads differ from one"
    );
    assert!(
        one == files(&home.path().join("5")),
        "five threads differ from one"
    );
}

#[test]
fn another_seed_gives_other_results() {
    let home = tempfile::tempdir().expect("a directory");
    banister(&["init"], home.path());
    for seed in ["1", "2"] {
        let args = [
            "run",
            "experiment.toml",
            "--horizon",
            "2000",
            "--no-timing",
            "-q",
        ];
        banister(
            &[&args[..], &["--seed", seed, "--out", seed]].concat(),
            home.path(),
        );
    }
    let read = |seed: &str| fs::read(home.path().join(seed).join("runs.csv")).expect("results");
    assert_ne!(read("1"), read("2"));
}

#[test]
fn the_resolved_experiment_can_be_run_again_with_the_same_results() {
    let home = tempfile::tempdir().expect("a directory");
    banister(&["init"], home.path());
    let first = [
        "run",
        "experiment.toml",
        "--horizon",
        "2000",
        "--no-timing",
        "-q",
        "--out",
        "a",
    ];
    banister(&first, home.path());
    let again = [
        "run",
        "a/experiment.toml",
        "--no-timing",
        "-q",
        "--out",
        "b",
    ];
    banister(&again, home.path());
    assert!(files(&home.path().join("a")) == files(&home.path().join("b")));
}

#[test]
fn linear_experiments_too_can_be_run_again_from_anywhere_on_any_number_of_threads() {
    let home = tempfile::tempdir().expect("a directory");
    banister(&["init", "--linear", "contextual.toml"], home.path());
    fs::create_dir(home.path().join("logs")).expect("a directory");
    let rows = "visit,a,b\n1,0.5,2\n1,-1,0\n2,3,1\n2,0,-2\n2,1,1\n";
    fs::write(home.path().join("logs/f.csv"), rows).expect("written");
    let logged = r#"
        environment = { kind = "logged", path = "f.csv", round = "visit" }
        guardrail = [{ name = "cost", at_most = 0.6, safe_cost = 0.4 }]
        agent = [{ kind = "oplb" }]
    "#;
    fs::write(home.path().join("logs/logged.toml"), logged).expect("written");
    for (file, name) in [("contextual.toml", "c"), ("logs/logged.toml", "l")] {
        let common = ["--no-timing", "-q", "--horizon", "300", "--runs", "3"];
        let run = |file: &str, threads: &str, out: &str| {
            let args = ["run", file, "--threads", threads, "--out", out];
            banister(&[&args[..], &common[..]].concat(), home.path());
            files(&home.path().join(out))
        };
        let first = run(file, "1", name);
        assert!(
            first == run(file, "3", &format!("{name}-3")),
            "{name}: threads"
        );
        let again = run(
            &format!("{name}/experiment.toml"),
            "2",
            &format!("{name}-again"),
        );
        assert!(first == again, "{name}: again");
    }
}

#[test]
fn reproduce_writes_figures_tables_and_the_report() {
    let home = tempfile::tempdir().expect("a directory");
    let args = [
        "reproduce",
        "--horizon",
        "2000",
        "--runs",
        "2",
        "-q",
        "--out",
        "out",
    ];
    banister(&args, home.path());
    let written = files(&home.path().join("out"));
    for name in [
        "report.html",
        "curves.csv",
        "curves.parquet",
        "runs.csv",
        "runs.parquet",
        "figures/paper.svg",
        "figures/paper.png",
        "figures/lower-bound.svg",
        "figures/safe-cost.png",
        "figures/linear.svg",
        "figures/linear-margin.png",
        "figures/linear-safe-cost.svg",
        "figures/linear-arms.png",
    ] {
        assert!(
            written.get(name).is_some_and(|bytes| bytes.len() > 500),
            "{name}"
        );
    }
    assert!(
        !written.keys().any(|name| name.contains("tmp")),
        "{:?}",
        written.keys()
    );
    let curves = String::from_utf8(written["curves.csv"].clone()).expect("text");
    for agent in [
        "published settings",
        "paper's text",
        "banister",
        "OPLB, exact",
    ] {
        assert!(curves.contains(agent), "{agent}");
    }
}

#[test]
fn completions_name_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let output = Command::cargo_bin("banister")
            .expect("the program is built")
            .args(["completions", shell])
            .output()
            .expect("it runs");
        let script = String::from_utf8(output.stdout).expect("text");
        for command in ["reproduce", "run", "init", "solve", "bound"] {
            assert!(script.contains(command), "{shell} knows no {command}");
        }
    }
}
