//! The leaderboard of an instance whose outcomes were measured, for people.

use banister_sim::compare::{DrawnStanding, Standing};
use banister_sim::results::{InstanceResult, WINDOWS};

use super::spec::known;
use super::standings::{
    kept, net_excess, over_limit, promise, tuned_regret, untuned, violation_sum, violations,
};
use super::words::{cell, counted, digits, ends, multiple, number, share, small_percent};
use crate::{Cell, ReportTable, Tone};

/// A column: heading, cell of the best policy, and cells of agents.
type Column<'a> = (
    String,
    Cell,
    Box<dyn Fn(&Standing<'_>, &DrawnStanding) -> Cell + 'a>,
);

/// Drawn outcomes on an instance, and the rounds until the possible gain: the agents in the leaderboard's order, below
/// the best policy that ignores the request. `None` unless outcomes were measured.
pub fn measured(instance: &InstanceResult) -> Option<ReportTable> {
    let board = untuned(instance);
    if board.iter().any(|row| row.drawn.is_none()) {
        return None;
    }
    let column = |heading: &str, of: fn(&Standing<'_>) -> Cell| -> Column<'_> {
        (
            heading.into(),
            Cell::text(""),
            Box::new(move |row, _| of(row)),
        )
    };
    let best = &instance.optimum;
    let quiet = |text: &str| Cell::text(text).toned(Tone::Quiet);
    let mut columns = vec![
        column("agent", |row| Cell::text(row.name())),
        column("promise", promise),
        column("rank", |row| counted(row.rank)),
        column("kept", kept),
    ];
    (columns[0].1, columns[1].1) = (quiet("best policy"), quiet("known means"));
    columns[2].1 = Cell::number("");
    columns.push((
        "reward".into(),
        Cell::number(digits(best.reward)),
        Box::new(|_, drawn| cell(drawn.reward.mean, digits)),
    ));
    for (i, guardrail) in instance.guardrails.iter().enumerate() {
        let own = best.costs.get(i).map_or(f64::NAN, |cost| *cost);
        columns.push((
            guardrail.name.clone(),
            Cell::number(digits(own)),
            Box::new(move |_, drawn| cell(drawn.costs[i].mean, digits)),
        ));
    }
    columns.push((
        "share of gain".into(),
        Cell::number("100%"),
        Box::new(move |_, drawn| cell(drawn.gain.mean, share)),
    ));
    columns.push((
        "95% interval".into(),
        Cell::text(""),
        Box::new(move |_, drawn| Cell::number(ends(&drawn.gain, share)).toned(Tone::Quiet)),
    ));
    columns.push((
        "rounds to 90%".into(),
        Cell::text(""),
        Box::new(|_, drawn| {
            let rounds = drawn.rounds_to_90;
            Cell::number(rounds.map_or("never".into(), |rounds| rounds.to_string()))
                .sorted_by(rounds.map_or(f64::INFINITY, |rounds| rounds as f64))
        }),
    ));
    for (i, guardrail) in instance.guardrails.iter().enumerate() {
        for (w, length) in WINDOWS.iter().enumerate() {
            columns.push((
                format!("{} beyond, of {length}", guardrail.name),
                Cell::text(""),
                Box::new(move |_, drawn| cell(drawn.beyond[i][w], small_percent)),
            ));
        }
    }
    if board.iter().any(|row| row.agent.limit.is_some()) {
        columns.push(column("regret", |row| cell(row.regret.mean, number)));
        columns.push(column("limit", |row| {
            cell(known(row.agent.limit), number).toned(Tone::Quiet)
        }));
        columns.push(column("regret / limit", |row| {
            cell(over_limit(row), multiple)
        }));
    }
    if board.iter().any(|row| row.tuned.is_some()) {
        columns.push(column("tuned", tuned_regret));
    }
    columns.push(column("violations", violations));
    columns.push(column("Σ(c − τ)₊", violation_sum));
    columns.push(column("(Σ(c − τ))₊", net_excess));
    let agents = board.iter().filter_map(|row| {
        let drawn = row.drawn.as_ref()?;
        Some(columns.iter().map(|(_, _, of)| of(row, drawn)).collect())
    });
    let first = instance.knows_means();
    let first = first.then(|| columns.iter().map(|(_, best, _)| best.clone()).collect());
    Some(ReportTable {
        title: instance.name.clone(),
        rows: first.into_iter().chain(agents).collect(),
        header: columns
            .iter()
            .map(|(heading, ..)| heading.clone())
            .collect(),
    })
}
