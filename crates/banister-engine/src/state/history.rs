//! History of an experiment: a bounded trace of policies, and counts by the minute.

use std::collections::VecDeque;

use banister::{Estimate, Fallback};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::events::PublishedPolicy;
use crate::time::Timestamp;

/// Most points kept; when there are more, every second one goes and the spacing doubles.
const MOST_POINTS: usize = 512;
/// Minutes kept.
const MOST_MINUTES: usize = 240;
/// Spacing of points at first, in microseconds.
const FIRST_SPACING: i64 = 1_000_000;
const MINUTE: i64 = 60_000_000;

/// A bounded trace of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    spacing: i64,
    points: Vec<Point>,
    minutes: VecDeque<Minute>,
}

/// A policy at some moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub time: i64,
    pub reward: Estimate,
    pub optimistic_reward: f64,
    /// True if the safe action was forced.
    pub forced: bool,
    /// Per guardrail: estimate, pessimistic cost, threshold, price.
    pub guardrails: Vec<GuardrailPoint>,
}

/// A guardrail at some moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GuardrailPoint {
    /// The policy's estimated signal.
    pub mean: Option<f64>,
    /// Lower end of its interval.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// As certified.
    pub pessimistic_cost: f64,
    /// Threshold that the signal must not cross.
    pub threshold: f64,
    /// Shadow price: reward per unit of threshold.
    pub price: f64,
}

/// Counts of one minute.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Minute {
    /// Beginning of the minute, in microseconds.
    pub time: i64,
    pub decisions: u64,
    pub outcomes: u64,
    /// Decisions where the safe action was forced.
    pub forced: u64,
}

impl Default for History {
    fn default() -> Self {
        Self {
            spacing: FIRST_SPACING,
            points: Vec::new(),
            minutes: VecDeque::new(),
        }
    }
}

impl History {
    /// The trace, oldest first.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The minutes, oldest first.
    pub fn minutes(&self) -> impl Iterator<Item = &Minute> {
        self.minutes.iter()
    }

    /// A policy was published.
    pub(crate) fn publish(&mut self, time: Timestamp, published: &PublishedPolicy) {
        let last = self.points.last().map_or(i64::MIN, |point| point.time);
        // The first ones after a pause are what people wait for; the rest only fill the trace.
        if time.0.saturating_sub(last) < self.spacing {
            return;
        }
        let guardrails = std::iter::zip(&published.guardrails, &published.estimates.guardrails);
        self.points.push(Point {
            time: time.0,
            reward: published.estimates.reward,
            optimistic_reward: published.optimistic_reward,
            forced: published.fallback.is_some(),
            guardrails: guardrails
                .map(|(certificate, estimate)| GuardrailPoint {
                    mean: estimate.mean,
                    lower: estimate.lower,
                    upper: estimate.upper,
                    pessimistic_cost: certificate.pessimistic_cost,
                    threshold: certificate.threshold,
                    price: certificate.price,
                })
                .collect(),
        });
        if self.points.len() > MOST_POINTS {
            let mut place = 0;
            self.points.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.spacing = self.spacing.saturating_mul(2);
        }
    }

    /// A decision was made.
    pub(crate) fn decide(&mut self, time: Timestamp, fallback: Option<Fallback>) {
        let minute = self.minute(time);
        minute.decisions += 1;
        minute.forced += u64::from(fallback.is_some());
    }

    /// An outcome is complete.
    pub(crate) fn observe(&mut self, time: Timestamp) {
        self.minute(time).outcomes += 1;
    }

    fn minute(&mut self, time: Timestamp) -> &mut Minute {
        let start = time.0 - time.0.rem_euclid(MINUTE);
        if self.minutes.back().is_none_or(|last| last.time < start) {
            if self.minutes.len() == MOST_MINUTES {
                self.minutes.pop_front();
            }
            self.minutes.push_back(Minute {
                time: start,
                ..Minute::default()
            });
        }
        let last = self.minutes.len() - 1;
        &mut self.minutes[last]
    }
}
