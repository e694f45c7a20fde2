//! Ranges by arm, and caps.

use crate::common::verbs::Verbs as _;
use std::collections::BTreeMap;

use crate::common::player::Inspect as _;
use banister::monitor::AlarmKind;
use banister::{
    Agent, ArmRanges, Fallback, Guardrail, Intervals, OnBreach, Opb, OpbConfig, OplbConfig,
    Optimism, Outcome, Problem, Range, Round, SegmentedConfig, SignalConfig, UnknownSafeCost,
};

use crate::common::{Random, at_most, brute_force_lp, problem};

/// A problem whose three signals have ranges by arm: the reward, an `at_most` and an `at_least` one.
fn by_arm(random: &mut Random, k: usize, safe_costs: bool) -> (Problem, [Vec<[f64; 2]>; 3]) {
    let mut ranges = |lo: f64, hi: f64| -> Vec<[f64; 2]> {
        let one = |_| {
            let middle = random.between(lo, hi);
            [random.between(lo, middle), random.between(middle, hi) + 0.1]
        };
        (0..k).map(one).collect()
    };
    let all = [ranges(-2.0, 3.0), ranges(0.0, 20.0), ranges(-1.0, 1.0)];
    let mut declared = problem(
        k,
        vec![
            Guardrail {
                at_most: Some(0.5 * (all[1][0][0] + hull(&all[1])[1])),
                safe_cost: safe_costs.then_some(all[1][0][0] + 0.01),
                ..at_most(0.0, None)
            },
            Guardrail {
                at_most: None,
                at_least: Some(0.5 * (all[2][0][1] + hull(&all[2])[0])),
                safe_cost: safe_costs.then_some(all[2][0][1] - 0.01),
                ..at_most(0.0, None)
            },
        ],
    );
    declared.reward.range = Some(Range::ByArm(all[0].clone()));
    let named = std::iter::zip(declared.arms.clone(), all[1].clone()).collect();
    declared.guardrails[0].signal.range = Some(Range::ByName(named));
    declared.guardrails[1].signal.range = Some(Range::ByArm(all[2].clone()));
    (declared, all)
}

/// The interval of a signal in the user's units, given the range that its standard units are of.
fn in_units(agent: &Opb, arm: usize, signal: usize, [lo, hi]: [f64; 2]) -> (f64, f64) {
    let ends = agent.interval(arm, signal).expect("a signal of an arm");
    let unit = |y: f64| match signal {
        2 => hi - (hi - lo) * y,
        _ => lo + (hi - lo) * y,
    };
    let (a, b) = (unit(ends.lower), unit(ends.upper));
    (a.min(b), a.max(b))
}

fn hull(ranges: &[[f64; 2]]) -> [f64; 2] {
    let lo = ranges.iter().map(|r| r[0]).fold(f64::INFINITY, f64::min);
    let hi = ranges
        .iter()
        .map(|r| r[1])
        .fold(f64::NEG_INFINITY, f64::max);
    [lo, hi]
}

#[test]
fn own_ranges_are_own_units_and_the_program_sees_common_ones() {
    let mut random = Random::new(91);
    let kinds = [None, Some(Intervals::Kl), Some(Intervals::Subgaussian)];
    let mut free = 0;
    for case in 0..60 {
        let k = 2 + random.below(4);
        let safe_costs = case % 2 == 0;
        let (declared, ranges) = by_arm(&mut random, k, safe_costs);
        let config = OpbConfig {
            intervals: kinds[case % 3],
            optimism: Optimism::Least,
            on_breach: Some(OnBreach::Alert),
            ..OpbConfig::default()
        };
        let mut agent = Opb::new(&declared, &config).expect("valid");
        // The same problem rescaled by hand: all signals in [0, 1].
        let mut plain = problem(k, vec![at_most(0.9, None), at_most(0.9, None)]);
        plain.guardrails[1].at_most = None;
        plain.guardrails[1].at_least = Some(0.1);
        if safe_costs {
            plain.guardrails[0].safe_cost = Some(0.5);
            plain.guardrails[1].safe_cost = Some(0.5);
        }
        let mut twin = Opb::new(&plain, &config).expect("valid");
        let means: Vec<[f64; 3]> = (0..k)
            .map(|_| {
                [
                    random.unit(),
                    0.3 * random.unit(),
                    0.6 + 0.4 * random.unit(),
                ]
            })
            .collect();
        for _ in 0..random.below(1500) {
            let arm = random.below(k);
            let y = means[arm].map(|p| random.bernoulli(p));
            let x = [0, 1, 2].map(|s| {
                let [lo, hi] = ranges[s][arm];
                if y[s] == 1.0 { hi } else { lo }
            });
            twin.observe(arm, y[0], &y[1..]).expect("valid");
            agent.observe(arm, x[0], &x[1..]).expect("valid");
        }
        let mut bounds = vec![vec![(0.0, 0.0); k]; 3];
        for s in 0..3 {
            let common = hull(&ranges[s]);
            for a in 0..k {
                let mapped = in_units(&twin, a, s, ranges[s][a]);
                let own = in_units(&agent, a, s, common);
                let tolerance = 1e-12 * (1.0 + common[0].abs() + common[1].abs());
                assert!((own.0 - mapped.0).abs() < tolerance, "{own:?} {mapped:?}");
                assert!((own.1 - mapped.1).abs() < tolerance, "{own:?} {mapped:?}");
                bounds[s][a] = mapped;
            }
        }
        if let (Some(c), Some(q)) = (
            declared.guardrails[0].safe_cost,
            declared.guardrails[1].safe_cost,
        ) {
            (bounds[1][0], bounds[2][0]) = ((c, c), (q, q));
        }
        // Everything in the user's units: costs are x ≤ τ and −q ≤ −τ.
        let thresholds = [
            declared.guardrails[0].at_most.expect("given"),
            -declared.guardrails[1].at_least.expect("given"),
        ];
        let upper: Vec<Vec<f64>> = vec![
            bounds[1].iter().map(|b| b.1).collect(),
            bounds[2].iter().map(|b| -b.0).collect(),
        ];
        let lower: Vec<Vec<f64>> = vec![
            bounds[1].iter().map(|b| b.0).collect(),
            bounds[2].iter().map(|b| -b.1).collect(),
        ];
        let margins = [thresholds[0] - upper[0][0], thresholds[1] - upper[1][0]];
        let decision = agent.decide();
        if margins.iter().any(|&margin| margin <= 0.0) {
            assert_eq!(decision.fallback, Some(Fallback::MarginNotProven));
            continue;
        }
        assert_eq!(decision.fallback, None);
        free += 1;
        let reward: Vec<f64> = bounds[0].iter().map(|b| b.1).collect();
        let best = brute_force_lp(&reward, &lower, &thresholds).expect("feasible");
        let expected =
            |of: &[f64]| -> f64 { decision.policy.iter().map(|&(a, p)| p * of[a]).sum() };
        let spread: Vec<f64> = (0..k)
            .map(|a| {
                let wide = |i: usize| (upper[i][a] - lower[i][a]) / margins[i];
                wide(0).max(wide(1))
            })
            .collect();
        // The κ at which the policy is worth R̄.
        let kappa = if expected(&spread) > 1e-12 {
            ((best.0 - expected(&reward)) / expected(&spread)).max(0.0)
        } else {
            0.0
        };
        let v: Vec<f64> = (0..k).map(|a| reward[a] + kappa * spread[a]).collect();
        let (value, _) = brute_force_lp(&v, &upper, &thresholds).expect("feasible");
        assert!((best.0 - value).abs() < 1e-8 * (1.0 + value.abs()));
        assert!((decision.optimistic_reward - value).abs() < 1e-8 * (1.0 + value.abs()));
        assert!((expected(&v) - value).abs() < 1e-8 * (1.0 + value.abs()));
        let costs = [
            decision.guardrails[0].pessimistic_cost,
            -decision.guardrails[1].pessimistic_cost,
        ];
        for i in 0..2 {
            assert!((costs[i] - expected(&upper[i])).abs() < 1e-9 * (1.0 + costs[i].abs()));
            assert!(costs[i] <= thresholds[i] + 1e-9);
        }
    }
    assert!(free > 20, "only {free} decisions were free");
}

/// Dollars per call of a cheap and a dear model; the cheap one is safe.
fn calls(range: Range, safe_cost: Option<f64>) -> Problem {
    Problem {
        arms: vec!["cheap".into(), "dear".into()],
        guardrails: vec![Guardrail {
            name: "dollars".into(),
            at_most: Some(0.5),
            safe_cost,
            signal: SignalConfig {
                range: Some(range),
                ..SignalConfig::default()
            },
            ..Guardrail::default()
        }],
        ..Problem::default()
    }
}

fn named(ranges: &[(&str, [f64; 2])]) -> BTreeMap<String, [f64; 2]> {
    let owned = ranges
        .iter()
        .map(|&(name, range)| (name.to_string(), range));
    owned.collect()
}

fn cheap_and_dear() -> Range {
    Range::ByName(named(&[("cheap", [0.0, 0.1]), ("dear", [0.0, 2.0])]))
}

#[test]
fn own_ranges_certify_earlier_than_their_hull() {
    let first_free = |range: Range| {
        let mut agent = Opb::new(&calls(range, None), &OpbConfig::default()).expect("valid");
        let mut random = Random::new(7);
        let mut outcomes = 0;
        while agent.decide().fallback.is_some() {
            let cost = 0.1 * random.bernoulli(0.3);
            agent.observe(0, 0.5, &[cost]).expect("valid");
            outcomes += 1;
        }
        outcomes
    };
    // No call of the cheap model costs more than 0.1: its own range proves the margin at once.
    assert_eq!(first_free(cheap_and_dear()), 0);
    let hull = first_free([0.0, 2.0].into());
    assert!(hull > 20, "{hull}");
}

/// A cost beyond its range refutes the declaration: it counts as the range's end and raises an alarm.
#[test]
fn a_cost_beyond_its_own_arms_range_counts_as_its_end_and_raises_an_alarm() {
    for on_breach in [OnBreach::Safe, OnBreach::Relearn, OnBreach::Alert] {
        let config = OpbConfig {
            on_breach: Some(on_breach),
            ..OpbConfig::default()
        };
        let declared = calls(cheap_and_dear(), Some(0.05));
        let mut agent = Opb::new(&declared, &config).expect("valid");
        let mut twin = Opb::new(&declared, &config).expect("valid");
        assert_eq!(
            agent.check_outcome(&Outcome::of_arm(1, 0.5, &[2.5])),
            Ok(())
        );
        agent.observe(1, 0.5, &[2.5]).expect("an observation");
        twin.observe(1, 0.5, &[2.0]).expect("valid");
        assert_eq!(agent.arm_estimates(), twin.arm_estimates());
        let alarms = agent.monitor().alarms().to_vec();
        let [alarm] = alarms[..] else {
            panic!("{alarms:?}")
        };
        assert_eq!(
            (alarm.kind, alarm.guardrail, alarm.arm, alarm.mean),
            (AlarmKind::Range, Some(0), Some(1), 2.5)
        );
        // Learning again does not mend a declaration.
        let forced = on_breach != OnBreach::Alert;
        assert_eq!(
            (alarm.forces_safe, alarm.kind.is_warning()),
            (forced, false)
        );
        assert_eq!(agent.decide().fallback, forced.then_some(Fallback::Alarm));
        assert_eq!(
            alarm.describe(agent.problem(), Some("dear"), None),
            "dollars of dear was 2.5, outside its declared range [0, 2], and counts as 2: declare a range that \
             holds every value ever possible, such as [0, 2.5], or a `cap`"
        );
        // One alarm says it, until a person has seen it.
        agent.observe(1, 0.5, &[3.0]).expect("an observation");
        assert_eq!(agent.monitor().alarms().len(), 1);
        let mut restored = Opb::restore(&agent.save().unwrap()).expect("intact");
        assert_eq!(restored.save().unwrap(), agent.save().unwrap());
        agent.acknowledge();
        agent
            .observe(0, 0.5, &[0.2])
            .expect("the cheap one's range is smaller");
        assert_eq!(agent.monitor().alarms()[0].arm, Some(0));
    }
}

#[test]
fn a_reward_beyond_its_range_is_a_warning_that_yields_to_alarms() {
    let declared = calls(cheap_and_dear(), Some(0.05));
    let mut agent = Opb::new(&declared, &OpbConfig::default()).expect("valid");
    let mut twin = Opb::new(&declared, &OpbConfig::default()).expect("valid");
    agent.observe(1, -0.5, &[0.2]).expect("an observation");
    twin.observe(1, 0.0, &[0.2]).expect("valid");
    assert_eq!(agent.arm_estimates(), twin.arm_estimates());
    let warning = agent.decide().alarm.expect("a warning");
    assert_eq!(
        (warning.kind, warning.guardrail),
        (AlarmKind::RewardRange, None)
    );
    assert!(warning.kind.is_warning() && !warning.forces_safe);
    assert_eq!(agent.decide().policy, twin.decide().policy);
    assert_eq!(
        warning.describe(agent.problem(), Some("dear"), None),
        "reward of dear was -0.5, outside its declared range [0, 1], and counts as 0: declare a range that holds \
         every value ever possible, such as [-0.5, 1]"
    );
    agent.observe(1, 0.5, &[-1.0]).expect("an observation");
    assert_eq!(agent.decide().alarm.map(|a| a.kind), Some(AlarmKind::Range));
    let before = agent.save().unwrap();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
        assert!(agent.observe(1, 0.5, &[bad]).is_err(), "{bad}");
        assert!(agent.observe(1, bad, &[0.5]).is_err(), "{bad}");
    }
    assert_eq!(agent.save().unwrap(), before);
}

/// Every kind of agent sees a cost that leaves its range, and stops spending.
#[test]
fn no_agent_goes_on_beside_a_cost_beyond_its_range() {
    let with = |features: Vec<Vec<f64>>| {
        let mut declared = problem(2, vec![at_most(0.5, Some(0.1))]);
        declared.features = features;
        declared
    };
    let plane = || with(vec![vec![1.0, 0.0], vec![0.0, 1.0]]);
    let oplb = OplbConfig {
        parameter_norm: Some(2.0),
        ..OplbConfig::default()
    };
    let agents: [Box<dyn Agent>; 3] = [
        Box::new(Opb::new(&with(Vec::new()), &OpbConfig::default()).expect("valid")),
        Box::new(banister::Oplb::new(&plane(), &oplb).expect("valid")),
        Box::new(
            banister::Segmented::new(&with(Vec::new()), &SegmentedConfig::default())
                .expect("valid"),
        ),
    ];
    for mut agent in agents {
        let outcome = Outcome {
            segment: Some("any"),
            ..Outcome::of_arm(1, 0.5, &[1.6])
        };
        agent.observe(&outcome).expect("an observation");
        let decision = agent.decide(&Round::in_segment("any")).expect("arms");
        let kind = decision.alarm.map(|alarm| (alarm.kind, alarm.arm));
        assert_eq!(kind, Some((AlarmKind::Range, Some(1))));
        assert_eq!(decision.fallback, Some(Fallback::Alarm));
    }
}

#[test]
fn ranges_are_read_as_pairs_lists_and_maps() {
    let read = |text: &str| serde_json::from_str::<Range>(text);
    assert_eq!(read("[0, 2.5]").unwrap(), Range::Shared([0.0, 2.5]));
    let list = Range::ByArm(vec![[0.0, 1.0], [-1.0, 2.0]]);
    assert_eq!(read("[[0, 1], [-1, 2]]").unwrap(), list);
    assert_eq!(
        read(r#"{"dear": [0, 2], "cheap": [0, 0.1]}"#).unwrap(),
        cheap_and_dear()
    );
    for range in [list, cheap_and_dear(), [0.0, 1.0].into()] {
        let text = serde_json::to_string(&range).unwrap();
        assert_eq!(read(&text).unwrap(), range);
    }
    for bad in [
        "[0]",
        "[0, 1, 2]",
        "[[0, 1], 2]",
        "[[0, 1, 2]]",
        "[]",
        r#"{"a": [0]}"#,
        r#"{"a": [0, 1], "a": [0, 2]}"#,
        "1",
        "true",
        r#""wide""#,
        r#"[["a", 1]]"#,
    ] {
        assert!(read(bad).is_err(), "{bad}");
    }
}

fn ranges(of: &[(&str, [f64; 2])]) -> ArmRanges {
    ArmRanges(named(of))
}

#[test]
fn added_arms_bring_their_ranges() {
    let mut declared = calls(cheap_and_dear(), Some(0.05));
    declared.reward.range = Some(Range::ByArm(vec![[0.0, 1.0], [0.0, 2.0]]));
    let mut agent = Opb::new(&declared, &OpbConfig::default()).expect("valid");
    let good = [("dollars", [0.0, 8.0]), ("reward", [0.0, 3.0])];
    for (bad, field) in [
        (ranges(&[]), "ranges.reward"),
        (ranges(&good[..1]), "ranges.reward"),
        (ranges(&good[1..]), "ranges.dollars"),
        (
            ranges(&[good[0], good[1], ("spend", [0.0, 1.0])]),
            "ranges.spend",
        ),
        (
            ranges(&[("dollars", [1.0, 1.0]), good[1]]),
            "ranges.dollars",
        ),
        // Costs are counted from 0.
        (
            ranges(&[("dollars", [-0.1, 1.0]), good[1]]),
            "ranges.dollars",
        ),
    ] {
        let before = agent.save().unwrap();
        let message = agent.added("new", &bad).expect_err("refused").to_string();
        assert!(message.starts_with(&format!("`{field}`")), "{message}");
        assert_eq!(agent.save().unwrap(), before);
    }
    assert_eq!(agent.added("wild", &ranges(&good)), Ok(2));
    let mut twin = agent.clone();
    let mut random = Random::new(3);
    for round in 0..600 {
        let arm = round % 3;
        let top = [0.1, 2.0, 8.0][arm];
        let cost = top * random.bernoulli(0.02);
        let reward = [0.5, 1.0, 3.0][arm] * random.bernoulli(0.5);
        for agent in [&mut agent, &mut twin] {
            agent.observe(arm, reward, &[cost]).expect("valid");
        }
        if round % 50 == 0 {
            // An arm dearer than all declared, in a snapshot and back.
            twin = Opb::restore(&twin.save().unwrap()).expect("intact");
        }
        assert_eq!(agent.decide(), twin.decide());
    }
    for (arm, cost) in [(2, 8.1), (1, 2.1)] {
        let mut beyond = twin.clone();
        beyond.observe(arm, 0.0, &[cost]).expect("an observation");
        let alarms = beyond.monitor().alarms().to_vec();
        assert_eq!(alarms.last().map(|alarm| alarm.arm), Some(Some(arm)));
    }
    let shown = twin.arm_estimates();
    assert!(shown[2].costs[0].upper > 0.0 && shown[2].costs[0].upper < 1.0);
    assert!(agent.decide().guardrails[0].slack >= 0.0);
    // A snapshot without the range of an arm that needs one is broken.
    let mut cut: serde_json::Value = serde_json::from_str(&twin.save().unwrap()).unwrap();
    cut["arms"][2].as_object_mut().unwrap().remove("ranges");
    let message = Opb::restore(&cut.to_string())
        .expect_err("broken")
        .to_string();
    assert!(message.contains("wild"), "{message}");

    let mut plain = Opb::new(&calls([0.0, 2.0].into(), None), &OpbConfig::default()).unwrap();
    let message = plain
        .added("wild", &ranges(&good[..1]))
        .expect_err("refused");
    assert!(message.to_string().contains("hold for all arms"));
    assert_eq!(plain.add_arm("wild"), Ok(2));
}

#[test]
fn a_declared_safe_cost_is_tested_in_the_safe_arms_own_units() {
    let noticed = |problem: &Problem, scale: f64| {
        let mut agent = Opb::new(problem, &OpbConfig::default()).expect("valid");
        let mut random = Random::new(17);
        for n in 1..5000 {
            let cost = scale * random.bernoulli(0.5);
            agent.observe(0, 0.5, &[cost]).expect("valid");
            let monitor = agent.monitor();
            if let [alarm, ..] = monitor.alarms() {
                assert_eq!(alarm.kind, AlarmKind::SafeCost);
                return (n, alarm.mean / scale);
            }
        }
        panic!("not noticed");
    };
    let own = noticed(&calls(cheap_and_dear(), Some(0.02)), 0.1);
    let mut plain = calls([0.0, 1.0].into(), Some(0.2));
    plain.guardrails[0].at_most = Some(0.9);
    let rescaled = noticed(&plain, 1.0);
    assert_eq!(own.0, rescaled.0);
    assert!((own.1 - rescaled.1).abs() < 1e-12);
    let hull = noticed(&calls([0.0, 2.0].into(), Some(0.02)), 0.1);
    assert!(hull.0 > own.0, "{hull:?} {own:?}");
}

#[test]
fn the_t_zero_rule_uses_the_safe_arms_own_range() {
    let (horizon, cost) = (10_000, 0.03);
    for (range, width) in [(cheap_and_dear(), 0.1), ([0.0, 2.0].into(), 2.0)] {
        let config = OpbConfig {
            horizon: Some(horizon),
            unknown_safe_cost: UnknownSafeCost::Paper,
            lazy: Some(0.0),
            ..OpbConfig::default()
        };
        let mut agent = Opb::new(&calls(range, None), &config).expect("valid");
        let mut n: u64 = 0;
        while agent.decide().fallback.is_some() {
            agent.observe(0, 0.5, &[cost]).expect("valid");
            n += 1;
        }
        // ĉ_0 + 3w ≤ τ, w = R √(2 ln(1/δ)/n), δ = 1/T², R half the width of the range.
        let w = |n: u64| 0.5 * width * (4.0 * (horizon as f64).ln() / n as f64).sqrt();
        assert!(cost + 3.0 * w(n) <= 0.5 + 1e-12, "{n}");
        assert!(n == 1 || cost + 3.0 * w(n - 1) > 0.5, "{n}");
    }
}

#[test]
fn what_lies_above_a_cap_counts_as_the_cap() {
    let capped = Guardrail {
        signal: SignalConfig {
            cap: Some(5.0),
            ..SignalConfig::default()
        },
        ..at_most(2.0, Some(0.5))
    };
    let bounded = Guardrail {
        signal: SignalConfig {
            range: Some([0.0, 5.0].into()),
            ..SignalConfig::default()
        },
        ..at_most(2.0, Some(0.5))
    };
    let mut declared = problem(3, vec![capped]);
    declared.reward = SignalConfig {
        range: Some([-1.0, 100.0].into()),
        cap: Some(10.0),
        ..SignalConfig::default()
    };
    let mut clipped = problem(3, vec![bounded]);
    clipped.reward.range = Some([-1.0, 10.0].into());
    let mut agent = Opb::new(&declared, &OpbConfig::default()).expect("valid");
    let mut twin = Opb::new(&clipped, &OpbConfig::default()).expect("valid");
    let mut random = Random::new(5);
    for round in 0..800 {
        assert_eq!(agent.decide(), twin.decide(), "round {round}");
        let arm = agent.decide().draw(random.unit());
        // Heavy tails.
        let heavy = |random: &mut Random| 0.3 / (1.0 - random.unit());
        let (reward, cost) = (heavy(&mut random) - 0.5, heavy(&mut random));
        agent.observe(arm, reward, &[cost]).expect("valid");
        let (reward, cost) = (reward.min(10.0), cost.min(5.0));
        twin.observe(arm, reward, &[cost]).expect("valid");
    }
    assert_eq!(agent.arm_estimates(), twin.arm_estimates());
    let kinds = |agent: &Opb| -> Vec<AlarmKind> {
        let alarms = agent.monitor().alarms();
        alarms.iter().map(|alarm| alarm.kind).collect()
    };
    assert_eq!(kinds(&agent), kinds(&twin), "a cap is no alarm");
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(agent.observe(1, 0.0, &[bad]).is_err(), "{bad}");
        assert!(agent.observe(1, bad, &[0.0]).is_err(), "{bad}");
    }
    let said = agent.assumptions();
    let words = "the mean of cost 0 capped at 5, not the mean itself, is kept at most 2";
    assert!(said.iter().any(|a| a.text == words), "{said:?}");
    assert!(agent.problem().guardrails[0].signal.capped);
    // In a snapshot and back.
    let mut restored = Opb::restore(&agent.save().unwrap()).expect("intact");
    assert_eq!(restored.save().unwrap(), agent.save().unwrap());

    let quality = Guardrail {
        at_most: None,
        at_least: Some(1.0),
        signal: SignalConfig {
            cap: Some(4.0),
            ..SignalConfig::default()
        },
        ..at_most(0.0, None)
    };
    let mut agent = Opb::new(&problem(2, vec![quality]), &OpbConfig::default()).expect("valid");
    let words = "the mean of cost 0 capped at 4 is kept at least 1; the mean itself is no lower";
    assert!(agent.assumptions().iter().any(|a| a.text == words));
}

#[test]
fn a_cap_cuts_the_ranges_beyond_it() {
    let mut problem = calls(
        Range::ByName(named(&[("cheap", [0.0, 0.1]), ("dear", [0.0, 9.0])])),
        Some(0.05),
    );
    problem.guardrails[0].signal.cap = Some(1.0);
    let mut agent = Opb::new(&problem, &OpbConfig::default()).expect("valid");
    agent.observe(1, 0.5, &[1e9]).expect("counts as 1");
    assert_eq!(agent.monitor().alarms(), []);
    agent.observe(0, 0.5, &[0.2]).expect("an observation");
    assert_eq!(agent.monitor().alarms()[0].arm, Some(0));
    assert_eq!(agent.arm_estimates()[1].costs[0].mean, Some(1.0));
}
