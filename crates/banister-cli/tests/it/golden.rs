//! Golden tests are data. Each file of `tests/golden/` has calls of the program. A call begins with `==== NAME ====`;
//! its command line, its exit code, then sections that open with `-- NAME --` follow:
//!
//! - `stdin`: the input; `expected stdout`, `expected stderr`: the output; empty ones are omitted
//! - `expected files`: the files that the call creates in its working directory
//! - `expected out/NAME`: the text of a created file
//! - any other name: a file of the working directory, which the call must leave as it is
//!
//! `BLESS=1 cargo test -p banister-cli --test it golden` records the expectations anew; read the diff.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;

struct Case {
    name: String,
    /// The program, and what is typed after it.
    program: String,
    args: String,
    code: String,
    /// Names and texts, in the file's order.
    sections: Vec<(String, String)>,
}

impl Case {
    fn read(name: &str, text: &str) -> Self {
        let mut lines = text.split_inclusive('\n');
        let mut header = |prefix: &str| {
            let line = lines.next().and_then(|line| line.strip_prefix(prefix));
            let value = line.unwrap_or_else(|| panic!("{name}: no `{prefix}`"));
            value.trim().to_string()
        };
        let (typed, code) = (header("$ "), header("exit code "));
        let (program, args) = typed.split_once(' ').unwrap_or((&typed, ""));
        let (program, args) = (program.to_string(), args.to_string());
        let mut sections: Vec<(String, String)> = Vec::new();
        for line in lines {
            let section = line
                .strip_prefix("-- ")
                .and_then(|l| l.strip_suffix(" --\n"));
            match (section, sections.last_mut()) {
                (Some(section), _) => sections.push((section.to_string(), String::new())),
                (None, Some((_, text))) => *text += line,
                (None, None) => panic!("{name}: text before a section"),
            }
        }
        Self {
            name: name.to_string(),
            program,
            args,
            code,
            sections,
        }
    }

    fn section(&self, name: &str) -> &str {
        let found = self.sections.iter().find(|(n, _)| n == name);
        found.map_or("", |(_, text)| text)
    }

    fn inputs(&self) -> impl Iterator<Item = &(String, String)> {
        let named = |name: &str| name != "stdin" && !name.starts_with("expected ");
        self.sections.iter().filter(move |(name, _)| named(name))
    }

    /// The same call with the expectations that it meets now.
    fn call(&self) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        for (name, text) in self.inputs() {
            fs::write(file(name), text).unwrap();
        }
        let output = Command::cargo_bin(&self.program)
            .unwrap()
            .args(self.args.split_whitespace())
            .write_stdin(self.section("stdin"))
            .current_dir(&directory)
            .env_clear()
            .env("LANG", "C.UTF-8")
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100")
            .output()
            .unwrap();
        let mut created = Vec::new();
        list(directory.path(), directory.path(), &mut created);
        created.retain(|name| self.inputs().all(|(input, _)| input != name));
        created.sort();
        let expected = |name: &str, text: String| (format!("expected {name}"), text);
        let read = |name: &str| fs::read_to_string(file(name)).unwrap_or_default();
        let mut sections: Vec<(String, String)> = Vec::new();
        let kept = self.sections.iter().filter(|(name, _)| name == "stdin");
        sections.extend(kept.cloned());
        sections.extend(self.inputs().map(|(name, _)| (name.clone(), read(name))));
        let stdout = hide_times(&String::from_utf8(output.stdout).unwrap());
        let stderr = String::from_utf8(output.stderr).unwrap();
        let created = created.iter().map(|name| format!("{name}\n")).collect();
        for (name, text) in [("stdout", stdout), ("stderr", stderr), ("files", created)] {
            if !text.is_empty() {
                sections.push(expected(name, text));
            }
        }
        let recorded = |name: &str| name.strip_prefix("expected out/").map(str::to_string);
        for name in self.sections.iter().filter_map(|(name, _)| recorded(name)) {
            let name = format!("out/{name}");
            sections.push(expected(&name, read(&name)));
        }
        Self {
            name: self.name.clone(),
            program: self.program.clone(),
            args: self.args.clone(),
            code: output.status.code().unwrap().to_string(),
            sections,
        }
    }

    fn text(&self) -> String {
        let Self {
            name,
            program,
            args,
            code,
            ..
        } = self;
        let typed = format!("{program} {args}");
        let mut text = format!(
            "==== {name} ====\n$ {}\nexit code {code}\n",
            typed.trim_end()
        );
        for (name, section) in &self.sections {
            let end = if section.ends_with('\n') { "" } else { "\n" };
            text += &format!("-- {name} --\n{section}{end}");
        }
        text
    }
}

/// Replaces solve times, the one thing that differs from call to call.
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

/// Files with their calls.
fn cases() -> Vec<(PathBuf, Vec<Case>)> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let files = fs::read_dir(golden).unwrap().flatten();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let mut cases = Vec::new();
        for case in text.split("==== ").filter(|case| !case.is_empty()) {
            let (name, rest) = case.split_once(" ====\n").expect("a name");
            cases.push(Case::read(name, rest));
        }
        (path, cases)
    };
    files.map(|entry| read(entry.path())).collect()
}

#[test]
fn every_call_answers_as_recorded() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for (path, cases) in cases() {
        let mut all = String::new();
        for case in cases {
            let now = case.call().text();
            if now != case.text() {
                wrong.push(format!("{} is now\n{now}", case.name));
            }
            all += &now;
        }
        if bless {
            fs::write(path, all).unwrap();
        }
    }
    assert!(bless || wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn bad_input_exits_with_2_says_why_and_writes_nothing() {
    let (mut calls, mut errors) = (0, 0);
    for case in cases().into_iter().flat_map(|(_, cases)| cases) {
        let name = &case.name;
        let code = case.code.as_str();
        assert!(matches!(code, "0" | "2"), "{name}: exit code {code}");
        calls += 1;
        if code == "2" {
            errors += 1;
            assert!(!case.section("expected stderr").is_empty(), "{name}");
            assert!(!case.section("expected files").contains("out/"), "{name}");
        }
    }
    let (least_calls, least_errors) = crate::GOLDEN;
    assert!(
        calls >= least_calls && errors >= least_errors,
        "{errors} errors of {calls} calls are recorded"
    );
}
