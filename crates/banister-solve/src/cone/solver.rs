//! The search as a whole, and what it remembers between problems.

use super::branch_and_bound::{BranchAndBound, BranchContext, best_ray};
use super::linear::Linear;
use super::pairs::Pairs;
use super::passes::{self, BLOCK};
use super::policy::Prices;
use super::problem::{ConeLimits, ConeProblem, ConeSolution};
use super::scaled::ScaledProblem;
use super::search::{Search, WorkBudget};
use super::sweep::{Sweep, SweepContext};
use crate::lp::{LpError, Status};

/// Solves a sequence of similar cone problems, each trying the policy of the one before first.
///
/// The answer depends on the problem, the limits and that policy alone. No allocation happens once
/// a problem of the largest size has been seen.
///
/// Cost: about ten linear problems of O(Kp) a pivot, and O(p) for each pair that no bound rules out.
/// Rounds with one guardrail that an agent meets are certified to 1e-3 in microseconds (K = 10) to
/// a millisecond or two (K = 1000); a gap below about 1e-7 is beyond the accuracy of the method. With
/// two or three guardrails a round takes ten to a hundred linear problems with more rows. Where an action's cost is
/// uncertain by more than a million times the safe action's margin, policies and bounds are valid but may be far apart.
#[derive(Debug, Clone, Default)]
pub struct ConeSolver {
    scaled: ScaledProblem,
    linear: Linear,
    pairs: Pairs,
    sweep: Sweep,
    search: Search,
    branches: BranchAndBound,
    prices: Prices,
    /// The last policy, tried first in the next round.
    last: Vec<(usize, f64)>,
    out: ConeSolution,
}

impl ConeSolver {
    /// Solves `problem` within `limits`.
    ///
    /// Sizes and finiteness are the caller's duty ([`solve_cone_once`] is for user-supplied problems);
    /// where they are not met the answer is the safe action with an infinite bound.
    pub fn solve(
        &mut self,
        problem: &ConeProblem<'_>,
        limits: &mut ConeLimits<'_>,
    ) -> &ConeSolution {
        let mut budget = WorkBudget::new(limits);
        if !problem.fits() {
            self.out.refuse(problem);
            return &self.out;
        }
        self.scaled.load(problem);
        if !self.scaled.sound {
            self.out.refuse(problem);
            return &self.out;
        }
        let size = self.scaled.size;
        self.search.begin(problem, size, budget.relative_gap());
        let proven = match problem.costs.len() {
            0 => self.free(problem),
            1 if !self.is_flat() => self.single(problem, &mut budget),
            _ => self.several(problem, &mut budget),
        };
        let Some(bound) = proven else {
            self.out.refuse(problem);
            return &self.out;
        };
        self.publish(problem, bound, budget.spent);
        &self.out
    }

    /// Forgets the last policy.
    pub fn reset(&mut self) {
        self.last.clear();
    }

    /// The last policy, all that the next solve depends on beside its problem.
    #[inline]
    pub fn start(&self) -> &[(usize, f64)] {
        &self.last
    }

    /// Continues from a policy that [`ConeSolver::start`] gave; one that does not fit the next
    /// problem is ignored.
    pub fn set_start(&mut self, policy: &[(usize, f64)]) {
        self.last.clear();
        self.last.extend_from_slice(policy);
    }

    /// True for many actions in the plane (s and one coordinate of Z): so many pairs are alike there that the search for
    /// several guardrails takes half as long.
    fn is_flat(&self) -> bool {
        self.scaled.dimension <= 1 && self.scaled.actions > BLOCK
    }

    /// No guardrail: the objective is convex, so an action is best.
    fn free(&mut self, problem: &ConeProblem<'_>) -> Option<f64> {
        let top = passes::top(&self.scaled.value);
        let a = passes::position(&self.scaled.value, top);
        self.search.offer(problem, [(a, 1.0)].into_iter());
        Some(top)
    }

    /// One guardrail; `None` if the problem makes no sense.
    fn single(
        &mut self,
        problem: &ConeProblem<'_>,
        budget: &mut WorkBudget<'_, '_>,
    ) -> Option<f64> {
        if !self.scaled.guard(problem) {
            return None;
        }
        let (scaled, search) = (&self.scaled, &mut self.search);
        let work = (scaled.actions * (scaled.dimension + 24)) as u64;
        budget.spend(work);
        // Convexity alone: no policy is better than every action.
        let relaxed = passes::top(&scaled.value);
        self.pairs.vertices(problem, scaled, search);
        if self.last.iter().all(|entry| entry.0 < scaled.actions) {
            search.hint(problem, self.last.iter().copied());
        }
        if scaled.cone {
            self.linear
                .start(scaled, search.best.support.iter().copied());
            self.sweep.run(&mut SweepContext {
                problem,
                scaled,
                linear: &mut self.linear,
                search,
                budget,
            });
        }
        let exposed = &self.sweep.exposed;
        self.pairs.scan(problem, scaled, exposed, search, budget);
        let grain = 1e-13 * scaled.size;
        Some(relaxed.min(search.proven.max(search.reached) + grain))
    }

    /// Several guardrails; `None` if the problem makes no sense.
    fn several(
        &mut self,
        problem: &ConeProblem<'_>,
        budget: &mut WorkBudget<'_, '_>,
    ) -> Option<f64> {
        if !self.scaled.guard_all(problem) {
            return None;
        }
        let (scaled, search) = (&mut self.scaled, &mut self.search);
        budget.spend((scaled.actions * (scaled.dimension + 24)) as u64);
        search.hint(problem, best_ray(problem, scaled).into_iter());
        if self.last.iter().all(|entry| entry.0 < scaled.actions) {
            search.hint(problem, self.last.iter().copied());
        }
        Some(self.branches.run(&mut BranchContext {
            problem,
            scaled,
            linear: &mut self.linear,
            search,
            budget,
        }))
    }

    fn publish(&mut self, problem: &ConeProblem<'_>, bound: f64, work: u64) {
        let (search, out) = (&self.search, &mut self.out);
        out.value = search.best.value;
        out.upper_bound = bound.max(out.value);
        let certified =
            out.upper_bound - out.value <= search.tolerance() + 2e-13 * self.scaled.size;
        out.status = if certified {
            Status::Optimal
        } else {
            Status::Budget
        };
        out.support.clear();
        out.support.reserve(2 * problem.dimension + 8);
        out.support.extend_from_slice(&search.best.support);
        out.costs.clear();
        out.costs.extend_from_slice(&search.best.costs);
        self.prices.fit(problem, &search.best, &mut out.prices);
        out.nodes = search.nodes;
        out.pairs = search.pairs;
        out.work = work;
        self.last.clear();
        self.last.reserve(2 * problem.dimension + 8);
        self.last.extend_from_slice(&search.best.support);
    }
}

impl ConeSolution {
    /// The answer to a problem that makes no sense: the safe action, and no bound.
    #[cold]
    fn refuse(&mut self, problem: &ConeProblem<'_>) {
        *self = Self {
            status: Status::Budget,
            upper_bound: f64::INFINITY,
            value: f64::NEG_INFINITY,
            ..Self::default()
        };
        self.support.push((problem.safe, 1.0));
        self.costs.resize(problem.costs.len(), f64::NAN);
        self.prices.resize(problem.costs.len(), 0.0);
    }
}

/// Checks a user-supplied problem and solves it.
///
/// ```
/// use banister_solve::{ConeLimits, ConeProblem, Status, solve_cone_once};
///
/// // The safe action and one with reward 1 whose cost 0.2 is known to ± 0.4.
/// let problem = ConeProblem {
///     reward: &[0.0, 1.0],
///     reward_radius: 0.0,
///     along: &[0.0, 0.0],
///     across: &[0.0, 0.4],
///     stride: 2,
///     dimension: 1,
///     costs: &[vec![0.0, 0.2]],
///     cost_radii: &[1.0],
///     thresholds: &[0.3],
///     safe: 0,
/// };
/// let solution = solve_cone_once(&problem, &mut ConeLimits::default())?;
/// assert_eq!(solution.status, Status::Optimal);
/// assert!((solution.value - 0.5).abs() < 1e-9);
/// # Ok::<(), banister_solve::LpError>(())
/// ```
pub fn solve_cone_once(
    problem: &ConeProblem<'_>,
    limits: &mut ConeLimits<'_>,
) -> Result<ConeSolution, LpError> {
    problem.check()?;
    Ok(ConeSolver::default().solve(problem, limits).clone())
}
