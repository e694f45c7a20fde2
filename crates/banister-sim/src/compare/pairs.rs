//! Paired differences of agents, on each instance and over all of them.

use banister::guarantee::Guarantee;

use super::board::{Interval95, PromiseVerdict, Standing, leaderboard};
use crate::results::{AgentResult, InstanceResult};

/// Paired difference of two agents, run by run on the same outcomes.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Name of the instance.
    pub instance: String,
    /// Agent that stands lower on the leaderboard.
    pub agent: String,
    /// Agent that it is compared with.
    pub other: String,
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
pub fn pairs(instances: &[InstanceResult]) -> Vec<Vec<Pair>> {
    let compared: Vec<Vec<(&AgentResult, &AgentResult)>> = instances.iter().map(compared).collect();
    let family = compared.iter().map(Vec::len).sum();
    let each = |(instance, on): (&InstanceResult, Vec<(&AgentResult, &AgentResult)>)| {
        (on.into_iter())
            .map(|(agent, other)| pair(&instance.name, agent, other, family))
            .collect()
    };
    instances.iter().zip(compared).map(each).collect()
}

/// The pairs of an instance.
fn compared(instance: &InstanceResult) -> Vec<(&AgentResult, &AgentResult)> {
    let order = leaderboard(instance);
    let place = |agent: &AgentResult| order.iter().position(|own| own.agent == agent.name);
    let mut agents: Vec<&AgentResult> = instance.agents.iter().collect();
    agents.sort_by_key(|agent| place(agent));
    let mut all = Vec::new();
    for (i, other) in agents.iter().enumerate() {
        let worse = agents[i + 1..].iter();
        all.extend(
            worse
                .filter(|agent| are_compared(agent, other))
                .map(|agent| (*agent, *other)),
        );
    }
    all
}

fn are_compared(a: &AgentResult, b: &AgentResult) -> bool {
    let promised = a.guarantee == b.guarantee && a.guarantee != Guarantee::Unsafe;
    promised || a.ours || b.ours
}

fn pair(instance: &str, a: &AgentResult, b: &AgentResult, family: usize) -> Pair {
    let differences = a.runs.iter().zip(&b.runs).map(|(a, b)| a.regret - b.regret);
    let alone = Interval95::of(differences.clone());
    let half = |i: Interval95| i.high - i.mean;
    let own = |agent: &AgentResult| half(Interval95::of(agent.runs.iter().map(|r| r.regret)));
    Pair {
        instance: instance.to_string(),
        agent: a.name.clone(),
        other: b.name.clone(),
        difference: Interval95::among(family, differences),
        alone,
        gain: own(a).hypot(own(b)) / half(alone),
    }
}

/// Paired difference of two agents over all instances that both played.
#[derive(Debug, Clone, PartialEq)]
pub struct Overall {
    /// Agent that lost more on average.
    pub agent: String,
    /// Agent that it is compared with.
    pub other: String,
    /// Promises of the two.
    pub guarantees: [Guarantee; 2],
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
pub fn overall(instances: &[InstanceResult]) -> Vec<Overall> {
    let paired = pairs(instances);
    let boards: Vec<Vec<Standing>> = instances.iter().map(leaderboard).collect();
    let mut all: Vec<(Overall, Vec<f64>)> = Vec::new();
    for (board, paired) in boards.iter().zip(&paired) {
        for pair in paired {
            let find = |name: &str| board.iter().find(|own| own.agent == name);
            let (Some(agent), Some(other)) = (find(&pair.agent), find(&pair.other)) else {
                continue;
            };
            let difference = agent.lost - other.lost;
            if !difference.is_finite() {
                continue;
            }
            let place = all.iter().position(|(own, _)| {
                let (a, b) = (own.agent.as_str(), own.other.as_str());
                (a, b) == (&pair.agent, &pair.other) || (b, a) == (&pair.agent, &pair.other)
            });
            let place = place.unwrap_or_else(|| {
                all.push((Overall::new(agent, other), Vec::new()));
                all.len() - 1
            });
            let (own, differences) = &mut all[place];
            let straight = own.agent == agent.agent;
            let sign = if straight { 1.0 } else { -1.0 };
            let count = |counts: &mut [u64; 2], way: f64| {
                let way = sign * way;
                counts[0] += u64::from(way * pair.difference.mean > 0.0);
                counts[1] +=
                    u64::from(way * pair.difference.mean > 0.0 && pair.difference.is_clear());
            };
            count(&mut own.won, -1.0);
            count(&mut own.lost, 1.0);
            let broke =
                [agent, other].map(|standing| u64::from(standing.kept == Some(PromiseVerdict::No)));
            own.broke[usize::from(!straight)] += broke[0];
            own.broke[usize::from(straight)] += broke[1];
            own.instances += 1;
            differences.push(sign * difference);
        }
    }
    all.retain(|(own, _)| own.instances >= 2);
    let family = all.len();
    let rows = all.into_iter().map(|(own, differences)| {
        let difference = Interval95::among(family, differences.into_iter());
        let row = Overall { difference, ..own };
        if difference.mean < 0.0 {
            row.turned()
        } else {
            row
        }
    });
    rows.collect()
}

impl Overall {
    fn new(agent: &Standing, other: &Standing) -> Self {
        Self {
            agent: agent.agent.clone(),
            other: other.agent.clone(),
            guarantees: [agent.guarantee, other.guarantee],
            instances: 0,
            difference: Interval95 {
                mean: f64::NAN,
                low: f64::NAN,
                high: f64::NAN,
            },
            won: [0; 2],
            lost: [0; 2],
            broke: [0; 2],
        }
    }

    /// Swaps the two agents.
    fn turned(self) -> Self {
        let Interval95 { mean, low, high } = self.difference;
        Self {
            agent: self.other,
            other: self.agent,
            difference: Interval95 {
                mean: -mean,
                low: -high,
                high: -low,
            },
            won: self.lost,
            lost: self.won,
            broke: [self.broke[1], self.broke[0]],
            guarantees: [self.guarantees[1], self.guarantees[0]],
            instances: self.instances,
        }
    }
}
