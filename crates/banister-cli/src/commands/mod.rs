//! One command per file.

mod bound;
mod compare;
mod evaluate;
mod init;
mod plan;
mod reproduce;
mod run;
mod solve;

use banister_terminal::Failure;

use crate::args::{Args, Command};

/// Runs the command that was typed.
pub fn dispatch(args: Args) -> Result<(), Failure> {
    match args.command {
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Init(args) => init::init(&args),
        Command::Solve(args) => solve::solve(&args),
        Command::Bound(args) => bound::bound(&args),
        Command::Plan(args) => plan::plan(&args),
        Command::Evaluate(args) => evaluate::evaluate(&args),
        Command::Common(common) => common.run::<Args>(),
    }
}
