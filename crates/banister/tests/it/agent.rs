//! An agent's life on arms, beyond the laws of every agent: arms that come and go, margins to learn, and what is
//! refused.

use crate::common;
use crate::common::verbs::Verbs as _;

use crate::common::player::Inspect as _;
use banister::{Agent as _, Error, Fallback, OnBreach, Opb, OpbConfig};
use common::{Random, at_most, observe_batch, problem, refused};

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
fn sub_gaussian_signals_may_leave_their_range_but_must_be_finite() {
    let mut declared = problem(2, vec![at_most(0.5, Some(0.1))]);
    declared.guardrails[0].signal.sub_gaussian = Some(1.0);
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

/// Refusals change nothing (a law of all agents); here are the words.
#[test]
fn refusals_say_what_is_wrong() {
    let declared = problem(3, vec![at_most(0.5, Some(0.1)), at_most(0.6, None)]);
    let new = |config: &OpbConfig| Opb::new(&declared, config).expect("valid");
    let paper = OpbConfig {
        unknown_safe_cost: banister::UnknownSafeCost::Paper,
        horizon: Some(3),
        ..OpbConfig::default()
    };
    let (mut agent, mut ending) = (new(&OpbConfig::default()), new(&paper));
    let good: &[f64] = &[0.1, 0.2];
    let nan = f64::NAN;
    let bad: [(usize, f64, &[f64], &str); 8] = [
        (3, 0.5, good, "no arm 3"),
        (0, nan, good, "`reward` is NaN"),
        (0, f64::INFINITY, good, "`reward` is inf"),
        (0, -1e101, good, "`reward` is -1"),
        (0, 0.5, &[0.1, nan], "`cost 1` is NaN"),
        (0, 0.5, &[1e101, 0.1], "`cost 0` is 1"),
        (0, 0.5, &[0.1], "has 1 costs, expected 2"),
        (0, 0.5, &[0.1, 0.1, 0.1], "(cost 0, cost 1)"),
    ];
    for (arm, reward, costs, words) in bad {
        refused(agent.observe(arm, reward, costs), &[words], words);
    }
    refused(agent.add_arm("arm 1"), &["of its own"], "twice");
    refused(agent.add_arm(" "), &["needs a name"], "no name");
    refused(agent.retire_arm(0), &["arm 0", "safe"], "the safe arm");
    let unknown = Err(Error::NoSuchArm { arm: 9, last: 2 });
    assert_eq!(agent.retire_arm(9), unknown);
    for number in 3..40 {
        assert_eq!(agent.add_arm(&format!("another {number}")), Ok(number));
    }
    assert_eq!(agent.view().arm_named("another 5"), Ok(5));
    let words = ["sixth", "another 5"];
    refused(agent.view().arm_named("sixth"), &words, "a name");
    // A horizon ends: a batch beyond it is refused as a whole, and just enough is taken.
    let four = [(1, 0.5, good); 4];
    let result = observe_batch(&mut ending, &four);
    refused(result, &["horizon of 3 outcomes"], "four of three");
    observe_batch(&mut ending, &four[..3]).expect("just enough");
    let result = ending.observe(1, 0.5, good);
    refused(result, &["horizon of 3 outcomes"], "used up");
    // The paper's radii are made for a number of arms.
    let paper = OpbConfig::paper(100);
    refused(new(&paper).add_arm("fourth"), &["`paper`"], "an arm");
}
