//! Rounds per second of every registered agent, and how that compares with banister's own.

use banister::Registry as _;
use banister_rivals::AgentConfig;
use banister_sim::compare::{Agents, Comparison, Entry};
use banister_sim::{ExperimentConfig, Options, Progress, run_shard};
use serde_json::{Value, json};

use crate::Failure;

/// Rounds of a pass, and passes; the best one counts.
const ROUNDS: u64 = 50_000;
const PASSES: u64 = 5;

pub fn agents() -> Result<(), Failure> {
    println!(
        "\nRounds per second of every agent, one thread, best of {PASSES} passes of {ROUNDS} rounds\n"
    );
    println!(
        "  {:<34} {:<24} {:>14} {:>10} {:>12}",
        "instance", "agent", "rounds/s", "ns/round", "× own agent"
    );
    let run = json!({"horizon": ROUNDS, "runs": PASSES, "checkpoints": 1});
    let arms = json!({
        "name": "paper's arms, τ = 0.2",
        "run": run,
        "environment": {
            "kind": "bernoulli",
            "rewards": [0.1, 0.2, 0.4, 0.7],
            "costs": [[0.0, 0.4, 0.5, 0.2]],
        },
        "guardrail": [{"name": "cost", "at_most": 0.2, "safe_cost": 0.0}],
    });
    let linear = json!({
        "name": "authors' actions, d = 5",
        "run": run,
        "environment": {"kind": "authors_linear", "d": 5, "threshold": 0.5},
    });
    table(&arms, false, "opb")?;
    table(&linear, true, "oplb")
}

/// The agents that fit an instance, with features or without.
fn table(instance: &Value, takes_features: bool, own: &str) -> Result<(), Failure> {
    let mut config: ExperimentConfig = serde_json::from_value(instance.clone())?;
    for kind in AgentConfig::kinds() {
        let agent = AgentConfig::of_kind(&kind)?;
        if agent.takes_features() == takes_features {
            config.agent.push(agent);
        }
    }
    let plan = Comparison::plan(vec![Entry::new(config)], &Agents::Proposed, false)?;
    let experiment = &plan.experiments[0];
    let mut best = vec![f64::INFINITY; experiment.agents().len()];
    // Passes in turn, so that a busy moment does not fall on one agent alone.
    for pass in 0..PASSES {
        for (agent, best) in best.iter_mut().enumerate() {
            let (options, monitor) = (Options::default(), Progress::default());
            let shard = run_shard(experiment, agent, pass..pass + 1, options, &monitor)?;
            let shard = shard.ok_or("it was cancelled")?;
            let time = shard.traces[0].summary.nanoseconds_per_round;
            *best = best.min(time.ok_or("it was not timed")?);
        }
    }
    let labels = experiment.agents().iter().map(|(label, _)| label);
    let reference = labels.clone().zip(&best).find(|(label, _)| *label == own);
    let reference = *reference.ok_or("its own agent does not play")?.1;
    for (label, time) in labels.zip(&best) {
        println!(
            "  {:<34} {label:<24} {:>14.0} {time:>10.0} {:>12.2}",
            experiment.name,
            1e9 / time,
            time / reference
        );
    }
    Ok(())
}
