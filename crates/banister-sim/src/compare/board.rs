//! Leaderboards: the agents of an instance in groups by their promise, with a verdict on it.

use std::cmp::Ordering;

use banister::guarantee::{CumulativeBudget, Guarantee};
use serde::Serialize;

use super::student::student_quantile;
use crate::results::{AgentResult, Excess, InstanceResult, Measured, RunSummary};
use crate::run::TOLERANCE;

/// End of the label of an agent's tuned version: `s_colts, tuned` beside `s_colts`.
pub const TUNED: &str = ", tuned";

/// Label of the agent that an agent of this label is the tuned version of.
pub fn tuned_of(label: &str) -> Option<&str> {
    label.strip_suffix(TUNED)
}

/// Growth between √T and T that tells a sum that grows more slowly than the rounds from one that does not.
const GROWTH: f64 = 0.75;

/// Probability with which noise alone may take the drawn costs of some run this far from their means.
const NOISE: f64 = 0.01;

/// A mean with its 95% interval (Student's), alone or among several that hold at once; the ends are NaN with fewer than
/// two values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval95 {
    /// Mean.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval95 {
    /// Computes the interval of some values, one per run.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        Self::among(1, values)
    }

    /// Computes one of `family` intervals that hold together with probability 95% (Bonferroni: each at level
    /// 1 − 0.05/`family`).
    pub fn among(family: usize, values: impl Iterator<Item = f64> + Clone) -> Self {
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
        let half = student_quantile(1.0 - 0.05 / family.max(1) as f64, freedom) * error;
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

/// Verdict on an agent's promise on an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromiseVerdict {
    /// Kept in all runs.
    Yes,
    /// Not decided by the runs.
    Undecided,
    /// Broken.
    No,
}

impl PromiseVerdict {
    /// Name of the verdict in a word.
    pub fn words(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Undecided => "undecided",
            Self::No => "no",
        }
    }
}

/// Standing of one agent on one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// Name of the instance.
    pub instance: String,
    /// Label of the agent.
    pub agent: String,
    /// Promise about its guardrails: the group it stands in.
    pub guarantee: Guarantee,
    /// Verdict on that promise, see [`leaderboard`]; `None` where there is none, or the true means are unknown.
    pub kept: Option<PromiseVerdict>,
    /// True for an agent with a cumulative budget whose net excess was more than noise explains in some run, which a
    /// promise of slow growth allows.
    pub exceeds: bool,
    /// Place by regret among those of its group that kept their promise, the ones that exceed the budget last; `None`
    /// for others, for those that promise nothing, and for tuned versions.
    pub rank: Option<u64>,
    /// Label of the agent on this instance that it is the tuned version of.
    pub tuned_of: Option<String>,
    /// Regret of its own tuned version on this instance, and the verdict on that one's promise.
    pub tuned: Option<(Interval95, Option<PromiseVerdict>)>,
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
    /// Per guardrail: sums of the excesses.
    pub excess: Vec<ExcessStanding>,
    /// Mean reward of the policies since the last checkpoint but one.
    pub reward: f64,
    /// That reward as a share of the best feasible policy's; NaN where that earns nothing.
    pub of_optimum: f64,
    /// Regret as a share of what the best feasible policies earn beyond the safe action; NaN where that is nothing.
    pub lost: f64,
    /// Drawn outcomes; `None` unless the environment is a table or user-supplied.
    pub drawn: Option<DrawnStanding>,
    /// Microseconds a round; `None` if not measured.
    pub micros: Option<f64>,
}

impl Standing {
    /// Positive violation Σ(c − τ)₊ of the guardrail where it is largest in units of the signal's noise.
    pub fn violation(&self) -> Option<&ExcessStanding> {
        self.worst(|own| own.violation.mean)
    }

    /// Net excess (Σ(c − τ))₊ of the guardrail where it is largest in units of the signal's noise.
    pub fn net(&self) -> Option<&ExcessStanding> {
        self.worst(|own| own.net.mean)
    }

    fn worst(&self, of: impl Fn(&ExcessStanding) -> f64) -> Option<&ExcessStanding> {
        let larger = |a: &&ExcessStanding, b: &&ExcessStanding| {
            (of(a) / a.noise).total_cmp(&(of(b) / b.noise))
        };
        self.excess.iter().max_by(larger)
    }
}

/// Sums of an agent's excesses over one threshold, see [`Excess`], over its runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExcessStanding {
    /// Name of the guardrail.
    pub guardrail: String,
    /// Positive violation Σ(c − τ)₊ at the horizon.
    #[serde(rename = "violation_sum")]
    pub violation: Interval95,
    /// Net excess (Σ(c − τ))₊ at the horizon.
    #[serde(rename = "net_excess")]
    pub net: Interval95,
    /// Largest net excess after any round of any run.
    #[serde(rename = "net_peak")]
    pub peak: f64,
    /// Net excess divided by √T.
    pub net_over_root: Interval95,
    /// Growth of the mean net excess from T/4 to T, as the power of T: 0.5 for √T, 1 for a constant share of the
    /// rounds. NaN where one of the two is zero.
    #[serde(rename = "net_growth")]
    pub growth: f64,
    /// Sub-Gaussian constant of the signal.
    #[serde(skip)]
    noise: f64,
}

impl ExcessStanding {
    fn of(instance: &InstanceResult, runs: &[RunSummary], guardrail: usize) -> Self {
        let each = |of: fn(&Excess) -> f64| runs.iter().map(move |run| of(&excess(run, guardrail)));
        let mean = |of| each(of).sum::<f64>() / runs.len() as f64;
        let root = (instance.horizon as f64).sqrt();
        let (end, quarter) = (
            mean(|own| own.net.max(0.0)),
            mean(|own| own.quarter.max(0.0)),
        );
        let net = Interval95::of(each(positive));
        Self {
            guardrail: instance.guardrails[guardrail].name.clone(),
            violation: Interval95::of(each(|own| own.violation)),
            net,
            peak: each(|own| own.peak).fold(0.0, |worst, x| if x <= worst { worst } else { x }),
            net_over_root: Interval95 {
                mean: net.mean / root,
                low: net.low / root,
                high: net.high / root,
            },
            growth: if end > 0.0 && quarter > 0.0 {
                (end / quarter).ln() / 4_f64.ln()
            } else {
                f64::NAN
            },
            noise: instance.guardrails[guardrail].noise,
        }
    }
}

/// Sums of a run's excesses over a threshold, unknown where it has none.
fn excess(run: &RunSummary, guardrail: usize) -> Excess {
    let unknown = Excess {
        violation: f64::NAN,
        net: f64::NAN,
        peak: f64::NAN,
        quarter: f64::NAN,
    };
    run.excess.get(guardrail).copied().unwrap_or(unknown)
}

/// Net excess (Σ(c − τ))₊ of a run; NaN stays NaN.
fn positive(own: &Excess) -> f64 {
    if own.net <= 0.0 { 0.0 } else { own.net }
}

/// Drawn outcomes of an agent over its runs, see [`Measured`].
#[derive(Debug, Clone, PartialEq, Serialize)]
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

/// Sorts the agents of an instance into groups by their promise, the strongest first. In a group come first those that
/// kept it, by regret, and among them last those whose promise of slow growth let them exceed the budget by more than
/// noise explains; then those on which the runs do not decide, then those that broke it, each by their positive
/// violation, the smallest first: what an agent earns by violating is no merit. A tuned version follows its original.
///
/// A promise was kept,
/// - for every round or every action, if no round of any run broke a guardrail;
/// - of a budget after every round ([`CumulativeBudget::Anytime`]), if the net excess was zero after every round of every run;
/// - of a budget at the horizon ([`CumulativeBudget::Horizon`]), which is one of drawn costs, if in no run the net excess is
///   more than noise explains: σ√(2T ln(runs/0.01)) for a σ-sub-Gaussian signal (Azuma and Hoeffding);
/// - of a sum that grows more slowly than the rounds ([`CumulativeBudget::Sublinear`]), if in no run the net excess N is more
///   than that, or if it grew from T/4 to T by less than the power 3/4, halfway between √T and T: the 95% interval
///   over runs of N(T) − 4^¾ N(T/4) is below zero. Above zero the promise was broken, at this horizon.
pub fn leaderboard(instance: &InstanceResult) -> Vec<Standing> {
    let mut board: Vec<Standing> = (instance.agents.iter())
        .map(|agent| standing(instance, agent))
        .collect();
    let key = |s: &Standing| match s.kept {
        Some(PromiseVerdict::Yes) => (u8::from(s.exceeds), s.regret.mean),
        _ => {
            let place = if s.kept == Some(PromiseVerdict::No) {
                3
            } else {
                2
            };
            (
                place,
                s.violation()
                    .map_or(0.0, |own| own.violation.mean / own.noise),
            )
        }
    };
    board.sort_by(|a, b| {
        let (own, other) = (key(a), key(b));
        (a.guarantee.cmp(&b.guarantee))
            .then(own.0.cmp(&other.0))
            .then(own.1.partial_cmp(&other.1).unwrap_or(Ordering::Equal))
    });
    let (tuned, mut board): (Vec<_>, Vec<_>) =
        board.into_iter().partition(|own| own.tuned_of.is_some());
    let mut rank = 0;
    let mut group = None;
    for standing in &mut board {
        if group != Some(standing.guarantee) {
            (group, rank) = (Some(standing.guarantee), 0);
        }
        if standing.kept == Some(PromiseVerdict::Yes) {
            rank += 1;
            standing.rank = Some(rank);
        }
    }
    for standing in tuned {
        let original = board
            .iter()
            .position(|own| Some(&own.agent) == standing.tuned_of.as_ref());
        if let Some(place) = original {
            board[place].tuned = Some((standing.regret, standing.kept));
        }
        let place = original.map_or(board.len(), |place| place + 1);
        board.insert(place, standing);
    }
    board
}

fn standing(instance: &InstanceResult, agent: &AgentResult) -> Standing {
    let runs = &agent.runs;
    let count = runs.len() as f64;
    let mean = |of: &dyn Fn(usize) -> f64| (0..runs.len()).map(of).sum::<f64>() / count;
    let reward = mean(&|r| runs[r].reward_end);
    let rounds = instance.horizon as f64;
    let nanoseconds: Option<f64> = runs.iter().map(|r| r.nanoseconds_per_round).sum();
    let original = tuned_of(&agent.name)
        .filter(|label| instance.agents.iter().any(|other| other.name == *label));
    Standing {
        instance: instance.name.clone(),
        agent: agent.name.clone(),
        guarantee: agent.guarantee,
        kept: kept(instance, agent),
        exceeds: agent.guarantee == Guarantee::Cumulative
            && (0..instance.guardrails.len()).any(|i| {
                let most = explained(instance, runs, i);
                runs.iter().any(|run| excess(run, i).net > most)
            }),
        rank: None,
        tuned_of: original.map(str::to_string),
        tuned: None,
        regret: Interval95::of(runs.iter().map(|r| r.regret)),
        limit: agent.limit,
        regret_over_limit: agent.regret_over_limit(),
        violations: runs.iter().map(|r| r.violations).sum(),
        violation_share: Interval95::of(
            (runs.iter()).map(|r| r.violations.map_or(f64::NAN, |v| v as f64 / rounds)),
        ),
        worst_exceedance: (runs.iter().map(|r| r.worst_exceedance))
            .fold(0.0, |worst, x| if x <= worst { worst } else { x }),
        excess: (0..instance.guardrails.len())
            .map(|guardrail| ExcessStanding::of(instance, runs, guardrail))
            .collect(),
        reward,
        // A share of nothing, but for rounding, is no share.
        of_optimum: if instance.optimum.reward.abs() > 1e-9 {
            reward / instance.optimum.reward
        } else {
            f64::NAN
        },
        lost: lost(instance, agent),
        drawn: DrawnStanding::of(runs),
        micros: nanoseconds.map(|sum| sum / count / 1000.0),
    }
}

/// Regret over all runs as a share of the possible gain; NaN where that is nothing but rounding.
fn lost(instance: &InstanceResult, agent: &AgentResult) -> f64 {
    let sum = |of: fn(&RunSummary) -> f64| agent.runs.iter().map(of).sum::<f64>();
    let possible = sum(|run| run.possible_gain);
    if possible > 1e-9 * instance.horizon as f64 * agent.runs.len() as f64 {
        sum(|run| run.regret) / possible
    } else {
        f64::NAN
    }
}

fn kept(instance: &InstanceResult, agent: &AgentResult) -> Option<PromiseVerdict> {
    let violations: u64 = agent
        .runs
        .iter()
        .map(|run| run.violations)
        .sum::<Option<_>>()?;
    match agent.guarantee {
        Guarantee::EveryRound | Guarantee::PerAction => Some(if violations == 0 {
            PromiseVerdict::Yes
        } else {
            PromiseVerdict::No
        }),
        Guarantee::Cumulative => {
            let each = (0..instance.guardrails.len()).map(|i| budget_kept(instance, agent, i));
            // Of several guardrails the worst verdict counts.
            Some(
                each.max_by_key(|own| *own as u8)
                    .unwrap_or(PromiseVerdict::Yes),
            )
        }
        Guarantee::Unsafe => None,
    }
}

/// Largest net excess that noise explains in each of some runs (Azuma and Hoeffding).
fn explained(instance: &InstanceResult, runs: &[RunSummary], guardrail: usize) -> f64 {
    let (rounds, noise) = (
        instance.horizon as f64,
        instance.guardrails[guardrail].noise,
    );
    let log = (runs.len() as f64 / NOISE).ln();
    TOLERANCE * noise * rounds + noise * (2.0 * rounds * log).sqrt()
}

fn budget_kept(instance: &InstanceResult, agent: &AgentResult, guardrail: usize) -> PromiseVerdict {
    let rounds = instance.horizon as f64;
    let noise = instance.guardrails[guardrail].noise;
    let rounding = TOLERANCE * noise * rounds;
    let excess = || agent.runs.iter().map(|run| excess(run, guardrail));
    let verdict = |kept: bool| {
        if kept {
            PromiseVerdict::Yes
        } else {
            PromiseVerdict::No
        }
    };
    let most = explained(instance, &agent.runs, guardrail);
    let small = excess().all(|own| own.net <= most);
    match agent.budget {
        CumulativeBudget::Anytime => verdict(excess().all(|own| own.peak <= rounding)),
        CumulativeBudget::Horizon => verdict(small),
        CumulativeBudget::Sublinear if small => PromiseVerdict::Yes,
        CumulativeBudget::Sublinear => {
            let factor = 4_f64.powf(GROWTH);
            let growth = excess().map(|own| own.net.max(0.0) - factor * own.quarter.max(0.0));
            let growth = Interval95::of(growth.collect::<Vec<_>>().into_iter());
            if growth.high < 0.0 {
                PromiseVerdict::Yes
            } else if growth.low > 0.0 {
                PromiseVerdict::No
            } else {
                PromiseVerdict::Undecided
            }
        }
    }
}
