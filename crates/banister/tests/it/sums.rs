//! Guardrails over sums of decisions: the sum of a stretch, what it earns, and what it refuses.

use crate::common::verbs::Verbs;
use std::collections::VecDeque;

use banister::{
    Agent, Guardrail, Opb, OpbConfig, Origin, Outcome, Pending, Problem, Round, SignalConfig,
};

use crate::common::{Random, read};

/// Arms whose costs are 0 or the most that each can cost; the safe one is the first.
struct World {
    /// Mean reward and cost, and the most that an arm can cost.
    arms: Vec<(f64, f64, f64)>,
    tau: f64,
    over: u64,
    /// True if everything costs the most that it can, whatever was declared.
    is_hostile: bool,
}

impl World {
    fn problem(&self, over: Option<u64>, safe_cost: bool) -> Problem {
        let ranges: Vec<[f64; 2]> = self.arms.iter().map(|arm| [0.0, arm.2]).collect();
        let range = serde_json::from_value(serde_json::json!(ranges)).unwrap();
        Problem {
            arms: (0..self.arms.len()).map(|a| format!("arm {a}")).collect(),
            guardrails: vec![Guardrail {
                name: "dollars".into(),
                at_most: Some(self.tau),
                safe_cost: safe_cost.then_some(self.arms[0].1),
                over,
                signal: SignalConfig {
                    range: Some(range),
                    ..SignalConfig::default()
                },
                ..Guardrail::default()
            }],
            ..Problem::default()
        }
    }

    fn outcome(&self, arm: usize, random: &mut Random) -> (f64, f64) {
        let (reward, mut cost, most) = self.arms[arm];
        if self.is_hostile {
            cost = most;
        }
        (
            random.bernoulli(reward),
            most * random.bernoulli(cost / most),
        )
    }

    /// Plays stretches, with outcomes that come up to `latest` decisions late and in any order. Returns the sums of costs
    /// by stretch, and of rewards.
    fn play(
        &self,
        agent: &mut dyn Agent,
        stretches: u64,
        latest: usize,
        random: &mut Random,
    ) -> (Vec<f64>, f64) {
        let (mut sums, mut rewards) = (Vec::new(), 0.0);
        let mut late: VecDeque<(u64, usize, f64, f64)> = VecDeque::new();
        for t in 0..stretches * self.over {
            if t % self.over == 0 {
                sums.push(0.0);
            }
            let arm = agent.decide(&Round::default()).unwrap().draw(random.unit());
            let (reward, cost) = self.outcome(arm, random);
            *sums.last_mut().unwrap() += cost;
            rewards += reward;
            if latest == 0 {
                agent
                    .observe(&Outcome::of_arm(arm, reward, &[cost]))
                    .unwrap();
                continue;
            }
            let (decision, safe_probability) = (t + 1, Some(0.5));
            let pending = Pending {
                decision,
                action: arm,
                segment: None,
                safe_probability,
                time: None,
                excess: &[],
            };
            agent.announce(&pending).unwrap();
            late.push_back((decision, arm, reward, cost));
            while late.len() > random.below(latest) {
                let (decision, arm, reward, cost) = late.remove(random.below(late.len())).unwrap();
                let origin = Origin::Announced(decision);
                let costs = [cost];
                let outcome = Outcome {
                    origin,
                    ..Outcome::of_arm(arm, reward, &costs)
                };
                agent.observe(&outcome).unwrap();
            }
        }
        (sums, rewards)
    }
}

fn opb(problem: &Problem, delta: f64) -> Opb {
    let config = OpbConfig {
        delta,
        ..OpbConfig::default()
    };
    Opb::new(problem, &config).unwrap()
}

fn world(random: &mut Random) -> World {
    let most = random.between(0.05, 0.3);
    let mut arms = vec![(0.3, random.between(0.2, 0.8) * most, most)];
    for _ in 0..1 + random.below(3) {
        let most = random.between(0.1, 1.0);
        arms.push((random.unit(), random.unit() * most, most));
    }
    let highest = arms.iter().fold(0.0_f64, |most, arm| most.max(arm.2));
    let tau = random.between(1.0, 1.5) * arms[0].2;
    let over = 1 + random.below(120) as u64;
    World {
        arms,
        tau: tau.min(0.99 * highest),
        over,
        is_hostile: random.unit() < 0.3,
    }
}

#[test]
fn where_the_safe_actions_worst_case_fits_no_sum_is_ever_beyond() {
    let mut random = Random::new(1);
    let (mut others, mut beyond) = (0, 0);
    for _ in 0..300 {
        let world = world(&mut random);
        if world.tau < world.arms[0].2 {
            continue;
        }
        let budget = world.over as f64 * world.tau;
        let (latest, is_known) = (random.choose(&[0, 3, 20]), random.unit() < 0.5);
        let mut agent = opb(&world.problem(Some(world.over), is_known), 0.05);
        let (sums, _) = world.play(&mut agent, 3, latest, &mut random);
        assert!(
            sums.iter().all(|&sum| sum <= budget),
            "{sums:?} beyond {budget}"
        );
        others += agent.pulls()[1..].iter().sum::<u64>();
        // Negative control: the same promise to every decision, which sums are not held by.
        let mut agent = opb(&world.problem(None, true), 0.05);
        let (sums, _) = world.play(&mut agent, 3, latest, &mut random);
        beyond += sums.iter().filter(|&&sum| sum > budget).count();
    }
    assert!(others > 5000, "other arms are played: {others}");
    assert!(beyond > 20, "without the guard sums are beyond: {beyond}");
}

#[test]
fn where_it_does_not_fit_a_stretch_is_beyond_with_probability_delta_at_most() {
    let world = World {
        arms: vec![(0.2, 0.05, 1.0), (0.9, 0.3, 1.0)],
        tau: 0.16,
        over: 200,
        is_hostile: false,
    };
    let (mut random, delta, runs) = (Random::new(2), 0.2, 400);
    let budget = world.tau * world.over as f64;
    let count = |over: Option<u64>, random: &mut Random| {
        let (mut beyond, mut earned) = (0, 0.0);
        for _ in 0..runs {
            let mut agent = opb(&world.problem(over, true), delta);
            let (sums, rewards) = world.play(&mut agent, 1, 0, random);
            beyond += usize::from(sums[0] > budget);
            earned += rewards;
        }
        (beyond, earned / f64::from(runs))
    };
    let (beyond, earned) = count(Some(world.over), &mut random);
    // δ, and three standard deviations of its estimate; Bernstein's inequality leaves much of it.
    assert!(
        (beyond as f64) < f64::from(runs) * (delta + 3.0 * 0.02),
        "{beyond}"
    );
    // What every policy has to prove is dear: the sum earns more, by far.
    let (_, by_each) = count(None, &mut random);
    assert!(earned > by_each + 10.0, "{earned} against {by_each}");
}

#[test]
fn a_saved_agent_goes_on_bit_by_bit() {
    let world = World {
        arms: vec![(0.3, 0.1, 0.2), (0.8, 0.4, 1.0), (0.9, 0.7, 1.0)],
        tau: 0.25,
        over: 50,
        is_hostile: false,
    };
    let (problem, mut random) = (world.problem(Some(world.over), true), Random::new(3));
    let mut agent = opb(&problem, 0.05);
    for t in 0..300_u64 {
        let arm = agent.decide().draw(random.unit());
        let (reward, cost) = world.outcome(arm, &mut random);
        if t % 3 == 0 {
            let pending = Pending {
                decision: t + 1,
                action: arm,
                segment: None,
                safe_probability: Some(0.5),
                time: None,
                excess: &[],
            };
            agent.announce(&pending).unwrap();
        } else {
            agent.observe(arm, reward, &[cost]).unwrap();
        }
        if t % 7 == 0 {
            let saved = agent.save().unwrap();
            let mut restored = Opb::restore(&saved).unwrap();
            assert_eq!(restored.decide(), agent.decide(), "after {t}");
            assert_eq!(restored.save().unwrap(), agent.save().unwrap());
        }
    }
}

#[test]
fn decisions_that_wait_are_counted_at_their_worst() {
    // Ten decisions have 5, the safe action takes 1 of that at most: four others fit, at 1 each, while nothing is known.
    let world = World {
        arms: vec![(0.1, 0.1, 0.1), (0.9, 0.2, 1.0)],
        tau: 0.5,
        over: 10,
        is_hostile: false,
    };
    let mut agent = opb(&world.problem(Some(10), true), 0.05);
    for _ in 0..500 {
        for (arm, reward, cost) in [(0, 0.0, 0.1), (1, 1.0, 0.2)] {
            let costs = [cost];
            let outcome = Outcome {
                origin: Origin::Logged,
                ..Outcome::of_arm(arm, reward, &costs)
            };
            Verbs::observe(&mut agent, &outcome).unwrap();
        }
    }
    let mut others = 0;
    for decision in 1..=10 {
        let arm = agent.decide().draw(0.999_999);
        others += arm;
        let pending = Pending {
            decision,
            action: arm,
            segment: None,
            safe_probability: Some(0.0),
            time: None,
            excess: &[],
        };
        agent.announce(&pending).unwrap();
    }
    assert_eq!(others, 4);
    // The next stretch begins with all of its own.
    assert_eq!(agent.decide().probability(1), 1.0);
}

#[test]
fn a_promise_is_in_words_and_what_cannot_be_one_is_refused() {
    let dollars = r#"name = "dollars", at_most = 0.5"#;
    let guardrail: Guardrail = read(&format!("{dollars}, over = 3609"));
    let words = guardrail.in_words().unwrap();
    assert!(
        words.contains("over every 3609 decisions together") && words.contains("at most 0.5"),
        "{words}"
    );
    for (keys, why) in [
        (
            "over = 0",
            "`guardrails[0].over` is 0: must be a number of decisions",
        ),
        ("over = 9, relative = true", "`relative`"),
        ("over = 9, sub_gaussian = 1.0", "`sub_gaussian`"),
        ("over = 9, scope = \"each\"", "`scope`"),
    ] {
        let keys = keys.replace(
            "over = 9, relative = true",
            "over = 9, relative = true, safe_cost = 0.1",
        );
        let guardrails = vec![read(&format!("{dollars}, {keys}"))];
        let arms = vec!["a".into(), "b".into()];
        let refused = Opb::new(
            &Problem {
                arms,
                guardrails,
                ..Problem::default()
            },
            &OpbConfig::default(),
        );
        let message = refused
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(message.contains(why), "{keys}: {message}");
    }
    let problem = Problem {
        arms: vec!["a".into()],
        guardrails: vec![guardrail],
        ..Problem::default()
    };
    let refused = banister::Segmented::new(&problem, &banister::SegmentedConfig::default());
    assert!(
        refused
            .err()
            .unwrap()
            .to_string()
            .contains("use `opb` for guardrails over sums")
    );
    let least = OpbConfig {
        optimism: banister::Optimism::Least,
        ..OpbConfig::default()
    };
    assert!(
        Opb::new(&problem, &least)
            .err()
            .unwrap()
            .to_string()
            .contains("`index`")
    );
}
