//! Callers: what they ask for, what they report, and the refusals that they must expect.

use std::collections::BTreeSet;
use std::sync::Arc;

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha12Rng;
use serde_json::{Value, json};

use super::ledger::{check, number_of};
use super::network::{Message, Moment, Request};
use super::world::World;
use crate::commands::{DecisionRequest, OutcomeReport};
use crate::refusal::Refusal;
use crate::state::{Declaration, Edit};

/// An experiment as callers know it.
pub struct Plan {
    pub name: Arc<str>,
    pub declaration: Declaration,
    pub is_declared: bool,
    /// True once callers know that it was.
    pub is_created: bool,
    /// True if its outcomes break the guardrail.
    pub is_harmful: bool,
    /// Decisions on which contradictory things were said.
    pub contradicted: BTreeSet<String>,
    /// Ids under which different things were asked.
    pub contested: BTreeSet<String>,
    pub is_archived: bool,
}

/// An experiment of one of several kinds.
pub fn plan(place: usize, rng: &mut ChaCha12Rng) -> Plan {
    let name = format!("x{place}");
    let mut declaration = json!({
        "name": name,
        "arms": ["old", "new", "odd"],
        "safe": "old",
        "guardrails": [{"name": "errors", "at_most": 0.5, "safe_cost": 0.1}],
    });
    let ttl = rng.random_range(1.0..300.0_f64).round();
    match rng.random_range(0..6) {
        0 => {}
        1 => declaration["shadow"] = json!(true),
        2 => declaration["ttl_seconds"] = json!(ttl),
        3 => {
            declaration["ttl_seconds"] = json!(ttl);
            declaration["default_outcome"] = json!({"reward": 0.0, "costs": {"errors": 1}});
        }
        _ => {
            let d = rng.random_range(2..4);
            let mut safe = vec![0.0; d];
            safe[0] = 1.0;
            declaration = json!({
                "name": name, "dimension": d, "safe_action": safe,
                "guardrails": [{"name": "errors", "at_most": 0.5, "safe_cost": 0.1}],
                "agent": {"kind": "oplb", "parameter_norm": 1},
            });
        }
    }
    if rng.random_bool(0.5) {
        declaration["budgets"] = budgets(rng);
    }
    Plan {
        name: name.into(),
        declaration: serde_json::from_value(declaration).expect("a declaration"),
        is_declared: false,
        is_created: false,
        is_harmful: rng.random_bool(0.2),
        contradicted: BTreeSet::new(),
        contested: BTreeSet::new(),
        is_archived: false,
    }
}

/// A budget that a few decisions use up.
fn budgets(rng: &mut ChaCha12Rng) -> Value {
    let when = if rng.random() { "refuse" } else { "safe" };
    json!({"errors": {
        "amount": rng.random_range(1..16),
        "per": "hour",
        "when_exhausted": when,
        "pacing": rng.random::<bool>(),
    }})
}

impl World {
    /// A caller asks for something.
    pub fn ask(&mut self) {
        let place = self.rng.random_range(0..self.plans.len());
        if !self.plans[place].is_declared {
            self.plans[place].is_declared = true;
            return self.send(place, Request::Create);
        }
        // Few ask for decisions before they know that there is an experiment.
        if !self.plans[place].is_created && self.rng.random_bool(0.9) {
            return self.send(place, Request::View);
        }
        match self.rng.random_range(0..100) {
            0..65 => {
                let named = self.rng.random_bool(0.8);
                let count = *[1, 1, 2, 4].choose(&mut self.rng).unwrap_or(&1);
                let requests = (0..count).map(|_| self.decision(place, named)).collect();
                self.send(place, Request::Decide(requests));
                if named {
                    let last = self.inbox.last().cloned();
                    self.sent.extend(last);
                }
            }
            65..75 => {
                let again = self.sent.choose(&mut self.rng).cloned();
                if let Some(Message {
                    experiment,
                    request,
                    ..
                }) = again
                {
                    self.send(experiment, request);
                }
            }
            75..78 => self.contest(),
            78..84 => self.send(place, Request::View),
            84..87 => {
                let name = format!("arm{}", self.next_id);
                self.next_id += 1;
                let arm = serde_json::from_value(json!({ "name": name })).expect("an arm");
                self.send(place, Request::Edit(Edit::AddArm(arm).into()));
            }
            87..89 => {
                let edit = Edit::AcknowledgeAlarms {
                    note: String::new(),
                };
                self.send(place, Request::Edit(edit.into()));
            }
            _ => self.change(place),
        }
    }

    pub fn change(&mut self, place: usize) {
        let has_ttl = self.plans[place].declaration.ttl_seconds.is_some();
        let has_budget = !self.plans[place].declaration.budgets.is_empty();
        let ttl = self.rng.random_range(1.0..300.0_f64).round();
        let change = match self.rng.random_range(0..22) {
            20..22 if has_budget => json!({"budgets": budgets(&mut self.rng)}),
            0..6 => json!({"status": "paused"}),
            6..12 => json!({"status": "running"}),
            12..15 => json!({"shadow": self.rng.random_bool(0.4)}),
            15..18 if has_ttl => json!({"ttl_seconds": ttl}),
            18 => {
                self.plans[place].is_archived = true;
                json!({"status": "archived"})
            }
            _ => json!({"description": format!("since {}", self.next_id)}),
        };
        let change = serde_json::from_value(change).unwrap_or_default();
        self.send(place, Request::Edit(Edit::Change(change).into()));
    }

    /// A request under an id that belongs to another one.
    pub fn contest(&mut self) {
        let Some(message) = self.sent.choose(&mut self.rng).cloned() else {
            return;
        };
        let Request::Decide(mut requests) = message.request else {
            return;
        };
        for request in &mut requests {
            request.taken = Some("old".into());
            let contested = &mut self.plans[message.experiment].contested;
            contested.extend(request.id.clone());
        }
        self.send(message.experiment, Request::Decide(requests));
    }

    pub fn decision(&mut self, place: usize, named: bool) -> DecisionRequest {
        let id = format!("d{}", self.next_id);
        self.next_id += 1;
        let dimension = self.plans[place].declaration.dimension;
        let mut feature = || self.rng.random_range(-5..=5) as f64 / 10.0;
        let actions = dimension.map(|d| {
            let action = |_| json!((0..d).map(|_| feature()).collect::<Vec<f64>>());
            json!((0..2).map(action).collect::<Vec<Value>>())
        });
        let actions = actions.and_then(|actions| serde_json::from_value(actions).ok());
        if !named {
            let name = self.plans[place].name.to_string();
            *self.ledger.anonymous.entry(name).or_default() += 1;
        } else if self.rng.random_bool(0.1) {
            // Said before it is known that there is a decision.
            self.report(place, &id);
        }
        DecisionRequest {
            id: named.then_some(id),
            actions,
            ..DecisionRequest::default()
        }
    }

    /// Reports on a decision: whole or in parts, twice, contradictory, or never.
    pub fn report(&mut self, place: usize, id: &str) {
        // Whoever reports on it says the same, but for the contradictions.
        let truth = crate::events::digest(&blake3::hash(id.as_bytes()));
        let reward = Some((truth % 5) as f64 / 4.0);
        let harm = if self.plans[place].is_harmful { 7 } else { 1 };
        let cost = Some(f64::from(u8::from(truth % 10 < harm)));
        let other = || reward.map(|x| 1.0 - x * 0.9);
        let parts = match self.rng.random_range(0..10) {
            0..4 => vec![(reward, cost)],
            4 => vec![(reward, cost), (reward, cost)],
            5..7 => vec![(reward, None), (None, cost)],
            7 => vec![(None, cost), (reward, cost)],
            8 => {
                self.plans[place].contradicted.insert(id.into());
                vec![(reward, None), (other(), cost), (reward, cost)]
            }
            _ => Vec::new(),
        };
        let taken = self.rng.random_bool(0.1).then(|| "old".to_string());
        let reports = parts.into_iter().map(|(reward, cost)| OutcomeReport {
            decision: id.into(),
            reward,
            costs: [("errors".to_string(), cost)].into(),
            taken: taken.clone(),
            ..OutcomeReport::default()
        });
        let reports: Vec<OutcomeReport> = reports.collect();
        if self.rng.random_bool(0.3) {
            self.send(place, Request::Report(reports));
        } else {
            for report in reports {
                self.send(place, Request::Report(vec![report]));
            }
        }
    }

    /// A refusal must have a reason; returns true if the caller has to ask again.
    pub fn judge(&self, place: usize, id: Option<&str>, refusal: &Refusal) -> Result<bool, String> {
        let plan = &self.plans[place];
        let is_contested = id.is_some_and(|id| plan.contested.contains(id));
        match refusal {
            Refusal::Unavailable { .. } => Ok(true),
            Refusal::Exhausted { .. } if !plan.declaration.budgets.is_empty() => Ok(false),
            // The experiment may be created later than it is asked for.
            Refusal::Unknown { what, .. } if *what == "experiment" => Ok(true),
            Refusal::Conflict { .. } if is_contested || plan.is_archived => Ok(false),
            Refusal::Invalid { field, .. } if is_contested && field == "taken" => Ok(false),
            other => Err(format!(
                "a decision of `{}` was refused: {other}",
                plan.name
            )),
        }
    }

    pub fn judge_report(
        &self,
        place: usize,
        id: &str,
        refusal: &Refusal,
        moment: Moment,
    ) -> Result<bool, String> {
        let plan = &self.plans[place];
        let server = self.server.lock();
        match refusal {
            Refusal::Unavailable { .. } => Ok(true),
            Refusal::Unknown { what, .. } => {
                let known = number_of(&server, &plan.name, id).is_some_and(|n| n <= moment.began);
                check!(
                    !known || *what == "experiment",
                    "`{id}` is in the log and unknown"
                );
                Ok(false)
            }
            Refusal::Conflict { reason } => {
                if let Some((_, rest)) = reason.split_once("is over (") {
                    let ttl = rest.split(' ').next().and_then(|ttl| ttl.parse().ok());
                    self.ledger.refused_as_late(
                        &server,
                        &plan.name,
                        id,
                        ttl.unwrap_or(0.0),
                        moment.time,
                    )?;
                    return Ok(false);
                }
                let allowed = plan.is_archived
                    || plan.contradicted.contains(id)
                    || reason.contains("by default")
                    || reason.contains("it has no outcome");
                check!(allowed, "a report on `{id}` was refused: {reason}");
                Ok(false)
            }
            // Shadow mode may have begun or ended in between.
            Refusal::Invalid { field, .. } if field == "taken" => Ok(false),
            other => Err(format!("a report on `{id}` was refused: {other}")),
        }
    }

    pub fn judge_change(&self, refusal: &Refusal) -> Result<bool, String> {
        match refusal {
            Refusal::Unavailable { .. } => Ok(true),
            Refusal::Unknown { what, .. } => Ok(*what == "experiment"),
            // It was archived, or done before and the answer lost.
            Refusal::Conflict { .. } => Ok(false),
            Refusal::Invalid { field, .. } if field == "name" => Ok(false),
            other => Err(format!("a change was refused: {other}")),
        }
    }
}
