//! Lifts of arms: against its definition on a grid, and how often it ever fails under adaptive draws.

use crate::common;
use crate::common::verbs::Verbs as _;

use banister::interval::Mixture;
use banister::lift::{ArmLift, Evidence, LiftInterval, difference, percent};
use banister::{
    Agent, Fallback, Intervals, OnBreach, Opb, OpbConfig, Problem, Round, Segmented,
    SegmentedConfig,
};
use common::{Random, at_most, brute_force_lp, refused};
use serde_json::{Value, json};

fn evidence(data: &[f64], range: [f64; 2]) -> Evidence {
    let mut statistics = Mixture::default();
    let [lo, hi] = range;
    data.iter()
        .for_each(|x| statistics.push(((x - lo) / (hi - lo)).clamp(0.0, 1.0)));
    Evidence { statistics, range }
}

/// Evidence that a mean is below (above) m.
fn wealth(own: &Evidence, m: f64, above: bool) -> f64 {
    let [lo, hi] = own.range;
    let y = (m - lo) / (hi - lo);
    if above {
        own.statistics.mirrored().log_wealth(1.0 - y)
    } else {
        own.statistics.log_wealth(y)
    }
}

/// Extreme values of m_a − m_0 and m_a/m_0 over pairs on a grid that evidence of 2/α does not refute.
fn brute(own: &Evidence, safe: &Evidence, log_term: f64) -> [[f64; 2]; 2] {
    const POINTS: usize = 1500;
    let level = log_term + 2_f64.ln();
    let grid =
        |[lo, hi]: [f64; 2]| (0..=POINTS).map(move |i| lo + (hi - lo) * i as f64 / POINTS as f64);
    let mut found = [[f64::INFINITY, f64::NEG_INFINITY]; 2];
    for end in [0, 1] {
        let take =
            |best: &mut f64, x: f64| *best = if end == 1 { best.max(x) } else { best.min(x) };
        let all: Vec<(f64, f64)> = grid(own.range)
            .map(|m| (m, wealth(own, m, end == 0)))
            .collect();
        for m in grid(safe.range) {
            let other = wealth(safe, m, end == 1);
            for (own, log_wealth) in &all {
                if log_wealth + other < level {
                    take(&mut found[0][end], own - m);
                    take(&mut found[1][end], own / m);
                }
            }
        }
    }
    found
}

/// No value on the grid is left out, and hardly any beyond is let in.
#[test]
fn as_by_definition() {
    let random = &mut Random::new(1);
    let cases = [
        ([0.0, 1.0], [0.0, 1.0], 300, 300),
        ([0.0, 1.0], [0.0, 1.0], 40, 3000),
        ([0.0, 2.0], [0.0, 0.1], 500, 200),
        ([1.0, 3.0], [0.5, 1.5], 5, 8),
        ([0.0, 1.0], [0.2, 1.0], 0, 100),
        ([-1.0, 1.0], [-2.0, 1.0], 700, 300),
    ];
    for (own, safe, n, n0) in cases {
        for two_valued in [true, false] {
            let mut draw = |[lo, hi]: [f64; 2], p: f64| {
                let x = if two_valued {
                    random.bernoulli(p)
                } else {
                    p * (0.8 + 0.4 * random.unit())
                };
                lo + (hi - lo) * x
            };
            let data: Vec<f64> = (0..n).map(|_| draw(own, 0.6)).collect();
            let control: Vec<f64> = (0..n0).map(|_| draw(safe, 0.4)).collect();
            let (a, b) = (evidence(&data, own), evidence(&control, safe));
            let [[lower, upper], [low, high]] = brute(&a, &b, 100_f64.ln());
            let name = format!("{own:?} {safe:?} {n} {n0} {two_valued}");
            let found = difference(&a, &b, 100_f64.ln());
            let step = (own[1] - own[0] + safe[1] - safe[0]) / 1000.0;
            assert!(
                found.upper >= upper - 1e-9 && found.upper < upper + step,
                "{name} {found:?} {upper}"
            );
            assert!(
                found.lower <= lower + 1e-9 && found.lower > lower - step,
                "{name} {found:?} {lower}"
            );
            let Some(LiftInterval { lower, upper, .. }) = percent(&a, &b, 100_f64.ln()) else {
                assert!(own[0] < 0.0 || !high.is_finite(), "{name} {high}");
                continue;
            };
            let (lower, upper) = (1.0 + lower / 100.0, 1.0 + upper / 100.0);
            assert!(
                upper >= high - 1e-9 && upper < high * 1.02,
                "{name} {upper} {high}"
            );
            assert!(
                lower <= low + 1e-9 && lower > low * 0.98 - 0.002,
                "{name} {lower} {low}"
            );
        }
    }
}

/// Adaptive draws at the worst time: the arm that looks worse is drawn more, and one looks after every outcome. An
/// interval for a fixed sample, looked at as often, fails many times as often.
#[test]
fn holds_at_all_times() {
    const RUNS: u64 = 400;
    let (alpha, means) = (0.1, [0.5, 0.3]);
    let (mut ever, mut normal) = (0.0, 0.0);
    for seed in 0..RUNS {
        let random = &mut Random::new(seed);
        let mut arms = [evidence(&[], [0.0, 1.0]); 2];
        let (mut failed, mut fooled) = (false, false);
        for t in 0..600 {
            let worse = arms[0].mean() < arms[1].mean();
            let arm = usize::from((random.unit() < 0.8) != worse);
            arms[arm].statistics.push(random.bernoulli(means[arm]));
            // The product of wealths at the truth says when to look.
            let product = wealth(&arms[0], means[0], false) + wealth(&arms[1], means[1], true);
            let mirrored = wealth(&arms[0], means[0], true) + wealth(&arms[1], means[1], false);
            if t % 60 == 0 || product.max(mirrored) > -f64::ln(alpha) {
                let found = difference(&arms[0], &arms[1], -f64::ln(alpha));
                failed |= found.lower > 0.2 || found.upper < 0.2;
                let percent = percent(&arms[0], &arms[1], -f64::ln(alpha));
                let ratio = 100.0 * (0.5 / 0.3 - 1.0);
                failed |= percent.is_some_and(|own| own.lower > ratio || own.upper < ratio);
            }
            let variance = |own: &Evidence| {
                let (n, p) = (own.statistics.count() as f64, own.mean().unwrap_or(0.5));
                p * (1.0 - p) / n
            };
            if let (Some(a), Some(b)) = (arms[0].mean(), arms[1].mean()) {
                let width = 1.645 * (variance(&arms[0]) + variance(&arms[1])).sqrt();
                fooled |= t > 30 && (a - b - 0.2).abs() > width;
            }
        }
        ever += f64::from(u8::from(failed)) / RUNS as f64;
        normal += f64::from(u8::from(fooled)) / RUNS as f64;
    }
    let slack = 3.0 * (alpha * (1.0 - alpha) / RUNS as f64).sqrt();
    assert!(ever <= alpha + slack, "{ever}");
    assert!(normal > 0.3, "{normal}");
}

/// Two ends at α/4 each are wider, unless one arm has all the outcomes.
#[test]
fn narrower_than_by_ends() {
    let random = &mut Random::new(2);
    let log_term = 100_f64.ln();
    for (n, n0, at_most) in [
        (50, 50, 0.92),
        (1000, 1000, 0.85),
        (20_000, 20_000, 0.85),
        (500, 4000, 0.95),
        (100, 20_000, 1.08),
    ] {
        let data: Vec<f64> = (0..n).map(|_| random.bernoulli(0.3)).collect();
        let control: Vec<f64> = (0..n0).map(|_| random.bernoulli(0.25)).collect();
        let (a, b) = (evidence(&data, [0.0, 1.0]), evidence(&control, [0.0, 1.0]));
        let width = |own: &Evidence| {
            let level = log_term + 4_f64.ln();
            own.statistics.upper(level, 1.0) - own.statistics.lower(level, 0.0)
        };
        let found = difference(&a, &b, log_term);
        let part = (found.upper - found.lower) / (width(&a) + width(&b));
        assert!(part < at_most, "{n} {n0}: {part}");
    }
}

/// A reward in [0, 10], a cost whose range is by arm, and a quality that must not fall: arm 0 safe.
fn three(drift: bool) -> Problem {
    let drift = if drift {
        json!({"by": 0.001, "per": "decision"})
    } else {
        json!(null)
    };
    serde_json::from_value(json!({
        "arms": ["control", "bold", "new"], "safe": 0, "reward": {"range": [0, 10], "drift": drift},
        "guardrails": [
            {"name": "dollars", "at_most": 1.0, "safe_cost": 0.05, "range": [[0, 0.1], [0, 2], [0, 4]]},
            {"name": "quality", "at_least": 0.3, "safe_cost": 0.6},
        ],
    }))
    .unwrap()
}

const RANGES: [[[f64; 2]; 3]; 3] = [
    [[0.0, 10.0], [0.0, 0.1], [0.0, 1.0]],
    [[0.0, 10.0], [0.0, 2.0], [0.0, 1.0]],
    [[0.0, 10.0], [0.0, 4.0], [0.0, 1.0]],
];

fn outcome(random: &mut Random, arm: usize) -> [f64; 3] {
    let means = [[0.3, 0.5, 0.6], [0.5, 0.3, 0.7], [0.8, 0.2, 0.4]][arm];
    std::array::from_fn(|s| {
        let [lo, hi] = RANGES[arm][s];
        lo + (hi - lo) * random.bernoulli(means[s])
    })
}

/// Lifts of the agent are those of the arms' own outcomes, in the signals' units and signs; a restart has a smaller
/// level.
#[test]
fn lifts_of_an_agent() {
    let random = &mut Random::new(3);
    let mut agent = Opb::new(&three(false), &OpbConfig::default()).unwrap();
    let mut data: [[Vec<f64>; 3]; 3] = Default::default();
    let mut play = |agent: &mut Opb, data: &mut [[Vec<f64>; 3]; 3]| {
        for t in 0..900 {
            let [reward, costs @ ..] = outcome(random, t % 3);
            agent.observe(t % 3, reward, &costs).unwrap();
            for (own, x) in data[t % 3].iter_mut().zip([reward, costs[0], costs[1]]) {
                own.push(x);
            }
        }
    };
    let compare = |agent: &mut Opb, data: &[[Vec<f64>; 3]; 3], alpha: f64| {
        let lifts = agent.lifts(None);
        assert_eq!(lifts.len(), 6);
        for (i, lift) in lifts.iter().enumerate() {
            let (arm, s) = (1 + i / 3, i % 3);
            let [own, safe] = [arm, 0].map(|arm| evidence(&data[arm][s], RANGES[arm][s]));
            let expected = difference(&own, &safe, -alpha.ln());
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
            assert_eq!(lift.signal, ["reward", "dollars", "quality"][s]);
            assert_eq!(
                (&lift.arm[..], lift.confidence),
                (["bold", "new"][arm - 1], 0.99)
            );
            assert!(near(lift.mean.unwrap(), own.mean().unwrap()), "{lift:?}");
            let found = lift.difference;
            assert!(
                near(found.lower, expected.lower) && near(found.upper, expected.upper),
                "{lift:?}"
            );
            assert!(found.lower < found.estimate.unwrap() && found.estimate.unwrap() < found.upper);
            let ends = percent(&own, &safe, -alpha.ln());
            let upper = |own: LiftInterval| own.upper;
            assert!(
                near(lift.percent.map_or(0.0, upper), ends.map_or(0.0, upper)),
                "{lift:?}"
            );
        }
        let known = |lift: &ArmLift| lift.difference.lower > 0.0 || lift.difference.upper < 0.0;
        assert!(lifts.iter().filter(|lift| known(lift)).count() >= 4);
    };
    play(&mut agent, &mut data);
    compare(&mut agent, &data, 0.9 * 0.01);
    let mut restored = Opb::restore(&agent.save().unwrap()).unwrap();
    assert_eq!(restored.lifts(None), agent.lifts(None));
    agent.forget_arm(1).unwrap();
    data[1] = Default::default();
    play(&mut agent, &mut data);
    compare(&mut agent, &data, 0.1 / 2.0 * 0.01);
    let mut restored = Opb::restore(&agent.save().unwrap()).unwrap();
    assert_eq!(restored.lifts(None), agent.lifts(None));

    let mut moving = Opb::new(&three(true), &OpbConfig::default()).unwrap();
    assert!(
        moving
            .lifts(None)
            .iter()
            .all(|lift| lift.signal != "reward")
    );
    assert_eq!(moving.worth_left(), None);
    refused(
        moving.settle(true),
        &["`settled`", "drift"],
        "means that move",
    );
    let kl = OpbConfig {
        intervals: Some(Intervals::Kl),
        ..OpbConfig::default()
    };
    assert_eq!(Opb::new(&three(false), &kl).unwrap().lifts(None), []);
}

/// Of a guardrail that is a weighted sum the terms have lifts.
#[test]
fn lifts_of_the_signals_of_a_sum() {
    let problem: Problem = serde_json::from_value(json!({
        "arms": ["small", "large"], "safe": 0, "signals": {"in": [0, 1000]},
        "guardrails": [{"name": "dollars", "at_most": 1.0, "weights": {"small": {"in": 0.0001}, "large": {"in": 0.001}}}],
    }))
    .unwrap();
    let mut agent = Opb::new(&problem, &OpbConfig::default()).unwrap();
    (0..50).for_each(|t| agent.observe(t % 2, 0.5, &[400.0]).unwrap());
    let names: Vec<String> = agent
        .lifts(None)
        .into_iter()
        .map(|lift| lift.signal)
        .collect();
    assert_eq!(names, ["reward", "in"]);
    assert!(
        agent
            .worth_left()
            .is_none_or(|left| left.per_decision > 0.0)
    );
}

/// K arms, arm 0 safe with a known cost.
fn world(seed: u64) -> (Problem, Vec<[f64; 2]>) {
    let random = &mut Random::new(seed);
    let mut means = vec![[random.between(0.1, 0.5), 0.05]];
    means.extend((0..3).map(|_| [random.between(0.1, 0.9), random.between(0.02, 0.6)]));
    (common::problem(4, vec![at_most(0.25, Some(0.05))]), means)
}

fn play(agent: &mut Opb, means: &[[f64; 2]], rounds: usize, random: &mut Random) {
    for _ in 0..rounds {
        let arm = agent.decide().draw(random.unit());
        let cost = random.bernoulli(means[arm][1]);
        agent
            .observe(arm, random.bernoulli(means[arm][0]), &[cost])
            .unwrap();
    }
}

/// The worth left, by brute force from the arms' own outcomes and the shares of δ_o.
#[test]
fn worth_left_as_by_brute_force() {
    for seed in 0..6 {
        let (problem, means) = world(seed);
        let floor = if seed % 2 == 0 { 0.0 } else { 0.1 };
        let config = OpbConfig {
            floor,
            lazy: Some(0.0),
            // Arms are drawn as no safe policy would.
            on_breach: Some(OnBreach::Alert),
            ..OpbConfig::default()
        };
        let mut agent = Opb::new(&problem, &config).unwrap();
        let random = &mut Random::new(seed);
        let mut own = [[Mixture::default(); 2]; 4];
        // First outcomes in the order of the arms: so they are numbered.
        for t in 0..3000 {
            let arm = if t < 4 { t } else { random.below(4) };
            let values = means[arm].map(|mean| random.bernoulli(mean));
            agent.observe(arm, values[0], &values[1..]).unwrap();
            own[arm]
                .iter_mut()
                .zip(values)
                .for_each(|(own, x)| own.push(x));
        }
        let (mut lower, mut upper, mut low, mut high) = (vec![], vec![], vec![0.05], vec![0.05]);
        for (arm, [reward, cost]) in own.iter().enumerate() {
            let ends = if arm == 0 { 2.0 } else { 3.0 };
            let level = f64::ln(ends / (0.1 * common::share_of(arm + 1, 4)));
            lower.push(reward.lower(level, 0.0));
            upper.push(reward.upper(level, 1.0));
            if arm > 0 {
                low.push(cost.lower(level, 0.0));
                high.push(agent.interval(arm, 1).unwrap().upper);
            }
        }
        // With a floor f every policy is f·safe + (1 − f)·another.
        let mix = |row: &[f64]| {
            row.iter()
                .map(|x| floor * row[0] + (1.0 - floor) * x)
                .collect()
        };
        let solve = |rewards: &[f64], costs: &[f64]| {
            let (rewards, costs): (Vec<f64>, Vec<f64>) = (mix(rewards), mix(costs));
            brute_force_lp(&rewards, &[costs], &[0.25]).unwrap().0
        };
        let (at_least, at_most) = (solve(&lower, &high), solve(&upper, &low));
        let left = agent.worth_left().unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(
            near(left.guaranteed, at_least),
            "{seed} {left:?} {at_least}"
        );
        assert!(near(left.at_most, at_most), "{seed} {left:?} {at_most}");
        assert!(
            near(left.per_decision, at_most - at_least),
            "{seed} {left:?}"
        );
        let total = |row: &[f64]| {
            left.policy
                .iter()
                .map(|&(arm, p)| p * row[arm])
                .sum::<f64>()
        };
        assert!(near(total(&[1.0; 4]), 1.0) && total(&high) <= 0.25);
        assert!(near(total(&lower), at_least) && (left.confidence - 0.89).abs() < 1e-9);
    }
}

/// No feasible policy is worth more than guaranteed and left together, nor the policy less than guaranteed, at any
/// time.
#[test]
fn worth_left_holds() {
    const RUNS: u64 = 60;
    let (mut failed, mut first, mut last) = (0, 0.0, 0.0);
    for seed in 0..RUNS {
        let (problem, means) = world(seed);
        let column = |s: usize| means.iter().map(|own| own[s]).collect::<Vec<f64>>();
        let (best, _) = brute_force_lp(&column(0), &[column(1)], &[0.25]).unwrap();
        let config = OpbConfig {
            delta: 0.05,
            optimism_delta: 0.1,
            ..OpbConfig::default()
        };
        let mut agent = Opb::new(&problem, &config).unwrap();
        let random = &mut Random::new(seed);
        let mut ever = false;
        for step in 0..30 {
            play(&mut agent, &means, 100, random);
            let left = agent.worth_left().unwrap();
            let truth: f64 = left.policy.iter().map(|&(arm, p)| p * means[arm][0]).sum();
            ever |= best > left.guaranteed + left.per_decision || truth < left.guaranteed;
            let sum = if step == 0 { &mut first } else { &mut last };
            *sum += if step == 0 || step == 29 {
                left.per_decision
            } else {
                0.0
            };
        }
        failed += u32::from(ever);
    }
    // P(more than 18 of 60 at 0.15) < 0.1%.
    assert!(failed <= 18, "{failed}");
    assert!(last < 0.6 * first, "{first} {last}");
}

/// A settled agent plays the policy that it guaranteed, certified, after a restart too; what is not certified goes.
#[test]
fn settles() {
    let (problem, means) = (
        common::problem(3, vec![at_most(0.25, Some(0.05))]),
        [[0.3, 0.05], [0.6, 0.1], [0.9, 0.5]],
    );
    let mut agent = Opb::new(&problem, &OpbConfig::default()).unwrap();
    let random = &mut Random::new(7);
    play(&mut agent, &means, 4000, random);
    let explored = agent.decide().policy.clone();
    let left = agent.worth_left().unwrap();
    agent.settle(true).unwrap();
    assert!(agent.view().is_settled);
    assert_eq!(agent.decide().policy, left.policy);
    assert_ne!(agent.decide().policy, explored);
    let certificate = agent.decide().guardrails[0];
    assert!(certificate.slack >= 0.0 && certificate.pessimistic_cost <= 0.25);
    assert!((agent.decide().optimistic_reward - left.guaranteed).abs() < 1e-12);
    let mut restored = Opb::restore(&agent.save().unwrap()).unwrap();
    let (mut changes, mut before) = (0, left.policy);
    for _ in 0..2000 {
        let policy = agent.decide().policy.clone();
        assert_eq!(restored.decide().policy, policy);
        assert!(agent.decide().guardrails[0].slack >= 0.0);
        changes += u32::from(policy != before);
        before = policy;
        let arm = agent.decide().draw(random.unit());
        let values = means[arm].map(|mean| random.bernoulli(mean));
        for own in [&mut agent, &mut restored] {
            own.observe(arm, values[0], &values[1..]).unwrap();
        }
    }
    // Only where its bound rose above the threshold.
    assert!(changes <= 20, "{changes}");
    // A pause goes before, and what was forgotten is not certified any more.
    let paused = Round {
        only_safe: Some(Fallback::Paused),
        ..Round::default()
    };
    assert_eq!(
        Agent::decide(&mut agent, &paused).unwrap().policy,
        [(0, 1.0)]
    );
    let dear = before.iter().map(|entry| entry.0).max().unwrap();
    agent.forget_arm(dear).unwrap();
    // Asking for a policy changes nothing that is saved: that follows from outcomes alone.
    let saved = agent.save().unwrap();
    agent.decide();
    assert_eq!(agent.save().unwrap(), saved);
    assert!(agent.view().is_settled && agent.decide().probability(dear) < 0.3);
    assert!(agent.decide().guardrails[0].slack >= 0.0);
    agent.retire_arm(1).unwrap();
    assert_eq!(agent.decide().probability(1), 0.0);
    agent.settle(false).unwrap();
    assert!(!agent.view().is_settled);
    agent.add_arm("another").unwrap();
    assert!(agent.decide().probability(3) > 0.0);

    let text = restored.save().unwrap();
    let mut state: Value = serde_json::from_str(&text).unwrap();
    state["learner"]["settled"]["policy"][0][1] = json!(2.0);
    refused(
        Opb::restore(&state.to_string()).map(|_| ()),
        &["settled"],
        "a policy of more than one",
    );
    let mut segmented = Segmented::new(&problem, &SegmentedConfig::default()).unwrap();
    let what = "an agent with segments";
    refused(segmented.settle(true), &["settled", "`opb`"], what);
}
