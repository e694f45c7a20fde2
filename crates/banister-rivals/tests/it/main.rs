//! The integration tests of `banister-rivals`, one binary.

mod agent_laws;
mod arms_allocation;
mod arms_cumulative;
mod arms_reference;
mod arms_safe;
mod arms_unsafe;
#[path = "../../../banister/tests/it/common/mod.rs"]
mod common;
#[allow(unsafe_code)]
#[path = "../../../banister-solve/tests/it/common/counting.rs"]
mod counting;
mod grid;
mod linear_allocation;
mod linear_reference;
mod linear_safety;
mod realised;
mod refusals;
mod registry;
mod worlds;
