//! The assumptions behind a certificate, and what watches each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Monitor;
use crate::problem::{CheckedProblem, Direction, Standard};

/// An assumption that certificates rest on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Assumption {
    /// The assumption, in words.
    pub text: String,
    /// True if a test would notice that it is false.
    pub watched: bool,
}

impl Assumption {
    fn new(text: impl Into<String>, watched: bool) -> Self {
        Self {
            text: text.into(),
            watched,
        }
    }

    /// That of a warm start: what is chosen by looking at outcomes is not bounded by the same outcomes.
    pub fn of_log() -> Self {
        Self::declared(
            "arms, thresholds and ranges were chosen without looking at the logged outcomes it learned from",
        )
    }

    /// An assumption that nothing can watch.
    pub(crate) fn declared(text: impl Into<String>) -> Self {
        Self::new(text, false)
    }
}

impl Monitor {
    /// The assumptions that every watched agent makes about a problem.
    pub(crate) fn assumptions(&self, problem: &CheckedProblem) -> Vec<Assumption> {
        let guardrails = &problem.guardrails;
        let unwatched = (0..guardrails.len()).find(|&i| !self.watches(i));
        let moving: Vec<String> = (problem.each_signal())
            .filter_map(|(name, signal)| Some((name, signal.drift.filter(|drift| drift.by > 0.0)?)))
            .map(|(name, drift)| format!("{name} by at most {drift}"))
            .collect();
        let mut still = "means do not change".to_string();
        if !moving.is_empty() {
            still += &format!(", but those of {}", moving.join(", "));
        }
        let mut list = vec![
            Assumption::new(
                match unwatched {
                    None => still,
                    Some(i) => format!(
                        "{still} (`{}` is {} relative to the safe action's, which no detector covers)",
                        guardrails[i].name,
                        if guardrails[i].per.is_some() {
                            "a ratio"
                        } else {
                            "sub-Gaussian and"
                        }
                    ),
                },
                unwatched.is_none(),
            ),
            Assumption::declared(
                "outcomes of different decisions are independent: one decision per user, ever",
            ),
            Assumption::declared("outcomes arrive independently of their value"),
        ];
        if self.saved.logged {
            list.push(Assumption::of_log());
        }
        for (i, guardrail) in guardrails.iter().enumerate() {
            let name = &guardrail.name;
            if let (Some(_), Some(cost)) = (&self.declared[i], guardrail.safe_cost) {
                let cost = guardrail.signal_of(cost);
                list.push(Assumption::new(
                    format!("the safe action's mean {name} is {cost}"),
                    true,
                ));
            } else {
                list.push(Assumption::declared(format!(
                    "the safe action keeps {name}, by a margin that is learned"
                )));
            }
            if problem.sums().iter().any(|sum| sum.guardrail == i) {
                list.push(Assumption::declared(format!(
                    "{name} is charged by the weights told before each decision"
                )));
            }
            if guardrail.signal.capped {
                list.push(Assumption::declared(capped(guardrail)));
            }
            if let Some(r) = guardrail.signal.sub_gaussian {
                list.push(Assumption::declared(format!(
                    "{name} is sub-Gaussian with constant {r}"
                )));
            }
        }
        list
    }
}

/// Consequence of a cap for what is promised about a guardrail.
fn capped(guardrail: &Standard) -> String {
    let (name, cap) = (&guardrail.name, guardrail.signal.hi);
    let (words, threshold) = (guardrail.direction.words(), guardrail.shown_threshold);
    if guardrail.factor != 0.0 {
        let factor = guardrail.factor;
        return format!(
            "the mean of {name} capped at {cap}, not the mean itself, is kept {words} {factor} times the \
             safe action's"
        );
    }
    match guardrail.direction {
        Direction::AtMost => format!(
            "the mean of {name} capped at {cap}, not the mean itself, is kept {words} {threshold}"
        ),
        Direction::AtLeast => format!(
            "the mean of {name} capped at {cap} is kept {words} {threshold}; the mean itself is no lower"
        ),
    }
}
