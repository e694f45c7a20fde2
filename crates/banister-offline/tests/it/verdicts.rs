//! Verdicts on guardrails, absolute and relative.

use crate::common;

use banister::Guardrail;
use banister::toolkit::Direction;
use banister_offline::{Estimator, IntervalKind, Model, Options, Target, Verdict, verdicts};
use common::{World, rng};

fn guardrail(change: impl Fn(&mut Guardrail)) -> Guardrail {
    let mut guardrail = Guardrail {
        name: "spend".into(),
        ..Guardrail::default()
    };
    change(&mut guardrail);
    guardrail
}

/// True costs are 0.1, 0.3, 0.6; this policy costs 0.28.
const POLICY: [f64; 3] = [0.4, 0.4, 0.2];
const COST: f64 = 0.04 + 0.12 + 0.12;

#[test]
fn a_large_log_decides_unless_the_threshold_is_met() {
    let world = World::three();
    let columns = world.log(&mut rng(11), 20_000);
    type Change = fn(&mut Guardrail);
    let cases: [(Change, Verdict); 8] = [
        (|g| g.at_most = Some(COST + 0.05), Verdict::Kept),
        (|g| g.at_most = Some(COST - 0.05), Verdict::Broken),
        (|g| g.at_least = Some(COST - 0.05), Verdict::Kept),
        (|g| g.at_least = Some(COST + 0.05), Verdict::Broken),
        // The safe arm's 0.1 times 4 is 0.4, times 2 is 0.2.
        (
            |g| (g.at_most, g.relative) = (Some(4.0), true),
            Verdict::Kept,
        ),
        (
            |g| (g.at_most, g.relative) = (Some(2.0), true),
            Verdict::Broken,
        ),
        (
            |g| (g.at_least, g.relative) = (Some(0.9), true),
            Verdict::Kept,
        ),
        // A known safe cost makes it absolute: at most 2 · 0.2.
        (
            |g| (g.at_most, g.relative, g.safe_cost) = (Some(2.0), true, Some(0.2)),
            Verdict::Kept,
        ),
    ];
    for estimator in [Estimator::Ips, Estimator::Snips, Estimator::Dr] {
        for (change, expected) in cases {
            let options = Options {
                estimator,
                ..Options::default()
            };
            let rails = [guardrail(change)];
            let (log, target) = (columns.checked(), Target::Fixed(&POLICY));
            let found = verdicts(&log, target, Model::Fitted, &rails, 0, &options).unwrap();
            assert_eq!(found[0].verdict, expected, "{estimator} {found:?}");
            if rails[0].relative && rails[0].safe_cost.is_none() {
                let f = rails[0].at_most.or(rails[0].at_least).unwrap();
                assert_eq!(found[0].threshold, 0.0);
                let excess = COST - f * 0.1;
                assert!((found[0].estimate.estimate - excess).abs() < 0.05);
            }
            // A threshold at the estimate itself is inside any interval.
            let mut rails = rails.clone();
            if !rails[0].relative {
                let at = found[0].estimate.estimate;
                let bound = rails[0].at_most.as_mut().or(rails[0].at_least.as_mut());
                *bound.unwrap() = at;
                let found = verdicts(&log, target, Model::Fitted, &rails, 0, &options).unwrap();
                assert_eq!(found[0].verdict, Verdict::Undecided);
            }
        }
    }
}

/// The direct method knows nothing of its own error.
#[test]
fn the_direct_method_decides_nothing() {
    let columns = World::three().log(&mut rng(12), 5000);
    let options = Options {
        estimator: Estimator::Dm,
        ..Options::default()
    };
    let rails = [guardrail(|g| g.at_most = Some(0.99))];
    let target = Target::Fixed(&POLICY);
    let found = verdicts(
        &columns.checked(),
        target,
        Model::Fitted,
        &rails,
        0,
        &options,
    )
    .unwrap();
    assert_eq!(found[0].verdict, Verdict::Undecided);
    assert_eq!(found[0].direction, Direction::AtMost);
}

/// The estimate of s(π) − f·s(safe) is unbiased, over every log there is.
#[test]
fn the_difference_is_unbiased() {
    let world = World::three();
    let rails = [guardrail(|g| (g.at_most, g.relative) = (Some(1.5), true))];
    let model = [0.4; 12];
    for estimator in [Estimator::Ips, Estimator::Dr] {
        let options = Options {
            estimator,
            ..Options::default()
        };
        let mut expectation = 0.0;
        world.every_log(2, |probability, columns| {
            let (log, target) = (columns.checked(), Target::Fixed(&POLICY));
            let found = verdicts(&log, target, Model::Given(&model), &rails, 0, &options).unwrap();
            expectation += probability * found[0].estimate.estimate;
        });
        assert!((expectation - (COST - 1.5 * 0.1)).abs() < 1e-12);
    }
}

/// Intervals of the difference cover as often as they say. Were the two parts judged apart, their
/// common noise would be counted twice or not at all.
#[test]
fn intervals_of_the_difference_cover() {
    let world = World::three();
    let rails = [guardrail(|g| (g.at_most, g.relative) = (Some(2.0), true))];
    let truth = COST - 2.0 * 0.1;
    for (estimator, interval) in [
        (Estimator::Ips, IntervalKind::Normal),
        (Estimator::Snips, IntervalKind::Normal),
        (Estimator::Dr, IntervalKind::Normal),
        (Estimator::Ips, IntervalKind::Bernstein),
        (Estimator::Dr, IntervalKind::Bernstein),
    ] {
        let options = Options {
            estimator,
            interval,
            confidence: 0.9,
            min_pscore: Some(0.2),
            ..Options::default()
        };
        let mut covered = 0.0;
        for seed in 0..600 {
            let columns = world.log(&mut rng(seed), 400);
            let (log, target) = (columns.checked(), Target::Fixed(&POLICY));
            let found = verdicts(&log, target, Model::Fitted, &rails, 0, &options).unwrap();
            let found = &found[0].estimate;
            covered += f64::from(u8::from(found.lower <= truth && truth <= found.upper));
        }
        let share = covered / 600.0;
        match interval {
            IntervalKind::Bernstein => assert!(share >= 0.9, "{estimator} {share}"),
            _ => assert!((share - 0.9).abs() < 0.04, "{estimator} {share}"),
        }
    }
}

/// The policy plays the dear arm, clipping hides most of it, and the clipped cost looks fine: no
/// verdict may rest on that.
#[test]
fn clipping_never_lets_a_broken_guardrail_pass() {
    let columns = World::three().log(&mut rng(13), 20_000);
    let rails = [guardrail(|g| g.at_most = Some(0.4))];
    for (interval, declared) in [
        (IntervalKind::Normal, true),
        (IntervalKind::Bernstein, true),
        (IntervalKind::Normal, false),
    ] {
        let mut options = Options {
            estimator: Estimator::Ips,
            interval,
            clip: Some(1.5),
            ..Options::default()
        };
        let mut log = columns.log();
        if !declared {
            log.cost_ranges.clear();
        }
        let log = log.check().unwrap();
        let judge = |options: &Options| {
            let found = verdicts(&log, Target::Arm(2), Model::Fitted, &rails, 0, options);
            found.unwrap().remove(0)
        };
        let clipped = judge(&options);
        assert!(clipped.estimate.estimate < 0.25);
        assert_eq!(clipped.verdict, Verdict::Undecided, "{interval:?}");
        if interval == IntervalKind::Normal {
            options.clip = None;
            assert_eq!(judge(&options).verdict, Verdict::Broken);
        }
    }
}
