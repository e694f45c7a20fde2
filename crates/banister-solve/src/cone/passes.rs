//! Vectorised passes over all actions: the same bits on every CPU (see `lanes.rs`).
//!
//! Rows are padded to whole blocks of [`BLOCK`] actions. Z is kept block by block: the p
//! coordinates of one block's actions lie together, so that a pass reads memory in one stream while
//! its sums stay in registers.

use crate::lanes::wide;

/// Actions per block: four AVX2 or two AVX-512 registers, enough sums in flight to hide an addition's latency.
pub(crate) const BLOCK: usize = 16;

/// One number per action of a block.
pub(crate) type Lanes = [f64; BLOCK];

#[inline(always)]
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[inline(always)]
pub(super) fn chunks(row: &[f64]) -> &[Lanes] {
    row.as_chunks().0
}

#[inline(always)]
pub(super) fn chunks_mut(row: &mut [f64]) -> &mut [Lanes] {
    row.as_chunks_mut().0
}

#[inline(always)]
pub(super) fn fold(best: &Lanes) -> f64 {
    best.iter().fold(f64::NEG_INFINITY, |a, &b| larger(b, a))
}

wide! {
    /// out_a = scale · base_a + offset − Σ_j coef_j Z_{j,a}.
    pub(crate) fn form(z: &[f64], coef: &[f64], line: (f64, f64), base: &[f64], out: &mut [f64]) {
        let (scale, offset) = line;
        let rows = chunks(z);
        let p = coef.len();
        for (b, (out, base)) in chunks_mut(out).iter_mut().zip(chunks(base)).enumerate() {
            let mut x = *base;
            for lane in &mut x {
                *lane = *lane * scale + offset;
            }
            for (row, &c) in rows[b * p..(b + 1) * p].iter().zip(coef) {
                for k in 0..BLOCK {
                    x[k] -= c * row[k];
                }
            }
            *out = x;
        }
    }
}

wide! {
    /// out_a = out_a + factor · x_a.
    pub(crate) fn add(out: &mut [f64], factor: f64, x: &[f64]) {
        for (out, x) in chunks_mut(out).iter_mut().zip(chunks(x)) {
            for k in 0..BLOCK {
                out[k] += factor * x[k];
            }
        }
    }
}

wide! {
    /// out_a = Σ_j Z_{j,a}².
    pub(crate) fn squares(z: &[f64], p: usize, out: &mut [f64]) {
        let rows = chunks(z);
        for (b, out) in chunks_mut(out).iter_mut().enumerate() {
            let mut x = [0.0; BLOCK];
            for row in &rows[b * p..(b + 1) * p] {
                for k in 0..BLOCK {
                    x[k] += row[k] * row[k];
                }
            }
            *out = x;
        }
    }
}

wide! {
    /// max_a x_a + y_a.
    pub(crate) fn top_of_sum(x: &[f64], y: &[f64]) -> f64 {
        let mut best = [f64::NEG_INFINITY; BLOCK];
        for (x, y) in chunks(x).iter().zip(chunks(y)) {
            for k in 0..BLOCK {
                best[k] = larger(x[k] + y[k], best[k]);
            }
        }
        fold(&best)
    }
}

wide! {
    /// Largest entry, max_a x_a.
    pub(crate) fn top(x: &[f64]) -> f64 {
        let mut best = [f64::NEG_INFINITY; BLOCK];
        for x in chunks(x) {
            for k in 0..BLOCK {
                best[k] = larger(x[k], best[k]);
            }
        }
        fold(&best)
    }
}

/// The first action with x_a + y_a equal to `target`.
pub(crate) fn position_of_sum(x: &[f64], y: &[f64], target: f64) -> usize {
    let hit = |(x, y): (&Lanes, &Lanes)| (0..BLOCK).any(|k| x[k] + y[k] == target);
    let block = chunks(x).iter().zip(chunks(y)).position(hit).unwrap_or(0);
    let base = block * BLOCK;
    let from = x[base..].iter().zip(&y[base..]);
    base + from
        .into_iter()
        .position(|(x, y)| x + y == target)
        .unwrap_or(0)
}

/// The first action with x_a equal to `target`.
pub(crate) fn position(x: &[f64], target: f64) -> usize {
    x.iter().position(|&x| x == target).unwrap_or(0)
}

wide! {
    /// C at a corner (math: C_φ = a + ρ(cos φ·s + sin φ·u)): out_a = a_a + x s_a + y u_a; its maximum.
    pub(crate) fn corner(a: &[f64], s: &[f64], u: &[f64], at: (f64, f64), out: &mut [f64]) -> f64 {
        let (x, y) = at;
        let mut best = [f64::NEG_INFINITY; BLOCK];
        let rows = chunks(a).iter().zip(chunks(s)).zip(chunks(u));
        for (out, ((a, s), u)) in chunks_mut(out).iter_mut().zip(rows) {
            for k in 0..BLOCK {
                let c = a[k] + x * s[k] + y * u[k];
                out[k] = c;
                best[k] = larger(c, best[k]);
            }
        }
        fold(&best)
    }
}

wide! {
    /// max_a a_a + x s_a + y u_a + (q_a + r_a)/2: the bound at a corner that two proofs share.
    pub(crate) fn shared_top(
        rows_of: (&[f64], &[f64], &[f64]),
        at: (f64, f64),
        q: &[f64],
        r: &[f64],
    ) -> f64 {
        let (a, s, u) = rows_of;
        let (x, y) = at;
        let mut best = [f64::NEG_INFINITY; BLOCK];
        let rows = chunks(a).iter().zip(chunks(s)).zip(chunks(u));
        for (((a, s), u), (q, r)) in rows.zip(chunks(q).iter().zip(chunks(r))) {
            for k in 0..BLOCK {
                let c = a[k] + x * s[k] + y * u[k];
                best[k] = larger(c + 0.5 * (q[k] + r[k]), best[k]);
            }
        }
        fold(&best)
    }
}

wide! {
    /// out_a = max(out_a, a_a + x s_a + y u_a).
    pub(crate) fn raise(rows_of: (&[f64], &[f64], &[f64]), at: (f64, f64), out: &mut [f64]) {
        let (a, s, u) = rows_of;
        let (x, y) = at;
        let rows = chunks(a).iter().zip(chunks(s)).zip(chunks(u));
        for (out, ((a, s), u)) in chunks_mut(out).iter_mut().zip(rows) {
            for k in 0..BLOCK {
                out[k] = larger(a[k] + x * s[k] + y * u[k], out[k]);
            }
        }
    }
}
