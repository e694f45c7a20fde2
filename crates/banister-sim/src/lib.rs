//! Environments, random streams and the parallel runner of banister.
//!
//! ```
//! use banister_sim::{ExperimentConfig, Monitor, Options};
//!
//! let config: ExperimentConfig = toml::from_str(r#"
//!     run = { horizon = 2000, runs = 2 }
//!     environment = { kind = "bernoulli", rewards = [0.1, 0.7], costs = [[0.0, 0.2]] }
//!     guardrail = [{ name = "spend", at_most = 0.5, safe_cost = 0.0 }]
//!     agent = [{ kind = "opb" }]
//! "#)?;
//! let experiment = config.check("tiny")?;
//! let results = banister_sim::run(&[experiment], Options::default(), &Monitor::default())?;
//! let agent = &results.expect("not cancelled").instances[0].agents[0];
//! assert!(agent.runs.iter().all(|run| run.violations == Some(0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arms;
mod best;
pub mod compare;
mod coverage;
mod curves;
pub mod custom;
mod delay;
mod environment;
mod experiment;
mod hard;
mod instance;
mod judge;
mod law;
mod linear;
mod redrawn;
pub mod results;
mod runner;
mod scene;
mod shard;
mod table;
mod world;

pub use banister;
pub use coverage::{Coverage, coverage};
pub use custom::{AgentSource, CustomAgent, CustomEnvironment, CustomExperiment, CustomRun, Round};
pub use environment::{Actions, ArmRef, ChangePoint, Drawn, EnvironmentConfig, Instances, Kind};
pub use experiment::{Experiment, ExperimentConfig, MAX_CHECKPOINTS, RunConfig};
pub use instance::Instance;
pub use law::Arms;
pub use linear::Changing;
pub use redrawn::Redrawn;
pub use results::Results;
pub use runner::{Monitor, Options, TOLERANCE, Trace, run, run_shard};
pub use shard::{Gathered, Shard, gather, gather_traces, plan};
pub use world::{Custom, Environment};
