//! Worlds whose costs are not linear in the features: the model is refuted, and true linear ones are not.

use banister_sim::results::RunSummary;
use banister_sim::{ExperimentConfig, Options, Progress, coverage, run};

fn experiment(
    environment: &str,
    at_most: f64,
    rounds: (u64, u64),
    on_breach: &str,
) -> ExperimentConfig {
    let (horizon, runs) = rounds;
    toml::from_str(&format!(
        r#"
        run = {{ horizon = {horizon}, runs = {runs}, seed = 5 }}
        environment = {{ {environment}, d = 6, k = 10 }}
        guardrail = [{{ name = "spend", at_most = {at_most}, safe_cost = 0.1 }}]
        agent = [{{ kind = "oplb", parameter_norm = 3.0, on_breach = "{on_breach}" }}]
        "#
    ))
    .expect("TOML")
}

fn runs_of(config: ExperimentConfig) -> Vec<RunSummary> {
    let experiments = [config.check("fit").expect("a valid experiment")];
    let options = Options { no_timing: true };
    let results = run(&experiments, options, &Progress::default()).expect("runs");
    let mut instances = results.expect("not cancelled").instances;
    instances.remove(0).agents.remove(0).runs
}

#[test]
fn models_that_do_not_fit_are_refuted() {
    for (world, at_most) in [("xor", 0.55), ("quadratic", 0.45)] {
        let environment = format!(r#"kind = "misspecified", world = "{world}""#);
        for run in runs_of(experiment(&environment, at_most, (20_000, 3), "safe")) {
            let alarm = run.first_alarm.expect("an alarm");
            let violations = run.violations.expect("means are known");
            // 2% of 100 000 rounds; measured are 300 at most.
            assert!(
                violations < 1000,
                "{world}: {violations} until round {alarm}"
            );
            assert_eq!(run.violations_after_alarm, 0, "{world}");
        }
        // Nothing else would end it.
        let ignored = runs_of(experiment(&environment, at_most, (20_000, 1), "alert"));
        let violations = ignored[0].violations.expect("means are known");
        assert!(violations > 5_000, "{world}: {violations}");
        // A relation that changed would be learned again; one that is not there is refuted again.
        let again = runs_of(experiment(&environment, at_most, (20_000, 1), "relearn"));
        let violations = again[0].violations.expect("means are known");
        assert!(violations < 2_000, "{world}: {violations}");
    }
}

#[test]
fn models_that_fit_are_not() {
    let runs = runs_of(experiment(r#"kind = "linear""#, 0.6, (2_000, 60), "safe"));
    assert!(runs.iter().all(|run| run.first_alarm.is_none()));
}

#[test]
fn a_world_without_parameters_has_none_to_cover() {
    let environment = r#"kind = "misspecified", world = "tree""#;
    let tree = experiment(environment, 0.35, (10, 1), "alert").check("fit");
    let error = coverage(&tree.expect("valid"), 0, &Progress::default()).unwrap_err();
    assert!(error.to_string().contains("not linear"), "{error}");
    let nothing = experiment(r#"kind = "misspecified""#, 0.35, (10, 1), "alert");
    let error = nothing.check("fit").unwrap_err().to_string();
    assert!(error.contains("environment.world"), "{error}");
}
