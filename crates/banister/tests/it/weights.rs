//! Prices that are told: guardrails that are weighted sums of learned signals.

use crate::common::verbs::Verbs;
use std::collections::BTreeMap;

use crate::common::{Random, read, refused, rows};
use banister::{
    Agent, AgentConfig, ArmRanges, ArmWeights, Claim, Error, Guardrail, Opb, OpbConfig, Origin,
    Outcome, Pending, Problem, Round,
};
use serde_json::{Value, json};

/// Tokens in and out of three models, arm 0 safe; their means below.
fn models(at_most: f64, weights: Value) -> Problem {
    serde_json::from_value(json!({
        "arms": ["small", "middle", "large"], "safe": 0,
        "signals": {"in": [0, 1000], "out": {"range": [0, 500]}},
        "guardrails": [{"name": "dollars", "at_most": at_most, "weights": weights}],
    }))
    .unwrap()
}

fn prices(small: f64, middle: f64, large: f64) -> Value {
    let both = |price: f64| json!({"in": price, "out": 3.0 * price});
    json!({"small": both(small), "middle": both(middle), "large": both(large)})
}

fn told(price: f64) -> ArmWeights {
    serde_json::from_value(json!({"dollars": {"in": price, "out": 3.0 * price}})).unwrap()
}

const QUALITY: [f64; 3] = [0.4, 0.6, 0.9];
const TOKENS: [[f64; 2]; 3] = [[300.0, 100.0], [300.0, 120.0], [320.0, 150.0]];

fn outcome(rng: &mut Random, arm: usize) -> (f64, [f64; 2]) {
    // One that is added is like the first.
    let arm = arm % 3;
    let [ins, outs] = TOKENS[arm];
    let reward = rng.bernoulli(QUALITY[arm]);
    (reward, [2.0 * ins * rng.unit(), 2.0 * outs * rng.unit()])
}

fn mean_cost(arm: usize, price: f64) -> f64 {
    price * (TOKENS[arm][0] + 3.0 * TOKENS[arm][1])
}

/// One signal with one weight per arm is the same problem as a range per arm: another path through the core.
#[test]
fn a_sum_of_one_signal_is_a_guardrail_with_ranges_by_arm() {
    let weights = [0.1, 0.5, 1.0];
    let sum: Problem = serde_json::from_value(json!({
        "arms": ["a", "b", "c"], "safe": 0, "signals": {"use": [0, 2]},
        "guardrails": [{"name": "cost", "at_most": 0.6,
                        "weights": {"a": {"use": 0.1}, "b": {"use": 0.5}, "c": {"use": 1.0}}}],
    }))
    .unwrap();
    let ranges: Problem = serde_json::from_value(json!({
        "arms": ["a", "b", "c"], "safe": 0,
        "guardrails": [{"name": "cost", "at_most": 0.6, "range": [[0, 0.2], [0, 1], [0, 2]]}],
    }))
    .unwrap();
    for kind in ["opb", "segmented"] {
        let config: AgentConfig = serde_json::from_value(json!({"kind": kind})).unwrap();
        let mut agents = [config.build(&sum).unwrap(), config.build(&ranges).unwrap()];
        let mut rng = Random::new(11);
        for t in 0..5000 {
            let policies = agents.each_mut().map(|agent| {
                let decision = agent.decide(&Round::default()).unwrap();
                (0..3)
                    .map(|arm| decision.probability(arm))
                    .collect::<Vec<f64>>()
            });
            for (own, other) in policies[0].iter().zip(&policies[1]) {
                assert!((own - other).abs() < 1e-9, "{kind} {t}: {policies:?}");
            }
            let arm = agents[0]
                .decide(&Round::default())
                .unwrap()
                .draw(rng.unit());
            let (reward, used) = (rng.bernoulli(QUALITY[arm]), rng.unit());
            let both = [[used], [used * weights[arm]]];
            for (agent, cost) in agents.iter_mut().zip(&both) {
                agent.observe(&Outcome::of_arm(arm, reward, cost)).unwrap();
            }
        }
        assert!(agents[0].decide(&Round::default()).unwrap().probability(2) > 0.2);
    }
}

/// Prices double: policies keep the guardrail from the next decision on and soon use it. An agent that learns dollars
/// breaks it.
#[test]
fn a_price_that_is_told_counts_from_the_next_decision() {
    let (tau, runs) = (1.2e-3, 40);
    let (before, after) = ([1e-7, 5e-7, 2e-6], [1e-7, 5e-7, 4e-6]);
    let (mut violating, mut control, mut share) = (0, 0, 0.0);
    for seed in 0..runs {
        let problem = models(tau, prices(before[0], before[1], before[2]));
        let config = OpbConfig::default();
        let mut agent = Opb::new(&problem, &config).unwrap();
        let learned: Problem = serde_json::from_value(json!({
            "arms": problem.arms, "safe": 0,
            "guardrails": [{"name": "dollars", "at_most": tau,
                            "range": [[0, 2.5e-4], [0, 1.25e-3], [0, 1e-2]]}],
        }))
        .unwrap();
        let mut other = Opb::new(&learned, &config).unwrap();
        let mut rng = Random::new(seed);
        for t in 0..30_000 {
            let price = if t < 15_000 { before } else { after };
            if t == 15_000 {
                agent.set_weights(2, &told(after[2])).unwrap();
            }
            let cost = |agent: &mut Opb| {
                let decision = agent.decide();
                let each = (0..3).map(|arm| decision.probability(arm) * mean_cost(arm, price[arm]));
                each.sum::<f64>()
            };
            let (own, its) = (cost(&mut agent), cost(&mut other));
            violating += u32::from(own > tau * (1.0 + 1e-12));
            control += u32::from(its > tau * (1.0 + 1e-12) && t >= 15_000);
            if t == 29_999 {
                let decision = agent.decide();
                let earned = |p: &dyn Fn(usize) -> f64| {
                    (0..3)
                        .map(|arm| p(arm) * (QUALITY[arm] - QUALITY[0]))
                        .sum::<f64>()
                };
                // The best policy at the new prices, by enumeration of pairs.
                let mut best = 0.0_f64;
                for (a, b) in [(0, 1), (0, 2), (1, 2)] {
                    let (low, high) = (mean_cost(a, price[a]), mean_cost(b, price[b]));
                    let p = ((tau - low) / (high - low)).clamp(0.0, 1.0);
                    best = best.max(earned(&|arm| {
                        if arm == a {
                            1.0 - p
                        } else if arm == b {
                            p
                        } else {
                            0.0
                        }
                    }));
                }
                share += earned(&|arm| decision.probability(arm)) / best / f64::from(runs as u32);
            }
            for (agent, learns) in [(&mut agent, false), (&mut other, true)] {
                let arm = agent.decide().draw(rng.unit());
                let (reward, [ins, outs]) = outcome(&mut rng, arm);
                let paid = price[arm] * (ins + 3.0 * outs);
                let costs = if learns { vec![paid] } else { vec![ins, outs] };
                agent.observe(arm, reward, &costs).unwrap();
            }
        }
        assert!(
            agent.view().monitor.unwrap().alarms().is_empty(),
            "run {seed}"
        );
    }
    // δ = 0.01 of runs may have a violating round.
    assert_eq!(violating, 0);
    assert!(control > 1000, "{control} rounds of the control violate");
    assert!(share > 0.9, "{share}");
}

/// Outcomes that come after a price has changed are charged at the price of their decision.
#[test]
fn late_outcomes_are_watched_at_the_price_of_their_decision() {
    let mut evidence = Vec::new();
    for changes in [false, true] {
        let problem = models(1.2e-3, prices(1e-7, 5e-7, 2e-6));
        let mut agent = Opb::new(&problem, &OpbConfig::default()).unwrap();
        let mut rng = Random::new(5);
        for decision in 1..=2000_u64 {
            let arm = decision as usize % 3;
            let pending = Pending {
                decision,
                action: arm,
                segment: None,
                safe_probability: Some(0.3),
                time: None,
                excess: &[],
            };
            agent.announce(&pending).unwrap();
        }
        if changes {
            agent.set_weights(2, &told(1e-5)).unwrap();
            agent.set_weights(2, &told(2e-5)).unwrap();
        }
        let bound = 0.5;
        let claims = vec![Claim { slope: 1.0, bound }; problem.guardrails.len()];
        for decision in 1..=2000_u64 {
            let arm = decision as usize % 3;
            let (reward, costs) = outcome(&mut rng, arm);
            let own = Outcome {
                origin: Origin::Announced(decision),
                claims: Some(&claims),
                ..Outcome::of_arm(arm, reward, &costs)
            };
            Verbs::observe(&mut agent, &own).unwrap();
        }
        let view = agent.view();
        evidence.push(view.monitor.unwrap().evidence(0).to_vec());
        assert!(!evidence[0].is_empty());
    }
    assert_eq!(evidence[0], evidence[1]);
}

#[test]
fn a_saved_agent_goes_on_bit_by_bit_with_the_prices_in_force() {
    let mut agent = Opb::new(
        &models(1.2e-3, prices(1e-7, 5e-7, 2e-6)),
        &OpbConfig::default(),
    )
    .unwrap();
    let mut rng = Random::new(3);
    let mut play = |agents: &mut [Opb], rounds: usize| {
        for _ in 0..rounds {
            let decided: Vec<_> = agents
                .iter_mut()
                .map(|agent| agent.decide().clone())
                .collect();
            assert!(decided.iter().all(|own| *own == decided[0]));
            let arm = decided[0].draw(rng.unit());
            let (reward, costs) = outcome(&mut rng, arm);
            for agent in agents.iter_mut() {
                agent.observe(arm, reward, &costs).unwrap();
            }
        }
    };
    play(std::slice::from_mut(&mut agent), 3000);
    let mini = told(3e-7);
    let added = Verbs::add_arm(&mut agent, "mini", None, &ArmRanges::default(), &mini).unwrap();
    agent.set_weights(2, &told(4e-6)).unwrap();
    agent.retire_arm(1).unwrap();
    let json = agent.save().unwrap();
    let restored = Opb::restore(&json).unwrap();
    let mut both = [agent, restored];
    assert_eq!(added, 3);
    for agent in &mut both {
        // Not known yet: its share of the range.
        let cost = agent.estimate(&Round::default(), 3).unwrap().costs[0];
        assert!((cost.upper - 3e-7 * 2500.0).abs() < 1e-15, "{cost:?}");
        let decision = agent.decide();
        assert!(decision.guardrails[0].pessimistic_cost <= 1.2e-3 && decision.probability(0) < 1.0);
    }
    play(&mut both, 1500);
    assert_eq!(both[0].save().unwrap(), both[1].save().unwrap());

    let damaged = json.replacen("\"in\":2e-6", "\"in\":-2e-6", 1);
    assert_ne!(damaged, json);
    refused(
        Opb::restore(&damaged),
        &["guardrails[0].expression", "-0.000002"],
        "a negative price",
    );
}

/// Problems beside `in` and `out`: the guardrail, and words of the message.
const REFUSED: &str = "
    at_most = 1, weights = { in = 1, out = -2 }           | `guardrails[0].expression.out` is -2: & at least 0
    at_most = 1, weights = { in = nan, out = 1 }          | `guardrails[0].expression.in` is NaN
    at_most = 1, weights = { in = inf, out = 1 }          | `guardrails[0].expression.in` is inf
    at_most = 1, weights = { in = 1, other = 1 }          | `guardrails[0].expression.other` & in, out
    at_most = 1, weights = { a = { in = 1, out = 1 } }    | `guardrails[0].expression.b` is absent
    at_most = 1, weights = { a = { in = 1, out = 1 }, b = { in = 1 } } | `guardrails[0].expression.b.out` is absent
    at_most = 1, weights = { a = { in = 1, out = 1 }, b = { in = 1, out = 1 }, c = { in = 1, out = 1 } } | `guardrails[0].expression.c` & the arms are a, b
    at_most = 1, weights = { in = 1, out = 1 }, scope = 'overall', over = 5 | `guardrails[0].over` & `weights`
    at_most = 1, weights = {}                             | `guardrails[0].expression` & at least one signal
    at_most = 1, weights = { in = 0, out = 0 }, relative = true | `guardrails[0].expression` & above 0
    at_least = 1, weights = { in = 1, out = 1 }           | `guardrails[0].at_least` & `at_most`
    at_most = 1, safe_cost = 0.1, weights = { in = 1, out = 1 } | `guardrails[0].safe_cost` & leave it out
    at_most = 1, cap = 1, weights = { in = 1, out = 1 }   | `guardrails[0].cap` & leave it out
    at_most = 1, drift = { by = 0.1, per = 'decision' }, weights = { in = 1, out = 1 } | `guardrails[0].drift` & leave it out
    at_most = 1, range = [0, 1], weights = { in = 1, out = 1 } | `guardrails[0].range` & leave it out
";

#[test]
fn bad_weights_are_refused() {
    for (cells, words) in rows(REFUSED) {
        let guardrail: Guardrail = read(&format!("name = 'dollars', {}", cells[0]));
        let problem = Problem {
            arms: vec!["a".into(), "b".into()],
            guardrails: vec![guardrail],
            signals: read("in = [0, 10], out = { range = [0, 10] }"),
            ..Problem::default()
        };
        refused(problem.check(), &words, cells[0]);
    }
    let priced = models(1.2e-3, prices(1e-7, 5e-7, 2e-6));
    for name in ["reward", "dollars", " "] {
        let mut problem = priced.clone();
        let range = problem.signals["in"].clone();
        problem.signals.insert(name.into(), range);
        refused(problem.check(), &["signals", "name"], name);
    }
    let negative: BTreeMap<_, _> = read("in = [-1, 10], out = [0, 10]");
    for (declared, words) in [
        (
            "cap = 5",
            ["`guardrails[0].expression.in`", "no observation leaves"],
        ),
        (
            "sub_gaussian = 2",
            ["`guardrails[0].expression.in`", "no observation leaves"],
        ),
    ] {
        let signals = read(&format!("in = {{ {declared} }}, out = [0, 10]"));
        let problem = Problem {
            signals,
            ..priced.clone()
        };
        refused(problem.check(), &words, declared);
    }
    let problem = Problem {
        signals: negative,
        ..priced.clone()
    };
    refused(
        problem.check(),
        &["`guardrails[0].expression.in` is -1", "never be negative"],
        "a negative signal",
    );

    let mut agent = Opb::new(&priced, &OpbConfig::default()).unwrap();
    let before = agent.save().unwrap();
    let mut tell = |json: Value| -> Result<(), Error> {
        agent.set_weights(1, &serde_json::from_value(json).unwrap())
    };
    refused(tell(json!({})), &["weights", "at least one"], "nothing");
    refused(
        tell(json!({"dollars": {"in": 1.0}})),
        &["`weights.dollars.out` is absent"],
        "a part",
    );
    refused(
        tell(json!({"dollars": {"in": 1.0, "out": -1.0}})),
        &["`weights.dollars.out` is -1"],
        "a negative one",
    );
    refused(
        tell(json!({"euros": {"in": 1.0}})),
        &["`weights.euros`", "dollars"],
        "another guardrail",
    );
    let unknown = agent.set_weights(9, &told(1.0));
    refused(unknown, &["9"], "an arm that there is not");
    refused(
        agent.add_arm("mini"),
        &["`weights.dollars` is absent"],
        "an added arm without prices",
    );
    refused(
        agent.observe(1, 0.5, &[1.0]),
        &["in, out"],
        "one cost of two",
    );
    refused(agent.observe(1, 0.5, &[1.0, f64::NAN]), &["out"], "NaN");
    assert_eq!(agent.save().unwrap(), before);

    let plain = Problem {
        signals: BTreeMap::new(),
        guardrails: Vec::new(),
        ..priced.clone()
    };
    let mut plain = Opb::new(&plain, &OpbConfig::default()).unwrap();
    refused(
        plain.set_weights(1, &told(1.0)),
        &["no guardrail"],
        "weights of nothing",
    );
    for config in [
        json!({"kind": "oplb", "norm": 1}),
        json!({"kind": "opb", "intervals": "paper", "horizon": 100}),
        json!({"kind": "opb", "unknown_safe_cost": "paper", "horizon": 100}),
    ] {
        let mut problem = priced.clone();
        problem.features = vec![vec![1.0, 0.0], vec![0.0, 1.0], vec![1.0, 1.0]];
        let config: AgentConfig = serde_json::from_value(config).unwrap();
        let words = ["`guardrails[0].expression` is given"];
        refused(
            config.build(&problem).map(|_| ()),
            &words,
            "an agent that knows no sums",
        );
    }
}
