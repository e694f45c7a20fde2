//! Outcomes on their way: late, out of order, in batches.

use banister::{Agent, Choice, Claim, Error, Event, Origin, Outcome};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::config::RunConfig;

/// Holds outcomes until they are due: a wheel of slots, one more than the longest delay, emptied every `batch` rounds.
pub(crate) struct DelayQueue {
    /// The shortest and the longest delay, of all or by action or segment.
    ranges: Vec<[u64; 2]>,
    is_by_segment: bool,
    batch: u64,
    /// One per round until the longest delay.
    slots: Vec<Vec<Late>>,
    /// Arrived but not handed over yet.
    waiting: Vec<Late>,
    /// Handed over: room for the next ones, so that nothing is allocated once warm.
    free: Vec<Late>,
}

/// An outcome on its way.
#[derive(Default, Clone)]
struct Late {
    decision: u64,
    action: usize,
    segment: Option<usize>,
    /// Features of its action, or its context.
    features: Vec<f64>,
    in_context: bool,
    reward: f64,
    costs: Vec<f64>,
    /// Those of unwatched agents make none.
    claims: Vec<Claim>,
}

impl DelayQueue {
    pub(crate) fn new(run: &RunConfig, arms: &[String], segments: &[String]) -> Self {
        let own = run.delay.ranges();
        let is_by_segment = !run.delay.is_of(arms);
        let names = if is_by_segment { segments } else { arms };
        let range = |name: &String| own.get(&name[..]).copied().unwrap_or_default();
        let longest = own.values().map(|[_, most]| *most).max().unwrap_or(0);
        Self {
            ranges: match own.get("") {
                Some(&all) => vec![all],
                None => names.iter().map(range).collect(),
            },
            is_by_segment,
            batch: run.batch,
            slots: vec![Vec::new(); longest as usize + 1],
            waiting: Vec::new(),
            free: Vec::new(),
        }
    }

    /// True where every outcome arrives in the round it happens.
    #[inline]
    pub(crate) fn is_instant(&self) -> bool {
        self.slots.len() == 1 && self.batch == 1
    }

    /// Queues the outcome of round `t`; the delay does not depend on its value.
    pub(crate) fn push(
        &mut self,
        t: u64,
        outcome: &Outcome,
        segment: Option<usize>,
        rng: &mut ChaCha8Rng,
    ) {
        let place = (segment.filter(|_| self.is_by_segment)).unwrap_or(outcome.action);
        let range = self.ranges.get(place).or(self.ranges.first());
        let [least, most] = range.copied().unwrap_or_default();
        let mut late = least;
        if most > least {
            // The multiply-shift map of 64 random bits onto least..=most.
            late += ((u128::from(rng.next_u64()) * u128::from(most - least + 1)) >> 64) as u64;
        }
        let (features, in_context) = match outcome.choice {
            Choice::Arms => (&[][..], false),
            Choice::Offered(features) => (features, false),
            Choice::Context(context) => (context, true),
        };
        let mut own = self.free.pop().unwrap_or_default();
        (own.decision, own.action, own.segment) = (t + 1, outcome.action, segment);
        (own.in_context, own.reward) = (in_context, outcome.reward);
        refill(&mut own.features, features);
        refill(&mut own.costs, outcome.costs);
        refill(&mut own.claims, outcome.claims.unwrap_or_default());
        let count = self.slots.len() as u64;
        self.slots[((t + late) % count) as usize].push(own);
    }

    /// Delivers to the agent what is due after round `t`.
    pub(crate) fn deliver(
        &mut self,
        t: u64,
        agent: &mut dyn Agent,
        segments: &[String],
    ) -> Result<(), Error> {
        let count = self.slots.len() as u64;
        self.waiting.append(&mut self.slots[(t % count) as usize]);
        if !(t + 1).is_multiple_of(self.batch) {
            return Ok(());
        }
        for own in self.waiting.drain(..) {
            let features = &own.features[..];
            agent.apply(&Event::Outcome(&Outcome {
                choice: if own.in_context {
                    Choice::Context(features)
                } else if features.is_empty() {
                    Choice::Arms
                } else {
                    Choice::Offered(features)
                },
                segment: own.segment.map(|segment| segments[segment].as_str()),
                origin: Origin::Announced(own.decision),
                claims: (!own.claims.is_empty()).then_some(&own.claims),
                ..Outcome::of_arm(own.action, own.reward, &own.costs)
            }))?;
            self.free.push(own);
        }
        Ok(())
    }
}

fn refill<T: Copy>(room: &mut Vec<T>, from: &[T]) {
    room.clear();
    room.extend_from_slice(from);
}
