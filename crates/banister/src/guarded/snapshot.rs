//! Snapshots: one format for all agents, as versioned JSON.
//!
//! A snapshot holds what outcomes have changed, and nothing that only helps the next decision: saving drops the live
//! agent's warm starts too, so that both go on bit by bit. Floats survive JSON unchanged.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::shell::{Clock, Told};
use super::{Guarded, Learner};
use crate::agent::Agent as _;
use crate::arms::Arm;
use crate::error::{Error, broken};
use crate::event::Event;
use crate::floors::Floors;
use crate::monitor::MonitorState;
use crate::parameters::Registered as _;
use crate::problem::Problem;

/// `format` in every snapshot.
const FORMAT: &str = "banister";
/// Version that this program writes, and the only one that it reads.
const VERSION: u32 = 1;

/// A snapshot as it is written: `C` are the parameters, `S` is the state of the learner.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot<C, S> {
    format: String,
    version: u32,
    kind: String,
    config: C,
    problem: Problem,
    outcomes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clock: Option<Clock>,
    arms: Vec<Arm>,
    /// Weights that were in force earlier, the oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    told: VecDeque<Told>,
    #[serde(default, skip_serializing_if = "Floors::is_empty")]
    floors: Floors,
    monitor: MonitorState,
    learner: S,
}

/// The declarations that an agent was made from, as its snapshot says.
#[derive(Deserialize)]
pub struct SnapshotHeader {
    /// Name of the agent's kind.
    pub kind: String,
    /// Parameters of the agent.
    pub config: serde_json::Map<String, serde_json::Value>,
    /// The problem that it was made for.
    pub problem: Problem,
}

impl SnapshotHeader {
    /// Reads the beginning of a snapshot.
    pub fn read(json: &str) -> Result<Self, Error> {
        check_version(json)?;
        serde_json::from_str(json).map_err(|e| broken(e.to_string()))
    }
}

#[derive(Deserialize)]
struct Version {
    format: String,
    version: u32,
}

/// Refuses a snapshot of another format or version, before anything else of it is read.
fn check_version(json: &str) -> Result<(), Error> {
    let own: Version = serde_json::from_str(json).map_err(|e| broken(e.to_string()))?;
    if own.format == FORMAT && own.version == VERSION {
        return Ok(());
    }
    Err(broken(format!(
        "it is version {} of `{}`, and this program reads version {VERSION} of `{FORMAT}` only: state of earlier \
         versions is not read",
        own.version, own.format
    )))
}

impl<L: Learner> Guarded<L> {
    /// Takes up an agent where [`crate::Agent::save`] left it.
    pub fn restore(json: &str) -> Result<Self, Error> {
        check_version(json)?;
        let snapshot: Snapshot<L::Config, L::State> =
            serde_json::from_str(json).map_err(|e| broken(e.to_string()))?;
        let mut agent = Self::new(&snapshot.problem, &snapshot.config)?;
        if snapshot.kind != agent.config().kind() {
            return Err(broken(format!("its agent is `{}`", snapshot.kind)));
        }
        agent.restore_arms(&snapshot.arms)?;
        agent.repeat(&Event::Floors(&snapshot.floors))?;
        let Self { shell, learner } = &mut agent;
        shell.restore_told(snapshot.told)?;
        (shell.monitor).restore(&shell.problem, snapshot.monitor)?;
        // Counts beyond any life would make the next one overflow.
        if shell.monitor.forgotten() > snapshot.outcomes || snapshot.outcomes >= u64::MAX / 2 {
            return Err(broken("`outcomes` is impossible"));
        }
        let is_possible = |clock: Clock| clock.origin.unwrap_or(clock.now) <= clock.now;
        if !snapshot.clock.is_none_or(is_possible) {
            return Err(broken("`clock` is impossible"));
        }
        shell.outcomes = snapshot.outcomes;
        shell.clock = snapshot.clock;
        learner.forget(shell);
        learner.restore(shell, snapshot.learner)?;
        shell.stale = true;
        Ok(agent)
    }

    fn restore_arms(&mut self, arms: &[Arm]) -> Result<(), Error> {
        let declared = self.shell.arms.len();
        let names = arms.iter().map(|arm| arm.name.as_str());
        let own = self.shell.arms.list().iter().map(|arm| arm.name.as_str());
        if arms.len() < declared || !names.take(declared).eq(own) {
            return Err(broken("`arms` does not begin with those of its problem"));
        }
        for arm in &arms[declared..] {
            (self.apply(&Event::ArmOffered(arm.offer())))
                .map_err(|error| broken(format!("arm `{}`: {error}", arm.name)))?;
        }
        for (number, arm) in arms.iter().enumerate() {
            if number < declared && !arm.weights.is_empty() {
                self.repeat(&Event::Weights(number, &arm.weights))?;
            }
            if !arm.offered {
                self.repeat(&Event::ArmRetired(number))?;
            }
        }
        Ok(())
    }

    /// Takes an event that the saved agent took.
    fn repeat(&mut self, event: &Event) -> Result<(), Error> {
        self.apply(event).map_err(|error| broken(error.to_string()))
    }

    pub(super) fn write(&mut self) -> Result<String, Error> {
        let Self { shell, learner } = self;
        let state = learner.save(shell)?;
        (shell.stale, shell.until) = (true, 0.0);
        // A restored agent has none, and watches alike.
        shell.decision.unclaim();
        let snapshot = Snapshot {
            format: FORMAT.into(),
            version: VERSION,
            kind: learner.config().kind().into(),
            config: learner.config(),
            problem: shell.problem.declared.clone(),
            outcomes: shell.outcomes,
            clock: shell.clock,
            arms: shell.arms.list().to_vec(),
            told: shell.told.clone(),
            floors: shell.floors.clone(),
            monitor: shell.monitor.save(),
            learner: state,
        };
        serde_json::to_string(&snapshot).map_err(|error| broken(error.to_string()))
    }
}
