//! One command per file.

mod backup;
mod bound;

mod compare;
mod init;

mod rebuild;
mod reproduce;
mod run;
mod serve;
mod solve;
mod token;

use std::io::Write;

use clap::CommandFactory;

use crate::args::{Args, Command};
use crate::failure::Failure;

/// Runs the command that was typed.
pub fn dispatch(args: Args) -> Result<(), Failure> {
    match args.command {
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Init(args) => init::init(&args),
        Command::Solve(args) => solve::solve(&args),
        Command::Bound(args) => bound::bound(&args),
        Command::Serve(args) => serve::serve(&args),
        Command::Token(args) => token::token(&args.command),
        Command::Backup(args) => backup::backup(&args),
        Command::Rebuild(args) => rebuild::rebuild(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "banister", &mut script);
            Ok(std::io::stdout().lock().write_all(&script)?)
        }
        Command::Man => {
            let page = clap_mangen::Man::new(Args::command());
            Ok(page.render(&mut std::io::stdout().lock())?)
        }
    }
}
