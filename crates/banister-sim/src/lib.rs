//! Environments, random streams and the parallel runner of banister.
//!
//! An experiment goes one way: `config → Experiment → Run → Results`. In reading order:
//!
//! - `config.rs`: experiments as declared; `experiment.rs`: as checked, with `truth.rs` (thresholds and the
//!   best policy), `agents.rs` and `custom.rs` (user-supplied environments).
//! - `environment/`: what really happens. It knows nothing of experiments.
//! - `run/`: rounds, metrics, shards. `results.rs`: what it yields.
//! - `compare/`: suites, grids, leaderboards; `planning.rs`: times until arms are certified. Nothing here reaches up to
//!   them.
//!
//! Uses the agents and the solver of banister, and `banister-table` for files.
//!
//! ```
//! use banister_sim::{ExperimentConfig, Progress, Options};
//!
//! let config: ExperimentConfig = toml::from_str(r#"
//!     run = { horizon = 2000, runs = 2 }
//!     environment = { kind = "bernoulli", rewards = [0.1, 0.7], costs = [[0.0, 0.2]] }
//!     guardrail = [{ name = "spend", at_most = 0.5, safe_cost = 0.0 }]
//!     agent = [{ kind = "opb" }]
//! "#)?;
//! let experiment = config.check("tiny")?;
//! let results = banister_sim::run(&[experiment], Options::default(), &Progress::default())?;
//! let agent = &results.expect("not cancelled").instances[0].agents[0];
//! assert!(agent.runs.iter().all(|run| run.violations == Some(0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agents;
pub mod compare;
mod config;
mod custom;
mod environment;
mod experiment;
pub mod planning;
pub mod results;
mod run;
mod stream;
mod truth;

pub use agents::{AgentSource, CustomAgent};
pub use banister;
pub use config::{Delay, ExperimentConfig, MAX_CHECKPOINTS, RunConfig};
pub use custom::CustomExperiment;
pub use environment::{
    Actions, ArmRef, Arms, AuthorsLinearConfig, BernoulliConfig, BetaConfig, ChangePoint, Changing,
    ClippedGaussianConfig, CostShape, CustomConfig, CustomEnvironment, CustomRound, CustomRun,
    DirectionsConfig, Drawn, Environment, EnvironmentConfig, GaussianConfig, Instances, L1Config,
    L2Config, LinearConfig, LoggedConfig, LoggedOutcome, LowerBoundConfig, MeanPath,
    MisspecifiedConfig, Move, Order, ParameterLaw, TableCell, TableConfig, Users,
};
pub use experiment::Experiment;
pub use results::Results;
pub use run::{
    Coverage, Gathered, Options, Progress, Shard, TOLERANCE, Trace, coverage, gather,
    gather_traces, plan, run, run_shard,
};
