//! OPB, the optimistic-pessimistic bandit, with any intervals, any optimism, any number of
//! guardrails, known or unknown safe costs.
//!
//! **Problem.** K arms with unknown mean reward and m unknown mean costs; every policy published
//! must keep its expected costs within the thresholds.
//! **Guarantee.** With probability 1 − δ, every policy in every round is feasible, and the regret is
//! of order √(KT)/Δ (theory: [`crate::theory`]).
//! **Cost per round.** One arm's intervals, then one small LP (`paper`, `margin`) or about three
//! (`least`): O(K m) at worst, no allocation.
//! **Reference.** Pacchiano, Ghavamzadeh, Bartlett and Jiang, "Stochastic Bandits with Linear
//! Constraints", Algorithm 2 and Theorem 3, with the errata in `docs/`.

mod agent;
mod columns;
mod outcomes;

use crate::bounds::Bounds;
use crate::certificate::{Answer, Certifier};
use crate::config::{CheckedOpb, OpbConfig, UnknownSafeCost};
use crate::decision::{Decision, Fallback};
use crate::error::Error;
use crate::estimate::{Estimates, SignalRule};
use crate::interval::{Interval, Intervals};
use crate::optimism::Planner;
use crate::problem::{CheckedProblem, Problem, check_name};
use crate::safe_cost::TZeroRule;

/// The agent. See the module's page for what it promises.
///
/// ```
/// use banister::{Guardrail, Opb, OpbConfig, Problem};
///
/// let problem = Problem {
///     arms: vec!["control".into(), "bold".into()],
///     safe: 0,
///     guardrails: vec![Guardrail {
///         name: "complaints".into(),
///         at_most: Some(0.2),
///         safe_cost: Some(0.05),
///         ..Default::default()
///     }],
///     ..Default::default()
/// };
/// let mut agent = Opb::new(&problem, &OpbConfig::default())?;
/// let decision = agent.decide();
/// let arm = decision.draw(0.5); // a uniform random number chooses the arm
/// agent.observe(arm, 1.0, &[0.0])?;
/// assert!(agent.decide().guardrails[0].slack >= 0.0);
/// # Ok::<(), banister::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Opb {
    pub(crate) problem: CheckedProblem,
    pub(crate) checked: CheckedOpb,
    /// Names of all arms ever offered, by number.
    pub(crate) names: Vec<String>,
    /// Column of each arm among those offered now; `None` once retired.
    pub(crate) column: Vec<Option<usize>>,
    /// Arm of each column.
    pub(crate) arm: Vec<usize>,
    pub(crate) estimates: Estimates,
    pub(crate) t_zero: Option<TZeroRule>,
    /// Whether the safe action's outcomes move other arms' bounds or the margins.
    safe_matters: bool,
    /// Outcomes for which the intervals hold.
    room: u64,
    bounds: Bounds,
    /// α_r where V is built the paper's way.
    alpha: Option<f64>,
    pub(crate) planner: Planner,
    certifier: Certifier,
    decision: Decision,
    pub(crate) outcomes: u64,
}

impl Opb {
    /// Checks the problem and the parameters, and starts with no outcomes.
    pub fn new(problem: &Problem, config: &OpbConfig) -> Result<Self, Error> {
        let problem = problem.check()?;
        let checked = config.check(&problem)?;
        let mut agent = Self::bare(problem, checked);
        for name in agent.problem.declared.arms.clone() {
            agent.push_arm(name);
        }
        agent.refresh_all();
        Ok(agent)
    }

    /// An agent with no arms yet.
    pub(crate) fn bare(problem: CheckedProblem, checked: CheckedOpb) -> Self {
        let config = &checked.config;
        let rules = SignalRule::all(
            &problem,
            &checked.level,
            |signal| config.intervals_for(signal),
            |kind| config.intersect.unwrap_or(kind.is_anytime()),
        );
        let estimates = Estimates::new(rules);
        let unknown = problem.guardrails.iter().any(|g| g.safe_cost.is_none());
        let t_zero = (unknown && config.unknown_safe_cost == UnknownSafeCost::Paper).then(|| {
            let unit_noise = config.intervals == Some(Intervals::Paper);
            TZeroRule::new(&problem, config.horizon, unit_noise)
        });
        // Fixed-horizon intervals, and the T_0 rule, hold for so many outcomes and no more.
        let room = match config.horizon {
            Some(horizon) if config.needs_horizon(unknown) => horizon,
            _ => u64::MAX,
        };
        let certifier = Certifier::new(&problem);
        Self {
            bounds: Bounds::new(problem.guardrails.iter().map(|g| g.threshold).collect()),
            planner: Planner::new(config.optimism),
            alpha: None,
            safe_matters: unknown,
            room,
            names: Vec::new(),
            column: Vec::new(),
            arm: Vec::new(),
            estimates,
            t_zero,
            decision: certifier.blank(),
            certifier,
            outcomes: 0,
            problem,
            checked,
        }
    }

    /// Names of all arms ever offered; an arm's number is its place here.
    pub fn arm_names(&self) -> &[String] {
        &self.names
    }

    /// The number of the arm called `name`.
    pub fn arm_named(&self, name: &str) -> Result<usize, Error> {
        self.names
            .iter()
            .position(|n| n == name)
            .ok_or_else(|| Error::UnknownArm {
                name: name.to_string(),
                known: self.names.join(", "),
            })
    }

    /// Whether an arm is offered now.
    pub fn is_offered(&self, arm: usize) -> bool {
        self.column.get(arm).is_some_and(Option::is_some)
    }

    /// Outcomes that arrived for each arm.
    pub fn pulls(&self) -> &[u64] {
        self.estimates.pulls()
    }

    /// Outcomes that arrived in all.
    pub fn outcomes(&self) -> u64 {
        self.outcomes
    }

    /// The problem, checked.
    pub fn problem(&self) -> &CheckedProblem {
        &self.problem
    }

    /// The parameters.
    pub fn config(&self) -> &OpbConfig {
        &self.checked.config
    }

    /// The interval of an arm's reward (`signal` 0; only its upper end is kept current) or cost
    /// (`signal` 1 + i), in standard units.
    pub fn interval(&self, arm: usize, signal: usize) -> Option<Interval> {
        self.estimates.interval(arm, signal)
    }

    /// Offers one more arm. Its number is returned.
    ///
    /// The union bound was made for `max_arms` arms; one more than that is refused, since it would
    /// quietly weaken δ.
    pub fn add_arm(&mut self, name: &str) -> Result<usize, Error> {
        check_name(&self.names, name, "arm")?;
        if self.names.len() >= self.checked.max_arms {
            let allowed = format!(
                "the union bound counts {} arms: create the agent with a larger `max_arms`",
                self.checked.max_arms
            );
            return Err(Error::invalid("arm", name, allowed));
        }
        self.push_arm(name.to_string());
        self.refresh_all();
        Ok(self.names.len() - 1)
    }

    /// Stops offering an arm. Outcomes of earlier pulls are still accepted.
    pub fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        self.check_arm(arm)?;
        if arm == self.problem.declared.safe {
            return Err(Error::invalid(
                "arm",
                &self.names[arm],
                "the safe arm cannot be retired",
            ));
        }
        let Some(column) = self.column[arm] else {
            return Err(Error::invalid(
                "arm",
                &self.names[arm],
                "it is retired already",
            ));
        };
        self.arm.remove(column);
        self.renumber();
        self.refresh_all();
        Ok(())
    }

    /// Takes one outcome: the arm that was played, its reward and one cost per guardrail.
    ///
    /// Nothing changes if any number is refused.
    #[inline]
    pub fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.check_outcome(arm, reward, costs)?;
        self.outcomes += 1;
        let count = self.estimates.take(arm, reward, costs);
        if self.safe_matters && arm == self.problem.declared.safe {
            self.follow_safe(arm);
        } else if let Some(column) = self.column[arm] {
            if arm != self.problem.declared.safe {
                self.write_costs(column, arm);
            }
            self.write_reward(column, arm, &count);
            self.planner.changed(&self.bounds, column);
        }
        Ok(())
    }

    /// The safe action's outcome moved the margins, and with them all columns.
    #[cold]
    #[inline(never)]
    fn follow_safe(&mut self, arm: usize) {
        if let Some(rule) = &mut self.t_zero {
            let state = self.estimates.of(arm);
            rule.update(&self.problem, self.estimates.pulls()[arm], |i| {
                state[i + 1].sum
            });
        }
        self.refresh_columns();
        self.planner.changed_all(&self.bounds);
    }

    /// Takes many outcomes; all are checked before any is taken.
    pub fn observe_batch<'a>(
        &mut self,
        outcomes: impl IntoIterator<Item = (usize, f64, &'a [f64])> + Clone,
    ) -> Result<(), Error> {
        let mut count = 0;
        for (arm, reward, costs) in outcomes.clone() {
            self.check_outcome(arm, reward, costs)?;
            count += 1;
        }
        self.check_room(count)?;
        for (arm, reward, costs) in outcomes {
            self.observe(arm, reward, costs)?;
        }
        Ok(())
    }

    /// Publishes the policy for the next round, with its certificate.
    ///
    /// Never fails: without a provable margin, or if the solver's answer does not check, the policy
    /// is the safe action, and the certificate says so.
    #[inline]
    pub fn decide(&mut self) -> &Decision {
        self.decision.outcomes = self.outcomes;
        let settled = self.t_zero.as_ref().is_none_or(|rule| rule.is_settled());
        if !settled || !self.bounds.has_margin() {
            self.publish_safe(Fallback::MarginNotProven);
            return &self.decision;
        }
        let answer = Answer::from(self.planner.plan(&self.bounds));
        if !answer.is_within(&self.bounds.thresholds) {
            self.publish_safe(Fallback::SolverFailed);
            return &self.decision;
        }
        let arm = &self.arm[..];
        let policy = &mut self.decision.policy;
        policy.clear();
        policy.extend(answer.support.iter().map(|&(column, p)| (arm[column], p)));
        self.certifier.certify(&answer, &mut self.decision);
        &self.decision
    }

    /// The last decision.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    #[cold]
    #[inline(never)]
    fn publish_safe(&mut self, reason: Fallback) {
        let safe = self.bounds.safe;
        let arm = self.arm[safe];
        let value = self.estimates.of(arm)[0].upper;
        let cost = |i: usize| self.bounds.cost_upper[i][safe];
        (self.certifier).certify_safe(&self.problem, arm, value, cost, reason, &mut self.decision);
    }
}
