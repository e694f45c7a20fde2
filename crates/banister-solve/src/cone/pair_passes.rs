//! Passes over all partners of one action: (P) of the theorem.

use super::passes::{BLOCK, Lanes, chunks, chunks_mut, fold, larger};
use crate::lanes::wide;

/// Two actions beyond the guardrail that touch it at one mixture must not be lost to rounding.
const CLOSE: f64 = 1.0 - 1e-12;

/// One action of a pair, as the pair pass sees it.
#[derive(Clone, Copy)]
pub(crate) struct End {
    pub reward: f64,
    pub along: f64,
    pub u: f64,
    /// Squared length of the column, ‖Z‖².
    pub square: f64,
}

impl End {
    #[inline(always)]
    fn of([reward, along, u, square]: [f64; 4]) -> Self {
        Self {
            reward,
            along,
            u,
            square,
        }
    }
}

/// The rows a pair pass reads.
#[derive(Clone, Copy)]
pub(crate) struct PairRows<'a> {
    pub reward: &'a [f64],
    pub along: &'a [f64],
    pub u: &'a [f64],
    pub squares: &'a [f64],
    /// Z_i'Z_j for all j.
    pub gram: &'a [f64],
}

/// The weight of j at which the pair (i, j) uses up the guardrail, and the objective there; of two
/// such weights the better. None inside (0, 1): the objective is −∞.
///
/// With a norm (`CONE`) that is ‖Zπ‖ = u'π, a quadratic; without, u'π = 0 (math: (P)).
#[inline(always)]
pub(crate) fn pair<const CONE: bool>(i: &End, j: &End, gram: f64, rho: f64) -> (f64, f64) {
    if !CONE {
        let w = i.u / (i.u - j.u);
        let (rest, mut f) = (1.0 - w, f64::NEG_INFINITY);
        let s = rest * i.along + w * j.along;
        let t = rest * rest * i.square + 2.0 * (rest * w) * gram + w * w * j.square;
        let value = rest * i.reward + w * j.reward + rho * (s * s + larger(t, 0.0)).sqrt();
        if (w > 0.0) & (w < 1.0) {
            f = value;
        }
        return (f, w);
    }
    // q(w) = C(1−w)² + 2Xw(1−w) + Dw² = Aw² − 2Bw + C, whose discriminant is X² − CD.
    let (c, d) = (i.square - i.u * i.u, j.square - j.u * j.u);
    let x = gram - i.u * j.u;
    let (b, a) = (c - x, (c - x) + (d - x));
    let discriminant = x * x - c * d;
    let root = larger(discriminant, 0.0).sqrt();
    // No cancellation: the root of larger size first, the other from the product C/A of both.
    let big = if b >= 0.0 { b + root } else { b - root };
    let (w1, w2) = (c / big, big / a);
    let value = |w: f64| {
        let rest = 1.0 - w;
        let u = rest * i.u + w * j.u;
        let s = rest * i.along + w * j.along;
        let f = rest * i.reward + w * j.reward + rho * (s * s + u * u).sqrt();
        let inside = (w > 0.0) & (w < 1.0) & (u >= 0.0) & (discriminant >= 0.0);
        if inside { f } else { f64::NEG_INFINITY }
    };
    let (f1, f2) = (value(w1), value(w2));
    if f1 > f2 { (f1, w1) } else { (f2, w2) }
}

#[inline(always)]
fn pairs_kernel<const CONE: bool>(i: &End, rows: &PairRows<'_>, rho: f64, out: &mut [f64]) -> f64 {
    let mut best = [f64::NEG_INFINITY; BLOCK];
    let r = chunks(rows.reward).iter().zip(chunks(rows.along));
    let u = chunks(rows.u).iter().zip(chunks(rows.squares));
    let all = r.zip(u).zip(chunks(rows.gram));
    for (out, (((reward, along), (u, square)), gram)) in chunks_mut(out).iter_mut().zip(all) {
        for k in 0..BLOCK {
            let j = End::of([reward[k], along[k], u[k], square[k]]);
            let (f, _) = pair::<CONE>(i, &j, gram[k], rho);
            out[k] = f;
            best[k] = larger(f, best[k]);
        }
    }
    fold(&best)
}

wide! {
    /// The objective of every pair (i, j) where it uses up the guardrail, and the best of them.
    pub(crate) fn pairs_cone(i: &End, rows: &PairRows<'_>, rho: f64, out: &mut [f64]) -> f64 {
        pairs_kernel::<true>(i, rows, rho, out)
    }
}

wide! {
    /// The objective of every pair (i, j) where it uses up the guardrail, and the best of them.
    pub(crate) fn pairs_linear(i: &End, rows: &PairRows<'_>, rho: f64, out: &mut [f64]) -> f64 {
        pairs_kernel::<false>(i, rows, rho, out)
    }
}

/// Bound of every policy by a mixture of its actions: f(π) ≤ Σ_a π_a line_a.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    pub at: &'a [f64],
    /// Its value at the first action of the pairs.
    pub own: f64,
}

wide! {
    /// Marks with 1 the partners j of i whose pair may be better than `target`, with 0 the others, and
    /// counts them. No root is taken: at the mixture of the pair where a line is at the target, the sign
    /// of ‖Zπ‖² − (u'π)², with that of u'π, tells on which side of it the pair uses up the guardrail.
    ///
    /// Two actions within the guardrail never use it up; two beyond it need X < 0 and X² > CD.
    pub(crate) fn screen(
        i: &End,
        rows: &PairRows<'_>,
        lines: &[Line<'_>; 3],
        target: f64,
        out: &mut [f64],
    ) -> usize {
        let c = i.square - i.u * i.u;
        let within_i = (c <= 0.0) & (i.u >= 0.0);
        let mut count = [0_u64; BLOCK];
        let u = chunks(rows.u).iter().zip(chunks(rows.squares));
        let at: [&[Lanes]; 3] = std::array::from_fn(|l| chunks(lines[l].at));
        let all = u.zip(chunks(rows.gram)).enumerate();
        for (out, (b, ((u, square), gram))) in chunks_mut(out).iter_mut().zip(all) {
            for k in 0..BLOCK {
                let d = square[k] - u[k] * u[k];
                let x = gram[k] - i.u * u[k];
                let within_j = (d <= 0.0) & (u[k] >= 0.0);
                let (mut possible, mut some) = (true, true);
                for l in 0..3 {
                    // How far i is above the target, and j below it: mixed in the weights β and α
                    // they are at the target, if both have the same sign.
                    let alpha = lines[l].own - target;
                    let beta = target - at[l][b][k];
                    let q = c * (beta * beta) + 2.0 * x * (alpha * beta) + d * (alpha * alpha);
                    // Beyond the guardrail there: outside of the cone, or in its mirror image.
                    let mixed = beta * i.u + alpha * u[k];
                    let mirrored = if alpha > 0.0 { mixed < 0.0 } else { mixed > 0.0 };
                    // Seen from the end within: falling lines need more of the end beyond.
                    let falls = if within_i { alpha > 0.0 } else { beta < 0.0 };
                    let beyond = if falls { (q >= 0.0) | mirrored } else { (q <= 0.0) & !mirrored };
                    let crosses = (alpha * beta > 0.0) & beyond;
                    possible &= crosses | (alpha >= 0.0) & (beta <= 0.0);
                    some &= (alpha > 0.0) | (beta < 0.0);
                }
                let crossing = (within_i ^ within_j) & possible;
                let both = !(within_i | within_j) & some & (x < 0.0) & (x * x >= c * d * CLOSE);
                let keep = crossing | both;
                out[k] = if keep { 1.0 } else { 0.0 };
                count[k] += u64::from(keep);
            }
        }
        count.iter().sum::<u64>() as usize
    }
}

/// Solves each pair of i for the guardrail: one root and one division, in vectors. `WITHIN` tells
/// whether i is within the guardrail. Pairs of two actions beyond it are marked as by [`screen`].
#[inline(always)]
fn refine_kernel<const WITHIN: bool>(
    i: &End,
    rows: &PairRows<'_>,
    rho: f64,
    target: f64,
    marks: &mut [f64],
) -> usize {
    let mut count = [0_u64; BLOCK];
    let r = chunks(rows.reward).iter().zip(chunks(rows.along));
    let u = chunks(rows.u).iter().zip(chunks(rows.squares));
    let all = r.zip(u).zip(chunks(rows.gram));
    for (marks, (((reward, along), (u, square)), gram)) in chunks_mut(marks).iter_mut().zip(all) {
        for k in 0..BLOCK {
            let j = End::of([reward[k], along[k], u[k], square[k]]);
            let (near, far) = if WITHIN { (*i, j) } else { (j, *i) };
            let (c, d) = (near.square - near.u * near.u, far.square - far.u * far.u);
            let x = gram[k] - near.u * far.u;
            // The first zero of q from the end within, where c ≤ 0: see `pair`.
            let b = c - x;
            let root = larger(x * x - c * d, 0.0).sqrt();
            let (top, bottom) = if b > 0.0 {
                (b + root, b + (d - x))
            } else {
                (c, b - root)
            };
            let w = top / bottom;
            let rest = 1.0 - w;
            let u = rest * near.u + w * far.u;
            let s = rest * near.along + w * far.along;
            let room = target - (rest * near.reward + w * far.reward);
            let worse = (room >= 0.0) & (rho * rho * (s * s + u * u) <= room * room);
            let near_within = WITHIN | (c <= 0.0) & (near.u >= 0.0);
            let crossing = (w > 0.0) & (w < 1.0) & !worse;
            let both = (x < 0.0) & (x * x >= c * d * CLOSE);
            let keep = if near_within { crossing } else { both };
            marks[k] = if keep { 1.0 } else { 0.0 };
            count[k] += u64::from(keep);
        }
    }
    count.iter().sum::<u64>() as usize
}

wide! {
    /// [`screen`] by solving each pair: marks those better than `target` and counts them.
    pub(crate) fn refine_within(
        i: &End,
        rows: &PairRows<'_>,
        rho: f64,
        target: f64,
        marks: &mut [f64],
    ) -> usize {
        refine_kernel::<true>(i, rows, rho, target, marks)
    }
}

wide! {
    /// [`screen`] by solving each pair: marks those better than `target` and counts them.
    pub(crate) fn refine_beyond(
        i: &End,
        rows: &PairRows<'_>,
        rho: f64,
        target: f64,
        marks: &mut [f64],
    ) -> usize {
        refine_kernel::<false>(i, rows, rho, target, marks)
    }
}

#[cfg(test)]
mod tests {
    //! Every pass against its naive twin, and what is left out against what it would have been.

    use super::super::passes;
    use super::*;
    use proptest::prelude::*;

    fn numbers(n: usize) -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(prop_oneof![-1.0..1.0, Just(0.0), Just(0.5)], n)
    }

    /// (Z of 2 coordinates, u, reward, s) for two blocks, and an action to pair with all.
    type Rows = (Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>, usize);

    fn rows() -> impl Strategy<Value = Rows> {
        let n = 2 * BLOCK;
        (numbers(2 * n), numbers(n), numbers(n), numbers(n), 0..n)
    }

    proptest! {
        #[test]
        fn passes_equal_their_definitions((z, u, a, s, i) in rows()) {
            let n = 2 * BLOCK;
            let at = |j: usize, k: usize| z[(k / BLOCK * 2 + j) * BLOCK + k % BLOCK];
            let mut squares = vec![0.0; n];
            passes::squares(&z, 2, &mut squares);
            let mut form = vec![0.0; n];
            passes::form(&z, &[0.3, -0.7], (2.0, 0.1), &u, &mut form);
            let mut corner = vec![0.0; n];
            let top = passes::corner(&a, &s, &u, (0.6, 0.8), &mut corner);
            for k in 0..n {
                prop_assert_eq!(squares[k], at(0, k) * at(0, k) + at(1, k) * at(1, k));
                prop_assert_eq!(form[k], u[k] * 2.0 + 0.1 - 0.3 * at(0, k) - -0.7 * at(1, k));
                prop_assert_eq!(corner[k], a[k] + 0.6 * s[k] + 0.8 * u[k]);
            }
            prop_assert_eq!(top, corner.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            prop_assert_eq!(top, corner[passes::position(&corner, top)]);
            let sum = passes::top_of_sum(&corner, &form);
            let found = passes::position_of_sum(&corner, &form, sum);
            prop_assert_eq!(sum, corner[found] + form[found]);
            let shared = passes::shared_top((&a, &s, &u), (0.6, 0.8), &form, &form);
            prop_assert!((shared - sum).abs() <= 1e-14);
            prop_assert!(i < n);
        }

        #[test]
        fn no_better_pair_is_screened_out((z, u, a, s, i) in rows(), rho in 0.0..3.0, share in 0.0..1.0) {
            let n = 2 * BLOCK;
            let at = |j: usize, k: usize| z[(k / BLOCK * 2 + j) * BLOCK + k % BLOCK];
            let mut squares = vec![0.0; n];
            passes::squares(&z, 2, &mut squares);
            let gram: Vec<f64> = (0..n).map(|k| at(0, i) * at(0, k) + at(1, i) * at(1, k)).collect();
            let rows = PairRows { reward: &a, along: &s, u: &u, squares: &squares, gram: &gram };
            let end = |k: usize| End { reward: a[k], along: s[k], u: u[k], square: squares[k] };
            let values: Vec<f64> = (0..n).map(|k| pair::<true>(&end(i), &end(k), gram[k], rho).0).collect();
            let mut fast = vec![0.0; n];
            let top = pairs_cone(&end(i), &rows, rho, &mut fast);
            prop_assert_eq!(&fast, &values);
            prop_assert_eq!(top, values.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            // f is a line that bounds every policy; the target is above every action within.
            let f: Vec<f64> = (0..n).map(|k| a[k] + rho * (s[k] * s[k] + squares[k]).sqrt()).collect();
            let within = |k: usize| squares[k] <= u[k] * u[k] && u[k] >= 0.0;
            let least = (0..n).filter(|&k| within(k)).map(|k| f[k]).fold(0.0, f64::max);
            let most = f.iter().copied().fold(least, f64::max);
            let target = least + share * (most - least);
            let line = Line { at: &f, own: f[i] };
            let mut marks = vec![0.0; n];
            let count = screen(&end(i), &rows, &[line, line, line], target, &mut marks);
            prop_assert_eq!(count, marks.iter().filter(|&&m| m != 0.0).count());
            let mut solved = vec![0.0; n];
            if within(i) {
                refine_within(&end(i), &rows, rho, target, &mut solved);
            } else {
                refine_beyond(&end(i), &rows, rho, target, &mut solved);
            }
            for k in (0..n).filter(|&k| k != i && values[k] > target + 1e-9) {
                prop_assert!(marks[k] != 0.0, "screened out {k}: {} {target}", values[k]);
                prop_assert!(solved[k] != 0.0, "solved out {k}: {} {target}", values[k]);
            }
        }
    }
}
