//! Decisions.

use std::sync::Arc;

use rand::RngExt;

use super::{Case, Desk, decode};
use crate::declaration::{Kind, LARGEST_FEATURE, MOST_ACTIONS, check_length};
use crate::event::{Candidate, DecisionEvent, Event};
use crate::experiment::{Experiment, ExperimentStatus};
use crate::published::Published;
use crate::refusal::Refusal;
use crate::request::{Answer, Decided, DecisionRequest, action_name};
use crate::state::OpenDecision;
use crate::store::Key;

impl Desk<'_> {
    pub(super) fn decide(
        &mut self,
        name: &str,
        mut request: DecisionRequest,
    ) -> Result<Answer, Refusal> {
        let experiment = self.state.experiment(name)?;
        let key = experiment.key;
        let digest = digest(&request);
        let id = request.id.take();
        if let Some(id) = &id {
            check_id(id)?;
            if let Some(case) = self.case(key, &Key::Id(id.clone()))? {
                return self.replay(name, case, digest);
            }
        }
        let experiment = self.state.experiment(name)?;
        if experiment.status == ExperimentStatus::Archived {
            return Err(Refusal::conflict(format!(
                "the experiment `{name}` is archived and decides no more"
            )));
        }
        let (context, candidates) = brought(experiment, &mut request)?;
        let shadow = experiment.checked.declaration.shadow;
        let taken = taken(experiment, shadow, &candidates, request.taken.as_deref())?;
        check_propensity(shadow, taken, request.propensity)?;

        // The policy: of the arms as known now, or of this decision alone.
        let (published, cited) = match experiment.checked.kind {
            Kind::Arms => {
                let (number, published) = experiment.policy()?;
                (published, Some(number))
            }
            Kind::Context(_) => (experiment.policy_in_context(&context)?, None),
            Kind::Candidates(_) => (experiment.policy_for(&candidates)?, None),
        };
        let facts = experiment.facts.clone();
        let draw: f64 = self.rng.random();
        let (action, probability) = published.draw(draw);
        let features = self
            .state
            .experiment(name)?
            .features(action, &context, &candidates);
        let policy = cited.map(|number| self.cite(key, number, &published));
        let event = Arc::new(DecisionEvent {
            request: digest,
            policy,
            own: policy.is_none().then(|| published.clone()),
            action,
            probability,
            fallback: published.fallback,
            draw,
            features,
            context,
            candidates,
            shadow,
            taken,
            propensity: request.propensity,
        });
        let number = self.write(key, None, id.clone(), Event::Decision(event.clone()));
        if let Some(id) = &id {
            self.ids.insert((key, id.clone()), number);
        }
        // Ids and numbers are answered after this commit, but a caller who chose the id may report at once.
        let open = OpenDecision {
            experiment: key,
            id: id.clone(),
            time: self.time,
            event: event.clone(),
        };
        self.decisions.insert(number, open);
        Ok(Answer::Decision(Box::new(Decided {
            number,
            id,
            time: self.time,
            action,
            probability,
            shadow,
            candidates: candidate_names(&event.candidates),
            published,
            facts,
        })))
    }

    /// The number of a policy's event: written with the first decision that is drawn from it.
    fn cite(&mut self, experiment: u64, number: Option<u64>, published: &Arc<Published>) -> u64 {
        if let Some(number) = number {
            return number;
        }
        if let Some((number, own)) = self.policies.get(&experiment)
            && Arc::ptr_eq(own, published)
        {
            return *number;
        }
        let number = self.write(experiment, None, None, Event::Policy(published.clone()));
        self.policies
            .insert(experiment, (number, published.clone()));
        number
    }

    /// The answer that a decision got before.
    fn replay(&mut self, name: &str, case: Case, digest: u64) -> Result<Answer, Refusal> {
        let Case {
            number, id, event, ..
        } = case;
        if event.request != digest {
            return Err(Refusal::conflict(format!(
                "the id `{}` belongs to another request: a repeated request must be the same",
                id.unwrap_or_default()
            )));
        }
        let published = self.policy_of(&event)?;
        let time = match self.records.iter().find(|record| record.number == number) {
            Some(record) => record.time,
            None => {
                let record = self.store.get(number).map_err(Refusal::unavailable)?;
                record.map_or(self.time, |record| record.time)
            }
        };
        let experiment = self.state.experiment(name)?;
        Ok(Answer::Decision(Box::new(Decided {
            number,
            id,
            time,
            action: event.action,
            probability: event.probability,
            shadow: event.shadow,
            candidates: candidate_names(&event.candidates),
            published,
            facts: experiment.facts.clone(),
        })))
    }

    /// The policy that a decision was drawn from.
    pub(super) fn policy_of(&mut self, event: &DecisionEvent) -> Result<Arc<Published>, Refusal> {
        match (&event.own, event.policy) {
            (Some(own), _) => Ok(own.clone()),
            (None, Some(policy)) => self.policy(policy),
            (None, None) => Err(Refusal::unavailable("a decision has no policy")),
        }
    }

    /// A published policy by the number of its event.
    fn policy(&mut self, number: u64) -> Result<Arc<Published>, Refusal> {
        if let Some((_, own)) = self.policies.values().find(|(own, _)| *own == number) {
            return Ok(own.clone());
        }
        let record = self.store.get(number).map_err(Refusal::unavailable)?;
        match record.as_ref().map(decode).transpose()? {
            Some(Event::Policy(published)) => Ok(published),
            _ => Err(Refusal::unavailable(format!(
                "event {number} should be a policy"
            ))),
        }
    }
}

impl Experiment {
    /// Features by which the outcome of an action is taken; none where it is taken by number.
    pub(super) fn features(
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
}

/// The context or the candidates that a request must bring.
fn brought(
    experiment: &Experiment,
    request: &mut DecisionRequest,
) -> Result<(Vec<f64>, Vec<Candidate>), Refusal> {
    let kind = experiment.checked.kind;
    let (context, actions) = (request.context.take(), request.actions.take());
    if context.is_some() && !matches!(kind, Kind::Context(_)) {
        let allowed = "this experiment declares no `context`";
        return Err(Refusal::invalid("context", "given", allowed));
    }
    if actions.is_some() && !matches!(kind, Kind::Candidates(_)) {
        let allowed = "this experiment chooses among its own arms";
        return Err(Refusal::invalid("actions", "given", allowed));
    }
    match kind {
        Kind::Arms => Ok((Vec::new(), Vec::new())),
        Kind::Context(d) => {
            let allowed = || format!("every decision of this experiment brings {d} numbers");
            let context =
                context.ok_or_else(|| Refusal::invalid("context", "absent", allowed()))?;
            if context.len() != d {
                let value = format!("{} numbers", context.len());
                return Err(Refusal::invalid("context", value, allowed()));
            }
            check_sizes("context", &context)?;
            Ok((context, Vec::new()))
        }
        Kind::Candidates(d) => {
            let allowed =
                format!("every decision of this experiment brings actions of {d} features");
            let actions = actions.ok_or_else(|| Refusal::invalid("actions", "absent", allowed))?;
            if actions.is_empty() || actions.len() > MOST_ACTIONS {
                let value = format!("{} actions", actions.len());
                let allowed = format!("must be 1 to {MOST_ACTIONS}");
                return Err(Refusal::invalid("actions", value, allowed));
            }
            let candidates: Vec<Candidate> = actions.into_iter().map(Candidate::from).collect();
            for (i, candidate) in candidates.iter().enumerate() {
                let x = &candidate.features;
                if x.len() != d {
                    let value = format!("{} features", x.len());
                    let allowed = format!("this experiment's actions have {d}");
                    return Err(Refusal::invalid(format!("actions[{i}]"), value, allowed));
                }
                check_sizes(&format!("actions[{i}]"), x)?;
            }
            check_names(&candidates)?;
            Ok((Vec::new(), candidates))
        }
    }
}

/// Facts of candidates must tell them apart: from each other, from indices and from the safe action.
fn check_names(candidates: &[Candidate]) -> Result<(), Refusal> {
    let mut taken = std::collections::HashSet::new();
    for (i, candidate) in candidates.iter().enumerate() {
        let Some(name) = &candidate.name else {
            continue;
        };
        let field = format!("actions[{i}].name");
        check_length(&field, name, 200)?;
        let reserved = name.trim().is_empty() || name == "safe" || name.parse::<u32>().is_ok();
        if reserved || !taken.insert(name) {
            let allowed = "needs a name of its own, which is not `safe` and not a number";
            return Err(Refusal::invalid(field, format!("{name:?}"), allowed));
        }
    }
    Ok(())
}

/// The number of the action that the caller takes, in shadow mode.
pub(super) fn taken(
    experiment: &Experiment,
    shadow: bool,
    candidates: &[Candidate],
    taken: Option<&str>,
) -> Result<Option<u32>, Refusal> {
    let Some(taken) = taken else {
        return Ok(None);
    };
    if !shadow {
        let allowed = "only in shadow mode do callers act by themselves";
        return Err(Refusal::invalid("taken", taken, allowed));
    }
    let count = match candidates.len() {
        0 => experiment.facts.arms.len(),
        n => n + 1,
    };
    let names = candidate_names(candidates);
    let mut all = 0..count as u32;
    let found = all.find(|&action| action_name(&experiment.facts, &names, action) == taken);
    match found {
        Some(action) => Ok(Some(action)),
        None => Err(Refusal::invalid(
            "taken",
            format!("{taken:?}"),
            "must be the name of an action that could be taken",
        )),
    }
}

fn check_propensity(
    shadow: bool,
    taken: Option<u32>,
    propensity: Option<f64>,
) -> Result<(), Refusal> {
    let Some(p) = propensity else {
        return Ok(());
    };
    if !shadow || taken.is_none() {
        let allowed = "it is the caller's probability of `taken`, in shadow mode";
        return Err(Refusal::invalid("propensity", p, allowed));
    }
    match p > 0.0 && p <= 1.0 {
        true => Ok(()),
        false => Err(Refusal::invalid(
            "propensity",
            p,
            "must be above 0 and at most 1",
        )),
    }
}

fn check_sizes(field: &str, numbers: &[f64]) -> Result<(), Refusal> {
    // Written so that NaN fails.
    match numbers.iter().position(|x| !(x.abs() <= LARGEST_FEATURE)) {
        None => Ok(()),
        Some(i) => {
            let allowed = format!("must lie within ±{LARGEST_FEATURE:e}");
            Err(Refusal::invalid(
                format!("{field}[{i}]"),
                numbers[i],
                allowed,
            ))
        }
    }
}

fn check_id(id: &str) -> Result<(), Refusal> {
    let count = id.chars().count();
    let fits =
        (1..=128).contains(&count) && !id.starts_with('@') && !id.chars().any(char::is_control);
    match fits {
        true => Ok(()),
        false => {
            let shown: String = id.chars().take(40).collect();
            let allowed =
                "must be 1 to 128 characters, none of them a control character, the first not `@`";
            Err(Refusal::invalid("id", format!("{shown:?}"), allowed))
        }
    }
}

fn candidate_names(candidates: &[Candidate]) -> Vec<Option<String>> {
    candidates.iter().map(|c| c.name.clone()).collect()
}

/// Digest of everything in a request but its id.
fn digest(request: &DecisionRequest) -> u64 {
    let plain = request.context.is_none()
        && request.actions.is_none()
        && request.taken.is_none()
        && request.propensity.is_none();
    if plain {
        return 0;
    }
    let anonymous = serde_json::to_vec(&DecisionRequest {
        id: None,
        ..request.clone()
    });
    crate::event::digest(&anonymous.unwrap_or_default())
}
