//! Every interval against its formula, typed again here or solved by bisection, also from bad guesses.

use banister::interval::{Mixture, kl, kl_lower, kl_upper};
use banister::{Agent as _, Guardrail, Intervals, Opb, OpbConfig, SignalConfig};
use common::{Random, at_most, distance_down, distance_up, problem, share_of};

use crate::common;
use crate::common::player::Inspect as _;

/// Equal up to what the Newton search of the KL ends leaves.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-8
}

/// One set-up, with everything the formulas need.
struct Case {
    kind: Intervals,
    k: usize,
    m: usize,
    known: bool,
    rho: f64,
    /// Sub-Gaussian constant in signal units on the range [−2, 6], or bounded in [0, 1].
    sub_gaussian: Option<f64>,
    log_term: Option<f64>,
}

impl Case {
    fn new(kind: Intervals) -> Self {
        Self {
            kind,
            k: 3,
            m: 2,
            known: true,
            rho: 1.0,
            sub_gaussian: None,
            log_term: None,
        }
    }

    const HORIZON: u64 = 400;
    const DELTA: f64 = 0.05;
    const OPTIMISM_DELTA: f64 = 0.2;

    fn agent(&self, intersect: bool) -> Opb {
        let range: Option<banister::Range> = self.sub_gaussian.map(|_| [-2.0, 6.0].into());
        let guardrail = Guardrail {
            safe_cost: self.known.then_some(0.125),
            signal: SignalConfig {
                range: range.clone(),
                sub_gaussian: self.sub_gaussian,
                ..SignalConfig::default()
            },
            ..at_most(0.5, None)
        };
        let mut declared = problem(self.k, vec![guardrail; self.m]);
        declared.reward = SignalConfig {
            range,
            sub_gaussian: self.sub_gaussian,
            ..SignalConfig::default()
        };
        let config = OpbConfig {
            intervals: Some(self.kind),
            delta: Self::DELTA,
            optimism_delta: Self::OPTIMISM_DELTA,
            horizon: Some(Self::HORIZON),
            intersect: Some(intersect),
            rho: self.rho,
            log_term: self.log_term,
            ..OpbConfig::default()
        };
        Opb::new(&declared, &config).expect("a valid case")
    }

    /// δ_s of an upper cost bound of the arm pulled first, and of each of its other bounds.
    fn levels(&self) -> (f64, f64) {
        let safety = self.k - usize::from(self.known);
        (
            Self::DELTA * share_of(1, safety) / self.m as f64,
            Self::OPTIMISM_DELTA * share_of(1, self.k) / (self.m + 1) as f64,
        )
    }

    /// The interval by its formula for data in standard units, both ends at level δ_s.
    fn by_hand(&self, data: &[f64], delta_s: f64) -> (f64, f64) {
        let arms = self.k;
        let t = Self::HORIZON as f64;
        let n = data.len() as f64;
        let mean = data.iter().sum::<f64>() / n;
        // One standard unit of [−2, 6] is 8.
        let r = self.sub_gaussian.map_or(0.5, |r| r / 8.0);
        let forced = self.log_term;
        let (centre, radius) = match self.kind {
            Intervals::Subgaussian => {
                let log_term =
                    forced.unwrap_or(0.5 * ((n + self.rho) / self.rho).ln() + (1.0 / delta_s).ln());
                (mean, r * ((n + self.rho) * 2.0 * log_term).sqrt() / n)
            }
            Intervals::Paper => {
                let log_term = forced.unwrap_or((4.0 * arms as f64 * t / Self::DELTA).ln());
                let r = if self.sub_gaussian.is_some() { r } else { 1.0 };
                return (
                    mean - r * (2.0 * log_term / n).sqrt(),
                    mean + r * (2.0 * log_term / n).sqrt(),
                );
            }
            Intervals::Kl => {
                let level = forced.unwrap_or(((n + 1.0) / delta_s).ln()) / n;
                return (
                    mean - distance_down(mean, level),
                    mean + distance_up(mean, level),
                );
            }
            other => panic!("no formula for {other:?}"),
        };
        (
            (centre - radius).clamp(0.0, 1.0),
            (centre + radius).clamp(0.0, 1.0),
        )
    }

    /// Feeds 150 observations of arm 1 and compares all its signals after each.
    fn check(&self, intersect: bool) {
        let mut agent = self.agent(intersect);
        let mut random = Random::new(2);
        let mut data = vec![Vec::new(); 1 + self.m];
        let mut computed = vec![Vec::new(); 1 + self.m];
        for n in 1..=150 {
            let mut draw = || match self.sub_gaussian {
                Some(r) => 1.0 + r * random.normal(),
                None => random.bernoulli(0.3) * (0.5 + 0.5 * random.unit()),
            };
            let raw: Vec<f64> = (0..=self.m).map(|_| draw()).collect();
            agent
                .observe(1, raw[0], &raw[1..])
                .expect("a valid outcome");
            for (s, x) in raw.iter().enumerate() {
                data[s].push(self.sub_gaussian.map_or(*x, |_| (x + 2.0) / 8.0));
                let found = agent.interval(1, s).expect("arm 1");
                let (safety, optimism) = self.levels();
                let (mut lower, _) = self.by_hand(&data[s], optimism);
                let (_, mut upper) = self.by_hand(&data[s], if s > 0 { safety } else { optimism });
                computed[s].push((lower, upper));
                if intersect {
                    (lower, upper) = tightest_of_late(&computed[s]);
                }
                let context = format!("{:?} n = {n}, signal {s}", self.kind);
                assert!(close(found.upper, upper), "{context}: {found:?} {upper}");
                // Only the upper end of a reward is promised.
                if s > 0 {
                    assert!(close(found.lower, lower), "{context}: {found:?} {lower}");
                }
            }
        }
    }
}

/// The tightest of the ends computed after 1, 2, … outcomes: those of the last two buckets, which grow by ∛2.
fn tightest_of_late(ends: &[(f64, f64)]) -> (f64, f64) {
    let bucket = |n: usize| (n as f64).powi(3).log2().floor();
    let last = bucket(ends.len());
    let before = (1..=ends.len()).map(bucket).filter(|&own| own < last);
    let from = before.fold(0.0, f64::max);
    let late = (1..=ends.len()).filter(|&n| bucket(n) >= from);
    late.map(|n| ends[n - 1])
        .fold((0.0, 1.0), |a, b| (a.0.max(b.0), a.1.min(b.1)))
}

const KINDS: [Intervals; 3] = [Intervals::Kl, Intervals::Subgaussian, Intervals::Paper];

#[test]
fn every_kind_follows_its_formula_with_the_safe_costs_known() {
    KINDS.iter().for_each(|&kind| Case::new(kind).check(false));
}

#[test]
fn unknown_safe_costs_are_counted_in_the_union_bound() {
    for kind in KINDS {
        let case = Case {
            known: false,
            m: 3,
            ..Case::new(kind)
        };
        case.check(false);
    }
}

/// Both ends of the mixture in an agent are those of its statistics, each at its own level.
#[test]
fn searched_ends_have_levels_of_their_own() {
    for intersect in [false, true] {
        let case = Case::new(Intervals::Mixture);
        let (mut agent, mut random) = (case.agent(intersect), Random::new(7));
        let (safety, optimism) = case.levels();
        let logs = |s: usize| {
            let upper = if s > 0 { safety } else { optimism };
            ((1.0 / optimism).ln(), (1.0 / upper).ln())
        };
        let mut mixtures = [Mixture::default(); 3];
        let mut computed: [Vec<(f64, f64)>; 3] = Default::default();
        for n in 1..=180 {
            let raw: [f64; 3] = std::array::from_fn(|_| random.bernoulli(0.3) * random.unit());
            agent.observe(1, raw[0], &raw[1..]).expect("valid");
            for (s, &x) in raw.iter().enumerate() {
                let (low, high) = logs(s);
                mixtures[s].push(x);
                let (lower, upper) = (mixtures[s].lower(low, 0.0), mixtures[s].upper(high, 1.0));
                computed[s].push((lower, upper));
                let expected = if intersect {
                    tightest_of_late(&computed[s])
                } else {
                    (lower, upper)
                };
                let found = agent.interval(1, s).expect("arm 1");
                let context = format!("n = {n}, signal {s}: {found:?} {expected:?}");
                assert!(close(found.upper, expected.1), "{context}");
                assert!(s == 0 || close(found.lower, expected.0), "{context}");
            }
        }
    }
}

/// δ_s of an arm's upper cost bound after its first outcome, read off its width.
fn spent(mut agent: Opb, arm: usize) -> f64 {
    const OUTCOMES: u32 = 30;
    for _ in 0..OUTCOMES {
        agent.observe(arm, 0.0, &[0.0]).expect("valid");
    }
    let (width, n) = (
        agent.interval(arm, 1).expect("an arm").upper,
        f64::from(OUTCOMES),
    );
    // All costs were 0: the upper end is √((n + 1)(ln(n + 1) + 2 ln(1/δ_s)))/2n.
    (n + 1.0).sqrt() * (-2.0 * (n * width).powi(2) / (n + 1.0)).exp()
}

fn subgaussian(k: usize) -> Opb {
    let config = OpbConfig {
        intervals: Some(Intervals::Subgaussian),
        delta: 0.9,
        ..OpbConfig::default()
    };
    // One arm more, the safe one, which needs no share.
    Opb::new(&problem(k + 1, vec![at_most(0.5, Some(0.1))]), &config).expect("valid")
}

/// Whatever the order of pulls and however many arms come later, the shares of δ add up to δ.
#[test]
fn shares_add_up_to_the_budget() {
    for k in [1, 3, 40] {
        let (mut agent, mut total) = (subgaussian(k), 0.0);
        for place in 1..=400_usize {
            let arm = if place <= k {
                // Declared arms in the reverse order of their numbers.
                k + 1 - place
            } else {
                agent
                    .add_arm(&format!("newcomer {place}"))
                    .expect("no limit")
            };
            let own = spent(agent.clone(), arm);
            total += own;
            assert!(
                (own - 0.9 * share_of(place, k)).abs() < 1e-12,
                "{place} of {k}"
            );
            agent.announced(place as u64, arm, None);
        }
        // The shares of all places to come.
        let tail = 0.5 * (k.min(8) as f64 + 1.0) / (401.0 + k.min(8) as f64);
        assert!((total / 0.9 + tail - 1.0).abs() < 1e-9, "{k}: {total}");
    }
}

/// Thousands of arms that are declared and never pulled cost next to nothing.
#[test]
fn arms_never_pulled_do_not_widen_intervals() {
    let width = |k: usize| {
        let declared = problem(k, vec![at_most(0.5, Some(0.1))]);
        let mut agent = Opb::new(&declared, &OpbConfig::default()).expect("valid");
        let mut random = Random::new(11);
        for _ in 0..1000 {
            agent
                .observe(k - 1, 0.5, &[random.bernoulli(0.2)])
                .expect("valid");
        }
        agent.interval(k - 1, 1).expect("an arm").upper - 0.2
    };
    let (ten, thousands) = (width(10), width(5000));
    // A union bound over 5000 arms instead of 10 would widen it by √(ln 500000/ln 1000) = 1.4.
    assert!(thousands < 1.06 * ten, "{ten} {thousands}");
}

/// Outcomes that come late and sorted do not decide who pays.
#[test]
fn places_are_those_of_first_draws() {
    let mut agent = subgaussian(3);
    for (decision, arm) in (1..).zip([3, 1, 2, 1, 3]) {
        agent.announced(decision, arm, None);
    }
    for (arm, place) in [(1, 2), (2, 3), (3, 1)] {
        let own = spent(Opb::restore(&agent.save().unwrap()).expect("intact"), arm);
        assert!((own - 0.9 * share_of(place, 3)).abs() < 1e-12, "{arm}");
    }
}

/// Between computations the ends in force stay; at n = 200 and beyond they come in steps of half a percent.
#[test]
fn lazy_intervals_are_those_of_the_last_computation() {
    let declared = problem(2, vec![at_most(0.5, Some(0.1))]);
    let agent = |lazy: f64| {
        let config = OpbConfig {
            lazy: Some(lazy),
            ..OpbConfig::default()
        };
        Opb::new(&declared, &config).expect("valid")
    };
    let (mut each, mut lazy, mut random) = (agent(0.0), agent(0.005), Random::new(12));
    let (mut computed, mut last) = (0, lazy.interval(1, 1));
    for n in 1..=5000_u64 {
        let (reward, cost) = (random.bernoulli(0.6), random.bernoulli(0.2));
        each.observe(1, reward, &[cost]).expect("valid");
        lazy.observe(1, reward, &[cost]).expect("valid");
        let now = lazy.interval(1, 1);
        if n <= 200 {
            assert_eq!(now, each.interval(1, 1), "{n}");
        }
        computed += u64::from(now != last);
        last = now;
        let (full, kept) = (each.interval(1, 1).expect("arm"), now.expect("arm"));
        // Kept ends still hold, and are hardly others.
        assert!((kept.upper - full.upper).abs() <= 0.01, "{n}");
    }
    assert!((150..=900).contains(&computed), "{computed}");
}

#[test]
fn a_sub_gaussian_constant_is_read_in_units_of_the_range() {
    for kind in [Intervals::Subgaussian, Intervals::Paper] {
        for rho in [0.5, 20.0] {
            let case = Case {
                sub_gaussian: Some(0.4),
                rho,
                ..Case::new(kind)
            };
            case.check(false);
        }
    }
}

#[test]
fn anytime_intervals_can_be_intersected_over_time() {
    for kind in [Intervals::Kl, Intervals::Subgaussian] {
        Case::new(kind).check(true);
    }
}

#[test]
fn a_forced_log_term_replaces_the_honest_one() {
    for kind in KINDS {
        let case = Case {
            log_term: Some(0.5),
            ..Case::new(kind)
        };
        case.check(false);
    }
}

#[test]
fn an_arm_never_pulled_may_be_anything() {
    for kind in KINDS {
        let agent = Case::new(kind).agent(false);
        for signal in 0..3 {
            let interval = agent.interval(2, signal).expect("arm 2");
            assert_eq!((interval.lower, interval.upper), (0.0, 1.0));
        }
        assert!(agent.interval(3, 0).is_none());
        assert!(agent.interval(0, 3).is_none());
    }
}

/// Looseness that is rounding of 1 − p, not of the search.
const ROUNDING: f64 = 1e-13;

const MEANS: [f64; 15] = [
    0.0,
    1e-200,
    1e-12,
    1e-6,
    1e-3,
    0.01,
    0.1,
    0.3,
    0.5,
    0.77,
    0.9,
    0.99,
    1.0 - 1e-6,
    1.0 - 1e-12,
    1.0,
];
const LEVELS: [f64; 12] = [
    1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 0.1, 0.5, 1.0, 3.0, 30.0, 700.0, 1e6,
];

fn guesses(p: f64, answer: f64) -> [f64; 14] {
    [
        f64::NAN,
        f64::NEG_INFINITY,
        f64::INFINITY,
        -3.0,
        0.0,
        p,
        p + 1e-15,
        p - 1e-15,
        answer,
        answer + 1e-9,
        answer - 1e-9,
        0.5 * (p + answer),
        1.0,
        7.0,
    ]
}

#[test]
fn the_divergence_is_its_definition() {
    for p in [0.1, 0.5, 0.8_f64] {
        for q in [0.05, 0.5, 0.95_f64] {
            let by_hand: f64 = p * (p / q).ln() + (1.0 - p) * ((1.0 - p) / (1.0 - q)).ln();
            assert!((kl(p, q) - by_hand).abs() < 1e-14, "kl({p}, {q})");
        }
    }
    assert_eq!(kl(0.0, 0.25), -(0.75_f64.ln()));
    assert_eq!(kl(1.0, 0.25), -(0.25_f64.ln()));
    assert!(kl(0.3, 0.3).abs() < 1e-15);
}

#[test]
fn the_kl_upper_end_agrees_with_bisection_from_every_guess() {
    for p in MEANS {
        for level in LEVELS {
            let width = distance_up(p, level);
            for guess in guesses(p, p + width) {
                let found = kl_upper(p, level, guess);
                let context = format!("p = {p}, level = {level}, guess = {guess}: {found}");
                assert!(found >= p + width - 1e-12, "unsafe: {context}");
                assert!(
                    found - (p + width) <= 1e-8 * width + ROUNDING,
                    "loose: {context}"
                );
                assert!(found <= 1.0, "{context}");
            }
        }
    }
}

#[test]
fn the_kl_lower_end_agrees_with_bisection_from_every_guess() {
    for p in MEANS {
        for level in LEVELS {
            let width = distance_down(p, level);
            for guess in guesses(p, p - width) {
                let found = kl_lower(p, level, guess);
                let context = format!("p = {p}, level = {level}, guess = {guess}: {found}");
                assert!(found <= p - width + 1e-12, "unsafe: {context}");
                assert!(
                    (p - width) - found <= 1e-8 * width + ROUNDING,
                    "loose: {context}"
                );
                assert!(found >= 0.0, "{context}");
            }
        }
    }
}

#[test]
fn a_guess_near_the_answer_never_costs_more_than_a_sliver_of_width() {
    let mut random = Random::new(9);
    for _ in 0..20_000 {
        let p = random.unit();
        let level = (-random.between(-2.0, 12.0)).exp();
        let width = distance_up(p, level);
        for _ in 0..5 {
            let miss = random.between(-0.1, 0.1) * random.unit().powi(8);
            let guess = p + width * (1.0 + miss);
            let excess = kl_upper(p, level, guess) - p - width;
            // The last Newton step leaves about its square over 1 − q.
            let sharp = 1.0 - p - width > 0.01 * width;
            let allowed = if sharp { 1e-8 } else { 1e-6 };
            let context = format!("p = {p}, level = {level}, guess = {guess}: {excess}");
            assert!(excess >= -1e-12 && excess <= allowed * width, "{context}");
        }
    }
}
