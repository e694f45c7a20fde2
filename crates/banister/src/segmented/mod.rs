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
//! over all segments), `table` (the program), this page, `order`, `outcomes`, `view`, `snapshot`.

mod block;
mod config;
mod frequencies;
mod order;
mod outcomes;
mod overall;
mod segments;
mod snapshot;
mod table;
mod view;

use crate::agent::AgentView;
use crate::arms::Arms;
use crate::certificate::Answer;
use crate::decision::{Fallback, SegmentCertificate};
use crate::error::Error;
use crate::estimate::Estimates;
use crate::event::{Ask, Event, Findings};
use crate::guarded::{Guarded, Learner, Shell};
use crate::monitor::{Assumption, Next};
use crate::parameters::Registered as _;
use crate::problem::{CheckedProblem, Problem, Scope, Standard, check_segment};
use crate::round::{Choice, Outcome, Round};
use crate::waiting::Waiting;
use block::Block;
use config::CheckedSegmented;
pub use config::SegmentedConfig;
pub use frequencies::worst_mean;
use order::Order;
use segments::{POOL, Segments};
pub use snapshot::SegmentLearnerState;
use table::{SegmentTable, TableStatus};

/// Part of t/K that is an arm's fair share in a segment where all segments have one budget: what one explores with,
/// others do not earn with.
const SHARED: f64 = 0.2;

/// Name under which the pool is shown.
pub const POOLED: &str = "(pool)";

/// The agent. See the module's page for what it promises.
///
/// ```
/// use banister::{Agent, Event, Guardrail, Outcome, Problem, Round, Segmented, SegmentedConfig};
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
/// let arm = agent.decide(&Round::in_segment("loyal"))?.draw(0.5); // a uniform random number chooses the arm
/// let outcome = Outcome { segment: Some("loyal"), ..Outcome::of_arm(arm, 1.0, &[0.0]) };
/// agent.apply(&Event::Outcome(&outcome))?;
/// # Ok::<(), banister::Error>(())
/// ```
pub type Segmented = Guarded<SegmentLearner>;

/// Learner on arms in segments: statistics of every pair, and a table of policies.
#[derive(Debug, Clone)]
pub struct SegmentLearner {
    checked: CheckedSegmented,
    segments: Segments,
    /// Statistics of every pair of a segment and an arm.
    pairs: Estimates,
    /// Decisions of each pair whose outcomes have not come, and, for the last table, of the pool's arms.
    waiting: Waiting,
    waiting_in_pool: Waiting,
    /// Statistics of the pool, by arm.
    pool: Estimates,
    /// Last decision announced before the pool began, and the number of its context: that one decided on the pool, so
    /// the pool's segments and outcomes are a sample from the next one on.
    pool_since: u64,
    pool_from: u64,
    table: SegmentTable,
    /// True if some block of the table changed.
    is_outdated: bool,
    /// Segment of the round; `None` for one that is not known yet.
    entered: Option<usize>,
    /// Its name.
    entered_name: String,
    /// True if some guardrail holds in each segment.
    watches_segments: bool,
    /// Decisions that wait for their outcomes, for what segments share.
    order: Order,
    /// Room for an answer.
    support: Vec<(usize, f64)>,
    costs: Vec<f64>,
    prices: Vec<f64>,
}

impl Learner for SegmentLearner {
    type Config = SegmentedConfig;
    type State = SegmentLearnerState;
    const COPY: Option<fn(&Self) -> Self> = Some(Self::clone);

    fn new(problem: &Problem, config: &SegmentedConfig) -> Result<(Shell, Self), Error> {
        let problem = problem.check()?;
        problem.refuse_relative_ratios()?;
        let checked = config.check(&problem)?;
        let m = problem.guardrails.len();
        let mut own = Self {
            segments: checked.no_segments(&problem),
            pairs: Estimates::new(&problem, &checked.pairs_in(0)),
            waiting: Waiting::default(),
            waiting_in_pool: Waiting::default(),
            pool: Estimates::new(&problem, &checked.pool_in(0, 0)),
            pool_since: 0,
            pool_from: 0,
            table: SegmentTable::new(&problem),
            is_outdated: true,
            entered: None,
            entered_name: POOLED.to_string(),
            watches_segments: problem.guardrails.iter().any(|g| g.scope == Scope::Each),
            order: Order::default(),
            support: Vec::new(),
            costs: vec![0.0; m],
            prices: vec![0.0; m],
            checked,
        };
        for name in &problem.declared.segments {
            if let (Some(segment), true) = (own.segments.add(name), own.watches_segments) {
                own.segments.tell_apart(segment);
            }
        }
        let mut shell = Shell::watched(problem, own.checked.monitor, config.confidence());
        shell.decision.segment = Some(SegmentCertificate::default());
        Ok((shell, own))
    }

    fn config(&self) -> &SegmentedConfig {
        &self.checked.config
    }

    fn enter(&mut self, shell: &mut Shell, round: &Round) -> Result<(), Error> {
        if round.choice != Choice::Arms {
            return Err(Error::NoFeatures);
        }
        let segment = round.segment.unwrap_or(POOLED);
        check_segment(segment)?;
        self.enter_segment(segment);
        // Every segment has a certificate of its own.
        shell.stale = true;
        Ok(())
    }

    fn plan(&mut self, shell: &mut Shell) -> Result<(), Fallback> {
        self.update_table(shell);
        match self.table.verdict {
            TableStatus::Planned => {}
            TableStatus::NoMargin => return Err(Fallback::MarginNotProven),
            TableStatus::Failed => return Err(Fallback::SolverFailed),
        }
        let b = self.block();
        self.write_answer(shell, b);
        let answer = Answer {
            support: &self.support,
            status: self.table.status,
            value: self.table.value,
            upper_bound: self.table.upper_bound,
            costs: &self.costs,
            prices: &self.prices,
            nodes: 0,
        };
        shell.certify(&answer, |_, arm| arm);
        let block = &self.table.blocks[b];
        shell.claim(&self.support, &self.costs, &block.bounds, Arms::column);
        self.write_segment(shell, false);
        Ok(())
    }

    fn use_until(&mut self, _: &mut Shell, time: f64) {
        self.pairs.use_until(time);
        self.pool.use_until(time);
        self.change_all();
    }

    fn bound_safe(&mut self, shell: &mut Shell) -> f64 {
        self.update_table(shell);
        self.write_segment(shell, true);
        let b = self.block();
        let block = &self.table.blocks[b];
        for (i, cost) in shell.safe_costs.iter_mut().enumerate() {
            let own = block.bounds.cost_upper[i][block.safe];
            *cost = self.table.safe_overall(i).unwrap_or(own);
        }
        let ends = match self.segments.owners[b] {
            Some(s) => (self.pairs).ends(self.segments.list[s].pairs[shell.safe], 0),
            None => self.pool.ends(shell.safe, 0),
        };
        ends.upper
    }

    fn check(&self, shell: &Shell, event: &Event) -> Result<(), Error> {
        let segment = match event {
            Event::Outcome(outcome) => {
                shell.check_arm(outcome)?;
                outcome.segment
            }
            Event::Drawn(pending) | Event::Lost(pending) => {
                shell.check_number(pending.action)?;
                pending.segment
            }
            Event::ArmOffered(arm) if arm.features.is_some() => return Err(Error::NoFeatures),
            Event::Floors(_) | Event::Settled(_) => return Err(event.refusal()),
            _ => None,
        };
        segment.map_or(Ok(()), check_segment)
    }

    fn learn(&mut self, shell: &mut Shell, outcome: &Outcome) -> Next {
        self.enter_segment(outcome.segment.unwrap_or(POOLED));
        let next = self.learn_entered(shell, outcome);
        shell.stale |= self.is_outdated();
        next
    }

    /// Contexts are forgotten too: an alarm may be about either.
    fn forget(&mut self, shell: &mut Shell) {
        self.segments.forget();
        let config = self.checked.pairs_in(shell.monitor.epoch());
        self.pairs = Estimates::new(&shell.problem, &config);
        self.pairs.use_until(shell.until);
        self.waiting.clear_all();
        for segment in 0..self.segments.list.len() {
            self.segments.list[segment].pairs.clear();
            self.add_pairs(shell, segment);
        }
        self.reset_pool(shell);
        self.pool_since = shell.monitor.last_announced();
        self.pool_from = 0;
        self.order.restart();
        self.rebuild(shell);
    }

    fn follow(&mut self, shell: &mut Shell, event: &Event) -> Next {
        let next = match event {
            Event::Drawn(pending) => {
                self.enter_segment(pending.segment.unwrap_or(POOLED));
                self.draw(shell, pending)
            }
            Event::Lost(pending) => {
                self.enter_segment(pending.segment.unwrap_or(POOLED));
                self.abandon(shell, pending)
            }
            Event::ArmOffered(_) | Event::ArmRetired(_) | Event::Floors(_) => {
                self.add_arms(shell);
                self.rebuild(shell);
                Next::Continue
            }
            Event::ArmChanged(arm) => {
                self.forget_arm(shell, *arm);
                Next::Continue
            }
            Event::Weights(..) => {
                self.pairs.follow_weights(&shell.problem);
                self.pool.follow_weights(&shell.problem);
                self.change_all();
                Next::Continue
            }
            _ => Next::Continue,
        };
        shell.stale |= self.is_outdated();
        next
    }

    /// Estimates are in the segment of the round, also where it shares the pool's policy; in the pool, where that segment
    /// has no statistics.
    fn ask(&mut self, shell: &mut Shell, ask: Ask) -> Findings {
        match ask {
            Ask::Estimates(_, arms) => {
                Findings::each(arms, |arm| self.estimate_in(shell, self.entered, arm))
            }
            Ask::Segments(places) => Findings::Segments(self.views(shell, places)),
            Ask::Assumptions => Findings::Assumptions(vec![Assumption::declared(
                "segments come independently of one another, each with a frequency that stays",
            )]),
            Ask::Lifts(_) | Ask::WorthLeft => Findings::Unknown,
        }
    }

    fn view<'a>(&'a self, view: AgentView<'a>) -> AgentView<'a> {
        AgentView {
            segment_policies: self.segments.owners.len(),
            segment_names: &self.segments.names,
            max_segments: self.segments.most(),
            ..view
        }
    }

    fn save(&mut self, shell: &mut Shell) -> Result<SegmentLearnerState, Error> {
        self.rebuild(shell);
        Ok(self.state())
    }

    fn restore(&mut self, shell: &mut Shell, state: SegmentLearnerState) -> Result<(), Error> {
        self.take_up(shell, state)
    }
}

impl SegmentLearner {
    /// True if the next table may differ from this one.
    fn is_outdated(&self) -> bool {
        self.is_outdated || self.table.is_due(self.segments.total)
    }

    fn forget_arm(&mut self, shell: &mut Shell, arm: usize) {
        let all = 0..=shell.problem.width() - 1;
        for segment in &self.segments.list {
            if let Some(&pair) = segment.pairs.get(arm) {
                self.pairs.forget(pair, all.clone());
                self.waiting.clear(pair);
            }
        }
        self.pool.forget(arm, all);
        shell.monitor.forget_before(arm);
        self.order.leave_pool(|drawn| drawn.arm == arm);
        self.change_all();
    }

    /// Makes room for arms that are new.
    fn add_arms(&mut self, shell: &Shell) {
        for arm in self.pool.pulls().len()..shell.arms.len() {
            self.pool.add(&shell.problem, arm, false);
            for segment in &mut self.segments.list {
                segment.pairs.push(self.pairs.pulls().len());
                self.pairs.add(&shell.problem, arm, false);
            }
        }
    }

    /// Enters a segment; it may be one that was never seen.
    fn enter_segment(&mut self, segment: &str) {
        if self.entered_name == segment {
            // It may have been counted, or have given way, since.
            let is_current = |&s: &usize| self.segments.names[s] == segment;
            self.entered =
                (self.entered.filter(is_current)).or_else(|| self.segments.find(segment));
            return;
        }
        self.entered = self.segments.find(segment);
        self.entered_name.clear();
        self.entered_name.push_str(segment);
    }

    /// Gives a segment a place for every arm.
    fn add_pairs(&mut self, shell: &Shell, segment: usize) {
        for arm in 0..shell.arms.len() {
            self.segments.list[segment]
                .pairs
                .push(self.pairs.pulls().len());
            self.pairs.add(&shell.problem, arm, arm == shell.safe);
        }
    }

    /// Begins a pool without statistics. Decisions that wait for their outcomes are none of its own: those of some
    /// segments may have come already.
    fn renew_pool(&mut self, shell: &mut Shell) {
        self.reset_pool(shell);
        self.pool_since = shell.monitor.last_announced();
        self.pool_from = self.segments.total;
        self.order.leave_pool(|_| true);
    }

    fn reset_pool(&mut self, shell: &Shell) {
        let config = (self.checked).pool_in(shell.monitor.epoch(), self.segments.pools);
        self.pool = Estimates::new(&shell.problem, &config);
        self.pool.use_until(shell.until);
        for arm in 0..shell.arms.len() {
            (self.pool).add(&shell.problem, arm, arm == shell.safe);
        }
    }

    /// Makes room for the blocks there are, and forgets warm starts.
    fn rebuild(&mut self, shell: &Shell) {
        (self.table).make_room(&self.segments, shell.arms.offered().len());
        self.is_outdated = true;
    }

    /// Estimated mean reward of the best table that is certified now with these segments told apart, and the
    /// variance of that.
    fn earnings(&self, shell: &Shell, segments: &Segments) -> (f64, f64) {
        let mut table = SegmentTable::new(&shell.problem);
        table.exploits = true;
        table.make_room(segments, shell.arms.offered().len());
        let delta = self.checked.frequencies_in(shell.monitor.epoch());
        let known = KnownArms {
            problem: &shell.problem,
            pairs: &self.pairs,
            pool: &self.pool,
            waiting: (&self.waiting, &self.waiting_in_pool),
            arms: shell.arms.offered(),
            segments,
        };
        table.plan(segments, delta, &known);
        table.earnings()
    }

    /// Makes the table anew, if something has changed.
    fn update_table(&mut self, shell: &Shell) {
        if !self.is_outdated() {
            return;
        }
        self.is_outdated = false;
        self.order.count_waiting(&mut self.waiting_in_pool);
        let delta = self.checked.frequencies_in(shell.monitor.epoch());
        let known = KnownArms {
            problem: &shell.problem,
            pairs: &self.pairs,
            pool: &self.pool,
            waiting: (&self.waiting, &self.waiting_in_pool),
            arms: shell.arms.offered(),
            segments: &self.segments,
        };
        (self.table).plan(&self.segments, delta, &known);
    }

    /// True if the outcome of the context counted last is the pool's.
    fn is_pooled(&self) -> bool {
        self.block() == POOL && self.segments.total > self.pool_from
    }

    /// Block of the segment entered last.
    fn block(&self) -> usize {
        self.entered.map_or(POOL, |s| self.segments.list[s].block)
    }

    /// Writes policy, costs and prices of a block, its base mixed in.
    fn write_answer(&mut self, shell: &Shell, b: usize) {
        let (block, mixed) = (&self.table.blocks[b], self.table.mixed);
        let arms = shell.arms.offered();
        let base = block.bounds.safe;
        self.support.clear();
        let mut has_base = false;
        for &(column, p) in &block.policy {
            has_base |= column == base;
            let own = if column == base {
                p + mixed * (1.0 - p)
            } else {
                p * (1.0 - mixed)
            };
            if own > 0.0 {
                self.support.push((arms[column], own));
            }
        }
        if !has_base && mixed > 0.0 {
            self.support.push((arms[base], mixed));
            self.support.sort_unstable_by_key(|&(arm, _)| arm);
        }
        for i in 0..self.costs.len() {
            match self.table.overall(i) {
                Some((bound, _, price)) => (self.costs[i], self.prices[i]) = (bound, price),
                None => {
                    let cost = self.table.mixed_cost(b, i);
                    // Of the safe arm alone, its declared safety vouches for it, not its interval.
                    self.costs[i] = if block.safe_only {
                        cost.min(shell.problem.guardrails[i].threshold)
                    } else {
                        cost
                    };
                    self.prices[i] = self.table.local_price(i, b);
                }
            }
        }
    }

    /// Writes the segment's own part of the certificate; `is_forced`: the safe arm is played for a reason.
    fn write_segment(&self, shell: &mut Shell, is_forced: bool) {
        let b = self.block();
        let own = shell.decision.segment.get_or_insert_default();
        own.name.clear();
        own.name.push_str(&self.entered_name);
        own.pooled = b == POOL;
        own.contexts = self.entered.map_or(0, |s| self.segments.list[s].contexts);
        own.frequency = self.table.blocks[b].weight;
        own.costs.clear();
        own.by_frequencies.clear();
        own.excess.clear();
        let safe = self.table.blocks[b].safe;
        for (i, guardrail) in shell.problem.guardrails.iter().enumerate() {
            // The declared safety of the safe arm vouches for it, not its interval.
            let cost = if is_forced {
                self.table.blocks[b].bounds.cost_upper[i][safe]
            } else {
                self.table.mixed_cost(b, i)
            };
            own.costs.push(guardrail.shown().cost(cost));
            let part = match self.table.overall(i) {
                Some((_, part, _)) if !is_forced => part,
                _ => 0.0,
            };
            own.by_frequencies.push(guardrail.shown().unit() * part);
            let is_shared = guardrail.scope == Scope::Overall && !is_forced;
            let excess = if is_shared { cost - self.costs[i] } else { 0.0 };
            own.excess.push(excess);
        }
    }
}

/// All that is known of arms in segments.
struct KnownArms<'a> {
    problem: &'a CheckedProblem,
    pairs: &'a Estimates,
    pool: &'a Estimates,
    /// Decisions of pairs, and of the pool's arms, whose outcomes have not come.
    waiting: (&'a Waiting, &'a Waiting),
    arms: &'a [usize],
    segments: &'a Segments,
}

impl KnownArms<'_> {
    /// Estimates of a block, and the place of an arm there.
    fn of(&self, b: usize) -> (&Estimates, impl Fn(usize) -> usize) {
        let places = self.segments.owners[b].map(|s| &self.segments.list[s].pairs[..]);
        let estimates = places.map_or(self.pool, |_| self.pairs);
        (estimates, move |arm| {
            places.map_or(arm, |places| places[arm])
        })
    }

    /// Writes the costs that are known of a block's arms, and what it has learned of rewards.
    fn fill(&self, b: usize, block: &mut Block) {
        let (problem, bounds) = (self.problem, &mut block.bounds);
        let (estimates, place) = self.of(b);
        let safe_arm = problem.declared.safe;
        for (column, &arm) in self.arms.iter().enumerate() {
            let own = place(arm);
            if arm == safe_arm {
                block.safe = column;
            }
            let middle = 0.5 * estimates.ends(own, 0).upper;
            block.means[column] = estimates.mean(own, 0).unwrap_or(middle);
            block.pulls[column] = estimates.pulls()[own];
            for (i, guardrail) in problem.guardrails.iter().enumerate() {
                let (l, u) = cost_of(guardrail, estimates, (own, place(safe_arm)), i + 1);
                bounds.cost_lower[i][column] = l;
                bounds.cost_upper[i][column] = u;
            }
        }
    }

    /// Writes r̃ and c° of a block's arms; after its margins.
    fn write_indices(&self, b: usize, block: &mut Block) {
        let (estimates, place) = self.of(b);
        let waiting = self.segments.owners[b].map_or(self.waiting.1, |_| self.waiting.0);
        let drawn = |arm: usize| waiting.drawn(estimates.pulls()[place(arm)], place(arm));
        let total: u64 = self.arms.iter().map(|&arm| drawn(arm)).sum();
        let is_shared = |g: &Standard| b != POOL && g.scope == Scope::Overall;
        let part = if self.problem.guardrails.iter().any(is_shared) {
            SHARED
        } else {
            1.0
        };
        let each = part * total as f64 / self.arms.len() as f64;
        for (column, &arm) in self.arms.iter().enumerate() {
            let own = (place(arm), drawn(arm));
            (block.bounds).write_indices(self.problem, estimates, own, column, each);
        }
    }
}

/// l and u of a cost under a guardrail, given the places of its pair and of the safe one.
fn cost_of(
    guardrail: &Standard,
    estimates: &Estimates,
    (own, safe): (usize, usize),
    signal: usize,
) -> (f64, f64) {
    let is_safe = own == safe;
    if let (true, Some(known)) = (is_safe, guardrail.safe_cost) {
        return (known, known);
    }
    let ends = |place: usize| {
        let ends = estimates.ends(place, signal);
        (ends.lower, ends.upper)
    };
    guardrail.cost_bounds(ends(own), ends(safe), is_safe)
}
