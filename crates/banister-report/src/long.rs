//! The table `traces`: every run at every checkpoint.

use std::collections::{BTreeMap, BTreeSet};

use banister_sim::Trace;
use banister_sim::compare::{Comparison, FieldValue};
use banister_sim::results::{GuardrailInfo, Results};
use banister_table::{Column, DataTable, Values};

/// One run of one agent on one instance, with the fields that set it apart in a sweep.
#[derive(Debug, Clone, Copy)]
pub struct LongRow<'a> {
    /// Name of the instance.
    pub instance: &'a str,
    /// Name of the agent.
    pub agent: &'a str,
    /// The instance's guardrails, in the trace's order.
    pub guardrails: &'a [GuardrailInfo],
    /// The checkpoints; each becomes a row.
    pub rounds: &'a [u64],
    /// What happened at them.
    pub trace: &'a Trace,
    /// Swept fields by name, e.g. `("gap", Number(0.1))`.
    pub fields: &'a [(String, FieldValue)],
}

/// The table [`traces`] of a comparison: `runs` holds, per instance and agent, the runs.
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

/// All runs at their checkpoints: one row per instance, agent, run and checkpoint.
///
/// The columns are the swept fields in order of first appearance, then instance, agent, run,
/// round, regret, reward, then NAME_cost, NAME_cost_max and NAME_price per guardrail: the union
/// over runs in order of first appearance. NAME_cost_max is the worst expected signal of any
/// single round since the previous checkpoint (the smallest for an `at_least` guardrail). What
/// does not apply to a row, or is not known, is empty. A field whose name another column has gets
/// a number, e.g. `run#2`.
pub fn traces(runs: &[LongRow<'_>]) -> DataTable {
    let rows: usize = runs.iter().map(|run| run.rounds.len()).sum();
    let fields = Names::of(runs, |run| {
        run.fields.iter().map(|field| &field.0).collect()
    });
    let guardrails = Names::of(runs, |run| run.guardrails.iter().map(|g| &g.name).collect());

    let mut columns = vec![
        text("instance", runs, rows, |run| run.instance),
        text("agent", runs, rows, |run| run.agent),
    ];
    columns.push(count("run", rows, runs, |run, _| run.trace.summary.run));
    columns.push(count("round", rows, runs, |run, at| run.rounds[at]));
    columns.push(number("regret", rows, runs, |run, _| {
        Some(&run.trace.regret)
    }));
    columns.push(number("reward", rows, runs, |run, _| {
        Some(&run.trace.reward)
    }));
    for (name, places) in &guardrails.named {
        let mut signal = |suffix: &str, of: fn(&Trace) -> &Vec<Vec<f64>>| {
            columns.push(number(
                &format!("{name}_{suffix}"),
                rows,
                runs,
                |run, index| of(run.trace).get((*places.get(index)?)?),
            ));
        };
        signal("cost", |trace| &trace.cost);
        signal("cost_max", |trace| &trace.worst);
        signal("price", |trace| &trace.price);
    }
    let mut taken: BTreeSet<String> = columns.iter().map(|column| column.name.clone()).collect();
    let mut leading = Vec::with_capacity(fields.named.len());
    for (name, places) in &fields.named {
        let name = unused(name, &taken);
        taken.insert(name.clone());
        leading.push(Column {
            values: field_values(runs, rows, places),
            name,
        });
    }
    leading.extend(columns);
    DataTable { columns: leading }
}

fn text<'a>(
    name: &str,
    runs: &[LongRow<'a>],
    rows: usize,
    of: fn(&LongRow<'a>) -> &'a str,
) -> Column {
    let mut values = Vec::with_capacity(rows);
    for run in runs {
        values.extend(std::iter::repeat_n(of(run).to_owned(), run.rounds.len()));
    }
    Column {
        name: name.to_owned(),
        values: Values::Text(values),
    }
}

fn count(
    name: &str,
    rows: usize,
    runs: &[LongRow<'_>],
    of: fn(&LongRow<'_>, usize) -> u64,
) -> Column {
    let mut values = Vec::with_capacity(rows);
    for run in runs {
        values.extend((0..run.rounds.len()).map(|at| Some(of(run, at))));
    }
    Column {
        name: name.to_owned(),
        values: Values::Count(values),
    }
}

/// A column of what a run recorded; the second argument is the run's place among all.
fn number<'a>(
    name: &str,
    rows: usize,
    runs: &[LongRow<'a>],
    of: impl Fn(&LongRow<'a>, usize) -> Option<&'a Vec<f64>>,
) -> Column {
    let mut values = Vec::with_capacity(rows);
    for (index, run) in runs.iter().enumerate() {
        let recorded = of(run, index);
        // Unknown is NaN in a trace, and a trace may be shorter than its checkpoints.
        let known = |at: usize| recorded?.get(at).copied().filter(|x| !x.is_nan());
        values.extend((0..run.rounds.len()).map(known));
    }
    Column {
        name: name.to_owned(),
        values: Values::Number(values),
    }
}

fn field_values(runs: &[LongRow<'_>], rows: usize, places: &[Option<usize>]) -> Values {
    let value =
        |(run, place): (&LongRow<'_>, &Option<usize>)| Some(run.fields.get((*place)?)?.1.clone());
    let values: Vec<Option<FieldValue>> = runs.iter().zip(places).map(value).collect();
    let repeated = || runs.iter().map(|run| run.rounds.len()).zip(&values);
    if values
        .iter()
        .all(|v| !matches!(v, Some(FieldValue::Text(_))))
    {
        let mut numbers = Vec::with_capacity(rows);
        for (times, value) in repeated() {
            let number = match value {
                Some(FieldValue::Number(x)) if !x.is_nan() => Some(*x),
                _ => None,
            };
            numbers.extend(std::iter::repeat_n(number, times));
        }
        return Values::Number(numbers);
    }
    let mut texts = Vec::with_capacity(rows);
    for (times, value) in repeated() {
        let text = match value {
            Some(FieldValue::Number(x)) => x.to_string(),
            Some(FieldValue::Text(text)) => text.clone(),
            None => String::new(),
        };
        texts.extend(std::iter::repeat_n(text, times));
    }
    Values::Text(texts)
}

/// Names from all runs, each once, in order of first appearance.
struct Names {
    /// Each name, and where each run keeps what belongs to it.
    named: Vec<(String, Vec<Option<usize>>)>,
}

impl Names {
    fn of<'a>(runs: &[LongRow<'a>], own: fn(&LongRow<'a>) -> Vec<&'a String>) -> Names {
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut named: Vec<(String, Vec<Option<usize>>)> = Vec::new();
        for (index, run) in runs.iter().enumerate() {
            let mut taken = BTreeSet::new();
            for (position, name) in own(run).into_iter().enumerate() {
                // A name used twice in one run would hide a column; number the later ones.
                let name = unused(name, &taken);
                taken.insert(name.clone());
                let at = *places.entry(name.clone()).or_insert_with(|| {
                    named.push((name, vec![None; runs.len()]));
                    named.len() - 1
                });
                if let Some(place) = named.get_mut(at).and_then(|n| n.1.get_mut(index)) {
                    *place = Some(position);
                }
            }
        }
        Names { named }
    }
}

/// The name, or the name with the first number that makes it new.
fn unused(name: &str, taken: &BTreeSet<String>) -> String {
    let numbered = |n: usize| match n {
        1 => name.to_owned(),
        n => format!("{name}#{n}"),
    };
    let mut n = 1;
    while taken.contains(&numbered(n)) {
        n += 1;
    }
    numbered(n)
}
