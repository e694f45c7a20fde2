//! No policy that a blind random search finds may be above the proven bound.
//!
//! The rounds are small and of every kind: costs that are all but certain (so that an action can be
//! beyond its guardrail by more than its length), very uncertain ones, actions without s, twins.

use crate::common;

use banister_solve::{ConeLimits, ConeProblem, ConeSolver, Status};
use common::Rng;

struct Small {
    reward: Vec<f64>,
    along: Vec<f64>,
    across: Vec<f64>,
    dimension: usize,
    costs: Vec<Vec<f64>>,
    cost_radii: Vec<f64>,
    thresholds: Vec<f64>,
    rho: f64,
}

impl Small {
    fn draw(random: &mut Rng) -> Self {
        let (k, p) = (3 + random.below(7), 1 + random.below(4));
        let m = 1 + random.below(3);
        let size = |random: &mut Rng, middle: f64| (random.normal() + middle).exp();
        let reach = if random.unit() < 0.3 {
            0.0
        } else {
            2.0 * random.unit()
        };
        let signed = random.unit() < 0.3;
        let mut along: Vec<f64> = (0..k)
            .map(|_| {
                reach
                    * if signed {
                        random.normal()
                    } else {
                        random.unit()
                    }
            })
            .collect();
        let spread = size(random, 0.0);
        let mut across = vec![0.0; p * k];
        for j in 0..p {
            for a in 1..k {
                across[j * k + a] = spread * random.normal();
            }
        }
        if random.unit() < 0.2 {
            let (a, b) = (1 + random.below(k - 1), 1 + random.below(k - 1));
            along[a] = along[b];
            (0..p).for_each(|j| across[j * k + a] = across[j * k + b]);
        }
        let thresholds: Vec<f64> = (0..m).map(|_| 0.3 + 0.5 * random.unit()).collect();
        let dear = random.unit() < 0.6;
        let cost = |random: &mut Rng, a: usize, tau: f64| match a {
            0 => tau - 0.05 - 0.3 * random.unit(),
            _ if dear => random.unit(),
            _ => 0.5 * random.unit() - 0.3,
        };
        Self {
            reward: (0..k).map(|_| random.unit()).collect(),
            costs: thresholds
                .iter()
                .map(|&tau| (0..k).map(|a| cost(random, a, tau)).collect())
                .collect(),
            cost_radii: (0..m).map(|_| size(random, -1.5)).collect(),
            rho: size(random, 0.0),
            thresholds,
            along,
            across,
            dimension: p,
        }
    }

    fn problem(&self) -> ConeProblem<'_> {
        ConeProblem {
            reward: &self.reward,
            reward_radius: self.rho,
            along: &self.along,
            across: &self.across,
            stride: self.reward.len(),
            dimension: self.dimension,
            costs: &self.costs,
            cost_radii: &self.cost_radii,
            thresholds: &self.thresholds,
            safe: 0,
        }
    }

    /// The objective, if the policy keeps every guardrail.
    fn value(&self, policy: &[f64]) -> Option<f64> {
        let k = self.reward.len();
        let mean = |row: &[f64]| -> f64 { row.iter().zip(policy).map(|(x, p)| x * p).sum() };
        let square: f64 = (0..self.dimension)
            .map(|j| mean(&self.across[j * k..(j + 1) * k]).powi(2))
            .sum();
        let kept = (0..self.costs.len()).all(|i| {
            mean(&self.costs[i]) + self.cost_radii[i] * square.sqrt() <= self.thresholds[i]
        });
        let s = mean(&self.along);
        kept.then(|| mean(&self.reward) + self.rho * (s * s + square).sqrt())
    }

    /// The policy, mixed with as much of the safe action as it needs.
    fn retreat(&self, policy: &[f64]) -> Vec<f64> {
        let mixed = |share: f64| {
            let mut mixed: Vec<f64> = policy.iter().map(|p| share * p).collect();
            mixed[0] += 1.0 - share;
            mixed
        };
        if self.value(policy).is_some() {
            return policy.to_vec();
        }
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            match self.value(&mixed(middle)) {
                Some(_) => low = middle,
                None => high = middle,
            }
        }
        mixed(low)
    }

    /// The best of many climbs by random moves of mass.
    fn search(&self, random: &mut Rng, climbs: usize) -> f64 {
        let k = self.reward.len();
        let mut best = f64::NEG_INFINITY;
        for _ in 0..climbs {
            let mut policy = vec![0.0; k];
            // As many actions as there are guardrails, and one more.
            let mut rest = 1.0;
            for _ in 0..self.costs.len() {
                let share = rest * random.unit();
                policy[random.below(k)] += share;
                rest -= share;
            }
            policy[random.below(k)] += rest;
            let mut policy = self.retreat(&policy);
            let Some(mut value) = self.value(&policy) else {
                continue;
            };
            let mut step: f64 = 0.5;
            for _ in 0..120 {
                let mut moved = policy.clone();
                for _ in 0..1 + random.below(1 + self.costs.len()) {
                    let (from, to) = (random.below(k), random.below(k));
                    let mass = (step * random.unit()).min(moved[from]);
                    moved[from] -= mass;
                    moved[to] += mass;
                }
                let moved = self.retreat(&moved);
                match self.value(&moved) {
                    Some(better) if better > value => (policy, value) = (moved, better),
                    _ => step *= 0.97,
                }
            }
            best = best.max(value);
        }
        best
    }
}

#[test]
fn a_blind_search_finds_nothing_above_the_bound() {
    let random = &mut Rng::new(2024);
    let mut solver = ConeSolver::default();
    let (mut certified, mut beyond, rounds) = (0, 0, 2500);
    for round in 0..rounds {
        let small = Small::draw(random);
        let mut limits = ConeLimits {
            relative_gap: [1e-3, 1e-5][round % 2],
            ..ConeLimits::default()
        };
        let solution = solver.solve(&small.problem(), &mut limits).clone();
        let best = small.search(random, 25);
        let bound = solution.upper_bound;
        assert!(
            best <= bound + 1e-9 * (1.0 + bound.abs()),
            "round {round}: {best} found, {bound} proven, {:?}",
            solution.support
        );
        certified += u32::from(solution.status == Status::Optimal);
        beyond += u32::from(best > solution.value + 1e-3 * (1.0 + bound.abs()));
    }
    assert!(certified > 2475, "{certified} of {rounds} certified");
    assert!(
        beyond < 5,
        "{beyond} policies are well below what a search finds"
    );
}
