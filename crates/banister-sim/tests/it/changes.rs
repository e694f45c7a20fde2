//! Worlds whose means change: alarms, what they cost, and what follows them.

use banister_sim::results::RunSummary;
use banister_sim::{ExperimentConfig, Options, Progress, run};

fn runs_of(toml: &str) -> Vec<(String, Vec<RunSummary>)> {
    let config: ExperimentConfig = toml::from_str(toml).expect("TOML");
    let experiments = [config.check("changes").expect("a valid experiment")];
    let options = Options { no_timing: true };
    let results = run(&experiments, options, &Progress::default()).expect("runs");
    let mut instances = results.expect("not cancelled").instances;
    let agents = instances.remove(0).agents.into_iter();
    agents.map(|agent| (agent.name, agent.runs)).collect()
}

/// Bold's complaints go from 0.10 to 0.20 at threshold 0.12.
const DRIFT: &str = r#"
    run = { horizon = 200000, runs = 4, seed = 3 }
    [environment]
    kind = "bernoulli"
    arms = ["control", "bold"]
    rewards = [0.3, 0.6]
    costs = [[0.02, 0.10]]
    changes = [{ round = 100000, costs = [[0.02, 0.20]] }]
    [[guardrail]]
    name = "complaints"
    at_most = 0.12
    safe_cost = 0.02
"#;

#[test]
fn after_a_jump_the_alarm_ends_the_violations() {
    let agents = r#"
        [[agent]]
        kind = "opb"
        label = "safe"
        on_breach = "safe"
        [[agent]]
        kind = "opb"
        label = "relearn"
        on_breach = "relearn"
        [[agent]]
        kind = "opb"
        label = "alert"
        on_breach = "alert"
    "#;
    for (agent, runs) in runs_of(&format!("{DRIFT}{agents}")) {
        for run in &runs {
            let alarm = run.first_alarm.expect("an alarm");
            assert!((100_000..101_500).contains(&alarm), "{agent}: {alarm}");
            let violations = run.violations.expect("means are known");
            let after = run.violations_after_alarm;
            if agent == "alert" {
                assert!(after > 10_000, "{agent}: {after}");
            } else {
                assert_eq!(after, 0, "{agent}");
                assert_eq!(violations, alarm - 100_000, "{agent}");
            }
            if agent == "relearn" {
                // Half of what bold may still have: 0.1/0.18 of the policy, less what certainty costs.
                assert!(run.reward_end > 0.4, "{}", run.reward_end);
            }
        }
    }
}

#[test]
fn regret_is_against_the_best_policy_of_each_round_and_of_each_floor() {
    let agents = r#"
        [[agent]]
        kind = "opb"
        label = "safe"
        [[agent]]
        kind = "opb"
        label = "floor"
        floor = 0.5
    "#;
    let still = DRIFT.replace("changes", "# changes");
    let runs = runs_of(&format!("{still}{agents}"));
    // Half of the safe arm is all right for the floor: bold earns 0.3 more than it a round.
    let (free, floor) = (&runs[0].1[0], &runs[1].1[0]);
    assert!(
        floor.regret < 3000.0 && floor.regret > 0.0,
        "{}",
        floor.regret
    );
    assert!(floor.reward_end < 0.4501 && floor.reward_end > 0.44);
    assert!(free.reward_end > 0.58);
}

#[test]
fn delays_do_not_hide_a_jump() {
    let delayed = DRIFT.replace("runs = 4", "runs = 2, delay = 200, batch = 10");
    for (_, runs) in runs_of(&format!("{delayed}[[agent]]\nkind = \"opb\"")) {
        for run in runs {
            let alarm = run.first_alarm.expect("an alarm");
            assert!((100_000..102_000).contains(&alarm), "{alarm}");
            assert_eq!(run.violations_after_alarm, 0);
        }
    }
}

#[test]
fn wrong_changes_are_refused() {
    let refused = |changes: &str, mentions: &str| {
        let start = DRIFT.find("changes").expect("changes");
        let end = start + DRIFT[start..].find('\n').expect("a line");
        let toml = format!("{}{changes}{}", &DRIFT[..start], &DRIFT[end..]);
        let config: ExperimentConfig =
            toml::from_str(&format!("{toml}[[agent]]\nkind = \"opb\"")).expect("TOML");
        let error = config.check("changes").unwrap_err().to_string();
        assert!(error.contains(mentions), "{error}");
    };
    refused("changes = [{ round = 0 }]", "changes[0].round` is 0");
    refused("changes = [{ round = 200000 }]", "horizon of 200000");
    refused(
        "changes = [{ round = 5 }, { round = 5 }]",
        "changes[1].round` is 5",
    );
    refused(
        "changes = [{ round = 5, costs = [[0.02]] }]",
        "changes[0].costs[0]` is 1 number",
    );
    refused(
        "changes = [{ round = 5, rewards = [0.2, 1.5] }]",
        "changes[0].rewards",
    );
    refused(
        "changes = [{ round = 5, costs = [[0.5, 0.1]] }]",
        "changes[0].costs[0][0]` is 0.5",
    );
}
