//! History of an experiment: a bounded trace of policies, and counts by the minute.

use std::collections::VecDeque;

use banister::decision::SegmentCertificate;
use banister::lift::LiftInterval;
use banister::{Estimate, Fallback};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::events::PublishedPolicy;
use crate::time::Timestamp;

/// Most points kept; when there are more, half of them go and the spacing doubles.
const MOST_POINTS: usize = 512;
/// Most points kept where decisions have segments, which share them.
const MOST_IN_SEGMENTS: usize = 2048;
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Time of publication.
    pub time: Timestamp,
    /// Its estimated reward.
    pub reward: Estimate,
    /// Its optimistic reward.
    pub optimistic_reward: f64,
    /// True if the safe action was forced.
    pub forced: bool,
    /// One entry per guardrail; of scope `overall`, certified for all segments together.
    pub guardrails: Vec<GuardrailPoint>,
    /// The segment that reward, estimates and guardrails of scope `each` are of, where decisions have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<SegmentCertificate>,
    /// Lifts of the reward over the safe arm's at that time, by arm, where arms are few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lifts: Vec<(String, LiftInterval)>,
}

impl Point {
    /// Segment whose policy it is: its name, or none for the pool.
    fn owner(segment: Option<&SegmentCertificate>) -> Option<&str> {
        let own = segment.filter(|own| !own.pooled);
        own.map(|own| own.name.as_str())
    }
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
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Minute {
    /// Beginning of the minute.
    pub time: Timestamp,
    /// Decisions.
    pub decisions: u64,
    /// Outcomes.
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

    /// Lifts at the time of the last point.
    pub(crate) fn lift(&mut self, lifts: Vec<(String, LiftInterval)>) {
        if let Some(last) = self.points.last_mut() {
            last.lifts = lifts;
        }
    }

    /// A policy was published; true if it is kept.
    pub(crate) fn publish(&mut self, time: Timestamp, published: &PublishedPolicy) -> bool {
        let owner = Point::owner(published.segment.as_ref());
        let mut recent = (self.points.iter().rev())
            .take_while(|point| time.0.saturating_sub(point.time.0) < self.spacing);
        // The first ones after a pause are what people wait for; the rest only fill the trace.
        if recent.any(|point| Point::owner(point.segment.as_ref()) == owner) {
            return false;
        }
        let guardrails = std::iter::zip(&published.guardrails, &published.estimates.guardrails);
        self.points.push(Point {
            time,
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
            segment: published.segment.clone(),
            lifts: Vec::new(),
        });
        let has_segments = published.segment.is_some();
        let most = if has_segments {
            MOST_IN_SEGMENTS
        } else {
            MOST_POINTS
        };
        if self.points.len() > most {
            let mut place = 0_u32;
            self.points.retain(|_| {
                place += 1;
                // Of segments that take turns every second point may be all of one. The Thue–Morse sequence has no
                // period, and leaves some of each.
                let turn = if has_segments {
                    place.count_ones()
                } else {
                    place
                };
                turn % 2 == 1
            });
            self.spacing = self.spacing.saturating_mul(2);
        }
        true
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
        let start = Timestamp(time.0 - time.0.rem_euclid(MINUTE));
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
