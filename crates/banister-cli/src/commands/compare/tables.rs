//! The tables of a comparison.

use banister::Registry as _;
use banister_report::{Cell, ReportTable, Tone};
use banister_rivals::AgentConfig;
use banister_sim::compare::{Interval95, Overall, Pair, PromiseVerdict, Standing, leaderboard};
use banister_sim::results::{InstanceResult, WINDOWS};

use crate::terminal::{UNKNOWN, count, digits, multiple, number, percent, signed};

fn header(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// Columns of a leaderboard: name, whether the terminal has room for it, and cells.
type Column<'a> = (&'a str, bool, Box<dyn Fn(&Standing) -> Cell + 'a>);

/// The leaderboard of an instance, with all columns or with those that the terminal has room for.
pub fn board(instance: &InstanceResult, compact: bool) -> ReportTable {
    let (board, tuned) = tuned_apart(instance);
    let cell = |of: fn(&Standing) -> Cell| Box::new(of);
    let mut columns: Vec<Column<'_>> = vec![
        ("agent", true, cell(|s| Cell::text(&s.agent))),
        ("promise", true, cell(promise)),
        ("rank", true, cell(rank)),
        ("kept", true, cell(kept)),
        ("regret", true, cell(|s| plain(s.regret.mean))),
        ("95% interval", true, cell(|s| ends(&s.regret))),
        (
            "tuned",
            !tuned.is_empty(),
            Box::new(|s| tuned_regret(s, &tuned)),
        ),
        ("limit", false, cell(|s| beside_limit(s)[0].clone())),
        ("regret / limit", true, cell(|s| beside_limit(s)[1].clone())),
        ("violations", true, cell(violations)),
        ("of rounds", true, cell(|s| share(s.violation_share.mean))),
        (
            "Σ(c − τ)₊",
            true,
            cell(|s| sum(s.violation().map(|own| own.violation))),
        ),
        (
            "(Σ(c − τ))₊",
            true,
            cell(|s| sum(s.net().map(|own| own.net))),
        ),
        (
            "(Σ(c − τ))₊ / √T",
            false,
            cell(|s| sum(s.net().map(|own| own.net_over_root))),
        ),
        ("its growth", false, cell(growth)),
        ("worst excess", false, cell(|s| worst(s.worst_exceedance))),
        (
            "reward",
            false,
            cell(|s| Cell::number(digits(s.reward)).sorted_by(s.reward)),
        ),
        (
            "of optimum",
            true,
            cell(|s| Cell::number(percent(s.of_optimum, 1.0)).sorted_by(s.of_optimum)),
        ),
        (
            "µs/round",
            true,
            cell(|s| {
                let time = s.micros.map_or(UNKNOWN.into(), |t| format!("{t:.2}"));
                Cell::number(time)
                    .toned(Tone::Quiet)
                    .sorted_by(s.micros.unwrap_or(f64::NAN))
            }),
        ),
    ];
    columns.retain(|(name, terse, _)| *terse || (!compact && *name != "tuned"));
    let row = |s: &Standing| columns.iter().map(|(_, _, cell)| cell(s)).collect();
    ReportTable {
        title: instance.name.clone(),
        header: columns.iter().map(|(name, ..)| name.to_string()).collect(),
        rows: board.iter().map(row).collect(),
    }
}

/// The leaderboard without tuned versions, and those.
fn tuned_apart(instance: &InstanceResult) -> (Vec<Standing>, Vec<Standing>) {
    (leaderboard(instance).into_iter()).partition(|standing| standing.tuned_of.is_none())
}

/// Regret of an agent's tuned version.
fn tuned_regret(standing: &Standing, tuned: &[Standing]) -> Cell {
    let own = (tuned.iter()).find(|own| own.tuned_of.as_ref() == Some(&standing.agent));
    let Some(own) = own else {
        return Cell::number(UNKNOWN).toned(Tone::Quiet).sorted_by(f64::NAN);
    };
    let regret = with_error(&own.regret);
    let broke = own.kept == Some(PromiseVerdict::No);
    let text = if broke {
        format!("{regret}, not kept")
    } else {
        regret
    };
    let tone = if broke { Tone::Bad } else { Tone::Plain };
    Cell::number(text).toned(tone).sorted_by(own.regret.mean)
}

fn promise(standing: &Standing) -> Cell {
    Cell::text(standing.guarantee.words()).toned(Tone::Quiet)
}

fn rank(standing: &Standing) -> Cell {
    Cell::number(
        standing
            .rank
            .map_or(UNKNOWN.into(), |rank| rank.to_string()),
    )
    .sorted_by(standing.rank.map_or(f64::NAN, |rank| rank as f64))
}

/// The verdict on the promise; where growth decided it, with the power of T that the net excess grows by.
fn kept(standing: &Standing) -> Cell {
    let tone = match standing.kept {
        Some(PromiseVerdict::Yes) => Tone::Good,
        Some(PromiseVerdict::No) => Tone::Bad,
        Some(PromiseVerdict::Undecided) | None => Tone::Quiet,
    };
    let word = standing.kept.map_or(UNKNOWN, PromiseVerdict::words);
    let power = standing
        .net()
        .map(|own| own.growth)
        .filter(|power| power.is_finite());
    let text = match power {
        Some(power) if standing.exceeds => format!("{word}, {}", power_of_rounds(power)),
        _ => word.to_string(),
    };
    Cell::text(text).toned(tone)
}

fn power_of_rounds(power: f64) -> String {
    format!("T^{}", signed(format!("{power:.2}")))
}

fn growth(standing: &Standing) -> Cell {
    let power = standing.net().map_or(f64::NAN, |own| own.growth);
    let text = if power.is_finite() {
        power_of_rounds(power)
    } else {
        UNKNOWN.into()
    };
    Cell::number(text).sorted_by(power)
}

fn plain(x: f64) -> Cell {
    Cell::number(number(x)).sorted_by(x)
}

fn share(x: f64) -> Cell {
    Cell::number(small_percent(x)).sorted_by(x)
}

fn ends(own: &Interval95) -> Cell {
    Cell::number(interval(own))
        .toned(Tone::Quiet)
        .sorted_by(own.low)
}

/// A sum of excesses with half the width of its interval.
fn sum(own: Option<Interval95>) -> Cell {
    match own {
        None => Cell::number(UNKNOWN).toned(Tone::Quiet).sorted_by(f64::NAN),
        Some(own) => Cell::number(with_error(&own)).sorted_by(own.mean),
    }
}

fn with_error(own: &Interval95) -> String {
    let half = own.high - own.mean;
    if half > 0.0 {
        format!("{} ± {}", number(own.mean), number(half))
    } else {
        number(own.mean)
    }
}

fn worst(excess: f64) -> Cell {
    let text = if excess == 0.0 {
        "0".into()
    } else {
        format!("{excess:.2e}")
    };
    Cell::number(text).sorted_by(excess)
}

fn violations(standing: &Standing) -> Cell {
    let broken = standing.violations;
    let tone = match (broken, standing.kept) {
        (Some(0), _) => Tone::Good,
        // A broken promise is worse than none.
        (_, Some(PromiseVerdict::No)) => Tone::Bad,
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

/// Drawn outcomes on an instance, and the rounds until the possible gain: the agents in the leaderboard's order,
/// below the best policy that ignores the request. `None` unless outcomes were measured.
pub fn measured(instance: &InstanceResult) -> Option<ReportTable> {
    let (board, tuned) = tuned_apart(instance);
    if board.iter().any(|standing| standing.drawn.is_none()) {
        return None;
    }
    let mut columns = header(&["agent", "promise", "rank", "kept", "reward"]);
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
    if !tuned.is_empty() {
        columns.push("tuned".into());
    }
    columns.extend(header(&["violations", "Σ(c − τ)₊", "(Σ(c − τ))₊"]));
    let mut rows = Vec::new();
    if instance.knows_means() {
        let optimum = &instance.optimum;
        let mut row = vec![
            Cell::text("best policy").toned(Tone::Quiet),
            Cell::text("known means").toned(Tone::Quiet),
            Cell::number(""),
            Cell::text(""),
            Cell::number(digits(optimum.reward)),
        ];
        row.extend(optimum.costs.iter().map(|&cost| Cell::number(digits(cost))));
        row.resize(columns.len(), Cell::text(""));
        row[5 + optimum.costs.len()] = Cell::number("100%");
        rows.push(row);
    }
    for standing in &board {
        let drawn = standing.drawn.as_ref()?;
        let mean = |x: f64| Cell::number(digits(x)).sorted_by(x);
        let mut row = vec![
            Cell::text(&standing.agent),
            promise(standing),
            rank(standing),
            kept(standing),
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
        if !tuned.is_empty() {
            row.push(tuned_regret(standing, &tuned));
        }
        row.push(violations(standing));
        row.push(sum(standing.violation().map(|own| own.violation)));
        row.push(sum(standing.net().map(|own| own.net)));
        rows.push(row);
    }
    Some(ReportTable {
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

/// Pairs of agents on an instance, on the same outcomes.
pub fn paired(pairs: &[Pair]) -> Option<ReportTable> {
    let rows = pairs.iter().map(|pair| {
        let difference = &pair.difference;
        let gain = pair.gain;
        vec![
            Cell::text(&pair.agent),
            Cell::text(&pair.other),
            plain(difference.mean),
            Cell::number(interval(difference)).sorted_by(difference.low),
            verdict_of(difference),
            Cell::number(if gain.is_finite() {
                format!("{gain:.2}×")
            } else {
                UNKNOWN.into()
            })
            .toned(Tone::Quiet)
            .sorted_by(gain),
        ]
    });
    (!pairs.is_empty()).then(|| ReportTable {
        title: "Regret of an agent beyond that of another, run by run on the same outcomes".into(),
        header: header(&[
            "agent",
            "other",
            "difference",
            "95% interval, all pairs at once",
            "verdict",
            "narrower by pairing",
        ]),
        rows: rows.collect(),
    })
}

fn verdict_of(difference: &Interval95) -> Cell {
    match difference {
        d if d.low.is_nan() => Cell::text("one run only").toned(Tone::Quiet),
        d if d.low > 0.0 => Cell::text("more"),
        d if d.high < 0.0 => Cell::text("less"),
        _ => Cell::text("undecided").toned(Tone::Quiet),
    }
}

/// Pairs of agents over all instances.
pub fn over_all(rows: &[Overall]) -> Option<ReportTable> {
    let lines = rows.iter().map(|row| {
        let counted =
            |[all, clear]: [u64; 2]| Cell::number(format!("{all} ({clear})")).sorted_by(all as f64);
        let difference = &row.difference;
        let points = |x: f64| format!("{:.1}%", 100.0 * x).replace('-', "−");
        let ends = if difference.low.is_nan() {
            UNKNOWN.into()
        } else {
            format!("{} to {}", points(difference.low), points(difference.high))
        };
        let broke = |count: u64| {
            let tone = if count > 0 { Tone::Bad } else { Tone::Quiet };
            Cell::number(count.to_string())
                .toned(tone)
                .sorted_by(count as f64)
        };
        vec![
            Cell::text(&row.agent),
            Cell::text(&row.other),
            Cell::number(row.instances.to_string()),
            Cell::number(points(difference.mean)).sorted_by(difference.mean),
            Cell::number(ends).sorted_by(difference.low),
            verdict_of(difference),
            counted(row.won),
            counted(row.lost),
            broke(row.broke[0]),
            broke(row.broke[1]),
        ]
    });
    (!rows.is_empty()).then(|| ReportTable {
        title: "Share of the possible gain that an agent lost beyond another, mean over instances"
            .into(),
        header: header(&[
            "agent",
            "other",
            "instances",
            "difference",
            "95% interval, all pairs at once",
            "verdict",
            "won (clearly)",
            "lost (clearly)",
            "agent broke its promise",
            "other broke its",
        ]),
        rows: lines.collect(),
    })
}

/// The suites there are.
pub fn suites(suites: &[(&str, &str)]) -> ReportTable {
    let rows = suites.iter();
    ReportTable {
        title: "Suites".into(),
        header: header(&["suite", "what it is"]),
        rows: rows
            .map(|(name, about)| vec![Cell::text(*name), Cell::text(*about)])
            .collect(),
    }
}

/// The agents there are.
pub fn agents() -> ReportTable {
    let configs = AgentConfig::kinds().into_iter();
    let configs = configs.filter_map(|kind| AgentConfig::of_kind(&kind).ok());
    ReportTable {
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
