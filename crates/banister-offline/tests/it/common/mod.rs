//! Logs drawn from known laws, and every outcome of tiny ones.
#![allow(dead_code, reason = "each test file uses its own part")]

use banister_offline::{CheckedLog, Log};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Columns of a log, owned.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    pub arms: usize,
    pub actions: Vec<usize>,
    pub rewards: Vec<f64>,
    pub costs: Vec<f64>,
    pub pscores: Vec<f64>,
}

impl Columns {
    /// A log with one guardrail and all ranges [0, 1].
    pub fn log(&self) -> Log<'_> {
        Log {
            arms: self.arms,
            actions: &self.actions,
            rewards: &self.rewards,
            costs: &self.costs,
            guardrails: vec!["spend".into()],
            pscores: Some(&self.pscores),
            reward_range: Some([0.0, 1.0]),
            cost_ranges: vec![Some([0.0, 1.0])],
            ..Log::default()
        }
    }

    pub fn checked(&self) -> CheckedLog<'_> {
        self.log().check().unwrap()
    }

    pub fn push(&mut self, action: usize, pscore: f64, reward: f64, cost: f64) {
        self.actions.push(action);
        self.pscores.push(pscore);
        self.rewards.push(reward);
        self.costs.push(cost);
    }
}

pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

pub fn draw(rng: &mut ChaCha8Rng, row: &[f64]) -> usize {
    let mut rest = uniform(rng);
    for (a, p) in row.iter().enumerate() {
        rest -= p;
        if rest < 0.0 {
            return a;
        }
    }
    row.len() - 1
}

/// Arms with Bernoulli rewards and costs, and a logging policy.
#[derive(Debug, Clone)]
pub struct World {
    pub logging: Vec<f64>,
    pub rewards: Vec<f64>,
    pub costs: Vec<f64>,
}

impl World {
    pub fn three() -> Self {
        Self {
            logging: vec![0.5, 0.3, 0.2],
            rewards: vec![0.2, 0.5, 0.9],
            costs: vec![0.1, 0.3, 0.6],
        }
    }

    /// A log drawn from the logging policy.
    pub fn log(&self, rng: &mut ChaCha8Rng, n: usize) -> Columns {
        let mut columns = Columns {
            arms: self.logging.len(),
            ..Columns::default()
        };
        for _ in 0..n {
            let a = draw(rng, &self.logging);
            let flip = |rng: &mut ChaCha8Rng, p: f64| f64::from(u8::from(uniform(rng) < p));
            let (reward, cost) = (flip(rng, self.rewards[a]), flip(rng, self.costs[a]));
            columns.push(a, self.logging[a], reward, cost);
        }
        columns
    }

    /// Calls `visit` with the probability of every log of n rounds and the log itself.
    pub fn every_log(&self, n: usize, mut visit: impl FnMut(f64, &Columns)) {
        let per_round = self.logging.len() * 4;
        for code in 0..per_round.pow(n as u32) {
            let mut columns = Columns {
                arms: self.logging.len(),
                ..Columns::default()
            };
            let (mut rest, mut probability) = (code, 1.0);
            for _ in 0..n {
                let (a, r, c) = (rest % per_round / 4, rest % 2, rest / 2 % 2);
                rest /= per_round;
                let side = |p: f64, hit: usize| if hit == 1 { p } else { 1.0 - p };
                probability *= self.logging[a] * side(self.rewards[a], r) * side(self.costs[a], c);
                columns.push(a, self.logging[a], r as f64, c as f64);
            }
            visit(probability, &columns);
        }
    }

    /// The true reward and cost of a policy.
    pub fn value(&self, policy: &[f64]) -> [f64; 2] {
        let dot = |means: &[f64]| std::iter::zip(policy, means).map(|(p, m)| p * m).sum();
        [dot(&self.rewards), dot(&self.costs)]
    }
}
