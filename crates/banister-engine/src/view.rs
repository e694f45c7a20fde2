//! Experiments as people look at them.

use std::sync::Arc;

use banister::{Assumption, Fallback, Guarantee, Guardrail, Monitor, SignalConfig};
use banister_rivals::AgentConfig;
use schemars::JsonSchema;
use serde::Serialize;

use crate::declaration::{Declaration, DefaultOutcome, Kind, round};
use crate::experiment::{AlarmRaised, Counts, Experiment, ExperimentStatus, RecordedAlarm};
use crate::history::GuardrailPoint;
use crate::published::{Published, shown};
use crate::refusal::Refusal;
use crate::request::{Answer, Life, Request, shown_id};
use crate::state::State;
use crate::time::Timestamp;

/// An experiment.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Experiment")]
pub struct ExperimentView {
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Whether it decides.
    pub status: ExperimentStatus,
    /// Whether the caller's own action is what happens.
    pub shadow: bool,
    /// When it was created.
    pub created: Timestamp,
    /// The arms, retired ones too; none where decisions bring candidates.
    pub arms: Vec<ArmView>,
    /// Numbers that every decision brings as its context.
    pub context: Option<usize>,
    /// Features of the candidates that every decision brings.
    pub dimension: Option<usize>,
    /// Features of the safe action, with `dimension`.
    pub safe_action: Option<Vec<f64>>,
    /// Name of the safe arm.
    pub safe: Option<String>,
    /// The reward signal.
    pub reward: SignalConfig,
    /// The guardrails.
    pub guardrails: Vec<Guardrail>,
    /// The probability with which all bounds in certificates hold, and with them what the agent promises.
    pub confidence: f64,
    /// The agent.
    pub agent: AgentConfig,
    /// What it promises about the guardrails: the default agents are safe in every round.
    pub guarantee: Guarantee,
    /// The assumptions that its certificates rest on, and whether something watches each.
    pub rests_on: Vec<Assumption>,
    /// Outcomes are learned this many seconds after their decisions, in the order of decisions.
    pub ttl_seconds: Option<f64>,
    /// The outcome of a decision that never got one; without it such decisions are counted as missing.
    pub default_outcome: Option<DefaultOutcome>,
    /// What has happened so far.
    pub counts: Counts,
    /// Whether the safe action is forced now.
    pub alarm: Option<AlarmView>,
    /// Alarms that nobody has acknowledged yet, oldest first.
    pub alarms: Vec<RaisedView>,
    /// Its last event in the log.
    pub number: u64,
}

/// An arm.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Arm")]
pub struct ArmView {
    /// What it is called.
    pub name: String,
    /// Whether it is on offer.
    pub offered: bool,
    /// Whether it is the safe one.
    pub safe: bool,
    /// Its features, where arms have any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<f64>>,
}

/// The safe action is forced.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Alarm")]
pub struct AlarmView {
    /// Why.
    pub reason: FallbackView,
    /// Since when.
    pub since: Timestamp,
    /// The first decision that was.
    pub decision: Option<String>,
}

/// An alarm: an assumption is false, at the level of its test.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "RaisedAlarm")]
pub struct RaisedView {
    /// Number of its event.
    pub number: u64,
    /// When it was raised.
    pub since: Timestamp,
    /// The alarm.
    #[serde(flatten)]
    pub alarm: AlarmRaised,
    /// When a person acknowledged it.
    pub acknowledged: Option<Timestamp>,
}

impl From<&RecordedAlarm> for RaisedView {
    fn from(recorded: &RecordedAlarm) -> Self {
        Self {
            number: recorded.number,
            since: Timestamp(recorded.since),
            alarm: recorded.alarm.clone(),
            acknowledged: recorded.acknowledged.map(Timestamp),
        }
    }
}

/// Evidence that a guardrail is breached, over time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Evidence")]
pub struct EvidenceView {
    /// Name of the guardrail.
    pub guardrail: String,
    /// True if a detector watches it.
    pub watched: bool,
    /// (Outcomes watched, log10 of the largest evidence since the point before).
    pub points: Vec<(u64, f64)>,
    /// log10 of the evidence at which an alarm is raised.
    pub alarm_at: f64,
}

/// Why the safe action was forced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Fallback")]
pub enum FallbackView {
    /// The safe action's costs are not known well enough yet to prove any margin.
    MarginNotProven,
    /// The solver gave no policy that checks.
    SolverFailed,
    /// Rounding may have undone the regression: features are too long for `lambda`.
    IllConditioned,
    /// The experiment is paused.
    Paused,
    /// An alarm was raised and nobody has acknowledged it yet.
    Alarm,
    /// The solver used up its work before it had a policy that checks.
    Budget,
}

impl From<Fallback> for FallbackView {
    fn from(fallback: Fallback) -> Self {
        match fallback {
            Fallback::MarginNotProven => Self::MarginNotProven,
            Fallback::IllConditioned => Self::IllConditioned,
            Fallback::Paused => Self::Paused,
            Fallback::Alarm => Self::Alarm,
            Fallback::Budget => Self::Budget,
            // Reasons that are not known here yet: the agent could not do better.
            _ => Self::SolverFailed,
        }
    }
}

/// An estimated mean and the interval that holds it.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "Estimate")]
pub struct EstimateView {
    /// The estimate; null before the first outcome.
    pub mean: Option<f64>,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

impl From<banister::Estimate> for EstimateView {
    fn from(estimate: banister::Estimate) -> Self {
        Self {
            mean: estimate.mean,
            lower: estimate.lower,
            upper: estimate.upper,
        }
    }
}

/// What is believed of an action, in the units of certificates.
#[derive(Debug, Clone)]
pub struct Beliefs {
    /// Outcomes of it.
    pub pulls: Option<u64>,
    /// Its reward.
    pub reward: EstimateView,
    /// Its signal under each guardrail; relative ones as the excess over the factor times the safe mean.
    pub guardrails: Vec<EstimateView>,
}

/// The live picture of an experiment.
#[derive(Debug)]
pub struct StateView {
    /// The experiment's last event.
    pub number: u64,
    /// When the picture was taken.
    pub time: Timestamp,
    /// Outcomes known.
    pub outcomes: u64,
    /// The policy now; for experiments whose decisions bring their actions, the last one.
    pub published: Option<Arc<Published>>,
    /// Facts of the candidates it chooses among; empty for arms.
    pub candidates: Vec<Option<String>>,
    /// Facts, to call actions by.
    pub facts: Arc<crate::experiment::Facts>,
    /// Every arm: number, whether it is on offer, what is believed.
    pub arms: Vec<(usize, bool, Beliefs)>,
    /// Whether the safe action is forced.
    pub alarm: Option<AlarmView>,
    /// Alarms that nobody has acknowledged yet, oldest first.
    pub alarms: Vec<RaisedView>,
    /// Evidence of breaches, one entry per guardrail; none for agents that are not watched.
    pub evidence: Vec<EvidenceView>,
    /// Decisions whose time to live is over and whose outcome never came, by arm: of how many, how many.
    pub missing: Vec<(u64, u64)>,
    /// One decision in this many is watched for breaches; more than 1 where outcomes come very late.
    pub watched_one_in: u64,
}

/// The trace of an experiment.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "History")]
pub struct HistoryView {
    /// Policies over time, oldest first.
    pub points: Vec<PointView>,
    /// Counts by the minute, oldest first; minutes without any are left out.
    pub per_minute: Vec<MinuteView>,
    /// Alarms, acknowledged ones too, oldest first.
    pub alarms: Vec<RaisedView>,
}

/// A policy at some moment.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Point")]
pub struct PointView {
    /// When it was published.
    pub time: Timestamp,
    /// Its estimated reward.
    pub reward: EstimateView,
    /// Its optimistic reward.
    pub optimistic_reward: f64,
    /// Whether it was the safe action, forced.
    pub forced: bool,
    /// One entry per guardrail.
    pub guardrails: Vec<GuardrailPoint>,
}

/// Counts of one minute.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Minute")]
pub struct MinuteView {
    /// Its beginning.
    pub time: Timestamp,
    /// Decisions.
    pub decisions: u64,
    /// Outcomes.
    pub outcomes: u64,
    /// Decisions where the safe action was forced.
    pub forced: u64,
}

/// What monitoring wants to know.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// Number of the last event folded.
    pub number: u64,
    /// One entry per experiment.
    pub experiments: Vec<ExperimentStats>,
}

/// One experiment's numbers.
#[derive(Debug, Clone)]
pub struct ExperimentStats {
    /// What it is called.
    pub name: String,
    /// What has happened.
    pub counts: Counts,
    /// Slack of the latest policy by guardrail.
    pub slacks: Vec<(String, f64)>,
    /// Whether the safe action is forced now.
    pub is_forced: bool,
    /// Alarms that nobody has acknowledged yet.
    pub alarms: u64,
}

impl ExperimentView {
    /// The experiment that a declaration would make.
    pub fn preview(declaration: &Declaration) -> Result<Self, Refusal> {
        let checked = declaration.check()?;
        let experiment = Experiment::made(0, Timestamp::now(), checked);
        experiment
            .map(|experiment| Self::new(&experiment))
            .map_err(Refusal::unavailable)
    }

    pub(crate) fn new(experiment: &Experiment) -> Self {
        let checked = &experiment.checked;
        let declaration = &checked.declaration;
        let arms = experiment.arms.iter().enumerate();
        Self {
            name: declaration.name.clone(),
            description: declaration.description.clone(),
            status: experiment.status,
            shadow: declaration.shadow,
            created: experiment.created,
            arms: arms
                .map(|(number, arm)| ArmView {
                    name: arm.name.clone(),
                    offered: arm.offered,
                    safe: number == checked.safe,
                    features: arm.features.clone(),
                })
                .collect(),
            context: declaration.context,
            dimension: declaration.dimension,
            safe_action: declaration.safe_action.clone(),
            safe: declaration.safe.clone(),
            reward: declaration.reward,
            guardrails: declaration.guardrails.clone(),
            confidence: round(1.0 - checked.config.delta()),
            agent: checked.config.clone(),
            guarantee: checked.config.guarantee(),
            ttl_seconds: declaration.ttl_seconds,
            default_outcome: declaration.default_outcome.clone(),
            counts: experiment.counts,
            rests_on: assumptions(experiment),
            alarm: alarm(experiment),
            alarms: experiment.open_alarms().map(RaisedView::from).collect(),
            number: experiment.number,
        }
    }
}

/// The assumptions behind certificates. With a time to live an outcome's arrival says nothing about it, and
/// what never comes has a declared default or is watched.
fn assumptions(experiment: &Experiment) -> Vec<Assumption> {
    let mut list = experiment.facts.assumptions.clone();
    if experiment.checked.declaration.ttl_seconds.is_some() {
        for assumption in &mut list {
            assumption.watched |= assumption.text.starts_with("outcomes arrive");
        }
    }
    list
}

fn alarm(experiment: &Experiment) -> Option<AlarmView> {
    experiment.alarm.map(|alarm| AlarmView {
        reason: alarm.reason.into(),
        since: Timestamp(alarm.since),
        decision: alarm.decision.map(|number| shown_id(None, number)),
    })
}

/// A belief in the units of certificates, given the safe action's.
pub fn beliefs(
    experiment: &banister::CheckedProblem,
    belief: &banister::ArmEstimate,
    safe: Option<&banister::ArmEstimate>,
    is_safe: bool,
) -> Beliefs {
    let guardrails = experiment.guardrails.iter().zip(&belief.costs).enumerate();
    Beliefs {
        pulls: belief.pulls,
        reward: belief.reward.into(),
        guardrails: guardrails
            .map(|(i, (guardrail, &own))| {
                let safe = safe.and_then(|s| s.costs.get(i));
                shown(guardrail, own, safe, is_safe).into()
            })
            .collect(),
    }
}

/// Answers a request that only reads.
pub(crate) fn read(state: &mut State, request: Request) -> Result<Answer, Refusal> {
    match request {
        Request::List => Ok(Answer::List(
            state.experiments().map(ExperimentView::new).collect(),
        )),
        Request::Show(name) => {
            let experiment = state.experiment(&name)?;
            Ok(Answer::Experiment(Box::new(ExperimentView::new(
                experiment,
            ))))
        }
        Request::Lives => Ok(Answer::Lives(lives(state))),
        Request::Look(name) => look(state.experiment(&name)?),
        Request::Trace(name) => Ok(trace(state.experiment(&name)?)),
        Request::Facts(name) => Ok(Answer::Facts(state.experiment(&name)?.facts.clone())),
        Request::Digest(name) => {
            let experiment = state.experiment(&name)?;
            Ok(Answer::Digest(experiment.digest(), experiment.number))
        }
        _ => Ok(Answer::Stats(stats(state))),
    }
}

fn lives(state: &State) -> Vec<Life> {
    let alive = state
        .experiments()
        .filter(|experiment| experiment.status != ExperimentStatus::Archived);
    alive
        .filter_map(|experiment| {
            Some(Life {
                experiment: experiment.key,
                ttl_seconds: experiment.checked.declaration.ttl_seconds?,
                settled: experiment.settled,
            })
        })
        .collect()
}

fn look(experiment: &mut Experiment) -> Result<Answer, Refusal> {
    let published = match experiment.checked.kind {
        // Of one that samples the last one that was drawn, not another.
        Kind::Arms if !experiment.agent().samples() || experiment.latest.is_none() => {
            Some(experiment.policy()?.1)
        }
        _ => (experiment.latest.as_ref()).map(|latest| latest.published.clone()),
    };
    let candidates = (experiment.latest.as_ref()).map_or_else(Vec::new, |l| l.candidates.clone());
    let all = experiment.beliefs();
    let safe = experiment.checked.safe;
    let safe = (all.iter().find(|(number, _)| *number == safe)).map(|(_, belief)| belief.clone());
    let mut arms: Vec<(usize, bool, Beliefs)> = (all.iter())
        .map(|(number, belief)| {
            let is_safe = *number == experiment.checked.safe;
            let view = beliefs(&experiment.checked.standard, belief, safe.as_ref(), is_safe);
            (*number, experiment.arms[*number].offered, view)
        })
        .collect();
    arms.sort_by_key(|arm| arm.0);
    Ok(Answer::State(Box::new(StateView {
        number: experiment.number,
        time: Timestamp::now(),
        outcomes: experiment.agent().outcomes(),
        published,
        candidates,
        facts: experiment.facts.clone(),
        missing: (0..experiment.arms.len())
            .map(|arm| {
                let counts = experiment.missing.of(arm).copied().unwrap_or_default();
                (counts.matured, counts.missing)
            })
            .collect(),
        arms,
        alarm: alarm(experiment),
        alarms: experiment.open_alarms().map(RaisedView::from).collect(),
        evidence: evidence(experiment),
        watched_one_in: experiment.agent().monitor().map_or(1, Monitor::stride),
    })))
}

fn evidence(experiment: &Experiment) -> Vec<EvidenceView> {
    let Some(monitor) = experiment.agent().monitor() else {
        return Vec::new();
    };
    let guardrails = experiment.facts.guardrails.iter().enumerate();
    guardrails
        .map(|(i, name)| EvidenceView {
            guardrail: name.clone(),
            watched: monitor.watches(i),
            points: monitor.evidence(i).to_vec(),
            alarm_at: monitor.run_length().log10(),
        })
        .collect()
}

fn trace(experiment: &Experiment) -> Answer {
    let points = experiment.history.points().iter().map(|point| PointView {
        time: Timestamp(point.time),
        reward: point.reward.into(),
        optimistic_reward: point.optimistic_reward,
        forced: point.forced,
        guardrails: point.guardrails.clone(),
    });
    let minutes = experiment.history.minutes().map(|minute| MinuteView {
        time: Timestamp(minute.time),
        decisions: minute.decisions,
        outcomes: minute.outcomes,
        forced: minute.forced,
    });
    Answer::History(Box::new(HistoryView {
        points: points.collect(),
        per_minute: minutes.collect(),
        alarms: experiment.alarms.iter().map(RaisedView::from).collect(),
    }))
}

fn stats(state: &State) -> Stats {
    let experiments = state.experiments().map(|experiment| {
        let latest = experiment.latest.as_ref();
        let guardrails = latest.map_or(&[][..], |latest| &latest.published.guardrails);
        let slacks = std::iter::zip(&experiment.facts.guardrails, guardrails);
        ExperimentStats {
            name: experiment.facts.experiment.clone(),
            counts: experiment.counts,
            slacks: slacks.map(|(name, g)| (name.clone(), g.slack)).collect(),
            is_forced: experiment.alarm.is_some(),
            alarms: experiment.open_alarms().count() as u64,
        }
    });
    Stats {
        number: state.number,
        experiments: experiments.collect(),
    }
}
