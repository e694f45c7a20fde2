//! Experiments: created, changed, with arms added and retired, and fed from other logs.

use super::{Desk, Taken};
use crate::declaration::{Declaration, Kind, NamedArm, check_length};
use crate::event::{Event, Import};
use crate::experiment::{Change, Experiment, ExperimentStatus};
use crate::refusal::Refusal;
use crate::request::Answer;

/// Most outcomes of one import, and of one event of it.
pub const MOST_IMPORTED: usize = 1_000_000;
const CHUNK: usize = 1000;

impl Desk<'_> {
    pub(super) fn create(&mut self, declaration: Declaration) -> Result<Taken, Refusal> {
        let checked = declaration.check()?;
        let name = &checked.declaration.name;
        if self.state.is_taken(name) {
            return Err(Refusal::conflict(format!(
                "there is an experiment called `{name}` already"
            )));
        }
        let json = serde_json::to_string(&checked.declaration).unwrap_or_default();
        let number = self.next();
        self.write(number, None, None, Event::Created(json));
        Ok(Taken::View(number))
    }

    pub(super) fn change(&mut self, name: &str, change: Change) -> Result<Taken, Refusal> {
        let experiment = self.state.experiment(name)?;
        if experiment.is_as(&change) {
            // Asked twice, or of somebody who did not hear the answer: nothing is to be written.
            return Ok(Taken::View(experiment.key));
        }
        let experiment = self.alive(name)?;
        if let Some(description) = &change.description {
            check_length("description", description, 10_000)?;
        }
        let declaration = &experiment.checked.declaration;
        let ttl = change.ttl_seconds.unwrap_or(declaration.ttl_seconds);
        let default = match &change.default_outcome {
            Some(changed) => changed.as_ref(),
            None => declaration.default_outcome.as_ref(),
        };
        experiment.checked.check_ttl(ttl, default)?;
        let key = experiment.key;
        let json = serde_json::to_string(&change).unwrap_or_default();
        self.write(key, None, None, Event::Changed(json));
        Ok(Taken::View(key))
    }

    pub(super) fn add_arm(&mut self, name: &str, arm: NamedArm) -> Result<Taken, Refusal> {
        let experiment = self.alive(name)?;
        experiment.check_new_arm(&arm)?;
        let key = experiment.key;
        let NamedArm { name, features } = arm;
        self.write(key, None, None, Event::ArmAdded { name, features });
        Ok(Taken::View(key))
    }

    pub(super) fn retire_arm(&mut self, name: &str, arm: &str) -> Result<Taken, Refusal> {
        let experiment = self.alive(name)?;
        let place = (experiment.arms.iter().position(|own| own.name == arm))
            .ok_or_else(|| Refusal::unknown("arm", arm))?;
        if place == experiment.checked.safe {
            return Err(Refusal::conflict("the safe arm cannot be retired"));
        }
        if !experiment.arms[place].offered {
            return Err(Refusal::conflict(format!(
                "the arm `{arm}` is retired already"
            )));
        }
        experiment.check_retired(place)?;
        let key = experiment.key;
        self.write(key, None, None, Event::ArmRetired { arm: place as u32 });
        Ok(Taken::View(key))
    }

    pub(super) fn acknowledge(&mut self, name: &str, note: String) -> Result<Taken, Refusal> {
        check_length("note", &note, 10_000)?;
        let experiment = self.alive(name)?;
        let key = experiment.key;
        if experiment.open_alarms().next().is_some() || experiment.has_news() {
            self.write(key, None, None, Event::AlarmsAcknowledged(note));
        }
        Ok(Taken::View(key))
    }

    pub(super) fn record_alarms(&mut self) -> Taken {
        let raised: Vec<_> = (self.state.experiments())
            .flat_map(|e| e.unrecorded().into_iter().map(|alarm| (e.key, alarm)))
            .collect();
        for (key, alarm) in raised {
            let json = serde_json::to_string(&alarm).unwrap_or_default();
            self.write(key, None, None, Event::AlarmRaised(json));
        }
        Taken::Answer(Answer::Expired(0))
    }

    pub(super) fn import(&mut self, name: &str, import: Import) -> Result<Taken, Refusal> {
        let experiment = self.alive(name)?;
        let key = experiment.key;
        let count = import.rewards.len();
        if count == 0 || count > MOST_IMPORTED {
            let allowed = format!("must be 1 to {MOST_IMPORTED}");
            return Err(Refusal::invalid("rows", count, allowed));
        }
        let m = experiment.facts.guardrails.len();
        let arms = matches!(experiment.checked.kind, Kind::Arms);
        check_columns(experiment, &import)?;
        let digest = import.digested();
        if let Some(known) = experiment.imports.iter().find(|i| i.digest == digest) {
            // Sent again by somebody who did not hear the answer: counted twice, the same outcomes would
            // make the agent surer than it may be.
            let answer = Answer::Imported(known.outcomes, known.number);
            return Ok(Taken::Answer(answer));
        }
        // Arms of a linear agent are taken by their features, as their outcomes are.
        let import = match arms && experiment.is_linear() {
            false => import,
            true => Import {
                features: (import.arms.iter())
                    .flat_map(|&arm| experiment.arm_features(arm as usize, &[]))
                    .collect(),
                arms: Vec::new(),
                ..import
            },
        };
        let d = import.features.len() / count;
        for i in 0..count {
            let features = &import.features[i * d..(i + 1) * d];
            let costs = &import.costs[i * m..(i + 1) * m];
            let checked = experiment.check_outcome(features, import.rewards[i], costs, i as u64);
            checked.map_err(|refusal| match refusal {
                Refusal::Invalid {
                    field,
                    value,
                    allowed,
                } => Refusal::invalid(format!("row {}: {field}", i + 1), value, allowed),
                other => other,
            })?;
        }
        for start in (0..count).step_by(CHUNK) {
            let end = (start + CHUNK).min(count);
            let chunk = Import {
                digest,
                arms: match import.arms.is_empty() {
                    true => Vec::new(),
                    false => import.arms[start..end].to_vec(),
                },
                features: import.features[start * d..end * d].to_vec(),
                rewards: import.rewards[start..end].to_vec(),
                costs: import.costs[start * m..end * m].to_vec(),
            };
            self.write(key, None, None, Event::Imported(chunk));
        }
        let last = self.next() - 1;
        Ok(Taken::Answer(Answer::Imported(count as u64, last)))
    }

    /// An experiment that is not archived.
    fn alive(&mut self, name: &str) -> Result<&mut Experiment, Refusal> {
        let experiment = self.state.experiment(name)?;
        match experiment.status {
            ExperimentStatus::Archived => Err(Refusal::conflict(format!(
                "the experiment `{name}` is archived: it cannot be changed any more"
            ))),
            _ => Ok(experiment),
        }
    }
}

/// Checks that an import's columns fit each other, and that its arms exist.
fn check_columns(experiment: &Experiment, import: &Import) -> Result<(), Refusal> {
    let count = import.rewards.len();
    let arms = experiment.arms.len();
    let (arm_rows, d) = match experiment.checked.kind {
        Kind::Arms => (count, 0),
        Kind::Context(d) => (0, 1 + arms.saturating_sub(1) * d),
        Kind::Candidates(d) => (0, d),
    };
    let lengths = [
        ("arms", import.arms.len(), arm_rows),
        ("features", import.features.len(), count * d),
        (
            "costs",
            import.costs.len(),
            count * experiment.facts.guardrails.len(),
        ),
    ];
    for (field, length, expected) in lengths {
        if length != expected {
            let allowed = format!("expected {expected}: there are {count} rewards");
            return Err(Refusal::invalid(
                field,
                format!("{length} entries"),
                allowed,
            ));
        }
    }
    if let Some(row) = (import.arms.iter()).position(|&arm| arm as usize >= arms) {
        let field = format!("row {}: arm", row + 1);
        let allowed = format!("this experiment has {arms} arms");
        return Err(Refusal::invalid(field, import.arms[row], allowed));
    }
    Ok(())
}
