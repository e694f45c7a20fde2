//! Saving and restoring as versioned JSON: a restored agent continues bit for bit.

use serde::{Deserialize, Serialize};

use super::OplbPerArm;
use super::arm::SavedArmSets;
use crate::error::Error;
use crate::monitor::SavedMonitor;
use crate::oplb::OplbConfig;
use crate::optimism::SavedPlanner;
use crate::problem::Problem;
use crate::snapshot::{broken, check_header};

/// 2: with the test of every arm's model.
const VERSION: u32 = 3;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    format: String,
    version: u32,
    problem: Problem,
    config: OplbConfig,
    outcomes: u64,
    /// Every arm there ever was.
    arms: Vec<SavedArmSets>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<Vec<f64>>,
    /// Probability of the safe arm in the last policy, which the outcome of the round is judged by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy: Option<Vec<(usize, f64)>>,
    planner: SavedPlanner,
    monitor: SavedMonitor,
}

impl OplbPerArm {
    /// `format` in its snapshots.
    pub const FORMAT: &str = "banister.oplb_per_arm";

    /// The agent's whole state as JSON.
    pub fn save(&self) -> String {
        write(&Snapshot {
            context: self.context.clone(),
            policy: Some(self.decision.policy.clone()),
            planner: self.planner.save(),
            ..self.snapshot()
        })
    }

    /// The same without warm starts and without the context: what the outcomes have taught it.
    pub fn save_learned(&self) -> String {
        write(&self.snapshot())
    }

    fn snapshot(&self) -> Snapshot {
        let arms = std::iter::zip(&self.arms, &self.names);
        Snapshot {
            format: Self::FORMAT.into(),
            version: VERSION,
            problem: self.problem.declared.clone(),
            config: self.checked.config.clone(),
            outcomes: self.outcomes,
            arms: arms.map(|(arm, name)| arm.save(name)).collect(),
            context: None,
            policy: None,
            planner: SavedPlanner::default(),
            monitor: self.monitor.save(),
        }
    }

    /// Takes up an agent where [`OplbPerArm::save`] left it.
    pub fn restore(json: &str) -> Result<Self, Error> {
        check_header(json, Self::FORMAT, VERSION)?;
        let snapshot: Snapshot = serde_json::from_str(json).map_err(|e| broken(e.to_string()))?;
        let mut agent = Self::new(&snapshot.problem, &snapshot.config)?;
        (agent.monitor).restore(&agent.problem, snapshot.monitor)?;
        if agent.monitor.forgotten() > snapshot.outcomes {
            return Err(broken(
                "`monitor` has forgotten more outcomes than there were",
            ));
        }
        agent.outcomes = snapshot.outcomes;
        agent.enter_epoch();
        let declared = agent.names.clone();
        let names = snapshot.arms.iter().map(|arm| &arm.name);
        if !names.take(declared.len()).eq(&declared) {
            return Err(broken("`arms` does not begin with the problem's"));
        }
        for (number, saved) in snapshot.arms.into_iter().enumerate() {
            if number >= declared.len() {
                (agent.add_arm(&saved.name)).map_err(|error| broken(error.to_string()))?;
            }
            for (budget, place) in agent.budgets.iter_mut().zip(saved.places) {
                budget.restore(place);
            }
            let name = saved.name.clone();
            if !agent.arms[number].restore(saved) {
                return Err(broken(format!("arm `{name}` does not match the problem")));
            }
            agent.level(number);
        }
        if !agent.arms[agent.problem.declared.safe].offered {
            return Err(broken("the safe arm is retired"));
        }
        agent.place_arms();
        if let Some(context) = snapshot.context {
            (agent.offer(&context)).map_err(|error| broken(error.to_string()))?;
        }
        if let Some(policy) = snapshot.policy {
            let fits = |entry: &(usize, f64)| entry.0 < agent.names.len() && entry.1 > 0.0;
            if !policy.iter().all(fits) {
                return Err(broken("`policy` is not a policy for the arms"));
            }
            agent.decision.policy = policy;
        }
        agent
            .planner
            .restore(&snapshot.planner, agent.problem.guardrails.len());
        Ok(agent)
    }
}

fn write(snapshot: &Snapshot) -> String {
    // Strings, integers and finite floats only: serialisation has nothing to fail on.
    serde_json::to_string(snapshot).unwrap_or_default()
}
