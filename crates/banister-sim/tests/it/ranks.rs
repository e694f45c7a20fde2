//! Ranks over instances: the tests behind them, and who is ranked.

use banister::guarantee::{CumulativeBudget, Guarantee};
use banister_sim::compare::{
    LeftUnranked, critical_difference, friedman, holm, leaderboards, rankings, signed_rank,
};
use banister_sim::results::{AgentResult, Curve, InstanceResult, Optimum, RunSummary};

/// Four classifiers on 14 data sets: Demšar (2006), table 6; the last digit of one number tells it from another of
/// the same three digits, as his ranks do.
const DEMSAR: [[f64; 4]; 14] = [
    [0.763, 0.768, 0.771, 0.798],
    [0.599, 0.591, 0.590, 0.569],
    [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657],
    [0.882, 0.888, 0.886, 0.898],
    [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685],
    [0.583, 0.583, 0.563, 0.625],
    [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000],
    [0.940, 0.962, 0.965, 0.962],
    [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.9751, 0.975],
    [0.957, 0.978, 0.946, 0.970],
];

fn instance(name: &str, regrets: &[(&str, f64, u64)]) -> InstanceResult {
    let agents = regrets
        .iter()
        .map(|&(agent, regret, violations)| AgentResult {
            name: agent.into(),
            guarantee: Guarantee::EveryRound,
            budget: CumulativeBudget::default(),
            ours: false,
            curve: Curve::default(),
            runs: vec![RunSummary {
                run: 0,
                seed: 1,
                regret,
                reward_end: 0.0,
                violations: Some(violations),
                worst_exceedance: 0.0,
                excess: Vec::new(),
                possible_gain: 1.0,
                pulls: Vec::new(),
                first_alarm: None,
                violations_after_alarm: 0,
                measured: None,
                nanoseconds_per_round: None,
            }],
            limit: None,
        });
    InstanceResult {
        name: name.into(),
        horizon: 1,
        arms: Vec::new(),
        guardrails: Vec::new(),
        optimum: Optimum {
            reward: 1.0,
            costs: Vec::new(),
            policy: Vec::new(),
            averaged: false,
        },
        changes: Vec::new(),
        agents: agents.collect(),
    }
}

const NAMES: [&str; 4] = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"];

fn demsar() -> Vec<InstanceResult> {
    let row = |(i, row): (usize, &[f64; 4])| {
        // The larger the area under the curve, the less the regret.
        let regrets: Vec<_> = (0..4).map(|j| (NAMES[j], 1.0 - row[j], 0)).collect();
        instance(&format!("data set {i}"), &regrets)
    };
    DEMSAR.iter().enumerate().map(row).collect()
}

#[test]
fn demsars_example_comes_out() {
    let rankings = rankings(&leaderboards(&demsar()));
    assert_eq!(rankings.len(), 1);
    let ranking = &rankings[0];
    let mean = |name: &str| {
        let own = ranking.agents.iter().find(|own| own.agent == name);
        own.expect("ranked").mean_rank
    };
    for (name, rank) in NAMES.iter().zip([3.143, 2.000, 2.893, 1.964]) {
        assert!((mean(name) - rank).abs() < 5e-4, "{name}: {}", mean(name));
    }
    assert_eq!(ranking.agents[0].agent, "C4.5+m+cf");
    assert!((ranking.friedman.chi_square - 9.28).abs() < 0.005);
    assert!((ranking.friedman.f - 3.69).abs() < 0.005);
    assert!((ranking.critical_difference - 1.25).abs() < 0.005);
    assert!(ranking.friedman.p < 0.05);
    // All six pairs, each once.
    assert_eq!(ranking.pairs.len(), 6);
}

#[test]
fn f_and_range_are_those_of_scipy() {
    // `scipy.stats.f.sf`; two agents with mean ranks 1 + x and 2 − x make any F.
    for (f, a, b, p) in [
        (3.69, 3, 39, 0.019_744_099_689_488_88),
        (0.5, 1, 5, 0.511_084_080_430_280_6),
        (12.0, 9, 45, 2.239_978_027_377_472e-9),
        (1.0, 4, 4, 0.5),
        (3.0, 19, 190, 6.591_321_950_446_014e-5),
    ] {
        let (k, n) = (a + 1, b / a + 1);
        // χ² that gives F, and the spread of two mean ranks that gives χ².
        let (nf, kf) = (f64::from(n), f64::from(k));
        let chi = f * nf * (kf - 1.0) / (nf - 1.0 + f);
        let spread = (chi * kf * (kf + 1.0) / (12.0 * nf) / 2.0).sqrt();
        let mut ranks = vec![0.5 * (kf + 1.0); k as usize];
        ranks[0] += spread;
        ranks[1] -= spread;
        let ours = friedman(&ranks, n as usize);
        assert!((ours.f - f).abs() < 1e-9 * f);
        assert!(
            (ours.p / p - 1.0).abs() < 1e-9,
            "{f}, {a}, {b}: {} for {p}",
            ours.p
        );
    }
    // `scipy.stats.studentized_range.isf(0.05, k, inf) / √2`, as in Demšar's table 5.
    for (k, q) in [
        (2, 1.959_963_98),
        (3, 2.343_700_59),
        (4, 2.569_031_77),
        (10, 3.163_683_58),
        (20, 3.543_799_13),
    ] {
        let (kf, n) = (f64::from(k), 7.0);
        let ours = critical_difference(k as usize, 7) / (kf * (kf + 1.0) / (6.0 * n)).sqrt();
        assert!((ours - q).abs() < 1e-6, "{k}: {ours}");
    }
}

/// Two-sided probability over all signs of the differences that are not zero.
fn by_all_signs(differences: &[f64]) -> f64 {
    let rank = |x: f64| {
        let sizes = differences.iter().map(|d| d.abs());
        let (below, equal) = sizes.fold((0.0, 0.0), |(below, equal), y| {
            (
                below + f64::from(y < x.abs()),
                equal + f64::from(y == x.abs()),
            )
        });
        below + (equal + 1.0) / 2.0
    };
    let signed: Vec<f64> = (differences.iter().filter(|d| **d != 0.0))
        .map(|d| rank(*d) * d.signum())
        .collect();
    let observed = signed.iter().sum::<f64>().abs();
    let all = 1_u32 << signed.len();
    let far = (0..all).filter(|signs| {
        let each = signed.iter().enumerate();
        let sum: f64 = each
            .map(|(i, rank)| {
                if signs >> i & 1 == 1 {
                    rank.abs()
                } else {
                    -rank.abs()
                }
            })
            .sum();
        sum.abs() >= observed - 1e-9
    });
    far.count() as f64 / f64::from(all)
}

#[test]
fn the_signed_rank_test_is_exact_with_ties_and_zeros() {
    let demsar: Vec<f64> = DEMSAR
        .iter()
        .map(|row| ((row[1] - row[0]) * 1e3).round())
        .collect();
    for differences in [
        &[0.3, -0.1, 0.25, 0.5, -0.7, 0.4, 0.9, 1.1, -0.05, 0.6][..],
        &[1.0, 1.0, -1.0, 2.0, 2.0, 0.0, 3.0],
        &[0.0, 0.0, 1.0, -2.0, 2.0, 2.0],
        &demsar,
    ] {
        let (ours, theirs) = (signed_rank(differences), by_all_signs(differences));
        assert!(
            (ours - theirs).abs() < 1e-12,
            "{differences:?}: {ours} for {theirs}"
        );
    }
    // `scipy.stats.wilcoxon(…, method="exact")`.
    let p = signed_rank(&[0.3, -0.1, 0.25, 0.5, -0.7, 0.4, 0.9, 1.1, -0.05, 0.6]);
    assert!((p - 0.105_468_75).abs() < 1e-12, "{p}");
    // Demšar's example is significant at 5%: his smaller sum of ranks is 12, and 21 is critical.
    assert!(signed_rank(&demsar) < 0.05);
    assert_eq!(signed_rank(&[0.0; 8]), 1.0);
    // Beyond 100 differences the normal law takes over, here with a zero that changes little.
    let mut many: Vec<f64> = (0..100)
        .map(|i| (f64::from(i) + 1.0) * if i % 5 < 2 { -1.0 } else { 1.0 })
        .collect();
    let exact = signed_rank(&many);
    many.push(0.0);
    let normal = signed_rank(&many);
    assert!(
        exact != normal && (exact - normal).abs() < 0.002,
        "{exact} and {normal}"
    );
}

#[test]
fn holms_probabilities_are_adjusted_step_by_step() {
    // Sorted: 0.01·4, 0.02·3, then no less than that, then 0.5·1.
    let adjusted = holm(&[0.03, 0.01, 0.5, 0.02]);
    for (ours, expected) in adjusted.iter().zip([0.06, 0.04, 0.5, 0.06]) {
        assert!((ours - expected).abs() < 1e-12, "{adjusted:?}");
    }
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
}

#[test]
fn only_agents_that_kept_their_promise_on_all_common_instances_have_a_rank() {
    let each = |i: usize| {
        let mut agents = vec![
            ("good", 0.1, 0),
            ("fair", 0.2, 0),
            ("bad", 0.3, u64::from(i == 4)),
        ];
        if i < 3 {
            agents.push(("rare", 0.0, 0));
        }
        instance(&format!("instance {i}"), &agents)
    };
    let all: Vec<InstanceResult> = (0..12).map(each).collect();
    let ranking = &rankings(&leaderboards(&all))[0];
    let names: Vec<&str> = ranking
        .agents
        .iter()
        .map(|own| own.agent.as_str())
        .collect();
    assert_eq!(names, ["good", "fair"]);
    assert_eq!(ranking.instances.len(), 12);
    let unranked = ranking.unranked.iter();
    let unranked: Vec<_> = unranked.map(|own| (&*own.agent, own.reason)).collect();
    assert_eq!(
        unranked,
        [
            ("rare", LeftUnranked::Played(3)),
            ("bad", LeftUnranked::NotKept(1)),
        ]
    );
    // Twelve wins out of twelve tell them apart: no bar joins them.
    assert!(ranking.pairs[0].is_clear() && ranking.ties.is_empty());
    // Every instance ranks them alike.
    assert_eq!(
        (ranking.friedman.f, ranking.friedman.p),
        (f64::INFINITY, 0.0)
    );
    // Six instances at least.
    assert!(rankings(&leaderboards(&all[..5])).is_empty());
    // Neighbours that are not told apart are joined, also in chains.
    let chain = |i: usize| {
        let noise = if i.is_multiple_of(2) { 0.15 } else { -0.15 };
        instance(
            &format!("instance {i}"),
            &[
                ("a", 1.0, 0),
                ("b", 1.01 + noise, 0),
                ("c", 1.2, 0),
                ("d", 3.0 + noise, 0),
            ],
        )
    };
    let ranking = &rankings(&leaderboards(&(0..12).map(chain).collect::<Vec<_>>()))[0];
    assert_eq!(ranking.ties, [(0, 1)], "{:?}", ranking.pairs);
}
