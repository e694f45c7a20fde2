//! What arms of a log are worth: where means move, and what is refused.

use banister::lift::{ArmLift, LiftForm};
use banister_offline::{Log, Options, lift};

use crate::common::{Columns, rng, uniform};

/// Three arms whose means rise together; the second is drawn often while they are low, and always 0.1 better.
fn moving(seed: u64, rounds: usize) -> (Columns, f64) {
    let rng = &mut rng(seed);
    let mut columns = Columns {
        arms: 3,
        ..Columns::default()
    };
    let mut last = 0.0;
    for t in 0..rounds {
        let part = t as f64 / rounds as f64;
        let base = if part < 0.5 { 0.1 } else { 0.6 };
        // It depends on what was seen last, too.
        let often = if part < 0.5 { 0.6 + 0.1 * last } else { 0.1 };
        let policy = [0.8 - often, often, 0.2];
        let arm = crate::common::draw(rng, &policy);
        let mean = base + [0.0, 0.1, 0.3][arm];
        last = f64::from(u8::from(uniform(rng) < mean));
        columns.push(arm, policy[arm], last, 0.5);
    }
    (columns, 0.1)
}

fn first(log: Log, form: LiftForm, options: &Options) -> ArmLift {
    let found = lift(&log.check().unwrap(), 0, form, options).unwrap();
    found.into_iter().next().unwrap()
}

/// Where means move, the concurrent form holds at all times and the constant one does not.
#[test]
fn means_that_move() {
    const RUNS: u64 = 40;
    let (mut known, mut unknown, mut constant, mut shown) = (0, 0, 0, 0);
    let mut widths = [0.0; 2];
    for seed in 0..RUNS {
        let (columns, truth) = moving(seed, 2000);
        let with = |min_pscore: Option<f64>| Options {
            confidence: 0.9,
            min_pscore,
            ..Options::default()
        };
        let misses = |form: LiftForm, min_pscore: Option<f64>, n: usize| {
            let log = Log {
                actions: &columns.actions[..n],
                rewards: &columns.rewards[..n],
                costs: &columns.costs[..n],
                pscores: Some(&columns.pscores[..n]),
                adaptive: true,
                ..columns.log()
            };
            let found = first(log, form, &with(min_pscore));
            assert_eq!(
                (found.form, &found.arm[..], &found.signal[..]),
                (form, "1", "reward")
            );
            let own = found.difference;
            (own.lower > truth || own.upper < truth, own)
        };
        let looks = [100, 400, 1000, 2000];
        let ever = |form, min_pscore| looks.iter().any(|&n| misses(form, min_pscore, n).0);
        known += u32::from(ever(LiftForm::Concurrent, Some(0.1)));
        unknown += u32::from(ever(LiftForm::Concurrent, None));
        constant += u32::from(ever(LiftForm::Constant, None));
        let ends = [Some(0.1), None].map(|f| misses(LiftForm::Concurrent, f, 2000).1);
        shown += u32::from(ends[0].lower > 0.0);
        widths
            .iter_mut()
            .zip(ends)
            .for_each(|(sum, own)| *sum += own.upper - own.lower);
        assert!((ends[0].estimate.unwrap() - truth).abs() < 0.2);
    }
    // P(more than 10 of 40 at 0.1) < 0.2%.
    assert!(known <= 10 && unknown <= 10, "{known} {unknown}");
    assert_eq!(u64::from(constant), RUNS);
    assert!(widths[0] < 0.9 * widths[1], "{widths:?}");
    assert!(shown > 0, "{shown}");
}

/// A test of two arms with one fixed policy: both forms see the same, and the log says how often arms are drawn.
#[test]
fn one_fixed_policy() {
    let rng = &mut rng(1);
    let mut columns = Columns {
        arms: 2,
        ..Columns::default()
    };
    for _ in 0..5000 {
        let arm = usize::from(uniform(rng) < 0.5);
        let reward = f64::from(u8::from(uniform(rng) < [0.3, 0.4][arm]));
        columns.push(arm, 0.5, reward, 0.25);
    }
    let all = |form| lift(&columns.checked(), 0, form, &Options::default()).unwrap();
    let [constant, concurrent] = [LiftForm::Constant, LiftForm::Concurrent].map(all);
    let width = |own: &ArmLift| own.difference.upper - own.difference.lower;
    for (a, b) in constant.iter().zip(&concurrent) {
        assert_eq!(
            (a.mean, a.safe_mean, a.outcomes),
            (b.mean, b.safe_mean, b.outcomes)
        );
        assert!(b.percent.is_none());
    }
    let ratio = width(&concurrent[0]) / width(&constant[0]);
    assert!((0.7..1.4).contains(&ratio), "{ratio}");
    assert!(constant[0].percent.unwrap().lower > 0.0 && concurrent[0].difference.lower > 0.0);
    // Costs that are the same in every round.
    assert!(constant[1].signal == "spend" && constant[1].difference.estimate == Some(0.0));
}

/// Rounds in which the safe arm was certain say nothing of a difference, and do not pull it to 0.
#[test]
fn rounds_without_a_choice() {
    let rng = &mut rng(2);
    let mut columns = Columns {
        arms: 2,
        ..Columns::default()
    };
    for t in 0..6000 {
        let bold = if t % 3 == 0 { 0.5 } else { 0.0 };
        let arm = usize::from(uniform(rng) < bold);
        let reward = f64::from(u8::from(uniform(rng) < [0.3, 0.6][arm]));
        columns.push(arm, if bold > 0.0 { 0.5 } else { 1.0 }, reward, 0.25);
    }
    let options = Options::default();
    let found = first(columns.log(), LiftForm::Concurrent, &options).difference;
    let error = 4.0 * (2.0 * 0.25 / 1000.0_f64).sqrt();
    assert!((found.estimate.unwrap() - 0.3).abs() < error, "{found:?}");
    assert!(found.lower < 0.3 && 0.3 < found.upper, "{found:?}");
    let certain = Log {
        pscores: Some(&[1.0; 6000]),
        ..columns.log()
    };
    let found = first(certain, LiftForm::Concurrent, &options).difference;
    assert_eq!(
        (found.estimate, found.lower, found.upper),
        (None, -1.0, 1.0)
    );
}

#[test]
fn refused() {
    let (columns, _) = moving(1, 50);
    let log = columns.log();
    let options = Options::default();
    let certain = Options {
        confidence: 1.0,
        ..Options::default()
    };
    let never = Options {
        min_pscore: Some(0.0),
        ..Options::default()
    };
    let blind = Log {
        pscores: None,
        ..log.clone()
    };
    let requests = Log {
        requests: vec!["one"; 50],
        ..log.clone()
    };
    let cases = [
        (
            &log,
            3,
            LiftForm::Constant,
            &options,
            "`safe` is 3: arms are numbered 0 to 2",
        ),
        (&log, 0, LiftForm::Constant, &certain, "`confidence` is 1"),
        (&log, 0, LiftForm::Constant, &never, "`min_pscore` is 0"),
        (
            &blind,
            0,
            LiftForm::Concurrent,
            &options,
            "`concurrent` lift needs the logging probability",
        ),
        (
            &requests,
            0,
            LiftForm::Constant,
            &options,
            "`requests` is given",
        ),
    ];
    for (log, safe, form, options, words) in cases {
        let error = lift(&log.clone().check().unwrap(), safe, form, options).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}
