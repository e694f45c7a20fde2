//! Upper ends for a probability, from a number of successes (Clopper and Pearson 1934).

/// Successes, and failures, from which on an expansion is as good as the sum.
const MANY: f64 = 50.0;
/// Steps of the bisection.
const STEPS: usize = 45;

/// The u at which ⌊nc⌋ successes or fewer of n have probability δ; z = z_δ.
pub(super) fn upper_end(n: u64, c: f64, delta: f64, z: f64) -> f64 {
    let (n, k) = (n as f64, (n as f64 * c).floor());
    if k >= n {
        return 1.0;
    }
    if k >= MANY && n - k >= MANY {
        // nu − z√(nu(1 − u)) + (1 − 2u)(z² − 1)/6 = k + ½ (Cornish and Fisher 1938), solved up to order n^{-3/2}, with
        // nc − ½ for k: what ⌊nc⌋ is on average, so that a sum over n needs no more than some terms.
        let next = (1.0 - 2.0 * c) * (2.0 * z * z + 1.0) / (6.0 * n);
        return (c + z * (c * (1.0 - c) / n).sqrt() + next).min(1.0);
    }
    let (mut low, mut high) = (k / n, 1.0);
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        if at_most(n, k, middle) > delta {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// P(Bin(n, u) ≤ k), by the shorter of the two sums.
fn at_most(n: f64, k: f64, u: f64) -> f64 {
    if k > n - k - 1.0 {
        return 1.0 - at_most(n, n - k - 1.0, 1.0 - u);
    }
    // It vanishes only where the whole does.
    let mut term = libm::exp(n * libm::log1p(-u));
    let (mut sum, mut j) = (term, 0.0);
    while j < k {
        term *= (n - j) / (j + 1.0) * u / (1.0 - u);
        sum += term;
        j += 1.0;
    }
    sum.min(1.0)
}
