//! The tables of a comparison.

use banister::Guarantee;
use banister_report::{Cell, Table, Tone};
use banister_rivals::AgentConfig;
use banister_sim::compare::{Interval95, Standing, leaderboard, pairs};
use banister_sim::results::{InstanceResult, WINDOWS};

use crate::terminal::{UNKNOWN, count, digits, multiple, number, percent};

fn header(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// The leaderboard of an instance: safe agents first, by regret.
pub fn board(instance: &InstanceResult, guarantees: &[Guarantee]) -> Table {
    let rows = leaderboard(instance).into_iter().map(|standing| {
        let place = (instance.agents.iter()).position(|agent| agent.name == standing.agent);
        let guarantee = place.and_then(|place| guarantees.get(place)).copied();
        row(&standing, guarantee)
    });
    Table {
        title: instance.name.clone(),
        header: header(&[
            "agent",
            "promise",
            "regret",
            "95% interval",
            "limit",
            "regret / limit",
            "violations",
            "of rounds",
            "worst excess",
            "reward",
            "of optimum",
            "µs/round",
        ]),
        rows: rows.collect(),
    }
}

fn violations(standing: &Standing, guarantee: Option<Guarantee>) -> Cell {
    let broken = standing.violations;
    let tone = match (broken, guarantee.and_then(|g| standing.kept(g))) {
        (Some(0), _) => Tone::Good,
        // A broken promise is worse than none.
        (_, Some(false)) => Tone::Bad,
        (Some(_), _) => Tone::Plain,
        (None, _) => Tone::Quiet,
    };
    Cell::number(count(broken))
        .toned(tone)
        .sorted_by(broken.map_or(f64::NAN, |n| n as f64))
}

/// The limit of certified play, and the regret as a multiple of it.
fn beside_limit(standing: &Standing) -> [Cell; 2] {
    [
        Cell::number(standing.limit.map_or(UNKNOWN.into(), number))
            .toned(Tone::Quiet)
            .sorted_by(standing.limit.unwrap_or(f64::NAN)),
        Cell::number(multiple(standing.regret_over_limit))
            .sorted_by(standing.regret_over_limit.unwrap_or(f64::NAN)),
    ]
}

fn row(standing: &Standing, guarantee: Option<Guarantee>) -> Vec<Cell> {
    let share = standing.violation_share.mean;
    let excess = standing.worst_exceedance;
    let [limit, over_limit] = beside_limit(standing);
    vec![
        Cell::text(&standing.agent),
        Cell::text(guarantee.map_or(UNKNOWN, Guarantee::words)).toned(Tone::Quiet),
        Cell::number(number(standing.regret.mean)).sorted_by(standing.regret.mean),
        Cell::number(interval(&standing.regret))
            .toned(Tone::Quiet)
            .sorted_by(standing.regret.low),
        limit,
        over_limit,
        violations(standing, guarantee),
        Cell::number(small_percent(share)).sorted_by(share),
        Cell::number(if excess == 0.0 {
            "0".into()
        } else {
            format!("{excess:.2e}")
        })
        .sorted_by(excess),
        Cell::number(digits(standing.reward)).sorted_by(standing.reward),
        Cell::number(percent(standing.of_optimum, 1.0)).sorted_by(standing.of_optimum),
        Cell::number(
            standing
                .micros
                .map_or(UNKNOWN.into(), |t| format!("{t:.2}")),
        )
        .toned(Tone::Quiet)
        .sorted_by(standing.micros.unwrap_or(f64::NAN)),
    ]
}

/// Drawn outcomes on an instance, and the rounds until the possible gain: the agents in the leaderboard's order,
/// below the best policy that ignores the request. `None` unless outcomes were measured.
pub fn measured(instance: &InstanceResult, guarantees: &[Guarantee]) -> Option<Table> {
    let board = leaderboard(instance);
    if board.iter().any(|standing| standing.drawn.is_none()) {
        return None;
    }
    let mut columns = header(&["agent", "promise", "reward"]);
    for guardrail in &instance.guardrails {
        columns.push(guardrail.name.clone());
    }
    columns.extend(header(&["share of gain", "95% interval", "rounds to 90%"]));
    for guardrail in &instance.guardrails {
        for length in WINDOWS {
            columns.push(format!("{} beyond, of {length}", guardrail.name));
        }
    }
    let has_limit = board.iter().any(|standing| standing.limit.is_some());
    if has_limit {
        columns.extend(header(&["regret", "limit", "regret / limit"]));
    }
    columns.push("violations".into());
    let mut rows = Vec::new();
    if instance.knows_means() {
        let optimum = &instance.optimum;
        let mut row = vec![
            Cell::text("best policy").toned(Tone::Quiet),
            Cell::text("known means").toned(Tone::Quiet),
            Cell::number(digits(optimum.reward)),
        ];
        row.extend(optimum.costs.iter().map(|&cost| Cell::number(digits(cost))));
        row.resize(columns.len(), Cell::text(""));
        row[3 + optimum.costs.len()] = Cell::number("100%");
        rows.push(row);
    }
    for standing in &board {
        let drawn = standing.drawn.as_ref()?;
        let place = (instance.agents.iter()).position(|agent| agent.name == standing.agent);
        let guarantee = place.and_then(|place| guarantees.get(place)).copied();
        let mean = |x: f64| Cell::number(digits(x)).sorted_by(x);
        let mut row = vec![
            Cell::text(&standing.agent),
            Cell::text(guarantee.map_or(UNKNOWN, Guarantee::words)).toned(Tone::Quiet),
            mean(drawn.reward.mean),
        ];
        row.extend(drawn.costs.iter().map(|cost| mean(cost.mean)));
        let gain = &drawn.gain;
        let ends = if gain.low.is_nan() {
            UNKNOWN.into()
        } else {
            format!("{} to {}", percent(gain.low, 1.0), percent(gain.high, 1.0))
        };
        row.push(Cell::number(percent(gain.mean, 1.0)).sorted_by(gain.mean));
        row.push(Cell::number(ends).toned(Tone::Quiet));
        let rounds = drawn.rounds_to_90;
        row.push(
            Cell::number(rounds.map_or("never".into(), |rounds| count(Some(rounds))))
                .sorted_by(rounds.map_or(f64::INFINITY, |rounds| rounds as f64)),
        );
        for &share in drawn.beyond.iter().flatten() {
            row.push(Cell::number(small_percent(share)).sorted_by(share));
        }
        if has_limit {
            let regret = standing.regret.mean;
            row.push(Cell::number(number(regret)).sorted_by(regret));
            row.extend(beside_limit(standing));
        }
        row.push(violations(standing, guarantee));
        rows.push(row);
    }
    Some(Table {
        title: instance.name.clone(),
        header: columns,
        rows,
    })
}

/// A share that may be tiny without being nothing.
fn small_percent(share: f64) -> String {
    match share {
        x if x.is_nan() => UNKNOWN.into(),
        0.0 => "0".into(),
        x if x < 0.0005 => format!("{:.0e}", x).replace("e-", "e−"),
        x => format!("{:.1}%", 100.0 * x),
    }
}

fn interval(interval: &Interval95) -> String {
    if interval.low.is_nan() {
        UNKNOWN.into()
    } else {
        format!("{} to {}", number(interval.low), number(interval.high))
    }
}

/// Every agent against the leader, on the same outcomes.
pub fn against_leader(instance: &InstanceResult) -> Option<Table> {
    let leader = leaderboard(instance).into_iter().next()?.agent;
    let against: Vec<_> = (pairs(instance).into_iter())
        .filter(|pair| pair.other == leader)
        .collect();
    if against.is_empty() {
        return None;
    }
    let rows = against.iter().map(|pair| {
        let difference = &pair.difference;
        let (word, tone) = match difference {
            d if d.low.is_nan() => ("one run only", Tone::Quiet),
            d if d.low > 0.0 => ("more", Tone::Plain),
            d if d.high < 0.0 => ("less", Tone::Plain),
            _ => ("undecided", Tone::Quiet),
        };
        let gain = pair.gain;
        vec![
            Cell::text(&pair.agent),
            Cell::number(number(difference.mean)).sorted_by(difference.mean),
            Cell::number(interval(difference)).sorted_by(difference.low),
            Cell::text(word).toned(tone),
            Cell::number(if gain.is_finite() {
                format!("{gain:.2}×")
            } else {
                UNKNOWN.into()
            })
            .toned(Tone::Quiet)
            .sorted_by(gain),
        ]
    });
    Some(Table {
        title: format!("Regret beyond that of {leader}, run by run on the same outcomes"),
        header: header(&[
            "agent",
            "difference",
            "95% interval",
            "verdict",
            "narrower by pairing",
        ]),
        rows: rows.collect(),
    })
}

/// The suites there are.
pub fn suites(suites: &[(&str, &str)]) -> Table {
    let rows = suites.iter();
    Table {
        title: "Suites".into(),
        header: header(&["suite", "what it is"]),
        rows: rows
            .map(|(name, about)| vec![Cell::text(*name), Cell::text(*about)])
            .collect(),
    }
}

/// The agents there are.
pub fn agents() -> Table {
    let configs = AgentConfig::kinds().into_iter();
    let configs = configs.filter_map(|kind| AgentConfig::of_kind(&kind).ok());
    Table {
        title: "Agents".into(),
        header: header(&["agent", "for", "promise"]),
        rows: configs
            .map(|config| {
                let setting = if config.takes_features() {
                    "actions with features"
                } else {
                    "arms"
                };
                vec![
                    Cell::text(config.kind()),
                    Cell::text(setting),
                    Cell::text(config.guarantee().words()),
                ]
            })
            .collect(),
    }
}
