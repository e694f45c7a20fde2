//! Every published number beside ours, from results that are stored: nothing runs.
//!
//! The results are the `published.csv` that a suite writes, in `experiments/published`; `unreproduced.csv` beside them
//! has the papers without a row.

use banister::Error;
use banister_table::{Limits, RawTable};

use super::published::{Ours, PublishedNumber, Verdict, judged};
use super::sample::Sample;
use super::suite::Suite;

/// A suite with published numbers.
struct StoredSuite {
    suite: &'static str,
    /// Options beside the suite.
    options: &'static str,
    results: &'static str,
    /// Time that making them takes on two cores.
    time: &'static str,
}

const STORED_SUITES: [StoredSuite; 4] = [
    StoredSuite {
        suite: "paper",
        options: "",
        results: include_str!("../../experiments/published/paper.csv"),
        time: "a minute",
    },
    StoredSuite {
        suite: "authors-linear",
        options: "",
        results: include_str!("../../experiments/published/authors-linear.csv"),
        time: "5 minutes",
    },
    StoredSuite {
        suite: "authors-long",
        options: " --runs 3",
        results: include_str!("../../experiments/published/authors-long.csv"),
        time: "10 minutes",
    },
    StoredSuite {
        suite: "directions",
        options: "",
        results: include_str!("../../experiments/published/directions.csv"),
        time: "2 minutes",
    },
];

const UNREPRODUCED: &str = include_str!("../../experiments/published/unreproduced.csv");

/// Most rows and bytes of a stored table.
const LIMITS: Limits = Limits {
    rows: 10_000,
    bytes: 10_000_000,
};

/// A published number beside our stored result.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The suite that plays it.
    pub suite: &'static str,
    /// The command that makes our results anew.
    pub command: String,
    /// Time that it takes on two cores.
    pub time: &'static str,
    /// The number.
    pub number: PublishedNumber,
    /// Ours, where it is stored.
    pub ours: Option<Sample>,
    /// Comparison of the two.
    pub verdict: Option<Verdict>,
}

/// Lists every published number with what is stored.
///
/// # Errors
/// A stored table that is damaged, or that has a row about no published number.
pub fn stored() -> Result<Vec<Stored>, Error> {
    let mut all = Vec::new();
    for source in &STORED_SUITES {
        let numbers = Suite::named(source.suite, 1)?.published;
        let mut rows = rows(source)?;
        let mut ours: Vec<Option<Sample>> = Vec::new();
        for number in &numbers {
            let place = rows.iter().position(|(row, _)| *row == key(number));
            ours.push(place.map(|place| rows.swap_remove(place).1));
        }
        if let Some((row, _)) = rows.first() {
            let allowed = "every row must be about a published number of the suite: make it anew";
            return Err(refused(source.suite, &row.join(", "), allowed));
        }
        let known = numbers.iter().zip(&ours);
        let known = known.filter_map(|(number, ours)| Some((number, Ours::Ok((*ours)?))));
        let mut verdicts = judged(known.collect()).into_iter();
        let verdict = |ours: &Option<Sample>| ours.and_then(|_| Some(verdicts.next()?.1));
        let verdicts: Vec<Option<Verdict>> = ours.iter().map(verdict).collect();
        for ((number, ours), verdict) in numbers.into_iter().zip(ours).zip(verdicts) {
            all.push(Stored {
                suite: source.suite,
                command: format!(
                    "banister compare --suite {}{}",
                    source.suite, source.options
                ),
                time: source.time,
                number,
                ours,
                verdict,
            });
        }
    }
    Ok(all)
}

/// Key of a published number within its suite.
fn key(number: &PublishedNumber) -> [String; 4] {
    [
        number.instance.clone(),
        number.agent.clone(),
        number.quantity.words().to_string(),
        number.horizon.to_string(),
    ]
}

fn rows(source: &StoredSuite) -> Result<Vec<([String; 4], Sample)>, Error> {
    let columns = [
        "instance", "agent", "quantity", "rounds", "runs", "mean", "sd",
    ];
    let number = |cell: &str| -> Result<f64, Error> {
        cell.parse()
            .map_err(|_| refused(source.suite, cell, "must be a number"))
    };
    let read = |row: [String; 7]| {
        let [instance, agent, quantity, rounds, runs, mean, sd] = row;
        let sample = Sample {
            runs: number(&runs)? as u64,
            mean: number(&mean)?,
            sd: number(&sd)?,
        };
        Ok(([instance, agent, quantity, rounds], sample))
    };
    let rows = cells(source.suite, source.results, columns)?;
    rows.into_iter().map(read).collect()
}

/// Lists papers whose numbers are not in the table, each with the reason.
///
/// # Errors
/// A stored table that is damaged.
pub fn unreproduced() -> Result<Vec<[String; 2]>, Error> {
    cells("unreproduced", UNREPRODUCED, ["paper", "reason"])
}

/// Reads some columns of a stored table.
fn cells<const N: usize>(
    name: &str,
    text: &str,
    columns: [&str; N],
) -> Result<Vec<[String; N]>, Error> {
    let table = RawTable::from_csv(text.as_bytes(), LIMITS)
        .map_err(|error| refused(name, "unreadable", &error.to_string()))?;
    let mut places = [0; N];
    for (place, column) in places.iter_mut().zip(columns) {
        *place =
            (table.column(column)).ok_or_else(|| refused(name, column, "the column is missing"))?;
    }
    let row = |row: usize| places.map(|column| table.cell(row, column).to_string());
    Ok((0..table.len()).map(row).collect())
}

fn refused(name: &str, value: &str, allowed: &str) -> Error {
    let field = format!("experiments/published/{name}.csv");
    Error::invalid(field, value, allowed)
}
