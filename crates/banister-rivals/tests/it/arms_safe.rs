//! The rivals that are safe in every round, against their pseudo-code.

use crate::arms_reference;

use arms_reference::*;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde_json::json;

fn mixed(seen: &Seen, solutions: Vec<Vec<f64>>) -> Expected {
    Expected::of(solutions.iter().map(|policy| seen.mixed(policy)).collect())
}

#[test]
fn s_ops() {
    for delta in [0.01, 0.2] {
        let config = agent(json!({ "kind": "s_ops", "delta": delta }));
        for case in cases() {
            let went = compare(&config, &case, &mut |seen: &Seen| {
                mixed(seen, lp(&seen.upper(), &seen.cost_lower(), &seen.tau))
            });
            assert!(went.daring > ROUNDS / 4, "{}: {went:?}", case.name);
            assert!(went.ambiguous < ROUNDS / 2, "{}: {went:?}", case.name);
        }
    }
}

struct SColts {
    omega: f64,
    rng: ChaCha8Rng,
}

impl Reference for SColts {
    fn expected(&mut self, seen: &Seen) -> Expected {
        let mut reward = vec![0.0; seen.k];
        let mut costs = vec![vec![0.0; seen.k]; seen.m];
        for a in 0..seen.k {
            let eta: f64 = StandardNormal.sample(&mut self.rng);
            let centre = |s: usize| seen.mean(a, s).unwrap_or(0.5);
            let radius = |s: usize| match seen.n(a) {
                0 => 0.5,
                _ => seen.radius(a, s),
            };
            reward[a] = centre(0) + self.omega * radius(0) * eta;
            for i in 0..seen.m {
                costs[i][a] = if a == seen.safe {
                    seen.known[i].expect("its setting")
                } else {
                    centre(i + 1) - self.omega * radius(i + 1) * eta
                };
            }
        }
        mixed(seen, lp(&reward, &costs, &seen.tau))
    }
}

#[test]
fn s_colts() {
    for omega in [1.0, 0.3] {
        let config = agent(json!({ "kind": "s_colts", "omega": omega }));
        for case in cases() {
            let rng = stream();
            let went = compare(&config, &case, &mut SColts { omega, rng });
            assert!(went.daring > ROUNDS / 4, "{}: {went:?}", case.name);
            assert!(went.ambiguous < ROUNDS / 10, "{}: {went:?}", case.name);
        }
    }
}

/// The policies of the smallest κ for which max { π·(U + κD) : π·u ≤ τ } is worth R̄.
fn least(seen: &Seen, margin: f64) -> Vec<Vec<f64>> {
    let (reward, lower, upper) = (seen.upper(), seen.cost_lower(), seen.cost_upper());
    let bar = lp_value(&reward, &lower, &seen.tau).expect("the safe arm is within");
    let v = |kappa: f64| -> Vec<f64> {
        let arms = 0..seen.k;
        arms.map(|a| reward[a] + kappa * (upper[0][a] - lower[0][a]) / margin)
            .collect()
    };
    let enough = |kappa: f64| {
        lp_value(&v(kappa), &upper, &seen.tau).expect("the anchor is within") >= bar - 1e-13
    };
    lp(&v(bisect(2.0, 0.0, enough)), &upper, &seen.tau)
}

#[test]
fn ma_ops() {
    let mut explored = 0;
    let mut anchored = 0;
    for delta in [0.01, 0.2] {
        let config = agent(json!({ "kind": "ma_ops", "delta": delta }));
        for case in [coins(), narrow(), ranged(), gaussian()] {
            compare_for(2 * ROUNDS, &config, &case, &mut |seen: &Seen| {
                let (tau, lower, upper) = (seen.tau[0], seen.cost_lower(), seen.cost_upper());
                let least_of = |of: &[f64]| of.iter().copied().fold(f64::INFINITY, f64::min);
                let possible = tau - least_of(&lower[0]);
                let certified = tau - least_of(&upper[0]);
                if 2.0 * certified >= possible {
                    anchored += usize::from(upper[0][seen.safe] > tau - certified);
                    return Expected::of(least(seen, certified));
                }
                explored += 1;
                // Arms that tie are decided by rounding.
                let tied = (0..seen.k).filter(|&a| tau - lower[0][a] >= possible - NEAR);
                mixed(seen, tied.map(|a| seen.alone(a)).collect())
            });
        }
    }
    assert!(explored > 100, "{explored}");
    assert!(anchored > 500, "{anchored}");
}
