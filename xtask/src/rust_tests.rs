//! The Rust tests: two binaries at a time, so that the last test of one leaves no core idle; then
//! the slowest tests, and those of the documentation.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::{Outcome, cargo, root};

/// A test binary, and the folder of its package, in which it runs.
struct Binary {
    path: PathBuf,
    package: PathBuf,
}

pub fn rust() -> Outcome {
    let waiting = Mutex::new(binaries()?.into_iter());
    let ended: Mutex<Vec<(bool, String)>> = Mutex::default();
    let work = || {
        while let Some(binary) = { waiting.lock().unwrap().next() } {
            let (passed, output) = binary.run();
            println!("── {}\n{output}", binary.path.display());
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

/// Builds the test binaries.
fn binaries() -> Outcome<Vec<Binary>> {
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
    let binary = |message: &str| {
        let value = |key: &str| {
            let (_, rest) = message.split_once(&format!("\"{key}\":\""))?;
            Some(PathBuf::from(rest.split_once('"')?.0))
        };
        let package = value("manifest_path")?.parent()?.into();
        value("executable").map(|path| Binary { path, package })
    };
    let tests = messages.lines().filter(|m| m.contains("\"test\":true}"));
    Ok(tests.filter_map(binary).collect())
}

impl Binary {
    /// Whether all tests passed, and what was printed.
    fn run(&self) -> (bool, String) {
        let output = Command::new(&self.path)
            // Times of tests are behind this switch of the standard library.
            .args(["-Zunstable-options", "--report-time"])
            .env("RUSTC_BOOTSTRAP", "1")
            .current_dir(&self.package)
            .output();
        match output {
            Ok(output) => {
                let printed = [output.stdout, output.stderr].concat();
                let text = String::from_utf8_lossy(&printed).into_owned();
                (output.status.success(), text)
            }
            Err(error) => (false, format!("did not start: {error}")),
        }
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
