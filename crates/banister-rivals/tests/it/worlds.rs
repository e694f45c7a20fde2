//! Worlds for the linear rivals, shared by their tests.

// Every test file uses a part of this.
#![allow(dead_code)]

use crate::common::Random;
use crate::common::linear::{dot, length, unit};
use crate::common::player::Player;
use banister::{Agent, Guardrail, Problem, Registry as _, SignalConfig};
use banister_rivals::AgentConfig;
use serde_json::{Value, json};

/// Safe per action.
pub const SCALED: [&str; 6] = [
    "hplc_lucb",
    "safe_lts",
    "roful",
    "gen_op",
    "safe_lucb",
    "lin_s_colts",
];
/// For x_0 = 0, and not safe per action.
pub const OVER_TIME: [&str; 1] = ["lin_r_colts"];
/// For any x_0.
pub const WHOLE: [&str; 3] = ["conservative_lin_ucb", "lin_ucb", "lin_ts"];

pub fn all() -> impl Iterator<Item = &'static str> {
    parts().chain(WHOLE)
}

/// Kinds that play parts of actions.
pub fn parts() -> impl Iterator<Item = &'static str> {
    SCALED.into_iter().chain(OVER_TIME)
}

/// A kind with what it cannot do without.
pub fn config(kind: &str, keys: Value) -> AgentConfig {
    let mut declared = keys;
    declared["kind"] = json!(kind);
    if kind == "safe_lucb" && declared["exploration"].is_null() {
        declared["exploration"] = json!(40);
    }
    let config: AgentConfig = serde_json::from_value(declared).expect("known keys");
    config.with_parameter_norm(1.0)
}

/// A problem with the truth about it: means ⟨x, θ⟩ and ⟨x, μ_i⟩ in the signals' own units.
pub struct World {
    pub problem: Problem,
    pub theta: Vec<f64>,
    pub mus: Vec<Vec<f64>>,
    /// Noise stays in the ranges, which cuts means.
    pub bounded: bool,
}

const REWARD: [f64; 2] = [-2.0, 3.0];

/// Ranges and thresholds that are not the standard ones.
fn guardrail(direction: &str) -> Guardrail {
    match direction {
        "at_most" => Guardrail {
            name: "cost".into(),
            at_most: Some(0.9),
            signal: SignalConfig {
                range: Some([-1.5, 2.5].into()),
                ..SignalConfig::default()
            },
            ..Guardrail::default()
        },
        _ => Guardrail {
            name: "good".into(),
            at_least: Some(-0.6),
            signal: SignalConfig {
                range: Some([-2.0, 1.0].into()),
                ..SignalConfig::default()
            },
            ..Guardrail::default()
        },
    }
}

impl World {
    /// Six actions in R^d, the third of them x_0; parameters as long as S = 1 allows. `noise` in the
    /// units of a range: sub-Gaussian; none: Bounded observations.
    pub fn new(seed: u64, safe: Vec<f64>, directions: &[&str], noise: Option<f64>) -> Self {
        let random = &mut Random::new(seed);
        let d = safe.len();
        let action = |random: &mut Random| -> Vec<f64> {
            let size = random.between(0.5, 1.3);
            unit(random, d).iter().map(|x| x * size).collect()
        };
        let mut features: Vec<Vec<f64>> = (0..6).map(|_| action(random)).collect();
        features[2] = safe.clone();
        let times = |x: Vec<f64>, width: f64| -> Vec<f64> { x.iter().map(|x| x * width).collect() };
        let theta = times(unit(random, d), 0.9 * (REWARD[1] - REWARD[0]));
        let mut mus = Vec::new();
        let mut guardrails = Vec::new();
        for &direction in directions {
            let mut own = guardrail(direction);
            let range = own.signal.hull();
            let width = range[1] - range[0];
            let mut mu = times(unit(random, d), 0.9 * width);
            // A cost that grows with the reward makes guardrails bite.
            let sign = if direction == "at_most" { 1.0 } else { -1.0 };
            for (mu, theta) in mu.iter_mut().zip(&theta) {
                *mu = 0.6 * *mu + 0.4 * sign * width * theta / (REWARD[1] - REWARD[0]);
            }
            // Away from harm at x_0.
            if length(&safe) > 0.0 && sign * dot(&mu, &safe) > -0.05 {
                let by = (sign * dot(&mu, &safe) + 0.05) / dot(&safe, &safe);
                mu.iter_mut()
                    .zip(&safe)
                    .for_each(|(mu, x)| *mu -= sign * by * x);
            }
            own.safe_cost = Some(dot(&mu, &safe).clamp(range[0], range[1]));
            own.signal.sub_gaussian = noise.map(|r| r * width);
            mus.push(mu);
            guardrails.push(own);
        }
        let problem = Problem {
            arms: (0..6).map(|a| format!("arm {a}")).collect(),
            safe: 2,
            features,
            reward: SignalConfig {
                range: Some(REWARD.into()),
                sub_gaussian: noise.map(|r| r * (REWARD[1] - REWARD[0])),
                ..SignalConfig::default()
            },
            guardrails,
            ..Problem::default()
        };
        Self {
            problem,
            theta,
            mus,
            bounded: noise.is_none(),
        }
    }

    /// x_0 = 0 in R³ and one guardrail.
    pub fn scaled(seed: u64, direction: &str, noise: Option<f64>) -> Self {
        Self::new(seed, vec![0.0; 3], &[direction], noise)
    }

    /// x_0 ≠ 0 in R³ and two guardrails.
    pub fn whole(seed: u64, noise: Option<f64>) -> Self {
        let safe = vec![0.3, -0.2, 0.4];
        Self::new(seed, safe, &["at_most", "at_least"], noise)
    }

    /// The one that a kind is for.
    pub fn of(kind: &str, seed: u64, noise: Option<f64>) -> Self {
        if parts().any(|other| other == kind) {
            Self::scaled(seed, ["at_most", "at_least"][seed as usize % 2], noise)
        } else {
            Self::whole(seed, noise)
        }
    }

    /// Actions of a round beside x_0.
    pub fn offer(&self, random: &mut Random) -> Vec<f64> {
        let d = self.theta.len();
        let rows = (0..5).flat_map(|_| {
            let size = random.between(0.5, 1.3);
            unit(random, d).into_iter().map(move |x| x * size)
        });
        rows.collect()
    }

    /// The width of a signal's range: 0 is the reward, 1 + i guardrail i.
    pub fn width(&self, signal: usize) -> f64 {
        let [lo, hi] = match signal {
            0 => REWARD,
            i => self.problem.guardrails[i - 1].signal.hull(),
        };
        hi - lo
    }

    /// 1, or −1 for `at_least`.
    pub fn sign(&self, signal: usize) -> f64 {
        match signal {
            0 => 1.0,
            i if self.problem.guardrails[i - 1].at_least.is_some() => -1.0,
            _ => 1.0,
        }
    }

    /// Excess of an action's true mean over a threshold, in signal units.
    pub fn excess(&self, i: usize, x: &[f64]) -> f64 {
        let own = &self.problem.guardrails[i];
        let mean = dot(&self.mus[i], x);
        match (own.at_most, own.at_least) {
            (Some(b), _) => mean - b,
            (_, Some(b)) => b - mean,
            _ => f64::NAN,
        }
    }

    pub fn pull(&self, random: &mut Random, x: &[f64]) -> (f64, Vec<f64>) {
        let mut signal = |mean: f64, range: [f64; 2], r: Option<f64>| {
            if self.bounded {
                let noise = 0.25 * (range[1] - range[0]) * random.normal();
                (mean + noise).clamp(range[0], range[1])
            } else {
                mean + r.expect("declared") * random.normal()
            }
        };
        let reward = signal(
            dot(&self.theta, x),
            REWARD,
            self.problem.reward.sub_gaussian,
        );
        let costs = std::iter::zip(&self.mus, &self.problem.guardrails);
        let costs = costs
            .map(|(mu, g)| signal(dot(mu, x), g.signal.hull(), g.signal.sub_gaussian))
            .collect();
        (reward, costs)
    }
}

/// Features of the action that a decision plays, given a uniform number.
pub fn played(agent: &mut Player<Box<dyn Agent>>, uniform: f64) -> Vec<f64> {
    let decision = agent.decide();
    let (action, scale) = (decision.draw(uniform), decision.scale);
    let x = agent.features(action).expect("on offer");
    x.iter().map(|x| x * scale).collect()
}
