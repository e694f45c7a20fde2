//! Benchmarks: speed beside other libraries, printed as ratios of one run.

use std::process::Command;

use crate::setup::{Environment, Need, pip};
use crate::{Outcome, Step, cargo, load, root, run, target};

const RUST: Environment = Environment {
    name: "bench-venv",
    requirements: "benches/requirements.txt",
};

const PYTHON: Environment = Environment {
    name: "python-bench-venv",
    requirements: "benches/python-requirements.txt",
};

const ROUTING: Environment = Environment {
    name: "routing-venv",
    requirements: "benches/routing/requirements.txt",
};

pub const STEPS: [Step; 5] = [
    Step::new("rust", &[Need::Python(RUST)], rust),
    Step::new("python", &[Need::Python(PYTHON)], python),
    Step::new("leases", &[Need::Debian("nodejs", &["node"])], leases),
    Step::new("service", &[Need::Debian("wrk", &["wrk"])], service),
    Step::new("routing", &[Need::Python(ROUTING)], routing),
];

fn rust() -> Outcome {
    for (package, bench) in [("banister-sim", "speed"), ("banister-solve", "cone")] {
        run(Command::new(env!("CARGO"))
            .args(["bench", "--locked", "-p", package, "--bench", bench])
            .env("BANISTER_PYTHON", RUST.python())
            .current_dir(root()))?;
    }
    Ok(())
}

/// The wheel of this checkout beside bandits and solvers that Python can call.
fn python() -> Outcome {
    // It is compiled where it is installed: without a compiler its rows say that it is missing.
    if let Err(message) = pip(PYTHON, &["install", "contextualbandits>=0.3.27,<0.4"]) {
        eprintln!("xtask: going on without contextualbandits: {message}");
    }
    pip(
        PYTHON,
        &["install", &format!("{}[client]", root().display())],
    )?;
    cargo(&["build", "--release", "--locked", "-p", "banisterd"])?;
    // Python looks beside the script first, not in the checkout, so this is the wheel.
    for script in [
        "python_speed.py",
        "python_sweep.py",
        "client_cpu.py",
        "leases.py",
    ] {
        run(Command::new(PYTHON.python())
            .arg(root().join("benches").join(script))
            .env("BANISTERD", target().join("release").join("banisterd"))
            .current_dir(root()))?;
    }
    Ok(())
}

/// Decisions under a lease, without a network: in Rust and in JavaScript.
fn leases() -> Outcome {
    let example = ["--features", "lease", "--example", "lease_speed"];
    cargo(
        &[
            &["run", "--release", "--locked", "-p", "banister"],
            &example[..],
        ]
        .concat(),
    )?;
    run(Command::new("node").arg(root().join("benches/leases.mjs")))
}

/// The service under load, from a second process on this machine.
fn service() -> Outcome {
    cargo(&["build", "--release", "--locked", "-p", "banisterd"])?;
    load::run(
        &target().join("release").join("banisterd"),
        &root().join("benches/load"),
    )
}

/// The suite `routing`, and other packages' routers of language models on the same requests in the same order; then
/// prices and models that change.
fn routing() -> Outcome {
    // Without the many packages it requires for calling models.
    pip(ROUTING, &["install", "--no-deps", "litellm==1.108.4"])?;
    cargo(&["build", "--release", "--locked"])?;
    let out = target().join("routing");
    run(Command::new(target().join("release").join("banister"))
        .args(["compare", "--suite", "routing", "--restart", "--out"])
        .arg(&out))?;
    let scripts = root().join("benches/routing");
    run(Command::new(ROUTING.python())
        .arg(scripts.join("rivals.py"))
        .arg("--orders")
        .arg(out.join("orders.parquet"))
        .arg("--out")
        .arg(&out))?;
    run(Command::new(ROUTING.python())
        .arg(scripts.join("board.py"))
        .arg(&out))?;
    pip(ROUTING, &["install", &root().to_string_lossy()])?;
    run(Command::new(ROUTING.python()).arg(scripts.join("moving.py")))
}
