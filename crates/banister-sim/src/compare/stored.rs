//! Every published number beside ours, from results that are stored: nothing runs.
//!
//! The results are the `published.csv` that a suite writes, in `experiments/published`.

use banister::Error;
use banister_table::{Limits, RawTable};

use super::published::{Ours, PublishedNumber, Sample, Verdict, judged};
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
            return Err(refused(source, &row.join(", "), allowed));
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
    let table = RawTable::from_csv(source.results.as_bytes(), LIMITS)
        .map_err(|error| refused(source, "unreadable", &error.to_string()))?;
    let column = |name: &str| {
        table
            .column(name)
            .ok_or_else(|| refused(source, name, "the column is missing"))
    };
    let keys = ["instance", "agent", "quantity", "rounds"].map(column);
    let values = ["runs", "mean", "sd"].map(column);
    let [a, b, c, d] = keys;
    let keys = [a?, b?, c?, d?];
    let [runs, mean, sd] = values;
    let (runs, mean, sd) = (runs?, mean?, sd?);
    let number = |row: usize, column: usize| -> Result<f64, Error> {
        let cell = table.cell(row, column);
        cell.parse()
            .map_err(|_| refused(source, cell, "must be a number"))
    };
    let read = |row: usize| {
        Ok((
            keys.map(|column| table.cell(row, column).to_string()),
            Sample {
                runs: number(row, runs)? as u64,
                mean: number(row, mean)?,
                sd: number(row, sd)?,
            },
        ))
    };
    (0..table.len()).map(read).collect()
}

fn refused(source: &StoredSuite, value: &str, allowed: &str) -> Error {
    let field = format!("experiments/published/{}.csv", source.suite);
    Error::invalid(field, value, allowed)
}

/// Papers whose numbers are not in the table, each with the reason.
pub const UNREPRODUCED: [(&str, &str); 18] = [
    (
        "Amani, Alizadeh, Thrampoulidis 2019, Safe-LUCB",
        "curves over random instances; the public code has no stored results",
    ),
    (
        "Moradipari, Amani, Alizadeh, Thrampoulidis 2019, Safe-LTS",
        "its own curves come without numbers; the agent's rows above are those of Pacchiano et al. 2024",
    ),
    (
        "Moradipari, Thrampoulidis, Alizadeh 2020, SCLTS and SCLUCB",
        "curves; we found neither numbers nor code",
    ),
    (
        "Saxena, Gonzalez, Jaldén 2020, LinConTS and LinCon-KL-UCB",
        "curves; the public code keeps its results as arrays, which no copy that we could read holds",
    ),
    (
        "Liu, Li, Shi, Ying 2021, pessimistic-optimistic",
        "contexts with linear rewards and costs that are not linear: no environment here",
    ),
    (
        "Chen, Gangrade, Saligrama 2022, DOSLB",
        "plays all points of a polytope: environments here offer lists of actions",
    ),
    (
        "Gangrade, Saligrama 2025, COLTS",
        "plays all points of a convex set: environments here offer lists of actions",
    ),
    (
        "Gangrade et al. 2025, FAST",
        "we could not read its experiments",
    ),
    (
        "Genalti et al. 2025, SOLB",
        "we could not read its experiments",
    ),
    (
        "Immorlica, Sankararaman, Schapire, Slivkins 2019, LagrangeBwK",
        "theory: no experiments",
    ),
    (
        "Stradi, Castiglioni, Marchesi, Gatti 2025, S-OPS",
        "episodes of a decision process with adversarial losses: no environment here",
    ),
    (
        "Zuo, Stradi 2026, MA-OPS",
        "the same; its lower bounds are in `banister bound`",
    ),
    (
        "Dragazis, Pacchiano 2026, HP-UCB",
        "Table 1 counts realised costs beyond the threshold under noise that grows with the dose, which comparisons do not \
         simulate. A test of `hp_ucb` comes close to it with d = 5, standard normal noise and δ = δ′ = 0.01: the paper \
         states none of them, and of a few values these fitted best",
    ),
    (
        "Taberner-Miller 2026, ParetoBandit",
        "its router learns from embeddings of prompts and from 8374 other prompts, which are not in the table of requests; \
         its code without them is compared in the suite `routing`",
    ),
    (
        "Camilleri, Wagenmaker, Morgenstern, Jain, Jamieson 2022",
        "counts rounds until the best safe arm is certified: no agent here stops",
    ),
    (
        "Wang, Wagenmaker, Jamieson 2022",
        "counts rounds until the best safe arm is certified: no agent here stops",
    ),
    (
        "Lindner, Tschiatschek, Hofmann, Krause 2022",
        "counts rounds until the best arm under unknown constraints is found: no agent here stops",
    ),
    (
        "Carlsson, Basu, Johansson, Dubhashi 2024",
        "counts rounds until the best policy under known constraints is certified: no agent here stops",
    ),
];
