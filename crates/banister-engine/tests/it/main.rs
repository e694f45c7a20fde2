//! The integration tests of `banister-engine`, one binary.

mod alarms;
mod common;
mod decisions;
mod experiments;
mod interleavings;
mod learners;
mod memory;
mod postgres;
mod replicas;
mod rivals;
mod stores;
mod ttl;
