//! Passes over all partners of one action: (P) of the theorem.

use super::passes::{BLOCK, chunks, chunks_mut, fold, larger};
use crate::lanes::wide;

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

#[cfg(test)]
mod tests {
    //! Every pass against its naive twin.

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
        fn passes_equal_their_definitions((z, u, a, s, _) in rows()) {
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
        }

        #[test]
        fn a_pair_uses_up_the_guardrail((z, u, a, s, i) in rows(), rho in 0.0..3.0) {
            let n = 2 * BLOCK;
            let at = |j: usize, k: usize| z[(k / BLOCK * 2 + j) * BLOCK + k % BLOCK];
            let mut squares = vec![0.0; n];
            passes::squares(&z, 2, &mut squares);
            let gram: Vec<f64> = (0..n).map(|k| at(0, i) * at(0, k) + at(1, i) * at(1, k)).collect();
            let rows = PairRows { reward: &a, along: &s, u: &u, squares: &squares, gram: &gram };
            let end = |k: usize| End { reward: a[k], along: s[k], u: u[k], square: squares[k] };
            let mut values = vec![0.0; n];
            let top = pairs_cone(&end(i), &rows, rho, &mut values);
            prop_assert_eq!(top, values.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            for k in (0..n).filter(|&k| k != i) {
                let (f, w) = pair::<true>(&end(i), &end(k), gram[k], rho);
                prop_assert_eq!(f, values[k]);
                if f.is_finite() {
                    let mix = |x: f64, y: f64| (1.0 - w) * x + w * y;
                    let length = mix(at(0, i), at(0, k)).hypot(mix(at(1, i), at(1, k)));
                    let value = mix(a[i], a[k]) + rho * mix(s[i], s[k]).hypot(length);
                    prop_assert!((length - mix(u[i], u[k])).abs() <= 1e-6);
                    prop_assert!((value - f).abs() <= 1e-5, "{} {}", value, f);
                }
            }
        }
    }
}
