//! Named suites of instances, each with the agents that are proposed for it and the numbers that were
//! published about it.

use banister::{AgentConfig, Error, Guardrail, SignalConfig};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::plan::Entry;
use super::published::{Published, Quantity};
use crate::environment::{EnvironmentConfig, Instances, Kind};
use crate::experiment::{ExperimentConfig, RunConfig};
use crate::redrawn::INSTANCES;

/// The suites by name, each with what it is for.
pub const SUITES: [(&str, &str); 6] = [
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
        "the linear experiment of the paper's authors, d = 5 and 10, five thresholds",
    ),
    (
        "directions",
        "ten directions in the plane, an instance per run, as in Hutchinson et al.",
    ),
];

/// A suite of instances.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Its instances.
    pub entries: Vec<Entry>,
    /// What was published about them.
    pub published: Vec<Published>,
}

impl Suite {
    /// A suite by its name; `instance_seed` is what `random` and `directions` draw their instances from.
    ///
    /// # Errors
    /// A name that no suite has, with those there are.
    pub fn named(name: &str, instance_seed: u64) -> Result<Self, Error> {
        let known = SUITES.into_iter().find(|(known, _)| *known == name);
        let Some((name, about)) = known else {
            let names: Vec<&str> = SUITES.iter().map(|(name, _)| *name).collect();
            let allowed = format!("the suites are {}", names.join(", "));
            return Err(Error::invalid("suite", name, allowed));
        };
        let (entries, published) = match name {
            "paper" => paper()?,
            "hard" => (hard()?, Vec::new()),
            "linear" => (linear()?, Vec::new()),
            "random" => (random(instance_seed)?, Vec::new()),
            "authors-linear" => authors()?,
            _ => directions(instance_seed)?,
        };
        Ok(Self {
            name,
            about,
            entries,
            published,
        })
    }
}

/// Agents by their declarations.
fn agents(declared: &[Value]) -> Result<Vec<AgentConfig>, Error> {
    let one = |value: &Value| {
        serde_json::from_value(value.clone())
            .map_err(|error| Error::invalid("agent", value, error.to_string()))
    };
    declared.iter().map(one).collect()
}

/// Every kind of agent with or without features, with its defaults; then some more.
fn all(takes_features: bool, more: &[Value]) -> Result<Vec<AgentConfig>, Error> {
    let mut list = Vec::new();
    for kind in AgentConfig::kinds() {
        let config = AgentConfig::of_kind(&kind)?;
        if config.takes_features() == takes_features {
            list.push(config);
        }
    }
    list.extend(agents(more)?);
    Ok(list)
}

/// The declarations of every linear agent, each with some more keys.
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

fn entry(
    name: impl Into<String>,
    run: RunConfig,
    environment: EnvironmentConfig,
    guardrail: Vec<Guardrail>,
    agent: Vec<AgentConfig>,
) -> Entry {
    Entry::new(ExperimentConfig {
        name: Some(name.into()),
        run,
        environment,
        reward: SignalConfig::default(),
        guardrail,
        agent,
    })
}

fn run(horizon: u64, runs: u64) -> RunConfig {
    RunConfig {
        horizon,
        runs,
        checkpoints: 200,
        ..RunConfig::default()
    }
}

fn at_most(name: &str, threshold: f64, safe_cost: Option<f64>) -> Guardrail {
    Guardrail {
        name: name.into(),
        at_most: Some(threshold),
        safe_cost,
        ..Guardrail::default()
    }
}

/// Rewards and costs of the paper's four arms.
const REWARDS: [f64; 4] = [0.1, 0.2, 0.4, 0.7];
const COSTS: [f64; 4] = [0.0, 0.4, 0.5, 0.2];

/// Final regrets read off the paper's figures, for τ = 1, 0.5 and 0.2.
const FIGURES: [(f64, f64); 3] = [(1.0, 1447.0), (0.5, 3117.0), (0.2, 46_500.0)];

/// OPB as the paper's text has it.
fn as_in_the_paper() -> Value {
    json!({"kind": "opb", "intervals": "paper", "optimism": "paper"})
}

fn paper() -> Result<(Vec<Entry>, Vec<Published>), Error> {
    let published = json!({"kind": "opb", "intervals": "published", "optimism": "published"});
    let (mut entries, mut numbers) = (Vec::new(), Vec::new());
    for (threshold, _) in FIGURES {
        entries.push(entry(
            format!("τ = {threshold}"),
            run(100_000, 20),
            EnvironmentConfig::arms(Kind::Bernoulli, &REWARDS, &[&COSTS]),
            vec![at_most("cost", threshold, Some(0.0))],
            all(false, &[as_in_the_paper()])?,
        ));
    }
    for (threshold, regret) in FIGURES {
        let name = format!("τ = {threshold}, published settings");
        let environment = EnvironmentConfig {
            sd: Some(0.1),
            nominal: Some(true),
            ..EnvironmentConfig::arms(Kind::ClippedGaussian, &REWARDS, &[&COSTS])
        };
        entries.push(Entry {
            fixed: true,
            ..entry(
                name.clone(),
                run(1_000_000, 20),
                environment,
                vec![at_most("cost", threshold, Some(0.0))],
                agents(&[published.clone(), json!({"kind": "opb"})])?,
            )
        });
        numbers.push(Published {
            instance: name,
            agent: "opb (published)".into(),
            quantity: Quantity::Regret,
            value: regret,
            tolerance: 0.03,
            horizon: 1_000_000,
            runs: None,
            source: "Pacchiano et al., figures of OPB, read off the plots",
        });
    }
    Ok((entries, numbers))
}

fn hard() -> Result<Vec<Entry>, Error> {
    let named = EnvironmentConfig::named;
    let instances = [
        (
            "ν",
            EnvironmentConfig {
                margin: Some(0.1),
                ..named(Kind::LowerBound)
            },
        ),
        (
            "ν′",
            EnvironmentConfig {
                margin: Some(0.1),
                alternative: Some(true),
                ..named(Kind::LowerBound)
            },
        ),
        (
            "L1",
            EnvironmentConfig {
                margin: Some(0.02),
                best_margin: Some(0.4),
                ..named(Kind::L1)
            },
        ),
        (
            "L1′",
            EnvironmentConfig {
                margin: Some(0.02),
                best_margin: Some(0.4),
                alternative: Some(true),
                ..named(Kind::L1)
            },
        ),
        (
            "L2",
            EnvironmentConfig {
                margin: Some(0.02),
                best_margin: Some(0.2),
                ..named(Kind::L2)
            },
        ),
    ];
    let of = |(name, environment): (&str, EnvironmentConfig)| {
        Ok(entry(
            name,
            run(100_000, 20),
            environment,
            Vec::new(),
            all(false, &[as_in_the_paper()])?,
        ))
    };
    instances.into_iter().map(of).collect()
}

fn linear() -> Result<Vec<Entry>, Error> {
    let exact = json!({"kind": "oplb", "solver": "exact"});
    let drawn = |actions: &str, d: usize, k: usize| -> Result<EnvironmentConfig, Error> {
        let actions = serde_json::from_value(json!(actions))
            .map_err(|error| Error::invalid("actions", actions, error.to_string()))?;
        Ok(EnvironmentConfig {
            d: Some(d),
            k: Some(k),
            actions: Some(actions),
            ..EnvironmentConfig::named(Kind::Linear)
        })
    };
    let length = run(20_000, 10);
    let more = std::slice::from_ref(&exact);
    let mut unknown = drawn("contextual", 4, 10)?;
    unknown.safe_costs = Some(vec![0.2]);
    let mut sphere = entry(
        "sphere, x₀ = 0",
        length.clone(),
        drawn("sphere", 4, 10)?,
        vec![Guardrail {
            range: Some([-1.0, 1.0]),
            ..at_most("cost", 0.3, Some(0.0))
        }],
        all(true, more)?,
    );
    sphere.experiment.reward.range = Some([-1.0, 1.0]);
    Ok(vec![
        entry(
            "contextual",
            length.clone(),
            drawn("contextual", 4, 10)?,
            vec![at_most("cost", 0.5, Some(0.2))],
            all(true, more)?,
        ),
        entry(
            "contextual, safe cost unknown",
            length.clone(),
            unknown,
            vec![at_most("cost", 0.5, None)],
            all(true, &[])?,
        ),
        entry(
            "contextual, two guardrails",
            length.clone(),
            drawn("contextual", 4, 10)?,
            vec![
                at_most("cost", 0.5, Some(0.2)),
                at_most("latency", 0.6, Some(0.3)),
            ],
            all(true, &[])?,
        ),
        entry(
            "fixed actions",
            length,
            drawn("fixed", 4, 20)?,
            vec![at_most("cost", 0.5, Some(0.2))],
            all(true, more)?,
        ),
        sphere,
    ])
}

/// Arms, guardrails and the law of the six instances of `random`.
const SHAPES: [(usize, usize, Kind); 6] = [
    (5, 1, Kind::Bernoulli),
    (10, 1, Kind::Bernoulli),
    (20, 1, Kind::Beta),
    (5, 2, Kind::Bernoulli),
    (10, 2, Kind::Beta),
    (10, 3, Kind::Bernoulli),
];

fn random(seed: u64) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    for (number, (k, m, kind)) in SHAPES.into_iter().enumerate() {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(INSTANCES + number as u64);
        // Two decimals, so that an instance can be written down.
        let mut between = |low: f64, high: f64| {
            let unit = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            (100.0 * (low + (high - low) * unit)).round() / 100.0
        };
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
        let law = match kind {
            Kind::Beta => "Beta",
            _ => "Bernoulli",
        };
        let guards = if m == 1 { "guardrail" } else { "guardrails" };
        entries.push(entry(
            format!("{k} arms, {m} {guards}, {law}"),
            run(100_000, 10),
            EnvironmentConfig::arms(kind, &rewards, &rows),
            guardrails,
            all(false, &[])?,
        ));
    }
    Ok(entries)
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

fn authors() -> Result<(Vec<Entry>, Vec<Published>), Error> {
    let (mut entries, mut numbers) = (Vec::new(), Vec::new());
    for (d, threshold, hplc, lts) in AUTHORS {
        let name = format!("d = {d}, τ = {threshold}");
        let environment = EnvironmentConfig {
            d: Some(d),
            threshold: Some(threshold),
            ..EnvironmentConfig::named(Kind::AuthorsLinear)
        };
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

fn directions(seed: u64) -> Result<(Vec<Entry>, Vec<Published>), Error> {
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
        let environment = EnvironmentConfig {
            threshold_range: Some(range),
            instances: Some(Instances::Published),
            ..EnvironmentConfig::named(Kind::Directions)
        };
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
        let environment = EnvironmentConfig {
            threshold_range: Some(range),
            instance_seed: Some(seed),
            ..EnvironmentConfig::named(Kind::Directions)
        };
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
