//! Verdicts on guardrails: kept, broken or undecided by the evidence of a log.

use banister::toolkit::Within;
use std::collections::BTreeMap;

use banister::toolkit::Direction;
use banister::{Error, Expression, Guardrail, Range, SignalConfig};
use libm::{log10, pow};
use serde::Serialize;

use crate::combination::Combination;
use crate::estimate::{Estimate, Found};
use crate::log::CheckedLog;
use crate::model::{Model, Predictor};
use crate::options::{Estimator, IntervalKind, Options};
use crate::target::Target;
use crate::weights::Part;

/// Verdict of an interval on a guardrail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval keeps the threshold.
    Kept,
    /// The whole interval is beyond the threshold.
    Broken,
    /// The threshold lies inside the interval, or the interval is no evidence.
    Undecided,
}

/// Effective rounds from which a `normal` or `bootstrap` interval decides.
const ENOUGH: f64 = 200.0;

/// Largest multiple of the log that a forecast looks at.
const MOST_TIMES: f64 = (1_u64 << 30) as f64;

/// Verdict on one guardrail, with its grounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GuardrailVerdict {
    /// Name of the guardrail.
    pub name: String,
    /// Verdict of the interval.
    pub verdict: Verdict,
    /// Reason of the verdict, in words.
    pub reason: String,
    /// Rounds that an undecided verdict would need in all, to two digits: a forecast, as if further
    /// rounds were like these on average. Absent if no number of them would decide.
    pub rows_needed: Option<u64>,
    /// Allowed side of the threshold.
    pub direction: Direction,
    /// Threshold in signal units; 0 for a relative guardrail.
    pub threshold: f64,
    /// The expected signal; for a relative guardrail its excess over f times the safe arm's.
    pub estimate: Estimate,
}

/// Judges every guardrail on a policy, from a log.
///
/// `guardrails` are those of the log, in its order. A relative guardrail whose safe cost is not given
/// is judged by the estimate of s(π) − f·s(safe) and its own interval; `safe` is the safe arm's
/// number and matters to no other. Where weights were clipped, a guardrail is kept or broken only if
/// it still is with everything that clipping may hide (see [`Estimate::clipping_bias`]; undecided if
/// the log declares no range). Each verdict has the given confidence on its own: for all m at once
/// use 1 − δ/m.
///
/// A verdict needs evidence. `mixture` intervals are evidence for any log. The others assume
/// independent rounds, and a log that can contain all that the policy plays: they decide nothing
/// if the log is [adaptive](crate::Log::adaptive), lacks an arm of the policy or has a mean weight that is
/// not compatible with 1; `normal` and `bootstrap` also nothing below 200 effective rounds, or if all
/// terms are equal. The direct method decides nothing.
pub fn verdicts(
    log: &CheckedLog,
    target: Target,
    model: Model,
    guardrails: &[Guardrail],
    safe: usize,
    options: &Options,
) -> Result<Vec<GuardrailVerdict>, Error> {
    options.check(log)?;
    let names = &log.declared().guardrails;
    if guardrails.len() != names.len() {
        let allowed = format!("expected {}: those of the log", names.len());
        return Err(Error::invalid("guardrails", guardrails.len(), allowed));
    }
    if safe >= log.declared().arms {
        let allowed = format!("arms are numbered 0 to {}", log.declared().arms - 1);
        return Err(Error::invalid("safe", safe, allowed));
    }
    let reward = SignalConfig {
        range: log.range(0).map(Range::from),
        ..SignalConfig::default()
    };
    let predictor = Predictor::needed(log, model, options)?;
    let mut verdicts = Vec::with_capacity(guardrails.len());
    let policy = Part::new(log, 1.0, target, options)?;
    for (i, (guardrail, name)) in std::iter::zip(guardrails, names).enumerate() {
        let place = ("guardrails", i);
        if guardrail.name != *name {
            let allowed = format!("the log has `{name}` in this place");
            return Err(Error::invalid("name", &guardrail.name, allowed)).within(place);
        }
        let expression = guardrail.expression.as_ref();
        if let Some(own) = expression.filter(|own| !matches!(own, Expression::Signal(_))) {
            let allowed = "costs of a log are judged as they are: leave it out";
            return Err(Error::invalid("expression", own, allowed)).within(place);
        }
        let beside = BTreeMap::new();
        let standard = (guardrail.with_signal(&reward, &beside).check()).within(place)?;
        let reference = if standard.factor == 0.0 {
            None
        } else {
            let safe = Target::Arm(safe);
            Some(Part::new(log, -standard.factor, safe, options)?)
        };
        let combination = Combination {
            log,
            policy: &policy,
            reference: reference.as_ref(),
            predictor: predictor.as_ref(),
            options,
        };
        let found = combination.estimate(i + 1)?;
        let parts: Vec<&Part> = std::iter::once(&policy).chain(&reference).collect();
        let evidence = Judge {
            log,
            parts: &parts,
            found: &found,
            direction: standard.direction,
            threshold: standard.shown_threshold,
            options,
        };
        let (verdict, reason, rows_needed) = evidence.judge();
        verdicts.push(GuardrailVerdict {
            name: standard.name,
            verdict,
            reason,
            rows_needed,
            direction: standard.direction,
            threshold: standard.shown_threshold,
            estimate: found.estimate,
        });
    }
    Ok(verdicts)
}

/// Inputs of a verdict on one guardrail.
struct Judge<'a> {
    log: &'a CheckedLog<'a>,
    parts: &'a [&'a Part<'a>],
    found: &'a Found,
    direction: Direction,
    threshold: f64,
    options: &'a Options,
}

impl Judge<'_> {
    fn judge(&self) -> (Verdict, String, Option<u64>) {
        let undecided = |reason| (Verdict::Undecided, reason, None);
        if let Some(reason) = self.no_evidence() {
            return undecided(reason);
        }
        let Some([below, above]) = self.hidden() else {
            let reason = "clipping hides a part of the signal, and its range is not declared";
            return undecided(reason.into());
        };
        let (lower, upper) = (
            self.found.estimate.lower + below,
            self.found.estimate.upper + above,
        );
        let interval = format!("the interval [{}, {}]", short(lower), short(upper));
        let threshold = short(self.threshold);
        let (allowed, forbidden) = (self.direction.words(), self.direction.forbidden_side());
        let enough = |scale: f64| !self.is_asymptotic() || self.effective_rows() * scale >= ENOUGH;
        match self.compare(lower, upper) {
            Verdict::Kept if enough(1.0) => {
                let reason = format!("{interval} is {allowed} {threshold}");
                (Verdict::Kept, reason, None)
            }
            Verdict::Broken if enough(1.0) => {
                let reason = format!("{interval} is {forbidden} {threshold}");
                (Verdict::Broken, reason, None)
            }
            _ => {
                let mut reason = format!("{interval} contains {threshold}");
                if !enough(1.0) {
                    reason = format!(
                        "{:.0} effective rounds: a `{}` interval decides from {ENOUGH} on",
                        self.effective_rows(),
                        self.options.interval.name()
                    );
                } else if let Some(lack) = self.lack() {
                    reason = format!("{reason}: {lack}");
                }
                let rows = rows_needed(self.found.estimate.n, |scale| {
                    enough(scale)
                        && self
                            .found
                            .ends
                            .excludes(self.threshold, scale, [below, above])
                });
                (Verdict::Undecided, reason, rows)
            }
        }
    }

    fn compare(&self, lower: f64, upper: f64) -> Verdict {
        let (best, worst) = self.direction.ordered(lower, upper);
        let excess = |end| self.direction.excess(end, self.threshold);
        if excess(worst) <= 0.0 {
            Verdict::Kept
        } else if excess(best) > 0.0 {
            Verdict::Broken
        } else {
            Verdict::Undecided
        }
    }

    /// Reason for which the interval decides nothing, however narrow.
    fn no_evidence(&self) -> Option<String> {
        if self.options.estimator == Estimator::Dm {
            return Some("the direct method has no estimate of its own bias".into());
        }
        for weights in self.parts.iter().map(|part| &part.weights) {
            if weights.are_too_large() {
                let [least, _] = weights.mean_interval;
                return Some(format!(
                    "the mean weight is {}, at least {} in expectation: the propensities are not those \
                     that drew the actions",
                    short(weights.mean),
                    short(least)
                ));
            }
        }
        if self.found.refuted {
            return Some("the log refutes every value: propensities or ranges are wrong".into());
        }
        if self.options.interval == IntervalKind::Mixture {
            return None;
        }
        if self.log.declared().adaptive {
            return Some(format!(
                "the logging policy learned from this log, and a `{}` interval assumes independent \
                 rounds: use `mixture`",
                self.options.interval.name()
            ));
        }
        let equal = self.is_asymptotic() && !(self.found.estimate.standard_error > 0.0);
        let equal = equal.then(|| "all terms are equal, so that their spread is not known".into());
        self.lack().or(equal)
    }

    /// Part of the policies that the log lacks, if any.
    fn lack(&self) -> Option<String> {
        let weights = || self.parts.iter().map(|part| &part.weights);
        let mut missing: Vec<usize> = weights().flat_map(|w| w.never_played.clone()).collect();
        missing.sort_unstable();
        missing.dedup();
        if !missing.is_empty() {
            let names: Vec<String> = (missing.iter().take(3))
                .map(|&arm| self.log.arm_name(arm))
                .collect();
            let more = match missing.len() - names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            return Some(format!("the log never plays {}{more}", names.join(", ")));
        }
        let small = weights().find(|w| w.are_too_small())?;
        Some(format!(
            "the mean weight is {}, at most {} in expectation: the log lacks a part of what the policy \
             plays",
            short(small.mean),
            short(small.mean_interval[1])
        ))
    }

    /// Distances that clipping may add to the ends; `None` if unknown.
    fn hidden(&self) -> Option<[f64; 2]> {
        let clipped = self.parts.iter().any(|part| part.weights.lost > 0.0);
        // The bias has a sign: for a signal that is never negative, clipping hides only more of it.
        if clipped && self.is_asymptotic() {
            self.found.estimate.clipping_bias
        } else {
            Some([0.0; 2])
        }
    }

    /// True if the interval is right only for many rounds.
    fn is_asymptotic(&self) -> bool {
        let kind = self.options.interval;
        matches!(kind, IntervalKind::Normal | IntervalKind::Bootstrap)
    }

    fn effective_rows(&self) -> f64 {
        let rows = |part: &&Part| part.weights.effective_sample_size;
        self.parts.iter().map(rows).fold(f64::INFINITY, f64::min)
    }
}

/// The number of rounds from which `decides` holds, if it ever does, rounded up to two digits.
fn rows_needed(n: u64, decides: impl Fn(f64) -> bool) -> Option<u64> {
    let mut above = 2.0;
    while !decides(above) {
        above *= 2.0;
        if above > MOST_TIMES {
            return None;
        }
    }
    let mut below = 0.5 * above;
    for _ in 0..7 {
        let middle = 0.5 * (below + above);
        if decides(middle) {
            above = middle;
        } else {
            below = middle;
        }
    }
    let rows = n as f64 * above;
    let digit = pow(10.0, log10(rows).floor() - 1.0);
    Some(((rows / digit).ceil() * digit).round() as u64)
}

/// A number with four digits.
fn short(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    let exponent = log10(x.abs()).floor();
    if !(-5.0..7.0).contains(&exponent) {
        return format!("{x:.3e}");
    }
    let digits = (3.0 - exponent).max(0.0) as usize;
    let text = format!("{x:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}
