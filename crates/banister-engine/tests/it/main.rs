//! The integration tests of `banister-engine`, one binary.

mod alarms;
mod common;
mod desk;
mod experiments;
mod interleavings;
mod lives;
mod postgres;
mod replicas;
mod rivals;
mod stores;
