//! Figures of the results of simulations: the paper's curves, shadow prices, and the price of safety.

use banister_sim::banister::guarantee::Guarantee;
use banister_sim::compare::{Interval95, leaderboard};
use banister_sim::results::{AgentResult, Direction, GuardrailInfo, InstanceResult, Results};

use super::axes::significant;
use super::curves::{Figure, LineKind, Panel, ReferenceLine, Row, Series};
use super::dots::{Dot, DotPanel, DotPlot};
use super::palette;

impl Figure {
    /// Lays out results as in the paper: one row per instance; cumulative regret, the cost of each
    /// guardrail against its threshold, and the reward against the optimum's.
    ///
    /// An agent has the same colour in every panel.
    pub fn of_results(results: &Results) -> Figure {
        let agents = agent_names(results);
        let columns = guardrail_columns(results);
        let row = |instance: &InstanceResult| {
            let mut panels = vec![regret_panel(instance, &agents)];
            for (position, column) in columns.iter().enumerate() {
                // A column without a name takes whatever guardrail stands at its position.
                let index = match column {
                    Some(name) => instance.guardrails.iter().position(|g| &g.name == name),
                    None => Some(position),
                };
                let guardrail = index.and_then(|g| Some((g, instance.guardrails.get(g)?)));
                panels.push(guardrail.map_or_else(Panel::default, |(g, guardrail)| {
                    cost_panel(instance, g, guardrail, &agents)
                }));
            }
            panels.push(reward_panel(instance, &agents));
            Row {
                label: instance.name.clone(),
                panels,
            }
        };
        Figure {
            title: "Regret, guardrails and reward".to_owned(),
            subtitle: subtitle(results),
            rows: results.instances.iter().map(row).collect(),
        }
    }

    /// Lays out shadow prices: one row per instance, one panel per guardrail, the mean price over
    /// rounds on a logarithmic axis (a price of zero is not drawn).
    pub fn of_prices(results: &Results) -> Figure {
        let agents = agent_names(results);
        let panel = |instance: &InstanceResult, i: usize, guardrail: &GuardrailInfo| Panel {
            title: format!("Shadow price of {}", guardrail.name),
            x_label: "round".to_owned(),
            y_log: true,
            series: instance
                .agents
                .iter()
                .map(|a| line(a, &agents, &a.curve.price_mean[i]))
                .collect(),
            ..Panel::default()
        };
        let row = |instance: &InstanceResult| Row {
            label: instance.name.clone(),
            panels: (instance.guardrails.iter().enumerate())
                .map(|(i, guardrail)| panel(instance, i, guardrail))
                .filter(|p| p.series.iter().any(|s| s.y.iter().any(|&y| y > 0.0)))
                .collect(),
        };
        Figure {
            title: "What the guardrails cost".to_owned(),
            subtitle: "Reward that one more unit of threshold would earn, as the agent sees it; zero is not drawn."
                .to_owned(),
            rows: results.instances.iter().map(row).collect(),
        }
    }
}

impl DotPlot {
    /// Lays out the price of safety: the regret of every agent and the share of its rounds that
    /// violated, on each instance with guardrails and known means. Other instances have no panel, tuned
    /// versions of agents no row.
    pub fn of_results(results: &Results) -> DotPlot {
        // An instance for a published number alone has next to nobody on it.
        let crowd = results.instances.iter().map(|i| i.agents.len()).max();
        let least = crowd.unwrap_or(0).min(3);
        let judged = results.instances.iter().filter(|instance| {
            let crowded = instance.agents.len() >= least;
            instance.knows_means() && !instance.guardrails.is_empty() && crowded
        });
        DotPlot {
            title: "The price of safety: regret and violations".into(),
            subtitle: "Dots: regret, with 95% intervals over runs; zero is the best feasible policy, and only \
                       agents that violate get below it. Bars: share of rounds whose policy violated a \
                       guardrail."
                .into(),
            groups: Guarantee::ALL.map(|g| g.words().to_string()).to_vec(),
            value_label: "regret".into(),
            share_label: "violated".into(),
            panels: judged.map(dot_panel).collect(),
        }
    }
}

fn dot_panel(instance: &InstanceResult) -> DotPanel {
    let ends = |i: Interval95| (!i.low.is_nan()).then_some((i.low, i.high));
    let standings = leaderboard(instance);
    let own = standings.iter().filter(|s| s.tuned_of.is_none());
    let dots = own.filter_map(|standing| {
        Some(Dot {
            label: standing.name().to_string(),
            group: (Guarantee::ALL.iter()).position(|g| *g == standing.agent.guarantee)?,
            value: standing.regret.mean,
            interval: ends(standing.regret),
            share: standing.violation_share.mean,
            share_interval: ends(standing.violation_share)
                .map(|(low, high)| (low.max(0.0), high.min(1.0))),
        })
    });
    DotPanel {
        title: instance.name.clone(),
        dots: dots.collect(),
    }
}

/// Lists all agents in order of first appearance: an agent's place is its colour.
fn agent_names(results: &Results) -> Vec<&str> {
    let mut agents: Vec<&str> = Vec::new();
    for agent in results.instances.iter().flat_map(|i| &i.agents) {
        if !agents.contains(&agent.name.as_str()) {
            agents.push(&agent.name);
        }
    }
    agents
}

/// Makes one column per guardrail name if one instance has them all, else columns by position only:
/// instances with unlike guardrails would otherwise leave mostly holes.
fn guardrail_columns(results: &Results) -> Vec<Option<String>> {
    let instances = results.instances.iter();
    let most = instances.clone().map(|i| i.guardrails.len()).max();
    let most = most.unwrap_or(0);
    let mut names: Vec<Option<String>> = Vec::new();
    for guardrail in instances.flat_map(|instance| &instance.guardrails) {
        let name = Some(guardrail.name.clone());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.len() == most {
        names
    } else {
        vec![None; most]
    }
}

fn subtitle(results: &Results) -> String {
    let agents = results.instances.iter().flat_map(|i| &i.agents);
    let runs = agents.map(|a| a.runs.len());
    let (least, most) = (runs.clone().min().unwrap_or(0), runs.max().unwrap_or(0));
    let mean = match (least, most) {
        (0, 0) => "Means over runs".to_owned(),
        (1, 1) => "One run".to_owned(),
        (a, b) if a == b => format!("Means over {a} runs"),
        (a, b) => format!("Means over {a} to {b} runs"),
    };
    let band = if most == 1 {
        ""
    } else {
        " The band around the regret is ±0.5 standard deviation over runs, clipped at zero."
    };
    let drawn = results
        .instances
        .iter()
        .filter(|i| !i.knows_means())
        .count();
    let signals = match drawn {
        0 => "the policies’ expectations under the true means",
        all if all == results.instances.len() => {
            "what was drawn: the true means, and with them regret, are unknown"
        }
        _ => {
            "the policies’ expectations under the true means, or what was drawn where those are unknown"
        }
    };
    format!("{mean}.{band} Costs and rewards are {signals}.")
}

fn regret_panel(instance: &InstanceResult, agents: &[&str]) -> Panel {
    if !instance.knows_means() {
        return Panel::default();
    }
    let series = |agent: &AgentResult| {
        let curve = &agent.curve;
        let ends = |side: f64| -> Vec<f64> {
            let spread = curve.regret_mean.iter().zip(&curve.regret_std);
            spread
                .map(|(mean, std)| {
                    let end = mean + side * 0.5 * std;
                    // Only agents that break guardrails have less than none.
                    if *mean < 0.0 { end } else { end.max(0.0) }
                })
                .collect()
        };
        let spread = curve.regret_std.iter().any(|std| *std > 0.0);
        let band = spread.then(|| (ends(-1.0), ends(1.0)));
        let mut series = Series {
            band,
            ..line(agent, agents, &curve.regret_mean)
        };
        // Before the first round there is no regret.
        series.x.insert(0, 0.0);
        series.y.insert(0, 0.0);
        for edge in series.band.iter_mut().flat_map(|(lo, hi)| [lo, hi]) {
            edge.insert(0, 0.0);
        }
        series
    };
    Panel {
        title: "Cumulative regret".to_owned(),
        x_label: "round".to_owned(),
        y_from_zero: instance
            .agents
            .iter()
            .all(|a| a.curve.regret_mean.iter().all(|y| *y >= 0.0)),
        // Looking up each of many dashes in the legend is work; here the curves lie apart.
        name_ends: (palette::LENGTH + 1..=40).contains(&instance.agents.len()),
        series: instance.agents.iter().map(series).collect(),
        ..Panel::default()
    }
}

fn cost_panel(
    instance: &InstanceResult,
    index: usize,
    guardrail: &GuardrailInfo,
    agents: &[&str],
) -> Panel {
    let threshold = guardrail.threshold;
    // A cost has its limit above, as everybody expects; a limit below is said.
    let side = match guardrail.direction {
        Direction::AtMost => String::new(),
        at_least => format!("{} ", at_least.symbol()),
    };
    let mut lines = Vec::new();
    if !threshold.is_nan() {
        lines.push(ReferenceLine {
            label: format!("threshold {side}{}", short(threshold)),
            y: threshold,
            kind: LineKind::Threshold,
        });
    }
    // Where every round has its own optimum there is no one cost to compare with.
    if let Some(cost) = instance.optimum.costs.get(index)
        && !instance.optimum.averaged
        && (cost - threshold).abs() > 1e-6 * threshold.abs().max(1e-6)
    {
        lines.push(ReferenceLine {
            label: format!("optimum {}", short(*cost)),
            y: *cost,
            kind: LineKind::Optimum,
        });
    }
    let none = Vec::new();
    let series = |agent: &AgentResult| {
        line(
            agent,
            agents,
            agent.curve.cost_mean.get(index).unwrap_or(&none),
        )
    };
    Panel {
        title: format!("{} {}", kind_of_mean(instance), guardrail.name),
        x_label: "round".to_owned(),
        series: instance.agents.iter().map(series).collect(),
        lines,
        ..Panel::default()
    }
}

/// Names a mean: judged by true means, or merely drawn.
fn kind_of_mean(instance: &InstanceResult) -> &'static str {
    if instance.knows_means() {
        "Expected"
    } else {
        "Mean"
    }
}

fn reward_panel(instance: &InstanceResult, agents: &[&str]) -> Panel {
    let optimum = instance.optimum.reward;
    let best = ReferenceLine {
        label: if instance.optimum.averaged {
            format!("mean optimum {}", short(optimum))
        } else {
            format!("optimum r* = {}", short(optimum))
        },
        y: optimum,
        kind: LineKind::Optimum,
    };
    Panel {
        title: format!("{} reward", kind_of_mean(instance)),
        x_label: "round".to_owned(),
        series: instance
            .agents
            .iter()
            .map(|a| line(a, agents, &a.curve.reward_mean))
            .collect(),
        lines: instance.knows_means().then_some(best).into_iter().collect(),
        ..Panel::default()
    }
}

fn line(agent: &AgentResult, agents: &[&str], y: &[f64]) -> Series {
    let color = agents.iter().position(|name| *name == agent.name);
    let rounds = &agent.curve.round;
    Series {
        name: agent.name.clone(),
        color: color.unwrap_or(0),
        x: rounds.iter().map(|round| *round as f64).collect(),
        y: y.to_vec(),
        points: rounds.len() == 1,
        ..Series::default()
    }
}

fn short(x: f64) -> String {
    significant(x, 4)
}
