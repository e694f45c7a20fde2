//! Leases: a policy handed out to be drawn from elsewhere, and the exposures that come of it.
//!
//! A lease is a policy's event with a time: everything about it is in the log, so that any replica can check an exposure.
//! The draw is a hash of the unit (`banister::lease`), so that no client can report an arm that it should not have played.

use std::collections::BTreeMap;
use std::sync::Arc;

use banister::lease::{Exposure, Lease};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decision_request::check_id;
use super::{Command, Reply, Transaction};
use crate::events::{DecisionEvent, Event, LeaseEvent, PublishedPolicy};
use crate::refusal::Refusal;
use crate::state::{Experiment, Kind};
use crate::store::Key;
use crate::time::Timestamp;

/// Time of a lease by default, and the longest, in seconds.
const SECONDS: f64 = 60.0;
const LONGEST: f64 = 3600.0;
/// Most decisions of a lease.
const MOST: u64 = 1_000_000;
/// Most segments that a lease has policies for: those known first.
const MOST_SEGMENTS: usize = 200;
/// Milliseconds by which a client's time may be ahead: it takes the time that its request for a lease took for ours.
const AHEAD: i64 = 10_000;

/// Terms of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseRequest {
    /// Seconds for which it holds at most; 60 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// Asks for a lease on the policy in force. Requests soon after one another get the same lease.
#[derive(Debug)]
pub struct GrantLease {
    pub experiment: Arc<str>,
    pub request: LeaseRequest,
}

/// Reports an exposure. The same one twice is one decision.
#[derive(Debug)]
pub struct Expose {
    pub experiment: Arc<str>,
    pub lease: u64,
    pub exposure: Exposure,
}

/// A decision that a lease made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Exposed {
    /// Its id: outcomes are reported under it.
    pub decision: String,
}

impl Command for GrantLease {
    /// With the time of the answer, by the clock of the log.
    type Answer = (Lease, Timestamp);

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<Self::Answer>, Refusal> {
        let seconds = self.request.seconds.unwrap_or(SECONDS);
        if !(1.0..=LONGEST).contains(&seconds) {
            let allowed = format!("must be 1 to {LONGEST}");
            return Err(Refusal::invalid("seconds", seconds, allowed));
        }
        let now = transaction.time;
        let experiment = transaction.active(&self.experiment)?;
        check_leased(experiment)?;
        let key = experiment.key;
        // Half of its time and of its decisions are left at least.
        let wanted = now.plus_seconds(0.5 * seconds)..=now.plus_seconds(seconds);
        let used = experiment.leases.last().map_or(0, |own| own.used);
        if let Some((number, lease)) = &experiment.leased
            && wanted.contains(&lease.expires)
            && 2 * used < MOST
        {
            return Ok(Reply::Ready((sent(experiment, *number, lease), now)));
        }
        let time = transaction.drift_time(key);
        let experiment = transaction.state.experiment(&self.experiment)?;
        let mut policies = Vec::new();
        for segment in experiment.leased_segments(MOST_SEGMENTS) {
            let published = experiment.policy(time, segment.as_deref(), &[], &[])?;
            policies.push((segment, experiment.in_time(now, published)));
        }
        let expires = now.plus_seconds(seconds);
        let expires = experiment.certified_until(expires, &policies);
        let key_of_hash = match &experiment.info.unit {
            Some(unit) => unit.key(),
            None => transaction.rng.random::<u64>() >> 11,
        };
        let event = Arc::new(LeaseEvent {
            issued: now,
            expires,
            most: MOST,
            key: key_of_hash,
            policies,
        });
        let number = transaction.write(key, Event::Leased(event.clone()));
        let experiment = transaction.state.experiment(&self.experiment)?;
        Ok(Reply::Ready((sent(experiment, number, &event), now)))
    }
}

/// Refuses what cannot be decided without asking.
fn check_leased(experiment: &Experiment) -> Result<(), Refusal> {
    let declared = &experiment.checked.declaration;
    let drift = experiment.checked.standard.drift_unit();
    let refused = [
        ("context", experiment.info.kind != Kind::Arms),
        ("shadow", declared.shadow),
        ("budgets", !declared.budgets.is_empty()),
        (
            "unit.period",
            (declared.unit.as_ref()).is_some_and(|own| own.period.is_some()),
        ),
        ("drift", drift.is_some_and(|unit| !unit.is_by_clock())),
    ];
    match refused.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((field, _)) => Err(Refusal::conflict(format!(
            "no lease can be handed out: `{field}` needs somebody who knows every decision (leases are for arms, with or \
             without segments; for units whose period is `forever`; with drift by the clock)"
        ))),
    }
}

/// Refuses an id that a decision of a lease may have.
pub(super) fn check_not_leased(id: &str) -> Result<(), Refusal> {
    let own = id.split_once('/').map(|(lease, _)| lease.parse::<u64>());
    if !matches!(own, Some(Ok(_))) {
        return Ok(());
    }
    let allowed =
        "a number and `/` begin the ids of decisions under leases: choose another beginning";
    Err(Refusal::invalid("id", id, allowed))
}

/// The text before a unit in its id, and in the hash.
fn prefix(experiment: &Experiment, number: u64) -> String {
    match experiment.info.unit {
        Some(_) => String::new(),
        None => format!("{number}/"),
    }
}

/// A lease as clients get it.
fn sent(experiment: &Experiment, number: u64, event: &LeaseEvent) -> Lease {
    let info = &experiment.info;
    let milliseconds = |time: Timestamp| time.0.div_euclid(1000);
    let name = |segment: &Option<Arc<str>>| segment.as_deref().unwrap_or("").to_string();
    let each = event.policies.iter();
    let certificates: BTreeMap<String, _> = (event.policies.iter())
        .map(|(segment, own)| (name(segment), info.certificate(own)))
        .collect();
    Lease {
        experiment: info.experiment.clone(),
        lease: number,
        issued: milliseconds(event.issued),
        expires: milliseconds(event.expires),
        most: event.most,
        arms: info.arms.clone(),
        safe: experiment.checked.safe,
        key: event.key,
        prefix: prefix(experiment, number),
        holdout: info.holdout,
        gate: info.gate,
        policies: each.map(|(s, own)| (name(s), own.policy.clone())).collect(),
        certificate: serde_json::to_value(certificates).unwrap_or_default(),
    }
}

impl Command for Expose {
    type Answer = Exposed;
    const SHARES_COMMIT: bool = true;

    fn prepare(&self, transaction: &mut Transaction) {
        if let Ok(experiment) = transaction.state.experiment(&self.experiment) {
            let id = prefix(experiment, self.lease) + &self.exposure.unit;
            transaction.want(&self.experiment, &id);
        }
    }

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<Exposed>, Refusal> {
        let Self {
            experiment: name,
            lease,
            exposure,
        } = self;
        let Exposure { unit, at, .. } = &exposure;
        check_id("unit", unit)?;
        let experiment = transaction.state.experiment(&name)?;
        experiment.check_active("takes no more exposures")?;
        let (key, info) = (experiment.key, experiment.info.clone());
        let terms = (experiment.leases.iter().find(|own| own.number == lease))
            .ok_or_else(|| Refusal::unknown("lease", lease.to_string()))?;
        let (issued, expires, room) = (terms.issued, terms.expires, terms.most - terms.used);
        let made = Timestamp(at.saturating_mul(1000));
        let latest = transaction.time.0.div_euclid(1000) + AHEAD;
        // Milliseconds are cut off in leases.
        if made.0 < issued.0 - issued.0.rem_euclid(1000) || made >= expires || *at > latest {
            let allowed = format!(
                "must be a past time between {issued} and {expires}, in milliseconds since 1970"
            );
            return Err(Refusal::invalid("at", at, allowed));
        }
        if info.is_outside(unit) {
            let allowed = "this unit is outside the experiment's namespace";
            return Err(Refusal::invalid("unit", unit, allowed));
        }
        let event = transaction.lease(lease)?;
        let segment = exposure.segment.as_deref();
        let found = (event.policies.iter()).find(|(own, _)| own.as_deref() == segment);
        let Some((segment, published)) = found else {
            let allowed = "must be a segment that the lease has a policy for";
            let given = exposure.segment.as_deref().unwrap_or("absent");
            return Err(Refusal::invalid("segment", given, allowed));
        };
        let experiment = transaction.state.experiment(&name)?;
        let prefix = prefix(experiment, lease);
        let draw = info.draw(event.key, [&prefix, unit], unit, published);
        let (action, _) = published.draw(draw);
        let drawn = info.action_name(&[], action);
        if drawn != exposure.arm {
            let allowed = format!("the lease gives `{unit}` the arm `{drawn}`");
            return Err(Refusal::invalid("arm", &exposure.arm, allowed));
        }
        let id = prefix + unit;
        let exposed = Exposed {
            decision: id.clone(),
        };
        let standing = transaction.decision(key, &Key::Id(id.clone()));
        if let Some(record) = &standing {
            transaction.check_owner(record)?;
            let (_, before) = record.in_force();
            if before.action == action && (info.unit.is_some() || before.policy == Some(lease)) {
                return Ok(Reply::Ready(exposed));
            }
            if info.unit.is_none() {
                return Err(Refusal::conflict(format!(
                    "the id `{id}` belongs to another decision"
                )));
            }
        }
        let others = transaction.exposed.entry((key, lease)).or_default();
        if *others >= room {
            return Err(Refusal::conflict(format!(
                "the lease {lease} has had its {} decisions",
                event.most
            )));
        }
        *others += 1;
        let time = transaction.drift_time_at(key, made);
        let decision = DecisionEvent {
            policy: Some(lease),
            segment: segment.clone(),
            time,
            ..DecisionEvent::default()
        };
        let decision = Arc::new(decision.drawn(published, draw, action));
        match standing {
            // It has seen two arms.
            Some(record) => drop(transaction.move_unit(&record, decision, info)?),
            None => drop(transaction.write_decision(key, Some(&id), decision)),
        }
        Ok(Reply::Ready(exposed))
    }
}

impl Experiment {
    /// Time until which policies are certified, not after `expires`, nor after the experiment's own end.
    fn certified_until(
        &self,
        expires: Timestamp,
        policies: &[(Option<Arc<str>>, Arc<PublishedPolicy>)],
    ) -> Timestamp {
        let ends = policies.iter().filter_map(|(_, own)| own.until);
        let drift = ends.map(|until| self.created.plus_seconds(until));
        let rollout = self.checked.declaration.rollout.as_ref();
        let end = rollout.and_then(|own| own.end);
        drift.chain(end).fold(expires, Timestamp::min)
    }
}
