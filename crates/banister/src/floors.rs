//! Floors under the probabilities of arms, set while an agent runs; `optimism` keeps them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Floors under the probabilities of arms, set while the agent runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Floors {
    /// Least probability of the safe action; the declared `floor` holds beside it.
    pub safe: f64,
    /// Least probabilities of other arms, as far as they are certified: (arm, probability).
    pub arms: Vec<(usize, f64)>,
}

impl Floors {
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.safe == 0.0 && self.arms.is_empty()
    }

    /// Refuses floors of unknown or repeated arms, and floors that leave nothing free.
    pub(crate) fn check(&self, arms: usize, safe: usize) -> Result<(), Error> {
        let mut total = 0.0;
        for (i, &(arm, f)) in self.arms.iter().enumerate() {
            let repeated = self.arms[..i].iter().any(|other| other.0 == arm);
            total += f;
            if arm >= arms || arm == safe || repeated || !(f > 0.0 && total < 1.0) {
                let allowed = "floors are of different arms other than the safe one, above 0, and below 1 in sum";
                return Err(Error::invalid("floors", f, allowed));
            }
        }
        Ok(())
    }
}
