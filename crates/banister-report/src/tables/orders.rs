//! The table `orders` of a comparison on tables of requests.

use banister_sim::Experiment;

use super::DataTable;
use super::spec::{self, Spec};

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
    type Of<'a> = Spec<(&'a str, usize, usize, usize)>;
    let columns = [
        Of::words("instance", |row| Some(row.0)),
        Of::count("run", |row| Some(row.1 as u64)),
        Of::count("round", |row| Some(row.2 as u64)),
        Of::count("row", |row| Some(row.3 as u64)),
    ];
    let mut all = Vec::new();
    for (name, runs) in std::iter::zip(names, &seen) {
        for (run, rows) in runs.iter().enumerate() {
            all.extend((rows.iter().enumerate()).map(|(round, row)| (name, run, round, *row)));
        }
    }
    (!seen.is_empty()).then(|| spec::data(&columns, &all))
}
