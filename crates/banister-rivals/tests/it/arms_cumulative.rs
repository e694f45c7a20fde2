//! The rivals that keep guardrails over many rounds only, against their pseudo-code.

use crate::arms_reference;
use crate::common::player::Inspect as _;

use arms_reference::*;
use banister_rivals::AgentConfig;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Beta, Distribution, Normal, StandardUniform};
use serde_json::json;

/// A case without declared safe costs.
fn unknown(mut case: Case) -> Case {
    for guardrail in &mut case.problem.guardrails {
        guardrail.safe_cost = None;
    }
    case
}

#[test]
fn doslb() {
    for delta in [0.01, 0.2] {
        let config = agent(json!({ "kind": "doslb", "delta": delta }));
        let unknown = cases().into_iter().map(unknown).chain([torn()]);
        for case in cases().into_iter().chain(unknown) {
            let went = compare(&config, &case, &mut |seen: &Seen| {
                Expected::program(seen.upper(), seen.cost_lower(), seen.tau.clone())
            });
            assert!(went.ambiguous < ROUNDS / 2, "{}: {went:?}", case.name);
        }
    }
}

#[test]
fn r_colts() {
    let mut infeasible = 0;
    for (omega, draws) in [(1.0, None), (0.3, Some(2))] {
        let config = agent(json!({ "kind": "r_colts", "omega": omega, "draws_per_round": draws }));
        let unknown = [unknown(coins()), unknown(two()), torn()];
        for case in cases().into_iter().chain(unknown) {
            let mut rng = stream();
            let went = compare_for(ROUNDS / 2, &config, &case, &mut |seen: &Seen| {
                // ln(1/0.01) = 4.6.
                let draws = (0..draws.unwrap_or(5)).map(|_| coupled(seen, omega, &mut rng));
                let valued = draws.map(|(reward, costs)| {
                    let value = lp_value(&reward, &costs, &seen.tau);
                    (value.unwrap_or(f64::NEG_INFINITY), reward, costs)
                });
                let all: Vec<_> = valued.collect();
                let most = all
                    .iter()
                    .map(|one| one.0)
                    .fold(f64::NEG_INFINITY, f64::max);
                // The first of those that are worth the same: a reward that was always 1 does not move.
                let best = all.into_iter().find(|one| one.0 >= most - 1e-9);
                let (_, reward, costs) = best.expect("some draw");
                Expected::program(reward, costs, seen.tau.clone())
            });
            infeasible += went.infeasible;
        }
    }
    assert!(infeasible > 0, "a draw without a policy must come up");
}

fn posterior(seen: &Seen, arm: usize, signal: usize, rng: &mut ChaCha8Rng) -> f64 {
    let (n, sum) = (seen.n(arm) as f64, seen.sum(arm, signal));
    match seen.noise[signal] {
        None => Beta::new(1.0 + sum, 1.0 + (n - sum))
            .expect("at least 1")
            .sample(rng),
        Some(_) if n == 0.0 => StandardUniform.sample(rng),
        Some(r) => Normal::new(sum / n, r / n.sqrt())
            .expect("finite")
            .sample(rng),
    }
}

#[test]
fn lin_con_ts() {
    let config = agent(json!({ "kind": "lin_con_ts" }));
    let mut infeasible = 0;
    for case in cases().into_iter().chain([unknown(two()), torn()]) {
        let mut rng = stream();
        let went = compare(&config, &case, &mut |seen: &Seen| {
            let mut reward = vec![0.0; seen.k];
            let mut costs = vec![vec![0.0; seen.k]; seen.m];
            for a in 0..seen.k {
                reward[a] = posterior(seen, a, 0, &mut rng);
                for i in 0..seen.m {
                    costs[i][a] = posterior(seen, a, i + 1, &mut rng);
                }
            }
            Expected::program(reward, costs, seen.tau.clone())
        });
        assert!(went.ambiguous < ROUNDS / 10, "{}: {went:?}", case.name);
        infeasible += went.infeasible;
    }
    assert!(
        infeasible > 0,
        "the cases must have rounds without a policy"
    );
}

#[test]
fn lin_con_kl_ucb() {
    let config = agent(json!({ "kind": "lin_con_kl_ucb" }));
    for case in cases().into_iter().chain([unknown(two()), torn()]) {
        let went = compare(&config, &case, &mut |seen: &Seen| {
            let level = (seen.t().max(1) as f64).ln();
            let bound = |a: usize, s: usize, sign: f64, before: f64| match seen.mean(a, s) {
                None => before,
                Some(mean) => {
                    let level = level / seen.n(a) as f64;
                    match seen.noise[s] {
                        None if sign > 0.0 => kl_up(mean, level),
                        None => kl_down(mean, level),
                        Some(r) => mean + sign * r * (2.0 * level).sqrt(),
                    }
                }
            };
            let reward = (0..seen.k).map(|a| bound(a, 0, 1.0, 1.0)).collect();
            let row = |i: usize| (0..seen.k).map(|a| bound(a, i + 1, -1.0, 0.0)).collect();
            Expected::program(reward, (0..seen.m).map(row).collect(), seen.tau.clone())
        });
        assert!(went.ambiguous < ROUNDS / 2, "{}: {went:?}", case.name);
    }
}

#[test]
fn without_a_policy_all_arms_are_played_alike() {
    let mut case = coins();
    case.problem.guardrails[0].safe_cost = None;
    for kind in ["lin_con_ts", "lin_con_kl_ucb"] {
        let config = agent(json!({ "kind": kind }));
        let mut agent = config.build(&case.problem).expect("its setting");
        for arm in 0..4 {
            for _ in 0..300 {
                agent.observe_arm(arm, 0.5, &[0.9]).expect("in range");
            }
        }
        let decision = agent.decide_arms();
        assert_eq!(
            decision.policy,
            [(0, 0.25), (1, 0.25), (2, 0.25), (3, 0.25)]
        );
        assert_eq!(
            serde_json::to_value(decision).expect("plain")["solver"]["status"],
            "infeasible"
        );
        // All rewards are 1/2, and so is every policy's; the intervals are as wide.
        assert!(decision.optimistic_reward >= 0.5 && decision.optimistic_reward <= 1.0);
    }
}

/// ĉ: known of the safe arm, else the mean, 0 before the first outcome.
fn estimate(seen: &Seen, arm: usize, i: usize) -> f64 {
    match seen.known[i] {
        Some(known) if arm == seen.safe => known,
        _ => seen.mean(arm, i + 1).unwrap_or(0.0),
    }
}

struct PessimisticOptimistic {
    margin: f64,
    reward_weight: f64,
    tightening: f64,
    queues: Vec<f64>,
}

impl Reference for PessimisticOptimistic {
    fn expected(&mut self, seen: &Seen) -> Expected {
        let (m, t) = (seen.m as f64, seen.t() as f64 + 1.0);
        let v = self.margin * m.powf(0.25) * (self.reward_weight * t).sqrt();
        let upper = seen.upper();
        let index = |a: usize| {
            let priced = (0..seen.m).map(|i| self.queues[i] * estimate(seen, a, i));
            upper[a] - priced.sum::<f64>() / v
        };
        seen.best(&(0..seen.k).map(index).collect::<Vec<f64>>())
    }

    fn learn(&mut self, seen: &Seen, arm: usize, _: &[f64]) {
        let (m, t) = (seen.m as f64, seen.t() as f64 + 1.0);
        let epsilon = m.powf(0.75) * (self.tightening / t).sqrt();
        for i in 0..seen.m {
            let moved = self.queues[i] + estimate(seen, arm, i) - seen.tau[i] + epsilon;
            self.queues[i] = moved.max(0.0);
        }
    }
}

#[test]
fn pessimistic_optimistic() {
    for case in cases() {
        let seen = Seen::new(&case.problem, DELTA);
        let margins = (0..seen.m).map(|i| seen.tau[i] - seen.known[i].expect("declared"));
        let margin = margins.fold(f64::INFINITY, f64::min);
        let mut reference = PessimisticOptimistic {
            margin,
            reward_weight: 2.0 / 3.0,
            tightening: 6.0,
            queues: vec![0.0; seen.m],
        };
        let config = agent(json!({ "kind": "pessimistic_optimistic" }));
        compare(&config, &case, &mut reference);
    }
    // With a margin of one's own no safe cost is needed.
    for case in cases().into_iter().map(unknown) {
        let mut reference = PessimisticOptimistic {
            margin: 0.3,
            reward_weight: 2.0,
            tightening: 0.5,
            queues: vec![0.0; case.problem.guardrails.len()],
        };
        let config = agent(json!({
            "kind": "pessimistic_optimistic", "margin": 0.3, "reward_weight": 2.0, "tightening": 0.5,
            "delta": 0.1,
        }));
        compare(&config, &case, &mut reference);
    }
}

#[test]
fn conservative_ucb() {
    for delta in [0.01, 0.2] {
        let config = agent(json!({ "kind": "conservative_ucb", "delta": delta }));
        for case in cases() {
            let (mut held, mut free) = (0, 0);
            compare(&config, &case, &mut |seen: &Seen| {
                let (reward, upper) = (seen.upper(), seen.cost_upper());
                let mut policies = Vec::new();
                // Arms that tie, and budgets that are met exactly, are decided by rounding.
                for candidate in seen.best(&reward).policies {
                    let left = (0..seen.m).map(|i| {
                        let arms = 0..seen.k;
                        let spent: f64 = arms.map(|a| seen.n(a) as f64 * upper[i][a]).sum();
                        let budget = seen.tau[i] * (seen.t() as f64 + 1.0);
                        budget - spent - dot(&candidate, &upper[i])
                    });
                    let left = left.fold(f64::INFINITY, f64::min);
                    if left >= -NEAR {
                        policies.push(candidate);
                    }
                    if left < NEAR {
                        policies.push(seen.alone(seen.safe));
                    }
                    held += usize::from(left < -NEAR);
                    free += usize::from(left > NEAR);
                }
                Expected::of(policies)
            });
            assert!(held > 50 && free > 50, "{}: {held}, {free}", case.name);
        }
    }
}

/// Budgets not yet spent.
struct Budget {
    horizon: usize,
    spent: Vec<f64>,
    over: bool,
}

impl Budget {
    fn new(case: &Case, horizon: usize) -> Self {
        Self {
            horizon,
            spent: vec![0.0; case.problem.guardrails.len()],
            over: false,
        }
    }

    fn limit(&self, seen: &Seen, i: usize) -> f64 {
        seen.tau[i] * self.horizon as f64
    }

    fn smallest(&self, seen: &Seen) -> f64 {
        let limits = (0..seen.m).map(|i| self.limit(seen, i));
        limits.fold(self.horizon as f64, f64::min)
    }

    fn spend(&mut self, seen: &Seen, signals: &[f64]) {
        for i in 0..seen.m {
            self.spent[i] += signals[i + 1];
            // What the safe arm costs in all rounds that are left, if it is known.
            let left = self.horizon.saturating_sub(seen.t() + 1) as f64;
            let reserved = left * seen.known[i].unwrap_or(0.0);
            self.over |= self.spent[i] + reserved >= self.limit(seen, i);
        }
    }

    fn is_over(&self, seen: &Seen) -> bool {
        self.over || seen.t() >= self.horizon
    }
}

struct UcbBwk {
    epsilon: Option<f64>,
    budget: Budget,
    stopped_early: usize,
}

impl Reference for UcbBwk {
    fn expected(&mut self, seen: &Seen) -> Expected {
        let safe = || Expected::of(vec![seen.alone(seen.safe)]);
        if self.budget.is_over(seen) {
            self.stopped_early += usize::from(seen.t() < self.budget.horizon);
            return safe();
        }
        let epsilon = self.epsilon.unwrap_or_else(|| {
            let log = (self.budget.horizon as f64).ln();
            (seen.k as f64 * log / self.budget.smallest(seen))
                .sqrt()
                .min(0.5)
        });
        let tau: Vec<f64> = seen.tau.iter().map(|t| (1.0 - epsilon) * t).collect();
        let expected = Expected::program(seen.upper(), seen.cost_lower(), tau);
        if expected.infeasible {
            safe()
        } else {
            expected
        }
    }

    fn learn(&mut self, seen: &Seen, _: usize, signals: &[f64]) {
        self.budget.spend(seen, signals);
    }
}

#[test]
fn ucb_bwk() {
    let mut stopped_early = 0;
    for epsilon in [None, Some(0.0), Some(0.3)] {
        for case in cases().into_iter().chain(cases().into_iter().map(unknown)) {
            let horizon = 1200;
            let mut reference = UcbBwk {
                epsilon,
                budget: Budget::new(&case, horizon),
                stopped_early: 0,
            };
            let config = json!({ "kind": "ucb_bwk", "horizon": horizon, "epsilon": epsilon });
            compare(&agent(config), &case, &mut reference);
            stopped_early += reference.stopped_early;
        }
    }
    assert!(stopped_early > 0, "some budget must run out");
}

struct PrimalDualBwk {
    epsilon: Option<f64>,
    budget: Budget,
    /// v, time last.
    prices: Vec<f64>,
    stopped_early: usize,
}

impl PrimalDualBwk {
    fn consumption(&self, seen: &Seen, arm: usize) -> Vec<f64> {
        let b = self.budget.smallest(seen);
        let lower = seen.cost_lower();
        let costs = (0..seen.m).map(|i| lower[i][arm] * b / self.budget.limit(seen, i));
        costs.chain([b / self.budget.horizon as f64]).collect()
    }
}

impl Reference for PrimalDualBwk {
    fn expected(&mut self, seen: &Seen) -> Expected {
        if self.budget.is_over(seen) {
            self.stopped_early += usize::from(seen.t() < self.budget.horizon);
            return Expected::of(vec![seen.alone(seen.safe)]);
        }
        let upper = seen.upper();
        let ratio = |a: usize| upper[a] / dot(&self.prices, &self.consumption(seen, a));
        // Prices grow without end; only their ratios matter.
        let ratios: Vec<f64> = (0..seen.k).map(ratio).collect();
        let most = ratios.iter().copied().fold(0.0, f64::max);
        seen.best(&ratios.iter().map(|r| r / most).collect::<Vec<f64>>())
    }

    fn learn(&mut self, seen: &Seen, arm: usize, signals: &[f64]) {
        let resources = seen.m as f64 + 1.0;
        let b = self.budget.smallest(seen);
        let epsilon = self.epsilon.unwrap_or((resources.ln() / b).sqrt());
        let consumption = self.consumption(seen, arm);
        for (price, used) in self.prices.iter_mut().zip(consumption) {
            *price *= (1.0 + epsilon).powf(used);
        }
        self.budget.spend(seen, signals);
    }
}

impl PrimalDualBwk {
    fn new(case: &Case, horizon: usize, epsilon: Option<f64>) -> Self {
        Self {
            epsilon,
            budget: Budget::new(case, horizon),
            prices: vec![1.0; case.problem.guardrails.len() + 1],
            stopped_early: 0,
        }
    }
}

#[test]
fn primal_dual_bwk() {
    let mut stopped_early = 0;
    for epsilon in [None, Some(0.002)] {
        for case in cases().into_iter().chain(cases().into_iter().map(unknown)) {
            let horizon = 1200;
            let mut reference = PrimalDualBwk::new(&case, horizon, epsilon);
            let config =
                json!({ "kind": "primal_dual_bwk", "horizon": horizon, "epsilon": epsilon });
            compare(&agent(config), &case, &mut reference);
            stopped_early += reference.stopped_early;
        }
    }
    assert!(stopped_early > 0, "some budget must run out");
}

struct LagrangeBwk {
    exploration: Option<f64>,
    epsilon: Option<f64>,
    budget: Budget,
    /// w of EXP3.P.
    weights: Vec<f64>,
    /// v of Hedge, time last.
    prices: Vec<f64>,
    stopped_early: usize,
}

impl LagrangeBwk {
    fn exploration(&self, seen: &Seen) -> f64 {
        let (k, t) = (seen.k as f64, self.budget.horizon as f64);
        let own = 2.0 * (3.0 / 5.0 * k * k.ln() / t).sqrt();
        self.exploration.unwrap_or(own.min(3.0 / 5.0))
    }

    fn policy(&self, seen: &Seen) -> Vec<f64> {
        let gamma = self.exploration(seen);
        let total: f64 = self.weights.iter().sum();
        let weights = self.weights.iter();
        weights
            .map(|w| (1.0 - gamma) * w / total + gamma / seen.k as f64)
            .collect()
    }
}

impl Reference for LagrangeBwk {
    fn expected(&mut self, seen: &Seen) -> Expected {
        if self.budget.is_over(seen) {
            self.stopped_early += usize::from(seen.t() < self.budget.horizon);
            return Expected::of(vec![seen.alone(seen.safe)]);
        }
        Expected::of(vec![self.policy(seen)])
    }

    fn learn(&mut self, seen: &Seen, arm: usize, signals: &[f64]) {
        if !self.budget.is_over(seen) {
            let (k, t) = (seen.k as f64, self.budget.horizon as f64);
            let b = self.budget.smallest(seen);
            // All budgets rescaled to B, time too.
            let mut consumed: Vec<f64> = (0..seen.m)
                .map(|i| signals[i + 1] * b / self.budget.limit(seen, i))
                .collect();
            consumed.push(b / t);
            let payoffs = consumed.iter().map(|c| signals[0] + 1.0 - t / b * c);
            let (low, high) = (1.0 - t / b, 2.0);
            let scaled: Vec<f64> = payoffs.map(|l| (l - low) / (high - low)).collect();
            let total: f64 = self.prices.iter().sum();
            let told = dot(&self.prices, &scaled) / total;
            let resources = seen.m as f64 + 1.0;
            let epsilon = self.epsilon.unwrap_or((8.0 * resources.ln() / t).sqrt());
            for (price, payoff) in self.prices.iter_mut().zip(&scaled) {
                *price *= (-epsilon * payoff).exp();
            }
            let gamma = self.exploration(seen);
            let alpha = 2.0 * (k * t / DELTA).ln().sqrt();
            for (a, p) in self.policy(seen).into_iter().enumerate() {
                let estimate = if a == arm { told / p } else { 0.0 };
                let bonus = alpha / (p * (k * t).sqrt());
                self.weights[a] *= (gamma / (3.0 * k) * (estimate + bonus)).exp();
            }
        }
        self.budget.spend(seen, signals);
    }
}

#[test]
fn lagrange_bwk() {
    let mut stopped_early = 0;
    for (exploration, epsilon) in [(None, None), (Some(0.1), Some(0.5))] {
        for case in cases().into_iter().chain(cases().into_iter().map(unknown)) {
            let horizon = 600;
            let mut reference = LagrangeBwk {
                exploration,
                epsilon,
                budget: Budget::new(&case, horizon),
                weights: vec![1.0; case.problem.arms.len()],
                prices: vec![1.0; case.problem.guardrails.len() + 1],
                stopped_early: 0,
            };
            let config = json!({
                "kind": "lagrange_bwk",
                "horizon": horizon,
                "exploration": exploration,
                "epsilon": epsilon,
            });
            compare_for(ROUNDS / 2, &agent(config), &case, &mut reference);
            stopped_early += reference.stopped_early;
        }
    }
    assert!(stopped_early > 0, "some budget must run out");
}

/// Realised costs under the first guardrail of what an agent draws, and Σ π_a·`means`_a of its policies.
fn costs(config: &AgentConfig, case: &Case, rounds: usize, means: &[f64]) -> Vec<(f64, f64)> {
    let mut agent = config.build(&case.problem).expect("its setting");
    let mut uniform = crate::common::Random::new(5);
    let round = |t: usize| {
        let decision = agent.decide_arms();
        let expected = decision.policy.iter().map(|&(a, p)| p * means[a]).sum();
        let arm = decision.draw(uniform.unit());
        let outcome = &case.table[t][arm];
        agent
            .observe_arm(arm, outcome[0], &outcome[1..])
            .expect("in range");
        (outcome[1], expected)
    };
    (0..rounds).map(round).collect()
}

#[test]
fn budgets_of_knapsacks_are_kept() {
    for kind in ["ucb_bwk", "primal_dual_bwk", "lagrange_bwk"] {
        for case in [coins(), narrow()] {
            let rounds = 2 * ROUNDS;
            let config = agent(json!({ "kind": kind, "horizon": rounds }));
            let all = costs(&config, &case, rounds, &[0.0; 4]);
            let spent: f64 = all.iter().map(|c| c.0).sum();
            // The safe arm's cost is random too in `narrow`: a few standard deviations of its sum.
            let bound = case.problem.guardrails[0].at_most.expect("declared") * rounds as f64;
            assert!(spent <= bound + 100.0, "{kind}, {}: {spent}", case.name);
            // Not by playing it safe from the start.
            let safe = case.problem.guardrails[0].safe_cost.expect("declared");
            assert!(spent > (safe + 0.02) * rounds as f64, "{kind}: {spent}");
        }
    }
}

#[test]
fn violations_of_r_colts_become_rarer() {
    let config = agent(json!({ "kind": "r_colts", "omega": 0.3 }));
    let all = costs(
        &config,
        &unknown(coins()),
        2 * ROUNDS,
        &[0.0, 0.4, 0.5, 0.2],
    );
    let beyond = |part: &[(f64, f64)]| part.iter().map(|c| (c.1 - 0.2).max(0.0)).sum::<f64>();
    let (first, last) = (beyond(&all[..ROUNDS]), beyond(&all[ROUNDS..]));
    assert!(first > 5.0, "it must pay for what it learns: {first}");
    // √T would be 0.41.
    assert!(last < 0.6 * first, "{first}, then {last}");
}
