//! Outcomes on their way: late, out of order, in batches.

use banister::{Agent, Error, Origin, Outcomes, Played};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Holds outcomes until they are due: a wheel of `delay + 1` slots, emptied every `batch` rounds.
pub(crate) struct DelayQueue {
    delay: u64,
    batch: u64,
    guardrails: usize,
    /// One per round until the longest delay.
    slots: Vec<Slot>,
    /// Arrived but not handed over yet.
    waiting: Slot,
}

/// An outcome on its way.
pub(crate) struct Outcome<'a> {
    /// Number of its decision.
    pub number: u64,
    pub action: usize,
    /// Segment of the decision, where it has one.
    pub segment: Option<usize>,
    /// Features of the action; empty where its number suffices.
    pub features: &'a [f64],
    pub reward: f64,
    pub costs: &'a [f64],
}

/// Outcomes due in the same round.
#[derive(Default, Clone)]
struct Slot {
    /// Decision, action, segment, length of its features, reward.
    outcomes: Vec<(u64, usize, Option<usize>, usize, f64)>,
    /// The features of all outcomes in a row, and the costs.
    features: Vec<f64>,
    costs: Vec<f64>,
}

impl DelayQueue {
    pub(crate) fn new(delay: u64, batch: u64, guardrails: usize) -> Self {
        Self {
            delay,
            batch,
            guardrails,
            slots: vec![Slot::default(); delay as usize + 1],
            waiting: Slot::default(),
        }
    }

    /// True where every outcome arrives in the round it happens.
    #[inline]
    pub(crate) fn is_instant(&self) -> bool {
        self.delay == 0 && self.batch == 1
    }

    /// Queues the outcome of round `t`; the delay does not depend on its value.
    pub(crate) fn push(&mut self, t: u64, outcome: Outcome<'_>, rng: &mut ChaCha8Rng) {
        let late = if self.delay == 0 {
            0
        } else {
            // The multiply-shift map of 64 random bits onto 0..=delay.
            ((u128::from(rng.next_u64()) * u128::from(self.delay + 1)) >> 64) as u64
        };
        let count = self.slots.len() as u64;
        let slot = &mut self.slots[((t + late) % count) as usize];
        let Outcome {
            number,
            action,
            segment,
            features,
            reward,
            costs,
        } = outcome;
        (slot.outcomes).push((number, action, segment, features.len(), reward));
        slot.features.extend_from_slice(features);
        slot.costs.extend_from_slice(costs);
    }

    /// Delivers to the agent what is due after round `t`: by the action's number, or by its features where
    /// the actions have changed since.
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
        if !(t + 1).is_multiple_of(self.batch) {
            return Ok(());
        }
        let (mut features, mut costs) = (&self.waiting.features[..], &self.waiting.costs[..]);
        for &(number, action, segment, d, reward) in &self.waiting.outcomes {
            let (x, later) = features.split_at(d);
            let (c, others) = costs.split_at(self.guardrails);
            let arms = [action];
            let own = [segment.map_or("", |segment| segments[segment].as_str())];
            agent.observe_batch(&Outcomes {
                played: match segment {
                    Some(_) => Played::InSegments(&arms, &own),
                    None if x.is_empty() => Played::Arms(&arms),
                    None => Played::Features(x),
                },
                rewards: &[reward],
                costs: c,
                origin: Origin::Announced(&[number]),
            })?;
            (features, costs) = (later, others);
        }
        self.waiting.outcomes.clear();
        self.waiting.features.clear();
        self.waiting.costs.clear();
        Ok(())
    }
}
