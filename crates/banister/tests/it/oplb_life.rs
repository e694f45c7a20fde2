//! OPLB from day to day: late outcomes, safe costs to be learnt, budgets that run out.

use crate::common;

use banister::solve::Status;
use banister::{Decision, Fallback, Oplb, OplbConfig, Problem};
use common::linear::{World, dot, length};
use common::{Random, observe_batch};

/// Outcomes may come late, in any order and in batches: only what arrived counts.
#[test]
fn late_outcomes_in_any_order_give_the_same_estimates() {
    let random = &mut Random::new(6);
    let world = World::new(random, 5, 2);
    // Levels are computed now and then, and so depend on the order by as much as they may lag.
    let mut prompt = Oplb::new(&world.problem(0.6, true), &common::linear::logdet()).unwrap();
    let mut late = prompt.clone();
    let mut waiting = Vec::new();
    for _ in 0..100 {
        let set = world.actions(random, 4);
        prompt.offer(&set.concat()).unwrap();
        let action = prompt.decide().draw(random.unit());
        let x = prompt.features(action).unwrap().to_vec();
        let (r, c) = world.pull(random, &x);
        prompt.observe(action, r, &c).unwrap();
        waiting.push((x, r, c));
    }
    let before = late.decide().clone();
    assert_eq!(
        before,
        late.decide().clone(),
        "a pending outcome changes nothing"
    );
    while !waiting.is_empty() {
        let (x, r, c) = waiting.swap_remove(random.below(waiting.len()));
        late.observe_at(&x, r, &c).unwrap();
    }
    let set = world.actions(random, 4).concat();
    prompt.offer(&set).unwrap();
    late.offer(&set).unwrap();
    for signal in 0..3 {
        for action in 0..5 {
            let (a, b) = (
                prompt.interval(action, signal).unwrap(),
                late.interval(action, signal).unwrap(),
            );
            assert!((a.lower - b.lower).abs() < 1e-10 && (a.upper - b.upper).abs() < 1e-10);
        }
    }
    // A batch is refused as a whole.
    let outcomes = late.outcomes();
    let bad = [(0, 1.0, &[0.0, 1.0][..]), (1, f64::NAN, &[0.0, 0.0][..])];
    assert!(observe_batch(&mut late, &bad).is_err());
    assert_eq!(late.outcomes(), outcomes);
    let good = [(0, 1.0, &[0.0, 1.0][..]), (4, 0.0, &[0.0, 0.0][..])];
    observe_batch(&mut late, &good).unwrap();
    assert_eq!(late.outcomes(), outcomes + 2);
}

/// While an unknown safe cost leaves no proven margin, nothing but the safe action is played; then
/// the scalar interval frees the agent although the ellipsoid alone would not.
#[test]
fn an_unknown_safe_cost_is_learnt_by_playing_safe() {
    let random = &mut Random::new(7);
    let world = World::new(random, 12, 1);
    for rule in ["interval", "paper"] {
        let config: OplbConfig = serde_json::from_str(&format!(
            r#"{{"unknown_safe_cost": "{rule}", "horizon": 20000, "parameter_norm": 1}}"#
        ))
        .unwrap();
        let mut agent = Oplb::new(&world.problem(0.5, false), &config).unwrap();
        let mut freed = None;
        for round in 0..2000 {
            agent.offer(&world.actions(random, 5).concat()).unwrap();
            let decision = agent.decide().clone();
            match decision.fallback {
                Some(Fallback::MarginNotProven) => {
                    assert_eq!(decision.policy, [(agent.safe(), 1.0)]);
                    assert!(freed.is_none(), "a proven margin is kept");
                }
                Some(other) => panic!("{other:?}"),
                None => freed = freed.or(Some(round)),
            }
            let action = decision.draw(random.unit());
            let x = agent.features(action).unwrap().to_vec();
            let (r, c) = world.pull(random, &x);
            agent.observe(action, r, &c).unwrap();
        }
        let freed = freed.expect("the margin is proven in the end");
        assert!(freed > 10 && freed < 1500, "{rule}: freed in round {freed}");
    }
}

/// Exact OPLB with hardly any work allowed still gives a feasible policy and an honest gap.
#[test]
fn a_budget_that_runs_out_leaves_a_safe_policy_and_an_honest_gap() {
    let random = &mut Random::new(12);
    let world = World::new(random, 8, 1);
    let full = common::linear::exact();
    let mut ran_out = 0;
    for max_work in [1, 100, 3000, 20_000] {
        let tiny = OplbConfig {
            max_work,
            ..full.clone()
        };
        let mut agent = Oplb::new(&world.problem(0.5, true), &tiny).unwrap();
        let mut judge = Oplb::new(&world.problem(0.5, true), &full).unwrap();
        for _ in 0..40 {
            let set = world.actions(random, 20).concat();
            agent.offer(&set).unwrap();
            judge.offer(&set).unwrap();
            let decision = agent.decide().clone();
            let best = judge.decide();
            assert!(decision.guardrails[0].slack >= 0.0);
            assert!(decision.solver.upper_bound >= best.solver.value - 1e-9);
            assert!(decision.solver.value <= best.solver.upper_bound + 1e-9);
            ran_out += u32::from(decision.solver.status == Status::Budget);
            let mut clock = || true;
            let stopped = agent.decide_until(Some(&mut clock)).clone();
            assert!(stopped.guardrails[0].slack >= 0.0);
            assert!(stopped.solver.upper_bound >= best.solver.value - 1e-9);
            let action = decision.draw(random.unit());
            let x = agent.features(action).unwrap().to_vec();
            let (r, c) = world.pull(random, &x);
            agent.observe(action, r, &c).unwrap();
            judge.observe_at(&x, r, &c).unwrap();
        }
    }
    assert!(ran_out > 40, "only {ran_out} budgets ran out");
}

/// The actions' lengths are as declared, or shortened if so configured.
#[test]
fn long_features_are_refused_or_shortened() {
    let problem = Problem::contextual(vec![0.5, 0.0], vec![]);
    let config = |words: &str| -> OplbConfig {
        serde_json::from_str(&format!(r#"{{"norm": 1.0, "parameter_norm": 1{words}}}"#)).unwrap()
    };
    let mut strict = Oplb::new(&problem, &config("")).unwrap();
    let error = strict.offer(&[0.6, 0.8, 3.0, 4.0]).unwrap_err().to_string();
    assert!(
        error.contains("actions[1]") && error.contains("length 5") && error.contains("norm"),
        "{error}"
    );
    assert_eq!(
        strict.offered(),
        1,
        "nothing changes when an offer is refused"
    );
    let mut clip = Oplb::new(&problem, &config(r#", "long_features": "clip""#)).unwrap();
    clip.offer(&[0.6, 0.8, 3.0, 4.0]).unwrap();
    let x = clip.features(1).unwrap();
    assert!((length(x) - 1.0).abs() < 1e-12 && (x[1] / x[0] - 4.0 / 3.0).abs() < 1e-12);
    // The safe action is never shortened.
    let long = Problem::contextual(vec![2.0, 0.0], vec![]);
    assert!(Oplb::new(&long, &config("")).is_err());
    assert!(Oplb::new(&long, &config(r#", "long_features": "clip""#)).is_err());
}

/// A decision but for the number of outcomes.
fn solution(decision: &Decision) -> Decision {
    Decision {
        outcomes: 0,
        ..decision.clone()
    }
}

/// Fixed actions: a policy stays while little is learned, keeps its guardrail, and is solved for again when outcomes
/// have grown by half a per cent, when an outcome says much, or when the actions are offered anew.
#[test]
fn a_policy_stays_while_little_is_learned() {
    for config in [common::linear::oplb(), common::linear::exact()] {
        let random = &mut Random::new(15);
        let world = World::new(random, 4, 1);
        let set = world.actions(random, 8);
        let mut agent = Oplb::new(&world.problem(0.5, true), &config).unwrap();
        agent.offer(&set.concat()).unwrap();
        let mut solved = Vec::new();
        let mut last = None;
        for round in 0..4000_u64 {
            let decision = agent.decide().clone();
            assert_eq!(decision.outcomes, round);
            let key = solution(&decision);
            if last.as_ref() != Some(&key) {
                solved.push(round);
                last = Some(key);
            }
            let cost = (decision.policy.iter())
                .map(|&(a, p)| p * dot(&world.mu[0], agent.features(a).unwrap()))
                .sum::<f64>();
            assert!(cost <= 0.5);
            let action = decision.draw(random.unit());
            let x = agent.features(action).unwrap().to_vec();
            let (reward, costs) = world.pull(random, &x);
            agent.observe(action, reward, &costs).unwrap();
        }
        // Each of the first 200, then about ln(20)/0.005 times.
        let late = solved.iter().filter(|&&round| round >= 1000).count();
        assert!(
            solved.len() > 200 && solved.len() < 1200,
            "{}",
            solved.len()
        );
        assert!(late > 100 && late < 500, "{late}");
        // An outcome in a direction that is hardly known says much.
        let before = solution(agent.decide());
        let mut other = agent.clone();
        other
            .observe_at(&[0.0, 0.0, 0.0, 30.0], 0.5, &[0.5])
            .unwrap();
        assert_ne!(before, solution(other.decide()));
        // The same set again is a new one.
        let mut anew = agent.clone();
        for _ in 0..2 {
            agent.observe(agent.safe(), 1.0, &[0.0]).unwrap();
            anew.observe(anew.safe(), 1.0, &[0.0]).unwrap();
        }
        anew.offer(&set.concat()).unwrap();
        assert_eq!(before, solution(agent.decide()));
        assert_ne!(before, solution(anew.decide()));
    }
}
