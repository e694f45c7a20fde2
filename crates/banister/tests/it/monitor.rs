//! The monitor: alarms as rare as promised where the world keeps its promise, soon where it does not.

use crate::common;
use crate::common::verbs::Verbs;

use crate::common::player::Inspect as _;
use crate::common::player::Oplb;
use banister::interval::kl;
use banister::monitor::{Alarm, AlarmKind};
use banister::{
    Agent, AgentConfig, AlarmAnswer, Claim, Fallback, Guardrail, OnBreach, Opb, OpbConfig,
    OplbConfig, Optimism, Origin, Outcome, Pending, Problem, Registry as _, Round, Segmented,
    SignalConfig,
};
use common::{Random, at_most};

fn problem(arms: usize, threshold: f64, safe_cost: Option<f64>) -> Problem {
    common::problem(arms, vec![at_most(threshold, safe_cost)])
}

fn config(on_breach: OnBreach) -> OpbConfig {
    OpbConfig {
        on_breach: Some(on_breach),
        ..Default::default()
    }
}

fn breached(agent: &Opb) -> bool {
    let alarms = agent.monitor().alarms();
    alarms.iter().any(|a| a.kind == AlarmKind::Breach)
}

/// γ_t of the detectors.
fn gamma(t: f64) -> f64 {
    6.9 / ((t + 1000.0) * (t + 1000.0).ln().powi(2))
}

/// Outcomes until a warning and until the breach alarm, at most `most`, of an arm whose cost is `before` for `jump`
/// outcomes and `after` from then on.
fn until_alarm(
    rng: &mut Random,
    tau: f64,
    alarm_delta: f64,
    (jump, before, after): (u64, f64, f64),
    most: u64,
) -> (Option<u64>, Option<u64>) {
    let config = OpbConfig {
        alarm_delta,
        ..config(OnBreach::Safe)
    };
    let mut agent = Opb::new(&problem(1, tau, None), &config).unwrap();
    agent.decide();
    let mut warning = None;
    let alarm = (0..most).find(|&t| {
        let mean = if t < jump { before } else { after };
        agent.observe(0, 0.0, &[rng.bernoulli(mean)]).unwrap();
        if warning.is_none() && !agent.monitor().alarms().is_empty() {
            warning = Some(t);
            let forced = agent.decide().fallback == Some(Fallback::Alarm);
            assert_eq!(forced, breached(&agent), "a warning does not act");
        }
        breached(&agent)
    });
    (warning, alarm)
}

/// By n outcomes P(a false alarm) ≤ δ_b Σ_{t ≤ n} γ_t, and the sum is 1 − 6.9/ln(n + 1000) for all n: at most δ_b ever.
#[test]
fn false_alarms_are_as_rare_as_promised_over_a_whole_life() {
    let mut rng = Random::new(1);
    let (alarm_delta, runs) = (0.9, 1000);
    let sum: f64 = (1..10_000_000).map(|t| gamma(f64::from(t))).sum();
    assert!(
        sum + 6.9 / 1e7_f64.ln() <= 1.0,
        "all starts together: {sum}"
    );
    for (n, tau) in [(300, 0.2), (3000, 0.2), (3000, 0.05)] {
        let mut count = |mean: f64| {
            let law = (0, mean, mean);
            let alarms =
                (0..runs).filter(|_| until_alarm(&mut rng, tau, alarm_delta, law, n).1.is_some());
            alarms.count() as f64 / f64::from(runs)
        };
        let sum: f64 = (1..=n).map(|t| gamma(t as f64)).sum();
        let (promised, seen) = (alarm_delta * sum, count(tau));
        let error = (promised * (1.0 - promised) / f64::from(runs)).sqrt();
        println!("n {n} τ {tau}: {seen} of runs, promised {promised:.4}");
        assert!(seen <= promised + 3.0 * error, "{seen} against {promised}");
        // At this level they do show, and a cost above the threshold shows more often than allowed.
        assert!(seen > 0.1 * promised, "{seen} against {promised}");
        let control = count(1.5 * tau);
        assert!(control > promised + 3.0 * error, "{control}");
    }
}

#[test]
fn a_jump_raises_the_alarm_as_soon_as_the_formula_says() {
    let mut rng = Random::new(2);
    let alarm_delta = 0.001;
    let median = |mut delays: Vec<u64>| {
        delays.sort_unstable();
        delays[delays.len() / 2] as f64
    };
    for (jump, gaps) in [(2000, &[0.02, 0.05, 0.1][..]), (100_000, &[0.1])] {
        for (tau, gap) in [0.1, 0.2]
            .iter()
            .flat_map(|&tau| gaps.iter().map(move |&gap| (tau, gap)))
        {
            let law = (jump, tau, tau + gap);
            let alarms = (0..41).map(|_| until_alarm(&mut rng, tau, alarm_delta, law, 300_000));
            let delays = |(warning, alarm): (Option<u64>, Option<u64>)| {
                let warning = (warning.unwrap() + 1).saturating_sub(jump);
                (warning, alarm.unwrap() + 1 - jump)
            };
            let (warnings, alarms): (Vec<u64>, Vec<u64>) = alarms.map(delays).unzip();
            // Before the jump policies cost just what is allowed: some warn without cause.
            let early = warnings.iter().filter(|&&delay| delay == 0).count();
            assert!(early <= 5, "3% of 41 warn too early at most: {early}");
            let (warning, alarm) = (median(warnings), median(alarms));
            let information = kl(tau + gap, tau);
            let formula = (information / (gamma(jump as f64) * alarm_delta)).ln() / information;
            println!(
                "jump at {jump}, τ {tau} gap {gap}: {warning} and {alarm} outcomes, formula {formula:.0}"
            );
            assert!(alarm <= 1.2 * formula, "{alarm} against {formula}");
            assert!(warning < alarm, "{warning} against {alarm}");
        }
    }
}

/// Plays rounds with outcomes at once; means of costs by arm. Policies that break the threshold are
/// counted, from the first round and from the first alarm on.
fn play(
    agent: &mut dyn Agent,
    rng: &mut Random,
    threshold: f64,
    rounds: u64,
    costs: impl Fn(u64, usize) -> f64,
) -> (u64, u64, Option<u64>) {
    let (mut violations, mut after, mut alarm) = (0, 0, None);
    for t in 0..rounds {
        let decision = agent.decide(&Round::default()).unwrap();
        let cost: f64 = decision.policy.iter().map(|&(a, p)| p * costs(t, a)).sum();
        let acts = |alarm: &Alarm| !alarm.kind.is_warning();
        if decision.alarm.as_ref().is_some_and(acts) && alarm.is_none() {
            alarm = Some(t);
        }
        let violates = cost > threshold + 1e-12;
        violations += u64::from(violates);
        after += u64::from(violates && alarm.is_some());
        let arm = decision.draw(rng.unit());
        let (reward, cost) = (rng.bernoulli(0.1 + 0.4 * arm as f64), costs(t, arm));
        let cost = rng.bernoulli(cost);
        agent
            .observe(&Outcome::of_arm(arm, reward, &[cost]))
            .unwrap();
    }
    (violations, after, alarm)
}

/// Bold's complaints go from 0.10 to 0.20 at threshold 0.12, and nobody noticed.
#[test]
fn drift_ends_in_the_safe_action_or_in_a_new_start() {
    let drifts = |t: u64, arm: usize| match arm {
        0 => 0.02,
        _ if t < 50_000 => 0.10,
        _ => 0.20,
    };
    let declared = problem(2, 0.12, Some(0.02));
    for on_breach in [OnBreach::Safe, OnBreach::Relearn, OnBreach::Alert] {
        let mut rng = Random::new(3);
        let mut agent = Opb::new(&declared, &config(on_breach)).unwrap();
        let (violations, after, alarm) = play(&mut agent, &mut rng, 0.12, 100_000, drifts);
        let alarm = alarm.expect("an alarm");
        assert!((50_000..52_000).contains(&alarm), "{on_breach:?}: {alarm}");
        match on_breach {
            OnBreach::Alert => assert!(after > 10_000, "{after}"),
            _ => assert!(after == 0 && violations < 2_000, "{violations}, {after}"),
        }
        let decision = agent.decide().clone();
        let monitor = agent.monitor();
        match on_breach {
            OnBreach::Safe => assert_eq!(decision.fallback, Some(Fallback::Alarm)),
            OnBreach::Relearn => {
                assert_eq!(monitor.epoch(), 0, "one arm was forgotten, not all");
                assert_eq!(decision.fallback, None);
                assert!(decision.probability(1) > 0.3, "{decision:?}");
            }
            OnBreach::Alert => assert_eq!(decision.fallback, None),
        }
        // Never a point, and never without the mean.
        let estimate = agent.estimate(&Round::default(), 1).unwrap().costs[0];
        let mean = estimate.mean.unwrap();
        assert!(
            estimate.lower < mean && mean < estimate.upper,
            "{estimate:?}"
        );
    }
}

/// Plays Bernoulli arms (mean reward, mean cost) that change at a round; returns the arm's probability in every policy.
fn probabilities(
    agent: &mut Opb,
    rng: &mut Random,
    rounds: u64,
    arm: usize,
    means: impl Fn(u64, usize) -> (f64, f64),
) -> Vec<f64> {
    let mut played = Vec::new();
    for t in 0..rounds {
        let decision = agent.decide();
        played.push(decision.probability(arm));
        let drawn = decision.draw(rng.unit());
        let (reward, cost) = means(t, drawn);
        let (reward, cost) = (rng.bernoulli(reward), rng.bernoulli(cost));
        agent.observe(drawn, reward, &[cost]).unwrap();
    }
    played
}

/// Bold earns 0.9, then 0.4, while the safe arm earns 0.5: its rewards are forgotten, and its costs are not.
#[test]
fn a_reward_that_falls_is_forgotten_and_the_policy_turns() {
    let (jump, rounds) = (50_000, 60_000);
    let means = |t: u64, arm: usize| match arm {
        0 => (0.5, 0.05),
        _ if t < jump => (0.9, 0.1),
        _ => (0.4, 0.1),
    };
    let mut delays = Vec::new();
    for seed in 0..21 {
        let mut rng = Random::new(seed);
        let mut agent = Opb::new(&problem(2, 0.2, Some(0.05)), &OpbConfig::default()).unwrap();
        let played = probabilities(&mut agent, &mut rng, rounds, 1, means);
        assert!(played[jump as usize - 1] > 0.99, "bold is best before");
        let turned = played[jump as usize..].iter().position(|&p| p < 0.5);
        delays.push(turned.unwrap_or(usize::MAX));
        let alarms = agent.monitor().alarms();
        let changed =
            |a: &&Alarm| (a.kind, a.arm, a.guardrail) == (AlarmKind::Changed, Some(1), None);
        assert!(
            alarms.iter().any(|a| changed(&a)),
            "seed {seed}: {alarms:?}"
        );
        assert_eq!(agent.monitor().epoch(), 0);
        let cost = agent.interval(1, 1).unwrap();
        assert!(cost.upper < 0.12, "its costs are still known: {cost:?}");
    }
    delays.sort_unstable();
    println!("turned after {delays:?}");
    assert!(delays[10] <= 2000, "{delays:?}");
}

/// A better arm that is added to an agent that has learned for long is found as fast as from the start.
#[test]
fn a_better_arm_that_is_added_is_found_as_fast_as_cold() {
    let means = |_: u64, arm: usize| [(0.3, 0.05), (0.5, 0.1), (0.8, 0.12)][arm];
    let median = |is_added: bool| {
        let mut found: Vec<usize> = (0..31)
            .map(|seed| {
                let mut rng = Random::new(seed);
                let declared = problem(if is_added { 2 } else { 3 }, 0.15, Some(0.05));
                let mut agent = Opb::new(&declared, &OpbConfig::default()).unwrap();
                if is_added {
                    probabilities(&mut agent, &mut rng, 20_000, 1, means);
                    agent.add_arm("better").unwrap();
                }
                let played = probabilities(&mut agent, &mut rng, 5000, 2, means);
                played.iter().position(|&p| p > 0.5).unwrap_or(usize::MAX)
            })
            .collect();
        found.sort_unstable();
        found[15]
    };
    let (cold, added) = (median(false), median(true));
    println!("played for most decisions after {cold} from the start, {added} if it is added");
    assert!(2 * added <= 3 * cold, "{added} against {cold}");
}

/// One arm becomes dear. Learning again forgets its costs, and what was learned of the other arms stays.
#[test]
fn learning_again_forgets_the_arm_that_changed_alone() {
    let jump = 50_000;
    let means = |t: u64, arm: usize| match arm {
        0 => (0.1, 0.02),
        1 => (0.5, 0.1),
        _ if t < jump => (0.6, 0.12),
        _ => (0.6, 0.5),
    };
    for seed in 0..5 {
        let mut rng = Random::new(seed);
        let declared = problem(3, 0.15, Some(0.02));
        let mut agent = Opb::new(&declared, &config(OnBreach::Relearn)).unwrap();
        let played = probabilities(&mut agent, &mut rng, 60_000, 1, means);
        let monitor = agent.monitor();
        assert_eq!(monitor.epoch(), 0, "nothing else was forgotten");
        let refuted = |a: &&Alarm| a.kind == AlarmKind::Refuted && a.arm == Some(2);
        assert!(
            monitor.alarms().iter().any(|a| refuted(&a)),
            "{:?}",
            monitor.alarms()
        );
        assert!(agent.interval(1, 1).unwrap().upper < 0.15);
        let late = &played[55_000..];
        let share = late.iter().sum::<f64>() / late.len() as f64;
        assert!(
            share > 0.8,
            "seed {seed}: the other good arm is played {share}"
        );
    }
}

/// Somebody knows that an arm has changed. Outcomes of its decisions from before are watched in their turn, and not
/// learned; later ones are.
#[test]
fn an_arm_that_is_told_to_have_changed_is_learned_anew() {
    let mut rng = Random::new(7);
    let config = OpbConfig {
        alarm_delta: 0.5,
        ..config(OnBreach::Alert)
    };
    let mut agent = Opb::new(&problem(2, 0.2, Some(0.05)), &config).unwrap();
    // What was certified of the arm.
    let claims = [Claim {
        slope: 1.0,
        bound: 0.3,
    }];
    let late = |decision: u64, cost: f64| Outcome {
        origin: Origin::Announced(decision),
        claims: Some(&claims),
        ..Outcome::of_arm(1, 0.5, if cost == 1.0 { &[1.0] } else { &[0.0] })
    };
    let announce = |agent: &mut Opb, decision: u64| {
        let pending = Pending {
            decision,
            action: 1,
            segment: None,
            safe_probability: Some(0.5),
            time: None,
            excess: &[],
        };
        agent.announce(&pending).unwrap();
    };
    for decision in 1..=700 {
        announce(&mut agent, decision);
    }
    for decision in 1..=500 {
        let cost = rng.bernoulli(0.1);
        Verbs::observe(&mut agent, &late(decision, cost)).unwrap();
    }
    let known = agent.interval(1, 1).unwrap().upper;
    assert!(known < 0.3, "{known}");
    agent.forget_arm(1).unwrap();
    assert_eq!(agent.interval(1, 1).unwrap().upper, 1.0);
    assert!(agent.forget_arm(2).is_err());
    for decision in 501..=700 {
        Verbs::observe(&mut agent, &late(decision, 1.0)).unwrap();
    }
    assert_eq!(agent.interval(1, 1).unwrap().upper, 1.0, "not learned");
    assert_eq!(agent.pulls()[1], 500);
    assert!(breached(&agent), "watched");
    let saved = agent.save().unwrap();
    let mut twin = AgentConfig::restore(&saved).unwrap().agent;
    for decision in 701..=800 {
        announce(&mut agent, decision);
        Verbs::observe(&mut agent, &late(decision, 0.0)).unwrap();
    }
    let mut other = late(700, 0.0);
    other.origin = Origin::Announced(699);
    twin.observe(&other).unwrap();
    assert_eq!(twin.view().outcomes, 701);
    assert!(agent.interval(1, 1).unwrap().upper < 0.2, "learned");
}

/// Where nothing changes, no change is seen in more runs than the budgets allow: 3δ_o for those that inform, δ + δ_b for
/// those that act.
#[test]
fn changes_are_seen_where_there_are_none_no_more_often_than_promised() {
    let (runs, mut informed, mut acted) = (300, 0, 0);
    for seed in 0..runs {
        let mut rng = Random::new(1000 + seed);
        let mut agent = Opb::new(&problem(3, 0.2, Some(0.1)), &config(OnBreach::Alert)).unwrap();
        let still = |_: u64, arm: usize| [(0.2, 0.1), (0.8, 0.3), (0.5, 0.2)][arm];
        probabilities(&mut agent, &mut rng, 3000, 1, still);
        let any = |kind: AlarmKind| agent.monitor().alarms().iter().any(|a| a.kind == kind);
        informed += u64::from(any(AlarmKind::Changed));
        acted += u64::from(any(AlarmKind::Refuted));
    }
    println!("{informed} informed, {acted} acted in {runs} runs");
    assert!(informed <= 90 + 24 && acted <= 3 + 6, "{informed}, {acted}");
}

#[test]
fn a_world_that_keeps_still_raises_no_alarm() {
    let declared = problem(3, 0.2, Some(0.1));
    let mut rng = Random::new(4);
    for _ in 0..10 {
        let mut agent = Opb::new(&declared, &OpbConfig::default()).unwrap();
        let still = |_: u64, arm: usize| [0.1, 0.3, 0.2][arm];
        let (violations, _, alarm) = play(&mut agent, &mut rng, 0.2, 20_000, still);
        assert_eq!((violations, alarm), (0, None));
    }
}

/// Mixing arms whose means differ by six times the noise constant: the cost of a decision varies more than the
/// noise, which is no breach. Where an arm costs more than its policies claimed, it is.
#[test]
fn sub_gaussian_costs_of_a_mixture_raise_an_alarm_only_for_a_breach() {
    let guardrail = Guardrail {
        signal: SignalConfig {
            sub_gaussian: Some(0.1),
            ..SignalConfig::default()
        },
        ..at_most(0.3, Some(0.0))
    };
    let declared = common::problem(2, vec![guardrail]);
    for seed in 0..10 {
        let mut rng = Random::new(seed);
        let mut agent = Opb::new(&declared, &config(OnBreach::Alert)).unwrap();
        let mut round = |cost: f64| {
            let arm = agent.decide().draw(rng.unit());
            agent
                .observe(arm, arm as f64, &[cost * arm as f64])
                .unwrap();
            breached(&agent)
        };
        assert!(!(0..5000).any(|_| round(0.6)), "seed {seed}");
        let alarm = (0..5000).position(|_| round(0.8));
        assert!(
            alarm.is_some_and(|outcomes| outcomes < 300),
            "seed {seed}: {alarm:?}"
        );
    }
}

/// The medians of docs/guarantees.md.
#[test]
fn a_wrong_declaration_is_noticed_soon() {
    for (truth, limit) in [(0.30, 30), (0.10, 250), (0.05, 1600)] {
        let mut delays: Vec<u64> = (0..101)
            .map(|seed| {
                let mut rng = Random::new(seed);
                let declared = problem(2, 0.4, Some(0.02));
                let mut agent = Opb::new(&declared, &OpbConfig::default()).unwrap();
                while agent.monitor().alarms().is_empty() {
                    agent.observe(0, 0.5, &[rng.bernoulli(truth)]).unwrap();
                }
                agent.monitor().alarms()[0].outcomes
            })
            .collect();
        delays.sort_unstable();
        println!("true {truth}: {} outcomes", delays[50]);
        assert!(delays[50] <= limit, "true {truth}: {delays:?}");
    }
}

#[test]
fn a_wrong_declaration_is_noticed() {
    let mut rng = Random::new(5);
    // (declared, true, whether the safe action is forced)
    for (declared, truth, forced) in [(0.02, 0.30, true), (0.10, 0.02, false)] {
        let mut agent = Opb::new(&problem(2, 0.4, Some(declared)), &OpbConfig::default()).unwrap();
        let mut seen = None;
        for n in 1..=2000 {
            let cost = rng.bernoulli(truth);
            agent.observe(0, 0.5, &[cost]).unwrap();
            if let (None, Some(&alarm)) = (seen, agent.monitor().alarms().first()) {
                assert_eq!(alarm.kind, AlarmKind::SafeCost);
                assert!((alarm.mean - truth).abs() < 0.2, "{alarm:?}");
                seen = Some(n);
            }
        }
        let limit = if forced { 60 } else { 1000 };
        assert!(seen.is_some_and(|n| n <= limit), "{seen:?}");
        let fallback = agent.decide().fallback;
        assert_eq!(fallback, forced.then_some(Fallback::Alarm));
        agent.acknowledge();
        assert_eq!(agent.decide().alarm, None);
        assert_eq!(agent.decide().fallback, None);
    }
}

#[test]
fn a_true_declaration_is_refuted_no_more_often_than_alarm_delta() {
    let mut rng = Random::new(6);
    let alarm_delta = 0.2;
    let mut count = |truth: f64| {
        let refuted = (0..400).filter(|_| {
            let config = OpbConfig {
                alarm_delta,
                ..config(OnBreach::Alert)
            };
            let mut agent = Opb::new(&problem(1, 0.9, Some(0.3)), &config).unwrap();
            (0..500).any(|_| {
                let cost = rng.bernoulli(truth);
                agent.observe(0, 0.5, &[cost]).unwrap();
                !agent.monitor().alarms().is_empty()
            })
        });
        refuted.count() as f64 / 400.0
    };
    let (seen, control) = (count(0.3), count(0.4));
    assert!(seen <= alarm_delta, "{seen}");
    assert!(control > 0.8, "{control}");
}

/// A breach shows through late outcomes too, also where some are lost: they carry what was claimed of them.
#[test]
fn late_outcomes_are_watched() {
    let mut rng = Random::new(8);
    for (late, lost) in [(50, 0.0), (50, 0.1), (3000, 0.0)] {
        let mut agent = Opb::new(&problem(1, 0.2, None), &config(OnBreach::Alert)).unwrap();
        let mut waiting = std::collections::VecDeque::new();
        let alarm = (1..100_000_u64).find(|&t| {
            agent.announced(t, 0, Some(1.0));
            if rng.unit() >= lost {
                waiting.push_back((t, rng.bernoulli(0.4)));
            }
            if waiting.len() > late {
                let (number, cost) = waiting.pop_front().unwrap();
                agent.observe_late(number, 0, 0.0, &[cost]);
            }
            breached(&agent)
        });
        assert!(alarm.is_some(), "{late} {lost}");
    }
}

/// Outcomes of decisions made before an alarm are taken, counted, and not believed.
#[test]
fn a_new_epoch_does_not_learn_from_old_decisions() {
    let mut agent = Opb::new(&problem(2, 0.2, Some(0.1)), &config(OnBreach::Relearn)).unwrap();
    // Costs of the safe arm are known, so that learning it anew would mend nothing.
    let take = |agent: &mut Opb, number: u64, cost: f64| {
        agent.observe_late(number, 0, 1.0, &[cost]);
    };
    for number in 1..=200 {
        agent.announced(number, 0, Some(0.5));
    }
    let alarm = (1..200).find(|&number| {
        take(&mut agent, number, 1.0);
        agent.monitor().epoch() == 1
    });
    let alarm = alarm.expect("an alarm");
    assert_eq!(agent.decide().outcomes, 0);
    take(&mut agent, 200, 1.0);
    assert_eq!((agent.outcomes(), agent.decide().outcomes), (alarm + 1, 0));
    agent.announced(201, 0, Some(0.5));
    take(&mut agent, 201, 0.0);
    assert_eq!(agent.decide().outcomes, 1);
    let mut restored = Opb::restore(&agent.save().unwrap()).unwrap();
    assert_eq!(restored.save().unwrap(), agent.save().unwrap());
}

/// Relative guardrails are watched by the safe action's own outcomes.
#[test]
fn a_relative_guardrail_is_watched_with_a_floor() {
    for (guardrail, drop) in [
        (
            Guardrail {
                name: "conversion".into(),
                at_least: Some(0.9),
                relative: true,
                ..Default::default()
            },
            0.3,
        ),
        (
            Guardrail {
                name: "latency".into(),
                at_most: Some(1.2),
                relative: true,
                ..Default::default()
            },
            0.9,
        ),
    ] {
        let declared = Problem {
            arms: vec!["control".into(), "bold".into()],
            guardrails: vec![guardrail],
            ..Default::default()
        };
        let config = OpbConfig {
            floor: 0.2,
            ..config(OnBreach::Safe)
        };
        let mut rng = Random::new(9);
        let mut agent = Opb::new(&declared, &config).unwrap();
        let mut alarm = None;
        for t in 0..60_000 {
            let decision = agent.decide();
            assert!(decision.probability(0) >= 0.2 - 1e-12);
            assert!(decision.guardrails[0].slack >= 0.0);
            let acts = |alarm: &Alarm| !alarm.kind.is_warning();
            if decision.alarm.as_ref().is_some_and(acts) && alarm.is_none() {
                alarm = Some(t);
            }
            let arm = decision.draw(rng.unit());
            let mean = match (arm, t < 20_000) {
                (1, false) => drop,
                _ => 0.6,
            };
            let (reward, cost) = (rng.bernoulli(0.2 + 0.5 * arm as f64), rng.bernoulli(mean));
            agent.observe(arm, reward, &[cost]).unwrap();
        }
        let alarm = alarm.expect("an alarm");
        assert!((20_000..26_000).contains(&alarm), "{alarm}");
        assert_eq!(agent.decide().fallback, Some(Fallback::Alarm));
    }
}

/// With the floor, the policy is the best one that plays the safe action that often.
#[test]
fn a_floor_keeps_the_lemma() {
    let mut rng = Random::new(10);
    let (rewards, costs) = ([0.1, 0.9, 0.4, 0.6], [0.1, 0.6, 0.3, 0.2]);
    let (tau, floor) = (0.25, 0.3);
    for safe_cost in [Some(0.1), None] {
        let config = OpbConfig {
            floor,
            optimism: Optimism::Least,
            ..Default::default()
        };
        let mut agent = Opb::new(&problem(4, tau, safe_cost), &config).unwrap();
        let mut best = f64::NEG_INFINITY;
        let mix = |own: f64, other: f64| floor * own + (1.0 - floor) * other;
        for a in 0..4 {
            for b in 0..4 {
                for step in 0..=1000 {
                    let q = f64::from(step) / 1000.0;
                    let of = |x: &[f64; 4]| mix(x[0], q * x[a] + (1.0 - q) * x[b]);
                    if of(&costs) <= tau {
                        best = best.max(of(&rewards));
                    }
                }
            }
        }
        for t in 0..20_000 {
            let decision = agent.decide();
            let total: f64 = decision.policy.iter().map(|e| e.1).sum();
            assert!((total - 1.0).abs() < 1e-12 && decision.probability(0) >= floor - 1e-12);
            assert!(decision.guardrails[0].slack >= 0.0, "{t}: {decision:?}");
            if decision.fallback.is_none() {
                assert!(
                    decision.optimistic_reward >= best - 1e-9,
                    "{t}: {decision:?}"
                );
            }
            let cost: f64 = decision.policy.iter().map(|&(a, p)| p * costs[a]).sum();
            assert!(cost <= tau);
            let arm = decision.draw(rng.unit());
            let (reward, cost) = (rng.bernoulli(rewards[arm]), rng.bernoulli(costs[arm]));
            agent.observe(arm, reward, &[cost]).unwrap();
        }
        // It ends near that policy.
        let decision = agent.decide();
        let reward: f64 = decision.policy.iter().map(|&(a, p)| p * rewards[a]).sum();
        assert!(reward > best - 0.08, "{reward} against {best}");
    }
}

#[test]
fn linear_agents_are_watched_too() {
    let arms = |truth: [f64; 2], on_breach: OnBreach, declared: f64| {
        let mut rng = Random::new(11);
        let config = OplbConfig {
            on_breach: Some(on_breach),
            ..Default::default()
        };
        let mut agent = Oplb::new(&problem(2, 0.3, Some(declared)), &config).unwrap();
        let costs = move |t: u64, arm: usize| match (arm, t < 5000) {
            (0, _) => truth[0],
            (_, true) => 0.2,
            _ => truth[1],
        };
        let seen = play(&mut agent.agent, &mut rng, 0.3, 20_000, costs);
        (seen, agent.monitor().clone(), agent.decide().clone())
    };
    let ((_, after, alarm), monitor, decision) = arms([0.1, 0.6], OnBreach::Safe, 0.1);
    assert!(alarm.is_some() && after == 0);
    assert_eq!(monitor.alarms()[0].kind, AlarmKind::Breach);
    assert_eq!(decision.fallback, Some(Fallback::Alarm));
    let ((_, after, alarm), monitor, _) = arms([0.1, 0.6], OnBreach::Relearn, 0.1);
    assert!(alarm.is_some() && after == 0 && monitor.epoch() >= 1);
    let (_, monitor, _) = arms([0.1, 0.2], OnBreach::Safe, 0.02);
    assert_eq!(monitor.alarms()[0].kind, AlarmKind::SafeCost);
}

/// One run in ten has an upper end that is too low for a while, at δ = 0.1: it heals, and nothing is refuted.
#[test]
fn a_failed_certificate_heals_and_raises_no_alarm() {
    let (runs, rounds) = (600_u64, 30_000_u64);
    let (rewards, costs, threshold) = ([0.4, 0.9], [0.3, 0.7], 0.45);
    let config = OpbConfig {
        delta: 0.1,
        ..OpbConfig::default()
    };
    let (mut violations, mut violating, mut alarms, mut reward) = (0, 0, 0, 0.0);
    for run in 0..runs {
        let mut agent = Opb::new(&problem(2, threshold, Some(costs[0])), &config).unwrap();
        let mut random = Random::new(run);
        let mut own = 0;
        for _ in 0..rounds {
            let decision = agent.decide();
            let bold = decision.probability(1);
            own += u64::from(costs[0] + bold * (costs[1] - costs[0]) > threshold + 1e-12);
            reward += rewards[0] + bold * (rewards[1] - rewards[0]);
            let arm = decision.draw(random.unit());
            let (reward, cost) = (random.bernoulli(rewards[arm]), random.bernoulli(costs[arm]));
            agent.observe(arm, reward, &[cost]).unwrap();
        }
        violations += own;
        violating += u64::from(own > 0);
        let kinds = agent.monitor().alarms().iter().map(|a| a.kind);
        alarms += kinds.filter(|&kind| kind == AlarmKind::Refuted).count();
    }
    let played = (runs * rounds) as f64;
    let share = violations as f64 / played;
    let regret = (0.5875 - reward / played) * rounds as f64;
    println!(
        "{violating} runs violate, {share:.5} of rounds, {alarms} refuted, regret {regret:.1}"
    );
    // With ends that were intersected over all time it was 2%, and nine runs were refuted.
    assert!(share <= 0.0025, "{share}");
    assert_eq!(alarms, 0);
    // The certificates do fail now and then, so there was something to heal.
    assert!(violating > 0);
}

/// Tests that start again after every acknowledgement share one level: a true declaration of the safe cost, and outcomes
/// that are missing at random, are refuted in no more of the runs than that.
#[test]
fn a_thousand_acknowledgements_have_one_level() {
    let runs = 200;
    let (mut costs, mut missing) = (0, 0);
    for seed in 0..runs {
        let mut rng = Random::new(seed);
        let declared = OpbConfig {
            alarm_delta: 0.05,
            ..config(OnBreach::Alert)
        };
        let mut agent = Opb::new(&problem(2, 0.4, Some(0.1)), &declared).unwrap();
        let mut segmented =
            Segmented::new(&problem(2, 0.4, Some(0.1)), &Default::default()).unwrap();
        let (mut is_refuted, mut is_missing) = (false, false);
        let has = |agent: &dyn Agent, kind: AlarmKind| {
            let alarms = agent.view().monitor.unwrap().alarms();
            alarms.iter().any(|own| own.kind == kind)
        };
        for start in 0..1000 {
            for t in 1..=20 {
                agent.observe(0, 0.5, &[rng.bernoulli(0.1)]).unwrap();
                let action = rng.below(2);
                let pending = Pending {
                    decision: start * 20 + t,
                    action,
                    segment: Some(rng.choose(&["a", "b"])),
                    safe_probability: Some(0.5),
                    time: None,
                    excess: &[],
                };
                segmented.announce(&pending).unwrap();
                if rng.unit() < 0.5 {
                    segmented.give_up(&pending).unwrap();
                } else {
                    let outcome = Outcome {
                        segment: pending.segment,
                        origin: Origin::Announced(pending.decision),
                        ..Outcome::of_arm(action, 0.5, &[0.0])
                    };
                    Verbs::observe(&mut segmented, &outcome).unwrap();
                }
            }
            is_refuted |= has(&agent, AlarmKind::SafeCost);
            is_missing |= has(&segmented, AlarmKind::Missing);
            for agent in [&mut agent as &mut dyn Agent, &mut segmented] {
                agent.answer_alarms(AlarmAnswer::Acknowledge).unwrap();
            }
        }
        costs += u32::from(is_refuted);
        missing += u32::from(is_missing);
    }
    println!("{costs} and {missing} of {runs}");
    // Three standard errors above the levels: 0.05, and 0.002.
    assert!(costs <= 19, "{costs} of {runs} declarations are refuted");
    assert!(missing <= 2, "{missing} of {runs} runs miss too much");
}
