//! The breach detector of one guardrail: an e-detector whose alarms are false at most once in 1/δ_b lives.
//!
//! A decision claims of the action that was drawn E[slope·y] ≤ bound ([`Claim`]). As long as that is true of every action,
//! the excess X = slope·y − bound of an outcome has mean at most zero given the action, **whether and whenever the outcome
//! arrives**: outcomes may be lost or late by arm, and need no order. A policy that costs more than its threshold has an
//! action with E X > 0, since the policy's claims add up to the threshold. For a stake λ with λX ≥ −9/10 the factor 1 + λX
//! has conditional mean at most one, so
//!
//! ```text
//!   M_t(k) = (M_{t−1}(k) + γ_t)(1 + min(λ_k, 0.9/(bound − lo)) X_t),   λ_k = 2^{−k}/(2τ),   k = 0..7
//!   γ_t = 6.9/((t + 1000) ln²(t + 1000)),   Σ γ_t ≤ 1
//! ```
//!
//! plus all γ that are still to come is a supermartingale that starts below one: P(the mean over k ever reaches
//! 1/δ_b) ≤ δ_b. That t counts over the whole life, and M starts again at 0 after an alarm, only takes from it. Half of
//! the evidence is of all outcomes together, half of parts by themselves, with the same γ_t: M_a of arm a's outcomes, which
//! names the arm; and, where a guardrail is over all segments, one on how often segments come, Z = g_s − sup_p p·g, which
//! is known at the decision. The j-th part has 1/(j(j + 1)) of that half. Several detectors share δ_b, each by its share of
//! γ. Sub-Gaussian costs have factors exp(λX − λ²slope²R²/2), λ_0 = 1/(R·|slope|).
//!
//! Where it reaches 1/0.03 there is a **warning**: sooner, and false with probability 3% at most, so that it may inform
//! and never acts.
//!
//! Reference: Shin, Ramdas and Rinaldo, "E-detectors: a nonparametric framework for sequential change
//! detection" (2022).

use serde::{Deserialize, Serialize};

use crate::problem::{CheckedProblem, Claim, Scope, Standard};

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
/// Most that one outcome may cost a bet.
const MOST_LOST: f64 = 0.9;
/// Beyond any level, and far from overflow.
const MOST: f64 = 1e200;
/// Outcomes that start with the same weight, a power of two: that of the last of them.
const BLOCK: u64 = 64;
/// Parts that there is room for from the start; rounds allocate nothing up to there.
const MOST_RESERVED: usize = 64;
/// Points of the trace; from this many on, every other one is dropped.
const TRACE: usize = 128;

/// Outcomes that are tested by themselves, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Part {
    /// How often segments come.
    Frequencies,
    Arm(usize),
}

/// The detector of one guardrail.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Detector {
    threshold: f64,
    /// λ_0 of a bounded signal.
    first: f64,
    /// R of a sub-Gaussian one.
    sub_gaussian: Option<f64>,
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
    all: Bets,
    /// By what they are about, with their numbers j in the order of their first outcomes.
    parts: Vec<(Part, u64, Bets)>,
    /// t: outcomes watched, over the whole life.
    watched: u64,
    /// Σγ so far, and when it last started again.
    started: f64,
    restarted: f64,
    trace: Trace,
}

/// Bets on some of the outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bets {
    wealth: [f64; BETS],
    /// Σγ that is in the wealth already.
    started: f64,
    /// CUSUM of the middle bet; where it was last 1, the excess began.
    cusum: f64,
    /// Outcomes since then, and the sum of their excesses.
    since: (u64, f64),
}

/// What a detector has seen of late.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Recent {
    /// Arm whose outcomes they are, if one arm's say most.
    pub arm: Option<usize>,
    /// Outcomes since the excess began.
    pub outcomes: u64,
    /// Their mean excess, in standard units.
    pub excess: f64,
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

impl Bets {
    fn from(started: f64) -> Self {
        Self {
            started,
            ..Self::default()
        }
    }

    /// The mean over bets.
    fn evidence(&self) -> f64 {
        self.wealth.iter().sum::<f64>() / BETS as f64
    }

    /// Takes an outcome, and all γ that came since the last one; returns the mean over bets.
    #[inline(always)]
    fn take(&mut self, started: f64, factors: &[f64; BETS], excess: f64) -> f64 {
        let start = started - self.started;
        self.started = started;
        // Chosen without a branch: random numbers decide, and could not be predicted.
        let goes_on = self.cusum > 1.0;
        let (count, sum) = (self.since.0 + 1, self.since.1 + excess);
        self.since.0 = if goes_on { count } else { 1 };
        self.since.1 = if goes_on { sum } else { excess };
        let base = if goes_on { self.cusum } else { 1.0 };
        let cusum = base * factors[MIDDLE];
        self.cusum = if cusum < MOST { cusum } else { MOST };
        grow(&mut self.wealth, start, factors)
    }

    fn is_sound(&self) -> bool {
        let sound = |x: &f64| (0.0..=MOST).contains(x);
        self.wealth.iter().all(sound)
            && sound(&self.cusum)
            && (0.0..=1.0).contains(&self.started)
            && self.since.1.is_finite()
            // Counts beyond any life would make the next one overflow.
            && self.since.0 < u64::MAX / 2
    }
}

/// Share of the j-th part.
fn weight(number: u64) -> f64 {
    let j = number as f64;
    1.0 / (j * (j + 1.0))
}

/// exp(λX − λ²R²/2) of every bet, λ_0 = 1/R.
#[inline(never)]
fn normal_factors(excess: f64, r: f64) -> [f64; BETS] {
    if r == 0.0 {
        return [1.0; BETS];
    }
    HALVES.map(|half| libm::exp(half * excess / r - 0.5 * half * half).min(MOST))
}

impl Detector {
    /// The detector of a guardrail; `None` for a ratio relative to the safe action's own, where no one outcome bets on
    /// two means.
    pub(super) fn new(guardrail: &Standard, share: f64) -> Option<Self> {
        if guardrail.per.is_some() {
            return None;
        }
        let (threshold, signal) = (guardrail.threshold, &guardrail.signal);
        let mut own = Self {
            threshold,
            // A relative guardrail's costs are compared with the safe action's own, of the size of the range.
            first: if guardrail.factor == 0.0 {
                0.5 / threshold
            } else {
                0.5
            },
            sub_gaussian: signal.sub_gaussian.map(|_| signal.r()),
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
        let state = &mut self.state;
        state.all = Bets::from(state.started);
        state.parts.clear();
        state.restarted = state.started;
    }

    #[inline(never)]
    fn renew_start(&mut self) {
        let t = (self.state.watched / BLOCK + 1).saturating_mul(BLOCK) as f64;
        let log = libm::log(t + 1000.0);
        self.start = self.share * 6.9 / ((t + 1000.0) * log * log);
    }

    /// Observes an outcome with its claim, in standard units; returns the evidence.
    #[inline]
    pub(super) fn observe(&mut self, part: Option<Part>, claim: Claim, y: f64) -> f64 {
        let Claim { slope, bound } = claim;
        let excess = slope * y - bound;
        let factors = match self.sub_gaussian {
            None => self.factors(excess, slope.min(0.0) - bound, slope.max(0.0) - bound),
            Some(r) => normal_factors(excess, r * slope.abs()),
        };
        self.multiply(part, &factors, (excess, true))
    }

    /// Observes whose turn it was: a segment's own cost less the bound on the mean over all, in standard units. It is no
    /// less than `least`.
    pub(super) fn observe_segment(&mut self, excess: f64, least: f64) -> f64 {
        let factors = self.factors(excess, least, f64::INFINITY);
        self.multiply(Some(Part::Frequencies), &factors, (excess, false))
    }

    /// 1 + λX of every bet on a bounded excess.
    #[inline(always)]
    fn factors(&self, excess: f64, least: f64, most: f64) -> [f64; BETS] {
        // What cannot win stakes nothing.
        let most_staked = if most > 0.0 {
            MOST_LOST / (-least).max(1e-9)
        } else {
            0.0
        };
        HALVES.map(|half| 1.0 + (half * self.first).min(most_staked) * excess)
    }

    #[inline(always)]
    fn multiply(
        &mut self,
        part: Option<Part>,
        factors: &[f64; BETS],
        (excess, is_outcome): (f64, bool),
    ) -> f64 {
        let state = &mut self.state;
        state.watched += 1;
        state.started += self.start;
        let (started, restarted) = (state.started, state.restarted);
        let mut evidence = if is_outcome {
            0.5 * state.all.take(started, factors, excess)
        } else {
            0.5 * state.all.evidence()
        };
        if let Some(part) = part {
            let known = state.parts.binary_search_by_key(&part, |own| own.0);
            let place = known.unwrap_or_else(|place| {
                let number = state.parts.len() as u64 + 1;
                (state.parts).insert(place, (part, number, Bets::from(restarted)));
                place
            });
            let (_, number, bets) = &mut state.parts[place];
            let own = bets.take(started, factors, excess);
            evidence += 0.5 * own * weight(*number);
        }
        state.trace.add(state.watched, evidence);
        if state.watched.is_multiple_of(BLOCK) {
            self.renew_start();
        }
        evidence
    }

    /// Outcomes since the excess began: of all, or of the arm whose say more.
    pub(super) fn recent(&self) -> Recent {
        let DetectorState { all, parts, .. } = &self.state;
        let evidence = |own: &&(Part, u64, Bets)| own.2.evidence() * weight(own.1);
        let first = parts
            .iter()
            .max_by(|a, b| evidence(a).total_cmp(&evidence(b)));
        let (arm, (count, sum)) = match first {
            Some(own @ (Part::Arm(arm), _, bets)) if evidence(&own) > all.evidence() => {
                (Some(*arm), bets.since)
            }
            _ => (None, all.since),
        };
        Recent {
            arm,
            outcomes: count,
            excess: sum / count.max(1) as f64,
        }
    }

    /// Units of the guardrail's signal: of an arm its mean excess, else the mean cost of policies (for a relative
    /// guardrail its excess over the factor times the safe mean).
    pub(super) fn in_units(&self, guardrail: &Standard, recent: &Recent) -> f64 {
        let policies = guardrail.show(self.threshold + recent.excess);
        match recent.arm {
            Some(_) => policies - guardrail.show(self.threshold),
            None => policies,
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
    let mut found = detectors(problem, |_| true, if is_shared { 0.5 } else { 1.0 });
    let arms = problem.declared.arms.len().min(MOST_RESERVED);
    for own in found.iter_mut().flatten() {
        own.state.parts.reserve(arms);
    }
    found
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

impl DetectorState {
    /// Returns true if every number can stand in a detector.
    pub(super) fn is_sound(&self) -> bool {
        let mut numbers: Vec<u64> = self.parts.iter().map(|own| own.1).collect();
        numbers.sort_unstable();
        self.all.is_sound()
            && self.parts.iter().all(|own| own.2.is_sound())
            && self.parts.is_sorted_by(|a, b| a.0 < b.0)
            && numbers.iter().zip(1..).all(|(&number, j)| number == j)
            && (0.0..=1.0).contains(&self.restarted)
            && (self.restarted..=1.0).contains(&self.started)
            && self.watched < u64::MAX / 2
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
