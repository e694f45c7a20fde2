//! Floors under the probabilities of arms, told while the agent runs.

use crate::common::verbs::Verbs as _;
use banister::interval::Mixture;
use banister::monitor::AlarmKind;
use banister::{Agent, Floors, OnBreach, Opb, OpbConfig};

use crate::common::{self, Random, at_most, brute_force_lp};

const FLOORS: [f64; 4] = [0.3, 0.0, 0.3, 0.2];

fn told() -> Floors {
    Floors {
        safe: FLOORS[0],
        arms: vec![(2, FLOORS[2]), (3, FLOORS[3])],
    }
}

/// An agent with floors and some outcomes of every arm, of which one may cost a lot.
fn agent(seed: u64, outcomes: usize) -> (Opb, [Mixture; 4]) {
    let problem = common::problem(4, vec![at_most(0.25, Some(0.05)), at_most(0.4, Some(0.1))]);
    let config = OpbConfig {
        lazy: Some(0.0),
        on_breach: Some(OnBreach::Alert),
        ..OpbConfig::default()
    };
    let mut agent = Opb::new(&problem, &config).unwrap();
    agent.set_floors(&told()).unwrap();
    let random = &mut Random::new(seed);
    let mut means: Vec<[f64; 3]> = (0..4)
        .map(|_| {
            [
                random.between(0.1, 0.9),
                random.between(0.02, 0.5),
                random.between(0.02, 0.5),
            ]
        })
        .collect();
    // As declared.
    (means[0][1], means[0][2]) = (0.05, 0.1);
    let mut rewards = [Mixture::default(); 4];
    for t in 0..outcomes {
        let arm = t % 4;
        let values = means[arm].map(|mean| random.bernoulli(mean));
        agent.observe(arm, values[0], &values[1..]).unwrap();
        rewards[arm].push(values[0]);
    }
    (agent, rewards)
}

/// Upper ends of the costs, by guardrail and arm.
fn upper(agent: &Opb) -> Vec<Vec<f64>> {
    let safe = [0.05, 0.1];
    let end = |i: usize, arm: usize| agent.interval(arm, 1 + i).unwrap().upper;
    (0..2)
        .map(|i| {
            (0..4)
                .map(|arm| if arm == 0 { safe[i] } else { end(i, arm) })
                .collect()
        })
        .collect()
}

fn row(agent: &mut Opb) -> Vec<f64> {
    let decision = agent.decide().clone();
    assert_eq!(decision.fallback, None);
    (0..4).map(|arm| decision.probability(arm)).collect()
}

/// The part of the floors that margins pay for, by definition: the largest in [0, 1].
fn kept(costs: &[Vec<f64>]) -> f64 {
    let pays = |part: f64| {
        costs.iter().zip([0.25, 0.4]).all(|(row, threshold)| {
            let floors: f64 = (1..4).map(|a| part * FLOORS[a] * (row[a] - row[0])).sum();
            // A thousandth of the margin is left to the program.
            floors <= 0.999 * (threshold - row[0])
        })
    };
    if pays(1.0) {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if pays(middle) {
            low = middle
        } else {
            high = middle
        }
    }
    low
}

/// Every policy keeps the floors as far as they are certified, and the thresholds.
#[test]
fn policies_keep_floors_and_thresholds() {
    let mut partly = 0;
    for seed in 0..40 {
        for outcomes in [0, 40, 400, 4000] {
            let (mut agent, _) = agent(seed, outcomes);
            let costs = upper(&agent);
            let (policy, part) = (row(&mut agent), kept(&costs));
            partly += usize::from(part > 0.0 && part < 1.0);
            for arm in 0..4 {
                let floor = if arm == 0 {
                    FLOORS[0]
                } else {
                    part * FLOORS[arm]
                };
                assert!(
                    policy[arm] >= floor - 1e-9,
                    "{seed} {outcomes}: {policy:?}, {part}"
                );
            }
            for (row, threshold) in costs.iter().zip([0.25, 0.4]) {
                let cost: f64 = row.iter().zip(&policy).map(|(c, p)| c * p).sum();
                assert!(cost <= threshold, "{seed} {outcomes}: {cost}");
            }
        }
    }
    assert!(
        partly > 10,
        "{partly}: floors that are paid for in part were hardly tried"
    );
}

/// Once floors are certified, the settled policy is the best one that keeps them, by a program in which they are
/// constraints of their own.
#[test]
fn settled_policies_are_the_best_above_the_floors() {
    let mut checked = 0;
    for seed in 0..40 {
        let (mut agent, rewards) = agent(seed, 8000);
        agent.settle(true).unwrap();
        let mut costs = upper(&agent);
        // An arm that seems to have changed, by chance, starts again with other shares of δ.
        let alarms = agent.view().monitor.unwrap().alarms();
        let changed = alarms.iter().any(|own| own.kind == AlarmKind::Changed);
        if kept(&costs) < 1.0 || changed {
            continue;
        }
        checked += 1;
        let left = agent.worth_left().unwrap();
        // Shares of δ_o: of two ends of the safe arm's reward and costs, and three of another's.
        let end = |(arm, own): (usize, &Mixture)| {
            let ends = if arm == 0 { 2.0 } else { 4.0 };
            own.lower(f64::ln(ends / (0.1 * common::share_of(arm + 1, 4))), 0.0)
        };
        let lower: Vec<f64> = rewards.iter().enumerate().map(end).collect();
        let mut thresholds = vec![0.25, 0.4];
        for (arm, floor) in FLOORS.iter().enumerate() {
            costs.push((0..4).map(|a| if a == arm { -1.0 } else { 0.0 }).collect());
            thresholds.push(-floor);
        }
        let (best, _) = brute_force_lp(&lower, &costs, &thresholds).unwrap();
        let policy = row(&mut agent);
        let value: f64 = policy.iter().zip(&lower).map(|(p, x)| p * x).sum();
        assert!(
            (value - best).abs() < 1e-6,
            "{seed}: {policy:?} {value} {best}"
        );
        assert!(
            (left.guaranteed - best).abs() < 1e-6,
            "{seed}: {left:?} {best}"
        );
    }
    assert!(checked > 10, "{checked}");
}

/// A saved agent keeps its floors; told others, it keeps those; told none, it is as if there had never been any.
#[test]
fn floors_are_saved_and_replaced() {
    let (mut own, _) = agent(3, 4000);
    let json = own.save().unwrap();
    let mut again = Opb::restore(&json).unwrap();
    assert_eq!(again.decide(), own.decide());
    assert_eq!(again.save().unwrap(), json);
    own.set_floors(&Floors {
        safe: 0.9,
        arms: Vec::new(),
    })
    .unwrap();
    assert!(own.decide().probability(0) >= 0.9);
    own.set_floors(&Floors::default()).unwrap();
    let (mut free, _) = agent(3, 4000);
    free.set_floors(&Floors::default()).unwrap();
    assert_eq!(own.decide(), free.decide());
    assert!(!free.save().unwrap().contains("floors"));
}

#[test]
fn bad_floors_are_refused() {
    let (mut own, _) = agent(1, 0);
    let bad = [
        (1.0, vec![]),
        (-0.1, vec![]),
        (f64::NAN, vec![]),
        (0.0, vec![(0, 0.1)]),
        (0.0, vec![(4, 0.1)]),
        (0.0, vec![(1, 0.0)]),
        (0.0, vec![(1, f64::NAN)]),
        (0.0, vec![(1, 0.1), (1, 0.1)]),
        (0.0, vec![(1, 0.6), (2, 0.5)]),
    ];
    for (safe, arms) in bad {
        let told = Floors { safe, arms };
        assert!(own.set_floors(&told).is_err(), "{told:?}");
    }
    assert!(own.decide().probability(0) >= FLOORS[0]);
    let segmented: banister::AgentConfig =
        serde_json::from_str(r#"{"kind": "segmented"}"#).unwrap();
    let mut other = segmented
        .build(&common::problem(3, vec![at_most(0.25, Some(0.05))]))
        .unwrap();
    let error = other.set_floors(&told()).unwrap_err().to_string();
    assert!(error.contains("floors"), "{error}");
}

/// A ramp: the safe action's floor alone, from nearly everything to nothing.
#[test]
fn traffic_away_from_the_safe_action_is_limited() {
    let problem = common::problem(3, vec![at_most(0.5, Some(0.1))]);
    let mut agent = Opb::new(&problem, &OpbConfig::default()).unwrap();
    for t in 0..1500 {
        let arm = t % 3;
        let (reward, cost) = [(0.2, 0.1), (0.9, 0.2), (0.1, 0.3)][arm];
        agent.observe(arm, reward, &[cost]).unwrap();
    }
    for share in [0.001, 0.05, 0.3, 0.9, 1.0] {
        let arms = Vec::new();
        agent
            .set_floors(&Floors {
                safe: 1.0 - share,
                arms,
            })
            .unwrap();
        let decision = agent.decide();
        assert_eq!(decision.fallback, None);
        assert!(
            (decision.probability(1) - share).abs() < 1e-9,
            "{decision:?}"
        );
    }
}
