//! The suites on features: ours, the authors' and Hutchinson et al.'s.

use banister::{Error, Guardrail};
use serde_json::{Value, json};

use super::parts::{agents, all, at_most, entry, on_sphere, run};
use crate::compare::entry::Entry;
use crate::compare::published::{Accuracy, PublishedNumber, Quantity};
use crate::environment::{
    Actions, AuthorsLinearConfig, DirectionsConfig, Drawn, EnvironmentConfig, Instances,
    LinearConfig, ParameterLaw,
};

/// HPLC-LUCB and Safe-LTS with radii that are valid at the other agents' δ and λ, beside their authors' settings.
fn valid_radii() -> Vec<Value> {
    let one = |kind: &str| {
        let label = format!("{kind}, valid radius");
        json!({"kind": kind, "label": label, "radius": "logdet", "delta": 0.01})
    };
    ["hplc_lucb", "safe_lts"].map(one).to_vec()
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
        on_sphere(all(true, &[more, &valid_radii()].concat())?),
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
            // To those who ignore features, actions that stay are arms.
            [all(true, more)?, all(false, &[])?].concat(),
        ),
        sphere,
    ])
}

/// Stored results of the authors' runs of HPLC-LUCB and Safe-LTS: each the mean regret and the standard deviation
/// over runs (n in its denominator) after the first round of the last log entry.
type Stored = [(f64, f64); 2];

/// Settings of the authors' runs that their stored results do not name.
#[derive(Clone, Copy)]
struct Settings {
    horizon: u64,
    /// Number of runs, by the history of their code; with three it is the only one that the first round's stored mean
    /// and deviation fit.
    runs: u64,
    /// Standard deviation of the noise.
    sigma: f64,
    log_every: u64,
    lambda: Option<f64>,
    delta: Option<f64>,
}

const SHORT: Settings = Settings {
    horizon: 1_000_000,
    runs: 10,
    sigma: 1.0,
    log_every: 100,
    lambda: None,
    delta: None,
};

const LONG: Settings = Settings {
    horizon: 10_000_000,
    log_every: 1000,
    ..SHORT
};

/// Settings of earlier runs. Their history does not have all of them as they were run: σ = 1, λ = 1 and δ = 0.01 are
/// the values tried there that the stored numbers fit.
const EARLIER: [Settings; 3] = [
    Settings {
        horizon: 10_000,
        runs: 3,
        ..SHORT
    },
    Settings {
        horizon: 100_000,
        runs: 3,
        sigma: 0.1,
        delta: Some(0.01),
        ..SHORT
    },
    Settings {
        horizon: 100_000,
        runs: 3,
        sigma: 0.1,
        lambda: Some(1.0),
        ..SHORT
    },
];

/// Stored results by d and τ, T = 10⁶.
const AUTHORS: [(usize, f64, Stored); 10] = [
    (5, 0.2, [(159_671.0, 3_617.0), (197_624.2, 1_593.6)]),
    (5, 0.5, [(68_421.0, 9_934.6), (225_955.0, 2_726.2)]),
    (5, 0.6, [(9_853.8, 3_140.8), (119_909.9, 1_143.1)]),
    (5, 0.8, [(6_024.5, 2_837.3), (74_233.0, 703.6)]),
    (5, 1.0, [(4_443.5, 1_693.4), (56_731.6, 681.4)]),
    (10, 0.2, [(226_775.4, 2_033.7), (233_568.3, 1_692.3)]),
    (10, 0.5, [(144_974.1, 8_416.3), (372_915.3, 2_161.2)]),
    (10, 0.6, [(43_051.5, 21_078.1), (339_962.8, 1_828.5)]),
    (10, 0.8, [(33_379.8, 11_294.1), (175_321.4, 675.6)]),
    (10, 1.0, [(29_359.9, 7_891.7), (129_923.7, 880.9)]),
];

/// Stored results by d and τ, T = 10⁷.
const AUTHORS_LONG: [(usize, f64, Stored); 10] = [
    (5, 0.2, [(418_778.2, 8_294.8), (1_036_556.5, 5_722.1)]),
    (5, 0.5, [(204_541.3, 36_212.6), (627_600.6, 4_196.4)]),
    (5, 0.6, [(11_289.2, 4_359.3), (289_529.9, 2_539.9)]),
    (5, 0.8, [(11_188.3, 2_865.8), (200_465.0, 1_895.8)]),
    (5, 1.0, [(7_072.9, 2_025.3), (147_540.7, 1_587.4)]),
    (10, 0.2, [(970_630.8, 6_231.7), (1_406_705.1, 5_055.6)]),
    (10, 0.5, [(296_117.4, 11_496.2), (1_889_607.8, 9_513.8)]),
    (10, 0.6, [(95_434.7, 60_059.1), (1_327_079.6, 7_512.1)]),
    (10, 0.8, [(78_393.2, 12_526.5), (805_452.5, 2_510.9)]),
    (10, 1.0, [(74_896.2, 33_669.6), (661_906.8, 2_066.6)]),
];

/// Stored results by place in [`EARLIER`], d and τ. Those with τ = 1000 are left out: their first action is played at
/// 500 times its length.
const AUTHORS_EARLIER: [(usize, usize, f64, Stored); 14] = [
    (0, 10, 0.2, [(2_834.9, 54.9), (2_920.6, 6.4)]),
    (0, 10, 0.5, [(6_078.5, 947.7), (7_143.6, 2.1)]),
    (0, 10, 0.6, [(5_699.7, 1_337.2), (7_898.1, 11.1)]),
    (0, 10, 0.8, [(2_093.6, 453.4), (7_420.1, 74.7)]),
    (0, 10, 1.0, [(1_937.4, 1_190.0), (6_765.3, 83.5)]),
    (1, 5, 0.2, [(29_474.6, 10.6), (29_945.2, 28.9)]),
    (1, 5, 0.5, [(30_683.1, 230.9), (51_828.0, 40.9)]),
    (1, 5, 0.8, [(6_334.3, 121.4), (21_203.5, 1.3)]),
    (1, 5, 1.0, [(5_590.9, 23.1), (14_804.6, 35.5)]),
    (2, 10, 0.2, [(26_050.2, 19.1), (26_529.0, 4.3)]),
    (2, 10, 0.5, [(40_894.1, 142.5), (55_162.3, 28.8)]),
    (2, 10, 0.6, [(13_414.8, 697.3), (56_151.1, 47.1)]),
    (2, 10, 0.8, [(10_591.9, 278.7), (36_493.8, 26.9)]),
    (2, 10, 1.0, [(10_280.6, 75.0), (23_234.1, 52.7)]),
];

/// Stored results by T and d of ten instances, drawn anew for either agent: σ = 0.1, 100 actions.
const RANDOM: [(u64, usize, Stored); 3] = [
    (100_000, 5, [(28_790.7, 26_788.1), (47_272.3, 14_119.1)]),
    (
        1_000_000,
        5,
        [(108_284.4, 148_147.2), (170_563.3, 65_296.6)],
    ),
    (
        1_000_000,
        10,
        [(142_261.9, 156_399.7), (483_381.7, 82_920.4)],
    ),
];

/// Instances of the authors' experiments with the numbers they stored.
#[derive(Default)]
struct AuthorsRuns {
    /// True if `oplb` plays beside the authors' agents.
    with_oplb: bool,
    entries: Vec<Entry>,
    numbers: Vec<PublishedNumber>,
}

impl AuthorsRuns {
    fn add(
        &mut self,
        name: String,
        environment: EnvironmentConfig,
        stored: Stored,
        settings: Settings,
    ) -> Result<(), Error> {
        // Their curves end with the first round of the last log entry.
        let horizon = settings.horizon - settings.log_every + 1;
        // Their radii have a 2 where the noise constant belongs, whatever the noise.
        let theirs = |kind: &str| {
            json!({
                "kind": kind,
                "noise_factor": 2.0 / settings.sigma,
                "log_every": settings.log_every,
                "lambda": settings.lambda,
                "delta": settings.delta,
            })
        };
        let kinds = ["hplc_lucb", "safe_lts"];
        let mut declared = kinds.map(theirs).to_vec();
        if self.with_oplb {
            declared.push(json!({"kind": "oplb"}));
        }
        self.entries.push(entry(
            name.clone(),
            run(horizon, 10),
            environment,
            Vec::new(),
            agents(&declared)?,
        ));
        for (agent, (value, sd)) in std::iter::zip(kinds, stored) {
            self.numbers.push(PublishedNumber {
                instance: name.clone(),
                agent: agent.into(),
                quantity: Quantity::ActionRegret,
                value,
                accuracy: Accuracy::of_population(sd, settings.runs),
                horizon,
                runs: None,
                source: "Pacchiano et al. 2024, the authors' public code, stored results",
            });
        }
        Ok(())
    }

    fn fixed(
        &mut self,
        (d, threshold): (usize, f64),
        more: &str,
        stored: Stored,
        settings: Settings,
    ) -> Result<(), Error> {
        let environment = EnvironmentConfig::AuthorsLinear(AuthorsLinearConfig {
            d: Some(d),
            threshold: Some(threshold),
            noise: (settings.sigma != 1.0).then_some(settings.sigma),
            ..AuthorsLinearConfig::default()
        });
        let name = format!("d = {d}, τ = {threshold}{more}");
        self.add(name, environment, stored, settings)
    }
}

pub(super) fn authors() -> Result<(Vec<Entry>, Vec<PublishedNumber>), Error> {
    let mut all = AuthorsRuns {
        with_oplb: true,
        ..AuthorsRuns::default()
    };
    for (d, threshold, stored) in AUTHORS {
        all.fixed((d, threshold), "", stored, SHORT)?;
    }
    for (place, d, threshold, stored) in AUTHORS_EARLIER {
        let settings = EARLIER[place];
        let more = format!(", σ = {}, {} rounds", settings.sigma, settings.horizon);
        all.fixed((d, threshold), &more, stored, settings)?;
    }
    for (horizon, d, stored) in RANDOM {
        let environment = EnvironmentConfig::Directions(DirectionsConfig {
            k: Some(100),
            d: Some(d),
            parameters: Some(ParameterLaw::Sphere),
            threshold_range: Some([0.0, 1.0]),
            ..DirectionsConfig::default()
        });
        let settings = Settings {
            horizon,
            sigma: 0.1,
            ..SHORT
        };
        let name = format!("random, d = {d}, {horizon} rounds");
        all.add(name, environment, stored, settings)?;
    }
    Ok((all.entries, all.numbers))
}

/// Only the agents that numbers were published of: it is long enough with them.
pub(super) fn authors_long() -> Result<(Vec<Entry>, Vec<PublishedNumber>), Error> {
    let mut all = AuthorsRuns::default();
    for (d, threshold, stored) in AUTHORS_LONG {
        all.fixed((d, threshold), ", 10⁷ rounds", stored, LONG)?;
    }
    Ok((all.entries, all.numbers))
}

/// Ranges of thresholds in Hutchinson et al. with their horizons, and what GenOP's and ROFUL's regret divided
/// by √T comes to on the published instances.
const DIRECTIONS: [([f64; 2], u64, f64, f64); 2] = [
    ([0.25, 1.0], 50_000, 1.93, 0.65),
    ([0.05, 0.25], 100_000, 13.0, 7.4),
];

pub(super) fn directions(seed: u64) -> Result<(Vec<Entry>, Vec<PublishedNumber>), Error> {
    let (mut entries, mut numbers) = (Vec::new(), Vec::new());
    let theirs = |kind: &str| json!({"kind": kind, "radius": "paper", "norm": 1.0});
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
                agents(&[theirs("gen_op"), theirs("roful"), json!({"kind": "oplb"})])?,
            )
        });
        for (agent, value) in [("gen_op", gen_op), ("roful", roful)] {
            numbers.push(PublishedNumber {
                instance: name.clone(),
                agent: agent.into(),
                quantity: Quantity::ActionRegretPerRoot,
                value,
                accuracy: Accuracy::Tolerance(0.05),
                horizon,
                runs: Some(30),
                source: "Hutchinson et al. 2024, figure 2, read off the plot",
            });
            numbers.push(PublishedNumber {
                instance: name.clone(),
                agent: agent.into(),
                quantity: Quantity::Violations,
                value: 0.0,
                accuracy: Accuracy::Tolerance(0.0),
                horizon,
                runs: Some(30),
                source: "Hutchinson et al. 2024, the authors' public code, stored results",
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
            all(true, &valid_radii())?,
        ));
    }
    Ok((entries, numbers))
}
