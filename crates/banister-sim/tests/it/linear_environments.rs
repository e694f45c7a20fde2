//! Linear environments: means in range and as declared, refused input.

use crate::bench::{refused, rows};
use crate::common;

use banister::Error;
use banister_sim::{Experiment, ExperimentConfig};
use common::{changing, laws, sets};

fn parse(text: &str) -> ExperimentConfig {
    toml::from_str(text).expect("valid TOML")
}

/// An experiment with the given environment, guardrails `at_most` 0.5 on [0, 1], and one agent.
fn experiment(environment: &str, guardrails: usize) -> Result<Experiment, Error> {
    let guardrails: Vec<String> = (0..guardrails)
        .map(|i| format!(r#"{{ name = "g{i}", at_most = 0.5 }}"#))
        .collect();
    parse(&format!(
        "environment = {{ {environment} }}\nguardrail = [{}]\nagent = [{{ kind = \"oplb\" }}]",
        guardrails.join(", ")
    ))
    .check("test")
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}

#[test]
fn contextual_means_fill_their_range_and_lengths_are_at_most_one() {
    for (d, m, seed) in [
        (2, 1, 1),
        (3, 2, 2),
        (5, 3, 3),
        (17, 2, 4),
        (64, 1, 5),
        (4, 0, 6),
    ] {
        let text = format!(r#"kind = "linear", d = {d}, k = 7, instance_seed = {seed}"#);
        let experiment = experiment(&text, m).expect("valid");
        let world = changing(&experiment);
        assert_eq!(world.parameters().len(), m + 1);
        for parameter in world.parameters() {
            assert!(dot(parameter, parameter).sqrt() <= 1.0 + 1e-12);
        }
        let (mut low, mut high) = (1.0_f64, 0.0_f64);
        let rows = sets(world, 300);
        assert_eq!(rows.len(), 2100);
        for x in rows.iter().map(Vec::as_slice).chain([world.safe_action()]) {
            assert!(dot(x, x).sqrt() <= 1.0, "{x:?}");
            for parameter in world.parameters() {
                let mean = dot(x, parameter);
                assert!((-1e-12..=1.0 + 1e-12).contains(&mean));
                (low, high) = (low.min(mean), high.max(mean));
            }
        }
        assert!(d > 5 || (low < 0.1 && high > 0.9), "{low} to {high}");
        // Half-way to the threshold unless declared.
        for (i, parameter) in world.parameters()[1..].iter().enumerate() {
            assert!((dot(world.safe_action(), parameter) - 0.25).abs() < 1e-12);
            assert!((world.safe_means()[i + 1] - 0.25).abs() < 1e-12);
        }
    }
}

#[test]
fn ranges_and_directions_of_guardrails_are_respected() {
    let text = r#"
        environment = { kind = "linear", d = 6, k = 5, safe_costs = [20.0, 0.8] }
        reward = { range = [-4.0, 4.0] }
        guardrail = [
            { name = "spend", at_most = 50.0, range = [0.0, 100.0] },
            { name = "quality", at_least = 0.7, safe_cost = 0.8 },
        ]
        agent = [{ kind = "oplb" }]
    "#;
    let experiment = parse(text).check("ranges").expect("valid");
    let world = changing(&experiment);
    assert!((world.safe_means()[1] - 20.0).abs() < 1e-9);
    assert!((world.safe_means()[2] - 0.8).abs() < 1e-12);
    for x in sets(world, 300) {
        for (parameter, (lo, hi)) in
            (world.parameters().iter()).zip([(-4.0, 4.0), (0.0, 100.0), (0.0, 1.0)])
        {
            assert!((lo - 1e-9..=hi + 1e-9).contains(&dot(&x, parameter)));
        }
    }
}

#[test]
fn the_instance_depends_on_its_own_seed_only() {
    let with = |seed: u64, instance: u64, m: usize| {
        let guardrail = r#"{ name = "a", at_most = 0.5 }, { name = "b", at_most = 0.5 }"#;
        let guardrail = if m == 2 {
            guardrail
        } else {
            r#"{ name = "a", at_most = 0.5 }"#
        };
        let text = format!(
            r#"
            run = {{ seed = {seed} }}
            environment = {{ kind = "linear", d = 5, k = 3, instance_seed = {instance} }}
            guardrail = [{guardrail}]
            agent = [{{ kind = "oplb" }}]
            "#
        );
        parse(&text)
            .check("seed")
            .expect("valid")
            .parameters()
            .to_vec()
    };
    assert_eq!(with(1, 1, 1), with(2, 1, 1));
    assert_ne!(with(1, 1, 1), with(1, 2, 1));
    // One more guardrail leaves the others as they are.
    assert_eq!(with(1, 1, 1)[..], with(1, 1, 2)[..2]);
}

#[test]
fn fixed_actions_are_drawn_once_with_the_safe_one_first() {
    let fixed =
        experiment(r#"kind = "linear", d = 4, k = 6, actions = "fixed""#, 1).expect("valid");
    let problem = fixed.problem();
    assert_eq!((problem.arms.len(), problem.safe), (7, 0));
    let again =
        experiment(r#"kind = "linear", d = 4, k = 6, actions = "fixed""#, 1).expect("valid");
    assert_eq!(problem.features, again.problem().features);
    for (a, x) in problem.features.iter().enumerate() {
        for (s, parameter) in fixed.parameters().iter().enumerate() {
            assert!((laws(&fixed).means(a)[s] - dot(x, parameter)).abs() < 1e-12);
        }
    }
}

#[test]
fn sphere_and_ball_have_the_zero_vector_as_safe_action() {
    for (kind, d) in [("sphere", 1), ("sphere", 6), ("ball", 1), ("ball", 6)] {
        let text = format!(
            r#"
            environment = {{ kind = "linear", d = {d}, k = 9, actions = "{kind}" }}
            reward = {{ range = [-1.0, 1.0] }}
            guardrail = [{{ name = "cost", at_most = 0.2, range = [-1.0, 1.0], safe_cost = 0.0 }}]
            agent = [{{ kind = "oplb", norm = 1.0 }}]
            "#
        );
        let experiment = parse(&text).check("round").expect("valid");
        let world = changing(&experiment);
        assert!(world.safe_action().iter().all(|x| *x == 0.0));
        assert_eq!(world.safe_means(), [0.0, 0.0]);
        let lengths: Vec<f64> = sets(world, 400).iter().map(|x| dot(x, x).sqrt()).collect();
        assert!(lengths.iter().all(|l| *l <= 1.0));
        let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
        // The mean length of a point of the ball is d/(d+1).
        let expected = if kind == "sphere" {
            1.0
        } else {
            d as f64 / (d as f64 + 1.0)
        };
        assert!((mean - expected).abs() < 0.02, "{mean}, not {expected}");
    }
}

#[test]
fn the_authors_instance_is_as_in_their_code() {
    let experiment =
        experiment(r#"kind = "authors_linear", d = 5, threshold = 0.2"#, 0).expect("valid");
    let norm = 30.0_f64.sqrt();
    let numbers = |list: [f64; 5]| list.map(|x| x / norm).to_vec();
    assert_eq!(
        experiment.parameters()[0],
        numbers([0.0, 1.0, 2.0, 3.0, 4.0])
    );
    assert_eq!(
        experiment.parameters()[1],
        numbers([4.0, 3.0, 2.0, 1.0, 0.0])
    );
    let features = &experiment.problem().features;
    assert_eq!(features.len(), 6);
    assert_eq!(features[0], [0.0; 5]);
    assert_eq!(features[1], numbers([4.0, 3.0, 2.0, 1.0, 0.0]));
    assert_eq!(features[2], numbers([0.0, 4.0, 3.0, 2.0, 1.0]));
    let guardrail = &experiment.resolved.guardrail[0];
    assert_eq!(
        (guardrail.at_most, guardrail.safe_cost),
        (Some(0.2), Some(0.0))
    );
    assert_eq!(guardrail.signal.sub_gaussian, Some(1.0));
}

#[test]
fn bad_linear_experiments_are_refused_by_field() {
    let table = "
        k = 3                                        |                     |                      | `environment.d`
        d = 3                                        |                     |                      | `environment.k`
        d = 1, k = 3                                 |                     |                      | `environment.d`
        d = 3, k = 0                                 |                     |                      | `environment.k`
        d = 100000, k = 100000                       |                     |                      | `environment.k`
        d = 3, k = 3, safe = 0                       |                     |                      | `environment.safe`
        d = 3, k = 3, arms = ['a']                   |                     |                      | `environment.arms`
        d = 3, k = 3, theta = [0.5]                  |                     |                      | `environment.theta`
        d = 2, k = 3, theta = [0.5, nan]             |                     |                      | `environment.theta[1]`
        d = 2, k = 3, theta = [0.7, 0.8]             |                     |                      | `environment.theta`
        d = 2, k = 3, mu = []                        |                     |                      | `environment.mu`
        d = 2, k = 3, mu = [[1.0]]                   |                     |                      | `environment.mu[0]`
        d = 2, k = 3, mu = [[0.7, 0.9]]              |                     |                      | `environment.mu[0]`
        d = 3, k = 3, safe_costs = [0.1, 0.2]        |                     |                      | `environment.safe_costs`
        d = 3, k = 3, safe_costs = [1.5]             |                     |                      | `environment.safe_costs[0]`
        d = 3, k = 3, safe_costs = [0.6]             |                     |                      | `environment.safe_costs[0]`
        d = 3, k = 3, safe_costs = [0.2]             | safe_cost = 0.3,    |                      | `guardrails[0].safe_cost`
        d = 3, k = 3, mu = [[0.8, 0.1, 0.0]], safe_costs = [0.2] |                     |                      | `environment.safe_costs`
        d = 3, k = 3, noise = 0.1                    |                     |                      | `reward.sub_gaussian`
        d = 3, k = 3, noise = -1.0                   |                     |                      | `environment.noise`
        d = 3, k = 3                                 | sub_gaussian = 0.3, |                      | `guardrails[0].sub_gaussian`
        d = 3, k = 3, actions = 'sphere'             |                     |                      | `reward.range`
        actions = []                                 |                     |                      | `environment.actions`
        actions = [[0.1, 0.2], [0.1]], theta = [1.0, 0.0], mu = [[0.0, 1.0]] |                     |                      | `environment.actions[1]`
        actions = [[0.1, 0.2]], mu = [[0.0, 1.0]]    |                     |                      | `environment.theta`
        actions = [[0.1, 0.2]], theta = [0.0, 1.0]   |                     |                      | `environment.mu`
        actions = [[0.1, 0.2], [0.9, 0.9]], theta = [1.0, 1.0], mu = [[0.0, 1.0]] |                     |                      | `environment.theta`
        d = 3, k = 3                                 |                     | norm = 0.5           | `agent[0].norm`
        d = 3, k = 3                                 |                     | parameter_norm = 0.5 | `agent[0].parameter_norm`
        d = 3, k = 3                                 |                     | kind = 'opb'         | `agent[0].kind`
        d = 3, k = 3                                 |                     | radius = 'paper'     | `agent[0].norm`
    ";
    for (cells, field) in rows(table) {
        let agent = if cells[2].starts_with("kind") {
            cells[2].to_string()
        } else {
            format!("kind = 'oplb', {}", cells[2])
        };
        let text = format!(
            "environment = {{ kind = 'linear', {} }}\n\
             guardrail = [{{ name = 'cost', {} at_most = 0.5 }}]\n\
             agent = [{{ {} }}]",
            cells[0],
            cells[1],
            agent.trim_end_matches(", ")
        );
        refused(parse(&text).check("bad"), &field, &text);
    }
}

#[test]
fn two_guardrails_in_two_dimensions_leave_no_safe_action() {
    let error = experiment(r#"kind = "linear", d = 2, k = 3"#, 2).expect_err("dependent");
    assert!(
        error.to_string().contains("do not depend on each other"),
        "{error}"
    );
}
