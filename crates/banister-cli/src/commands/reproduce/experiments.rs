//! Experiments of the paper, run as published and as its text states.

use banister_sim::results::InstanceResult;
use banister_sim::{EnvironmentConfig, Experiment, Results};

use super::linear::{self, Linear, Watched};
use crate::args::Simulation;
use crate::input::built_in;
use banister_terminal::Failure;

/// τ, the experiment as published and as the text states it.
const PAPER: [(&str, &str); 3] = [
    (
        include_str!("../../../experiments/paper/published-1.0.toml"),
        include_str!("../../../experiments/paper/text-1.0.toml"),
    ),
    (
        include_str!("../../../experiments/paper/published-0.5.toml"),
        include_str!("../../../experiments/paper/text-0.5.toml"),
    ),
    (
        include_str!("../../../experiments/paper/published-0.2.toml"),
        include_str!("../../../experiments/paper/text-0.2.toml"),
    ),
];
const LOWER_BOUND: &str = include_str!("../../../experiments/paper/lower-bound.toml");
const SAFE_COST: [&str; 2] = [
    include_str!("../../../experiments/paper/safe-cost-known.toml"),
    include_str!("../../../experiments/paper/safe-cost-unknown.toml"),
];
/// Margins at which the lower bound is shown.
pub const MARGINS: [f64; 4] = [0.025, 0.05, 0.1, 0.2];

/// Results by the part of the paper that they show.
pub struct Parts {
    /// One instance per τ, with all three agents.
    pub paper: Results,
    /// ν and ν' in turn, for each margin.
    pub lower_bound: Results,
    /// Safe cost known, then unknown.
    pub safe_cost: Results,
    /// Actions with features: OPLB.
    pub linear: Linear,
}

/// Experiments whose results are curves, in the order that [`sort`] takes them.
pub fn experiments(overrides: &Simulation) -> Result<Vec<Experiment>, Failure> {
    let plain = |text: &str| built_in(text, "", overrides, |_| {});
    let mut all = Vec::new();
    for (published, text) in PAPER {
        all.push(plain(published)?);
        all.push(plain(text)?);
    }
    for margin in MARGINS {
        for (alternative, symbol) in [(false, "ν"), (true, "ν′")] {
            let name = format!("{symbol}, Δ = {margin}");
            all.push(built_in(LOWER_BOUND, &name, overrides, |config| {
                if let EnvironmentConfig::LowerBound(pair) = &mut config.environment {
                    pair.margin = Some(margin);
                    pair.alternative = Some(alternative);
                }
            })?);
        }
    }
    for text in SAFE_COST {
        all.push(plain(text)?);
    }
    Ok(all)
}

/// Puts each threshold's published and stated settings side by side: the means are the same, only
/// the noise differs.
pub fn sort(results: Results, coverage: Vec<Watched>) -> Option<Parts> {
    let mut instances = results.instances.into_iter();
    let mut paper = Vec::new();
    for _ in PAPER {
        let pair: Vec<InstanceResult> = instances.by_ref().take(2).collect();
        if let [published, text] = &pair[..] {
            let mut merged = published.clone();
            merged.agents.extend(text.agents.iter().cloned());
            paper.push(merged);
        }
    }
    Some(Parts {
        paper: Results { instances: paper },
        lower_bound: Results {
            instances: instances.by_ref().take(2 * MARGINS.len()).collect(),
        },
        safe_cost: Results {
            instances: instances.by_ref().take(SAFE_COST.len()).collect(),
        },
        linear: linear::sort(instances, coverage)?,
    })
}
