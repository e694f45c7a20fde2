//! The tables `leaderboard` and `pairs` of a comparison.

use banister_sim::banister::Guarantee;
use banister_sim::compare::{
    Interval95, Pair, Standing, leaderboard as standings, pairs as paired,
};
use banister_sim::results::Results;

use super::columns::{count, number, text};
use super::{Column, DataTable};

/// Tabulates the leaderboards of all instances, one after another: one row per instance and agent, best first.
///
/// The columns are instance, place, agent, guarantee, regret, regret_low, regret_high, limit (of certified play,
/// at the agent's δ), regret_over_limit, violations, violation_share, worst_exceedance, reward, of_optimum,
/// micros_per_round. The interval is Student's at 95% over runs. `guarantees` has one entry per instance and agent, in the results' order.
pub fn leaderboards(results: &Results, guarantees: &[Vec<Guarantee>]) -> DataTable {
    let mut rows: Vec<(&str, u64, Standing, Option<Guarantee>)> = Vec::new();
    for (i, instance) in results.instances.iter().enumerate() {
        for (place, standing) in standings(instance).into_iter().enumerate() {
            let agent = (instance.agents.iter()).position(|agent| agent.name == standing.agent);
            let guarantee = agent.and_then(|agent| guarantees.get(i)?.get(agent).copied());
            rows.push((&instance.name, place as u64 + 1, standing, guarantee));
        }
    }
    let measured =
        |name: &str, of: fn(&Standing) -> f64| finite(name, rows.iter().map(|row| of(&row.2)));
    DataTable {
        columns: vec![
            text("instance", rows.iter().map(|row| row.0)),
            count("place", rows.iter().map(|row| Some(row.1))),
            text("agent", rows.iter().map(|row| row.2.agent.as_str())),
            text(
                "guarantee",
                rows.iter().map(|row| row.3.map_or("", Guarantee::words)),
            ),
            measured("regret", |s| s.regret.mean),
            measured("regret_low", |s| s.regret.low),
            measured("regret_high", |s| s.regret.high),
            measured("limit", |s| s.limit.unwrap_or(f64::NAN)),
            measured("regret_over_limit", |s| {
                s.regret_over_limit.unwrap_or(f64::NAN)
            }),
            count("violations", rows.iter().map(|row| row.2.violations)),
            measured("violation_share", |s| s.violation_share.mean),
            measured("worst_exceedance", |s| s.worst_exceedance),
            measured("reward", |s| s.reward),
            measured("of_optimum", |s| s.of_optimum),
            measured("micros_per_round", |s| s.micros.unwrap_or(f64::NAN)),
        ],
    }
}

/// Tabulates the paired differences of all instances: one row per instance and pair of agents.
///
/// The columns are instance, agent, other, difference, difference_low, difference_high (regret of `agent`
/// minus regret of `other`, run by run on the same outcomes; Student's 95% interval) and gain, how many times
/// wider the interval would be had the runs not met the same outcomes.
pub fn pairs(results: &Results) -> DataTable {
    let mut rows: Vec<(&str, Pair)> = Vec::new();
    for instance in &results.instances {
        rows.extend(
            paired(instance)
                .into_iter()
                .map(|pair| (instance.name.as_str(), pair)),
        );
    }
    let end = |name: &str, of: fn(&Interval95) -> f64| {
        finite(name, rows.iter().map(|row| of(&row.1.difference)))
    };
    DataTable {
        columns: vec![
            text("instance", rows.iter().map(|row| row.0)),
            text("agent", rows.iter().map(|row| row.1.agent.as_str())),
            text("other", rows.iter().map(|row| row.1.other.as_str())),
            end("difference", |i| i.mean),
            end("difference_low", |i| i.low),
            end("difference_high", |i| i.high),
            finite("gain", rows.iter().map(|row| row.1.gain)),
        ],
    }
}

/// Makes a column of numbers; unknown and infinite ones are empty.
fn finite(name: &str, values: impl Iterator<Item = f64>) -> Column {
    number(name, values.map(|x| x.is_finite().then_some(x)))
}
