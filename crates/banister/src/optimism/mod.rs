//! Optimism: which rewards V to maximise so that a pessimistic LP is still worth the best policy.
//!
//! The lemma (one for every agent). With R̄ = max { π·U : π·l_i ≤ τ_i }, and V(κ) = U + κD, the LP
//! max { π·V(κ) : π·u_i ≤ τ_i } is worth at least R̄ ≥ r* whenever κ ≥ R̄ − U_0: take the policy that
//! attains R̄ and mix in just enough of the safe action to make it pessimistically feasible.
//!
//! | name | κ |
//! |---|---|
//! | `paper` | such that V_a = r̂_a + (1 + 2/Δ) β_a, nothing clipped |
//! | `least` | the smallest κ for which the LP is worth R̄ |
//! | `index` | the smallest κ with r̃ and c° in the places of U and l |
//! | `published` | none: V_a = min(1, r̂_a + (1 + 1/τ) β_a), which voids the lemma |
//!
//! **`index`.** Only u decides what is safe, so what is optimistic need not hold with high probability. An arm's fair share of
//! t outcomes is f_a = p_a t/K, p_a = min(1, min_i Δ_i/(u_{a,i} − u_{0,i})) being the rate at which the margins pay for it. With
//! x = 1 + f_a/n_a, r̃_a is the first mean that a bet on all n_a outcomes of the arm refutes at level 1/x
//! ([`crate::interval::Mixture`]), c̃ likewise from below. It falls short of the mean by ε with probability O(1/(f_a ε²)), which
//! costs no more than it saves (MOSS, Audibert and Bubeck 2009; anytime, Degenne and Perchet 2016; with kl, Garivier, Hadiji,
//! Ménard and Stoltz 2022): docs/proofs.md has the theorem. r̃ is cut to the signal's range and c̃ to u, not to U and l,
//! which fail with probability δ_o.
//!
//! **What certifying could earn.** Exploring an arm takes budget from those that earn already, at u, and what it could earn
//! waits for its certificate. So the cost that optimism reckons with is the one that could be certified if the arm had its
//! share for a hundred times as long, k = n_a + ln(1/δ_s) being the outcomes that its width is worth:
//!
//! ```text
//!   c°_a = c̃_a + (u_a − c̃_a)·k/(k + 100 f_a).
//! ```
//!
//! Where the margin is a thousandth of what an arm may cost, c° stays near u until t is in the thousands, and cheaper arms
//! are certified first; where there is room it is c̃ but for a part of the width.
//!
//! U, l and u may be clipped to the signal's range, V never: clipping V breaks the lemma.
//!
//! Files, in reading order: this page on the numbers of `crate::bounds`, `analytic_center` (ties), `floor`.

mod analytic_center;
mod floor;

pub use crate::bounds::Bounds;
pub(crate) use floor::{Floor, check_floor, check_safe_floor, is_zero};

use banister_solve::{BlockedLp, Lp, LpSolver, Solution, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arms::Arms;
use crate::certificate::Answer;
use crate::decision::Fallback;
use crate::guarded::Shell;
use crate::problem::CheckedProblem;
use analytic_center::centre_ties;

/// Choice of optimism about the reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Optimism {
    /// As the paper analyses: α_r = 1 + 2/Δ, α_c = 1.
    Paper,
    /// The smallest κ that the lemma allows.
    #[default]
    Least,
    /// The smallest κ for indices that grow with the number of outcomes: as safe as `least`, and its regret is bounded
    /// in expectation.
    Index,
    /// As in the code that made the paper's figures.
    Published,
}

impl Optimism {
    /// The name used in configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Least => "least",
            Self::Index => "index",
            Self::Published => "published",
        }
    }

    /// True if V depends on each action's own bounds only.
    #[inline]
    fn is_local(self) -> bool {
        matches!(self, Self::Paper | Self::Published)
    }

    /// α_r, given τ and Δ, where V is built from centre and radius rather than from bounds.
    #[inline]
    pub(crate) fn paper_alpha(self, threshold: f64, margin: f64) -> Option<f64> {
        match self {
            Self::Paper => Some(1.0 + 2.0 / margin),
            Self::Published => Some(1.0 + 1.0 / threshold),
            _ => None,
        }
    }
}

/// From this many actions on, block hulls beat a pass over all of them.
const BLOCKS_FROM: usize = 512;
/// Newton steps after which `least` settles for κ = R̄ − U_0, which is always enough.
const MAX_STEPS: usize = 50;
/// Distance below R̄ that the LP may end at by rounding alone, in units of the reward's range; and relative change of κ
/// that is none.
const ROUNDING: f64 = 1e-13;

/// Turns bounds into a policy, remembering where it stopped.
#[derive(Debug, Clone)]
pub struct Planner {
    optimism: Optimism,
    kappa: f64,
    v: Vec<f64>,
    /// The pessimistic LP (V; u).
    pessimistic: LpSolver,
    /// The optimistic LP (U; l), whose value is R̄.
    optimistic: LpSolver,
    /// The pessimistic LP when V is local, the optimistic LP otherwise, for many actions.
    blocked: Option<BlockedLp>,
    /// Holds the answer where it had to be changed after solving.
    centred: Solution,
    /// All bounds change in every round, so keeping hulls of blocks would not pay.
    dense: bool,
}

/// The program's answer at one κ: its value, and its policy's π·r and π·D.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AtKappa {
    pub value: f64,
    pub reward: f64,
    pub spread: f64,
}

/// The smallest κ for which a program is worth R̄ (`bar`), and the answer at it solved for last; `enough` is always
/// enough.
///
/// f(κ) = LP value is convex and increasing: Newton's method from the right comes down monotonically to the smallest κ
/// with f(κ) ≥ R̄, in finitely many steps; a step from the left (last round's κ may be there) lands on the right.
#[inline]
pub(crate) fn find_least(
    start: f64,
    bar: f64,
    enough: f64,
    mut solve: impl FnMut(f64) -> AtKappa,
) -> f64 {
    let mut kappa = start.min(enough);
    for step in 0..MAX_STEPS {
        let at = solve(kappa);
        let next = if at.spread > 0.0 {
            ((bar - at.reward) / at.spread).clamp(0.0, enough)
        } else if at.reward >= bar {
            0.0
        } else {
            enough
        };
        if (next - kappa).abs() <= ROUNDING * kappa {
            break;
        }
        if step + 1 == MAX_STEPS || (at.value < bar && next <= kappa) {
            if bar - at.value > ROUNDING * (1.0 + bar.abs()) {
                // No progress: this is always optimistic.
                kappa = enough;
                solve(kappa);
            }
            break;
        }
        kappa = next;
    }
    kappa
}

impl Planner {
    pub(crate) fn new(optimism: Optimism) -> Self {
        Self {
            optimism,
            kappa: 0.0,
            v: Vec::new(),
            pessimistic: LpSolver::default(),
            optimistic: LpSolver::default(),
            blocked: None,
            centred: Solution::default(),
            dense: false,
        }
    }

    /// A planner for bounds that all change in every round.
    pub fn dense(optimism: Optimism) -> Self {
        Self {
            dense: true,
            ..Self::new(optimism)
        }
    }

    /// Actions were added or removed: start afresh, with room for `actions`.
    pub fn reset(&mut self, actions: usize) {
        self.pessimistic.reset();
        self.optimistic.reset();
        self.v.resize(actions, 0.0);
        self.blocked = None;
    }

    /// Sets V of one action where it is built from centre and radius (the paper's optimism).
    #[inline]
    pub(crate) fn set_paper_reward(&mut self, column: usize, centre: f64, bonus: f64) {
        let v = centre + bonus;
        self.v[column] = match self.optimism {
            Optimism::Published => v.min(1.0),
            _ => v,
        };
    }

    /// V of all actions, where it is built from centre and radius.
    pub(crate) fn paper_rewards(&mut self) -> &mut [f64] {
        &mut self.v
    }

    /// One action's bounds changed.
    #[inline]
    pub(crate) fn changed(&mut self, bounds: &Bounds, column: usize) {
        if let Some(blocked) = &mut self.blocked {
            let (reward, cost) = if self.optimism.is_local() {
                (self.v[column], bounds.cost_upper[0][column])
            } else {
                (bounds.reward_upper[column], bounds.cost_lower[0][column])
            };
            blocked.set(column, reward, cost);
        }
    }

    /// All bounds changed, or the margins did.
    pub(crate) fn changed_all(&mut self, bounds: &Bounds) {
        if self.dense
            || bounds.columns() < BLOCKS_FROM
            || bounds.thresholds.len() != 1
            || !bounds.has_margin()
        {
            return;
        }
        let (rewards, costs) = if self.optimism.is_local() {
            (&self.v, &bounds.cost_upper)
        } else {
            (&bounds.reward_upper, &bounds.cost_lower)
        };
        match &mut self.blocked {
            Some(blocked) => {
                for column in 0..rewards.len() {
                    blocked.set(column, rewards[column], costs[0][column]);
                }
            }
            None => self.blocked = Some(BlockedLp::new(rewards.clone(), costs.clone())),
        }
    }

    /// Solution of the last plan.
    #[inline]
    pub(crate) fn planned(&self) -> &Solution {
        match (&self.optimism, &self.blocked) {
            (Optimism::Published, _) => &self.centred,
            (Optimism::Paper, Some(blocked)) => blocked.solution(),
            _ => self.pessimistic.solution(),
        }
    }

    /// V in the last plan.
    #[inline]
    pub(crate) fn values(&self) -> &[f64] {
        &self.v
    }

    /// The policy for these bounds, which must have margin; with a floor, the part of it that is free to
    /// choose (the floor adds the rest). Columns, not arms, in its support.
    #[inline]
    pub fn plan(&mut self, bounds: &Bounds) -> &Solution {
        match self.optimism {
            Optimism::Paper => self.solve_local(bounds),
            _ => self.plan_global(bounds),
        }
    }

    /// [`Planner::plan`] where one LP is not all: a centre to find, or R̄ and κ.
    #[inline(never)]
    fn plan_global(&mut self, bounds: &Bounds) -> &Solution {
        match self.optimism {
            Optimism::Published => {
                let lp = Lp {
                    reward: &self.v,
                    costs: &bounds.cost_upper,
                    thresholds: &bounds.free_thresholds,
                };
                let solution = self.pessimistic.solve(&lp, Some(bounds.safe));
                centre_ties(&lp, bounds.safe, solution, &mut self.centred);
                &self.centred
            }
            _ => {
                self.find_least(bounds);
                self.pessimistic.share(&Lp {
                    reward: &self.v,
                    costs: &bounds.cost_upper,
                    thresholds: &bounds.free_thresholds,
                })
            }
        }
    }

    #[inline]
    fn solve_local(&mut self, bounds: &Bounds) -> &Solution {
        match &mut self.blocked {
            Some(blocked) => blocked.solve(bounds.free_thresholds[0], bounds.safe),
            None => {
                let lp = Lp {
                    reward: &self.v,
                    costs: &bounds.cost_upper,
                    thresholds: &bounds.free_thresholds,
                };
                self.pessimistic.solve(&lp, Some(bounds.safe))
            }
        }
    }

    /// R̄; should the solver run out of work, its proven bound, so that optimism survives.
    fn optimistic_value(&mut self, bounds: &Bounds) -> f64 {
        let solution = match &mut self.blocked {
            Some(blocked) => blocked.solve(bounds.optimistic_thresholds[0], bounds.safe),
            None => {
                let lp = Lp {
                    reward: &bounds.reward_upper,
                    costs: &bounds.cost_lower,
                    thresholds: &bounds.optimistic_thresholds,
                };
                self.optimistic.solve_vertex(&lp, Some(bounds.safe))
            }
        };
        match solution.status {
            Status::Optimal => solution.value,
            _ => solution.upper_bound,
        }
    }

    fn find_least(&mut self, bounds: &Bounds) {
        let bar = self.optimistic_value(bounds);
        let reward = &bounds.reward_upper[..];
        let enough = (bar - reward[bounds.safe]).max(0.0);
        let (v, spread) = (&mut self.v[..], &bounds.spread[..]);
        self.kappa = find_least(self.kappa, bar, enough, |kappa| {
            for ((v, reward), spread) in v.iter_mut().zip(reward).zip(spread) {
                *v = reward + kappa * spread;
            }
            let lp = Lp {
                reward: v,
                costs: &bounds.cost_upper,
                thresholds: &bounds.free_thresholds,
            };
            let solution = self.pessimistic.solve_vertex(&lp, Some(bounds.safe));
            let mut at = AtKappa {
                value: solution.value,
                ..AtKappa::default()
            };
            for &(a, p) in &solution.support {
                at.reward += p * reward[a];
                at.spread += p * spread[a];
            }
            at
        });
    }

    /// Forgets where it stopped: the next plan follows from bounds alone.
    pub fn forget(&mut self) {
        self.kappa = 0.0;
        self.pessimistic.reset();
        self.optimistic.reset();
        self.blocked = None;
    }
}

/// Bounds and the linear program on them: the plan of every learner that has an interval for each action.
#[derive(Debug, Clone)]
pub(crate) struct LpPlan {
    pub bounds: Bounds,
    pub planner: Planner,
    floor: Floor,
}

impl LpPlan {
    pub(crate) fn new(problem: &CheckedProblem, floor: f64, planner: Planner) -> Self {
        let thresholds = problem.guardrails.iter().map(|g| g.threshold).collect();
        Self {
            bounds: Bounds::new(thresholds, floor),
            planner,
            floor: Floor::default(),
        }
    }

    /// Makes room for other actions.
    pub(crate) fn resize(&mut self, actions: usize, safe: usize) {
        self.bounds.safe = safe;
        self.bounds.resize(actions);
        self.planner.reset(actions);
    }

    /// Solves the program for bounds that have margin, and publishes its policy if it checks. `number` numbers columns.
    #[inline(always)]
    pub(crate) fn publish(
        &mut self,
        shell: &mut Shell,
        number: impl Fn(&Arms, usize) -> usize,
    ) -> Result<(), Fallback> {
        self.bounds.update_floors();
        self.planner.plan(&self.bounds);
        let free = Answer::from(self.planner.planned());
        let answer = self.floor.mix(free, &self.bounds, self.planner.values());
        shell.publish(&answer, &self.bounds, number)
    }

    /// Copies the shell's floors, beside the declared one.
    pub(crate) fn take_floors(&mut self, shell: &Shell, declared: f64) {
        self.bounds.floor = declared.max(shell.floors.safe);
        let arms = shell.floors.arms.iter();
        let column = |&(arm, f): &(usize, f64)| Some((shell.arms.column(arm)?, f));
        self.bounds.floors = arms.filter_map(column).collect();
        if self.bounds.floor == 0.0 && self.bounds.floors.is_empty() {
            (self.bounds.free_thresholds).clone_from(&self.bounds.thresholds);
            (self.bounds.optimistic_thresholds).clone_from(&self.bounds.thresholds);
        }
    }

    /// Copies the safe action's pessimistic costs.
    pub(crate) fn write_safe_costs(&self, shell: &mut Shell) {
        let safe = self.bounds.safe;
        for (cost, row) in shell.safe_costs.iter_mut().zip(&self.bounds.cost_upper) {
            *cost = row[safe];
        }
    }
}
