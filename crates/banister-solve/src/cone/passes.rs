//! Passes over all actions, vectorised like those of `scan.rs`: the same operations in the same
//! order whatever the width of the vectors, no fused multiply-add, so the same bits on every CPU.
//!
//! Rows are padded to whole blocks of [`BLOCK`] actions. Z is kept block by block: the p
//! coordinates of one block's actions lie together, so that a pass reads memory in one stream while
//! its sums stay in registers.

/// Actions per block: four AVX2 registers, enough sums in flight to hide an addition's latency.
pub(crate) const BLOCK: usize = 16;

/// One number per action of a block.
pub(crate) type Lanes = [f64; BLOCK];

/// Runs `kernel` with the widest vectors the processor has.
#[inline]
fn wide<R>(kernel: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn avx2<R>(kernel: impl FnOnce() -> R) -> R {
            kernel()
        }
        // SAFETY: the processor has just been asked whether it knows these instructions.
        #[allow(unsafe_code)]
        return unsafe { avx2(kernel) };
    }
    kernel()
}

#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[inline(always)]
fn chunks(row: &[f64]) -> &[Lanes] {
    row.as_chunks().0
}

#[inline(always)]
fn chunks_mut(row: &mut [f64]) -> &mut [Lanes] {
    row.as_chunks_mut().0
}

#[inline(always)]
fn fold(best: &Lanes) -> f64 {
    best.iter().fold(f64::NEG_INFINITY, |a, &b| larger(b, a))
}

/// out_a = scale · base_a + offset − Σ_j coef_j Z_{j,a}.
pub(crate) fn form(
    z: &[f64],
    coef: &[f64],
    (scale, offset): (f64, f64),
    base: &[f64],
    out: &mut [f64],
) {
    wide(|| {
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
    });
}

/// out_a = Σ_j Z_{j,a}².
pub(crate) fn squares(z: &[f64], p: usize, out: &mut [f64]) {
    wide(|| {
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
    });
}

/// max_a x_a + y_a.
pub(crate) fn top_of_sum(x: &[f64], y: &[f64]) -> f64 {
    wide(|| {
        let mut best = [f64::NEG_INFINITY; BLOCK];
        for (x, y) in chunks(x).iter().zip(chunks(y)) {
            for k in 0..BLOCK {
                best[k] = larger(x[k] + y[k], best[k]);
            }
        }
        fold(&best)
    })
}

/// max_a x_a.
pub(crate) fn top(x: &[f64]) -> f64 {
    wide(|| {
        let mut best = [f64::NEG_INFINITY; BLOCK];
        for x in chunks(x) {
            for k in 0..BLOCK {
                best[k] = larger(x[k], best[k]);
            }
        }
        fold(&best)
    })
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

/// C at a corner (math: C_φ = a + ρ(cos φ·s + sin φ·u)): out_a = a_a + x s_a + y u_a; its maximum.
pub(crate) fn corner(a: &[f64], s: &[f64], u: &[f64], (x, y): (f64, f64), out: &mut [f64]) -> f64 {
    wide(|| {
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
    })
}

/// max_a a_a + x s_a + y u_a + (q_a + r_a)/2: the bound at a corner that two proofs share.
pub(crate) fn shared_top(
    (a, s, u): (&[f64], &[f64], &[f64]),
    (x, y): (f64, f64),
    q: &[f64],
    r: &[f64],
) -> f64 {
    wide(|| {
        let mut best = [f64::NEG_INFINITY; BLOCK];
        let rows = chunks(a).iter().zip(chunks(s)).zip(chunks(u));
        for (((a, s), u), (q, r)) in rows.zip(chunks(q).iter().zip(chunks(r))) {
            for k in 0..BLOCK {
                let c = a[k] + x * s[k] + y * u[k];
                best[k] = larger(c + 0.5 * (q[k] + r[k]), best[k]);
            }
        }
        fold(&best)
    })
}

/// out_a = max(out_a, a_a + x s_a + y u_a).
pub(crate) fn raise((a, s, u): (&[f64], &[f64], &[f64]), (x, y): (f64, f64), out: &mut [f64]) {
    wide(|| {
        let rows = chunks(a).iter().zip(chunks(s)).zip(chunks(u));
        for (out, ((a, s), u)) in chunks_mut(out).iter_mut().zip(rows) {
            for k in 0..BLOCK {
                out[k] = larger(a[k] + x * s[k] + y * u[k], out[k]);
            }
        }
    });
}

/// One action of a pair, as the pair pass sees it.
#[derive(Clone, Copy)]
pub(crate) struct End {
    pub reward: f64,
    pub along: f64,
    pub u: f64,
    /// ‖Z‖².
    pub square: f64,
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

/// The objective of every pair (i, j) where it uses up the guardrail, and the best of them.
pub(crate) fn pairs<const CONE: bool>(
    i: &End,
    rows: &PairRows<'_>,
    rho: f64,
    out: &mut [f64],
) -> f64 {
    wide(|| {
        let mut best = [f64::NEG_INFINITY; BLOCK];
        let r = chunks(rows.reward).iter().zip(chunks(rows.along));
        let u = chunks(rows.u).iter().zip(chunks(rows.squares));
        let all = r.zip(u).zip(chunks(rows.gram));
        for (out, (((reward, along), (u, square)), gram)) in chunks_mut(out).iter_mut().zip(all) {
            for k in 0..BLOCK {
                let j = End {
                    reward: reward[k],
                    along: along[k],
                    u: u[k],
                    square: square[k],
                };
                let (f, _) = pair::<CONE>(i, &j, gram[k], rho);
                out[k] = f;
                best[k] = larger(f, best[k]);
            }
        }
        fold(&best)
    })
}

/// Marks with 1 the partners j of i whose pair may be better than `target`, with 0 the others, and
/// counts them. No root is taken: f(π) ≤ Σ_a π_a f_a as f is convex, which is the target at one
/// weight w of the action beyond the guardrail; if the pair fails the guardrail there, what it may
/// have of that action is less, and its objective below the target.
///
/// Two actions within the guardrail never use it up; two beyond it need X < 0 and X² > CD.
pub(crate) fn screen(
    i: &End,
    f_i: f64,
    rows: &PairRows<'_>,
    f: &[f64],
    target: f64,
    out: &mut [f64],
) -> usize {
    let c = i.square - i.u * i.u;
    let within_i = (c <= 0.0) & (i.u >= 0.0);
    wide(|| {
        let mut count = [0_u64; BLOCK];
        let r = chunks(f).iter().zip(chunks(rows.gram));
        let u = chunks(rows.u).iter().zip(chunks(rows.squares));
        for (out, ((f, gram), (u, square))) in chunks_mut(out).iter_mut().zip(r.zip(u)) {
            for k in 0..BLOCK {
                let d = square[k] - u[k] * u[k];
                let x = gram[k] - i.u * u[k];
                let within_j = (d <= 0.0) & (u[k] >= 0.0);
                let mixed = within_i ^ within_j;
                // The end beyond the guardrail is `above` the target, the other `below` it.
                let (above, below) = if within_i {
                    (f[k] - target, target - f_i)
                } else {
                    (f_i - target, target - f[k])
                };
                let (near, far) = if within_i { (c, d) } else { (d, c) };
                let q = near * above * above + 2.0 * (x * above * below) + far * below * below;
                let crossing = mixed & (above > 0.0) & !(q > 0.0);
                let beyond = !(within_i | within_j) & (x < 0.0) & !(x * x < c * d);
                let better = (f[k] > target) | (f_i > target);
                let keep = crossing | beyond & better;
                out[k] = if keep { 1.0 } else { 0.0 };
                count[k] += u64::from(keep);
            }
        }
        count.iter().sum::<u64>() as usize
    })
}
