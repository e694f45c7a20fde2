//! Sections of the report on arms.

use banister_report::LineKind;
use banister_report::{
    Document, Figure, FigureRef, Panel, ReferenceLine, ReportTable, Row, Section, Series,
};
use banister_sim::Results;

use super::claims::{self, Claim};
use super::experiments::{MARGINS, Parts};
use super::linear_report;
use crate::terminal;
use banister_report::tables::words::number;
use banister_report::tables::{self, final_regret};

pub fn document(parts: &Parts, claims: &[Claim], distances: &ReportTable) -> Document {
    let first = &parts.paper.instances[0];
    let (horizon, runs) = (first.horizon, first.agents[0].runs.len());
    Document {
        title: "Stochastic Bandits with Linear Constraints, reproduced".into(),
        lead: vec![
            format!(
                "Four arms with mean rewards (0.1, 0.2, 0.4, 0.7) and mean costs (0, 0.4, 0.5, 0.2); the first arm is \
                 the safe one. {runs} runs of {} rounds each. Every policy is judged on the true means: it violates \
                 the guardrail when its expected cost exceeds τ.",
                number(horizon as f64)
            ),
            "Published settings: what produced the paper's figures (clipped Gaussian arms, other constants than the \
             text states). Paper's text: OPB as specified, on Bernoulli arms. banister: its default, mixture \
             intervals and optimism by an index, on the same Bernoulli arms."
                .into(),
        ],
        sections: [
            Section {
                title: "The paper's figures".into(),
                paragraphs: vec![terminal::LIMIT.into()],
                tables: vec![tables::summary(&parts.paper), distances.clone()],
                figures: vec![FigureRef {
                    stem: "paper".into(),
                    caption: "One row per threshold τ. Left: regret, with a band of half a standard deviation. Middle: \
                              expected cost of the policies beside τ. Right: expected reward, towards the best \
                              feasible policy's."
                        .into(),
                    figure: paper_figure(&parts.paper).into(),
                }],
            },
            Section {
                title: "Claims".into(),
                tables: vec![claims::table(claims)],
                ..Section::default()
            },
            lower_bound_section(&parts.lower_bound),
            safe_cost_section(&parts.safe_cost),
        ]
        .into_iter()
        .chain(linear_report::sections(&parts.linear))
        .collect(),
    }
}

fn paper_figure(results: &Results) -> Figure {
    Figure {
        title: "The paper's experiment: regret, cost and reward as the threshold τ falls".into(),
        ..Figure::of_results(results)
    }
}

fn lower_bound_section(results: &Results) -> Section {
    let horizon = results.instances[0].horizon;
    let labels: Vec<&str> = results.instances[0]
        .agents
        .iter()
        .map(|a| a.name.as_str())
        .collect();
    let regret = |margin: usize, variant: usize, agent: usize| {
        results
            .instances
            .get(2 * margin + variant)
            .and_then(|instance| instance.agents.get(agent))
            .map_or(f64::NAN, |agent| final_regret(agent).0)
    };
    let panel = |title: &str, value: &dyn Fn(usize, usize) -> f64| {
        let mut series: Vec<Series> = labels
            .iter()
            .enumerate()
            .map(|(agent, label)| Series {
                name: (*label).into(),
                // The colours that the same agents have in the figure above.
                color: agent + 1,
                x: MARGINS.to_vec(),
                y: (0..MARGINS.len()).map(|m| value(m, agent)).collect(),
                points: true,
                ..Series::default()
            })
            .collect();
        series.push(Series {
            name: "lower bound 1/(18Δ²) (unit Gaussian)".into(),
            color: 5,
            x: MARGINS.to_vec(),
            y: MARGINS.iter().map(|c| 1.0 / (18.0 * c * c)).collect(),
            dashed: true,
            ..Series::default()
        });
        Panel {
            title: title.into(),
            x_label: "margin Δ of the safe arm".into(),
            x_log: true,
            y_log: true,
            series,
            lines: vec![ReferenceLine {
                label: "√((K−1)T)/27".into(),
                y: (3.0 * horizon as f64).sqrt() / 27.0,
                kind: LineKind::Optimum,
            }],
            ..Panel::default()
        }
    };
    let figure = Figure {
        title: "The price of a small margin".into(),
        subtitle: format!(
            "Final regret after {} rounds on the two instances of the lower bound, mean over runs",
            number(horizon as f64)
        ),
        rows: vec![Row {
            label: String::new(),
            panels: vec![
                panel("Regret on ν", &|m, a| regret(m, 0, a)),
                panel("Regret on ν′", &|m, a| regret(m, 1, a)),
                panel("The worse of the two", &|m, a| {
                    regret(m, 0, a).max(regret(m, 1, a))
                }),
            ],
        }],
    };
    Section {
        title: "The lower bound".into(),
        paragraphs: vec![
            "The instances ν and ν′ differ in the cost of one arm only. On at least one of them any algorithm's \
             expected regret is at least max(√((K−1)T)/27, 1/(18Δ²)); smaller margins are harder for everyone."
                .into(),
        ],
        figures: vec![FigureRef {
            stem: "lower-bound".into(),
            caption: "Both axes are logarithmic. No agent can be below the lines in the right panel.".into(),
            figure: figure.into(),
        }],
        ..Section::default()
    }
}

fn safe_cost_section(results: &Results) -> Section {
    Section {
        title: "A safe action of unknown cost".into(),
        paragraphs: vec![
            "When the safe action's own cost is not known, it must be learned before anything else may be tried. The \
             paper plays it for T₀ rounds and then freezes what it knows; banister bounds it like any other signal \
             and starts to explore as soon as the bound leaves a margin."
                .into(),
        ],
        tables: vec![tables::against_known(results)],
        figures: vec![FigureRef {
            stem: "safe-cost".into(),
            caption: "Top: the safe cost is given. Bottom: it is learned; the flat start is the time it takes.".into(),
            figure: safe_cost_figure(results).into(),
        }],
    }
}

/// In the colours that the same agents have in the paper's figure.
fn safe_cost_figure(results: &Results) -> Figure {
    let mut figure = Figure {
        title: "Not knowing the safe action's cost, at τ = 0.2".into(),
        ..Figure::of_results(results)
    };
    for panel in figure.rows.iter_mut().flat_map(|row| &mut row.panels) {
        for series in &mut panel.series {
            series.color = match series.name.as_str() {
                "paper's constants" => 1,
                "banister" => 2,
                _ => 3,
            };
        }
    }
    figure
}
