//! Guardrails and rewards over declared signals: a signal itself, ratios and quantiles.

use crate::common::verbs::Verbs as _;
use crate::common::{Random, refused};
use banister::{
    Agent, AgentConfig, Decision, Opb, OpbConfig, Outcome, Problem, Registry as _, Round,
};
use serde_json::{Value, json};

fn problem(declared: Value) -> Problem {
    let mut all = json!({"arms": ["control", "new", "bold"], "safe": 0});
    for (key, value) in declared.as_object().unwrap() {
        all[key] = value.clone();
    }
    serde_json::from_value(all).unwrap()
}

/// Orders, refunds, revenue and latency of a visit.
struct Visit {
    orders: f64,
    refunds: f64,
    latency: f64,
}

fn visit(rng: &mut Random, arm: usize) -> Visit {
    let orders = (0..4)
        .map(|_| rng.bernoulli([0.3, 0.45, 0.6][arm]))
        .sum::<f64>();
    let refunds = (0..orders as usize)
        .map(|_| rng.bernoulli([0.02, 0.04, 0.12][arm]))
        .sum();
    let latency = -[200.0, 250.0, 500.0][arm] * (1.0 - rng.unit()).ln();
    Visit {
        orders,
        refunds,
        latency,
    }
}

fn shown(decision: &Decision) -> (Vec<(usize, f64)>, Vec<[f64; 2]>) {
    let guardrails = decision.guardrails.iter();
    let costs = guardrails
        .map(|g| [g.pessimistic_cost, g.threshold])
        .collect();
    (decision.policy.clone(), costs)
}

/// Largest ratio N/D where N − τD is e, D at most `most` and N not negative, by trying every D of a grid.
fn largest_ratio(e: f64, tau: f64, most: f64) -> f64 {
    let grid = (1..=4000).map(|i| most * f64::from(i) / 4000.0);
    let ratios = grid
        .filter(|d| e + tau * d >= 0.0)
        .map(|d| (e + tau * d) / d);
    ratios.fold(f64::NEG_INFINITY, f64::max)
}

/// Plays two declarations of the same problem side by side: the same policies and certificates, but that the first shows
/// the ratios (guardrail, τ, highest D) as such.
fn same(
    kinds: &[Value],
    one: &Problem,
    (other, ratios): (&Problem, &[(usize, f64, f64)]),
    costs: impl Fn(&Visit) -> [Vec<f64>; 2],
) {
    for kind in kinds {
        let config: AgentConfig = serde_json::from_value(kind.clone()).unwrap();
        let mut agents = [config.build(one).unwrap(), config.build(other).unwrap()];
        let mut rng = Random::new(5);
        let mut moved = false;
        for t in 0..3000 {
            let both = agents.each_mut().map(|agent| {
                let decision = agent.decide(&Round::default()).unwrap();
                (shown(decision), decision.draw(0.0))
            });
            let arm = agents[0]
                .decide(&Round::default())
                .unwrap()
                .draw(rng.unit());
            let certificates = std::iter::zip(&both[0].0.1, &both[1].0.1);
            for (i, (own, theirs)) in certificates.enumerate() {
                let ratio = ratios.iter().find(|ratio| ratio.0 == i);
                let shown = ratio.map_or(*theirs, |&(_, tau, most)| {
                    theirs.map(|e| largest_ratio(e, tau, most))
                });
                let near = own.iter().zip(shown).all(|(a, b)| (a - b).abs() < 1e-9);
                assert!(near, "{kind} {t}: {both:?}");
                if let Some(&(_, tau, _)) = ratio {
                    assert!(own[0] <= own[1] && own[1] == tau, "{kind} {t}: {own:?}");
                }
            }
            for arm in 0..3 {
                let p = |own: &[(usize, f64)]| own.iter().find(|p| p.0 == arm).map_or(0.0, |p| p.1);
                let (own, theirs) = (p(&both[0].0.0), p(&both[1].0.0));
                assert!((own - theirs).abs() < 1e-6, "{kind} {t}: {both:?}");
            }
            moved |= arm != 0;
            let visit = visit(&mut rng, arm);
            for (agent, costs) in agents.iter_mut().zip(costs(&visit)) {
                agent
                    .observe(&Outcome::of_arm(arm, visit.orders, &costs))
                    .unwrap();
            }
        }
        assert!(moved, "{kind}");
    }
}

#[test]
fn a_ratio_is_a_guardrail_on_a_difference() {
    let ratio = problem(json!({
        "reward": {"signal": "orders"},
        "signals": {"orders": [0, 4], "refunds": [0, 4]},
        "guardrails": [{"name": "refund_rate", "ratio": ["refunds", "orders"], "at_most": 0.08}],
    }));
    let plain = problem(json!({
        "reward": {"range": [0, 4]},
        "guardrails": [{"name": "difference", "at_most": 0, "range": [-0.32, 4]}],
    }));
    let opb = [json!({"kind": "opb"}), json!({"kind": "segmented"})];
    same(&opb, &ratio, (&plain, &[(0, 0.08, 4.0)]), |v| {
        [vec![v.refunds], vec![v.refunds - 0.08 * v.orders]]
    });
}

#[test]
fn a_quantile_is_a_guardrail_on_a_share_and_needs_no_highest_value() {
    for (bound, threshold, end) in [
        (json!({"at_most": 900}), 0.05, json!("inf")),
        (json!({"at_least": 5}), 0.95, json!(1e6)),
    ] {
        let mut guardrail = json!({"name": "p95", "signal": "latency_ms", "quantile": 0.95});
        guardrail
            .as_object_mut()
            .unwrap()
            .extend(bound.as_object().unwrap().clone());
        let quantile = problem(json!({
            "reward": {"range": [0, 4]}, "signals": {"latency_ms": [0, end]}, "guardrails": [guardrail],
        }));
        let plain = problem(json!({
            "reward": {"range": [0, 4]}, "guardrails": [{"name": "slow", "at_most": threshold}],
        }));
        let is_slow = |latency: f64| match threshold {
            0.05 => latency > 900.0,
            _ => latency < 5.0,
        };
        let kinds = [json!({"kind": "opb"}), json!({"kind": "segmented"})];
        same(&kinds, &quantile, (&plain, &[]), |v| {
            [
                vec![v.latency],
                vec![f64::from(u8::from(is_slow(v.latency)))],
            ]
        });
    }
}

#[test]
fn a_declared_signal_is_reported_once_and_bounded_as_often_as_one_likes() {
    let twice = problem(json!({
        "reward": {"range": [0, 4]}, "signals": {"refunds": [0, 4]},
        "guardrails": [{"name": "mean", "signal": "refunds", "at_most": 0.2},
                       {"name": "often", "signal": "refunds", "quantile": 0.9, "at_most": 0.5}],
    }));
    let plain = problem(json!({
        "reward": {"range": [0, 4]},
        "guardrails": [{"name": "mean", "at_most": 0.2, "range": [0, 4]},
                       {"name": "often", "at_most": 0.1}],
    }));
    same(&[json!({"kind": "opb"})], &twice, (&plain, &[]), |v| {
        [
            vec![v.refunds],
            vec![v.refunds, f64::from(u8::from(v.refunds > 0.5))],
        ]
    });
}

#[test]
fn linear_agents_learn_what_is_made() {
    let features = json!([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8]]);
    let made = problem(json!({
        "features": features, "reward": {"range": [0, 4]}, "signals": {"latency_ms": [0, "inf"], "orders": [0, 4], "refunds": [0, 4]},
        "guardrails": [{"name": "p95", "signal": "latency_ms", "quantile": 0.9, "at_most": 900},
                       {"name": "rate", "ratio": ["refunds", "orders"], "at_most": 0.5}],
    }));
    let plain = problem(json!({
        "features": features, "reward": {"range": [0, 4]},
        "guardrails": [{"name": "slow", "at_most": 0.1}, {"name": "rate", "at_most": 0, "range": [-2, 4]}],
    }));
    same(
        &[json!({"kind": "oplb", "parameter_norm": 1.5})],
        &made,
        (&plain, &[(1, 0.5, 4.0)]),
        |v| {
            let slow = f64::from(u8::from(v.latency > 900.0));
            [
                vec![v.latency, v.orders, v.refunds],
                vec![slow, v.refunds - 0.5 * v.orders],
            ]
        },
    );
}

/// Refunds per order, not per visit, are kept below 1.5 times the safe arm's; an arm that sells more may have more of
/// them. Reading it as refunds per visit would refuse `new` for ever, which is the control.
#[test]
fn a_relative_ratio_is_kept_by_every_policy_and_lets_good_arms_in() {
    let ratio = |f: f64, key: &str, names: [&str; 2]| {
        problem(json!({
            "reward": {"signal": "orders"}, "signals": {"orders": [0, 4], "refunds": [0, 4]},
            "guardrails": [{"name": "rate", "ratio": names, key: f, "relative": true}],
        }))
    };
    let rates = [0.1, 0.1, 0.3];
    let orders = [1.2, 1.8, 2.4];
    let play = |problem: &Problem, seed: u64, is_kept: &dyn Fn(&Decision) -> bool| {
        let config = OpbConfig {
            floor: 0.05,
            ..OpbConfig::default()
        };
        let mut agent = Opb::new(problem, &config).unwrap();
        let mut rng = Random::new(seed);
        let mut broken = false;
        for _ in 0..40_000 {
            let decision = agent.decide();
            broken |= !is_kept(decision);
            let arm = decision.draw(rng.unit());
            let bought = (0..4)
                .map(|_| rng.bernoulli(orders[arm] / 4.0))
                .sum::<f64>();
            let refunds = (0..bought as usize)
                .map(|_| rng.bernoulli(rates[arm]))
                .sum::<f64>();
            agent.observe(arm, bought, &[refunds]).unwrap();
        }
        let decision = agent.decide();
        (broken, decision.probability(1), decision.probability(2))
    };
    let rate = |decision: &Decision| {
        let mean = |of: &dyn Fn(usize) -> f64| {
            (0..3).map(|a| decision.probability(a) * of(a)).sum::<f64>()
        };
        mean(&|a| orders[a] * rates[a]) / mean(&|a| orders[a])
    };
    let (mut broken, mut new) = (0, 0.0);
    for seed in 0..8 {
        let most = play(&ratio(1.5, "at_most", ["refunds", "orders"]), seed, &|d| {
            rate(d) <= 0.15 * (1.0 + 1e-12)
        });
        let least = play(
            &ratio(0.5, "at_least", ["orders", "refunds"]),
            100 + seed,
            &|d| rate(d) <= 0.2 * (1.0 + 1e-12),
        );
        broken += u32::from(most.0) + u32::from(least.0);
        new += most.1 / 8.0;
    }
    // δ = 1%: two of sixteen runs have probability 0.01.
    assert!(broken <= 1, "{broken} of 16 runs");
    assert!(new > 0.5, "{new}");
    let visits = problem(json!({
        "reward": {"range": [0, 4]},
        "guardrails": [{"name": "refunds", "at_most": 1.2, "relative": true, "range": [0, 4]}],
    }));
    let control = play(&visits, 3, &|_| true);
    assert!(control.1 < 0.5 && control.2 < 0.2, "{control:?}");
}

#[test]
fn snapshots_and_declarations_of_made_guardrails_are_read_again() {
    let declared = problem(json!({
        "reward": {"signal": "orders"},
        "signals": {"orders": [0, 4], "refunds": [0, 4], "latency_ms": [0, "inf"], "visits": [-1, 1]},
        "guardrails": [{"name": "rate", "ratio": ["refunds", "orders"], "at_most": 1.5, "relative": true},
                       {"name": "share", "ratio": ["refunds", "orders"], "at_most": 0.5},
                       {"name": "p95", "signal": "latency_ms", "quantile": 0.95, "at_most": 800}],
    }));
    let text = serde_json::to_string(&declared).unwrap();
    assert_eq!(serde_json::from_str::<Problem>(&text).unwrap(), declared);
    let expressions = declared
        .guardrails
        .iter()
        .map(|g| json!(g)["expression"].clone());
    assert_eq!(
        expressions.collect::<Vec<_>>(),
        [
            json!(["refunds", "/", "orders"]),
            json!(["refunds", "/", "orders"]),
            json!(["latency_ms", ">", 800.0])
        ]
    );
    let standard = declared.check().unwrap();
    assert_eq!(standard.declared.check().unwrap(), standard);
    assert_eq!(
        standard.measured().collect::<Vec<_>>(),
        ["latency_ms", "refunds", "visits"]
    );
    let config: AgentConfig = serde_json::from_value(json!({"kind": "opb"})).unwrap();
    let mut agent = config.build(&declared).unwrap();
    let mut rng = Random::new(1);
    for t in 0..500 {
        let visit = visit(&mut rng, t % 3);
        agent
            .observe(&Outcome::of_arm(
                t % 3,
                visit.orders,
                &[visit.latency, visit.refunds, 0.0],
            ))
            .unwrap();
    }
    let saved = agent.save().unwrap();
    let mut restored = AgentConfig::restore(&saved).unwrap();
    let own = shown(agent.decide(&Round::default()).unwrap());
    assert_eq!(
        own,
        shown(restored.agent.decide(&Round::default()).unwrap())
    );
}

#[test]
fn bad_declarations_are_refused_by_field() {
    let signals =
        json!({"orders": [0, 4], "refunds": [0, 4], "latency_ms": [0, "inf"], "change": [-1, 1]});
    let read = |guardrail: Value| -> Result<_, String> {
        let declared =
            json!({"arms": ["a"], "safe": 0, "signals": signals, "guardrails": [guardrail]});
        let problem: Problem = serde_json::from_value(declared).map_err(|e| e.to_string())?;
        problem.check().map_err(|e| e.to_string())
    };
    let p95 = |more: Value| {
        let mut own =
            json!({"name": "g", "signal": "latency_ms", "quantile": 0.95, "at_most": 800});
        own.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        own
    };
    for (guardrail, words) in [
        (p95(json!({"quantile": 1.0})), ["1", "between 0 and 1"]),
        (
            p95(json!({"quantile": null})),
            ["signals.latency_ms", "without a highest value"],
        ),
        (
            p95(json!({"at_most": 0})),
            ["signals.latency_ms", "without a highest value"],
        ),
        (
            p95(json!({"at_least": 1})),
            ["quantile", "`at_most` or `at_least`"],
        ),
        (
            p95(json!({"relative": true})),
            ["guardrails[0].relative", "bound of its own"],
        ),
        (
            p95(json!({"signal": "orders"})),
            ["signals.latency_ms", "without a highest value"],
        ),
        (
            p95(json!({"signal": null})),
            ["`signal` is absent", "name it"],
        ),
        (
            p95(json!({"range": [0, 5]})),
            ["guardrails[0].range", "leave it out"],
        ),
        (
            p95(json!({"ratio": ["refunds", "orders"]})),
            ["`quantile`", "give one of them"],
        ),
        (
            p95(json!({"expression": "orders"})),
            ["`expression`", "give one of them"],
        ),
        (
            json!({"name": "g", "at_most": 1, "expression": ["orders", "*", "refunds"]}),
            ["`*`", "is a ratio"],
        ),
        (
            json!({"name": "g", "at_most": 1, "expression": ["orders", "/", 2]}),
            ["`/`", "is a ratio"],
        ),
        (
            json!({"name": "g", "at_most": 1, "expression": ["orders", "/"]}),
            ["expected a signal", "number"],
        ),
    ] {
        refused(read(guardrail.clone()), &words, &guardrail.to_string());
    }
    let signals = json!({"orders": [0, 4], "refunds": [0, 4], "change": [-1, 1]});
    let of =
        |guardrail: Value| problem(json!({"signals": signals, "guardrails": [guardrail]})).check();
    for (guardrail, field, words) in [
        (
            json!({"name": "g", "ratio": ["refunds", "sales"], "at_most": 0.1}),
            "guardrails[0].expression[2]",
            "one of the declared",
        ),
        (
            json!({"name": "g", "ratio": ["change", "orders"], "at_most": 0.1}),
            "guardrails[0].expression",
            "begins at 0",
        ),
        (
            json!({"name": "g", "ratio": ["orders", "orders"], "at_most": 0.1}),
            "guardrails[0].expression",
            "two signals",
        ),
        (
            json!({"name": "g", "ratio": ["refunds", "orders"], "at_most": 0.1, "safe_cost": 0.1}),
            "guardrails[0].safe_cost",
            "leave it out",
        ),
        (
            json!({"name": "g", "ratio": ["refunds", "orders"], "at_most": 0.9, "relative": true}),
            "guardrails[0].at_most",
            "above 1",
        ),
        (
            json!({"name": "g", "signal": "sales", "at_most": 0.1}),
            "guardrails[0].expression",
            "declared `signals`",
        ),
        (
            json!({"name": "orders", "at_most": 0.1}),
            "signals.orders",
            "name of its own",
        ),
        (
            json!({"name": "g", "signal": "orders", "quantile": 0.5, "at_most": 7}),
            "guardrails[0].expression[2]",
            "within the signal's range",
        ),
    ] {
        refused(of(guardrail), &[field, words], field);
    }
    let relative = problem(json!({
        "signals": signals, "guardrails": [{"name": "g", "ratio": ["refunds", "orders"], "at_most": 1.1, "relative": true}],
    }));
    for kind in ["segmented", "oplb"] {
        let config: AgentConfig = serde_json::from_value(json!({"kind": kind})).unwrap();
        refused(
            config.build(&relative),
            &["guardrails[0].expression", "`opb` alone"],
            kind,
        );
    }
}

/// Revenue less refunds: as a guardrail it is one on the difference that a caller would report, and as the reward it is
/// learned where outcomes bring revenue and refunds.
#[test]
fn a_difference_is_learned_as_one_signal() {
    let difference = problem(json!({
        "reward": {"expression": ["orders", "-", "refunds"]},
        "signals": {"orders": [0, 4], "refunds": [0, 3]},
        "guardrails": [{"name": "kept", "expression": ["orders", "-", "refunds"], "at_least": 0.5, "safe_cost": 0.8}],
    }));
    let plain = problem(json!({
        "reward": {"range": [-3, 4]},
        "guardrails": [{"name": "kept", "at_least": 0.5, "range": [-3, 4], "safe_cost": 0.8}],
    }));
    let checked = difference.check().unwrap();
    assert_eq!(checked.measured().collect::<Vec<_>>(), ["refunds"]);
    assert_eq!([checked.reward.lo, checked.reward.hi], [-3.0, 4.0]);
    for kind in ["opb", "segmented"] {
        let config: AgentConfig = serde_json::from_value(json!({"kind": kind})).unwrap();
        let mut made = config.build(&difference).unwrap();
        let mut told = config.build(&plain).unwrap();
        let mut rng = Random::new(9);
        for t in 0..2000 {
            let decision = made.decide(&Round::default()).unwrap();
            let (own, arm) = (shown(decision), decision.draw(rng.unit()));
            let theirs = shown(told.decide(&Round::default()).unwrap());
            for (own, theirs) in own.1.iter().flatten().zip(theirs.1.iter().flatten()) {
                assert!((own - theirs).abs() < 1e-9, "{kind} {t}");
            }
            let Visit {
                orders, refunds, ..
            } = visit(&mut rng, arm);
            let refunds = refunds.min(3.0);
            let rest = orders - refunds;
            made.observe(&Outcome::of_arm(arm, orders, &[refunds]))
                .unwrap();
            told.observe(&Outcome::of_arm(arm, rest, &[rest])).unwrap();
        }
        let mean = |agent: &mut Box<dyn Agent>| {
            let estimates = banister::estimates(&mut **agent, &Round::default());
            estimates
                .iter()
                .map(|arm| arm.reward.mean)
                .collect::<Vec<_>>()
        };
        for (own, theirs) in mean(&mut made).iter().zip(mean(&mut told)) {
            assert!(
                own.zip(theirs).is_none_or(|(a, b)| (a - b).abs() < 1e-9),
                "{kind}"
            );
        }
        assert_eq!(
            AgentConfig::restore(&made.save().unwrap()).unwrap().problem,
            difference
        );
    }
    // What is reported as the reward is the first signal, and is held against its range.
    let declared = difference.check().unwrap();
    refused(
        declared.refuse(Some(0), 5.0, &[0.0]),
        &["reward", "[0, 4]"],
        "orders",
    );
}

/// The range of a difference is that of all values it can have, and its mean drifts as fast as both together.
#[test]
fn a_difference_has_the_range_and_drift_of_its_signals() {
    let [first, second] = [[-1.0, 2.0], [0.5, 3.0]];
    let by = |by: f64| json!({"by": by, "per": "decision"});
    let declared = problem(json!({
        "signals": {"first": {"range": first, "drift": by(1e-6)}, "second": {"range": second, "drift": by(2e-6)}},
        "guardrails": [{"name": "rest", "expression": ["first", "-", "second"], "at_most": 1}],
    }));
    let signal = declared.check().unwrap().guardrails[0].signal;
    let corners = first.iter().flat_map(|a| second.iter().map(move |b| a - b));
    let ends = corners.fold([f64::INFINITY, f64::NEG_INFINITY], |[lo, hi], x| {
        [lo.min(x), hi.max(x)]
    });
    assert_eq!([signal.lo, signal.hi], ends);
    assert!((signal.drift.unwrap().by - 3e-6).abs() < 1e-18);
    let of = |more: Value| {
        let signals = json!({"a": [0, 4], "b": [0, 4], "c": {"range": [0, 4], "cap": 2}});
        let mut all = json!({"arms": ["x"], "safe": 0, "signals": signals});
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        serde_json::from_value::<Problem>(all).unwrap().check()
    };
    let guardrail = |expression: Value, more: Value| {
        let mut own = json!({"name": "g", "expression": expression, "at_most": 1});
        own.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"guardrails": [own]})
    };
    for (more, words) in [
        (
            guardrail(json!(["a", "-", "a"]), json!({})),
            ["guardrails[0].expression", "two signals"],
        ),
        (
            guardrail(json!(["a", "-", "d"]), json!({})),
            ["guardrails[0].expression[2]", "one of the declared"],
        ),
        (
            guardrail(json!(["c", "-", "a"]), json!({})),
            ["guardrails[0].expression[0]", "no observation leaves"],
        ),
        (
            guardrail(
                json!(["a", "-", "b"]),
                json!({"at_most": 1.1, "relative": true}),
            ),
            ["at_most", "never negative"],
        ),
        (
            guardrail(json!(["a", "-", "b"]), json!({"range": [0, 1]})),
            ["guardrails[0].range", "leave it out"],
        ),
        (
            json!({"reward": {"expression": ["a", "/", "b"]}}),
            ["reward.expression", "one value per outcome"],
        ),
        (
            json!({"reward": {"expression": {"a": 1}}}),
            ["reward.expression", "one value per outcome"],
        ),
        (
            json!({"reward": {"expression": ["reward", "-", "a"]}}),
            ["reward.expression", "from itself"],
        ),
    ] {
        refused(of(more.clone()), &words, &more.to_string());
    }
}
