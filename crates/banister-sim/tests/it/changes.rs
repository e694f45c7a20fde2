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
                assert!(after > 50_000, "{agent}: {after}");
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

/// A season of bold's complaints between 0.05 and 0.25, and a walk of its reward.
const SEASON: &str = r#"
    run = { horizon = 60000, runs = 4, seed = 5 }
    [environment]
    kind = "bernoulli"
    arms = ["control", "bold"]
    rewards = [0.3, 0.6]
    costs = [[0.02, 0.15]]
    moves = [
        { arm = "bold", signal = "complaints", path = { season = { by = 0.1, period = 30000 } } },
        { arm = 1, signal = "reward", path = { walk = { step = 0.001, within = 0.1 } } },
    ]
    [[guardrail]]
    name = "complaints"
    at_most = 0.12
    safe_cost = 0.02
    drift = { by = 2.1e-5, per = "decision" }
"#;

#[test]
fn a_season_that_is_declared_is_kept_and_one_that_is_not_is_broken() {
    let agent = "[[agent]]\nkind = \"opb\"\non_breach = \"alert\"";
    let violations = |toml: &str| {
        let runs = runs_of(&format!("{toml}{agent}")).remove(0).1;
        assert!(
            runs.iter().all(|run| run.reward_end > 0.3),
            "it plays bold too"
        );
        let each = runs
            .iter()
            .map(|run| run.violations.expect("means are known"));
        each.collect::<Vec<u64>>()
    };
    assert_eq!(violations(SEASON), [0; 4]);
    let blind = SEASON.replace("drift =", "# drift =");
    assert!(violations(&blind).iter().all(|&n| n > 5_000));
}

/// Users who come back make outcomes dependent; the mean of all users is what policies are judged by. Decided for and
/// learned as one unit each, they keep what independent outcomes keep.
#[test]
fn users_who_come_back_break_what_independent_outcomes_keep() {
    let agent = "[[agent]]\nkind = \"opb\"\ndelta = 0.1\non_breach = \"alert\"";
    let violating = |rounds: u64, outcomes: u64, horizon: u64| {
        let users = format!("users = {{ rounds = {rounds}, spread = 0.1, outcomes = {outcomes} }}");
        let start = SEASON.find("moves").expect("moves");
        let end = SEASON.find("[[guardrail]]").expect("a guardrail");
        let toml = format!("{}{users}\n{}", &SEASON[..start], &SEASON[end..]);
        let toml = toml
            .replace("drift =", "# drift =")
            .replace("runs = 4", "runs = 60");
        let toml = toml
            .replace("horizon = 60000", &format!("horizon = {horizon}"))
            .replace("0.02, 0.15", "0.1, 0.2");
        let toml = toml
            .replace("at_most = 0.12", "at_most = 0.15")
            .replace("safe_cost = 0.02", "safe_cost = 0.1");
        let runs = runs_of(&format!("{toml}{agent}")).remove(0).1;
        runs.iter().filter(|run| run.violations > Some(0)).count()
    };
    let (alone, together) = (violating(1, 1, 10_000), violating(200, 1, 10_000));
    let units = violating(1, 200, 1000);
    println!("{alone}, {together} and {units} of 60 runs violate");
    assert!(alone <= 6 + 7 && together >= 20, "{alone}, {together}");
    assert!(units <= 6 + 7, "{units}");
}

/// Users who stay for several periods and are learned in each, by runs that violate; learned once, none of them does more
/// often than the level allows. Whoever stays for one period is the control.
#[test]
fn users_who_stay_are_learned_once() {
    let violating = |stays: u64, once: bool| {
        let toml = format!(
            r#"
            run = {{ horizon = 10000, runs = 300, seed = 5 }}
            [environment]
            kind = "bernoulli"
            arms = ["control", "bold"]
            rewards = [0.3, 0.6]
            costs = [[0.3, 0.35]]
            users = {{ rounds = {stays}, spread = 0.3, active = 50, once = {once} }}
            [[guardrail]]
            name = "complaints"
            at_most = 0.33
            safe_cost = 0.3
            [[agent]]
            kind = "opb"
            delta = 0.1
            on_breach = "alert"
        "#
        );
        let runs = runs_of(&toml).remove(0).1;
        runs.iter().filter(|run| run.violations > Some(0)).count()
    };
    let control = violating(1, false);
    let counts = [5, 20, 52].map(|stays| [violating(stays, false), violating(stays, true)]);
    println!("{control} and {counts:?} of 300 runs violate");
    // 30 are allowed; five standard deviations above are 56.
    assert!(control <= 56, "{control}");
    for [_, once] in counts {
        assert!(once <= 56, "{counts:?}");
    }
    assert!(counts[1][0] > 56 && counts[2][0] > 56, "{counts:?}");
}

#[test]
fn wrong_moves_are_refused() {
    for (moves, mentions) in [
        (
            "path = { season = { by = 0.1, period = 0 } }",
            "moves[0].period` is 0",
        ),
        (
            "path = { season = { by = nan, period = 10 } }",
            "moves[0].by` is NaN",
        ),
        (
            "path = { walk = { step = 0.1, within = 0.01 } }",
            "moves[0].within` is 0.01",
        ),
        (
            "path = { line = { by = -0.5, rounds = 10 } }",
            "within the range",
        ),
    ] {
        let start = SEASON.find("path = { season").expect("a path");
        let end = start + SEASON[start..].find(" },\n").expect("its end");
        let toml = format!("{}{moves}{}", &SEASON[..start], &SEASON[end..]);
        let config: ExperimentConfig =
            toml::from_str(&format!("{toml}[[agent]]\nkind = \"opb\"")).expect("TOML");
        let error = config.check("moves").unwrap_err().to_string();
        assert!(error.contains(mentions), "{error}");
    }
    for (from, to, mentions) in [
        (
            "signal = \"complaints\"",
            "signal = \"spend\"",
            "moves[0].signal` is spend",
        ),
        ("arm = \"bold\"", "arm = 7", "moves[0].arm` is 7"),
        ("arm = \"bold\"", "arm = 0", "within the range"),
    ] {
        let toml = SEASON.replacen(from, to, 1);
        let config: ExperimentConfig =
            toml::from_str(&format!("{toml}[[agent]]\nkind = \"opb\"")).expect("TOML");
        let error = config.check("moves").unwrap_err().to_string();
        assert!(error.contains(mentions), "{error}");
    }
}
