//! Shared parts of banister's programs: a command line with completions and a manual page, failures and exit codes.

mod failure;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write as _;

pub use clap;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
pub use failure::{Failure, Report};

/// Commands that every program has.
#[derive(Debug, Subcommand)]
pub enum Common {
    /// Print completions for a shell
    #[command(
        after_help = "Example, for bash: into the file ~/.local/share/bash-completion/completions/ with the program's name"
    )]
    Completions {
        /// Shell to complete for
        shell: Shell,
    },
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

impl Common {
    /// Prints what was asked for about the program `A`.
    pub fn run<A: CommandFactory>(self) -> Result<(), Failure> {
        let mut command = A::command();
        let mut text = Vec::new();
        match self {
            Self::Completions { shell } => {
                let name = command.get_name().to_string();
                clap_complete::generate(shell, &mut command, name, &mut text);
            }
            Self::Man => clap_mangen::Man::new(command).render(&mut text)?,
        }
        Ok(std::io::stdout().lock().write_all(&text)?)
    }
}

/// Runs a command line, the program's name first, and gives its exit code: 0, 2 for wrong input or usage, 1 for anything
/// else. Never ends the process.
pub fn main_from<A: Parser>(
    args: impl IntoIterator<Item = OsString>,
    run: impl FnOnce(A) -> Result<(), Failure>,
) -> u8 {
    let args = match A::try_parse_from(args) {
        Ok(args) => args,
        Err(message) => {
            // clap reports help and version as errors too. The reader may have closed the pipe.
            let _ = message.print();
            return u8::try_from(message.exit_code()).unwrap_or(1);
        }
    };
    match run(args) {
        Ok(()) => 0,
        Err(failure) => failure.report(A::command().get_name()),
    }
}

/// Prints a line; a closed pipe is an error, where `println!` would panic.
pub fn say(line: impl Display) -> Result<(), Failure> {
    writeln!(std::io::stdout().lock(), "{line}")?;
    Ok(())
}
