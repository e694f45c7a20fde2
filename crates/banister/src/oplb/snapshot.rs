//! Saving and restoring OPLB as versioned JSON: a restored agent continues bit for bit.

use serde::{Deserialize, Serialize};

use super::{Oplb, OplbConfig};
use crate::error::Error;
use crate::estimate::SavedArm;
use crate::linear::{Columns, SavedEvidence, State};
use crate::monitor::SavedMonitor;
use crate::optimism::SavedPlanner;
use crate::problem::Problem;
use crate::safe_cost::SavedTZero;
use crate::snapshot::{broken, check_header};

/// 2: with the monitor, and with what rounding may have done to the regression.
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    format: String,
    version: u32,
    problem: Problem,
    config: OplbConfig,
    outcomes: u64,
    // Not flattened from `SavedEvidence`: serde could no longer refuse unknown keys.
    regression: State,
    /// Features on offer, one action after another.
    actions: Vec<f64>,
    /// Their names, where they have any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    columns: Option<Columns>,
    planner: SavedPlanner,
    /// The last policy, from which exact OPLB sets out.
    start: Vec<(usize, f64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    safe: Option<SavedArm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    t_zero: Option<SavedTZero>,
    /// Absent from snapshots of version 1.
    #[serde(default)]
    monitor: Option<SavedMonitor>,
}

impl Oplb {
    /// `format` in its snapshots.
    pub const FORMAT: &str = "banister.oplb";

    /// The agent's whole state as JSON.
    ///
    /// ```
    /// # use banister::{Oplb, OplbConfig, Problem};
    /// # let problem = Problem::contextual(vec![1.0, 0.0], vec![]);
    /// let config = OplbConfig { parameter_norm: Some(1.0), ..Default::default() };
    /// let agent = Oplb::new(&problem, &config)?;
    /// let json = agent.save();
    /// assert_eq!(Oplb::restore(&json)?.save(), json);
    /// # Ok::<(), banister::Error>(())
    /// ```
    pub fn save(&self) -> String {
        write(&Snapshot {
            planner: self.planner.save(),
            start: self.exact.solver.start().to_vec(),
            ..self.snapshot(self.evidence.save())
        })
    }

    /// The same without warm starts, and without actions that were offered by their features alone:
    /// what the outcomes have taught it.
    pub fn save_learned(&self) -> String {
        write(&self.snapshot(self.evidence.save_learned()))
    }

    fn snapshot(&self, evidence: SavedEvidence) -> Snapshot {
        Snapshot {
            format: Self::FORMAT.into(),
            version: VERSION,
            problem: self.evidence.problem.declared.clone(),
            config: self.checked.config.clone(),
            outcomes: self.evidence.outcomes,
            regression: evidence.regression,
            actions: evidence.actions,
            names: evidence.names,
            columns: evidence.columns,
            planner: self.planner.save_learned(),
            start: Vec::new(),
            safe: self.safe_estimates.as_ref().map(|e| e.save(0)),
            t_zero: self.t_zero.as_ref().map(|rule| rule.saved.clone()),
            monitor: Some(self.monitor.save()),
        }
    }

    /// Takes up an agent where [`Oplb::save`] left it.
    pub fn restore(json: &str) -> Result<Self, Error> {
        check_header(json, Self::FORMAT, VERSION..=VERSION)?;
        let snapshot: Snapshot = serde_json::from_str(json).map_err(|e| broken(e.to_string()))?;
        let mut agent = Self::new(&snapshot.problem, &snapshot.config)?;
        agent.monitor.restore(snapshot.monitor)?;
        if agent.monitor.forgotten() > snapshot.outcomes {
            return Err(broken(
                "`monitor` has forgotten more outcomes than there were",
            ));
        }
        agent.enter_epoch();
        let evidence = SavedEvidence {
            regression: snapshot.regression,
            actions: snapshot.actions,
            names: snapshot.names,
            columns: snapshot.columns,
        };
        agent.evidence.restore(evidence, snapshot.outcomes)?;
        agent.offered_anew();
        let signals = agent.evidence.signals.len();
        let fits = match (&mut agent.safe_estimates, snapshot.safe) {
            (None, None) => true,
            (Some(estimates), Some(saved)) => saved.fits(signals) && estimates.restore(0, &saved),
            _ => false,
        };
        if !fits {
            return Err(broken("`safe` does not match the configuration"));
        }
        match (&mut agent.t_zero, snapshot.t_zero) {
            (None, None) => {}
            (Some(rule), Some(saved)) if saved.fits(signals - 1) => rule.saved = saved,
            _ => return Err(broken("`t_zero` does not match the configuration")),
        }
        let start = &snapshot.start;
        let total: f64 = start.iter().map(|entry| entry.1).sum();
        let is_policy = start.iter().all(|entry| entry.1 > 0.0) && (total - 1.0).abs() < 1e-9;
        if !(start.is_empty() || is_policy) {
            return Err(broken("`start` is not a policy"));
        }
        agent.planner.restore(&snapshot.planner, signals - 1);
        agent.exact.solver.set_start(&snapshot.start);
        Ok(agent)
    }
}

fn write(snapshot: &Snapshot) -> String {
    // Strings, integers and finite floats only: serialisation has nothing to fail on.
    serde_json::to_string(snapshot).unwrap_or_default()
}
