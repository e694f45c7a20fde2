//! The tables `leaderboard`, `pairs`, `overall` and `ranks` of a comparison.

use banister_sim::compare::{
    ExcessStanding, Interval95, Overall, Pair, PromiseVerdict, Ranking, Standing, leaderboard,
    leaderboards as boards, overall as over_all, pairs as paired, rankings,
};
use banister_sim::results::{InstanceResult, Results};
use serde_json::json;

use super::DataTable;
use super::spec::Place::{Report, Terminal};
use super::spec::{self, Place, Spec, known};
use super::words::{
    UNKNOWN, cell, counted, digits, ends, multiple, number, share, signed, small_percent,
    with_error,
};
use crate::{Cell, ReportTable, Tone};

/// Columns of a leaderboard. `group` is the promise, `rank` the place in the group of those that kept it, `exceeds` says
/// that a cumulative budget was exceeded by more than noise explains, `limit` is that of certified play at the agent's δ,
/// `violation_sum` Σ(c − τ)₊, `net_excess` (Σ(c − τ))₊, `net_growth` its power of T from T/4 to T, `lost` the regret as
/// a share of the possible gain. Intervals are Student's at 95% over runs. The sums are those of the guardrail where they
/// are largest in units of the signal's noise.
fn board_columns<'a>() -> Vec<Spec<Standing<'a>>> {
    type Of<'a> = Spec<Standing<'a>>;
    vec![
        Of::words("instance", |s| Some(&s.instance.name)),
        Of::words("agent", |s| Some(s.name())).shown("agent", Terminal),
        Of::words("group", |s| Some(s.agent.guarantee.words())).cells("promise", Terminal, promise),
        Of::count("rank", |s| s.rank).shown("rank", Terminal),
        Of::words("tuned_of", |s| s.tuned_of),
        Of::words("kept", verdict).cells("kept", Terminal, kept),
        Of::flag("exceeds", |s| s.exceeds),
        Of::interval("regret", |s| s.regret)
            .shown("regret", Terminal)
            .cells("95% interval", Terminal, |s| ends_of(&s.regret)),
        Of::only("tuned", Terminal, tuned_regret).where_any(|s| s.tuned.is_some()),
        Of::number("limit", |s| known(s.agent.limit)).quiet("limit", Report, number),
        Of::number("regret_over_limit", over_limit).written("regret / limit", Terminal, multiple),
        Of::count("violations", |s| s.agent.violations()).cells("violations", Terminal, violations),
        Of::interval("violation_share", |s| s.violation_share).written(
            "of rounds",
            Terminal,
            small_percent,
        ),
        Of::number("worst_exceedance", |s| s.agent.worst_exceedance()).written(
            "worst excess",
            Report,
            excess,
        ),
        Of::interval("violation_sum", violation).cells("Σ(c − τ)₊", Terminal, violation_sum),
        Of::interval("net_excess", net).cells("(Σ(c − τ))₊", Terminal, net_excess),
        Of::interval("net_over_root", over_root)
            .cells("(Σ(c − τ))₊ / √T", Report, |s| sum(over_root(s))),
        Of::number("net_growth", growth).written("its growth", Report, power_of_rounds),
        Of::number("net_peak", |s| s.net().map_or(f64::NAN, |own| own.peak)),
        Of::number("reward", |s| s.reward).written("reward", Report, digits),
        Of::number("of_optimum", |s| s.of_optimum).written("of optimum", Terminal, share),
        Of::number("lost", |s| s.lost),
        Of::number("micros_per_round", |s| {
            known(s.agent.nanoseconds_per_round()) / 1000.0
        })
        .quiet("µs/round", Terminal, micros)
        .where_any(|s| s.agent.nanoseconds_per_round().is_some()),
    ]
}

/// Tabulates the leaderboards of all instances, one after another: one row per instance and agent, in the leaderboard's
/// order.
pub fn leaderboards(results: &Results) -> DataTable {
    spec::data(&board_columns(), &boards(&results.instances).concat())
}

/// The leaderboard of an instance for people, who see a tuned version beside its agent.
pub fn board(instance: &InstanceResult, place: Place) -> ReportTable {
    spec::report(&instance.name, &board_columns(), &untuned(instance), place)
}

pub(super) fn untuned(instance: &InstanceResult) -> Vec<Standing<'_>> {
    let mut board = leaderboard(instance);
    board.retain(|standing| standing.tuned_of.is_none());
    board
}

/// The leaderboard of an instance for programs, with what was drawn and the sums by guardrail.
pub fn board_json(instance: &InstanceResult) -> serde_json::Value {
    let columns = board_columns();
    let board = leaderboard(instance);
    let rows = board.iter().map(|standing| {
        let mut row = spec::json(&columns, standing);
        row["drawn"] = json!(standing.drawn);
        row["excess"] = json!(standing.excess);
        row
    });
    rows.collect()
}

fn of_worst(own: Option<&ExcessStanding>, of: fn(&ExcessStanding) -> Interval95) -> Interval95 {
    own.map_or(Interval95::UNKNOWN, of)
}

fn violation(standing: &Standing<'_>) -> Interval95 {
    of_worst(standing.violation(), |own| own.violation)
}

fn net(standing: &Standing<'_>) -> Interval95 {
    of_worst(standing.net(), |own| own.net)
}

fn over_root(standing: &Standing<'_>) -> Interval95 {
    of_worst(standing.net(), |own| own.net_over_root)
}

fn growth(standing: &Standing<'_>) -> f64 {
    standing.net().map_or(f64::NAN, |own| own.growth)
}

pub(super) fn over_limit(standing: &Standing<'_>) -> f64 {
    known(standing.agent.regret_over_limit())
}

pub(super) fn promise(standing: &Standing<'_>) -> Cell {
    Cell::text(standing.agent.guarantee.words()).toned(Tone::Quiet)
}

fn verdict<'s>(standing: &'s Standing<'_>) -> Option<&'s str> {
    standing.kept.map(PromiseVerdict::words)
}

/// The verdict on the promise; where growth decided it, with the power of T that the net excess grows by.
pub(super) fn kept(standing: &Standing<'_>) -> Cell {
    let tone = match standing.kept {
        Some(PromiseVerdict::Yes) => Tone::Good,
        Some(PromiseVerdict::No) => Tone::Bad,
        Some(PromiseVerdict::Undecided) | None => Tone::Quiet,
    };
    let (word, power) = (verdict(standing).unwrap_or(UNKNOWN), growth(standing));
    let text = if standing.exceeds && power.is_finite() {
        format!("{word}, {}", power_of_rounds(power))
    } else {
        word.to_string()
    };
    Cell::text(text).toned(tone)
}

fn power_of_rounds(power: f64) -> String {
    if power.is_finite() {
        format!("T^{}", signed(format!("{power:.2}")))
    } else {
        UNKNOWN.into()
    }
}

/// Regret of an agent's tuned version.
pub(super) fn tuned_regret(standing: &Standing<'_>) -> Cell {
    let Some((regret, kept)) = &standing.tuned else {
        return cell(f64::NAN, number).toned(Tone::Quiet);
    };
    let text = with_error(regret);
    let (text, tone) = if *kept == Some(PromiseVerdict::No) {
        (format!("{text}, not kept"), Tone::Bad)
    } else {
        (text, Tone::Plain)
    };
    Cell::number(text).toned(tone).sorted_by(regret.mean)
}

pub(super) fn violations(standing: &Standing<'_>) -> Cell {
    let violations = standing.agent.violations();
    let tone = match (violations, standing.kept) {
        (Some(0), _) => Tone::Good,
        // A broken promise is worse than none.
        (_, Some(PromiseVerdict::No)) => Tone::Bad,
        (Some(_), _) => Tone::Plain,
        (None, _) => Tone::Quiet,
    };
    counted(violations).toned(tone)
}

fn ends_of(interval: &Interval95) -> Cell {
    cell(interval.low, |_| ends(interval, number)).toned(Tone::Quiet)
}

/// A sum of excesses with half the width of its interval.
fn sum(own: Interval95) -> Cell {
    let cell = cell(own.mean, |_| with_error(&own));
    cell.toned(if own.mean.is_nan() {
        Tone::Quiet
    } else {
        Tone::Plain
    })
}

pub(super) fn violation_sum(standing: &Standing<'_>) -> Cell {
    sum(violation(standing))
}

pub(super) fn net_excess(standing: &Standing<'_>) -> Cell {
    sum(net(standing))
}

fn excess(x: f64) -> String {
    if x == 0.0 {
        "0".into()
    } else {
        format!("{x:.2e}")
    }
}

fn micros(x: f64) -> String {
    if x.is_nan() {
        UNKNOWN.into()
    } else {
        format!("{x:.2}")
    }
}

/// Columns of pairs: `difference` is the regret of `agent` minus that of `other`, run by run on the same outcomes, with
/// Student's intervals that hold for all rows at once with 95%; `low_alone` and `high_alone` are the 95% interval of
/// one pair chosen beforehand, `gain` says how many times wider the interval would be had the runs not shared outcomes.
fn pair_columns<'a>() -> Vec<Spec<Pair<'a>>> {
    type Of<'a> = Spec<Pair<'a>>;
    vec![
        Of::words("instance", |pair| Some(&pair.agent.instance.name)),
        Of::words("agent", |pair| Some(pair.agent.name())).shown("agent", Report),
        Of::words("other", |pair| Some(pair.other.name())).shown("other", Report),
        Of::interval("difference", |pair| pair.difference)
            .shown("difference", Report)
            .cells(AT_ONCE, Report, |pair| {
                ends_of(&pair.difference).toned(Tone::Plain)
            })
            .cells("verdict", Report, |pair| verdict_of(&pair.difference)),
        Of::number("low_alone", |pair| pair.alone.low),
        Of::number("high_alone", |pair| pair.alone.high),
        Of::number("gain", |pair| pair.gain).quiet("narrower by pairing", Report, times),
    ]
}

const AT_ONCE: &str = "95% interval, all pairs at once";

fn times(x: f64) -> String {
    if x.is_finite() {
        format!("{x:.2}×")
    } else {
        UNKNOWN.into()
    }
}

/// Tabulates the paired differences of all instances: one row per instance and pair of agents with the same promise, or
/// of which one is ours.
pub fn pairs(results: &Results) -> DataTable {
    let boards = boards(&results.instances);
    spec::data(&pair_columns(), &paired(&boards).concat())
}

/// Pairs of agents on an instance for people.
pub fn pairs_shown(pairs: &[Pair<'_>]) -> Option<ReportTable> {
    let title = "Regret of an agent beyond that of another, run by run on the same outcomes";
    (!pairs.is_empty()).then(|| spec::report(title, &pair_columns(), pairs, Report))
}

/// Pairs of agents on an instance for programs.
pub fn pairs_json(pairs: &[Pair<'_>]) -> serde_json::Value {
    spec::json_rows(&pair_columns(), pairs)
}

fn verdict_of(difference: &Interval95) -> Cell {
    match difference {
        d if d.low.is_nan() => Cell::text("one run only").toned(Tone::Quiet),
        d if d.low > 0.0 => Cell::text("more"),
        d if d.high < 0.0 => Cell::text("less"),
        _ => Cell::text("undecided").toned(Tone::Quiet),
    }
}

/// Columns of pairs over all instances: `difference` is the mean over instances of the share of the possible gain that
/// `agent` lost beyond `other`, with Student's intervals over instances that hold for all rows at once with 95%; `won` and
/// `lost` count instances on which `agent` had less or more regret, `won_clearly` and `lost_clearly` those whose interval
/// in `pairs` excludes zero, `agent_broke` and `other_broke` those on which the promise was broken.
fn overall_columns<'a>() -> Vec<Spec<Overall<'a>>> {
    type Of<'a> = Spec<Overall<'a>>;
    vec![
        Of::words("agent", |row| Some(row.agent.name())).shown("agent", Report),
        Of::words("other", |row| Some(row.other.name())).shown("other", Report),
        Of::words("group", |row| Some(row.agent.agent.guarantee.words())),
        Of::words("other_group", |row| Some(row.other.agent.guarantee.words())),
        Of::count("instances", |row| Some(row.instances)).shown("instances", Report),
        Of::interval("difference", |row| row.difference)
            .written("difference", Report, points)
            .cells(AT_ONCE, Report, |row| {
                cell(row.difference.low, |_| ends(&row.difference, points))
            })
            .cells("verdict", Report, |row| verdict_of(&row.difference)),
        Of::count("won", |row| Some(row.won[0]))
            .cells("won (clearly)", Report, |row| clearly(row.won)),
        Of::count("lost", |row| Some(row.lost[0]))
            .cells("lost (clearly)", Report, |row| clearly(row.lost)),
        Of::count("won_clearly", |row| Some(row.won[1])),
        Of::count("lost_clearly", |row| Some(row.lost[1])),
        Of::count("agent_broke", |row| Some(row.broke[0])).cells(
            "agent broke its promise",
            Report,
            |row| broke(row.broke[0]),
        ),
        Of::count("other_broke", |row| Some(row.broke[1])).cells(
            "other broke its",
            Report,
            |row| broke(row.broke[1]),
        ),
    ]
}

fn points(x: f64) -> String {
    format!("{:.1}%", 100.0 * x).replace('-', "−")
}

fn clearly([all, clear]: [u64; 2]) -> Cell {
    Cell::number(format!("{all} ({clear})")).sorted_by(all as f64)
}

fn broke(count: u64) -> Cell {
    let tone = if count > 0 { Tone::Bad } else { Tone::Quiet };
    counted(Some(count)).toned(tone)
}

/// Tabulates the paired differences over all instances: one row per pair of agents that both played at least two.
pub fn overall(results: &Results) -> DataTable {
    spec::data(&overall_columns(), &over_all(&boards(&results.instances)))
}

/// Pairs of agents over all instances for people.
pub fn overall_shown(results: &Results) -> Option<ReportTable> {
    let title = "Share of the possible gain that an agent lost beyond another, mean over instances";
    let boards = boards(&results.instances);
    let rows = over_all(&boards);
    (!rows.is_empty()).then(|| spec::report(title, &overall_columns(), &rows, Report))
}

/// Pairs of agents over all instances for programs.
pub fn overall_json(results: &Results) -> serde_json::Value {
    spec::json_rows(&overall_columns(), &over_all(&boards(&results.instances)))
}

/// Tabulates the mean ranks of agents: one row per promise and agent, where at least two agents with the same promise
/// kept it on at least six instances.
///
/// `p_first` is the probability, by the signed-rank test with Holm's correction, of such differences from the first of the
/// group if neither is better, `unranked` the reason for an agent without a rank. The last four columns are the same in
/// all rows of a group; `critical_difference` is Nemenyi's, at 5%.
pub fn ranks(results: &Results) -> DataTable {
    let rankings = rankings(&boards(&results.instances));
    let mut rows: Vec<RankRow<'_>> = Vec::new();
    for ranking in &rankings {
        let first = ranking.agents.first().map(|first| &first.agent);
        rows.extend(ranking.agents.iter().map(|own| {
            let pair = (ranking.pairs.iter())
                .find(|pair| pair.agent == own.agent && Some(&pair.other) == first);
            RankRow {
                ranking,
                agent: &own.agent,
                mean_rank: own.mean_rank,
                p_first: pair.map_or(f64::NAN, |pair| pair.p_adjusted),
                unranked: None,
            }
        }));
        rows.extend(ranking.unranked.iter().map(|own| RankRow {
            ranking,
            agent: &own.agent,
            mean_rank: f64::NAN,
            p_first: f64::NAN,
            unranked: Some(own.reason.words()),
        }));
    }
    type Of<'a> = Spec<RankRow<'a>>;
    let columns = [
        Of::words("group", |row| Some(row.ranking.guarantee.words())),
        Of::words("agent", |row| Some(row.agent)),
        Of::number("mean_rank", |row| row.mean_rank),
        Of::count("instances", |row| Some(row.ranking.instances.len() as u64)),
        Of::number("p_first", |row| row.p_first),
        Of::words("unranked", |row| row.unranked.as_deref()),
        Of::number("friedman_chi_square", |row| row.ranking.friedman.chi_square),
        Of::number("friedman_f", |row| row.ranking.friedman.f),
        Of::number("friedman_p", |row| row.ranking.friedman.p),
        Of::number("critical_difference", |row| row.ranking.critical_difference),
    ];
    spec::data(&columns, &rows)
}

/// One row of the table of ranks.
struct RankRow<'a> {
    ranking: &'a Ranking,
    agent: &'a str,
    mean_rank: f64,
    p_first: f64,
    unranked: Option<String>,
}
