//! The integration tests of `banister-engine`, one binary.

mod alarms;
mod budgets;
mod clock;
mod common;
mod cost;
mod decisions;
mod drift;
mod experiments;
mod features;
mod interleavings;
mod kinds;
mod leases;
mod memory;
mod postgres;
mod replicas;
mod rollout;
mod seals;
mod segments;
mod stores;
mod ttl;
mod units;
mod waiting;
mod worth;
