//! Files of the suite `tuning`: every point of the grids with its score, and the chosen constants.

use banister_report::tables::{DataTable, count, number, text};
use banister_sim::compare::{Tried, chosen};

use crate::failure::Failure;

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
    let best = chosen(tried)?;
    let mut json = serde_json::to_vec_pretty(&best)
        .map_err(|error| Failure::Other(format!("cannot write the chosen agents: {error}")))?;
    json.push(b'\n');
    Ok(vec![
        ("tuning.csv".into(), csv),
        ("tuned.json".into(), json),
    ])
}
