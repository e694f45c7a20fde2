//! The tests: what `cargo xtask test` and `cargo xtask check` run.

use std::path::PathBuf;
use std::process::Command;

use crate::dist::build_wheel;
use crate::setup::{Environment, Need, TESTS, pip};
use crate::{Outcome, Step, cargo, root, run, rust_tests, target};

/// Packages that the tests of the Python package use beside it.
const PACKAGE: Environment = Environment {
    name: "package-venv",
    requirements: "python/tests/requirements.txt",
};

const FMT: Step = Step::new("fmt", &[], || cargo(&["fmt", "--all", "--check"]));

const CLIPPY: Step = Step::new("clippy", &[], clippy);

pub const STEPS: [Step; 8] = [
    FMT,
    CLIPPY,
    Step::new("lint", &[Need::Python(TESTS)], lint),
    Step::new("doc", &[], doc),
    crate::paper::BUILD,
    Step::new("rust", &[Need::Postgresql], rust_tests::rust),
    Step {
        beside_next: true,
        ..Step::new(
            "python",
            &[
                Need::Debian(
                    "chromium",
                    &["chromium", "chromium-browser", "google-chrome"],
                ),
                Need::Postgresql,
                Need::Debian("faketime", &["faketime"]),
                Need::Python(TESTS),
            ],
            python,
        )
    },
    Step::new(
        "package",
        &[Need::Python(TESTS), Need::Python(PACKAGE)],
        package,
    ),
];

pub const CHECK: [Step; 3] = [
    FMT,
    CLIPPY,
    Step::new("fast tests", &[Need::Postgresql], fast_tests),
];

/// Modules of integration tests that take most of the time.
const SLOW: [&str; 3] = ["evidence::", "interleavings::", "replicas::"];

fn clippy() -> Outcome {
    let args = ["clippy", "--workspace", "--all-targets", "--locked"];
    cargo(&[&args[..], &["--", "-D", "warnings"]].concat())
}

fn doc() -> Outcome {
    let args = ["doc", "--workspace", "--no-deps", "--locked", "--quiet"];
    run(Command::new(env!("CARGO"))
        .args(args)
        .env("RUSTDOCFLAGS", "-D warnings")
        .current_dir(root()))
}

/// Formatting and rules of Python and of the page's JavaScript and style sheet.
fn lint() -> Outcome {
    let tool = |program: &str, args: &[&str]| {
        let mut command = Command::new(TESTS.program(program));
        run(command.args(args).current_dir(root()))
    };
    tool("ruff", &["check", "--quiet"])?;
    tool("ruff", &["format", "--check", "--quiet"])?;
    tool("deno", &["fmt", "--check", "--quiet"])?;
    tool("deno", &["lint", "--quiet"])
}

fn fast_tests() -> Outcome {
    let skip = SLOW.iter().flat_map(|name| ["--skip", name]);
    let args = [
        "test",
        "--workspace",
        "--locked",
        "--quiet",
        "--tests",
        "--",
    ];
    cargo(&args.into_iter().chain(skip).collect::<Vec<_>>())
}

/// HiGHS as an oracle; the report and the service's page in a real browser; the service under faults.
fn python() -> Outcome {
    let binary = banisterd()?;
    run(Command::new(TESTS.python())
        .args(["-m", "pytest", "-q", "--durations=25"])
        // Most tests wait for servers and browsers. Tests of a file share them, so they stay together.
        .args(["-n", "2", "--dist", "loadfile", "tests"])
        .env("BANISTERD", binary)
        .current_dir(root()))
}

/// The service's program: what the Rust tests built, rather than the same with other features once more.
fn banisterd() -> Outcome<PathBuf> {
    let args = ["--workspace", "--locked", "--tests", "--no-run", "--quiet"];
    cargo(&[&["test"], &args[..]].concat())?;
    Ok(target().join("debug").join("banisterd"))
}

/// The Python package as people install it: a wheel of this checkout, outside the checkout's folder.
///
/// The wheel is built with the development profile, from what the Rust tests have compiled;
/// `cargo xtask dist wheel` builds and tries the optimised one.
fn package() -> Outcome {
    let binary = banisterd()?;
    let wheel = build_wheel("dev", &target().join("wheels"))?;
    let wheel = wheel.to_string_lossy();
    pip(
        PACKAGE,
        &["install", "--force-reinstall", "--no-deps", &wheel],
    )?;
    // Its dependencies, from what it declares.
    pip(PACKAGE, &["install", &wheel])?;
    // Python looks in the folder of the tests first, not in the checkout: it is the wheel that is
    // tested, and a test says so.
    run(Command::new(PACKAGE.python())
        .args(["-m", "pytest", "-q", "--durations=25", "python/tests"])
        .env("BANISTERD", binary)
        .current_dir(root()))
}
