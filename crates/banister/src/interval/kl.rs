//! Binary Kullback-Leibler intervals: { q : kl(p, q) ≤ level }.
//!
//! Logarithms come from `libm`, so that the same data give the same bits on every machine.

use libm::{exp, log, log1p};

/// kl(p, q) between Bernoulli means, with 0·ln 0 = 0.
pub fn kl(p: f64, q: f64) -> f64 {
    let left = if p > 0.0 { p * log(p / q) } else { 0.0 };
    let right = if p < 1.0 {
        (1.0 - p) * log((1.0 - p) / (1.0 - q))
    } else {
        0.0
    };
    left + right
}

/// kl(p, p + d) for p > 0 and 0 ≤ d < 1 − p, without cancellation near d = 0.
///
/// With h(x) = x − ln(1 + x) it is p·h(d/p) + (1−p)·h(−d/(1−p)). Near zero a series stands for the
/// logarithms, as they dominate the cost of a round: with s = x/(2+x),
/// ln(1+x) = 2(s + s³/3 + s⁵/5 + …) and x − 2s = x·s.
#[inline]
fn divergence(p: f64, d: f64) -> f64 {
    let rest = 1.0 - p;
    if d > 0.4 * p || d > 0.3 * rest {
        return p * excess(d / p) + rest * excess(-d / rest);
    }
    // x/(2+x) for x = d/p and x = −d/(1−p), with one division each.
    let s = [d / (p + p + d), d / (d - (rest + rest))];
    let t = [s[0] * s[0], s[1] * s[1]];
    let tail = series(t);
    s[0] * (d - 2.0 * p * (t[0] * tail[0])) - s[1] * (d + 2.0 * rest * (t[1] * tail[1]))
}

/// x − ln(1 + x).
#[inline(never)]
fn excess(x: f64) -> f64 {
    x - log1p(x)
}

/// 1/3 + t/5 + t²/7 + …; with t ≤ 0.0312 eleven terms leave less than a unit in the last place.
/// Two at a time, for the two vector lanes that every machine has.
#[inline(always)]
fn series(t: [f64; 2]) -> [f64; 2] {
    const C: [f64; 11] = [
        1.0 / 3.0,
        1.0 / 5.0,
        1.0 / 7.0,
        1.0 / 9.0,
        1.0 / 11.0,
        1.0 / 13.0,
        1.0 / 15.0,
        1.0 / 17.0,
        1.0 / 19.0,
        1.0 / 21.0,
        1.0 / 23.0,
    ];
    t.map(|t| {
        let t2 = t * t;
        let t4 = t2 * t2;
        let low = (C[0] + t * C[1]) + t2 * (C[2] + t * C[3]);
        let middle = (C[4] + t * C[5]) + t2 * (C[6] + t * C[7]);
        let high = (C[8] + t * C[9]) + t2 * C[10];
        low + t4 * (middle + t4 * high)
    })
}

/// The largest q with kl(p, q) ≤ `level`, from above: never below the true bound but for rounding.
///
/// `guess` is any number (the bound before the last observation is a good one).
pub fn kl_upper(p: f64, level: f64, guess: f64) -> f64 {
    if p >= 1.0 {
        return 1.0;
    }
    if p <= 0.0 {
        return 1.0 - exp(-level);
    }
    // Pinsker: kl(p, q) ≥ 2(q − p)².
    let pinsker = p + (0.5 * level).sqrt();
    let cap = if pinsker < 1.0 {
        pinsker
    } else {
        // −p ln q ≥ 0 leaves kl(p, q) ≥ −H(p) − (1−p) ln(1−q).
        let entropy = -p * log(p) - (1.0 - p) * log(1.0 - p);
        1.0 - exp(-(level + entropy) / (1.0 - p))
    };
    if cap >= 1.0 {
        return 1.0;
    }
    let q = if guess > p && guess < cap { guess } else { cap };
    descend(p, level, q, divergence(p, q - p) - level, cap)
}

/// min(`cap`, the largest q with kl(p, q) ≤ `level`): what running intersection asks for, and
/// cheaper, since mostly the bound in force stays and one look at it shows that.
#[inline]
pub(crate) fn kl_upper_within(p: f64, level: f64, cap: f64) -> f64 {
    if p >= cap {
        return cap;
    }
    if p <= 0.0 || cap >= 1.0 {
        let free = kl_upper(p, level, cap);
        return if free < cap { free } else { cap };
    }
    let excess = divergence(p, cap - p) - level;
    if excess <= 0.0 {
        return cap;
    }
    descend(p, level, cap, excess, cap)
}

/// The root right of p of f(q) = kl(p, q) − `level`, from q with `excess` = f(q); at most `cap`.
///
/// f is convex and increasing there, so a step of Newton's method lands right of the root from
/// either side, and may be the last at any time. Before the last comes Halley's method, which takes
/// one step where Newton's takes two but may land on either side.
fn descend(p: f64, level: f64, mut q: f64, mut excess: f64, cap: f64) -> f64 {
    for _ in 0..60 {
        // f′ = d/w and f″/f′ = 1/d − (1 − 2q)/w, with w = q(1 − q).
        let d = q - p;
        let (inverse, w) = (1.0 / d, q * (1.0 - q));
        let newton = excess * w * inverse;
        // newton·f″/2f′, the share of this step that Newton's method overlooks.
        let bend = 0.5 * excess * (w - (1.0 - 2.0 * q) * d) * (inverse * inverse);
        let is_close = newton.abs() <= 0.25 * d && bend.abs() <= 0.25;
        if is_close && (newton * bend).abs() <= 1e-10 * d {
            return (q - newton).min(cap);
        }
        q = if is_close {
            q - newton / (1.0 - bend)
        } else {
            q - newton
        };
        q = q.min(cap);
        excess = divergence(p, q - p) - level;
    }
    cap
}

/// The smallest q with kl(p, q) ≤ `level`, from below.
pub fn kl_lower(p: f64, level: f64, guess: f64) -> f64 {
    1.0 - kl_upper(1.0 - p, level, 1.0 - guess)
}

/// max(`floor`, the smallest q with kl(p, q) ≤ `level`).
#[inline]
pub(crate) fn kl_lower_within(p: f64, level: f64, floor: f64) -> f64 {
    // The mirror image rounds: the floor may not come back unchanged.
    (1.0 - kl_upper_within(1.0 - p, level, 1.0 - floor)).max(floor)
}
