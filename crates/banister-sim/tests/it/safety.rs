//! Safety in every round, on the event that the intervals hold; and controls that must fail.

use crate::bench;
use crate::common;

use banister::{Guardrail, Intervals, Opb, OpbConfig, Optimism, UnknownSafeCost};
use banister_sim::{BernoulliConfig, EnvironmentConfig, ExperimentConfig, TOLERANCE};
use bench::{Random, brute_force_lp, problem};
use common::{most_failures, paper_experiment, simulate};

const ROUNDS: usize = 1200;
const DELTA: f64 = 0.05;

/// A random instance: declared guardrails with true means of every arm, arm 0 safe with margin.
struct Instance {
    guardrails: Vec<Guardrail>,
    rewards: Vec<f64>,
    /// One row per guardrail.
    costs: Vec<Vec<f64>>,
}

impl Instance {
    fn random(random: &mut Random) -> Self {
        let (k, m) = (2 + random.below(5), 1 + random.below(3));
        let mut instance = Self {
            guardrails: Vec::new(),
            rewards: (0..k).map(|_| random.unit()).collect(),
            costs: Vec::new(),
        };
        instance.rewards[0] *= 0.5;
        for i in 0..m {
            let mut row: Vec<f64> = (0..k).map(|_| random.unit()).collect();
            let mut guardrail = Guardrail {
                name: format!("guardrail {i}"),
                ..Guardrail::default()
            };
            let upward = random.below(2) == 0;
            guardrail.relative = random.below(3) == 0;
            if guardrail.relative {
                row[0] = random.between(0.4, 0.7);
                let (upper, lower) = (random.between(1.3, 1.8), random.between(0.3, 0.7));
                guardrail.at_most = upward.then_some(upper);
                guardrail.at_least = (!upward).then_some(lower);
            } else {
                let margin = random.between(0.2, 0.4);
                row[0] = random.between(0.05, 0.3);
                guardrail.at_most = upward.then_some(row[0] + margin);
                if !upward {
                    row[0] = 1.0 - row[0];
                    guardrail.at_least = Some(row[0] - margin);
                }
                guardrail.safe_cost = (random.below(2) == 0).then_some(row[0]);
            }
            instance.costs.push(row);
            instance.guardrails.push(guardrail);
        }
        instance
    }

    /// Sign and signed limit of guardrail i as declared: the signed signal must stay below.
    fn limit(&self, i: usize) -> (f64, f64) {
        let g = &self.guardrails[i];
        let scale = if g.relative { self.costs[i][0] } else { 1.0 };
        match (g.at_most, g.at_least) {
            (Some(bound), _) => (1.0, scale * bound),
            (_, Some(bound)) => (-1.0, -scale * bound),
            _ => unreachable!("a guardrail has a bound"),
        }
    }

    /// r*, by brute force.
    fn optimum(&self) -> f64 {
        let m = self.guardrails.len();
        let signed = |i: usize| self.costs[i].iter().map(|c| self.limit(i).0 * c).collect();
        let costs: Vec<Vec<f64>> = (0..m).map(signed).collect();
        let limits: Vec<f64> = (0..m).map(|i| self.limit(i).1).collect();
        brute_force_lp(&self.rewards, &costs, &limits)
            .expect("the safe arm is feasible")
            .0
    }

    /// Returns true if all intervals of an agent contain the true means.
    fn intervals_hold(&self, agent: &Opb) -> bool {
        let standard = &agent.problem().guardrails;
        (0..self.rewards.len()).all(|arm| {
            let reward = agent.interval(arm, 0).expect("a reward");
            let costs_hold = (0..standard.len()).all(|i| {
                let bounds = agent.interval(arm, i + 1).expect("a cost");
                let known = arm == 0 && standard[i].safe_cost.is_some();
                let y = standard[i].standardise(self.costs[i][arm]);
                known || (bounds.lower <= y && y <= bounds.upper)
            });
            self.rewards[arm] <= reward.upper && costs_hold
        })
    }
}

/// Runs one agent; asserts safety and optimism as long as the intervals have held. Returns whether
/// they held to the end, and in how many rounds more than the safe arm was played.
fn run(instance: &Instance, config: &OpbConfig, random: &mut Random) -> (bool, usize) {
    let declared = problem(instance.rewards.len(), instance.guardrails.clone());
    let mut agent = Opb::new(&declared, config).expect("a valid problem");
    let (delay, batch) = random.choose(&[(0, 1), (30, 1), (0, 25), (40, 10)]);
    let mut mail: Vec<(usize, usize, f64, Vec<f64>)> = Vec::new();
    let best = instance.optimum();
    let mut adventurous = 0;
    for round in 0..ROUNDS {
        if !instance.intervals_hold(&agent) {
            return (false, adventurous);
        }
        let decision = agent.decide();
        adventurous += usize::from(decision.probability(0) < 0.999);
        for i in 0..instance.guardrails.len() {
            let (sign, limit) = instance.limit(i);
            let signal = |&(a, p): &(usize, f64)| p * sign * instance.costs[i][a];
            let cost: f64 = decision.policy.iter().map(signal).sum();
            assert!(
                cost <= limit + 1e-9,
                "{config:?}, round {round}: {cost} over {limit}"
            );
        }
        // `index` bounds nothing, it aims.
        if decision.fallback.is_none() && config.optimism != Optimism::Index {
            let value = decision.optimistic_reward;
            assert!(
                value >= best - 1e-9,
                "{config:?}, round {round}: {value} below {best}"
            );
        }
        let arm = decision.draw(random.unit());
        let costs = (0..instance.costs.len()).map(|i| random.bernoulli(instance.costs[i][arm]));
        let costs = costs.collect();
        let reward = random.bernoulli(instance.rewards[arm]);
        mail.push((round + random.below(delay + 1), arm, reward, costs));
        if (round + 1) % batch == 0 {
            for (_, arm, reward, costs) in mail.iter().filter(|o| o.0 <= round) {
                agent
                    .observe(*arm, *reward, costs)
                    .expect("a valid outcome");
            }
            mail.retain(|o| o.0 > round);
        }
    }
    (true, adventurous)
}

#[test]
fn no_policy_breaks_a_guardrail_while_the_intervals_hold() {
    let mut random = Random::new(77);
    let kinds = [
        Intervals::Mixture,
        Intervals::Kl,
        Intervals::Subgaussian,
        // Wider than needed, hence valid.
        Intervals::Paper,
    ];
    let (mut runs, mut held, mut adventurous) = (0, 0, 0);
    for _ in 0..60 {
        let instance = Instance::random(&mut random);
        let relative = instance.guardrails.iter().any(|g| g.relative);
        for kind in kinds {
            let mut optimisms = vec![Optimism::Least, Optimism::Index];
            if kind == Intervals::Paper && !relative {
                optimisms.push(Optimism::Paper);
            }
            let config = OpbConfig {
                intervals: Some(kind),
                optimism: random.choose(&optimisms),
                delta: DELTA,
                horizon: Some(ROUNDS as u64),
                // The T_0 rule's own bound holds but for a share of 1/T of runs.
                unknown_safe_cost: if !relative && random.below(3) == 0 {
                    UnknownSafeCost::Paper
                } else {
                    UnknownSafeCost::Interval
                },
                ..OpbConfig::default()
            };
            let (event, rounds) = run(&instance, &config, &mut random);
            runs += 1;
            held += usize::from(event);
            adventurous += rounds;
        }
    }
    let missed = runs - held;
    assert!(
        missed <= most_failures(runs, DELTA),
        "the intervals failed in {missed} of {runs} runs"
    );
    let share = adventurous as f64 / (runs * ROUNDS) as f64;
    assert!(
        share > 0.2,
        "agents left the safe arm in {share} of rounds only"
    );
}

/// Horizon and runs of the controls.
const CONTROL: (u64, u64) = (5000, 40);

/// Violations by run and the worst exceedance where the log term is forced to 0.1, which voids the guarantee: eleven
/// arms that cost 0.4 on average, so that whoever takes the luckiest one for its outcomes plays too much of it.
fn reckless(threshold: f64, config: &OpbConfig) -> (Vec<u64>, f64) {
    let (horizon, runs) = CONTROL;
    let config = OpbConfig {
        log_term: Some(0.1),
        ..config.clone()
    };
    let (mut rewards, mut costs) = ([0.7; 12], [0.4; 12]);
    (rewards[0], costs[0]) = (0.1, 0.0);
    let agent = simulate(ExperimentConfig {
        environment: EnvironmentConfig::Bernoulli(BernoulliConfig::new(&rewards, &[&costs])),
        ..paper_experiment(threshold, horizon, runs, config)
    });
    let worst = agent
        .runs
        .iter()
        .map(|r| r.worst_exceedance)
        .fold(0.0, f64::max);
    for run in &agent.runs {
        assert_eq!(run.violations > Some(0), run.worst_exceedance > TOLERANCE);
    }
    // No violation hides between checkpoints.
    let dearest = agent.curve.cost_worst[0]
        .iter()
        .copied()
        .fold(0.0, f64::max);
    assert!((dearest - threshold).max(0.0) - worst < 1e-9);
    let violations = agent.runs.iter().map(|r| r.violations.expect("arms"));
    (violations.collect(), worst)
}

fn reckless_configs() -> [OpbConfig; 4] {
    let kl = OpbConfig {
        intervals: Some(Intervals::Kl),
        ..OpbConfig::default()
    };
    let least = OpbConfig {
        intervals: Some(Intervals::Subgaussian),
        optimism: Optimism::Least,
        ..OpbConfig::default()
    };
    [OpbConfig::paper(CONTROL.0), OpbConfig::default(), kl, least]
}

/// Without the guarantee runs are broken as surely as they are kept with it: all but a share of δ.
#[test]
fn with_the_guarantee_voided_violations_are_counted() {
    for config in reckless_configs() {
        let (violations, worst) = reckless(0.2, &config);
        let kept = violations.iter().filter(|n| **n == 0).count();
        let chance = most_failures(violations.len(), config.delta);
        assert!(kept <= chance, "{config:?}: {violations:?}");
        let rounds = (CONTROL.0 * CONTROL.1) as f64;
        let share = violations.iter().sum::<u64>() as f64 / rounds;
        assert!(share > 0.1, "{config:?}: {share} of rounds");
        assert!(worst > 1e-3);
    }
}

#[test]
fn where_nothing_can_violate_nothing_is_counted() {
    for threshold in [1.0, 0.4] {
        for config in reckless_configs() {
            let (violations, worst) = reckless(threshold, &config);
            assert_eq!((violations.iter().sum::<u64>(), worst), (0, 0.0));
        }
    }
}
