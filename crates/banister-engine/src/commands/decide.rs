//! Decides: draws an action from the policy as known now.

use std::sync::Arc;

use banister::Fallback;
use rand::RngExt;
use schemars::JsonSchema;
use serde::Serialize;

use super::decision_request::{check_id, take_unit};
use super::lease::check_not_leased;
use super::{Command, DecisionRequest, Reply, Transaction};
use crate::events::{DecisionEvent, Event, PublishedPolicy, candidate_names, shown_id};
use crate::refusal::Refusal;
use crate::state::{CertifiedPolicy, DecisionRecord, ExperimentInfo, Kind, NamedPolicy, Returns};
use crate::store::Key;
use crate::time::Timestamp;

/// Asks for a decision. The same request with the same id gets the same answer.
pub struct Decide {
    experiment: Arc<str>,
    request: DecisionRequest,
}

impl Decide {
    pub fn new(experiment: Arc<str>, request: DecisionRequest) -> Self {
        Self {
            experiment,
            request,
        }
    }
}

/// A decision.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Decision")]
pub struct Decided {
    /// The caller's id, or `@` and the number.
    pub id: String,
    /// The experiment.
    pub experiment: String,
    /// The number of its event.
    pub number: u64,
    /// Time.
    pub time: Timestamp,
    /// The action drawn.
    pub action: String,
    /// Its number.
    pub index: u32,
    /// True for the safe one.
    pub safe: bool,
    /// Its probability.
    pub probability: f64,
    /// True in shadow mode: the caller's own action is what happens.
    pub shadow: bool,
    /// The policy it was drawn from.
    #[serde(flatten)]
    #[schemars(with = "CertifiedPolicy")]
    pub published: NamedPolicy,
}

impl Decided {
    /// The answer to who asked for a decision, or asks again; its number, id and time are those that it was made with.
    pub fn new(
        (number, id, time): (u64, Option<&str>, Timestamp),
        event: &DecisionEvent,
        published: Arc<PublishedPolicy>,
        info: Arc<ExperimentInfo>,
    ) -> Self {
        let candidates = candidate_names(&event.candidates);
        Self {
            id: shown_id(id, number),
            experiment: info.experiment.clone(),
            number,
            time,
            action: info.action_name(&candidates, event.action),
            index: event.action,
            safe: event.action == published.safe,
            probability: event.probability,
            shadow: event.shadow,
            published: NamedPolicy {
                own: published,
                info,
                candidates,
            },
        }
    }
}

/// Subject of a decision: anybody, by an id or not, or a unit.
#[derive(Default)]
struct Subject {
    id: Option<String>,
    unit: Option<String>,
    /// The decision that the unit has now.
    standing: Option<DecisionRecord>,
    /// True if the unit was learned, or will be, from an earlier period.
    returns: bool,
}

impl Command for Decide {
    type Answer = Decided;
    const SHARES_COMMIT: bool = true;

    fn prepare(&self, transaction: &mut Transaction) {
        if let Some(id) = &self.request.id {
            transaction.want(&self.experiment, id);
        }
        if let Some(unit) = &self.request.unit {
            transaction.want_unit(&self.experiment, unit);
        }
    }

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<Decided>, Refusal> {
        let Self {
            experiment,
            mut request,
        } = self;
        let info = transaction.state.experiment(&experiment)?.info.clone();
        let digest = request.digest()?;
        let unit = take_unit(&info, &mut request)?;
        let id = request.id.take();
        if let Some(record) = transaction.made_before(&info, id.as_deref(), digest)? {
            let answer = transaction.answer(&record, &record.event, info)?;
            return Ok(Reply::Ready(answer));
        }
        let subject = transaction.subject(&info, id, unit)?;
        let experiment = transaction.experiment(info.key)?;
        experiment.check_active("decides no more")?;
        let mut event = request.event(experiment, digest)?;
        event.returns = subject.returns;
        event.time = transaction.drift_time(info.key);
        let published = transaction.policy_for(&info, &subject, &event)?;
        if published.fallback == Some(Fallback::Outside) {
            // Nothing is kept of it.
            let (safe, time) = (
                event.drawn(&published, 0.0, published.safe),
                transaction.time,
            );
            let answer = Decided::new((0, subject.unit.as_deref(), time), &safe, published, info);
            return Ok(Reply::Ready(answer));
        }
        let (draw, action) = match &subject.standing {
            None => {
                let draw = transaction.uniform(&info, &subject, &published);
                (draw, published.draw(draw).0)
            }
            Some(record) => match transaction.moved(&info, record, &published)? {
                Some(other) => other,
                None => {
                    let (_, event) = record.in_force();
                    let answer = transaction.answer(record, &event, info)?;
                    return Ok(Reply::Ready(answer));
                }
            },
        };
        event.features = info.numbers(action, &event.context, &event.candidates);
        let mut event = event.drawn(&published, draw, action);
        if info.kind == Kind::Arms && event.segment.is_none() {
            event.policy = Some(transaction.cite(info.key, &published));
        } else {
            // Every decision has a policy of its own.
            event.own = Some(published.clone());
        }
        let event = Arc::new(event);
        if let Some(record) = &subject.standing {
            let answer = transaction.move_unit(record, event, info)?;
            return Ok(Reply::Ready(answer));
        }
        let number = transaction.write_decision(info.key, subject.id.as_ref(), event.clone());
        let made = (number, subject.id.as_deref(), transaction.time);
        Ok(Reply::Ready(Decided::new(made, &event, published, info)))
    }
}

impl DecisionRecord {
    /// The decision that a unit has now, and the number of its event.
    pub(super) fn in_force(&self) -> (u64, Arc<DecisionEvent>) {
        match &self.outcome.moved {
            Some((number, event)) => (*number, event.clone()),
            None => (self.number, self.event.clone()),
        }
    }
}

impl Transaction<'_> {
    /// The decision that was made before under an id; another request with the same id is refused.
    fn made_before(
        &mut self,
        info: &ExperimentInfo,
        id: Option<&str>,
        digest: u64,
    ) -> Result<Option<DecisionRecord>, Refusal> {
        let Some(id) = id else {
            return Ok(None);
        };
        check_id("id", id)?;
        check_not_leased(id)?;
        let Some(record) = self.decision(info.key, &Key::Id(id.into())) else {
            return Ok(None);
        };
        self.check_owner(&record)?;
        if record.event.request != digest {
            return Err(Refusal::conflict(format!(
                "the id `{id}` belongs to another request: a repeated request must be the same"
            )));
        }
        Ok(Some(record))
    }

    fn subject(
        &mut self,
        info: &ExperimentInfo,
        id: Option<String>,
        unit: Option<String>,
    ) -> Result<Subject, Refusal> {
        let (Some(own), Some(unit)) = (&info.unit, unit) else {
            return Ok(Subject {
                id,
                ..Subject::default()
            });
        };
        let standing = self.standing(info.key, own, &unit);
        (standing.iter()).try_for_each(|record| self.check_owner(record))?;
        let (id, is_back) = self.next_id(info.key, own, &unit);
        let returns = match &standing {
            Some(record) => record.event.returns,
            None => is_back && own.returns == Returns::Dependent,
        };
        Ok(Subject {
            id: Some(id),
            unit: Some(unit),
            standing,
            returns,
        })
    }

    /// The policy for a decision: the agent's, unless the experiment does not decide for the unit or at the time, or its
    /// money is spent.
    fn policy_for(
        &mut self,
        info: &ExperimentInfo,
        subject: &Subject,
        event: &DecisionEvent,
    ) -> Result<Arc<PublishedPolicy>, Refusal> {
        let now = self.time;
        let experiment = self.experiment(info.key)?;
        let segment = event.segment.as_deref();
        let published =
            experiment.policy(event.time, segment, &event.context, &event.candidates)?;
        if (subject.unit.iter()).any(|unit| info.is_outside(unit)) {
            let fallback = Some(Fallback::Outside);
            let safe = published.mixed(0.0, &experiment.checked.standard, &[], fallback);
            return Ok(Arc::new(safe));
        }
        let published = experiment.in_time(now, published);
        if event.shadow {
            // It is the caller who spends.
            return Ok(published);
        }
        self.within_budgets(info.key, published)
    }

    /// The number that draws an action: of a unit a hash, so that it is the same wherever it is drawn.
    fn uniform(
        &mut self,
        info: &ExperimentInfo,
        subject: &Subject,
        published: &PublishedPolicy,
    ) -> f64 {
        match (&info.unit, &subject.id, &subject.unit) {
            (Some(own), Some(id), Some(unit)) => info.draw(own.key(), ["", id], unit, published),
            _ => self.rng.random(),
        }
    }

    /// The arm that a unit is moved to, and the number that draws it; `None` if it keeps its own. It does, unless the
    /// safe action is forced, its arm is retired, or prices have changed since: then it keeps it with probability
    /// min(1, π(a)/π_before(a)) and else is drawn from what π has more than before, which moves the fewest.
    fn moved(
        &mut self,
        info: &ExperimentInfo,
        record: &DecisionRecord,
        published: &PublishedPolicy,
    ) -> Result<Option<(f64, u32)>, Refusal> {
        let (number, mut event) = record.in_force();
        let experiment = self.experiment(info.key)?;
        let arm = experiment.arms.get(event.action as usize);
        let is_stale = arm.is_some_and(|arm| !arm.offered) || number < experiment.repriced;
        if !is_stale && (published.fallback.is_none() || event.action == published.safe) {
            return Ok(None);
        }
        if !event.is_whole() {
            event = self.whole(record.clone())?.event;
        }
        let (before, action) = (self.policy_of(info.key, &event)?, event.action);
        let id = record.id.as_deref().unwrap_or_default();
        let uniform = (info.unit.as_ref()).map_or(0.0, |own| own.uniform(id, number));
        let share = published.probability(action) / before.probability(action);
        if uniform < share {
            return Ok(None);
        }
        let more =
            |&(arm, p): &(usize, f64)| (arm as u32, (p - before.probability(arm as u32)).max(0.0));
        let total: f64 = published.policy.iter().map(|entry| more(entry).1).sum();
        // Uniform again, given that it was not below.
        let mut rest = (uniform - share) / (1.0 - share) * total;
        let mut drawn = published.safe;
        for (arm, mass) in published.policy.iter().map(more) {
            if mass > 0.0 {
                drawn = arm;
                if rest < mass {
                    break;
                }
                rest -= mass;
            }
        }
        Ok(Some((uniform, drawn)))
    }

    /// Gives a unit another arm for the rest of its period.
    pub(super) fn move_unit(
        &mut self,
        record: &DecisionRecord,
        event: Arc<DecisionEvent>,
        info: Arc<ExperimentInfo>,
    ) -> Result<Decided, Refusal> {
        let (answer, decision) = (self.answer(record, &event, info)?, event);
        let is_first = record.outcome.moved.is_none();
        let from = is_first.then_some(record.event.action);
        self.write_report(record, Event::Moved { from, decision });
        Ok(answer)
    }

    /// The answer to a request whose decision was made before, or moved.
    fn answer(
        &mut self,
        record: &DecisionRecord,
        event: &Arc<DecisionEvent>,
        info: Arc<ExperimentInfo>,
    ) -> Result<Decided, Refusal> {
        let whole = if event.is_whole() {
            event.clone()
        } else {
            self.whole(record.clone())?.event
        };
        let published = self.policy_of(info.key, &whole)?;
        let made = (record.number, record.id.as_deref(), record.time);
        Ok(Decided::new(made, &whole, published, info))
    }

    /// Number of a policy's event, which is written with the first decision that is drawn from it.
    fn cite(&mut self, experiment: u64, published: &Arc<PublishedPolicy>) -> u64 {
        let known = self.state.by_key(experiment);
        if let Some(latest) = known.and_then(|own| own.trace.latest.as_ref())
            && Arc::ptr_eq(&latest.published, published)
        {
            return latest.number;
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
}
