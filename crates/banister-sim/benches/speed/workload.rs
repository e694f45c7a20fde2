//! The LPs of an agent that plays on policy.

use banister::solve::{Lp, LpSolver};
use banister::{Guardrail, Intervals, OnBreach, Opb, OpbConfig, Optimism, Problem};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::Failure;

/// A problem and what changes in it from round to round.
pub struct Workload {
    pub name: String,
    /// Actions per block, where each block has a policy of its own.
    pub block: Option<usize>,
    pub reward: Vec<f64>,
    pub costs: Vec<Vec<f64>>,
    pub thresholds: Vec<f64>,
    pub rounds: Vec<Round>,
}

pub struct Round {
    pub changes: Vec<Change>,
    /// The optimal value, for checking the other solvers.
    pub value: f64,
}

pub struct Change {
    pub action: usize,
    pub reward: f64,
    pub costs: Vec<f64>,
}

/// The safe arm.
pub const SAFE: usize = 0;

/// An agent with `k` arms and `m` guardrails, and the world it plays in.
pub struct World {
    pub agent: Opb,
    pub rewards: Vec<f64>,
    pub costs: Vec<Vec<f64>>,
    pub thresholds: Vec<f64>,
    pub rng: ChaCha8Rng,
}

impl World {
    /// Starts with a log that gave every arm some pulls, few or many.
    pub fn new(k: usize, m: usize) -> Result<Self, Failure> {
        let mut rng = ChaCha8Rng::seed_from_u64(k as u64 + 7 * m as u64);
        let mut uniform = || (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut rewards: Vec<f64> = (0..k).map(|_| uniform()).collect();
        let mut costs: Vec<Vec<f64>> = (0..m)
            .map(|_| (0..k).map(|_| uniform()).collect())
            .collect();
        rewards[SAFE] = 0.1;
        for row in &mut costs {
            row[SAFE] = 0.05;
        }
        // With fewer, two of many arms often have the same bounds, which is another problem.
        let pulls: Vec<u64> = (0..k).map(|_| 100 + (900.0 * uniform()) as u64).collect();
        let thresholds = vec![0.5; m];
        let problem = Problem {
            arms: (0..k).map(|a| format!("arm {a}")).collect(),
            safe: SAFE,
            guardrails: (0..m)
                .map(|i| Guardrail {
                    name: format!("cost {i}"),
                    at_most: Some(thresholds[i]),
                    safe_cost: Some(0.05),
                    ..Guardrail::default()
                })
                .collect(),
            ..Default::default()
        };
        let config = OpbConfig {
            intervals: Some(Intervals::Paper),
            optimism: Optimism::Paper,
            horizon: Some(100_000_000),
            // The log plays what no policy would: an alarm would have it forgotten.
            on_breach: Some(OnBreach::Alert),
            ..OpbConfig::default()
        };
        let mut world = Self {
            agent: Opb::new(&problem, &config)?,
            rewards,
            costs,
            thresholds,
            rng,
        };
        for (arm, &n) in pulls.iter().enumerate() {
            for _ in 0..n {
                world.pull(arm)?;
            }
        }
        Ok(world)
    }

    /// One outcome of an arm.
    pub fn pull(&mut self, arm: usize) -> Result<(), Failure> {
        let rng = &mut self.rng;
        let mut bernoulli = |mean: f64| {
            let uniform = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            f64::from(u8::from(uniform < mean))
        };
        let reward = bernoulli(self.rewards[arm]);
        let costs: Vec<f64> = self.costs.iter().map(|row| bernoulli(row[arm])).collect();
        Ok(self.agent.observe(arm, reward, &costs)?)
    }

    /// One round on policy; the arm played.
    pub fn play(&mut self) -> Result<usize, Failure> {
        let uniform = (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let arm = self.agent.decide().draw(uniform);
        self.pull(arm)?;
        Ok(arm)
    }

    /// V and u of an arm, as the agent has them: with `paper` intervals, U + D is the paper's r̂ + (1 + 2/Δ)β.
    pub fn column(&self, arm: usize) -> Change {
        let bound = |signal| {
            self.agent
                .interval(arm, signal)
                .expect("an arm of this world")
        };
        let mut costs = Vec::new();
        let mut spread = 0.0_f64;
        for (i, tau) in self.thresholds.iter().enumerate() {
            let safe = self.costs[i][SAFE];
            let interval = bound(i + 1);
            spread = spread.max((interval.upper - interval.lower) / (tau - safe));
            costs.push(if arm == SAFE { safe } else { interval.upper });
        }
        Change {
            action: arm,
            reward: bound(0).upper + spread,
            costs,
        }
    }

    /// The problem now, with no rounds yet.
    pub fn workload(&self, name: String) -> Workload {
        let columns: Vec<Change> = (0..self.rewards.len())
            .map(|arm| self.column(arm))
            .collect();
        Workload {
            name,
            block: None,
            reward: columns.iter().map(|c| c.reward).collect(),
            costs: (0..self.thresholds.len())
                .map(|i| columns.iter().map(|c| c.costs[i]).collect())
                .collect(),
            thresholds: self.thresholds.clone(),
            rounds: Vec::new(),
        }
    }
}

impl Workload {
    pub fn lp(&self) -> Lp<'_> {
        Lp {
            reward: &self.reward,
            costs: &self.costs,
            thresholds: &self.thresholds,
        }
    }

    /// The problem with its first round's changes, its first two rounds', and so on.
    pub fn problems(&self) -> Vec<Self> {
        let mut problems: Vec<Self> = Vec::new();
        for round in &self.rounds {
            let mut next = problems.last().unwrap_or(self).without_rounds();
            for change in &round.changes {
                next.apply(change);
            }
            problems.push(next);
        }
        problems
    }

    pub fn without_rounds(&self) -> Self {
        Self {
            name: self.name.clone(),
            block: self.block,
            reward: self.reward.clone(),
            costs: self.costs.clone(),
            thresholds: self.thresholds.clone(),
            rounds: Vec::new(),
        }
    }

    pub fn apply(&mut self, change: &Change) {
        self.reward[change.action] = change.reward;
        for (row, cost) in self.costs.iter_mut().zip(&change.costs) {
            row[change.action] = *cost;
        }
    }

    /// Fills in the optimal values.
    pub fn with_values(mut self) -> Self {
        let problems = self.problems();
        let mut solver = LpSolver::default();
        for (round, problem) in self.rounds.iter_mut().zip(&problems) {
            solver.reset();
            round.value = solver.solve(&problem.lp(), Some(SAFE)).value;
        }
        self
    }
}

/// Rounds in which every arm has new bounds.
pub fn fresh_bounds(k: usize) -> Result<Workload, Failure> {
    let mut world = World::new(k, 1)?;
    let mut workload = world.workload(format!("LP, K = {k}, all bounds fresh"));
    // So many that they stay in the cache, where an agent has its bounds.
    for _ in 0..(40_000 / k).clamp(4, 64) {
        for arm in 0..k {
            world.pull(arm)?;
        }
        for _ in 0..50 {
            world.play()?;
        }
        let changes = (0..k).map(|arm| world.column(arm)).collect();
        workload.rounds.push(Round {
            changes,
            value: 0.0,
        });
    }
    Ok(workload.with_values())
}

/// Consecutive rounds of the agent.
pub fn one_arm_changed(k: usize, m: usize) -> Result<Workload, Failure> {
    let mut world = World::new(k, m)?;
    for _ in 0..1000 {
        world.play()?;
    }
    let name = match m {
        1 => format!("LP, K = {k}, one arm changed"),
        _ => format!("LP, K = {k}, m = {m}, one arm changed"),
    };
    let mut workload = world.workload(name);
    for _ in 0..300 {
        let arm = world.play()?;
        workload.rounds.push(Round {
            changes: vec![world.column(arm)],
            value: 0.0,
        });
    }
    Ok(workload.with_values())
}
