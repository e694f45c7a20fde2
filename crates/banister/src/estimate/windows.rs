//! Means that move: windows at dyadic scales, and bounds for the time of use.
//!
//! A signal declares v: |μ_t − μ_s| ≤ v|t − s| for every arm, t counted in decisions or seconds. The bets of a window that
//! starts afresh bound the mean of the means at its decisions (`interval/mixture.rs`), which lies within v·(t − s̄) of μ_t, s̄
//! the mean of their times. So for all windows ever started, all their lengths n and all t at once,
//!
//! ```text
//!   μ_t ≤ u(n; δ_s ω_k γ_j) + v(t − s̄),      γ_j = 0.47/((j + 2) ln²(j + 2)),   Σ_j γ_j ≤ 1,
//! ```
//!
//! for the j-th window of scale k and weights ω_k of the scales. What is kept of an end is b = u − v·s̄: the bound at t
//! is b + v·t, it ages by itself, and the least b of all windows serves whatever the time. A window of scale k starts at
//! every 2^k-th outcome of the arm and is fed for two lengths, so that the older of the two alive is between 2^k and
//! 2^{k+1} outcomes long. Statistics are sums, so a window is the difference of what there is now and what there was at
//! its start: an outcome costs no more than without drift.

use serde::{Deserialize, Serialize};

use crate::interval::{End, Mixture};

/// Part of a window's outcomes that come before its end is computed again.
const GROWTH: u64 = 4;

/// Windows of one signal of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// Sum of the times of all outcomes' decisions, and the latest of them.
    times: f64,
    latest: f64,
    /// Windows of 2^`shortest` outcomes, and longer by 2^`step` from scale to scale.
    shortest: u32,
    step: usize,
    scales: Vec<Scale>,
}

/// Windows of one length.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scale {
    older: Start,
    newer: Start,
    /// Outcomes of the arm at which the older one's ends are computed next.
    due: u64,
    /// Ends found last in the older one, where the next search begins.
    found: [f64; 2],
    /// The last two that ended.
    closed: [Option<Closed>; 2],
}

/// A window that has ended: its interval, about the middle of its time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Closed {
    ends: [f64; 2],
    middle: f64,
}

impl Closed {
    /// True if a mean that moves by `v` cannot have been in both, the other one later.
    fn refutes(&self, v: f64, later: &Self) -> bool {
        let moved = v * (later.middle - self.middle);
        later.ends[0] > self.ends[1] + moved || later.ends[1] < self.ends[0] - moved
    }
}

/// Bounds of a mean by its windows.
pub(super) struct Found {
    /// The tightest b of each end, where one was computed.
    pub ends: [Option<f64>; 2],
    /// True if two windows, one after the other, refute the drift.
    pub refuted: bool,
}

/// Statistics when a window started.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    mixture: Mixture,
    times: f64,
    /// j.
    number: u64,
}

/// The shortest and the longest scale, as logarithms to base 2, of a mean that moves by `v` per decision, in units of the
/// range. The best length of an arm that is always played is about W = (4/v²)^{1/3}; windows of one that is played now
/// and then span more time. Beyond 1/v outcomes a window says nothing.
fn scales(v: f64) -> (u32, u32) {
    let log = |x: f64| libm::log2(x).max(0.0) as u32;
    let shortest = log(libm::cbrt(4.0 / (v * v)) / 16.0).clamp(2, 7);
    (shortest, log(1.0 / v).clamp(shortest, LONGEST))
}

/// The longest scale.
const LONGEST: u32 = 24;
/// The shortest scale of a mean that moves by the clock, and the step to the next: outcomes may come at any rate, and scales
/// are fixed beforehand. A window of half or twice the best length is wider by 11 to 14%.
const BY_CLOCK: (u32, usize) = (6, 2);

impl Windows {
    /// No outcome yet.
    pub(super) fn new(v: f64, by_clock: bool) -> Self {
        let ((shortest, longest), step) = if by_clock {
            ((BY_CLOCK.0, LONGEST), BY_CLOCK.1)
        } else {
            (scales(v), 1)
        };
        let scales = (shortest..=longest).step_by(step);
        Self {
            times: 0.0,
            latest: 0.0,
            shortest,
            step,
            scales: scales.map(|_| Scale::default()).collect(),
        }
    }

    /// Forgets all outcomes.
    pub(super) fn clear(&mut self) {
        (self.times, self.latest) = (0.0, 0.0);
        self.scales.fill(Scale::default());
    }

    /// True if they can be in the place of these, given all outcomes' statistics.
    pub(super) fn fit(&self, own: &Self, now: &Mixture) -> bool {
        let sound = |start: &Start| {
            start.mixture.is_sound() && start.times.is_finite() && start.number < u64::MAX / 2
        };
        let follows = |scale: &Scale| {
            let Scale { older, newer, .. } = scale;
            sound(older)
                && sound(newer)
                && newer.mixture.extends(&older.mixture)
                && now.extends(&newer.mixture)
                && scale.found.iter().all(|x| x.is_finite())
        };
        self.times.is_finite()
            && self.latest.is_finite()
            && (self.shortest, self.step, self.scales.len())
                == (own.shortest, own.step, own.scales.len())
            && self.scales.iter().all(follows)
    }

    /// Takes note of the time of an outcome's decision; returns the latest one. Bounds hold from then on: before it,
    /// some of what they rest on lies in the future.
    #[inline]
    pub(super) fn push(&mut self, time: f64) -> f64 {
        self.times += time;
        self.latest = self.latest.max(time);
        self.latest
    }

    /// Outcomes of the arm at which an end is computed next.
    pub(super) fn due(&self) -> u64 {
        self.scales.iter().map(|scale| scale.due).min().unwrap_or(0)
    }

    /// Outcomes of the window whose bounds are about the tightest, by four standard errors and its age (of length W for an
    /// arm that is always played; all outcomes while there are few), and the mean of their times.
    pub(super) fn tightest(&self, v: f64, now: &Mixture) -> (Mixture, f64) {
        let scales = (self.shortest..).step_by(self.step).zip(&self.scales);
        let full = scales.take_while(|(k, _)| now.count() >= 1 << k);
        let windows = full.map(|(_, Scale { older, .. })| {
            let n = (now.count() - older.mixture.count()) as f64;
            let middle = (self.times - older.times) / n;
            let width = 2.0 / libm::sqrt(n) + v * (self.latest - middle);
            (width, &older.mixture, middle)
        });
        match windows.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((_, before, middle)) => (now.since(before), middle),
            None => (*now, self.times / now.count() as f64),
        }
    }

    /// The tightest b of the windows that are due, given all outcomes' statistics and the levels ln(1/δ_s) of the ends;
    /// those whose time has come start.
    pub(super) fn compute(&mut self, v: f64, now: &Mixture, log_levels: [Option<f64>; 2]) -> Found {
        let (n, times) = (now.count(), self.times);
        let shortest = self.shortest;
        let share = libm::log(self.scales.len() as f64);
        let (mut tightest, mut refuted) = ([None; 2], false);
        for (k, scale) in (shortest..).step_by(self.step).zip(&mut self.scales) {
            if n < scale.due {
                continue;
            }
            let length = 1_u64 << k;
            let mut middle = 0.0;
            // Shorter than its scale, only the shortest has something to say that others do not.
            if n >= length || k == shortest {
                let window = now.since(&scale.older.mixture);
                middle = (times - scale.older.times) / window.count() as f64;
                let j = scale.older.number as f64 + 2.0;
                let extra = share + libm::log(j * libm::log(j) * libm::log(j) / 0.47);
                for (i, end) in [End::Lower, End::Upper].into_iter().enumerate() {
                    let Some(log_level) = log_levels[i] else {
                        continue;
                    };
                    let found = window.end_from(end, log_level + extra, scale.found[i]);
                    scale.found[i] = found;
                    let moved = match end {
                        End::Lower => found + v * middle,
                        End::Upper => found - v * middle,
                    };
                    let best = tightest[i].get_or_insert(moved);
                    *best = end.tighter(*best, moved);
                }
            }
            if n >= length && n % length == 0 {
                // A window's start is the end of the one before the last: they have no outcome in common.
                let ends = scale.found;
                let closed = Closed { ends, middle };
                let is_whole = n >= 2 * length && log_levels.iter().all(Option::is_some);
                if is_whole {
                    let [before, last] = scale.closed;
                    scale.closed = [last, Some(closed)];
                    refuted |= before.is_some_and(|before| before.refutes(v, &closed));
                }
                scale.older = scale.newer;
                scale.newer = Start {
                    mixture: *now,
                    times,
                    number: scale.newer.number + 1,
                };
            }
            scale.due = Self::next(n, length, n - scale.older.mixture.count(), k == shortest);
        }
        Found {
            ends: tightest,
            refuted,
        }
    }

    /// The count at which a window is computed after `n`: when it has grown by a part, and before another one starts.
    fn next(n: u64, length: u64, window: u64, is_shortest: bool) -> u64 {
        let starts = (n / length + 1) * length;
        if n < length && !is_shortest {
            return length;
        }
        starts.min(n + (window / GROWTH).max(1))
    }
}
