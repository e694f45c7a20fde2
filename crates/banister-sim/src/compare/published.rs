//! Published numbers beside ours, with a tolerance and a verdict.

use super::board::Interval95;
use crate::run::Gathered;

/// Quantity that a published number measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Final regret against the best policy.
    Regret,
    /// Final regret against the best single action, played at the largest part of its length that is safe.
    ActionRegret,
    /// Regret against the best single action, divided by √T.
    ActionRegretPerRoot,
}

impl Quantity {
    /// Name of the quantity in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Regret => "regret",
            Self::ActionRegret => "regret against the best action",
            Self::ActionRegretPerRoot => "regret against the best action, divided by √T",
        }
    }
}

/// A published number.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// The instance it is about.
    pub instance: String,
    /// The agent, by its label.
    pub agent: String,
    /// Quantity it measures.
    pub quantity: Quantity,
    /// Its value.
    pub value: f64,
    /// Largest relative distance of ours from it.
    pub tolerance: f64,
    /// The rounds it is for.
    pub horizon: u64,
    /// The runs it is the mean of, where these are particular ones.
    pub runs: Option<u64>,
    /// Citation of where it stands.
    pub source: &'static str,
}

/// Comparison of a published number with ours.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Ours, whose mean is within the tolerance.
    Agrees(Interval95),
    /// Ours, whose mean is outside while its interval reaches inside: more runs would tell.
    Undecided(Interval95),
    /// Ours, whose whole interval is outside.
    Differs(Interval95),
    /// Ours were other rounds.
    OtherHorizon(u64),
    /// Ours were not all of the runs it is about.
    FewerRuns(u64),
    /// The agent did not play.
    Absent,
}

impl Verdict {
    /// Name of the verdict in a word or two.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Agrees(_) => "agrees",
            Self::Undecided(_) => "undecided",
            Self::Differs(_) => "differs",
            Self::OtherHorizon(_) => "other horizon",
            Self::FewerRuns(_) => "fewer runs",
            Self::Absent => "absent",
        }
    }

    /// Our number, where there is one to compare.
    pub fn ours(&self) -> Option<&Interval95> {
        match self {
            Self::Agrees(ours) | Self::Undecided(ours) | Self::Differs(ours) => Some(ours),
            Self::OtherHorizon(_) | Self::FewerRuns(_) | Self::Absent => None,
        }
    }
}

/// Compares every published number whose instance was played.
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
    let runs = experiment.resolved.run.runs;
    if number.runs.is_some_and(|needed| runs < needed) {
        return Verdict::FewerRuns(runs);
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
    let (least, most) = (number.value - room, number.value + room);
    if ours.mean >= least && ours.mean <= most {
        Verdict::Agrees(ours)
    } else if ours.low <= most && ours.high >= least {
        Verdict::Undecided(ours)
    } else {
        // Also where there is no interval, with one run.
        Verdict::Differs(ours)
    }
}
