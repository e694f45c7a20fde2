//! An agent of the core with what Python keeps beside it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use banister::fields::Fields;
use banister::monitor::Alarm;
use banister::{
    AlarmAnswer, Choice, ContextArms, Error, Event, Model, Origin, Outcome, Pending, Problem, Round,
};
use banister_rivals::AgentConfig;
use pyo3::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

use crate::decision::{ActionSet, AlarmText, Decision, Naming, Policy};
use crate::error::{raise, refused};
use crate::identity::{Identity, mixed};

/// Decisions of one call that are announced one by one: a monitor waits for about as many.
const LONG: usize = 1024;

/// Source of draws unless a generator is given.
pub(crate) struct Sampler {
    pub seed: u64,
    pub rng: ChaCha8Rng,
}

impl Sampler {
    pub(crate) fn new(seed: u64) -> Self {
        let rng = ChaCha8Rng::seed_from_u64(seed);
        Self { seed, rng }
    }

    /// A uniform number in [0, 1), as simulations draw it.
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// An agent of the core with what Python keeps beside it.
pub(crate) struct AgentState {
    pub agent: Box<dyn banister::Agent>,
    pub problem: Problem,
    pub config: AgentConfig,
    pub sampler: Sampler,
    pub interface: Interface,
    pub set: Arc<ActionSet>,
    pub index: HashMap<String, usize>,
    /// True after a call that failed half-way, by a mistake of ours.
    pub is_broken: bool,
    /// The latest decision whose outcome has come.
    watched: u64,
    /// Decisions since the last outcome.
    unannounced: VecDeque<Unannounced>,
    /// The alarm that decisions show, in words.
    described: Option<(Alarm, AlarmText)>,
}

/// Names that Python has for arms, contexts, segments and decisions; snapshots have them beside the agent's own.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Interface {
    pub identity: Identity,
    pub naming: Naming,
    /// Fields that contexts are made from, where they have names.
    pub fields: Option<Fields>,
    /// Fields that segments are made from; none where segments have plain names.
    pub segment_fields: Vec<String>,
    pub round: LastRound,
    /// Time of the last decision, as the caller gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// Number of resets.
    pub resets: u64,
    /// The last decision before the latest reset: outcomes up to it teach, and nothing waits for them.
    pub reset_after: u64,
}

impl Interface {
    pub(crate) fn new(identity: Identity, naming: Naming) -> Self {
        Self {
            identity,
            naming,
            fields: None,
            segment_fields: Vec::new(),
            round: LastRound::Arms,
            time: None,
            resets: 0,
            reset_after: 0,
        }
    }
}

/// Actions of the last round: a decision that brings none is among them, and numbers are theirs.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LastRound {
    #[default]
    Arms,
    Offered(Vec<f64>),
    Context(Arc<[f64]>),
}

impl LastRound {
    pub(crate) fn choice(&self) -> Choice<'_> {
        match self {
            Self::Arms => Choice::Arms,
            Self::Offered(features) => Choice::Offered(features),
            Self::Context(context) => Choice::Context(context),
        }
    }
}

/// Decisions of one policy that the agent does not know of yet.
struct Unannounced {
    first: u64,
    /// The action of each.
    drawn: SmallVec<[usize; 1]>,
    /// Probability of the safe action.
    safe: f64,
    policy: Arc<Policy>,
}

impl AgentState {
    pub(crate) fn new(
        mut agent: Box<dyn banister::Agent>,
        problem: Problem,
        config: AgentConfig,
        sampler: Sampler,
        interface: Interface,
    ) -> Self {
        let guardrails = problem.guardrails.iter().map(|g| g.name.clone());
        let costs = problem.measured().into_iter().map(|own| own.name);
        let promises = problem
            .guardrails
            .iter()
            .map(|g| (g.signal.cap.is_some(), g.in_words()));
        let mut state = Self {
            set: Arc::new(ActionSet {
                guardrails: Arc::new(guardrails.collect()),
                costs: Arc::new(costs.collect()),
                signals: problem.signals.keys().cloned().collect(),
                promises: Arc::new(promises.collect()),
                assumptions: Arc::new(banister::assumptions(&mut *agent)),
                ..ActionSet::default()
            }),
            index: HashMap::new(),
            problem,
            config,
            sampler,
            interface,
            is_broken: false,
            agent,
            watched: 0,
            unannounced: VecDeque::new(),
            described: None,
        };
        state.refresh_arms();
        state
    }

    /// Starts the random stream of an agent that samples to decide: from the same seed as the draws of
    /// actions, but never the same stream as they, nor the same one again after a reset.
    pub(crate) fn seed_agent(&mut self) {
        let life = 1 + self.interface.resets;
        let (seed, stream) = (self.sampler.seed, life);
        // Of a random stream there is nothing to refuse.
        let _ = self.agent.apply(&Event::Reseeded { seed, stream });
    }

    /// Follows a change of the arms.
    pub(crate) fn refresh_arms(&mut self) {
        self.index.clear();
        if self.interface.naming != Naming::Places {
            self.index.extend(self.names().into_iter().zip(0..));
        }
        self.refresh_set();
    }

    /// Remembers the actions of a round.
    pub(crate) fn enter(&mut self, round: LastRound) {
        self.interface.round = round;
        // In contexts the arms are the same.
        if self.set.by_features || matches!(self.interface.round, LastRound::Offered(_)) {
            self.refresh_set();
        }
    }

    /// Follows a change of the actions on offer.
    pub(crate) fn refresh_set(&mut self) {
        let (names, actions, safe) = match &self.interface.round {
            LastRound::Offered(rows) => {
                let safe_action = self.safe_action();
                let mut rows = rows.chunks_exact(safe_action.len().max(1));
                let count = rows.len();
                // It comes after the last if it is not among them.
                let safe = rows.position(|x| x == safe_action);
                let actions = count + usize::from(safe.is_none());
                (Vec::new(), actions, safe.unwrap_or(count))
            }
            _ => {
                let names = self.names();
                let actions = names.len();
                (names, actions, self.problem.safe)
            }
        };
        self.set = Arc::new(ActionSet {
            names,
            naming: self.interface.naming,
            guardrails: Arc::clone(&self.set.guardrails),
            costs: Arc::clone(&self.set.costs),
            signals: self.set.signals.clone(),
            promises: Arc::clone(&self.set.promises),
            assumptions: Arc::clone(&self.set.assumptions),
            actions,
            safe,
            by_features: matches!(self.interface.round, LastRound::Offered(_)),
            agent: self.interface.identity.id,
        });
    }

    /// A log was learned: certificates rest on more.
    pub(crate) fn refresh_assumptions(&mut self) {
        Arc::make_mut(&mut self.set).assumptions =
            Arc::new(banister::assumptions(&mut *self.agent));
    }

    /// Features of the safe action, where it has any of its own.
    fn safe_action(&self) -> &[f64] {
        let features = self.problem.features.get(self.problem.safe);
        features.map_or(&[], |x| x)
    }

    /// Features of an action of the last round, where it has any.
    fn features(&self, action: usize) -> Option<Box<[f64]>> {
        if !self.config.takes_features() {
            return None;
        }
        if let LastRound::Context(context) = &self.interface.round {
            let arms = context_arms(&self.problem, &self.config);
            return Some(arms.map_or_else(
                || Box::from(&**context),
                |arms| arms.features(action, context).into(),
            ));
        }
        if self.set.by_features {
            return self.offered(action).map(Box::from);
        }
        let arm = self.agent.view().arms.get(action)?;
        let features = arm.features.as_ref();
        Some(match features.or(self.problem.features.get(action)) {
            Some(x) => Box::from(&x[..]),
            // Arms are their own features.
            None => (0..self.set.actions)
                .map(|i| f64::from(u8::from(i == action)))
                .collect(),
        })
    }

    /// Features of an action that was offered by them.
    fn offered(&self, action: usize) -> Option<&[f64]> {
        let LastRound::Offered(rows) = &self.interface.round else {
            return None;
        };
        let d = self.safe_action().len();
        let row = rows.chunks_exact(d.max(1)).nth(action);
        row.or_else(|| (action == self.set.safe).then(|| self.safe_action()))
    }

    /// Features of actions of the last round, one after another, where they were offered by them.
    pub(crate) fn numbered(&self, actions: &[usize]) -> Result<Option<Vec<f64>>, Error> {
        if !self.set.by_features {
            return Ok(None);
        }
        let last = self.set.actions - 1;
        let rows = (actions.iter())
            .map(|&arm| self.offered(arm).ok_or(Error::NoSuchArm { arm, last }))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Some(rows.concat()))
    }

    /// Finds an arm by its name.
    pub(crate) fn find(&self, name: &str) -> Result<usize, Error> {
        let unknown = || Error::UnknownArm {
            name: name.to_owned(),
            known: self.names().join(", "),
        };
        self.index.get(name).copied().ok_or_else(unknown)
    }

    /// Names of all arms.
    pub(crate) fn names(&self) -> Vec<String> {
        let arms = self.agent.view().arms.iter();
        arms.map(|arm| arm.name.clone()).collect()
    }

    /// Returns the key of a batch, its first decision, if it is too long to be announced one by one.
    pub(crate) fn batch(&self, size: usize) -> Option<u64> {
        (size > LONG).then_some(self.interface.identity.last + 1)
    }

    /// Decides and draws: among the actions of the last round unless others are offered. `given` is a user-supplied
    /// uniform number, `batch` the key by [`AgentState::batch`].
    pub(crate) fn decide(
        &mut self,
        offered: Option<Choice<'_>>,
        (segment, time): (Option<&str>, Option<f64>),
        given: Option<f64>,
        batch: Option<u64>,
    ) -> Result<Decision, Error> {
        let round = Round {
            choice: offered.unwrap_or(self.interface.round.choice()),
            segment,
            time,
            ..Round::default()
        };
        let mut core = self.agent.decide(&round)?.clone();
        self.interface.time = time;
        match offered {
            None | Some(Choice::Arms) => {}
            Some(Choice::Context(context)) => self.enter(LastRound::Context(context.into())),
            Some(Choice::Offered(features)) => self.enter(LastRound::Offered(features.to_vec())),
        }
        let alarm = core.alarm.as_mut().map(|alarm| self.describe(alarm));
        self.draw(&Arc::new(Policy::new(core, alarm, batch, time)), given)
    }

    /// Draws from a policy just decided.
    pub(crate) fn draw(
        &mut self,
        policy: &Arc<Policy>,
        given: Option<f64>,
    ) -> Result<Decision, Error> {
        let drawn = match policy.core.policy[..] {
            // A policy on one arm needs no random number.
            [(only, _)] => only,
            _ => policy.draw(given.unwrap_or_else(|| self.sampler.uniform())),
        };
        let decision = Decision {
            features: self.features(drawn),
            context: match &self.interface.round {
                LastRound::Context(context) => Some(Arc::clone(context)),
                _ => None,
            },
            policy: Arc::clone(policy),
            set: Arc::clone(&self.set),
            drawn,
            serial: self.interface.identity.next(),
        };
        if self.agent.view().monitor.is_none() {
            return Ok(decision);
        }
        if policy.batch.is_some() || self.unannounced.len() >= LONG {
            self.announce()?;
        }
        let safe = decision.safe_probability();
        let pending = Pending {
            decision: decision.serial,
            action: drawn,
            segment: decision.segment_name(),
            safe_probability: policy.batch.is_none().then_some(safe),
            excess: policy.excess(),
            time: policy.time,
        };
        let sums = self.keeps_sums();
        // In segments those that are dropped count too: which ones are may depend on the segment. Sums pay for all.
        if policy.batch.is_some() || pending.segment.is_some() || sums {
            self.agent.apply(&Event::Drawn(&pending))?;
        }
        if policy.batch.is_some() || sums {
            return Ok(decision);
        }
        match self.unannounced.back_mut() {
            Some(last) if Arc::ptr_eq(&last.policy, policy) => last.drawn.push(drawn),
            _ => self.unannounced.push_back(Unannounced {
                first: decision.serial,
                drawn: smallvec![drawn],
                safe,
                policy: Arc::clone(policy),
            }),
        }
        Ok(decision)
    }

    /// True if some guardrail is over a sum: every decision is then another one.
    pub(crate) fn keeps_sums(&self) -> bool {
        (self.problem.guardrails.iter()).any(|own| own.over.is_some())
    }

    /// Announces decisions to the agent, which then waits for their outcomes: not those that were
    /// dropped, as where somebody only looked at the policy, and in segments gives those up. Outcomes come after
    /// that.
    #[inline]
    pub(crate) fn announce(&mut self) -> Result<(), Error> {
        while let Some(one) = self.unannounced.pop_front() {
            let is_kept = Arc::strong_count(&one.policy) > 1 || one.policy.is_pickled();
            for (decision, &action) in (one.first..).zip(&one.drawn) {
                let pending = Pending {
                    decision,
                    action,
                    segment: one.policy.segment_name(),
                    safe_probability: Some(one.safe),
                    excess: one.policy.excess(),
                    time: one.policy.time,
                };
                match (is_kept, pending.segment) {
                    (true, None) => self.agent.apply(&Event::Drawn(&pending))?,
                    (false, Some(_)) => self.agent.apply(&Event::Lost(&pending))?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Describes an alarm in words, and numbers its arm as the actions on offer do.
    fn describe(&mut self, alarm: &mut Alarm) -> AlarmText {
        let declared = *alarm;
        if declared.arm == Some(self.problem.safe) {
            alarm.arm = Some(self.set.safe);
        }
        if let Some((known, text)) = &self.described
            && *known == declared
        {
            return text.clone();
        }
        let view = self.agent.view();
        let arm = declared.arm.and_then(|arm| view.arms.get(arm));
        let name = arm.map(|arm| arm.name.as_str());
        let segment = declared.segment.and_then(|s| view.segment_names.get(s));
        let segment = segment.map(String::as_str);
        let message = match self.problem.check() {
            Ok(problem) => declared.describe(&problem, name, segment),
            Err(error) => error.to_string(),
        };
        let text = AlarmText {
            message: message.into(),
            segment: segment.map(Into::into),
        };
        self.described = Some((declared, text.clone()));
        text
    }

    /// The unacknowledged alarms.
    pub(crate) fn alarms(&mut self) -> Vec<(Alarm, AlarmText)> {
        let alarms = self.agent.view().monitor.map(|m| m.alarms().to_vec());
        let mut alarms = alarms.unwrap_or_default();
        let described = alarms
            .iter_mut()
            .map(|alarm| (self.describe(alarm), *alarm));
        described.map(|(text, alarm)| (alarm, text)).collect()
    }

    /// Goes on with other draws, and as an agent of its own, in a process that was forked: its siblings
    /// would draw the same actions, and number their decisions alike.
    #[inline]
    pub(crate) fn follow_fork(&mut self) {
        if let Some(process) = self.interface.identity.follow_fork() {
            self.sampler = Sampler::new(mixed(self.sampler.seed, process));
            self.seed_agent();
            Arc::make_mut(&mut self.set).agent = self.interface.identity.id;
        }
    }

    /// Forgets all outcomes; prices stay. Serials go on, so that no decision is taken for one of an earlier life.
    pub(crate) fn reset(&mut self) -> Result<(), Error> {
        let mut agent = self.config.build(&self.problem)?;
        let declared = self.agent.view().arms.iter().take(self.problem.arms.len());
        for (number, arm) in declared.enumerate() {
            if !arm.weights.is_empty() {
                agent.apply(&Event::Weights(number, &arm.weights))?;
            }
        }
        self.agent = agent;
        self.unannounced.clear();
        let interface = &mut self.interface;
        interface.resets += 1;
        interface.reset_after = interface.identity.last;
        interface.round = LastRound::Arms;
        interface.identity.forget_outcomes();
        self.seed_agent();
        self.refresh_arms();
        Ok(())
    }

    /// Clears the alarms.
    pub(crate) fn acknowledge(&mut self) -> Result<(), Error> {
        (self.agent).apply(&Event::Answered(AlarmAnswer::Acknowledge))
    }

    /// Takes the outcomes of decisions: all, or none. `argument` is the one that they were given by.
    pub(crate) fn observe(
        &mut self,
        decisions: &[Decision],
        argument: &str,
        rewards: &[f64],
        costs: &[f64],
    ) -> PyResult<()> {
        self.announce().map_err(raise)?;
        self.interface.identity.check(decisions, argument)?;
        let played = decisions.iter().map(Decision::played);
        let played: SmallVec<[_; 1]> = played.collect();
        let origin = self.origin(decisions);
        let m = costs.len() / decisions.len().max(1);
        let outcomes = decisions.iter().enumerate().map(|(i, one)| Outcome {
            action: one.drawn,
            choice: match (&one.context, &played[i]) {
                (Some(context), _) => Choice::Context(context),
                (None, Some(x)) => Choice::Offered(x),
                (None, None) => Choice::Arms,
            },
            segment: one.segment_name(),
            reward: rewards[i],
            costs: &costs[i * m..(i + 1) * m],
            origin: origin(one),
            time: one.policy.time,
            claims: (one.policy.core.claims(one.drawn)).filter(|_| origin(one) != Origin::Logged),
        });
        let taken = banister::observe_all(&mut *self.agent, outcomes);
        taken.map_err(|error| refused(error, &self.set.costs, rewards, costs))?;
        for one in decisions {
            self.watched = self.watched.max(one.serial);
            self.interface.identity.note_outcome(one.serial);
        }
        Ok(())
    }

    /// Origin of each of some outcomes. In segments those of a long batch ([`Policy::batch`]) count if they come in the
    /// order of decisions, with none omitted: what segments share is watched in that order.
    fn origin(&self, decisions: &[Decision]) -> impl Fn(&Decision) -> Origin + Clone + use<> {
        let first = decisions.first();
        let starts = first.is_some_and(|one| {
            one.serial == self.watched + 1
                || (one.policy.batch == Some(one.serial) && one.serial > self.watched)
        });
        let follow = |pair: &[Decision]| {
            pair[1].serial == pair[0].serial + 1 && pair[1].policy.batch == pair[0].policy.batch
        };
        let is_in_order = starts && decisions.windows(2).all(follow);
        let reset_after = self.interface.reset_after;
        move |one| match (one.policy.batch, one.segment_name()) {
            _ if one.serial <= reset_after => Origin::Logged,
            (None, _) => Origin::Announced(one.serial),
            (Some(_), Some(_)) if !is_in_order => Origin::Logged,
            (Some(_), _) => Origin::InOrder(one.serial),
        }
    }
}

/// Features of the arms in contexts, where all share one parameter.
pub(crate) fn context_arms(problem: &Problem, config: &AgentConfig) -> Option<ContextArms> {
    Some(ContextArms {
        arms: problem.arms.len(),
        safe: problem.safe,
        numbers: problem
            .context
            .filter(|_| config.model() == Model::Shared)?,
    })
}
