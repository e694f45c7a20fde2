//! `banister reproduce`: the paper's figures and claims, run afresh.

use banister_report::LineKind;
use banister_report::{
    Document, Figure, FigureRef, Panel, ReferenceLine, Row, Section, Series, Table,
};
use banister_sim::results::InstanceResult;
use banister_sim::{EnvironmentConfig, Experiment, Options, Results};

use super::claims::{self, Claim, Distance};
use super::linear::{self, Linear, Watched};
use super::run::resolved;
use crate::args::{Reproduce, Simulation};
use crate::failure::Failure;
use crate::input::built_in;
use crate::progress::with_bar;
use crate::terminal::{self, final_regret, number};

/// τ, the experiment as published and as the text states it.
const PAPER: [(&str, &str); 3] = [
    (
        include_str!("../../../../experiments/paper/published-1.0.toml"),
        include_str!("../../../../experiments/paper/text-1.0.toml"),
    ),
    (
        include_str!("../../../../experiments/paper/published-0.5.toml"),
        include_str!("../../../../experiments/paper/text-0.5.toml"),
    ),
    (
        include_str!("../../../../experiments/paper/published-0.2.toml"),
        include_str!("../../../../experiments/paper/text-0.2.toml"),
    ),
];
const LOWER_BOUND: &str = include_str!("../../../../experiments/paper/lower-bound.toml");
const SAFE_COST: [&str; 2] = [
    include_str!("../../../../experiments/paper/safe-cost-known.toml"),
    include_str!("../../../../experiments/paper/safe-cost-unknown.toml"),
];
/// Margins at which the lower bound is shown.
pub const MARGINS: [f64; 4] = [0.025, 0.05, 0.1, 0.2];

/// What was run, sorted by what it shows.
pub struct Parts {
    /// One instance per τ, with all three agents.
    pub paper: Results,
    /// ν and ν' in turn, for each margin.
    pub lower_bound: Results,
    /// Safe cost known, then unknown.
    pub safe_cost: Results,
    /// Actions with features.
    pub linear: Linear,
}

pub fn reproduce(args: &Reproduce) -> Result<(), Failure> {
    let mut experiments = experiments(&args.simulation)?;
    experiments.extend(linear::experiments(&args.simulation)?);
    let watched = linear::coverage_experiment(&args.simulation)?;
    let options = Options {
        no_timing: args.simulation.no_timing,
    };
    let all = experiments.iter().chain([&watched]);
    let (results, coverage) = with_bar("reproducing", all, &args.simulation, |monitor| {
        let Some(results) = banister_sim::run(&experiments, options, monitor)? else {
            return Ok(None);
        };
        let coverage = linear::watch(&watched, monitor)?;
        Ok::<_, banister::Error>(coverage.map(|coverage| (results, coverage)))
    })?;
    let parts =
        sort(results, coverage).ok_or_else(|| Failure::Other("some results are missing".into()))?;
    experiments.push(watched);
    let claims = claims::check(&parts);
    let distances = claims::distances(&parts.paper);
    let distance_table = claims::distance_table(&distances);
    let document = document(&parts, &claims, &distance_table);
    let all = Results {
        instances: [&parts.paper, &parts.lower_bound, &parts.safe_cost]
            .into_iter()
            .flat_map(|r| r.instances.clone())
            .chain(parts.linear.instances())
            .collect(),
    };
    let written =
        banister_report::write_results(&args.out, &all, &document, &resolved(&experiments)?)?;
    if args.simulation.json {
        let value = serde_json::json!({
            "results": terminal::summary_json(&all),
            "claims": claims.iter().map(Claim::to_json).collect::<Vec<_>>(),
            "published_regret": distances.iter().map(Distance::to_json).collect::<Vec<_>>(),
        });
        terminal::say(value)?;
        return Ok(());
    }
    terminal::say("")?;
    terminal::print(&Table {
        title: "The paper's experiment".into(),
        ..terminal::summary(&parts.paper)
    })?;
    terminal::print(&distance_table)?;
    terminal::print(&Table {
        title: "Actions that change in every round".into(),
        ..terminal::summary(&Results {
            instances: vec![parts.linear.contextual.clone()],
        })
    })?;
    terminal::print(&linear::report::coverage_table(&parts.linear))?;
    terminal::print(&claims::table(&claims))?;
    terminal::say(format!(
        "{} files in {}; open {}",
        written.len(),
        args.out.display(),
        args.out.join("report.html").display()
    ))?;
    Ok(())
}

fn experiments(overrides: &Simulation) -> Result<Vec<Experiment>, Failure> {
    let plain = |text: &str| built_in(text, "", overrides, |_| {});
    let mut all = Vec::new();
    for (published, text) in PAPER {
        all.push(plain(published)?);
        all.push(plain(text)?);
    }
    for margin in MARGINS {
        for (alternative, symbol) in [(false, "ν"), (true, "ν′")] {
            let name = format!("{symbol}, Δ = {margin}");
            all.push(built_in(LOWER_BOUND, &name, overrides, |config| {
                if let EnvironmentConfig::LowerBound(pair) = &mut config.environment {
                    pair.margin = Some(margin);
                    pair.alternative = Some(alternative);
                }
            })?);
        }
    }
    for text in SAFE_COST {
        all.push(plain(text)?);
    }
    Ok(all)
}

/// Puts each threshold's published and stated settings side by side: the means are the same, only
/// the noise differs.
fn sort(results: Results, coverage: Vec<Watched>) -> Option<Parts> {
    let mut instances = results.instances.into_iter();
    let mut paper = Vec::new();
    for _ in PAPER {
        let pair: Vec<InstanceResult> = instances.by_ref().take(2).collect();
        if let [published, text] = &pair[..] {
            let mut merged = published.clone();
            merged.agents.extend(text.agents.iter().cloned());
            paper.push(merged);
        }
    }
    Some(Parts {
        paper: Results { instances: paper },
        lower_bound: Results {
            instances: instances.by_ref().take(2 * MARGINS.len()).collect(),
        },
        safe_cost: Results {
            instances: instances.by_ref().take(SAFE_COST.len()).collect(),
        },
        linear: linear::sort(instances, coverage)?,
    })
}

fn document(parts: &Parts, claims: &[Claim], distances: &Table) -> Document {
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
             text states). Paper's text: OPB as specified, on Bernoulli arms. banister: its default, KL intervals \
             with the least optimism that the lemma allows, on the same Bernoulli arms."
                .into(),
        ],
        sections: [
            Section {
                title: "The paper's figures".into(),
                tables: vec![terminal::summary(&parts.paper), distances.clone()],
                figures: vec![FigureRef {
                    stem: "paper".into(),
                    caption: "One row per threshold τ. Left: regret, with a band of half a standard deviation. Middle: \
                              expected cost of the policies, never above τ. Right: expected reward, towards the best \
                              feasible policy's."
                        .into(),
                    figure: paper_figure(&parts.paper).into(),
                }],
                ..Section::default()
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
        .chain(linear::report::sections(&parts.linear))
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
        tables: vec![terminal::against_known(results)],
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
