//! The integration tests of `banister-solve`, one binary.

mod common;
mod cone;
mod cone_hostile;
mod cone_oracles;
mod cone_several;
#[allow(unsafe_code)]
#[path = "common/counting.rs"]
mod counting;
mod dense;
mod policy_lp;
mod segments;
