//! Passes over all actions, vectorised like those of `scan.rs`: the same operations in the same
//! order whatever the width of the vectors, no fused multiply-add, so the same bits on every CPU.
//!
//! Rows are padded to whole blocks of [`BLOCK`] actions. Z is kept block by block: the p
//! coordinates of one block's actions lie together, so that a pass reads memory in one stream while
//! its sums stay in registers.

/// Actions per block: four AVX2 or two AVX-512 registers, enough sums in flight to hide an addition's latency.
pub(crate) const BLOCK: usize = 16;

/// One number per action of a block.
pub(crate) type Lanes = [f64; BLOCK];

/// Defines a pass for the vectors every machine has, for AVX2 and for AVX-512; chooses when called.
/// A macro, as the compiler takes over the wider vectors only into functions it must inline.
macro_rules! pass {
    ($(#[$doc:meta])* fn $name:ident($($arg:ident: $kind:ty),* $(,)?) -> $out:ty $body:block) => {
        $(#[$doc])*
        pub(crate) fn $name($($arg: $kind),*) -> $out {
            #[inline(always)]
            fn kernel($($arg: $kind),*) -> $out $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f")]
                fn widest($($arg: $kind),*) -> $out {
                    kernel($($arg),*)
                }
                #[target_feature(enable = "avx2")]
                fn wide($($arg: $kind),*) -> $out {
                    kernel($($arg),*)
                }
                // SAFETY: the processor has just been asked whether it knows these instructions.
                #[allow(unsafe_code)]
                if std::arch::is_x86_feature_detected!("avx512f") {
                    return unsafe { widest($($arg),*) };
                } else if std::arch::is_x86_feature_detected!("avx2") {
                    return unsafe { wide($($arg),*) };
                }
            }
            kernel($($arg),*)
        }
    };
}
pub(super) use pass;

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

pass! {
    /// out_a = scale · base_a + offset − Σ_j coef_j Z_{j,a}.
    fn form(z: &[f64], coef: &[f64], line: (f64, f64), base: &[f64], out: &mut [f64]) -> () {
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

pass! {
    /// out_a = Σ_j Z_{j,a}².
    fn squares(z: &[f64], p: usize, out: &mut [f64]) -> () {
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

pass! {
    /// max_a x_a + y_a.
    fn top_of_sum(x: &[f64], y: &[f64]) -> f64 {
        let mut best = [f64::NEG_INFINITY; BLOCK];
        for (x, y) in chunks(x).iter().zip(chunks(y)) {
            for k in 0..BLOCK {
                best[k] = larger(x[k] + y[k], best[k]);
            }
        }
        fold(&best)
    }
}

pass! {
    /// max_a x_a.
    fn top(x: &[f64]) -> f64 {
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

pass! {
    /// C at a corner (math: C_φ = a + ρ(cos φ·s + sin φ·u)): out_a = a_a + x s_a + y u_a; its maximum.
    fn corner(a: &[f64], s: &[f64], u: &[f64], at: (f64, f64), out: &mut [f64]) -> f64 {
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

pass! {
    /// max_a a_a + x s_a + y u_a + (q_a + r_a)/2: the bound at a corner that two proofs share.
    fn shared_top(
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

pass! {
    /// out_a = max(out_a, a_a + x s_a + y u_a).
    fn raise(rows_of: (&[f64], &[f64], &[f64]), at: (f64, f64), out: &mut [f64]) -> () {
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
