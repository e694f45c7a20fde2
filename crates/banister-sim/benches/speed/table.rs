//! The table of times and ratios.

use std::hint::black_box;

use serde_json::Value;

use crate::rivals::{clarabel_times, enumerate_pairs};
use crate::timing::{BUDGET, Times, batches};
use crate::workload::Workload;

/// One line of the table.
pub struct Row {
    pub name: String,
    /// Name of its rounds, as HiGHS has them.
    pub workload: Option<String>,
    /// `warm` or `cold`.
    pub start: &'static str,
    pub times: Times,
    pub target: f64,
    pub pairs: Option<f64>,
    pub clarabel: Option<f64>,
}

impl Row {
    pub fn new(name: &str, workload: Option<&Workload>, times: Times, target: f64) -> Self {
        Self {
            name: name.to_string(),
            workload: workload.map(|w| w.name.clone()),
            start: if name.ends_with("cold") {
                "cold"
            } else {
                "warm"
            },
            times,
            target,
            pairs: None,
            clarabel: None,
        }
    }

    /// Times the others on these problems.
    pub fn beside(mut self, problems: &[Workload]) -> Self {
        if problems[0].costs.len() == 1 {
            let few = &problems[..if problems[0].reward.len() > 5000 {
                1
            } else {
                problems.len()
            }];
            let mut policy = Vec::new();
            let times = batches(few, 0.5 * BUDGET, |problem| {
                black_box(enumerate_pairs(black_box(&problem.lp()), &mut policy));
                black_box(&policy);
            });
            self.pairs = Some(times.median);
        }
        self.clarabel = Some(clarabel_times(problems).median);
        self
    }
}

/// A time in the unit that suits it.
pub fn shown(nanoseconds: f64) -> String {
    match nanoseconds {
        t if t < 1e3 => format!("{t:.1} ns"),
        t if t < 1e6 => format!("{:.2} µs", t / 1e3),
        t => format!("{:.2} ms", t / 1e6),
    }
}

pub fn print_table(rows: &[Row], highs: Option<&Value>) {
    let headers = [
        "what", "median", "best", "target", "met", "pairs", "Clarabel", "HiGHS",
    ];
    let mut table: Vec<Vec<String>> = vec![headers.iter().map(|h| h.to_string()).collect()];
    let ratio = |other: Option<f64>, own: f64, least: f64| match other {
        None => String::new(),
        Some(other) => {
            let missed = if other / own < least { " (!)" } else { "" };
            format!(
                "{:.*}×{missed}",
                usize::from(other / own < 10.0),
                other / own
            )
        }
    };
    let mut worst = 0.0_f64;
    for row in rows {
        let theirs = row.workload.as_ref().and_then(|name| highs?.get(name));
        let field = |key: &str| theirs.and_then(|t| t.get(key)).and_then(Value::as_f64);
        worst = worst.max(field("worst_difference").unwrap_or(0.0));
        let own = row.times.median;
        table.push(vec![
            row.name.clone(),
            shown(own),
            shown(row.times.best),
            shown(row.target),
            if own <= row.target { "yes" } else { "no" }.into(),
            ratio(row.pairs, own, 1.0),
            ratio(row.clarabel, own, 100.0),
            ratio(field(row.start).map(|s| 1e9 * s), own, 100.0),
        ]);
    }
    let widths: Vec<usize> = (0..headers.len())
        .map(|c| {
            table
                .iter()
                .map(|row| row[c].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for (r, row) in table.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(c, (cell, &width))| match c {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        println!("{}", cells.join("  ").trim_end());
        if r == 0 {
            println!(
                "{}",
                "-".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1))
            );
        }
    }
    println!(
        "\nTimes are medians over batches on one thread. The last three columns say how many times \
         longer the others take\nfor the same LPs; (!) marks a ratio below 1 for enumerating pairs \
         and below 100 for the solvers."
    );
    for row in rows.iter().filter(|row| row.workload.is_none()) {
        println!(
            "{}: {:.1} million rounds/s.",
            row.name,
            1e3 / row.times.median
        );
    }
    match highs {
        None => println!("HiGHS: highspy not available: run `cargo xtask bench`."),
        Some(_) => println!("Largest difference from HiGHS in the optimal value: {worst:.1e}."),
    }
}
