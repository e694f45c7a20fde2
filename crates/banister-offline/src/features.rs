//! Features of logged actions as linear agents see them.

use std::borrow::Cow;

use banister::{Agent, Ask, Choice, Error, Event, Outcome, Round};

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
    fn check_blocks(&self) -> Result<(), Error> {
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

    /// Finds the form in which an agent takes the actions of the log.
    pub(crate) fn offering(&self, agent: &mut dyn Agent) -> Result<Offering, Error> {
        if let Some(context) = self.context(0)
            && (agent
                .ask(Ask::Estimates(&Round::in_context(context), Some(&[0])))
                .estimates())
            .is_some()
        {
            return Ok(Offering::Contexts);
        }
        self.check_blocks()?;
        let LoggedChoice::Offered(features) = self.played(0, Offering::Features) else {
            return Ok(Offering::Arms);
        };
        let outcome = Outcome::of_features(&features, self.declared().rewards[0], self.costs(0));
        Ok(match agent.check(&Event::Outcome(&outcome), 0) {
            Err(Error::NoFeatures) => Offering::Arms,
            _ => Offering::Features,
        })
    }

    /// The context of a round, if the log has them.
    fn context(&self, round: usize) -> Option<&[f64]> {
        match self.declared().features {
            Features::Context { dimension, rows } => {
                Some(&rows[round * dimension..(round + 1) * dimension])
            }
            _ => None,
        }
    }

    /// All arms in a round.
    pub(crate) fn offered(&self, round: usize, offering: Offering) -> LoggedChoice<'_> {
        let arms = self.declared().arms;
        match (offering, self.declared().features) {
            (Offering::Contexts, _) => LoggedChoice::of_context(self.context(round)),
            (Offering::Features, Features::Offered { dimension, sets }) => {
                let size = arms * dimension;
                LoggedChoice::Offered(sets[round * size..(round + 1) * size].into())
            }
            (Offering::Features, _) => self.context(round).map_or(LoggedChoice::Arms, |context| {
                LoggedChoice::Offered(disjoint_features(context, arms).into())
            }),
            (Offering::Arms, _) => LoggedChoice::Arms,
        }
    }

    /// The action played in a round.
    pub(crate) fn played(&self, round: usize, offering: Offering) -> LoggedChoice<'_> {
        let (arms, action) = (self.declared().arms, self.declared().actions[round]);
        LoggedChoice::Offered(match (offering, self.declared().features) {
            (Offering::Contexts, _) => return LoggedChoice::of_context(self.context(round)),
            (Offering::Arms, _) | (_, Features::None) => return LoggedChoice::Arms,
            (_, Features::Context { dimension, rows }) => {
                let context = &rows[round * dimension..(round + 1) * dimension];
                let mut features = Vec::with_capacity(arms * dimension);
                block(context, action, arms, &mut features);
                features.into()
            }
            (_, Features::Played { dimension, rows }) => {
                rows[round * dimension..(round + 1) * dimension].into()
            }
            (_, Features::Offered { dimension, sets }) => {
                let at = (round * arms + action) * dimension;
                sets[at..at + dimension].into()
            }
        })
    }
}

/// Form in which an agent takes the actions of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offering {
    /// As arms, by number.
    Arms,
    /// By features, those of contexts in blocks.
    Features,
    /// As arms in contexts.
    Contexts,
}

/// The actions of a logged round, or the one that was played, as an agent takes them.
pub(crate) enum LoggedChoice<'a> {
    Arms,
    Offered(Cow<'a, [f64]>),
    Context(&'a [f64]),
}

impl<'a> LoggedChoice<'a> {
    fn of_context(context: Option<&'a [f64]>) -> Self {
        context.map_or(Self::Arms, Self::Context)
    }

    pub(crate) fn view(&self) -> Choice<'_> {
        match self {
            Self::Arms => Choice::Arms,
            Self::Offered(features) => Choice::Offered(features),
            Self::Context(context) => Choice::Context(context),
        }
    }
}
