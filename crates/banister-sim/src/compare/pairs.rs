//! Paired differences of agents, on each instance and over all of them.

use banister::guarantee::Guarantee;

use super::board::{PromiseVerdict, Standing};
use super::sample::{Interval95, Sample};

/// Paired difference of two agents, run by run on the same outcomes.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair<'a> {
    /// Agent that stands lower on the leaderboard.
    pub agent: &'a Standing<'a>,
    /// Agent that it is compared with.
    pub other: &'a Standing<'a>,
    /// Regret of `agent` minus regret of `other`, with an interval that holds together with those of all other pairs of
    /// the comparison.
    pub difference: Interval95,
    /// Difference with an interval for this pair alone, valid if the pair was chosen before looking at the results.
    pub alone: Interval95,
    /// Gain of pairing: width of the interval if the runs had not shared outcomes, divided by its width. NaN where
    /// there is nothing to divide.
    pub gain: f64,
}

/// Compares pairs of agents on each instance: those with the same promise, and our own agents with every other, in the
/// leaderboard's order, the better one second. Agents that promise nothing are compared with our own only.
///
/// The 95% intervals of all pairs of all instances hold at once: each is Student's at level 1 − 0.05/n, n the
/// number of pairs (Bonferroni).
pub fn pairs<'a>(boards: &'a [Vec<Standing<'a>>]) -> Vec<Vec<Pair<'a>>> {
    let compared: Vec<Vec<_>> = boards.iter().map(|board| compared(board)).collect();
    let family = compared.iter().map(Vec::len).sum();
    let pair = |(agent, other)| Pair::new(agent, other, family);
    let each = compared.into_iter();
    each.map(|on| on.into_iter().map(pair).collect()).collect()
}

/// The pairs of an instance.
fn compared<'a>(board: &'a [Standing<'a>]) -> Vec<(&'a Standing<'a>, &'a Standing<'a>)> {
    let each = board.iter().enumerate().flat_map(|(i, other)| {
        let worse = board[i + 1..].iter();
        worse.map(move |agent| (agent, other))
    });
    each.filter(|(a, b)| are_compared(a, b)).collect()
}

fn are_compared(a: &Standing<'_>, b: &Standing<'_>) -> bool {
    let (a, b) = (a.agent, b.agent);
    let promised = a.guarantee == b.guarantee && a.guarantee != Guarantee::Unsafe;
    promised || a.ours || b.ours
}

impl<'a> Pair<'a> {
    fn new(agent: &'a Standing<'a>, other: &'a Standing<'a>, family: usize) -> Self {
        let runs = std::iter::zip(&agent.agent.runs, &other.agent.runs);
        let differences = Sample::of(runs.map(|(a, b)| a.regret - b.regret));
        let alone = differences.interval(1);
        let half = |i: Interval95| i.high - i.mean;
        Self {
            agent,
            other,
            difference: differences.interval(family),
            alone,
            gain: half(agent.regret).hypot(half(other.regret)) / half(alone),
        }
    }

    /// Share of the possible gain that `agent` lost beyond `other`.
    fn lost(&self) -> f64 {
        self.agent.lost - self.other.lost
    }
}

/// Paired difference of two agents over all instances that both played.
#[derive(Debug, Clone, PartialEq)]
pub struct Overall<'a> {
    /// Agent that lost more on average, as it stands on the first of them.
    pub agent: &'a Standing<'a>,
    /// Agent that it is compared with.
    pub other: &'a Standing<'a>,
    /// Number of instances.
    pub instances: u64,
    /// Mean over instances of the share of the possible gain that `agent` lost beyond `other`, with an interval that
    /// holds together with those of all other rows.
    pub difference: Interval95,
    /// Instances on which `agent` had less regret, and those on which its paired interval is below zero.
    pub won: [u64; 2],
    /// Instances on which it had more, and those on which its paired interval is above zero.
    pub lost: [u64; 2],
    /// Instances on which `agent` and `other` broke their promise.
    pub broke: [u64; 2],
}

/// Compares the same pairs as [`pairs`] over all instances that both agents played, two at least.
///
/// Regrets of different instances cannot be averaged, and a ratio of regrets means nothing near zero. The measure is
/// the share of the possible gain that was lost: regret divided by what the best feasible policies earn beyond the
/// safe action. The interval is Student's over instances, at level 1 − 0.05/n for n rows: it speaks of instances
/// of which these are a sample.
pub fn overall<'a>(boards: &'a [Vec<Standing<'a>>]) -> Vec<Overall<'a>> {
    let paired: Vec<Pair<'_>> = pairs(boards).into_iter().flatten().collect();
    // Which of two agents is the better one differs from instance to instance: 1 as on the first, else −1.
    let mut rows: Vec<Vec<(f64, &Pair<'_>)>> = Vec::new();
    for pair in paired.iter().filter(|pair| pair.lost().is_finite()) {
        let names = (pair.agent.name(), pair.other.name());
        let mut known = rows.iter_mut().filter_map(|row| {
            let first = (row[0].1.agent.name(), row[0].1.other.name());
            let is_turned = first == (names.1, names.0);
            let sign = if is_turned { -1.0 } else { 1.0 };
            (is_turned || first == names).then_some((row, sign))
        });
        match known.next() {
            Some((row, sign)) => row.push((sign, pair)),
            None => rows.push(vec![(1.0, pair)]),
        }
    }
    rows.retain(|row| row.len() >= 2);
    let family = rows.len();
    rows.iter().map(|row| Overall::of(row, family)).collect()
}

impl<'a> Overall<'a> {
    /// Sums up the instances of a pair, each with the sign of its difference.
    fn of(row: &[(f64, &Pair<'a>)], family: usize) -> Self {
        let mean = row.iter().map(|(sign, pair)| sign * pair.lost());
        let turn = if mean.sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
        let differences = row.iter().map(|(sign, pair)| turn * sign * pair.lost());
        let count = |side: f64| {
            let there =
                |(sign, pair): &&(f64, &Pair<'_>)| side * turn * sign * pair.difference.mean > 0.0;
            let all = row.iter().filter(there);
            let clear = all.clone().filter(|(_, pair)| pair.difference.is_clear());
            [all.count() as u64, clear.count() as u64]
        };
        let broke = |own: &Standing<'_>| {
            let both = row.iter().flat_map(|(_, pair)| [pair.agent, pair.other]);
            let broken = both.filter(|s| s.kept == Some(PromiseVerdict::No));
            broken.filter(|s| s.name() == own.name()).count() as u64
        };
        let first = row[0].1;
        let (agent, other) = if turn < 0.0 {
            (first.other, first.agent)
        } else {
            (first.agent, first.other)
        };
        Self {
            agent,
            other,
            instances: row.len() as u64,
            difference: Sample::of(differences).interval(family),
            won: count(-1.0),
            lost: count(1.0),
            broke: [broke(agent), broke(other)],
        }
    }
}
