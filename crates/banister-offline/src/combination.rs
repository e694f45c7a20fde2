//! Linear combinations Σ_c f_c s(π_c) of policies' expected signals: their terms, round by round, and their
//! finite-sample intervals.
//!
//! One policy is a combination of itself. A relative guardrail asks for s(π) − f·s(safe): both parts
//! are estimated on the same rounds, so their errors are correlated and only the terms of the
//! difference, round by round, have the right spread.

use banister::Error;
use banister::interval::Mixture;
use libm::log;

use crate::bets::Bets;
use crate::interval::{Ends, MixtureEnds, bernstein_width, mean_and_variance};
use crate::log::CheckedLog;
use crate::model::Predictor;
use crate::options::Options;
use crate::weights::Part;

pub(crate) struct Combination<'a> {
    pub log: &'a CheckedLog<'a>,
    /// The policy that is judged, with factor 1.
    pub policy: &'a Part<'a>,
    /// Second part: the safe arm, with factor −f.
    pub reference: Option<&'a Part<'a>>,
    pub predictor: Option<&'a Predictor<'a>>,
    pub options: &'a Options,
}

impl Combination<'_> {
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part<'_>> {
        std::iter::once(self.policy).chain(self.reference)
    }

    /// The mixture interval of v = Σ_c f_c s(π_c), for a signal in [lo, hi].
    ///
    /// With v⁻ = Σ_c min(f_c·lo, f_c·hi) the terms w_c |f_c| (y − lo) of parts with f_c > 0 and
    /// w_c |f_c| (hi − y) of the others are never negative, and their sum has expectation v − v⁻, or less
    /// if weights were clipped or the log cannot contain all that π_c plays. A lower bound of that
    /// expectation is one of v, and no more is assumed. The upper end mirrors it.
    ///
    /// Where the log is known to contain all of it and weights are not clipped ([`Part::covered`]), the
    /// terms Σ_c f_c w_c (y − lo), or (y − hi), are bounded with expectation v up to a
    /// constant: they are narrower on the far side, above all for rare events.
    pub(crate) fn mixture(&self, signal: usize) -> Result<Ends, Error> {
        let [lo, hi] = self.needed_range(signal)?;
        let ([mut lowest, mut highest], mut factors) = ([0.0; 2], 0.0);
        let mut possible = Some([0.0; 2]);
        for part in self.parts() {
            let [low, high] = scaled([lo, hi], part.factor);
            (lowest, highest) = (lowest + low, highest + high);
            factors += part.factor;
            possible = possible.zip(part.covered).map(|(mut sum, most)| {
                add(&mut sum, scaled([0.0, most * (hi - lo)], part.factor));
                sum
            });
        }
        // Terms from the low end of the range, then from the high end, where y − hi is negative.
        let bounded = possible.map_or(Vec::new(), |[low, high]| {
            let (a, b) = (factors * lo, factors * hi);
            vec![
                (Mixture::default(), [a + low, a + high]),
                (Mixture::default(), [b - low, b - high]),
            ]
        });
        let mut ends = MixtureEnds {
            lowest,
            highest,
            below: Bets::new(),
            above: Bets::new(),
            bounded,
            log_inverse_delta: log(2.0 / (1.0 - self.options.confidence)),
        };
        let length = highest - lowest;
        for (t, y) in self.log.observed(signal).enumerate() {
            let (mut below, mut above, mut signed) = (0.0, 0.0, 0.0);
            for part in self.parts() {
                let weight = part.clipped[t];
                let [near, far] = if part.factor > 0.0 {
                    [y - lo, hi - y]
                } else {
                    [hi - y, y - lo]
                };
                below += weight * part.factor.abs() * near;
                above += weight * part.factor.abs() * far;
                signed += weight * part.factor;
            }
            ends.below.push(below / length);
            ends.above.push(above / length);
            if let ([from_low, from_high], Some([low, high])) = (&mut ends.bounded[..], possible) {
                let unit = |x: f64| ((x - low) / (high - low)).clamp(0.0, 1.0);
                from_low.0.push(unit(signed * (y - lo)));
                from_high.0.push(unit(signed * (hi - y)));
            }
        }
        Ok(Ends::Mixture(Box::new(ends)))
    }

    /// z_t, round by round.
    pub(crate) fn terms(&self, signal: usize) -> Vec<f64> {
        let log = self.log;
        let arms = log.declared().arms;
        let rounds = std::iter::zip(log.observed(signal), log.declared().actions);
        let terms = rounds.enumerate().map(|(t, (y, &action))| {
            let (residual, predictor) = match self.predictor {
                Some(model) => (y - model.at(log, signal, t, action), self.predictor),
                None => (y, None),
            };
            let of_part = |part: &Part| {
                let predicted = predictor.map_or(0.0, |model| {
                    (part.target).expect(t, arms, |a| model.at(log, signal, t, a))
                });
                let weight = part.clipped.get(t).copied().unwrap_or(0.0);
                part.factor * (predicted + weight * residual)
            };
            self.parts().map(of_part).sum()
        });
        terms.collect()
    }

    /// Empirical Bernstein for the mean of the terms.
    ///
    /// Where weights may be clipped, 1 − w of the policy's probability is unseen in expectation, and
    /// the residual there may be anything in its range: the lower end is that of
    /// z + Σ_c (1 − w_c)·(lowest f_c·residual), whose expectation is at most the true value; the
    /// upper end mirrors it. With a model fitted here the terms are independent within a fold given
    /// the other folds, so each fold has its own bound at δ over the number of folds.
    pub(crate) fn bernstein(&self, signal: usize, terms: &[f64]) -> Result<(f64, f64), Error> {
        let [lo, hi] = self.needed_range(signal)?;
        let unit = hi - lo;
        let residual = match self.predictor {
            Some(_) => [-unit, unit],
            None => [lo, hi],
        };
        // Ranges of the terms for the lower end and for the upper end, and their hidden parts.
        let (mut lows, mut highs) = ([0.0; 2], [0.0; 2]);
        let mut hidden = Vec::new();
        for part in self.parts() {
            let most = part.most.ok_or_else(|| {
                let allowed = "a `bernstein` interval needs a bound on the weights known beforehand: \
                               give `clip` or `min_pscore`";
                Error::invalid("clip", "not given", allowed)
            })?;
            let [low, high] = scaled(residual, part.factor);
            let model = scaled([lo, hi], part.factor);
            let base = self.predictor.map_or([0.0; 2], |_| model);
            if part.may_clip {
                let width = most * (high - low);
                add(&mut lows, [base[0] + low, base[1] + low + width]);
                add(&mut highs, [base[0] + high - width, base[1] + high]);
                hidden.push([low, high]);
            } else {
                let range = [
                    base[0] + (most * low).min(0.0),
                    base[1] + (most * high).max(0.0),
                ];
                add(&mut lows, range);
                add(&mut highs, range);
                hidden.push([0.0; 2]);
            }
        }
        let (groups, group_count) = match self.predictor.and_then(Predictor::groups) {
            Some((folds, count)) => (Some(folds), count),
            None => (None, 1),
        };
        // Half of δ for each end, shared by the folds.
        let delta = 0.5 * (1.0 - self.options.confidence) / group_count as f64;
        let end = |side: usize, range: [f64; 2], sign: f64| -> f64 {
            let term = |t: usize| {
                let unseen = std::iter::zip(self.parts(), &hidden)
                    .map(|(part, hidden)| (1.0 - part.clipped[t]) * hidden[side]);
                terms[t] + unseen.sum::<f64>()
            };
            let of_group = |group: usize| {
                let own = |t: &usize| groups.is_none_or(|folds| folds[*t] == group);
                let rounds = (0..terms.len()).filter(own).map(term);
                let (mean, variance, n) = mean_and_variance(rounds);
                let width = bernstein_width(variance, n, range[1] - range[0], delta);
                (mean + sign * width) * n as f64
            };
            (0..group_count).map(of_group).sum::<f64>() / terms.len() as f64
        };
        Ok((end(0, lows, -1.0), end(1, highs, 1.0)))
    }

    fn needed_range(&self, signal: usize) -> Result<[f64; 2], Error> {
        self.log.range(signal).ok_or_else(|| {
            let field = match signal.checked_sub(1) {
                None => "reward_range".to_string(),
                Some(g) => format!("cost_range[{g}] ({})", self.log.signal_name(signal)),
            };
            let allowed = format!(
                "a `{}` interval needs the lowest and highest value of the signal",
                self.options.interval.name()
            );
            Error::invalid(field, "not given", allowed)
        })
    }
}

/// {factor·x : x in the range}.
pub(crate) fn scaled([lo, hi]: [f64; 2], factor: f64) -> [f64; 2] {
    let (a, b) = (factor * lo, factor * hi);
    [a.min(b), a.max(b)]
}

pub(crate) fn add(sum: &mut [f64; 2], other: [f64; 2]) {
    sum[0] += other[0];
    sum[1] += other[1];
}
