//! Published numbers beside ours: those of a suite that ran, or all of them from stored results.

use banister_report::tables::{PublishedRow, published_json, published_shown};
use banister_report::{ReportTable, Section};
use banister_sim::compare::{Stored, stored, unreproduced};
use serde_json::{Value, json};

use crate::terminal;
use banister_terminal::Failure;

/// Meaning of the verdicts, for readers.
pub const VERDICTS: &str = "A number agrees if two one-sided tests at level 5% show that our mean is within the margin of \
    it, and differs if a 95% interval for all rows of its suite together is wholly outside. Else it is undecided: the \
    runs are too few to tell. Both means' spreads count; a number without one is taken as exact. Papers on agents that play single \
    actions count regret against the best single action, played at the largest part of its length that is safe; so does \
    this table for them.";

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
    let mut parts: Vec<(String, Vec<PublishedRow<'_>>)> = Vec::new();
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
            ..published_shown(&part).without(&["source", "suite", "measure"])
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
        tables: vec![published_shown(&rows(&all))],
        ..Section::default()
    })
}

/// Source and quantity of a number: what many rows have in common.
fn heading(row: &PublishedRow<'_>) -> String {
    format!(
        "{}: {}; suite {}",
        row.number.source,
        row.number.quantity.words(),
        row.suite
    )
}

fn rows(all: &[Stored]) -> Vec<PublishedRow<'_>> {
    all.iter().map(row).collect()
}

fn row(stored: &Stored) -> PublishedRow<'_> {
    PublishedRow {
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
    let mut value = published_json(&row(stored));
    value["command"] = json!(stored.command);
    value["time"] = json!(stored.time);
    value
}
