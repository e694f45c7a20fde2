//! Logistic worlds, and arms with parameters of their own: what the models promise holds there, and what they cannot
//! say is refused.

use crate::bench::{refused, rows};
use banister_sim::results::AgentResult;
use banister_sim::{ExperimentConfig, Options, Progress, run};

fn parse(text: &str) -> ExperimentConfig {
    toml::from_str(text).expect("valid TOML")
}

fn results(text: &str) -> Vec<AgentResult> {
    let experiment = parse(text).check("test").expect("valid");
    let options = Options { no_timing: true };
    let done = run(&[experiment], options, &Progress::default()).expect("valid");
    done.expect("not cancelled").instances.remove(0).agents
}

fn refusal(text: &str) -> String {
    parse(text).check("test").expect_err("refused").to_string()
}

/// Costs with log-odds −2 ± 4. The linear model, its alarms ignored, violates in a third of the rounds and still loses more reward;
/// with the link no policy violates.
#[test]
fn a_logistic_world_needs_the_link() {
    let agents = results(
        r#"
        run = { horizon = 40000, runs = 1, seed = 3 }
        guardrail = [{ name = "complaints", at_most = 0.15, safe_cost = 0.05 }]
        agent = [{ kind = "oplb", label = "linear", on_breach = "alert" }, { kind = "oplb", link = "logistic" }]
        [environment]
        kind = "linear"
        link = "logistic"
        k = 5
        d = 3
        theta = [-2.8284, 1.4142, 4.2426]
        mu = [[-2.8284, 5.6569, 0.0]]
        "#,
    );
    let (linear, logistic) = (&agents[0].runs[0], &agents[1].runs[0]);
    assert_eq!(logistic.violations, Some(0));
    assert!(linear.violations > Some(8000), "{:?}", linear.violations);
    assert!(
        logistic.regret < linear.regret,
        "{:?} {:?}",
        logistic.regret,
        linear.regret
    );
}

/// Drawn instances, with the safe cost unknown and a guardrail from below, with outcomes at once and late.
#[test]
fn linked_policies_keep_drawn_guardrails() {
    for (told, late) in [(true, ""), (false, ", delay = 20, batch = 10")] {
        let told = if told { ", safe_cost = 0.15" } else { "" };
        let agents = results(&format!(
            r#"
            run = {{ horizon = 4000, runs = 2, seed = 5{late} }}
            environment = {{ kind = "linear", link = "logistic", k = 6, d = 4, safe_costs = [0.15, 0.6] }}
            guardrail = [
                {{ name = "complaints", at_most = 0.3{told} }}, {{ name = "sales", at_least = 0.4 }},
            ]
            agent = [{{ kind = "oplb", link = "logistic" }}]
            "#
        ));
        for run in &agents[0].runs {
            assert_eq!(run.violations, Some(0));
            assert!(run.pulls[1] > 400, "{:?}", run.pulls);
        }
    }
}

/// Arms whose means depend on the context each in its own way, the safe one's too: no policy violates in its context,
/// and most of what can be earned is, with both links and with late outcomes.
#[test]
fn arms_with_parameters_of_their_own_keep_guardrails_in_every_context() {
    for link in ["identity", "logistic"] {
        for late in ["", ", delay = 20, batch = 10"] {
            let agents = results(&format!(
                r#"
                run = {{ horizon = 10000, runs = 2, seed = 4{late} }}
                environment = {{ kind = "linear", actions = "per_arm", link = "{link}", k = 3, d = 3 }}
                guardrail = [{{ name = "complaints", at_most = 0.4 }}]
                agent = [{{ kind = "oplb", model = "per_arm", link = "{link}" }}]
                "#
            ));
            for run in &agents[0].runs {
                assert_eq!(run.violations, Some(0), "{link}{late}");
                assert!(run.pulls[0] < 8000, "{link}{late} {:?}", run.pulls);
            }
        }
    }
}

/// A wrong radius is caught: scaled down, per-arm sets let policies violate.
#[test]
fn narrow_sets_violate() {
    let agents = results(
        r#"
        run = { horizon = 10000, runs = 2, seed = 4 }
        environment = { kind = "linear", actions = "per_arm", k = 3, d = 3 }
        guardrail = [{ name = "complaints", at_most = 0.4 }]
        agent = [{ kind = "oplb", model = "per_arm", radius_scale = 0.05 }]
        "#,
    );
    assert!(agents[0].runs.iter().any(|run| run.violations > Some(0)));
}

#[test]
fn what_cannot_be_is_refused() {
    let table = "
        actions = 'per_arm'                |                      |                                        | agent[0].kind & per_arm
        actions = 'contextual'             |                      | , model = 'per_arm'                    | agent[0].model
        actions = 'per_arm'                | , safe_cost = 0.1    | , model = 'per_arm'                    | guardrails[0].safe_cost
        actions = 'per_arm'                |                      | , model = 'per_arm', parameter_norm = 0.1 | parameter_norm
        actions = 'ball', link = 'logistic' |                     |                                        | environment.link
        link = 'logistic', noise = 0.1     | , sub_gaussian = 1.0 |                                        | environment.noise
        link = 'logistic'                  |                      | , link = 'logistic', parameter_norm = 1.0 | parameter_norm
    ";
    for (cells, words) in rows(table) {
        let error = refusal(&format!(
            "run = {{ horizon = 100 }}
             environment = {{ kind = 'linear', k = 3, d = 3, {} }}
             guardrail = [{{ name = 'cost', at_most = 0.4{} }}]
             agent = [{{ kind = 'oplb'{} }}]",
            cells[0], cells[1], cells[2]
        ));
        refused(Err::<(), _>(error), &words, cells[0]);
    }
}
