//! Saving and restoring OPLB as versioned JSON: a restored agent continues bit for bit.

use serde::{Deserialize, Serialize};

use super::kept::Kept;
use super::{Oplb, OplbConfig};
use crate::decision::Decision;
use crate::error::Error;
use crate::estimate::SavedArm;
use crate::fit::SavedFit;
use crate::linear::{Logit, SavedEvidence, SavedLogit, State, restore_logits};
use crate::monitor::SavedMonitor;
use crate::optimism::SavedPlanner;
use crate::problem::Problem;
use crate::safe_cost::SavedTZero;
use crate::snapshot::{broken, check_header};

const VERSION: u32 = 5;

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
    /// The decision that stays, and what it was solved from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept: Option<(Kept, Decision)>,
    planner: SavedPlanner,
    /// The last policy, from which exact OPLB sets out.
    start: Vec<(usize, f64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    safe: Option<SavedArm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    t_zero: Option<SavedTZero>,
    /// Confidence sets of signals with a logistic link, in the order of signals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    logits: Vec<SavedLogit>,
    monitor: SavedMonitor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fit: Option<SavedFit>,
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
            kept: (self.kept)
                // JSON has no infinity.
                .filter(|_| self.decision.solver.upper_bound.is_finite())
                .map(|kept| (kept, self.decision.clone())),
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
            kept: None,
            planner: SavedPlanner::default(),
            start: Vec::new(),
            safe: self.safe_estimates.as_ref().map(|e| e.save(0)),
            t_zero: self.t_zero.as_ref().map(|rule| rule.saved.clone()),
            logits: self.logits.iter().flatten().map(Logit::save).collect(),
            monitor: self.monitor.save(),
            fit: self.fit.as_ref().map(|fit| fit.save()),
        }
    }

    /// Takes up an agent where [`Oplb::save`] left it.
    pub fn restore(json: &str) -> Result<Self, Error> {
        check_header(json, Self::FORMAT, VERSION)?;
        let snapshot: Snapshot = serde_json::from_str(json).map_err(|e| broken(e.to_string()))?;
        let mut agent = Self::new(&snapshot.problem, &snapshot.config)?;
        (agent.monitor).restore(&agent.evidence.problem, snapshot.monitor)?;
        if agent.monitor.forgotten() > snapshot.outcomes {
            return Err(broken(
                "`monitor` has forgotten more outcomes than there were",
            ));
        }
        agent.enter_epoch();
        if let Some(fit) = &mut agent.fit {
            fit.restore(snapshot.fit)?;
        }
        let evidence = SavedEvidence {
            regression: snapshot.regression,
            actions: snapshot.actions,
            names: snapshot.names,
            columns: None,
        };
        agent.evidence.restore(evidence, snapshot.outcomes)?;
        agent.offered_anew();
        let signals = agent.evidence.signals.len();
        if !restore_logits(agent.logits.iter_mut().flatten(), snapshot.logits) {
            return Err(broken("`logits` does not match the configuration"));
        }
        agent.view_safe();
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
        if let Some((kept, decision)) = snapshot.kept {
            let actions = agent.evidence.actions.count;
            let total: f64 = decision.policy.iter().map(|entry| entry.1).sum();
            let mut entries = decision.policy.iter();
            let is_policy = entries.all(|entry| entry.0 < actions && entry.1 > 0.0)
                && (total - 1.0).abs() < 1e-9
                && decision.guardrails.len() == signals - 1;
            if !is_policy {
                return Err(broken("`kept` is not a policy for the actions on offer"));
            }
            agent.kept = Some(kept);
            agent.decision = decision;
        }
        Ok(agent)
    }
}

fn write(snapshot: &Snapshot) -> String {
    // Strings, integers and finite floats only: serialisation has nothing to fail on.
    serde_json::to_string(snapshot).unwrap_or_default()
}
