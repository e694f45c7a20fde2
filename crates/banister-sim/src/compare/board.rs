//! Leaderboards and paired differences.

use std::cmp::Ordering;

use banister::Guarantee;

use super::student::student_quantile;
use crate::results::{AgentResult, InstanceResult, Measured, RunSummary};

/// A mean over runs with its 95% interval (Student's); the ends are NaN with fewer than two runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval95 {
    /// Mean over runs.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval95 {
    /// Computes the interval of some values, one per run.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let n = values.clone().count();
        let mean = values.clone().sum::<f64>() / n as f64;
        if n < 2 {
            return Self {
                mean,
                low: f64::NAN,
                high: f64::NAN,
            };
        }
        let squares: f64 = values.map(|x| (x - mean) * (x - mean)).sum();
        let freedom = n as u64 - 1;
        let error = (squares / freedom as f64 / n as f64).sqrt();
        let half = student_quantile(0.95, freedom) * error;
        Self {
            mean,
            low: mean - half,
            high: mean + half,
        }
    }

    /// True where the whole interval lies on one side of zero.
    pub fn is_clear(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Standing of one agent on one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// Label of the agent.
    pub agent: String,
    /// Regret at the horizon.
    pub regret: Interval95,
    /// Limit of certified play at the agent's δ; `None` where it is unknown.
    pub limit: Option<f64>,
    /// Regret as a multiple of that limit; `None` where it is unknown or below 1.
    pub regret_over_limit: Option<f64>,
    /// Rounds that broke a guardrail, over all runs; `None` where the true means are unknown.
    pub violations: Option<u64>,
    /// Violations as a share of a run's rounds.
    pub violation_share: Interval95,
    /// Largest excess over any threshold in any run, in signal units.
    pub worst_exceedance: f64,
    /// Mean reward of the policies since the last checkpoint but one.
    pub reward: f64,
    /// That reward as a share of the best feasible policy's; NaN where that earns nothing.
    pub of_optimum: f64,
    /// Drawn outcomes; `None` unless the environment is a table or user-supplied.
    pub drawn: Option<DrawnStanding>,
    /// Microseconds a round; `None` if not measured.
    pub micros: Option<f64>,
}

/// Drawn outcomes of an agent over its runs, see [`Measured`].
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnStanding {
    /// Mean reward.
    pub reward: Interval95,
    /// Per guardrail: mean signal.
    pub costs: Vec<Interval95>,
    /// Per guardrail and length of window: share beyond the threshold.
    pub beyond: Vec<[f64; 2]>,
    /// Share of the possible gain.
    pub gain: Interval95,
    /// Median of the rounds until 90% of the possible gain; `None` if most runs never had it.
    pub rounds_to_90: Option<u64>,
}

impl DrawnStanding {
    fn of(runs: &[RunSummary]) -> Option<Self> {
        let all: Vec<&Measured> = runs
            .iter()
            .map(|run| run.measured.as_ref())
            .collect::<Option<_>>()?;
        let first = all.first()?;
        let each = |of: &dyn Fn(&Measured) -> f64| -> Interval95 {
            let values: Vec<f64> = all.iter().map(|own| of(own)).collect();
            Interval95::of(values.into_iter())
        };
        let guardrails = 0..first.costs.len();
        let mut rounds: Vec<u64> = (all.iter())
            .map(|own| own.rounds_to_90.unwrap_or(u64::MAX))
            .collect();
        rounds.sort_unstable();
        Some(Self {
            reward: each(&|m| m.reward),
            costs: (guardrails.clone())
                .map(|i| each(&|m| m.costs[i]))
                .collect(),
            beyond: guardrails
                .map(|i| std::array::from_fn(|w| each(&|m| m.beyond[i][w]).mean))
                .collect(),
            gain: each(&|m| m.gain),
            rounds_to_90: Some(rounds[rounds.len() / 2]).filter(|&rounds| rounds < u64::MAX),
        })
    }
}

/// Sorts the agents of an instance, best first: those that broke no guardrail by their regret, then the others
/// by theirs.
pub fn leaderboard(instance: &InstanceResult) -> Vec<Standing> {
    let mut board: Vec<Standing> = (instance.agents.iter())
        .map(|agent| standing(instance, agent))
        .collect();
    board.sort_by(|a, b| {
        let broke = |s: &Standing| s.violations.is_some_and(|count| count > 0);
        let regret = |s: &Standing| s.regret.mean;
        (broke(a).cmp(&broke(b))).then(regret(a).partial_cmp(&regret(b)).unwrap_or(Ordering::Equal))
    });
    board
}

fn standing(instance: &InstanceResult, agent: &AgentResult) -> Standing {
    let runs = &agent.runs;
    let count = runs.len() as f64;
    let mean = |of: &dyn Fn(usize) -> f64| (0..runs.len()).map(of).sum::<f64>() / count;
    let reward = mean(&|r| runs[r].reward_end);
    let rounds = instance.horizon as f64;
    let nanoseconds: Option<f64> = runs.iter().map(|r| r.nanoseconds_per_round).sum();
    Standing {
        agent: agent.name.clone(),
        regret: Interval95::of(runs.iter().map(|r| r.regret)),
        limit: agent.limit,
        regret_over_limit: agent.regret_over_limit(),
        violations: runs.iter().map(|r| r.violations).sum(),
        violation_share: Interval95::of(
            (runs.iter()).map(|r| r.violations.map_or(f64::NAN, |v| v as f64 / rounds)),
        ),
        worst_exceedance: (runs.iter().map(|r| r.worst_exceedance))
            .fold(0.0, |worst, x| if x <= worst { worst } else { x }),
        reward,
        // A share of nothing, but for rounding, is no share.
        of_optimum: if instance.optimum.reward.abs() > 1e-9 {
            reward / instance.optimum.reward
        } else {
            f64::NAN
        },
        drawn: DrawnStanding::of(runs),
        micros: nanoseconds.map(|sum| sum / count / 1000.0),
    }
}

/// Paired difference of two agents, run by run on the same outcomes.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Agent with more regret, as a rule.
    pub agent: String,
    /// Agent that it is compared with.
    pub other: String,
    /// Regret of `agent` minus regret of `other`.
    pub difference: Interval95,
    /// Gain of pairing: width of the interval if the runs had not met the same outcomes, divided by its
    /// width. NaN where there is nothing to divide.
    pub gain: f64,
}

/// Compares all pairs of agents of an instance, in the leaderboard's order: the better one second.
pub fn pairs(instance: &InstanceResult) -> Vec<Pair> {
    let order = leaderboard(instance);
    let find = |name: &str| instance.agents.iter().find(|agent| agent.name == name);
    let mut all = Vec::new();
    for (place, better) in order.iter().enumerate() {
        for worse in &order[place + 1..] {
            if let (Some(a), Some(b)) = (find(&worse.agent), find(&better.agent)) {
                all.push(pair(a, b));
            }
        }
    }
    all
}

fn pair(a: &AgentResult, b: &AgentResult) -> Pair {
    let differences = a.runs.iter().zip(&b.runs).map(|(a, b)| a.regret - b.regret);
    let difference = Interval95::of(differences);
    let half = |i: Interval95| i.high - i.mean;
    let own = |agent: &AgentResult| half(Interval95::of(agent.runs.iter().map(|r| r.regret)));
    Pair {
        agent: a.name.clone(),
        other: b.name.clone(),
        difference,
        gain: own(a).hypot(own(b)) / half(difference),
    }
}

impl Standing {
    /// True where an agent with this guarantee kept its promise, as far as rounds show: only one that
    /// promises every round, or every action, can break its word in a round.
    pub fn kept(&self, guarantee: Guarantee) -> Option<bool> {
        match guarantee {
            Guarantee::EveryRound | Guarantee::PerAction => Some(self.violations? == 0),
            Guarantee::Cumulative | Guarantee::Unsafe => None,
        }
    }
}
