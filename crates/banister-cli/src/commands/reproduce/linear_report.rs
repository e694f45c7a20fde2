//! The linear sections of the report.

use banister_report::{Cell, Figure, FigureRef, Panel, ReportTable, Row, Section, Series, Tone};
use banister_sim::Results;
use banister_sim::results::InstanceResult;

use super::linear::{ARM_COUNTS, BANISTER, EXACT, LINEARISED, Linear, MARGINS, Watched};
use super::linear_claims::arm_ratios;
use banister_report::tables::words::{number, percent};
use banister_report::tables::{self, final_regret, optimum_at_the_end};

/// All sections, in order.
pub fn sections(linear: &Linear) -> Vec<Section> {
    vec![
        contextual(linear),
        margin(linear),
        safe_cost(linear),
        coverage_section(linear),
        arms(linear),
    ]
}

/// An agent's colour in every linear figure; banister has the one it has among the arms.
fn color(name: &str) -> usize {
    match name {
        EXACT => 0,
        LINEARISED => 1,
        BANISTER => 2,
        _ => 3,
    }
}

fn colored(mut figure: Figure) -> Figure {
    for panel in figure.rows.iter_mut().flat_map(|row| &mut row.panels) {
        for series in &mut panel.series {
            series.color = color(&series.name);
        }
    }
    figure
}

fn contextual(linear: &Linear) -> Section {
    let mut instance = linear.contextual.clone();
    instance.name = String::new();
    let results = Results {
        instances: vec![instance],
    };
    let shown = Results {
        instances: vec![linear.contextual.clone()],
    };
    Section {
        title: "Actions with features: OPLB".into(),
        paragraphs: vec![format!(
            "Ten new actions in every round, each with four features; reward and cost are linear in them, and the \
             threshold on the cost is 0.5. The safe action costs 0.25. OPLB bounds whole policies and maximises a \
             convex function in every round; exact means solved to a certified gap of 0.1%. Linearised: one interval \
             per action and one linear program, with the paper's constants. banister: the same program with the least \
             optimism that the lemma allows. All agents meet the same actions; regret is against each round's own \
             best feasible policy, {} on average.",
            number_of(linear.contextual.optimum.reward)
        )],
        tables: vec![tables::summary(&shown)],
        figures: vec![FigureRef {
            stem: "linear".into(),
            caption: "Left: regret, with a band of half a standard deviation. Middle: expected cost of the policies, \
                      never above the threshold. Right: expected reward; it varies with the actions that the rounds \
                      bring."
                .into(),
            figure: colored(Figure {
                title: "OPLB on actions that change in every round".into(),
                ..Figure::of_results(&results)
            }).into(),
        }],
    }
}

fn number_of(x: f64) -> String {
    format!("{x:.3}")
}

fn by_margin(linear: &Linear, value: impl Fn(&InstanceResult, usize) -> f64) -> Vec<Series> {
    let names: Vec<&str> = (linear.margins.first().into_iter())
        .flat_map(|i| &i.agents)
        .map(|agent| agent.name.as_str())
        .collect();
    let series = |(a, name): (usize, &&str)| Series {
        name: (*name).into(),
        color: color(name),
        x: MARGINS.to_vec(),
        y: linear.margins.iter().map(|i| value(i, a)).collect(),
        points: true,
        ..Series::default()
    };
    names.iter().enumerate().map(series).collect()
}

fn margin(linear: &Linear) -> Section {
    let horizon = linear.margins.first().map_or(0, |i| i.horizon);
    let panel = |title: &str, series: Vec<Series>| Panel {
        title: title.into(),
        x_label: "margin τ − c₀ of the safe action".into(),
        y_from_zero: true,
        series,
        ..Panel::default()
    };
    let regret = by_margin(linear, |i, a| final_regret(&i.agents[a]).0);
    let share = by_margin(linear, |i, a| {
        let agent = &i.agents[a];
        100.0 * tables::final_reward(agent) / optimum_at_the_end(agent)
    });
    Section {
        title: "The price of a small margin, with features".into(),
        paragraphs: vec![
            "The same instance with safe actions that cost between 0.45 and 0.1, at the threshold 0.5. What may be \
             tried at first is a mixture with the safe action, and a small margin leaves little room for it."
                .into(),
        ],
        figures: vec![FigureRef {
            stem: "linear-margin".into(),
            caption: "Left: final regret. Right: expected reward of the last policies, in percent of the best \
                      feasible ones’."
                .into(),
            figure: Figure {
                title: "Regret against the margin of the safe action".into(),
                subtitle: format!(
                    "After {} rounds with ten new actions each, mean over runs",
                    number(horizon as f64)
                ),
                rows: vec![Row {
                    label: String::new(),
                    panels: vec![
                        panel("Final regret", regret),
                        panel("Reward at the end, % of optimum", share),
                    ],
                }],
            }.into(),
        }],
        ..Section::default()
    }
}

fn safe_cost(linear: &Linear) -> Section {
    let results = linear.safe_cost();
    Section {
        title: "A safe action of unknown cost, with features".into(),
        paragraphs: vec![
            "If the safe action's cost is not known, all directions of the cost's parameter must be learned, and the \
             safe action is played alone until it is proven to leave a margin: by an interval that keeps shrinking, \
             or by the paper's rule for T₀, which then freezes what it knows."
                .into(),
        ],
        tables: vec![tables::against_known(&results)],
        figures: vec![FigureRef {
            stem: "linear-safe-cost".into(),
            caption: "Top: the safe cost is given. Bottom: it is learned.".into(),
            figure: colored(Figure {
                title: "OPLB without knowing the safe action's cost".into(),
                ..Figure::of_results(&results)
            }).into(),
        }],
    }
}

/// Observed coverage of every radius.
pub fn coverage_table(linear: &Linear) -> ReportTable {
    let row = |watched: &Watched| {
        let (delta, coverage) = (watched.delta, &watched.coverage);
        let within = coverage.left as f64 <= delta * coverage.runs as f64;
        let ratio = |s: usize| {
            let mean = coverage.mean_largest.get(s).copied();
            format!("{:.2}", mean.unwrap_or(f64::NAN))
        };
        vec![
            Cell::text(&watched.radius),
            Cell::number(coverage.runs.to_string()),
            Cell::number(coverage.left.to_string()).toned(if within {
                Tone::Good
            } else {
                Tone::Bad
            }),
            Cell::number(percent(coverage.left as f64, coverage.runs as f64)),
            Cell::number(percent(delta, 1.0)),
            Cell::number(ratio(0)),
            Cell::number(ratio(1)),
        ]
    };
    let header = [
        "radius",
        "runs",
        "left",
        "share",
        "allowed",
        "reward: largest ratio",
        "cost: largest ratio",
    ];
    let rows = linear.coverage.iter().map(row);
    ReportTable::new("Coverage of the confidence sets", &header, rows)
}

fn coverage_section(linear: &Linear) -> Section {
    Section {
        title: "Do the confidence sets hold?".into(),
        paragraphs: vec![
            "Everything rests on the true parameters staying in their ellipsoids in all rounds of a run, but for a \
             share δ of runs. A ratio is the distance of the truth from the estimate in units of the radius: its \
             largest value in a run, averaged over runs. Below 1 is room to spare: smaller radii would explore \
             faster, larger ones slower."
                .into(),
        ],
        tables: vec![coverage_table(linear)],
        ..Section::default()
    }
}

fn arms(linear: &Linear) -> Section {
    let counts: Vec<f64> = ARM_COUNTS.iter().map(|k| *k as f64).collect();
    let regret = |a: usize| -> Vec<f64> {
        let of = |i: &InstanceResult| {
            i.agents
                .get(a)
                .map_or(f64::NAN, |agent| final_regret(agent).0)
        };
        linear.arms.iter().map(of).collect()
    };
    let series = |name: &str, color: usize, y: Vec<f64>, dashed: bool| Series {
        name: name.into(),
        color,
        x: counts.clone(),
        y,
        dashed,
        points: !dashed,
        ..Series::default()
    };
    let panel = |title: &str, series: Vec<Series>| Panel {
        title: title.into(),
        x_label: "number of arms K".into(),
        x_log: true,
        y_log: true,
        series,
        ..Panel::default()
    };
    let horizon = linear.arms.first().map_or(0, |i| i.horizon);
    let roots = counts.iter().map(|k| k.sqrt()).collect();
    Section {
        title: "Arms as a linear problem".into(),
        paragraphs: vec![
            "Arms are the unit vectors of a linear problem, so OPLB can play them too. Its ellipsoid covers all K \
             parameters at once and is about √K wider than the intervals of OPB: the worst-case bounds differ by √K, \
             and on an instance where regret grows with the square of the width, as here, by up to K."
                .into(),
        ],
        figures: vec![FigureRef {
            stem: "linear-arms".into(),
            caption: "All axes are logarithmic. Left: final regret. Right: how many times OPB's regret OPLB pays, \
                      beside √K, the ratio of the worst-case bounds, and K."
                .into(),
            figure: Figure {
                title: "OPB and OPLB on the same arms".into(),
                subtitle: format!(
                    "After {} rounds; one arm is best, one is safe, the others are alike; mean over runs",
                    number(horizon as f64)
                ),
                rows: vec![Row {
                    label: String::new(),
                    panels: vec![
                        panel(
                            "Final regret",
                            vec![
                                series("OPB", 4, regret(0), false),
                                series("OPLB", 2, regret(1), false),
                            ],
                        ),
                        panel(
                            "Regret of OPLB over regret of OPB",
                            vec![
                                series("OPLB over OPB", 3, arm_ratios(linear), false),
                                series("√K", 5, roots, true),
                                series("K", 6, counts.clone(), true),
                            ],
                        ),
                    ],
                }],
            }.into(),
        }],
        ..Section::default()
    }
}
