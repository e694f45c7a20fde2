//! Plans: decisions until an arm is certified and until its lift is known, and what learning costs meanwhile.

use std::cmp::Ordering;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;

use banister::interval::Mixture;
use banister::lift::{Evidence, difference};
use banister::toolkit::positive;
use banister::{Agent, AgentView, Decision, Error, Outcome, Pending, Registry as _, Round};
use serde::Serialize;

use crate::agents::{AgentSource, CustomAgent};
use crate::experiment::Experiment;
use crate::results::{GuardrailInfo, Results};
use crate::run::{Options, Progress, run};

/// Share of an arm's probability in the best feasible policy from which on it counts as certified.
pub const CERTIFIED: f64 = 0.9;
/// Probability with which an interval of a lift may ever miss it.
pub const ALPHA: f64 = 0.05;
/// First horizon that is tried where none is given; it is doubled up to [`LONGEST`].
const SHORTEST: u64 = 10_000;
/// Longest horizon that is tried where none is given.
pub const LONGEST: u64 = SHORTEST << 7;

/// Question that a plan answers.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Question {
    /// Decisions per run; `None` for the first doubling within which everything happens in every run.
    #[serde(skip)]
    pub horizon: Option<u64>,
    /// Half-width of the interval at which a lift counts as known; `None` if lifts do not matter.
    pub lift: Option<f64>,
    /// Decisions per day, for times in days.
    pub traffic: Option<f64>,
}

/// Answer, as programs get it, with the results of the runs that it comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// The question.
    #[serde(flatten)]
    pub question: Question,
    /// Label of the agent.
    pub agent: String,
    /// δ of its certificates.
    pub delta: f64,
    /// Name of the safe arm.
    pub safe: String,
    /// Decisions per run.
    pub horizon: u64,
    /// Times by arm and event.
    pub times: Vec<Times>,
    /// Guardrails.
    pub guardrails: Vec<GuardrailInfo>,
    /// Per guardrail: expected signal of the policy that came nearest to it, or went farthest beyond.
    pub worst: Vec<Option<f64>>,
    /// Reward per decision of the best feasible policy.
    pub best_reward: f64,
    /// Mean reward lost per decision against that policy.
    pub loss: f64,
    /// Loss per decision that no agent with such certificates gets below: the limit of certified play.
    pub least_loss: Option<f64>,
    /// For each run, whether some policy broke a guardrail.
    pub broken: Vec<bool>,
    /// At decisions in about equal ratios, per arm: 10%, 50% and 90% quantiles over runs of its probability.
    #[serde(skip)]
    pub probability: Vec<(u64, Vec<[f64; 3]>)>,
    /// One instance with one agent.
    #[serde(skip)]
    pub results: Results,
}

/// Decisions until an event of an arm.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Times {
    /// Name of the arm.
    pub arm: String,
    /// `certified`: the first decision whose policy has at least [`CERTIFIED`] of the arm's share. `lift`: the interval of
    /// its lift over the safe arm is narrow enough.
    pub until: &'static str,
    /// Probability of the arm in the best feasible policy.
    pub share: f64,
    /// Median over runs; `None` beyond the horizon.
    pub median: Option<u64>,
    /// 90% quantile over runs.
    pub q90: Option<u64>,
    /// Median in days.
    pub median_days: Option<f64>,
    /// 90% quantile in days.
    pub q90_days: Option<f64>,
    /// Runs in which it did not happen.
    pub missed: usize,
    /// Limit of `certified`, see [`banister::theory::CertifiedPlay::least_outcomes`].
    pub least: Option<u64>,
    /// By run; empty for an arm that the best policy does not play: it is never certified.
    pub runs: Vec<Option<u64>>,
}

impl Times {
    /// The decision by which the event had happened in at least a share of the runs; `None` if it had not.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let time = quantile(self.runs.iter().map(|time| time.unwrap_or(u64::MAX)), share);
        time.filter(|time| *time < u64::MAX)
    }
}

/// The first of the values in order that a share of them do not exceed.
fn quantile<T: PartialOrd + Copy>(values: impl Iterator<Item = T>, share: f64) -> Option<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    let place = (share * values.len() as f64 - 1e-9).ceil().max(1.0);
    values.get(place as usize - 1).copied()
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
    for (field, given) in [("lift", question.lift), ("traffic", question.traffic)] {
        given.map(|x| positive(field, x)).transpose()?;
    }
    let mut horizon = question.horizon.unwrap_or(SHORTEST);
    loop {
        progress.rounds.store(0, Relaxed);
        progress.work.store(0, Relaxed);
        let plan = plan_at(experiment, question, horizon, progress)?;
        let is_complete = |plan: &Plan| plan.times.iter().all(|own| own.missed == 0);
        let is_last = question.horizon.is_some() || horizon >= LONGEST;
        if is_last || plan.as_ref().is_none_or(is_complete) {
            return Ok(plan);
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
    let config = experiment.agents.first().and_then(|own| own.1.config());
    let config = config.ok_or_else(|| {
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
    let (arms, safe, range) = (play.rewards.len(), play.safe, own.resolved.reward.hull());
    let mut shares = vec![0.0; arms];
    (own.optimum.policy.iter()).for_each(|&(arm, share)| shares[arm] = share);
    let needed: Vec<f64> = shares.iter().map(|share| CERTIFIED * share).collect();
    // A reward without a range has no such interval.
    let has_range = own.resolved.reward.sub_gaussian.is_none();
    let lift = question.lift.filter(|_| has_range);
    let (sender, finished) = mpsc::channel();
    let (source, least) = (AgentSource::from(config.clone()), needed.clone());
    let watched = CustomAgent::new(config.label(), move |problem, seed, run| {
        let statistics = Mixture::default();
        Ok(Box::new(Recorder {
            agent: source.build(problem, seed, run)?,
            needed: least.clone(),
            safe,
            horizon,
            lift,
            rewards: vec![Evidence { statistics, range }; arms],
            t: 0,
            log: (run, vec![[None; 2]; arms], Vec::new()),
            sender: sender.clone(),
        }))
    });
    let own = own.with_agents(vec![watched.deciding_as(config.clone()).into()])?;
    let options = Options { no_timing: true };
    let Some(results) = run(std::slice::from_ref(&own), options, progress)? else {
        return Ok(None);
    };
    // An agent that was only built, to see whether it can be, has seen no round.
    let mut logs: Vec<Log> = finished.try_iter().collect();
    logs.retain(|log| !log.2.is_empty());
    logs.sort_by_key(|log| log.0);
    let instance = &results.instances[0];
    let mut times = Vec::new();
    for arm in (0..arms).filter(|arm| *arm != safe) {
        let is_played = shares[arm] > 0.0;
        let mut add = |until, event: usize, is_awaited: bool, least| {
            let seen = logs.iter().filter(|_| is_awaited);
            let mut own = Times {
                arm: instance.arms[arm].clone(),
                until,
                share: shares[arm],
                least,
                runs: seen.map(|log| log.1[arm][event]).collect(),
                ..Times::default()
            };
            (own.median, own.q90) = (own.quantile(0.5), own.quantile(0.9));
            let days = |time: Option<u64>| Some(time? as f64 / question.traffic?);
            (own.median_days, own.q90_days) = (days(own.median), days(own.q90));
            own.missed = own.runs.iter().filter(|time| time.is_none()).count();
            times.push(own);
        };
        let least = is_played.then(|| play.least_outcomes(arm, needed[arm]));
        add("certified", 0, is_played, least.transpose()?.flatten());
        if lift.is_some() {
            add("lift", 1, true, None);
        }
    }
    let probability = |point: usize, arm: usize| {
        let all = || logs.iter().map(|log| log.2[point].1[arm]);
        [0.1, 0.5, 0.9].map(|share| quantile(all(), share).unwrap_or(0.0))
    };
    let rounds = logs[0].2.iter().enumerate();
    let rounds = rounds.map(|(i, (t, _))| (*t, (0..arms).map(|arm| probability(i, arm)).collect()));
    let agent = &instance.agents[0];
    let costs = instance.guardrails.iter().zip(&agent.curve.cost_worst);
    let worst =
        costs.map(|(own, all)| all.iter().copied().reduce(|a, b| own.direction.worse(a, b)));
    let broken = agent.runs.iter().map(|run| run.violations > Some(0));
    let regret: f64 = agent.runs.iter().map(|run| run.regret).sum();
    Ok(Some(Plan {
        question,
        agent: agent.name.clone(),
        delta,
        safe: instance.arms[safe].clone(),
        horizon,
        times,
        guardrails: instance.guardrails.clone(),
        worst: worst.collect(),
        best_reward: instance.optimum.reward,
        loss: regret / logs.len() as f64 / horizon as f64,
        least_loss: agent.limit.map(|limit| limit / horizon as f64),
        broken: broken.collect(),
        probability: rounds.collect(),
        results,
    }))
}

/// Number of a run, its times by arm and event, and policies now and then.
type Log = (u64, Vec<[Option<u64>; 2]>, Vec<(u64, Vec<f64>)>);

/// An agent whose policies and outcomes are watched.
struct Recorder {
    agent: Box<dyn Agent>,
    /// Probability from which on an arm is certified.
    needed: Vec<f64>,
    safe: usize,
    horizon: u64,
    lift: Option<f64>,
    rewards: Vec<Evidence>,
    /// Decisions so far.
    t: u64,
    log: Log,
    sender: mpsc::Sender<Log>,
}

impl Recorder {
    /// Looks at lifts, if the last policy was put down.
    fn look(&mut self) {
        let (_, times, policies) = &mut self.log;
        let is_time = policies.last().is_some_and(|own| own.0 == self.t);
        let Some(most) = self.lift.filter(|_| is_time) else {
            return;
        };
        let unknown = self.rewards.iter().zip(times).enumerate();
        let unknown = unknown.filter(|(arm, (_, times))| *arm != self.safe && times[1].is_none());
        for (_, (own, times)) in unknown {
            let ends = difference(own, &self.rewards[self.safe], (1.0 / ALPHA).ln());
            if ends.upper - ends.lower <= 2.0 * most {
                times[1] = Some(self.t);
            }
        }
    }
}

impl Agent for Recorder {
    fn decide(&mut self, round: &Round) -> Result<&Decision, Error> {
        self.look();
        let decision = self.agent.decide(round)?;
        self.t += 1;
        let (_, times, policies) = &mut self.log;
        for &(arm, probability) in &decision.policy {
            if probability >= self.needed[arm] {
                times[arm][0].get_or_insert(self.t);
            }
        }
        let last = policies.last().map_or(0, |own| own.0);
        if self.t > last + last / 50 || self.t == self.horizon {
            let policy = (0..times.len()).map(|arm| decision.probability(arm));
            policies.push((self.t, policy.collect()));
        }
        Ok(decision)
    }

    fn observe(&mut self, outcome: &Outcome) -> Result<(), Error> {
        let own = &mut self.rewards[outcome.action];
        let [lo, hi] = own.range;
        (own.statistics).push(((outcome.reward - lo) / (hi - lo)).clamp(0.0, 1.0));
        self.agent.observe(outcome)
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
        self.look();
        // Nobody waits for it where the plan has failed.
        let _ = self.sender.send(std::mem::take(&mut self.log));
    }
}
