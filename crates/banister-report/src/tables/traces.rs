//! The table `traces`: every run at every checkpoint.

use std::collections::BTreeSet;
use std::iter::repeat_n;

use super::columns::{count, number, text, union, unused};
use super::{Column, DataTable};
use banister_sim::Trace;
use banister_sim::compare::{Comparison, FieldValue};
use banister_sim::results::{GuardrailInfo, Results};

/// One run of one agent on one instance, with the fields that set it apart in a sweep.
#[derive(Debug, Clone, Copy)]
pub struct LongRow<'a> {
    /// Name of the instance.
    pub instance: &'a str,
    /// Name of the agent.
    pub agent: &'a str,
    /// Guardrails of the instance, in the trace's order.
    pub guardrails: &'a [GuardrailInfo],
    /// Checkpoints; each becomes a row.
    pub rounds: &'a [u64],
    /// Record of the run at the checkpoints.
    pub trace: &'a Trace,
    /// Swept fields by name, e.g. `("gap", Number(0.1))`.
    pub fields: &'a [(String, FieldValue)],
}

/// Tabulates the [`traces`] of a comparison: `runs` holds, per instance and agent, the runs.
pub fn long_form(comparison: &Comparison, results: &Results, runs: &[&[Vec<Trace>]]) -> DataTable {
    let swept = comparison.swept();
    let mut rows = Vec::new();
    for (i, instance) in results.instances.iter().enumerate() {
        for (a, agent) in instance.agents.iter().enumerate() {
            rows.extend(runs[i][a].iter().map(|trace| LongRow {
                instance: &instance.name,
                agent: &agent.name,
                guardrails: &instance.guardrails,
                rounds: &agent.curve.round,
                trace,
                fields: &swept[i][a],
            }));
        }
    }
    traces(&rows)
}

/// Tabulates all runs at their checkpoints: one row per instance, agent, run and checkpoint.
///
/// The columns are the swept fields in order of first appearance, then instance, agent, run, round, regret, reward,
/// then NAME_cost, NAME_cost_max, NAME_price, NAME_violation_sum and NAME_net_excess per guardrail: the union over
/// runs in order of first appearance. The sums Σ(c − τ)₊ and Σ(c − τ) count from the first round, the latter with its
/// sign. NAME_cost_max is the worst expected signal of any single round since the previous checkpoint (the smallest
/// for an `at_least` guardrail). What does not apply to a row, or is not known, is empty. A field whose name another
/// column has gets a number, e.g. `run#2`.
pub fn traces(runs: &[LongRow<'_>]) -> DataTable {
    let fields = union(
        runs.iter()
            .map(|run| run.fields.iter().map(|f| &f.0).collect()),
    );
    let guardrails = union(
        runs.iter()
            .map(|run| run.guardrails.iter().map(|g| &g.name).collect()),
    );
    let rows = || {
        runs.iter()
            .flat_map(|run| run.rounds.iter().map(move |round| (run, *round)))
    };
    let mut columns = vec![
        text("instance", rows().map(|row| row.0.instance)),
        text("agent", rows().map(|row| row.0.agent)),
        count("run", rows().map(|row| Some(row.0.trace.summary.run))),
        count("round", rows().map(|row| Some(row.1))),
        recorded("regret", runs, |run, _| Some(&run.trace.regret)),
        recorded("reward", runs, |run, _| Some(&run.trace.reward)),
    ];
    for (name, places) in &guardrails {
        let mut signal = |suffix: &str, of: fn(&Trace) -> &Vec<Vec<f64>>| {
            let name = format!("{name}_{suffix}");
            columns.push(recorded(&name, runs, |run, index| {
                of(run.trace).get(places[index]?)
            }));
        };
        signal("cost", |trace| &trace.cost);
        signal("cost_max", |trace| &trace.worst);
        signal("price", |trace| &trace.price);
        signal("violation_sum", |trace| &trace.violation);
        signal("net_excess", |trace| &trace.net);
    }
    let mut taken: BTreeSet<String> = columns.iter().map(|column| column.name.clone()).collect();
    let mut leading = Vec::with_capacity(fields.len());
    for (name, places) in &fields {
        let name = unused(name, &taken);
        leading.push(field(&name, runs, places));
        taken.insert(name);
    }
    leading.extend(columns);
    DataTable { columns: leading }
}

/// Makes a column of what a run recorded; the second argument is the run's place among all.
fn recorded<'a>(
    name: &str,
    runs: &[LongRow<'a>],
    of: impl Fn(&LongRow<'a>, usize) -> Option<&'a Vec<f64>>,
) -> Column {
    // A trace may be shorter than its checkpoints.
    let values = runs.iter().enumerate().flat_map(|(index, run)| {
        let values = of(run, index);
        (0..run.rounds.len()).map(move |at| values?.get(at).copied())
    });
    number(name, values)
}

/// Makes a column of a swept field: numbers, or words if any value is one.
fn field(name: &str, runs: &[LongRow<'_>], places: &[Option<usize>]) -> Column {
    let values = runs.iter().zip(places).flat_map(|(run, place)| {
        let value = place.and_then(|place| Some(&run.fields.get(place)?.1));
        repeat_n(value, run.rounds.len())
    });
    if values
        .clone()
        .any(|value| matches!(value, Some(FieldValue::Text(_))))
    {
        return text(
            name,
            values.map(|value| value.map(ToString::to_string).unwrap_or_default()),
        );
    }
    let known = |value: Option<&FieldValue>| match value {
        Some(FieldValue::Number(x)) => Some(*x),
        _ => None,
    };
    number(name, values.map(known))
}
