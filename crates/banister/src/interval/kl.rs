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

/// x − ln(1 + x), accurate near zero: with s = x/(2+x), ln(1+x) = 2(s + s³/3 + s⁵/5 + …) and
/// x − 2s = x·s. The series replaces two logarithms per Newton step in the hot path.
#[inline]
fn excess(x: f64) -> f64 {
    if !(-0.3..=0.4).contains(&x) {
        return x - log1p(x);
    }
    let s = x / (2.0 + x);
    let t = s * s;
    // |t| ≤ 0.0312, so the eleven terms leave less than a unit in the last place.
    let even = t * t;
    let quad = even * even;
    let low = (1.0 / 3.0 + t / 5.0) + even * (1.0 / 7.0 + t / 9.0);
    let middle = (1.0 / 11.0 + t / 13.0) + even * (1.0 / 15.0 + t / 17.0);
    let high = (1.0 / 19.0 + t / 21.0) + even / 23.0;
    x * s - 2.0 * s * t * (low + quad * (middle + quad * high))
}

/// The largest q with kl(p, q) ≤ `level`, from above: never below the true bound but for rounding.
///
/// kl(p, ·) − level is convex and increasing right of p, so Newton's method from the right comes
/// down monotonically and may stop at any time on the safe side; one step from the left lands on
/// the right. `guess` is any number (the bound before the last observation is a good one).
#[inline]
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
    let mut q = if guess > p && guess < cap { guess } else { cap };
    let rest = 1.0 - p;
    for _ in 0..60 {
        // kl(p, q) = p·h(d/p) + (1−p)·h(−d/(1−p)) with h(x) = x − ln(1+x): no cancellation.
        let d = q - p;
        let divergence = p * excess(d / p) + rest * excess(-d / rest);
        let step = (divergence - level) * q * (1.0 - q) / d;
        let next = (q - step).min(cap);
        // The next step would be about the square of this one, relative to d.
        if step.abs() <= 1e-5 * d {
            return next;
        }
        q = next;
    }
    q
}

/// The smallest q with kl(p, q) ≤ `level`, from below.
pub fn kl_lower(p: f64, level: f64, guess: f64) -> f64 {
    1.0 - kl_upper(1.0 - p, level, 1.0 - guess)
}
