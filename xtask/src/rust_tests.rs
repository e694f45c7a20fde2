//! The Rust tests: two binaries at a time, so that the last test of one leaves no core idle; then
//! the slowest tests, and those of the documentation.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::{Outcome, cargo, root};

pub fn rust() -> Outcome {
    let waiting = Mutex::new(binaries()?.into_iter());
    let ended: Mutex<Vec<(bool, String)>> = Mutex::default();
    let work = || {
        while let Some((binary, package)) = { waiting.lock().unwrap().next() } {
            let (passed, output) = run(&binary, &package);
            println!("── {}\n{output}", binary.display());
            ended.lock().unwrap().push((passed, output));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let ended = ended.into_inner().unwrap();
    print_slowest(ended.iter().flat_map(|(_, output)| output.lines()));
    let doc = cargo(&["test", "--workspace", "--locked", "--doc", "--no-fail-fast"]);
    if ended.iter().all(|(passed, _)| *passed) {
        doc
    } else {
        Err("a test failed, see above".into())
    }
}

/// Builds the test binaries; each comes with the folder of its package, in which cargo would run it.
fn binaries() -> Outcome<Vec<(PathBuf, PathBuf)>> {
    let json = "--message-format=json-render-diagnostics";
    let output = Command::new(env!("CARGO"))
        .args([
            "test",
            "--workspace",
            "--locked",
            "--tests",
            "--no-run",
            json,
        ])
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    if !output.status.success() {
        return Err("the tests do not compile".into());
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let text = |message: &str, key: &str| {
        let (_, rest) = message.split_once(&format!("\"{key}\":\""))?;
        Some(PathBuf::from(rest.split_once('"')?.0))
    };
    let tests = messages.lines().filter(|m| m.contains("\"test\":true}"));
    let binary = |m| {
        Some((
            text(m, "executable")?,
            text(m, "manifest_path")?.parent()?.into(),
        ))
    };
    Ok(tests.filter_map(binary).collect())
}

/// Runs a test binary: true if all passed, and its output, also times, which are behind a switch.
fn run(binary: &Path, package: &Path) -> (bool, String) {
    let mut command = Command::new(binary);
    command.args(["-Zunstable-options", "--report-time"]);
    command.env("RUSTC_BOOTSTRAP", "1").current_dir(package);
    match command.output() {
        Ok(output) => {
            let printed = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&printed).into_owned();
            (output.status.success(), text)
        }
        Err(error) => (false, format!("did not start: {error}")),
    }
}

/// Prints the 25 slowest of lines such as `test name ... ok <1.234s>`.
fn print_slowest<'a>(lines: impl Iterator<Item = &'a str>) {
    let timed = |line: &'a str| {
        let (test, time) = line.strip_prefix("test ")?.split_once(" <")?;
        Some((time.strip_suffix("s>")?.parse().ok()?, test))
    };
    let mut tests: Vec<(f64, &str)> = lines.filter_map(timed).collect();
    tests.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("── the slowest of {} Rust tests", tests.len());
    for (seconds, test) in tests.iter().take(25) {
        println!("{seconds:8.2} s  {test}");
    }
}
