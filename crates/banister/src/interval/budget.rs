//! A budget of failure probability, shared by arms in the order of their first pull.
//!
//! Arms are numbered j = 1, 2, … as they are first pulled, and the ends of arm j share ω_j of the budget:
//!
//! ```text
//!   ω_j = 1{j ≤ k}/(2k) + ½ (k_0+1)/((j+k_0)(j+k_0+1)),   k_0 = min(k, 8),   Σ_j ω_j = 1,
//! ```
//!
//! k the number of arms declared beforehand that need a share. An arm's number is known before its first
//! outcome, so given that moment Ville's inequality holds with its share, and the union bound is over
//! numbers, not over arms: arms may come without limit, and of thousands declared those pay that are
//! pulled. Without declared arms the second term is everything.

use serde::{Deserialize, Serialize};

/// δ_o by default.
pub(crate) const OPTIMISM_DELTA: f64 = 0.1;

/// A budget, and how many arms have a share of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DeltaBudget {
    delta: f64,
    /// k.
    declared: u32,
    /// Arms numbered so far.
    used: u32,
}

/// Place of an arm among those first pulled, from 1; 0 before, and for an arm that needs none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Place(u32);

impl Place {
    pub(crate) const FIRST: Self = Self(1);

    /// True for an arm that was numbered.
    #[inline]
    pub(crate) fn is_given(self) -> bool {
        self.0 > 0
    }
}

impl DeltaBudget {
    /// A whole budget for `declared` arms and any number of others.
    pub(crate) fn new(delta: f64, declared: usize) -> Self {
        Self {
            delta,
            declared: u32::try_from(declared).unwrap_or(u32::MAX),
            used: 0,
        }
    }

    /// The next place.
    pub(crate) fn next(&mut self) -> Place {
        self.used = self.used.saturating_add(1);
        Place(self.used)
    }

    /// The place given last.
    pub(crate) fn last(&self) -> Place {
        Place(self.used)
    }

    /// Places given so far.
    pub(crate) fn used(&self) -> u64 {
        u64::from(self.used)
    }

    /// Takes note of a place given before.
    pub(crate) fn restore(&mut self, place: Place) {
        self.used = self.used.max(place.0);
    }

    /// ln(1/δ_s) of each of the `ends` of the arm at a place.
    pub(crate) fn log_level(&self, place: Place, ends: usize) -> f64 {
        libm::log(ends as f64 / self.level(place))
    }

    /// δ of the arm at a place.
    pub(crate) fn level(&self, place: Place) -> f64 {
        self.delta * self.share(place)
    }

    /// ω_j.
    fn share(&self, place: Place) -> f64 {
        let (j, k) = (f64::from(place.0), f64::from(self.declared));
        let k0 = k.min(8.0);
        let tail = (k0 + 1.0) / ((j + k0) * (j + k0 + 1.0));
        if self.declared == 0 {
            return tail;
        }
        let own = if place.0 <= self.declared {
            0.5 / k
        } else {
            0.0
        };
        own + 0.5 * tail
    }
}
