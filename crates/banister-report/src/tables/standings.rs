//! The tables `leaderboard`, `pairs`, `overall` and `ranks` of a comparison.

use banister_sim::compare::{
    ExcessStanding, Interval95, Overall, Pair, PromiseVerdict, Ranking, Standing,
    leaderboard as standings, overall as over_all, pairs as paired, rankings,
};
use banister_sim::results::Results;

use super::columns::{count, number, text};
use super::{Column, DataTable};

/// Tabulates the leaderboards of all instances, one after another: one row per instance and agent, in the leaderboard's
/// order.
///
/// The columns are instance, group (the promise), rank (in the group, of those that kept it), agent, tuned_of, kept,
/// exceeds (a cumulative budget, by more than noise explains), regret, limit (of certified play, at the agent's δ),
/// regret_over_limit, violations, violation_share, worst_exceedance, violation_sum (Σ(c − τ)₊), net_excess ((Σ(c −
/// τ))₊), net_over_root (divided by √T), net_growth (its power of T from T/4 to T), net_peak, reward, of_optimum, lost
/// (regret as a share of the possible gain) and, where time was measured, micros_per_round; regret and the sums with
/// _low and _high, Student's at 95% over runs. The sums are those of the guardrail where they are largest in units of
/// the signal's noise.
pub fn leaderboards(results: &Results) -> DataTable {
    let mut rows: Vec<(&str, Standing)> = Vec::new();
    for instance in &results.instances {
        let board = standings(instance).into_iter();
        rows.extend(board.map(|standing| (instance.name.as_str(), standing)));
    }
    let measured =
        |name: &str, of: fn(&Standing) -> f64| finite(name, rows.iter().map(|row| of(&row.1)));
    let words =
        |name: &str, of: fn(&Standing) -> &str| text(name, rows.iter().map(|row| of(&row.1)));
    let interval = |name: &str, of: fn(&Standing) -> Interval95| {
        interval(name, rows.iter().map(|row| of(&row.1)).collect())
    };
    let mut columns = vec![
        text("instance", rows.iter().map(|row| row.0)),
        words("group", |s| s.guarantee.words()),
        count("rank", rows.iter().map(|row| row.1.rank)),
        words("agent", |s| &s.agent),
        words("tuned_of", |s| s.tuned_of.as_deref().unwrap_or("")),
        words("kept", |s| s.kept.map_or("", PromiseVerdict::words)),
        words("exceeds", |s| if s.exceeds { "yes" } else { "" }),
    ];
    columns.extend(interval("regret", |s| s.regret));
    columns.extend([
        measured("limit", |s| s.limit.unwrap_or(f64::NAN)),
        measured("regret_over_limit", |s| {
            s.regret_over_limit.unwrap_or(f64::NAN)
        }),
        count("violations", rows.iter().map(|row| row.1.violations)),
        measured("violation_share", |s| s.violation_share.mean),
        measured("worst_exceedance", |s| s.worst_exceedance),
    ]);
    columns.extend(interval("violation_sum", |s| {
        s.violation().map_or(UNKNOWN, |own| own.violation)
    }));
    columns.extend(interval("net_excess", |s| net(s, |own| own.net)));
    columns.extend(interval("net_over_root", |s| {
        net(s, |own| own.net_over_root)
    }));
    columns.extend([
        measured("net_growth", |s| s.net().map_or(f64::NAN, |own| own.growth)),
        measured("net_peak", |s| s.net().map_or(f64::NAN, |own| own.peak)),
        measured("reward", |s| s.reward),
        measured("of_optimum", |s| s.of_optimum),
        measured("lost", |s| s.lost),
    ]);
    if rows.iter().any(|row| row.1.micros.is_some()) {
        columns.push(measured("micros_per_round", |s| {
            s.micros.unwrap_or(f64::NAN)
        }));
    }
    DataTable { columns }
}

const UNKNOWN: Interval95 = Interval95 {
    mean: f64::NAN,
    low: f64::NAN,
    high: f64::NAN,
};

fn net(standing: &Standing, of: fn(&ExcessStanding) -> Interval95) -> Interval95 {
    standing.net().map_or(UNKNOWN, of)
}

/// Makes the columns NAME, NAME_low and NAME_high.
fn interval(name: &str, values: Vec<Interval95>) -> [Column; 3] {
    let end = |end: &str, of: fn(&Interval95) -> f64| {
        finite(&format!("{name}{end}"), values.iter().map(of))
    };
    [
        end("", |i| i.mean),
        end("_low", |i| i.low),
        end("_high", |i| i.high),
    ]
}

/// Tabulates the paired differences of all instances: one row per instance and pair of agents with the same promise, or
/// of which one is ours.
///
/// The columns are instance, agent, other, difference, difference_low, difference_high (regret of `agent`
/// minus regret of `other`, run by run on the same outcomes; Student's intervals that hold for all rows at once with
/// 95%), low_alone and high_alone (the 95% interval of one pair chosen beforehand) and gain, how many times wider the
/// interval would be had the runs not met the same outcomes.
pub fn pairs(results: &Results) -> DataTable {
    let mut rows: Vec<(&str, Pair)> = Vec::new();
    for (instance, pairs) in results.instances.iter().zip(paired(&results.instances)) {
        rows.extend(pairs.into_iter().map(|pair| (instance.name.as_str(), pair)));
    }
    let mut columns = vec![
        text("instance", rows.iter().map(|row| row.0)),
        text("agent", rows.iter().map(|row| row.1.agent.as_str())),
        text("other", rows.iter().map(|row| row.1.other.as_str())),
    ];
    let differences = rows.iter().map(|row| row.1.difference);
    columns.extend(interval("difference", differences.collect()));
    columns.extend([
        finite("low_alone", rows.iter().map(|row| row.1.alone.low)),
        finite("high_alone", rows.iter().map(|row| row.1.alone.high)),
        finite("gain", rows.iter().map(|row| row.1.gain)),
    ]);
    DataTable { columns }
}

/// Tabulates the paired differences over all instances: one row per pair of agents that met on two at least.
///
/// The columns are agent, other, group, other_group (their promises), instances, difference, difference_low,
/// difference_high (mean over instances of the share of the possible gain that `agent` lost beyond `other`; Student's
/// intervals over instances that hold for all rows at once with 95%), won and lost (instances on which `agent` had
/// less or more regret), won_clearly and lost_clearly (those whose interval in `pairs` excludes zero), agent_broke and
/// other_broke (instances on which the promise was broken).
pub fn overall(results: &Results) -> DataTable {
    let rows = over_all(&results.instances);
    let counted =
        |name: &str, of: fn(&Overall) -> u64| count(name, rows.iter().map(|row| Some(of(row))));
    let words = |name: &str, of: fn(&Overall) -> &str| text(name, rows.iter().map(of));
    let mut columns = vec![
        words("agent", |row| &row.agent),
        words("other", |row| &row.other),
        words("group", |row| row.guarantees[0].words()),
        words("other_group", |row| row.guarantees[1].words()),
        counted("instances", |row| row.instances),
    ];
    let differences = rows.iter().map(|row| row.difference);
    columns.extend(interval("difference", differences.collect()));
    columns.extend([
        counted("won", |row| row.won[0]),
        counted("lost", |row| row.lost[0]),
        counted("won_clearly", |row| row.won[1]),
        counted("lost_clearly", |row| row.lost[1]),
        counted("agent_broke", |row| row.broke[0]),
        counted("other_broke", |row| row.broke[1]),
    ]);
    DataTable { columns }
}

/// Tabulates the mean ranks of agents: one row per promise and agent, where at least two agents with the same promise
/// kept it on at least six instances.
///
/// The columns are group, agent, mean_rank, instances, p_first (probability, by the signed-rank test with Holm's
/// correction, of such differences from the first of the group if neither is better), unranked (the reason, for an
/// agent without a rank), and the same in all rows of a group: friedman_chi_square, friedman_f, friedman_p,
/// critical_difference (Nemenyi's, at 5%).
pub fn ranks(results: &Results) -> DataTable {
    let rankings = rankings(&results.instances);
    let mut rows: Vec<RankRow<'_>> = Vec::new();
    for ranking in &rankings {
        let first = ranking.agents.first().map(|first| &first.agent);
        rows.extend(ranking.agents.iter().map(|own| {
            let pair = (ranking.pairs.iter())
                .find(|pair| pair.agent == own.agent && Some(&pair.other) == first);
            RankRow {
                ranking,
                agent: &own.agent,
                mean_rank: Some(own.mean_rank),
                p_first: pair.map(|pair| pair.p_adjusted),
                unranked: String::new(),
            }
        }));
        rows.extend(ranking.unranked.iter().map(|(agent, reason)| RankRow {
            ranking,
            agent,
            mean_rank: None,
            p_first: None,
            unranked: reason.words(),
        }));
    }
    let same =
        |name: &str, of: fn(&Ranking) -> f64| finite(name, rows.iter().map(|row| of(row.ranking)));
    let instances = rows.iter().map(|row| row.ranking.instances.len() as u64);
    DataTable {
        columns: vec![
            text(
                "group",
                rows.iter().map(|row| row.ranking.guarantee.words()),
            ),
            text("agent", rows.iter().map(|row| row.agent)),
            number("mean_rank", rows.iter().map(|row| row.mean_rank)),
            count("instances", instances.map(Some)),
            number("p_first", rows.iter().map(|row| row.p_first)),
            text("unranked", rows.iter().map(|row| row.unranked.as_str())),
            same("friedman_chi_square", |ranking| ranking.friedman.chi_square),
            same("friedman_f", |ranking| ranking.friedman.f),
            same("friedman_p", |ranking| ranking.friedman.p),
            same("critical_difference", |ranking| ranking.critical_difference),
        ],
    }
}

/// One row of the table of ranks.
struct RankRow<'a> {
    ranking: &'a Ranking,
    agent: &'a str,
    mean_rank: Option<f64>,
    p_first: Option<f64>,
    unranked: String,
}

/// Makes a column of numbers; unknown and infinite ones are empty.
fn finite(name: &str, values: impl Iterator<Item = f64>) -> Column {
    number(name, values.map(|x| x.is_finite().then_some(x)))
}
