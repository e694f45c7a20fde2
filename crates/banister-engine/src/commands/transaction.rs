//! Transaction of one commit: the state as folded, the events so far, and what commands before have done.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rand_chacha::ChaCha12Rng;

use crate::events::{
    Author, DecisionEvent, Event, LeaseEvent, OutcomeSoFar, PublishedPolicy, Record,
    replay_reports, shown_id, to_json,
};
use crate::refusal::Refusal;
use crate::state::{
    Budgets, DecisionRecord, Edit, EngineState, Experiment, ExperimentStatus, OpenDecisions, Unit,
    reserve, worst_case,
};
use crate::store::{Found, Key, Store, StoreError};
use crate::time::{ClockSets, Timestamp};

/// Decisions that are looked up at once, so that memory holds few that were reported on often.
const MOST_FOUND: usize = 128;

/// Commands of one commit see each other's decisions and reports through it.
pub struct Transaction<'a> {
    pub(super) state: &'a mut EngineState,
    pub(super) store: &'a mut dyn Store,
    pub(super) rng: &'a mut ChaCha12Rng,
    pub(super) time: Timestamp,
    /// Times that the clock was set, by this commit too.
    clock_sets: ClockSets,
    /// Author of the command that is executed now.
    pub(crate) author: Author,
    records: Vec<Record>,
    events: Vec<(Author, Event)>,
    /// Decisions to look up, each once, and the job that wants it first.
    wanted: BTreeMap<(u64, Key), usize>,
    /// Place of the job that is prepared now.
    pub(crate) job: usize,
    /// Decisions looked up, light.
    found: HashMap<(u64, Key), DecisionRecord>,
    /// Policies that this commit publishes, by experiment.
    pub(super) policies: HashMap<u64, (u64, Arc<PublishedPolicy>)>,
    /// Decisions of this commit.
    made: OpenDecisions,
    /// Outcomes as this commit has changed them, by decision.
    reported: HashMap<u64, OutcomeSoFar>,
    /// Number of outcomes that this commit completes, by experiment.
    pub(super) outcomes: HashMap<u64, u64>,
    /// Number of decisions that it makes, by experiment.
    decided: HashMap<u64, u64>,
    /// Budgets as they are after this commit's events, by experiment.
    budgets: HashMap<u64, Budgets>,
    /// Number of decisions that it makes under leases, by experiment and lease.
    pub(super) exposed: HashMap<(u64, u64), u64>,
    /// The lease that was looked up last.
    lease: Option<(u64, Arc<LeaseEvent>)>,
}

/// Records, and the author and event of each.
type Written = (Vec<Record>, Vec<(Author, Event)>);

impl<'a> Transaction<'a> {
    pub(crate) fn new(
        state: &'a mut EngineState,
        store: &'a mut dyn Store,
        rng: &'a mut ChaCha12Rng,
        time: Timestamp,
    ) -> Self {
        Self {
            time,
            author: Author::engine(),
            clock_sets: state.clock_sets().clone(),
            state,
            store,
            rng,
            records: Vec::new(),
            events: Vec::new(),
            wanted: BTreeMap::new(),
            job: 0,
            found: HashMap::new(),
            policies: HashMap::new(),
            made: OpenDecisions::keeping(usize::MAX),
            reported: HashMap::new(),
            outcomes: HashMap::new(),
            decided: HashMap::new(),
            budgets: HashMap::new(),
            exposed: HashMap::new(),
            lease: None,
        }
    }

    /// Notes a decision to look up, unless it is in memory or its experiment is unknown.
    pub(super) fn want(&mut self, experiment: &str, id: &str) {
        let Ok(experiment) = self.state.experiment(experiment) else {
            return;
        };
        let experiment = experiment.key;
        let key = Key::parse(id);
        let in_memory = match &key {
            Key::Number(number) => self.state.open.get(*number).is_some(),
            Key::Id(id) => self.state.open.number(experiment, id).is_some(),
        };
        if !in_memory {
            self.wanted.entry((experiment, key)).or_insert(self.job);
        }
    }

    /// Notes the decisions that a unit may have now.
    pub(super) fn want_unit(&mut self, experiment: &str, unit: &str) {
        let Ok(own) = self.state.experiment(experiment) else {
            return;
        };
        let ids = own.info.unit.as_ref().map(|own| own.ids(unit, self.time));
        for id in ids.into_iter().flatten() {
            self.want(experiment, &id);
        }
    }

    /// The decision that a unit has now.
    pub(super) fn standing(
        &mut self,
        experiment: u64,
        own: &Unit,
        unit: &str,
    ) -> Option<DecisionRecord> {
        let ids = own.ids(unit, self.time);
        let current = ids.get(1).cloned();
        let each = ids.into_iter().map(Key::Id);
        let found = each.filter_map(|id| self.decision(experiment, &id));
        let found: Vec<DecisionRecord> = found.collect();
        found.into_iter().find(|record| {
            // Its stretch of time has one decision, also where the clock was set back.
            let lasts = |period: f64| !self.is_over(record, period);
            own.period.is_none_or(lasts) || record.id == current
        })
    }

    /// Id of a unit's next decision, and true if it was decided for before.
    pub(super) fn next_id(&mut self, experiment: u64, own: &Unit, unit: &str) -> (String, bool) {
        let mut ids = own.ids(unit, self.time);
        let first = Key::Id(ids[0].clone());
        let is_back = own.period.is_some() && self.decision(experiment, &first).is_some();
        (ids.swap_remove(usize::from(is_back)), is_back)
    }

    /// Looks up the decisions noted by [`Self::want`]; `read` gets their jobs, and the number of events read for each.
    pub(crate) fn look_up(&mut self, mut read: impl FnMut(usize, usize)) -> Result<(), Refusal> {
        let (keys, jobs): (Vec<_>, Vec<_>) = std::mem::take(&mut self.wanted).into_iter().unzip();
        let mut place = 0;
        while place < keys.len() {
            for found in self.find(&keys[place..])? {
                let (key, job) = (keys[place].clone(), jobs[place]);
                place += 1;
                read(job, 1 + found.as_ref().map_or(0, |own| own.reports.len()));
                let Some(mut record) = found.map(stored).transpose()?.flatten() else {
                    continue;
                };
                record.event = record.event.light();
                self.found.insert(key, record);
            }
        }
        Ok(())
    }

    /// The first of some decisions, at least one, as the log has them: reports may be many.
    pub(super) fn find(&mut self, keys: &[(u64, Key)]) -> Result<Vec<Option<Found>>, Refusal> {
        let keys = &keys[..keys.len().min(MOST_FOUND)];
        self.store.find(keys).map_err(Refusal::unavailable)
    }

    /// Encodes the events, in the log's order.
    pub(crate) fn into_events(mut self) -> Result<Written, StoreError> {
        for (record, (author, event)) in self.records.iter_mut().zip(&self.events) {
            record.write(author, event).map_err(StoreError::new)?;
        }
        // Units have many reports, and more to come. Kept only now: others make way for them.
        for record in self.found.into_values() {
            if !record.outcome.reports.is_empty() && record.outcome.complete.is_none() {
                self.state.open.keep(record);
            }
        }
        Ok((self.records, self.events))
    }

    /// Number that the next event will get.
    pub(crate) fn next_number(&self) -> u64 {
        self.state.number + 1 + self.records.len() as u64
    }

    /// Writes an event of an experiment, and returns its number.
    pub(super) fn write(&mut self, experiment: u64, event: Event) -> u64 {
        self.push(experiment, None, None, event)
    }

    /// Writes an edit of an experiment that was checked.
    pub(super) fn edit(&mut self, experiment: u64, edit: &Edit) -> Result<(), Refusal> {
        self.write(experiment, Event::Edited(to_json(edit)?));
        Ok(())
    }

    /// Writes an event on a decision, and returns the outcome since.
    pub(super) fn write_report(&mut self, record: &DecisionRecord, event: Event) -> &OutcomeSoFar {
        let number = self.next_number();
        let so_far = self.reported.entry(record.number);
        let so_far = so_far.or_insert_with(|| record.outcome.clone());
        so_far.take(number, &self.author, &event);
        self.push(record.experiment, Some(record.number), None, event);
        &self.reported[&record.number]
    }

    /// Writes a decision, and returns its number.
    pub(super) fn write_decision(
        &mut self,
        experiment: u64,
        id: Option<&String>,
        event: Arc<DecisionEvent>,
    ) -> u64 {
        *self.decided.entry(experiment).or_default() += 1;
        let decision = Event::Decision(event.clone());
        let number = self.push(experiment, None, id.cloned(), decision);
        if !event.shadow
            && let Some(budgets) = self.budgets.get_mut(&experiment)
            && let Some(own) = self.state.by_key(experiment)
        {
            let (problem, sets) = (&own.checked.standard, &self.clock_sets);
            reserve(budgets, problem, sets, self.time, number, &event);
        }
        // Ids and numbers are answered after this commit, but a caller who chose the id may report at once.
        let open = DecisionRecord {
            number,
            experiment,
            id: id.cloned(),
            time: self.time,
            author: self.author.clone(),
            event,
            outcome: OutcomeSoFar::default(),
        };
        self.made.keep(open);
        number
    }

    fn push(
        &mut self,
        experiment: u64,
        decision: Option<u64>,
        id: Option<String>,
        event: Event,
    ) -> u64 {
        let number = self.next_number();
        self.records.push(Record {
            number,
            time: self.time,
            experiment,
            kind: event.kind(),
            decision,
            id,
            body: Vec::new(),
        });
        self.events.push((self.author.clone(), event));
        number
    }

    /// Experiment by its key.
    pub(super) fn experiment(&mut self, key: u64) -> Result<&mut Experiment, Refusal> {
        let found = self.state.by_key(key);
        found.ok_or_else(|| Refusal::unknown("experiment", key.to_string()))
    }

    /// Experiment that is not archived.
    pub(super) fn active(&mut self, name: &str) -> Result<&mut Experiment, Refusal> {
        let experiment = self.state.experiment(name)?;
        experiment.check_active("cannot be changed any more")?;
        Ok(experiment)
    }

    /// Returns true if a decision's time to live is over.
    pub(super) fn is_over(&self, record: &DecisionRecord, ttl_seconds: f64) -> bool {
        let made = self.clock_sets.time_now(record.number, record.time);
        made <= self.time.minus_seconds(ttl_seconds)
    }

    /// Sets the log's clock to this transaction's time, from that of the last event.
    pub(crate) fn set_clock(&mut self) {
        let (from, to) = (self.state.time.0, self.time.0);
        let number = self.write(0, Event::ClockSet { from, to });
        self.clock_sets.push(number, from, to);
    }

    /// Refuses an author who may not come back to a decision.
    pub(super) fn check_owner(&self, record: &DecisionRecord) -> Result<(), Refusal> {
        if self.author.may_touch(&record.author) {
            return Ok(());
        }
        let id = shown_id(record.id.as_deref(), record.number);
        Err(Refusal::Forbidden {
            reason: format!("the decision `{id}` belongs to another token"),
        })
    }

    /// Time of the next decision of an experiment, as declared drift counts it.
    pub(super) fn drift_time(&mut self, experiment: u64) -> Option<f64> {
        let others = self.decided.get(&experiment).copied().unwrap_or(0);
        let own = self.state.by_key(experiment)?;
        own.drift_time(&self.clock_sets, self.time, others)
    }

    /// Time of a decision that was made elsewhere.
    pub(super) fn drift_time_at(&mut self, experiment: u64, made: Timestamp) -> Option<f64> {
        let own = self.state.by_key(experiment)?;
        own.drift_time(&self.clock_sets, made, 0)
    }

    /// A lease by its number.
    pub(super) fn lease(&mut self, number: u64) -> Result<Arc<LeaseEvent>, Refusal> {
        if let Some((_, lease)) = self.lease.as_ref().filter(|own| own.0 == number) {
            return Ok(lease.clone());
        }
        let record = self.store.get(number).map_err(Refusal::unavailable)?;
        match record.as_ref().map(Record::event).transpose()? {
            Some(Event::Leased(lease)) => {
                self.lease = Some((number, lease.clone()));
                Ok(lease)
            }
            _ => Err(Refusal::unavailable(format!(
                "event {number} should be a lease"
            ))),
        }
    }

    /// Policy that the budgets of an experiment can pay for, given all that this commit has reserved before.
    pub(super) fn within_budgets(
        &mut self,
        experiment: u64,
        published: Arc<PublishedPolicy>,
    ) -> Result<Arc<PublishedPolicy>, Refusal> {
        let (sets, time) = (&self.clock_sets, self.time);
        let Some(own) = (self.state.by_key(experiment)).filter(|own| !own.budgets.is_empty())
        else {
            return Ok(published);
        };
        // A paused experiment plays the safe action without an error, whatever is left of its budgets.
        if own.status == ExperimentStatus::Paused {
            return Ok(published);
        }
        #[cfg(test)]
        if crate::state::PLANTED.get() == Some(crate::state::Forgets::Batch) {
            self.budgets.remove(&experiment);
        }
        let budgets = (self.budgets.entry(experiment)).or_insert_with(|| own.budgets.clone());
        own.check_budgets(budgets, sets, time)?;
        Ok(own.allowed(budgets, sets, time, published))
    }

    /// Charges the costs of a decision that were not known before.
    pub(super) fn charge(
        &mut self,
        experiment: u64,
        record: &DecisionRecord,
        costs: &[Option<f64>],
    ) {
        let Some(own) = (self.state.by_key(experiment)).filter(|own| !own.budgets.is_empty())
        else {
            return;
        };
        if record.event.shadow {
            return;
        }
        let budgets = (self.budgets.entry(experiment)).or_insert_with(|| own.budgets.clone());
        let (problem, action) = (&own.checked.standard, record.event.action);
        let known = &record.outcome.part.costs;
        let charges = budgets.charges(record.number, known, costs, |guardrail| {
            worst_case(problem, action as usize, guardrail)
        });
        if !charges.is_empty() {
            budgets.charge(record.number, &charges);
            self.write_report(record, Event::Charged(charges));
        }
    }

    /// Finds a decision of this commit, in memory, or among those looked up.
    pub(super) fn decision(&mut self, experiment: u64, key: &Key) -> Option<DecisionRecord> {
        let number = match key {
            Key::Number(number) => Some(*number),
            Key::Id(id) => (self.made.number(experiment, id))
                .or_else(|| self.state.open.number(experiment, id)),
        };
        if let Some(number) = number {
            let open = self.made.get(number);
            if let Some(open) = open.or_else(|| self.state.open.get(number)) {
                return (open.experiment == experiment).then(|| self.as_reported(open));
            }
        }
        let found = self.found.get(&(experiment, key.clone()));
        found.map(|record| self.as_reported(record))
    }

    /// A decision, with what this commit has reported on it.
    fn as_reported(&self, record: &DecisionRecord) -> DecisionRecord {
        let outcome = self.reported.get(&record.number);
        DecisionRecord {
            id: record.id.clone(),
            author: record.author.clone(),
            event: record.event.clone(),
            outcome: outcome.unwrap_or(&record.outcome).clone(),
            ..*record
        }
    }

    /// Reads from the store what was left out of a decision in memory.
    pub(super) fn whole(&mut self, mut record: DecisionRecord) -> Result<DecisionRecord, Refusal> {
        if record.event.is_whole() {
            return Ok(record);
        }
        let number = record.number;
        let stored = self.store.get(number).map_err(Refusal::unavailable)?;
        match stored.as_ref().map(Record::event).transpose()? {
            Some(Event::Decision(event)) => record.event = event,
            _ => {
                let reason = format!("event {number} should be a decision");
                return Err(Refusal::unavailable(reason));
            }
        }
        Ok(record)
    }

    /// Policy that a decision was drawn from; most were drawn from the latest.
    pub(super) fn policy_of(
        &mut self,
        experiment: u64,
        event: &DecisionEvent,
    ) -> Result<Arc<PublishedPolicy>, Refusal> {
        let number = match (&event.own, event.policy) {
            (Some(own), _) => return Ok(own.clone()),
            (None, Some(number)) => number,
            (None, None) => return Err(Refusal::unavailable("a decision has no policy")),
        };
        let latest = self.state.by_key(experiment);
        if let Some(own) = latest.and_then(|own| own.trace.latest.as_ref())
            && own.number == number
        {
            return Ok(own.published.clone());
        }
        if let Some((_, own)) = (self.policies.get(&experiment)).filter(|own| own.0 == number) {
            return Ok(own.clone());
        }
        let record = self.store.get(number).map_err(Refusal::unavailable)?;
        let cited = record.as_ref().map(Record::event).transpose()?;
        let own = cited
            .as_ref()
            .and_then(|own| own.policy(event.segment.as_deref()));
        let absent = || Refusal::unavailable(format!("event {number} should be a policy"));
        own.cloned().ok_or_else(absent)
    }
}

/// Decodes a decision of the store and what was reported on it there.
pub(super) fn stored(found: Found) -> Result<Option<DecisionRecord>, Refusal> {
    let (author, Event::Decision(event)) = found.decision.read()? else {
        return Ok(None);
    };
    Ok(Some(DecisionRecord {
        author,
        number: found.decision.number,
        experiment: found.decision.experiment,
        outcome: replay_reports(&found.reports)?,
        id: found.decision.id,
        time: found.decision.time,
        event,
    }))
}
