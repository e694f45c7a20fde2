//! Ranks of agents over many instances.

use banister::guarantee::Guarantee;
use serde::{Serialize, Serializer};

use super::board::{PromiseVerdict, Standing};
use super::rank_tests::{Friedman, critical_difference, friedman, holm, ranks, signed_rank};

/// Fewest instances that ranks are averaged over.
const LEAST: usize = 6;

/// Significance of differences.
const LEVEL: f64 = 0.05;

/// Ranks of the agents of one promise over the instances that all of them played.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranking {
    /// The promise.
    #[serde(rename = "group")]
    pub guarantee: Guarantee,
    /// Names of the instances.
    pub instances: Vec<String>,
    /// Agents that kept their promise on all of them, the least mean rank first.
    pub agents: Vec<Ranked>,
    /// Agents of the same promise without a rank.
    pub unranked: Vec<Unranked>,
    /// Test of the hypothesis that all are equal.
    pub friedman: Friedman,
    /// Nemenyi's critical difference of mean ranks, for comparison with the literature.
    pub critical_difference: f64,
    /// All pairs of the ranked agents.
    pub pairs: Vec<RankPair>,
    /// First and last place of each run of two or more agents of which no two differ significantly.
    #[serde(skip)]
    pub ties: Vec<(usize, usize)>,
}

/// Mean rank of an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// Label of the agent.
    pub agent: String,
    /// Mean rank by regret, 1 being the best.
    pub mean_rank: f64,
}

/// An agent without a mean rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unranked {
    /// Label of the agent.
    pub agent: String,
    /// Reason, for programs in words.
    pub reason: LeftUnranked,
}

/// Reason why an agent has no mean rank, with a number of instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftUnranked {
    /// Instances on which its promise was broken, or not shown to be kept.
    NotKept(u64),
    /// Instances on which it exceeded a cumulative budget by more than noise explains.
    Exceeded(u64),
    /// Instances that it played, where they are not those of the others.
    Played(u64),
}

impl LeftUnranked {
    /// The reason in words.
    pub fn words(self) -> String {
        match self {
            Self::NotKept(count) => format!("promise not shown to be kept on {count}"),
            Self::Exceeded(count) => format!("budget exceeded on {count}"),
            Self::Played(count) => format!("played on {count} only"),
        }
    }
}

impl Serialize for LeftUnranked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.words())
    }
}

/// Test of the difference between two agents over the instances.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankPair {
    /// Agent with the larger mean rank.
    pub agent: String,
    /// Agent that it is compared with.
    pub other: String,
    /// Probability of such differences if neither is better: Wilcoxon's signed-rank test on shares of the possible gain
    /// lost.
    pub p: f64,
    /// `p` adjusted for the number of pairs (Holm).
    pub p_adjusted: f64,
}

impl RankPair {
    /// True where the two differ significantly at 5%.
    pub fn is_clear(&self) -> bool {
        self.p_adjusted < LEVEL
    }
}

/// Ranks agents over instances, one ranking per promise with at least two agents on at least six instances in common.
///
/// Agents that did not keep their promise everywhere have no rank, nor those that a promise of slow growth let exceed
/// a budget by more than noise explains: what that earns would count as merit. Of the others the largest table without
/// holes counts: for the agents on each instance, the instances that all of them played; of these the table with most
/// cells.
///
/// Mean ranks and Friedman's test are as in Demšar (2006). Pairs are compared by Wilcoxon's signed-rank test with
/// Holm's correction rather than by mean ranks with Nemenyi's critical difference: the latter makes a verdict on two
/// agents depend on the others in the pool (Benavoli, Corani and Mangili 2016) and is conservative (García and Herrera
/// 2008).
pub fn rankings(boards: &[Vec<Standing<'_>>]) -> Vec<Ranking> {
    let promised = Guarantee::ALL.into_iter();
    let promised = promised.filter(|guarantee| *guarantee != Guarantee::Unsafe);
    promised
        .filter_map(|guarantee| ranking(guarantee, boards))
        .collect()
}

fn ranking(guarantee: Guarantee, boards: &[Vec<Standing<'_>>]) -> Option<Ranking> {
    let is_of = |own: &&Standing<'_>| own.agent.guarantee == guarantee;
    let all = || boards.iter().flatten().filter(is_of);
    let count = |name: &str, which: fn(&Standing<'_>) -> bool| {
        let own = all().filter(|own| own.name() == name && which(own));
        own.count() as u64
    };
    let reason = |name: &str| {
        let not_kept = count(name, |own| own.kept != Some(PromiseVerdict::Yes));
        let exceeded = count(name, |own| own.exceeds);
        match (not_kept, exceeded) {
            (0, 0) => None,
            (0, on) => Some(LeftUnranked::Exceeded(on)),
            (on, _) => Some(LeftUnranked::NotKept(on)),
        }
    };
    // Where nothing can be gained no agent is better.
    let players = |board: &Vec<Standing<'_>>| -> Vec<String> {
        let known = board
            .iter()
            .filter(is_of)
            .filter(|own| own.lost.is_finite());
        let kept = known.filter(|own| reason(own.name()).is_none());
        kept.map(|own| own.name().to_string()).collect()
    };
    let fields: Vec<Vec<String>> = boards.iter().map(players).collect();
    let common = |agents: &[String]| -> Vec<usize> {
        let all = |at: &usize| agents.iter().all(|agent| fields[*at].contains(agent));
        (0..fields.len()).filter(all).collect()
    };
    let tables = fields.iter().map(|agents| (agents, common(agents)));
    let tables = tables.filter(|(agents, on)| agents.len() >= 2 && on.len() >= LEAST);
    // The first of equally large ones.
    let size = |table: &(&Vec<String>, Vec<usize>)| table.0.len() * table.1.len();
    let (agents, on) = tables.rev().max_by_key(size)?;
    // Shares of the possible gain lost, by instance.
    let lost = |agent: &String| -> Vec<f64> {
        let own = |at: &usize| boards[*at].iter().find(|own| own.name() == *agent);
        let each = on.iter().map(own);
        each.map(|own| own.map_or(f64::NAN, |own| own.lost))
            .collect()
    };
    let by_agent: Vec<Vec<f64>> = agents.iter().map(lost).collect();
    let mut sums = vec![0.0; agents.len()];
    for at in 0..on.len() {
        let values: Vec<f64> = by_agent.iter().map(|lost| lost[at]).collect();
        for (sum, rank) in sums.iter_mut().zip(ranks(&values)) {
            *sum += rank;
        }
    }
    let mut ranked: Vec<(Ranked, Vec<f64>)> = std::iter::zip(agents, sums)
        .map(|(agent, sum)| Ranked {
            agent: agent.clone(),
            mean_rank: sum / on.len() as f64,
        })
        .zip(by_agent)
        .collect();
    ranked.sort_by(|(a, _), (b, _)| a.mean_rank.total_cmp(&b.mean_rank));
    let mut pairs = Vec::new();
    for (i, (other, theirs)) in ranked.iter().enumerate() {
        for (agent, own) in &ranked[i + 1..] {
            let differences: Vec<f64> = own.iter().zip(theirs).map(|(a, b)| a - b).collect();
            pairs.push(RankPair {
                agent: agent.agent.clone(),
                other: other.agent.clone(),
                p: signed_rank(&differences),
                p_adjusted: f64::NAN,
            });
        }
    }
    let adjusted = holm(&pairs.iter().map(|pair| pair.p).collect::<Vec<_>>());
    for (pair, p) in pairs.iter_mut().zip(adjusted) {
        pair.p_adjusted = p;
    }
    let ranked: Vec<Ranked> = ranked.into_iter().map(|(own, _)| own).collect();
    let means: Vec<f64> = ranked.iter().map(|own| own.mean_rank).collect();
    let mut unranked: Vec<Unranked> = Vec::new();
    for name in all().map(Standing::name) {
        let is_listed = unranked.iter().any(|own| own.agent == name);
        if !is_listed && !agents.iter().any(|agent| agent == name) {
            let played = || LeftUnranked::Played(count(name, |_| true));
            unranked.push(Unranked {
                agent: name.to_string(),
                reason: reason(name).unwrap_or_else(played),
            });
        }
    }
    Some(Ranking {
        guarantee,
        instances: (on.iter().filter_map(|at| boards[*at].first()))
            .map(|own| own.instance.name.clone())
            .collect(),
        unranked,
        friedman: friedman(&means, on.len()),
        critical_difference: critical_difference(ranked.len(), on.len()),
        ties: ties(&ranked, &pairs),
        agents: ranked,
        pairs,
    })
}

/// Longest runs of neighbours of which no two differ significantly.
fn ties(ranked: &[Ranked], pairs: &[RankPair]) -> Vec<(usize, usize)> {
    let clear = |a: usize, b: usize| {
        let same =
            |pair: &&RankPair| pair.agent == ranked[b].agent && pair.other == ranked[a].agent;
        pairs.iter().find(same).is_some_and(RankPair::is_clear)
    };
    let mut ties: Vec<(usize, usize)> = Vec::new();
    for first in 0..ranked.len() {
        let mut last = first;
        while last + 1 < ranked.len() && (first..=last).all(|at| !clear(at, last + 1)) {
            last += 1;
        }
        if last > first && ties.last().is_none_or(|before| last > before.1) {
            ties.push((first, last));
        }
    }
    ties
}
