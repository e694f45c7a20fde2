//! The regression's kernels against their definitions.

use banister_solve::dense::{self, Followed, RankOne, WhitenPass, Whitened, Widths, stride};
use proptest::prelude::*;

/// A table of d rows from a list of numbers, with zeros as padding.
fn table(rows: &[Vec<f64>], stride: usize) -> Vec<f64> {
    let mut table = vec![0.0; rows.len() * stride];
    for (j, row) in rows.iter().enumerate() {
        table[j * stride..j * stride + row.len()].copy_from_slice(row);
    }
    table
}

/// λI + Σ xxᵀ.
fn gram(d: usize, lambda: f64, data: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut gram = vec![vec![0.0; d]; d];
    for j in 0..d {
        gram[j][j] = lambda;
        for x in data {
            for k in 0..d {
                gram[j][k] += x[j] * x[k];
            }
        }
    }
    gram
}

/// The largest entry of W Σ Wᵀ − I.
fn deviation(w: &[f64], stride: usize, sigma: &[Vec<f64>]) -> f64 {
    let d = sigma.len();
    let mut worst = 0.0_f64;
    for i in 0..d {
        for j in 0..d {
            let mut sum = if i == j { -1.0 } else { 0.0 };
            for k in 0..d {
                for l in 0..d {
                    sum += w[i * stride + k] * sigma[k][l] * w[j * stride + l];
                }
            }
            worst = worst.max(sum.abs());
        }
    }
    worst
}

fn factor(sigma: &[Vec<f64>]) -> Vec<f64> {
    let d = sigma.len();
    let wide = stride(d);
    let mut w = vec![0.0; d * wide];
    assert!(dense::inverse_factor(
        &table(sigma, wide),
        wide,
        d,
        &mut Vec::new(),
        &mut w
    ));
    w
}

/// Everything a pass fills.
#[derive(Default)]
struct Filled {
    table: Vec<f64>,
    squares: [Vec<f64>; 2],
    last: Vec<f64>,
    means: Vec<Vec<f64>>,
    solved: [Vec<f64>; 2],
}

fn pass(
    features: &[Vec<f64>],
    h: &[f64],
    w: &[f64],
    across: usize,
    whitened: &[Vec<f64>],
) -> Filled {
    let (d, wide) = (h.len(), stride(features.len()));
    let mut filled = Filled {
        table: vec![f64::NAN; d * wide],
        squares: [vec![f64::NAN; wide], vec![f64::NAN; wide]],
        last: vec![f64::NAN; wide],
        means: vec![vec![f64::NAN; wide]; whitened.len()],
        solved: [vec![f64::NAN; wide], vec![f64::NAN; wide]],
    };
    WhitenPass {
        features: &features.concat(),
        reflector: h,
        factor: w,
        factor_stride: stride(d),
        across,
        whitened,
    }
    .run(&mut Whitened {
        table: Some(&mut filled.table),
        stride: wide,
        squares: &mut filled.squares,
        last: &mut filled.last,
        means: &mut filled.means,
        solved: Some(&mut filled.solved),
        room: &mut Vec::new(),
    });
    filled
}

fn vectors(d: usize, count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Vec<f64>>> {
    proptest::collection::vec(proptest::collection::vec(-1.0..1.0, d), count)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-10 * (1.0 + a.abs().max(b.abs()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// W is the inverse of the Cholesky factor, and stays so under rank-one updates.
    #[test]
    fn factors_invert_and_follow_updates(
        (d, data, more) in (1usize..20).prop_flat_map(|d| (Just(d), vectors(d, 0..12), vectors(d, 1..12))),
        across in 0usize..20,
    ) {
        let wide = stride(d);
        let mut seen = data.clone();
        let mut w = factor(&gram(d, 0.5, &seen));
        prop_assert!(deviation(&w, wide, &gram(d, 0.5, &seen)) < 1e-10);
        let mut update = RankOne::default();
        for x in &more {
            let mut padded = x.clone();
            padded.resize(wide, 0.0);
            let mut y = vec![0.0; d];
            dense::lower_times(&w, wide, &padded, &mut y);
            for j in 0..d {
                let expected: f64 = (0..=j).map(|k| w[j * wide + k] * x[k]).sum();
                prop_assert!(close(y[j], expected));
            }
            update.of(&y, across.min(d));
            let whole: f64 = 1.0 + y.iter().map(|v| v * v).sum::<f64>();
            let part: f64 = 1.0 + y[..across.min(d)].iter().map(|v| v * v).sum::<f64>();
            prop_assert!(close(update.totals[0], part) && close(update.totals[1], whole));
            // As a triangle, and as any table.
            let mut plain = w.clone();
            update.apply(&mut plain, wide);
            update.apply_lower(&mut w, wide);
            prop_assert_eq!(&plain, &w);
            seen.push(x.clone());
            prop_assert!(deviation(&w, wide, &gram(d, 0.5, &seen)) < 1e-9);
        }
    }

    /// One pass over new actions is its definition, number by number.
    #[test]
    fn a_pass_is_its_definition(
        (d, data, actions, h, weights) in (1usize..20).prop_flat_map(|d| (
            Just(d), vectors(d, 0..6), vectors(d, 1..40), vectors(d, 1..2), vectors(d, 2..3),
        )),
        across in 0usize..20,
    ) {
        let (across, wide) = (across.min(d), stride(d));
        let w = factor(&gram(d, 1.0, &data));
        let whitened = vec![weights[0].clone(), weights[1][..across].to_vec()];
        let filled = pass(&actions, &h[0], &w, across, &whitened);
        let columns = stride(actions.len());
        for a in 0..columns {
            let turned: Vec<f64> = match actions.get(a) {
                None => vec![0.0; d],
                Some(x) => {
                    let lean: f64 = x.iter().zip(&h[0]).map(|(x, h)| x * h).sum();
                    x.iter().zip(&h[0]).map(|(x, h)| x - lean * h).collect()
                }
            };
            let y: Vec<f64> = (0..d)
                .map(|j| (0..=j).map(|k| w[j * wide + k] * turned[k]).sum())
                .collect();
            for j in 0..d {
                prop_assert!(close(filled.table[j * columns + a], y[j]));
            }
            let square = |to: usize| y[..to].iter().map(|v| v * v).sum::<f64>();
            prop_assert!(close(filled.squares[0][a], square(across)));
            prop_assert!(close(filled.squares[1][a], square(d)));
            prop_assert!(close(filled.last[a], turned[d - 1]));
            for (side, to) in [across, d].into_iter().enumerate() {
                let solved = |k: usize| (k..to).map(|j| w[j * wide + k] * y[j]).sum::<f64>();
                let length = (0..to).map(|k| solved(k) * solved(k)).sum::<f64>().sqrt();
                prop_assert!(close(filled.solved[side][a], length));
                let mut one = vec![1.0; wide];
                dense::transposed_times(&w, wide, &y[..to], &mut one);
                prop_assert!(close(dense::dot(&one, &one).sqrt(), length));
            }
            for (means, weights) in filled.means.iter().zip(&whitened) {
                let expected: f64 = weights.iter().zip(&y).map(|(w, y)| w * y).sum();
                prop_assert!(close(means[a], expected));
            }
        }
    }

    /// Actions followed through an update are those of a fresh pass with the updated factor.
    #[test]
    fn following_agrees_with_a_fresh_pass(
        (d, data, actions, new) in (1usize..12).prop_flat_map(|d| (
            Just(d), vectors(d, 0..6), vectors(d, 1..40), vectors(d, 1..2),
        )),
        across in 0usize..12,
        target in -2.0..2.0,
    ) {
        let (across, wide) = (across.min(d), stride(d));
        let zeros = vec![0.0; d];
        let mut seen = data.clone();
        let before = factor(&gram(d, 1.0, &seen));
        let mut filled = pass(&actions, &zeros, &before, across, std::slice::from_ref(&zeros));
        let mut padded = new[0].clone();
        padded.resize(wide, 0.0);
        let mut y = vec![0.0; d];
        dense::lower_times(&before, wide, &padded, &mut y);
        let mut update = RankOne::default();
        update.of(&y, across);
        let step = target / update.totals[1];
        update.follow(&mut filled.table, stride(actions.len()), &mut Followed {
            squares: &mut filled.squares,
            means: &mut filled.means,
            steps: &[(step, true)],
        });
        seen.push(new[0].clone());
        let after = factor(&gram(d, 1.0, &seen));
        // The regression on one outcome: W Σ target·x.
        let sums: Vec<f64> = (0..d)
            .map(|j| (0..=j).map(|k| after[j * wide + k] * target * new[0][k]).sum())
            .collect();
        let fresh = pass(&actions, &zeros, &after, across, &[sums]);
        let lists = [
            (&filled.table, &fresh.table),
            (&filled.squares[0], &fresh.squares[0]),
            (&filled.squares[1], &fresh.squares[1]),
            (&filled.means[0], &fresh.means[0]),
        ];
        for (followed, fresh) in lists {
            prop_assert!(followed.iter().zip(fresh).all(|(a, b)| close(*a, *b)));
        }
    }
}

/// The factor of a shifted matrix, multiplied out.
#[test]
fn a_shifted_factor_multiplies_out() {
    for d in 1..20 {
        let data: Vec<Vec<f64>> = (0..2 * d)
            .map(|i| {
                (0..d)
                    .map(|j| ((i * 7 + j * 5) % 11) as f64 / 11.0 - 0.4)
                    .collect()
            })
            .collect();
        let (sigma, wide) = (gram(d, 0.3, &data), stride(d));
        let mut l = Vec::new();
        assert!(dense::factor_shifted(
            &table(&sigma, wide),
            wide,
            d,
            4.0,
            &mut l
        ));
        for j in 0..d {
            for k in 0..=j {
                let product: f64 = (0..=k).map(|i| l[i * wide + j] * l[i * wide + k]).sum();
                let shifted = sigma[j][k] + if j == k { 4.0 } else { 0.0 };
                assert!(close(product, shifted));
            }
        }
        assert!(!dense::factor_shifted(
            &table(&sigma, wide),
            wide,
            d,
            -1e3,
            &mut l
        ));
    }
}

/// Half-widths by the best level, one by one; ends that are not numbers say nothing.
#[test]
fn ends_within_the_best_level() {
    let widths = Widths {
        of_square: [9.0, 4.0, 2.0, 1.0, 0.5, 0.25],
        of_solved: [0.0, 1.0, 3.0, 9.0, 27.0, 81.0],
        bias: 0.125,
    };
    let (nan, infinite) = (f64::NAN, f64::INFINITY);
    let squares = [0.01, 0.0004, 0.0025, 1e-4, nan, 0.01, 0.0, 0.0];
    let solved = [1.0, 0.01, 0.02, 0.0, 0.1, infinite, 0.0, nan];
    let centre = [0.4; 8];
    let (mut lower, mut upper, mut alone) = ([nan; 8], [nan; 8], [nan; 8]);
    let (low, high) = (&mut lower, &mut upper);
    dense::both_ends_within(&centre, 0.1, &squares, &solved, &widths, low, high);
    dense::upper_ends_within(&centre, 0.1, &squares, &solved, &widths, &mut alone);
    assert_eq!(upper, alone);
    for k in 0..8 {
        let levels = (0..6).map(|i| {
            widths.of_square[i] * squares[k] + widths.of_solved[i] * solved[k] * solved[k]
        });
        let reach = levels.fold(infinite, f64::min).sqrt() + 0.125 * solved[k];
        if k == 4 || !solved[k].is_finite() {
            assert_eq!((lower[k], upper[k]), (0.0, 1.0));
        } else {
            assert!(close(upper[k], (0.5 + reach).min(1.0)));
            assert!(close(lower[k], (0.5 - reach).max(0.0)));
        }
    }
}

#[test]
fn a_matrix_that_is_not_positive_definite_has_no_factor() {
    let wide = stride(2);
    for bad in [
        [[1.0, 2.0], [2.0, 1.0]],
        [[0.0, 0.0], [0.0, 1.0]],
        [[1.0, 0.0], [0.0, f64::NAN]],
    ] {
        let rows: Vec<Vec<f64>> = bad.iter().map(|row| row.to_vec()).collect();
        let mut w = vec![7.0; 2 * wide];
        assert!(!dense::inverse_factor(
            &table(&rows, wide),
            wide,
            2,
            &mut Vec::new(),
            &mut w
        ));
        assert!(w.iter().all(|&x| x == 7.0), "left as it was");
    }
}

/// An end that is not a number is the whole range: no cost is certified as 0 by it.
#[test]
fn ends_that_are_not_numbers_say_nothing() {
    let (nan, infinite) = (f64::NAN, f64::INFINITY);
    let centre = [0.3, nan, 0.3, infinite, -infinite, 0.3, 2.0, -2.0];
    let squares = [0.01, 0.01, nan, infinite, infinite, infinite, 0.0, 0.0];
    let (mut lower, mut upper, mut own) = ([9.0; 8], [9.0; 8], [9.0; 8]);
    dense::both_ends(&centre, 0.0, &squares, 1.0, &mut lower, &mut upper);
    dense::upper_ends(&centre, 0.0, &squares, 1.0, &mut own);
    assert_eq!(upper, own);
    assert_eq!(upper[1..], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
    assert_eq!(lower[1..], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    assert!((lower[0] - 0.2).abs() < 1e-12 && (upper[0] - 0.4).abs() < 1e-12);
}
