//! The limit of certified play of environments: posed from samples of their outcomes, it is the same.

use banister_sim::banister::theory::{CertifiedCost, CertifiedPlay, CostLaw};
use banister_sim::{Experiment, ExperimentConfig, Options, Progress, run};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const DRAWS: usize = 200_000;

fn experiment(toml: &str) -> Experiment {
    let config: ExperimentConfig = toml::from_str(toml).expect("valid TOML");
    config.check("limit").expect("a valid experiment")
}

/// An instance with the given environment and guardrails, and more keys of `run`.
fn instance(environment: &str, guardrails: &str) -> Experiment {
    experiment(&format!(
        "run = {{ horizon = 20000, runs = 2 }}
         environment = {{ {environment} }}
         guardrail = [{guardrails}]
         reward = {{ sub_gaussian = 1.0 }}
         agent = [{{ kind = \"opb\" }}]"
    ))
}

/// Law of the first cost of every arm, from samples: two values, or a standard deviation.
fn sampled(experiment: &Experiment) -> Vec<CostLaw> {
    let arms = experiment.environment().as_arms().expect("arms");
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let law = |arm: usize| {
        let mut draw = || {
            let mut costs = [0.0];
            arms.pull(arm, &mut rng, &mut costs);
            costs[0]
        };
        let drawn: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
        let low = drawn.iter().copied().fold(f64::INFINITY, f64::min);
        let high = drawn.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if drawn.iter().all(|&x| x == low || x == high) {
            return CostLaw::TwoValued { low, high };
        }
        let mean = drawn.iter().sum::<f64>() / DRAWS as f64;
        let square = drawn.iter().map(|x| x * x).sum::<f64>() / DRAWS as f64;
        let sd = (square - mean * mean).max(0.0).sqrt();
        CostLaw::Normal { sd }
    };
    (0..arms.count()).map(law).collect()
}

/// The limit at δ = 0.05 of a guardrail with sampled laws and given means.
fn expected(experiment: &Experiment, cost: impl Fn(&[f64], Vec<CostLaw>) -> CertifiedCost) -> f64 {
    let arms = experiment.environment().as_arms().expect("arms");
    let laws = sampled(experiment);
    let column = |s: usize| -> Vec<f64> { (0..arms.count()).map(|a| arms.means(a)[s]).collect() };
    let play = CertifiedPlay {
        rewards: column(0),
        guardrails: vec![cost(&column(1), laws)],
        safe: 0,
        delta: 0.05,
        horizon: 20_000,
    };
    play.limit().expect("a valid instance")
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 0.01 * b
}

#[test]
fn every_kind_of_arm_knows_the_standard_deviation_of_its_cost() {
    let means = "rewards = [0.1, 0.3, 0.7], costs = [[0.5, 2.5, 3.0]]";
    let mut limits = Vec::new();
    for (kind, safe) in [
        ("kind = \"bernoulli\"", 0.5),
        ("kind = \"beta\", concentration = 3.0", 0.5),
        ("kind = \"gaussian\", sd = 0.2", 0.5),
        // Clipped so much that the mean of the safe arm moves, and every deviation shrinks.
        ("kind = \"clipped_gaussian\", sd = 0.6", f64::NAN),
    ] {
        let known = if safe == 0.5 { "safe_cost = 0.5, " } else { "" };
        let experiment = instance(
            &format!("{kind}, {means}"),
            &format!(
                "{{ name = \"spend\", at_most = 2.4, {known}range = [0.0, 4.0], sub_gaussian = 4.0 }}"
            ),
        );
        let wanted = expected(&experiment, |means, mut laws| {
            if safe == 0.5 {
                laws[0] = CostLaw::Known;
            }
            CertifiedCost {
                means: means.to_vec(),
                laws,
                factor: 0.0,
                threshold: 2.4,
            }
        });
        let found = experiment.limit(0.05).expect("known");
        assert!(
            wanted > 10.0 && close(found, wanted),
            "{kind}: {found}, {wanted}"
        );
        limits.push(found);
    }
    // The noise of a two-point law is the largest there is.
    assert!(limits[1..3].iter().all(|limit| *limit < limits[0]));
}

#[test]
fn at_least_is_mirrored_and_relative_counts_an_unknown_safe_mean() {
    let environment = "kind = \"bernoulli\", rewards = [0.2, 0.9], costs = [[0.6, 0.3]]";
    let cost = |factor: f64, threshold: f64, known: bool| {
        move |means: &[f64], mut laws: Vec<CostLaw>| {
            if known {
                laws[0] = CostLaw::Known;
            }
            // Costs are the signal's negative.
            for law in &mut laws {
                if let CostLaw::TwoValued { low, high } = *law {
                    let (low, high) = (-high, -low);
                    *law = CostLaw::TwoValued { low, high };
                }
            }
            CertifiedCost {
                means: means.iter().map(|mean| -mean).collect(),
                laws,
                factor,
                threshold,
            }
        }
    };
    let limit = |guardrail: &str, cost: &dyn Fn(&[f64], Vec<CostLaw>) -> CertifiedCost| {
        let experiment = instance(environment, guardrail);
        let (found, wanted) = (experiment.limit(0.05), expected(&experiment, cost));
        let found = found.expect("known");
        assert!(
            wanted > 10.0 && close(found, wanted),
            "{guardrail}: {found}, {wanted}"
        );
        found
    };
    let absolute = limit(
        "{ name = \"s\", at_least = 0.45, safe_cost = 0.6 }",
        &cost(0.0, -0.45, true),
    );
    let unknown = limit(
        "{ name = \"s\", at_least = 0.45 }",
        &cost(0.0, -0.45, false),
    );
    // Relative to a known mean is absolute; an unknown one must be learned, too.
    let known = limit(
        "{ name = \"s\", at_least = 0.75, relative = true, safe_cost = 0.6 }",
        &cost(0.0, -0.45, true),
    );
    let relative = limit(
        "{ name = \"s\", at_least = 0.75, relative = true }",
        &cost(0.75, 0.0, false),
    );
    // Programs in other units may differ in the last digits.
    assert!(
        (absolute - known).abs() <= 1e-9 * absolute,
        "{absolute} {known}"
    );
    assert!(unknown > absolute && relative > absolute);
}

#[test]
fn it_is_unknown_where_outcomes_tell_of_other_actions_or_means_change() {
    let list = "kind = \"linear\", actions = [[1.0, 0.0], [0.5, 0.5]], theta = [0.25, 0.5], mu = [[0.25, 0.75]]";
    let contextual = "kind = \"linear\", k = 3, d = 3";
    let guardrail = "{ name = \"spend\", at_most = 0.45, safe_cost = 0.25 }";
    for environment in [list, contextual] {
        let experiment = experiment(&format!(
            "environment = {{ {environment} }}\nguardrail = [{guardrail}]\nagent = [{{ kind = \"oplb\" }}]"
        ));
        assert_eq!(experiment.limit(0.01), None);
        assert!(experiment.setting(0.01).is_none());
    }
    let means = "kind = \"bernoulli\", rewards = [0.1, 0.7], costs = [[0.25, 0.5]]";
    assert!(instance(means, guardrail).limit(0.01).is_some());
    let changes = format!("{means}, changes = [{{ round = 100, rewards = [0.1, 0.8] }}]");
    assert_eq!(instance(&changes, guardrail).limit(0.01), None);
}

#[test]
fn results_have_the_limit_at_each_agents_own_level() {
    let experiment = experiment(
        r#"
        run = { horizon = 5000, runs = 2 }
        environment = { kind = "bernoulli", rewards = [0.1, 0.7], costs = [[0.0, 0.4]] }
        guardrail = [{ name = "spend", at_most = 0.2, safe_cost = 0.0 }]
        agent = [{ kind = "opb" }, { kind = "opb", label = "bold", delta = 0.2 }, { kind = "ucb1" }]
        "#,
    );
    let options = Options { no_timing: true };
    let results = run(
        std::slice::from_ref(&experiment),
        options,
        &Progress::default(),
    );
    let results = results.expect("runs").expect("not cancelled");
    let agents = &results.instances[0].agents;
    for (agent, delta) in agents.iter().zip([0.01, 0.2, 0.01]) {
        let limit = experiment.limit(delta).expect("known");
        assert_eq!(agent.limit, Some(limit));
        let regret = (agent.runs[0].regret + agent.runs[1].regret) / 2.0;
        let multiple = agent.regret_over_limit().expect("a limit above 1");
        assert!((multiple - regret / limit).abs() < 1e-12);
    }
    // Certified agents cannot come near it; one that ignores the guardrail can go below.
    assert!(agents[0].regret_over_limit() > Some(1.0));
    assert!(agents[2].regret_over_limit() < Some(1.0));
    let mut none = agents[0].clone();
    for limit in [None, Some(0.0), Some(0.99), Some(f64::NAN)] {
        none.limit = limit;
        assert_eq!(none.regret_over_limit(), None);
    }
}
