//! Lift of an arm: the difference of its mean from the safe arm's, with an interval that holds at all times.
//!
//! Let W_a(m) be the wealth of bets that an arm's mean is below m, and W̃_0(m) that of bets that the safe arm's is
//! above m (`interval/mixture.rs`). At the true means both are martingales, and no outcome moves both, so that their
//! product is one too: it ever reaches 2/α with probability at most α/2. Every difference d for which it has done so
//! at all m,
//!
//! ```text
//!   min_m  ln W_a(m + d) + ln W̃_0(m)  ≥  ln(2/α),
//! ```
//!
//! is too large; mirrored, too small. What is left is [l, u] with
//!
//! ```text
//!   u = max { m_a − m_0 : ln W_a(m_a) + ln W̃_0(m_0) ≤ ln(2/α) } = max_ℓ  u_a(ℓ) − l_0(ln(2/α) − ℓ),
//! ```
//!
//! u_a(ℓ) the end of an arm's mean at ln(1/δ) = ℓ: evidence is split between the arms as is worst, not in equal
//! parts. u_a is concave and l_0 convex, so that the worst ℓ is where their slopes are equal. For the ratio m_a/m_0,
//! which is quasi-linear, the same search looks for equal slopes of the logarithms. Where one arm has far more
//! outcomes than the other its wealth at the worst split may be below one, and the interval a little wider than that
//! of two ends at α/4 each; else it is narrower.
//!
//! Reference: Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence
//! sequences", 2021.

use libm::log;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::interval::Mixture;

/// Halvings of the bracket of ℓ at most; what is left of it counts in full.
const STEPS: usize = 100;
/// Part of an end's width that the bracket may leave open.
const OPEN: f64 = 1e-3;

/// An arm's mean of a signal against the safe arm's, in the signal's own units and sign.
///
/// By itself each interval holds at all times at once with probability `confidence`, however arms are drawn and
/// whenever one looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmLift {
    /// Name of the arm.
    pub arm: String,
    /// Name of the signal: `reward`, a guardrail, or a signal declared beside them.
    pub signal: String,
    /// Mean of the arm's outcomes; null before the first.
    pub mean: Option<f64>,
    /// Mean of the safe arm's outcomes; null before the first.
    pub safe_mean: Option<f64>,
    /// Mean of the arm less mean of the safe arm.
    pub difference: LiftInterval,
    /// The difference in percent of the safe arm's mean; null where that may be 0 or the arm's may be negative, and
    /// under `concurrent`.
    pub percent: Option<LiftInterval>,
    /// Outcomes of the arm that it rests on.
    pub outcomes: u64,
    /// Outcomes of the safe arm that it rests on.
    pub safe_outcomes: u64,
    /// Assumption on the means.
    pub form: LiftForm,
    /// Probability that the interval of the difference, and with it that in percent, holds at all times.
    pub confidence: f64,
}

/// An estimate and the interval around it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiftInterval {
    /// The estimate; null before the first outcome of either arm.
    pub estimate: Option<f64>,
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

/// Assumption of a lift on the means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LiftForm {
    /// The arms' means stay as they are.
    #[default]
    Constant,
    /// Nothing: it is about the average of the difference over the rounds in which both arms could be drawn.
    Concurrent,
}

/// Most that learning on could still earn (math 27): R̄ − max { π·L : π·u ≤ τ }.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorthLeft {
    /// Most that any policy within the guardrails earns per decision beyond `guaranteed`.
    pub per_decision: f64,
    /// Least expected reward of `policy`: the most that can be guaranteed now.
    pub guaranteed: f64,
    /// R̄: no policy that keeps the guardrails, and the floor, earns more per decision.
    pub at_most: f64,
    /// The policy that attains `guaranteed`, as (arm, probability); it keeps the guardrails by bounds in force.
    pub policy: Vec<(usize, f64)>,
    /// Probability with which all of it holds, at all times at once: 1 − δ − δ_o.
    pub confidence: f64,
}

/// Evidence of the mean of a signal: statistics in standard units of a range.
#[derive(Debug, Clone, Copy)]
pub struct Evidence {
    /// Statistics of the observations, 0 at the low end of the range and 1 at the high end.
    pub statistics: Mixture,
    /// The range in the signal's own units.
    pub range: [f64; 2],
}

impl Evidence {
    /// Mean of the observations.
    pub fn mean(&self) -> Option<f64> {
        let ([lo, hi], n) = (self.range, self.statistics.count());
        (n > 0).then(|| lo + (hi - lo) * (self.statistics.sum() / n as f64))
    }
}

impl ArmLift {
    /// The lift of constant means: of an arm, then of the safe arm. `log_inverse_delta` is ln(1/α).
    pub fn constant(
        (arm, signal): (&str, &str),
        [own, safe]: [&Evidence; 2],
        log_inverse_delta: f64,
        confidence: f64,
    ) -> Self {
        Self {
            arm: arm.into(),
            signal: signal.into(),
            mean: own.mean(),
            safe_mean: safe.mean(),
            difference: difference(own, safe, log_inverse_delta),
            percent: percent(own, safe, log_inverse_delta),
            outcomes: own.statistics.count(),
            safe_outcomes: safe.statistics.count(),
            form: LiftForm::Constant,
            confidence,
        }
    }
}

/// Interval of E_a − E_0 at level α, given ln(1/α).
///
/// ```
/// use banister::interval::Mixture;
/// use banister::lift::{Evidence, difference};
///
/// let clicks = |each: u32| {
///     let mut statistics = Mixture::default();
///     (0..2000).for_each(|t| statistics.push(f64::from(u8::from(t % each == 0))));
///     Evidence { statistics, range: [0.0, 1.0] }
/// };
/// let found = difference(&clicks(4), &clicks(10), 100_f64.ln()); // α = 0.01
/// assert!(found.lower > 0.09 && found.upper < 0.21);
/// ```
pub fn difference(arm: &Evidence, safe: &Evidence, log_inverse_delta: f64) -> LiftInterval {
    let level = log_inverse_delta + core::f64::consts::LN_2;
    let of = |x: f64, y: f64| x - y;
    LiftInterval {
        estimate: arm.mean().zip(safe.mean()).map(|(a, b)| a - b),
        lower: -largest(safe, arm, level, of, |_, _| 1.0),
        upper: largest(arm, safe, level, of, |_, _| 1.0),
    }
}

/// Interval of 100·(E_a/E_0 − 1) on the same event as [`difference`]; none where E_0 may be 0, or E_a be negative.
pub fn percent(arm: &Evidence, safe: &Evidence, log_inverse_delta: f64) -> Option<LiftInterval> {
    if arm.range[0] < 0.0 {
        return None;
    }
    let level = log_inverse_delta + core::f64::consts::LN_2;
    let ratio = |x: f64, y: f64| if y > 0.0 { x / y } else { f64::INFINITY };
    let upper = largest(arm, safe, level, ratio, ratio);
    // E_0 > 0 on the event of the upper end: only such means are left for the lower one.
    let lower = 1.0 / largest(safe, arm, level, ratio, ratio);
    let shown = |ratio: f64| 100.0 * (ratio - 1.0);
    let means = arm.mean().zip(safe.mean()).filter(|(_, own)| *own > 0.0);
    upper.is_finite().then(|| LiftInterval {
        estimate: means.map(|(a, b)| shown(a / b)),
        lower: shown(lower),
        upper: shown(upper),
    })
}

/// The largest value of two means, increasing in the first and decreasing in the second, that evidence of `level` in
/// all does not refute; `price`: how many times the first mean has to grow to make up for growth of the second.
fn largest(
    first: &Evidence,
    second: &Evidence,
    level: f64,
    value: impl Fn(f64, f64) -> f64,
    price: impl Fn(f64, f64) -> f64,
) -> f64 {
    let ([lo, hi], [low, high]) = (first.range, second.range);
    let (own, other) = (&first.statistics, second.statistics.mirrored());
    let up = |y: f64| lo + (hi - lo) * y;
    let down = |y: f64| high - (high - low) * y;
    // ℓ for which both ends are inside their ranges.
    let mut least = (level - other.log_wealth(1.0)).max(own.log_wealth(0.0));
    let mut most = own.log_wealth(1.0).min(level - other.log_wealth(0.0));
    // Without outcomes nothing is refuted, whatever rounding says.
    let end = |of: &Mixture, level: f64, start: f64| match of.count() {
        0 => 1.0,
        _ => of.upper(level, start),
    };
    // NaN is no evidence.
    if !(least <= most) {
        return value(hi, low);
    }
    // Ends in standard units at either side of the bracket.
    let (mut above, mut below) = (end(own, most, 1.0), end(&other, level - least, 1.0));
    let mut at_least = end(own, least, above);
    let mut at_most = end(&other, level - most, below);
    for step in 0..STEPS {
        let inside = |l: &f64| *l > least && *l < most;
        let guess = [level, 0.0].get(step).copied().filter(inside);
        let l = guess.unwrap_or(0.5 * (least + most));
        let is_found = |high: f64, low: f64, of: &Mixture| {
            let mean = of.sum() / of.count().max(1) as f64;
            high - low <= OPEN * (high - mean).abs().max(1e-9)
        };
        if !inside(&l) || (is_found(above, at_least, own) && is_found(below, at_most, &other)) {
            break;
        }
        let (y, z) = (end(own, l, above), end(&other, level - l, below));
        let gain = (hi - lo) / own.slope(y);
        let loss = (high - low) / other.slope(z) * price(up(y), down(z));
        if gain > loss {
            (least, at_least, below) = (l, y, z);
        } else {
            (most, above, at_most) = (l, y, z);
        }
    }
    // Ends at either side of the bracket: it holds whatever ℓ within it is the worst.
    value(up(above), down(below))
}

/// ln(1/α) of an interval at level α after restarts of what it rests on: the r-th restart leaves α·γ_r, with γ_0 =
/// 9/10 and γ_r = 1/(10 r(r + 1)), Σ_r γ_r = 1. Each restart of one of the two arms makes another product of wealths,
/// so that none may have all of α (math 24).
pub(crate) fn log_level(alpha: f64, restarts: u64) -> f64 {
    let r = restarts as f64;
    let share = if restarts == 0 {
        0.9
    } else {
        0.1 / (r * (r + 1.0))
    };
    -log(alpha * share)
}
