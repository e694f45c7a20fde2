//! Many policies under one budget: against microlp, by its own certificate, and warm against cold.

use crate::common::{self, Rng, segments::BlockCase};
use crate::counting::allocations;

use banister_solve::{BlockLp, BlockSolution, Lp, LpSolver, Status};

/// The invariants of every feasible answer: distributions within the thresholds in floating point, small
/// supports, sums as stated, and a proof that closes, recomputed from the prices.
fn check(case: &BlockCase, lp: &BlockLp, solution: &BlockSolution) {
    let thin = case.is_thin();
    assert!(solution.status == Status::Optimal || thin, "{case:?}");
    let (m, q) = (case.thresholds.len(), case.local_thresholds.len());
    let mut value = 0.0;
    let mut costs = vec![0.0; m];
    let mut mixed = 0;
    for s in 0..case.blocks() {
        let policy = lp.policy(s);
        let total: f64 = policy.iter().map(|e| e.1).sum();
        assert!((total - 1.0).abs() < 1e-12, "mass {total}: {case:?}");
        assert!(policy.iter().all(|e| e.1 > 0.0), "{case:?}");
        assert!(policy.windows(2).all(|w| w[0].0 < w[1].0), "{case:?}");
        let sum = |row: &[f64]| policy.iter().map(|&(a, p)| p * row[a]).sum::<f64>();
        value += sum(&case.rewards[s]);
        for (cost, row) in costs.iter_mut().zip(&case.costs[s]) {
            *cost += sum(row);
        }
        for (row, t) in case.local[s].iter().zip(&case.local_thresholds) {
            assert!(sum(row) <= *t, "local {:e} over {t}: {case:?}", sum(row));
        }
        // A grain of the safe action that rounding asked for is not counted.
        let actions = policy.iter().filter(|e| e.1 > 1e-9).count();
        assert!(actions <= 1 + m + q, "{policy:?}: {case:?}");
        mixed += usize::from(actions > 1);
    }
    assert!(q > 0 || mixed <= m, "{mixed} blocks mix: {case:?}");
    assert_eq!(value, solution.value, "{case:?}");
    assert_eq!(costs, solution.costs, "{case:?}");
    for (cost, tau) in costs.iter().zip(&case.thresholds) {
        let rounding = if case.has_safe() { 0.0 } else { 1e-10 };
        assert!(*cost <= tau + rounding, "{cost:e} over {tau:e}: {case:?}");
    }
    assert!(solution.prices.iter().all(|&p| p >= 0.0), "{case:?}");
    let bound = bound(case, lp, &solution.prices);
    let tolerance = 1e-10 * case.scale();
    assert!(
        (bound - solution.upper_bound).abs() <= tolerance && (bound - value <= tolerance || thin),
        "bound {bound}, stated {}, value {value}: {case:?}",
        solution.upper_bound
    );
}

/// λ·τ + Σ_s max (r_s − λ·c_s)·π_s: the maximum over the actions, with local rows by their prices, which
/// bound it from above.
fn bound(case: &BlockCase, lp: &BlockLp, prices: &[f64]) -> f64 {
    let mut bound: f64 = prices
        .iter()
        .zip(&case.thresholds)
        .map(|(p, t)| p * t)
        .sum();
    for s in 0..case.blocks() {
        let local = lp.block_prices(s);
        assert!(local.iter().all(|&p| p >= 0.0));
        bound += local
            .iter()
            .zip(&case.local_thresholds)
            .map(|(p, t)| p * t)
            .sum::<f64>();
        let reduced = |a: usize| {
            let coupling = prices.iter().zip(&case.costs[s]).map(|(p, c)| p * c[a]);
            let local = local.iter().zip(&case.local[s]).map(|(p, e)| p * e[a]);
            case.rewards[s][a] - coupling.chain(local).sum::<f64>()
        };
        let all = (0..case.rewards[s].len()).map(reduced);
        bound += all.fold(f64::NEG_INFINITY, f64::max);
    }
    bound
}

/// Draws sizes and a problem.
fn draw(rng: &mut Rng, m: usize, q: usize) -> BlockCase {
    let (blocks, actions) = (1 + rng.below(40), 1 + rng.below(8));
    BlockCase::random(rng, blocks, actions, m, q)
}

#[test]
fn agrees_with_microlp_on_random_tied_degenerate_and_infeasible_problems() {
    let mut rng = Rng::new(21);
    let (mut infeasible, mut rescued) = (0, 0);
    for m in 0..=3 {
        for q in 0..=2 {
            for _ in 0..150 {
                let case = draw(&mut rng, m, q);
                let mut lp = case.fresh();
                let solution = lp.solve(&case.thresholds, &case.local_thresholds).clone();
                let oracle = case.microlp(0.0);
                if solution.status == Status::Infeasible {
                    infeasible += 1;
                    assert!(!case.has_safe(), "{case:?}");
                    assert_eq!(case.microlp(-1e-7), None, "{case:?}");
                    assert!((0..case.blocks()).all(|s| lp.policy(s).is_empty()));
                    continue;
                }
                check(&case, &lp, &solution);
                rescued += usize::from(!case.has_safe());
                // The oracle allows 1e-7 or so.
                if !case.is_thin() && (case.has_safe() || case.microlp(-1e-7).is_some()) {
                    let oracle = oracle.expect("feasible");
                    assert!(
                        (solution.value - oracle).abs() < 1e-7 * (1.0 + case.scale()),
                        "{} {oracle}: {case:?}",
                        solution.value
                    );
                }
            }
        }
    }
    assert!(infeasible > 100, "only {infeasible} infeasible");
    assert!(
        rescued > 100,
        "only {rescued} feasible without the safe table"
    );
}

#[test]
fn changes_of_single_blocks_give_the_value_of_a_fresh_solve() {
    let mut rng = Rng::new(22);
    for m in 0..=3 {
        for q in 0..=2 {
            for _ in 0..12 {
                let mut case = draw(&mut rng, m, q);
                let mut lp = case.fresh();
                let mut before: Vec<Vec<(usize, f64)>> = vec![];
                for _ in 0..40 {
                    let set = rng.below(case.blocks());
                    match rng.below(12) {
                        0 => case.push(&mut rng, 6),
                        1 if case.blocks() > 1 => {
                            let keep = 1 + rng.below(case.blocks() - 1);
                            case.safe.truncate(keep);
                            case.rewards.truncate(keep);
                            case.costs.truncate(keep);
                            case.local.truncate(keep);
                            lp.truncate(keep);
                        }
                        2 => case
                            .thresholds
                            .iter_mut()
                            .for_each(|t| *t += 0.1 * (rng.unit() - 0.5)),
                        _ => {
                            case.redraw(&mut rng, set);
                            case.set(&mut lp, set);
                        }
                    }
                    if lp.blocks() < case.blocks() {
                        case.set(&mut lp, case.blocks() - 1);
                    }
                    assert_eq!(lp.blocks(), case.blocks());
                    let warm = lp.solve(&case.thresholds, &case.local_thresholds).clone();
                    let mut cold = case.fresh();
                    let cold = cold.solve(&case.thresholds, &case.local_thresholds).clone();
                    if warm.status == Status::Infeasible || cold.status == Status::Infeasible {
                        // Within a hair of feasibility they may differ.
                        if warm.status != cold.status {
                            assert_eq!(case.microlp(-1e-7), None, "{case:?}");
                        }
                    } else {
                        check(&case, &lp, &warm);
                        assert!(
                            case.is_thin()
                                || (warm.value - cold.value).abs() < 1e-9 * (1.0 + case.scale()),
                            "{} {}: {case:?}",
                            warm.value,
                            cold.value
                        );
                        if (m, q) == (1, 0) {
                            assert_eq!(warm.value, cold.value);
                        }
                    }
                    for s in 0..lp.blocks() {
                        let same = before.get(s).is_some_and(|old| old == lp.policy(s));
                        assert!(same || lp.changed().contains(&s));
                    }
                    before = (0..lp.blocks()).map(|s| lp.policy(s).to_vec()).collect();
                }
            }
        }
    }
}

#[test]
fn blocks_without_coupling_are_policy_lps_of_their_own() {
    let mut rng = Rng::new(23);
    for q in 1..=2 {
        for _ in 0..100 {
            let case = draw(&mut rng, 0, q);
            let mut lp = case.fresh();
            let value = lp.solve(&[], &case.local_thresholds).value;
            let alone = |s: usize| {
                let lp = Lp {
                    reward: &case.rewards[s],
                    costs: &case.local[s],
                    thresholds: &case.local_thresholds,
                };
                LpSolver::default().solve(&lp, Some(case.safe[s])).value
            };
            let sum: f64 = (0..case.blocks()).map(alone).sum();
            assert!((value - sum).abs() < 1e-11, "{case:?}");
        }
    }
}

/// With one block the problem is the policy LP, whose rows may be coupling or local.
#[test]
fn one_block_is_the_policy_lp_whichever_kind_its_rows_are() {
    let mut rng = Rng::new(24);
    for m in 0..=3 {
        for _ in 0..200 {
            let case = common::Case::random(&mut rng, m, 20);
            let value = LpSolver::default().solve(&case.lp(), Some(0)).value;
            let rows: Vec<&[f64]> = case.costs.iter().map(|row| &row[..]).collect();
            for coupling in 0..=m {
                let mut lp = BlockLp::new(coupling, m - coupling);
                lp.set(0, 0, &case.reward, &rows[..coupling], &rows[coupling..]);
                let (tau, local) = case.thresholds.split_at(coupling);
                let other = lp.solve(tau, local).value;
                assert!((value - other).abs() < 1e-11, "{coupling}: {case:?}");
            }
        }
    }
}

#[test]
fn equal_slopes_go_to_the_first_blocks() {
    let mut lp = BlockLp::new(1, 0);
    for s in 0..5 {
        lp.set(s, 0, &[0.0, 0.5, 0.5], &[&[0.0, 0.25, 0.25]], &[]);
    }
    let table = |lp: &BlockLp| (0..5).map(|s| lp.policy(s).to_vec()).collect::<Vec<_>>();
    lp.solve(&[0.625], &[]);
    let first = table(&lp);
    assert_eq!(first[1], [(1, 1.0)]);
    assert_eq!(first[2], [(0, 0.5), (1, 0.5)]);
    assert_eq!(first[3], [(0, 1.0)]);
    // The same from above, from below, and after a detour.
    for tau in [1.2, 0.0, 0.3] {
        lp.solve(&[tau], &[]);
        lp.solve(&[0.625], &[]);
        assert_eq!(table(&lp), first);
    }
    lp.set(0, 0, &[0.0], &[&[0.25]], &[]);
    lp.solve(&[0.625], &[]);
    assert_eq!(lp.policy(1), [(1, 1.0)]);
    lp.set(0, 0, &[0.0, 0.5, 0.5], &[&[0.0, 0.25, 0.25]], &[]);
    lp.solve(&[0.625], &[]);
    assert_eq!(table(&lp), first);
}

#[test]
fn without_blocks_there_is_nothing_to_earn() {
    for m in 0..=2 {
        let mut lp = BlockLp::new(m, 0);
        assert_eq!(lp.solve(&vec![0.0; m], &[]).value, 0.0);
        if m > 0 {
            assert_eq!(lp.solve(&vec![-1.0; m], &[]).status, Status::Infeasible);
        }
    }
}

#[test]
fn a_block_that_cannot_keep_its_thresholds_makes_the_problem_infeasible() {
    for m in 0..=1 {
        let costs: Vec<&[f64]> = vec![&[0.0, 0.0]; m];
        let tau = vec![1.0; m];
        let mut lp = BlockLp::new(m, 1);
        lp.set(0, 0, &[0.0, 1.0], &costs, &[&[0.0, 1.0]]);
        lp.set(1, 0, &[0.0, 1.0], &costs, &[&[0.6, 1.0]]);
        assert_eq!(lp.solve(&tau, &[0.5]).status, Status::Infeasible);
        let solution = lp.solve(&tau, &[0.7]);
        assert_eq!(solution.status, Status::Optimal);
        assert!((solution.value - 0.95).abs() < 1e-12);
        // Its prices: what one more unit of its own threshold would earn.
        assert!((lp.block_prices(1)[0] - 2.5).abs() < 1e-9);
    }
}

#[test]
fn warm_solves_allocate_nothing() {
    let mut rng = Rng::new(25);
    for (m, q) in [
        (0, 0),
        (1, 0),
        (2, 0),
        (3, 0),
        (0, 1),
        (1, 1),
        (2, 1),
        (1, 2),
    ] {
        let mut case = BlockCase::random(&mut rng, 30, 8, m, q);
        case.thresholds.fill(6.0);
        let mut lp = case.fresh();
        let mut late = 0;
        for round in 0..400 {
            let s = rng.below(case.blocks());
            case.redraw(&mut rng, s);
            // With a safe action on its threshold local rows are solved without one, which allocates.
            for row in &mut case.local[s] {
                row[case.safe[s]] *= 0.9;
            }
            case.set(&mut lp, s);
            let before = allocations();
            let status = lp.solve(&case.thresholds, &case.local_thresholds).status;
            let count = allocations() - before;
            assert_eq!(status, Status::Optimal);
            late += if round >= 200 { count } else { 0 };
        }
        assert_eq!(late, 0, "m = {m}, q = {q}");
    }
}

/// The whole of the last edge meets the threshold but for a rounding.
#[test]
fn an_edge_that_ends_on_the_threshold_is_taken() {
    let mut lp = BlockLp::new(1, 0);
    let none: [&[f64]; 0] = [];
    let cost = [
        -0.039999999999999994,
        -0.039999999999999994,
        0.12000000000000002,
    ];
    lp.set(0, 2, &[0.12, 0.16, 0.36], &[&cost[..]], &none);
    let solution = lp.solve(&[0.12000000000000002], &[]);
    assert!((solution.value - 0.36).abs() < 1e-12, "{solution:?}");
    assert!(solution.costs[0] <= 0.12000000000000002);
}
