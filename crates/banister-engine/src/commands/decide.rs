//! Decides: draws an action from the policy as known now.

use std::sync::Arc;

use banister::Fallback;
use rand::RngExt;

use super::decision_request::{
    check_id, check_propensity, take_actions, take_segment, take_unit, taken_action,
};
use super::lease::check_not_leased;
use super::{Command, DecisionRequest, Reply, Transaction};
use crate::events::{
    DecisionEvent, Event, OutcomeSoFar, PublishedPolicy, candidate_names, shown_id,
};
use crate::refusal::Refusal;
use crate::state::{DecisionRecord, ExperimentInfo, Kind, Returns, Unit};
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
        if let Some(unit) = &self.request.unit {
            transaction.want_unit(&self.experiment, unit);
        }
    }

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<Decided>, Refusal> {
        let Self {
            experiment: name,
            mut request,
        } = self;
        let experiment = transaction.state.experiment(&name)?;
        let (key, info) = (experiment.key, experiment.info.clone());
        let digest = request.digest()?;
        let unit = take_unit(&info, &mut request)?;
        let standing = match (&info.unit, &unit) {
            (Some(own), Some(unit)) => transaction.standing(key, own, unit),
            _ => None,
        };
        standing
            .iter()
            .try_for_each(|own| transaction.check_owner(own))?;
        let mut id = request.id.take();
        let mut returns = standing.as_ref().is_some_and(|own| own.event.returns);
        if let (Some(own), Some(unit)) = (&info.unit, &unit) {
            let (next, is_back) = transaction.next_id(key, own, unit);
            id = Some(next);
            returns |= standing.is_none() && is_back && own.returns == Returns::Dependent;
        } else if let Some(id) = &id {
            check_id("id", id)?;
            check_not_leased(id)?;
            if let Some(record) = transaction.decision(key, &Key::Id(id.clone())) {
                transaction.check_owner(&record)?;
                return transaction.repeat(record, digest, info).map(Reply::Ready);
            }
        }
        let time = transaction.drift_time(key);
        let experiment = transaction.state.experiment(&name)?;
        experiment.check_active("decides no more")?;
        let segment = take_segment(&info, &mut request)?;
        let (context, candidates) = take_actions(&info, &mut request)?;
        let published = experiment.policy(time, segment.as_deref(), &context, &candidates)?;
        if let Some(unit) = unit.as_ref().filter(|unit| info.is_outside(unit)) {
            // Nothing is kept of it.
            let problem = &experiment.checked.standard;
            let published = published.mixed(0.0, problem, &[], Some(Fallback::Outside));
            return Ok(Reply::Ready(Decided {
                number: 0,
                id: Some(unit.clone()),
                time: transaction.time,
                action: published.safe,
                probability: 1.0,
                shadow: false,
                candidates: Vec::new(),
                published: Arc::new(published),
                info,
            }));
        }
        let shadow = experiment.checked.declaration.shadow;
        let taken = taken_action(experiment, shadow, &candidates, request.taken.as_deref())?;
        check_propensity(shadow, taken, request.propensity)?;
        // Elsewhere every decision has a policy of its own.
        let is_shared = experiment.checked.kind == Kind::Arms && segment.is_none();
        let published = experiment.in_time(transaction.time, published);
        // In shadow mode it is the caller who spends.
        let published = if shadow {
            published
        } else {
            transaction.within_budgets(key, published)?
        };
        let mut draw: f64 = match (&info.unit, &id, &unit) {
            (Some(own), Some(id), Some(unit)) => info.draw(own.key(), ["", id], unit, &published),
            _ => transaction.rng.random(),
        };
        let (mut action, mut probability) = published.draw(draw);
        if let (Some(record), Some(own)) = (&standing, &info.unit) {
            let Some(other) = transaction.moved(key, record, own, &published)? else {
                let (_, event) = record.in_force();
                return Ok(Reply::Ready(transaction.answer(record, &event, info)?));
            };
            (draw, action) = other;
            probability = published.probability(action);
        }
        let features = info.numbers(action, &context, &candidates);
        let policy = is_shared.then(|| transaction.cite(key, &published));
        let names = candidate_names(&candidates);
        let (claims, excess) = published.claimed(action, shadow);
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
            claims,
            excess,
            returns,
        });
        if let Some(record) = &standing {
            let answer = transaction.move_unit(record, event, info)?;
            return Ok(Reply::Ready(answer));
        }
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
        }))
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
    /// The arm that a unit is moved to, and the number that draws it; `None` if it keeps its own. It does, unless the
    /// safe action is forced, its arm is retired, or prices have changed since: then it keeps it with probability
    /// min(1, π(a)/π_before(a)) and else is drawn from what π has more than before, which moves the fewest.
    fn moved(
        &mut self,
        experiment: u64,
        record: &DecisionRecord,
        own: &Unit,
        published: &Arc<PublishedPolicy>,
    ) -> Result<Option<(f64, u32)>, Refusal> {
        let (number, mut event) = record.in_force();
        let is_stale = self.state.by_key(experiment).is_some_and(|experiment| {
            let arm = experiment.arms.get(event.action as usize);
            !arm.is_none_or(|arm| arm.offered) || number < experiment.repriced
        });
        if !is_stale && (published.fallback.is_none() || event.action == published.safe) {
            return Ok(None);
        }
        if !event.is_whole() {
            event = self.whole(record.clone())?.event;
        }
        let (before, action) = (self.policy_of(&event)?, event.action);
        let id = record.id.as_deref().unwrap_or_default();
        let uniform = own.uniform(id, number);
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
        let answer = self.answer(record, &event, info.clone())?;
        let decision = event.clone();
        let is_first = record.outcome.moved.is_none();
        let from = is_first.then_some(record.event.action);
        let number = self.next_number();
        self.write_report(info.key, record.number, Event::Moved { from, decision });
        let settled = OutcomeSoFar {
            complete: Some(true),
            moved: Some((number, event)),
            ..OutcomeSoFar::default()
        };
        self.reported.insert(record.number, settled);
        Ok(answer)
    }

    /// The policy that a decision was drawn from; most were drawn from the one in force.
    fn published(
        &mut self,
        event: &DecisionEvent,
        experiment: u64,
    ) -> Result<Arc<PublishedPolicy>, Refusal> {
        let experiment = self.state.by_key(experiment);
        match experiment.and_then(|own| own.trace.latest.as_ref()) {
            Some(latest) if event.policy == Some(latest.number) => Ok(latest.published.clone()),
            _ => self.policy_of(event),
        }
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
        Ok(Decided {
            number: record.number,
            id: record.id.clone(),
            time: record.time,
            action: whole.action,
            probability: whole.probability,
            shadow: whole.shadow,
            candidates: candidate_names(&whole.candidates),
            published: self.published(&whole, info.key)?,
            info,
        })
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
        let event = record.event.clone();
        self.answer(&record, &event, info)
    }
}
