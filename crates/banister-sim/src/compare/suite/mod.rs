//! Named suites of instances, each with the agents that are proposed for it and the numbers that were
//! published about it.

mod arms;
mod contexts;
mod holdout;
mod linear;
mod parts;
mod routing;

use banister::Error;

use super::entry::Entry;
use super::published::PublishedNumber;

/// The suites: name and purpose.
pub const SUITES: [(&str, &str); 11] = [
    (
        "paper",
        "the paper's four arms at τ = 1, 0.5 and 0.2, and the settings of its figures",
    ),
    (
        "hard",
        "instances made to be hard: the pair of the lower bound, L1 and L2",
    ),
    (
        "linear",
        "actions with features: other ones in every round, a fixed set, an unknown safe cost, x_0 = 0",
    ),
    (
        "random",
        "six K-armed instances drawn from a seed, with one to three guardrails",
    ),
    (
        "authors-linear",
        "the linear experiments of the paper's authors: five thresholds, 10⁴ to 10⁶ rounds, random instances",
    ),
    (
        "authors-long",
        "the same with 10⁷ rounds, the authors' agents only: 2·10⁹ rounds in all, half an hour of a core",
    ),
    (
        "directions",
        "ten directions in the plane, an instance per run, as in Hutchinson et al.",
    ),
    (
        "routing",
        "3609 requests to three language models, under seven ceilings of dollars or three floors of quality",
    ),
    (
        "contexts",
        "segments, features with and without a link, parameters per arm, wrong models, requests by class",
    ),
    (
        "holdout",
        "28 instances drawn at random that nobody tunes on: 20 on arms, 8 on features",
    ),
    (
        "tuning",
        "28 others of the same distribution, on which the constants of rivals are tuned",
    ),
];

/// A suite of instances.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Name, as in [`SUITES`].
    pub name: &'static str,
    /// Purpose, as in [`SUITES`].
    pub about: &'static str,
    /// Instances with the agents proposed for them.
    pub entries: Vec<Entry>,
    /// Numbers published about them.
    pub published: Vec<PublishedNumber>,
}

impl Suite {
    /// Finds a suite by its name; `random` and `directions` draw their instances from `instance_seed`.
    ///
    /// # Errors
    /// An unknown name, with those there are.
    pub fn named(name: &str, instance_seed: u64) -> Result<Self, Error> {
        let known = SUITES.into_iter().find(|(known, _)| *known == name);
        let Some((name, about)) = known else {
            let names: Vec<&str> = SUITES.iter().map(|(name, _)| *name).collect();
            let allowed = format!("the suites are {}", names.join(", "));
            return Err(Error::invalid("suite", name, allowed));
        };
        let (entries, published) = match name {
            "paper" => arms::paper()?,
            "hard" => (arms::hard()?, Vec::new()),
            "linear" => (linear::linear()?, Vec::new()),
            "random" => (arms::random(instance_seed)?, Vec::new()),
            "authors-linear" => linear::authors()?,
            "authors-long" => linear::authors_long()?,
            "routing" => (routing::routing()?, Vec::new()),
            "contexts" => (contexts::contexts()?, Vec::new()),
            "holdout" => (holdout::holdout()?, Vec::new()),
            "tuning" => (holdout::tuning()?, Vec::new()),
            _ => linear::directions(instance_seed)?,
        };
        Ok(Self {
            name,
            about,
            entries,
            published,
        })
    }
}
