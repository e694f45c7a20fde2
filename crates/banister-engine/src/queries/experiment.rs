//! Experiments as people look at them; what answers need of a declaration, imports, and the digest of what is learned.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use banister::guarantee::Guarantee;
use banister::monitor::Assumption;
use banister::{
    AgentConfig, ArmRanges, ArmWeights, Fallback, Guardrail, Measured, OnBreach, Registry as _,
    SignalConfig,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::Query;
use crate::events::to_json;
use crate::object::OneOrMany;
use crate::refusal::Refusal;
use crate::state::{
    BudgetView, Counts, Declaration, DeclaredContext, DefaultOutcome, EngineState, Experiment,
    ExperimentInfo, ExperimentStatus, Flag, ForcedSafe, Imported, RecordedAlarm, Rollout, Segments,
    StopWhen, Unit, round,
};
use crate::store::Scope;
use crate::time::{ClockSets, Timestamp};

/// Bytes after which a part of a list ends, whatever its limit: experiments may be large.
const MOST_BYTES: usize = 8 << 20;

/// Asks for experiments, oldest first.
#[derive(Debug)]
pub struct ListExperiments {
    /// Name of the experiment before the first one asked for; `None`: from the oldest on.
    pub after: Option<String>,
    /// Most entries; there are less where they are large.
    pub limit: usize,
    /// Those that the caller may see; `None`: all.
    pub scope: Option<Scope>,
}

/// Asks for the summaries of experiments, oldest first.
#[derive(Debug)]
pub struct SummariseExperiments(pub ListExperiments);

/// A part of a list.
#[derive(Debug)]
pub struct Page<T> {
    pub entries: Vec<Arc<RenderedView<T>>>,
    /// Name of the last one, if there are more.
    pub next: Option<String>,
}

/// A view of an experiment, made once per event of it and shared by all who ask.
#[derive(Debug)]
pub struct RenderedView<T> {
    view: T,
    rendered: OnceLock<String>,
}

impl<T: Serialize> RenderedView<T> {
    fn new(view: T) -> Self {
        Self {
            view,
            rendered: OnceLock::new(),
        }
    }

    /// Renders the view as JSON once, for all who ask.
    pub fn json(&self) -> Result<&str, Refusal> {
        if let Some(rendered) = self.rendered.get() {
            return Ok(rendered);
        }
        let json = to_json(&self.view)?;
        Ok(self.rendered.get_or_init(|| json))
    }
}

impl<T> Deref for RenderedView<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.view
    }
}

impl ListExperiments {
    fn page<T>(
        self,
        state: &mut EngineState,
        make: fn(&mut Experiment, &ClockSets, Timestamp) -> Arc<RenderedView<T>>,
    ) -> Result<Page<T>, Refusal> {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        let (sets, now) = (state.clock_sets().clone(), state.now);
        let mut last: Option<Arc<ExperimentInfo>> = None;
        for experiment in state.experiments_after(self.after.as_deref())? {
            let scope = self.scope.as_ref();
            if scope.is_some_and(|scope| !scope.covers(&experiment.info.experiment)) {
                continue;
            }
            if entries.len() == self.limit || bytes > MOST_BYTES {
                let next = last.map(|info| info.experiment.clone());
                return Ok(Page { entries, next });
            }
            bytes += size(experiment);
            last = Some(experiment.info.clone());
            entries.push(make(experiment, &sets, now));
        }
        Ok(Page {
            entries,
            next: None,
        })
    }
}

/// About the bytes of an experiment as JSON.
fn size(experiment: &Experiment) -> usize {
    let features = experiment
        .arms
        .first()
        .and_then(|arm| arm.features.as_ref());
    let arm = 64 + 20 * features.map_or(0, Vec::len);
    2000 + experiment.checked.declaration.description.len() + arm * experiment.arms.len()
}

impl Query for ListExperiments {
    type Answer = Page<ExperimentView>;

    fn answer(self, state: &mut EngineState) -> Result<Page<ExperimentView>, Refusal> {
        self.page(state, view)
    }
}

impl Query for SummariseExperiments {
    type Answer = Page<ExperimentSummary>;

    fn answer(self, state: &mut EngineState) -> Result<Page<ExperimentSummary>, Refusal> {
        self.0.page(state, |experiment, sets, now| {
            let make = || RenderedView::new(ExperimentSummary::new(experiment, sets, now));
            let shown = (experiment.number, experiment.budgets.stamp(now));
            experiment.summary_cache.get(shown, make)
        })
    }
}

fn view(
    experiment: &mut Experiment,
    sets: &ClockSets,
    now: Timestamp,
) -> Arc<RenderedView<ExperimentView>> {
    let make = || RenderedView::new(ExperimentView::new(experiment, sets, now));
    let shown = (experiment.number, experiment.budgets.stamp(now));
    experiment.view_cache.get(shown, make)
}

/// Asks for one experiment.
#[derive(Debug)]
pub struct ReadExperiment(pub Arc<str>);

impl Query for ReadExperiment {
    type Answer = Arc<RenderedView<ExperimentView>>;

    fn answer(self, state: &mut EngineState) -> Result<Self::Answer, Refusal> {
        let (sets, now) = (state.clock_sets().clone(), state.now);
        let experiment = state.experiment(&self.0)?;
        Ok(view(experiment, &sets, now))
    }
}

/// An experiment in a list, without what may be long.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ExperimentSummary {
    /// Name.
    pub name: String,
    /// Description for people.
    pub description: String,
    /// Status: running, paused or archived.
    pub status: ExperimentStatus,
    /// True in shadow mode: the caller's own action is what happens.
    pub shadow: bool,
    /// Time of creation.
    pub created: Timestamp,
    /// Arms that are offered.
    pub arms_offered: usize,
    /// Context that every decision brings: how many numbers, or its fields.
    pub context: Option<DeclaredContext>,
    /// Features of the candidates that every decision brings.
    pub dimension: Option<usize>,
    /// The guardrails.
    pub guardrails: Vec<Guardrail>,
    /// Guarantee of the agent about the guardrails: the default agents are safe in every round.
    pub guarantee: Guarantee,
    /// Counts so far.
    pub counts: Counts,
    /// Set while the safe action is forced.
    pub alarm: Option<ForcedSafe>,
    /// Set while a budget refuses decisions.
    pub refusing: Option<Refusing>,
    /// Unacknowledged alarms, oldest first.
    pub alarms: Vec<RecordedAlarm>,
    /// Its last event in the log.
    pub number: u64,
}

impl ExperimentSummary {
    fn new(experiment: &Experiment, sets: &ClockSets, now: Timestamp) -> Self {
        let checked = &experiment.checked;
        let declaration = &checked.declaration;
        Self {
            name: declaration.name.clone(),
            description: declaration.description.clone(),
            status: experiment.status,
            shadow: declaration.shadow,
            created: experiment.created,
            arms_offered: experiment.arms.iter().filter(|arm| arm.offered).count(),
            context: declaration.context.clone(),
            dimension: declaration.dimension,
            guardrails: declaration.guardrails.clone(),
            guarantee: checked.config.guarantee(),
            counts: experiment.counts,
            alarm: alarm(experiment, sets, now),
            refusing: Refusing::now(experiment, sets, now),
            alarms: experiment.open_alarms().cloned().collect(),
            number: experiment.number,
        }
    }
}

/// An experiment.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Experiment")]
pub struct ExperimentView {
    /// The summary that lists show, too.
    #[serde(flatten)]
    pub summary: ExperimentSummary,
    /// The arms, retired ones too; none where decisions bring candidates.
    pub arms: Vec<ArmView>,
    /// Unit that is randomised and learned in place of single decisions, with its period in seconds.
    pub unit: Option<Unit>,
    /// Promise to units in words: what is certified of them, and what is not.
    pub certified: Option<String>,
    /// Segments as declared, where every decision has one.
    pub segments: Option<Segments>,
    /// Features of the safe action, with `dimension`.
    pub safe_action: Option<Vec<f64>>,
    /// Name of the safe arm.
    pub safe: Option<String>,
    /// The reward signal.
    pub reward: SignalConfig,
    /// Signals that guardrails are weighted sums of, by name.
    pub signals: BTreeMap<String, Measured>,
    /// The probability with which no policy ever violates a guardrail; certificates state beside it that of the
    /// regret bound.
    pub confidence: f64,
    /// The agent.
    pub agent: AgentConfig,
    /// Reaction to alarms in force; null where nothing watches the agent.
    pub on_breach: Option<OnBreach>,
    /// The assumptions that its certificates rest on, and whether something watches each.
    pub rests_on: Vec<Assumption>,
    /// Outcomes are learned this many seconds after their decisions, in the order of decisions.
    pub ttl_seconds: Option<f64>,
    /// The outcome of a decision that never got one; without it such decisions are counted as missing.
    pub default_outcome: Option<DefaultOutcome>,
    /// Condition under which the policy settles without a request.
    pub stop_when: Option<StopWhen>,
    /// Time at which it settled: it explores no more, and is watched as before.
    pub settled: Option<Timestamp>,
    /// The flag that it is to OpenFeature clients.
    pub flag: Option<Flag>,
    /// When it runs, and how much of the traffic it may lead away from the safe action.
    pub rollout: Option<Rollout>,
    /// Most of the traffic that it may lead away now, where there is a rollout.
    pub share: Option<f64>,
    /// True if all arms are declared to be the same.
    pub a_a: bool,
    /// Budgets over time, by guardrail.
    pub budgets: BTreeMap<String, OneOrMany<BudgetView>>,
}

impl Deref for ExperimentView {
    type Target = ExperimentSummary;

    fn deref(&self) -> &ExperimentSummary {
        &self.summary
    }
}

/// An arm.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Arm")]
pub struct ArmView {
    /// Name.
    pub name: String,
    /// False once it is retired.
    pub offered: bool,
    /// True for the safe one.
    pub safe: bool,
    /// Its features, where arms have any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<f64>>,
    /// Its ranges, by signal (`reward`, or a guardrail's name), where they are by arm.
    #[serde(skip_serializing_if = "ArmRanges::is_empty")]
    pub ranges: ArmRanges,
    /// Weights in force, by guardrail and by signal, where guardrails are weighted sums.
    #[serde(skip_serializing_if = "ArmWeights::is_empty")]
    pub weights: ArmWeights,
}

/// Budget that refuses decisions, since its rest does not cover the safe action.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Refusing {
    /// Guardrail whose budget it is.
    pub guardrail: String,
    /// End of the period.
    pub until: Timestamp,
}

impl Refusing {
    fn now(experiment: &Experiment, sets: &ClockSets, now: Timestamp) -> Option<Self> {
        let (guardrail, until) = experiment.refused_by(sets, now)?;
        Some(Self { guardrail, until })
    }
}

impl ExperimentView {
    /// The experiment that a declaration would make.
    pub fn preview(declaration: &Declaration) -> Result<Self, Refusal> {
        let checked = declaration.check()?;
        let experiment = Experiment::made(0, Timestamp::now(), checked);
        experiment
            .map(|experiment| Self::new(&experiment, &ClockSets::default(), Timestamp::now()))
            .map_err(Refusal::unavailable)
    }

    pub(crate) fn new(experiment: &Experiment, sets: &ClockSets, now: Timestamp) -> Self {
        let checked = &experiment.checked;
        let declaration = &checked.declaration;
        let arms = experiment.arms.iter().enumerate();
        Self {
            summary: ExperimentSummary::new(experiment, sets, now),
            arms: arms
                .map(|(number, arm)| ArmView {
                    name: arm.name.clone(),
                    offered: arm.offered,
                    safe: number == checked.safe,
                    features: arm.features.clone(),
                    ranges: checked.standard.arm_ranges(number),
                    weights: checked.standard.arm_weights(number),
                })
                .collect(),
            unit: declaration.unit.clone(),
            certified: declaration.unit.as_ref().map(Unit::in_words),
            segments: experiment.info.segments.clone(),
            safe_action: declaration.safe_action.clone(),
            safe: declaration.safe.clone(),
            reward: declaration.reward.clone(),
            signals: declaration.signals.clone(),
            confidence: round(1.0 - checked.config.delta()),
            agent: checked.config.clone(),
            on_breach: experiment.on_breach(),
            rests_on: assumptions(experiment),
            ttl_seconds: declaration.ttl_seconds,
            default_outcome: declaration.default_outcome.clone(),
            stop_when: declaration.stop_when,
            settled: experiment.settled,
            flag: declaration.flag.clone(),
            rollout: declaration.rollout.clone(),
            share: experiment.share,
            a_a: declaration.a_a,
            budgets: experiment.budget_views(sets, now),
        }
    }
}

/// The assumptions behind certificates. With a time to live an outcome's arrival says nothing about it, and
/// what never comes has a declared default or is watched.
fn assumptions(experiment: &Experiment) -> Vec<Assumption> {
    let mut list = experiment.info.assumptions.clone();
    if experiment.checked.declaration.ttl_seconds.is_some() {
        for assumption in &mut list {
            assumption.watched |= assumption.text.starts_with("outcomes arrive");
        }
    }
    if experiment.counts.imported > 0 {
        list.push(Assumption::of_log());
    }
    list
}

/// The reason for which the last decision was forced, unless money that is free again has ended it.
pub(super) fn alarm(
    experiment: &Experiment,
    sets: &ClockSets,
    now: Timestamp,
) -> Option<ForcedSafe> {
    let is_over = |reason| reason == Fallback::BudgetExhausted && experiment.is_covered(sets, now);
    (experiment.trace.alarm.clone()).filter(|alarm| !is_over(alarm.reason))
}

/// Asks for the digest and the number of the experiment's last event: equal events, equal digests.
#[derive(Debug)]
pub struct ReadDigest(pub Arc<str>);

impl Query for ReadDigest {
    type Answer = (String, u64);

    fn answer(self, state: &mut EngineState) -> Result<(String, u64), Refusal> {
        let experiment = state.experiment(&self.0)?;
        let digest = experiment
            .digest()
            .map_err(|e| Refusal::unavailable(e.to_string()))?;
        Ok((digest, experiment.number))
    }
}

#[derive(Debug)]
pub struct ReadExperimentInfo(pub Arc<str>);

impl Query for ReadExperimentInfo {
    type Answer = Arc<ExperimentInfo>;

    fn answer(self, state: &mut EngineState) -> Result<Arc<ExperimentInfo>, Refusal> {
        Ok(state.experiment(&self.0)?.info.clone())
    }
}

/// Asks for the imports of an experiment, oldest first.
#[derive(Debug)]
pub struct ReadImports(pub Arc<str>);

impl Query for ReadImports {
    type Answer = Vec<Imported>;

    fn answer(self, state: &mut EngineState) -> Result<Vec<Imported>, Refusal> {
        Ok(state.experiment(&self.0)?.imports.clone())
    }
}
