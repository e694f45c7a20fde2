//! The suite `routing`: requests to three language models, under a ceiling of dollars or a floor of quality.
//!
//! Rewards, dollars and the seven ceilings are those of *ParetoBandit* (arXiv 2604.00136); see
//! `experiments/routing`.

use banister::Error;
use banister_rivals::AgentConfig;
use serde_json::{Value, json};

use super::parts::{agents, all};
use crate::compare::entry::Entry;
use crate::config::ExperimentConfig;
use crate::environment::ROUTING;

/// Requests in the table, and those left to play where half of them are a log.
const REQUESTS: u64 = 3609;
const HALF: u64 = 1805;

/// Decisions where requests may come again.
const LONG: u64 = 15_000;

/// Ceilings in dollars per request, from the lowest to the highest mean price of a model.
pub const CEILINGS: [f64; 7] = [2.93e-5, 8.29e-5, 2.35e-4, 6.62e-4, 1.87e-3, 5.31e-3, 1.5e-2];

/// Floors of quality, as shares of the dearest model's.
pub const FLOORS: [f64; 3] = [0.9, 0.95, 0.98];

/// Mean dollars of the cheapest model and mean quality of the dearest, as one knows them of a model in use.
const CHEAPEST: f64 = 2.893_383_208_645_054e-5;
const DEAREST: f64 = 0.933_548_628_428_927_7;

/// Most dollars that an answer can cost: prices per million tokens (0.1, 1.5 and 10 dollars written, less
/// for what is read) times the longest answers allowed (4096, 4096 and 16 384 tokens).
const MOST: [(&str, f64); 3] = [("llama", 4.5e-4), ("mistral", 6.5e-3), ("gemini", 0.17)];

/// Start of a run, and the order of requests.
#[derive(Clone, Copy)]
enum Start {
    /// All of them once, with nothing known before.
    Cold,
    /// A random half is a log with the outcomes of all arms, the other is played.
    Warm,
    /// With replacement, nothing known before.
    Long,
    /// With replacement for `passes` times the number of requests, for agents that may look at a request's class.
    ByClass { passes: u64 },
}

impl Start {
    fn words(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
            Self::Long => "cold, 15 000 decisions",
            Self::ByClass { .. } => "by class",
        }
    }
}

pub(super) fn routing() -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    for start in [Start::Cold, Start::Warm] {
        for ceiling in CEILINGS {
            entries.push(ceiling_entry(ceiling, start)?);
        }
        for floor in FLOORS {
            entries.push(floor_entry(floor, start, false)?);
        }
    }
    entries.push(ceiling_entry(6.62e-4, Start::Long)?);
    entries.push(floor_entry(0.98, Start::Long, false)?);
    entries.push(floor_entry(0.98, Start::Long, true)?);
    Ok(entries)
}

/// As many requests as in some passes under a ceiling, for agents that may look at their class.
pub(super) fn by_class(
    ceiling: f64,
    passes: u64,
    agents: Vec<AgentConfig>,
) -> Result<Entry, Error> {
    let mut entry = ceiling_entry(ceiling, Start::ByClass { passes })?;
    entry.experiment.run.runs = 5;
    entry.experiment.agent = agents;
    Ok(entry)
}

fn columns(prefix: &str, what: &str) -> Vec<String> {
    (MOST.iter())
        .map(|(name, _)| format!("{prefix}{name}_{what}"))
        .collect()
}

fn ranges(sign: f64) -> Value {
    let range = |&(name, most): &(&str, f64)| {
        let ends = [0.0_f64.min(sign * most), 0.0_f64.max(sign * most)];
        (name.to_string(), json!(ends))
    };
    Value::Object(MOST.iter().map(range).collect())
}

/// Most quality under a ceiling of dollars; the cheapest model is safe.
fn ceiling_entry(ceiling: f64, start: Start) -> Result<Entry, Error> {
    let mut guardrail = json!({"name": "dollars", "at_most": ceiling, "range": ranges(1.0)});
    // What one knows is the mean over all requests.
    if !matches!(start, Start::ByClass { .. }) {
        guardrail["safe_cost"] = json!(CHEAPEST);
    }
    let environment = json!({
        "safe": "llama", "rewards": columns("", "reward"), "costs": [columns("", "cost")],
    });
    let name = format!("ceiling ${ceiling:.2e}, {}", start.words());
    entry(name, environment, json!({}), guardrail, start)
}

/// Fewest dollars above a floor of quality; the dearest model is safe.
fn floor_entry(floor: f64, start: Start, relative: bool) -> Result<Entry, Error> {
    let (guardrail, known) = if relative {
        let guardrail = json!({"name": "quality", "at_least": floor, "relative": true});
        (guardrail, ", relative to a quality unknown")
    } else {
        let floor = floor * DEAREST;
        (
            json!({"name": "quality", "at_least": floor, "safe_cost": DEAREST}),
            "",
        )
    };
    let environment = json!({
        "safe": "gemini", "rewards": columns("-", "cost"), "costs": [columns("", "reward")],
    });
    let name = format!("floor {:.0}%{known}, {}", 100.0 * floor, start.words());
    entry(
        name,
        environment,
        json!({"range": ranges(-1.0)}),
        guardrail,
        start,
    )
}

fn entry(
    name: String,
    environment: Value,
    reward: Value,
    guardrail: Value,
    start: Start,
) -> Result<Entry, Error> {
    let horizon = match start {
        Start::Cold => REQUESTS,
        Start::Warm => HALF,
        Start::Long => LONG,
        Start::ByClass { passes } => passes * REQUESTS,
    };
    let mut declared = json!({
        "name": name,
        "run": {"horizon": horizon, "runs": 20, "checkpoints": 200},
        "environment": {
            "kind": "table", "path": ROUTING, "order": "shuffled",
            "arms": MOST.map(|(name, _)| name),
        },
        "reward": reward,
        "guardrail": [guardrail],
    });
    let table = &mut declared["environment"];
    for (key, value) in environment.as_object().into_iter().flatten() {
        table[key] = value.clone();
    }
    match start {
        Start::Cold => {}
        Start::Warm => table["log"] = json!(0.5),
        Start::Long => table["order"] = json!("replacement"),
        Start::ByClass { .. } => {
            table["order"] = json!("replacement");
            table["segment"] = json!("class");
        }
    }
    let mut experiment: ExperimentConfig = serde_json::from_value(declared)
        .map_err(|error| Error::invalid("experiment", &name, error.to_string()))?;
    let always = MOST
        .map(|(name, _)| json!({"kind": "always", "arm": name, "label": format!("always {name}")}));
    experiment.agent = all(false, &[json!({"kind": "opb", "optimism": "least"})])?;
    experiment.agent.extend(agents(&always)?);
    Ok(Entry {
        lenient: true,
        ..Entry::new(experiment)
    })
}
