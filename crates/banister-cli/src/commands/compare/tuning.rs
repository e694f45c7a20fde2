//! Files of the suite `tuning`: every point of the grids with its score, and the chosen constants.

use banister::Registry as _;
use banister_report::tables::{DataTable, count, number, text};
use banister_rivals::AgentConfig;
use banister_sim::compare::{Tried, chosen};
use serde_json::Value;

use banister_terminal::Failure;

/// `tuning.csv`, one row per rival and point, and `tuned.json`, the agents that suites add.
pub fn files(tried: &[Tried]) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let each = || tried.iter();
    let table = DataTable {
        columns: vec![
            text("kind", each().map(|tried| tried.agent.kind())),
            text("agent", each().map(|tried| tried.agent.label())),
            count(
                "instances",
                each().map(|tried| Some(tried.instances as u64)),
            ),
            text(
                "kept",
                each().map(|tried| if tried.kept { "yes" } else { "no" }),
            ),
            number("violation", each().map(|tried| Some(tried.violation))),
            number("regret", each().map(|tried| Some(tried.regret))),
        ],
    };
    let csv = table.to_csv().map_err(banister_report::ReportError::from)?;
    let best: Result<Vec<Value>, serde_json::Error> =
        chosen(tried)?.iter().map(beside_defaults).collect();
    let mut json = best
        .and_then(|best| serde_json::to_vec_pretty(&best))
        .map_err(|error| Failure::Other(format!("cannot write the chosen agents: {error}")))?;
    json.push(b'\n');
    Ok(vec![
        ("tuning.csv".into(), csv),
        ("tuned.json".into(), json),
    ])
}

/// The keys of an agent that are not its kind's defaults.
fn beside_defaults(agent: &AgentConfig) -> Result<Value, serde_json::Error> {
    let default = AgentConfig::of_kind(agent.kind()).map(serde_json::to_value);
    let default = default.unwrap_or(Ok(Value::Null))?;
    let mut declared = serde_json::to_value(agent)?;
    if let Some(keys) = declared.as_object_mut() {
        keys.retain(|key, value| key == "kind" || default.get(key) != Some(value));
    }
    Ok(declared)
}
