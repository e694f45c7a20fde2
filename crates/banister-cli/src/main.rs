//! The `banister` command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    banister_cli::main_from(std::env::args_os()).into()
}
