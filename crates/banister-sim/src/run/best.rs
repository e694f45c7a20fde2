//! The best feasible policies of rounds that differ, and their average.

use banister::solve::{Lp, LpSolver, Status};

use crate::results::GuardrailInfo;

/// Best policy of the round, solved for on true means from the last solution, and the sums over rounds.
pub(crate) struct BestPolicy {
    /// Per guardrail 1, or −1 where it bounds its signal from below; and its threshold.
    bounds: Vec<(f64, f64)>,
    /// The least probability of the safe action that policies have.
    floor: f64,
    /// Costs and thresholds with the sign that makes guardrails bound from above.
    costs: Vec<Vec<f64>>,
    limits: Vec<f64>,
    solver: LpSolver,
    /// Reward, then costs, of the last solution.
    now: Vec<f64>,
    /// Solutions so far.
    solutions: u64,
    rounds: f64,
    sums: Vec<f64>,
}

impl BestPolicy {
    pub(crate) fn new(guardrails: &[GuardrailInfo], floor: f64) -> Self {
        let m = guardrails.len();
        let bounds = guardrails.iter().map(|g| (g.direction.sign(), g.threshold));
        Self {
            bounds: bounds.collect(),
            floor,
            costs: vec![Vec::new(); m],
            limits: vec![0.0; m],
            solver: LpSolver::default(),
            now: vec![0.0; m + 1],
            solutions: 0,
            rounds: 0.0,
            sums: vec![0.0; m + 1],
        }
    }

    /// Solves for a round on true means by signal and action; false where no policy keeps the guardrails. With a floor
    /// f, the free part of a policy keeps (τ − f·c_0)/(1 − f).
    pub(crate) fn solve(&mut self, means: &[Vec<f64>], safe: usize) -> bool {
        let f = self.floor;
        // A warm start speaks of actions by number.
        if self
            .costs
            .first()
            .is_some_and(|row| row.len() != means[0].len())
        {
            self.solver.reset();
        }
        for (i, &(sign, threshold)) in self.bounds.iter().enumerate() {
            let own = &means[i + 1];
            self.costs[i].clear();
            self.costs[i].extend(own.iter().map(|mean| sign * mean));
            self.limits[i] = sign * (threshold - f * own[safe]) / (1.0 - f);
        }
        let keeps = |(row, limit): (&Vec<f64>, &f64)| row[safe] <= *limit;
        let start = std::iter::zip(&self.costs, &self.limits).all(keeps);
        let lp = Lp {
            reward: &means[0],
            costs: &self.costs,
            thresholds: &self.limits,
        };
        let best = self.solver.solve(&lp, start.then_some(safe));
        if best.status == Status::Infeasible {
            return false;
        }
        let whole = |signal: usize, free: f64| {
            if f == 0.0 {
                free
            } else {
                f * means[signal][safe] + (1.0 - f) * free
            }
        };
        self.solutions += 1;
        self.now[0] = whole(0, best.value);
        for (i, cost) in best.costs.iter().enumerate() {
            self.now[i + 1] = whole(i + 1, self.bounds[i].0 * cost);
        }
        true
    }

    /// Sets reward and costs of a best policy that was solved for elsewhere.
    pub(crate) fn set(&mut self, reward: f64, costs: &[f64]) {
        self.solutions += 1;
        self.now[0] = reward;
        self.now[1..].copy_from_slice(costs);
    }

    /// Counts the last solution as a round's, and returns r*, its reward.
    #[inline]
    pub(crate) fn count(&mut self) -> f64 {
        self.rounds += 1.0;
        for (sum, now) in self.sums.iter_mut().zip(&self.now) {
            *sum += now;
        }
        self.now[0]
    }

    /// Reward and costs, where one solution has been that of all rounds.
    pub(crate) fn only(&self) -> Option<(f64, Vec<f64>)> {
        (self.solutions == 1).then(|| (self.now[0], self.now[1..].to_vec()))
    }

    /// Mean reward and costs of the rounds counted.
    pub(crate) fn average(&self) -> (f64, Vec<f64>) {
        let mut means = self.sums.iter().map(|sum| sum / self.rounds);
        (means.next().unwrap_or(f64::NAN), means.collect())
    }
}
