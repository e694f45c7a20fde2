//! Frequencies of segments: a confidence set that holds at all times, and the largest mean over it.
//!
//! With n_s of n contexts in segment s, whatever the true frequencies p are, the mixture of Dirichlet laws
//! centred at p with strength κ has the likelihood ratio exp F(p),
//!
//! ```text
//!   F(p) = lnΓ(κ) − lnΓ(κ + n) + Σ_{s seen} f_s(p_s),
//!   f_s(p) = lnΓ(κp + n_s) − lnΓ(κp) − n_s ln p = Σ_{j < n_s} ln(κ + j/p),
//! ```
//!
//! a martingale started at 1. So { p : F(p) < ln(1/(w δ)) for every κ of a grid with weights w } holds p at all
//! times with probability 1 − δ (Ville). Segments that were never seen do not occur in F, so their number
//! need not be known. Every f_s is convex and decreasing: by weak duality, for any λ ≥ 0 and t,
//!
//! ```text
//!   p·g ≤ t + (g_∞ − t)₊ + λ(ln(1/(wδ)) − lnΓ(κ) + lnΓ(κ + n)) − Σ_s min_{0 ≤ p ≤ 1} [ p(t − g_s) + λ f_s(p) ],
//! ```
//!
//! g_∞ being what unseen segments cost. The bound is convex in g, so that of a mixture is at most the mixture of
//! bounds; and as it holds for any (λ, t), those found for one g serve another close to it.

use libm::{lgamma, log};

/// Strengths κ = 4^k that share δ.
const LEVELS: usize = 16;
/// Newton steps on (λ, t): any point is a bound, the last one is as good as the best.
const STEPS: usize = 24;

/// Counts of contexts by segment, as they stood when the set was computed.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    /// n_s.
    pub seen: Vec<u64>,
    /// n.
    pub total: u64,
    /// Contexts of segments that are not counted one by one: each f_s ≥ n_s ln κ, whatever their n_s are.
    pub others: u64,
}

/// Point of the dual: κ's number, λ and t.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Multipliers {
    level: usize,
    lambda: f64,
    t: f64,
}

/// Largest mean over the confidence set of one function g of segments.
#[derive(Debug, Clone, Default)]
pub(super) struct Worst {
    at: Option<Multipliers>,
    /// p_s at which the bound is attained.
    pub frequencies: Vec<f64>,
    /// Σ_s min […], and its terms.
    terms: Vec<f64>,
    sum: f64,
    constant: f64,
    kappa: f64,
    unseen: f64,
    /// Room for frequencies on the way.
    room: Vec<f64>,
}

impl Worst {
    /// Finds the bound for g; `delta` is the level of the set. Without contexts, the largest g.
    pub(super) fn refresh(&mut self, counts: &Counts, g: &[f64], unseen: f64, delta: f64) {
        if counts.total == 0 {
            self.at = None;
            self.unseen = g.iter().copied().fold(unseen, f64::max);
            return;
        }
        let n = counts.total as f64;
        let mut best: Option<(f64, Multipliers)> = None;
        let levels = match self.at {
            // The best strength moves by a level when n has grown fourfold.
            Some(last) => last.level.saturating_sub(1)..(last.level + 2).min(LEVELS),
            None => 0..LEVELS,
        };
        for level in levels {
            let kappa = strength(level);
            if kappa > 64.0 * n + 4.0 {
                continue;
            }
            let start = self.at.filter(|last| last.level == level);
            let (bound, found) = minimise(counts, g, unseen, delta, (level, start), &mut self.room);
            if best.is_none_or(|(least, _)| bound < least) {
                best = Some((bound, found));
            }
        }
        let Some((_, at)) = best else { return };
        self.at = Some(at);
        self.kappa = strength(at.level);
        self.constant = constant(counts, delta, at.level);
        self.frequencies.resize(counts.seen.len(), 0.0);
        self.terms.resize(counts.seen.len(), 0.0);
        self.unseen = unseen;
        self.sum = 0.0;
        for (s, &own) in counts.seen.iter().enumerate() {
            self.terms[s] = 0.0;
            if at.lambda > 0.0 {
                self.set(s, own, g[s]);
            } else {
                // All segments cost the same, and any frequencies attain it.
                self.frequencies[s] = own as f64 / n;
            }
        }
    }

    /// Takes another g into the bound, at the multipliers found last.
    pub(super) fn update(&mut self, counts: &Counts, g: &[f64], unseen: f64) {
        for (s, &n) in counts.seen.iter().enumerate() {
            self.set(s, n, g[s]);
        }
        self.unseen = unseen;
    }

    /// True if there is a bound for these counts that others can start from.
    pub(super) fn is_ready(&self, counts: &Counts) -> bool {
        let fits = self.frequencies.len() == counts.seen.len();
        fits && self.at.is_some_and(|at| at.lambda > 0.0)
    }

    /// Takes another g_s into the bound.
    pub(super) fn set(&mut self, s: usize, n: u64, g: f64) {
        let Some(Multipliers { lambda, t, .. }) = self.at else {
            return;
        };
        let (p, value) = inner(self.kappa, n as f64, t - g, lambda, self.frequencies[s]);
        self.frequencies[s] = p;
        self.sum += value - self.terms[s];
        self.terms[s] = value;
    }

    /// Takes another g_∞.
    pub(super) fn set_unseen(&mut self, g: f64) {
        self.unseen = g;
    }

    /// The bound; the largest g where there are no contexts yet.
    pub(super) fn bound(&self) -> f64 {
        match self.at {
            None => self.unseen,
            Some(Multipliers { lambda, t, .. }) => {
                t + (self.unseen - t).max(0.0) + lambda * self.constant - self.sum
            }
        }
    }

    /// Frequency of unseen segments at which the bound is attained.
    pub(super) fn unseen_frequency(&self) -> f64 {
        let seen: f64 = self.frequencies.iter().sum();
        (1.0 - seen).clamp(0.0, 1.0)
    }
}

fn strength(level: usize) -> f64 {
    (1_u64 << (2 * level)) as f64
}

/// ln(1/(wδ)) − lnΓ(κ) + lnΓ(κ + n).
fn constant(counts: &Counts, delta: f64, level: usize) -> f64 {
    let (kappa, n) = (strength(level), counts.total as f64);
    log(LEVELS as f64 / delta) + rising(kappa, n) - counts.others as f64 * log(kappa)
}

/// lnΓ(x + n) − lnΓ(x), also where x is so small that Γ(x) overflows.
fn rising(x: f64, n: f64) -> f64 {
    lgamma(x + n) - (lgamma(x + 1.0) - log(x))
}

/// Least of the dual for one strength, by Newton's method on (ln λ, ln(t − t_0)) from the quadratic approximation
/// of the set, or from where it was last.
fn minimise(
    counts: &Counts,
    g: &[f64],
    unseen: f64,
    delta: f64,
    (level, start): (usize, Option<Multipliers>),
    room: &mut Vec<f64>,
) -> (f64, Multipliers) {
    let (kappa, n) = (strength(level), counts.total as f64);
    let c = constant(counts, delta, level);
    let most = g.iter().copied().fold(unseen, f64::max);
    let (mut mean, mut square) = (0.0, 0.0);
    for (&g, &n_s) in g.iter().zip(&counts.seen) {
        let p = n_s as f64 / n;
        mean += p * g;
        square += p * g * g;
    }
    let span = g
        .iter()
        .chain([&unseen])
        .map(|g| (g - mean).abs())
        .fold(0.0, f64::max);
    if span <= 1e-12 {
        // All segments cost the same: frequencies do not matter.
        let at = Multipliers {
            level,
            lambda: 0.0,
            t: most,
        };
        return (most, at);
    }
    room.clear();
    room.extend(counts.seen.iter().map(|&n_s| n_s as f64 / n));
    let mut evaluate = |lambda: f64, t: f64| {
        let mut at = Evaluated {
            value: t + (unseen - t).max(0.0) + lambda * c,
            gradient: [1.0, c],
            hessian: [0.0; 3],
        };
        if unseen > t {
            at.gradient[0] = 0.0;
        }
        for ((&g, &n_s), p) in g.iter().zip(&counts.seen).zip(room.iter_mut()) {
            at.subtract(kappa, n_s as f64, t - g, lambda, p);
        }
        at
    };
    let sd = (square - mean * mean).max(1e-6 * span * span).sqrt();
    // Quadratic: F ≈ F(p̂) + n_e Σ (p − p̂)²/(2p̂), so that λ n_e = sd·√(n_e/(2B)).
    let excess: f64 = counts
        .seen
        .iter()
        .map(|&n_s| f(kappa, n_s as f64, n_s as f64 / n))
        .sum();
    let room = (c - excess).max(0.5);
    let effective = n * n / (n + kappa) + 1.0;
    let reach = sd * (effective / (2.0 * room)).sqrt();
    let (mut lambda, mut t) = match start {
        Some(last) if last.t > most && last.lambda > 0.0 => (last.lambda, last.t),
        _ => (
            reach / effective,
            mean + reach.max(most - mean + 1e-3 * span),
        ),
    };
    let mut now = evaluate(lambda, t);
    let mut best = (now.value, Multipliers { level, lambda, t });
    for _ in 0..STEPS {
        // Newton in the logarithms: both stay positive, and the dual is nearly quadratic in them.
        let gap = (t - most).max(1e-9 * span);
        let (gx, gy) = (now.gradient[1] * lambda, now.gradient[0] * gap);
        let (hxx, hyy) = (
            now.hessian[2] * lambda * lambda + gx.abs(),
            now.hessian[0] * gap * gap + gy.abs(),
        );
        let hxy = now.hessian[1] * lambda * gap;
        let determinant = (hxx * hyy - hxy * hxy).max(1e-3 * hxx * hyy);
        if !(determinant > 0.0) {
            break;
        }
        let mut dx = -(gx * hyy - gy * hxy) / determinant;
        let mut dy = -(gy * hxx - gx * hxy) / determinant;
        let longest = dx.abs().max(dy.abs());
        if longest > 2.0 {
            dx *= 2.0 / longest;
            dy *= 2.0 / longest;
        }
        let mut found = false;
        for _ in 0..12 {
            let (next_lambda, next_t) = (lambda * libm::exp(dx), most + gap * libm::exp(dy));
            let next = evaluate(next_lambda, next_t);
            if next.value < now.value {
                (lambda, t, now, found) = (next_lambda, next_t, next, true);
                break;
            }
            (dx, dy) = (0.25 * dx, 0.25 * dy);
        }
        let gained = best.0 - now.value;
        if found {
            best = (now.value, Multipliers { level, lambda, t });
        }
        if !found || gained < 1e-6 * (now.value - mean).abs() {
            break;
        }
    }
    best
}

/// The dual and its derivatives in (t, λ).
struct Evaluated {
    value: f64,
    gradient: [f64; 2],
    /// tt, tλ, λλ.
    hessian: [f64; 3],
}

impl Evaluated {
    fn subtract(&mut self, kappa: f64, n: f64, b: f64, lambda: f64, start: &mut f64) {
        let (p, value) = inner(kappa, n, b, lambda, *start);
        *start = p;
        self.value -= value;
        self.gradient[0] -= p;
        self.gradient[1] -= f(kappa, n, p);
        if p > 0.0 && p < 1.0 {
            let (q, slope) = decline(kappa, n, p);
            self.hessian[0] -= 1.0 / (lambda * slope);
            self.hessian[1] += q / (lambda * slope);
            self.hessian[2] -= q * q / (lambda * slope);
        }
    }
}

/// f_s(p).
fn f(kappa: f64, n: f64, p: f64) -> f64 {
    if n <= 1.0 {
        return n * log(kappa);
    }
    rising(kappa * p, n) - n * log(p)
}

/// q = −f_s′(p) = n/p − κ(ψ(κp + n) − ψ(κp)) = Σ_{j < n} j/(κp² + jp), and q′.
fn decline(kappa: f64, n: f64, p: f64) -> (f64, f64) {
    let x = kappa * p;
    let (upper, upper_slope) = digamma(x + n);
    let (lower, lower_slope) = digamma(x);
    let q = n / p - kappa * (upper - lower);
    let slope = -n / (p * p) - kappa * kappa * (upper_slope - lower_slope);
    (q.max(f64::MIN_POSITIVE), slope.min(-f64::MIN_POSITIVE))
}

/// The p in [0, 1] that minimises p·b + λ f(p), found from a p close to it, and the minimum.
fn inner(kappa: f64, n: f64, b: f64, lambda: f64, start: f64) -> (f64, f64) {
    if n <= 1.0 {
        // f is constant.
        let p = if b < 0.0 { 1.0 } else { 0.0 };
        return (p, p * b + lambda * n * log(kappa));
    }
    let target = b / lambda;
    let at = |p: f64| (p, p * b + lambda * f(kappa, n, p));
    if !(target > 0.0) {
        return at(1.0);
    }
    // ln q falls in ln p with a slope between −2 and −1 and is nearly straight; beyond p = 1 the end is the answer.
    let goal = log(target);
    let mut p = if start > 0.0 && start < 1.0 {
        start
    } else {
        (n / (n + kappa) * n / target).clamp(1e-12, 1.0)
    };
    for _ in 0..30 {
        let (q, slope) = decline(kappa, n, p);
        let step = (log(q) - goal) * q / (p * slope);
        let next = (p * libm::exp(-step.clamp(-3.0, 3.0))).clamp(1e-15, 1.0);
        // The minimum is off by the square of this.
        let done = (next - p).abs() <= 1e-7 * p;
        p = next;
        if done {
            break;
        }
    }
    at(p)
}

/// ψ(x) and ψ′(x) for x > 0, by recurrence and the asymptotic series.
fn digamma(x: f64) -> (f64, f64) {
    let (mut x, mut value, mut slope) = (x, 0.0, 0.0);
    while x < 8.0 {
        value -= 1.0 / x;
        slope += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    value += log(x)
        - 0.5 / x
        - y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y * (1.0 / 240.0 - y / 132.0))));
    slope += 1.0 / x
        + 0.5 * y
        + y / x
            * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * 5.0 / 66.0))));
    (value, slope)
}

/// Largest mean Σ_s p_s g_s over the frequencies that counts of contexts allow at level δ, whenever it is asked for.
/// `unseen` is g of segments that were never seen.
///
/// ```
/// use banister::segmented::worst_mean;
///
/// // Of 10 000 decisions 7000 cost nothing and 3000 cost 1.
/// let worst = worst_mean(&[7000, 3000], &[0.0, 1.0], 0.0, 0.01);
/// assert!(0.3 < worst && worst < 0.325);
/// ```
pub fn worst_mean(contexts: &[u64], g: &[f64], unseen: f64, delta: f64) -> f64 {
    let counts = Counts {
        seen: contexts.to_vec(),
        total: contexts.iter().sum(),
        others: 0,
    };
    let mut worst = Worst::default();
    worst.refresh(&counts, g, unseen, delta);
    worst.bound()
}
