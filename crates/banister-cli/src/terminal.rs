//! Tables for people, in the terminal and in the report alike.

use banister::guarantee::Guarantee;
use banister_report::tables::rounds_until_alarm;
use banister_report::tables::words::{UNKNOWN, count, digits, number};
use banister_report::{Cell, ReportTable};
use banister_sim::Results;
use comfy_table::{CellAlignment, presets};

use banister_terminal::{Failure, say};

/// Prints a table of the report.
pub fn print(table: &ReportTable) -> Result<(), Failure> {
    let mut out = comfy_table::Table::new();
    out.load_preset(presets::NOTHING);
    out.set_header(table.header.iter().map(|h| {
        let numeric = table
            .rows
            .first()
            .and_then(|row| row.get(table.header.iter().position(|x| x == h)?))
            .is_some_and(|cell| cell.number);
        aligned(h, numeric)
    }));
    for row in &table.rows {
        out.add_row(row.iter().map(|cell| aligned(&cell.text, cell.number)));
    }
    if !table.title.is_empty() {
        say(format!("{}\n", table.title))?;
    }
    for line in out.lines() {
        say(format!(" {}", line.trim_end()))?;
    }
    say("")
}

fn aligned(text: &str, number: bool) -> comfy_table::Cell {
    comfy_table::Cell::new(text).set_alignment(if number {
        CellAlignment::Right
    } else {
        CellAlignment::Left
    })
}

/// Violations in words, one sentence per agent that has any; empty without.
pub fn violations_in_words(results: &Results) -> Vec<String> {
    let mut said = Vec::new();
    for agent in results
        .instances
        .iter()
        .flat_map(|instance| &instance.agents)
    {
        let Some(rounds) = agent.violations().filter(|&rounds| rounds > 0) else {
            continue;
        };
        let broken = agent.runs.iter().filter(|run| run.violations > Some(0));
        let runs = broken.clone().count();
        let worst = broken.map(|run| run.worst_exceedance).fold(0.0, f64::max);
        let why = match agent.guarantee {
            Guarantee::EveryRound | Guarantee::PerAction => {
                "its certificates may fail, in a run with probability δ, and are mended as outcomes come; more \
                 runs than that mean that an assumption is false (an alarm says so), or that nothing was proved"
            }
            Guarantee::Cumulative => "it promises averages or sums, not rounds",
            Guarantee::Unsafe => "it promises nothing",
        };
        said.push(format!(
            "{}: {} rounds in {runs} of {} runs were beyond a guardrail, by {} at most: {why}.",
            agent.name,
            count(Some(rounds)),
            agent.runs.len(),
            number(worst),
        ));
    }
    said
}

/// Meaning of the columns `limit` and `regret / limit`, for reports.
pub const LIMIT: &str = "The limit of certified play is what a policy would lose that knows every mean and still has to \
    prove its costs, at the agent's δ; a dash where it is unknown. Regret as a multiple of it is the number to judge \
    certified agents by: it also pays for exploration, which the limit leaves out. An agent that proves nothing is not \
    bound by it.";

/// One row per instance, guardrail and agent: threshold, costs and shadow price.
pub fn guardrails(results: &Results) -> ReportTable {
    let last = |values: &[f64]| values.last().copied().unwrap_or(f64::NAN);
    let mut rows = Vec::new();
    for instance in &results.instances {
        for (i, guardrail) in instance.guardrails.iter().enumerate() {
            let direction = guardrail.direction;
            for agent in &instance.agents {
                let costs = agent.curve.cost_worst[i].iter().copied();
                let worst = costs.reduce(|a, b| direction.worse(a, b));
                rows.push(vec![
                    Cell::text(&instance.name),
                    Cell::text(format!(
                        "{} {} {}",
                        guardrail.name,
                        direction.symbol(),
                        digits(guardrail.threshold)
                    )),
                    Cell::text(&agent.name),
                    Cell::number(digits(last(&agent.curve.cost_mean[i]))),
                    Cell::number(digits(worst.unwrap_or(f64::NAN))),
                    Cell::number(digits(last(&agent.curve.price_mean[i]))),
                ]);
            }
        }
    }
    let header = [
        "instance",
        "guardrail",
        "agent",
        "at the end",
        "worst round",
        "shadow price",
    ];
    ReportTable::new("", &header, rows)
}

/// Alarms, where means change or some were raised.
pub fn alarms(results: &Results) -> Option<ReportTable> {
    let mut rows = Vec::new();
    for instance in &results.instances {
        for agent in &instance.agents {
            let raised = agent.runs.iter().filter(|run| run.first_alarm.is_some());
            let raised = raised.count();
            if raised == 0 && instance.changes.is_empty() {
                continue;
            }
            let mut rounds: Vec<u64> = (agent.runs.iter())
                .filter_map(|run| rounds_until_alarm(instance, run))
                .collect();
            rounds.sort_unstable();
            let median = rounds.get(rounds.len() / 2);
            let after: u64 = agent.runs.iter().map(|r| r.violations_after_alarm).sum();
            let before = agent.violations().map(|all| all - after);
            rows.push(vec![
                Cell::text(&instance.name),
                Cell::text(&agent.name),
                Cell::number(format!("{raised} of {}", agent.runs.len())),
                Cell::number(median.map_or(UNKNOWN.into(), u64::to_string)),
                Cell::number(count(before)),
                Cell::number(count(Some(after))),
            ]);
        }
    }
    let header = [
        "instance",
        "agent",
        "runs with an alarm",
        "rounds from change to alarm (median)",
        "violations before",
        "after",
    ];
    (!rows.is_empty()).then(|| ReportTable::new("", &header, rows))
}
