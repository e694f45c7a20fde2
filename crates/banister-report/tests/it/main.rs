//! The integration tests of `banister-report`, one binary.

mod common;
mod figures;
mod heat;
mod optimum;
mod pages;
mod scatter;
mod tables;
mod traces;
mod unknown;
