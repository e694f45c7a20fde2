//! Hard instances by name, and everything an environment's declaration is refused for.

use crate::common;

use banister::theory::lower_bound_margin;
use banister::{Error, OpbConfig};
use banister_rivals::AgentConfig;
use banister_sim::{
    ClippedGaussianConfig, Delay, EnvironmentConfig, Experiment, ExperimentConfig, L1Config,
    LowerBoundConfig, RunConfig,
};
use common::{PAPER_COSTS, PAPER_REWARDS, guardrail, laws, paper_experiment, simulate};
use serde_json::{Value, json};

fn experiment(environment: EnvironmentConfig, horizon: u64) -> ExperimentConfig {
    ExperimentConfig {
        name: None,
        run: RunConfig {
            horizon,
            runs: 4,
            ..RunConfig::default()
        },
        environment,
        reward: Default::default(),
        guardrail: vec![],
        agent: vec![AgentConfig::Opb(OpbConfig::default())],
    }
}

fn lower_bound(alternative: bool, margin: f64) -> LowerBoundConfig {
    LowerBoundConfig {
        alternative: Some(alternative),
        margin: Some(margin),
        ..LowerBoundConfig::default()
    }
}

fn checked(environment: EnvironmentConfig) -> Experiment {
    experiment(environment, 10_000)
        .check("hard")
        .expect("valid")
}

fn column(experiment: &Experiment, signal: usize) -> Vec<f64> {
    let environment = laws(experiment);
    (0..environment.count())
        .map(|a| environment.means(a)[signal])
        .collect()
}

#[test]
fn the_lower_bound_instances_have_the_optima_of_the_corrected_proof() {
    let d = 1.0 / 8.0;
    for (threshold, margin, k) in [(0.5, 0.2, 4), (0.3, 0.05, 7), (0.6, 0.2, 4)] {
        for (alternative, value, cheap) in [(false, 10.0 * d / 3.0, 0), (true, 16.0 * d / 3.0, 3)] {
            let config = LowerBoundConfig {
                threshold: Some(threshold),
                k: Some(k),
                ..lower_bound(alternative, margin)
            };
            let experiment = checked(EnvironmentConfig::LowerBound(config));
            let optimum = experiment.optimum();
            assert!((optimum.reward - value).abs() < 1e-12, "{optimum:?}");
            assert!((optimum.costs[0] - threshold).abs() < 1e-12);
            let [(a, p), (b, q)] = optimum.policy[..] else {
                panic!("a pair is optimal: {optimum:?}")
            };
            // Arms 1, 2 and 4 of the proof are 0, 1 and 3 here.
            let (cheap_mass, dear_mass) = if a == cheap { (p, q) } else { (q, p) };
            assert_eq!((a.min(b), a.max(b)), (cheap.min(1), cheap.max(1)));
            assert!((cheap_mass - 2.0 / 3.0).abs() < 1e-9 && (dear_mass - 1.0 / 3.0).abs() < 1e-9);
            let rewards = column(&experiment, 0);
            assert_eq!(rewards[..4], [d, 8.0 * d, 0.0, 4.0 * d]);
            assert!(rewards[4..].iter().all(|&r| r == 4.0 * d));
            let costs = column(&experiment, 1);
            let (low, high) = (threshold - margin, threshold + 2.0 * margin);
            let fourth = if alternative { low } else { high };
            assert_eq!(costs[..4], [low, high, low, fourth]);
            assert!(costs[4..].iter().all(|&c| c == high));
        }
    }
}

#[test]
fn l1_and_l2_have_their_means_and_optima() {
    for (d, rho) in [(0.1, 0.4), (0.02, 0.25_f64)] {
        let named = |kind: &str, alternative: bool| {
            let most = if kind == "l2" { 0.25 } else { 0.5 };
            let mut declared = json!({"kind": kind, "margin": d, "best_margin": rho.min(most)});
            if alternative {
                declared["alternative"] = true.into();
            }
            checked(environment(declared).expect("valid"))
        };
        let l1 = named("l1", false);
        assert_eq!(column(&l1, 0), [0.5, 1.0, 0.5]);
        assert_eq!(column(&l1, 1), [0.5 - d, 0.5, 0.5 - rho]);
        // The middle arm is just feasible: it alone is optimal.
        assert!((l1.optimum().reward - 1.0).abs() < 1e-12);
        let just_not = named("l1", true);
        let excess = 1.0 / (8.0 * 10_000_f64.sqrt());
        assert_eq!(column(&just_not, 1), [0.5 - d, 0.5 + excess, 0.5 - rho]);
        // Mixed with the arm of margin ρ, so that the excess is balanced.
        let share = rho / (rho + excess);
        assert!((just_not.optimum().reward - (share + 0.5 * (1.0 - share))).abs() < 1e-12);
        let l2 = named("l2", false);
        let rho = rho.min(0.25);
        assert_eq!(column(&l2, 0), [0.0, 1.0, 1.0]);
        assert_eq!(column(&l2, 1), [0.5 - d, 0.5 - rho, 0.5 + 2.0 * rho]);
        assert!((l2.optimum().reward - 1.0).abs() < 1e-12);
    }
}

#[test]
fn no_luck_beats_the_lower_bound_on_both_instances() {
    let margin = 0.1;
    let horizon = 5000;
    let bound = lower_bound_margin(margin, horizon).expect("a long enough horizon");
    let regret = |alternative: bool| {
        let agent = simulate(experiment(
            EnvironmentConfig::LowerBound(lower_bound(alternative, margin)),
            horizon,
        ));
        assert!(agent.runs.iter().all(|run| run.violations == Some(0)));
        agent.runs.iter().map(|run| run.regret).sum::<f64>() / 4.0
    };
    let worse = regret(false).max(regret(true));
    assert!(worse >= bound, "regret {worse} below {bound}");
}

#[track_caller]
fn refused(config: ExperimentConfig, expected_field: &str, expected_value: &str) {
    match config.check("bad") {
        Err(Error::Invalid { field, value, .. }) => {
            assert_eq!(
                (&*field.to_string(), value.as_str()),
                (expected_field, expected_value)
            );
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("expected `{expected_field}` to be refused"),
    }
}

fn plain(change: impl FnOnce(&mut ExperimentConfig)) -> ExperimentConfig {
    let mut config = paper_experiment(0.5, 1000, 2, OpbConfig::default());
    change(&mut config);
    config
}

fn environment(declared: Value) -> Result<EnvironmentConfig, Error> {
    let kind = declared["kind"].as_str().expect("a kind").to_string();
    serde_json::from_value(declared).map_err(|error| {
        let message = error.to_string();
        EnvironmentConfig::explain_key(&kind, &message).expect("about a key")
    })
}

/// The paper's experiment with another environment.
fn on(declared: Value) -> ExperimentConfig {
    let environment = environment(declared).expect("valid");
    plain(|c| c.environment = environment.clone())
}

/// Its Bernoulli arms, or arms of another kind, with one key changed.
fn arms(kind: &str, key: &str, value: Value) -> Value {
    let mut declared = json!({"kind": kind, "rewards": PAPER_REWARDS, "costs": [PAPER_COSTS]});
    declared[key] = value;
    declared
}

fn hard(kind: &str, key: &str, value: impl Into<Value>) -> ExperimentConfig {
    let mut declared = json!({ "kind": kind });
    declared[key] = value.into();
    experiment(environment(declared).expect("valid"), 1000)
}

#[test]
fn keys_that_do_not_apply_to_a_kind_are_refused() {
    for (kind, key, value) in [
        ("bernoulli", "sd", json!(0.1)),
        ("bernoulli", "concentration", json!(4.0)),
        ("bernoulli", "nominal", json!(true)),
        ("bernoulli", "k", json!(4)),
        ("bernoulli", "margin", json!(0.1)),
        ("bernoulli", "best_margin", json!(0.1)),
        ("bernoulli", "threshold", json!(0.1)),
        ("bernoulli", "alternative", json!(true)),
        ("gaussian", "nominal", json!(true)),
        ("beta", "sd", json!(0.1)),
        ("l1", "rewards", json!([0.5])),
        ("l2", "costs", json!([])),
        ("l1", "safe", json!(0)),
        ("l1", "threshold", json!(0.5)),
        ("l2", "alternative", json!(true)),
        ("lower_bound", "best_margin", json!(0.1)),
        ("linear", "rewards", json!([0.5])),
        ("linear", "instances", json!("published")),
        ("linear", "path", json!("x.csv")),
        ("authors_linear", "theta", json!([0.5])),
        ("directions", "threshold", json!(0.5)),
        ("logged", "d", json!(3)),
    ] {
        let error = environment(json!({"kind": kind, key: value})).expect_err(key);
        let message = error.to_string();
        let start = format!(
            "`environment.{key}` is given: this key does not apply to environments of kind `{kind}`"
        );
        assert!(message.starts_with(&start), "{message}");
    }
}

#[test]
fn numbers_of_an_environment_are_checked() {
    for (kind, key, value, field, shown) in [
        ("lower_bound", "k", json!(3), "k", "3"),
        ("lower_bound", "margin", json!(0.3), "margin", "0.3"),
        ("lower_bound", "threshold", json!(0.1), "margin", "0.2"),
        ("lower_bound", "threshold", json!(1.5), "threshold", "1.5"),
        ("l1", "margin", json!(0.0), "margin", "0"),
        ("l2", "best_margin", json!(0.3), "best_margin", "0.3"),
    ] {
        let config = hard(kind, key, value);
        refused(config, &format!("environment.{field}"), shown);
    }
    let nan = EnvironmentConfig::L1(L1Config {
        margin: Some(f64::NAN),
        ..L1Config::default()
    });
    refused(experiment(nan, 1000), "environment.margin", "NaN");
    for (sd, shown) in [(0.0, "0"), (f64::NAN, "NaN")] {
        let config = plain(|c| {
            c.environment = EnvironmentConfig::ClippedGaussian(ClippedGaussianConfig {
                sd: Some(sd),
                ..ClippedGaussianConfig::new(&PAPER_REWARDS, &[&PAPER_COSTS])
            });
            c.guardrail[0].safe_cost = None;
        });
        refused(config, "environment.sd", shown);
    }
    let beta = on(arms("beta", "concentration", json!(-1.0)));
    refused(beta, "environment.concentration", "-1");
    let unbounded = on(arms("gaussian", "kind", json!("gaussian")));
    refused(unbounded, "environment.rewards[0]", "bounded");
}

#[test]
fn the_shape_and_the_means_of_an_environment_are_checked() {
    let changed = |key: &str, value: Value| on(arms("bernoulli", key, value));
    let costs = json!({"kind": "bernoulli", "costs": [PAPER_COSTS]});
    refused(on(costs), "environment.rewards", "absent");
    let rewards = json!({"kind": "bernoulli", "rewards": PAPER_REWARDS});
    refused(on(rewards), "environment.costs", "0 rows");
    for (key, value, field, shown) in [
        ("rewards", json!([]), "rewards", "empty"),
        ("costs", json!([[0.0, 0.1]]), "costs[0]", "2 numbers"),
        ("rewards", json!([0.1, 0.2, 1.4, 0.7]), "rewards[2]", "1.4"),
        ("safe", json!(4), "safe", "4"),
        ("arms", json!(["a", "b"]), "arms", "2 names"),
    ] {
        refused(changed(key, value), &format!("environment.{field}"), shown);
    }
    let nan = plain(|c| {
        let costs = [0.0, f64::NAN, 0.1, 0.1];
        let arms = banister_sim::BernoulliConfig::new(&PAPER_REWARDS, &[&costs]);
        c.environment = EnvironmentConfig::Bernoulli(arms);
    });
    refused(nan, "environment.costs[0][1]", "NaN");
    let unnamed = changed("safe", json!("control"));
    let message = unnamed.check("bad").expect_err("refused").to_string();
    assert!(
        message.contains("control") && message.contains("arm 3"),
        "{message}"
    );
    // Arm 2 costs 0.5, which leaves no margin below 0.5.
    let mut tight = changed("safe", json!(2));
    tight.guardrail = vec![guardrail(0.5, None)];
    refused(tight, "environment.costs[0][2]", "0.5");
    let lie = plain(|c| c.guardrail = vec![guardrail(0.5, Some(0.1))]);
    refused(lie, "guardrails[0].safe_cost", "0.1");
}

#[test]
fn how_long_and_how_often_is_checked() {
    refused(plain(|c| c.run.horizon = 0), "run.horizon", "0");
    refused(plain(|c| c.run.runs = 0), "run.runs", "0");
    refused(plain(|c| c.run.checkpoints = 0), "run.checkpoints", "0");
    refused(
        plain(|c| c.run.checkpoints = 1001),
        "run.checkpoints",
        "1001",
    );
    refused(plain(|c| c.run.batch = 0), "run.batch", "0");
    refused(plain(|c| c.run.batch = 1001), "run.batch", "1001");
    refused(
        plain(|c| c.run.delay = Delay::UpTo(10_000_001)),
        "run.delay",
        "0 to 10000001",
    );
    let delay = Delay::Between([5, 4]);
    refused(plain(|c| c.run.delay = delay), "run.delay", "5 to 4");
    let delay = Delay::ByName([("nobody".into(), [0, 1])].into());
    refused(plain(|c| c.run.delay = delay), "run.delay", "[\"nobody\"]");
    refused(plain(|c| c.agent.clear()), "agent", "absent");
    let bad_agent = plain(|c| {
        c.agent.push(AgentConfig::Opb(OpbConfig {
            delta: 2.0,
            ..OpbConfig::default()
        }));
    });
    refused(bad_agent, "agent[1].delta", "2");
    let twins = plain(|c| c.agent.push(c.agent[0].clone()));
    refused(twins, "agent[1].label", "opb");
}
