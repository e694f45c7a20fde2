//! The figures of a comparison.

use banister::Guarantee;
use banister_report::{Figure, FigureRef, Scatter, ScatterPanel, ScatterPoint};
use banister_sim::Results;
use banister_sim::compare::{Interval95, leaderboard};
use banister_sim::results::InstanceResult;

use crate::commands::run::file_name;

/// Regret against violation on every instance: who pays for safety with what.
pub fn scatter(results: &Results, guarantees: &[Vec<Guarantee>]) -> Option<FigureRef> {
    // An instance for a published number alone has next to nobody on it.
    let crowd = results.instances.iter().map(|i| i.agents.len()).max();
    let least = crowd.unwrap_or(0).min(3);
    let instances = results.instances.iter().zip(guarantees);
    let panels: Vec<ScatterPanel> = instances
        .filter(|(instance, _)| instance.knows_means() && !instance.guardrails.is_empty())
        .filter(|(instance, _)| instance.agents.len() >= least)
        .map(|(instance, guarantees)| panel(instance, guarantees))
        .collect();
    if panels.is_empty() {
        return None;
    }
    let groups = Guarantee::ALL.map(|g| g.words().to_string());
    Some(FigureRef {
        stem: "regret-against-violation".into(),
        caption: "One point per agent: how much it earned less than the best feasible policy, and in how many \
                  rounds its policy broke a guardrail. Below zero it earned more than any feasible policy can. \
                  Whiskers, where there are several runs, are 95% intervals over them."
            .into(),
        figure: Scatter {
            title: "What safety costs, and who does not pay".into(),
            subtitle: "Best is the lower left: no violation, little regret.".into(),
            groups: groups.to_vec(),
            zero_label: "best feasible policy".into(),
            panels,
        }
        .into(),
    })
}

fn panel(instance: &InstanceResult, guarantees: &[Guarantee]) -> ScatterPanel {
    let ends = |i: Interval95| (!i.low.is_nan()).then_some((i.low, i.high));
    let standings = leaderboard(instance);
    let agents = instance.agents.iter().zip(guarantees);
    let points = agents.filter_map(|(agent, guarantee)| {
        let standing = standings.iter().find(|s| s.agent == agent.name)?;
        let group = Guarantee::ALL.iter().position(|g| g == guarantee)?;
        Some(ScatterPoint {
            label: agent.name.clone(),
            group,
            x: standing.violation_share.mean,
            y: standing.regret.mean,
            x_interval: ends(standing.violation_share).map(|(low, high)| (low.max(0.0), high)),
            y_interval: ends(standing.regret),
        })
    });
    ScatterPanel {
        title: instance.name.clone(),
        x_label: "share of rounds that violated".into(),
        y_label: "regret".into(),
        points: points.collect(),
    }
}

/// Regret, cost and reward of all agents on an instance.
pub fn curves(instance: &InstanceResult) -> FigureRef {
    let results = Results {
        instances: vec![instance.clone()],
    };
    FigureRef {
        stem: format!("curves-{}", file_name(&instance.name)),
        caption: String::new(),
        figure: Figure::of_results(&results).into(),
    }
}
