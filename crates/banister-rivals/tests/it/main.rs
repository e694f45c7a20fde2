//! The integration tests of `banister-rivals`, one binary.

mod agent_laws;
mod allocation;
mod arms_cumulative;
mod arms_reference;
mod arms_safe;
#[path = "../../../banister/tests/it/common/mod.rs"]
mod common;
#[allow(unsafe_code)]
#[path = "../../../banister-solve/tests/it/common/counting.rs"]
mod counting;
mod linear_reference;
mod linear_safety;
mod realised;
mod refusals;
mod registry;
mod worlds;
