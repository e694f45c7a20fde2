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
    guardrails: usize,
    /// One per round until the longest delay.
    slots: Vec<Slot>,
    /// Arrived but not handed over yet.
    waiting: Slot,
}

/// An outcome on its way, but for its features and costs.
#[derive(Clone, Copy)]
struct Late {
    decision: u64,
    action: usize,
    segment: Option<usize>,
    /// Length of its features or of its context.
    length: usize,
    in_context: bool,
    reward: f64,
    is_claimed: bool,
}

/// Outcomes due in the same round.
#[derive(Default, Clone)]
struct Slot {
    outcomes: Vec<Late>,
    /// The features of all outcomes in a row, and the costs.
    features: Vec<f64>,
    costs: Vec<f64>,
    /// Those of unwatched agents make no claims.
    claims: Vec<Claim>,
}

impl DelayQueue {
    pub(crate) fn new(
        run: &RunConfig,
        arms: &[String],
        segments: &[String],
        guardrails: usize,
    ) -> Self {
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
            guardrails,
            slots: vec![Slot::default(); longest as usize + 1],
            waiting: Slot::default(),
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
        let count = self.slots.len() as u64;
        let slot = &mut self.slots[((t + late) % count) as usize];
        let (features, in_context) = match outcome.choice {
            Choice::Arms => (&[][..], false),
            Choice::Offered(features) => (features, false),
            Choice::Context(context) => (context, true),
        };
        slot.outcomes.push(Late {
            decision: t + 1,
            action: outcome.action,
            segment,
            length: features.len(),
            in_context,
            reward: outcome.reward,
            is_claimed: outcome.claims.is_some(),
        });
        slot.features.extend_from_slice(features);
        slot.costs.extend_from_slice(outcome.costs);
        (slot.claims).extend_from_slice(outcome.claims.unwrap_or_default());
    }

    /// Delivers to the agent what is due after round `t`.
    pub(crate) fn deliver(
        &mut self,
        t: u64,
        agent: &mut dyn Agent,
        segments: &[String],
    ) -> Result<(), Error> {
        let count = self.slots.len() as u64;
        let due = &mut self.slots[(t % count) as usize];
        self.waiting.outcomes.append(&mut due.outcomes);
        self.waiting.features.append(&mut due.features);
        self.waiting.costs.append(&mut due.costs);
        self.waiting.claims.append(&mut due.claims);
        if !(t + 1).is_multiple_of(self.batch) {
            return Ok(());
        }
        let (mut features, mut costs) = (&self.waiting.features[..], &self.waiting.costs[..]);
        let mut claims = self.waiting.claims.chunks_exact(self.guardrails.max(1));
        let mut claimed = |late: &Late| late.is_claimed.then(|| claims.next()).flatten();
        for late in &self.waiting.outcomes {
            let (x, later) = features.split_at(late.length);
            let (c, others) = costs.split_at(self.guardrails);
            agent.apply(&Event::Outcome(&Outcome {
                action: late.action,
                choice: if late.in_context {
                    Choice::Context(x)
                } else if x.is_empty() {
                    Choice::Arms
                } else {
                    Choice::Offered(x)
                },
                segment: late.segment.map(|segment| segments[segment].as_str()),
                reward: late.reward,
                costs: c,
                origin: Origin::Announced(late.decision),
                time: None,
                claims: claimed(late),
            }))?;
            (features, costs) = (later, others);
        }
        self.waiting.outcomes.clear();
        self.waiting.features.clear();
        self.waiting.costs.clear();
        self.waiting.claims.clear();
        Ok(())
    }
}
