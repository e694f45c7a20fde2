//! Hard instances by name, and everything an environment's declaration is refused for.

use crate::common;

use banister::theory::lower_bound_margin;
use banister::{Error, OpbConfig};
use banister_rivals::AgentConfig;
use banister_sim::{ArmRef, EnvironmentConfig, Experiment, ExperimentConfig, Kind, RunConfig};
use common::{guardrail, laws, paper_experiment, simulate};

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

fn lower_bound(alternative: bool, margin: f64) -> EnvironmentConfig {
    EnvironmentConfig {
        alternative: Some(alternative),
        margin: Some(margin),
        ..EnvironmentConfig::named(Kind::LowerBound)
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
            let environment = EnvironmentConfig {
                threshold: Some(threshold),
                k: Some(k),
                ..lower_bound(alternative, margin)
            };
            let experiment = checked(environment);
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
        let named = |kind: Kind, alternative: Option<bool>| {
            checked(EnvironmentConfig {
                margin: Some(d),
                best_margin: Some(rho.min(if kind == Kind::L2 { 0.25 } else { 0.5 })),
                alternative,
                ..EnvironmentConfig::named(kind)
            })
        };
        let l1 = named(Kind::L1, None);
        assert_eq!(column(&l1, 0), [0.5, 1.0, 0.5]);
        assert_eq!(column(&l1, 1), [0.5 - d, 0.5, 0.5 - rho]);
        // The middle arm is just feasible: it alone is optimal.
        assert!((l1.optimum().reward - 1.0).abs() < 1e-12);
        let just_not = named(Kind::L1, Some(true));
        let excess = 1.0 / (8.0 * 10_000_f64.sqrt());
        assert_eq!(column(&just_not, 1), [0.5 - d, 0.5 + excess, 0.5 - rho]);
        // Mixed with the arm of margin ρ, so that the excess is balanced.
        let share = rho / (rho + excess);
        assert!((just_not.optimum().reward - (share + 0.5 * (1.0 - share))).abs() < 1e-12);
        let l2 = named(Kind::L2, None);
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
        let agent = simulate(experiment(lower_bound(alternative, margin), horizon));
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
                (field.as_str(), value.as_str()),
                (expected_field, expected_value)
            );
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("expected `{expected_field}` to be refused"),
    }
}

fn plain(change: impl Fn(&mut ExperimentConfig)) -> ExperimentConfig {
    let mut config = paper_experiment(0.5, 1000, 2, OpbConfig::default());
    change(&mut config);
    config
}

fn hard(kind: Kind, change: impl Fn(&mut EnvironmentConfig)) -> ExperimentConfig {
    let mut environment = EnvironmentConfig::named(kind);
    change(&mut environment);
    experiment(environment, 1000)
}

#[test]
fn keys_that_do_not_apply_to_a_kind_are_refused() {
    let given = |config, key: &str| refused(config, &format!("environment.{key}"), "given");
    given(plain(|c| c.environment.sd = Some(0.1)), "sd");
    given(
        plain(|c| c.environment.concentration = Some(4.0)),
        "concentration",
    );
    given(plain(|c| c.environment.nominal = Some(true)), "nominal");
    given(plain(|c| c.environment.k = Some(4)), "k");
    given(plain(|c| c.environment.margin = Some(0.1)), "margin");
    given(
        plain(|c| c.environment.best_margin = Some(0.1)),
        "best_margin",
    );
    given(plain(|c| c.environment.threshold = Some(0.1)), "threshold");
    given(
        plain(|c| c.environment.alternative = Some(true)),
        "alternative",
    );
    given(hard(Kind::L1, |e| e.rewards = Some(vec![0.5])), "rewards");
    given(hard(Kind::L2, |e| e.costs = Some(vec![])), "costs");
    given(hard(Kind::L1, |e| e.safe = Some(ArmRef::Index(0))), "safe");
    given(hard(Kind::L1, |e| e.threshold = Some(0.5)), "threshold");
    given(
        hard(Kind::L2, |e| e.alternative = Some(true)),
        "alternative",
    );
    given(
        hard(Kind::LowerBound, |e| e.best_margin = Some(0.1)),
        "best_margin",
    );
}

#[test]
fn numbers_of_an_environment_are_checked() {
    refused(
        hard(Kind::LowerBound, |e| e.k = Some(3)),
        "environment.k",
        "3",
    );
    refused(
        hard(Kind::LowerBound, |e| e.margin = Some(0.3)),
        "environment.margin",
        "0.3",
    );
    refused(
        hard(Kind::LowerBound, |e| e.threshold = Some(0.1)),
        "environment.margin",
        "0.2",
    );
    refused(
        hard(Kind::LowerBound, |e| e.threshold = Some(1.5)),
        "environment.threshold",
        "1.5",
    );
    refused(
        hard(Kind::L1, |e| e.margin = Some(0.0)),
        "environment.margin",
        "0",
    );
    refused(
        hard(Kind::L1, |e| e.margin = Some(f64::NAN)),
        "environment.margin",
        "NaN",
    );
    refused(
        hard(Kind::L2, |e| e.best_margin = Some(0.3)),
        "environment.best_margin",
        "0.3",
    );
    let gaussian = |change: fn(&mut ExperimentConfig)| {
        plain(|c| {
            c.environment.kind = Kind::ClippedGaussian;
            c.guardrail[0].safe_cost = None;
            change(c);
        })
    };
    refused(
        gaussian(|c| c.environment.sd = Some(0.0)),
        "environment.sd",
        "0",
    );
    refused(
        gaussian(|c| c.environment.sd = Some(f64::NAN)),
        "environment.sd",
        "NaN",
    );
    let beta = plain(|c| {
        c.environment.kind = Kind::Beta;
        c.environment.concentration = Some(-1.0);
    });
    refused(beta, "environment.concentration", "-1");
    let unbounded = plain(|c| c.environment.kind = Kind::Gaussian);
    refused(unbounded, "environment.rewards[0]", "bounded");
}

#[test]
fn the_shape_and_the_means_of_an_environment_are_checked() {
    refused(
        plain(|c| c.environment.rewards = None),
        "environment.rewards",
        "absent",
    );
    refused(
        plain(|c| c.environment.rewards = Some(vec![])),
        "environment.rewards",
        "empty",
    );
    refused(
        plain(|c| c.environment.costs = None),
        "environment.costs",
        "0 rows",
    );
    let short = plain(|c| c.environment.costs = Some(vec![vec![0.0, 0.1]]));
    refused(short, "environment.costs[0]", "2 numbers");
    let outside = plain(|c| c.environment.rewards = Some(vec![0.1, 0.2, 1.4, 0.7]));
    refused(outside, "environment.rewards[2]", "1.4");
    let nan = plain(|c| c.environment.costs = Some(vec![vec![0.0, f64::NAN, 0.1, 0.1]]));
    refused(nan, "environment.costs[0][1]", "NaN");
    refused(
        plain(|c| c.environment.safe = Some(ArmRef::Index(4))),
        "environment.safe",
        "4",
    );
    let unnamed = plain(|c| c.environment.safe = Some(ArmRef::Name("control".into())));
    let message = unnamed.check("bad").expect_err("refused").to_string();
    assert!(
        message.contains("control") && message.contains("arm 3"),
        "{message}"
    );
    let names = plain(|c| c.environment.arms = Some(vec!["a".into(), "b".into()]));
    refused(names, "environment.arms", "2 names");
    // Arm 2 costs 0.5, which leaves no margin below 0.5.
    let tight = plain(|c| {
        c.environment.safe = Some(ArmRef::Index(2));
        c.guardrail = vec![guardrail(0.5, None)];
    });
    refused(tight, "environment.costs[0][2]", "0.5");
    let lie = plain(|c| c.guardrail = vec![guardrail(0.5, Some(0.1))]);
    refused(lie, "guardrail[0].safe_cost", "0.1");
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
    refused(plain(|c| c.run.delay = 10_000_001), "run.delay", "10000001");
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
