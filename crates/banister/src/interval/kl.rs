//! Binary Kullback-Leibler intervals: { q : kl(p, q) ≤ level }.
//!
//! Logarithms come from `libm`, so that the same data give the same bits on every machine.

use libm::{exp, log};

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

/// The largest q with kl(p, q) ≤ `level`, from above: never below the true bound but for rounding.
///
/// kl(p, ·) − level is convex and increasing right of p, so Newton's method from the right comes
/// down monotonically and may stop at any time on the safe side; one step from the left lands on
/// the right. `guess` is any number (the bound before the last observation is a good one).
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
        let excess = p * log(p / q) + rest * log(rest / (1.0 - q)) - level;
        let step = excess * q * (1.0 - q) / (q - p);
        let next = (q - step).min(cap);
        // From the right a step that no longer matters: stop, on the safe side.
        if step >= 0.0 && step <= 1e-10 * (q - p) {
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
