//! Parts of the rivals' references: tables of outcomes, plain lists of observations, bounds
//! by bisection, programs by trying every vertex. Slow, and with nothing from the crate but its public face.

// Every test file uses a part of this.
#![allow(dead_code)]

use crate::common::player::Inspect as _;
use crate::common::verbs::Verbs as _;
use banister::interval::Mixture;
use banister::solve::Status;
use banister::{Guardrail, Problem, Registry as _, SignalConfig};
use banister_rivals::AgentConfig;

use crate::common::Random;

/// Rounds of a comparison.
pub const ROUNDS: usize = 1500;
/// Tolerance between probabilities.
pub const NEAR: f64 = 1e-9;
/// δ of all agents' intervals, by default.
pub const DELTA: f64 = 0.01;

/// A problem and what every arm would give in every round.
pub struct Case {
    pub name: &'static str,
    pub problem: Problem,
    /// By round and arm: the reward, then the costs, in the user's units.
    pub table: Vec<Vec<Vec<f64>>>,
}

#[derive(Clone, Copy)]
enum Law {
    /// 0 or 1 with the given mean.
    Coin,
    /// Uniform around the mean, so far to either side.
    Spread(f64),
    /// Normal around the mean.
    Normal(f64),
}

/// `means` by signal, the reward first, and arm.
fn table(seed: u64, means: &[&[f64]], laws: &[Law]) -> Vec<Vec<Vec<f64>>> {
    let mut random = Random::new(seed);
    let mut draw = |law: Law, mean: f64| match law {
        Law::Coin => random.bernoulli(mean),
        Law::Spread(width) => mean + width * (2.0 * random.unit() - 1.0),
        Law::Normal(sd) => mean + sd * random.normal(),
    };
    let rounds = 0..2 * ROUNDS;
    let arms = means[0].len();
    let mut arm = |a: usize| -> Vec<f64> {
        let signals = means.iter().zip(laws);
        signals.map(|(row, &law)| draw(law, row[a])).collect()
    };
    rounds.map(|_| (0..arms).map(&mut arm).collect()).collect()
}

fn declare(arms: usize, safe: usize, reward: SignalConfig, guardrails: Vec<Guardrail>) -> Problem {
    Problem {
        arms: (0..arms).map(|a| format!("arm {a}")).collect(),
        safe,
        reward,
        guardrails,
        ..Problem::default()
    }
}

/// Coins, one guardrail: the paper's instance.
pub fn coins() -> Case {
    Case {
        name: "coins",
        problem: declare(
            4,
            0,
            SignalConfig::default(),
            vec![Guardrail {
                name: "cost".into(),
                at_most: Some(0.2),
                safe_cost: Some(0.0),
                ..Guardrail::default()
            }],
        ),
        table: table(
            11,
            &[&[0.1, 0.2, 0.4, 0.7], &[0.0, 0.4, 0.5, 0.2]],
            &[Law::Coin, Law::Coin],
        ),
    }
}

/// Coins, a safe arm near its threshold, and one arm with a large margin.
pub fn narrow() -> Case {
    narrow_with(12)
}

pub fn narrow_with(seed: u64) -> Case {
    Case {
        name: "narrow",
        problem: declare(
            4,
            1,
            SignalConfig::default(),
            vec![Guardrail {
                name: "cost".into(),
                at_most: Some(0.6),
                safe_cost: Some(0.45),
                ..Guardrail::default()
            }],
        ),
        table: table(
            seed,
            &[&[0.9, 0.3, 0.5, 0.2], &[0.8, 0.45, 0.05, 0.6]],
            &[Law::Coin, Law::Coin],
        ),
    }
}

/// Coins, two guardrails, one of them `at_least`.
pub fn two() -> Case {
    Case {
        name: "two guardrails",
        problem: declare(
            5,
            2,
            SignalConfig::default(),
            vec![
                Guardrail {
                    name: "complaints".into(),
                    at_most: Some(0.35),
                    safe_cost: Some(0.1),
                    ..Guardrail::default()
                },
                Guardrail {
                    name: "returns".into(),
                    at_least: Some(0.5),
                    safe_cost: Some(0.8),
                    ..Guardrail::default()
                },
            ],
        ),
        table: table(
            13,
            &[
                &[0.4, 0.9, 0.2, 0.7, 0.5],
                &[0.2, 0.7, 0.1, 0.3, 0.6],
                &[0.6, 0.5, 0.8, 0.2, 0.9],
            ],
            &[Law::Coin; 3],
        ),
    }
}

/// Coins, two guardrails, and no arm that keeps both: only mixtures do. No safe cost is declared.
pub fn torn() -> Case {
    let guardrail = |name: &str| Guardrail {
        name: name.into(),
        at_most: Some(0.6),
        ..Guardrail::default()
    };
    Case {
        name: "torn",
        problem: declare(
            3,
            0,
            SignalConfig::default(),
            vec![guardrail("left"), guardrail("right")],
        ),
        table: table(
            16,
            &[&[0.3, 0.6, 0.9], &[0.9, 0.1, 0.8], &[0.1, 0.9, 0.8]],
            &[Law::Coin; 3],
        ),
    }
}

/// Signals with ranges of their own, and a guardrail that is `at_least`.
pub fn ranged() -> Case {
    Case {
        name: "ranges",
        problem: declare(
            4,
            3,
            SignalConfig {
                range: Some([-2.0, 3.0].into()),
                ..SignalConfig::default()
            },
            vec![Guardrail {
                name: "stars".into(),
                at_least: Some(5.0),
                safe_cost: Some(8.0),
                signal: SignalConfig {
                    range: Some([0.0, 10.0].into()),
                    ..SignalConfig::default()
                },
                ..Guardrail::default()
            }],
        ),
        table: table(
            14,
            &[&[0.5, 1.7, 2.0, -0.5], &[6.0, 3.0, 4.0, 8.0]],
            &[Law::Spread(1.0), Law::Spread(2.0)],
        ),
    }
}

/// Sub-Gaussian signals.
pub fn gaussian() -> Case {
    let noisy = |r| SignalConfig {
        sub_gaussian: Some(r),
        ..SignalConfig::default()
    };
    Case {
        name: "sub-Gaussian",
        problem: declare(
            4,
            0,
            noisy(0.3),
            vec![Guardrail {
                name: "cost".into(),
                at_most: Some(0.5),
                safe_cost: Some(0.2),
                signal: SignalConfig {
                    sub_gaussian: Some(0.2),
                    ..SignalConfig::default()
                },
                ..Guardrail::default()
            }],
        ),
        table: table(
            15,
            &[&[0.2, 0.8, 0.5, 0.6], &[0.2, 0.7, 0.3, 0.55]],
            &[Law::Normal(0.3), Law::Normal(0.2)],
        ),
    }
}

/// Little noise, two guardrails: a safe arm near both thresholds, and two arms that only together have a large
/// margin.
pub fn opposed() -> Case {
    opposed_with(17)
}

pub fn opposed_with(seed: u64) -> Case {
    let quiet = |name: &str| Guardrail {
        name: name.into(),
        at_most: Some(0.6),
        safe_cost: Some(0.55),
        signal: SignalConfig {
            sub_gaussian: Some(0.05),
            ..SignalConfig::default()
        },
        ..Guardrail::default()
    };
    Case {
        name: "opposed",
        problem: declare(
            3,
            0,
            SignalConfig::default(),
            vec![quiet("left"), quiet("right")],
        ),
        table: table(
            seed,
            &[&[0.3, 0.6, 0.8], &[0.55, 0.8, 0.1], &[0.55, 0.1, 0.8]],
            &[Law::Coin, Law::Normal(0.05), Law::Normal(0.05)],
        ),
    }
}

/// All that have a safe arm of known costs and an arm with a margin of its own.
pub fn cases() -> Vec<Case> {
    vec![coins(), narrow(), two(), ranged(), gaussian()]
}

/// Data of a reference: the problem in standard units, and every outcome so far.
pub struct Seen {
    pub k: usize,
    pub m: usize,
    pub safe: usize,
    /// τ.
    pub tau: Vec<f64>,
    /// The safe arm's costs, where declared.
    pub known: Vec<Option<f64>>,
    /// By signal: R in standard units where it is sub-Gaussian.
    pub noise: Vec<Option<f64>>,
    /// Arm and standard signals of every outcome.
    pub past: Vec<(usize, Vec<f64>)>,
    delta: f64,
    /// By signal: the ends of the user's range as they map to 0 and 1.
    ends: Vec<(f64, f64)>,
    /// By arm and signal: the intervals computed so far, each alone, with the count of outcomes.
    intervals: Vec<Vec<Vec<Computed>>>,
}

/// Outcomes, and the interval computed after them.
type Computed = (usize, (f64, f64));

/// True if intervals are computed after n outcomes of an arm: after each of the first 200, then in steps of
/// half a percent.
fn is_due(n: usize) -> bool {
    let mut due = 0;
    while due < n {
        due += if due < 200 { 1 } else { (due / 200).max(1) };
    }
    due == n
}

/// Share of a budget of the arm at place j, with k arms declared.
fn share(j: usize, k: usize) -> f64 {
    let (j, k0) = (j as f64, k.min(8) as f64);
    let declared = if j <= k as f64 { 0.5 / k as f64 } else { 0.0 };
    declared + 0.5 * (k0 + 1.0) / ((j + k0) * (j + k0 + 1.0))
}

impl Seen {
    pub fn new(problem: &Problem, delta: f64) -> Self {
        let (k, m) = (problem.arms.len(), problem.guardrails.len());
        let [lo, hi] = problem.reward.hull();
        let mut ends = vec![(lo, hi)];
        let mut noise = vec![problem.reward.sub_gaussian.map(|r| r / (hi - lo))];
        let (mut tau, mut known) = (Vec::new(), Vec::new());
        for g in &problem.guardrails {
            let [lo, hi] = g.signal.hull();
            let (zero, one, bound) = match (g.at_most, g.at_least) {
                (Some(bound), _) => (lo, hi, bound),
                (_, Some(bound)) => (hi, lo, bound),
                _ => unreachable!("a guardrail has a bound"),
            };
            let standard = |x: f64| (x - zero) / (one - zero);
            ends.push((zero, one));
            noise.push(g.signal.sub_gaussian.map(|r| r / (hi - lo)));
            tau.push(standard(bound));
            known.push(g.safe_cost.map(standard));
        }
        Self {
            k,
            m,
            safe: problem.safe,
            tau,
            known,
            noise,
            past: Vec::new(),
            delta,
            ends,
            intervals: vec![vec![Vec::new(); m + 1]; k],
        }
    }

    fn standard(&self, outcome: &[f64]) -> Vec<f64> {
        let ends = self.ends.iter().zip(outcome);
        ends.map(|(&(zero, one), x)| (x - zero) / (one - zero))
            .collect()
    }

    fn push(&mut self, arm: usize, outcome: &[f64]) {
        let standard = self.standard(outcome);
        self.past.push((arm, standard));
        if !is_due(self.n(arm)) {
            return;
        }
        for signal in 0..=self.m {
            let mean = self.mean(arm, signal).expect("just seen");
            let (optimism, safety) = self.levels(arm);
            let log_upper = if signal == 0 { optimism } else { safety };
            let own = match self.noise[signal] {
                None => {
                    let mut mixture = Mixture::default();
                    let past = self.past.iter().filter(|o| o.0 == arm);
                    past.for_each(|o| mixture.push(o.1[signal]));
                    (mixture.lower(optimism, 0.0), mixture.upper(log_upper, 1.0))
                }
                Some(_) => {
                    let clip = |x: f64| x.clamp(0.0, 1.0);
                    let radius = |level: f64| self.radius_at(arm, signal, level);
                    (
                        clip(mean - radius(optimism)),
                        clip(mean + radius(log_upper)),
                    )
                }
            };
            let n = self.n(arm);
            self.intervals[arm][signal].push((n, own));
        }
    }

    /// t.
    pub fn t(&self) -> usize {
        self.past.len()
    }

    pub fn n(&self, arm: usize) -> usize {
        self.past.iter().filter(|o| o.0 == arm).count()
    }

    pub fn sum(&self, arm: usize, signal: usize) -> f64 {
        let own = self.past.iter().filter(|o| o.0 == arm);
        own.map(|o| o.1[signal]).sum()
    }

    pub fn mean(&self, arm: usize, signal: usize) -> Option<f64> {
        let n = self.n(arm);
        (n > 0).then(|| self.sum(arm, signal) / n as f64)
    }

    /// R of a signal.
    pub fn r(&self, signal: usize) -> f64 {
        self.noise[signal].unwrap_or(0.5)
    }

    /// Half the width of the `subgaussian` interval of an arm that was pulled, ρ = 1.
    fn radius_at(&self, arm: usize, signal: usize, log_level: f64) -> f64 {
        let n = self.n(arm) as f64;
        self.r(signal) * ((n + 1.0) * ((n + 1.0).ln() + 2.0 * log_level)).sqrt() / n
    }

    /// ln(1/δ_s) of an arm's bounds that serve optimism, and of those that serve safety: by the order of
    /// first pulls.
    fn levels(&self, arm: usize) -> (f64, f64) {
        let mut order: Vec<usize> = Vec::new();
        for (other, _) in &self.past {
            if !order.contains(other) {
                order.push(*other);
            }
        }
        let place = |order: &[usize]| 1 + order.iter().position(|&a| a == arm).expect("pulled");
        let unknown = self.known.iter().filter(|c| c.is_none()).count();
        let ends = if arm == self.safe { unknown } else { self.m };
        let optimism = 0.1 * share(place(&order), self.k) / (1 + ends) as f64;
        if ends == 0 {
            return ((1.0 / optimism).ln(), f64::NAN);
        }
        let needless = usize::from(unknown == 0);
        if needless == 1 {
            order.retain(|&a| a != self.safe);
        }
        let safety = self.delta * share(place(&order), self.k - needless) / ends as f64;
        ((1.0 / optimism).ln(), (1.0 / safety).ln())
    }

    /// The intersection of the latest intervals of a signal: in the last two buckets of counts, which grow by ∛2.
    fn interval(&self, arm: usize, signal: usize) -> (f64, f64) {
        let all = self.intervals[arm][signal].iter();
        let bucket = |n: usize| (n as f64).powi(3).log2().floor();
        let last = all.clone().next_back().map_or(0.0, |own| bucket(own.0));
        let earlier = all
            .clone()
            .map(|own| bucket(own.0))
            .filter(|&own| own < last);
        let from = earlier.fold(0.0, f64::max);
        let late = all.filter(|own| bucket(own.0) >= from).map(|own| own.1);
        late.fold((0.0, 1.0), |(lower, upper), own| {
            let upper = own.1.min(upper);
            (own.0.max(lower).min(upper), upper)
        })
    }

    /// U.
    pub fn upper(&self) -> Vec<f64> {
        (0..self.k).map(|a| self.interval(a, 0).1).collect()
    }

    fn cost_ends(&self, i: usize, end: impl Fn((f64, f64)) -> f64) -> Vec<f64> {
        let of = |a: usize| match self.known[i] {
            Some(known) if a == self.safe => known,
            _ => end(self.interval(a, i + 1)),
        };
        (0..self.k).map(of).collect()
    }

    /// l, by guardrail and arm.
    pub fn cost_lower(&self) -> Vec<Vec<f64>> {
        (0..self.m).map(|i| self.cost_ends(i, |e| e.0)).collect()
    }

    /// u.
    pub fn cost_upper(&self) -> Vec<Vec<f64>> {
        (0..self.m).map(|i| self.cost_ends(i, |e| e.1)).collect()
    }

    /// One arm alone.
    pub fn alone(&self, arm: usize) -> Vec<f64> {
        let mut policy = vec![0.0; self.k];
        policy[arm] = 1.0;
        policy
    }

    /// Each arm that has the largest of some numbers, up to rounding, alone.
    pub fn best(&self, of: &[f64]) -> Expected {
        let most = of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let near = |x: f64| x == most || x >= most - NEAR * most.abs().max(1.0);
        let arms = (0..self.k).filter(|&a| near(of[a]));
        Expected::of(arms.map(|a| self.alone(a)).collect())
    }

    /// A policy with as much of the safe arm mixed in as u needs.
    pub fn mixed(&self, policy: &[f64]) -> Vec<f64> {
        self.mixed_with(policy, &self.alone(self.safe))
    }

    /// The same with another policy in the safe arm's place.
    pub fn mixed_with(&self, policy: &[f64], baseline: &[f64]) -> Vec<f64> {
        let upper = self.cost_upper();
        let mut share = 0.0_f64;
        for i in 0..self.m {
            let cost = dot(policy, &upper[i]);
            if cost > self.tau[i] {
                share = share.max((cost - self.tau[i]) / (cost - dot(baseline, &upper[i])));
            }
        }
        let both = std::iter::zip(policy, baseline);
        both.map(|(p, b)| (1.0 - share) * p + share * b).collect()
    }
}

/// Rewards, costs and thresholds.
pub type Program = (Vec<f64>, Vec<Vec<f64>>, Vec<f64>);

/// Policies that a reference allows: several policies where ties leave the choice open.
pub struct Expected {
    pub policies: Vec<Vec<f64>>,
    /// Its program has no policy at all.
    pub infeasible: bool,
    /// The program behind the policies, if they are its solutions as they are: where it has several, any
    /// other that is worth as much at costs within the thresholds will do.
    pub program: Option<Program>,
}

impl Expected {
    pub fn of(policies: Vec<Vec<f64>>) -> Self {
        Self {
            policies,
            infeasible: false,
            program: None,
        }
    }

    /// The solutions of a program; all arms alike if there are none.
    pub fn program(v: Vec<f64>, costs: Vec<Vec<f64>>, tau: Vec<f64>) -> Self {
        let policies = lp(&v, &costs, &tau);
        if policies.is_empty() {
            Self {
                policies: vec![vec![1.0 / v.len() as f64; v.len()]],
                infeasible: true,
                program: None,
            }
        } else {
            Self {
                policies,
                infeasible: false,
                program: Some((v, costs, tau)),
            }
        }
    }

    fn holds(&self, policy: &[f64]) -> bool {
        let near =
            |other: &Vec<f64>| std::iter::zip(policy, other).all(|(p, q)| (p - q).abs() <= NEAR);
        if self.policies.iter().any(near) {
            return true;
        }
        match &self.program {
            Some((v, costs, tau)) if self.policies.len() > 1 => {
                (dot(policy, v) - dot(&self.policies[0], v)).abs() <= NEAR
                    && (0..tau.len()).all(|i| dot(policy, &costs[i]) <= tau[i] + NEAR)
            }
            _ => false,
        }
    }
}

/// A rule, written down as its paper has it.
pub trait Reference {
    fn expected(&mut self, seen: &Seen) -> Expected;
    /// An outcome is about to be seen.
    fn learn(&mut self, _seen: &Seen, _arm: usize, _signals: &[f64]) {}
}

impl<F: FnMut(&Seen) -> Expected> Reference for F {
    fn expected(&mut self, seen: &Seen) -> Expected {
        self(seen)
    }
}

/// Counts of a comparison.
#[derive(Debug, Default)]
pub struct Went {
    /// Rounds in which ties left several policies to choose from.
    pub ambiguous: usize,
    /// Rounds without any.
    pub infeasible: usize,
    /// Rounds in which more was played than the safe arm.
    pub daring: usize,
}

/// Plays an agent beside its reference, and compares every policy.
#[track_caller]
pub fn compare(config: &AgentConfig, case: &Case, reference: &mut dyn Reference) -> Went {
    compare_for(ROUNDS, config, case, reference)
}

#[track_caller]
pub fn compare_for(
    rounds: usize,
    config: &AgentConfig,
    case: &Case,
    reference: &mut dyn Reference,
) -> Went {
    let mut agent = config.build(&case.problem).expect("its setting");
    agent.reseed(SEED.0, SEED.1);
    let mut seen = Seen::new(&case.problem, config.delta());
    let mut uniform = Random::new(99);
    let mut went = Went::default();
    for round in 0..rounds {
        let expected = reference.expected(&seen);
        let decision = agent.decide_arms();
        let mut policy = vec![0.0; seen.k];
        for &(arm, p) in &decision.policy {
            policy[arm] = p;
        }
        assert!(
            expected.holds(&policy),
            "{}, {}, round {round}: {policy:?}, not {:?}",
            config.kind(),
            case.name,
            expected.policies
        );
        assert_eq!(decision.fallback, None);
        assert_eq!(
            decision.solver.status == Status::Infeasible,
            expected.infeasible
        );
        went.ambiguous += usize::from(expected.policies.len() > 1);
        went.infeasible += usize::from(expected.infeasible);
        went.daring += usize::from(policy[seen.safe] < 0.999);
        let arm = decision.draw(uniform.unit());
        let outcome = &case.table[round][arm];
        reference.learn(&seen, arm, &seen.standard(outcome));
        agent
            .observe_arm(arm, outcome[0], &outcome[1..])
            .expect("in range");
        seen.push(arm, outcome);
    }
    went
}

/// Seed and stream of agents that sample, and of their references.
pub const SEED: (u64, u64) = (2024, 5);

/// The stream of an agent that samples.
pub fn stream() -> rand_chacha::ChaCha8Rng {
    use rand_chacha::rand_core::SeedableRng;
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(SEED.0);
    rng.set_stream(SEED.1);
    rng
}

/// Rewards and costs moved by one standard normal number per arm, in opposite directions, by U − r̂ and (u − l)/2; known
/// costs stay.
pub fn coupled(
    seen: &Seen,
    omega: f64,
    rng: &mut rand_chacha::ChaCha8Rng,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    use rand_distr::{Distribution, StandardNormal};
    let mut reward = vec![0.0; seen.k];
    let mut costs = vec![vec![0.0; seen.k]; seen.m];
    let (lower, upper) = (seen.cost_lower(), seen.cost_upper());
    for (a, best) in seen.upper().into_iter().enumerate() {
        let eta: f64 = StandardNormal.sample(rng);
        let centre = |s: usize| seen.mean(a, s).unwrap_or(0.5);
        // U may be older than r̂.
        reward[a] = centre(0) + omega * (best - centre(0)).max(0.0) * eta;
        for i in 0..seen.m {
            costs[i][a] = match seen.known[i] {
                Some(known) if a == seen.safe => known,
                _ => centre(i + 1) - omega * 0.5 * (upper[i][a] - lower[i][a]) * eta,
            };
        }
    }
    (reward, costs)
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// kl(p, q) with log1p of what is between them.
fn kl(p: f64, q: f64) -> f64 {
    let d = q - p;
    let left = if p > 0.0 { p * (d / p).ln_1p() } else { 0.0 };
    let rest = 1.0 - p;
    let right = if rest > 0.0 {
        rest * (-d / rest).ln_1p()
    } else {
        0.0
    };
    -(left + right)
}

/// The largest q with kl(p, q) ≤ level, by bisection.
pub fn kl_up(p: f64, level: f64) -> f64 {
    bisect(p, 1.0, |q| kl(p, q) <= level)
}

/// The smallest.
pub fn kl_down(p: f64, level: f64) -> f64 {
    bisect(p, 0.0, |q| kl(p, q) <= level)
}

/// Boundary of a condition that holds at `inside`, on the way to `outside`.
pub fn bisect(mut inside: f64, mut outside: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if holds(outside) {
        return outside;
    }
    for _ in 0..100 {
        let middle = 0.5 * (inside + outside);
        if holds(middle) {
            inside = middle
        } else {
            outside = middle
        }
    }
    inside
}

/// The best value of max π·v with π·costs_i ≤ tau_i, if there is a policy.
pub fn lp_value(v: &[f64], costs: &[Vec<f64>], tau: &[f64]) -> Option<f64> {
    let values = vertices(costs, tau, v.len());
    let values = values.iter().map(|policy| dot(policy, v));
    values.max_by(f64::total_cmp)
}

/// All best vertices, up to rounding, and each with the mass of an arm shared by those identical to it.
pub fn lp(v: &[f64], costs: &[Vec<f64>], tau: &[f64]) -> Vec<Vec<f64>> {
    let all = vertices(costs, tau, v.len());
    let values: Vec<f64> = all.iter().map(|policy| dot(policy, v)).collect();
    let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut found: Vec<Vec<f64>> = Vec::new();
    let mut add = |policy: Vec<f64>| {
        let known =
            |other: &Vec<f64>| std::iter::zip(&policy, other).all(|(p, q)| (p - q).abs() <= NEAR);
        if !found.iter().any(known) {
            found.push(policy);
        }
    };
    for (policy, value) in std::iter::zip(all, values) {
        if value >= best - NEAR {
            add(shared(&policy, v, costs));
            add(policy);
        }
    }
    found
}

fn shared(policy: &[f64], v: &[f64], costs: &[Vec<f64>]) -> Vec<f64> {
    let twins = |a: usize, b: usize| {
        (v[a] - v[b]).abs() < 1e-12 && costs.iter().all(|row| (row[a] - row[b]).abs() < 1e-12)
    };
    (0..v.len())
        .map(|a| {
            let group: Vec<usize> = (0..v.len()).filter(|&b| twins(a, b)).collect();
            group.iter().map(|&b| policy[b]).sum::<f64>() / group.len() as f64
        })
        .collect()
}

/// The vertices: s arms on which s − 1 guardrails are met exactly.
fn vertices(costs: &[Vec<f64>], tau: &[f64], k: usize) -> Vec<Vec<f64>> {
    let m = tau.len();
    let mut found = Vec::new();
    let mut add = |arms: &[usize], tight: &[usize]| {
        if let Some(weights) = weights(arms, tight, costs, tau) {
            let mut policy = vec![0.0; k];
            for (&a, w) in arms.iter().zip(weights) {
                policy[a] = w;
            }
            if (0..m).all(|i| dot(&policy, &costs[i]) <= tau[i] + 1e-12) {
                found.push(policy);
            }
        }
    };
    for a in 0..k {
        add(&[a], &[]);
        for b in a + 1..k {
            for i in 0..m {
                add(&[a, b], &[i]);
                for j in i + 1..m {
                    for c in b + 1..k {
                        add(&[a, b, c], &[i, j]);
                    }
                }
            }
        }
    }
    found
}

/// Positive weights of some arms that sum to one and meet some guardrails exactly: Cramer's rule.
fn weights(arms: &[usize], tight: &[usize], costs: &[Vec<f64>], tau: &[f64]) -> Option<Vec<f64>> {
    let excess = |i: usize, a: usize| costs[tight[i]][arms[a]] - tau[tight[i]];
    let raw = match arms.len() {
        1 => vec![1.0],
        2 => vec![excess(0, 1), -excess(0, 0)],
        _ => {
            let minor =
                |a: usize, b: usize| excess(0, a) * excess(1, b) - excess(0, b) * excess(1, a);
            vec![minor(1, 2), minor(2, 0), minor(0, 1)]
        }
    };
    let total: f64 = raw.iter().sum();
    if total.abs() < 1e-14 {
        return None;
    }
    let weights: Vec<f64> = raw.iter().map(|w| w / total).collect();
    weights.iter().all(|w| *w >= 0.0).then_some(weights)
}

/// A kind with some parameters.
pub fn agent(parameters: serde_json::Value) -> AgentConfig {
    serde_json::from_value(parameters).expect("known keys")
}
