//! The integration tests of `banister-rivals`, one binary.

mod arms_allocation;
mod arms_cumulative;
mod arms_life;
mod arms_reference;
mod arms_safe;
mod arms_unsafe;
#[path = "../../../banister/tests/it/common/mod.rs"]
mod common;
#[allow(unsafe_code)]
#[path = "../../../banister-solve/tests/it/common/counting.rs"]
mod counting;
mod grid;
mod learned;
mod linear_allocation;
mod linear_life;
mod linear_reference;
mod linear_safety;
mod realised;
mod registry;
mod worlds;
