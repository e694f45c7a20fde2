//! Plans: decisions until an arm is certified and until its lift is known.

use std::sync::mpsc;

use banister::interval::Mixture;
use banister::lift::{Evidence, difference};
use banister::toolkit::positive;
use banister::{Agent, AgentView, Decision, Error, Event, Registry as _, Round};
use serde::Serialize;

use crate::agents::{AgentSource, CustomAgent};
use crate::experiment::Experiment;
use crate::results::Results;
use crate::run::{Options, Progress, run};

/// Share of an arm's probability in the best feasible policy from which on it counts as certified.
pub const CERTIFIED: f64 = 0.9;
/// Probability with which an interval of a lift may ever miss it.
pub const ALPHA: f64 = 0.05;

/// Times by arm, with the results of the runs that they come from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// Half-width of the interval at which a lift counts as known; `None` if lifts do not matter.
    pub lift: Option<f64>,
    /// Decisions per day, for times in days.
    pub traffic: Option<f64>,
    /// Times by arm and event.
    pub times: Vec<Times>,
    /// At decisions in about equal ratios, per arm: 10%, 50% and 90% quantiles over runs of its probability.
    #[serde(skip)]
    pub probability: Vec<(u64, Vec<[f64; 3]>)>,
    /// One instance with one agent.
    #[serde(skip)]
    pub results: Results,
}

/// Decisions until an event of an arm, to about 2%.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Times {
    /// Name of the arm.
    pub arm: String,
    /// `certified`: a policy has at least [`CERTIFIED`] of the arm's share. `lift`: the interval of its lift over the
    /// safe arm is narrow enough.
    pub until: &'static str,
    /// Probability of the arm in the best feasible policy.
    pub share: f64,
    /// Median over runs; `None` beyond the horizon.
    pub median: Option<u64>,
    /// 90% quantile over runs.
    pub q90: Option<u64>,
    /// Limit of `certified`, see [`banister::theory::CertifiedPlay::least_outcomes`].
    pub least: Option<u64>,
    /// By run; empty for an arm that the best policy does not play: it is never certified.
    pub runs: Vec<Option<u64>>,
}

/// The first of the values in order that a share of them do not exceed.
fn quantile<T: PartialOrd + Copy>(values: impl Iterator<Item = T>, share: f64) -> Option<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let place = (share * values.len() as f64 - 1e-9).ceil().max(1.0);
    values.get(place as usize - 1).copied()
}

/// Plans with the first agent of an experiment, on the current rayon pool. `None` if cancelled.
///
/// # Errors
/// Actions with features, or whose means change; an agent with a floor; a `lift` or `traffic` that is not above 0.
pub fn plan(
    experiment: &Experiment,
    lift: Option<f64>,
    traffic: Option<f64>,
    progress: &Progress,
) -> Result<Option<Plan>, Error> {
    for (field, given) in [("lift", lift), ("traffic", traffic)] {
        given.map(|x| positive(field, x)).transpose()?;
    }
    let config = experiment.agents.first().and_then(|own| own.1.config());
    let config = config.filter(|own| own.floor() == 0.0).ok_or_else(|| {
        // The best policy that shares are of has no floor.
        let allowed = "a plan needs an agent by its kind, such as `opb`, and without a floor";
        Error::invalid("agent[0]", "absent, user-supplied or with a floor", allowed)
    })?;
    let play = experiment.certified_play(config.delta()).ok_or_else(|| {
        let allowed = "a plan needs arms without features whose means stay";
        Error::invalid("environment", "of another kind", allowed)
    })?;
    let (arms, safe, horizon) = (play.rewards.len(), play.safe, play.horizon);
    let reward = &experiment.resolved.reward;
    let (statistics, range) = (Mixture::default(), reward.hull());
    // A reward without a range has no such interval.
    let width = lift.filter(|_| reward.sub_gaussian.is_none());
    let (sender, finished) = mpsc::channel();
    let source = AgentSource::from(config.clone());
    let mut watched = CustomAgent::new(config.label(), move |problem, seed, run| {
        Ok(Box::new(Recorder {
            agent: source.build(problem, seed, run)?,
            safe,
            horizon,
            width,
            rewards: vec![Evidence { statistics, range }; arms],
            t: 0,
            log: (run, vec![None; arms], Vec::new()),
            sender: sender.clone(),
        }))
    });
    watched.config = Some(config.clone());
    let own = (experiment.clone()).with_agents(vec![watched.into()])?;
    let Some(results) = run(&[own], Options { no_timing: true }, progress)? else {
        return Ok(None);
    };
    let mut logs: Vec<Log> = finished.try_iter().collect();
    logs.sort_by_key(|log| log.0);
    let names = &results.instances[0].arms;
    let mut times = Vec::new();
    for arm in (0..arms).filter(|arm| *arm != safe) {
        let best = experiment.optimum.policy.iter().find(|own| own.0 == arm);
        let share = best.map_or(0.0, |own| own.1);
        let mut add = |until, least, runs: Vec<Option<u64>>| {
            let by = |q| quantile(runs.iter().map(|own| own.unwrap_or(u64::MAX)), q);
            let [median, q90] = [0.5, 0.9].map(|q| by(q).filter(|time| *time < u64::MAX));
            times.push(Times {
                arm: names[arm].clone(),
                until,
                share,
                median,
                q90,
                least,
                runs,
            });
        };
        let is_certified = |own: &&(u64, Vec<f64>)| own.1[arm] >= CERTIFIED * share;
        let certified = |log: &Log| Some(log.2.iter().find(is_certified)?.0);
        let runs = logs.iter().filter(|_| share > 0.0).map(certified);
        let least = play.least_outcomes(arm, CERTIFIED * share)?;
        add("certified", least.filter(|_| share > 0.0), runs.collect());
        if width.is_some() {
            add("lift", None, logs.iter().map(|log| log.1[arm]).collect());
        }
    }
    let point = |i: usize| {
        let of = |arm: usize, q| quantile(logs.iter().map(|log| log.2[i].1[arm]), q).unwrap_or(0.0);
        let each = (0..arms).map(|arm| [0.1, 0.5, 0.9].map(|q| of(arm, q)));
        (logs[0].2[i].0, each.collect())
    };
    Ok(Some(Plan {
        lift,
        traffic,
        times,
        probability: (0..logs[0].2.len()).map(point).collect(),
        results,
    }))
}

/// Number of a run, decisions until lifts are known, and policies now and then.
type Log = (u64, Vec<Option<u64>>, Vec<(u64, Vec<f64>)>);

/// An agent whose policies and outcomes are watched, at decisions that are 2% apart.
struct Recorder {
    agent: Box<dyn Agent>,
    safe: usize,
    horizon: u64,
    /// Half-width at which a lift is known.
    width: Option<f64>,
    rewards: Vec<Evidence>,
    /// Decisions so far.
    t: u64,
    log: Log,
    sender: mpsc::Sender<Log>,
}

impl Agent for Recorder {
    fn decide(&mut self, round: &Round) -> Result<&Decision, Error> {
        let decision = self.agent.decide(round)?;
        let (_, known, policies) = &mut self.log;
        let last = policies.last().map_or(0, |own| own.0);
        let is_last = self.t + 1 == self.horizon;
        if self.t >= last + last / 50 || is_last {
            for (arm, own) in self.rewards.iter().enumerate() {
                let is_open = arm != self.safe && known[arm].is_none();
                if let Some(width) = self.width.filter(|_| is_open) {
                    let ends = difference(own, &self.rewards[self.safe], (1.0 / ALPHA).ln());
                    known[arm] = (ends.upper - ends.lower <= 2.0 * width).then_some(self.t);
                }
            }
            let policy = (0..known.len()).map(|arm| decision.probability(arm));
            policies.push((self.t + 1, policy.collect()));
        }
        self.t += 1;
        if is_last {
            // It has no receiver where the plan has failed.
            let _ = self.sender.send(std::mem::take(&mut self.log));
        }
        Ok(decision)
    }

    fn apply(&mut self, event: &Event) -> Result<(), Error> {
        if let Event::Outcome(outcome) = event {
            let own = &mut self.rewards[outcome.action];
            let [lo, hi] = own.range;
            (own.statistics).push(((outcome.reward - lo) / (hi - lo)).clamp(0.0, 1.0));
        }
        self.agent.apply(event)
    }

    fn view(&self) -> AgentView<'_> {
        self.agent.view()
    }
}
