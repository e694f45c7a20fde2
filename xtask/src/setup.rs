//! Requirements of tasks on this machine, announced before anything is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use crate::{Outcome, at, root, run, target};

/// Something a step needs beside the Rust toolchain and Python 3.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A Debian package, there if one of its programs is.
    Debian(&'static str, &'static [&'static str]),
    /// The Debian package `postgresql`, whose programs are not on the path.
    Postgresql,
    /// A virtual environment.
    Python(Environment),
    /// A program that cargo installs.
    Cargo(&'static str),
}

/// A virtual environment under `target/` with the packages that a file of the repository lists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Environment {
    pub name: &'static str,
    pub requirements: &'static str,
}

/// Oracles, linters, the browser's driver and the tool that builds wheels.
pub const TESTS: Environment = Environment {
    name: "venv",
    requirements: "tests/requirements.txt",
};

impl Environment {
    pub fn python(self) -> PathBuf {
        self.program("python")
    }

    pub fn program(self, name: &str) -> PathBuf {
        target().join(self.name).join("bin").join(name)
    }

    /// A copy of the requirements, written once they are installed.
    fn stamp(self) -> PathBuf {
        target().join(self.name).join("requirements.txt")
    }

    fn wanted(self) -> Outcome<String> {
        let path = root().join(self.requirements);
        fs::read_to_string(&path).map_err(at(&path))
    }

    fn is_ready(self) -> bool {
        let installed = fs::read_to_string(self.stamp());
        self.python().exists() && installed.is_ok_and(|text| Ok(text) == self.wanted())
    }

    fn install(self) -> Outcome {
        if !self.python().exists() {
            let folder = target().join(self.name);
            run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        }
        let list = root().join(self.requirements);
        // Of thousands of modules the tests import some: those are compiled when they are.
        let list = list.to_string_lossy();
        pip(self, &["install", "--no-compile", "-r", &list])?;
        fs::write(self.stamp(), self.wanted()?).map_err(at(&self.stamp()))
    }
}

impl Need {
    fn is_met(self) -> bool {
        match self {
            Self::Debian(_, programs) => programs.iter().any(|program| on_path(program)),
            Self::Postgresql => on_path("postgres") || has_postgresql(),
            Self::Python(environment) => environment.is_ready(),
            Self::Cargo(program) => on_path(program),
        }
    }

    pub fn is_environment(self) -> bool {
        matches!(self, Self::Python(_))
    }

    fn describe(self) -> String {
        match self {
            Self::Debian(package, _) => format!("the Debian package {package}, with apt-get"),
            Self::Postgresql => Self::Debian("postgresql", &[]).describe(),
            Self::Python(Environment { name, requirements }) => {
                format!("the Python packages of {requirements}, into target/{name}")
            }
            Self::Cargo(program) => format!("the program {program}, with cargo install"),
        }
    }

    fn install(self) -> Outcome {
        match self {
            Self::Debian(package, _) => apt_install(package),
            Self::Postgresql => apt_install("postgresql"),
            Self::Python(environment) => environment.install(),
            Self::Cargo(program) => crate::cargo(&["install", "--locked", program]),
        }
    }
}

/// Permission to install.
pub struct Setup {
    pub install: bool,
}

impl Setup {
    /// Announces and installs every unmet need, virtual environments beside the first steps; fails with the list where
    /// installing is not allowed.
    pub fn prepare<'a>(&self, needs: impl Iterator<Item = &'a Need>) -> Outcome<Environments> {
        // Debian splits the module that makes environments off its Python.
        const VENV: Need = Need::Debian("python3-venv", &[]);
        let mut missing: Vec<Need> = Vec::new();
        for need in needs.copied().filter(|need| !need.is_met()) {
            if need.is_environment() && !has_venv() && !missing.contains(&VENV) {
                missing.push(VENV);
            }
            if !missing.contains(&need) {
                missing.push(need);
            }
        }
        let list: String = missing
            .iter()
            .map(|n| format!("  {}\n", n.describe()))
            .collect();
        if missing.is_empty() {
            return Ok(Environments(None));
        }
        if !self.install {
            return Err(format!(
                "this machine misses, and --no-install forbids:\n{list}"
            ));
        }
        print!("── to be installed:\n{list}");
        let (environments, others): (Vec<Need>, Vec<Need>) =
            missing.into_iter().partition(|need| need.is_environment());
        others.into_iter().try_for_each(Need::install)?;
        let install = move || environments.into_iter().try_for_each(Need::install);
        Ok(Environments(Some(std::thread::spawn(install))))
    }
}

/// Virtual environments on their way.
pub struct Environments(Option<JoinHandle<Outcome>>);

impl Environments {
    /// Waits until all are there.
    pub fn wait(&mut self) -> Outcome {
        let installed = self.0.take().map_or(Ok(Ok(())), JoinHandle::join);
        installed.map_err(|_| "a thread of this program failed".to_string())?
    }
}

/// Runs pip of an environment, quietly.
pub fn pip(environment: Environment, args: &[&str]) -> Outcome {
    let quiet = ["--quiet", "--disable-pip-version-check"];
    let mut command = Command::new(environment.python());
    run(command.args(["-m", "pip"]).args(args).args(quiet))
}

fn has_postgresql() -> bool {
    fs::read_dir("/usr/lib/postgresql").is_ok_and(|versions| {
        let mut servers = versions.flatten().map(|v| v.path().join("bin/postgres"));
        servers.any(|server| server.is_file())
    })
}

fn has_venv() -> bool {
    let mut command = Command::new("python3");
    let status = command
        .args(["-c", "import ensurepip"])
        .stderr(Stdio::null());
    status.status().is_ok_and(|status| status.success())
}

fn apt_install(package: &str) -> Outcome {
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
    let is_there = |folder: PathBuf| Path::new(&folder).join(program).is_file();
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(is_there))
}
