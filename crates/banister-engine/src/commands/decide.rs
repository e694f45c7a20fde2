//! Decides: draws an action from the policy as known now.

use std::sync::Arc;

use rand::RngExt;

use super::decision_request::{check_id, check_propensity, take_actions, taken_action};
use super::transaction::DecisionRecord;
use super::{Command, DecisionRequest, Reply, Transaction};
use crate::events::{DecisionEvent, Event, PublishedPolicy, candidate_names, shown_id};
use crate::refusal::Refusal;
use crate::state::{ExperimentStatus, Facts, Kind};
use crate::store::Key;
use crate::time::Timestamp;

/// Asks for a decision. The same request with the same id gets the same answer.
#[derive(Debug)]
pub struct Decide {
    pub experiment: Arc<str>,
    pub request: DecisionRequest,
}

/// Decision with the policy it was drawn from.
#[derive(Debug, Clone)]
pub struct Decided {
    /// Number of its event.
    pub number: u64,
    pub id: Option<String>,
    pub time: Timestamp,
    pub action: u32,
    pub probability: f64,
    /// True if it was made in shadow mode.
    pub shadow: bool,
    /// Names of the candidates; empty for arms.
    pub candidates: Vec<Option<String>>,
    /// Policy it was drawn from.
    pub published: Arc<PublishedPolicy>,
    pub facts: Arc<Facts>,
}

impl Decided {
    /// Name of the decision in answers.
    pub fn shown_id(&self) -> String {
        shown_id(self.id.as_deref(), self.number)
    }
}

impl Command for Decide {
    type Answer = Decided;
    const SHARES_COMMIT: bool = true;

    fn prepare(&self, transaction: &mut Transaction) {
        if let Some(id) = &self.request.id {
            transaction.want(&self.experiment, id);
        }
    }

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<Decided>, Refusal> {
        let Self {
            experiment: name,
            mut request,
        } = self;
        let experiment = transaction.state.experiment(&name)?;
        let (key, facts) = (experiment.key, experiment.facts.clone());
        let digest = request.digest();
        let id = request.id.take();
        if let Some(id) = &id {
            check_id(id)?;
            if let Some(record) = transaction.decision(key, &Key::Id(id.clone())) {
                return transaction.repeat(record, digest, facts).map(Reply::Ready);
            }
        }
        let experiment = transaction.state.experiment(&name)?;
        if experiment.status == ExperimentStatus::Archived {
            return Err(Refusal::conflict(format!(
                "the experiment `{name}` is archived and decides no more"
            )));
        }
        let (context, candidates) = take_actions(experiment, &mut request)?;
        let shadow = experiment.checked.declaration.shadow;
        let taken = taken_action(experiment, shadow, &candidates, request.taken.as_deref())?;
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
        let draw: f64 = transaction.rng.random();
        let (action, probability) = published.draw(draw);
        let features = experiment.features(action, &context, &candidates);
        let policy = cited.map(|number| transaction.cite(key, number, &published));
        let names = candidate_names(&candidates);
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
        let number = transaction.write_decision(key, id.as_ref(), event);
        Ok(Reply::Ready(Decided {
            number,
            id,
            time: transaction.time,
            action,
            probability,
            shadow,
            candidates: names,
            published,
            facts,
        }))
    }
}

impl Transaction<'_> {
    /// Number of a policy's event, which is written with the first decision that is drawn from it.
    fn cite(
        &mut self,
        experiment: u64,
        number: Option<u64>,
        published: &Arc<PublishedPolicy>,
    ) -> u64 {
        if let Some(number) = number {
            return number;
        }
        if let Some((number, own)) = self.policies.get(&experiment)
            && Arc::ptr_eq(own, published)
        {
            return *number;
        }
        let number = self.write(experiment, Event::Policy(published.clone()));
        self.policies
            .insert(experiment, (number, published.clone()));
        number
    }

    /// Repeats the answer that a decision got before.
    fn repeat(
        &mut self,
        record: DecisionRecord,
        digest: u64,
        facts: Arc<Facts>,
    ) -> Result<Decided, Refusal> {
        if record.event.request != digest {
            return Err(Refusal::conflict(format!(
                "the id `{}` belongs to another request: a repeated request must be the same",
                record.id.unwrap_or_default()
            )));
        }
        let record = self.whole(record)?;
        let event = record.event;
        Ok(Decided {
            number: record.number,
            id: record.id,
            time: record.time,
            action: event.action,
            probability: event.probability,
            shadow: event.shadow,
            candidates: candidate_names(&event.candidates),
            published: self.policy_of(&event)?,
            facts,
        })
    }
}
