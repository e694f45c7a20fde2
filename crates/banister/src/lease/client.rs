//! A client's side of leases: the newest one, and the exposures that wait to be reported.

use std::sync::Arc;

use super::{Exposure, Lease, SignedLease, from_hex};
use crate::error::Error;

/// Holder of the newest lease. It has no network and no clock: callers pass the time of a clock that never goes back,
/// in milliseconds, and carry answers and exposures.
#[derive(Debug)]
pub struct LeaseClient {
    experiment: String,
    /// Name of the safe arm, until a lease brings it.
    safe: [String; 1],
    public_key: Option<[u8; 32]>,
    limit: usize,
    held: Option<Held>,
    /// Exposures under leases before it.
    past: Vec<(Arc<Lease>, Exposures)>,
    waiting: usize,
}

/// The newest lease.
#[derive(Debug)]
struct Held {
    lease: Arc<Lease>,
    /// The server's time less that of the caller's clock, not less than it is.
    ahead: i64,
    /// Decisions that may still be drawn.
    left: u64,
    exposures: Exposures,
}

/// Exposures under one lease, units and segments one behind the other in a text.
#[derive(Debug, Default)]
struct Exposures {
    text: String,
    /// Ends of the unit and of the segment, arm, time.
    each: Vec<(usize, usize, usize, i64)>,
}

/// Arm of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeasedArm<'a> {
    /// Name of the arm.
    pub arm: &'a str,
    /// Text before the unit in the id of the decision; none if it is the safe action for want of a policy, and
    /// nothing is to be reported.
    pub prefix: Option<&'a str>,
}

impl LeaseClient {
    /// A client of an experiment without a lease: it plays the safe arm. Leases are verified by the public key, or else by the one that they
    /// come with. At most `limit` exposures wait: what cannot be reported is not drawn.
    pub fn new(experiment: &str, safe: &str, public_key: Option<[u8; 32]>, limit: usize) -> Self {
        Self {
            experiment: experiment.to_string(),
            safe: [safe.to_string()],
            public_key,
            limit,
            held: None,
            past: Vec::new(),
            waiting: 0,
        }
    }

    /// Takes the answer to a request that was sent at a time of the caller's clock. An older lease is ignored.
    ///
    /// The server's time is taken for the answer's plus all that has passed since the request: never less than it is,
    /// so that no lease outlives its end, whatever time of day the device shows.
    pub fn accept(&mut self, answer: &SignedLease, sent: i64) -> Result<(), Error> {
        let own = from_hex(&answer.public_key);
        let key = (self.public_key.or(own))
            .ok_or_else(|| Error::invalid("public_key", &answer.public_key, "64 hex digits"))?;
        let lease = answer.verify(&key)?;
        if lease.experiment != self.experiment {
            let allowed = format!("must be of the experiment `{}`", self.experiment);
            return Err(Error::invalid("lease", &lease.experiment, allowed));
        }
        let ahead = answer.now.saturating_sub(sent);
        match &mut self.held {
            Some(held) if lease.lease < held.lease.lease => {}
            Some(held) if lease.lease == held.lease.lease => held.ahead = held.ahead.max(ahead),
            _ => {
                let held = Held {
                    left: lease.most,
                    lease: Arc::new(lease),
                    ahead,
                    exposures: Exposures::default(),
                };
                let before = self.held.replace(held);
                let used = before.filter(|own| !own.exposures.each.is_empty());
                self.past.extend(used.map(|own| (own.lease, own.exposures)));
            }
        }
        Ok(())
    }

    /// The arm of a unit in a segment (the empty name, where there are none) at a time of the caller's clock.
    #[inline]
    pub fn decide(&mut self, segment: &str, unit: &str, clock: i64) -> LeasedArm<'_> {
        let Some(held) = &mut self.held else {
            return LeasedArm {
                arm: &self.safe[0],
                prefix: None,
            };
        };
        let lease = &*held.lease;
        let now = clock.saturating_add(held.ahead);
        let may_draw = lease.holds_at(now) && held.left > 0 && self.waiting < self.limit;
        let leased = may_draw.then(|| lease.arm(segment, unit));
        let Some(leased) = leased.filter(|own| own.is_drawn) else {
            return LeasedArm {
                arm: &lease.arms[lease.safe],
                prefix: None,
            };
        };
        held.left -= 1;
        self.waiting += 1;
        held.exposures.push(segment, unit, leased.arm, now);
        LeasedArm {
            arm: &lease.arms[leased.arm],
            prefix: Some(&lease.prefix),
        }
    }

    /// Milliseconds until the lease ends, by the caller's clock; 0 without one.
    pub fn left(&self, clock: i64) -> i64 {
        let held = self.held.as_ref();
        let left = held.map(|own| own.lease.expires - clock.saturating_add(own.ahead));
        left.unwrap_or(0).max(0)
    }

    /// Number of exposures that wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Takes what waits: exposures by the number of their lease, oldest first.
    pub fn take_exposures(&mut self) -> Vec<(u64, Vec<Exposure>)> {
        self.waiting = 0;
        let newest =
            (self.held.as_mut()).map(|own| (own.lease.clone(), std::mem::take(&mut own.exposures)));
        let all = self.past.drain(..).chain(newest);
        all.map(|(lease, own)| (lease.lease, own.named(&lease)))
            .filter(|(_, own)| !own.is_empty())
            .collect()
    }
}

impl Exposures {
    #[inline]
    fn push(&mut self, segment: &str, unit: &str, arm: usize, at: i64) {
        self.text.push_str(unit);
        let end = self.text.len();
        self.text.push_str(segment);
        self.each.push((end, self.text.len(), arm, at));
    }

    fn named(&self, lease: &Lease) -> Vec<Exposure> {
        let mut start = 0;
        let each = self.each.iter().map(|&(unit, segment, arm, at)| {
            let name = &self.text[unit..segment];
            let exposure = Exposure {
                unit: self.text[start..unit].to_string(),
                arm: lease.arms[arm].clone(),
                at,
                segment: (!name.is_empty()).then(|| name.to_string()),
            };
            start = segment;
            exposure
        });
        each.collect()
    }
}
