//! Features of logged actions as linear agents see them.

use banister::{Agent, Choice, Error, Outcome};

use crate::log::{CheckedLog, Features};

/// Joint features e_a ⊗ x of all arms for a context x, one arm after another: K vectors of length
/// K·d, each with the context in its own arm's block. A linear agent on them learns one parameter
/// vector per arm (the disjoint model).
///
/// ```
/// use banister_offline::disjoint_features;
///
/// assert_eq!(disjoint_features(&[3.0, 4.0], 2), [3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 3.0, 4.0]);
/// ```
pub fn disjoint_features(context: &[f64], arms: usize) -> Vec<f64> {
    let mut features = Vec::new();
    for arm in 0..arms {
        block(context, arm, arms, &mut features);
    }
    features
}

/// Appends e_a ⊗ x.
fn block(context: &[f64], arm: usize, arms: usize, out: &mut Vec<f64>) {
    let d = context.len();
    let start = out.len();
    out.resize(start + arms * d, 0.0);
    out[start + arm * d..start + (arm + 1) * d].copy_from_slice(context);
}

/// Most numbers that the block vectors of one round may take.
const MAX_NUMBERS: usize = 100_000_000;

impl CheckedLog<'_> {
    /// Refuses contexts whose block vectors would not fit in memory.
    pub(crate) fn check_blocks(&self) -> Result<(), Error> {
        let arms = self.declared().arms;
        let Features::Context { dimension, .. } = self.declared().features else {
            return Ok(());
        };
        let numbers = arms
            .checked_mul(arms)
            .and_then(|square| square.checked_mul(dimension));
        if numbers.is_some_and(|numbers| numbers <= MAX_NUMBERS) {
            return Ok(());
        }
        let allowed = format!(
            "too many for block vectors of a context of dimension {dimension}: for an agent on named \
             arms leave the features out"
        );
        Err(Error::invalid("arms", arms, allowed))
    }

    /// True if the log has features and an agent takes them; arms are known to it by number otherwise.
    pub(crate) fn has_features_for(&self, agent: &dyn Agent) -> bool {
        let Some(features) = self.played(0) else {
            return false;
        };
        let outcome = Outcome {
            choice: Choice::Offered(&features),
            ..Outcome::of_arm(
                self.declared().actions[0],
                self.declared().rewards[0],
                self.costs(0),
            )
        };
        agent.check(&outcome, 0) != Err(Error::NoFeatures)
    }

    /// The features of all arms in a round, if the log has them.
    pub(crate) fn offered(&self, round: usize) -> Option<std::borrow::Cow<'_, [f64]>> {
        let arms = self.declared().arms;
        match self.declared().features {
            Features::None | Features::Played { .. } => None,
            Features::Context { dimension, rows } => {
                let context = &rows[round * dimension..(round + 1) * dimension];
                Some(disjoint_features(context, arms).into())
            }
            Features::Offered { dimension, sets } => {
                let size = arms * dimension;
                Some(sets[round * size..(round + 1) * size].into())
            }
        }
    }

    /// The features of the action played in a round, if the log has them.
    pub(crate) fn played(&self, round: usize) -> Option<std::borrow::Cow<'_, [f64]>> {
        let (arms, action) = (self.declared().arms, self.declared().actions[round]);
        match self.declared().features {
            Features::None => None,
            Features::Context { dimension, rows } => {
                let context = &rows[round * dimension..(round + 1) * dimension];
                let mut features = Vec::with_capacity(arms * dimension);
                block(context, action, arms, &mut features);
                Some(features.into())
            }
            Features::Played { dimension, rows } => {
                Some(rows[round * dimension..(round + 1) * dimension].into())
            }
            Features::Offered { dimension, sets } => {
                let at = (round * arms + action) * dimension;
                Some(sets[at..at + dimension].into())
            }
        }
    }
}
