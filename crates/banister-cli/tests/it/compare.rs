//! `compare`: interrupted and gone on with, refused where it must be, and what it leaves on disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::cargo::CommandCargoExt;

const JOURNAL: &str = "unfinished.journal";

fn command(args: &[&str], directory: &Path) -> Command {
    let mut command = Command::cargo_bin("banister").expect("the program is built");
    command.args(args).current_dir(directory);
    command
}

fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(root: &Path, directory: &Path, all: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(directory).expect("a directory").flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(root, &path, all);
            } else {
                let name = path.strip_prefix(root).expect("below the root");
                let bytes = fs::read(&path).expect("a readable file");
                all.insert(name.display().to_string(), bytes);
            }
        }
    }
    let mut all = BTreeMap::new();
    walk(root, root, &mut all);
    all
}

/// Leaves the folder of a comparison as a kill after another whole run would: the journal as it was then,
/// maybe with a part of the next run, and nothing else. The bytes are those seen while it ran, so that it does
/// not matter when the signal arrives, nor whether the comparison was over by then.
fn interrupt(args: &[&str], directory: &Path, out: &str) {
    let folder = directory.join(out);
    let before = fs::read(folder.join(JOURNAL)).unwrap_or_default();
    let leave = |journal: &[u8]| {
        // No folder yet, the first time.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(JOURNAL), journal).expect("a file");
    };
    for _ in 0..50 {
        leave(&before);
        let mut child = std::process::Command::cargo_bin("banister")
            .expect("the program is built")
            .args(args)
            .args(["--out", out])
            .current_dir(directory)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        while child.try_wait().expect("its state").is_none() {
            let seen = fs::read(folder.join(JOURNAL)).unwrap_or_default();
            if whole_runs(&seen) > whole_runs(&before) {
                child.kill().expect("killed");
                child.wait().expect("gone");
                return leave(&seen);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    panic!("over before a run was seen in the journal, 50 times");
}

/// Counts the records of a journal that are there to their end: after a header, each has its length, twelve bytes
/// of checks, and its body.
fn whole_runs(journal: &[u8]) -> usize {
    const HEADER: usize = 30;
    let mut rest = journal.get(HEADER..).unwrap_or_default();
    let mut count = 0;
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let end = 12 + u32::from_le_bytes(*length) as usize;
        let Some(next) = after.get(end..) else { break };
        (rest, count) = (next, count + 1);
    }
    count
}

const SMALL: [&str; 12] = [
    "compare",
    "--suite",
    "hard",
    "--agents",
    "opb,ucb1,doslb",
    "--horizon",
    "30000",
    "--runs",
    "4",
    "--no-timing",
    "-q",
    "--threads=2",
];

#[test]
fn killed_and_gone_on_with_it_leaves_the_same_bytes() {
    let home = tempfile::tempdir().expect("a directory");
    command(&[&SMALL[..], &["--out", "whole"]].concat(), home.path())
        .assert()
        .success();
    // Killed twice, then left to finish.
    for _ in 0..2 {
        interrupt(&SMALL, home.path(), "killed");
    }
    command(&[&SMALL[..], &["--out", "killed"]].concat(), home.path())
        .assert()
        .success();
    let (whole, killed) = (
        files(&home.path().join("whole")),
        files(&home.path().join("killed")),
    );
    assert!(whole.contains_key("traces.parquet") && whole.contains_key("leaderboard.csv"));
    assert!(!whole.contains_key(JOURNAL));
    assert_eq!(
        whole.keys().collect::<Vec<_>>(),
        killed.keys().collect::<Vec<_>>()
    );
    assert!(whole == killed, "going on gave other bytes");
}

#[test]
fn it_says_how_much_is_done_and_plays_only_the_rest() {
    let home = tempfile::tempdir().expect("a directory");
    let loud: Vec<&str> = SMALL.iter().copied().filter(|arg| *arg != "-q").collect();
    interrupt(&loud, home.path(), "out");
    let output = command(&[&loud[..], &["--out", "out"]].concat(), home.path())
        .output()
        .expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("going on: "), "{stderr}");
    assert!(output.status.success());
}

#[test]
fn a_journal_of_something_else_is_refused_by_name_and_left_alone() {
    let home = tempfile::tempdir().expect("a directory");
    let out = home.path().join("out");
    fs::create_dir_all(&out).expect("a folder");
    fs::write(out.join(JOURNAL), "not a journal").expect("a file");
    let args = [&SMALL[..], &["--out", "out"]].concat();
    let output = command(&args, home.path()).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains(JOURNAL) && stderr.contains("is no journal"),
        "{stderr}"
    );
    assert_eq!(files(&out).len(), 1, "nothing was written");
    // Of another comparison.
    fs::remove_file(out.join(JOURNAL)).expect("removed");
    interrupt(&SMALL, home.path(), "out");
    let before = files(&out);
    let other = [&args[..], &["--seed", "8"]].concat();
    let output = command(&other, home.path()).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("belongs to another"), "{stderr}");
    assert!(before == files(&out), "it is left as it was");
    command(&[&other[..], &["--restart"]].concat(), home.path())
        .assert()
        .success();
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let home = tempfile::tempdir().expect("a directory");
    let args: Vec<&str> = (SMALL.iter().copied())
        .filter(|arg| !arg.starts_with("--threads"))
        .map(|arg| if arg == "30000" { "2000" } else { arg })
        .collect();
    for threads in ["1", "2", "5"] {
        let own = ["--threads", threads, "--out", threads];
        command(&[&args[..], &own[..]].concat(), home.path())
            .assert()
            .success();
    }
    let one = files(&home.path().join("1"));
    for threads in ["2", "5"] {
        assert!(
            one == files(&home.path().join(threads)),
            "{threads} threads differ"
        );
    }
}

const SWEEP: &str = r#"
name = "sweep"
run = { horizon = 500, runs = 3, checkpoints = 4 }

[environment]
kind = "bernoulli"
rewards = [0.1, 0.4, 0.7]
costs = [[0.0, 0.2, 0.4]]

[[guardrail]]
name = "spend"
at_most = [0.1, 0.2, 0.3]
safe_cost = 0.0

[[agent]]
kind = "opb"
delta = [0.1, 0.01]

[[agent]]
kind = "ucb1"
"#;

#[test]
fn a_sweep_has_a_row_per_agent_instance_run_and_checkpoint_and_a_heat_map() {
    let home = tempfile::tempdir().expect("a directory");
    fs::write(home.path().join("sweep.toml"), SWEEP).expect("a file");
    let args = ["compare", "sweep.toml", "--out", "out", "-q", "--json"];
    let output = command(&args, home.path()).output().expect("it runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let instances = summary["instances"].as_array().expect("instances");
    assert_eq!(instances.len(), 3);
    for instance in instances {
        let agents = instance["leaderboard"].as_array().expect("agents");
        assert_eq!(agents.len(), 3);
        // All pairs, each once.
        assert_eq!(instance["pairs"].as_array().map(Vec::len), Some(3));
    }
    let out = files(&home.path().join("out"));
    assert!(out.contains_key("figures/heat-regret.png"));
    assert!(out.contains_key("figures/regret-against-violation.svg"));
    assert_eq!(
        out.keys()
            .filter(|name| name.starts_with("experiments/"))
            .count(),
        3
    );
    let leaderboard = String::from_utf8_lossy(&out["leaderboard.csv"]).into_owned();
    assert_eq!(leaderboard.lines().count(), 1 + 9);
    // Long form: 3 instances, 3 agents, 3 runs, 4 checkpoints.
    let bytes = out["traces.parquet"].clone().into();
    let limits = banister_table::Limits {
        rows: 1000,
        bytes: 1 << 20,
    };
    let table = banister_table::RawTable::from_parquet(bytes, limits).expect("a Parquet file");
    assert_eq!(table.len(), 3 * 3 * 3 * 4);
    for column in [
        "at_most",
        "delta",
        "instance",
        "agent",
        "run",
        "round",
        "regret",
        "spend_cost",
    ] {
        assert!(table.column(column).is_some(), "{column} is missing");
    }
}

const TUNED: &str = r#"
name = "many"
run = { horizon = 400, runs = 3, checkpoints = 4 }

[environment]
kind = "bernoulli"
rewards = [0.1, 0.4, 0.7]
costs = [[0.0, 0.2, 0.4]]

[[guardrail]]
name = "spend"
at_most = [0.1, 0.15, 0.2, 0.25, 0.3, 0.35]
safe_cost = 0.0

[[agent]]
kind = "opb"

[[agent]]
kind = "s_colts"

[[agent]]
kind = "s_colts"
label = "s_colts, tuned"
delta = 0.2

[[agent]]
kind = "ucb1"
"#;

#[test]
fn tuned_versions_stand_beside_their_originals_and_six_instances_have_ranks() {
    let home = tempfile::tempdir().expect("a directory");
    fs::write(home.path().join("many.toml"), TUNED).expect("a file");
    let args = ["compare", "many.toml", "--out", "out", "-q"];
    let output = command(&args, home.path()).output().expect("it runs");
    assert!(output.status.success());
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!shown.contains("s_colts, tuned"), "{shown}");
    let header = shown
        .lines()
        .find(|line| line.contains("promise"))
        .expect("a header");
    for column in ["rank", "kept", "tuned", "Σ(c − τ)₊", "(Σ(c − τ))₊"] {
        assert!(header.contains(column), "{header}");
    }
    let out = files(&home.path().join("out"));
    let rows = |name: &str| -> Vec<Vec<String>> {
        let text = String::from_utf8_lossy(&out[name]).into_owned();
        // Names with a comma are quoted.
        let text = text
            .replace("\"s_colts, tuned\"", "s_colts tuned")
            .replace("many, at", "many at");
        let line = |line: &str| {
            line.split(',')
                .map(|cell| cell.trim_matches('"').to_owned())
                .collect()
        };
        text.lines().map(line).collect()
    };
    let board = rows("leaderboard.csv");
    let column = |name: &str| {
        board[0]
            .iter()
            .position(|own| own == name)
            .expect("a column")
    };
    let tuned = board
        .iter()
        .filter(|row| row[column("agent")] == "s_colts tuned");
    let tuned: Vec<&Vec<String>> = tuned.collect();
    assert_eq!(tuned.len(), 6);
    for row in tuned {
        assert_eq!(
            (
                row[column("tuned_of")].as_str(),
                row[column("rank")].as_str()
            ),
            ("s_colts", "")
        );
    }
    for row in board.iter().filter(|row| row[column("agent")] == "ucb1") {
        assert_eq!(
            (row[column("group")].as_str(), row[column("rank")].as_str()),
            ("unsafe", "")
        );
    }
    // Three agents that are safe in every round, on six instances.
    assert_eq!(rows("ranks.csv").len(), 1 + 3);
    assert!(out.contains_key("figures/critical-difference-safe-in-every-round.png"));
    assert!(!out.contains_key("figures/critical-difference-unsafe.png"));
    // Each pair of the three, and `ucb1` with ours.
    assert_eq!(rows("overall.csv").len(), 1 + 4);
    let report = String::from_utf8_lossy(&out["report.html"]).into_owned();
    assert!(
        report.contains("<h2>Over all instances</h2>")
            && report.contains("<th scope=\"col\" class=\"number\">tuned</th>")
    );
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_is_written() {
    let home = tempfile::tempdir().expect("a directory");
    fs::write(home.path().join("sweep.toml"), SWEEP).expect("a file");
    let wrong = SWEEP.replace("[0.1, 0.2, 0.3]", "[0.1, \"much\"]");
    fs::write(home.path().join("wrong.toml"), wrong).expect("a file");
    for (args, expected) in [
        (&["compare"][..], "give a suite"),
        (&["compare", "--suite", "papr"], "did you mean `paper`?"),
        (
            &["compare", "--suite", "paper", "--agents", "opb,ucb2"],
            "`--agents` is ucb2",
        ),
        (
            &["compare", "--suite", "linear", "--agents", "opb"],
            "`opb` on `contextual`",
        ),
        (
            &["compare", "--suite", "linear", "--agents", "opb"],
            "--skip-unfit",
        ),
        (&["compare", "nowhere.toml"], "banister init nowhere.toml"),
        (&["compare", "wrong.toml"], "much"),
        (
            &["compare", "sweep.toml", "--heat-map", "at_most,horizon"],
            "the swept fields are",
        ),
        (
            &["compare", "sweep.toml", "--suite", "paper"],
            "cannot be used with",
        ),
    ] {
        let output = command(args, home.path()).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        // Long lines are folded where they are shown.
        let plain: Vec<&str> = stderr.split_whitespace().filter(|w| *w != "│").collect();
        let plain = plain.join(" ");
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(plain.contains(expected), "{args:?}: {stderr}");
        assert!(
            !home.path().join("results").exists(),
            "{args:?} wrote something"
        );
    }
}

#[test]
fn published_numbers_are_shown_without_running_anything() {
    let home = tempfile::tempdir().expect("a directory");
    let shown = |args: &[&str]| {
        let output = command(args, home.path()).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let table = shown(&["compare", "--published"]);
    for part in [
        "Hutchinson et al. 2024",
        "agrees",
        "Safe-LUCB: ",
        "--suite authors-long",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let json = shown(&["compare", "--published", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let rows = json["published"].as_array().expect("rows");
    // A line for each below its source, and every verdict belongs to a result of ours.
    for row in rows {
        let named = |key: &str| row[key].as_str().expect(key);
        let (instance, agent) = (named("instance"), named("agent"));
        let mut lines = table.lines();
        assert!(
            lines.any(|line| line.contains(instance) && line.contains(agent)),
            "{row}"
        );
        assert!(table.contains(named("source")), "{row}");
        assert_eq!(row["ours"].is_null(), row["verdict"].is_null(), "{row}");
        assert!(
            row["command"]
                .as_str()
                .is_some_and(|c| c.starts_with("banister compare"))
        );
    }
    assert!(
        json["unreproduced"]
            .as_array()
            .is_some_and(|papers| papers.len() >= 10)
    );
    assert!(files(home.path()).is_empty(), "nothing is written");
}
