//! The `banister` command line.

/// Requests are read on one thread and answered on another: this allocator does not contend for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use std::process::ExitCode;

fn main() -> ExitCode {
    banister_cli::main_from(std::env::args_os()).into()
}
