//! Decides: draws an action from the policy as known now.

use std::sync::Arc;
use std::time::Instant;

use rand::RngExt;

use super::decision_request::{
    check_id, check_propensity, take_actions, take_segment, taken_action,
};
use super::transaction::DecisionRecord;
use super::{Command, DecisionRequest, Reply, Transaction};
use crate::events::{Candidate, DecisionEvent, Event, PublishedPolicy, candidate_names, shown_id};
use crate::refusal::Refusal;
use crate::state::{Core, ExperimentInfo, ExperimentStatus, Kind, PolicyInputs};
use crate::store::Key;
use crate::time::Timestamp;

/// Asks for a decision. The same request with the same id gets the same answer.
pub struct Decide {
    pub experiment: Arc<str>,
    request: DecisionRequest,
    prepared: Option<Prepared>,
}

/// Decision as computed beside the writer.
struct Prepared {
    digest: u64,
    /// Experiment as it was then.
    inputs: Arc<PolicyInputs>,
    computed: Result<Computed, Refusal>,
}

/// The actions of a request, and the policy over them.
struct Computed {
    segment: Option<Arc<str>>,
    /// As events keep it.
    context: Vec<f64>,
    candidates: Vec<Candidate>,
    published: Arc<PublishedPolicy>,
    /// Time that it took.
    seconds: f64,
}

/// Multiplications from which on others should not wait for a decision.
const SLOW: usize = 1_000_000;

impl Decide {
    pub fn new(experiment: Arc<str>, request: DecisionRequest) -> Self {
        Self {
            experiment,
            request,
            prepared: None,
        }
    }

    /// Computes the policy with a learner beside the writer.
    pub(crate) fn prepared(mut self, core: &mut Core) -> Self {
        // The writer computes it again, and tells the caller of the error.
        let Ok(digest) = self.request.digest() else {
            return self;
        };
        let inputs = core.inputs().clone();
        let computed = compute(
            &mut self.request,
            &inputs.info,
            |segment, context, candidates| core.policy(None, segment, context, candidates),
        );
        self.prepared = Some(Prepared {
            digest,
            inputs,
            computed,
        });
        self
    }
}

fn compute(
    request: &mut DecisionRequest,
    info: &ExperimentInfo,
    policy: impl FnOnce(Option<&str>, &[f64], &[Candidate]) -> Result<Arc<PublishedPolicy>, Refusal>,
) -> Result<Computed, Refusal> {
    let begun = Instant::now();
    let segment = take_segment(info, request)?;
    let (context, candidates) = take_actions(info, request)?;
    let published = policy(segment.as_deref(), &context, &candidates)?;
    Ok(Computed {
        segment,
        context,
        candidates,
        published,
        seconds: begun.elapsed().as_secs_f64(),
    })
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
    pub info: Arc<ExperimentInfo>,
    /// Time that the computation took; 0 where a decision is repeated.
    pub seconds: f64,
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
            prepared,
        } = self;
        let experiment = transaction.state.experiment(&name)?;
        let (key, info) = (experiment.key, experiment.info.clone());
        let digest = match &prepared {
            Some(prepared) => prepared.digest,
            None => request.digest()?,
        };
        let id = request.id.take();
        if let Some(id) = &id {
            check_id(id)?;
            if let Some(record) = transaction.decision(key, &Key::Id(id.clone())) {
                transaction.check_owner(&record)?;
                return transaction.repeat(record, digest, info).map(Reply::Ready);
            }
        }
        let time = transaction.drift_time(key);
        let experiment = transaction.state.experiment(&name)?;
        if experiment.status == ExperimentStatus::Archived {
            return Err(Refusal::conflict(format!(
                "the experiment `{name}` is archived and decides no more"
            )));
        }
        let Computed {
            segment,
            context,
            candidates,
            published,
            seconds,
        } = match prepared {
            None => compute(&mut request, &info, |segment, context, candidates| {
                experiment.policy(time, segment, context, candidates)
            })?,
            // It holds as long as the experiment is the same, and means cannot have moved beyond its bounds; outcomes in
            // between do not void it.
            Some(Prepared {
                inputs,
                computed: Ok(computed),
                ..
            }) if Arc::ptr_eq(&inputs, &experiment.inputs) && computed.published.holds_at(time) => {
                computed
            }
            Some(prepared) => {
                let computed = prepared.computed?;
                let published = experiment.policy(
                    time,
                    computed.segment.as_deref(),
                    &computed.context,
                    &computed.candidates,
                )?;
                Computed {
                    published,
                    ..computed
                }
            }
        };
        let shadow = experiment.checked.declaration.shadow;
        let taken = taken_action(experiment, shadow, &candidates, request.taken.as_deref())?;
        check_propensity(shadow, taken, request.propensity)?;
        // Elsewhere every decision has a policy of its own.
        let is_shared = experiment.checked.kind == Kind::Arms && segment.is_none();
        let dimension = experiment.info.dimension;
        let is_slow = candidates.len() * dimension * dimension >= SLOW
            || (segment.is_some() && experiment.has_many_segments());
        // In shadow mode it is the caller who spends.
        let published = if shadow {
            published
        } else {
            transaction.within_budgets(key, published)?
        };
        let experiment = transaction.state.experiment(&name)?;
        let draw: f64 = transaction.rng.random();
        let (action, probability) = published.draw(draw);
        let features = (experiment.inputs).numbers(action, &context, &candidates);
        if is_slow {
            transaction
                .state
                .detach(key)
                .map_err(Refusal::unavailable)?;
        }
        let policy = is_shared.then(|| transaction.cite(key, &published));
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
            segment,
            time,
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
            info,
            seconds,
        }))
    }
}

impl Transaction<'_> {
    /// Number of a policy's event, which is written with the first decision that is drawn from it.
    fn cite(&mut self, experiment: u64, published: &Arc<PublishedPolicy>) -> u64 {
        if let Some(own) = self.state.by_key(experiment) {
            match &own.current {
                Some((number, current)) if Arc::ptr_eq(current, published) => {
                    if let Some(number) = number {
                        return *number;
                    }
                }
                _ => own.current = Some((None, published.clone())),
            }
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
        info: Arc<ExperimentInfo>,
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
            info,
            seconds: 0.0,
        })
    }
}
