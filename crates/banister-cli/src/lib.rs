//! The `banister` command line as a library, for programs that carry it inside, such as the Python
//! package.
//!
//! Reading order: `args` (what can be typed), `commands` (one file or folder each), `input` (errors that
//! point into the TOML), `progress` and `terminal` (tables).

#![allow(missing_docs)]

mod args;
mod commands;
mod input;
mod progress;
mod terminal;

use std::ffi::OsString;

/// Runs a command line, the program's name first, and gives its exit code: 0, 2 for wrong input or
/// usage, 1 for anything else. Prints as the program does, and never ends the process.
///
/// ```
/// assert_eq!(banister_cli::main_from(["banister", "--version"].map(Into::into)), 0);
/// assert_eq!(banister_cli::main_from(["banister", "--nonsense"].map(Into::into)), 2);
/// ```
pub fn main_from(args: impl IntoIterator<Item = OsString>) -> u8 {
    banister_terminal::main_from(args, commands::dispatch)
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
