//! Instances that every run draws anew, and those that were published.

use banister::Error;
use banister_sim::compare::{Agents, Comparison, Entry, Suite, verdicts};
use banister_sim::{Actions, EnvironmentConfig, ExperimentConfig, Options, Progress};
use serde_json::json;

const NO_TIMING: Options = Options { no_timing: true };

fn experiment(json: serde_json::Value) -> ExperimentConfig {
    serde_json::from_value(json).expect("an experiment")
}

#[test]
fn every_run_of_directions_has_an_instance_of_its_own() {
    let entry = Entry::new(experiment(json!({
        "name": "directions",
        "run": {"horizon": 50, "runs": 12, "checkpoints": 1},
        "environment": {"kind": "directions", "threshold_range": [0.25, 1.0]},
        "agent": [{"kind": "oplb"}],
    })));
    let plan = Comparison::plan(vec![entry], &Agents::Proposed, false).expect("it fits");
    let gathered = plan
        .run(NO_TIMING, &Progress::default(), None)
        .expect("runs");
    let gathered = &gathered.expect("not cancelled")[0];
    let optima: Vec<f64> = (gathered.agents[0].iter())
        .map(|trace| trace.optimum.as_ref().expect("known").0)
        .collect();
    for (i, optimum) in optima.iter().enumerate() {
        assert!(*optimum >= 0.0 && *optimum <= 2_f64.sqrt());
        assert!(!optima[..i].contains(optimum), "{optima:?}");
    }
    let gap = |run: u64| gathered.experiment.gap_of_actions(run).expect("x₀ = 0");
    assert!(
        (0..12).all(|run| gap(run) >= -1e-12),
        "no action beats the best policy"
    );
    // The threshold is no one number.
    assert!(gathered.result().guardrails[0].threshold.is_nan());
    // The cost of the best policy never exceeds what was drawn.
    for trace in &gathered.agents[0] {
        let cost = trace.optimum.as_ref().expect("known").1[0];
        assert!(cost <= 1.0 + 1e-12);
    }
}

/// θ, the threshold and the directions of a run.
type Drawn = (Vec<f64>, f64, Vec<Vec<f64>>);

fn directions(more: serde_json::Value, runs: u64) -> Result<Vec<Drawn>, Error> {
    let mut environment = more;
    environment["kind"] = "directions".into();
    let config = experiment(json!({
        "run": {"horizon": 10, "runs": runs, "checkpoints": 1},
        "environment": environment,
        "agent": [{"kind": "oplb"}],
    }));
    let checked = config.check("directions")?;
    let one = |run: u64| {
        let drawn = checked.instance(run)?.expect("a run's own").resolved;
        let EnvironmentConfig::Linear(environment) = drawn.environment else {
            panic!("a linear environment");
        };
        let Some(Actions::List(actions)) = environment.actions else {
            panic!("a list of actions");
        };
        assert!(actions[0].iter().all(|x| *x == 0.0));
        Ok((
            environment.theta.expect("θ"),
            drawn.guardrail[0].at_most.expect("a threshold"),
            actions[1..].to_vec(),
        ))
    };
    (0..runs).map(one).collect()
}

fn check_directions(all: &[Drawn], k: usize, [low, high]: [f64; 2]) {
    for (r, (theta, threshold, directions)) in all.iter().enumerate() {
        assert!(theta.iter().all(|x| x.abs() <= 1.0));
        assert!((low..=high).contains(threshold), "{threshold}");
        assert_eq!(directions.len(), k);
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        for x in directions {
            let length = dot(x, x).sqrt();
            assert!(length <= 1.0 && length > 1.0 - 1e-12, "{length}");
        }
        assert!(directions.iter().any(|x| dot(x, theta) > 0.0), "run {r}");
        for other in &all[..r] {
            assert_ne!(other.0, *theta);
            assert_ne!(other.2, *directions);
        }
    }
}

#[test]
fn drawn_directions_are_random_and_some_pay() {
    for (d, k) in [(2, 10), (2, 2), (5, 3)] {
        let drawn = |seed: u64| {
            let range =
                json!({"d": d, "k": k, "threshold_range": [0.1, 0.3], "instance_seed": seed});
            directions(range, 60).expect("valid")
        };
        check_directions(&drawn(1), k, [0.1, 0.3]);
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }
}

#[test]
fn parameters_on_the_sphere_have_length_one() {
    let drawn = |seed: u64| {
        let law = json!({
            "d": 5, "k": 100, "parameters": "sphere", "threshold_range": [0.0, 1.0], "instance_seed": seed,
        });
        directions(law, 200).expect("valid")
    };
    let all = drawn(1);
    check_directions(&all, 100, [0.0, 1.0]);
    assert_ne!(all, drawn(2));
    for (theta, ..) in &all {
        let length = theta.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!((length - 1.0).abs() < 1e-12, "{length}");
    }
    // Uniform on the sphere: every coordinate has mean 0 and mean square 1/5; uniform thresholds have mean 1/2.
    for j in 0..5 {
        let mean = |of: &dyn Fn(f64) -> f64| all.iter().map(|a| of(a.0[j])).sum::<f64>() / 200.0;
        assert!(mean(&|x| x).abs() < 0.1, "{}", mean(&|x| x));
        assert!((mean(&|x| x * x) - 0.2).abs() < 0.06);
    }
    let mean = all.iter().map(|a| a.1).sum::<f64>() / 200.0;
    assert!((mean - 0.5).abs() < 0.08, "{mean}");
    // Means reach 1, not √d, and thresholds no further.
    let error = directions(
        json!({"parameters": "sphere", "threshold_range": [0.5, 1.2]}),
        1,
    );
    let error = error.expect_err("beyond every mean").to_string();
    assert!(error.contains("environment.threshold_range"), "{error}");
}

#[test]
fn published_directions_are_thirty() {
    for range in [[0.25, 1.0], [0.05, 0.25]] {
        let published = || json!({"instances": "published", "threshold_range": range});
        let all = directions(published(), 30).expect("valid");
        check_directions(&all, 10, range);
        assert_eq!(all, directions(published(), 30).expect("valid"));
        let error = directions(published(), 31).expect_err("there are 30");
        assert!(error.to_string().contains("run.runs"), "{error}");
    }
    // What numpy's generator starts with.
    let first = directions(json!({"instances": "published"}), 1).expect("the default range");
    assert_eq!(first[0].0, [0.2739233746429086, -0.4604265724722594]);
    assert_eq!(first[0].1, 0.8599526794002044);
    for (key, value) in [
        ("threshold_range", json!([0.25, 0.9])),
        ("d", json!(3)),
        ("k", json!(9)),
        ("instance_seed", json!(1)),
        ("parameters", json!("cube")),
    ] {
        let mut wrong = json!({"instances": "published"});
        wrong[key] = value;
        let error = directions(wrong, 3).expect_err(key).to_string();
        assert!(error.contains(&format!("environment.{key}")), "{error}");
    }
}

#[test]
fn more_runs_than_published_instances_are_for_the_others() {
    let mut suite = Suite::named("directions", 1).expect("directions");
    for entry in &mut suite.entries {
        entry.set_run(None, Some(100), None);
    }
    let runs: Vec<u64> = suite
        .entries
        .iter()
        .map(|e| e.experiment.run.runs)
        .collect();
    assert_eq!(runs, [30, 30, 100, 100]);
    let given = Agents::listed("oplb").expect("known");
    let plan = Comparison::plan(suite.entries, &given, false).expect("it fits");
    let played: Vec<usize> = plan.experiments.iter().map(|e| e.agents().len()).collect();
    assert_eq!(
        played,
        [3, 3, 1, 1],
        "published numbers are of their own agents"
    );
    // Somebody's own experiment is refused more.
    let mut own = Entry::new(experiment(json!({
        "environment": {"kind": "directions", "instances": "published"},
        "agent": [{"kind": "oplb"}],
    })));
    own.set_run(None, Some(31), None);
    let error = Comparison::plan(vec![own], &Agents::Proposed, false).expect_err("there are 30");
    assert!(error.to_string().contains("run.runs"), "{error}");
}

#[test]
fn published_numbers_of_directions_are_met() {
    let mut suite = Suite::named("directions", 1).expect("directions");
    suite.entries.retain(|entry| entry.fixed);
    for entry in &mut suite.entries {
        (entry.experiment.agent).retain(|agent| agent.kind() != "oplb");
    }
    let plan = Comparison::plan(suite.entries, &Agents::Proposed, false).expect("it fits");
    let gathered = plan.run(NO_TIMING, &Progress::default(), None);
    let gathered = gathered.expect("runs").expect("not cancelled");
    for (number, verdict) in verdicts(&suite.published, &gathered) {
        let ours = verdict.ours().expect("it played");
        let line = format!(
            "{}, {}: {} published, {:.4} ours",
            number.instance, number.agent, number.value, ours.mean
        );
        eprintln!("{line}");
        // The instances are the published ones, so that means are nearer than the spread over instances tells.
        let distance = (ours.mean - number.value).abs();
        assert!(distance <= number.margin * number.value, "{line}");
    }
}
