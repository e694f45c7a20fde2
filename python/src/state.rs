//! An agent of the core with what Python keeps beside it.

use std::collections::HashMap;
use std::sync::Arc;

use banister::fields::Fields;
use banister::monitor::Alarm;
use banister::session::{Draw, Numbers, Returns};
use banister::{
    Agent, AlarmAnswer, Choice, ContextArms, Error, Event, Model, Problem, Round, Session,
};
use banister_rivals::AgentConfig;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::decision::{ActionSet, AlarmText, Decision, Naming, Policy};
use crate::error::{raise, refused};
use crate::fork::{mixed, process};

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
    pub session: Session<Option<AlarmText>>,
    pub problem: Problem,
    pub config: AgentConfig,
    pub sampler: Sampler,
    pub interface: Interface,
    pub set: Arc<ActionSet>,
    pub index: HashMap<String, usize>,
    /// True after a call that failed half-way, by a mistake of ours.
    pub is_broken: bool,
    /// The alarm that decisions show, in words.
    described: Option<(Alarm, AlarmText)>,
    /// Number of the process that it decides in.
    process: u64,
}

/// Names that Python has for arms, contexts, segments and decisions; snapshots have them beside the agent's own.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Interface {
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
}

impl Interface {
    pub(crate) fn new(naming: Naming) -> Self {
        Self {
            naming,
            fields: None,
            segment_fields: Vec::new(),
            round: LastRound::Arms,
            time: None,
            resets: 0,
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

impl AgentState {
    pub(crate) fn new(
        mut agent: Box<dyn Agent>,
        numbers: Numbers,
        (problem, config): (Problem, AgentConfig),
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
            session: Session::resume(agent, numbers),
            described: None,
            process: process(),
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
        let _ = self.session.agent.apply(&Event::Reseeded { seed, stream });
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
        });
    }

    /// A log was learned: certificates rest on more.
    pub(crate) fn refresh_assumptions(&mut self) {
        Arc::make_mut(&mut self.set).assumptions =
            Arc::new(banister::assumptions(&mut *self.session.agent));
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
        let arm = self.session.agent.view().arms.get(action)?;
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
        let arms = self.session.agent.view().arms.iter();
        arms.map(|arm| arm.name.clone()).collect()
    }

    /// Decides and draws: among the actions of the last round unless others are offered. `given` is a user-supplied
    /// uniform number.
    pub(crate) fn decide(
        &mut self,
        offered: Option<Choice<'_>>,
        (segment, time): (Option<&str>, Option<f64>),
        given: Option<f64>,
        returns: Returns,
    ) -> Result<Decision, Error> {
        let round = Round {
            choice: offered.unwrap_or(self.interface.round.choice()),
            segment,
            time,
            ..Round::default()
        };
        let (problem, described) = (&self.problem, &mut self.described);
        let published = self
            .session
            .decide_for(&round, returns, |agent, decision| {
                let alarm = decision.alarm.as_ref()?;
                Some(describe(problem, described, agent, alarm))
            })?;
        self.interface.time = time;
        match offered {
            None | Some(Choice::Arms) => {}
            Some(Choice::Context(context)) => self.enter(LastRound::Context(context.into())),
            Some(Choice::Offered(features)) => self.enter(LastRound::Offered(features.to_vec())),
        }
        self.draw(&published, given)
    }

    /// Draws from a policy just decided.
    pub(crate) fn draw(
        &mut self,
        published: &Arc<Policy>,
        given: Option<f64>,
    ) -> Result<Decision, Error> {
        let drawn = match published.decision.policy[..] {
            // A policy on one arm needs no random number.
            [(only, _)] => only,
            _ => (published.decision).draw(given.unwrap_or_else(|| self.sampler.uniform())),
        };
        let context = match &self.interface.round {
            LastRound::Context(context) => Some(Arc::clone(context)),
            _ => None,
        };
        let features = self.features(drawn);
        Ok(Decision {
            draw: self.session.draw(published, drawn, features, context)?,
            set: Arc::clone(&self.set),
        })
    }

    /// The unacknowledged alarms.
    pub(crate) fn alarms(&mut self) -> Vec<(Alarm, AlarmText)> {
        let agent = &*self.session.agent;
        let alarms = agent.view().monitor.map_or(&[][..], |m| m.alarms());
        let described = alarms.iter().map(|alarm| {
            let text = describe(&self.problem, &mut self.described, agent, alarm);
            (*alarm, text)
        });
        described.collect()
    }

    /// Goes on with other draws, and as an agent of its own, in a process that was forked: its siblings
    /// would draw the same actions, and number their decisions alike.
    #[inline]
    pub(crate) fn follow_fork(&mut self) {
        let process = process();
        if self.process != process {
            self.process = process;
            self.session
                .split(mixed(self.session.numbers().id, process));
            self.sampler = Sampler::new(mixed(self.sampler.seed, process));
            self.seed_agent();
        }
    }

    /// Forgets all outcomes; prices stay.
    pub(crate) fn reset(&mut self) -> Result<(), Error> {
        let mut agent = self.config.build(&self.problem)?;
        let declared = self
            .session
            .agent
            .view()
            .arms
            .iter()
            .take(self.problem.arms.len());
        for (number, arm) in declared.enumerate() {
            if !arm.weights.is_empty() {
                agent.apply(&Event::Weights(number, &arm.weights))?;
            }
        }
        self.session.restart(agent);
        self.interface.resets += 1;
        self.interface.round = LastRound::Arms;
        self.seed_agent();
        self.refresh_arms();
        Ok(())
    }

    /// Clears the alarms.
    pub(crate) fn acknowledge(&mut self) -> Result<(), Error> {
        self.session
            .agent
            .apply(&Event::Answered(AlarmAnswer::Acknowledge))
    }

    /// Takes the outcomes of decisions: all, or none. `argument` is the one that they were given by.
    pub(crate) fn observe(
        &mut self,
        decisions: &[Decision],
        argument: &str,
        rewards: &[f64],
        costs: &[f64],
    ) -> PyResult<()> {
        let draws: SmallVec<[&Draw<_>; 1]> = decisions.iter().map(|one| &one.draw).collect();
        let taken = self.session.observe(&draws, rewards, costs);
        taken.map_err(|error| match of_decision(&error, argument) {
            Some(own) => own,
            None => refused(error, &self.set.costs, rewards, costs),
        })
    }

    /// Gives up a decision that will have no outcome.
    pub(crate) fn cancel(&mut self, decision: &Decision) -> PyResult<()> {
        let given_up = self.session.cancel(&decision.draw);
        given_up.map_err(|error| of_decision(&error, "decision").unwrap_or_else(|| raise(error)))
    }
}

/// The exception for a decision that is not this agent's, or has an outcome; `argument` is the one that it was given by.
fn of_decision(error: &Error, argument: &str) -> Option<PyErr> {
    let is_of_one = matches!(
        error,
        Error::ForeignDecision { .. } | Error::SecondOutcome { .. }
    );
    is_of_one.then(|| PyValueError::new_err(format!("`{argument}` has {error}")))
}

/// Describes an alarm in words; `described` is the last one.
fn describe(
    problem: &Problem,
    described: &mut Option<(Alarm, AlarmText)>,
    agent: &dyn Agent,
    alarm: &Alarm,
) -> AlarmText {
    if let Some((known, text)) = described
        && known == alarm
    {
        return text.clone();
    }
    let view = agent.view();
    let arm = alarm.arm.and_then(|arm| view.arms.get(arm));
    let name = arm.map(|arm| arm.name.as_str());
    let segment = alarm.segment.and_then(|s| view.segment_names.get(s));
    let segment = segment.map(String::as_str);
    let message = match problem.check() {
        Ok(problem) => alarm.describe(&problem, name, segment),
        Err(error) => error.to_string(),
    };
    let text = AlarmText {
        message: message.into(),
        segment: segment.map(Into::into),
        is_of_safe: alarm.arm == Some(problem.safe),
    };
    *described = Some((*alarm, text.clone()));
    text
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
