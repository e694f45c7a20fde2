//! Questions to the agent, in the log's own numbers of arms.

use std::sync::Arc;

use banister::{Agent, Fallback};
use banister_rivals::AgentConfig;

use super::facts::facts;
use super::{Arm, Experiment, ExperimentStatus};
use crate::events::Candidate;
use crate::events::PublishedPolicy;
use crate::refusal::Refusal;
use crate::state::declaration::{Kind, NamedArm, check_label, check_range};

impl Experiment {
    /// Checks that the agent would take an outcome after `more` others: events that are written must fold.
    pub(crate) fn check_outcome(
        &self,
        action: u32,
        features: &[f64],
        reward: f64,
        costs: &[f64],
        more: u64,
    ) -> Result<(), Refusal> {
        let checked = if features.is_empty() {
            let own = self.own_number(action as usize);
            let own = own.ok_or_else(|| Refusal::unavailable("the agent does not know the arm"))?;
            self.agent.check_outcome(own, reward, costs, more)
        } else {
            (self.agent).check_outcome_at(features, reward, costs, more)
        };
        checked.map_err(|e| Refusal::of(e, str::to_string))
    }

    /// The agent, to ask it.
    pub(crate) fn agent(&self) -> &dyn Agent {
        &*self.agent
    }

    pub(super) fn agent_mut(&mut self) -> &mut dyn Agent {
        &mut *self.agent
    }

    /// Returns true if outcomes are taken by features.
    pub(crate) fn is_linear(&self) -> bool {
        self.checked.config.takes_features()
    }

    /// Agent's number of an arm: linear agents number only those on offer.
    pub(super) fn own_number(&self, arm: usize) -> Option<usize> {
        let name = &self.arms.get(arm)?.name;
        let names = self.agent.names();
        if names.get(arm) == Some(name) {
            return Some(arm);
        }
        names.iter().position(|own| own == name)
    }

    /// Log's number of one of the agent's arms.
    fn number_of(&self, own: usize) -> u32 {
        let names = self.agent.names();
        let number = match names.get(own) {
            Some(name) if self.arms.get(own).is_none_or(|arm| arm.name != *name) => {
                self.arms.iter().position(|arm| arm.name == *name)
            }
            _ => Some(own),
        };
        number.and_then(|n| u32::try_from(n).ok()).unwrap_or(0)
    }

    /// Features of an arm by which its outcomes are taken; none where they are taken by number.
    pub(crate) fn arm_features(&self, arm: usize, context: &[f64]) -> Vec<f64> {
        match self.checked.kind {
            Kind::Context(_) => self.facts.features(arm, context),
            _ if !self.is_linear() => Vec::new(),
            _ => match &self.arms[arm].features {
                Some(x) => x.clone(),
                None => {
                    let mut x = vec![0.0; self.checked.arms.len()];
                    x[arm] = 1.0;
                    x
                }
            },
        }
    }

    /// Features by which the outcome of an action is taken; none where it is taken by number.
    pub(crate) fn features(
        &self,
        action: u32,
        context: &[f64],
        candidates: &[Candidate],
    ) -> Vec<f64> {
        match self.checked.kind {
            Kind::Candidates(_) => match candidates.get(action as usize) {
                Some(candidate) => candidate.features.clone(),
                None => self.facts.safe_action.clone(),
            },
            _ => self.arm_features(action as usize, context),
        }
    }

    /// The policy over the arms as they are known now, with the number of its event if it has one. An agent
    /// that samples has another one for every decision.
    pub(crate) fn policy(&mut self) -> Result<(Option<u64>, Arc<PublishedPolicy>), Refusal> {
        if self.agent.samples() {
            return Ok((None, Arc::new(self.publish()?)));
        }
        if let Some((number, published)) = &self.current {
            return Ok((*number, published.clone()));
        }
        let published = Arc::new(self.publish()?);
        self.current = Some((None, published.clone()));
        Ok((None, published))
    }

    /// The policy for a context.
    pub(crate) fn policy_in_context(
        &mut self,
        context: &[f64],
    ) -> Result<Arc<PublishedPolicy>, Refusal> {
        let safe = self.checked.safe;
        let offered: Vec<usize> = (0..self.arms.len())
            .filter(|&arm| arm != safe && self.arms[arm].offered)
            .collect();
        let mut features = Vec::new();
        for &arm in &offered {
            features.extend(self.arm_features(arm, context));
        }
        self.offer(&features, "context", |_| "context".into())?;
        let number = |own: usize| offered.get(own).copied().unwrap_or(safe) as u32;
        self.publish_with(number).map(Arc::new)
    }

    /// The policy for candidates.
    pub(crate) fn policy_for(
        &mut self,
        candidates: &[Candidate],
    ) -> Result<Arc<PublishedPolicy>, Refusal> {
        let features: Vec<f64> = (candidates.iter())
            .flat_map(|c| c.features.iter().copied())
            .collect();
        self.offer(&features, "actions", str::to_string)?;
        self.publish_with(|own| own as u32).map(Arc::new)
    }

    fn offer(
        &mut self,
        features: &[f64],
        field: &str,
        rename: impl Fn(&str) -> String,
    ) -> Result<(), Refusal> {
        self.agent.offer(features).map_err(|error| match error {
            banister::Error::Invalid { .. } => Refusal::of(error, rename),
            other => Refusal::invalid(field, "given", other.to_string()),
        })
    }

    fn publish(&mut self) -> Result<PublishedPolicy, Refusal> {
        let numbers: Vec<u32> = (0..self.agent.actions().map_or(0, |set| set.count))
            .map(|own| self.number_of(own))
            .collect();
        self.publish_with(|own| numbers.get(own).copied().unwrap_or(0))
    }

    fn publish_with(&mut self, number: impl Fn(usize) -> u32) -> Result<PublishedPolicy, Refusal> {
        let decision = match self.status {
            ExperimentStatus::Paused => (self.agent.decide_safe(Fallback::Paused))
                .ok_or_else(|| Refusal::conflict("this agent cannot be paused: resume it"))?
                .clone(),
            _ if self.is_forced_by_missing() => match self.agent.decide_safe(Fallback::Alarm) {
                Some(decision) => decision.clone(),
                None => self.agent.decide().clone(),
            },
            _ => self.agent.decide().clone(),
        };
        let safe = self.agent.actions().map_or(0, |set| set.safe);
        let problem = &self.checked.standard;
        Ok(PublishedPolicy::new(
            &mut *self.agent,
            &decision,
            problem,
            safe,
            number,
        ))
    }

    /// Agent's beliefs about every arm, by the log's numbers.
    pub(crate) fn beliefs(&mut self) -> Vec<(usize, banister::ArmEstimate)> {
        if self.checked.kind != Kind::Arms {
            return Vec::new();
        }
        let beliefs = self.agent.estimates();
        let numbered = beliefs.into_iter().enumerate();
        numbered
            .map(|(own, belief)| (self.number_of(own) as usize, belief))
            .collect()
    }

    /// Checks that an arm can be added.
    pub(crate) fn check_new_arm(&self, arm: &NamedArm) -> Result<(), Refusal> {
        if self.checked.kind != Kind::Arms {
            let allowed = match self.checked.kind {
                Kind::Context(_) => {
                    "with `context` the arms are fixed: their number is the dimension"
                }
                _ => "every decision of this experiment brings its own actions",
            };
            return Err(Refusal::invalid("name", &arm.name, allowed));
        }
        check_label("name", &arm.name)?;
        if self.arms.iter().any(|other| other.name == arm.name) {
            let reason = format!("there is, or was, an arm called `{}` already", arm.name);
            return Err(Refusal::conflict(reason));
        }
        for (name, range) in &arm.ranges.0 {
            check_range(format!("ranges.{name}"), *range)?;
        }
        self.try_on_a_copy(|agent| {
            agent
                .add_arm(&arm.name, arm.features.as_deref(), &arm.ranges)
                .map(|_| ())
        })?;
        let mut checked = self.checked.clone();
        (checked.standard.add_arm(&arm.ranges)).map_err(|e| Refusal::of(e, str::to_string))?;
        let declaration = &checked.declaration;
        checked.check_ttl(
            declaration.ttl_seconds,
            declaration.default_outcome.as_ref(),
        )
    }

    /// Takes up an arm that was checked.
    pub(super) fn add(&mut self, arm: NamedArm) -> Result<(), String> {
        let NamedArm {
            name,
            features,
            ranges,
        } = arm;
        let added = self.agent.add_arm(&name, features.as_deref(), &ranges);
        added.map_err(|e| e.to_string())?;
        (self.checked.standard.add_arm(&ranges)).map_err(|e| e.to_string())?;
        self.arms.push(Arm {
            name,
            features,
            ranges,
            offered: true,
        });
        self.facts = facts(self.key, &self.checked, &self.arms, &*self.agent);
        self.current = None;
        Ok(())
    }

    /// Checks that an arm can be retired.
    pub(crate) fn check_retired(&self, arm: usize) -> Result<(), Refusal> {
        if self.checked.kind != Kind::Arms {
            return Ok(());
        }
        let own = self.own_number(arm);
        let own = own.ok_or_else(|| Refusal::unavailable("the agent does not know the arm"))?;
        self.try_on_a_copy(|agent| agent.retire_arm(own))
    }

    /// Tries a change of the arms on a copy of the agent: an event must not fail once it is written.
    fn try_on_a_copy(
        &self,
        change: impl FnOnce(&mut dyn Agent) -> Result<(), banister::Error>,
    ) -> Result<(), Refusal> {
        let copy = AgentConfig::restore(&self.agent.save_learned());
        let mut copy = copy.map_err(|e| Refusal::unavailable(e.to_string()))?;
        change(&mut *copy.agent).map_err(|error| {
            Refusal::of(error, |field| match field {
                "arm" => "name".into(),
                other => other.into(),
            })
        })
    }
}
