//! Several guardrails: certified on the rounds an agent meets, equal to one guardrail where the
//! others do not matter, and never above what they allow.

use crate::common;

use banister_solve::{ConeLimits, ConeSolution, ConeSolver, Status};
use common::Rng;
use common::cone::{ConeCase, World};

fn solve(case: &ConeCase, relative_gap: f64) -> ConeSolution {
    let mut limits = ConeLimits {
        relative_gap,
        ..ConeLimits::default()
    };
    let mut solver = ConeSolver::default();
    let solution = solver.solve(&case.problem(), &mut limits);
    let excess = case.excess(&solution.support);
    assert!(excess <= 1e-12, "{excess:e}: {solution:?} {case:?}");
    let drift = (case.objective(&solution.support) - solution.value).abs();
    assert!(drift <= 1e-12 * (1.0 + solution.value.abs()), "{case:?}");
    assert!(solution.upper_bound >= solution.value);
    solution.clone()
}

/// Both certified, and each within the other's bound.
fn agree(one: &ConeSolution, other: &ConeSolution, what: &str, case: &ConeCase) {
    for solution in [one, other] {
        assert_eq!(
            solution.status,
            Status::Optimal,
            "{what}: {solution:?} {case:?}"
        );
    }
    let size = 1e-9 * (1.0 + one.value.abs());
    assert!(
        one.value <= other.upper_bound + size && other.value <= one.upper_bound + size,
        "{what}: {one:?} {other:?} {case:?}"
    );
}

#[test]
fn at_least_99_of_100_rounds_on_policy_are_certified() {
    let (mut certified, mut posed) = (0, 0);
    for m in [2, 3] {
        for (k, d, rounds) in [
            (10, 2, 80),
            (10, 4, 80),
            (10, 8, 80),
            (10, 16, 80),
            (100, 2, 30),
            (100, 4, 30),
            (100, 8, 30),
            (100, 16, 30),
        ] {
            let seed = (100 * d + m) as u64;
            let worlds = [
                Some(World::new(seed, k, d, m, false)),
                (d > 2).then(|| World::related(seed, k, d, m)),
            ];
            for mut world in worlds.into_iter().flatten() {
                let mut solver = ConeSolver::default();
                for _ in 0..rounds {
                    let case = world.round();
                    let solution = solver.solve(&case.problem(), &mut ConeLimits::default());
                    assert!(case.excess(&solution.support) <= 1e-12, "{solution:?}");
                    posed += 1;
                    if solution.status == Status::Optimal {
                        certified += 1;
                        assert!(solution.gap() <= 1.0001e-3 * solution.value.abs());
                    }
                    let support = solution.support.clone();
                    world.play(&support);
                }
            }
        }
    }
    assert!(certified * 100 >= posed * 99, "{certified} of {posed}");
}

/// A copy of guardrail `of` with another unit of cost.
fn copied(case: &ConeCase, of: usize, unit: f64) -> ConeCase {
    let mut case = case.clone();
    let row = case.costs[of].iter().map(|w| unit * w).collect();
    case.costs.push(row);
    case.cost_radii.push(unit * case.cost_radii[of]);
    case.thresholds.push(unit * case.thresholds[of]);
    case
}

#[test]
fn a_guardrail_that_adds_nothing_changes_nothing() {
    let mut rng = Rng::new(41);
    for round in 0..150 {
        let case = ConeCase::random(&mut rng, 2 + round % 12, 1 + round % 5, 1);
        let one = solve(&case, 1e-4);
        let twice = copied(&case, 0, 1.0);
        agree(&one, &solve(&twice, 1e-4), "the same twice", &twice);
        let units = copied(&copied(&case, 0, 1e-3), 0, 1e3);
        agree(&one, &solve(&units, 1e-4), "in three units", &units);
        let mut never = copied(&case, 0, 1.0);
        never.thresholds[1] = 1e3;
        agree(&one, &solve(&never, 1e-4), "never used up", &never);
        // Linear, and met by all actions.
        let mut linear = copied(&case, 0, 1.0);
        (linear.cost_radii[1], linear.thresholds[1]) = (0.0, 1.01);
        agree(&one, &solve(&linear, 1e-4), "linear", &linear);
    }
}

#[test]
fn order_and_twins_do_not_matter() {
    let mut rng = Rng::new(42);
    for round in 0..120 {
        let m = 2 + round % 2;
        let mut case = ConeCase::random(&mut rng, 2 + round % 14, 1 + round % 6, m);
        match round % 5 {
            0 => case.cost_radii[0] = 0.0,
            1 => case.cost_radii.fill(0.0),
            2 => case.along.fill(0.0),
            _ => {}
        }
        let plain = solve(&case, 1e-4);
        let mut reversed = case.clone();
        reversed.costs.reverse();
        reversed.cost_radii.reverse();
        reversed.thresholds.reverse();
        agree(&plain, &solve(&reversed, 1e-4), "guardrails", &case);
        let (k, mut other) = (case.actions(), case.clone());
        other.reward.reverse();
        other.along.reverse();
        other.costs.iter_mut().for_each(|row| row.reverse());
        for j in 0..case.dimension {
            other.across[j * case.stride..j * case.stride + k].reverse();
        }
        other.safe = k - 1;
        agree(&plain, &solve(&other, 1e-4), "actions", &case);
        let twice = |row: &[f64]| [&row[..k], &row[..k]].concat();
        let rows = (0..case.dimension).flat_map(|j| twice(&case.across[j * case.stride..]));
        let doubled = ConeCase {
            reward: twice(&case.reward),
            along: twice(&case.along),
            across: rows.collect(),
            stride: 2 * k,
            costs: case.costs.iter().map(|row| twice(row)).collect(),
            ..case.clone()
        };
        agree(&plain, &solve(&doubled, 1e-4), "twins", &case);
    }
}

#[test]
fn hardly_any_margin_leaves_hardly_any_choice() {
    let mut rng = Rng::new(43);
    for round in 0..100 {
        let mut case = ConeCase::random(&mut rng, 3 + round % 8, 1 + round % 4, 2 + round % 2);
        let margin = [1e-2, 1e-3, 1e-4][round % 3];
        case.thresholds[1] = case.costs[1][0] + margin;
        // With guardrail 1 dear for everything else, at most margin/0.1 of any policy is not safe.
        case.costs[1][1..].iter_mut().for_each(|w| *w = w.max(0.3));
        let solution = solve(&case, 1e-3);
        let size = (0..case.actions())
            .map(|a| case.objective(&[(a, 1.0)]).abs())
            .fold(0.0, f64::max);
        let safe = case.objective(&[(0, 1.0)]);
        assert!(solution.value >= safe - 1e-12 * size);
        let most = safe + 40.0 * margin * size + 2e-3 * safe.abs();
        assert!(solution.upper_bound <= most, "{most} {solution:?} {case:?}");
    }
}
