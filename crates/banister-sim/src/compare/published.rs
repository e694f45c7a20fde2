//! Published numbers beside ours, with a tolerance and a verdict.

use super::board::Interval95;
use crate::shard::Gathered;

/// What a published number measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Final regret against the best policy.
    Regret,
    /// Final regret against the best single action, played at the largest part of its length that is safe.
    ActionRegret,
    /// The same divided by √T.
    ActionRegretPerRoot,
}

impl Quantity {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Regret => "regret",
            Self::ActionRegret => "regret against the best action",
            Self::ActionRegretPerRoot => "regret against the best action, divided by √T",
        }
    }
}

/// A number that somebody published.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// The instance it is about.
    pub instance: String,
    /// The agent, by its label.
    pub agent: String,
    /// What it measures.
    pub quantity: Quantity,
    /// The number.
    pub value: f64,
    /// How far ours may be from it, relative to it, beside the width of our interval.
    pub tolerance: f64,
    /// The rounds it is for.
    pub horizon: u64,
    /// Where it stands.
    pub source: &'static str,
}

/// What came of one.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Ours, within the tolerance.
    Agrees(Interval95),
    /// Ours, outside.
    Differs(Interval95),
    /// Ours were other rounds.
    OtherHorizon(u64),
    /// The agent did not play.
    Absent,
}

/// A verdict on every published number whose instance was played.
pub fn verdicts<'p>(
    published: &'p [Published],
    gathered: &[Gathered<'_>],
) -> Vec<(&'p Published, Verdict)> {
    let mut all = Vec::new();
    for number in published {
        let instance = (gathered.iter()).find(|g| g.experiment.name == number.instance);
        if let Some(instance) = instance {
            all.push((number, verdict(number, instance)));
        }
    }
    all
}

fn verdict(number: &Published, gathered: &Gathered<'_>) -> Verdict {
    let experiment = gathered.experiment;
    let horizon = experiment.resolved.run.horizon;
    let place = (experiment.agents.iter()).position(|(label, _)| *label == number.agent);
    let Some(place) = place else {
        return Verdict::Absent;
    };
    if horizon != number.horizon {
        return Verdict::OtherHorizon(horizon);
    }
    let rounds = horizon as f64;
    let traces = &gathered.agents[place];
    let regrets: Vec<f64> = traces
        .iter()
        .map(|trace| {
            let summary = &trace.summary;
            let by_action = || {
                let gap = experiment.gap_of_actions(summary.run).unwrap_or(f64::NAN);
                summary.regret - rounds * gap
            };
            match number.quantity {
                Quantity::Regret => summary.regret,
                Quantity::ActionRegret => by_action(),
                Quantity::ActionRegretPerRoot => by_action() / rounds.sqrt(),
            }
        })
        .collect();
    let ours = Interval95::of(regrets.iter().copied());
    let room = number.tolerance * number.value.abs();
    // Our own uncertainty is no disagreement.
    let low = if ours.low.is_nan() {
        ours.mean
    } else {
        ours.low
    };
    let high = if ours.high.is_nan() {
        ours.mean
    } else {
        ours.high
    };
    match low <= number.value + room && high >= number.value - room {
        true => Verdict::Agrees(ours),
        false => Verdict::Differs(ours),
    }
}
