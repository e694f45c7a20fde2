//! Everything that is refused, by what the message says.

use crate::common;

use banister::{Error, Guardrail};
use banister_offline::{
    Estimator, Features, IntervalKind, Log, Model, Options, ReplayOptions, Target, estimate,
    replay, verdicts,
};
use common::{Columns, World, rng};

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, beginning: &str) {
    let message = result.expect_err(beginning).to_string();
    assert!(message.starts_with(beginning), "{message}");
}

fn columns() -> Columns {
    World::three().log(&mut rng(1), 20)
}

#[test]
fn logs() {
    const NAN: f64 = f64::NAN;
    let base = columns();
    let numbers = [0.5; 60];
    let mut bad = numbers;
    bad[17] = f64::INFINITY;
    let context = |dimension, rows| Features::Context { dimension, rows };
    type Change<'a> = &'a dyn Fn(&mut Log<'a>);
    let table: [(Change, &str); 20] = [
        (&|log| log.actions = &[], "`actions` is empty"),
        (&|log| log.arms = 0, "`arms` is 0: must be at least 1"),
        (&|log| log.arms = 2, "`action["),
        (
            &|log| log.rewards = &[0.5],
            "`rewards` is 1 numbers long: expected 20",
        ),
        (
            &|log| log.costs = &[],
            "`costs` is 0 numbers long: expected 20",
        ),
        (
            &|log| log.pscores = Some(&[]),
            "`pscores` is 0 numbers long",
        ),
        (
            &|log| log.pscores = Some(&[0.0; 20]),
            "`pscore[0]` is 0: must be above 0 and at most 1",
        ),
        (
            &|log| log.pscores = Some(&[1.1; 20]),
            "`pscore[0]` is 1.1: must be above 0",
        ),
        (
            &|log| log.pscores = Some(&[NAN; 20]),
            "`pscore[0]` is NaN: must be above 0",
        ),
        (
            &|log| log.rewards = &[NAN; 20],
            "`reward[0]` is NaN: only finite",
        ),
        (
            &|log| log.rewards = &[2.0; 20],
            "`reward[0]` is 2: must lie in the declared range [0, 1]",
        ),
        (
            &|log| log.costs = &[-1.0; 20],
            "`cost[0][0] (spend)` is -1: must lie in the declared",
        ),
        (
            &|log| (log.reward_range, log.rewards) = (None, &[1e200; 20]),
            "`reward[0]` is 1000",
        ),
        (
            &|log| log.reward_range = Some([1.0, 1.0]),
            "`reward_range` is [1, 1]: the first",
        ),
        (
            &|log| log.reward_range = Some([NAN, 1.0]),
            "`reward_range` is [NaN, 1]: the first",
        ),
        (
            &|log| log.cost_ranges = vec![None; 2],
            "`cost_ranges` is 2 numbers long",
        ),
        (
            &|log| log.features = context(0, &[]),
            "`features.dimension` is 0",
        ),
        (
            &|log| log.features = context(2, &numbers),
            "`features` is 60 numbers long: expected 40",
        ),
        (
            &|log| log.features = context(3, &bad),
            "`context[5][2]` is inf: only finite",
        ),
        (
            &|log| {
                log.features = Features::Offered {
                    dimension: 1,
                    sets: &bad,
                }
            },
            "`offered[5][2][0]` is inf: only finite",
        ),
    ];
    assert!(base.log().check().is_ok());
    for (change, beginning) in table {
        let mut log = base.log();
        change(&mut log);
        refused(log.check(), beginning);
    }
    let far = Features::Offered {
        dimension: usize::MAX,
        sets: &[],
    };
    let log = Log {
        features: far,
        ..base.log()
    };
    refused(log.check(), "`features` is 0 numbers long");
}

#[test]
fn policies_and_models() {
    let base = columns();
    let log = base.checked();
    let ask = |estimator, target: Target, model: Model| {
        let options = Options {
            estimator,
            ..Options::default()
        };
        estimate(&log, target, model, &options)
    };
    let mut rows = [0.5, 0.5, 0.0].repeat(20);
    rows[5] = 0.5;
    let table: [(Target, &str); 8] = [
        (
            Target::Arm(3),
            "`policy` is arm 3: arms are numbered 0 to 2",
        ),
        (
            Target::Fixed(&[1.0]),
            "`policy` is 1 numbers long: expected 3",
        ),
        (
            Target::Fixed(&[0.5, 0.5, 0.5]),
            "`policy` is a row with sum 1.5",
        ),
        (
            Target::Fixed(&[1.5, -0.5, 0.0]),
            "`policy[0]` is 1.5: a probability",
        ),
        (
            Target::Fixed(&[f64::NAN, 0.5, 0.5]),
            "`policy[0]` is NaN: a probability",
        ),
        (Target::Rows(&rows), "`policy[1]` is a row with sum 1.5"),
        (
            Target::Rows(&[1.0, 0.0, 0.0]),
            "`policy` is 3 numbers long: expected 60",
        ),
        (Target::Taken(&[2.0; 20]), "`policy[0]` is 2: a probability"),
    ];
    for (target, beginning) in table {
        refused(ask(Estimator::Ips, target, Model::Fitted), beginning);
    }
    let taken = Target::Taken(&[0.5; 20]);
    assert!(ask(Estimator::Ips, taken, Model::Fitted).is_ok());
    let missing =
        "`policy` is known on the actions played alone: dr needs the probabilities of all 3";
    refused(ask(Estimator::Dr, taken, Model::Fitted), missing);
    let arm = Target::Arm(0);
    refused(
        ask(Estimator::Dr, arm, Model::Given(&[0.0; 3])),
        "`model` is 3 numbers long: expected 120",
    );
    let mut model = [0.5; 120];
    model[60 + 3 * 4 + 1] = f64::NAN;
    refused(
        ask(Estimator::Dr, arm, Model::Given(&model)),
        "`model[1][4][1]` is NaN",
    );
    assert!(
        ask(Estimator::Ips, arm, Model::Given(&model)).is_ok(),
        "ips has no model"
    );
    let log = Log {
        features: Features::Played {
            dimension: 1,
            rows: &[0.5; 20],
        },
        ..base.log()
    };
    let log = log.check().unwrap();
    let dr = Options {
        estimator: Estimator::Dr,
        ..Options::default()
    };
    refused(
        estimate(&log, arm, Model::Fitted, &dr),
        "`features` is those of the action played alone",
    );
    let huge = [1e200; 20];
    let log = Log {
        features: Features::Context {
            dimension: 1,
            rows: &huge,
        },
        ..base.log()
    };
    refused(
        estimate(&log.check().unwrap(), arm, Model::Fitted, &dr),
        "`features` is not usable",
    );
    // No arm that the policy plays is in the log.
    let mut other = columns();
    other.actions.fill(1);
    let snips = Options {
        estimator: Estimator::Snips,
        ..Options::default()
    };
    let found = estimate(&other.checked(), arm, Model::Fitted, &snips);
    refused(found, "`policy` is not covered by the log");
    other.pscores.fill(1e-300);
    let ips = Options {
        estimator: Estimator::Ips,
        ..Options::default()
    };
    let found = estimate(&other.checked(), Target::Arm(1), Model::Fitted, &ips);
    refused(
        found,
        "`pscores` is too small: the importance weights overflow",
    );
}

#[test]
fn options() {
    let base = columns();
    let ask = |change: &dyn Fn(&mut Options, &mut Log)| {
        let (mut options, mut log) = (Options::default(), base.log());
        options.estimator = Estimator::Ips;
        change(&mut options, &mut log);
        let log = log.check().unwrap();
        estimate(&log, Target::Arm(0), Model::Fitted, &options)
    };
    type Change<'a> = &'a dyn Fn(&mut Options, &mut Log);
    let table: [(Change, &str); 16] = [
        (
            &|o, _| o.confidence = 1.0,
            "`confidence` is 1: must be above 0 and below 1",
        ),
        (&|o, _| o.confidence = f64::NAN, "`confidence` is NaN"),
        (
            &|o, _| o.clip = Some(0.0),
            "`clip` is 0: must be finite and above 0",
        ),
        (&|o, _| o.clip = Some(f64::INFINITY), "`clip` is inf"),
        (&|o, _| o.ridge = 0.0, "`ridge` is 0"),
        (&|o, _| o.min_pscore = Some(0.0), "`min_pscore` is 0"),
        (&|o, _| o.min_pscore = Some(0.4), "`pscore["),
        (
            &|o, _| (o.estimator, o.folds) = (Estimator::Dr, 1),
            "`folds` is 1: must be at least 2 and at most half of the 20 rounds",
        ),
        (
            &|o, _| (o.estimator, o.folds) = (Estimator::Dr, 11),
            "`folds` is 11",
        ),
        (
            &|o, _| (o.interval, o.resamples) = (IntervalKind::Bootstrap, 99),
            "`resamples` is 99",
        ),
        (
            &|o, _| (o.interval, o.estimator) = (IntervalKind::Bernstein, Estimator::Snips),
            "`interval` is bernstein for snips",
        ),
        (
            &|o, _| o.interval = IntervalKind::Bernstein,
            "`clip` is not given: a `bernstein` interval needs a bound on the weights",
        ),
        (
            &|o, log| {
                (o.interval, o.clip) = (IntervalKind::Bernstein, Some(2.0));
                log.reward_range = None;
            },
            "`reward_range` is not given",
        ),
        (
            &|o, log| {
                (o.interval, o.clip) = (IntervalKind::Bernstein, Some(2.0));
                log.cost_ranges.clear();
            },
            "`cost_range[0] (spend)` is not given",
        ),
        (
            &|_, log| log.pscores = None,
            "`pscores` is not given: ips needs the logging probability",
        ),
        (
            &|_, log| {
                (log.actions, log.rewards, log.costs) = (&[0], &[0.5], &[0.5]);
                log.pscores = Some(&[0.5]);
            },
            "`actions` is 1 round: at least 2",
        ),
    ];
    assert!(ask(&|_, _| ()).is_ok());
    for (change, beginning) in table {
        refused(ask(change), beginning);
    }
    // The direct method alone needs no logging probabilities.
    assert!(ask(&|o, log| (o.estimator, log.pscores) = (Estimator::Dm, None)).is_ok());
}

#[test]
fn guardrails_and_replays() {
    let base = columns();
    let log = base.checked();
    let spend = Guardrail {
        name: "spend".into(),
        at_most: Some(0.5),
        ..Guardrail::default()
    };
    let judge = |rails: &[Guardrail], safe| {
        verdicts(
            &log,
            Target::Arm(0),
            Model::Fitted,
            rails,
            safe,
            &Options::default(),
        )
    };
    refused(judge(&[], 0), "`guardrails` is 0: expected 1");
    refused(
        judge(std::slice::from_ref(&spend), 3),
        "`safe` is 3: arms are numbered 0 to 2",
    );
    let other = Guardrail {
        name: "other".into(),
        ..spend.clone()
    };
    refused(
        judge(&[other], 0),
        "`guardrails[0].name` is other: the log has `spend`",
    );
    let both = Guardrail {
        at_least: Some(0.1),
        ..spend
    };
    refused(judge(&[both], 0), "`guardrails[0]` is given both");

    let problem = banister::Problem {
        arms: vec!["a".into(), "b".into(), "c".into()],
        guardrails: vec![spend_with_cost()],
        ..Default::default()
    };
    let play = |log: Log, options: ReplayOptions| {
        let mut agent = banister::Opb::new(&problem, &Default::default()).unwrap();
        replay(&log.check().unwrap(), &mut agent, &options, &mut |_| false)
    };
    let set = |max_weight, confidence| ReplayOptions {
        max_weight,
        confidence,
        seed: 0,
    };
    assert!(play(base.log(), set(None, 0.9)).is_ok());
    refused(play(base.log(), set(Some(0.0), 0.9)), "`max_weight` is 0");
    refused(
        play(base.log(), set(Some(f64::NAN), 0.9)),
        "`max_weight` is NaN",
    );
    refused(play(base.log(), set(None, 0.0)), "`confidence` is 0");
    let tiny = Log {
        pscores: Some(&[1e-310; 20]),
        ..base.log()
    };
    refused(
        play(tiny, set(None, 0.9)),
        "`pscores` is as small as 1e-310",
    );
    let blind = Log {
        pscores: None,
        ..base.log()
    };
    refused(
        play(blind, set(None, 0.9)),
        "`pscores` is not given: replay needs",
    );
}

/// Sizes that no memory holds are refused, not asked for.
#[test]
fn absurd_sizes() {
    let base = columns();
    let with = |arms, features| {
        let log = Log {
            arms,
            features,
            ..base.log()
        };
        log.check().unwrap()
    };
    let numbers = vec![0.5; 20 * 20_000];
    let wide = Features::Context {
        dimension: 20_000,
        rows: &numbers,
    };
    let context = Features::Context {
        dimension: 1,
        rows: &numbers[..20],
    };
    // Arms that were never played cost nothing.
    let dr = Options {
        estimator: Estimator::Dr,
        ..Options::default()
    };
    let many = with(usize::MAX, Features::None);
    let (unplayed, first) = (Target::Arm(usize::MAX - 1), Target::Arm(0));
    assert!(estimate(&many, unplayed, Model::Fitted, &dr).is_ok());
    let found = estimate(&with(3, wide), first, Model::Fitted, &dr);
    refused(found, "`features.dimension` is 20000: too large for");
    let problem = banister::Problem {
        arms: vec!["a".into(), "b".into(), "c".into()],
        guardrails: vec![spend_with_cost()],
        ..Default::default()
    };
    let mut agent = banister::Opb::new(&problem, &Default::default()).unwrap();
    let log = with(usize::MAX, context);
    let options = ReplayOptions::default();
    let found = replay(&log, &mut agent, &options, &mut |_| false);
    refused(
        found,
        &format!("`arms` is {}: too many for block vectors", usize::MAX),
    );
    let unknown = banister::logs::Frequencies::Unknown;
    let found = banister_offline::warm_start(&mut agent, &log, unknown);
    refused(found, "`arms` is");
    assert_eq!(agent.outcomes(), 0);
}

fn spend_with_cost() -> Guardrail {
    Guardrail {
        name: "spend".into(),
        at_most: Some(0.5),
        safe_cost: Some(0.1),
        ..Guardrail::default()
    }
}
