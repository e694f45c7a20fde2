//! Passes over all actions, written so that the compiler vectorises them.
//!
//! A maximum does not depend on the order it is taken in, so results are the same on every CPU.

/// Width of a chunk: a few vector registers on any machine.
pub(crate) const LANES: usize = 8;

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

/// [`line_top`] for as many actions as fill whole chunks, and their number.
fn line_top_wide(v: &[f64], u: &[f64], lambda: f64, floor: f64) -> (f64, usize, usize) {
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

/// Whether some other action has the same (V, u) as `lo` or `hi`.
pub(crate) fn has_twin(v: &[f64], u: &[f64], lo: usize, hi: usize) -> bool {
    let (p, q) = ((v[lo], u[lo]), (v[hi], u[hi]));
    let mut count = 0;
    for (&v, &u) in v.iter().zip(u) {
        count += usize::from(((v == p.0) & (u == p.1)) | ((v == q.0) & (u == q.1)));
    }
    count > 1 + usize::from(lo != hi)
}

/// Reduced costs of all actions: the largest V_a − Σ_i λ_i u_{i,a}, its first index, and how many
/// actions come within `slack` of `level`.
pub(crate) fn price(
    v: &[f64],
    rows: &[Vec<f64>],
    prices: &[f64],
    level: f64,
    slack: f64,
) -> (usize, f64, usize) {
    const WIDTH: usize = 64;
    let near = level - slack;
    let mut buffer = [0.0; WIDTH];
    let mut top = f64::NEG_INFINITY;
    let mut top_base = 0;
    let mut ties = 0;
    let mut base = 0;
    while base < v.len() {
        let width = WIDTH.min(v.len() - base);
        let chunk = &mut buffer[..width];
        let v = &v[base..base + width];
        // The first row comes with the copy, which saves a pass over the buffer.
        let mut priced = rows.iter().zip(prices);
        match priced.next() {
            None => chunk.copy_from_slice(v),
            Some((row, &p)) => {
                for ((x, v), u) in chunk.iter_mut().zip(v).zip(&row[base..base + width]) {
                    *x = v - p * u;
                }
            }
        }
        for (row, &p) in priced {
            if p != 0.0 {
                for (x, u) in chunk.iter_mut().zip(&row[base..base + width]) {
                    *x -= p * u;
                }
            }
        }
        let mut best = [f64::NEG_INFINITY; LANES];
        let (full, rest) = chunk.as_chunks::<LANES>();
        for x in full {
            for k in 0..LANES {
                best[k] = larger(x[k], best[k]);
            }
        }
        let chunk_top = rest
            .iter()
            .chain(&best)
            .fold(f64::NEG_INFINITY, |a, &b| larger(b, a));
        if chunk_top >= near {
            ties += chunk.iter().filter(|&&x| x >= near).count();
        }
        if chunk_top > top {
            top = chunk_top;
            top_base = base;
        }
        base += width;
    }
    let value = |a: usize| {
        let mut x = v[a];
        for (row, &p) in rows.iter().zip(prices) {
            if p != 0.0 {
                x -= p * row[a];
            }
        }
        x
    };
    let end = (top_base + WIDTH).min(v.len());
    let index = (top_base..end)
        .find(|&a| value(a) == top)
        .unwrap_or(top_base);
    (index, top, ties)
}
