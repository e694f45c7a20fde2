//! Guardrails in every form say what they are declared to say.

use crate::common;
use banister::Agent as _;

use banister::toolkit::Direction;
use banister::{
    ArmEstimate, Expression, Guardrail, Intervals, Measured, Opb, OpbConfig, Optimism, Problem,
    Round, SignalConfig,
};
use common::{Random, at_most, problem};
use proptest::prelude::*;

fn at_least(threshold: f64, safe_cost: Option<f64>) -> Guardrail {
    Guardrail {
        name: "quality".into(),
        at_least: Some(threshold),
        safe_cost,
        ..Guardrail::default()
    }
}

/// Runs two agents on the same arms, drawn by the first one's policy; `costs` and `rewards` map the
/// first agent's numbers to the second's. Returns how many decisions were not forced.
fn run_side_by_side(
    mut first: Opb,
    mut second: Opb,
    map: impl Fn(f64, &[f64]) -> (f64, Vec<f64>),
    draw: impl Fn(&mut Random, usize) -> (f64, Vec<f64>),
    tolerance: f64,
) -> usize {
    let mut random = Random::new(11);
    let mut free = 0;
    for round in 0..1500 {
        let (a, b) = (first.decide().clone(), second.decide().clone());
        assert_eq!(a.fallback, b.fallback, "round {round}");
        for arm in 0..first.view().arms.len() {
            let (p, q) = (a.probability(arm), b.probability(arm));
            assert!(
                (p - q).abs() <= tolerance,
                "round {round}, arm {arm}: {p} and {q}"
            );
        }
        free += usize::from(a.fallback.is_none());
        let arm = a.draw(random.unit());
        let (reward, costs) = draw(&mut random, arm);
        let (other_reward, other_costs) = map(reward, &costs);
        first.observe(arm, reward, &costs).expect("valid");
        second
            .observe(arm, other_reward, &other_costs)
            .expect("valid");
    }
    free
}

fn agent(problem: &Problem, config: &OpbConfig) -> Opb {
    Opb::new(problem, config).expect("a valid problem")
}

/// An observation on the grid of sixteenths, so that mirroring and scaling by powers of two are exact.
fn sixteenths(random: &mut Random, mean: f64) -> f64 {
    ((random.unit() * 0.5 + mean * 0.5) * 16.0).floor() / 16.0
}

#[test]
fn at_least_is_the_mirror_of_at_most() {
    for safe in [None, Some(0.75)] {
        let symmetric = OpbConfig {
            intervals: Some(Intervals::Subgaussian),
            optimism: Optimism::Least,
            ..OpbConfig::default()
        };
        for config in [OpbConfig::default(), symmetric] {
            // At least 0.25 of s is at most 0.75 of 1 − s.
            let low = problem(3, vec![at_least(0.25, safe)]);
            let high = problem(3, vec![at_most(0.75, safe.map(|c| 1.0 - c))]);
            let free = run_side_by_side(
                agent(&low, &config),
                agent(&high, &config),
                |reward, costs| (reward, vec![1.0 - costs[0]]),
                |random, arm| {
                    let reward = sixteenths(random, 0.3 * arm as f64);
                    (reward, vec![sixteenths(random, 0.75 - 0.375 * arm as f64)])
                },
                0.0,
            );
            assert!(free > 500, "only {free} decisions were free");
        }
    }
}

#[test]
fn ranges_are_units_and_change_no_decision() {
    let (reward_range, cost_range) = ([-3.0, 5.0], [10.0, 26.0]);
    let scale = |range: [f64; 2], x: f64| range[0] + (range[1] - range[0]) * x;
    for safe in [None, Some(0.125)] {
        let plain = problem(
            4,
            vec![at_most(0.5, safe), at_least(0.25, safe.map(|_| 0.5))],
        );
        let mut scaled = plain.clone();
        scaled.reward = SignalConfig {
            range: Some(reward_range.into()),
            ..SignalConfig::default()
        };
        for g in &mut scaled.guardrails {
            g.signal.range = Some(cost_range.into());
            for number in [&mut g.at_most, &mut g.at_least, &mut g.safe_cost] {
                *number = number.map(|x| scale(cost_range, x));
            }
        }
        let config = OpbConfig::default();
        let free = run_side_by_side(
            agent(&plain, &config),
            agent(&scaled, &config),
            |reward, costs| {
                let costs = costs.iter().map(|&c| scale(cost_range, c)).collect();
                (scale(reward_range, reward), costs)
            },
            |random, arm| {
                let reward = sixteenths(random, 0.2 * arm as f64);
                (
                    reward,
                    vec![
                        sixteenths(random, 0.125 * arm as f64),
                        sixteenths(random, 0.5),
                    ],
                )
            },
            0.0,
        );
        assert!(free > 500, "only {free} decisions were free");
    }
}

#[test]
fn certificates_speak_the_users_units() {
    let declared = problem(
        2,
        vec![
            Guardrail {
                signal: SignalConfig {
                    range: Some([0.0, 50.0].into()),
                    ..SignalConfig::default()
                },
                ..at_most(20.0, Some(5.0))
            },
            Guardrail {
                signal: SignalConfig {
                    range: Some([-10.0, 10.0].into()),
                    ..at_least(-4.0, Some(6.0)).signal.clone()
                },
                ..at_least(-4.0, Some(6.0))
            },
        ],
    );
    let mut agent = agent(&declared, &OpbConfig::default());
    // Only when the safe arm is known to earn less is there a reason to leave it.
    for _ in 0..20 {
        agent.observe(0, 0.0, &[5.0, 6.0]).expect("valid");
    }
    let decision = agent.decide();
    let (safe, bold) = (decision.probability(0), decision.probability(1));
    // Nothing is known of arm 1: at worst it costs 50, and yields −10.
    let worst = [5.0 * safe + 50.0 * bold, 6.0 * safe - 10.0 * bold];
    assert!(bold > 0.0);
    for (certificate, (cost, threshold)) in decision
        .guardrails
        .iter()
        .zip(worst.into_iter().zip([20.0, -4.0]))
    {
        assert!((certificate.pessimistic_cost - cost).abs() < 1e-12);
        assert_eq!(certificate.threshold, threshold);
        assert!((certificate.slack - (threshold - cost).abs()).abs() < 1e-12);
        assert!(certificate.slack >= 0.0 && certificate.price >= 0.0);
    }
}

/// A relative guardrail on a range, the intervals of arms in shares of the range, and a policy.
#[derive(Debug, Clone)]
struct RelativeCase {
    guardrail: Guardrail,
    intervals: Vec<(f64, f64)>,
    weights: Vec<f64>,
    places: Vec<f64>,
}

fn relative_case() -> impl Strategy<Value = RelativeCase> {
    let arms = 2..6_usize;
    (
        arms,
        any::<bool>(),
        0.01..0.99_f64,
        0.0..5.0_f64,
        0.5..20.0_f64,
    )
        .prop_flat_map(|(k, upper, epsilon, lo, unit)| {
            let guardrail = Guardrail {
                name: "relative".into(),
                at_most: upper.then_some(1.0 + epsilon),
                at_least: (!upper).then_some(1.0 - epsilon),
                relative: true,
                signal: SignalConfig {
                    range: Some([lo, lo + unit].into()),
                    ..SignalConfig::default()
                },
                ..Guardrail::default()
            };
            let interval = (0.0..1.0_f64, 0.0..1.0_f64).prop_map(|(a, b)| (a.min(b), a.max(b)));
            (
                Just(guardrail),
                prop::collection::vec(interval, k),
                prop::collection::vec(0.001..1.0_f64, k),
                // Corners of the box as often as its inside.
                prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..1.0_f64], k),
            )
        })
        .prop_map(|(guardrail, intervals, weights, places)| RelativeCase {
            guardrail,
            intervals,
            weights,
            places,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whenever the pessimistic constraint holds, every mean vector within the intervals meets the
    /// guardrail as declared.
    #[test]
    fn a_pessimistically_feasible_policy_keeps_a_relative_guardrail(case in relative_case()) {
        let standard = case.guardrail.check().expect("a valid guardrail");
        let bounds = |a: usize| standard.cost_bounds(case.intervals[a], case.intervals[0], a == 0);
        let total: f64 = case.weights.iter().sum();
        let mut policy: Vec<f64> = case.weights.iter().map(|w| w / total).collect();
        let cost = |policy: &[f64]| -> f64 {
            policy.iter().enumerate().map(|(a, p)| p * bounds(a).1).sum()
        };
        // Mix in just enough of the safe action, where that helps.
        let (mixed, safe) = (cost(&policy), bounds(0).1);
        prop_assume!(safe <= standard.threshold);
        if mixed > standard.threshold {
            let share = (mixed - standard.threshold) / (mixed - safe);
            policy.iter_mut().for_each(|p| *p *= 1.0 - share);
            policy[0] += share;
        }
        let [lo, hi] = case.guardrail.signal.hull();
        let signal = |a: usize| {
            let (l, u) = case.intervals[a];
            let y = l + case.places[a] * (u - l);
            match standard.direction {
                Direction::AtMost => lo + (hi - lo) * y,
                Direction::AtLeast => hi - (hi - lo) * y,
            }
        };
        let mean: f64 = policy.iter().enumerate().map(|(a, p)| p * signal(a)).sum();
        let rounding = 1e-9 * (hi - lo);
        match (case.guardrail.at_most, case.guardrail.at_least) {
            (Some(f), _) => prop_assert!(mean <= f * signal(0) + rounding),
            (_, Some(f)) => prop_assert!(mean >= f * signal(0) - rounding),
            _ => unreachable!(),
        }
        // The lower bounds are bounds, too: the true standard cost lies between the two.
        for a in 0..policy.len() {
            let y = |a: usize| standard.standardise(signal(a));
            let truth = y(a) - standard.factor * y(0);
            let (l, u) = bounds(a);
            prop_assert!(l - 1e-9 <= truth && truth <= u + 1e-9);
        }
    }

    /// For `at_most` the pessimistic cost is attained by some mean vector: nothing is given away.
    #[test]
    fn a_relative_upper_bound_is_no_looser_than_its_worst_case(case in relative_case()) {
        let Some(f) = case.guardrail.at_most else {
            return Ok(());
        };
        let standard = case.guardrail.check().expect("a valid guardrail");
        let total: f64 = case.weights.iter().sum();
        let [lo, hi] = case.guardrail.signal.hull();
        let (mut cost, mut mean) = (0.0, 0.0);
        for (a, w) in case.weights.iter().enumerate() {
            let own = case.intervals[a];
            cost += w / total * standard.cost_bounds(own, case.intervals[0], a == 0).1;
            let worst = if a == 0 { own.0 } else { own.1 };
            mean += w / total * (lo + (hi - lo) * worst);
        }
        let excess = mean - f * (lo + (hi - lo) * case.intervals[0].0);
        prop_assert!((standard.show(cost) - excess).abs() < 1e-9 * (1.0 + hi));
    }
}

#[test]
fn a_relative_guardrail_plays_safe_until_the_safe_mean_is_surely_positive() {
    for guardrail in [
        Guardrail {
            relative: true,
            ..at_most(1.5, None)
        },
        Guardrail {
            relative: true,
            ..at_least(0.5, None)
        },
    ] {
        let upward = guardrail.at_most.is_some();
        let mut agent = agent(&problem(3, vec![guardrail]), &OpbConfig::default());
        let mut random = Random::new(8);
        let mut freed = None;
        for n in 0..200 {
            let safe = agent.interval(0, 1).expect("the safe arm");
            // The lower bound of the signal itself; `at_least` counts from the other end.
            let lowest = if upward { safe.lower } else { 1.0 - safe.upper };
            let decision = agent.decide();
            let free = decision.fallback.is_none();
            assert_eq!(free, lowest > 0.0, "after {n} outcomes");
            if free {
                freed = Some(n);
                break;
            }
            assert_eq!(decision.policy, [(0, 1.0)]);
            agent
                .observe(0, 0.5, &[random.bernoulli(0.3)])
                .expect("valid");
        }
        assert!(freed > Some(0));
    }
}

#[test]
fn a_known_safe_cost_turns_a_relative_guardrail_into_an_absolute_one() {
    for (relative, absolute) in [
        (
            Guardrail {
                relative: true,
                ..at_most(1.5, Some(0.25))
            },
            at_most(0.375, Some(0.25)),
        ),
        (
            Guardrail {
                relative: true,
                ..at_least(0.5, Some(0.75))
            },
            at_least(0.375, Some(0.75)),
        ),
    ] {
        assert_eq!(relative.check(), absolute.check());
    }
}

/// Just after control's first conversion, "at least 98% of control" leaves a margin of a few units in the last
/// place: the solver took seconds, or minutes, to step back from rounding.
#[test]
fn the_first_conversion_of_control_does_not_stall_the_agent() {
    let declared = Problem {
        arms: vec!["control".into(), "bold".into(), "wild".into()],
        guardrails: vec![Guardrail {
            name: "conversion".into(),
            at_least: Some(0.98),
            relative: true,
            ..Guardrail::default()
        }],
        ..Problem::default()
    };
    for before in [0, 1, 3, 10, 40, 200] {
        let mut agent = Opb::new(&declared, &OpbConfig::default()).expect("valid");
        for n in 0..before + 60 {
            let conversion = f64::from(u8::from(n >= before));
            agent.observe(0, conversion, &[conversion]).expect("valid");
            assert!(agent.decide().guardrails[0].slack >= 0.0);
        }
    }
}

/// An agent that has seen the same 400 outcomes as the others, with a conversion that earns and a cost that is its own.
fn after_outcomes(problem: &Problem, row: impl Fn(f64, f64) -> Vec<f64>) -> Opb {
    let mut agent = agent(problem, &OpbConfig::default());
    let mut random = Random::new(5);
    for round in 0..400 {
        let mut bit = |p: f64| f64::from(random.unit() < p);
        let (conversion, cost) = (bit(0.7), bit(0.1));
        let row = row(conversion, cost);
        agent.observe(round % 3, conversion, &row).expect("valid");
    }
    agent
}

#[test]
fn a_signal_that_is_used_twice_is_learned_once() {
    let bounded = |at: f64| Guardrail {
        name: format!("at most {at}"),
        expression: Some(Expression::Signal("complaints".into())),
        ..at_most(at, None)
    };
    let of = |guardrails: Vec<Guardrail>| Problem {
        signals: [(
            "complaints".to_string(),
            Measured::Within([0.0, 1.0].into()),
        )]
        .into(),
        ..problem(3, guardrails)
    };
    let costs = |agent: &mut Opb| {
        let estimate = banister::estimates(agent, &Round::default());
        let of = |arm: &ArmEstimate| {
            arm.costs
                .iter()
                .map(|c| (c.lower, c.upper))
                .collect::<Vec<_>>()
        };
        estimate.iter().map(of).collect::<Vec<_>>()
    };
    let mut once = after_outcomes(&of(vec![bounded(0.5)]), |_, cost| vec![cost]);
    let twice = of(vec![bounded(0.5), bounded(0.3)]);
    let mut shared = after_outcomes(&twice, |_, cost| vec![cost]);
    let two = problem(3, vec![at_most(0.5, None), at_most(0.3, None)]);
    let mut apart = after_outcomes(&two, |_, cost| vec![cost, cost]);
    for ((once, shared), apart) in costs(&mut once)
        .iter()
        .zip(costs(&mut shared))
        .zip(costs(&mut apart))
    {
        // The same ends to the last bit: nothing of δ is spent on the second use.
        assert_eq!(shared, [once[0], once[0]]);
        assert!(
            apart[0].1 > once[0].1,
            "a signal of its own takes its share"
        );
    }
}

#[test]
fn the_reward_may_be_bounded_and_is_brought_once() {
    let floor = Guardrail {
        name: "conversion".into(),
        at_least: Some(0.2),
        expression: Some(Expression::Signal("reward".into())),
        ..Guardrail::default()
    };
    let alone = Guardrail {
        expression: None,
        ..floor.clone()
    };
    let alone = problem(3, vec![alone]);
    let mut apart = after_outcomes(&alone, |conversion, _| vec![conversion]);
    let mut agent = after_outcomes(&problem(3, vec![floor.clone()]), |_, _| Vec::new());
    let estimates = |agent: &mut Opb| banister::estimates(agent, &Round::default());
    for (arm, apart) in std::iter::zip(estimates(&mut agent), estimates(&mut apart)) {
        let (reward, cost) = (&arm.reward, &arm.costs[0]);
        // Mirrored and back: the last digits may differ.
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(reward.upper, cost.upper) && near(reward.lower, cost.lower));
        assert!(
            near(cost.lower, apart.costs[0].lower),
            "safety's end has its share"
        );
        assert!(
            reward.upper < apart.reward.upper,
            "optimism bounds one signal, not two"
        );
    }
    let twice = agent.observe(0, 1.0, &[0.0]);
    assert!(matches!(
        twice,
        Err(banister::Error::CostCount { expected: 0, .. })
    ));
    let named = Guardrail {
        expression: Some(Expression::Signal("sales".into())),
        ..floor.clone()
    };
    let ranged = Guardrail {
        signal: SignalConfig {
            range: Some([0.0, 2.0].into()),
            ..floor.signal.clone()
        },
        ..floor.clone()
    };
    let rows = [
        (named, "no `signals` are declared here"),
        (ranged, "it follows from its signals"),
    ];
    for (guardrail, reason) in rows {
        let error = problem(2, vec![guardrail]).check().expect_err(reason);
        assert!(error.to_string().contains(reason), "{error}");
    }
}
