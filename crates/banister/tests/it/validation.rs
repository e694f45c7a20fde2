//! Everything that is refused, by the field and value in the message.

use crate::common;

use banister::{Error, Guardrail, Intervals, Opb, OpbConfig, Optimism, Problem, UnknownSafeCost};
use common::{at_most, problem};

/// Asserts that the result is an `Invalid` naming this field and this value, and that the message
/// a user reads shows both.
#[track_caller]
fn refused<T: std::fmt::Debug>(
    result: Result<T, Error>,
    expected_field: &str,
    expected_value: &str,
) {
    match &result {
        Err(
            error @ Error::Invalid {
                field,
                value,
                allowed,
            },
        ) => {
            assert_eq!(field, expected_field, "{error}");
            assert_eq!(value, expected_value, "{error}");
            assert!(!allowed.is_empty());
            let message = error.to_string();
            assert!(
                message.contains(field) && message.contains(value.as_str()),
                "{message}"
            );
        }
        other => panic!("expected `{expected_field}` to be refused, got {other:?}"),
    }
}

fn guardrail(change: impl Fn(&mut Guardrail)) -> Result<impl std::fmt::Debug, Error> {
    let mut declared = problem(2, vec![at_most(0.9, None), at_most(0.5, Some(0.1))]);
    change(&mut declared.guardrails[1]);
    declared.check()
}

#[test]
fn a_guardrail_needs_exactly_one_threshold() {
    refused(
        guardrail(|g| g.at_least = Some(0.1)),
        "guardrail[1]",
        "given both",
    );
    refused(
        guardrail(|g| g.at_most = None),
        "guardrail[1]",
        "given neither",
    );
}

#[test]
fn numbers_of_a_guardrail_must_be_finite() {
    let nan = f64::NAN;
    refused(
        guardrail(|g| g.at_most = Some(nan)),
        "guardrail[1].at_most",
        "NaN",
    );
    refused(
        guardrail(|g| g.at_most = Some(f64::INFINITY)),
        "guardrail[1].at_most",
        "inf",
    );
    refused(
        guardrail(|g| (g.at_most, g.at_least) = (None, Some(f64::NEG_INFINITY))),
        "guardrail[1].at_least",
        "-inf",
    );
    refused(
        guardrail(|g| g.safe_cost = Some(nan)),
        "guardrail[1].safe_cost",
        "NaN",
    );
    refused(
        guardrail(|g| g.range = Some([nan, 1.0].into())),
        "guardrail[1].range",
        "NaN",
    );
    refused(
        guardrail(|g| g.range = Some([0.0, f64::INFINITY].into())),
        "guardrail[1].range",
        "inf",
    );
    refused(
        guardrail(|g| g.range = Some([-1e308, 1e308].into())),
        "guardrail[1].range",
        "inf",
    );
    refused(
        guardrail(|g| g.sub_gaussian = Some(nan)),
        "guardrail[1].sub_gaussian",
        "NaN",
    );
    refused(
        guardrail(|g| g.sub_gaussian = Some(0.0)),
        "guardrail[1].sub_gaussian",
        "0",
    );
    refused(
        guardrail(|g| g.sub_gaussian = Some(-1.0)),
        "guardrail[1].sub_gaussian",
        "-1",
    );
}

#[test]
fn a_range_goes_from_low_to_high() {
    refused(
        guardrail(|g| g.range = Some([1.0, 0.0].into())),
        "guardrail[1].range",
        "[1, 0]",
    );
    refused(
        guardrail(|g| g.range = Some([2.0, 2.0].into())),
        "guardrail[1].range",
        "[2, 2]",
    );
}

#[test]
fn the_safe_cost_lies_in_the_range_with_margin() {
    refused(
        guardrail(|g| g.safe_cost = Some(1.5)),
        "guardrail[1].safe_cost",
        "1.5",
    );
    refused(
        guardrail(|g| g.safe_cost = Some(-0.1)),
        "guardrail[1].safe_cost",
        "-0.1",
    );
    refused(
        guardrail(|g| g.safe_cost = Some(0.5)),
        "guardrail[1].safe_cost",
        "0.5",
    );
    refused(
        guardrail(|g| g.safe_cost = Some(0.6)),
        "guardrail[1].safe_cost",
        "0.6",
    );
    refused(
        guardrail(|g| (g.at_most, g.at_least, g.safe_cost) = (None, Some(0.5), Some(0.5))),
        "guardrail[1].safe_cost",
        "0.5",
    );
    refused(
        guardrail(|g| (g.relative, g.at_most, g.safe_cost) = (true, Some(1.5), Some(0.0))),
        "guardrail[1].safe_cost",
        "0",
    );
}

#[test]
fn an_unknown_safe_cost_needs_room_below_the_threshold() {
    refused(
        guardrail(|g| (g.at_most, g.safe_cost) = (Some(0.0), None)),
        "guardrail[1].at_most",
        "0",
    );
    refused(
        guardrail(|g| (g.at_most, g.at_least, g.safe_cost) = (None, Some(1.0), None)),
        "guardrail[1].at_least",
        "1",
    );
}

#[test]
fn a_relative_factor_must_leave_room_in_its_direction() {
    let relative = |upper: Option<f64>, lower: Option<f64>| {
        guardrail(move |g| {
            (g.relative, g.at_most, g.at_least, g.safe_cost) = (true, upper, lower, None)
        })
    };
    for (factor, shown) in [(1.0, "1"), (0.9, "0.9"), (-2.0, "-2")] {
        refused(relative(Some(factor), None), "guardrail[1].at_most", shown);
    }
    for (factor, shown) in [(1.0, "1"), (1.1, "1.1"), (0.0, "0"), (-0.5, "-0.5")] {
        refused(relative(None, Some(factor)), "guardrail[1].at_least", shown);
    }
    let negative = guardrail(|g| {
        (g.relative, g.at_most, g.safe_cost) = (true, Some(1.1), None);
        g.range = Some([-1.0, 1.0].into());
    });
    refused(negative, "guardrail[1].at_most", "1.1 with range [-1, 1]");
}

#[test]
fn names_are_present_and_distinct() {
    refused(
        guardrail(|g| g.name = "  ".into()),
        "guardrail[1].name",
        "empty",
    );
    let mut twins = problem(2, vec![at_most(0.5, None), at_most(0.6, None)]);
    twins.guardrails[1].name = twins.guardrails[0].name.clone();
    refused(twins.check(), "guardrail[1].name", "cost 0");
    let arms = |names: &[&str], safe: usize| Problem {
        arms: names.iter().map(|s| s.to_string()).collect(),
        safe,
        guardrails: vec![],
        ..Default::default()
    };
    refused(arms(&[], 0).check(), "arms", "empty");
    refused(arms(&["a", ""], 0).check(), "arms[1]", "empty");
    refused(arms(&["a", "b", "a"], 0).check(), "arms[2]", "a");
    refused(arms(&["a", "b"], 2).check(), "safe", "2");
}

#[test]
fn the_reward_signal_is_checked_like_any_other() {
    let mut p = problem(2, vec![]);
    p.reward.range = Some([3.0, 2.0].into());
    refused(p.check(), "reward.range", "[3, 2]");
    p.reward.range = None;
    p.reward.sub_gaussian = Some(f64::NAN);
    refused(p.check(), "reward.sub_gaussian", "NaN");
}

fn config(change: impl Fn(&mut OpbConfig)) -> Result<(), Error> {
    let mut config = OpbConfig::default();
    change(&mut config);
    Opb::new(&problem(3, vec![at_most(0.5, Some(0.1))]), &config).map(|_| ())
}

#[test]
fn parameters_of_the_agent_are_checked() {
    for (delta, shown) in [(0.0, "0"), (1.0, "1"), (-0.5, "-0.5"), (f64::NAN, "NaN")] {
        refused(config(|c| c.delta = delta), "delta", shown);
    }
    for (rho, shown) in [(0.0, "0"), (-1.0, "-1"), (f64::INFINITY, "inf")] {
        refused(config(|c| c.rho = rho), "rho", shown);
    }
    refused(config(|c| c.log_term = Some(0.0)), "log_term", "0");
    refused(config(|c| c.log_term = Some(f64::NAN)), "log_term", "NaN");
    for wrong in [0.0, 1.0, f64::NAN] {
        let value = wrong.to_string();
        refused(
            config(|c| c.optimism_delta = wrong),
            "optimism_delta",
            &value,
        );
    }
    for wrong in [-0.1, 1.5, f64::INFINITY] {
        let value = wrong.to_string();
        refused(config(|c| c.lazy = Some(wrong)), "lazy", &value);
    }
    refused(config(|c| c.horizon = Some(0)), "horizon", "0");
    for kind in [Intervals::Paper, Intervals::Published] {
        refused(config(|c| c.intervals = Some(kind)), "horizon", "absent");
    }
}

#[test]
fn combinations_that_do_not_fit_are_refused() {
    for kind in [None, Some(Intervals::Kl), Some(Intervals::Mixture)] {
        let result = config(|c| (c.intervals, c.optimism) = (kind, Optimism::Paper));
        refused(result, "optimism", "paper");
    }
    let half_published = config(|c| (c.optimism, c.horizon) = (Optimism::Published, Some(9)));
    refused(half_published, "intervals", "published");
    let published = OpbConfig::published(100);
    for guardrails in [
        vec![],
        vec![at_most(0.5, None)],
        vec![at_most(0.5, Some(0.1)), at_most(0.5, Some(0.1))],
    ] {
        refused(
            Opb::new(&problem(2, guardrails), &published),
            "intervals",
            "published",
        );
    }
    let mut noisy = problem(2, vec![at_most(0.5, Some(0.1))]);
    noisy.guardrails[0].sub_gaussian = Some(1.0);
    for (kind, name) in [(Intervals::Kl, "kl"), (Intervals::Mixture, "mixture")] {
        let config = OpbConfig {
            intervals: Some(kind),
            ..OpbConfig::default()
        };
        refused(Opb::new(&noisy, &config), "intervals", name);
    }
    let t_zero = OpbConfig {
        unknown_safe_cost: UnknownSafeCost::Paper,
        ..OpbConfig::default()
    };
    refused(
        Opb::new(&problem(2, vec![at_most(0.5, None)]), &t_zero),
        "horizon",
        "absent",
    );
    // Where every safe cost is known the rule has nothing to do.
    assert!(Opb::new(&problem(2, vec![at_most(0.5, Some(0.1))]), &t_zero).is_ok());
}

#[test]
fn the_papers_own_rules_are_for_absolute_guardrails() {
    let relative = Guardrail {
        relative: true,
        ..at_most(1.2, None)
    };
    let declared = problem(2, vec![relative]);
    refused(
        Opb::new(&declared, &OpbConfig::paper(100)),
        "optimism",
        "paper",
    );
    let t_zero = OpbConfig {
        unknown_safe_cost: UnknownSafeCost::Paper,
        horizon: Some(100),
        ..OpbConfig::default()
    };
    refused(Opb::new(&declared, &t_zero), "unknown_safe_cost", "paper");
}

#[test]
fn unknown_keys_are_refused_by_name() {
    let guardrail = serde_json::from_str::<Guardrail>(r#"{"name": "x", "atmost": 0.5}"#);
    assert!(guardrail.unwrap_err().to_string().contains("atmost"));
    let config = serde_json::from_str::<OpbConfig>(r#"{"detla": 0.5}"#);
    assert!(config.unwrap_err().to_string().contains("detla"));
}

#[test]
fn a_threshold_beyond_the_range_is_refused_with_the_likely_cause() {
    let refused = |at_most: Option<f64>, at_least: Option<f64>, range: Option<[f64; 2]>| {
        let guardrail = Guardrail {
            name: "complaints".into(),
            at_most,
            at_least,
            range: range.map(Into::into),
            ..Guardrail::default()
        };
        guardrail
            .check("guardrail[0]")
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    let percent = refused(Some(5.0), None, None).unwrap_err();
    assert!(percent.contains("nothing can violate it") && percent.contains("percent? write 0.05"));
    let percent = refused(None, Some(90.0), None).unwrap_err();
    assert!(
        percent.contains("no action can meet it") && percent.contains("write 0.9"),
        "{percent}"
    );
    let below = refused(None, Some(-1.0), None).unwrap_err();
    assert!(below.contains("nothing can violate it") && below.contains("declare the `range`"));
    let wide = refused(Some(500.0), None, Some([0.0, 100.0])).unwrap_err();
    assert!(wide.contains("range is [0, 100]"), "{wide}");
    // The end of the range is the paper's own τ = 1.
    assert_eq!(refused(Some(1.0), None, None), Ok(()));
    assert_eq!(refused(Some(50.0), None, Some([0.0, 100.0])), Ok(()));
}
