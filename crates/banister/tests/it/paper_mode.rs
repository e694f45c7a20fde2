//! The paper's OPB and the published settings against a straight-line version of each.

use crate::common;
use banister::Agent as _;

use banister::theory::t_zero_range;
use banister::{Decision, Intervals, Opb, OpbConfig, UnknownSafeCost};
use common::{PAPER_COSTS, PAPER_REWARDS, Random, at_most, problem};

const K: usize = 4;
const THRESHOLDS: [f64; 3] = [1.0, 0.5, 0.2];

/// Counts and sums of the outcomes so far.
#[derive(Default, Clone)]
struct Counts {
    n: [f64; K],
    reward: [f64; K],
    cost: [f64; K],
}

impl Counts {
    fn take(&mut self, arm: usize, reward: f64, cost: f64) {
        self.n[arm] += 1.0;
        self.reward[arm] += reward;
        self.cost[arm] += cost;
    }
}

/// All feasible singletons and pairs as (value, arms with their probabilities).
fn candidates(v: &[f64; K], u: &[f64; K], tau: f64) -> Vec<(f64, [f64; K])> {
    let mut found = Vec::new();
    for i in 0..K {
        if u[i] <= tau {
            let mut policy = [0.0; K];
            policy[i] = 1.0;
            found.push((v[i], policy));
        }
        for j in 0..K {
            if u[i] < tau && u[j] > tau {
                let mut policy = [0.0; K];
                policy[i] = (u[j] - tau) / (u[j] - u[i]);
                policy[j] = (tau - u[i]) / (u[j] - u[i]);
                found.push((policy[i] * v[i] + policy[j] * v[j], policy));
            }
        }
    }
    found
}

/// The best candidate, with arms of identical (V, u) sharing their mass equally; `None` for the
/// policy where policies that differ beyond that are equally good.
fn best(v: &[f64; K], u: &[f64; K], tau: f64) -> (f64, Option<[f64; K]>) {
    let share = |policy: &[f64; K]| {
        let mut shared = [0.0; K];
        for a in 0..K {
            let twins: Vec<usize> = (0..K).filter(|&b| v[a] == v[b] && u[a] == u[b]).collect();
            for &b in &twins {
                shared[b] += policy[a] / twins.len() as f64;
            }
        }
        shared
    };
    let all = candidates(v, u, tau);
    let value = all.iter().map(|c| c.0).fold(f64::NEG_INFINITY, f64::max);
    let mut winners = all
        .iter()
        .filter(|c| c.0 >= value - 1e-7)
        .map(|c| share(&c.1));
    let first = winners.next().expect("the safe arm is feasible");
    let same = |other: [f64; K]| (0..K).all(|a| (other[a] - first[a]).abs() < 1e-12);
    (value, winners.all(same).then_some(first))
}

/// The paper's V and u: β = √(2 ln(4KT/δ)/n), V = r̂ + (1 + 2/Δ)β, u = ĉ + β, u_0 as given.
fn paper_bounds(
    counts: &Counts,
    horizon: u64,
    delta: f64,
    margin: f64,
    safe: f64,
) -> ([f64; K], [f64; K]) {
    let alpha = 1.0 + 2.0 / margin;
    let (mut v, mut u) = ([0.5 + alpha / 2.0; K], [1.0; K]);
    for a in (0..K).filter(|&a| counts.n[a] > 0.0) {
        let n = counts.n[a];
        let beta = (2.0 * (4.0 * K as f64 * horizon as f64 / delta).ln() / n).sqrt();
        v[a] = counts.reward[a] / n + alpha * beta;
        u[a] = counts.cost[a] / n + beta;
    }
    u[0] = safe;
    (v, u)
}

/// Compares a decision with the straight-line answer; true if the policy could be compared too.
fn agrees(decision: &Decision, v: &[f64; K], u: &[f64; K], tau: f64, round: u64) -> bool {
    let (value, policy) = best(v, u, tau);
    let found = decision.optimistic_reward;
    assert!(
        (found - value).abs() < 1e-9 * value.max(1.0),
        "round {round}: {found} and {value}"
    );
    if let Some(policy) = policy {
        for a in 0..K {
            let p = decision.probability(a);
            assert!(
                (p - policy[a]).abs() < 1e-9,
                "round {round}, arm {a}: {p}, {policy:?}"
            );
        }
    }
    policy.is_some()
}

fn outcome(random: &mut Random, arm: usize) -> (f64, f64) {
    (
        random.bernoulli(PAPER_REWARDS[arm]),
        random.bernoulli(PAPER_COSTS[arm]),
    )
}

#[test]
fn the_papers_agent_is_its_straight_line_version() {
    let horizon = 4000;
    for (i, tau) in THRESHOLDS.into_iter().enumerate() {
        let config = OpbConfig::paper(horizon);
        let declared = problem(K, vec![at_most(tau, Some(0.0))]);
        let mut agent = Opb::new(&declared, &config).expect("valid");
        let mut random = Random::new(30 + i as u64);
        let mut counts = Counts::default();
        let mut unique = 0;
        for round in 0..horizon {
            let (v, u) = paper_bounds(&counts, horizon, config.delta, tau, 0.0);
            let decision = agent.decide();
            unique += u64::from(agrees(decision, &v, &u, tau, round));
            let arm = decision.draw(random.unit());
            let (reward, cost) = outcome(&mut random, arm);
            counts.take(arm, reward, cost);
            agent.observe(arm, reward, &[cost]).expect("valid");
        }
        assert!(
            unique > horizon * 9 / 10,
            "τ = {tau}: {unique} policies compared"
        );
    }
}

/// The published settings: α = 1 + 1/τ, radius √(2 ln(T²)/max(n, 1)), r̂ = 0 and ĉ = 1 before the
/// first pull, both bounds clipped at 1, u_0 = c_0.
fn published_bounds(counts: &Counts, horizon: u64, tau: f64) -> ([f64; K], [f64; K]) {
    let (mut v, mut u) = ([0.0; K], [0.0; K]);
    for a in 0..K {
        let n = counts.n[a].max(1.0);
        let beta = (2.0 * (horizon as f64).powi(2).ln() / n).sqrt();
        let cost = if counts.n[a] > 0.0 {
            counts.cost[a] / n
        } else {
            1.0
        };
        v[a] = (counts.reward[a] / n + (1.0 + 1.0 / tau) * beta).min(1.0);
        u[a] = (cost + beta).min(1.0);
    }
    u[0] = 0.0;
    (v, u)
}

#[test]
fn the_published_agent_is_its_straight_line_version() {
    // Long enough for the clipped bounds to come apart at τ = 1 and 0.5; at first everything ties.
    let horizon = 20_000;
    for (i, tau) in THRESHOLDS.into_iter().enumerate() {
        let declared = problem(K, vec![at_most(tau, Some(0.0))]);
        let mut agent = Opb::new(&declared, &OpbConfig::published(horizon)).expect("valid");
        let mut random = Random::new(40 + i as u64);
        let mut counts = Counts::default();
        let mut unique = 0;
        for round in 0..horizon {
            let (v, u) = published_bounds(&counts, horizon, tau);
            let decision = agent.decide();
            unique += u64::from(agrees(decision, &v, &u, tau, round));
            let arm = decision.draw(random.unit());
            let (reward, cost) = outcome(&mut random, arm);
            counts.take(arm, reward, cost);
            agent.observe(arm, reward, &[cost]).expect("valid");
        }
        assert!(
            tau < 0.5 || unique > 1000,
            "τ = {tau}: {unique} policies compared"
        );
    }
}

#[test]
fn published_ties_are_broken_at_the_analytic_centre() {
    for tau in THRESHOLDS {
        let declared = problem(K, vec![at_most(tau, Some(0.0))]);
        let mut agent = Opb::new(&declared, &OpbConfig::published(1_000_000)).expect("valid");
        // All V are 1 and all u but the safe one's: any policy with 3x ≤ τ is optimal, x the mass
        // of each of three twins. The centre maximises ln(1 − 3x) + 3 ln x + ln(τ − 3x).
        let slope = |x: f64| 1.0 / x - 1.0 / (1.0 - 3.0 * x) - 1.0 / (tau - 3.0 * x);
        let (mut low, mut high) = (0.0, tau / 3.0);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if slope(middle) > 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        let decision = agent.decide();
        for arm in 1..K {
            assert!((decision.probability(arm) - low).abs() < 1e-9, "τ = {tau}");
        }
        assert!((decision.probability(0) - (1.0 - 3.0 * low)).abs() < 1e-9);
    }
}

#[test]
fn the_corrected_t_zero_rule_is_its_straight_line_version() {
    let horizon = 60_000;
    let (tau, safe_mean) = (0.5, 0.1);
    let config = OpbConfig {
        unknown_safe_cost: UnknownSafeCost::Paper,
        ..OpbConfig::paper(horizon)
    };
    for seed in 50..54 {
        let mut agent = Opb::new(&problem(K, vec![at_most(tau, None)]), &config).expect("valid");
        let mut random = Random::new(seed);
        let mut counts = Counts::default();
        // T_0, Δ̂ and the running bound of the safe cost, once settled.
        let mut settled: Option<(f64, f64, f64)> = None;
        let mut unique = 0;
        for round in 0..4000 {
            let decision = agent.decide();
            if let Some((_, margin, safe_upper)) = settled {
                let (v, u) = paper_bounds(&counts, horizon, config.delta, margin, safe_upper);
                unique += u64::from(agrees(decision, &v, &u, tau, round));
            } else {
                assert_eq!(decision.policy, [(0, 1.0)], "round {round}");
                assert!(decision.fallback.is_some());
            }
            let arm = decision.draw(random.unit());
            let (reward, mut cost) = outcome(&mut random, arm);
            if arm == 0 {
                cost = random.bernoulli(safe_mean);
            }
            counts.take(arm, reward, cost);
            agent.observe(arm, reward, &[cost]).expect("valid");
            if arm == 0 {
                let (n, mean) = (counts.n[0], counts.cost[0] / counts.n[0]);
                let w = (2.0 * (horizon as f64).powi(2).ln() / n).sqrt();
                settled = match settled {
                    None if mean + 3.0 * w <= tau => {
                        let margin = tau - mean - w;
                        assert!(2.0 * w <= margin && margin <= tau - safe_mean);
                        Some((n, margin, mean + w))
                    }
                    Some((t0, margin, upper)) => Some((t0, margin, upper.min(mean + w))),
                    None => None,
                };
            }
        }
        let (t0, margin, _) = settled.expect("4000 rounds are enough");
        let (least, most) = t_zero_range(horizon, tau - safe_mean, 1.0);
        assert!((least..=most).contains(&(t0 as u64)), "T_0 = {t0}");
        let saved: serde_json::Value = serde_json::from_str(&agent.save().unwrap()).expect("JSON");
        assert_eq!(saved["learner"]["t_zero"]["rounds"].as_f64(), Some(t0));
        assert!(
            (saved["learner"]["t_zero"]["margin"]
                .as_f64()
                .expect("settled")
                - margin)
                .abs()
                < 1e-12
        );
        assert!(unique > 500, "{unique} policies compared");
    }
}

#[test]
fn the_t_zero_rule_knows_the_noise_of_bounded_signals() {
    // With any but the paper's own intervals R is 1/2, and the wait a quarter as long.
    let horizon = 60_000;
    let config = OpbConfig {
        unknown_safe_cost: UnknownSafeCost::Paper,
        intervals: Some(Intervals::Kl),
        horizon: Some(horizon),
        ..OpbConfig::default()
    };
    let mut agent = Opb::new(&problem(2, vec![at_most(0.5, None)]), &config).expect("valid");
    let mut random = Random::new(60);
    while agent.decide().fallback.is_some() {
        agent
            .observe(0, 0.5, &[random.bernoulli(0.1)])
            .expect("valid");
    }
    let (least, most) = t_zero_range(horizon, 0.4, 0.5);
    assert!((least..=most).contains(&agent.outcomes()));
}
