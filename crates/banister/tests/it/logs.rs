//! What logs teach of segments: rules, refusals, and safety of what rests on them.

use crate::common::verbs::Verbs as _;
use banister::logs::{Frequencies, Lesson, LogRows};
use banister::{
    Agent, Error, Guardrail, Origin, Outcome, Problem, Round, Segmented, SegmentedConfig,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const NAMES: [&str; 2] = ["control", "bold"];

fn lesson(
    frequencies: Frequencies,
    actions: &[usize],
    requests: &[&str],
    pscores: Option<&[f64]>,
) -> Result<Lesson, Error> {
    let segments = ["a", "a", "b", "b"];
    let rows = LogRows {
        segments: &segments[..actions.len()],
        actions,
        requests,
        pscores,
    };
    rows.lesson(frequencies, &NAMES)
}

/// Origins as (first of its request, chosen without regard to the segment).
fn sampled(lesson: &Lesson) -> Vec<(bool, bool)> {
    let each = lesson.0.iter().map(|&origin| match origin {
        Origin::Sampled { is_first, is_blind } => (is_first, is_blind),
        other => panic!("{other:?}"),
    });
    each.collect()
}

#[test]
fn the_log_shows_whether_arms_were_chosen_without_regard_to_the_segment() {
    use Frequencies::Same;
    let (yes, no) = (true, false);
    // Both arms answered both requests.
    let all = lesson(Same, &[0, 1, 1, 0], &["1", "1", "2", "2"], None).unwrap();
    assert_eq!(
        sampled(&all),
        [(yes, yes), (no, yes), (yes, yes), (no, yes)]
    );
    assert!(all.1.is_empty());
    // One of them did: it alone teaches the pool.
    let one = lesson(Same, &[0, 1, 0], &["1", "1", "2"], None).unwrap();
    assert_eq!(sampled(&one), [(yes, yes), (no, no), (yes, yes)]);
    assert_eq!(one.1.len(), 1, "{one:?}");
    assert!(one.1[0].contains("that `bold` was"), "{one:?}");
    // One arm a request: by propensities that stay, and sum to 1.
    let by_lot = |actions: &[usize], p: &[f64]| {
        let found = lesson(Same, actions, &[], Some(p)).unwrap();
        assert!(sampled(&found).iter().all(|&(is_first, _)| is_first));
        let blind = sampled(&found).iter().all(|&(_, is_blind)| is_blind);
        assert_eq!(blind, found.1.is_empty(), "{found:?}");
        blind
    };
    assert!(by_lot(&[0, 1, 0, 1], &[0.3, 0.7, 0.3, 0.7]));
    assert!(!by_lot(&[0, 1, 0, 1], &[0.3, 0.7, 0.4, 0.6]));
    // `bold` at 0.5 throughout, but never in segment b.
    assert!(!by_lot(&[0, 1, 0, 0], &[0.5, 0.5, 1.0, 1.0]));
    // Each constant, but somewhere there was a third arm.
    assert!(!by_lot(&[0, 1, 0, 1], &[0.3, 0.5, 0.3, 0.5]));
    assert!(!sampled(&lesson(Same, &[0, 1, 0, 1], &[], None).unwrap())[0].1);
    let undeclared = lesson(Frequencies::Unknown, &[0, 1, 0, 1], &[], Some(&[0.5; 4])).unwrap();
    assert_eq!(undeclared.0, [Origin::Logged; 4]);
    assert_eq!(undeclared.1.len(), 2);
}

#[test]
fn requests_that_cannot_be_are_refused() {
    let refused = |actions: &[usize], requests: &[&str], part: &str| {
        let error = lesson(Frequencies::Same, actions, requests, None).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    };
    refused(
        &[0, 0, 1],
        &["1", "2", "1"],
        "`request[2]` is 1: rows of one request have to stand together",
    );
    refused(
        &[0, 0],
        &["1", "1"],
        "`request[1]` is 1: has two outcomes of one arm",
    );
    refused(
        &[0, 1, 0],
        &["1", "1", "1"],
        "`request[2]` is 1: rows of one request have to have one segment",
    );
    refused(&[0, 7], &[], "7");
    let rows: LogRows<'_, &str> = LogRows {
        segments: &[],
        actions: &[0],
        requests: &[],
        pscores: None,
    };
    assert!(rows.lesson(Frequencies::Unknown, &NAMES).is_ok());
    let error = rows.lesson(Frequencies::Same, &NAMES).unwrap_err();
    assert!(
        error.to_string().starts_with("`frequencies` is same"),
        "{error}"
    );
}

/// Two segments that come equally often; `bold` costs nothing in the first, and much in the second.
const COSTS: [[f64; 2]; 2] = [[0.02, 0.0], [0.02, 0.5]];
const THRESHOLD: f64 = 0.2;
const SEGMENTS: [&str; 2] = ["a", "b"];

/// An agent that learned 400 requests, and whether any of its tables was beyond the threshold, then or later. The log's
/// policy chose by segment; `is_blind`: what is said of that. With `all`, both arms answered.
fn breaks(all: bool, is_blind: bool, seed: u64) -> (bool, f64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let problem = Problem {
        arms: NAMES.map(String::from).to_vec(),
        guardrails: vec![Guardrail {
            name: "cost".into(),
            at_most: Some(THRESHOLD),
            ..Guardrail::default()
        }],
        ..Problem::default()
    };
    // Nobody leaves the pool: what it certifies is what is looked at.
    let config = SegmentedConfig {
        delta: 0.1,
        pool_until: 1_000_000,
        ..SegmentedConfig::default()
    };
    let mut agent = Segmented::new(&problem, &config).unwrap();
    let (mut is_broken, mut used) = (false, 0.0);
    for t in 0..800 {
        let s = usize::from(rng.random::<f64>() < 0.5);
        let luck: f64 = rng.random();
        let learn = |agent: &mut Segmented, arm: usize, origin: Origin| {
            let costs = [f64::from(u8::from(luck < COSTS[s][arm]))];
            let outcome = Outcome {
                segment: Some(SEGMENTS[s]),
                origin,
                ..Outcome::of_arm(arm, arm as f64, &costs)
            };
            agent.observe(&outcome).unwrap();
        };
        if t < 400 {
            let is_bold = rng.random::<f64>() < [0.9, 0.1][s];
            for arm in 0..2 {
                if all || is_bold == (arm == 1) {
                    let is_first = !all || arm == 0;
                    learn(&mut agent, arm, Origin::Sampled { is_first, is_blind });
                }
            }
        } else {
            let uniform: f64 = rng.random();
            let arm = (agent.decide(&Round::in_segment(SEGMENTS[s])).unwrap()).draw(uniform);
            learn(&mut agent, arm, Origin::Immediate);
        }
        used = 0.0;
        for (own, costs) in SEGMENTS.iter().zip(COSTS) {
            let policy = &agent.decide(&Round::in_segment(own)).unwrap().policy;
            used += 0.5 * policy.iter().map(|&(a, p)| p * costs[a]).sum::<f64>();
        }
        is_broken |= used > THRESHOLD + 1e-12;
    }
    (is_broken, used)
}

#[test]
fn tables_that_rest_on_a_sample_keep_the_guardrail() {
    let runs = 100;
    let count = |all, is_blind| {
        let found = (0..runs).map(|seed| breaks(all, is_blind, seed));
        let (mut broken, mut used) = (0, 0.0);
        for (is_broken, own) in found {
            broken += u32::from(is_broken);
            used += own / runs as f64;
        }
        (broken, used)
    };
    // δ = 0.1: 22 of 100 is four standard errors beyond it.
    let (broken, used) = count(true, true);
    assert!(broken <= 22 && used > 0.5 * THRESHOLD, "{broken} {used}");
    let (broken, _) = count(false, false);
    assert!(broken <= 22, "{broken}");
    // The judge sees it where a choice by segment is taken for one without regard to it.
    let (broken, _) = count(false, true);
    assert!(broken >= 90, "{broken}");
}

#[test]
fn requests_count_once_and_a_restored_agent_goes_on_alike() {
    let config = SegmentedConfig::default();
    let problem = Problem {
        arms: NAMES.map(String::from).to_vec(),
        ..Problem::default()
    };
    let mut agent = Segmented::new(&problem, &config).unwrap();
    let learn = |agent: &mut Segmented, rows: std::ops::Range<usize>| {
        for i in rows {
            let (request, arm) = (i / 2, i % 2);
            // Each likes another arm, so that they are told apart on the way.
            let likes = arm == request % 3 % 2;
            agent
                .observe(&Outcome {
                    segment: Some(["a", "b", "c"][request % 3]),
                    origin: Origin::Sampled {
                        is_first: arm == 0,
                        is_blind: true,
                    },
                    ..Outcome::of_arm(arm, f64::from(u8::from(likes)), &[])
                })
                .unwrap();
        }
    };
    // At every row, also between those of a request at which the pool changes.
    let mut saved = Vec::new();
    for i in 0..400 {
        learn(&mut agent, i..i + 1);
        saved.push(agent.save().unwrap());
    }
    let contexts: u64 = agent.segments(0..9).iter().map(|own| own.contexts).sum();
    assert_eq!(contexts, 200);
    assert_eq!(agent.view().segment_policies, 4);
    let last = agent.save().unwrap();
    for (i, saved) in saved.iter().enumerate().skip(100) {
        let mut restored = Segmented::restore(saved).unwrap();
        learn(&mut restored, i + 1..400);
        assert_eq!(restored.save().unwrap(), last, "{i}");
    }
}
