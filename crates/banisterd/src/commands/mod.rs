//! One command per file.

mod backup;
mod mcp;
mod rebuild;
mod serve;
mod token;

use banister_terminal::Failure;

use crate::args::{Args, Command};

/// Runs the command that was typed.
pub fn dispatch(args: Args) -> Result<(), Failure> {
    match args.command {
        Command::Serve(args) => serve::serve(&args),
        Command::Token(args) => token::token(&args.command),
        Command::Backup(args) => backup::backup(&args),
        Command::Mcp(args) => mcp::mcp(&args),
        Command::Rebuild(args) => rebuild::rebuild(&args),
        Command::Common(common) => common.run::<Args>(),
    }
}
