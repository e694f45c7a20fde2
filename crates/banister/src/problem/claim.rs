//! Claims of a decision: what it says of the mean cost of each action that it may draw, and outcomes can refute.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::guardrail::Standard;

/// What a decision claims of an action that it may draw, under a guardrail and in standard units: E[slope·y] ≤ bound, y
/// being its own cost. The bound is the end of the action's interval and the policy's slack. That is all that the outcome
/// is tested against, whenever it comes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// 1, but of the safe action under a guardrail that is relative to it (π_0 − f)/π_0.
    pub slope: f64,
    /// Most that the mean of slope·y is.
    pub bound: f64,
}

impl Standard {
    /// The claim about an action of a policy with this slack, from the upper bound of its standard cost and both of the
    /// safe action's; `safe_probability` is the policy's, if it is that action itself. Where a guardrail is relative, the
    /// policy's cost is Σ_{a≠0} π_a y_a + (π_0 − f)·y_0.
    pub(crate) fn claim(
        &self,
        upper: f64,
        safe: (f64, f64),
        safe_probability: Option<f64>,
        slack: f64,
    ) -> Claim {
        let (f, slack) = (self.factor, slack.max(0.0));
        let (slope, end) = match safe_probability {
            _ if f == 0.0 => (1.0, upper),
            None => (1.0, upper + f * self.safe_from_cost(safe).0),
            Some(p) => {
                let (lower, upper) = self.safe_from_cost(safe);
                let slope = (p - f) / p;
                (slope, slope * if slope < 0.0 { lower } else { upper })
            }
        };
        let bound = end + slack;
        Claim { slope, bound }
    }

    /// True if an outcome could contradict a claim: none can be dearer than all there may be.
    pub(crate) fn can_refute(&self, claim: Claim) -> bool {
        self.signal.sub_gaussian.is_some() || claim.slope.max(0.0) > claim.bound
    }

    /// The claim about the safe action where it is played alone: it keeps the threshold.
    pub fn claim_of_safe(&self) -> Claim {
        Claim {
            slope: 1.0 - self.factor,
            bound: self.threshold,
        }
    }
}
