//! Lifts, the worth left, and play that has settled (math 27).

use banister_solve::{Lp, LpSolver, Status};
use serde::{Deserialize, Serialize};

use super::ArmLearner;
use crate::arms::Arms;
use crate::certificate::Answer;
use crate::decision::{Confidence, Fallback};
use crate::error::{Error, broken};
use crate::guarded::Shell;
use crate::interval::{End, Interval, Intervals};
use crate::lift::{ArmLift, Evidence, WorthLeft, log_level};
use crate::optimism::{Bounds, Floor};
use crate::problem::Standard;

/// Distance from the thresholds, in ranges, that a settled policy keeps: its costs are summed again, and rounding
/// must not lift them above.
const HAIR: f64 = 1e-12;

/// The policy of the highest reward that was guaranteed, instead of one that explores.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settled {
    /// As (arm, probability); empty where there was none.
    policy: Vec<(usize, f64)>,
    /// Reward that was guaranteed when it was found, in standard units, and prices of the thresholds.
    value: f64,
    prices: Vec<f64>,
    /// Its costs by the bounds in force.
    #[serde(skip)]
    costs: Vec<f64>,
}

impl Settled {
    /// Sums the costs; false if there is no such policy any more, or it is not certified.
    fn is_certified(&mut self, shell: &Shell, bounds: &Bounds) -> bool {
        self.costs.clear();
        for row in &bounds.cost_upper {
            // NaN, which nothing is within, for an arm that is not offered.
            let cost = |&(arm, p): &(usize, f64)| {
                let column = shell.arms.column(arm);
                column.map_or(f64::NAN, |column| p * row[column])
            };
            self.costs.push(self.policy.iter().map(cost).sum());
        }
        let offered = |&(arm, _): &(usize, f64)| shell.arms.column(arm).is_some();
        self.policy.iter().all(offered) && self.answer().is_within(&bounds.thresholds)
    }

    fn answer(&self) -> Answer<'_> {
        Answer {
            support: &self.policy,
            status: Status::Optimal,
            value: self.value,
            upper_bound: self.value,
            costs: &self.costs,
            prices: &self.prices,
            nodes: 0,
        }
    }

    /// Refuses what no agent has saved.
    pub(super) fn check(self, arms: usize, guardrails: usize) -> Result<Self, Error> {
        let total: f64 = self.policy.iter().map(|entry| entry.1).sum();
        let ordered = self.policy.is_sorted_by(|a, b| a.0 < b.0);
        let possible = |&(arm, p): &(usize, f64)| arm < arms && p > 0.0 && p <= 1.0;
        let is_policy = ordered && self.policy.iter().all(possible) && (total - 1.0).abs() < 1e-9;
        let fits = is_policy && self.prices.len() == guardrails;
        if self.policy.is_empty() || fits {
            Ok(self)
        } else {
            Err(broken("`settled` is no policy of its arms"))
        }
    }
}

impl ArmLearner {
    pub(super) fn arm_lifts(&self, shell: &Shell, only: Option<usize>) -> Vec<ArmLift> {
        let delta = self.checked.config.delta;
        let level = log_level(delta, self.estimates.restarts());
        let confidence = Confidence::new(delta, None).safety;
        let evidence = |arm: usize, s: usize| {
            let own = shell.problem.own_signal(arm, s);
            Some(Evidence {
                statistics: self.estimates.statistics(arm, s)?,
                range: [own.lo, own.hi],
            })
        };
        let arms = (0..shell.arms.len()).filter(|&arm| arm != shell.safe);
        // Of a ratio the mean of N − τD is learned, which is not what people ask for; N and D are there.
        let is_ratio = |s: &usize| {
            let guardrails = &shell.problem.guardrails;
            *s > 0 && guardrails.get(s - 1).is_some_and(Standard::is_ratio)
        };
        let is_asked = |s: &usize| only.is_none_or(|only| only == *s) && !is_ratio(s);
        let signals: Vec<usize> = (0..shell.problem.width()).filter(is_asked).collect();
        let each = arms.flat_map(|arm| signals.iter().map(move |&s| (arm, s)));
        let lift = |(arm, s): (usize, usize)| {
            let both = [&evidence(arm, s)?, &evidence(shell.safe, s)?];
            let names = (shell.arms.name(arm), shell.problem.signal_name(s));
            Some(ArmLift::constant(names, both, level, confidence))
        };
        each.filter_map(lift).collect()
    }

    /// Reason why nothing is known of the worth of policies at all times.
    pub(super) fn refuse_worth(&self, shell: &Shell) -> Result<(), Error> {
        let config = &self.checked.config;
        let anytime = config.intervals.is_none_or(Intervals::is_anytime);
        let allowed = if !anytime || config.log_term.is_some() || self.t_zero.is_some() {
            "it needs intervals that hold at all times, and no T_0: use the defaults"
        } else if shell.problem.reach().is_some() {
            "means may drift: what is best now need not stay so"
        } else if self.sums.is_some() {
            "with a guardrail over a sum the best policy changes with what is left"
        } else {
            return Ok(());
        };
        Err(Error::invalid("settled", "true", allowed))
    }

    /// The policy of the highest guaranteed reward: max { π·L : π·u ≤ τ }, with the floor.
    pub(super) fn certified(&mut self, shell: &Shell) -> Option<Settled> {
        self.plan.bounds.update_floors();
        let (bounds, arms) = (&self.plan.bounds, shell.arms.offered());
        if !bounds.has_margin() {
            return None;
        }
        let lower: Vec<f64> = (arms.iter())
            .map(|&arm| self.estimates.end_anew(arm, 0, End::Lower))
            .collect();
        let thresholds = bounds.free_thresholds.iter();
        let thresholds: Vec<f64> = thresholds.map(|t| t - HAIR * (1.0 + t.abs())).collect();
        let lp = Lp {
            reward: &lower,
            costs: &bounds.cost_upper,
            thresholds: &thresholds,
        };
        let (mut solver, mut floor) = (LpSolver::default(), Floor::default());
        let free = Answer::from(solver.solve(&lp, Some(bounds.safe)));
        let answer = floor.mix(free, bounds, &lower);
        answer.is_within(&bounds.thresholds).then(|| Settled {
            policy: answer.support.iter().map(|&(c, p)| (arms[c], p)).collect(),
            value: answer.support.iter().map(|&(c, p)| p * lower[c]).sum(),
            prices: answer.prices.to_vec(),
            costs: Vec::new(),
        })
    }

    pub(super) fn find_worth_left(&mut self, shell: &Shell) -> Option<WorthLeft> {
        self.refuse_worth(shell).ok()?;
        let Settled { policy, value, .. } = self.certified(shell)?;
        let (bounds, arms) = (&self.plan.bounds, shell.arms.offered());
        let safe = bounds.safe;
        let upper: Vec<f64> = (arms.iter())
            .map(|&arm| self.estimates.end_anew(arm, 0, End::Upper))
            .collect();
        let mut lower = Vec::new();
        for (i, guardrail) in shell.problem.guardrails.iter().enumerate() {
            let ends = |arm: usize, signal: usize| {
                let end = |end: End| self.estimates.end_anew(arm, signal, end);
                Some(Interval {
                    lower: end(End::Lower),
                    upper: end(End::Upper),
                })
            };
            let cost = |(column, &arm): (usize, &usize)| {
                let known = guardrail.safe_cost.filter(|_| column == safe);
                let own = || Some(self.compared(shell, i, arm, ends)?.0);
                // Ends of different budgets may cross; a lower one that is lowered still holds.
                let least = known.or_else(own).unwrap_or(f64::MIN);
                least.min(bounds.cost_upper[i][column])
            };
            lower.push(arms.iter().enumerate().map(cost).collect::<Vec<f64>>());
        }
        let each = bounds.thresholds.iter().zip(&lower);
        let free: Vec<f64> = each
            .map(|(t, row)| (t - bounds.fixed(row)) / bounds.free())
            .collect();
        let lp = Lp {
            reward: &upper,
            costs: &lower,
            thresholds: &free,
        };
        let mut solver = LpSolver::default();
        let solution = solver.solve_vertex(&lp, Some(safe));
        // The proven bound, should the solver run out of work.
        let best = bounds.fixed(&upper) + bounds.free() * solution.upper_bound.max(solution.value);
        let signal = &shell.problem.reward;
        let shown = |x: f64| signal.lo + signal.unit() * x;
        let config = &self.checked.config;
        let confidence = Confidence::new(config.delta, Some(config.optimism_delta)).regret;
        Some(WorthLeft {
            per_decision: signal.unit() * (best - value).max(0.0),
            guaranteed: shown(value),
            at_most: shown(best),
            policy,
            confidence: confidence.unwrap_or(0.0),
        })
    }

    /// Keeps the settled policy while bounds in force certify it, else has the one that is the best by now: when they
    /// change, since what is saved must not depend on when somebody asks for a policy.
    #[cold]
    #[inline(never)]
    pub(super) fn follow_settled(&mut self, shell: &Shell) {
        let Some(mut own) = self.settled.take() else {
            return;
        };
        if !own.is_certified(shell, &self.plan.bounds) {
            own = self.certified(shell).unwrap_or_default();
        }
        self.settled = Some(own);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn play_settled(&mut self, shell: &mut Shell) -> Result<(), Fallback> {
        let mut own = self.settled.clone().unwrap_or_default();
        own.is_certified(shell, &self.plan.bounds);
        let answer = own.answer();
        if !answer.is_within(&self.plan.bounds.thresholds) {
            return Err(answer.failure());
        }
        shell.certify(&answer, |_, arm| arm);
        shell.claim(
            answer.support,
            answer.costs,
            &self.plan.bounds,
            Arms::column,
        );
        Ok(())
    }
}
