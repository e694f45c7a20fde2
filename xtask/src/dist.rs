//! Releases: what users download, built as they get it and tried in empty environments.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::setup::{Environment, Need, TESTS, pip};
use crate::{Outcome, Step, at, cargo, root, run, target};

pub const STEPS: [Step; 3] = [
    Step::new("crates", &[], crates),
    Step::new("binary", &[], binary),
    Step::new("wheel", &[Need::Python(TESTS)], wheel),
];

/// The programs of a release.
const PROGRAMS: [&str; 2] = ["banister", "banisterd"];

pub const AUDIT: [Step; 1] = [Step::new("audit", &[Need::Cargo("cargo-deny")], || {
    cargo(&["deny", "--all-features", "check"])
})];

/// The one experiment that a fresh installation runs.
const SMOKE: &str = "\
run = { horizon = 500, runs = 2 }
environment = { kind = \"bernoulli\", rewards = [0.1, 0.7], costs = [[0.0, 0.2]] }
guardrail = [{ name = \"spend\", at_most = 0.5, safe_cost = 0.0 }]
agent = [{ kind = \"opb\" }]
";

/// Packages every published crate, and builds each from its package alone.
fn crates() -> Outcome {
    cargo(&[
        "package",
        "--workspace",
        "--locked",
        "--exclude",
        "xtask",
        "--exclude",
        "banister-py",
    ])
}

/// Both programs, stripped, each with its completions and manual page, licences and README in one archive.
fn binary() -> Outcome {
    let build = ["build", "--profile", "dist", "--locked"];
    cargo(&[&build[..], &["-p", "banister-cli", "-p", "banisterd"]].concat())?;
    let name = format!("banister-{}-{}", env!("CARGO_PKG_VERSION"), triple()?);
    let place = target().join("archives");
    let folder = place.join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(at(&folder))?;
    }
    let completions = folder.join("completions");
    fs::create_dir_all(&completions).map_err(at(&completions))?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(root().join(file), folder.join(file)).map_err(at(Path::new(file)))?;
    }
    for name in PROGRAMS {
        let program = target().join("dist").join(name);
        fs::copy(&program, folder.join(name)).map_err(at(&program))?;
        for (shell, file) in [
            ("bash", format!("{name}.bash")),
            ("zsh", format!("_{name}")),
            ("fish", format!("{name}.fish")),
        ] {
            write_output(&program, &["completions", shell], &completions.join(file))?;
        }
        write_output(&program, &["man"], &folder.join(format!("{name}.1")))?;
    }
    let archive = place.join(format!("{name}.tar.gz"));
    run(Command::new("tar")
        .args(["--sort=name", "--owner=0", "--group=0", "-czf"])
        .arg(&archive)
        .arg("-C")
        .arg(&place)
        .arg(&name))?;
    println!("   {}", archive.display());
    try_archive(&archive, &name)
}

/// Unpacks the archive into an empty folder and runs the programs there without any environment.
fn try_archive(archive: &Path, name: &str) -> Outcome {
    let place = empty("try-archive")?;
    run(Command::new("tar")
        .arg("-xzf")
        .arg(archive)
        .current_dir(&place))?;
    fs::write(place.join("smoke.toml"), SMOKE).map_err(at(&place))?;
    let run_smoke = ["run", "smoke.toml", "--quiet", "--out", "out"];
    for (program, args) in [
        ("banister", &["--version"][..]),
        ("banister", &run_smoke),
        ("banisterd", &["--version"]),
    ] {
        run(Command::new(place.join(name).join(program))
            .args(args)
            .env_clear()
            .current_dir(&place))?;
    }
    for file in ["out/report.html", "out/curves.csv"] {
        let path = place.join(file);
        fs::metadata(&path).map_err(at(&path))?;
    }
    Ok(())
}

/// Builds the wheel into a folder by the package's own backend, as pip does, and returns its path.
pub fn build_wheel(profile: &str, folder: &Path) -> Outcome<PathBuf> {
    let args = format!("build-args=--profile {profile} --compatibility pypi");
    // The backend calls maturin by its name.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(TESTS.program("")).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(path).map_err(|error| error.to_string())?;
    run(Command::new(TESTS.python())
        .args(["-m", "pip", "wheel", "--quiet", "--no-deps"])
        .args(["--no-build-isolation", "-C", &args, "--wheel-dir"])
        .args([folder, root()])
        .env("CARGO_TARGET_DIR", target())
        .env("PATH", path))?;
    newest(folder, ".whl")
}

/// The abi3 wheel, installed with nothing but its declared dependencies, and used once.
fn wheel() -> Outcome {
    let wheel = build_wheel("dist", &target().join("archives"))?;
    println!("   {}", wheel.display());
    let folder = empty("try-wheel")?;
    let environment = Environment {
        name: "try-wheel",
        requirements: "",
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    pip(environment, &["install", &wheel.to_string_lossy()])?;
    let script = "import banister\n\
        spend = banister.Guardrail('spend', at_most=0.5, safe_cost=0.1)\n\
        agent = banister.Opb(['a', 'b'], guardrails=[spend], seed=1)\n\
        decision = agent.decide()\n\
        print('banister', banister.__version__, 'decides', decision.action)\n";
    let program = environment.program("banister");
    run(Command::new(environment.python())
        .args(["-I", "-c", script])
        .env_clear())?;
    run(Command::new(program).arg("--version").env_clear())
}

/// A new, empty folder under `target/`.
fn empty(name: &str) -> Outcome<PathBuf> {
    let folder = target().join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(at(&folder))?;
    }
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    Ok(folder)
}

fn newest(folder: &Path, suffix: &str) -> Outcome<PathBuf> {
    let files = fs::read_dir(folder).map_err(at(folder))?.flatten();
    files
        .filter(|file| file.file_name().to_string_lossy().ends_with(suffix))
        .max_by_key(|file| file.metadata().and_then(|m| m.modified()).ok())
        .map(|file| file.path())
        .ok_or_else(|| format!("{}: no {suffix}", folder.display()))
}

fn write_output(program: &Path, args: &[&str], path: &Path) -> Outcome {
    let output = Command::new(program)
        .args(args)
        .output()
        .map_err(at(program))?;
    if !output.status.success() || output.stdout.is_empty() {
        return Err(format!(
            "`{} {}` printed nothing",
            program.display(),
            args.join(" ")
        ));
    }
    fs::write(path, output.stdout).map_err(at(path))
}

/// The platform that cargo builds for here.
fn triple() -> Outcome<String> {
    let output = Command::new("rustc").arg("-vV").output();
    let text = output.map_err(|error| format!("rustc: {error}"))?.stdout;
    let text = String::from_utf8_lossy(&text);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_string)
        .ok_or_else(|| "rustc names no host".into())
}
