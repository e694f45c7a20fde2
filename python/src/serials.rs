//! Serial numbers of an agent's decisions, and which of them an outcome has come for.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Words of 64 decisions that are known one by one: the last 16 million.
const WINDOW: usize = 1 << 18;

/// The decisions so far. A bit per decision says whether its outcome has come; words whose decisions all
/// have theirs are dropped from the front, so that a loop of decide and observe keeps one or two.
#[derive(Debug, Clone)]
pub(crate) struct Serials {
    last: u64,
    /// The first decision that is known by itself: a multiple of 64.
    first: u64,
    words: VecDeque<u64>,
}

/// [`Serials`] as a snapshot keeps them: equal words together.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedSerials {
    last: u64,
    first: u64,
    words: Vec<(u64, u64)>,
}

impl Serials {
    /// Returns serials that go on after `last`.
    pub(crate) fn after(last: u64) -> Self {
        let mut serials = Self {
            last,
            first: last / 64 * 64,
            words: VecDeque::from([0]),
        };
        serials.skip_zero();
        serials
    }

    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Returns the serial of a new decision.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.advance(self.last.saturating_add(1));
        self.last
    }

    /// Makes room for serials up to `serial`.
    #[inline]
    fn advance(&mut self, serial: u64) {
        if serial <= self.last {
            return;
        }
        self.last = serial;
        if (serial - self.first) / 64 >= self.words.len() as u64 {
            self.grow(serial);
        }
    }

    #[cold]
    fn grow(&mut self, serial: u64) {
        while self.words.front() == Some(&u64::MAX) {
            self.words.pop_front();
            self.first += 64;
        }
        let needed = (serial - self.first) / 64 + 1;
        let beyond = needed.saturating_sub(WINDOW as u64);
        let dropped = (beyond as usize).min(self.words.len());
        self.words.drain(..dropped);
        self.first += 64 * beyond;
        self.words.resize((needed - beyond) as usize, 0);
    }

    /// Marks decisions as observed: all, or none and the one that is observed already or forgotten.
    /// Serials beyond the last are those of a copy of the agent that went on.
    pub(crate) fn mark_observed(&mut self, serials: &[u64]) -> Result<(), u64> {
        self.advance(serials.iter().copied().max().unwrap_or(0));
        for (i, &serial) in serials.iter().enumerate() {
            match self.bit(serial) {
                Some((word, bit)) if *word & bit == 0 => *word |= bit,
                _ => {
                    self.unmark(&serials[..i]);
                    return Err(serial);
                }
            }
        }
        Ok(())
    }

    /// Undoes [`Serials::mark_observed`].
    pub(crate) fn unmark(&mut self, serials: &[u64]) {
        for &serial in serials {
            if let Some((word, bit)) = self.bit(serial) {
                *word &= !bit;
            }
        }
    }

    /// Unmarks every decision so far: each may have another outcome.
    pub(crate) fn reset(&mut self) {
        let all = self.last / 64 + 1;
        let known = all.min(WINDOW as u64);
        self.first = 64 * (all - known);
        self.words.clear();
        self.words.resize(known as usize, 0);
        self.skip_zero();
    }

    /// Counts decision 0, which does not exist, as observed, so that its word can be dropped one day.
    fn skip_zero(&mut self) {
        if self.first == 0 {
            self.words[0] |= 1;
        }
    }

    #[inline]
    fn bit(&mut self, serial: u64) -> Option<(&mut u64, u64)> {
        let place = serial.checked_sub(self.first)?;
        let word = self.words.get_mut((place / 64) as usize)?;
        Some((word, 1 << (place % 64)))
    }

    pub(crate) fn save(&self) -> SavedSerials {
        let mut words: Vec<(u64, u64)> = Vec::new();
        for &word in &self.words {
            match words.last_mut() {
                Some((same, count)) if *same == word => *count += 1,
                _ => words.push((word, 1)),
            }
        }
        SavedSerials {
            last: self.last,
            first: self.first,
            words,
        }
    }

    /// Restores saved serials; `None` if they cannot have been saved.
    pub(crate) fn restore(saved: &SavedSerials) -> Option<Self> {
        let counts = saved.words.iter().map(|&(_, count)| count);
        let length = counts.fold(0_u64, u64::saturating_add);
        let ends = length.checked_mul(64)?.checked_add(saved.first)?;
        let is_sound = length >= 1
            && length <= WINDOW as u64
            && saved.first.is_multiple_of(64)
            && (saved.first..ends).contains(&saved.last);
        is_sound.then(|| Self {
            last: saved.last,
            first: saved.first,
            words: (saved.words.iter())
                .flat_map(|&(word, count)| std::iter::repeat_n(word, count as usize))
                .collect(),
        })
    }
}
