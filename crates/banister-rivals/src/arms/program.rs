//! Policy programs whose numbers a rule writes anew in every round, and for which no arm is known to be feasible:
//! phase one finds a start, phase two optimises.

use banister::solve::{Lp, LpSolver, Solution, Status};

use super::ArmEvidence;

/// LP(`reward`; `costs`) and where its solver stopped.
pub(super) struct Program {
    solver: PhaseOne,
    /// One number per arm.
    pub reward: Vec<f64>,
    /// One row per guardrail.
    pub costs: Vec<Vec<f64>>,
}

impl Program {
    /// Nothing is known yet: rewards 1, costs 0.
    pub fn new(evidence: &ArmEvidence) -> Self {
        let arms = evidence.arms();
        Self {
            solver: PhaseOne::default(),
            reward: vec![1.0; arms],
            costs: vec![vec![0.0; arms]; evidence.problem.guardrails.len()],
        }
    }

    /// Solves it; `hint` is the arm to start from if it is within the thresholds.
    pub fn solve(&mut self, thresholds: &[f64], hint: usize) -> &Solution {
        let lp = Lp {
            reward: &self.reward,
            costs: &self.costs,
            thresholds,
        };
        self.solver.solve(&lp, hint)
    }

    /// Forgets the warm start.
    pub fn reset(&mut self) {
        self.solver.reset();
    }
}

/// A mass above this on the artificial arm means that no policy meets the thresholds.
const ARTIFICIAL: f64 = 1e-10;

/// Solves a sequence of similar programs without a feasible start. The solver can do that itself,
/// but for several guardrails it then asks for memory in every round; here the buffers stay.
#[derive(Default)]
pub(super) struct PhaseOne {
    solver: LpSolver,
    /// For the rare rounds in which no arm alone is within the thresholds. It has no memory.
    phase_one: LpSolver,
    reward: Vec<f64>,
    costs: Vec<Vec<f64>>,
    solution: Solution,
}

impl PhaseOne {
    /// Solves it; `hint` is the arm to start from if it is within the thresholds.
    pub fn solve(&mut self, lp: &Lp, hint: usize) -> &Solution {
        if lp.costs.len() < 2 {
            return self.solver.solve(lp, Some(hint));
        }
        let is_within = |a: &usize| {
            let mut rows = std::iter::zip(lp.costs, lp.thresholds);
            rows.all(|(row, threshold)| row[*a] <= *threshold)
        };
        let mut arms = std::iter::once(hint).chain(0..lp.reward.len());
        match arms.find(is_within) {
            Some(start) => self.solver.solve(lp, Some(start)),
            None => self.solve_two_phases(lp),
        }
    }

    /// Two phases: first the smallest mass on an artificial arm, then a price that keeps it out.
    #[cold]
    #[inline(never)]
    fn solve_two_phases(&mut self, lp: &Lp) -> &Solution {
        let (k, m) = (lp.reward.len(), lp.costs.len());
        let size = |row: &[f64], least: f64| row.iter().fold(least, |a, b| a.max(b.abs()));
        self.costs.resize_with(m, Vec::new);
        for i in 0..m {
            let threshold = lp.thresholds[i];
            let scale = size(&lp.costs[i], threshold.abs()).max(1e-300);
            self.costs[i].clear();
            self.costs[i].extend_from_slice(&lp.costs[i]);
            self.costs[i].push(threshold - scale);
        }
        self.reward.clear();
        self.reward.resize(k, 0.0);
        self.reward.push(-1.0);
        self.phase_one.reset();
        let (mass, _) = self.solve_extended(lp);
        self.solution.status = Status::Infeasible;
        if mass > ARTIFICIAL {
            return &self.solution;
        }
        let spread = size(lp.reward, 1.0);
        self.reward[..k].copy_from_slice(lp.reward);
        let mut penalty = 1e2 * spread;
        while penalty <= 1e10 * spread {
            self.reward[k] = -penalty;
            let (mass, status) = self.solve_extended(lp);
            if mass <= ARTIFICIAL {
                self.publish(lp, mass, status);
                break;
            }
            penalty *= 1e2;
        }
        &self.solution
    }

    /// The mass on the artificial arm at the optimum with it, and how that ended.
    fn solve_extended(&mut self, lp: &Lp) -> (f64, Status) {
        let artificial = lp.reward.len();
        let extended = Lp {
            reward: &self.reward,
            costs: &self.costs,
            thresholds: lp.thresholds,
        };
        let solution = self.phase_one.solve(&extended, Some(artificial));
        let mass = solution.support.iter().find(|e| e.0 == artificial);
        (mass.map_or(0.0, |e| e.1), solution.status)
    }

    /// The policy without the artificial arm.
    fn publish(&mut self, lp: &Lp, mass: f64, status: Status) {
        let (found, own) = (self.phase_one.solution(), &mut self.solution);
        own.status = status;
        own.support.clear();
        let real = found.support.iter().filter(|e| e.0 < lp.reward.len());
        own.support
            .extend(real.map(|&(a, p)| (a, p / (1.0 - mass))));
        own.value = own.support.iter().map(|&(a, p)| p * lp.reward[a]).sum();
        own.upper_bound = found.upper_bound;
        own.costs.clone_from(&found.costs);
        own.prices.clone_from(&found.prices);
    }

    /// Forgets the warm start.
    pub fn reset(&mut self) {
        self.solver.reset();
    }
}
