//! Segments under one budget: a policy for every segment of users or requests.
//!
//! **Problem.** Every decision comes with a segment, one of finitely many, with unknown frequencies p_s; K arms with
//! unknown mean reward and costs in each segment, the safe arm's too. A table of policies, one per segment, is fixed
//! before the segment is seen, and must keep Σ_s p_s π_s·c_s ≤ τ (scope `overall`) or π_s·c_s ≤ τ in every segment
//! (scope `each`).
//! **Guarantee.** With probability 1 − δ, every table in every round is feasible. Segments that share the pool's policy
//! keep a guardrail of scope `each` on average over the pool only. Its regret is not proven. The pool learns outcomes in
//! the order of decisions, and one that is given up counts there at its worst: the segments whose outcomes come early,
//! or at all, are not all of them.
//! **Cost per round.** A few sums; when a pair's outcomes have grown by half a percent, one block of the program, and
//! from time to time all of them.
//! **Reference.** Pacchiano, Ghavamzadeh, Bartlett and Jiang, "Stochastic Bandits with Linear Constraints"; the
//! confidence set of frequencies is our own (`frequencies`).
//!
//! Files, in reading order: `config`, `segments` (who shares a policy), `frequencies`, `block`, `overall` (guardrails
//! over all segments), `table` (the program), this page, `outcomes`, `agent`, `view`, `snapshot`.

mod agent;
mod block;
mod config;
mod frequencies;
mod outcomes;
mod overall;
mod segments;
mod snapshot;
mod table;
mod view;

use crate::certificate::{Answer, Certifier};
use crate::decision::{Decision, Fallback, SegmentCertificate};
use crate::error::Error;
use crate::estimate::Estimates;
use crate::monitor::{Drawn, Monitor};
use crate::optimism::index_lean;
use crate::problem::{
    ArmRanges, CheckedProblem, Problem, Scope, Standard, check_name, check_segment,
};
use block::Block;
use config::CheckedSegmented;
pub use config::SegmentedConfig;
pub use frequencies::worst_mean;
use segments::{POOL, Segments};
use table::{State, Table};

/// Part of the lean of `index` that is taken: what is earned by exploring one segment's arm is its own share only.
const LEAN: f64 = 0.75;

/// Name under which the pool is shown.
pub const POOLED: &str = "(pool)";

/// The agent. See the module's page for what it promises.
///
/// ```
/// use banister::{Guardrail, Problem, Segmented, SegmentedConfig};
///
/// let problem = Problem {
///     arms: vec!["control".into(), "bold".into()],
///     safe: 0,
///     guardrails: vec![Guardrail {
///         name: "complaints".into(),
///         at_most: Some(0.2),
///         ..Default::default()
///     }],
///     segments: vec!["new".into(), "loyal".into()],
///     ..Default::default()
/// };
/// let mut agent = Segmented::new(&problem, &SegmentedConfig::default())?;
/// agent.enter("loyal")?;
/// let arm = agent.decide().draw(0.5); // a uniform random number chooses the arm
/// agent.observe(arm, 1.0, &[0.0])?;
/// assert!(agent.decide().guardrails[0].slack >= 0.0);
/// # Ok::<(), banister::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Segmented {
    problem: CheckedProblem,
    checked: CheckedSegmented,
    /// Names of all arms ever offered, by number.
    names: Vec<String>,
    /// Arm of each column, by increasing arm.
    arm: Vec<usize>,
    segments: Segments,
    /// Statistics of every pair of a segment and an arm.
    pairs: Estimates,
    /// Statistics of the pool, by arm.
    pool: Estimates,
    /// Last decision announced before the pool began.
    pool_since: u64,
    /// The decision drawn last, until it is announced.
    drawn: Option<Drawn>,
    table: Table,
    /// Segment of the next decision; `None` for one that is not known yet.
    entered: Option<usize>,
    /// Its name.
    entered_name: String,
    certifier: Certifier,
    decision: Decision,
    /// Reason for the safe arm everywhere, where the table was not made.
    forced: Option<Fallback>,
    monitor: Monitor,
    counted: Vec<f64>,
    /// True if some guardrail holds in each segment.
    watches_segments: bool,
    stale: bool,
    alarms_seen: u64,
    outcomes: u64,
    /// Room for an answer.
    support: Vec<(usize, f64)>,
    costs: Vec<f64>,
    prices: Vec<f64>,
}

impl Segmented {
    /// Checks the problem and the parameters, and starts with no outcomes.
    pub fn new(problem: &Problem, config: &SegmentedConfig) -> Result<Self, Error> {
        let problem = problem.check()?;
        let checked = config.check(&problem)?;
        let mut agent = Self::bare(problem, checked, Monitor::new);
        for name in agent.problem.declared.arms.clone() {
            agent.push_arm(name);
        }
        for name in agent.problem.declared.segments.clone() {
            if let Some(segment) = agent.segments.add(&name) {
                agent.add_pairs(segment);
                if agent.watches_segments {
                    agent.segments.tell_apart(segment);
                }
            }
        }
        agent.rebuild();
        Ok(agent)
    }

    /// An agent without arms and segments.
    fn bare(
        problem: CheckedProblem,
        checked: CheckedSegmented,
        monitor: impl FnOnce(&CheckedProblem, crate::monitor::MonitorConfig) -> Monitor,
    ) -> Self {
        let config = &checked.config;
        let certifier = Certifier::new(&problem);
        let m = problem.guardrails.len();
        let monitor = monitor(&problem, checked.monitor);
        let epoch = monitor.epoch();
        Self {
            names: Vec::new(),
            arm: Vec::new(),
            segments: Segments::new(
                problem.declared.segments.len(),
                config.max_segments,
                config.pool_until,
            ),
            pairs: Estimates::new(&problem, &checked.pairs_in(epoch)),
            pool: Estimates::new(&problem, &checked.pool_in(epoch, 0)),
            pool_since: 0,
            drawn: None,
            table: Table::new(&problem),
            entered: None,
            entered_name: POOLED.to_string(),
            decision: Decision {
                confidence: config.confidence(),
                segment: Some(SegmentCertificate::default()),
                ..certifier.blank()
            },
            certifier,
            forced: None,
            monitor,
            counted: Vec::with_capacity(m),
            watches_segments: problem.guardrails.iter().any(|g| g.scope == Scope::Each),
            stale: true,
            alarms_seen: 0,
            outcomes: 0,
            support: Vec::new(),
            costs: vec![0.0; m],
            prices: vec![0.0; m],
            problem,
            checked,
        }
    }

    /// The problem in standard form.
    pub fn problem(&self) -> &CheckedProblem {
        &self.problem
    }

    /// Parameters as declared.
    pub fn config(&self) -> &SegmentedConfig {
        &self.checked.config
    }

    /// Outcomes that arrived in all.
    pub fn outcomes(&self) -> u64 {
        self.outcomes
    }

    /// Names of all arms ever offered; an arm's number is its place here.
    pub fn arm_names(&self) -> &[String] {
        &self.names
    }

    /// Says which segment the next decision, or the next outcome that comes at once, belongs to. It may be one that
    /// was never seen.
    pub fn enter(&mut self, segment: &str) -> Result<(), Error> {
        if self.entered_name == segment {
            // It may have been counted since.
            self.entered = self.entered.or_else(|| self.segments.find(segment));
            return Ok(());
        }
        check_segment(segment)?;
        self.entered = self.segments.find(segment);
        self.entered_name.clear();
        self.entered_name.push_str(segment);
        Ok(())
    }

    /// Offers one more arm in every segment, with its ranges where they are by arm, or one again that was retired. Its
    /// number is returned.
    pub fn add_arm(&mut self, name: &str, ranges: &ArmRanges) -> Result<usize, Error> {
        let known = self.names.iter().position(|own| own == name);
        if let Some(arm) = known.filter(|arm| !self.arm.contains(arm)) {
            ranges.refuse()?;
            self.arm.push(arm);
            self.arm.sort_unstable();
            self.rebuild();
            return Ok(arm);
        }
        check_name(&self.names, name, "arm")?;
        self.problem.add_arm(ranges)?;
        self.push_arm(name.to_string());
        let arm = self.names.len() - 1;
        for segment in &mut self.segments.list {
            segment.pairs.push(self.pairs.pulls().len());
            self.pairs.add(&self.problem, arm, false);
        }
        self.rebuild();
        Ok(arm)
    }

    /// Stops offering an arm. Outcomes of earlier pulls are still accepted.
    pub fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        self.check_arm(arm)?;
        let refusal = |allowed: &str| Err(Error::invalid("arm", &self.names[arm], allowed));
        if arm == self.problem.declared.safe {
            return refusal("the safe arm cannot be retired");
        }
        let Some(column) = self.arm.iter().position(|&own| own == arm) else {
            return refusal("it is retired already");
        };
        self.arm.remove(column);
        self.rebuild();
        Ok(())
    }

    fn push_arm(&mut self, name: String) {
        let arm = self.names.len();
        self.names.push(name);
        self.arm.push(arm);
        self.pool
            .add(&self.problem, arm, arm == self.problem.declared.safe);
    }

    /// Gives a segment a place for every arm.
    fn add_pairs(&mut self, segment: usize) {
        let safe = self.problem.declared.safe;
        for arm in 0..self.names.len() {
            self.segments.list[segment]
                .pairs
                .push(self.pairs.pulls().len());
            self.pairs.add(&self.problem, arm, arm == safe);
        }
    }

    /// Begins a pool without statistics. Decisions that wait for their outcomes are none of its own: those of some
    /// segments may have come already.
    fn renew_pool(&mut self) {
        self.reset_pool();
        self.pool_since = self.monitor.last_announced();
        self.monitor.leave_pool();
    }

    fn reset_pool(&mut self) {
        let config = (self.checked).pool_in(self.monitor.epoch(), self.segments.pools);
        self.pool = Estimates::new(&self.problem, &config);
        for arm in 0..self.names.len() {
            (self.pool).add(&self.problem, arm, arm == self.problem.declared.safe);
        }
    }

    /// Makes room for the blocks there are, and forgets warm starts.
    fn rebuild(&mut self) {
        self.table.make_room(&self.segments, self.arm.len());
        self.stale = true;
    }

    /// Estimated mean reward of the best table that is certified now with these segments told apart, and the
    /// variance of that.
    fn earnings(&self, segments: &Segments) -> (f64, f64) {
        let mut table = Table::new(&self.problem);
        table.exploits = true;
        table.make_room(segments, self.arm.len());
        let delta = self.checked.frequencies_in(self.monitor.epoch());
        let known = Known {
            problem: &self.problem,
            pairs: &self.pairs,
            pool: &self.pool,
            arms: &self.arm,
            segments,
        };
        table.plan(segments, delta, |b, block| known.fill(b, block));
        table.earnings()
    }

    fn is_stale(&self) -> bool {
        self.stale
            || self.monitor.raised() != self.alarms_seen
            || self.table.is_due(self.segments.total)
    }

    /// Publishes the policy for the segment entered last, with the certificate of the whole table.
    ///
    /// Never fails: without a provable margin, or if the solver's answer does not check, the policy is the safe
    /// arm in every segment, and the certificate says so.
    pub fn decide(&mut self) -> &Decision {
        if self.is_stale() {
            self.plan();
        }
        self.publish();
        &self.decision
    }

    /// Makes the table anew.
    fn plan(&mut self) {
        self.alarms_seen = self.monitor.raised();
        if self.monitor.forces_safe() {
            self.forced = Some(Fallback::Alarm);
            self.stale = true;
            return;
        }
        self.stale = false;
        let delta = self.checked.frequencies_in(self.monitor.epoch());
        let known = Known {
            problem: &self.problem,
            pairs: &self.pairs,
            pool: &self.pool,
            arms: &self.arm,
            segments: &self.segments,
        };
        (self.table).plan(&self.segments, delta, |b, block| known.fill(b, block));
        self.forced = match self.table.state {
            State::Planned => None,
            State::NoMargin => Some(Fallback::MarginNotProven),
            State::Failed => Some(Fallback::SolverFailed),
        };
    }

    /// Block of the segment entered last.
    fn block(&self) -> usize {
        self.entered.map_or(POOL, |s| self.segments.list[s].block)
    }

    /// Writes the decision for the segment entered last.
    fn publish(&mut self) {
        self.decision.outcomes = self.outcomes - self.monitor.forgotten();
        self.decision.alarm = self.monitor.foremost();
        let b = self.block();
        match self.forced {
            Some(reason) => self.publish_safe(reason),
            None => {
                self.write_answer(b);
                let answer = Answer {
                    support: &self.support,
                    status: self.table.status,
                    value: self.table.value,
                    upper_bound: self.table.upper_bound,
                    costs: &self.costs,
                    prices: &self.prices,
                    nodes: 0,
                };
                self.decision.policy.clear();
                self.decision.policy.extend_from_slice(&self.support);
                self.certifier.certify(&answer, &mut self.decision);
            }
        }
        self.write_segment(b);
    }

    /// The safe arm in every segment, for a reason.
    fn publish_safe(&mut self, reason: Fallback) {
        let (b, safe) = (self.block(), self.problem.declared.safe);
        let block = &self.table.blocks[b];
        let column = block.bounds.safe;
        let table = &self.table;
        let cost = |i: usize| {
            table
                .safe_overall(i)
                .unwrap_or(block.bounds.cost_upper[i][column])
        };
        let value = block.bounds.reward_upper[column];
        (self.certifier).certify_safe(&self.problem, safe, value, cost, reason, &mut self.decision);
    }

    /// Writes policy, costs and prices of a block, the safe arm mixed in.
    fn write_answer(&mut self, b: usize) {
        let (block, mixed) = (&self.table.blocks[b], self.table.mixed);
        let safe = block.bounds.safe;
        self.support.clear();
        let mut has_safe = false;
        for &(column, p) in &block.policy {
            has_safe |= column == safe;
            let own = if column == safe {
                p + mixed * (1.0 - p)
            } else {
                p * (1.0 - mixed)
            };
            if own > 0.0 {
                self.support.push((self.arm[column], own));
            }
        }
        if !has_safe && mixed > 0.0 {
            self.support.push((self.arm[safe], mixed));
            self.support.sort_unstable_by_key(|&(arm, _)| arm);
        }
        for i in 0..self.costs.len() {
            match self.table.overall(i) {
                Some((bound, _, price)) => (self.costs[i], self.prices[i]) = (bound, price),
                None => {
                    let cost = self.table.mixed_cost(b, i);
                    // Of the safe arm alone, its declared safety vouches for it, not its interval.
                    self.costs[i] = if block.safe_only {
                        cost.min(self.problem.guardrails[i].threshold)
                    } else {
                        cost
                    };
                    self.prices[i] = self.table.local_price(i, b);
                }
            }
        }
    }

    /// Writes the segment's own part of the certificate.
    fn write_segment(&mut self, b: usize) {
        let Some(mut own) = self.decision.segment.take() else {
            return;
        };
        own.name.clear();
        own.name.push_str(&self.entered_name);
        own.pooled = b == POOL;
        own.contexts = self.entered.map_or(0, |s| self.segments.list[s].contexts);
        own.frequency = self.table.blocks[b].weight;
        own.costs.clear();
        own.by_frequencies.clear();
        let safe = self.table.blocks[b].bounds.safe;
        for (i, guardrail) in self.problem.guardrails.iter().enumerate() {
            let cost = match self.forced {
                // The declared safety of the safe arm vouches for it, not its interval.
                Some(_) => self.table.blocks[b].bounds.cost_upper[i][safe],
                None => self.table.mixed_cost(b, i),
            };
            own.costs.push(guardrail.shown().cost(cost));
            let part = match (self.forced, self.table.overall(i)) {
                (None, Some((_, part, _))) => part,
                _ => 0.0,
            };
            own.by_frequencies.push(guardrail.signal.unit() * part);
        }
        self.decision.segment = Some(own);
    }

    /// The policy in force in a segment, without entering it; what a decision for it would be drawn from.
    pub fn policy_in(&mut self, segment: &str) -> &[(usize, f64)] {
        if self.is_stale() {
            self.plan();
        }
        let safe = self.problem.declared.safe;
        let b = self
            .segments
            .find(segment)
            .map_or(POOL, |s| self.segments.list[s].block);
        if self.forced.is_some() {
            self.support.clear();
            self.support.push((safe, 1.0));
        } else {
            self.write_answer(b);
        }
        &self.support
    }
}

/// All that is known of arms in segments.
struct Known<'a> {
    problem: &'a CheckedProblem,
    pairs: &'a Estimates,
    pool: &'a Estimates,
    arms: &'a [usize],
    segments: &'a Segments,
}

impl Known<'_> {
    /// Writes what is known of a block's arms.
    fn fill(&self, b: usize, block: &mut Block) {
        let (problem, arms) = (self.problem, self.arms);
        let places = self.segments.owners[b].map(|s| &self.segments.list[s].pairs[..]);
        let estimates = places.map_or(self.pool, |_| self.pairs);
        let place = |arm: usize| places.map_or(arm, |places| places[arm]);
        let safe_arm = problem.declared.safe;
        let safe = place(safe_arm);
        let bounds = &mut block.bounds;
        let total: u64 = arms.iter().map(|&arm| estimates.pulls()[place(arm)]).sum();
        let each = total as f64 / arms.len() as f64;
        block.leaned.resize(bounds);
        for (column, &arm) in arms.iter().enumerate() {
            let own = place(arm);
            if arm == safe_arm {
                bounds.safe = column;
            }
            let upper = estimates.ends(own, 0).upper;
            bounds.reward_upper[column] = upper;
            bounds.reward_mean[column] = estimates.mean(own, 0).unwrap_or(0.5 * upper);
            for (i, guardrail) in problem.guardrails.iter().enumerate() {
                let (l, u, mean) = cost_of(guardrail, estimates, (own, safe), i + 1);
                bounds.cost_lower[i][column] = l;
                bounds.cost_upper[i][column] = u;
                bounds.cost_mean[i][column] = mean;
            }
            block.pulls[column] = estimates.pulls()[own];
            block.leaned.lean[column] = LEAN
                * index_lean(
                    each / estimates.pulls()[own] as f64,
                    estimates.log_optimism(own),
                );
        }
    }
}

/// l, u and mean of a cost under a guardrail, given the places of its pair and of the safe one.
fn cost_of(
    guardrail: &Standard,
    estimates: &Estimates,
    (own, safe): (usize, usize),
    signal: usize,
) -> (f64, f64, f64) {
    let is_safe = own == safe;
    if let (true, Some(known)) = (is_safe, guardrail.safe_cost) {
        return (known, known, known);
    }
    let ends = |place: usize| {
        let ends = estimates.ends(place, signal);
        (ends.lower, ends.upper)
    };
    let (l, u) = guardrail.cost_bounds(ends(own), ends(safe), is_safe);
    let middle = |place: usize| {
        let (l, u) = ends(place);
        let mean = estimates.mean(place, signal).unwrap_or(0.5 * (l + u));
        (mean, mean)
    };
    let mean = guardrail.cost_bounds(middle(own), middle(safe), is_safe).0;
    (l, u, mean.max(l).min(u))
}
