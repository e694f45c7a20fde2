//! Guardrails over sums of decisions: costs of n decisions together, at most B = nτ (docs/proofs.md).
//!
//! **Pace.** The program's threshold is what is left for each decision that is left: what was not spent while little was
//! known is spent later. It only earns. **Guard.** With k decisions left after it, an arm is drawn only if
//!
//! ```text
//!   spent + pending at their worst + the arm's worst + R(k) ≤ B,
//!   R(k) = k·w_0 where n·w_0 ≤ B, else min(k·w_0, k·u_0 + √(2kvL) + b_0·L/3),
//!   L = ln(n/δ_s),   v = max { (c − l_0)(w_0 − c) : c ≤ u_0 },
//! ```
//!
//! the safe action's costs lying in [l_0, w_0], b_0 wide, with a mean of at most u_0. By Bernstein's inequality k safe
//! decisions cost more than R(k) with probability δ_s/n, and never more than k·w_0. After the last decision that is not safe
//! they are all that is left; which one is the last is not known then, so all n have their share.

use serde::{Deserialize, Serialize};

use super::ArmLearner;
use crate::decision::Fallback;
use crate::error::{Error, broken};
use crate::guarded::Shell;
use crate::monitor::Origin;
use crate::problem::CheckedProblem;
use crate::round::Outcome;

/// Reward of an arm that may not be drawn: below all others, in ranges.
const NEVER: f64 = -1e6;
/// Part of a range that rounding may take in each decision of a sum.
const HAIR: f64 = 1e-12;

/// The stretches of all guardrails that are over sums.
#[derive(Debug, Clone, Default)]
pub(super) struct Sums {
    stretches: Vec<Stretch>,
    /// δ of all of them, and their stretches, together.
    delta: f64,
    /// Columns that may not be drawn, and their rewards.
    masked: Vec<(usize, f64)>,
}

/// The stretch that decisions are in, under one guardrail. Standard units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stretch {
    guardrail: usize,
    /// n.
    over: u64,
    /// Stretches that are over.
    past: u64,
    /// Decisions so far, and the number of the first one that was announced.
    decided: u64,
    first: u64,
    /// Costs that are known.
    spent: f64,
    /// Decisions by arm whose costs are not known.
    waiting: Vec<u64>,
}

/// What is left of a stretch for the next decision.
struct Left {
    decisions: u64,
    amount: f64,
    /// R of the decisions after it.
    reserve: f64,
}

impl Stretch {
    fn new((guardrail, over): (usize, u64)) -> Self {
        Self {
            guardrail,
            over,
            past: 0,
            decided: 0,
            first: 0,
            spent: 0.0,
            waiting: Vec::new(),
        }
    }

    /// Counts a decision, the first of the next stretch where this one is over.
    fn begin(&mut self, decision: u64) {
        if self.decided == self.over {
            let past = self.past + 1;
            *self = Self {
                past,
                ..Self::new((self.guardrail, self.over))
            };
        }
        if self.decided == 0 {
            self.first = decision;
        }
        self.decided += 1;
    }

    fn left(&self, problem: &CheckedProblem, safe: (usize, f64), delta: f64) -> Left {
        let ends = |arm: usize| ends(problem, arm, self.guardrail);
        let is_over = self.decided == self.over;
        let waiting = self.waiting.iter().enumerate();
        let pending: f64 = waiting
            .map(|(arm, &count)| count as f64 * ends(arm).1)
            .sum();
        let used = if is_over { 0.0 } else { self.spent + pending };
        let decisions = self.over - if is_over { 0 } else { self.decided };
        let n = self.over as f64;
        let budget = n * problem.guardrails[self.guardrail].threshold;
        // The j-th stretch has δ/(j(j+1)).
        let j = (self.past + 1 + u64::from(is_over)) as f64;
        let log = libm::log(n * j * (j + 1.0) / delta);
        let (least, most) = ends(safe.0);
        let (k, mean, width) = (
            (decisions - 1) as f64,
            safe.1.clamp(least, most),
            most - least,
        );
        let widest = (mean - least).min(0.5 * width);
        let likely =
            k * mean + (2.0 * k * widest * (width - widest) * log).sqrt() + width * log / 3.0;
        Left {
            decisions,
            amount: budget - HAIR * n - used,
            reserve: if n * most <= budget {
                k * most
            } else {
                likely.min(k * most)
            },
        }
    }
}

/// Least and most that an arm can cost.
fn ends(problem: &CheckedProblem, arm: usize, guardrail: usize) -> (f64, f64) {
    let (own, of) = (
        problem.own_signal(arm, guardrail + 1),
        &problem.guardrails[guardrail],
    );
    let (a, b) = (of.standardise(own.lo), of.standardise(own.hi));
    (a.min(b), a.max(b))
}

impl Sums {
    /// None where no guardrail is over a sum.
    pub(super) fn new(problem: &CheckedProblem, delta: f64) -> Option<Self> {
        let each = problem.guardrails.iter().enumerate();
        let stretches = each.filter_map(|(i, own)| Some(Stretch::new((i, own.over?))));
        let stretches: Vec<Stretch> = stretches.collect();
        let delta = delta / stretches.len().max(1) as f64;
        let masked = Vec::new();
        (!stretches.is_empty()).then_some(Self {
            stretches,
            delta,
            masked,
        })
    }

    pub(super) fn announce(&mut self, decision: u64, arm: usize) {
        for own in &mut self.stretches {
            own.begin(decision);
            own.waiting.resize(own.waiting.len().max(arm + 1), 0);
            own.waiting[arm] += 1;
        }
    }

    /// Charges an outcome to the stretch of its decision, if that is not over.
    pub(super) fn charge(&mut self, shell: &Shell, outcome: &Outcome) {
        let (problem, next) = (&shell.problem, shell.monitor.last_announced() + 1);
        for own in &mut self.stretches {
            match outcome.origin.decision() {
                None if outcome.origin != Origin::Immediate => continue,
                None => own.begin(next),
                Some(decision) if decision < own.first => continue,
                Some(_) => match own.waiting.get_mut(outcome.action) {
                    Some(count) if *count > 0 => *count -= 1,
                    _ => continue,
                },
            }
            own.spent +=
                problem.guardrails[own.guardrail].standardise(outcome.costs[own.guardrail]);
        }
    }

    pub(super) fn state(&self) -> Vec<Stretch> {
        self.stretches.clone()
    }

    pub(super) fn restore(&mut self, saved: Vec<Stretch>, arms: usize) -> Result<(), Error> {
        let fits = |(own, new): (&Stretch, &Stretch)| {
            (own.guardrail, own.over) == (new.guardrail, new.over)
                && own.decided <= own.over
                && own.spent.is_finite()
                && own.waiting.len() <= arms
                && own.waiting.iter().all(|&count| count <= own.over)
        };
        let is_sound = saved.len() == self.stretches.len();
        if !is_sound || !saved.iter().zip(&self.stretches).all(fits) {
            return Err(broken("`sums` do not match the guardrails"));
        }
        self.stretches = saved;
        Ok(())
    }
}

impl ArmLearner {
    /// Plans with what is left of every stretch, without arms that could take what the safe action needs. All bounds are
    /// as before after it: they follow from outcomes, and not from policies that somebody asked for.
    #[cold]
    pub(super) fn plan_sums(&mut self, shell: &mut Shell, sums: &mut Sums) -> Result<(), Fallback> {
        let bounds = &mut self.plan.bounds;
        sums.masked.clear();
        for own in &sums.stretches {
            let (i, safe) = (own.guardrail, bounds.safe);
            let safe_cost = (shell.safe, bounds.cost_upper[i][safe]);
            let left = own.left(&shell.problem, safe_cost, sums.delta);
            bounds.set_threshold(i, left.amount / left.decisions as f64);
            for (column, &arm) in shell.arms.offered().iter().enumerate() {
                // Written so that NaN is masked.
                let fits = ends(&shell.problem, arm, i).1 + left.reserve <= left.amount;
                if column != safe && !fits && bounds.reward_upper[column] != NEVER {
                    sums.masked.push((column, bounds.reward_upper[column]));
                    bounds.reward_upper[column] = NEVER;
                }
            }
        }
        bounds.update_margins(None);
        bounds.update_spreads();
        let is_spent = |own: &Stretch| bounds.margins[own.guardrail] <= 0.0;
        let planned = if bounds.has_margin() {
            self.plan_masked(shell, sums)
        } else if sums.stretches.iter().any(is_spent) {
            Err(Fallback::BudgetExhausted)
        } else {
            Err(Fallback::MarginNotProven)
        };
        for own in &sums.stretches {
            let declared = shell.problem.guardrails[own.guardrail].threshold;
            self.plan.bounds.set_threshold(own.guardrail, declared);
        }
        self.plan.bounds.update_margins(None);
        self.plan.bounds.update_spreads();
        for &(column, reward) in &sums.masked {
            self.plan.bounds.reward_upper[column] = reward;
            self.plan.planner.changed(&self.plan.bounds, column);
        }
        planned
    }

    fn plan_masked(&mut self, shell: &mut Shell, sums: &Sums) -> Result<(), Fallback> {
        for &(column, _) in &sums.masked {
            self.plan.planner.changed(&self.plan.bounds, column);
        }
        (self.plan).publish(shell, |arms, column| arms.offered()[column])?;
        let drawn = |column: usize| shell.decision.probability(shell.arms.offered()[column]) > 0.0;
        if sums.masked.iter().any(|&(column, _)| drawn(column)) {
            // A floor that was told for an arm that cannot be paid for.
            return Err(Fallback::BudgetExhausted);
        }
        // Certificates show what is left for each decision in the place of the threshold.
        for own in &sums.stretches {
            let guardrail = &shell.problem.guardrails[own.guardrail];
            let threshold = guardrail.show(self.plan.bounds.thresholds[own.guardrail]);
            let shown = &mut shell.decision.guardrails[own.guardrail];
            shown.slack = (guardrail.direction).excess(threshold, shown.pessimistic_cost);
            shown.threshold = threshold;
        }
        Ok(())
    }
}
