//! Writes a report of made-up results, to see what one looks like:
//! `cargo run -p banister-report --example gallery -- DIRECTORY`.

use std::path::Path;
use std::process::ExitCode;

use banister_report::{
    Cell, Document, Dot, DotPanel, DotPlot, Drawing, Figure, FigureRef, HeatMap, HeatPanel,
    LineKind, Panel, ReferenceLine, ReportError, ReportTable, Row, Section, Series, Tone,
    write_results,
};
use banister_sim::banister::guarantee::{CumulativeBudget, Guarantee};
use banister_sim::results::{
    AgentResult, Curve, Direction, Excess, GuardrailInfo, InstanceResult, Optimum, Results,
    RunSummary,
};

const HORIZON: u64 = 1_000_000;
const CHECKPOINTS: u64 = 500;
const RUNS: u64 = 10;
const AGENTS: [&str; 3] = ["published settings", "paper’s text", "banister"];

/// Per instance: threshold, cost and reward of the optimum, final regrets.
const INSTANCES: [(f64, f64, f64, [f64; 3]); 3] = [
    (1.0, 0.8, 0.8, [1450.0, 2400.0, 35.0]),
    (0.5, 0.5, 0.575, [3100.0, 6300.0, 36.0]),
    (0.2, 0.2, 0.3125, [46_000.0, 50_000.0, 14_000.0]),
];

/// Noise that is the same on every machine, in [-1, 1].
fn noise(state: &mut u64) -> f64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

fn agent(
    name: &str,
    threshold: f64,
    cost: f64,
    reward: f64,
    regret: f64,
    seed: u64,
) -> AgentResult {
    let mut state = seed;
    let mut curve = Curve {
        cost_mean: vec![Vec::new()],
        cost_worst: vec![Vec::new()],
        price_mean: vec![Vec::new()],
        ..Curve::default()
    };
    // A fast learner's regret is logarithmic, a slow one's nearly linear.
    let slow = regret / (0.3 * reward * HORIZON as f64);
    let half = HORIZON as f64 * (0.002 + 0.3 * slow.min(1.0));
    let mut before = 0.0;
    for checkpoint in 1..=CHECKPOINTS {
        let round = checkpoint * HORIZON / CHECKPOINTS;
        let t = round as f64;
        let mean = regret * (1.0 + t / half).ln() / (1.0 + HORIZON as f64 / half).ln();
        let pace = (mean - before) / (HORIZON / CHECKPOINTS) as f64;
        before = mean;
        let spread = mean * 0.3 * (1.0 + 0.05 * noise(&mut state));
        let share = (1.0 - pace / reward * 1.4).clamp(0.1, 1.0);
        curve.round.push(round);
        curve.regret_mean.push(mean);
        curve.regret_std.push(spread);
        curve.regret_q05.push((mean - 1.6 * spread).max(0.0));
        curve.regret_q95.push(mean + 1.6 * spread);
        curve
            .reward_mean
            .push(reward - pace - 0.002 * reward * noise(&mut state).abs());
        let mean_cost = (cost * share * (1.0 + 0.004 * noise(&mut state))).min(threshold);
        curve.cost_mean[0].push(mean_cost);
        curve.cost_worst[0].push((mean_cost * 1.02).min(threshold));
        curve.price_mean[0].push(if cost < threshold { 0.0 } else { 0.8 * share });
    }
    let runs = (0..RUNS).map(|run| RunSummary {
        run,
        seed: 7,
        regret: regret * (1.0 + 0.3 * noise(&mut state)),
        reward_end: reward,
        violations: Some(0),
        worst_exceedance: 0.0,
        excess: vec![Excess::default()],
        possible_gain: 0.3 * HORIZON as f64,
        pulls: vec![HORIZON / 4, HORIZON / 2, HORIZON / 8, HORIZON / 8],
        first_alarm: None,
        violations_after_alarm: 0,
        measured: None,
        nanoseconds_per_round: Some(180.0 + 10.0 * noise(&mut state)),
    });
    AgentResult {
        name: name.to_owned(),
        guarantee: Guarantee::EveryRound,
        budget: CumulativeBudget::default(),
        ours: false,
        curve,
        runs: runs.collect(),
        limit: Some(4000.0),
    }
}

fn results() -> Results {
    let instance = |(number, (threshold, cost, reward, regrets)): (usize, _)| {
        let regrets: [f64; 3] = regrets;
        let agents = AGENTS
            .iter()
            .zip(regrets)
            .enumerate()
            .map(|(a, (name, regret))| {
                agent(
                    name,
                    threshold,
                    cost,
                    reward,
                    regret,
                    (10 * number + a) as u64,
                )
            });
        InstanceResult {
            changes: Vec::new(),
            name: format!("τ = {threshold}"),
            horizon: HORIZON,
            arms: vec!["safe".into(), "low".into(), "middle".into(), "high".into()],
            guardrails: vec![GuardrailInfo {
                name: "cost".into(),
                direction: Direction::AtMost,
                threshold,
                noise: 0.5,
            }],
            optimum: Optimum {
                reward,
                costs: vec![cost],
                policy: vec![(0, 0.25), (3, 0.75)],
                averaged: false,
            },
            agents: agents.collect(),
        }
    };
    Results {
        instances: INSTANCES.into_iter().enumerate().map(instance).collect(),
    }
}

fn summary(results: &Results) -> ReportTable {
    let header = [
        "instance",
        "agent",
        "final regret",
        "standard deviation",
        "violations",
    ];
    let mut rows = Vec::new();
    for instance in &results.instances {
        for (index, agent) in instance.agents.iter().enumerate() {
            let last = |values: &[f64]| format!("{:.0}", values.last().copied().unwrap_or(0.0));
            let name = if index == 0 {
                instance.name.as_str()
            } else {
                ""
            };
            let best = if agent.name == "banister" {
                Tone::Good
            } else {
                Tone::Plain
            };
            rows.push(vec![
                Cell::text(name),
                Cell::text(&agent.name),
                Cell::number(last(&agent.curve.regret_mean)).toned(best),
                Cell::number(last(&agent.curve.regret_std)).toned(Tone::Quiet),
                Cell::number("0").toned(Tone::Good),
            ]);
        }
    }
    ReportTable {
        title: "After a million rounds".into(),
        header: header.map(String::from).to_vec(),
        rows,
    }
}

/// Log axes, marked points, a dashed curve, lines close to each other, and a long row label.
fn sweep() -> Figure {
    let horizons: Vec<f64> = (0..9)
        .map(|k| 100.0 * 10_f64.powf(0.5 * f64::from(k)))
        .collect();
    let series = |name: &str, color, scale: f64, power: f64| Series {
        name: name.to_owned(),
        color,
        x: horizons.clone(),
        y: horizons.iter().map(|t| scale * t.powf(power)).collect(),
        points: true,
        ..Series::default()
    };
    let root = Series {
        dashed: true,
        points: false,
        ..series("√T for comparison", 5, 3.0, 0.5)
    };
    let growth = Panel {
        title: "Regret at the horizon".into(),
        x_label: "horizon".into(),
        y_label: "regret".into(),
        x_log: true,
        y_log: true,
        series: vec![
            series("banister", 2, 4.0, 0.15),
            series("epsilon-greedy", 3, 0.5, 0.8),
            root,
        ],
        ..Panel::default()
    };
    let line = |label: &str, y, kind| ReferenceLine {
        label: label.into(),
        y,
        kind,
    };
    let cost = Panel {
        title: "Expected conversion at the horizon".into(),
        x_label: "horizon".into(),
        x_log: true,
        series: vec![Series {
            y: horizons
                .iter()
                .map(|t| 0.978 + 0.003 * (t.log10() * 2.0).sin())
                .collect(),
            ..series("banister", 2, 0.0, 0.0)
        }],
        lines: vec![
            line("threshold 0.975", 0.975, LineKind::Threshold),
            line("optimum 0.9756", 0.9756, LineKind::Optimum),
        ],
        ..Panel::default()
    };
    Figure {
        title: "How regret grows with the horizon".into(),
        subtitle: "Each point is the mean over ten runs.".into(),
        rows: vec![Row {
            label: "linear, d = 8, K = 100 arms".into(),
            panels: vec![growth, cost],
        }],
    }
}

/// Sixteen agents: guarantee (index into [`GUARANTEES`]), share of violating rounds, and final
/// regret relative to the instance's scale.
const FIELD: [(&str, usize, f64, f64); 16] = [
    ("opb", 0, 0.0, 1.0),
    ("s_ops optimistic", 0, 0.0, 1.15),
    ("banister", 0, 0.0, 0.4),
    ("oplb_exact", 0, 0.0, 2.6),
    ("oplb_linearised", 0, 0.0, 3.1),
    ("safe_baseline", 0, 0.0, 60.0),
    ("safe_lin_ucb", 1, 0.0, 22.0),
    ("safe_thompson", 1, 0.00002, 18.0),
    ("conservative_ucb", 2, 0.004, 6.0),
    ("budgeted_ucb", 2, 0.08, 0.9),
    ("primal_dual", 2, 0.21, -0.02),
    ("lagrangian_ts", 2, 0.19, -0.3),
    ("ucb1", 3, 0.97, -55.0),
    ("thompson", 3, 0.985, -57.0),
    ("epsilon_greedy", 3, 0.9, -41.0),
    ("uniform", 3, 0.5, 75.0),
];

const GUARANTEES: [&str; 4] = [
    "safe in every round",
    "safe per action",
    "cumulative budget",
    "unsafe",
];

/// Regret and violation by agent: regrets of either sign, an agent that is absent, and an unknown number.
fn tradeoff() -> DotPlot {
    let panel = |number: usize, (name, scale): (&str, f64)| {
        let mut state = number as u64 + 40;
        let mut dot = |(label, group, share, regret): (&str, usize, f64, f64)| {
            let share = share * (1.0 + 0.02 * noise(&mut state));
            let value = scale * regret * (1.0 + 0.3 * noise(&mut state));
            let (dx, dy) = (0.6 * share, 0.35 * value.abs() + 0.1 * scale);
            Dot {
                label: label.into(),
                group,
                value,
                interval: Some((value - dy, value + dy)),
                share,
                share_interval: Some((share - dx, (share + dx).min(1.0))),
            }
        };
        DotPanel {
            title: name.into(),
            dots: FIELD.into_iter().map(&mut dot).collect(),
        }
    };
    let instances = [
        ("τ = 0.5, Bernoulli", 100.0),
        ("τ = 0.2, heavy tails", 900.0),
        ("linear, d = 4, ten actions", 35.0),
    ];
    let mut panels: Vec<DotPanel> = instances
        .into_iter()
        .enumerate()
        .map(|(number, instance)| panel(number, instance))
        .collect();
    panels[0].dots.remove(6);
    panels[1].dots[8].value = f64::NAN;
    panels[1].dots[8].interval = None;
    DotPlot {
        title: "The price of safety".into(),
        subtitle: "Mean over 50 runs of 100 000 rounds, with 95% intervals.".into(),
        groups: GUARANTEES.map(String::from).to_vec(),
        value_label: "mean regret at the horizon".into(),
        share_label: "violated".into(),
        panels,
    }
}

/// Two swept fields, with one run that failed.
fn settings() -> HeatMap {
    let thresholds = [0.1, 0.2, 0.3, 0.5, 0.8];
    let gaps = [0.01, 0.05, 0.1, 0.2];
    let panel = |name: &str, scale: f64, power: f64| HeatPanel {
        title: name.into(),
        values: gaps
            .iter()
            .map(|gap| {
                let value = |tau: &f64| scale * (0.1 / tau).powf(power) * (1.0 + 0.02 / gap);
                thresholds.iter().map(value).collect()
            })
            .collect(),
    };
    let mut panels = vec![
        panel("opb", 2400.0, 1.3),
        panel("s_ops optimistic", 2900.0, 1.7),
        panel("banister", 310.0, 2.0),
    ];
    panels[1].values[0][4] = f64::NAN;
    HeatMap {
        title: "Regret over threshold and gap".into(),
        subtitle: "Mean over 50 runs of 100 000 rounds.".into(),
        x_label: "threshold τ".into(),
        y_label: "gap between arms".into(),
        x: thresholds.map(|x| x.to_string()).to_vec(),
        y: gaps.map(|y| y.to_string()).to_vec(),
        panels,
        value_label: "mean regret at the horizon".into(),
    }
}

/// More agents than colours.
fn crowd() -> Figure {
    let agents = FIELD.iter().enumerate().map(|(number, entry)| {
        let regret = 900.0 * entry.3.abs().max(0.3).powf(0.6) + 150.0 * number as f64;
        let mut agent = agent(entry.0, 0.5, 0.5, 0.575, regret, number as u64 + 90);
        for cost in agent.curve.cost_mean.iter_mut().flatten() {
            *cost *= 1.0 - 0.02 * number as f64 + if entry.1 == 3 { 0.6 } else { 0.0 };
        }
        agent
    });
    let mut first = results();
    first.instances.remove(0);
    first.instances.truncate(1);
    first.instances[0].agents = agents.collect();
    Figure::of_results(&first)
}

/// The agents in order of regret; click a heading to sort by another column.
fn leaderboard() -> ReportTable {
    let row = |entry: &(&str, usize, f64, f64)| {
        let violating = format!("{:.3}%", 100.0 * entry.2);
        let tone = if entry.2 > 0.0 { Tone::Bad } else { Tone::Good };
        vec![
            Cell::text(entry.0),
            Cell::text(GUARANTEES[entry.1]).sorted_by(entry.1 as f64),
            Cell::number(format!("{:.0}", 100.0 * entry.3)).sorted_by(100.0 * entry.3),
            Cell::number(violating).toned(tone).sorted_by(entry.2),
        ]
    };
    ReportTable {
        title: "τ = 0.5, Bernoulli".into(),
        header: ["agent", "guarantee", "mean regret", "violating rounds"]
            .map(String::from)
            .to_vec(),
        rows: FIELD.iter().map(row).collect(),
    }
}

fn figure(stem: &str, figure: impl Into<Drawing>) -> FigureRef {
    FigureRef {
        stem: stem.into(),
        caption: String::new(),
        figure: figure.into(),
    }
}

fn write(directory: &Path) -> Result<(), ReportError> {
    let results = results();
    let document = Document {
        title: "Three thresholds, three agents".into(),
        lead: vec![
            "Made-up results in the shape of the paper’s first experiment: four arms, one \
             guardrail, a million rounds, ten runs."
                .into(),
        ],
        sections: vec![
            Section {
                title: "Regret, cost and reward".into(),
                paragraphs: vec![
                    "Every policy kept its expected cost under the threshold in every round."
                        .into(),
                ],
                tables: vec![summary(&results)],
                figures: vec![FigureRef {
                    stem: "curves".into(),
                    caption:
                        "Drag over a chart to zoom, double-click to return; click a name to hide \
                          its curves."
                            .into(),
                    figure: Figure::of_results(&results).into(),
                }],
            },
            Section {
                title: "Growth".into(),
                figures: vec![FigureRef {
                    stem: "growth".into(),
                    caption: String::new(),
                    figure: sweep().into(),
                }],
                ..Section::default()
            },
            Section {
                title: "Many agents".into(),
                tables: vec![leaderboard()],
                figures: vec![
                    figure("tradeoff", tradeoff()),
                    figure("settings", settings()),
                    figure("crowd", crowd()),
                ],
                ..Section::default()
            },
        ],
    };
    for path in write_results(directory, &results, &document, &[])? {
        println!("{}", path.display());
    }
    Ok(())
}

fn main() -> ExitCode {
    let Some(directory) = std::env::args_os().nth(1) else {
        eprintln!("usage: gallery DIRECTORY");
        return ExitCode::from(2);
    };
    match write(Path::new(&directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
