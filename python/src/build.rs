//! Making an agent: from keyword arguments, the same words as TOML's.

use std::collections::BTreeMap;

use banister::Restored;
use banister::fields::{Fields, check_segment_fields};
use banister::guarantee::Guarantee;
use banister::session::Numbers as DecisionNumbers;
use banister::toolkit::Within;
use banister::{Ask, Error, Guardrail, Problem, Range, Registry as _, Round, Scope, SignalConfig};
use banister_rivals::AgentConfig;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::decision::Naming;
use crate::error::{invalid, mistyped, raise};
use crate::fields;
use crate::input::{Numbers, count, count_or, integer};
use crate::json::{declared, to_json, to_python};
use crate::segment;
use crate::state::{AgentState, Interface, LastRound, Sampler, context_arms};

/// The registry of agents as JSON Schema. Each kind says beside its keys what it promises, whether it
/// takes features or segments, and what it cannot do without: a horizon, or a safe action at the origin.
#[pyfunction]
pub(crate) fn agent_schema(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let mut schema = AgentConfig::schema();
    for kind in schema["oneOf"].as_array_mut().into_iter().flatten() {
        let name = json!({ "kind": kind["properties"]["kind"]["const"] });
        if let Ok(config) = serde_json::from_value::<AgentConfig>(name) {
            kind["guarantee"] = json!(config.guarantee());
            kind["takes_features"] = json!(config.takes_features());
            kind["takes_segments"] = json!(takes_segments(&config));
            let with_horizon = config.clone().with_horizon(1000, false);
            kind["needs_horizon"] = json!(with_horizon != config);
            let complete = with_horizon.with_parameter_norm(1.0);
            kind["is_rival"] =
                json!(serde_json::from_value::<banister::AgentConfig>(json!(config)).is_err());
            kind["needs_origin"] = json!(
                config.takes_features()
                    && complete.build(&tiny_problem(&[1.0, 0.0])).is_err()
                    && complete.build(&tiny_problem(&[0.0, 0.0])).is_ok()
            );
        }
    }
    to_python(py, &schema)
}

/// True for an agent that has a policy for every segment.
pub(crate) fn takes_segments(config: &AgentConfig) -> bool {
    matches!(config, AgentConfig::Segmented(_))
}

/// Returns a small problem with this safe action, to try out what an agent needs.
fn tiny_problem(safe_action: &[f64]) -> Problem {
    let range: Option<Range> = Some([-1.0, 1.0].into());
    let guardrail = Guardrail {
        name: "cost".into(),
        at_most: Some(0.5),
        safe_cost: Some(0.0),
        signal: SignalConfig {
            range: range.clone(),
            ..SignalConfig::default()
        },
        ..Guardrail::default()
    };
    let mut problem = Problem::contextual(safe_action.to_vec(), vec![guardrail]);
    problem.reward.range = range;
    problem
}

/// Lists the guarantees of agents, the strongest first: each by its name and in words.
#[pyfunction]
pub(crate) fn guarantees(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let each = Guarantee::ALL.map(|guarantee| json!([guarantee, guarantee.words()]));
    to_python(py, &json!(each))
}

/// Reads the parameters of an agent of the registered `kind`.
pub(crate) fn config(kind: &str, parameters: Map<String, Value>) -> PyResult<AgentConfig> {
    let mut map = parameters;
    // A parameter that is None has its default.
    map.retain(|_, value| !value.is_null());
    map.insert("kind".into(), json!(kind));
    declared(Value::Object(map), "")
}

/// Reads the guardrails, each a `Guardrail` or a dictionary.
pub(crate) fn guardrails(value: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Guardrail>> {
    let Some(value) = value.filter(|value| !value.is_none()) else {
        return Ok(Vec::new());
    };
    let list = match to_json(value, "guardrails")? {
        Value::Array(list) => list,
        one @ Value::Object(_) => vec![one],
        _ => {
            return Err(mistyped(
                "guardrails",
                value,
                "must be a list of guardrails, e.g. [{\"name\": \"spend\", \"at_most\": 0.5}]",
            ));
        }
    };
    let each = list.into_iter().enumerate();
    each.map(|(i, one)| {
        let field = format!("guardrails[{i}]");
        if !one.is_object() {
            let allowed = "must be a Guardrail, e.g. banister.Guardrail(\"spend\", at_most=0.5)";
            return Err(PyTypeError::new_err(format!(
                "`{field}` is {one}: {allowed}"
            )));
        }
        declared(without_nulls(one), &field)
    })
    .collect()
}

/// Reads the declaration of the reward.
pub(crate) fn reward(value: Option<&Bound<'_, PyAny>>) -> PyResult<SignalConfig> {
    match value.filter(|value| !value.is_none()) {
        None => Ok(SignalConfig::default()),
        Some(value) => match to_json(value, "reward")? {
            one @ Value::Object(_) => declared(without_nulls(one), "reward"),
            _ => {
                let allowed = "must be a Reward, e.g. banister.Reward(range=(0, 30))";
                Err(mistyped("reward", value, allowed))
            }
        },
    }
}

pub(crate) fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(map) = &mut value {
        map.retain(|_, entry| !entry.is_null());
    }
    value
}

/// Raises an error about an experiment, in words for its arguments.
pub(crate) fn in_arguments(error: Error) -> PyErr {
    // Rounds and runs are arguments of their own.
    raise(error.with_path(|path| path.moved("agent", "agents").moved("run", "")))
}

/// The arms as declared.
struct Arms {
    names: Vec<String>,
    naming: Naming,
    features: Vec<Vec<f64>>,
}

fn arms(
    arms: Option<&Bound<'_, PyAny>>,
    features: Option<&Bound<'_, PyAny>>,
    safe_action: Option<&Bound<'_, PyAny>>,
) -> PyResult<Arms> {
    if let Some(safe_action) = safe_action {
        if arms.is_some() || features.is_some() {
            return Err(PyTypeError::new_err(
                "`safe_action` is given beside `arms` or `features`: give the safe action's features \
                 where every round brings other actions, else the arms",
            ));
        }
        let x = Numbers::new(safe_action, "safe_action")?;
        x.expect(&[None], "the features of one action")?;
        x.finite()?;
        return Ok(Arms {
            names: vec!["safe".into()],
            naming: Naming::Places,
            features: vec![x.slice()?.to_vec()],
        });
    }
    let features = match features {
        None => Vec::new(),
        Some(features) => {
            let x = Numbers::new(features, "features")?;
            x.expect(&[None, None], "one row per arm, one column per feature")?;
            x.finite()?;
            let d = x.shape()[1].max(1);
            x.slice()?.chunks_exact(d).map(<[f64]>::to_vec).collect()
        }
    };
    let numbered = |k: usize| Arms {
        names: (0..k).map(|a| format!("arm {a}")).collect(),
        naming: Naming::Places,
        features: Vec::new(),
    };
    let mut declared = match arms {
        None if features.is_empty() => {
            return Err(PyTypeError::new_err(
                "`arms` is missing: give the number of arms or a list of their names (or, for linear \
                 agents, `features` or `safe_action`)",
            ));
        }
        None => numbered(features.len()),
        Some(arms) if integer(arms).is_some() => {
            let k = count(arms, "arms")?;
            match k {
                1..=10_000_000 => numbered(k as usize),
                _ => return Err(invalid("arms", k, "must be 1 to 10 million")),
            }
        }
        Some(arms) => {
            let refused = || mistyped("arms", arms, "must be a number or a list of names");
            if arms.cast::<PyString>().is_ok() {
                return Err(refused());
            }
            let list: Vec<Bound<'_, PyAny>> = arms.extract().map_err(|_| refused())?;
            let first = list.first().is_some_and(|first| integer(first).is_some());
            let naming = if first {
                Naming::Integers
            } else {
                Naming::Text
            };
            let each = list.iter().enumerate();
            let names = each.map(|(i, name)| named(name, naming, &format!("arms[{i}]")));
            Arms {
                names: names.collect::<PyResult<_>>()?,
                naming,
                features: Vec::new(),
            }
        }
    };
    declared.features = features;
    Ok(declared)
}

/// Reads the name of an arm.
pub(crate) fn named(value: &Bound<'_, PyAny>, naming: Naming, field: &str) -> PyResult<String> {
    if naming == Naming::Integers {
        let name = integer(value).map(|name| name.to_string());
        return name.ok_or_else(|| mistyped(field, value, "must be an integer, as other arms are"));
    }
    let refused = |_| mistyped(field, value, "must be a string, or all arms integers");
    value.extract::<String>().map_err(refused)
}

/// Reads an arm: `Err` with its name, or its number where the names are no integers.
pub(crate) fn arm(
    value: &Bound<'_, PyAny>,
    naming: Naming,
    field: &str,
    allowed: &str,
) -> PyResult<Result<usize, String>> {
    if let Ok(name) = value.cast::<PyString>() {
        return Ok(Err(name.to_str()?.to_owned()));
    }
    if naming == Naming::Integers {
        let name = integer(value).ok_or_else(|| mistyped(field, value, allowed))?;
        return Ok(Err(name.to_string()));
    }
    Ok(Ok(count_or(value, field, allowed)? as usize))
}

fn safe(value: Option<&Bound<'_, PyAny>>, arms: &Arms) -> PyResult<usize> {
    let Some(value) = value.filter(|value| !value.is_none()) else {
        return Ok(0);
    };
    let allowed = "must be the name of an arm or its number";
    arm(value, arms.naming, "safe", allowed)?.or_else(|name| place(&arms.names, &name, "safe"))
}

/// Finds a name among the arms'.
pub(crate) fn place(names: &[String], name: &str, argument: &str) -> PyResult<usize> {
    names.iter().position(|n| n == name).ok_or_else(|| {
        PyValueError::new_err(format!(
            "`{argument}` is {name:?}: the arms are {}",
            names.join(", ")
        ))
    })
}

/// Makes the random generator of an agent: from a seed, or a generator that one is drawn from.
pub(crate) fn sampler(py: Python<'_>, value: Option<&Bound<'_, PyAny>>) -> PyResult<Sampler> {
    let seed = match value.filter(|value| !value.is_none()) {
        None => fresh_seed(py)?,
        Some(value) if value.hasattr("integers")? => {
            let options = PyDict::new(value.py());
            options.set_item("dtype", "uint64")?;
            options.set_item("endpoint", true)?;
            let drawn = value.call_method("integers", (0, u64::MAX), Some(&options))?;
            count(&drawn, "seed")?
        }
        Some(value) => count_or(value, "seed", "must be an integer or a numpy Generator")?,
    };
    Ok(Sampler::new(seed))
}

/// Draws a seed from the operating system.
fn fresh_seed(py: Python<'_>) -> PyResult<u64> {
    py.import("secrets")?
        .call_method1("randbits", (64,))?
        .extract()
}

/// Makes an agent from the arguments of its constructor.
pub(crate) fn state(kind: &str, kwargs: &Bound<'_, PyDict>) -> PyResult<AgentState> {
    let take_argument = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        let value = kwargs.get_item(name)?;
        if value.is_some() {
            kwargs.del_item(name)?;
        }
        Ok(value.filter(|value| !value.is_none()))
    };
    let seed = sampler(kwargs.py(), take_argument("seed")?.as_ref())?;
    if let Some(snapshot) = take_argument("_snapshot")? {
        return restore(kwargs.py(), snapshot.extract()?, Some(kind));
    }
    let declared = arms(
        take_argument("arms")?.as_ref(),
        take_argument("features")?.as_ref(),
        take_argument("safe_action")?.as_ref(),
    )?;
    let safe = safe(take_argument("safe")?.as_ref(), &declared)?;
    let mut problem = Problem {
        safe,
        arms: declared.names,
        features: declared.features,
        reward: reward(take_argument("reward")?.as_ref())?,
        guardrails: guardrails(take_argument("guardrails")?.as_ref())?,
        signals: match take_argument("signals")? {
            None => BTreeMap::new(),
            Some(signals) => crate::json::declared(to_json(&signals, "signals")?, "signals")?,
        },
        ..Problem::default()
    };
    let mut segment_fields = Vec::new();
    if let Some(segments) = take_argument("segments")? {
        (segment_fields, problem.segments) = segment::declared(&segments)?;
    }
    let mut context_fields = None;
    let numbers = take_argument("context")?;
    let parameters = match to_json(kwargs.as_any(), "")? {
        // `lambda_`: Python has its own use for the word.
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| (key.trim_end_matches('_').to_string(), value))
            .collect(),
        _ => Map::new(),
    };
    let mut config = config(kind, parameters)?;
    if let Some(numbers) = numbers {
        if !problem.features.is_empty() {
            return Err(PyTypeError::new_err(
                "`context` is given beside `features` or `safe_action`: with a context, an arm's features \
                 are made from it",
            ));
        }
        let length = if numbers.hasattr("to_dict")? || numbers.hasattr("keys")? {
            let fields = fields::read(&numbers, "context")?;
            if let AgentConfig::Oplb(oplb) = &mut config {
                oplb.norm.get_or_insert(fields.norm());
            }
            context_fields.insert(fields).dimension()
        } else {
            usize::try_from(count(&numbers, "context")?).unwrap_or(usize::MAX)
        };
        problem.check().map_err(raise)?;
        problem.context = Some(length);
        let dimension = context_arms(&problem, &config).map_or(length, |arms| arms.dimension());
        if length == 0 || dimension > LONGEST {
            let allowed =
                format!("must be at least 1, and 1 + (arms − 1)·context at most {LONGEST}");
            return Err(invalid("context", length, &allowed));
        }
    }
    let config = config.resolved(&problem);
    if problem.context.is_some() && !config.takes_features() {
        return Err(PyTypeError::new_err(
            "`context` is given: this agent chooses among arms whatever the context; use `Oplb` for those",
        ));
    }
    if !takes_segments(&config) {
        if !problem.segments.is_empty() || !segment_fields.is_empty() {
            return Err(segment::misplaced("segments", None));
        }
        let each = |guardrail: &Guardrail| guardrail.scope == Scope::Each;
        if let Some(i) = problem.guardrails.iter().position(each) {
            let allowed = "this agent does not tell segments apart; make a banister.Segmented";
            return Err(invalid(
                &format!("guardrails[{i}].scope"),
                "\"each\"",
                allowed,
            ));
        }
    }
    let agent = config.build(&problem).map_err(in_arguments)?;
    let numbers = DecisionNumbers::new(fresh_seed(kwargs.py())?, 0);
    let interface = Interface {
        fields: context_fields,
        segment_fields,
        ..Interface::new(declared.naming)
    };
    let mut state = AgentState::new(agent, numbers, (problem, config), seed, interface);
    state.seed_agent();
    Ok(state)
}

/// Longest feature vectors that contexts may make: the agent keeps a square matrix of them.
const LONGEST: usize = 10_000;

const FORMAT: &str = "banister.python";
const VERSION: u64 = 2;

/// An agent's own snapshot with the state of its random stream and how Python refers to it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    format: String,
    version: u64,
    seed: u64,
    /// Position in the random stream, in 32-bit words; a string, as it may be longer than 64 bits.
    position: String,
    interface: Interface,
    numbers: DecisionNumbers,
    agent: Value,
}

/// Saves the agent and its random stream as JSON.
pub(crate) fn save(state: &mut AgentState) -> PyResult<String> {
    let agent = serde_json::from_str(&state.session.save().map_err(raise)?).map_err(unreadable)?;
    let saved = Saved {
        format: FORMAT.into(),
        version: VERSION,
        seed: state.sampler.seed,
        position: state.sampler.rng.get_word_pos().to_string(),
        interface: state.interface.clone(),
        numbers: state.session.numbers().clone(),
        agent,
    };
    serde_json::to_string(&saved).map_err(unreadable)
}

fn unreadable(reason: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("the snapshot cannot be restored: {reason}"))
}

/// Restores an agent from [`save`], or from a snapshot of the core.
pub(crate) fn restore(py: Python<'_>, json: &str, kind: Option<&str>) -> PyResult<AgentState> {
    let value: Value = serde_json::from_str(json).map_err(unreadable)?;
    if value.get("format").and_then(Value::as_str) != Some(FORMAT) {
        let restored = AgentConfig::restore(json).map_err(raise)?;
        // Its monitor may wait for the outcomes of decisions that another program made.
        let monitor = restored.agent.view().monitor;
        let last = monitor.map_or(0, banister::monitor::Monitor::last_announced);
        let numbers = DecisionNumbers::new(fresh_seed(py)?, last);
        let sampler = Sampler::new(fresh_seed(py)?);
        return resumed(
            restored,
            numbers,
            sampler,
            Interface::new(Naming::Text),
            kind,
        );
    }
    let version = value.get("version").and_then(Value::as_u64);
    if version.is_some_and(|version| version != VERSION) {
        return Err(unreadable(format!(
            "its version is {}, this program reads version {VERSION}",
            value["version"]
        )));
    }
    let saved: Saved = serde_json::from_value(value).map_err(unreadable)?;
    let mut sampler = Sampler::new(saved.seed);
    let position = saved.position.parse().map_err(unreadable)?;
    sampler.rng.set_word_pos(position);
    let restored = AgentConfig::restore(&saved.agent.to_string()).map_err(raise)?;
    resumed(restored, saved.numbers, sampler, saved.interface, kind)
}

/// Checks that an agent and what was saved beside it suit each other, and puts them together.
fn resumed(
    restored: Restored<AgentConfig>,
    numbers: DecisionNumbers,
    sampler: Sampler,
    mut interface: Interface,
    kind: Option<&str>,
) -> PyResult<AgentState> {
    let Restored {
        mut agent,
        problem,
        config,
    } = restored;
    let suits =
        |fields: &Fields| fields.check().is_ok() && Some(fields.dimension()) == problem.context;
    if !interface.fields.as_ref().is_none_or(suits) {
        return Err(unreadable("`fields` do not suit its agent"));
    }
    let segment_fields = &interface.segment_fields;
    if !segment_fields.is_empty()
        && (check_segment_fields(segment_fields).is_err() || !takes_segments(&config))
    {
        return Err(unreadable("`segment_fields` do not suit its agent"));
    }
    let round = std::mem::take(&mut interface.round);
    let choice = Round {
        choice: round.choice(),
        ..Round::default()
    };
    if !matches!(round, LastRound::Arms)
        && (agent.ask(Ask::Estimates(&choice, Some(&[]))))
            .estimates()
            .is_none()
    {
        return Err(unreadable("`round` does not suit its agent"));
    }
    let numbers = numbers.check_saved().map_err(raise)?;
    let own = config.kind();
    if let Some(kind) = kind.filter(|kind| *kind != own) {
        return Err(unreadable(format!(
            "it holds an agent of kind `{own}`, not `{kind}`: use banister.load"
        )));
    }
    let mut state = AgentState::new(agent, numbers, (problem, config), sampler, interface);
    state.enter(round);
    Ok(state)
}
