//! Developer commands: `cargo xtask check | test | client | bench | book | paper | dist | audit`.
//!
//! Nothing needs to be prepared: a task says what it misses on this machine and installs it, Debian
//! packages system-wide and Python packages into virtual environments under `target/`.
//!
//! Reading order: `setup` (what a task needs), `test` (with `rust_tests`), `bench` (with `load`), `book`, `paper`, `dist`.

mod bench;
mod book;
mod dist;
mod load;
mod paper;
mod rust_tests;
mod setup;
mod test;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use setup::{Environments, Setup};

const USAGE: &str = "\
usage: cargo xtask check                        formatting, clippy and the fast tests
       cargo xtask test [STEP...]               everything, or steps of: fmt clippy lint doc paper rust python package
       cargo xtask bench [PART...]              beside others: rust python leases service routing
       cargo xtask client                       the Python client's types, from the service's OpenAPI document
       cargo xtask book                         docs/: the reference made anew, and the book in target/book
       cargo xtask paper                        docs/paper: figures from results on disk, HTML and PDF
       cargo xtask dist [PART...]               what is released, built and tried: crates binary wheel
       cargo xtask audit                        licences, advisories and sources of all dependencies
options: --no-install                           fail where something would have to be installed";

type Outcome<T = ()> = Result<T, String>;

/// A named part of a task: what it needs, and its work.
struct Step {
    name: &'static str,
    needs: &'static [setup::Need],
    run: fn() -> Outcome,
    beside_next: bool,
}

impl Step {
    const fn new(name: &'static str, needs: &'static [setup::Need], run: fn() -> Outcome) -> Self {
        Self {
            name,
            needs,
            run,
            beside_next: false,
        }
    }
}

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let given = args.len();
    args.retain(|arg| arg != "--no-install");
    let setup = Setup {
        install: args.len() == given,
    };
    let outcome = match args.split_first() {
        Some((task, [])) if task == "check" => steps(&setup, task, &test::CHECK, &[]),
        Some((task, names)) if task == "test" => steps(&setup, task, &test::STEPS, names),
        Some((task, names)) if task == "bench" => steps(&setup, task, &bench::STEPS, names),
        Some((task, [])) if task == "client" => client(),
        Some((task, [])) if task == "book" => steps(&setup, task, &book::STEPS, &[]),
        Some((task, [])) if task == "paper" => steps(&setup, task, &paper::STEPS, &[]),
        Some((task, names)) if task == "dist" => steps(&setup, task, &dist::STEPS, names),
        Some((task, [])) if task == "audit" => steps(&setup, task, &dist::AUDIT, &[]),
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

/// Runs the named steps, or all, after preparing the machine for every one of them.
fn steps(setup: &Setup, task: &str, all: &[Step], names: &[String]) -> Outcome {
    if let Some(unknown) = names.iter().find(|n| all.iter().all(|s| s.name != **n)) {
        return Err(format!("there is no step `{unknown}`\n{USAGE}"));
    }
    let wanted = |step: &&Step| names.is_empty() || names.iter().any(|n| n == step.name);
    let chosen: Vec<&Step> = all.iter().filter(wanted).collect();
    let mut environments = setup.prepare(chosen.iter().flat_map(|step| step.needs))?;
    let done = in_order(task, &chosen, &mut environments);
    done.and(environments.wait())
}

fn in_order(task: &str, steps: &[&Step], environments: &mut Environments) -> Outcome {
    let mut rest = steps;
    while let Some((step, others)) = rest.split_first() {
        if step.needs.iter().any(|need| need.is_environment()) {
            environments.wait()?;
        }
        // Tests that wait for servers and browsers leave a core to the next step.
        match others.split_first().filter(|_| step.beside_next) {
            Some((next, others)) => {
                rest = others;
                beside(task, step, next)?;
            }
            None => {
                rest = others;
                timed(step)?;
            }
        }
    }
    Ok(())
}

fn timed(step: &Step) -> Outcome {
    let name = step.name;
    println!("── {name}");
    let started = Instant::now();
    (step.run)().map_err(|message| format!("step `{name}` failed: {message}"))?;
    println!("── {name}: fine, {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Runs two steps at once, the second as a process of its own whose output follows that of the first.
fn beside(task: &str, first: &Step, second: &Step) -> Outcome {
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let mut command = Command::new(program);
    command.args([task, second.name, "--no-install"]);
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(move || command.output());
        (timed(first), second.join())
    });
    let output = second.map_err(|_| "a thread of this program failed".to_string())?;
    let output = output.map_err(|error| format!("this program: {error}"))?;
    print!("{}", String::from_utf8_lossy(&output.stdout));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    first?;
    if output.status.success() {
        Ok(())
    } else {
        Err("see above".into())
    }
}

/// Writes the Python client's types; the same test says that they are current.
fn client() -> Outcome {
    let mut command = Command::new(env!("CARGO"));
    let test = [
        "test",
        "--package",
        "banister-service",
        "--test",
        "it",
        "client",
    ];
    run(command.args(test).env("BLESS", "1").current_dir(root()))
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

/// Turns an input or output error into a message that names the path.
fn at(path: &Path) -> impl Fn(std::io::Error) -> String + '_ {
    move |error| format!("{}: {error}", path.display())
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
