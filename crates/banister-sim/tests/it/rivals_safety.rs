//! Rivals on the paper's instance and on hard ones: those that promise safety in every round keep it, and
//! those that do not are seen to break it, so the counter counts.

use crate::common;
use banister::Registry as _;

use banister::guarantee::Guarantee;
use banister_rivals::AgentConfig;
use banister_sim::results::AgentResult;
use banister_sim::{
    BernoulliConfig, EnvironmentConfig, ExperimentConfig, L1Config, L2Config, LowerBoundConfig,
    Options, Progress, RunConfig, run,
};
use common::{PAPER_COSTS, PAPER_REWARDS, guardrail, most_failures};

const HORIZON: u64 = 20_000;
const RUNS: u64 = 4;

/// Every kind on arms, run side by side; with the share of rounds in which it violated, and its config.
fn simulate(name: &str, environment: EnvironmentConfig) -> Vec<(AgentConfig, f64, AgentResult)> {
    let kinds = AgentConfig::kinds();
    let all = kinds
        .iter()
        .map(|k| AgentConfig::of_kind(k).expect("its defaults"));
    let agents: Vec<AgentConfig> = all.filter(|config| !config.takes_features()).collect();
    assert!(agents.len() >= 14);
    let plain = matches!(environment, EnvironmentConfig::Bernoulli(_));
    let config = ExperimentConfig {
        name: None,
        run: RunConfig {
            horizon: HORIZON,
            runs: RUNS,
            seed: 7,
            checkpoints: 10,
            ..RunConfig::default()
        },
        environment,
        reward: Default::default(),
        guardrail: if plain {
            vec![guardrail(0.2, Some(0.0))]
        } else {
            vec![]
        },
        agent: agents.clone(),
    };
    let experiment = config.check(name).expect("a valid experiment");
    let results = run(
        &[experiment],
        Options { no_timing: true },
        &Progress::default(),
    );
    let mut instances = results.expect("it runs").expect("not cancelled").instances;
    let results = instances.remove(0).agents;
    assert_eq!(results.len(), agents.len());
    std::iter::zip(agents, results)
        .map(|(agent, result)| {
            let violations: u64 = result.runs.iter().filter_map(|run| run.violations).sum();
            (agent, violations as f64 / (HORIZON * RUNS) as f64, result)
        })
        .collect()
}

fn instances() -> [(&'static str, EnvironmentConfig); 4] {
    [
        (
            "paper",
            EnvironmentConfig::Bernoulli(BernoulliConfig::new(&PAPER_REWARDS, &[&PAPER_COSTS])),
        ),
        ("l1", EnvironmentConfig::L1(L1Config::default())),
        ("l2", EnvironmentConfig::L2(L2Config::default())),
        (
            "lower_bound",
            EnvironmentConfig::LowerBound(LowerBoundConfig::default()),
        ),
    ]
}

#[test]
fn who_promises_safety_in_every_round_keeps_it_and_the_others_are_caught() {
    let mut worst: std::collections::BTreeMap<&str, f64> = Default::default();
    let (mut runs, mut broken, mut delta) = (0, 0, 0.0);
    for (name, environment) in instances() {
        for (agent, share, result) in simulate(name, environment) {
            if agent.guarantee() == Guarantee::EveryRound {
                runs += result.runs.len();
                broken += (result.runs.iter())
                    .filter(|run| run.violations != Some(0))
                    .count();
                delta = agent.delta().max(delta);
            }
            let own = worst.entry(agent.kind()).or_default();
            *own = own.max(share);
            // What ignores guardrails ends at the best arm, which is too dear wherever the guardrail
            // matters; but for the one that is told an arm, here the safe one.
            if agent.kind() == "always" {
                assert_eq!(share, 0.0);
            } else if agent.guarantee() == Guarantee::Unsafe && name == "lower_bound" {
                assert!(share > 0.5, "{} on {name}: {share}", agent.kind());
            }
            println!("{name:12} {:24} {share:.4}", agent.kind());
        }
    }
    println!("{broken} of {runs} runs violate, at δ = {delta}");
    assert!(broken <= most_failures(runs, delta), "{broken} of {runs}");
    let config = |kind: &str| AgentConfig::of_kind(kind).expect("a kind");
    for (kind, share) in worst {
        match config(kind).guarantee() {
            // Ends heal: a run that fails does not fail for long.
            Guarantee::EveryRound => assert!(share < 0.01, "{kind}: {share}"),
            _ if kind == "always" => {}
            _ => assert!(share > 0.001, "{kind}: {share}"),
        }
    }
}
