//! An agent's life: late outcomes, arms that come and go, and input that must change nothing.

use crate::common;

use crate::common::player::Inspect as _;
use banister::{Agent as _, Error, Fallback, Intervals, OnBreach, Opb, OpbConfig, Optimism};
use common::{Random, at_most, observe_batch, problem, without_monitor};

type Outcome = (usize, f64, Vec<f64>);

/// Outcomes of random arms, on sixteenths so that sums do not depend on their order.
fn outcomes(random: &mut Random, k: usize, m: usize, count: usize) -> Vec<Outcome> {
    let mut number = |mean: f64| ((0.5 * random.unit() + 0.5 * mean) * 16.0).floor() / 16.0;
    (0..count)
        .map(|i| {
            let arm = i % k;
            let costs = (0..m).map(|_| number(0.2 * arm as f64)).collect();
            (arm, number(0.3 * arm as f64), costs)
        })
        .collect()
}

fn shuffled(random: &mut Random, outcomes: &[Outcome]) -> Vec<Outcome> {
    let mut other = outcomes.to_vec();
    for i in (1..other.len()).rev() {
        other.swap(i, random.below(i + 1));
    }
    other
}

fn feed(agent: &mut Opb, outcomes: &[Outcome]) {
    for (arm, reward, costs) in outcomes {
        agent
            .observe(*arm, *reward, costs)
            .expect("a valid outcome");
    }
}

/// For outcomes that have nothing to do with what is declared.
fn alert_only() -> OpbConfig {
    OpbConfig {
        on_breach: Some(OnBreach::Alert),
        ..OpbConfig::default()
    }
}

fn orderless(intervals: Intervals) -> OpbConfig {
    OpbConfig {
        intervals: Some(intervals),
        intersect: Some(false),
        lazy: Some(0.0),
        horizon: Some(10_000),
        ..alert_only()
    }
}

#[test]
fn outcomes_out_of_order_and_in_batches_give_the_same_state() {
    let mut random = Random::new(1);
    for (safe, kind) in [
        (None, Intervals::Paper),
        (Some(0.1), Intervals::Paper),
        (None, Intervals::Subgaussian),
        (Some(0.1), Intervals::Subgaussian),
    ] {
        let declared = problem(4, vec![at_most(0.5, safe); 2]);
        let fresh = Opb::new(&declared, &orderless(kind)).expect("valid");
        let data = outcomes(&mut random, 4, 2, 900);
        let mut in_order = fresh.clone();
        feed(&mut in_order, &data);
        let mut late = fresh.clone();
        data.iter()
            .for_each(|(arm, ..)| late.announced(0, *arm, None));
        feed(&mut late, &shuffled(&mut random, &data));
        let (first, second) = (in_order.save().unwrap(), late.save().unwrap());
        assert_eq!(without_monitor(&first), without_monitor(&second));
        let mut batched = fresh.clone();
        for batch in data.chunks(70) {
            let rows: Vec<_> = batch
                .iter()
                .map(|(a, r, c)| (*a, *r, c.as_slice()))
                .collect();
            observe_batch(&mut batched, &rows).expect("valid");
        }
        assert_eq!(in_order.save().unwrap(), batched.save().unwrap());
        // Alarms depend on the order, and nothing else does.
        let mut decision = in_order.decide().clone();
        decision.alarm = late.decide().alarm;
        assert_eq!(decision, *late.decide());
    }
}

#[test]
fn kl_intervals_depend_on_the_order_by_no_more_than_their_search() {
    let mut random = Random::new(2);
    let declared = problem(4, vec![at_most(0.5, Some(0.1))]);
    let fresh = Opb::new(&declared, &orderless(Intervals::Kl)).expect("valid");
    let data = outcomes(&mut random, 4, 1, 900);
    let (mut in_order, mut late) = (fresh.clone(), fresh);
    feed(&mut in_order, &data);
    data.iter()
        .for_each(|(arm, ..)| late.announced(0, *arm, None));
    feed(&mut late, &shuffled(&mut random, &data));
    for arm in 0..4 {
        for signal in 0..2 {
            let (a, b) = (in_order.interval(arm, signal), late.interval(arm, signal));
            let (a, b) = (a.expect("a signal"), b.expect("a signal"));
            assert!((a.upper - b.upper).abs() < 1e-8 && (a.lower - b.lower).abs() < 1e-8);
        }
    }
    let (a, b) = (in_order.decide(), late.decide());
    for arm in 0..4 {
        assert!((a.probability(arm) - b.probability(arm)).abs() < 1e-6);
    }
}

#[test]
fn pending_decisions_change_nothing() {
    let mut random = Random::new(3);
    for optimism in [Optimism::Least, Optimism::Index] {
        let config = OpbConfig {
            optimism,
            ..OpbConfig::default()
        };
        let declared = problem(4, vec![at_most(0.5, Some(0.1))]);
        let mut agent = Opb::new(&declared, &config).expect("valid");
        feed(&mut agent, &outcomes(&mut random, 4, 1, 300));
        let first = agent.decide().clone();
        let saved = agent.save().unwrap();
        for _ in 0..50 {
            assert_eq!(agent.decide(), &first);
        }
        assert_eq!(agent.save().unwrap(), saved);
        assert_eq!(agent.outcomes(), 300);
        assert_eq!(agent.decision(), &first);
    }
}

#[test]
fn arms_can_be_added_without_limit() {
    let declared = problem(3, vec![at_most(0.5, Some(0.1))]);
    let mut agent = Opb::new(&declared, &OpbConfig::default()).expect("valid");
    assert_eq!(agent.add_arm("fourth"), Ok(3));
    assert_eq!(agent.view().arm_named("fourth"), Ok(3));
    assert!(
        agent.view().arms.get(3).is_some_and(|arm| arm.offered)
            && !agent.view().arms.get(4).is_some_and(|arm| arm.offered)
    );
    for (name, mentions) in [("arm 1", "of its own"), (" ", "needs a name")] {
        let before = agent.save().unwrap();
        let message = agent.add_arm(name).expect_err("refused").to_string();
        assert!(message.contains(mentions), "{message}");
        assert_eq!(agent.save().unwrap(), before);
    }
    for number in 4..40 {
        assert_eq!(agent.add_arm(&format!("another {number}")), Ok(number));
    }
    // The paper's radii are made for a number of arms.
    let mut paper = Opb::new(&declared, &OpbConfig::paper(100)).expect("valid");
    let message = paper.add_arm("fourth").expect_err("refused").to_string();
    assert!(message.contains("`paper`"), "{message}");
    let message = agent
        .view()
        .arm_named("sixth")
        .expect_err("unknown")
        .to_string();
    assert!(
        message.contains("sixth") && message.contains("fourth"),
        "{message}"
    );
}

#[test]
fn a_retired_arm_is_never_played_but_its_outcomes_still_count() {
    let mut random = Random::new(4);
    let declared = problem(4, vec![at_most(0.9, Some(0.1))]);
    let mut agent = Opb::new(&declared, &OpbConfig::default()).expect("valid");
    feed(&mut agent, &outcomes(&mut random, 4, 1, 400));
    // Arm 3 earns the most.
    assert!(agent.decide().probability(3) > 0.5);
    agent.retire_arm(3).expect("not the safe arm");
    assert!(!agent.view().arms.get(3).is_some_and(|arm| arm.offered));
    for _ in 0..200 {
        let decision = agent.decide().clone();
        assert_eq!(decision.probability(3), 0.0);
        let arm = decision.draw(random.unit());
        agent.observe(arm, 0.5, &[0.25]).expect("valid");
    }
    let (pulls, outcomes) = (agent.pulls()[3], agent.outcomes());
    let before = agent.interval(3, 1).expect("still known");
    for _ in 0..20 {
        agent.observe(3, 1.0, &[1.0]).expect("late, but welcome");
    }
    assert_eq!(
        (agent.pulls()[3], agent.outcomes()),
        (pulls + 20, outcomes + 20)
    );
    assert_ne!(agent.interval(3, 1), Some(before));
    let twice = agent
        .retire_arm(3)
        .expect_err("retired already")
        .to_string();
    assert!(
        twice.contains("arm 3") && twice.contains("already"),
        "{twice}"
    );
    // Offered again it has its number and all that is known of it: as if it had never gone.
    let mut always = Opb::restore(&agent.save().unwrap()).expect("a snapshot");
    let known = agent.interval(3, 1);
    assert_eq!(agent.add_arm("arm 3").expect("retired"), 3);
    assert_eq!(
        (agent.pulls()[3], agent.interval(3, 1)),
        (pulls + 20, known)
    );
    assert!(
        agent.view().arms.get(3).is_some_and(|arm| arm.offered) && agent.add_arm("arm 3").is_err()
    );
    always.add_arm("arm 3").expect("retired, in a snapshot too");
    for _ in 0..50 {
        let decision = agent.decide().clone();
        assert_eq!(decision.policy, always.decide().policy);
        let arm = decision.draw(random.unit());
        let cost = random.bernoulli(0.2);
        agent.observe(arm, 0.5, &[cost]).expect("valid");
        always.observe(arm, 0.5, &[cost]).expect("valid");
    }
}

#[test]
fn a_retirement_leaves_the_agent_that_never_had_the_arm_pulled() {
    // At the same level, an agent whose arm 1 was retired plans like one without it.
    let config = OpbConfig {
        log_term: Some(7.0),
        ..OpbConfig::default()
    };
    let mut random = Random::new(5);
    let guardrails = vec![at_most(0.5, Some(0.1)); 2];
    let mut with = Opb::new(&problem(4, guardrails.clone()), &config).expect("valid");
    let mut without = Opb::new(&problem(3, guardrails), &config).expect("valid");
    with.retire_arm(1).expect("not the safe arm");
    let rename = |arm: usize| if arm > 1 { arm - 1 } else { arm };
    for round in 0..800 {
        let (a, b) = (with.decide().clone(), without.decide().clone());
        let renamed: Vec<(usize, f64)> = a.policy.iter().map(|&(x, p)| (rename(x), p)).collect();
        assert_eq!(renamed, b.policy, "round {round}");
        let arm = a.draw(random.unit());
        let reward = random.bernoulli(0.25 * arm as f64);
        let costs = [random.bernoulli(0.1 * arm as f64), random.bernoulli(0.2)];
        with.observe(arm, reward, &costs).expect("valid");
        without.observe(rename(arm), reward, &costs).expect("valid");
    }
}

#[test]
fn the_safe_arm_stays_and_unknown_arms_are_named() {
    let mut agent = Opb::new(&problem(2, vec![]), &OpbConfig::default()).expect("valid");
    let message = agent.retire_arm(0).expect_err("safe").to_string();
    assert!(
        message.contains("arm 0") && message.contains("safe"),
        "{message}"
    );
    assert_eq!(
        agent.retire_arm(9),
        Err(Error::NoSuchArm { arm: 9, last: 1 })
    );
}

#[test]
fn refused_outcomes_change_nothing() {
    let config = OpbConfig {
        horizon: Some(4),
        ..orderless(Intervals::Paper)
    };
    let declared = problem(3, vec![at_most(0.5, Some(0.1)), at_most(0.6, None)]);
    let mut agent = Opb::new(&declared, &config).expect("valid");
    agent.observe(0, 0.5, &[0.1, 0.2]).expect("valid");
    agent.decide();
    let before = agent.save().unwrap();
    let good: &[f64] = &[0.1, 0.2];
    let nan = f64::NAN;
    let bad: [(usize, f64, &[f64], &str); 7] = [
        (3, 0.5, good, "no arm 3"),
        (0, nan, good, "`reward` is NaN"),
        (0, f64::INFINITY, good, "`reward` is inf"),
        (0, 0.5, &[0.1, nan], "`cost 1` is NaN"),
        (0, 0.5, &[1e101, 0.1], "`cost 0` is 1"),
        (0, 0.5, &[0.1], "has 1 costs, expected 2"),
        (0, 0.5, &[0.1, 0.1, 0.1], "(cost 0, cost 1)"),
    ];
    for (arm, reward, costs, mentions) in bad {
        let message = agent
            .observe(arm, reward, costs)
            .expect_err("refused")
            .to_string();
        assert!(message.contains(mentions), "{message}");
        assert_eq!(agent.save().unwrap(), before, "{message}");
        // One bad outcome spoils the whole batch.
        let batch = [(1, 0.5, good), (arm, reward, costs)];
        assert!(observe_batch(&mut agent, &batch).is_err());
        assert_eq!(agent.save().unwrap(), before, "{message}");
    }
    let too_many = [(1, 0.5, good); 4];
    let result = observe_batch(&mut agent, &too_many);
    assert_eq!(
        result,
        Err(Error::HorizonExceeded {
            horizon: 4,
            intervals: "paper"
        })
    );
    assert_eq!(agent.save().unwrap(), before);
    observe_batch(&mut agent, &too_many[..3]).expect("just enough");
    let full = agent.save().unwrap();
    assert!(matches!(
        agent.observe(1, 0.5, good),
        Err(Error::HorizonExceeded { .. })
    ));
    assert_eq!(agent.save().unwrap(), full);
}

#[test]
fn sub_gaussian_signals_may_leave_their_range_but_must_be_finite() {
    let mut declared = problem(2, vec![at_most(0.5, Some(0.1))]);
    declared.guardrails[0].sub_gaussian = Some(1.0);
    let mut agent = Opb::new(&declared, &OpbConfig::default()).expect("valid");
    agent.observe(1, 0.5, &[-7.5]).expect("far, but possible");
    assert!(agent.observe(1, 0.5, &[f64::NEG_INFINITY]).is_err());
    assert!(agent.monitor().alarms().is_empty());
    agent.observe(1, 1.5, &[0.0]).expect("an observation");
    let alarm = agent.monitor().alarms()[0];
    assert!(alarm.kind.is_warning(), "the reward is bounded");
}

#[test]
fn an_unknown_safe_cost_is_learnt_before_anything_else_is_played() {
    let mut agent =
        Opb::new(&problem(3, vec![at_most(0.3, None)]), &OpbConfig::default()).expect("valid");
    let mut random = Random::new(6);
    let mut waited = 0;
    loop {
        let upper = agent.interval(0, 1).expect("the safe cost").upper;
        let decision = agent.decide().clone();
        assert_eq!(decision.fallback.is_some(), upper >= 0.3);
        assert!(decision.guardrails[0].slack >= 0.0);
        if decision.fallback.is_none() {
            break;
        }
        assert_eq!(decision.fallback, Some(Fallback::MarginNotProven));
        assert_eq!(decision.policy, [(0, 1.0)]);
        agent
            .observe(0, 0.2, &[random.bernoulli(0.1)])
            .expect("valid");
        waited += 1;
        assert!(waited < 2000, "the margin of 0.2 should have been found");
    }
    assert!(waited > 0);
}

#[test]
fn a_draw_follows_the_policy() {
    let mut random = Random::new(7);
    let declared = problem(4, vec![at_most(0.3, Some(0.1)); 2]);
    let mut agent = Opb::new(&declared, &alert_only()).expect("valid");
    feed(&mut agent, &outcomes(&mut random, 4, 2, 900));
    let decision = agent.decide();
    assert!(decision.policy.len() > 1);
    let draws = 20_000;
    let mut counts = [0.0; 4];
    for _ in 0..draws {
        counts[decision.draw(random.unit())] += 1.0;
    }
    for arm in 0..4 {
        let p = decision.probability(arm);
        let deviation = (p * (1.0 - p) / f64::from(draws)).sqrt();
        let share = counts[arm] / f64::from(draws);
        assert!(
            (share - p).abs() <= 4.0 * deviation,
            "arm {arm}: {share} and {p}"
        );
    }
    assert_eq!(decision.draw(0.0), decision.policy[0].0);
}

#[test]
fn sums_stay_finite_whatever_a_sub_gaussian_signal_brings() {
    let mut declared = problem(2, vec![at_most(0.5, Some(0.1))]);
    declared.reward.sub_gaussian = Some(1.0);
    let mut agent = Opb::new(&declared, &OpbConfig::default()).expect("valid");
    for x in [1e101, -1e101, f64::MAX, f64::MIN, f64::INFINITY] {
        let message = agent
            .observe(0, x, &[0.1])
            .expect_err("refused")
            .to_string();
        assert!(message.contains("`reward`"), "{message}");
    }
    for _ in 0..100 {
        agent.observe(0, 9e99, &[0.1]).expect("far out, but finite");
    }
    let saved = agent.save().unwrap();
    assert_eq!(Opb::restore(&saved).expect("intact").save().unwrap(), saved);
}

#[test]
fn the_t_zero_rule_ends_with_its_horizon() {
    let config = OpbConfig {
        unknown_safe_cost: banister::UnknownSafeCost::Paper,
        horizon: Some(3),
        ..OpbConfig::default()
    };
    let mut agent = Opb::new(&problem(2, vec![at_most(0.5, None)]), &config).expect("valid");
    for _ in 0..3 {
        agent.observe(0, 0.5, &[0.1]).expect("within the horizon");
    }
    let message = agent
        .observe(0, 0.5, &[0.1])
        .expect_err("used up")
        .to_string();
    assert!(message.contains("horizon of 3 outcomes"), "{message}");
}
