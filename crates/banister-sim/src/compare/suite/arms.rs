//! The suites on arms: the paper's, hard and random ones.

use banister::Error;
use serde_json::{Value, json};

use super::parts::{Draw, agents, all, at_most, entry, run};
use crate::compare::entry::Entry;
use crate::compare::published::{Accuracy, PublishedNumber, Quantity};
use crate::environment::{
    BernoulliConfig, BetaConfig, ClippedGaussianConfig, EnvironmentConfig, L1Config, L2Config,
    LowerBoundConfig,
};

/// Rewards and costs of the paper's four arms.
const REWARDS: [f64; 4] = [0.1, 0.2, 0.4, 0.7];
const COSTS: [f64; 4] = [0.0, 0.4, 0.5, 0.2];

/// Final regrets read off the paper's figures, for τ = 1, 0.5 and 0.2.
const FIGURES: [(f64, f64); 3] = [(1.0, 1447.0), (0.5, 3117.0), (0.2, 46_500.0)];

/// Regrets of short runs that the authors stored (`mab/data`), for τ, T and the rounds up to the last log entry. They
/// keep means over the rounds between entries, which add up to the regret.
const SHORT: [(f64, u64, u64, f64); 5] = [
    (0.2, 100, 91, 49.2337),
    (0.5, 100, 91, 42.0735),
    (0.6, 100, 91, 39.8382),
    (0.8, 100, 91, 35.7085),
    (0.5, 1000, 901, 279.0797),
];

/// Arms of the settings behind the paper's figures.
fn clipped() -> EnvironmentConfig {
    EnvironmentConfig::ClippedGaussian(ClippedGaussianConfig {
        sd: Some(0.1),
        nominal: Some(true),
        ..ClippedGaussianConfig::new(&REWARDS, &[&COSTS])
    })
}

/// OPB as the paper's text has it.
fn as_in_the_paper() -> Value {
    json!({"kind": "opb", "intervals": "paper", "optimism": "paper"})
}

pub(super) fn paper() -> Result<(Vec<Entry>, Vec<PublishedNumber>), Error> {
    let published = json!({"kind": "opb", "intervals": "published", "optimism": "published"});
    let (mut entries, mut numbers) = (Vec::new(), Vec::new());
    for (threshold, _) in FIGURES {
        entries.push(entry(
            format!("τ = {threshold}"),
            run(100_000, 20),
            EnvironmentConfig::Bernoulli(BernoulliConfig::new(&REWARDS, &[&COSTS])),
            vec![at_most("cost", threshold, Some(0.0))],
            all(false, &[as_in_the_paper()])?,
        ));
    }
    for (threshold, regret) in FIGURES {
        let name = format!("τ = {threshold}, published settings");
        entries.push(Entry {
            fixed: true,
            ..entry(
                name.clone(),
                run(1_000_000, 10),
                clipped(),
                vec![at_most("cost", threshold, Some(0.0))],
                agents(&[published.clone(), json!({"kind": "opb"})])?,
            )
        });
        numbers.push(PublishedNumber {
            instance: name,
            agent: "opb (published)".into(),
            quantity: Quantity::Regret,
            value: regret,
            accuracy: Accuracy::Tolerance(0.03),
            horizon: 1_000_000,
            runs: None,
            source: "Pacchiano et al. 2021, figures of OPB, read off the plots",
        });
    }
    for (threshold, horizon, rounds, regret) in SHORT {
        let name =
            format!("τ = {threshold}, published settings, first {rounds} of {horizon} rounds");
        entries.push(Entry {
            fixed: true,
            ..entry(
                name.clone(),
                run(rounds, 20),
                clipped(),
                vec![at_most("cost", threshold, Some(0.0))],
                agents(&[json!({
                    "kind": "opb", "intervals": "published", "optimism": "published", "horizon": horizon,
                })])?,
            )
        });
        numbers.push(PublishedNumber {
            instance: name,
            agent: "opb (published)".into(),
            quantity: Quantity::Regret,
            value: regret,
            accuracy: Accuracy::Tolerance(0.03),
            horizon: rounds,
            runs: None,
            source: "Pacchiano et al. 2021, the authors' public code, stored results",
        });
    }
    Ok((entries, numbers))
}

pub(super) fn hard() -> Result<Vec<Entry>, Error> {
    let lower_bound = |alternative| {
        EnvironmentConfig::LowerBound(LowerBoundConfig {
            margin: Some(0.1),
            alternative,
            ..LowerBoundConfig::default()
        })
    };
    let l1 = |alternative| {
        EnvironmentConfig::L1(L1Config {
            margin: Some(0.02),
            best_margin: Some(0.4),
            alternative,
            ..L1Config::default()
        })
    };
    let l2 = EnvironmentConfig::L2(L2Config {
        margin: Some(0.02),
        best_margin: Some(0.2),
        ..L2Config::default()
    });
    let instances = [
        ("ν", lower_bound(None)),
        ("ν′", lower_bound(Some(true))),
        ("L1", l1(None)),
        ("L1′", l1(Some(true))),
        ("L2", l2),
    ];
    // The best of its grid on ν, and better there than ours; not so on ν′.
    let least_spread = json!({"kind": "s_colts", "omega": 0.1, "label": "s_colts, omega = 0.1"});
    let of = |(name, environment): (&str, EnvironmentConfig)| {
        Ok(entry(
            name,
            run(100_000, 20),
            environment,
            Vec::new(),
            all(false, &[as_in_the_paper(), least_spread.clone()])?,
        ))
    };
    instances.into_iter().map(of).collect()
}

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
            all(false, &[])?,
        ));
    }
    Ok(entries)
}
