//! Making an agent: from keyword arguments, the same words as TOML's.

use std::collections::BTreeMap;

use banister::Restored;
use banister::fields::{Fields, check_segment_fields};
use banister::guarantee::Guarantee;
use banister::session::Numbers as DecisionNumbers;
use banister::toolkit::Within;
use banister::{Ask, Error, Guardrail, Problem, Registry as _, Round, Scope, SignalConfig};
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
use crate::json::{declared, table, to_json, to_python, without_nulls};
use crate::segment;
use crate::state::{AgentState, Interface, LastRound, Sampler, context_arms};

/// The registry of agents as JSON Schema. The `traits` of each kind say beside its keys what it promises, whether it
/// takes features or segments, and what it cannot do without: a horizon, or a safe action at the origin.
#[pyfunction]
pub(crate) fn agent_schema(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let mut schema = AgentConfig::schema();
    let (unit, origin) = (tiny_problem([1.0, 0.0])?, tiny_problem([0.0, 0.0])?);
    for kind in schema["oneOf"].as_array_mut().into_iter().flatten() {
        let name = json!({ "kind": kind["properties"]["kind"]["const"] });
        let is_rival = serde_json::from_value::<banister::AgentConfig>(name.clone()).is_err();
        let config: AgentConfig = declared(name, "")?;
        let with_horizon = config.clone().with_horizon(1000, false);
        let complete = with_horizon.clone().with_parameter_norm(1.0);
        let needs_origin = complete.build(&unit).is_err() && complete.build(&origin).is_ok();
        kind["traits"] = json!({
            "guarantee": config.guarantee(),
            "promise": config.guarantee().words(),
            "takes_features": config.takes_features(),
            "takes_segments": takes_segments(&config),
            "needs_horizon": with_horizon != config,
            "needs_origin": config.takes_features() && needs_origin,
            "is_rival": is_rival,
        });
    }
    to_python(py, &schema)
}

/// True for an agent that has a policy for every segment.
pub(crate) fn takes_segments(config: &AgentConfig) -> bool {
    matches!(config, AgentConfig::Segmented(_))
}

/// Returns a small problem with this safe action, to try out what an agent needs.
fn tiny_problem(safe_action: [f64; 2]) -> PyResult<Problem> {
    let guardrail = json!({ "name": "cost", "at_most": 0.5, "safe_cost": 0.0, "range": [-1, 1] });
    let problem = json!({
        "arms": ["safe"], "safe": 0, "features": [safe_action],
        "reward": { "range": [-1, 1] }, "guardrails": [guardrail],
    });
    declared(problem, "")
}

/// Lists the guarantees of agents, the strongest first: each by its name and in words.
#[pyfunction]
pub(crate) fn guarantees(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let each = Guarantee::ALL.map(|guarantee| json!([guarantee, guarantee.words()]));
    to_python(py, &json!(each))
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
            let allowed =
                "must be a list of guardrails, e.g. [{\"name\": \"spend\", \"at_most\": 0.5}]";
            return Err(mistyped("guardrails", value, allowed));
        }
    };
    let allowed = "must be a Guardrail, e.g. banister.Guardrail(\"spend\", at_most=0.5)";
    let each = list.into_iter().enumerate();
    each.map(|(i, one)| table(one, &format!("guardrails[{i}]"), allowed))
        .collect()
}

/// Reads the declaration of the reward.
pub(crate) fn reward(value: Option<&Bound<'_, PyAny>>) -> PyResult<SignalConfig> {
    let allowed = "must be a Reward, e.g. banister.Reward(range=(0, 30))";
    value
        .filter(|value| !value.is_none())
        .map_or(Ok(SignalConfig::default()), |value| {
            table(to_json(value, "reward")?, "reward", allowed)
        })
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
        let meaning = "the features of one action";
        let x = Numbers::shaped(safe_action, "safe_action", &[None], meaning)?;
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
            let meaning = "one row per arm, one column per feature";
            let x = Numbers::shaped(features, "features", &[None, None], meaning)?;
            x.finite()?;
            let d = x.shape()[1].max(1);
            x.slice()?.chunks_exact(d).map(<[f64]>::to_vec).collect()
        }
    };
    let numbered = |k| ((0..k).map(|a| format!("arm {a}")).collect(), Naming::Places);
    let (names, naming): (Vec<String>, _) = match arms {
        None if features.is_empty() => {
            return Err(PyTypeError::new_err(
                "`arms` is missing: give the number of arms or a list of their names (or, for linear \
                 agents, `features` or `safe_action`)",
            ));
        }
        None => numbered(features.len()),
        Some(arms) if integer(arms).is_some() => match count(arms, "arms")? {
            k @ 1..=10_000_000 => numbered(k as usize),
            k => return Err(invalid("arms", k, "must be 1 to 10 million")),
        },
        Some(arms) => {
            // A text is no list of its characters.
            let list: Result<Vec<Bound<'_, PyAny>>, _> = arms.extract();
            let allowed = "must be a number or a list of names";
            let list = list.map_err(|_| mistyped("arms", arms, allowed))?;
            let is_integer = |name| integer(name).is_some();
            let naming = if list.first().is_some_and(is_integer) {
                Naming::Integers
            } else {
                Naming::Text
            };
            let each = list.iter().enumerate();
            let names = each.map(|(i, name)| named(name, naming, &format!("arms[{i}]")));
            (names.collect::<PyResult<_>>()?, naming)
        }
    };
    Ok(Arms {
        names,
        naming,
        features,
    })
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
    let Some(value) = value else {
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
    let arms = arms(
        take_argument("arms")?.as_ref(),
        take_argument("features")?.as_ref(),
        take_argument("safe_action")?.as_ref(),
    )?;
    let safe = safe(take_argument("safe")?.as_ref(), &arms)?;
    let mut problem = Problem {
        safe,
        arms: arms.names,
        features: arms.features,
        reward: reward(take_argument("reward")?.as_ref())?,
        guardrails: guardrails(take_argument("guardrails")?.as_ref())?,
        signals: match take_argument("signals")? {
            None => BTreeMap::new(),
            Some(signals) => declared(to_json(&signals, "signals")?, "signals")?,
        },
        ..Problem::default()
    };
    let mut segment_fields = Vec::new();
    if let Some(segments) = take_argument("segments")? {
        (segment_fields, problem.segments) = segment::declared(&segments)?;
    }
    let mut context_fields = None;
    let numbers = take_argument("context")?;
    let given = to_json(kwargs.as_any(), "")?;
    let given = given.as_object().into_iter().flatten();
    // `lambda_`: Python has its own use for the word. A parameter that is None has its default.
    let mut parameters: Map<String, Value> = given
        .map(|(key, value)| (key.trim_end_matches('_').to_string(), value.clone()))
        .collect();
    parameters.insert("kind".into(), json!(kind));
    let mut config: AgentConfig = declared(without_nulls(parameters.into()), "")?;
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
        ..Interface::new(arms.naming)
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
    if value["format"] != FORMAT {
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
    if let Some(version) = value["version"].as_u64().filter(|own| *own != VERSION) {
        return Err(unreadable(format!(
            "its version is {version}, this program reads version {VERSION}"
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
