//! The `banisterd` command line: the service, its tokens, and proofs and copies of its log.
//!
//! Reading order: `args` (what can be typed), `commands` (one file each).

mod args;
mod commands;

use std::process::ExitCode;

/// Requests are read on one thread and answered on another: this allocator does not contend for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    banister_terminal::main_from(std::env::args_os(), commands::dispatch).into()
}
