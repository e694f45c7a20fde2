//! Estimates of actions, in the units of certificates.

use banister::ArmEstimate;
use banister::toolkit::CheckedProblem;

use crate::events::relative_to_safe;

/// An action's estimate in the units of certificates: its signal under a relative guardrail is the excess over the
/// factor times the safe mean.
pub fn in_units_of_certificates(
    problem: &CheckedProblem,
    own: &ArmEstimate,
    safe: Option<&ArmEstimate>,
    is_safe: bool,
) -> ArmEstimate {
    let costs = problem.guardrails.iter().zip(&own.costs).enumerate();
    ArmEstimate {
        costs: costs
            .map(|(i, (guardrail, &own))| {
                let safe = safe.and_then(|s| s.costs.get(i));
                relative_to_safe(guardrail, own, safe, is_safe)
            })
            .collect(),
        ..own.clone()
    }
}
