//! The suite `random`: K-armed instances drawn from a seed.

use banister::Error;

use super::parts::{Draw, all, at_most, entry, run};
use crate::compare::entry::Entry;
use crate::environment::{BernoulliConfig, BetaConfig, EnvironmentConfig};

/// Arms and guardrails of the six instances of `random`, and whether they are Beta rather than Bernoulli.
const SHAPES: [(usize, usize, bool); 6] = [
    (5, 1, false),
    (10, 1, false),
    (20, 1, true),
    (5, 2, false),
    (10, 2, true),
    (10, 3, false),
];

pub(super) fn random(seed: u64) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    for (number, (k, m, beta)) in SHAPES.into_iter().enumerate() {
        let mut draw = Draw::new(seed, number as u64);
        let mut between = |low: f64, high: f64| draw.between(low, high);
        let mut rewards: Vec<f64> = (0..k).map(|_| between(0.05, 0.95)).collect();
        rewards[0] = between(0.05, 0.3);
        let (mut costs, mut guardrails) = (Vec::new(), Vec::new());
        for i in 0..m {
            let mut row: Vec<f64> = (0..k).map(|_| between(0.05, 0.95)).collect();
            row[0] = between(0.02, 0.2);
            let threshold = between(0.3, 0.5);
            guardrails.push(at_most(&format!("cost {}", i + 1), threshold, Some(row[0])));
            costs.push(row);
        }
        let rows: Vec<&[f64]> = costs.iter().map(Vec::as_slice).collect();
        let (law, environment) = if beta {
            let config = BetaConfig::new(&rewards, &rows);
            ("Beta", EnvironmentConfig::Beta(config))
        } else {
            let config = BernoulliConfig::new(&rewards, &rows);
            ("Bernoulli", EnvironmentConfig::Bernoulli(config))
        };
        let guards = if m == 1 { "guardrail" } else { "guardrails" };
        entries.push(entry(
            format!("{k} arms, {m} {guards}, {law}"),
            run(100_000, 10),
            environment,
            guardrails,
            all(false)?,
        ));
    }
    Ok(entries)
}
