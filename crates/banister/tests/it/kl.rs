//! The ends of a KL interval against bisection on the definition, from good and bad guesses.

use crate::common;

use banister::interval::{kl, kl_lower, kl_upper};
use common::{Random, distance_down, distance_up};

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
