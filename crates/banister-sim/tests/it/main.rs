//! The integration tests of `banister-sim`, one binary.

#[allow(unsafe_code)]
#[path = "../../../banister-solve/tests/it/common/counting.rs"]
mod counting;
// The random source and the brute-force LP of the core's tests.
mod allocation;
mod anchors;
#[path = "../../../banister/tests/it/common/mod.rs"]
mod bench;
mod changes;
mod common;
mod compare;
mod coupled;
mod custom;
mod custom_agents;
mod directions;
mod environments;
mod estimate;
mod hard_instances;
mod holdout;
mod journal;
mod json;
mod limit;
mod linear_environments;
mod linear_runs;
mod links;
mod logged;
mod misspecified;
mod parameters;
mod pinned;
mod planning;
mod promises;
mod ranks;
mod rivals_safety;
mod safety;
#[path = "../../../banister-service/tests/it/schema.rs"]
mod schema;
mod segmented;
mod shards;
mod simulation;
mod table;
