//! Importance weights of a policy over a log, and the checks that they allow.

use banister::Error;
use serde::Serialize;

use crate::bets::Bets;
use crate::interval::normal_quantile;
use crate::log::CheckedLog;
use crate::options::{Estimator, Options};
use crate::target::{Target, fixed_policy};

/// Relative rounding of a declared smallest propensity: 1 − 0.9 is below 0.1.
const MIN_ROUNDING: f64 = 1e-9;

/// Effective rounds from which the mean weight has an upper end.
const ENOUGH: f64 = 30.0;

/// Probability with which each end of the interval of the mean weight may fail.
const CHECK_DELTA: f64 = 5e-4;

/// Importance weights w = π(a)/p(a) of a log. The direct method has none: as if all were 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Weights {
    /// Kish's effective sample size (Σw)²/Σw², after clipping.
    pub effective_sample_size: f64,
    /// The largest weight, before clipping.
    #[serde(rename = "largest_weight")]
    pub largest: f64,
    /// Mean weight before clipping; its expectation is 1, or less if the log lacks actions that the
    /// policy plays.
    #[serde(rename = "mean_weight")]
    pub mean: f64,
    /// Interval of the expected weight, at 99.9%. The lower end holds for any log; the upper end is
    /// the normal one, and infinite below 30 effective rounds; 0 if 30 rounds or more have no weight.
    #[serde(rename = "mean_weight_interval")]
    pub mean_interval: [f64; 2],
    /// True if the expected weight may be 1. If the interval lies below, the log lacks a part of what the policy
    /// plays; if it lies above, the propensities are not those that drew the actions.
    #[serde(rename = "weights_compatible")]
    pub are_compatible: bool,
    /// Share of the rounds whose weight was clipped.
    pub share_clipped: f64,
    /// Mean weight lost to clipping: the share of the policy that is not seen any more.
    #[serde(rename = "lost_weight")]
    pub lost: f64,
    /// Arms that the policy plays and the log never does.
    pub never_played: Vec<usize>,
}

/// Distance from 1 of a mean weight that rounded propensities explain.
const ROUNDING: f64 = 1e-3;

impl Weights {
    pub(crate) fn are_too_small(&self) -> bool {
        self.mean_interval[1] < 1.0 - ROUNDING
    }

    pub(crate) fn are_too_large(&self) -> bool {
        self.mean_interval[0] > 1.0 + ROUNDING
    }
}

/// One policy of a linear combination Σ_c f_c s(π_c), with its weights.
pub(crate) struct Part<'a> {
    /// Factor f_c of this policy.
    pub factor: f64,
    pub target: Target<'a>,
    /// Clipped weights; empty for the direct method.
    pub clipped: Vec<f64>,
    pub weights: Weights,
    /// The largest weight possible after clipping, if any bound is declared.
    pub most: Option<f64>,
    /// True if clipping may have cut weights in this or any other log.
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
            return Err(Error::invalid(("pscore", i), pscores[i], allowed));
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
            are_compatible: least <= 1.0 + ROUNDING && most >= 1.0 - ROUNDING,
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
                are_compatible: true,
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
