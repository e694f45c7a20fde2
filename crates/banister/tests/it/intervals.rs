//! Every interval against its formula, typed again here or solved by bisection.

use crate::common;

use banister::interval::Bernstein;
use banister::{Guardrail, Intervals, Opb, OpbConfig, SignalConfig};
use common::{Random, at_most, distance_down, distance_up, problem};

/// Centre and half-width of the plug-in empirical Bernstein interval, from all data at once.
fn bernstein_by_hand(data: &[f64], log_term: f64) -> (f64, f64) {
    // μ̂_i and σ̂²_i with the prior of one observation at 1/2 and of variance 1/4.
    let mean = |i: usize| (0.5 + data[..i].iter().sum::<f64>()) / (i as f64 + 1.0);
    let variance = |i: usize| {
        let squares: f64 = (1..=i).map(|j| (data[j - 1] - mean(j)).powi(2)).sum();
        (0.25 + squares) / (i as f64 + 1.0)
    };
    let (mut bets, mut weighted, mut penalty) = (0.0, 0.0, 0.0);
    for i in 1..=data.len() {
        let x = data[i - 1];
        let n = i as f64;
        let bet = (2.0 * log_term / (variance(i - 1) * n * (1.0 + n).ln()))
            .sqrt()
            .min(0.5);
        bets += bet;
        weighted += bet * x;
        penalty += (x - mean(i - 1)).powi(2) * (-(1.0 - bet).ln() - bet);
    }
    (weighted / bets, (log_term + penalty) / bets)
}

#[test]
fn bernstein_agrees_with_its_sums_computed_afresh() {
    let mut random = Random::new(1);
    for log_term in [0.5, 3.0, 12.0] {
        for spread in [0.0, 0.01, 1.0] {
            let mut running = Bernstein::default();
            assert!(running.interval(log_term).is_none());
            let mut data = Vec::new();
            for _ in 0..120 {
                let x = 0.5 + spread * (random.unit() - 0.5);
                running.push(x, log_term);
                data.push(x);
                let (centre, radius) = running.interval(log_term).expect("there are data");
                let (expected_centre, expected_radius) = bernstein_by_hand(&data, log_term);
                assert!((centre - expected_centre).abs() < 1e-11);
                assert!((radius - expected_radius).abs() < 1e-10 * expected_radius);
            }
        }
    }
}

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
    max_arms: Option<usize>,
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
            max_arms: None,
            rho: 1.0,
            sub_gaussian: None,
            log_term: None,
        }
    }

    const HORIZON: u64 = 400;
    const DELTA: f64 = 0.05;

    fn agent(&self, intersect: bool) -> Opb {
        let range = self.sub_gaussian.map(|_| [-2.0, 6.0]);
        let guardrail = Guardrail {
            range,
            sub_gaussian: self.sub_gaussian,
            safe_cost: self.known.then_some(0.125),
            ..at_most(0.5, None)
        };
        let mut declared = problem(self.k, vec![guardrail; self.m]);
        declared.reward = SignalConfig {
            range,
            sub_gaussian: self.sub_gaussian,
        };
        let config = OpbConfig {
            intervals: Some(self.kind),
            delta: Self::DELTA,
            horizon: Some(Self::HORIZON),
            intersect: Some(intersect),
            rho: self.rho,
            max_arms: self.max_arms,
            log_term: self.log_term,
            ..OpbConfig::default()
        };
        Opb::new(&declared, &config).expect("a valid case")
    }

    /// The interval by its formula for data in standard units, before clipping to [0, 1].
    fn by_hand(&self, data: &[f64]) -> (f64, f64) {
        let arms = self.max_arms.unwrap_or(self.k);
        let costs_per_guardrail = if self.known { arms - 1 } else { arms };
        let signals = (arms + self.m * costs_per_guardrail) as f64;
        let delta_s = Self::DELTA / signals;
        let t = Self::HORIZON as f64;
        let n = data.len() as f64;
        let mean = data.iter().sum::<f64>() / n;
        // One standard unit of [−2, 6] is 8.
        let r = self.sub_gaussian.map_or(0.5, |r| r / 8.0);
        let forced = self.log_term;
        let (centre, radius) = match self.kind {
            Intervals::Hoeffding => {
                let log_term = forced.unwrap_or((2.0 * t / delta_s).ln());
                (mean, r * (2.0 * log_term / n).sqrt())
            }
            Intervals::Subgaussian => {
                let log_term =
                    forced.unwrap_or(0.5 * ((n + self.rho) / self.rho).ln() + (1.0 / delta_s).ln());
                (mean, r * ((n + self.rho) * 2.0 * log_term).sqrt() / n)
            }
            Intervals::Bernstein => bernstein_by_hand(data, forced.unwrap_or((2.0 / delta_s).ln())),
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
        let mut running = vec![(0.0_f64, 1.0_f64); 1 + self.m];
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
                let (mut lower, mut upper) = self.by_hand(&data[s]);
                if intersect {
                    let old = running[s];
                    (lower, upper) = (lower.max(old.0), upper.min(old.1));
                    running[s] = (lower, upper);
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

const KINDS: [Intervals; 5] = [
    Intervals::Hoeffding,
    Intervals::Kl,
    Intervals::Subgaussian,
    Intervals::Bernstein,
    Intervals::Paper,
];

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

#[test]
fn the_union_bound_counts_the_arms_that_may_still_come() {
    for kind in KINDS {
        for known in [true, false] {
            let case = Case {
                known,
                max_arms: Some(11),
                ..Case::new(kind)
            };
            case.check(false);
        }
    }
}

#[test]
fn a_sub_gaussian_constant_is_read_in_units_of_the_range() {
    for kind in [
        Intervals::Hoeffding,
        Intervals::Subgaussian,
        Intervals::Paper,
    ] {
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
    for kind in [Intervals::Kl, Intervals::Subgaussian, Intervals::Bernstein] {
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
