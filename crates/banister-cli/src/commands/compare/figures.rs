//! The figures of a comparison.

use banister_report::{DotPlot, Figure, FigureRef, RankDiagram};
use banister_sim::Results;
use banister_sim::compare::{Ranking, tuned_of};
use banister_sim::results::InstanceResult;

use crate::commands::run::file_name;

/// Draws regret and violation on every instance.
pub fn safety(results: &Results) -> Option<FigureRef> {
    let plot = DotPlot::of_results(results);
    (!plot.panels.is_empty()).then(|| FigureRef {
        stem: "regret-against-violation".into(),
        caption: "One row per agent: how much it earned less than the best feasible policy, and in how many \
                  rounds its policy broke a guardrail. Below zero it earned more than any feasible policy can. \
                  Whiskers, where there are several runs, are 95% intervals over them."
            .into(),
        figure: plot.into(),
    })
}

/// Draws mean ranks over instances.
pub fn ranks(ranking: &Ranking) -> FigureRef {
    FigureRef {
        stem: format!(
            "critical-difference-{}",
            file_name(ranking.guarantee.words())
        ),
        caption: String::new(),
        figure: RankDiagram::of_ranking(ranking).into(),
    }
}

/// Draws regret, cost and reward of all agents on an instance, but for tuned versions.
pub fn curves(instance: &InstanceResult) -> FigureRef {
    let mut instance = instance.clone();
    let originals: Vec<String> = instance
        .agents
        .iter()
        .map(|agent| agent.name.clone())
        .collect();
    let original = |label: &str| originals.iter().any(|own| own == label);
    instance
        .agents
        .retain(|agent| !tuned_of(&agent.name).is_some_and(original));
    let results = Results {
        instances: vec![instance.clone()],
    };
    FigureRef {
        stem: format!("curves-{}", file_name(&instance.name)),
        caption: String::new(),
        figure: Figure::of_results(&results).into(),
    }
}
