//! Plans: decisions until an arm is certified and until its lift is known, and what learning costs meanwhile, before an
//! experiment begins.
//!
//! ```
//! use banister_sim::{ExperimentConfig, Progress, planning::{Question, plan}};
//!
//! let config: ExperimentConfig = toml::from_str(r#"
//!     run = { runs = 4 }
//!     environment = { kind = "bernoulli", rewards = [0.1, 0.7], costs = [[0.0, 0.2]] }
//!     guardrail = [{ name = "spend", at_most = 0.5, safe_cost = 0.0 }]
//!     agent = [{ kind = "opb" }]
//! "#)?;
//! let question = Question { horizon: Some(2000), lift: Some(0.2) };
//! let plan = plan(&config.check("tiny")?, question, &Progress::default())?.expect("not cancelled");
//! let arm = &plan.arms[1];
//! assert!(arm.certified.as_ref().and_then(|times| times.quantile(0.5)).is_some());
//! assert!(arm.least < arm.certified.as_ref().and_then(|times| times.quantile(0.5)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use banister::interval::Mixture;
use banister::lift::{Evidence, difference};
use banister::toolkit::positive;
use banister::{Agent, AgentView, Decision, Error, Outcome, Pending, Registry as _, Round};
use serde::Serialize;

use crate::agents::AgentSource;
use crate::experiment::Experiment;
use crate::results::{AgentResult, InstanceResult, Results};
use crate::run::{Options, Progress, run};

/// Share of an arm's probability in the best feasible policy from which on it counts as certified.
pub const CERTIFIED: f64 = 0.9;
/// Probability with which an interval of a lift may ever miss it.
pub const ALPHA: f64 = 0.05;
/// First horizon that is tried where none is given; it is doubled up to [`LONGEST`].
const SHORTEST: u64 = 10_000;
/// Longest horizon that is tried where none is given.
pub const LONGEST: u64 = SHORTEST << 7;
/// Points of the curves of probabilities.
const POINTS: usize = 150;
/// Least number of outcomes of an arm between two looks at its lift, as a share of those it has.
const LOOK: f64 = 0.01;

/// Question that a plan answers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Question {
    /// Decisions per run; `None` for the first doubling within which everything happens in every run.
    pub horizon: Option<u64>,
    /// Half-width of the interval at which a lift counts as known; `None` if lifts do not matter.
    pub lift: Option<f64>,
}

/// Answer: times by arm, with the results of the runs that they come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The question; its horizon is that of the runs.
    pub question: Question,
    /// True if the horizon was found by doubling.
    pub doubled: bool,
    /// δ of the agent's certificates.
    pub delta: f64,
    /// All arms, in the order of the problem.
    pub arms: Vec<ArmPlan>,
    /// Number of the safe arm.
    pub safe: usize,
    /// Decisions at which probabilities are given, in about equal ratios.
    pub rounds: Vec<u64>,
    /// One instance with one agent.
    pub results: Results,
}

/// Times of one arm.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmPlan {
    /// Name of the arm.
    pub name: String,
    /// Its probability in the best feasible policy.
    pub share: f64,
    /// First decisions whose policy has at least [`CERTIFIED`] of that share; `None` for the safe arm, and where the
    /// share is 0.
    pub certified: Option<Times>,
    /// Limit: least number of outcomes on which such a policy is typically certified, with every mean known, see
    /// [`banister::theory::CertifiedPlay::least_outcomes`].
    pub least: Option<u64>,
    /// Decisions until the interval of its lift over the safe arm is narrow enough; `None` for the safe arm, where
    /// nobody asks, and for rewards without a range.
    pub lift: Option<Times>,
    /// Per entry of [`Plan::rounds`]: 10%, 50% and 90% quantiles over runs of its mean probability since the entry before.
    pub probability: Vec<[f64; 3]>,
}

/// Decisions until an event, one entry per run; `None` where it did not happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Times(pub Vec<Option<u64>>);

impl Times {
    /// The decision by which the event had happened in at least a share of the runs; `None` if it had not.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let mut times = self.0.clone();
        times.sort_by_key(|time| time.unwrap_or(u64::MAX));
        times.get(rank(share, times.len())).copied().flatten()
    }

    /// Runs in which the event did not happen.
    pub fn missed(&self) -> usize {
        self.0.iter().filter(|time| time.is_none()).count()
    }
}

/// Place of a quantile among n sorted numbers: the first that a share of them do not exceed.
fn rank(share: f64, n: usize) -> usize {
    ((share * n as f64 - 1e-9).ceil().max(1.0) as usize).min(n) - 1
}

impl Plan {
    /// The instance, with thresholds and the best feasible policy.
    pub fn instance(&self) -> &InstanceResult {
        &self.results.instances[0]
    }

    /// The agent's runs.
    pub fn agent(&self) -> &AgentResult {
        &self.instance().agents[0]
    }

    /// Reward lost per decision against the best feasible policy, known from the start: mean over runs.
    pub fn loss(&self) -> f64 {
        let runs = &self.agent().runs;
        let sum: f64 = runs.iter().map(|run| run.regret).sum();
        sum / runs.len() as f64 / self.instance().horizon as f64
    }

    /// Loss per decision that no agent with such certificates gets below: the limit of certified play.
    pub fn least_loss(&self) -> Option<f64> {
        let limit = self.agent().limit?;
        Some(limit / self.instance().horizon as f64)
    }

    /// Runs in which some policy broke a guardrail.
    pub fn broken_runs(&self) -> usize {
        let runs = self.agent().runs.iter();
        runs.filter(|run| run.violations > Some(0)).count()
    }

    /// Expected signal of the policy that came nearest to a guardrail's threshold, or went farthest beyond.
    pub fn worst(&self, guardrail: usize) -> Option<f64> {
        let direction = self.instance().guardrails[guardrail].direction;
        let costs = self.agent().curve.cost_worst[guardrail].iter().copied();
        costs.reduce(|a, b| direction.worse(a, b))
    }

    /// True if everything happened in every run.
    fn is_complete(&self) -> bool {
        let mut times = (self.arms.iter()).flat_map(|arm| [&arm.certified, &arm.lift]);
        times.all(|times| times.as_ref().is_none_or(|times| times.missed() == 0))
    }
}

/// Plans with the first agent of an experiment, on the current rayon pool; the experiment's own horizon does not count.
/// `None` if cancelled. `progress` is that of the horizon in hand.
///
/// # Errors
/// Actions with features, or whose means change; an agent with a floor; a half-width that is not above 0.
pub fn plan(
    experiment: &Experiment,
    question: Question,
    progress: &Progress,
) -> Result<Option<Plan>, Error> {
    if let Some(lift) = question.lift {
        positive("lift", lift)?;
    }
    let mut horizon = question.horizon.unwrap_or(SHORTEST);
    loop {
        progress.rounds.store(0, Ordering::Relaxed);
        progress.work.store(0, Ordering::Relaxed);
        let Some(plan) = plan_at(experiment, question, horizon, progress)? else {
            return Ok(None);
        };
        if question.horizon.is_some() || horizon >= LONGEST || plan.is_complete() {
            return Ok(Some(plan));
        }
        horizon *= 2;
    }
}

fn plan_at(
    experiment: &Experiment,
    question: Question,
    horizon: u64,
    progress: &Progress,
) -> Result<Option<Plan>, Error> {
    let mut own = experiment.clone();
    own.resolved.run.horizon = horizon;
    let source = experiment.agents.first().map(|(_, source)| source);
    let config = source.and_then(AgentSource::config).ok_or_else(|| {
        let allowed = "a plan needs an agent by its kind, such as `opb`";
        Error::invalid("agent", "absent or user-supplied", allowed)
    })?;
    if config.floor() != 0.0 {
        // The best policy that shares are of has none.
        let allowed = "a plan is for policies without a floor";
        return Err(Error::invalid("agent[0].floor", config.floor(), allowed));
    }
    let delta = config.delta();
    let play = own.certified_play(delta).ok_or_else(|| {
        let allowed = "a plan needs arms without features whose means stay";
        Error::invalid("environment", "of another kind", allowed)
    })?;
    let mut shares = vec![0.0; play.rewards.len()];
    for &(arm, share) in &own.optimum.policy {
        shares[arm] = share;
    }
    let is_played = |arm: usize| arm != play.safe && shares[arm] > 0.0;
    let has_range = own.resolved.reward.sub_gaussian.is_none();
    let lift = question.lift.filter(|_| has_range);
    let watch = Arc::new(Watch {
        needed: (0..shares.len())
            .map(|arm| {
                if is_played(arm) {
                    CERTIFIED * shares[arm]
                } else {
                    f64::INFINITY
                }
            })
            .collect(),
        safe: play.safe,
        range: own.resolved.reward.hull(),
        lift,
        rounds: rounds(horizon),
        logs: Mutex::new(vec![Log::default(); own.resolved.run.runs as usize]),
    });
    let of_agent = Arc::clone(&watch);
    let source = AgentSource::watched(config.clone(), move |agent, run| {
        Box::new(Recorder::new(agent, run, Arc::clone(&of_agent)))
    });
    let own = own.with_agents(vec![source])?;
    let Some(results) = run(
        std::slice::from_ref(&own),
        Options { no_timing: true },
        progress,
    )?
    else {
        return Ok(None);
    };
    let logs = watch.logs.lock().unwrap_or_else(PoisonError::into_inner);
    let arm = |arm: usize| {
        Ok(ArmPlan {
            name: own.problem.declared.arms[arm].clone(),
            share: shares[arm],
            certified: is_played(arm)
                .then(|| Times(logs.iter().map(|log| log.certified[arm]).collect())),
            least: if is_played(arm) {
                play.least_outcomes(arm, CERTIFIED * shares[arm])?
            } else {
                None
            },
            lift: lift
                .filter(|_| arm != play.safe)
                .map(|_| Times(logs.iter().map(|log| log.known[arm]).collect())),
            probability: (0..watch.rounds.len())
                .map(|point| {
                    let mut all: Vec<f64> =
                        logs.iter().map(|log| log.policies[point][arm]).collect();
                    all.sort_by(f64::total_cmp);
                    [0.1, 0.5, 0.9].map(|share| all[rank(share, all.len())])
                })
                .collect(),
        })
    };
    Ok(Some(Plan {
        question: Question {
            horizon: Some(horizon),
            ..question
        },
        doubled: question.horizon.is_none(),
        delta,
        arms: (0..shares.len()).map(arm).collect::<Result<_, Error>>()?,
        safe: play.safe,
        rounds: watch.rounds.clone(),
        results,
    }))
}

/// Up to [`POINTS`] decisions from a ten-thousandth of the horizon to its end, in equal ratios.
fn rounds(horizon: u64) -> Vec<u64> {
    let first = (horizon as f64 / 1e4).max(1.0);
    let ratio = horizon as f64 / first;
    let place = |k: usize| first * libm::pow(ratio, k as f64 / POINTS as f64);
    let mut rounds: Vec<u64> = (0..POINTS).map(|k| place(k) as u64).collect();
    rounds.push(horizon);
    rounds.dedup();
    rounds
}

/// What is watched in every run.
struct Watch {
    /// Probability from which on an arm is certified.
    needed: Vec<f64>,
    safe: usize,
    /// Range of the reward.
    range: [f64; 2],
    lift: Option<f64>,
    /// Ends of the stretches that policies are averaged over.
    rounds: Vec<u64>,
    /// By run.
    logs: Mutex<Vec<Log>>,
}

/// One run: times by arm, and mean policies of the stretches.
#[derive(Clone, Default)]
struct Log {
    certified: Vec<Option<u64>>,
    known: Vec<Option<u64>>,
    policies: Vec<Vec<f64>>,
}

/// An agent whose policies and outcomes are watched.
struct Recorder {
    agent: Box<dyn Agent>,
    watch: Arc<Watch>,
    run: u64,
    log: Log,
    /// Decisions so far.
    t: u64,
    /// Sums of probabilities of the stretch in hand.
    sums: Vec<f64>,
    rewards: Vec<Evidence>,
    /// Outcomes of each arm at which its lift is looked at next.
    looks: Vec<u64>,
}

impl Recorder {
    fn new(agent: Box<dyn Agent>, run: u64, watch: Arc<Watch>) -> Self {
        let arms = watch.needed.len();
        Self {
            agent,
            run,
            log: Log {
                certified: vec![None; arms],
                known: vec![None; arms],
                policies: Vec::with_capacity(watch.rounds.len()),
            },
            t: 0,
            sums: vec![0.0; arms],
            rewards: vec![
                Evidence {
                    statistics: Mixture::default(),
                    range: watch.range,
                };
                arms
            ],
            looks: vec![1; arms],
            watch,
        }
    }

    /// Looks at the lift of an arm, or of all where it is the safe one, if enough outcomes have come since the last look.
    ///
    /// An interval gets narrower at most as 1/n: until one of its arms has as many times its outcomes as it is too wide,
    /// there is nothing to see.
    fn look(&mut self, arm: usize, most: f64) {
        let safe = self.watch.safe;
        let count = |rewards: &[Evidence], arm: usize| rewards[arm].statistics.count();
        if count(&self.rewards, arm) < self.looks[arm] {
            return;
        }
        self.looks[arm] = u64::MAX;
        let arms = if arm == safe {
            0..self.rewards.len()
        } else {
            arm..arm + 1
        };
        for own in arms.filter(|own| *own != safe) {
            if self.log.known[own].is_some() {
                continue;
            }
            let ends = difference(&self.rewards[own], &self.rewards[safe], (1.0 / ALPHA).ln());
            let times = (ends.upper - ends.lower) / (2.0 * most);
            if times <= 1.0 {
                self.log.known[own] = Some(self.t);
                continue;
            }
            for arm in [own, safe] {
                let n = count(&self.rewards, arm);
                let next = (n as f64 * times.max(1.0 + LOOK)) as u64;
                self.looks[arm] = next.max(n + 1).min(self.looks[arm].max(n + 1));
            }
        }
    }
}

impl Agent for Recorder {
    fn decide(&mut self, round: &Round) -> Result<&Decision, Error> {
        let decision = self.agent.decide(round)?;
        self.t += 1;
        for &(arm, probability) in &decision.policy {
            self.sums[arm] += probability;
            if probability >= self.watch.needed[arm] && self.log.certified[arm].is_none() {
                self.log.certified[arm] = Some(self.t);
            }
        }
        let point = self.log.policies.len();
        if self.watch.rounds.get(point) == Some(&self.t) {
            let last = point
                .checked_sub(1)
                .map_or(0, |last| self.watch.rounds[last]);
            let rounds = (self.t - last) as f64;
            self.log
                .policies
                .push(self.sums.iter().map(|sum| sum / rounds).collect());
            self.sums.fill(0.0);
        }
        Ok(decision)
    }

    fn observe(&mut self, outcome: &Outcome) -> Result<(), Error> {
        self.agent.observe(outcome)?;
        if let Some(most) = self.watch.lift {
            let [lo, hi] = self.watch.range;
            let standard = ((outcome.reward - lo) / (hi - lo)).clamp(0.0, 1.0);
            self.rewards[outcome.action].statistics.push(standard);
            self.look(outcome.action, most);
        }
        Ok(())
    }

    fn announce(&mut self, pending: &Pending) -> Result<(), Error> {
        self.agent.announce(pending)
    }

    fn view(&self) -> AgentView<'_> {
        self.agent.view()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // An agent that was only built, to see whether it can be, leaves an empty log, and a run replaces it.
        let mut logs = self
            .watch
            .logs
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = logs.get_mut(self.run as usize) {
            *log = std::mem::take(&mut self.log);
        }
    }
}
