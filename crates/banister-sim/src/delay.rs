//! Outcomes on their way: late, out of order, in batches.

use banister::Error;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Holds outcomes until they are due: a wheel of `delay + 1` slots, emptied every `batch` rounds.
pub(crate) struct Mailbox {
    delay: u64,
    batch: u64,
    guardrails: usize,
    /// Per slot: arms and rewards of the outcomes due in that round, and their costs in a row.
    slots: Vec<Slot>,
    /// Arrived but not handed over yet.
    waiting: Slot,
}

#[derive(Default, Clone)]
struct Slot {
    outcomes: Vec<(usize, f64)>,
    costs: Vec<f64>,
}

impl Mailbox {
    pub(crate) fn new(delay: u64, batch: u64, guardrails: usize) -> Self {
        Self {
            delay,
            batch,
            guardrails,
            slots: vec![Slot::default(); delay as usize + 1],
            waiting: Slot::default(),
        }
    }

    /// Whether every outcome arrives in the round it happens.
    #[inline]
    pub(crate) fn is_instant(&self) -> bool {
        self.delay == 0 && self.batch == 1
    }

    /// Sends the outcome of round `t`; when it arrives does not depend on its value.
    pub(crate) fn post(
        &mut self,
        t: u64,
        arm: usize,
        reward: f64,
        costs: &[f64],
        rng: &mut ChaCha8Rng,
    ) {
        let late = if self.delay == 0 {
            0
        } else {
            // The multiply-shift map of 64 random bits onto 0..=delay.
            ((u128::from(rng.next_u64()) * u128::from(self.delay + 1)) >> 64) as u64
        };
        let count = self.slots.len() as u64;
        let slot = &mut self.slots[((t + late) % count) as usize];
        slot.outcomes.push((arm, reward));
        slot.costs.extend_from_slice(costs);
    }

    /// Hands over what is due after round `t`.
    pub(crate) fn deliver(
        &mut self,
        t: u64,
        mut take: impl FnMut(usize, f64, &[f64]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let count = self.slots.len() as u64;
        let due = &mut self.slots[(t % count) as usize];
        self.waiting.outcomes.append(&mut due.outcomes);
        self.waiting.costs.append(&mut due.costs);
        if !(t + 1).is_multiple_of(self.batch) {
            return Ok(());
        }
        for (i, &(arm, reward)) in self.waiting.outcomes.iter().enumerate() {
            take(
                arm,
                reward,
                &self.waiting.costs[i * self.guardrails..(i + 1) * self.guardrails],
            )?;
        }
        self.waiting.outcomes.clear();
        self.waiting.costs.clear();
        Ok(())
    }
}
