//! Named suites of instances, each with the agents that are proposed for it and the numbers that were
//! published about it: files in `experiments/suites`, read by `file.rs`, and those that are drawn, in `random.rs` and
//! `holdout.rs`, with what these share in `parts.rs`.

mod file;
mod holdout;
mod parts;
mod random;

use banister::Error;

use super::entry::Entry;
use super::published::PublishedNumber;
use crate::environment::EnvironmentConfig;

/// The text of a suite's file.
macro_rules! text {
    ($name:literal) => {
        include_str!(concat!("../../../experiments/suites/", $name, ".toml"))
    };
}

/// The suites: name and purpose.
pub const SUITES: [(&str, &str); 12] = [
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
        "moving",
        "means that move or jump: seasons, lines, walks, changes, with a declared drift and without",
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
        let drawn = |entries| (entries, Vec::new());
        let (mut entries, published) = match name {
            "paper" => file::read(text!("paper"))?,
            "hard" => file::read(text!("hard"))?,
            "linear" => file::read(text!("linear"))?,
            "random" => drawn(random::random(instance_seed)?),
            "authors-linear" => file::read(text!("authors-linear"))?,
            "authors-long" => file::read(text!("authors-long"))?,
            "routing" => file::read(text!("routing"))?,
            "contexts" => file::read(text!("contexts"))?,
            "moving" => file::read(text!("moving"))?,
            "holdout" => drawn(holdout::holdout()?),
            "tuning" => drawn(holdout::tuning()?),
            _ => file::read(text!("directions"))?,
        };
        if name == "directions" {
            for entry in &mut entries {
                if let EnvironmentConfig::Directions(config) = &mut entry.experiment.environment
                    && config.instances.is_none()
                {
                    config.instance_seed = Some(instance_seed);
                }
            }
        }
        Ok(Self {
            name,
            about,
            entries,
            published,
        })
    }
}
