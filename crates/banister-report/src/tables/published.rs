//! The table `published`: published numbers beside ours.

use banister_sim::compare::{Interval95, Ours, PublishedNumber, Verdict};

use super::DataTable;
use super::spec::Place::{Report, Terminal};
use super::spec::{self, Spec};
use super::words::{UNKNOWN, number};
use crate::{Cell, ReportTable, Tone};

/// A number with ours.
pub struct PublishedRow<'a> {
    /// Suite that it belongs to; empty where it was not asked for.
    pub suite: &'a str,
    /// The number.
    pub number: &'a PublishedNumber,
    /// Runs of ours.
    pub runs: Option<u64>,
    /// `None` where nothing is stored.
    pub verdict: Option<&'a Verdict>,
}

impl PublishedRow<'_> {
    fn ours(&self) -> Option<&Interval95> {
        self.verdict.and_then(Verdict::ours)
    }

    /// A value of ours with the digits that the published one has.
    fn digits(&self, x: f64) -> String {
        let value = self.number.value;
        if value != 0.0 && value.abs() < 100.0 {
            format!("{x:.2}")
        } else {
            number(x)
        }
    }
}

/// Columns of published numbers: `sd` and `runs` are those of the published runs, `ours` has our 95% interval.
fn columns<'a>() -> Vec<Spec<PublishedRow<'a>>> {
    type Of<'a> = Spec<PublishedRow<'a>>;
    vec![
        Of::words("source", |row| Some(&row.number.source)).cells("source", Terminal, |row| {
            Cell::text(&row.number.source).toned(Tone::Quiet)
        }),
        Of::words("suite", |row| Some(row.suite))
            .shown("suite", Terminal)
            .where_any(|row| !row.suite.is_empty()),
        Of::words("instance", |row| Some(&row.number.instance)).shown("instance", Terminal),
        Of::words("agent", |row| Some(&row.number.agent)).shown("agent", Terminal),
        Of::count("rounds", |row| Some(row.number.horizon)).shown("rounds", Terminal),
        Of::words("quantity", |row| Some(row.number.quantity.words())).cells(
            "measure",
            Terminal,
            |row| Cell::text(row.number.quantity.words()).toned(Tone::Quiet),
        ),
        Of::number("published", |row| row.number.value).written("published", Terminal, |value| {
            if value.abs() < 100.0 {
                value.to_string()
            } else {
                number(value)
            }
        }),
        Of::number("margin", |row| row.number.margin).written("margin", Terminal, |margin| {
            format!("±{:.0}%", 100.0 * margin)
        }),
        Of::number("sd", |row| published_sd(row.number)).shown("sd", Terminal),
        Of::count("runs", |row| row.number.spread.map(|own| own.runs)),
        Of::interval("ours", |row| {
            (row.ours()).map_or(Interval95::UNKNOWN, |ours| *ours)
        })
        .cells("ours (95%)", Terminal, ours),
        Of::count("our_runs", |row| row.runs)
            .shown("runs", Terminal)
            .where_any(|row| row.runs.is_some()),
        Of::only("distance", Terminal, distance),
        Of::words("verdict", |row| row.verdict.map(Verdict::words))
            .cells("verdict", Terminal, verdict),
    ]
}

/// Tabulates published numbers beside ours: one row per number.
pub fn published(rows: &[PublishedRow<'_>]) -> DataTable {
    spec::data(&columns(), rows)
}

/// Published numbers beside ours for people.
pub fn published_shown(rows: &[PublishedRow<'_>]) -> ReportTable {
    spec::report("Published numbers beside ours", &columns(), rows, Report)
}

/// A published number beside ours for programs.
pub fn published_json(row: &PublishedRow<'_>) -> serde_json::Value {
    spec::json(&columns(), row)
}

/// Tabulates our values beside the published ones, as results are stored: `runs`, `mean` and `sd` are ours.
pub fn measured_numbers(measured: &[(&PublishedNumber, Ours)]) -> DataTable {
    type Of<'a> = Spec<(&'a PublishedNumber, Ours)>;
    fn sample(row: &(&PublishedNumber, Ours)) -> [f64; 2] {
        (row.1.as_ref()).map_or([f64::NAN; 2], |ours| [ours.mean, ours.sd])
    }
    let known: Vec<_> = (measured.iter().filter(|row| row.1.is_ok()).cloned()).collect();
    let columns = [
        Of::words("instance", |row| Some(&row.0.instance)),
        Of::words("agent", |row| Some(&row.0.agent)),
        Of::words("quantity", |row| Some(row.0.quantity.words())),
        Of::count("rounds", |row| Some(row.0.horizon)),
        Of::count("runs", |row| row.1.as_ref().ok().map(|ours| ours.runs)),
        Of::number("mean", |row| sample(row)[0]),
        Of::number("sd", |row| sample(row)[1]),
        Of::number("published", |row| row.0.value),
        Of::number("published_sd", |row| published_sd(row.0)),
        Of::count("published_runs", |row| row.0.spread.map(|own| own.runs)),
    ];
    spec::data(&columns, &known)
}

fn published_sd(number: &PublishedNumber) -> f64 {
    number.spread.map_or(f64::NAN, |own| own.sd)
}

fn ours(row: &PublishedRow<'_>) -> Cell {
    Cell::number(match row.ours() {
        None => UNKNOWN.into(),
        Some(own) if own.low.is_nan() => row.digits(own.mean),
        Some(own) => {
            let [mean, low, high] = [own.mean, own.low, own.high].map(|x| row.digits(x));
            format!("{mean} ({low} to {high})")
        }
    })
}

fn distance(row: &PublishedRow<'_>) -> Cell {
    let value = row.number.value;
    let text = row.ours().map_or(UNKNOWN.into(), |own| {
        let distance = 100.0 * (own.mean / value - 1.0);
        if distance.is_finite() {
            format!("{distance:+.1}%").replace('-', "−")
        } else {
            number(own.mean - value)
        }
    });
    Cell::number(text)
}

fn verdict(row: &PublishedRow<'_>) -> Cell {
    let published = row.number;
    let (word, tone) = match row.verdict {
        None => ("not stored".into(), Tone::Quiet),
        Some(Verdict::OtherHorizon(_)) => {
            (format!("needs {} rounds", published.horizon), Tone::Quiet)
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
    Cell::text(word).toned(tone)
}
