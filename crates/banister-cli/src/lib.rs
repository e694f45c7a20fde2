//! The `banister` command line as a library, for programs that carry it inside, such as the Python
//! package.
//!
//! Reading order: `args` (what can be typed), `commands` (one file or folder each), `input` (errors that
//! point into the TOML), `progress`, `terminal` (tables), `failure` (exit codes).

#![allow(missing_docs)]

mod args;
mod commands;
mod failure;
mod input;
mod progress;
mod terminal;

use std::ffi::OsString;

use clap::Parser;

/// Runs a command line, the program's name first, and gives its exit code: 0, 2 for wrong input or
/// usage, 1 for anything else. Prints as the program does, and never ends the process.
///
/// ```
/// assert_eq!(banister_cli::main_from(["banister", "--version"].map(Into::into)), 0);
/// assert_eq!(banister_cli::main_from(["banister", "--nonsense"].map(Into::into)), 2);
/// ```
pub fn main_from(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args = match args::Args::try_parse_from(args) {
        Ok(args) => args,
        Err(message) => {
            // clap reports help and version as errors too. The reader may have closed the pipe.
            let _ = message.print();
            return u8::try_from(message.exit_code()).unwrap_or(1);
        }
    };
    match commands::dispatch(args) {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}

/// Compiles and runs the examples of the chapter on linear actions. They are here, not in `banister`, so that
/// that crate can be packaged alone.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/linear.md")]
struct LinearActions;

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
