//! An agent of the core with what Python keeps beside it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use banister::{Alarm, Origin, Outcomes, Played, Problem};
use banister_rivals::AgentConfig;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::context::Contextual;
use crate::decision::{ActionSet, AlarmText, Decision, Labels, Naming, Policy};
use crate::error::refused;
use crate::serials::Serials;

/// This process among those forked from one another: 0 for the first of them.
static PROCESS: AtomicU64 = AtomicU64::new(0);
/// Processes that this one forked.
static CHILDREN: AtomicU64 = AtomicU64::new(0);

/// Follows a fork: called before it, and once more in the child. The n-th child has the same number in every
/// run of a program, and another one than its parent and siblings.
#[pyfunction]
pub(crate) fn _forked(in_child: bool) {
    if in_child {
        let child = CHILDREN.swap(0, Ordering::Relaxed);
        let parent = PROCESS.load(Ordering::Relaxed);
        PROCESS.store(mixed(parent, child), Ordering::Relaxed);
    } else {
        CHILDREN.fetch_add(1, Ordering::Relaxed);
    }
}

/// Decisions of one call that are announced one by one: a monitor waits for about as many.
const LONG: usize = 1024;

/// A number that depends on both in every bit (SplitMix64).
fn mixed(one: u64, other: u64) -> u64 {
    let mut z = one ^ other.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

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
pub(crate) struct State {
    pub agent: Box<dyn banister::Agent>,
    pub problem: Problem,
    pub config: AgentConfig,
    pub kind: String,
    pub sampler: Sampler,
    /// Number of resets.
    pub resets: u64,
    pub naming: Naming,
    /// The arms, where decisions bring a context.
    pub context: Option<Contextual>,
    /// Fields that segments are made from; none where segments have plain names.
    pub segment_fields: Vec<String>,
    pub set: Arc<ActionSet>,
    pub index: HashMap<String, usize>,
    /// True after a call that failed half-way, by a mistake of ours.
    pub is_broken: bool,
    /// True if a monitor watches the outcomes.
    pub is_watched: bool,
    pub identity: Identity,
    /// The latest decision whose outcome has come.
    watched: u64,
    /// Decisions since the last outcome.
    unannounced: VecDeque<Unannounced>,
    /// The alarm that decisions show, in words.
    described: Option<(Alarm, AlarmText)>,
}

/// Decisions of one policy that the monitor does not know of yet.
struct Unannounced {
    /// The first and the last of them.
    serials: (u64, u64),
    /// Probability of the safe action.
    safe: f64,
    policy: Arc<Policy>,
}

/// Identity of an agent, by which it recognises its own decisions.
pub(crate) struct Identity {
    pub id: u64,
    /// Agents that this one was forked from, each with the last decision that they have in common.
    pub ancestors: Vec<(u64, u64)>,
    pub serials: Serials,
    /// The process that it decides in.
    process: u64,
}

impl Identity {
    pub(crate) fn new(id: u64, ancestors: Vec<(u64, u64)>, serials: Serials) -> Self {
        Self {
            id,
            ancestors,
            serials,
            process: PROCESS.load(Ordering::Relaxed),
        }
    }

    /// True if it, or an agent that it was forked from, made a decision.
    pub(crate) fn made(&self, agent: u64, serial: u64) -> bool {
        let is_older = |&(id, last): &(u64, u64)| id == agent && serial <= last;
        self.id == agent || self.ancestors.iter().any(is_older)
    }
}

/// Decisions whose outcomes are observed together.
#[derive(Default)]
pub(crate) struct Decided {
    /// Numbers among the arms.
    pub numbers: Vec<usize>,
    pub serials: Vec<u64>,
    /// Probabilities that their policies gave the safe action.
    pub safe: Vec<f64>,
    /// Identities of the agents that made them.
    pub agents: Vec<u64>,
    /// Action set they were drawn from, if it is the same for all.
    pub set: Option<Arc<ActionSet>>,
    /// The features of what was played, row after row, if all have any.
    pub rows: Option<Vec<f64>>,
    /// True if some were played at a part of their length, so that a number does not name them.
    pub in_parts: bool,
    /// Names of their segments, where the agent tells them apart.
    pub segments: Vec<String>,
    /// [`Policy::batch`], if it is the same for all.
    pub batch: Option<Option<u64>>,
}

impl State {
    pub(crate) fn new(
        agent: Box<dyn banister::Agent>,
        problem: Problem,
        config: AgentConfig,
        sampler: Sampler,
        (naming, context): (Naming, Option<Contextual>),
        identity: Identity,
    ) -> Self {
        let guardrails = problem.guardrails.iter().map(|g| g.name.clone());
        let capped = problem.guardrails.iter().map(|g| g.cap.is_some());
        let mut state = Self {
            kind: config.kind().to_string(),
            set: Arc::new(ActionSet {
                guardrails: Arc::new(guardrails.collect()),
                capped: Arc::new(capped.collect()),
                assumptions: Arc::new(agent.assumptions()),
                ..ActionSet::default()
            }),
            index: HashMap::new(),
            problem,
            config,
            sampler,
            resets: 0,
            naming,
            context,
            segment_fields: Vec::new(),
            is_broken: false,
            is_watched: agent.monitor().is_some(),
            agent,
            identity,
            watched: 0,
            unannounced: VecDeque::new(),
            described: None,
        };
        state.name_arms();
        state.refresh_set();
        state
    }

    /// Follows a change of the names of a context's arms.
    pub(crate) fn name_arms(&mut self) {
        if let Some(context) = &mut self.context {
            context.label(self.naming);
            if self.naming != Naming::Places {
                self.index = context.arms.iter().cloned().zip(0..).collect();
            }
        }
    }

    /// Starts the random stream of an agent that samples to decide: from the same seed as the draws of
    /// actions, but never the same stream as they, nor the same one again after a reset.
    pub(crate) fn seed_agent(&mut self) {
        self.agent.reseed(self.sampler.seed, 1 + self.resets);
    }

    /// Follows a change of the actions on offer.
    pub(crate) fn refresh_set(&mut self) {
        let actions = self.agent.actions();
        let labels = if let Some(context) = &self.context {
            context.labels(actions.map_or(0, |actions| actions.count))
        } else {
            let names = self.agent.names();
            self.index.clear();
            if self.naming != Naming::Places {
                self.index.extend(names.iter().cloned().zip(0..));
            }
            Labels::new(names, self.naming)
        };
        self.set = Arc::new(ActionSet {
            labels,
            guardrails: Arc::clone(&self.set.guardrails),
            capped: Arc::clone(&self.set.capped),
            assumptions: Arc::clone(&self.set.assumptions),
            actions: actions.map_or(0, |actions| actions.count),
            safe: actions.map_or(0, |actions| actions.safe),
            agent: self.identity.id,
        });
    }

    /// Finds an arm by its name.
    pub(crate) fn find(&self, name: &str) -> Result<usize, banister::Error> {
        let unknown = || banister::Error::UnknownArm {
            name: name.to_owned(),
            known: self.names().join(", "),
        };
        self.index.get(name).copied().ok_or_else(unknown)
    }

    /// Names of all arms.
    pub(crate) fn names(&self) -> &[String] {
        match &self.context {
            Some(context) => &context.arms,
            None => self.agent.names(),
        }
    }

    /// Offers the arms in a context.
    pub(crate) fn enter(&mut self, context: &[f64]) -> Result<(), banister::Error> {
        let Some(arms) = &self.context else {
            return Err(banister::Error::NoFeatures);
        };
        let features = arms.offered(context);
        self.offer(&features).map_err(|error| match error {
            banister::Error::Invalid { value, allowed, .. } => {
                banister::Error::invalid("context", value, allowed)
            }
            other => other,
        })
    }

    /// Enters the segment of the next decision or outcome, where the agent tells them apart.
    pub(crate) fn enter_segment(&mut self, segment: Option<&str>) -> Result<(), banister::Error> {
        segment.map_or(Ok(()), |segment| self.agent.enter(segment))
    }

    /// Features of an arm in a context.
    pub(crate) fn features_in(
        &self,
        arm: usize,
        context: &[f64],
    ) -> Result<Vec<f64>, banister::Error> {
        let Some(arms) = &self.context else {
            return Err(banister::Error::NoFeatures);
        };
        arms.check(arm)?;
        Ok(arms.features().features(arm, context))
    }

    /// Replaces the actions on offer by new ones.
    pub(crate) fn offer(&mut self, actions: &[f64]) -> Result<(), banister::Error> {
        self.agent.offer(actions)?;
        self.refresh_set();
        Ok(())
    }

    /// Returns the key of a batch, its first decision, if it is too long to be announced one by one.
    pub(crate) fn batch(&self, size: usize) -> Option<u64> {
        (size > LONG).then_some(self.identity.serials.last() + 1)
    }

    /// Decides and draws; `given` is a user-supplied uniform number, `batch` the key by [`State::batch`].
    pub(crate) fn decide(&mut self, given: Option<f64>, batch: Option<u64>) -> Decision {
        let mut core = self.agent.decide().clone();
        let alarm = core.alarm.as_mut().map(|alarm| self.describe(alarm));
        self.draw(&Arc::new(Policy::new(core, alarm, batch)), given)
    }

    /// Draws from a policy just decided.
    pub(crate) fn draw(&mut self, policy: &Arc<Policy>, given: Option<f64>) -> Decision {
        let drawn = match policy.core.policy[..] {
            // A policy on one arm needs no random number.
            [(only, _)] => only,
            _ => policy.draw(given.unwrap_or_else(|| self.sampler.uniform())),
        };
        self.agent.drawn(drawn);
        let decision = Decision {
            features: self.agent.features(drawn).map(Box::from),
            policy: Arc::clone(policy),
            set: Arc::clone(&self.set),
            drawn,
            serial: self.identity.serials.next(),
        };
        if self.is_watched {
            if policy.batch.is_some() || self.unannounced.len() >= LONG {
                self.announce();
            }
            if policy.batch.is_some() {
                self.agent.decided(decision.serial, None);
                return decision;
            }
            // In segments those that are dropped count too: which ones are may depend on the segment.
            if policy.core.segment.is_some() {
                let safe = decision.safe_probability();
                self.agent.decided(decision.serial, Some(safe));
            }
            match self.unannounced.back_mut() {
                Some(last) if Arc::ptr_eq(&last.policy, policy) => last.serials.1 = decision.serial,
                _ => self.unannounced.push_back(Unannounced {
                    serials: (decision.serial, decision.serial),
                    safe: decision.safe_probability(),
                    policy: Arc::clone(policy),
                }),
            }
        }
        decision
    }

    /// Announces decisions to the monitor, which then waits for their outcomes: not those that were
    /// dropped, as where somebody only looked at the policy, and in segments gives those up. Outcomes come after
    /// that.
    #[inline]
    pub(crate) fn announce(&mut self) {
        while let Some(one) = self.unannounced.pop_front() {
            let is_kept = Arc::strong_count(&one.policy) > 1 || one.policy.is_pickled();
            for serial in one.serials.0..=one.serials.1 {
                match (is_kept, &one.policy.core.segment) {
                    (true, None) => self.agent.decided(serial, Some(one.safe)),
                    (false, Some(_)) => self.agent.gave_up(serial, None),
                    _ => {}
                }
            }
        }
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
        let name = |arm: usize| match &self.context {
            // Alarms about an arm are about the safe one here.
            Some(context) => context.arms.get(context.safe),
            None => {
                let names = self.problem.arms.get(arm);
                names.or_else(|| self.agent.names().get(arm))
            }
        };
        let name = declared.arm.and_then(name).map(String::as_str);
        let segment = declared.segment.and_then(|s| self.agent.segment_name(s));
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

    /// The alarms that nobody has acknowledged yet.
    pub(crate) fn alarms(&mut self) -> Vec<(Alarm, AlarmText)> {
        let alarms = self.agent.monitor().map(|m| m.alarms().to_vec());
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
        let process = PROCESS.load(Ordering::Relaxed);
        if self.identity.process == process {
            return;
        }
        let identity = &mut self.identity;
        identity.process = process;
        let shared = (identity.id, identity.serials.last());
        identity.ancestors.push(shared);
        identity.id = mixed(identity.id, process);
        self.sampler = Sampler::new(mixed(self.sampler.seed, process));
        self.seed_agent();
        Arc::make_mut(&mut self.set).agent = self.identity.id;
    }

    /// Forgets all outcomes. Serials go on, so that no decision is taken for one of an earlier life.
    pub(crate) fn reset(&mut self) -> Result<(), banister::Error> {
        self.agent = self.config.build(&self.problem)?;
        self.unannounced.clear();
        self.resets += 1;
        self.seed_agent();
        self.refresh_set();
        self.identity.serials.reset();
        // The monitor expects no outcomes of earlier decisions.
        self.agent.decided(self.identity.serials.last(), None);
        self.agent.acknowledge();
        Ok(())
    }

    /// Takes the outcome of a decision.
    #[inline]
    pub(crate) fn observe(
        &mut self,
        decision: &Decision,
        reward: f64,
        costs: &[f64],
    ) -> PyResult<()> {
        let serials = [decision.serial];
        self.announce();
        self.claim(&serials, &[decision.set.agent], "action")?;
        let features = decision.played(&self.set);
        let taken = if self.is_watched && costs.len() == self.set.guardrails.len() {
            let arms = [decision.drawn];
            let safe = [decision.safe_probability()];
            let segment = decision.segment_name().map(|name| [name]);
            self.agent.observe_batch(&Outcomes {
                played: match (&features, &segment) {
                    (Some(x), _) => Played::Features(x),
                    (None, Some(segment)) => Played::InSegments(&arms, segment),
                    (None, None) => Played::Arms(&arms),
                },
                rewards: &[reward],
                costs,
                origin: self.origin(Some(decision.policy.batch), &serials, &safe),
            })
        } else {
            match &features {
                Some(x) => self.agent.observe_at(x, reward, costs),
                None => self.agent.observe(decision.drawn, reward, costs),
            }
        };
        self.settle(&serials, taken, &[reward], costs)
    }

    /// Takes the outcomes of many decisions: all, or none.
    pub(crate) fn observe_many(
        &mut self,
        decided: &Decided,
        rewards: &[f64],
        costs: &[f64],
    ) -> PyResult<()> {
        let serials = &decided.serials[..];
        self.announce();
        self.claim(serials, &decided.agents, "actions")?;
        let is_now = (decided.set.as_ref()).is_some_and(|set| Arc::ptr_eq(set, &self.set));
        let rows = decided.rows.as_deref();
        let rows = rows.filter(|_| !is_now || decided.in_parts);
        let segments: Vec<&str> = decided.segments.iter().map(String::as_str).collect();
        let taken = self.agent.observe_batch(&Outcomes {
            played: match rows {
                Some(x) => Played::Features(x),
                None if !segments.is_empty() => Played::InSegments(&decided.numbers, &segments),
                None => Played::Arms(&decided.numbers),
            },
            rewards,
            costs,
            origin: self.origin(decided.batch, serials, &decided.safe),
        });
        self.settle(serials, taken, rewards, costs)
    }

    /// Origin of outcomes of one batch ([`Policy::batch`]), or of several (`None`). Those of a long batch
    /// count if they come in the order of decisions, with none omitted.
    fn origin<'a>(
        &self,
        batch: Option<Option<u64>>,
        serials: &'a [u64],
        safe: &'a [f64],
    ) -> Origin<'a> {
        let in_order = |first: u64| {
            let starts = serials.first().is_some_and(|&serial| {
                serial == self.watched + 1 || (serial == first && first > self.watched)
            });
            starts && serials.windows(2).all(|pair| pair[1] == pair[0] + 1)
        };
        match batch {
            Some(None) => Origin::Announced(serials),
            Some(Some(first)) if in_order(first) => Origin::InOrder(serials, safe),
            _ => Origin::Logged,
        }
    }

    /// Marks decisions as observed, if this agent made them and none has an outcome yet.
    #[inline]
    fn claim(&mut self, serials: &[u64], agents: &[u64], field: &str) -> PyResult<()> {
        let mut each = std::iter::zip(serials, agents);
        if let Some((serial, _)) = each.find(|&(&s, &agent)| !self.identity.made(agent, s)) {
            return Err(PyValueError::new_err(format!(
                "`{field}` has decision {serial} of another agent: give it to the agent that made it \
                 (in the process that made it), or give its arm by name or number"
            )));
        }
        (self.identity.serials.mark_observed(serials)).map_err(|serial| {
            PyValueError::new_err(format!(
                "`{field}` has decision {serial}, whose outcome was taken before (or which is more than \
                 16 million decisions old): an outcome counts once; if it is another one, give the arm \
                 by name or number"
            ))
        })
    }

    /// Ends what [`State::claim`] began.
    #[inline]
    fn settle(
        &mut self,
        serials: &[u64],
        taken: Result<(), banister::Error>,
        rewards: &[f64],
        costs: &[f64],
    ) -> PyResult<()> {
        if taken.is_ok() {
            self.watched = serials.iter().copied().fold(self.watched, u64::max);
        } else {
            self.identity.serials.unmark(serials);
        }
        taken.map_err(|error| refused(error, &self.set.guardrails, rewards, costs))
    }
}
