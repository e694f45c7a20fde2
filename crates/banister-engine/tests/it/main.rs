//! The integration tests of `banister-engine`, one binary.

mod alarms;
mod budgets;
mod clock;
mod common;
mod decisions;
mod drift;
mod experiments;
mod interleavings;
mod kinds;
mod learners;
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
