//! Estimates of actions, in the units of certificates.

use schemars::JsonSchema;
use serde::Serialize;

use crate::events::relative_to_safe;

/// An estimated mean and the interval that holds it.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "Estimate")]
pub struct EstimateView {
    /// The estimate; null before the first outcome.
    pub mean: Option<f64>,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

impl From<banister::Estimate> for EstimateView {
    fn from(estimate: banister::Estimate) -> Self {
        Self {
            mean: estimate.mean,
            lower: estimate.lower,
            upper: estimate.upper,
        }
    }
}

/// Beliefs about an action, in the units of certificates.
#[derive(Debug, Clone)]
pub struct Beliefs {
    /// Outcomes observed.
    pub pulls: Option<u64>,
    pub reward: EstimateView,
    /// Its signal under each guardrail; relative ones as the excess over the factor times the safe mean.
    pub guardrails: Vec<EstimateView>,
}

/// A belief in the units of certificates, given the safe action's.
pub fn beliefs(
    experiment: &banister::CheckedProblem,
    belief: &banister::ArmEstimate,
    safe: Option<&banister::ArmEstimate>,
    is_safe: bool,
) -> Beliefs {
    let guardrails = experiment.guardrails.iter().zip(&belief.costs).enumerate();
    Beliefs {
        pulls: belief.pulls,
        reward: belief.reward.into(),
        guardrails: guardrails
            .map(|(i, (guardrail, &own))| {
                let safe = safe.and_then(|s| s.costs.get(i));
                relative_to_safe(guardrail, own, safe, is_safe).into()
            })
            .collect(),
    }
}
