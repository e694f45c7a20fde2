//! The paper's instance and short ways to run it.

// Every test file uses a part of this.
#![allow(dead_code)]

use banister::{Guardrail, OpbConfig, Problem};
use banister_rivals::AgentConfig;
use banister_sim::results::AgentResult;
use banister_sim::{
    Arms, BernoulliConfig, Changing, EnvironmentConfig, Experiment, ExperimentConfig, Options,
    Progress, RunConfig, Trace, run, run_shard,
};

pub const PAPER_REWARDS: [f64; 4] = [0.1, 0.2, 0.4, 0.7];
pub const PAPER_COSTS: [f64; 4] = [0.0, 0.4, 0.5, 0.2];

pub fn guardrail(at_most: f64, safe_cost: Option<f64>) -> Guardrail {
    Guardrail {
        name: "cost".into(),
        at_most: Some(at_most),
        safe_cost,
        ..Guardrail::default()
    }
}

/// The paper's four Bernoulli arms.
pub fn paper_problem(threshold: f64, safe_cost: Option<f64>) -> Problem {
    Problem {
        arms: (0..4).map(|a| format!("arm {a}")).collect(),
        safe: 0,
        guardrails: vec![guardrail(threshold, safe_cost)],
        ..Default::default()
    }
}

/// An experiment on the paper's instance with the safe cost known and the default seed.
pub fn paper_experiment(
    threshold: f64,
    horizon: u64,
    runs: u64,
    agent: OpbConfig,
) -> ExperimentConfig {
    ExperimentConfig {
        name: None,
        run: RunConfig {
            horizon,
            runs,
            ..RunConfig::default()
        },
        environment: EnvironmentConfig::Bernoulli(BernoulliConfig::new(
            &PAPER_REWARDS,
            &[&PAPER_COSTS],
        )),
        reward: Default::default(),
        guardrail: vec![guardrail(threshold, Some(0.0))],
        agent: vec![AgentConfig::Opb(agent)],
    }
}

/// The laws of an experiment whose actions stay the same.
pub fn laws(experiment: &Experiment) -> &Arms {
    experiment.environment().as_arms().expect("arms")
}

/// A stream of random numbers, whichever.
pub fn any_stream() -> rand_chacha::ChaCha8Rng {
    use rand::SeedableRng;
    rand_chacha::ChaCha8Rng::seed_from_u64(1)
}

/// The actions of an experiment where they change.
pub fn changing(experiment: &Experiment) -> &Changing {
    experiment.environment().as_changing().expect("changing")
}

/// The action sets of some rounds.
pub fn sets(changing: &Changing, rounds: u64) -> Vec<Vec<f64>> {
    let mut rng = any_stream();
    let mut rows = Vec::new();
    for visit in 0..rounds {
        let mut actions = Vec::new();
        changing.draw(visit, &mut rng, &mut actions);
        rows.extend(actions.chunks(changing.dimension()).map(<[f64]>::to_vec));
    }
    rows
}

/// Some runs of one agent, alone.
pub fn traces(
    experiment: &Experiment,
    agent: usize,
    runs: std::ops::Range<u64>,
    options: Options,
) -> Vec<Trace> {
    let shard = run_shard(experiment, agent, runs, options, &Progress::default());
    shard.expect("it runs").expect("not cancelled").traces
}

/// Runs the only agent of an experiment.
pub fn simulate(config: ExperimentConfig) -> AgentResult {
    let experiment = config.check("test").expect("a valid experiment");
    let options = Options { no_timing: true };
    let results = run(&[experiment], options, &Progress::default()).expect("it runs");
    let mut instances = results.expect("not cancelled").instances;
    instances.remove(0).agents.remove(0)
}

/// Mean of a slice and the standard error of that mean.
pub fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0) / n).sqrt())
}

/// The least number that Binomial(n, δ) exceeds with probability below 10⁻⁴.
pub fn most_failures(n: usize, delta: f64) -> usize {
    let mut probability = (1.0 - delta).powi(n as i32);
    let (mut at_most, mut k) = (probability, 0);
    while 1.0 - at_most >= 1e-4 {
        probability *= delta / (1.0 - delta) * (n - k) as f64 / (k + 1) as f64;
        at_most += probability;
        k += 1;
    }
    k
}
