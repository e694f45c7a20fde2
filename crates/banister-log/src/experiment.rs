//! One experiment: a fold over its events.
//!
//! What is learned (the agent, the arms, the counts) depends on the events alone, in their order:
//! [`Experiment::digest`] is the same in every process that has folded the same events. The rest (the
//! policy in force, the trace for the page) is kept beside it.

use std::sync::Arc;

use banister::{Agent, AgentConfig, CheckedProblem, Fallback};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::declaration::{Checked, Declaration, DefaultOutcome, Kind, NamedArm};
use crate::event::{Candidate, DecisionEvent, Event, OutcomeEvent, Record};
use crate::history::History;
use crate::published::Published;
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// Whether an experiment decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExperimentStatus {
    /// It decides and learns.
    #[default]
    Running,
    /// Every decision is the safe action; it still learns from outcomes.
    Paused,
    /// It is over.
    Archived,
}

/// A change of an experiment; what is absent stays.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ExperimentStatus>,
    /// Whether the caller's own action is what happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<bool>,
    /// After this many seconds a decision without an outcome gets `default_outcome`; null: never.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "given"
    )]
    #[schemars(with = "Option<f64>")]
    pub ttl_seconds: Option<Option<f64>>,
    /// What counts as the outcome of a decision that never got one; null: nothing.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "given_object"
    )]
    #[schemars(with = "Option<DefaultOutcome>")]
    pub default_outcome: Option<Option<DefaultOutcome>>,
}

/// Tells null from absent.
fn given<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

fn given_object<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    crate::object::option(deserializer).map(Some)
}

/// What has happened so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Decisions made.
    pub decisions: u64,
    /// Outcomes that were learned from, defaults among them.
    pub outcomes: u64,
    /// Decisions whose time to live was over before their outcome was complete.
    pub expired: u64,
    /// Outcomes imported from other logs.
    pub imported: u64,
    /// Decisions where the safe action was forced.
    pub forced: u64,
}

/// An arm, retired ones too. Its number never changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// What it is called.
    pub name: String,
    /// Its features, where arms have any.
    pub features: Option<Vec<f64>>,
    /// Whether it is on offer.
    pub offered: bool,
}

/// Since when the safe action is forced, and why.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Alarm {
    /// Why.
    pub reason: Fallback,
    /// Since when.
    pub since: i64,
    /// The first decision that was; none while it is only paused.
    pub decision: Option<u64>,
}

/// The last policy that decisions were drawn from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Latest {
    /// The policy.
    pub published: Arc<Published>,
    /// Facts of the candidates it chooses among; empty for arms.
    pub candidates: Vec<Option<String>>,
}

/// What answers need to know of an experiment; it changes only when arms are added.
#[derive(Debug)]
pub struct Facts {
    /// Its name.
    pub experiment: String,
    /// The number of the event that created it.
    pub key: u64,
    /// Where its actions come from.
    pub kind: Kind,
    /// Names of its arms, retired ones too; empty where decisions bring candidates.
    pub arms: Vec<String>,
    /// Names of its guardrails.
    pub guardrails: Vec<String>,
    /// The safe arm, if arms have names.
    pub safe: Option<u32>,
    /// Features of the safe action, where decisions bring candidates.
    pub safe_action: Vec<f64>,
    /// Its signals.
    pub problem: CheckedProblem,
}

impl Facts {
    /// Features of an arm in a context: every arm but the safe one has a block of its own for it, the safe
    /// one has the first place, whatever the context.
    pub fn features(&self, arm: usize, context: &[f64]) -> Vec<f64> {
        let (d, safe) = (context.len(), self.safe.map_or(0, |safe| safe as usize));
        let mut x = vec![0.0; 1 + (self.arms.len() - 1) * d];
        match arm.cmp(&safe) {
            std::cmp::Ordering::Less => x[1 + arm * d..][..d].copy_from_slice(context),
            std::cmp::Ordering::Equal => x[0] = 1.0,
            std::cmp::Ordering::Greater => x[1 + (arm - 1) * d..][..d].copy_from_slice(context),
        }
        x
    }
}

/// An experiment as folded.
pub struct Experiment {
    /// The number of the event that created it.
    pub key: u64,
    /// As declared, checked.
    pub checked: Checked,
    /// Whether it decides.
    pub status: ExperimentStatus,
    /// When it was created.
    pub created: Timestamp,
    /// Its last event.
    pub number: u64,
    /// The arms.
    pub arms: Vec<Arm>,
    /// What has happened.
    pub counts: Counts,
    /// The trace for the page.
    pub history: History,
    /// Whether the safe action is forced.
    pub alarm: Option<Alarm>,
    /// The last policy that decisions were drawn from.
    pub latest: Option<Latest>,
    /// Up to here every decision has an outcome or is younger than the time to live.
    pub settled: u64,
    /// The policy over the arms now, and the number of its event once it has one.
    pub(crate) current: Option<(Option<u64>, Arc<Published>)>,
    pub(crate) facts: Arc<Facts>,
    agent: Box<dyn Agent>,
}

/// All of an experiment that a snapshot keeps; the first part is what is learned.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Saved {
    pub learned: Learned,
    pub history: History,
    pub alarm: Option<Alarm>,
    pub latest: Option<Latest>,
    pub settled: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Learned {
    pub key: u64,
    pub number: u64,
    pub created: i64,
    pub declaration: Declaration,
    pub status: ExperimentStatus,
    pub arms: Vec<Arm>,
    pub counts: Counts,
    pub agent: String,
}

impl Experiment {
    /// As its first event declares it.
    pub(crate) fn new(record: &Record, json: &str) -> Result<Self, String> {
        let declaration: Declaration = serde_json::from_str(json).map_err(|e| e.to_string())?;
        let checked = declaration.check().map_err(|e| e.to_string())?;
        Self::made(record.number, record.time, checked)
    }

    /// As a checked declaration makes it.
    pub(crate) fn made(key: u64, created: Timestamp, checked: Checked) -> Result<Self, String> {
        let agent = (checked.config.build(&checked.problem)).map_err(|e| e.to_string())?;
        let arms = checked.arms.iter().map(|arm| Arm {
            name: arm.name.clone(),
            features: arm.features.clone(),
            offered: true,
        });
        let arms: Vec<Arm> = arms.collect();
        let facts = facts(key, &checked, &arms);
        Ok(Self {
            key,
            status: ExperimentStatus::Running,
            created,
            number: key,
            counts: Counts::default(),
            history: History::default(),
            alarm: None,
            latest: None,
            settled: key,
            current: None,
            arms,
            facts,
            agent,
            checked,
        })
    }

    /// Takes one of its events, the first aside. Events were checked before they were written, so the
    /// agent refuses none; if one cannot be taken, the log is damaged.
    pub(crate) fn apply(&mut self, record: &Record, event: &Event) -> Result<(), String> {
        self.number = record.number;
        match event {
            Event::Created(_) => return Err("an experiment is created once".into()),
            Event::Changed(json) => {
                let change = serde_json::from_str(json).map_err(|e| e.to_string())?;
                self.change(change, record.time);
            }
            Event::ArmAdded { name, features } => {
                (self.agent.add_arm(name, features.as_deref())).map_err(|e| e.to_string())?;
                self.arms.push(Arm {
                    name: name.clone(),
                    features: features.clone(),
                    offered: true,
                });
                self.facts = facts(self.key, &self.checked, &self.arms);
                self.current = None;
            }
            Event::ArmRetired { arm } => self.retire(*arm as usize)?,
            // Policies and decisions teach nothing, and parts only once they are complete.
            Event::Policy(_) | Event::Decision(_) | Event::Part(_) => {}
            Event::Outcome(outcome) => {
                self.observe(outcome).map_err(|e| e.to_string())?;
                self.counts.outcomes += 1;
                self.counts.expired += u64::from(outcome.by_default);
                self.history.observe(record.time);
                self.current = None;
            }
            Event::Lapsed => self.counts.expired += 1,
            Event::Imported(import) => {
                (import.outcomes(|outcomes| self.agent.observe_batch(outcomes)))
                    .map_err(|e| e.to_string())?;
                self.counts.imported += import.rewards.len() as u64;
                self.current = None;
            }
        }
        Ok(())
    }

    /// A policy was published.
    pub(crate) fn applied_policy(
        &mut self,
        time: Timestamp,
        number: u64,
        published: Arc<Published>,
    ) {
        self.history.publish(time, &published);
        if let Some((own, current)) = &mut self.current
            && own.is_none()
            && Arc::ptr_eq(current, &published)
        {
            *own = Some(number);
        }
        self.latest = Some(Latest {
            published,
            candidates: Vec::new(),
        });
    }

    /// A decision was made.
    pub(crate) fn applied_decision(
        &mut self,
        time: Timestamp,
        number: u64,
        decision: &DecisionEvent,
    ) {
        if let Some(own) = &decision.own {
            self.applied_policy(time, number, own.clone());
            if let Some(latest) = &mut self.latest {
                let names = decision.candidates.iter().map(|c| c.name.clone());
                latest.candidates = names.collect();
            }
        }
        let fallback = decision.fallback;
        self.counts.decisions += 1;
        self.counts.forced += u64::from(fallback.is_some());
        self.history.decide(time, fallback);
        self.alarm = fallback.map(|reason| match self.alarm {
            Some(alarm) if alarm.reason == reason => alarm,
            _ => Alarm {
                reason,
                since: time.0,
                decision: Some(number),
            },
        });
    }

    fn change(&mut self, change: Change, time: Timestamp) {
        let declaration = &mut self.checked.declaration;
        if let Some(description) = change.description {
            declaration.description = description;
        }
        if let Some(shadow) = change.shadow {
            declaration.shadow = shadow;
        }
        if let Some(ttl) = change.ttl_seconds {
            declaration.ttl_seconds = ttl;
        }
        if let Some(outcome) = change.default_outcome {
            declaration.default_outcome = outcome;
        }
        if let Some(status) = change.status {
            self.status = status;
            self.current = None;
            let was_paused = matches!(self.alarm, Some(alarm) if alarm.reason == Fallback::Paused);
            match status {
                ExperimentStatus::Paused if !was_paused => {
                    self.alarm = Some(Alarm {
                        reason: Fallback::Paused,
                        since: time.0,
                        decision: None,
                    });
                }
                ExperimentStatus::Running if was_paused => self.alarm = None,
                _ => {}
            }
        }
    }

    /// Whether a change would change nothing.
    pub(crate) fn is_as(&self, change: &Change) -> bool {
        let declaration = &self.checked.declaration;
        let same = |known: &Option<_>, wanted: &Option<Option<_>>| {
            wanted.as_ref().is_none_or(|wanted| wanted == known)
        };
        (change.description.as_ref()).is_none_or(|text| *text == declaration.description)
            && change.status.is_none_or(|status| status == self.status)
            && change
                .shadow
                .is_none_or(|shadow| shadow == declaration.shadow)
            && change
                .ttl_seconds
                .is_none_or(|ttl| ttl == declaration.ttl_seconds)
            && same(&declaration.default_outcome, &change.default_outcome)
    }

    fn retire(&mut self, arm: usize) -> Result<(), String> {
        if self.checked.kind == Kind::Arms {
            let own = self
                .own_number(arm)
                .ok_or("the agent does not know the arm")?;
            self.agent.retire_arm(own).map_err(|e| e.to_string())?;
        }
        let arm = self.arms.get_mut(arm).ok_or("there is no such arm")?;
        arm.offered = false;
        self.current = None;
        Ok(())
    }

    fn observe(&mut self, outcome: &OutcomeEvent) -> Result<(), banister::Error> {
        let (reward, costs) = (outcome.reward, &outcome.costs);
        match outcome.features.is_empty() {
            true => (self.agent).observe(outcome.action as usize, reward, costs),
            false => self.agent.observe_at(&outcome.features, reward, costs),
        }
    }

    /// Whether the agent would take an outcome after `more` others: what is written must fold.
    pub(crate) fn check_outcome(
        &self,
        features: &[f64],
        reward: f64,
        costs: &[f64],
        more: u64,
    ) -> Result<(), Refusal> {
        let checked = match features.is_empty() {
            true => self.agent.check_outcome(reward, costs, more),
            false => (self.agent).check_outcome_at(features, reward, costs, more),
        };
        checked.map_err(|e| Refusal::of(e, str::to_string))
    }

    /// The agent, to ask it.
    pub(crate) fn agent(&self) -> &dyn Agent {
        &*self.agent
    }

    /// Whether outcomes are taken by features.
    pub(crate) fn is_linear(&self) -> bool {
        self.checked.config.takes_features()
    }

    /// What the agent calls an arm: linear agents number only those on offer.
    fn own_number(&self, arm: usize) -> Option<usize> {
        let name = &self.arms.get(arm)?.name;
        let names = self.agent.names();
        if names.get(arm) == Some(name) {
            return Some(arm);
        }
        names.iter().position(|own| own == name)
    }

    /// What the log calls an arm of the agent's.
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

    /// The policy over the arms as they are known now, with the number of its event if it has one.
    pub(crate) fn policy(&mut self) -> Result<(Option<u64>, Arc<Published>), Refusal> {
        if let Some((number, published)) = &self.current {
            return Ok((*number, published.clone()));
        }
        let published = Arc::new(self.publish()?);
        self.current = Some((None, published.clone()));
        Ok((None, published))
    }

    /// The policy for a context.
    pub(crate) fn policy_in_context(&mut self, context: &[f64]) -> Result<Arc<Published>, Refusal> {
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
    ) -> Result<Arc<Published>, Refusal> {
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

    fn publish(&mut self) -> Result<Published, Refusal> {
        let numbers: Vec<u32> = (0..self.agent.actions().map_or(0, |set| set.count))
            .map(|own| self.number_of(own))
            .collect();
        self.publish_with(|own| numbers.get(own).copied().unwrap_or(0))
    }

    fn publish_with(&mut self, number: impl Fn(usize) -> u32) -> Result<Published, Refusal> {
        let decision = match self.status {
            ExperimentStatus::Paused => (self.agent.decide_safe(Fallback::Paused))
                .ok_or_else(|| Refusal::conflict("this agent cannot be paused: resume it"))?
                .clone(),
            _ => self.agent.decide().clone(),
        };
        let safe = self.agent.actions().map_or(0, |set| set.safe);
        let problem = &self.checked.standard;
        Ok(Published::new(
            &mut *self.agent,
            &decision,
            problem,
            safe,
            number,
        ))
    }

    /// What the agent believes of every arm, by the log's numbers.
    pub(crate) fn beliefs(&mut self) -> Vec<(usize, banister::Belief)> {
        if self.checked.kind != Kind::Arms {
            return Vec::new();
        }
        let beliefs = self.agent.beliefs();
        let numbered = beliefs.into_iter().enumerate();
        numbered
            .map(|(own, belief)| (self.number_of(own) as usize, belief))
            .collect()
    }

    /// Whether an arm could be added.
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
        crate::declaration::check_length("name", &arm.name, 200)?;
        if self.arms.iter().any(|other| other.name == arm.name) {
            let reason = format!("there is, or was, an arm called `{}` already", arm.name);
            return Err(Refusal::conflict(reason));
        }
        // Tried on a copy: the event must not fail once it is written.
        let copy = AgentConfig::restore(&self.agent.save_learned());
        let mut copy = copy.map_err(|e| Refusal::unavailable(e.to_string()))?;
        (copy.agent.add_arm(&arm.name, arm.features.as_deref())).map_err(|error| {
            Refusal::of(error, |field| match field {
                "arm" => "name".into(),
                other => other.into(),
            })
        })?;
        Ok(())
    }

    /// What is learned, as text: the same for the same events.
    fn learned(&self) -> Learned {
        Learned {
            key: self.key,
            number: self.number,
            created: self.created.0,
            declaration: self.checked.declaration.clone(),
            status: self.status,
            arms: self.arms.clone(),
            counts: self.counts,
            agent: self.agent.save_learned(),
        }
    }

    /// Digest of what is learned.
    pub fn digest(&self) -> String {
        let learned = serde_json::to_vec(&self.learned()).unwrap_or_default();
        blake3::hash(&learned).to_hex().to_string()
    }

    /// For a snapshot.
    pub(crate) fn save(&self) -> Vec<u8> {
        let saved = Saved {
            learned: self.learned(),
            history: self.history.clone(),
            alarm: self.alarm,
            latest: self.latest.clone(),
            settled: self.settled,
        };
        // Numbers, texts and lists only: there is nothing to fail on.
        serde_json::to_vec(&saved).unwrap_or_default()
    }

    /// From a snapshot.
    pub(crate) fn restore(body: &[u8]) -> Result<Self, String> {
        let saved: Saved = serde_json::from_slice(body).map_err(|e| e.to_string())?;
        let learned = saved.learned;
        let checked = learned.declaration.check().map_err(|e| e.to_string())?;
        let restored = AgentConfig::restore(&learned.agent).map_err(|e| e.to_string())?;
        let facts = facts(learned.key, &checked, &learned.arms);
        Ok(Self {
            key: learned.key,
            status: learned.status,
            created: Timestamp(learned.created),
            number: learned.number,
            counts: learned.counts,
            history: saved.history,
            alarm: saved.alarm,
            latest: saved.latest,
            settled: saved.settled,
            current: None,
            arms: learned.arms,
            facts,
            agent: restored.agent,
            checked,
        })
    }
}

fn facts(key: u64, checked: &Checked, arms: &[Arm]) -> Arc<Facts> {
    let guardrails = checked.declaration.guardrails.iter();
    Arc::new(Facts {
        experiment: checked.declaration.name.clone(),
        key,
        kind: checked.kind,
        arms: arms.iter().map(|arm| arm.name.clone()).collect(),
        guardrails: guardrails.map(|g| g.name.clone()).collect(),
        safe: match checked.kind {
            Kind::Candidates(_) => None,
            _ => u32::try_from(checked.safe).ok(),
        },
        safe_action: checked.declaration.safe_action.clone().unwrap_or_default(),
        problem: checked.standard.clone(),
    })
}
