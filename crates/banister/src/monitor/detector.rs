//! The breach detector of one guardrail: an e-detector whose alarms are false at most once in 1/δ_b lives.
//!
//! As long as every policy keeps its guardrail, the excess Y_t of the t-th decision's cost over the
//! threshold has E[Y_t | past] ≤ 0, whatever the arms are. For a bet λ with λY ≥ −1/2 the factor
//! 1 + λY has conditional mean at most one, so
//!
//! ```text
//!   M_t(k) = (M_{t−1}(k) + γ_t)(1 + λ_k Y_t),   λ_k = λ_0·2^{−k},   k = 0..7
//!   γ_t = 6.9/((t + 1000) ln²(t + 1000)),   Σ γ_t ≤ 1
//! ```
//!
//! plus all γ that are still to come is a supermartingale that starts below one: P(the mean over k ever reaches
//! 1/δ_b) ≤ δ_b. That t counts over the whole life, and M starts again at 0 after an alarm, only takes from it. After
//! the cost jumps from τ to τ + gap it takes about ln(I/(γ_t δ_b))/I outcomes, I = kl(τ + gap, τ). Several detectors
//! share δ_b, each by its share of γ. Sub-Gaussian costs have factors of their own: see `Bet`.
//!
//! Where it reaches 1/0.03 there is a **warning**: sooner, and false with probability 3% at most, so that it may inform
//! and never acts.
//!
//! Reference: Shin, Ramdas and Rinaldo, "E-detectors: a nonparametric framework for sequential change
//! detection" (2022).

use serde::{Deserialize, Serialize};

use super::Watched;
use crate::problem::{CheckedProblem, Direction, Scope, Standard};

const BETS: usize = 8;
/// 2^{−k}.
const HALVES: [f64; BETS] = [
    1.0,
    1.0 / 2.0,
    1.0 / 4.0,
    1.0 / 8.0,
    1.0 / 16.0,
    1.0 / 32.0,
    1.0 / 64.0,
    1.0 / 128.0,
];
/// The bet whose own test says since when the cost has been too high: gaps of about τ/16 and more.
const MIDDLE: usize = 3;
/// Beyond any level, and far from overflow.
const MOST: f64 = 1e200;
/// Outcomes that start with the same weight, a power of two: that of the last of them.
const BLOCK: u64 = 64;
/// Points of the trace; from this many on, every other one is dropped.
const TRACE: usize = 128;

/// Kind of bet on an outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bet {
    /// Y = y − τ of a bounded cost in standard units; λ_0 = 1/(2τ).
    Bounded { threshold: f64, first: f64 },
    /// Factor exp(λX − λ²R²/2)/(1 + τ(e^λ − 1)) of a sub-Gaussian one; λ_0 = 1/R. Given the action the noise is
    /// R-sub-Gaussian, but the action is drawn: of its mean c only 0 ≤ c ≤ 1 and E c ≤ τ are known, so that
    /// E e^{λc} ≤ 1 + τ(e^λ − 1) by convexity. `norms` has the logarithms of what each e^{λX} is divided by.
    SubGaussian {
        threshold: f64,
        first: f64,
        norms: [f64; BETS],
    },
    /// Relative: Y = ±(s − F·1{safe}s/p), s in units of the range's high end; + for `at_most`, where
    /// Y ≥ −(F/p − 1), − for `at_least`, where Y ≥ −1.
    OfSafe {
        direction: Direction,
        factor: f64,
        hi: f64,
    },
}

/// The detector of one guardrail.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Detector {
    bet: Bet,
    /// Share of δ_b, and of the warnings.
    share: f64,
    /// γ_t times the share, of the block that the next outcome is in.
    start: f64,
    state: DetectorState,
}

/// All that outcomes change; what a snapshot keeps.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DetectorState {
    wealth: [f64; BETS],
    /// t: outcomes watched, over the whole life.
    watched: u64,
    /// CUSUM of the middle bet; where it was last 1, the excess began.
    cusum: f64,
    /// Outcomes since then, and the sum of their excesses.
    since: (u64, f64),
    trace: Trace,
}

/// Largest evidence over stretches of equal length: (outcomes watched, log10 of the evidence).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trace {
    points: Vec<(u64, f64)>,
    /// Outcomes of a stretch.
    length: u64,
    largest: f64,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            points: Vec::with_capacity(TRACE),
            length: 1,
            largest: 0.0,
        }
    }
}

impl Detector {
    /// The detector of a guardrail; `None` for a sub-Gaussian signal relative to the safe action's own
    /// mean, where no bounded bet is known.
    pub(super) fn new(guardrail: &Standard, share: f64) -> Option<Self> {
        if guardrail.per.is_some() {
            // Two means of the safe action's: no one outcome bets on their ratio.
            return None;
        }
        let (threshold, signal) = (guardrail.threshold, &guardrail.signal);
        let (factor, hi) = (guardrail.factor, signal.hi);
        let bet = match (signal.sub_gaussian, factor == 0.0) {
            (None, true) => Bet::Bounded {
                threshold,
                first: 0.5 / threshold,
            },
            (Some(_), true) => {
                let (first, r) = (1.0 / signal.r(), signal.r());
                Bet::SubGaussian {
                    threshold,
                    first,
                    norms: HALVES.map(|half| {
                        let bet = half * first;
                        0.5 * (bet * r) * (bet * r) + log_mean_exp(bet, threshold)
                    }),
                }
            }
            (None, false) => Bet::OfSafe {
                direction: guardrail.direction,
                factor,
                hi,
            },
            (Some(_), false) => return None,
        };
        let mut own = Self {
            bet,
            share,
            start: 0.0,
            state: DetectorState::default(),
        };
        own.renew_start();
        Some(own)
    }

    pub(super) fn state(&self) -> &DetectorState {
        &self.state
    }

    pub(super) fn restore(&mut self, state: DetectorState) {
        self.state = state;
        self.renew_start();
    }

    /// Starts again; time goes on.
    pub(super) fn restart(&mut self) {
        self.state = DetectorState {
            watched: self.state.watched,
            trace: std::mem::take(&mut self.state.trace),
            ..DetectorState::default()
        };
    }

    #[inline(never)]
    fn renew_start(&mut self) {
        let t = (self.state.watched / BLOCK + 1).saturating_mul(BLOCK) as f64;
        let log = libm::log(t + 1000.0);
        self.start = self.share * 6.9 / ((t + 1000.0) * log * log);
    }

    /// Observes the outcome of the next decision: its cost as observed and in standard units. The evidence
    /// is returned, 0 where the outcome says nothing.
    #[inline]
    pub(super) fn observe(&mut self, watched: &Watched, observed: f64, standard: f64) -> f64 {
        let (excess, first) = match self.bet {
            Bet::Bounded { threshold, first } => (standard - threshold, first),
            Bet::SubGaussian {
                threshold,
                first,
                norms,
            } => return self.observe_normal(standard, threshold, first, &norms),
            Bet::OfSafe {
                direction,
                factor,
                hi,
            } => {
                let p = watched.safe_probability;
                if !(p > 0.0) {
                    return 0.0;
                }
                let safe = if watched.is_safe { factor / p } else { 0.0 };
                let first = match direction {
                    Direction::AtMost => 0.5 / (factor / p - 1.0),
                    Direction::AtLeast => 0.5,
                };
                (observed / hi * direction.excess(1.0, safe), first)
            }
        };
        let step = first * excess;
        let factors = HALVES.map(|half| 1.0 + half * step);
        self.multiply(&factors, excess)
    }

    #[inline(never)]
    fn observe_normal(
        &mut self,
        standard: f64,
        threshold: f64,
        first: f64,
        norms: &[f64; BETS],
    ) -> f64 {
        let factor = |k: usize| libm::exp(first * HALVES[k] * standard - norms[k]).min(MOST);
        let factors = std::array::from_fn(factor);
        self.multiply(&factors, standard - threshold)
    }

    #[inline(always)]
    fn multiply(&mut self, factors: &[f64; BETS], excess: f64) -> f64 {
        let state = &mut self.state;
        let evidence = grow(&mut state.wealth, self.start, factors);
        state.watched += 1;
        // Chosen without a branch: random numbers decide, and could not be predicted.
        let goes_on = state.cusum > 1.0;
        let (count, sum) = (state.since.0 + 1, state.since.1 + excess);
        state.since.0 = if goes_on { count } else { 1 };
        state.since.1 = if goes_on { sum } else { excess };
        let base = if goes_on { state.cusum } else { 1.0 };
        let cusum = base * factors[MIDDLE];
        state.cusum = if cusum < MOST { cusum } else { MOST };
        state.trace.add(state.watched, evidence);
        if state.watched.is_multiple_of(BLOCK) {
            self.renew_start();
        }
        evidence
    }

    /// Outcomes since the excess began, and their mean excess, in the units of bets.
    pub(super) fn recent(&self) -> (u64, f64) {
        let (count, sum) = self.state.since;
        (count, sum / count.max(1) as f64)
    }

    /// A mean excess as the guardrail's signal: the mean itself, or, for a relative guardrail, its
    /// excess over the factor times the safe mean.
    pub(super) fn in_units(&self, guardrail: &Standard, excess: f64) -> f64 {
        match self.bet {
            Bet::Bounded { threshold, .. } | Bet::SubGaussian { threshold, .. } => {
                guardrail.show(threshold + excess)
            }
            Bet::OfSafe { direction, hi, .. } => direction.sign() * excess * hi,
        }
    }

    /// (Outcomes watched, log10 of the largest evidence since the point before).
    pub(super) fn trace(&self) -> &[(u64, f64)] {
        &self.state.trace.points
    }
}

/// Detectors of all guardrails over all decisions; half of δ_b is left where segments are watched too.
pub(super) fn detectors_of_all(problem: &CheckedProblem) -> Vec<Option<Detector>> {
    let is_shared = problem.guardrails.iter().any(holds_in_each);
    detectors(problem, |_| true, if is_shared { 0.5 } else { 1.0 })
}

/// Detectors of the guardrails that hold in each segment; the j-th one has ½/(j(j+1)) of δ_b.
pub(super) fn detectors_in_each(problem: &CheckedProblem, segment: usize) -> Vec<Option<Detector>> {
    let j = segment as f64 + 1.0;
    detectors(problem, holds_in_each, 0.5 / (j * (j + 1.0)))
}

/// Detectors of some guardrails, which share what there is of δ_b.
fn detectors(
    problem: &CheckedProblem,
    of: impl Fn(&Standard) -> bool,
    share: f64,
) -> Vec<Option<Detector>> {
    let guardrails = &problem.guardrails;
    let each = share / guardrails.iter().filter(|g| of(g)).count().max(1) as f64;
    // A sum over many decisions is kept by what is left, and single policies may cost more.
    let is_watched = |g: &Standard| g.over.is_none() && of(g);
    let detector = |g: &Standard| is_watched(g).then(|| Detector::new(g, each)).flatten();
    let mut found: Vec<Option<Detector>> = guardrails.iter().map(detector).collect();
    // Signals of sums have no threshold of their own.
    found.resize(problem.width() - 1, None);
    found
}

fn holds_in_each(guardrail: &Standard) -> bool {
    guardrail.scope == Scope::Each
}

/// (M + start)·factor for every bet; returns their mean.
#[inline(always)]
fn grow(wealth: &mut [f64; BETS], start: f64, factors: &[f64; BETS]) -> f64 {
    for k in 0..BETS {
        wealth[k] = (wealth[k] + start) * factors[k];
    }
    // Pairs of pairs, so that no addition waits for all before it.
    let w = &*wealth;
    let total = ((w[0] + w[4]) + (w[2] + w[6])) + ((w[1] + w[5]) + (w[3] + w[7]));
    if total >= MOST {
        // A ceiling keeps it finite where no reaction to the alarm follows.
        *wealth = wealth.map(|own| own.min(MOST));
        return MOST;
    }
    total / BETS as f64
}

/// ln(1 + τ(e^λ − 1)), where e^λ may overflow.
fn log_mean_exp(bet: f64, threshold: f64) -> f64 {
    bet + libm::log1p((1.0 - threshold) * libm::expm1(-bet))
}

impl DetectorState {
    /// Returns true if every number can stand in a detector.
    pub(super) fn is_sound(&self) -> bool {
        let sound = |x: &f64| (0.0..=MOST).contains(x);
        self.wealth.iter().all(sound)
            && sound(&self.cusum)
            && self.since.1.is_finite()
            // Counts beyond any life would make the next one overflow.
            && self.watched.max(self.since.0) < u64::MAX / 2
            && self.trace.length.is_power_of_two()
            && self.trace.points.len() <= TRACE
    }
}

impl Trace {
    #[inline]
    fn add(&mut self, watched: u64, evidence: f64) {
        if evidence > self.largest {
            self.largest = evidence;
        }
        // The length is a power of two.
        if watched & (self.length - 1) == 0 {
            self.close(watched);
        }
    }

    #[inline(never)]
    fn close(&mut self, watched: u64) {
        // Evidence below one is none.
        let height = libm::log10(self.largest.max(1.0));
        self.largest = 0.0;
        self.points.push((watched, height));
        if self.points.len() >= TRACE {
            for pair in 0..TRACE / 2 {
                let (first, second) = (self.points[2 * pair], self.points[2 * pair + 1]);
                self.points[pair] = (second.0, first.1.max(second.1));
            }
            self.points.truncate(TRACE / 2);
            self.length *= 2;
        }
    }
}

/// δ_b by default.
pub(crate) const ALARM_DELTA: f64 = 0.001;
/// The evidence at which a breach raises a warning: false with probability 3% at most, ever.
pub(super) const WARNING_LEVEL: f64 = 1.0 / 0.03;

/// Omits the default from what is written.
pub(crate) fn is_usual(alarm_delta: &f64) -> bool {
    *alarm_delta == ALARM_DELTA
}
