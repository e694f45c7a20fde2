//! The references that ignore guardrails, against their pseudo-code.

use crate::arms_reference;

use arms_reference::*;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Beta, Distribution, Normal, StandardUniform};
use serde_json::json;

/// The index of an arm by its mean and n, infinite before the first pull. The first of those wins.
fn by_index(seen: &Seen, index: impl Fn(f64, f64) -> f64) -> Expected {
    if let Some(new) = (0..seen.k).find(|&a| seen.n(a) == 0) {
        return Expected::of(vec![seen.alone(new)]);
    }
    let of = |a: usize| index(seen.mean(a, 0).expect("pulled"), seen.n(a) as f64);
    seen.best(&(0..seen.k).map(of).collect::<Vec<f64>>())
}

#[test]
fn ucb1() {
    for exploration in [4.0, 0.5] {
        let config = agent(json!({ "kind": "ucb1", "exploration": exploration }));
        for case in cases() {
            compare(&config, &case, &mut |seen: &Seen| {
                let log = (seen.t().max(1) as f64).ln();
                by_index(seen, |mean, n| {
                    mean + seen.r(0) * (2.0 * exploration * log / n).sqrt()
                })
            });
        }
    }
}

#[test]
fn kl_ucb() {
    for c in [0.0, 3.0] {
        let config = agent(json!({ "kind": "kl_ucb", "c": c }));
        for case in cases() {
            compare(&config, &case, &mut |seen: &Seen| {
                let log = (seen.t().max(1) as f64).ln();
                let level = log + c * log.max(1.0).ln();
                by_index(seen, |mean, n| match seen.noise[0] {
                    None => kl_up(mean, level / n),
                    Some(r) => mean + r * (2.0 * level / n).sqrt(),
                })
            });
        }
    }
}

/// A draw of an arm's mean, by n and the sum.
fn posterior(seen: &Seen, arm: usize, rng: &mut ChaCha8Rng) -> f64 {
    let (n, sum) = (seen.n(arm) as f64, seen.sum(arm, 0));
    match seen.noise[0] {
        None => Beta::new(1.0 + sum, 1.0 + (n - sum))
            .expect("at least 1")
            .sample(rng),
        Some(_) if n == 0.0 => StandardUniform.sample(rng),
        Some(r) => Normal::new(sum / n, r / n.sqrt())
            .expect("finite")
            .sample(rng),
    }
}

#[test]
fn thompson() {
    let config = agent(json!({ "kind": "thompson" }));
    for case in cases() {
        let mut rng = stream();
        let went = compare(&config, &case, &mut |seen: &Seen| {
            let drawn: Vec<f64> = (0..seen.k).map(|a| posterior(seen, a, &mut rng)).collect();
            seen.best(&drawn)
        });
        assert!(went.ambiguous < 3, "{went:?}");
    }
}
