//! The integration tests of `banister-report`, one binary.

mod common;
mod dots;
mod figures;
mod heat;
mod optimum;
mod pages;
mod ranks;
mod tables;
mod traces;
mod unknown;
