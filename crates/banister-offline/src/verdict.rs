//! Whether a log shows that a policy keeps its guardrails.

use banister::{Direction, Error, Guardrail};
use serde::Serialize;

use crate::combination::Combination;
use crate::estimate::{Estimate, IntervalKind, Options, check_question, predictor};
use crate::log::CheckedLog;
use crate::model::Model;
use crate::target::{Part, Target};

/// What an interval says about a guardrail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval keeps the threshold.
    Kept,
    /// The whole interval is beyond the threshold.
    Broken,
    /// The threshold lies inside the interval.
    Undecided,
}

/// One guardrail's verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GuardrailVerdict {
    /// The guardrail's name.
    pub name: String,
    /// What the interval says.
    pub verdict: Verdict,
    /// Which side of the threshold is allowed.
    pub direction: Direction,
    /// What must not be crossed, in signal units; 0 for a relative guardrail.
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
/// use 1 − δ/m. The direct method decides nothing.
pub fn verdicts(
    log: &CheckedLog,
    target: Target,
    model: Model,
    guardrails: &[Guardrail],
    safe: usize,
    options: &Options,
) -> Result<Vec<GuardrailVerdict>, Error> {
    check_question(log, options)?;
    let names = &log.declared().guardrails;
    if guardrails.len() != names.len() {
        let allowed = format!("expected {}: those of the log", names.len());
        return Err(Error::invalid("guardrails", guardrails.len(), allowed));
    }
    if safe >= log.declared().arms {
        let allowed = format!("arms are numbered 0 to {}", log.declared().arms - 1);
        return Err(Error::invalid("safe", safe, allowed));
    }
    let predictor = predictor(log, model, options)?;
    let mut verdicts = Vec::with_capacity(guardrails.len());
    let policy = Part::new(log, 1.0, target, options)?;
    for (i, (guardrail, name)) in std::iter::zip(guardrails, names).enumerate() {
        let field = format!("guardrail[{i}]");
        if guardrail.name != *name {
            let allowed = format!("the log has `{name}` in this place");
            return Err(Error::invalid(
                format!("{field}.name"),
                &guardrail.name,
                allowed,
            ));
        }
        let standard = guardrail.check(&field)?;
        let reference = match standard.factor == 0.0 {
            true => None,
            false => Some(Part::new(
                log,
                -standard.factor,
                Target::Arm(safe),
                options,
            )?),
        };
        let combination = Combination {
            log,
            policy: &policy,
            reference: reference.as_ref(),
            predictor: predictor.as_ref(),
            options,
        };
        let estimate = combination.estimate(i + 1)?;
        let hidden = |part: &Part| part.weights.lost > 0.0;
        let clipped = hidden(&policy) || reference.as_ref().is_some_and(hidden);
        verdicts.push(GuardrailVerdict {
            name: standard.name,
            verdict: judge(
                &estimate,
                clipped,
                standard.direction,
                standard.shown_threshold,
                options,
            ),
            direction: standard.direction,
            threshold: standard.shown_threshold,
            estimate,
        });
    }
    Ok(verdicts)
}

fn judge(
    estimate: &Estimate,
    clipped: bool,
    direction: Direction,
    threshold: f64,
    options: &Options,
) -> Verdict {
    let [below, above] = match (clipped, options.interval, estimate.clipping_bias) {
        (false, _, _) | (true, IntervalKind::Bernstein, _) => [0.0; 2],
        (true, _, Some(bias)) => bias,
        (true, _, None) => return Verdict::Undecided,
    };
    // The bias has a sign: for a signal that is never negative, clipping hides only more of it.
    let (lower, upper) = (estimate.lower + below, estimate.upper + above);
    match direction {
        Direction::AtMost if upper <= threshold => Verdict::Kept,
        Direction::AtMost if lower > threshold => Verdict::Broken,
        Direction::AtLeast if lower >= threshold => Verdict::Kept,
        Direction::AtLeast if upper < threshold => Verdict::Broken,
        _ => Verdict::Undecided,
    }
}
