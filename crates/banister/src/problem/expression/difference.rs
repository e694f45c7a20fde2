//! Differences of two signals: what comes in less what goes out, learned as one signal.

use super::{Place, Problem, difference};
use crate::error::Error;
use crate::path::Within;
use crate::problem::Guardrail;

pub(super) fn place(
    names: &[String; 2],
    problem: &Problem,
    guardrail: &Guardrail,
) -> Result<Place, Error> {
    let both = problem.two_bounded(names).within("expression")?;
    Ok(difference(both, 1.0, guardrail.signal.drift))
}
