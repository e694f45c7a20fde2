//! Published numbers beside ours, with a verdict.

use serde::Deserialize;

use super::sample::{Interval95, Sample, student_quantile};
use crate::run::Gathered;

/// Quantity that a published number measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Final regret against the best policy.
    Regret,
    /// Final regret against the best single action, played at the largest part of its length that is safe.
    ActionRegret,
    /// Regret against the best single action, divided by √T.
    ActionRegretPerRoot,
    /// Rounds of a run that broke a guardrail.
    Violations,
}

impl Quantity {
    /// Name of the quantity in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Regret => "regret",
            Self::ActionRegret => "regret against the best action",
            Self::ActionRegretPerRoot => "regret against the best action, divided by √T",
            Self::Violations => "rounds that violated",
        }
    }
}

/// Standard deviation of runs, with n − 1 in the denominator, and n, their number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Standard deviation.
    pub sd: f64,
    /// n, the number of runs.
    pub runs: u64,
}

impl Spread {
    /// The spread of `runs` values whose standard deviation was published with n in the denominator.
    pub fn of_population(sd: f64, runs: u64) -> Self {
        let n = runs as f64;
        Self {
            sd: sd * (n / (n - 1.0)).sqrt(),
            runs,
        }
    }
}

/// A published number.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedNumber {
    /// The instance it is about.
    pub instance: String,
    /// The agent, by its label.
    pub agent: String,
    /// Quantity it measures.
    pub quantity: Quantity,
    /// Its value.
    pub value: f64,
    /// Relative distance within which ours counts as equal.
    pub margin: f64,
    /// Spread of the runs that it is the mean of, where that was published; without, it is taken as exact.
    pub spread: Option<Spread>,
    /// The rounds it is for.
    pub horizon: u64,
    /// The runs it is the mean of, where these are particular ones.
    pub runs: Option<u64>,
    /// Citation of where it stands.
    pub source: String,
}

/// Comparison of a published number with ours, by Welch's interval of the difference of the two means.
///
/// Ours agrees if two one-sided tests at level 5% reject that it is off by the margin or more: the 90% interval is
/// within the margin (Schuirmann 1987). It differs if the interval at level 0.05 divided by the number of rows
/// (Bonferroni), which holds for all rows together, is wholly outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Ours is shown to be near enough.
    Agrees(Interval95),
    /// Ours is neither: more runs would decide.
    Undecided(Interval95),
    /// Ours is shown to be too far away.
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

/// Our values of a published quantity over runs, or the verdict where there are none to compare.
pub type Ours = Result<Sample, Verdict>;

/// Compares every published number whose instance was played.
pub fn verdicts<'p>(
    published: &'p [PublishedNumber],
    gathered: &[Gathered<'_>],
) -> Vec<(&'p PublishedNumber, Verdict)> {
    judged(measured(published, gathered))
}

/// Measures every published quantity whose instance was played.
pub fn measured<'p>(
    published: &'p [PublishedNumber],
    gathered: &[Gathered<'_>],
) -> Vec<(&'p PublishedNumber, Ours)> {
    let measured = published.iter().filter_map(|number| {
        let instance = (gathered.iter()).find(|g| g.experiment.name == number.instance)?;
        Some((number, measure(number, instance)))
    });
    measured.collect()
}

/// Judges what was measured for one table.
pub(super) fn judged(measured: Vec<(&PublishedNumber, Ours)>) -> Vec<(&PublishedNumber, Verdict)> {
    let together = measured.iter().filter(|(_, ours)| ours.is_ok()).count();
    measured
        .into_iter()
        .map(|(number, ours)| {
            let verdict = ours.map_or_else(|why| why, |ours| judge(number, &ours, together));
            (number, verdict)
        })
        .collect()
}

fn measure(number: &PublishedNumber, gathered: &Gathered<'_>) -> Ours {
    let experiment = gathered.experiment;
    let horizon = experiment.resolved.run.horizon;
    let place = (experiment.agents.iter()).position(|(label, _)| *label == number.agent);
    let Some(place) = place else {
        return Err(Verdict::Absent);
    };
    if horizon != number.horizon {
        return Err(Verdict::OtherHorizon(horizon));
    }
    let runs = experiment.resolved.run.runs;
    if number.runs.is_some_and(|needed| runs < needed) {
        return Err(Verdict::FewerRuns(runs));
    }
    let rounds = horizon as f64;
    let traces = gathered.agents[place].iter();
    let values = traces.map(|trace| {
        let summary = &trace.summary;
        let by_action = || {
            let gap = experiment.gap_of_actions(summary.run).unwrap_or(f64::NAN);
            summary.regret - rounds * gap
        };
        match number.quantity {
            Quantity::Regret => summary.regret,
            Quantity::ActionRegret => by_action(),
            Quantity::ActionRegretPerRoot => by_action() / rounds.sqrt(),
            Quantity::Violations => summary.violations.map_or(f64::NAN, |n| n as f64),
        }
    });
    Ok(Sample::of(values))
}

/// Judges our values, one of `together` rows of a table.
fn judge(number: &PublishedNumber, sample: &Sample, together: usize) -> Verdict {
    let ours = sample.interval(1);
    let margin = number.margin * number.value.abs();
    let difference = Welch::new(sample, number);
    // Comparisons with NaN, which is the error of one run, decide nothing.
    if difference.is_within(margin, 0.90) {
        Verdict::Agrees(ours)
    } else if difference.is_beyond(margin, 1.0 - 0.05 / together.max(1) as f64) {
        Verdict::Differs(ours)
    } else {
        Verdict::Undecided(ours)
    }
}

/// Difference of two means of independent runs, whose variances need not be equal (Welch 1947).
struct Welch {
    /// Distance of the two means.
    distance: f64,
    /// Its standard error; NaN where either mean is of one run.
    error: f64,
    /// Degrees of freedom (Satterthwaite), rounded down, which makes intervals wider.
    freedom: u64,
}

impl Welch {
    fn new(ours: &Sample, published: &PublishedNumber) -> Self {
        let part = |sd: f64, runs: u64| [sd * sd / runs as f64, runs as f64 - 1.0];
        let own = part(ours.sd, ours.runs);
        let theirs = (published.spread).map_or([0.0, 1.0], |theirs| part(theirs.sd, theirs.runs));
        let square = own[0] + theirs[0];
        let spread = own[0] * own[0] / own[1] + theirs[0] * theirs[0] / theirs[1];
        Self {
            distance: (ours.mean - published.value).abs(),
            error: square.sqrt(),
            // Not a number, where nothing varies, becomes 1; a whole number that rounding left below it stays one.
            freedom: (square * square / spread + 1e-9).max(1.0) as u64,
        }
    }

    fn half(&self, confidence: f64) -> f64 {
        student_quantile(confidence, self.freedom) * self.error
    }

    /// True if the interval exists and is within a distance from 0.
    fn is_within(&self, margin: f64, confidence: f64) -> bool {
        self.distance + self.half(confidence) <= margin
    }

    /// True if the interval exists and is wholly farther from 0.
    fn is_beyond(&self, margin: f64, confidence: f64) -> bool {
        self.distance - self.half(confidence) > margin
    }
}
