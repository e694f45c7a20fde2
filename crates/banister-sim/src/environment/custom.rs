//! User-supplied environments, played and judged like the rest.
//!
//! ```
//! use std::sync::Arc;
//!
//! use banister::{Error, Guardrail, Problem};
//! use banister_rivals::AgentConfig;
//! use banister_sim::{
//!     CustomEnvironment, CustomExperiment, CustomRun, Progress, Options, CustomRound, RunConfig,
//! };
//!
//! /// Two arms that take turns at being the better one.
//! struct Turns;
//!
//! struct TurnsRun {
//!     round: u64,
//! }
//!
//! impl CustomEnvironment for Turns {
//!     fn knows_means(&self) -> bool {
//!         true
//!     }
//!     fn start(&self, _seed: u64, _run: u64) -> Result<Box<dyn CustomRun>, Error> {
//!         Ok(Box::new(TurnsRun { round: 0 }))
//!     }
//! }
//!
//! impl CustomRun for TurnsRun {
//!     fn begin(&mut self, round: &mut CustomRound) -> Result<(), Error> {
//!         let better = if self.round % 2 == 0 { 0.9 } else { 0.3 };
//!         self.round += 1;
//!         round.means = vec![vec![0.5, better], vec![0.1, 0.2]];
//!         Ok(())
//!     }
//!     fn pull(&mut self, action: usize, costs: &mut [f64]) -> Result<f64, Error> {
//!         costs[0] = 0.15;
//!         Ok(if action == 0 { 0.5 } else { 0.6 })
//!     }
//! }
//!
//! let experiment = CustomExperiment {
//!     name: "turns".into(),
//!     run: RunConfig { horizon: 100, runs: 2, ..RunConfig::default() },
//!     problem: Problem {
//!         arms: vec!["steady".into(), "moody".into()],
//!         guardrails: vec![Guardrail {
//!             name: "spend".into(),
//!             at_most: Some(0.5),
//!             safe_cost: Some(0.1),
//!             ..Guardrail::default()
//!         }],
//!         ..Problem::default()
//!     },
//!     environment: Arc::new(Turns),
//!     agents: vec![AgentConfig::Opb(Default::default()).into()],
//! }
//! .check()?;
//! let results = banister_sim::run(&[experiment], Options::default(), &Progress::default())?;
//! // The best policy earns 0.9 in one round and 0.5 in the next.
//! assert!((results.expect("not cancelled").instances[0].optimum.reward - 0.7).abs() < 1e-12);
//! # Ok::<(), Error>(())
//! ```

use banister::Error;

use super::world::LoggedOutcome;

/// A user-supplied environment.
///
/// Actions are numbered as agents number them: the arms of the problem, or, where the actions
/// change, the rows of the round; the safe action comes after the last row if it is none of them.
pub trait CustomEnvironment: Send + Sync {
    /// True where every round brings its true means ([`CustomRound::means`]). Without, regret and violations are
    /// unknown, and reward and costs are those that were drawn.
    fn knows_means(&self) -> bool {
        false
    }

    /// True where rounds bring actions of their own, by features ([`CustomRound::actions`]).
    fn actions_change(&self) -> bool {
        false
    }

    /// The true means of the safe action, if they are known and stay the same: the reward, then one
    /// per guardrail. A relative guardrail is judged by them.
    fn safe_means(&self) -> Option<Vec<f64>> {
        None
    }

    /// Rows that the first rounds of a run play, where they are those of a table.
    fn rows(&self, horizon: u64, seed: u64, run: u64) -> Option<Vec<usize>> {
        let _ = (horizon, seed, run);
        None
    }

    /// Starts a run. All draws should depend on the seed and the number of the run
    /// alone, so that the run is the same wherever it is played.
    fn start(&self, seed: u64, run: u64) -> Result<Box<dyn CustomRun>, Error>;
}

/// One run of a [`CustomEnvironment`].
pub trait CustomRun {
    /// Outcomes that agents learn from before the first round.
    fn logged(&mut self) -> Result<Vec<LoggedOutcome>, Error> {
        Ok(Vec::new())
    }

    /// Begins the next round. What `round` holds stays as it was in the round before until it is
    /// changed; before the first round it is empty.
    fn begin(&mut self, round: &mut CustomRound) -> Result<(), Error> {
        let _ = round;
        Ok(())
    }

    /// Plays an action: writes one cost per guardrail and returns the reward.
    fn pull(&mut self, action: usize, costs: &mut [f64]) -> Result<f64, Error>;
}

/// Actions and means of a round.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CustomRound {
    /// Features of the actions, one row after another, where actions change.
    pub actions: Vec<f64>,
    /// Means of all actions, for the reward and then for each guardrail, where means are known.
    pub means: Vec<Vec<f64>>,
    /// Number of the segment, where there are segments.
    pub segment: usize,
}
