//! Published numbers beside ours: those of a suite that ran, or all of them from stored results.

use banister_report::tables::{self, DataTable, text};
use banister_report::{Cell, ReportError, ReportTable, Section, Tone};
use banister_sim::compare::{
    Accuracy, Interval95, Ours, PublishedNumber, Stored, Verdict, stored, unreproduced,
};
use serde_json::{Value, json};

use crate::terminal::{self, UNKNOWN, count, number};
use banister_terminal::Failure;

/// Meaning of the verdicts, for readers.
pub const VERDICTS: &str = "With a spread (the standard deviation of the published runs) a number agrees if the 95% \
    interval of the difference of the two means contains 0, and differs if even the interval for all rows of its suite \
    together does not. Without one it agrees if our mean comes as close as the tolerance says, and differs if our whole \
    95% interval is farther away. In between it is undecided: more runs would tell. Papers on agents that play single \
    actions count regret against the best single action, played at the largest part of its length that is safe; so does \
    this table for them.";

/// A number with ours.
pub struct Row<'a> {
    pub suite: &'a str,
    pub number: &'a PublishedNumber,
    /// Runs of ours.
    pub runs: Option<u64>,
    /// `None` where nothing is stored.
    pub verdict: Option<&'a Verdict>,
}

/// `banister compare --published`.
pub fn show(as_json: bool) -> Result<(), Failure> {
    let all = stored()?;
    if as_json {
        let reason = |[paper, reason]: [String; 2]| json!({"paper": paper, "reason": reason});
        let papers: Vec<Value> = unreproduced()?.into_iter().map(reason).collect();
        return banister_terminal::say(json!({
            "published": all.iter().map(stored_json).collect::<Vec<_>>(),
            "unreproduced": papers,
        }));
    }
    // Numbers with the same heading need not be neighbours.
    let mut parts: Vec<(String, Vec<Row<'_>>)> = Vec::new();
    for row in rows(&all) {
        let title = heading(&row);
        match parts.iter_mut().find(|part| part.0 == title) {
            Some(part) => part.1.push(row),
            None => parts.push((title, vec![row])),
        }
    }
    for (title, part) in parts {
        terminal::print(&ReportTable {
            title,
            ..table(&part).without(&["source", "suite", "measure"])
        })?;
    }
    banister_terminal::say("Papers whose numbers are not above:")?;
    for line in reasons()? {
        banister_terminal::say(format!("  {line}"))?;
    }
    banister_terminal::say("")?;
    for line in remade(&all) {
        banister_terminal::say(line)?;
    }
    Ok(())
}

/// The whole table as a section of a report.
pub fn section() -> Result<Section, Failure> {
    let all = stored()?;
    let mut paragraphs = vec![
        "Every published number that we know and can play, beside stored results of ours.".into(),
        VERDICTS.into(),
    ];
    paragraphs.extend(remade(&all));
    paragraphs.push(format!(
        "Papers whose numbers are not in the table. {}",
        reasons()?.join(". ")
    ));
    Ok(Section {
        title: "Published numbers".into(),
        paragraphs,
        tables: vec![table(&rows(&all))],
        ..Section::default()
    })
}

/// Source and quantity of a number: what many rows have in common.
fn heading(row: &Row<'_>) -> String {
    format!(
        "{}: {}; suite {}",
        row.number.source,
        row.number.quantity.words(),
        row.suite
    )
}

fn rows(all: &[Stored]) -> Vec<Row<'_>> {
    all.iter().map(row).collect()
}

fn row(stored: &Stored) -> Row<'_> {
    Row {
        suite: stored.suite,
        number: &stored.number,
        runs: stored.ours.map(|ours| ours.runs),
        verdict: stored.verdict.as_ref(),
    }
}

fn reasons() -> Result<Vec<String>, banister::Error> {
    let reason = |[paper, reason]: [String; 2]| format!("{paper}: {reason}");
    Ok(unreproduced()?.into_iter().map(reason).collect())
}

/// One line per suite: its command, and how long that takes.
fn remade(all: &[Stored]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for stored in all {
        let line = format!(
            "`{}` makes the rows of `{}` anew, in {} on two cores.",
            stored.command, stored.suite, stored.time
        );
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn stored_json(stored: &Stored) -> Value {
    let mut value = json(&row(stored));
    value["command"] = json!(stored.command);
    value["time"] = json!(stored.time);
    value
}

/// A row for a program.
pub fn json(row: &Row<'_>) -> Value {
    let number = row.number;
    let interval = |i: &Interval95| json!({"mean": i.mean, "low": i.low, "high": i.high});
    let spread = number.accuracy.spread();
    json!({
        "source": number.source,
        "suite": row.suite,
        "instance": number.instance,
        "agent": number.agent,
        "rounds": number.horizon,
        "quantity": number.quantity.words(),
        "published": number.value,
        "tolerance": number.accuracy.tolerance(),
        "sd": spread.map(|(sd, _)| sd),
        "runs": spread.map(|(_, runs)| runs),
        "ours": row.verdict.and_then(Verdict::ours).map(interval),
        "our_runs": row.runs,
        "verdict": row.verdict.map(Verdict::words),
    })
}

/// Our values beside the published ones, as a file that can be stored: `published.csv`.
pub fn csv(measured: &[(&PublishedNumber, Ours)]) -> Result<Vec<u8>, Failure> {
    let each =
        || (measured.iter()).filter_map(|(number, ours)| Some((*number, ours.clone().ok()?)));
    let spread = |number: &PublishedNumber| number.accuracy.spread();
    let table = DataTable {
        columns: vec![
            text("instance", each().map(|row| &row.0.instance)),
            text("agent", each().map(|row| &row.0.agent)),
            text("quantity", each().map(|row| row.0.quantity.words())),
            tables::count("rounds", each().map(|row| Some(row.0.horizon))),
            tables::count("runs", each().map(|row| Some(row.1.runs))),
            tables::number("mean", each().map(|row| Some(row.1.mean))),
            tables::number("sd", each().map(|row| Some(row.1.sd))),
            tables::number("published", each().map(|row| Some(row.0.value))),
            tables::number(
                "published_sd",
                each().map(|row| spread(row.0).map(|(sd, _)| sd)),
            ),
            tables::count(
                "published_runs",
                each().map(|row| spread(row.0).map(|(_, n)| n)),
            ),
        ],
    };
    Ok(table.to_csv().map_err(ReportError::from)?)
}

/// Published numbers beside ours.
pub fn table(rows: &[Row<'_>]) -> ReportTable {
    ReportTable {
        title: "Published numbers beside ours".into(),
        header: [
            "source",
            "suite",
            "instance",
            "agent",
            "rounds",
            "measure",
            "published",
            "accuracy",
            "ours (95%)",
            "runs",
            "distance",
            "verdict",
        ]
        .map(String::from)
        .to_vec(),
        rows: rows.iter().map(cells).collect(),
    }
}

fn cells(row: &Row<'_>) -> Vec<Cell> {
    let published = row.number;
    let digits = |x: f64| {
        if published.value == 0.0 {
            number(x)
        } else if published.value.abs() < 100.0 {
            format!("{x:.2}")
        } else {
            number(x)
        }
    };
    let ours = |interval: &Interval95| {
        if interval.low.is_nan() {
            digits(interval.mean)
        } else {
            format!(
                "{} ({} to {})",
                digits(interval.mean),
                digits(interval.low),
                digits(interval.high)
            )
        }
    };
    let value = if published.value.abs() < 100.0 {
        published.value.to_string()
    } else {
        number(published.value)
    };
    let (word, tone) = match row.verdict {
        None => ("not stored".into(), Tone::Quiet),
        Some(Verdict::OtherHorizon(_)) => {
            let rounds = count(Some(published.horizon));
            (format!("needs {rounds} rounds"), Tone::Quiet)
        }
        Some(Verdict::FewerRuns(_)) => {
            let runs = published.runs.unwrap_or(0);
            (format!("needs {runs} runs"), Tone::Quiet)
        }
        Some(Verdict::Absent) => (format!("{} did not play", published.agent), Tone::Quiet),
        Some(verdict @ Verdict::Agrees(_)) => (verdict.words().into(), Tone::Good),
        Some(verdict @ Verdict::Differs(_)) => (verdict.words().into(), Tone::Bad),
        Some(verdict @ Verdict::Undecided(_)) => (verdict.words().into(), Tone::Quiet),
    };
    let interval = row.verdict.and_then(Verdict::ours);
    let distance = interval.map_or(UNKNOWN.into(), |i| {
        let distance = 100.0 * (i.mean / published.value - 1.0);
        if distance.is_finite() {
            format!("{distance:+.1}%").replace('-', "−")
        } else {
            number(i.mean - published.value)
        }
    });
    let accuracy = match published.accuracy {
        Accuracy::Tolerance(0.0) => "exact".into(),
        Accuracy::Tolerance(tolerance) => format!("±{:.0}%", 100.0 * tolerance),
        Accuracy::Spread { sd, runs } => format!("sd {}, {runs} runs", number(sd)),
    };
    vec![
        Cell::text(&published.source).toned(Tone::Quiet),
        Cell::text(row.suite),
        Cell::text(&published.instance),
        Cell::text(&published.agent),
        Cell::number(count(Some(published.horizon))).sorted_by(published.horizon as f64),
        Cell::text(published.quantity.words()).toned(Tone::Quiet),
        Cell::number(value).sorted_by(published.value),
        Cell::number(accuracy).toned(Tone::Quiet),
        Cell::number(interval.map_or(UNKNOWN.into(), ours)),
        Cell::number(row.runs.map_or(UNKNOWN.into(), |runs| runs.to_string())),
        Cell::number(distance),
        Cell::text(word).toned(tone),
    ]
}
