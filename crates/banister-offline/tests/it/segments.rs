//! Estimates by segment, and agents that learn from logs with segments.

use banister::logs::Frequencies;
use banister::{Agent, Ask, Guardrail, Opb, OpbConfig, Problem, Round, Segmented, SegmentedConfig};
use banister_offline::{
    Estimator, Log, Model, Options, ReplayOptions, Target, estimate, estimate_by_segment, replay,
    warm_start,
};

/// Rounds in two segments of which the second likes the other arm; the third has one round.
struct Columns {
    actions: Vec<usize>,
    rewards: Vec<f64>,
    costs: Vec<f64>,
    segments: Vec<&'static str>,
}

fn columns() -> Columns {
    let n = 301;
    let segments: Vec<&str> = (0..n)
        .map(|t| {
            if t == n - 1 {
                "tiny"
            } else if t % 3 == 0 {
                "small"
            } else {
                "large"
            }
        })
        .collect();
    let actions: Vec<usize> = (0..n).map(|t| t / 3 % 2).collect();
    let liked = |t: usize| (actions[t] == 1) == (segments[t] == "small");
    Columns {
        rewards: (0..n).map(|t| if liked(t) { 0.8 } else { 0.2 }).collect(),
        costs: actions.iter().map(|&a| 0.1 + 0.2 * a as f64).collect(),
        actions,
        segments,
    }
}

fn problem() -> Problem {
    Problem {
        arms: vec!["control".into(), "bold".into()],
        guardrails: vec![Guardrail {
            name: "complaints".into(),
            at_most: Some(0.5),
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn log(columns: &Columns) -> Log<'_> {
    Log {
        arms: 2,
        actions: &columns.actions,
        rewards: &columns.rewards,
        costs: &columns.costs,
        pscores: Some(&[0.5; 301]),
        segments: columns.segments.clone(),
        ..Log::default()
    }
    .declare(&problem().reward, &problem().guardrails)
}

#[test]
fn every_segment_is_estimated_from_its_own_rounds() {
    let columns = columns();
    let log = log(&columns).check().unwrap();
    let options = Options {
        estimator: Estimator::Snips,
        ..Options::default()
    };
    let row: Vec<f64> = (0..301).flat_map(|_| [0.0, 1.0]).collect();
    for target in [
        Target::Arm(1),
        Target::Fixed(&[0.0, 1.0]),
        Target::Rows(&row),
    ] {
        let found = estimate_by_segment(&log, target, Model::Fitted, &options).unwrap();
        let names: Vec<(&str, u64)> = found.iter().map(|s| (&*s.segment, s.n)).collect();
        assert_eq!(names, [("large", 200), ("small", 100), ("tiny", 1)]);
        for (own, expected) in found.iter().zip([0.2, 0.8]) {
            let estimates = own.estimates.as_ref().unwrap();
            assert!((estimates.reward.estimate - expected).abs() < 1e-9);
            assert!(estimates.reward.lower <= expected && expected <= estimates.reward.upper);
            assert!((estimates.costs[0].estimate - 0.3).abs() < 1e-9);
            assert_eq!(estimates.reward.n, own.n);
        }
        // One round shows no spread.
        assert!(found[2].estimates.is_err());
    }
    let whole = estimate(&log, Target::Arm(1), Model::Fitted, &options).unwrap();
    assert_eq!(whole.reward.n, 301);
    // Predictions are those of the segment's rounds.
    let options = Options {
        estimator: Estimator::Dm,
        ..Options::default()
    };
    let rewards = columns
        .segments
        .iter()
        .flat_map(|&s| [0.0, f64::from(u8::from(s == "small"))]);
    let costs = columns.segments.iter().flat_map(|_| [0.1, 0.3]);
    let model: Vec<f64> = rewards.chain(costs).collect();
    let found = estimate_by_segment(&log, Target::Arm(1), Model::Given(&model), &options).unwrap();
    let direct = |i: usize| found[i].estimates.as_ref().unwrap().reward.estimate;
    assert_eq!((direct(0), direct(1)), (0.0, 1.0));
}

#[test]
fn a_log_without_segments_or_with_too_few_is_refused() {
    let columns = columns();
    let none = Log {
        segments: Vec::new(),
        ..log(&columns)
    };
    let none = none.check().unwrap();
    let refused = estimate_by_segment(&none, Target::Arm(1), Model::Fitted, &Options::default());
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .starts_with("`segments` is not given")
    );
    let few = Log {
        segments: vec!["large"; 300],
        ..log(&columns)
    };
    assert!(
        few.check()
            .unwrap_err()
            .to_string()
            .starts_with("`segments`")
    );
    let mut unnamed = log(&columns);
    unnamed.segments[7] = " ";
    let message = unnamed.check().unwrap_err().to_string();
    assert!(message.starts_with("`round[7].segment`"), "{message}");
}

#[test]
fn agents_learn_by_segment() {
    let columns = columns();
    let log = log(&columns).check().unwrap();
    let mut agent = Segmented::new(&problem(), &SegmentedConfig::default()).unwrap();
    let not_taught = warm_start(&mut agent, &log, Frequencies::Unknown).unwrap();
    assert_eq!(not_taught.len(), 2);
    assert_eq!(agent.outcomes(), 301);
    let contexts = |agent: &mut Segmented| -> u64 {
        let found = agent.ask(Ask::Segments(0..9)).segments().unwrap();
        found.iter().map(|own| own.contexts).sum()
    };
    assert_eq!(contexts(&mut agent), 0);
    // A sample of the same traffic, each arm by lot.
    let mut sampled = Segmented::new(&problem(), &SegmentedConfig::default()).unwrap();
    let not_taught = warm_start(&mut sampled, &log, Frequencies::Same).unwrap();
    assert!(not_taught.is_empty(), "{not_taught:?}");
    assert_eq!(contexts(&mut sampled), 301);
    let slack = |agent: &mut Segmented| {
        let decision = agent.decide(&Round::in_segment("large")).unwrap();
        assert!(decision.guardrails[0].slack >= 0.0);
        decision.fallback.is_none()
    };
    assert!(slack(&mut sampled) && !slack(&mut agent));
    let mut arms = Opb::new(&problem(), &OpbConfig::default()).unwrap();
    let refused = warm_start(&mut arms, &log, Frequencies::Same).unwrap_err();
    assert!(refused.to_string().starts_with("`frequencies` is same"));
    let too_few = Log {
        requests: vec!["1"; 300],
        ..self::log(&columns)
    };
    let refused = too_few.check().unwrap_err().to_string();
    assert!(refused.starts_with("`requests` is 300"), "{refused}");
    let saved = agent.save().unwrap();
    assert!(saved.contains("\"small\"") && saved.contains("\"large\""));
    let mut agent = Segmented::new(&problem(), &SegmentedConfig::default()).unwrap();
    let done = replay(&log, &mut agent, &ReplayOptions::default(), &mut |_| false).unwrap();
    assert!(done.accepted > 0);
    assert_eq!(contexts(&mut agent), done.accepted);
}
