//! The policy to be judged, and its importance weights over a log.

use std::collections::{BTreeMap, BTreeSet};

use banister::Error;
use serde::Serialize;

use crate::estimate::{Estimator, Options};
use crate::interval::{Bets, normal_quantile};
use crate::log::{CheckedLog, count};

/// How far a row of probabilities may sum from one.
const SUM_TOLERANCE: f64 = 1e-6;

/// Relative rounding of a declared smallest propensity: 1 − 0.9 is below 0.1.
const MIN_ROUNDING: f64 = 1e-9;

/// Effective rounds from which the mean weight has an upper end.
const ENOUGH: f64 = 30.0;

/// Probability with which each end of the interval of the mean weight may fail.
const CHECK_DELTA: f64 = 5e-4;

/// The policy π to be judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target<'a> {
    /// The same arm in every round.
    Arm(usize),
    /// One distribution over the K arms, the same in every round.
    Fixed(&'a [f64]),
    /// One distribution per round, n × K.
    Rows(&'a [f64]),
    /// Only the probability of the action that was played, one per round. Enough for IPS and SNIPS.
    Taken(&'a [f64]),
}

impl Target<'_> {
    /// Refuses anything but distributions over the arms of the log.
    pub(crate) fn check(&self, log: &CheckedLog) -> Result<(), Error> {
        let (n, arms) = (log.rounds(), log.declared().arms);
        match *self {
            Self::Arm(arm) if arm >= arms => {
                let allowed = format!("arms are numbered 0 to {}", arms - 1);
                Err(Error::invalid("policy", format!("arm {arm}"), allowed))
            }
            Self::Arm(_) => Ok(()),
            Self::Fixed(row) => {
                count("policy", row.len(), Some(arms), "one probability per arm")?;
                check_row(row, "policy")
            }
            Self::Rows(rows) => {
                let shape = format!("one row per round, {n} × {arms}");
                count("policy", rows.len(), n.checked_mul(arms), &shape)?;
                let mut rows = rows.chunks_exact(arms).enumerate();
                rows.try_for_each(|(i, row)| check_row(row, &format!("policy[{i}]")))
            }
            Self::Taken(probabilities) => {
                let what = "one probability per round";
                count("policy", probabilities.len(), Some(n), what)?;
                check_probabilities(probabilities, "policy")
            }
        }
    }

    /// π_t(a) of the action that was played.
    fn of_played(&self, round: usize, action: usize, arms: usize) -> f64 {
        match *self {
            Self::Arm(arm) => f64::from(u8::from(arm == action)),
            Self::Fixed(row) => row[action],
            Self::Rows(rows) => rows[round * arms + action],
            Self::Taken(probabilities) => probabilities[round],
        }
    }

    /// The highest probability the policy may give to any action, before the log is looked at.
    fn highest(&self) -> f64 {
        match *self {
            Self::Fixed(numbers) | Self::Rows(numbers) => {
                numbers.iter().copied().fold(0.0, f64::max)
            }
            Self::Arm(_) | Self::Taken(_) => 1.0,
        }
    }

    /// Arms that the policy plays in some round and the log in none.
    fn never_played(&self, log: &CheckedLog) -> Vec<usize> {
        let played: BTreeSet<usize> = log.declared().actions.iter().copied().collect();
        let arms = log.declared().arms;
        let mut missing = BTreeSet::new();
        match *self {
            Self::Arm(arm) => missing.extend([arm]),
            Self::Fixed(rows) | Self::Rows(rows) => {
                let played = rows.iter().enumerate().filter(|(_, p)| **p > 0.0);
                missing.extend(played.map(|(i, _)| i % arms));
            }
            Self::Taken(_) => {}
        }
        missing.difference(&played).copied().collect()
    }

    /// Σ_a π_t(a) q(a); 0 if the policy is known on the actions played alone, which
    /// [`Part::new`] refuses where it matters.
    pub(crate) fn expect(&self, round: usize, arms: usize, q: impl Fn(usize) -> f64) -> f64 {
        let over = |row: &[f64]| -> f64 {
            // Arms without weight are not asked for: their models may not exist.
            let rows = row.iter().enumerate().filter(|(_, p)| **p > 0.0);
            rows.map(|(a, p)| p * q(a)).sum()
        };
        match *self {
            Self::Arm(arm) => q(arm),
            Self::Fixed(row) => over(row),
            Self::Rows(rows) => over(&rows[round * arms..(round + 1) * arms]),
            Self::Taken(_) => 0.0,
        }
    }
}

/// The smallest probability of a logging policy that was the same in all rounds, if the log shows it to
/// be so: each arm has one propensity, and these sum to 1.
///
/// In a round with other probabilities some arm has one that is neither 0 nor its usual one (usual ones
/// sum to 1), and shows it when it is drawn. So such rounds can be few at most.
fn fixed_policy(log: &CheckedLog, pscores: &[f64]) -> Option<f64> {
    if log.declared().adaptive {
        return None;
    }
    let mut usual: BTreeMap<usize, f64> = BTreeMap::new();
    for (&action, &p) in std::iter::zip(log.declared().actions, pscores) {
        if (*usual.entry(action).or_insert(p) - p).abs() > SUM_TOLERANCE {
            return None;
        }
    }
    let sum: f64 = usual.values().sum();
    let is_whole = (sum - 1.0).abs() <= SUM_TOLERANCE;
    is_whole.then(|| usual.values().copied().fold(1.0, f64::min))
}

fn check_probabilities(row: &[f64], field: &str) -> Result<(), Error> {
    match row.iter().position(|p| !(*p >= 0.0 && *p <= 1.0)) {
        None => Ok(()),
        Some(a) => {
            let allowed = "a probability lies between 0 and 1";
            Err(Error::invalid(format!("{field}[{a}]"), row[a], allowed))
        }
    }
}

fn check_row(row: &[f64], field: &str) -> Result<(), Error> {
    check_probabilities(row, field)?;
    let sum: f64 = row.iter().sum();
    if (sum - 1.0).abs() <= SUM_TOLERANCE {
        return Ok(());
    }
    let allowed = "probabilities of a policy sum to 1";
    Err(Error::invalid(
        field,
        format!("a row with sum {sum}"),
        allowed,
    ))
}

/// Importance weights w = π(a)/p(a) of a log. The direct method has none: as if all were 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Weights {
    /// Kish's effective sample size (Σw)²/Σw², after clipping.
    pub effective_sample_size: f64,
    /// The largest weight, before clipping.
    pub largest: f64,
    /// Mean weight before clipping; its expectation is 1, or less if the log lacks actions that the
    /// policy plays.
    pub mean: f64,
    /// Interval of the expected weight, at 99.9%. The lower end holds for any log; the upper end is
    /// the normal one, and infinite below 30 effective rounds; 0 if 30 rounds or more have no weight.
    pub mean_interval: [f64; 2],
    /// Share of the rounds whose weight was clipped.
    pub share_clipped: f64,
    /// Mean of what clipping took from the weights: how much of the policy is not seen any more.
    pub lost: f64,
    /// Arms that the policy plays and the log never does.
    pub never_played: Vec<usize>,
}

/// Distance from 1 of a mean weight that rounded propensities explain.
const ROUNDING: f64 = 1e-3;

impl Weights {
    /// True if the expected weight may be 1. If the interval lies below, the log lacks a part of what
    /// the policy plays; if it lies above, the propensities are not those that drew the actions.
    pub fn are_compatible(&self) -> bool {
        !self.are_too_small() && !self.are_too_large()
    }

    pub(crate) fn are_too_small(&self) -> bool {
        self.mean_interval[1] < 1.0 - ROUNDING
    }

    pub(crate) fn are_too_large(&self) -> bool {
        self.mean_interval[0] > 1.0 + ROUNDING
    }
}

/// One policy of a linear combination Σ_c f_c s(π_c), with its weights.
pub(crate) struct Part<'a> {
    /// f_c.
    pub factor: f64,
    pub target: Target<'a>,
    /// Clipped weights; empty for the direct method.
    pub clipped: Vec<f64>,
    pub weights: Weights,
    /// The largest weight possible after clipping, if any bound is declared.
    pub most: Option<f64>,
    /// Whether clipping may have cut weights in this or any other log.
    pub may_clip: bool,
    /// The largest weight possible, if none is clipped and the log is known to play all that the
    /// policy plays: the mean weight is then 1.
    pub covered: Option<f64>,
}

impl<'a> Part<'a> {
    pub(crate) fn new(
        log: &CheckedLog,
        factor: f64,
        target: Target<'a>,
        options: &Options,
    ) -> Result<Self, Error> {
        target.check(log)?;
        let estimator = options.estimator;
        if estimator.has_model() && matches!(target, Target::Taken(_)) {
            let allowed = format!(
                "{estimator} needs the probabilities of all {} arms in every round: give rows",
                log.declared().arms
            );
            let value = "known on the actions played alone";
            return Err(Error::invalid("policy", value, allowed));
        }
        if estimator == Estimator::Dm {
            return Ok(Self::without_weights(log, factor, target));
        }
        let pscores = log.pscores(estimator.name())?;
        if let Some(least) = options.min_pscore
            && let Some(i) = pscores
                .iter()
                .position(|p| *p < least * (1.0 - MIN_ROUNDING))
        {
            let allowed = format!("`min_pscore` says that none is below {least}");
            return Err(Error::invalid(format!("pscore[{i}]"), pscores[i], allowed));
        }
        let arms = log.declared().arms;
        let clip = options.clip.unwrap_or(f64::INFINITY);
        let mut clipped = Vec::with_capacity(log.rounds());
        let (mut bets, mut deviations) = (Bets::new(), 0.0);
        let (mut largest, mut total, mut kept, mut squares, mut cuts) =
            (0_f64, 0.0, 0.0, 0.0, 0_u64);
        for (i, (&action, p)) in std::iter::zip(log.declared().actions, pscores).enumerate() {
            let weight = target.of_played(i, action, arms) / p;
            let cut = weight.min(clip);
            largest = largest.max(weight);
            total += weight;
            kept += cut;
            squares += cut * cut;
            cuts += u64::from(weight > clip);
            // Half the weight: the bound must be able to exceed 1.
            bets.push(0.5 * weight);
            deviations += (weight - 1.0) * (weight - 1.0);
            clipped.push(cut);
        }
        if !squares.is_finite() || !total.is_finite() {
            let allowed = "the importance weights overflow: clip them";
            return Err(Error::invalid("pscores", "too small", allowed));
        }
        let n = log.rounds() as f64;
        let mean = total / n;
        let effective = if kept > 0.0 {
            kept * kept / squares
        } else {
            0.0
        };
        let least = 2.0 * bets.lower(CHECK_DELTA);
        let most = if total == 0.0 && n >= ENOUGH {
            0.0
        } else if effective < ENOUGH || !deviations.is_finite() {
            f64::INFINITY
        } else {
            let variance = (deviations / n - (mean - 1.0) * (mean - 1.0)).max(0.0);
            mean + normal_quantile(1.0 - 2.0 * CHECK_DELTA) * (variance / n).sqrt()
        };
        let never_played = target.never_played(log);
        let possible = options.min_pscore.map(|least| target.highest() / least);
        let is_seen = never_played.is_empty() && !matches!(target, Target::Taken(_));
        let fixed = || fixed_policy(log, pscores).filter(|_| is_seen);
        let covered = possible.or_else(|| fixed().map(|least| target.highest() / least));
        let weights = Weights {
            effective_sample_size: effective,
            largest,
            mean,
            mean_interval: [least, most],
            share_clipped: cuts as f64 / n,
            lost: ((total - kept) / n).max(0.0),
            never_played,
        };
        // A mean weight below 1 refutes that the log plays everything.
        let covered = covered.filter(|most| *most <= clip && !weights.are_too_small());
        Ok(Self {
            factor,
            target,
            clipped,
            weights,
            covered,
            most: match (possible, options.clip) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
            may_clip: options
                .clip
                .is_some_and(|clip| possible.is_none_or(|w| clip < w)),
        })
    }

    fn without_weights(log: &CheckedLog, factor: f64, target: Target<'a>) -> Self {
        Self {
            factor,
            target,
            clipped: Vec::new(),
            weights: Weights {
                effective_sample_size: log.rounds() as f64,
                largest: 1.0,
                mean: 1.0,
                mean_interval: [1.0; 2],
                share_clipped: 0.0,
                lost: 0.0,
                never_played: target.never_played(log),
            },
            most: None,
            may_clip: false,
            covered: None,
        }
    }
}
