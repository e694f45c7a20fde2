//! Leaderboards: the agents of an instance in groups by their promise, with a verdict on it.

use std::cmp::Ordering;

use banister::guarantee::{CumulativeBudget, Guarantee};
use serde::Serialize;

use super::sample::Interval95;
use crate::results::{AgentResult, Excess, InstanceResult, Measured, RunSummary, worst};
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
    fn of(kept: bool) -> Self {
        if kept { Self::Yes } else { Self::No }
    }

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
pub struct Standing<'a> {
    /// The instance.
    pub instance: &'a InstanceResult,
    /// The agent, in the group of its promise.
    pub agent: &'a AgentResult,
    /// Verdict on that promise, see [`leaderboard`]; `None` where there is none, or the true means are unknown.
    pub kept: Option<PromiseVerdict>,
    /// True for an agent with a cumulative budget whose net excess was more than noise explains in some run, which a
    /// promise of slow growth allows.
    pub exceeds: bool,
    /// Place by regret among those of its group that kept their promise, the ones that exceed the budget last; `None`
    /// for others, for those that promise nothing, and for tuned versions.
    pub rank: Option<u64>,
    /// Label of the agent on this instance that it is the tuned version of.
    pub tuned_of: Option<&'a str>,
    /// Regret of its own tuned version on this instance, and the verdict on that one's promise.
    pub tuned: Option<(Interval95, Option<PromiseVerdict>)>,
    /// Regret at the horizon.
    pub regret: Interval95,
    /// Rounds that broke a guardrail as a share of a run's rounds.
    pub violation_share: Interval95,
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
}

impl<'a> Standing<'a> {
    /// Label of the agent.
    pub fn name(&self) -> &'a str {
        &self.agent.name
    }

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
        let end = mean(|own| own.net.max(0.0));
        let quarter = mean(|own| own.quarter.max(0.0));
        let net = Interval95::of(each(|own| at_least_zero(own.net)));
        Self {
            guardrail: instance.guardrails[guardrail].name.clone(),
            violation: Interval95::of(each(|own| own.violation)),
            net,
            peak: worst(each(|own| own.peak)),
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

/// The value, or zero if it is below; NaN stays NaN.
fn at_least_zero(x: f64) -> f64 {
    if x <= 0.0 { 0.0 } else { x }
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
        let each = |of: &dyn Fn(&Measured) -> f64| Interval95::of(all.iter().map(|own| of(own)));
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
pub fn leaderboard(instance: &InstanceResult) -> Vec<Standing<'_>> {
    let mut board: Vec<Standing<'_>> = (instance.agents.iter())
        .map(|agent| standing(instance, agent))
        .collect();
    let key = |s: &Standing<'_>| {
        let violation = s.violation();
        let violation = violation.map_or(0.0, |own| own.violation.mean / own.noise);
        let (place, value) = match s.kept {
            Some(PromiseVerdict::Yes) => (u8::from(s.exceeds), s.regret.mean),
            Some(PromiseVerdict::No) => (3, violation),
            _ => (2, violation),
        };
        (s.agent.guarantee, place, value)
    };
    board.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(Ordering::Equal));
    let (tuned, mut board): (Vec<_>, Vec<_>) =
        board.into_iter().partition(|own| own.tuned_of.is_some());
    let mut rank = 0;
    let mut group = None;
    for standing in &mut board {
        if group != Some(standing.agent.guarantee) {
            (group, rank) = (Some(standing.agent.guarantee), 0);
        }
        if standing.kept == Some(PromiseVerdict::Yes) {
            rank += 1;
            standing.rank = Some(rank);
        }
    }
    for standing in tuned {
        let original = (board.iter()).position(|own| Some(own.name()) == standing.tuned_of);
        if let Some(place) = original {
            board[place].tuned = Some((standing.regret, standing.kept));
        }
        let place = original.map_or(board.len(), |place| place + 1);
        board.insert(place, standing);
    }
    board
}

/// The leaderboards of some instances.
pub fn leaderboards(instances: &[InstanceResult]) -> Vec<Vec<Standing<'_>>> {
    instances.iter().map(leaderboard).collect()
}

fn standing<'a>(instance: &'a InstanceResult, agent: &'a AgentResult) -> Standing<'a> {
    let runs = &agent.runs;
    let reward = runs.iter().map(|r| r.reward_end).sum::<f64>() / runs.len() as f64;
    let rounds = instance.horizon as f64;
    let is_agent = |label: &&str| instance.agents.iter().any(|other| other.name == *label);
    Standing {
        instance,
        agent,
        kept: kept(instance, agent),
        exceeds: agent.guarantee == Guarantee::Cumulative
            && (0..instance.guardrails.len()).any(|i| {
                let most = explained(instance, runs, i);
                runs.iter().any(|run| excess(run, i).net > most)
            }),
        rank: None,
        tuned_of: tuned_of(&agent.name).filter(is_agent),
        tuned: None,
        regret: Interval95::of(runs.iter().map(|r| r.regret)),
        violation_share: Interval95::of(
            (runs.iter()).map(|r| r.violations.map_or(f64::NAN, |v| v as f64 / rounds)),
        ),
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
    let violations = agent.violations()?;
    match agent.guarantee {
        Guarantee::EveryRound | Guarantee::PerAction => Some(PromiseVerdict::of(violations == 0)),
        Guarantee::Cumulative => {
            let each = (0..instance.guardrails.len()).map(|i| budget_kept(instance, agent, i));
            // Of several guardrails the worst verdict counts.
            let worst = each.max_by_key(|own| *own as u8);
            Some(worst.unwrap_or(PromiseVerdict::Yes))
        }
        Guarantee::Unsafe => None,
    }
}

/// Largest net excess that noise explains in each of some runs (Azuma and Hoeffding).
fn explained(instance: &InstanceResult, runs: &[RunSummary], guardrail: usize) -> f64 {
    let rounds = instance.horizon as f64;
    let log = (runs.len() as f64 / NOISE).ln();
    rounding(instance, guardrail)
        + instance.guardrails[guardrail].noise * (2.0 * rounds * log).sqrt()
}

/// Sum of what rounding explains.
fn rounding(instance: &InstanceResult, guardrail: usize) -> f64 {
    TOLERANCE * instance.guardrails[guardrail].noise * instance.horizon as f64
}

fn budget_kept(instance: &InstanceResult, agent: &AgentResult, guardrail: usize) -> PromiseVerdict {
    let mut excess = agent.runs.iter().map(|run| excess(run, guardrail));
    let most = explained(instance, &agent.runs, guardrail);
    let is_small = excess.clone().all(|own| own.net <= most);
    match agent.budget {
        CumulativeBudget::Anytime => {
            let rounding = rounding(instance, guardrail);
            PromiseVerdict::of(excess.all(|own| own.peak <= rounding))
        }
        CumulativeBudget::Sublinear if !is_small => {
            let factor = 4_f64.powf(GROWTH);
            let growth = excess.map(|own| own.net.max(0.0) - factor * own.quarter.max(0.0));
            let growth = Interval95::of(growth);
            if growth.is_clear() {
                PromiseVerdict::of(growth.high < 0.0)
            } else {
                PromiseVerdict::Undecided
            }
        }
        CumulativeBudget::Horizon | CumulativeBudget::Sublinear => PromiseVerdict::of(is_small),
    }
}
