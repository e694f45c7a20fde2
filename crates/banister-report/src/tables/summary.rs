//! The summary of results: one row per instance and agent.

use banister_sim::results::{AgentResult, InstanceResult, Results};

use super::spec::Place::Terminal;
use super::spec::{self, Spec, known};
use super::words::{UNKNOWN, counted, digits, multiple, number, percent};
use crate::{Cell, ReportTable, Tone};

/// An agent on an instance.
struct SummaryRow<'a> {
    instance: &'a InstanceResult,
    agent: &'a AgentResult,
    /// Regret of the same agent on the first instance or, without it there, of the first agent.
    known: Option<f64>,
}

fn rows(results: &Results) -> Vec<SummaryRow<'_>> {
    let known = |name: &str| {
        let agents = &results.instances.first()?.agents;
        let agent = agents.iter().find(|agent| agent.name == name);
        agent.or(agents.first()).map(|agent| final_regret(agent).0)
    };
    let each = results.instances.iter().flat_map(|instance| {
        instance.agents.iter().map(move |agent| SummaryRow {
            instance,
            agent,
            known: known(&agent.name),
        })
    });
    each.collect()
}

/// Columns of the summary; regret is that after the last round.
fn columns<'a>() -> Vec<Spec<SummaryRow<'a>>> {
    type Of<'a> = Spec<SummaryRow<'a>>;
    vec![
        Of::words("instance", |row| Some(&row.instance.name)).shown("instance", Terminal),
        Of::words("agent", |row| Some(&row.agent.name)).shown("agent", Terminal),
        Of::count("horizon", |row| Some(row.instance.horizon)),
        Of::count("runs", |row| Some(row.agent.runs.len() as u64)),
        Of::number("regret_mean", |row| final_regret(row.agent).0).shown("regret", Terminal),
        Of::number("regret_std", |row| final_regret(row.agent).1).quiet("± sd", Terminal, number),
        Of::only(AGAINST_KNOWN, Terminal, |row| {
            let ratio = |base| format!("{:.2}×", final_regret(row.agent).0 / base);
            Cell::number(row.known.map_or(UNKNOWN.into(), ratio))
        }),
        Of::number("limit", |row| known(row.agent.limit)).quiet("limit", Terminal, number),
        Of::number("regret_over_limit", |row| {
            known(row.agent.regret_over_limit())
        })
        .written("regret / limit", Terminal, multiple),
        Of::number("reward_end", |row| final_reward(row.agent))
            .written("reward at the end", Terminal, digits)
            .cells("of optimum", Terminal, |row| {
                let (reward, best) = (final_reward(row.agent), optimum_at_the_end(row.agent));
                Cell::number(percent(reward, best))
            }),
        Of::number("optimum", |row| row.instance.optimum.reward),
        Of::count("violations", |row| row.agent.violations()).cells(
            "violations",
            Terminal,
            |row| {
                let broken = row.agent.violations();
                counted(broken).toned(match broken {
                    Some(0) => Tone::Good,
                    Some(_) => Tone::Bad,
                    None => Tone::Quiet,
                })
            },
        ),
        Of::number("worst_exceedance", |row| row.agent.worst_exceedance()),
        Of::only(TIME, Terminal, |row| {
            let time = row.agent.nanoseconds_per_round();
            let text = time.map_or(UNKNOWN.into(), |time| format!("{time:.0}"));
            Cell::number(text).toned(Tone::Quiet)
        }),
    ]
}

const AGAINST_KNOWN: &str = "against known";
const TIME: &str = "ns/round";

/// The summary for people.
pub fn summary(results: &Results) -> ReportTable {
    spec::report("", &columns(), &rows(results), Terminal).without(&[AGAINST_KNOWN])
}

/// Regrets beside those of the first instance, in which the safe cost is known: of the same agent, or of the first one
/// where there is no such agent.
pub fn against_known(results: &Results) -> ReportTable {
    let unwanted = ["reward at the end", "of optimum", TIME];
    spec::report("", &columns(), &rows(results), Terminal).without(&unwanted)
}

/// The summary for programs.
pub fn summary_json(results: &Results) -> serde_json::Value {
    spec::json_rows(&columns(), &rows(results))
}

/// Final regret: mean and standard deviation over runs.
pub fn final_regret(agent: &AgentResult) -> (f64, f64) {
    let last = |values: &[f64]| values.last().copied().unwrap_or(f64::NAN);
    (
        last(&agent.curve.regret_mean),
        last(&agent.curve.regret_std),
    )
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
