//! The integration tests of `banister-offline`, one binary.

mod common;
mod estimators;
mod evidence;
mod input;
mod intervals;
mod lift;
mod replay;
mod segments;
mod verdicts;
mod warm_start;
