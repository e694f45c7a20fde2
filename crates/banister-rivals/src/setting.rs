//! Problems that rivals refuse.

use banister::Error;
use banister::toolkit::CheckedProblem;

fn refuse(kind: &str, allowed: String) -> Result<(), Error> {
    Err(Error::invalid("kind", kind, allowed))
}

/// Refuses guardrails relative to an unknown safe cost, which none of the rivals' papers has.
pub(crate) fn no_relative(kind: &str, problem: &CheckedProblem) -> Result<(), Error> {
    match problem.guardrails.iter().find(|g| g.factor != 0.0) {
        None => Ok(()),
        Some(g) => refuse(
            kind,
            format!(
                "it needs absolute thresholds, and `{}` is relative to an unknown safe cost: declare \
                 `safe_cost`, or use `opb` or `oplb`",
                g.name
            ),
        ),
    }
}

/// Refuses an unknown safe cost.
pub(crate) fn known_safe_costs(kind: &str, problem: &CheckedProblem) -> Result<(), Error> {
    match problem.guardrails.iter().find(|g| g.safe_cost.is_none()) {
        None => Ok(()),
        Some(g) => refuse(
            kind,
            format!("it needs every `safe_cost`, and `{}` has none", g.name),
        ),
    }
}

/// The horizon of an agent that cannot run without one.
pub(crate) fn horizon(given: Option<u64>) -> Result<u64, Error> {
    match given {
        None => Err(Error::invalid(
            "horizon",
            "absent",
            "its budgets last a known number of rounds: give it",
        )),
        Some(0) => Err(Error::invalid("horizon", 0, "must be at least 1")),
        Some(horizon) => Ok(horizon),
    }
}
