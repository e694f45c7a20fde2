//! The class behind `Opb`, `Oplb` and every other agent of the registry.

mod batch;

pub(crate) use batch::DecisionBatch;
use std::sync::{Arc, Mutex, PoisonError};

use banister::oplb::LongFeatures;
use banister::session::Returns;
use banister::toolkit::SegmentView;
use banister::{
    ArmEstimate, ArmOffer, ArmRanges, ArmWeights, Ask, Choice, Event, Origin, Outcome, Round,
};
use banister_rivals::AgentConfig;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use serde_json::Value;

use crate::build;
use crate::decision::{ActionSet, Decision, Naming, alarm_object, by_name, hex};
use crate::error::{guarded, invalid, raise, refused, shown};
use crate::fields;
use crate::input::{Numbers, costs, number, seconds, uniform};
use crate::json::{declared, to_json, to_python};
use crate::segment;
use crate::state::{AgentState, context_arms};

/// More numbers than this in one call, and other Python threads may run meanwhile.
const LONG: usize = 1 << 13;

/// Subject of an outcome.
enum Of {
    /// An action of the set on offer now.
    Action(usize),
    /// A decision, perhaps of an earlier set.
    Earlier(Py<Decision>),
    /// A name.
    Named(String),
}

/// An agent: decides, observes, learns. Make one with its class, e.g. `banister.Opb(...)`.
#[pyclass(subclass, frozen, module = "banister")]
pub(crate) struct Agent {
    state: Mutex<AgentState>,
    guardrails: Arc<Vec<String>>,
    costs: Arc<Vec<String>>,
    /// Length of feature vectors; `None` for agents that take none.
    pub dimension: Option<usize>,
    /// Length of the context that a decision brings; `None` where it brings none.
    context: Option<usize>,
    /// Fields that contexts are made from, where they have names.
    fields: Option<banister::fields::Fields>,
    /// Fields that segments are made from, none where they have plain names; `None` for agents that do not tell
    /// segments apart.
    segments: Option<Vec<String>>,
    /// Longest context that is taken.
    norm: f64,
    naming: Naming,
    /// True if a decision takes so long that other threads should run meanwhile.
    is_slow: bool,
}

/// Reads weights by guardrail, then by signal.
fn weights(value: &Bound<'_, PyAny>) -> PyResult<ArmWeights> {
    if value.is_none() {
        return Ok(ArmWeights::default());
    }
    declared(to_json(value, "weights")?, "weights")
}

impl Agent {
    fn from_state(state: AgentState) -> Self {
        let exact = serde_json::to_value(&state.config)
            .is_ok_and(|config| config.get("solver").and_then(Value::as_str) == Some("exact"));
        let segments =
            build::takes_segments(&state.config).then(|| state.interface.segment_fields.clone());
        let problem = &state.problem;
        let dimension = match (problem.context, problem.features.first()) {
            (Some(numbers), _) => {
                context_arms(problem, &state.config).map_or(numbers, |arms| arms.dimension())
            }
            (None, Some(x)) => x.len(),
            (None, None) => problem.arms.len(),
        };
        let dimension = state.config.takes_features().then_some(dimension);
        Self {
            dimension,
            context: problem.context,
            fields: state.interface.fields.clone(),
            norm: match &state.config {
                AgentConfig::Oplb(own) if own.long_features == LongFeatures::Error => {
                    own.norm.unwrap_or(f64::INFINITY)
                }
                _ => f64::INFINITY,
            },
            naming: state.interface.naming,
            is_slow: exact
                || segments.is_some()
                || problem.arms.len().saturating_mul(dimension.unwrap_or(1)) > LONG,
            segments,
            guardrails: Arc::clone(&state.set.guardrails),
            costs: Arc::clone(&state.set.costs),
            state: Mutex::new(state),
        }
    }

    /// Runs native work on the agent, alone. Without the interpreter's lock if it is `slow`, or
    /// if another thread is at it: waiting with the lock held would stop every thread.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        slow: bool,
        work: impl FnOnce(&mut AgentState) -> R + Send,
    ) -> PyResult<R> {
        let work = |state: &mut AgentState| {
            if state.is_broken {
                return Err(PyRuntimeError::new_err(
                    "this agent failed in the middle of an earlier call and cannot go on: load it from \
                     its last snapshot",
                ));
            }
            let done = guarded(|| {
                state.follow_fork();
                work(state)
            });
            state.is_broken = done.is_err();
            done
        };
        if !slow && let Ok(mut state) = self.state.try_lock() {
            return work(&mut state);
        }
        // A panic does not get past `guarded`, so the lock itself is never poisoned.
        py.detach(|| work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Tells the agent of a change of an arm, by name or number.
    fn change_arm<'e>(
        &self,
        py: Python<'_>,
        arm: &Bound<'_, PyAny>,
        event: impl FnOnce(usize) -> Event<'e> + Send,
    ) -> PyResult<()> {
        let allowed = "must be the name of an arm or its number";
        let arm = build::arm(arm, self.naming, "arm", allowed)?;
        self.with(py, true, |state| {
            let number = arm.or_else(|name| build::place(&state.names(), &name, "arm"))?;
            (state.session.agent.apply(&event(number))).map_err(raise)?;
            state.refresh_arms();
            Ok(())
        })?
    }

    fn of(&self, action: &Bound<'_, PyAny>) -> PyResult<Of> {
        if let Ok(decision) = action.cast_exact::<Decision>() {
            return Ok(Of::Earlier(decision.clone().unbind()));
        }
        let allowed = "must be a Decision, the name of an arm or its number";
        Ok(match build::arm(action, self.naming, "action", allowed)? {
            Ok(number) => Of::Action(number),
            Err(name) => Of::Named(name),
        })
    }

    /// Reads the name of a segment: required of agents with segments, refused by others.
    fn segment(&self, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<String>> {
        self.segments_by(value, "segment", |fields, value| {
            segment::name(fields, value, "segment")
        })
    }

    /// Reads the names of many segments.
    fn segments(
        &self,
        value: Option<&Bound<'_, PyAny>>,
        rows: Option<usize>,
    ) -> PyResult<Option<Vec<String>>> {
        self.segments_by(value, "segments", |fields, value| {
            segment::names(fields, value, "segments", rows)
        })
    }

    fn segments_by<'py, T>(
        &self,
        value: Option<&Bound<'py, PyAny>>,
        name: &str,
        read: impl FnOnce(&[String], &Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        let fields = self.segments.as_deref();
        match (value.filter(|value| !value.is_none()), fields) {
            (None, None) => Ok(None),
            (Some(value), Some(fields)) => read(fields, value).map(Some),
            (Some(_), None) | (None, Some(_)) => Err(segment::misplaced(name, fields)),
        }
    }

    /// Refuses actions where the arms are named.
    fn no_actions(&self, actions: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        if actions.is_some_and(|actions| !actions.is_none()) {
            return Err(PyTypeError::new_err(
                "`actions` is given: the arms of this agent have names, and features from the context",
            ));
        }
        Ok(())
    }

    /// Reads a context, or many as rows of a table: there, if and only if the agent is made for contexts.
    fn contexts<'py>(
        &self,
        value: Option<&Bound<'py, PyAny>>,
        name: &'static str,
        rows: Option<usize>,
    ) -> PyResult<Option<Numbers<'py>>> {
        let (value, length) = match (value.filter(|value| !value.is_none()), self.context) {
            (None, None) => return Ok(None),
            (Some(value), Some(length)) => (value, length),
            (Some(_), None) => {
                return Err(PyTypeError::new_err(format!(
                    "`{name}` is given: this agent has none; make a linear agent with named arms and \
                     `context=` the length of the context, e.g. banister.Oplb([\"a\", \"b\"], context=3, ...)"
                )));
            }
            (None, Some(length)) => {
                let brought = match &self.fields {
                    Some(fields) => {
                        let names: Vec<&str> = fields.0.keys().map(String::as_str).collect();
                        format!("the fields {}", names.join(", "))
                    }
                    None => format!("{length} numbers"),
                };
                return Err(PyTypeError::new_err(format!(
                    "`{name}` is missing: this agent has contexts of {brought}"
                )));
            }
        };
        let value = match &self.fields {
            Some(fields) => &fields::by_name(fields, value, name)?,
            None => value,
        };
        let x = Numbers::new(value, name)?;
        if name == "context" {
            x.expect(&[Some(length)], "the numbers of one context")?;
        } else {
            x.expect(
                &[rows, Some(length)],
                "one row per round, one column per number of the context",
            )?;
        }
        x.finite()?;
        for (i, row) in x.slice()?.chunks_exact(length).enumerate() {
            let own = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            // The room for rounding that the core has.
            if own > self.norm * (1.0 + 1e-12) {
                let place = if name == "context" {
                    name.to_string()
                } else {
                    format!("{name}[{i}]")
                };
                let allowed = format!(
                    "longer than `norm` = {}: declare a larger one, or long_features=\"clip\"",
                    self.norm
                );
                return Err(invalid(
                    &place,
                    format!("a vector of length {own}"),
                    &allowed,
                ));
            }
        }
        Ok(Some(x))
    }
}

#[pymethods]
impl Agent {
    #[new]
    #[classmethod]
    #[pyo3(signature = (**kwargs))]
    fn new(cls: &Bound<'_, PyType>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let kind = cls
            .getattr("kind")
            .and_then(|kind| kind.extract::<String>());
        let kind = kind.map_err(|_| {
            PyTypeError::new_err(
                "Agent has no kind of its own: make a banister.Opb or another agent",
            )
        })?;
        let kwargs = kwargs.map_or_else(|| Ok(PyDict::new(cls.py())), |kwargs| kwargs.copy())?;
        Ok(Self::from_state(build::state(&kind, &kwargs)?))
    }

    /// Decides on an action.
    ///
    /// `actions` (linear agents): the feature vectors to choose among, one row per action; without
    /// it the arms, or the actions offered last. `context` (agents made with `context=`): its numbers, or a
    /// row by name where the agent was made with `Features`. `segment` (`Segmented`): its name, or a dictionary
    /// or tuple of values where segments are made from several fields.
    /// `rng`: a numpy Generator to draw with, instead of the agent's own. `time`: where means drift per hour or day, seconds
    /// on a clock, or a datetime with its time zone.
    ///
    /// >>> import banister
    /// >>> agent = banister.Opb(["control", "bold"], seed=7)
    /// >>> decision = agent.decide()
    /// >>> sorted(decision.policy)
    /// ['bold', 'control']
    #[pyo3(signature = (actions=None, rng=None, *, context=None, segment=None, time=None))]
    fn decide(
        &self,
        py: Python<'_>,
        actions: Option<&Bound<'_, PyAny>>,
        rng: Option<&Bound<'_, PyAny>>,
        context: Option<&Bound<'_, PyAny>>,
        segment: Option<&Bound<'_, PyAny>>,
        time: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Decision> {
        let given = rng.map(uniform).transpose()?;
        let time = time.map(seconds).transpose()?;
        let segment = self.segment(segment)?;
        let context = self.contexts(context, "context", None)?;
        let actions = actions.filter(|actions| !actions.is_none());
        let actions = if context.is_some() {
            self.no_actions(actions)?;
            None
        } else {
            let actions = actions.map(|actions| Numbers::new(actions, "actions"));
            actions.transpose()?
        };
        if let Some(actions) = &actions {
            let meaning = "one row per action, one column per feature";
            actions.expect(&[None, self.dimension], meaning)?;
        }
        let offered = match (&context, &actions) {
            (Some(context), _) => Some(Choice::Context(context.slice()?)),
            (None, Some(actions)) => Some(Choice::Offered(actions.slice()?)),
            (None, None) => None,
        };
        let many = matches!(offered, Some(Choice::Offered(features)) if features.len() > LONG);
        self.with(py, self.is_slow || many, |state| {
            state.decide(
                offered,
                (segment.as_deref(), time),
                given,
                Returns::AnyOrder,
            )
        })?
        .map_err(raise)
    }

    /// Observes an outcome: of a `Decision` (also of one long past), or of an arm by name or number.
    ///
    /// A decision's outcome is taken once, by the agent that made it, in any order. What is given by name or number
    /// counts as the outcome of the last decision. `costs` is a number, a sequence or an array in the order of
    /// `agent.costs`, or by name a dictionary or a pandas Series. Where the agent has contexts or segments, `context` or `segment` goes with a name
    /// or number; a `Decision` has its own, and its `time`: that of what is given by name or number is the last
    /// decision's, unless it is given. Nothing changes if any number is refused.
    ///
    /// >>> import banister
    /// >>> agent = banister.Opb(["control", "bold"], guardrails={"name": "spend", "at_most": 0.5})
    /// >>> agent.observe("control", reward=1.0, costs={"spend": 0.1})
    /// >>> agent.observe(agent.decide(), 0.0, 0.3)
    /// >>> agent.outcomes
    /// 2
    #[pyo3(signature = (action, reward, costs=None, *, context=None, segment=None, time=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python method")]
    fn observe(
        &self,
        py: Python<'_>,
        action: &Bound<'_, PyAny>,
        reward: &Bound<'_, PyAny>,
        costs: Option<&Bound<'_, PyAny>>,
        context: Option<&Bound<'_, PyAny>>,
        segment: Option<&Bound<'_, PyAny>>,
        time: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let reward = number(reward, "reward")?;
        let costs = self::costs(costs, &self.costs)?;
        let of = self.of(action)?;
        let (context, segment) = if let Of::Earlier(_) = of {
            for (name, given) in [("context", context), ("segment", segment), ("time", time)] {
                if given.is_some() {
                    return Err(PyTypeError::new_err(format!(
                        "`{name}` is given: the decision has its own"
                    )));
                }
            }
            (None, None)
        } else {
            let context = self.contexts(context, "context", None)?;
            (context, self.segment(segment)?)
        };
        let context = context.as_ref().map(Numbers::slice).transpose()?;
        let time = time.map(seconds).transpose()?;
        self.with(py, false, |state| {
            let (action, features) = match &of {
                Of::Earlier(decision) => {
                    let decision = std::slice::from_ref(decision.get());
                    return state.observe(decision, "action", &[reward], &costs);
                }
                Of::Action(action) => (*action, state.numbered(&[*action]).map_err(raise)?),
                Of::Named(name) => (state.find(name).map_err(raise)?, None),
            };
            let outcome = Outcome {
                choice: match (context, &features) {
                    (Some(context), _) => Choice::Context(context),
                    (None, Some(features)) => Choice::Offered(features),
                    (None, None) => Choice::Arms,
                },
                segment: segment.as_deref(),
                time,
                ..Outcome::of_arm(action, reward, &costs)
            };
            let taken = state.session.observe_by_arm(std::iter::once(outcome));
            taken.map_err(|error| refused(error, &self.costs, &[reward], &costs))
        })?
    }

    /// Gives up a decision that was not carried out, or whose outcome will never come: it can have none after that. A
    /// decision that is dropped before the agent's next call is given up by itself.
    ///
    /// >>> import banister
    /// >>> agent = banister.Opb(["control", "bold"])
    /// >>> decision = agent.decide()
    /// >>> agent.cancel(decision)
    fn cancel(&self, py: Python<'_>, decision: &Bound<'_, Decision>) -> PyResult<()> {
        let decision = decision.get();
        self.with(py, false, |state| state.cancel(decision))?
    }

    /// Makes many decisions at once, without learning in between.
    ///
    /// `size`: that many draws from the policy for the arms or the actions on offer. `actions`: an
    /// array of shape (rounds, actions, features), one decision for each round. `contexts` (agents made
    /// with `context=`): one row for each round. `segments` (`Segmented`): one for each round, a column or a
    /// table by field. `time`: of all of them, as of `decide`. Without `_is_kept`, outcomes come by name or number.
    ///
    /// >>> import banister
    /// >>> agent = banister.Opb(2, seed=7)
    /// >>> len(agent.decide_batch(1000))
    /// 1000
    #[pyo3(signature = (size=None, actions=None, rng=None, *, contexts=None, segments=None, time=None, _is_kept=true))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python method")]
    fn decide_batch(
        &self,
        py: Python<'_>,
        size: Option<&Bound<'_, PyAny>>,
        actions: Option<&Bound<'_, PyAny>>,
        rng: Option<&Bound<'_, PyAny>>,
        contexts: Option<&Bound<'_, PyAny>>,
        segments: Option<&Bound<'_, PyAny>>,
        time: Option<&Bound<'_, PyAny>>,
        _is_kept: bool,
    ) -> PyResult<DecisionBatch> {
        let rounds = batch::Rounds {
            size,
            actions,
            contexts,
            segments,
            time: time.map(seconds).transpose()?,
        };
        batch::decide(self, py, rounds, rng, _is_kept)
    }

    /// Observes many outcomes at once: all of them, or none if one is refused.
    ///
    /// `actions`: a `DecisionBatch`, a list of decisions, or names or numbers of arms. `features`
    /// instead of `actions` (linear agents): the features of what was played, one row per outcome. `contexts`
    /// (agents made with `context=`) and `segments` (`Segmented`) go with names or numbers, one row per outcome.
    /// With `_is_logged` they are of decisions that others made: they teach, and raise no alarm of a breach.
    ///
    /// >>> import banister
    /// >>> agent = banister.Opb(2, guardrails={"name": "spend", "at_most": 0.5})
    /// >>> agent.observe_batch([0, 1, 0], rewards=[1.0, 0.0, 1.0], costs=[0.1, 0.2, 0.3])
    /// >>> agent.outcomes
    /// 3
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python method")]
    #[pyo3(signature = (actions=None, rewards=None, costs=None, *, features=None, contexts=None, segments=None, _is_logged=false))]
    fn observe_batch(
        &self,
        py: Python<'_>,
        actions: Option<&Bound<'_, PyAny>>,
        rewards: Option<&Bound<'_, PyAny>>,
        costs: Option<&Bound<'_, PyAny>>,
        features: Option<&Bound<'_, PyAny>>,
        contexts: Option<&Bound<'_, PyAny>>,
        segments: Option<&Bound<'_, PyAny>>,
        _is_logged: bool,
    ) -> PyResult<()> {
        let of = batch::Played {
            actions,
            features,
            contexts,
            segments,
        };
        let origin = if _is_logged {
            Origin::Logged
        } else {
            Origin::Immediate
        };
        batch::observe(self, py, of, (rewards, costs), origin)
    }

    /// Unacknowledged alarms, the oldest first; empty for an agent that is not watched.
    ///
    /// >>> import banister
    /// >>> banister.Opb(2).alarms
    /// []
    #[getter]
    fn alarms<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (alarms, set) =
            self.with(py, false, |state| (state.alarms(), Arc::clone(&state.set)))?;
        (alarms.iter())
            .map(|(alarm, told)| alarm_object(py, &set, alarm, told))
            .collect()
    }

    /// Clears the alarms, once a person has seen them: their tests start anew, and the safe action is not
    /// forced any more.
    fn acknowledge(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, false, AgentState::acknowledge)?
            .map_err(raise)
    }

    /// The assumptions that certificates rest on: pairs of a text, and True if a monitor watches it.
    ///
    /// >>> import banister
    /// >>> banister.Opb(2).assumptions[0]
    /// ('means do not change', True)
    #[getter]
    fn assumptions(&self, py: Python<'_>) -> PyResult<Vec<(String, bool)>> {
        let list = self.with(py, false, |state| {
            banister::assumptions(&mut *state.session.agent)
        })?;
        Ok(list.into_iter().map(|a| (a.text, a.watched)).collect())
    }

    /// Returns the evidence of a breach of a guardrail over time: rows of outcomes watched and log10 of the
    /// evidence. An alarm is raised at −log10 of `alarm_delta`. Empty where no monitor watches it.
    fn evidence<'py>(
        &self,
        py: Python<'py>,
        guardrail: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let place = match guardrail.extract::<String>() {
            Ok(name) => self.guardrails.iter().position(|g| *g == name),
            Err(_) => guardrail.extract::<usize>().ok(),
        };
        let Some(place) = place.filter(|&place| place < self.guardrails.len()) else {
            let known = format!("the guardrails are {}", self.guardrails.join(", "));
            return Err(invalid("guardrail", shown(guardrail), &known));
        };
        let trace = self.with(py, false, |state| {
            let monitor = state.session.agent.view().monitor;
            monitor.map_or(Vec::new(), |m| m.evidence(place).to_vec())
        })?;
        let rows = trace.iter().flat_map(|&(n, e)| [n as f64, e]);
        PyArray1::from_iter(py, rows).reshape([trace.len(), 2])
    }

    /// The identity of the agent, which its copies and snapshots keep: decisions have it too.
    #[getter]
    fn id(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, false, |state| hex(state.session.numbers().id))
    }

    /// Offers a new arm, with its features if the agent is linear, its ranges where they are by arm (a dictionary by
    /// signal, `"reward"` or the name of a guardrail), and its weights where they are (by guardrail, then by signal).
    /// One that was retired is offered again, with all that is known of it. Returns its number.
    #[pyo3(signature = (name, features=None, ranges=None, weights=None))]
    fn add_arm(
        &self,
        py: Python<'_>,
        name: &Bound<'_, PyAny>,
        features: Option<&Bound<'_, PyAny>>,
        ranges: Option<&Bound<'_, PyAny>>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let name = build::named(name, self.naming, "name")?;
        let ranges: ArmRanges = match ranges.filter(|ranges| !ranges.is_none()) {
            None => ArmRanges::default(),
            Some(ranges) => declared(to_json(ranges, "ranges")?, "ranges")?,
        };
        let weights = weights.map_or(Ok(ArmWeights::default()), self::weights)?;
        let features = features.map(|features| {
            let x = Numbers::new(features, "features")?;
            x.expect(&[None], "the features of one arm")?;
            Ok::<_, PyErr>(x.slice()?.to_vec())
        });
        let features = features.transpose()?;
        self.with(py, true, |state| {
            let features = features.as_deref();
            state.session.agent.apply(&Event::ArmOffered(ArmOffer {
                name: &name,
                features,
                ranges: &ranges,
                weights: &weights,
            }))?;
            state.refresh_arms();
            state.session.agent.view().arm_named(&name)
        })?
        .map_err(raise)
    }

    /// Stops offering an arm, by name or number. Its late outcomes are still accepted.
    fn retire_arm(&self, py: Python<'_>, arm: &Bound<'_, PyAny>) -> PyResult<()> {
        self.change_arm(py, arm, Event::ArmRetired)
    }

    /// Sets other weights of an arm, by name or number: a dictionary by guardrail, then by signal. They count
    /// from the next decision on, and nothing is forgotten.
    fn set_weights(
        &self,
        py: Python<'_>,
        arm: &Bound<'_, PyAny>,
        weights: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let weights = self::weights(weights)?;
        self.change_arm(py, arm, |number| Event::Weights(number, &weights))
    }

    /// Forgets an arm, by name or number, that is known to have changed: what was learned of it, and outcomes of its
    /// decisions so far that come later.
    fn forget_arm(&self, py: Python<'_>, arm: &Bound<'_, PyAny>) -> PyResult<()> {
        self.change_arm(py, arm, Event::ArmChanged)
    }

    /// Returns the estimates of the arms, or the actions on offer: a dictionary of columns
    /// (`pandas.DataFrame(agent.estimates())`). `segment` (`Segmented`): where; one that was never
    /// seen has the pool's.
    ///
    /// >>> import banister
    /// >>> agent = banister.Opb(["control", "bold"])
    /// >>> agent.observe("bold", reward=1.0)
    /// >>> agent.estimates()["pulls"].tolist()
    /// [0, 1]
    #[pyo3(signature = (segment=None))]
    fn estimates<'py>(
        &self,
        py: Python<'py>,
        segment: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let segment = self.segment(segment)?;
        let (beliefs, set) = self.with(py, true, |state| {
            let round = Round {
                choice: state.interface.round.choice(),
                segment: segment.as_deref(),
                ..Round::default()
            };
            let beliefs = banister::estimates(&mut *state.session.agent, &round);
            (beliefs, Arc::clone(&state.set))
        })?;
        columns(py, &beliefs, &set)
    }

    /// Lifts over the safe arm, each as a dictionary.
    fn _lifts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let lifts = self.with(py, true, |state| {
            state.session.agent.ask(Ask::Lifts(None)).lifts()
        })?;
        to_python(py, &lifts.unwrap_or_default())
    }

    /// Upper bound on what further learning could still earn, with its policy by number.
    fn _worth_left<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let left = self.with(py, true, |state| {
            state.session.agent.ask(Ask::WorthLeft).worth_left()
        })?;
        to_python(py, &left)
    }

    /// Settles: plays the policy of `worth_left` from now on instead of exploring, as long as bounds in force
    /// certify it, else the one that is best at that time. It goes on learning and is watched. `settle(False)` explores
    /// again.
    #[pyo3(signature = (settled=true))]
    fn settle(&self, py: Python<'_>, settled: bool) -> PyResult<()> {
        self.with(py, true, |state| {
            state.session.agent.apply(&Event::Settled(settled))
        })?
        .map_err(raise)
    }

    /// True if it has settled.
    #[getter]
    fn is_settled(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, false, |state| state.session.agent.view().is_settled)
    }

    /// The policy in force in a segment, from arm to probability.
    fn _policy_in<'py>(
        &self,
        py: Python<'py>,
        segment: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let segment = self.segment(Some(segment))?.unwrap_or_default();
        let (policy, set) = self.with(py, true, |state| {
            let round = Round {
                time: state.interface.time,
                ..Round::in_segment(&segment)
            };
            let decision = state.session.agent.decide(&round);
            let policy = decision.map(|decision| decision.policy.clone());
            (policy, Arc::clone(&state.set))
        })?;
        set.by_label(py, &policy.map_err(raise)?)
    }

    /// Names of many segments.
    fn _segment_names(&self, segments: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        Ok(self.segments(Some(segments), None)?.unwrap_or_default())
    }

    /// Segments told apart and the pool, each as a dictionary.
    fn _segments<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let (views, set) = self.with(py, true, |state| {
            let count = state.session.agent.view().segment_policies;
            let found = state.session.agent.ask(Ask::Segments(0..count)).segments();
            (found.unwrap_or_default(), Arc::clone(&state.set))
        })?;
        views.iter().map(|view| view_of(py, view, &set)).collect()
    }

    /// Fields that segments are made from; None for agents that do not tell segments apart.
    #[getter]
    fn _segment_fields(&self) -> Option<Vec<String>> {
        self.segments.clone()
    }

    /// All arms: their names, or their numbers where they have no names.
    #[getter]
    fn arms<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let set = self.with(py, false, |state| Arc::clone(&state.set))?;
        (0..set.actions).map(|a| set.label(py, a)).collect()
    }

    /// Length of the context that a decision brings; None for agents without.
    #[getter]
    fn context(&self) -> Option<usize> {
        self.context
    }

    /// Fields that contexts are made from, as a dictionary; None where contexts have no names.
    #[getter]
    fn _fields<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let fields = self.fields.as_ref();
        fields.map(|fields| to_python(py, fields)).transpose()
    }

    /// The safe arm: its name or number.
    #[getter]
    fn safe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let set = self.with(py, false, |state| Arc::clone(&state.set))?;
        set.label(py, set.safe)
    }

    /// Names of the guardrails.
    #[getter]
    pub(crate) fn guardrails(&self) -> Vec<String> {
        self.guardrails.to_vec()
    }

    /// Names of the costs that outcomes bring: the guardrails, or for weighted sums their signals.
    #[getter]
    pub(crate) fn costs(&self) -> Vec<String> {
        self.costs.to_vec()
    }

    /// Number of outcomes taken.
    #[getter]
    fn outcomes(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, false, |state| state.session.agent.view().outcomes)
    }

    /// The problem as declared: arms, safe arm, features or context, reward, guardrails, segments.
    #[getter]
    fn problem<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (problem, segment_fields) = self.with(py, false, |state| {
            (
                state.problem.clone(),
                state.interface.segment_fields.clone(),
            )
        })?;
        let problem = to_python(py, &problem)?;
        if let Some(fields) = self._fields(py)? {
            problem.set_item("context", fields)?;
        }
        if !segment_fields.is_empty() {
            problem.set_item("segment_fields", segment_fields)?;
        }
        Ok(problem)
    }

    /// The parameters, as in TOML.
    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let config = self.with(py, false, |state| state.config.clone())?;
        to_python(py, &config)
    }

    /// Forgets all outcomes: the agent is as it was made, but for its random draws, which do not repeat.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, true, AgentState::reset)?.map_err(raise)
    }

    /// Returns the whole state as JSON, random stream included.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, true, build::save)?
    }

    /// Returns the kind of agent that a snapshot holds.
    #[staticmethod]
    fn _kind_of(py: Python<'_>, snapshot: &str) -> PyResult<String> {
        Ok(build::restore(py, snapshot, None)?.config.kind().into())
    }
}

/// A segment as a dictionary.
fn view_of<'py>(
    py: Python<'py>,
    view: &SegmentView,
    set: &ActionSet,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = to_python(py, view)?.cast_into::<PyDict>()?;
    dict.del_item("arms")?;
    dict.set_item("pooled", &view.pooled)?;
    dict.set_item("policy", set.by_label(py, &view.policy)?)?;
    dict.set_item("costs", by_name(py, &set.guardrails, &view.costs)?)?;
    dict.set_item("prices", by_name(py, &set.guardrails, &view.prices)?)?;
    dict.set_item("estimates", columns(py, &view.arms, set)?)?;
    Ok(dict)
}

/// Estimates of arms as columns.
fn columns<'py>(
    py: Python<'py>,
    beliefs: &[ArmEstimate],
    set: &ActionSet,
) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let labels = (0..beliefs.len()).map(|a| set.label(py, a));
    table.set_item("arm", labels.collect::<PyResult<Vec<_>>>()?)?;
    let offered: Vec<bool> = beliefs.iter().map(|b| b.offered).collect();
    table.set_item("offered", PyArray1::from_vec(py, offered))?;
    if beliefs.iter().all(|b| b.pulls.is_some()) {
        let pulls = beliefs.iter().filter_map(|b| b.pulls).collect();
        table.set_item("pulls", PyArray1::<u64>::from_vec(py, pulls))?;
    }
    let signals = std::iter::once("reward").chain(set.guardrails.iter().map(String::as_str));
    for (s, name) in signals.enumerate() {
        let estimates = || {
            beliefs.iter().filter_map(move |b| match s {
                0 => Some(&b.reward),
                s => b.costs.get(s - 1),
            })
        };
        let mean = estimates().map(|e| e.mean.unwrap_or(f64::NAN)).collect();
        let lower = estimates().map(|e| e.lower).collect();
        let upper = estimates().map(|e| e.upper).collect();
        for (end, column) in [("mean", mean), ("lower", lower), ("upper", upper)] {
            let column = PyArray1::from_vec(py, column);
            table.set_item(format!("{name}_{end}"), column)?;
        }
    }
    Ok(table)
}
