//! Tables for people, in the terminal and in the report alike.

use banister::guarantee::Guarantee;
use banister_report::figures::axes::significant;
use banister_report::tables::rounds_until_alarm;
use banister_report::{Cell, ReportTable, Tone};
use banister_sim::Results;
use banister_sim::results::AgentResult;
use comfy_table::{CellAlignment, presets};
use serde_json::json;

use banister_terminal::{Failure, say};

/// Regrets beside those of the first instance, in which the safe cost is known: of the same agent, or
/// of the first one where there is no such agent.
pub fn against_known(results: &Results) -> ReportTable {
    let known = |name: &str| {
        let agents = &results.instances.first()?.agents;
        let agent = agents.iter().find(|agent| agent.name == name);
        agent.or(agents.first()).map(|agent| final_regret(agent).0)
    };
    let mut rows = Vec::new();
    for instance in &results.instances {
        for agent in &instance.agents {
            let (mean, sd) = final_regret(agent);
            let ratio =
                known(&agent.name).map_or(UNKNOWN.into(), |base| format!("{:.2}×", mean / base));
            rows.push(vec![
                Cell::text(&instance.name),
                Cell::text(&agent.name),
                Cell::number(number(mean)),
                Cell::number(number(sd)).toned(Tone::Quiet),
                Cell::number(ratio),
                Cell::number(agent.limit.map_or(UNKNOWN.into(), number)).toned(Tone::Quiet),
                Cell::number(multiple(agent.regret_over_limit())),
                Cell::number(count(violations(agent))),
            ]);
        }
    }
    ReportTable {
        title: String::new(),
        header: [
            "",
            "agent",
            "regret",
            "± sd",
            "against known",
            "limit",
            "regret / limit",
            "violations",
        ]
        .map(String::from)
        .to_vec(),
        rows,
    }
}

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

/// Final regret: mean and standard deviation over runs.
pub fn final_regret(agent: &AgentResult) -> (f64, f64) {
    let last = |values: &[f64]| values.last().copied().unwrap_or(f64::NAN);
    (
        last(&agent.curve.regret_mean),
        last(&agent.curve.regret_std),
    )
}

/// Rounds that broke a guardrail, over all runs; unknown without true means.
pub fn violations(agent: &AgentResult) -> Option<u64> {
    agent.runs.iter().map(|run| run.violations).sum()
}

/// Violations in words, one sentence per agent that has any; empty without.
pub fn violations_in_words(results: &Results) -> Vec<String> {
    let mut said = Vec::new();
    for agent in results
        .instances
        .iter()
        .flat_map(|instance| &instance.agents)
    {
        let Some(rounds) = violations(agent).filter(|&rounds| rounds > 0) else {
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

/// Mean expected reward of the last policies.
pub fn final_reward(agent: &AgentResult) -> f64 {
    agent.curve.reward_mean.last().copied().unwrap_or(f64::NAN)
}

/// r* in the rounds of the last policies, also where it differs from round to round: what they
/// earned, and what they lost.
pub fn optimum_at_the_end(agent: &AgentResult) -> f64 {
    let (rounds, regret) = (&agent.curve.round, &agent.curve.regret_mean);
    let since = |values: &[f64]| match values {
        [.., before, last] => last - before,
        [only] => *only,
        [] => f64::NAN,
    };
    let rounds: Vec<f64> = rounds.iter().map(|round| *round as f64).collect();
    final_reward(agent) + since(regret) / since(&rounds)
}

/// Meaning of the columns `limit` and `regret / limit`, for reports.
pub const LIMIT: &str = "The limit of certified play is what a policy would lose that knows every mean and still has to \
    prove its costs, at the agent's δ; a dash where it is unknown. Regret as a multiple of it is the number to judge \
    certified agents by: it also pays for exploration, which the limit leaves out. An agent that proves nothing is not \
    bound by it.";

/// One row per instance and agent.
pub fn summary(results: &Results) -> ReportTable {
    let header = [
        "instance",
        "agent",
        "regret",
        "± sd",
        "limit",
        "regret / limit",
        "reward at the end",
        "of optimum",
        "violations",
        "ns/round",
    ];
    let mut rows = Vec::new();
    for instance in &results.instances {
        for agent in &instance.agents {
            let (mean, sd) = final_regret(agent);
            let reward = final_reward(agent);
            let broken = violations(agent);
            let times: Option<Vec<f64>> = agent
                .runs
                .iter()
                .map(|run| run.nanoseconds_per_round)
                .collect();
            let time = times.map_or(UNKNOWN.to_string(), |t| {
                format!("{:.0}", t.iter().sum::<f64>() / t.len() as f64)
            });
            let tone = match broken {
                Some(0) => Tone::Good,
                Some(_) => Tone::Bad,
                None => Tone::Quiet,
            };
            rows.push(vec![
                Cell::text(&instance.name),
                Cell::text(&agent.name),
                Cell::number(number(mean)),
                Cell::number(number(sd)).toned(Tone::Quiet),
                Cell::number(agent.limit.map_or(UNKNOWN.into(), number)).toned(Tone::Quiet),
                Cell::number(multiple(agent.regret_over_limit())),
                Cell::number(digits(reward)),
                Cell::number(percent(reward, optimum_at_the_end(agent))),
                Cell::number(count(broken)).toned(tone),
                Cell::number(time).toned(Tone::Quiet),
            ]);
        }
    }
    ReportTable {
        title: String::new(),
        header: header.map(String::from).to_vec(),
        rows,
    }
}

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
    ReportTable {
        title: String::new(),
        header: [
            "instance",
            "guardrail",
            "agent",
            "at the end",
            "worst round",
            "shadow price",
        ]
        .map(String::from)
        .to_vec(),
        rows,
    }
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
            let before = violations(agent).map(|all| all - after);
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
    (!rows.is_empty()).then(|| ReportTable {
        title: String::new(),
        header: [
            "instance",
            "agent",
            "runs with an alarm",
            "rounds from change to alarm (median)",
            "violations before",
            "after",
        ]
        .map(String::from)
        .to_vec(),
        rows,
    })
}

/// Four significant digits, no trailing zeros: a signal may be in dollars, and small.
pub fn digits(x: f64) -> String {
    if x.is_nan() || x.abs() >= 1000.0 {
        number(x)
    } else {
        signed(significant(x, 4))
    }
}

/// The summary for a program.
pub fn summary_json(results: &Results) -> serde_json::Value {
    let rows = results.instances.iter().flat_map(|instance| {
        instance.agents.iter().map(|agent| {
            let (mean, sd) = final_regret(agent);
            // Not `f64::max`, for which what is unknown is nothing.
            let excess = agent.runs.iter().map(|run| run.worst_exceedance);
            let worst = excess.fold(0.0, |worst, x| if x <= worst { worst } else { x });
            json!({
                "instance": instance.name,
                "agent": agent.name,
                "horizon": instance.horizon,
                "runs": agent.runs.len(),
                "regret_mean": mean,
                "regret_std": sd,
                "limit": agent.limit,
                "regret_over_limit": agent.regret_over_limit(),
                "reward_end": final_reward(agent),
                "optimum": instance.optimum.reward,
                "violations": violations(agent),
                "worst_exceedance": worst,
            })
        })
    });
    serde_json::Value::Array(rows.collect())
}

/// Placeholder of tables for an unknown value.
pub const UNKNOWN: &str = "–";

/// A count, if it is known.
pub fn count(n: Option<u64>) -> String {
    n.map_or(UNKNOWN.into(), |n| n.to_string())
}

/// A number with as many digits as a reader wants.
pub fn number(x: f64) -> String {
    if x.is_nan() {
        UNKNOWN.into()
    } else if x.abs() >= 1000.0 {
        let digits = format!("{:.0}", x.abs());
        let mut grouped = String::new();
        for (i, c) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i) % 3 == 0 {
                grouped.push('\u{2009}');
            }
            grouped.push(c);
        }
        if x < 0.0 {
            format!("−{grouped}")
        } else {
            grouped
        }
    } else if x.abs() >= 10.0 {
        signed(format!("{x:.1}"))
    } else {
        digits(x)
    }
}

/// A multiple, with two significant digits.
pub fn multiple(x: Option<f64>) -> String {
    let Some(x) = x.filter(|x| x.is_finite()) else {
        return UNKNOWN.into();
    };
    // Rounded first: 9.96 is 10, not 10.0.
    let x = format!("{x:.1e}").parse().unwrap_or(x);
    let places = (1.0 - x.abs().log10().floor()).clamp(0.0, 4.0) as usize;
    if x.abs() >= 1000.0 {
        format!("{}×", number(x))
    } else {
        format!("{}×", signed(format!("{x:.places$}")))
    }
}

/// With a minus sign instead of a hyphen, and none before nothing.
pub fn signed(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| "0.%".contains(c)) => rest.into(),
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

/// x as a share of `whole`.
pub fn percent(x: f64, whole: f64) -> String {
    if whole == 0.0 || x.is_nan() || whole.is_nan() {
        UNKNOWN.into()
    } else {
        signed(format!("{:.1}%", 100.0 * x / whole))
    }
}
