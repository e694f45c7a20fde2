//! S, the length that no unknown parameter exceeds: declared, checked, or known where arms are their own
//! features.

use crate::error::{Error, positive};
use crate::linear::link::{Link, log_odds};
use crate::path::Within;
use crate::problem::{CheckedProblem, Problem};

/// Relative rounding that S may be short by.
const ROUNDING: f64 = 1e-9;

/// S as given. Where arms are their own features every parameter is a list of K means, so √K times the
/// largest mean bounds it. Otherwise nothing follows from the problem.
pub fn parameter_norm(given: Option<f64>, problem: &Problem) -> Option<f64> {
    given.or_else(|| {
        let own = problem.features.is_empty() && problem.context.is_none();
        own.then(|| (problem.arms.len() as f64).sqrt() * largest_mean(problem))
    })
}

/// The largest mean that the ranges allow, in units of each signal's range; at least 1.
fn largest_mean(problem: &Problem) -> f64 {
    let signals = std::iter::once(problem.reward.clone());
    let guardrails = problem.guardrails.iter();
    let signals =
        signals.chain(guardrails.map(|g| g.with_signal(&problem.reward, &problem.signals).signal));
    let ranges = signals.flat_map(|signal| {
        let own = signal.range.as_ref().map(|range| range.each());
        let own = own.into_iter().flatten().map(|(_, range)| range);
        own.chain([signal.hull()]).collect::<Vec<_>>()
    });
    ranges
        .map(|[lo, hi]| lo.abs().max(hi.abs()) / (hi - lo))
        .fold(1.0, f64::max)
}

/// S, checked: given where features are, and long enough for the safe action's costs.
pub fn check_parameter_norm(given: Option<f64>, problem: &CheckedProblem) -> Result<f64, Error> {
    let s = declared_norm(given, problem, &[])?;
    check_safe_costs(s, problem, &[])?;
    Ok(s)
}

/// S as given, or known where arms are their own features and no link bends their means.
pub(crate) fn declared_norm(
    given: Option<f64>,
    problem: &CheckedProblem,
    links: &[Link],
) -> Result<f64, Error> {
    let declared = &problem.declared;
    let is_bent = links.contains(&Link::Logistic);
    let known = if is_bent {
        given
    } else {
        parameter_norm(given, declared)
    };
    let Some(s) = known else {
        let m = (largest_mean(declared) * 1e4).ceil() / 1e4;
        let allowed = if is_bent {
            "must be declared with a logistic link: S, a length that no unknown parameter exceeds. Log-odds lie \
             within ±4.6 for means of 1% to 99% of the range, so S = 5 for features (1, v) with v anywhere in the \
             unit ball, and S = 7 for (1, v)/√2. A larger S costs reward, one that is too small voids the guarantee"
                .to_string()
        } else {
            format!(
                "must be declared where features are: S, a length that no unknown parameter exceeds, in units of \
                 its signal's range. No mean is more than m = {m} ranges here, so S = √K·m for one-hot features \
                 of K arms, S = m for features (1, v) with v anywhere in the unit ball, and S = √2·m for \
                 (1, v)/√2. A larger S costs reward, one that is too small voids the guarantee"
            )
        };
        return Err(Error::invalid("parameter_norm", "absent", allowed));
    };
    positive("parameter_norm", s)
}

/// Refuses an S that is too short for the safe action's costs: c_0 = ⟨x_0, μ⟩ in the signal's own units, whichever
/// side is allowed, or with a link its log-odds. Without links all means are linear.
pub(crate) fn check_safe_costs(
    s: f64,
    problem: &CheckedProblem,
    links: &[Link],
) -> Result<(), Error> {
    let declared = &problem.declared;
    let length = safe_length(declared);
    for (i, guardrail) in problem.guardrails.iter().enumerate() {
        let Some(cost) = declared.guardrails[i].safe_cost else {
            continue;
        };
        let (ranges, units) = match links.get(i + 1) {
            Some(Link::Logistic) => (log_odds(guardrail.standardise(cost)).abs(), "log-odds"),
            _ => (cost.abs() / guardrail.signal.unit(), "ranges"),
        };
        if !(ranges <= s * length * (1.0 + ROUNDING)) {
            let allowed = format!(
                "a parameter of length S gives the safe action, {length} long, at most S times that, in \
                 {units}: declare `parameter_norm` (S, {s} here) as at least {}, or mend the features",
                ranges / length
            );
            return Err(Error::invalid("safe_cost", cost, allowed)).within(("guardrails", i));
        }
    }
    Ok(())
}

impl CheckedProblem {
    /// The shortest length that the parameters of all guardrails can have, given the safe action's costs, in
    /// units of the signals' ranges: a smaller `parameter_norm` is refused.
    pub fn least_parameter_norm(&self) -> f64 {
        let signals = self.guardrails.iter().zip(&self.declared.guardrails);
        let each = signals.filter_map(|(g, own)| Some(own.safe_cost?.abs() / g.signal.unit()));
        match each.fold(0.0, f64::max) {
            0.0 => 0.0,
            most => most / safe_length(&self.declared),
        }
    }
}

/// ‖x_0‖, scaled first so that no square overflows or vanishes.
fn safe_length(problem: &Problem) -> f64 {
    let Some(x) = problem.features.get(problem.safe) else {
        return 1.0;
    };
    let largest = x.iter().fold(0.0_f64, |a, x| a.max(x.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    let squares = x.iter().map(|x| (x / largest) * (x / largest));
    largest * squares.sum::<f64>().sqrt()
}
