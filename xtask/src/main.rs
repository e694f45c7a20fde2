//! Developer commands: `cargo xtask test | bench`.
//!
//! Nothing needs to be prepared: Debian packages are installed where they are missing, and Python
//! packages go to a virtual environment under `target/`.

mod load;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

const USAGE: &str = "\
usage: cargo xtask test [fmt] [clippy] [doc] [rust] [python] [package]   everything, or these steps
       cargo xtask bench [rust] [python] [service]                       speed, beside others";

type Outcome = Result<(), String>;
type Step = fn() -> Outcome;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match args.split_first() {
        Some((task, steps)) if task == "test" => test(steps),
        Some((task, parts)) if task == "bench" => bench(parts),
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn test(steps: &[String]) -> Outcome {
    let all: [(&str, Step); 6] = [
        ("fmt", || cargo(&["fmt", "--all", "--check"])),
        ("clippy", || {
            cargo(&[
                "clippy",
                "--workspace",
                "--all-targets",
                "--locked",
                "--",
                "-D",
                "warnings",
            ])
        }),
        ("doc", || {
            let args = ["doc", "--workspace", "--no-deps", "--locked", "--quiet"];
            run(Command::new(env!("CARGO"))
                .args(args)
                .env("RUSTDOCFLAGS", "-D warnings")
                .current_dir(root()))
        }),
        ("rust", rust_tests),
        ("python", python_tests),
        ("package", package_tests),
    ];
    if let Some(unknown) = steps.iter().find(|s| all.iter().all(|(name, _)| name != s)) {
        return Err(format!("there is no step `{unknown}`\n{USAGE}"));
    }
    for (name, step) in all {
        if !steps.is_empty() && !steps.iter().any(|s| s == name) {
            continue;
        }
        println!("── {name}");
        let started = Instant::now();
        step().map_err(|message| format!("step `{name}` failed: {message}"))?;
        println!("── {name}: fine, {:.0} s", started.elapsed().as_secs_f64());
    }
    Ok(())
}

/// The log's tests run servers of PostgreSQL of their own.
fn rust_tests() -> Outcome {
    postgresql()?;
    cargo(&["test", "--workspace", "--locked"])
}

fn postgresql() -> Outcome {
    let installed = fs::read_dir("/usr/lib/postgresql").is_ok_and(|versions| {
        let mut servers = versions.flatten().map(|v| v.path().join("bin/postgres"));
        servers.any(|server| server.is_file())
    });
    match installed || on_path("postgres") {
        true => Ok(()),
        false => apt_install("postgresql"),
    }
}

/// HiGHS as an oracle; the report and the service's page in a real browser; the service under faults.
fn python_tests() -> Outcome {
    debian_package(
        "chromium",
        &["chromium", "chromium-browser", "google-chrome"],
    )?;
    let python = python_with("tests/requirements.txt")?;
    // What the Rust tests built, rather than the same with other features once more.
    cargo(&["test", "--workspace", "--locked", "--no-run", "--quiet"])?;
    let binary = target().join("debug").join("banister");
    run(Command::new(python)
        .args(["-m", "pytest", "-q", "tests"])
        .env("BANISTER", binary)
        .current_dir(root()))
}

/// The Python package as people get it: a wheel of this checkout, in a fresh environment.
fn package_tests() -> Outcome {
    let wheels = target().join("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels).map_err(|e| format!("{}: {e}", wheels.display()))?;
    }
    let python = environment("venv")?;
    run(Command::new(&python)
        .args([
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .args(["--no-deps", "--wheel-dir"])
        .args([wheels.as_os_str(), root().as_os_str()]))?;
    let wheel = fs::read_dir(&wheels)
        .and_then(|mut files| files.next().transpose())
        .map_err(|e| format!("{}: {e}", wheels.display()))?
        .ok_or("pip made no wheel")?;
    let fresh = target().join("package-venv");
    if fresh.exists() {
        fs::remove_dir_all(&fresh).map_err(|e| format!("{}: {e}", fresh.display()))?;
    }
    let python = environment("package-venv")?;
    pip_install(
        &python,
        &[
            wheel.path().as_os_str(),
            "-r".as_ref(),
            root().join("python/tests/requirements.txt").as_os_str(),
        ],
    )?;
    // Python looks in the folder of the tests first, not in the checkout: it is the wheel that is
    // tested, and a test says so.
    run(Command::new(python)
        .args(["-m", "pytest", "-q", "python/tests"])
        .current_dir(root()))
}

fn bench(parts: &[String]) -> Outcome {
    let all: [(&str, Step); 3] = [
        ("rust", rust_bench),
        ("python", python_bench),
        ("service", service_bench),
    ];
    if let Some(unknown) = parts.iter().find(|p| all.iter().all(|(name, _)| name != p)) {
        return Err(format!("there is no benchmark `{unknown}`\n{USAGE}"));
    }
    let wanted = |name: &str| parts.is_empty() || parts.iter().any(|p| p == name);
    all.into_iter()
        .filter(|(name, _)| wanted(name))
        .try_for_each(|(_, part)| part())
}

fn rust_bench() -> Outcome {
    let python = python_with("benches/requirements.txt")?;
    for (package, bench) in [("banister-sim", "speed"), ("banister-solve", "cone")] {
        run(Command::new(env!("CARGO"))
            .args(["bench", "--locked", "-p", package, "--bench", bench])
            .env("BANISTER_PYTHON", &python)
            .current_dir(root()))?;
    }
    Ok(())
}

/// The wheel of this checkout beside bandits and solvers that Python can call.
fn python_bench() -> Outcome {
    let python = python_with("benches/python-requirements.txt")?;
    // It is compiled where it is installed: without a compiler its rows say that it is missing.
    if let Err(message) = pip_install(&python, &["contextualbandits>=0.3.27,<0.4".as_ref()]) {
        eprintln!("xtask: going on without contextualbandits: {message}");
    }
    pip_install(&python, &[root().as_os_str()])?;
    // Python looks beside the script first, not in the checkout, so this is the wheel.
    for script in ["python_speed.py", "python_sweep.py"] {
        run(Command::new(&python)
            .arg(root().join("benches").join(script))
            .current_dir(root()))?;
    }
    Ok(())
}

/// The service under load, from a second process on this machine.
fn service_bench() -> Outcome {
    debian_package("wrk", &["wrk"])?;
    cargo(&["build", "--release", "--locked"])?;
    load::run(
        &target().join("release").join("banister"),
        &root().join("benches/load"),
    )
}

/// The interpreter of a virtual environment that has the listed packages.
fn python_with(requirements: &str) -> Result<PathBuf, String> {
    let python = environment("venv")?;
    let requirements = root().join(requirements);
    pip_install(&python, &["-r".as_ref(), requirements.as_os_str()])?;
    Ok(python)
}

/// The interpreter of a virtual environment under `target/`, made if it is not there.
fn environment(name: &str) -> Result<PathBuf, String> {
    let venv = target().join(name);
    let python = venv.join("bin").join("python");
    if !python.exists() {
        let make = || run(Command::new("python3").args(["-m", "venv"]).arg(&venv));
        // Debian splits the module that makes environments off its Python.
        if make().is_err() {
            apt_install("python3-venv")?;
            make()?;
        }
    }
    Ok(python)
}

fn pip_install(python: &Path, what: &[&OsStr]) -> Outcome {
    run(Command::new(python)
        .args(["-m", "pip", "install", "--quiet"])
        .arg("--disable-pip-version-check")
        .args(what))
}

/// Installs a Debian package unless one of its programs is there already.
fn debian_package(package: &str, programs: &[&str]) -> Outcome {
    if programs.iter().any(|program| on_path(program)) {
        return Ok(());
    }
    apt_install(package)
}

fn apt_install(package: &str) -> Outcome {
    println!("   installing the Debian package {package}");
    let apt = |args: &[&str]| {
        let mut command = if on_path("sudo") {
            let mut command = Command::new("sudo");
            command.args(["-n", "apt-get"]);
            command
        } else {
            Command::new("apt-get")
        };
        run(command.args(args).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update", "-q"])?;
    apt(&["install", "-y", "-q", "--no-install-recommends", package])
}

fn on_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()))
}

fn cargo(args: &[&str]) -> Outcome {
    run(Command::new(env!("CARGO")).args(args).current_dir(root()))
}

fn run(command: &mut Command) -> Outcome {
    let shown = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}`: {status}")),
        Err(error) => Err(format!("`{shown}` did not start: {error}")),
    }
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
