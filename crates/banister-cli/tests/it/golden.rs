//! Golden tests are data. Each folder of `tests/golden/` is one call of the program:
//!
//! - `cmd`: the arguments, `stdin`: the input, anything else that is not an expectation: files of
//!   the working directory
//! - `expected/stdout`, `expected/stderr`, `expected/code`: what must come out
//! - `expected/files`: the names of all files in the working directory afterwards
//! - `expected/NAME.csv`: what `out/NAME.csv` must hold
//!
//! `BLESS=1 cargo test -p banister-cli --test it golden` writes the expectations anew; read the diff.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;

struct Outcome {
    stdout: String,
    stderr: String,
    code: String,
    files: String,
}

fn call(case: &Path, directory: &Path) -> Outcome {
    for entry in fs::read_dir(case).unwrap().flatten() {
        let name = entry.file_name();
        if name != "cmd" && name != "stdin" && name != "expected" {
            fs::copy(entry.path(), directory.join(name)).unwrap();
        }
    }
    let args = fs::read_to_string(case.join("cmd")).unwrap();
    let stdin = fs::read(case.join("stdin")).unwrap_or_default();
    let output = Command::cargo_bin("banister")
        .unwrap()
        .args(args.split_whitespace())
        .write_stdin(stdin)
        .current_dir(directory)
        .env_clear()
        .env("LANG", "C.UTF-8")
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .output()
        .unwrap();
    let mut files = Vec::new();
    list(directory, directory, &mut files);
    files.sort();
    Outcome {
        stdout: hide_times(&String::from_utf8(output.stdout).unwrap()),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: format!("{}\n", output.status.code().unwrap()),
        files: files.iter().map(|f| format!("{f}\n")).collect(),
    }
}

/// How long a solve took is the one thing that differs from call to call.
fn hide_times(stdout: &str) -> String {
    let mut shown = String::new();
    let mut rest = stdout;
    while let Some(at) = rest.find("\"micros\":") {
        let (before, after) = rest.split_at(at + "\"micros\":".len());
        let end = after.find([',', '}']).unwrap();
        shown += before;
        shown += "0";
        rest = &after[end..];
    }
    shown + rest
}

fn list(root: &Path, directory: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            list(root, &path, files);
        } else {
            files.push(path.strip_prefix(root).unwrap().display().to_string());
        }
    }
}

#[test]
fn every_call_answers_as_recorded() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let bless = std::env::var_os("BLESS").is_some();
    let mut cases: Vec<PathBuf> = fs::read_dir(&golden)
        .unwrap()
        .flatten()
        .map(|e| e.path())
        .collect();
    cases.sort();
    let mut wrong = Vec::new();
    for case in &cases {
        let directory = tempfile::tempdir().unwrap();
        let outcome = call(case, directory.path());
        let expected = case.join("expected");
        if bless {
            fs::create_dir_all(&expected).unwrap();
        }
        let mut texts = vec![
            ("stdout".to_string(), outcome.stdout),
            ("stderr".to_string(), outcome.stderr),
            ("code".to_string(), outcome.code),
            ("files".to_string(), outcome.files),
        ];
        for entry in fs::read_dir(&expected).into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap();
            if name.ends_with(".csv") {
                let written = fs::read_to_string(directory.path().join("out").join(&name));
                texts.push((name, written.unwrap_or_default()));
            }
        }
        for (name, text) in texts {
            let path = expected.join(&name);
            if bless {
                fs::write(&path, &text).unwrap();
            } else if fs::read_to_string(&path).unwrap_or_default() != text {
                let case = case.file_name().unwrap().to_string_lossy();
                wrong.push(format!("{case}: {name} is now\n{text}"));
            }
        }
    }
    assert!(cases.len() > 50, "the cases were not found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn bad_input_exits_with_2_says_why_and_writes_nothing() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let read =
        |case: &Path, name: &str| fs::read_to_string(case.join("expected").join(name)).unwrap();
    let mut errors = 0;
    for case in fs::read_dir(golden).unwrap().flatten().map(|e| e.path()) {
        let code = read(&case, "code");
        assert!(
            code == "0\n" || code == "2\n",
            "{}: exit code {code}",
            case.display()
        );
        if code == "2\n" {
            errors += 1;
            assert!(!read(&case, "stderr").is_empty(), "{}", case.display());
            assert!(!read(&case, "files").contains("out/"), "{}", case.display());
        }
    }
    assert!(errors > 40, "only {errors} errors are recorded");
}
