//! A parameter per arm, the safe one's too: bounds against dense algebra, safety in every context, and its life.

use crate::common;
use crate::common::verbs::Verbs as _;

use crate::common::player::{Inspect as _, Oplb, OplbPerArm};
use banister::{
    ArmRanges, ArmWeights, Fallback, Guardrail, Link, Model, OplbConfig, Optimism, Problem, Range,
    SignalConfig,
};
use common::linear::{Direct, dot, unit};
use common::{Random, at_most, share_of};

const D: usize = 3;

fn per_arm(s: f64) -> OplbConfig {
    OplbConfig {
        model: Model::PerArm,
        parameter_norm: Some(s),
        ..OplbConfig::default()
    }
}

fn problem(k: usize, guardrails: Vec<Guardrail>) -> Problem {
    Problem {
        arms: (0..k).map(|a| format!("arm {a}")).collect(),
        context: Some(D),
        guardrails,
        ..Problem::default()
    }
}

/// A cost at most this, whose range differs by arm.
fn priced<const K: usize>(threshold: f64, ranges: [[f64; 2]; K]) -> Guardrail {
    Guardrail {
        signal: SignalConfig {
            range: Some(Range::ByArm(ranges.to_vec())),
            ..SignalConfig::default()
        },
        ..at_most(threshold, None)
    }
}

/// (1, v)/√2 with v on the unit circle.
fn context(random: &mut Random) -> Vec<f64> {
    let v = unit(random, D - 1);
    [1.0, v[0], v[1]].map(|x| x / 2f64.sqrt()).to_vec()
}

/// Arms with means b + ⟨v, w⟩ of reward and cost. The safe arm's cost goes from 0.05 to 0.35, that of the best
/// arm is 0.25 everywhere, so that beside control it is dear in some contexts and cheap in others.
struct World {
    /// Per signal and arm.
    parameters: [Vec<Vec<f64>>; 2],
}

impl World {
    fn new() -> Self {
        let root = 2f64.sqrt();
        let parameter = |[b, x, y]: [f64; 3]| vec![root * b, root * x, root * y];
        Self {
            parameters: [
                [[0.3, 0.1, 0.0], [0.5, 0.3, 0.0], [0.7, 0.0, 0.2]]
                    .map(parameter)
                    .to_vec(),
                [[0.2, 0.15, 0.0], [0.3, 0.0, 0.25], [0.6, 0.2, 0.0]]
                    .map(parameter)
                    .to_vec(),
            ],
        }
    }

    fn mean(&self, signal: usize, arm: usize, x: &[f64]) -> f64 {
        dot(x, &self.parameters[signal][arm])
    }

    /// Draws an outcome.
    fn pull(&self, random: &mut Random, arm: usize, x: &[f64]) -> (f64, [f64; 1]) {
        let reward = random.bernoulli(self.mean(0, arm, x));
        (reward, [random.bernoulli(self.mean(1, arm, x))])
    }

    /// Plays some rounds: those whose policy costs more than `limit` in its context, those without a fallback, and the
    /// reward of the policies in all.
    fn play(
        &self,
        agent: &mut OplbPerArm,
        rounds: usize,
        seed: u64,
        limit: impl Fn(&[f64]) -> f64,
    ) -> (usize, usize, f64) {
        let random = &mut Random::new(seed);
        let (mut violations, mut free, mut reward) = (0, 0, 0.0);
        for _ in 0..rounds {
            let x = context(random);
            agent.offer(&x).unwrap();
            let decision = agent.decide();
            free += usize::from(decision.fallback.is_none());
            assert!(decision.guardrails[0].slack >= 0.0);
            let mean = |signal: usize| -> f64 {
                let each = decision.policy.iter();
                each.map(|&(arm, p)| p * self.mean(signal, arm, &x)).sum()
            };
            violations += usize::from(mean(1) > limit(&x) + 1e-9);
            reward += mean(0);
            let arm = decision.draw(random.unit());
            let (r, costs) = self.pull(random, arm, &x);
            agent.observe(arm, r, &costs).unwrap();
        }
        (violations, free, reward)
    }
}

/// Intervals are those of one ridge regression per arm, at the level of its place.
#[test]
fn intervals_match_a_direct_solve() {
    let world = World::new();
    let guardrails = vec![at_most(0.5, None)];
    let config = OplbConfig {
        lambda: Some(0.05),
        ..per_arm(2.0)
    };
    let mut agent = OplbPerArm::new(&problem(3, guardrails), &config).unwrap();
    let random = &mut Random::new(5);
    let mut data = vec![vec![Vec::new(); 2]; 3];
    // Arms are first pulled in another order than theirs: 2, 0, 1.
    for round in 0..300 {
        let arm = [2, 0, 1, 1, 2][round % 5];
        let x = context(random);
        let (reward, costs) = world.pull(random, arm, &x);
        agent.observe_in(arm, &x, reward, &costs).unwrap();
        data[arm][0].push((x.clone(), reward));
        data[arm][1].push((x, costs[0]));
    }
    let x = context(random);
    agent.offer(&x).unwrap();
    for (place, arm) in [2, 0, 1].into_iter().enumerate() {
        for (signal, delta) in [(0, 0.1), (1, 0.01)] {
            let direct = Direct::new(0.05, &[0.0; D], None, &data[arm][signal]);
            let level = delta * share_of(place + 1, 3);
            let found = agent.interval(arm, signal).unwrap();
            let (mean, width) = (direct.mean(&x), |more| {
                direct.multiscale(&x, 0.5, level, 2.0, more)
            });
            // Log-determinants are kept to 0.05; a thousandth of b and a little of S are given away.
            let (least, most) = (width(0.0) - 1e-9, 1.001 * width(0.05) + 1e-6);
            let upper = found.upper - mean;
            assert!(
                upper >= least.min(1.0 - mean) && upper <= most,
                "{upper} {least} {most}"
            );
            let lower = mean - found.lower;
            assert!(
                lower >= least.min(mean) && lower <= most,
                "{lower} {least} {most}"
            );
        }
    }
}

/// With ranges by arm the interval of an arm is that of a regression in units of its own range, whose low end is the
/// constant that it counts from, and an arm without outcomes may cost no more than its range says.
#[test]
fn ranges_by_arm_are_units_of_each_regression() {
    let ranges = [[0.0, 0.05], [0.0, 1.0], [-2.0, 8.0]];
    let declared = problem(3, vec![priced(0.5, ranges)]);
    let config = OplbConfig {
        lambda: Some(0.05),
        ..per_arm(2.0)
    };
    let mut agent = OplbPerArm::new(&declared, &config).unwrap();
    let random = &mut Random::new(6);
    agent.offer(&context(random)).unwrap();
    // In units of the hull, [−2, 8].
    let unknown = agent.interval(0, 1).unwrap();
    assert!((unknown.lower - 0.2).abs() < 1e-12 && (unknown.upper - 0.205).abs() < 1e-12);
    let (world, mut data) = (World::new(), vec![Vec::new(); 3]);
    for round in 0..600 {
        let (arm, x) = (round % 3, context(random));
        let [lo, hi] = ranges[arm];
        let (reward, [y]) = world.pull(random, arm, &x);
        let cost = lo + (hi - lo) * y;
        agent.observe_in(arm, &x, reward, &[cost]).unwrap();
        data[arm].push((x, cost / (hi - lo)));
    }
    let x = context(random);
    agent.offer(&x).unwrap();
    for (arm, [lo, hi]) in ranges.into_iter().enumerate() {
        let direct = Direct::new(0.05, &[0.0; D], None, &data[arm]);
        let level = 0.01 * share_of(arm + 1, 3);
        let width = |more| (hi - lo) * direct.multiscale(&x, 0.5, level, 2.0, more);
        let found = agent.interval(arm, 1).unwrap();
        let (upper, mean) = (10.0 * found.upper - 2.0, (hi - lo) * direct.mean(&x));
        let (least, most) = (mean + width(0.0), mean + 1.001 * width(0.05));
        let slack = 1e-6 * (hi - lo);
        assert!(
            upper >= least.min(hi) - slack && upper <= most + slack && upper <= hi + slack,
            "arm {arm}: {upper}, {least} to {most}"
        );
        assert!(10.0 * found.lower - 2.0 >= lo - slack, "{found:?}");
    }
}

/// Prices of arms differ by a factor of 200. In units of its own range the safe arm is within the threshold before
/// anything is known of it: no round falls back, no policy violates, and the arms are learned. In units of the dearest
/// arm's range nothing is proven.
#[test]
fn prices_that_differ_by_arm_are_learned_in_their_own_units() {
    let (world, prices) = (World::new(), [0.02, 0.5, 4.0]);
    let play = |guardrail: Guardrail, seed: u64| {
        let mut agent = OplbPerArm::new(&problem(3, vec![guardrail]), &per_arm(2.0)).unwrap();
        let random = &mut Random::new(seed);
        let (mut violations, mut free, mut reward) = (0, 0, 0.0);
        for _ in 0..3000 {
            let x = context(random);
            agent.offer(&x).unwrap();
            let decision = agent.decide();
            free += usize::from(decision.fallback.is_none());
            let each = decision.policy.iter();
            let cost: f64 = each
                .map(|&(arm, p)| p * prices[arm] * world.mean(1, arm, &x))
                .sum();
            violations += usize::from(cost > 0.2 + 1e-9);
            let each = decision.policy.iter();
            reward += each
                .map(|&(arm, p)| p * world.mean(0, arm, &x))
                .sum::<f64>();
            let arm = decision.draw(random.unit());
            let (r, [y]) = world.pull(random, arm, &x);
            agent.observe(arm, r, &[prices[arm] * y]).unwrap();
        }
        (violations, free, reward)
    };
    let mut violating = 0;
    for seed in 0..20 {
        let (violations, free, reward) = play(priced(0.2, prices.map(|p| [0.0, p])), seed);
        violating += usize::from(violations > 0);
        assert_eq!(free, 3000);
        // The safe arm alone earns 0.3 a round.
        assert!(reward > 0.4 * 3000.0, "{reward}");
    }
    // δ = 0.01 in each of 20 runs.
    assert!(violating <= 2, "{violating}");
    let (_, free, reward) = play(priced(0.2, [[0.0, 4.0]; 3]), 0);
    assert!(free == 0 && reward < 0.31 * 3000.0, "{free} {reward}");
}

/// An arm that is added brings its range, and a snapshot keeps it.
#[test]
fn added_arms_bring_their_ranges() {
    let declared = problem(2, vec![priced(0.5, [[0.0, 0.05], [0.0, 1.0]])]);
    let mut agent = OplbPerArm::new(&declared, &per_arm(2.0)).unwrap();
    let ranges = |range: Option<[f64; 2]>| {
        ArmRanges(range.into_iter().map(|r| ("cost".to_string(), r)).collect())
    };
    let none = ArmWeights::default();
    let own = &mut agent.agent;
    assert!(own.add_arm("dear", None, &ranges(None), &none).is_err());
    (own.add_arm("dear", None, &ranges(Some([0.0, 3.0])), &none)).unwrap();
    agent.offer(&[1.0, 0.0, 0.0]).unwrap();
    for arm in [0, 1, 2, 2] {
        agent.observe(arm, 0.5, &[0.05]).unwrap();
    }
    let mut again = OplbPerArm::restore(&agent.save()).unwrap();
    again.offer(&[1.0, 0.0, 0.0]).unwrap();
    // In units of the hull of those declared, [0, 1].
    assert_eq!(agent.interval(2, 1).unwrap().upper, 3.0);
    for arm in 0..3 {
        assert_eq!(
            again.interval(arm, 1).unwrap(),
            agent.interval(arm, 1).unwrap()
        );
    }
}

/// No policy violates in its context, though the safe arm's costs depend on it and nothing is declared of them; it
/// learns where there is room.
#[test]
fn margins_are_proven_in_every_context() {
    let world = World::new();
    let mut agent = OplbPerArm::new(&problem(3, vec![at_most(0.45, None)]), &per_arm(2.0)).unwrap();
    let (violations, free, reward) = world.play(&mut agent, 4000, 1, |_| 0.45);
    assert_eq!(violations, 0);
    assert!(free > 3000, "{free}");
    // The safe arm alone earns 0.3 a round.
    assert!(reward > 0.4 * 4000.0, "{reward}");
}

/// Indices in place of optimistic bounds earn more and are as safe; intervals that are shown stay those of the sets.
#[test]
fn indices_earn_more_in_contexts() {
    let (world, mut rewards, mut violating) = (World::new(), [0.0; 2], 0);
    for seed in 0..10 {
        for (kind, optimism) in [Optimism::Index, Optimism::Least].into_iter().enumerate() {
            let config = OplbConfig {
                optimism: Some(optimism),
                ..per_arm(2.0)
            };
            let declared = problem(3, vec![at_most(0.45, None)]);
            let mut agent = OplbPerArm::new(&declared, &config).unwrap();
            let (violations, _, reward) = world.play(&mut agent, 3000, seed, |_| 0.45);
            violating += u32::from(violations > 0);
            rewards[kind] += reward;
        }
    }
    // δ = 0.01 in each of 20 runs.
    assert!(violating <= 2, "{violating}");
    assert!(rewards[0] > rewards[1], "{rewards:?}");
    let config = |optimism| OplbConfig {
        optimism: Some(optimism),
        ..per_arm(2.0)
    };
    let [mut index, mut least] = [Optimism::Index, Optimism::Least].map(|optimism| {
        OplbPerArm::new(&problem(2, vec![at_most(0.45, None)]), &config(optimism)).unwrap()
    });
    for agent in [&mut index, &mut least] {
        agent.offer(&[1.0, 0.0, 0.0]).unwrap();
        for arm in [0, 1, 1, 0] {
            agent.observe(arm, 0.5, &[0.2]).unwrap();
        }
    }
    for (arm, signal) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        assert_eq!(
            index.interval(arm, signal).unwrap(),
            least.interval(arm, signal).unwrap()
        );
    }
}

/// "At most 1.5 times what control costs, in this context": the model with one parameter cannot say so. Told the safe
/// arm's mean over all contexts it violates; with a parameter per arm no policy does.
#[test]
fn relative_guardrails_hold_in_every_context() {
    let world = World::new();
    let limit = |x: &[f64]| 1.5 * world.mean(1, 0, x);
    let relative = Guardrail {
        at_most: Some(1.5),
        relative: true,
        ..at_most(1.5, None)
    };
    let config = OplbConfig {
        floor: 0.1,
        ..per_arm(2.0)
    };
    let mut agent = OplbPerArm::new(&problem(3, vec![relative.clone()]), &config).unwrap();
    let (violations, free, _) = world.play(&mut agent, 15_000, 2, limit);
    assert_eq!(violations, 0);
    assert!(free > 2000, "{free}");

    let config = OplbConfig {
        parameter_norm: Some(2.0),
        ..OplbConfig::default()
    };
    let mut agent = Oplb::new(&problem(3, vec![relative]), &config).unwrap();
    let random = &mut Random::new(2);
    let mut violations = 0;
    for _ in 0..15_000 {
        let x = context(random);
        agent.offer(&x).unwrap();
        let decision = agent.decide();
        let each = decision.policy.iter();
        let cost: f64 = each.map(|&(arm, p)| p * world.mean(1, arm, &x)).sum();
        violations += usize::from(cost > limit(&x) + 1e-9);
        let arm = decision.draw(random.unit());
        let (reward, costs) = world.pull(random, arm, &x);
        agent.observe(arm, reward, &costs).unwrap();
    }
    assert!(violations > 500, "{violations}");
}

/// Parameters stay in the sets of all arms in all rounds of at least 1 − δ − δ_o of the runs, with both links; in sets
/// of two fifths they do not.
#[test]
fn sets_hold_for_all_arms_at_all_times() {
    let world = World::new();
    let left = |scale: f64, runs: u64| {
        let mut left = 0;
        for run in 0..runs {
            let config = OplbConfig {
                delta: 0.05,
                optimism_delta: 0.05,
                links: [("cost".to_string(), Link::Logistic)].into(),
                radius_scale: scale,
                ..per_arm(4.0)
            };
            let guardrails = vec![at_most(0.5, None)];
            let mut agent = OplbPerArm::new(&problem(3, guardrails), &config).unwrap();
            let random = &mut Random::new(run);
            // Log-odds of costs are twice the linear world's rewards, less one.
            let bent = |arm: usize| -> Vec<f64> {
                let mut own: Vec<f64> = world.parameters[0][arm].iter().map(|x| 2.0 * x).collect();
                own[0] -= 2f64.sqrt();
                own
            };
            let mut worst = 0.0_f64;
            for _ in 0..400 {
                let (arm, x) = (random.below(3), context(random));
                let reward = random.bernoulli(world.mean(0, arm, &x));
                let cost = random.bernoulli(1.0 / (1.0 + (-dot(&x, &bent(arm))).exp()));
                agent.observe_in(arm, &x, reward, &[cost]).unwrap();
                for (signal, truth) in [(0, world.parameters[0][arm].clone()), (1, bent(arm))] {
                    let ratio = agent.confidence(arm, signal, &truth).unwrap();
                    worst = if ratio <= worst { worst } else { ratio };
                }
            }
            left += usize::from(!(worst <= 1.0));
        }
        left
    };
    let (whole, narrow) = (left(1.0, 100), left(0.4, 40));
    assert!(whole <= 10, "left in {whole}");
    assert!(narrow > 20, "left in {narrow}");
}

/// A declared safe cost is a bound in every context: outcomes below it are no news, outcomes above it refute it.
#[test]
fn a_declared_safe_cost_is_tested_from_above() {
    for (cost, alarms) in [(0.0, 0), (0.3, 1)] {
        let declared = problem(2, vec![at_most(0.5, Some(0.1))]);
        let mut agent = OplbPerArm::new(&declared, &per_arm(2.0)).unwrap();
        agent.offer(&[1.0, 0.0, 0.0]).unwrap();
        for _ in 0..300 {
            agent.observe(0, 0.5, &[cost]).unwrap();
        }
        assert_eq!(agent.monitor().alarms().len(), alarms, "{cost}");
    }
}

/// A safe cost that is declared holds in every context, costs no share of δ and is shown as it is.
#[test]
fn a_declared_safe_cost_holds_in_every_context() {
    let mut agent =
        OplbPerArm::new(&problem(2, vec![at_most(0.5, Some(0.1))]), &per_arm(2.0)).unwrap();
    agent.offer(&[0.0, 0.6, 0.8]).unwrap();
    for _ in 0..200 {
        agent.observe(0, 0.0, &[0.1]).unwrap();
    }
    assert_eq!(agent.decide().fallback, None);
    let known = agent.interval(0, 1).unwrap();
    assert_eq!((known.lower, known.upper), (0.1, 0.1));
    // Nothing is known of the other arm: it is played as far as the margin lets it cost 1.
    let p = agent.decision().probability(1);
    assert!((p - 0.4 / 0.9).abs() < 1e-9, "{p}");
}

/// Before a context and without a margin the safe arm is played, and in contexts of which the safe arm has said nothing.
#[test]
fn the_safe_arm_is_played_where_its_margin_is_not_known() {
    let mut agent = OplbPerArm::new(&problem(2, vec![at_most(0.5, None)]), &per_arm(2.0)).unwrap();
    let safe_only = |agent: &mut OplbPerArm| {
        let decision = agent.decide();
        assert_eq!(decision.fallback, Some(Fallback::MarginNotProven));
        assert_eq!(decision.policy, [(0, 1.0)]);
    };
    safe_only(&mut agent);
    assert!(agent.observe(0, 1.0, &[0.0]).is_err());
    agent.offer(&[1.0, 0.0, 0.0]).unwrap();
    safe_only(&mut agent);
    let random = &mut Random::new(4);
    for _ in 0..300 {
        agent.observe(0, random.unit(), &[0.0]).unwrap();
    }
    assert_eq!(agent.decide().fallback, None);
    agent.offer(&[0.0, 0.0, 1.0]).unwrap();
    safe_only(&mut agent);
}

/// Whatever cannot be is refused, by its field, and nothing changes.
#[test]
fn input_is_checked() {
    let config = OplbConfig {
        norm: Some(1.0),
        ..per_arm(2.0)
    };
    let declared = problem(2, vec![at_most(0.5, None)]);
    let mut agent = OplbPerArm::new(&declared, &config).unwrap();
    let before = agent.save();
    for context in [
        &[0.1, 0.2][..],
        &[0.1, f64::NAN, 0.0],
        &[1.0, 1.0, 1.0],
        &[1e200, 0.0, 0.0],
    ] {
        let error = agent.offer(context).unwrap_err().to_string();
        assert!(error.contains("context"), "{error}");
    }
    assert_eq!(agent.save(), before);
    let clipped = OplbConfig {
        long_features: banister::oplb::LongFeatures::Clip,
        ..config.clone()
    };
    let mut agent = OplbPerArm::new(&declared, &clipped).unwrap();
    let mut short = OplbPerArm::new(&declared, &clipped).unwrap();
    agent.observe_in(0, &[3.0, 0.0, 4.0], 0.5, &[0.5]).unwrap();
    short
        .observe_in(0, &[0.6000000000000001, 0.0, 0.8], 0.5, &[0.5])
        .unwrap();
    assert_eq!(agent.save(), short.save());
}

/// Contexts whose numbers are hostile leave finite bounds and feasible policies.
#[test]
fn hostile_contexts_leave_safe_policies() {
    let random = &mut Random::new(9);
    let mut agent = OplbPerArm::new(
        &problem(3, vec![at_most(0.5, Some(0.2))]),
        &OplbConfig {
            links: [("cost".to_string(), Link::Logistic)].into(),
            ..per_arm(1e3)
        },
    )
    .unwrap();
    for _ in 0..400 {
        let scale = random.choose(&[1e-160, 1e-8, 1.0, 1e8, 1e140]);
        let x: Vec<f64> = unit(random, D).iter().map(|x| x * scale).collect();
        agent.offer(&x).unwrap();
        let decision = agent.decide();
        assert!(decision.guardrails[0].slack >= 0.0 && decision.optimistic_reward.is_finite());
        let arm = decision.draw(random.unit());
        agent
            .observe(arm, random.bernoulli(0.5), &[random.bernoulli(0.3)])
            .unwrap();
        for arm in 0..3 {
            let cost = agent.interval(arm, 1).unwrap();
            assert!(cost.lower <= cost.upper, "{cost:?}");
        }
    }
    OplbPerArm::restore(&agent.save()).unwrap();
}
