//! The table `orders` of a comparison on tables of requests.

use banister_sim::Experiment;

use super::DataTable;
use super::columns::{count, text};

/// Tabulates the rows that each run plays: instance, run, round and row, the last two counted from 0. Instances that
/// play the same rows as one before are left out; `None` without a table.
pub fn orders(experiments: &[Experiment]) -> Option<DataTable> {
    let mut seen: Vec<Vec<Vec<usize>>> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for experiment in experiments {
        let runs = (0..experiment.resolved.run.runs).map(|run| experiment.rows(run));
        if let Some(rows) = runs.collect::<Option<Vec<_>>>()
            && !seen.contains(&rows)
        {
            seen.push(rows);
            names.push(&experiment.name);
        }
    }
    let each = || {
        std::iter::zip(&names, &seen).flat_map(|(name, runs)| {
            runs.iter().enumerate().flat_map(move |(run, rows)| {
                let each = rows.iter().enumerate();
                each.map(move |(round, row)| (*name, run, round, *row))
            })
        })
    };
    let number = |name: &str, of: fn((&str, usize, usize, usize)) -> usize| {
        count(name, each().map(|row| Some(of(row) as u64)))
    };
    (!seen.is_empty()).then(|| DataTable {
        columns: vec![
            text("instance", each().map(|row| row.0)),
            number("run", |row| row.1),
            number("round", |row| row.2),
            number("row", |row| row.3),
        ],
    })
}
