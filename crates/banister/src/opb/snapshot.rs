//! Saving and restoring OPB.

use serde::{Deserialize, Serialize};

use super::{Opb, OpbConfig};
use crate::agent::Agent as _;
use crate::decision::Decision;
use crate::error::Error;
use crate::estimate::SavedArm;
use crate::monitor::{Monitor, SavedMonitor};
use crate::optimism::SavedPlanner;
use crate::problem::{ArmRanges, Problem};
use crate::safe_cost::SavedTZero;
use crate::snapshot::{broken, check_header};

const VERSION: u32 = 5;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    format: String,
    version: u32,
    problem: Problem,
    config: OpbConfig,
    outcomes: u64,
    arms: Vec<NamedArm>,
    planner: SavedPlanner,
    /// The policy in force, unless bounds changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    t_zero: Option<SavedTZero>,
    monitor: SavedMonitor,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedArm {
    name: String,
    offered: bool,
    /// Of an arm that was added where ranges are by arm.
    #[serde(default, skip_serializing_if = "ArmRanges::is_empty")]
    ranges: ArmRanges,
    outcomes: SavedArm,
}

impl Opb {
    /// `format` in its snapshots.
    pub const FORMAT: &str = "banister.opb";

    /// The agent's whole state as JSON.
    ///
    /// ```
    /// # use banister::{Opb, OpbConfig, Problem};
    /// # let problem = Problem { arms: vec!["a".into()], safe: 0, guardrails: vec![], ..Default::default() };
    /// let agent = Opb::new(&problem, &OpbConfig::default())?;
    /// let json = agent.save();
    /// assert_eq!(Opb::restore(&json)?.save(), json);
    /// # Ok::<(), banister::Error>(())
    /// ```
    pub fn save(&self) -> String {
        let decision = (!self.is_stale()).then(|| self.decision.clone());
        self.snapshot(self.planner.save(), decision)
    }

    /// The same without the solvers' warm starts: what the outcomes alone have taught it.
    pub fn save_learned(&self) -> String {
        self.snapshot(SavedPlanner::default(), None)
    }

    fn snapshot(&self, planner: SavedPlanner, decision: Option<Decision>) -> String {
        let arms = (0..self.names.len()).map(|arm| NamedArm {
            name: self.names[arm].clone(),
            offered: self.is_offered(arm),
            ranges: if arm < self.problem.declared.arms.len() {
                ArmRanges::default()
            } else {
                self.problem.arm_ranges(arm)
            },
            outcomes: self.estimates.save(arm),
        });
        let snapshot = Snapshot {
            format: Self::FORMAT.into(),
            version: VERSION,
            problem: self.problem.declared.clone(),
            config: self.checked.config.clone(),
            outcomes: self.outcomes,
            arms: arms.collect(),
            planner,
            decision,
            t_zero: self.t_zero.as_ref().map(|rule| rule.saved.clone()),
            monitor: self.monitor.save(),
        };
        // Strings, integers and finite floats only: serialisation has nothing to fail on.
        serde_json::to_string(&snapshot).unwrap_or_default()
    }

    /// Takes up an agent where [`Opb::save`] left it.
    pub fn restore(json: &str) -> Result<Self, Error> {
        check_header(json, Self::FORMAT, VERSION)?;
        let snapshot: Snapshot = serde_json::from_str(json).map_err(|e| broken(e.to_string()))?;
        let problem = snapshot.problem.check()?;
        let checked = snapshot.config.check(&problem)?;
        let mut monitor = Monitor::new(&problem, checked.monitor);
        monitor.restore(&problem, snapshot.monitor.clone())?;
        check_arms(&snapshot, monitor.forgotten())?;
        let mut agent = Self::bare(problem, checked, monitor.epoch());
        agent.monitor = monitor;
        for (number, arm) in snapshot.arms.iter().enumerate() {
            if number >= agent.problem.declared.arms.len() {
                (agent.problem.add_arm(&arm.ranges))
                    .map_err(|e| broken(format!("arm `{}`: {e}", arm.name)))?;
            }
            agent.names.push(arm.name.clone());
            agent.column.push(None);
            if arm.offered {
                agent.arm.push(number);
            }
            agent.estimates.add_arm(&agent.problem);
            if !agent.estimates.restore(number, &arm.outcomes) {
                let reason = format!(
                    "the places of arm `{}` in δ, or its bets, cannot be",
                    arm.name
                );
                return Err(broken(reason));
            }
        }
        match (&mut agent.t_zero, snapshot.t_zero) {
            (Some(rule), Some(saved)) => rule.saved = saved,
            (None, None) => {}
            _ => return Err(broken("`t_zero` does not match the configuration")),
        }
        agent.outcomes = snapshot.outcomes;
        agent.renumber();
        agent.refresh_all();
        let guardrails = agent.problem.guardrails.len();
        agent.planner.restore(&snapshot.planner, guardrails);
        if let Some(decision) = snapshot.decision {
            if !agent.vouches_for(&decision) {
                return Err(broken("its policy is none that its arms allow"));
            }
            agent.decision = Decision {
                confidence: agent.decision.confidence,
                ..decision
            };
            agent.stale = false;
            agent.alarms_seen = agent.monitor.raised();
        }
        Ok(agent)
    }
}

impl Opb {
    /// True if a policy may have been published at the bounds in force.
    fn vouches_for(&self, decision: &Decision) -> bool {
        let safe = self.problem.declared.safe;
        let columns = (decision.policy.iter()).map(|&(arm, p)| {
            let column = self.column.get(arm).copied().flatten();
            column.filter(|_| p > 0.0).map(|column| (column, p))
        });
        let Some(columns) = columns.collect::<Option<Vec<_>>>() else {
            return false;
        };
        let total: f64 = columns.iter().map(|&(_, p)| p).sum();
        let within = |i: usize| {
            let row = &self.bounds.cost_upper[i];
            let cost: f64 = columns.iter().map(|&(column, p)| p * row[column]).sum();
            cost <= self.bounds.thresholds[i] + 1e-9
        };
        let is_safe = matches!(decision.policy[..], [(arm, _)] if arm == safe);
        (total - 1.0).abs() < 1e-9
            && decision.scale == 1.0
            && decision.guardrails.len() == self.problem.guardrails.len()
            && (is_safe || (0..self.problem.guardrails.len()).all(within))
    }
}

fn check_arms(snapshot: &Snapshot, forgotten: u64) -> Result<(), Error> {
    let declared = &snapshot.problem;
    let arms = &snapshot.arms;
    if arms.len() < declared.arms.len() {
        return Err(broken(format!("it holds {} arms", arms.len())));
    }
    if arms
        .iter()
        .zip(&declared.arms)
        .any(|(arm, name)| arm.name != *name)
    {
        return Err(broken("its arms are not those of its problem"));
    }
    if !arms[declared.safe].offered {
        return Err(broken("its safe arm is retired"));
    }
    let pulls = arms
        .iter()
        .map(|arm| u128::from(arm.outcomes.pulls))
        .sum::<u128>();
    if pulls + u128::from(forgotten) != u128::from(snapshot.outcomes) {
        return Err(broken(format!(
            "its arms have {pulls} outcomes and {forgotten} are forgotten, but `outcomes` is {}",
            snapshot.outcomes
        )));
    }
    let signals = 1 + declared.guardrails.len();
    for arm in arms {
        if arm.outcomes.signals.len() != signals {
            return Err(broken(format!(
                "arm `{}` has {} signals, expected {signals}",
                arm.name,
                arm.outcomes.signals.len()
            )));
        }
        if !arm.outcomes.is_sound() {
            let reason = format!("the sums of arm `{}` cannot be", arm.name);
            return Err(broken(reason));
        }
    }
    if let Some(saved) = &snapshot.t_zero
        && !saved.fits(declared.guardrails.len())
    {
        return Err(broken("`t_zero.upper` has the wrong length"));
    }
    Ok(())
}
