//! The suites on features: ours, the authors' and Hutchinson et al.'s.

use banister::{Error, Guardrail};
use banister_rivals::AgentConfig;
use serde_json::{Value, json};

use super::parts::{agents, all, at_most, entry, run};
use crate::compare::entry::Entry;
use crate::compare::published::{Published, Quantity};
use crate::environment::{
    Actions, AuthorsLinearConfig, DirectionsConfig, Drawn, EnvironmentConfig, Instances,
    LinearConfig,
};

/// Declares every linear agent, each with some more keys.
fn linear_kinds(more: Value) -> Result<Vec<Value>, Error> {
    let mut list = Vec::new();
    for kind in AgentConfig::kinds() {
        if AgentConfig::of_kind(&kind)?.takes_features() {
            let mut declared = more.clone();
            declared["kind"] = kind.into();
            list.push(declared);
        }
    }
    Ok(list)
}

pub(super) fn linear() -> Result<Vec<Entry>, Error> {
    let exact = json!({"kind": "oplb", "solver": "exact"});
    let drawn = |drawn: Drawn, k: usize| LinearConfig {
        d: Some(4),
        k: Some(k),
        actions: Some(Actions::Drawn(drawn)),
        ..LinearConfig::default()
    };
    let contextual = || EnvironmentConfig::Linear(drawn(Drawn::Contextual, 10));
    let length = run(20_000, 10);
    let more = std::slice::from_ref(&exact);
    let unknown = LinearConfig {
        safe_costs: Some(vec![0.2]),
        ..drawn(Drawn::Contextual, 10)
    };
    let mut sphere = entry(
        "sphere, x₀ = 0",
        length.clone(),
        EnvironmentConfig::Linear(drawn(Drawn::Sphere, 10)),
        vec![Guardrail {
            range: Some([-1.0, 1.0].into()),
            ..at_most("cost", 0.3, Some(0.0))
        }],
        all(true, more)?,
    );
    sphere.experiment.reward.range = Some([-1.0, 1.0].into());
    Ok(vec![
        entry(
            "contextual",
            length.clone(),
            contextual(),
            vec![at_most("cost", 0.5, Some(0.2))],
            all(true, more)?,
        ),
        entry(
            "contextual, safe cost unknown",
            length.clone(),
            EnvironmentConfig::Linear(unknown),
            vec![at_most("cost", 0.5, None)],
            all(true, &[])?,
        ),
        entry(
            "contextual, two guardrails",
            length.clone(),
            contextual(),
            vec![
                at_most("cost", 0.5, Some(0.2)),
                at_most("latency", 0.6, Some(0.3)),
            ],
            all(true, &[])?,
        ),
        entry(
            "fixed actions",
            length,
            EnvironmentConfig::Linear(drawn(Drawn::Fixed, 20)),
            vec![at_most("cost", 0.5, Some(0.2))],
            all(true, more)?,
        ),
        sphere,
    ])
}

/// Final regrets of the authors' runs (T = 10⁶, 10 runs) for HPLC-LUCB and Safe-LTS, by d and τ.
const AUTHORS: [(usize, f64, f64, f64); 10] = [
    (5, 0.2, 159_671.0, 197_624.0),
    (5, 0.5, 68_421.0, 225_955.0),
    (5, 0.6, 9_854.0, 119_910.0),
    (5, 0.8, 6_025.0, 74_233.0),
    (5, 1.0, 4_444.0, 56_732.0),
    (10, 0.2, 226_775.0, 233_568.0),
    (10, 0.5, 144_974.0, 372_915.0),
    (10, 0.6, 43_052.0, 339_963.0),
    (10, 0.8, 33_380.0, 175_321.0),
    (10, 1.0, 29_360.0, 129_924.0),
];

/// The same agents with ln(1/δ) counted once under the root of their radii instead of twice, which brings
/// them closest to the authors' numbers.
const AUTHORS_LUCB: &str = "hplc_lucb, ln(1/δ) once";
const AUTHORS_LTS: &str = "safe_lts, ln(1/δ) once";

pub(super) fn authors() -> Result<(Vec<Entry>, Vec<Published>), Error> {
    let (mut entries, mut numbers) = (Vec::new(), Vec::new());
    for (d, threshold, hplc, lts) in AUTHORS {
        let name = format!("d = {d}, τ = {threshold}");
        let environment = EnvironmentConfig::AuthorsLinear(AuthorsLinearConfig {
            d: Some(d),
            threshold: Some(threshold),
            ..AuthorsLinearConfig::default()
        });
        entries.push(entry(
            name.clone(),
            run(1_000_000, 10),
            environment,
            Vec::new(),
            agents(&[
                json!({"kind": "hplc_lucb"}),
                json!({"kind": "hplc_lucb", "log_factor": 1.0, "label": AUTHORS_LUCB}),
                json!({"kind": "safe_lts"}),
                json!({"kind": "safe_lts", "log_factor": 1.0, "label": AUTHORS_LTS}),
                json!({"kind": "oplb"}),
            ])?,
        ));
        for (agent, value) in [
            ("hplc_lucb", hplc),
            (AUTHORS_LUCB, hplc),
            ("safe_lts", lts),
            (AUTHORS_LTS, lts),
        ] {
            numbers.push(Published {
                instance: name.clone(),
                agent: agent.into(),
                quantity: Quantity::ActionRegret,
                value,
                tolerance: 0.15,
                horizon: 1_000_000,
                runs: None,
                source: "the authors' public code, stored results",
            });
        }
    }
    Ok((entries, numbers))
}

/// Ranges of thresholds in Hutchinson et al. with their horizons, and what GenOP's and ROFUL's regret divided
/// by √T comes to on the published instances.
const DIRECTIONS: [([f64; 2], u64, f64, f64); 2] = [
    ([0.25, 1.0], 50_000, 1.93, 0.65),
    ([0.05, 0.25], 100_000, 13.0, 7.4),
];

pub(super) fn directions(seed: u64) -> Result<(Vec<Entry>, Vec<Published>), Error> {
    let (mut entries, mut numbers) = (Vec::new(), Vec::new());
    // θ and a are at most √2 long, which is half of the range of what they are parameters of.
    let norm = 0.5;
    let theirs =
        |kind: &str| json!({"kind": kind, "parameter_norm": norm, "radius": "paper", "norm": 1.0});
    for (range, horizon, gen_op, roful) in DIRECTIONS {
        let name = format!(
            "b between {} and {}, published instances",
            range[0], range[1]
        );
        let environment = EnvironmentConfig::Directions(DirectionsConfig {
            threshold_range: Some(range),
            instances: Some(Instances::Published),
            ..DirectionsConfig::default()
        });
        entries.push(Entry {
            fixed: true,
            ..entry(
                name.clone(),
                run(horizon, 30),
                environment,
                Vec::new(),
                agents(&[
                    theirs("gen_op"),
                    theirs("roful"),
                    json!({"kind": "oplb", "parameter_norm": norm}),
                ])?,
            )
        });
        for (agent, value) in [("gen_op", gen_op), ("roful", roful)] {
            numbers.push(Published {
                instance: name.clone(),
                agent: agent.into(),
                quantity: Quantity::ActionRegretPerRoot,
                value,
                tolerance: 0.05,
                horizon,
                runs: Some(30),
                source: "Hutchinson et al., figure 2, read off the plot",
            });
        }
    }
    for (range, horizon, ..) in DIRECTIONS {
        let environment = EnvironmentConfig::Directions(DirectionsConfig {
            threshold_range: Some(range),
            instance_seed: Some(seed),
            ..DirectionsConfig::default()
        });
        entries.push(entry(
            format!("b between {} and {}", range[0], range[1]),
            run(horizon, 30),
            environment,
            Vec::new(),
            agents(&linear_kinds(json!({"parameter_norm": norm}))?)?,
        ));
    }
    Ok((entries, numbers))
}
