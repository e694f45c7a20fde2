//! Passes over all actions, written so that the compiler vectorises them. Results are the same on every CPU
//! (see `lanes.rs`): a maximum does not depend on the order it is taken in.

use crate::lanes::{LANES, wide};

#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// max_a V_a − λ u_a, and how many actions reach `floor`.
#[inline]
pub(crate) fn line_top(v: &[f64], u: &[f64], lambda: f64, floor: f64) -> (f64, usize) {
    let u = &u[..v.len()];
    let (mut top, mut count, mut from) = (f64::NEG_INFINITY, 0, 0);
    if v.len() >= 2 * LANES {
        (top, count, from) = line_top_wide(v, u, lambda, floor);
    }
    for a in from..v.len() {
        let x = v[a] - lambda * u[a];
        top = larger(x, top);
        count += usize::from(x >= floor);
    }
    (top, count)
}

wide! {
    /// [`line_top`] for as many actions as fill whole chunks, and their number.
    fn line_top_wide(v: &[f64], u: &[f64], lambda: f64, floor: f64) -> (f64, usize, usize) {
        line_top_chunks(v, u, lambda, floor)
    }
}

#[inline(always)]
fn line_top_chunks(v: &[f64], u: &[f64], lambda: f64, floor: f64) -> (f64, usize, usize) {
    let (v, _) = v.as_chunks::<LANES>();
    let (u, _) = u.as_chunks::<LANES>();
    let mut best = [f64::NEG_INFINITY; LANES];
    let mut count = [0; LANES];
    for (v, u) in v.iter().zip(u) {
        for k in 0..LANES {
            let x = v[k] - lambda * u[k];
            best[k] = larger(x, best[k]);
            count[k] += usize::from(x >= floor);
        }
    }
    let top = best.iter().fold(f64::NEG_INFINITY, |a, &b| larger(b, a));
    (top, count.iter().sum(), v.len() * LANES)
}

/// The first a with V_a − λ u_a equal to `target`.
pub(crate) fn line_position(v: &[f64], u: &[f64], lambda: f64, target: f64) -> usize {
    let u = &u[..v.len()];
    let mut base = 0;
    while base + LANES <= v.len() {
        let mut hit = false;
        for k in 0..LANES {
            hit |= v[base + k] - lambda * u[base + k] == target;
        }
        if hit {
            break;
        }
        base += LANES;
    }
    (base..v.len())
        .find(|&a| v[a] - lambda * u[a] == target)
        .unwrap_or(0)
}

/// The action with the largest V among those with u ≤ τ, if any.
pub(crate) fn best_within(v: &[f64], u: &[f64], tau: f64) -> Option<usize> {
    let mut best = None;
    let mut top = f64::NEG_INFINITY;
    for (a, (&v, &u)) in v.iter().zip(u).enumerate() {
        if u <= tau && v > top {
            top = v;
            best = Some(a);
        }
    }
    best
}

/// True if some other action has the same (V, u) as `lo` or `hi`.
pub(crate) fn has_twin(v: &[f64], u: &[f64], lo: usize, hi: usize) -> bool {
    let (p, q) = ((v[lo], u[lo]), (v[hi], u[hi]));
    let mut count = 0;
    for (&v, &u) in v.iter().zip(u) {
        count += usize::from(((v == p.0) & (u == p.1)) | ((v == q.0) & (u == q.1)));
    }
    count > 1 + usize::from(lo != hi)
}

wide! {
    /// Reduced costs of all actions: the largest V_a − Σ_i λ_i u_{i,a}, and how many actions come
    /// within `slack` of `level`.
    pub(crate) fn price(v: &[f64], rows: &[Vec<f64>], prices: &[f64], level: f64, slack: f64) -> (f64, usize) {
        let near = level - slack;
        // With the number of rows known, a chunk stays in registers.
        match rows.len() {
            2 => price_rows::<2>(v, rows, prices, near),
            3 => price_rows::<3>(v, rows, prices, near),
            4 => price_rows::<4>(v, rows, prices, near),
            5 => price_rows::<5>(v, rows, prices, near),
            6 => price_rows::<6>(v, rows, prices, near),
            _ => (0..v.len()).fold((f64::NEG_INFINITY, 0), |(top, count), a| {
                let x = reduced(v, rows, prices, a);
                (larger(x, top), count + usize::from(x >= near))
            }),
        }
    }
}

#[inline(always)]
fn price_rows<const M: usize>(
    v: &[f64],
    rows: &[Vec<f64>],
    prices: &[f64],
    near: f64,
) -> (f64, usize) {
    let p: [f64; M] = std::array::from_fn(|i| prices[i]);
    let chunks: [&[[f64; LANES]]; M] =
        std::array::from_fn(|i| rows[i][..v.len()].as_chunks::<LANES>().0);
    let (full, rest) = v.as_chunks::<LANES>();
    let mut best = [f64::NEG_INFINITY; LANES];
    let mut count = [0_u64; LANES];
    for (c, v) in full.iter().enumerate() {
        let mut x = *v;
        for i in 0..M {
            let u = &chunks[i][c];
            for k in 0..LANES {
                x[k] -= p[i] * u[k];
            }
        }
        for k in 0..LANES {
            best[k] = larger(x[k], best[k]);
            count[k] += u64::from(x[k] >= near);
        }
    }
    let mut top = best.iter().fold(f64::NEG_INFINITY, |a, &b| larger(b, a));
    let mut ties = count.iter().sum::<u64>() as usize;
    for a in v.len() - rest.len()..v.len() {
        let x = reduced(v, rows, prices, a);
        top = larger(x, top);
        ties += usize::from(x >= near);
    }
    (top, ties)
}

/// V_a − Σ_i λ_i u_{i,a}, in the order of the passes above.
#[inline(always)]
pub(crate) fn reduced(v: &[f64], rows: &[Vec<f64>], prices: &[f64], a: usize) -> f64 {
    let mut x = v[a];
    for (row, &p) in rows.iter().zip(prices) {
        x -= p * row[a];
    }
    x
}

wide! {
    /// The first action whose reduced cost is `target`.
    pub(crate) fn price_position(v: &[f64], rows: &[Vec<f64>], prices: &[f64], target: f64) -> usize {
        let mut base = 0;
        while base + LANES <= v.len() {
            let mut x: [f64; LANES] = std::array::from_fn(|k| v[base + k]);
            for (row, &p) in rows.iter().zip(prices) {
                let u = &row[base..base + LANES];
                for k in 0..LANES {
                    x[k] -= p * u[k];
                }
            }
            if x.iter().fold(false, |hit, &x| hit | (x == target)) {
                break;
            }
            base += LANES;
        }
        (base..v.len())
            .find(|&a| reduced(v, rows, prices, a) == target)
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    //! Every pass against its naive twin, bit for bit, whatever vectors the processor has.

    use super::*;
    use proptest::prelude::*;

    fn numbers(n: usize) -> impl Strategy<Value = Vec<f64>> {
        // A coarse grid half the time, so that ties are the rule.
        prop::collection::vec(
            prop_oneof![0.0..1.0, (0..5u8).prop_map(|x| f64::from(x) / 4.0)],
            n,
        )
    }

    fn problem() -> impl Strategy<Value = (Vec<f64>, Vec<Vec<f64>>, Vec<f64>)> {
        (1..150usize, 0..9usize)
            .prop_flat_map(|(n, m)| (numbers(n), prop::collection::vec(numbers(n), m), numbers(m)))
    }

    proptest! {
        #[test]
        fn pricing_all_rows_equals_pricing_one_by_one((v, rows, prices) in problem(), level in 0.0..1.0) {
            let all: Vec<f64> = (0..v.len()).map(|a| reduced(&v, &rows, &prices, a)).collect();
            let top = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let near = all.iter().filter(|&&x| x >= level - 0.125).count();
            prop_assert_eq!(price(&v, &rows, &prices, level, 0.125), (top, near));
            let first = all.iter().position(|&x| x == top);
            prop_assert_eq!(Some(price_position(&v, &rows, &prices, top)), first);
        }

        #[test]
        fn one_line_equals_one_by_one((v, u) in (1..150usize).prop_flat_map(|n| (numbers(n), numbers(n))), slope in 0.0..4.0, floor in -2.0..1.0) {
            let all: Vec<f64> = v.iter().zip(&u).map(|(v, u)| v - slope * u).collect();
            let top = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let reach = all.iter().filter(|&&x| x >= floor).count();
            prop_assert_eq!(line_top(&v, &u, slope, floor), (top, reach));
            let first = all.iter().position(|&x| x == top);
            prop_assert_eq!(Some(line_position(&v, &u, slope, top)), first);
            let portable = line_top_chunks(&v, &u, slope, floor);
            prop_assert_eq!(line_top_wide(&v, &u, slope, floor), portable);
        }
    }
}
